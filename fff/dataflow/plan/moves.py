"""Where a tuple may go, and what came of it: the words eddy and policies share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fff.dataflow.plan.state import TupleState
from fff.structs import Struct


class Move(NamedTuple):
    """One destination: a selection module, or the SteM of `alias`.

    `lookup` is the index access method that a probe goes on to when the SteM cannot answer it alone. On an alias that is
    scanned as well it is an accelerator: the answer is right without it.
    """

    alias: int = -1
    lookup: int | None = None
    predicate: int | None = None


def after(state: TupleState, move: Move) -> TupleState:
    """The state of tuples that have taken a move."""
    if move.predicate is not None:
        return TupleState(state.span, state.done | 1 << move.predicate)
    return TupleState(state.span | 1 << move.alias, state.done)


class Outcome(Struct, frozen=True):
    """What a policy learns from: `taken` tuples of `state` took `move` and `produced` tuples came out of it.

    A tuple that parks is reported as taken when its lookup has ended, its matches when they come (`taken` zero), so that
    a lookup without an answer yet does not pass for a selective one. `requests` counts new keys that had to be asked for.
    `informed` is false when the SteM was still empty, so that a delayed source does not pass for a selective one (ledger
    P33). `cost`: seconds of service that the tuples taken took in all, as the runtime's clock says; 0.0 where nothing was
    measured.
    """

    state: TupleState
    move: Move
    taken: int
    produced: int
    requests: int = 0
    informed: bool = True
    cost: float = 0.0


class Load(Struct, frozen=True):
    """What stands before a move: keys waiting or under way, and how many may be under way at once (None: any number).

    `batch`: keys that one request carries. `copies`: rows that its answers had for each key that has any. `left`: requests that the host's quota still admits at once; each after those is
    waited for `each_s` seconds. None where no quota is known.
    """

    backlog: int = 0
    window: int | None = None
    batch: int = 1
    left: float | None = None
    each_s: float = 0.0
    copies: float = 1.0

    @property
    def room(self) -> int | None:
        """How many more keys would be asked for at once."""
        return None if self.window is None else max(0, self.window - self.backlog)


class ScanPace(Struct, frozen=True):
    """What is known of one scan of a table that several bring. Seconds are those that its reader waits for a page.

    `running`: it has been begun. `asked`: a page of it is on its way. `since`: pages of its rivals since its own last one.
    `first_s`, `mean_s`, `usual_s`: the first page, all of them, those of late, of which there are `late`.
    """

    index: int
    running: bool
    stalled: bool
    asked: bool
    pages: int
    rows: int
    since: int
    first_s: float
    mean_s: float
    usual_s: float
    late: int


class ScanRace(Struct, frozen=True):
    """The scans of a table that are not over, and one at least runs: who is to read on?

    `total`: rows of the table, where one of them says so. `elapsed`: seconds since the block began. `most`: pages that a
    scan may be ahead.
    """

    table: int
    scans: tuple[ScanPace, ...]
    total: int | None
    elapsed: float
    most: int


class Offer(Struct, frozen=True):
    """A batch of `size` tuples of one state with a choice of moves.

    `urgent`: the user wants these first (ledger R8). `pages`: how many all scans of the block have brought so far.
    `expected`: rows that the scan which begins their chain brings in all; while it does not say, as many again as have come.
    """

    state: TupleState
    moves: Sequence[Move]
    size: int
    load: Callable[[Move], Load]
    urgent: bool = False
    pages: Callable[[], int] = lambda: 0
    expected: Callable[[], int] = lambda: 0
