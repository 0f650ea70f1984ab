"""Where a tuple may go, and what came of it: the words eddy and policies share."""

from __future__ import annotations

from dataclasses import dataclass

from fff.dataflow.state import TupleState


@dataclass(frozen=True, slots=True)
class Move:
    """One destination: a selection module, or the SteM of `alias`.

    `lookup` is the index access method that a probe goes on to when the SteM cannot answer it alone. On an alias that is
    scanned as well it is an accelerator: the answer is right without it.
    """

    alias: int = -1
    lookup: int | None = None
    predicate: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy learns from: `taken` tuples of `state` took `move` and `produced` tuples came out of it.

    A tuple that parks is reported as taken when its lookup has ended, its matches when they come (`taken` zero), so that
    a lookup without an answer yet does not pass for a selective one. `requests` counts new keys that had to be asked for. `informed` is false when the SteM was still empty, so that a delayed source does not
    pass for a selective one (ledger P33).
    """

    state: TupleState
    move: Move
    taken: int
    produced: int
    requests: int = 0
    informed: bool = True
