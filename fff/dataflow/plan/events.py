"""What the runtime tells the eddy (events) and what the eddy asks of it (instructions).

`Eddy.handle(event) -> list[Instruction]` is the only door. Events report finished facts; instructions are wishes the
runtime carries out in any order and at any speed. Access methods are named by (table, index) ordinals of the plan.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import pyarrow as pa

from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Expr
from fff.dataflow.plan.extents import Extent
from fff.structs import Struct

# ---------------------------------------------------------------------------------------------------------- events


class Start(Struct, frozen=True):
    """Begin: seed tuples go to the scans and the constant-bound lookups."""


class ScanRows(Struct, frozen=True):
    """A page of scan `index` of `table`, or `count` of them: columns of the table plan, in order.

    `total`, `pages`: how many rows and pages it says it has in all; `counted`: the rows for certain. `seconds`: that its reader has waited for them, by the
    runtime's clock.
    """

    table: int
    index: int
    rows: pa.RecordBatch
    total: int | None = None
    pages: int | None = None
    count: int = 1
    seconds: float = 0.0
    counted: bool = False


class ScanEnd(Struct, frozen=True):
    """EOT(true): scan `index` has delivered the whole table. `rows` is how many it delivered in all."""

    table: int
    index: int
    rows: int


class ScanCovered(Struct, frozen=True):
    """EOT of a predicate: every row of the scan that is in `extent` has come, its window say; the scan goes on."""

    table: int
    index: int
    extent: Extent


class ScanPartFailed(Struct, frozen=True):
    """FAIL or TRUNCATED for the rows in `extent` alone: the scan goes on for the others, and will not end with EOT."""

    table: int
    index: int
    extent: Extent
    reason: str


class ScanFailed(Struct, frozen=True):
    """The scan ended without EOT: an error, or an answer known to be truncated.

    `whole`: any row may be missing that no EOT covers; else only those of the parts that have failed.
    """

    table: int
    index: int
    reason: str
    whole: bool = True


class ScanStalled(Struct, frozen=True):
    """Nothing has come from the scan for longer than it should; it has not failed."""

    table: int
    index: int


class LookupRows(Struct, frozen=True):
    """Rows answering lookup `request`; there may be several of these per request."""

    request: int
    rows: pa.RecordBatch


class LookupEnd(Struct, frozen=True):
    """EOT for every key of `request`, keys without a single row included. `rows` counts the request's rows in all.

    `seconds` from asking to EOT by the runtime's clock, 0.0 where it has none: part of the event, so that a replay is exact.
    `left`, `each_s`: requests that the host's quota still admits, and the seconds that each waits after those; None where no
    quota is known.
    """

    request: int
    rows: int
    seconds: float = 0.0
    left: float | None = None
    each_s: float = 0.0


class LookupAnswers(Struct, frozen=True):
    """What one turn of the runtime heard from lookups: first all rows, then all EOTs. The same as one by one, merged."""

    rows: tuple[LookupRows, ...]
    ends: tuple[LookupEnd, ...]


class LookupFailed(Struct, frozen=True):
    """FAIL or TRUNCATED for every key of `request`: never EOT.

    With `places`, only for the keys at those places of the request, which goes on for the others.
    """

    request: int
    reason: str
    truncated: bool = False
    places: tuple[int, ...] = ()


class Route(Struct, frozen=True):
    """Take one step: route the next batch of tuples inside the eddy. Does nothing when none is waiting."""


class Prioritize(Struct, frozen=True):
    """What the user wants to see first, in place of whatever that was before; no predicate: nothing any more.

    Tuples for which one of the predicates (over columns of the plan) is true go first, and so do the keys they look up.
    May come at any time, before `Start` too. Changes when rows come, never which.
    """

    predicates: tuple[Expr, ...]


class TimePassed(Struct, frozen=True):
    """It is `now`, in seconds of a clock that never goes back. What is told next happened at that time.

    A core that is told no time decides as if no time passed. Time changes when things are asked for, never the answer.
    """

    now: float


class Enough(Struct, frozen=True):
    """The result has every row that it takes: what is found from now on is not wanted, and nothing is missing."""


class Cancel(Struct, frozen=True):
    """Stop fetching (interrupt, deadline, budget): finish with what is there; everything not complete goes missing."""

    reason: str


class Halt(Struct, frozen=True):
    """End at once (the answer is due): fetch nothing, and join no further; tuples inside are given up, which goes missing."""

    reason: str


Event: TypeAlias = (
    Start
    | ScanRows
    | ScanEnd
    | ScanCovered
    | ScanPartFailed
    | ScanFailed
    | ScanStalled
    | LookupRows
    | LookupEnd
    | LookupAnswers
    | LookupFailed
    | Route
    | TimePassed
    | Prioritize
    | Enough
    | Cancel
    | Halt
)

# ---------------------------------------------------------------------------------------------------- instructions


class Instruction(Struct, frozen=True):
    """Base of instructions; `match` compares the named fields only, for tests."""

    def match(self, **fields: Any) -> bool:
        """Whether every named field has the given value."""
        return all(getattr(self, name) == value for name, value in fields.items())


class FetchPages(Instruction, frozen=True):
    """Credit for `count` more pages of a scan; the first credit opens it."""

    table: int
    index: int
    count: int


class StopScan(Instruction, frozen=True):
    """The scan is not needed any more: cancel what is under way. No event follows for it."""

    table: int
    index: int


class Lookup(Instruction, frozen=True):
    """Ask lookup method `index` of `table` for `keys` (values in the order of the method's columns)."""

    request: int
    table: int
    index: int
    keys: tuple[tuple[object, ...], ...]


class CancelLookup(Instruction, frozen=True):
    """The answer is not needed any more. Events for it that still come are ignored; its end may have been told by now."""

    request: int


class WakeAt(Instruction, frozen=True):
    """Say `TimePassed` at this time at the latest. In place of any later time asked for before; earlier ones still hold."""

    at: float


class Emit(Instruction, frozen=True):
    """Result tuples: span all aliases, passed all predicates. `Eddy.gather(batch)` turns them into Arrow columns."""

    batch: TupleBatch


class Finish(Instruction, frozen=True):
    """Nothing can come any more. `complete` is true when every EOT the answer rests on is in and nothing is missing."""

    complete: bool
    reason: Literal["done", "limit", "cancelled", "failed"]
