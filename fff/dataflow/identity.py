"""Row identity: when an arriving row is one that is here already (ledger P22).

By declared key, or by (row value, occurrence number within one complete answer): the n-th copy from one access method is
the n-th copy from another, so SQL's duplicates survive competing access methods and competing answers do not add any.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import EMPTY, Bools, Growable, Int64, ranks
from fff.dataflow.domains import Domain, PairDomain
from fff.dataflow.plan import IdentityKind, TablePlan

#: Rows of one answer that are kept as they came; beyond, copies are counted by row value, which costs memory in
#: proportion to the table but time in proportion to the page.
_FEW_ROWS = 4096


class Answer:
    """One answer (a scan from its beginning, one lookup request): the copies of each row it has delivered so far."""

    __slots__ = ("_counts", "_seen")

    def __init__(self) -> None:
        self._seen = EMPTY
        self._counts: Growable[np.int64] | None = None

    def occurrences(self, values: Int64) -> Int64:
        """For each arriving row value how many copies the answer had delivered before it; counts them as delivered."""
        if self._counts is None:
            before = self._seen
            self._seen = np.concatenate((before, values)) if len(before) else values
            if len(self._seen) <= _FEW_ROWS:
                return ranks(self._seen)[len(before) :]
            self._counts, self._seen = Growable(np.int64), EMPTY
            self._add(self._counts, before)
        self._counts.extend_to(int(values.max()) + 1)
        earlier: Int64 = self._counts.view[values]
        self._add(self._counts, values)
        return earlier + ranks(values)

    @staticmethod
    def _add(counts: Growable[np.int64], values: Int64) -> None:
        counts.extend_to(int(values.max(initial=-1)) + 1)
        np.add.at(counts.view, values, 1)


class Identity:
    """Tells new rows from duplicates."""

    def __init__(self, plan: TablePlan) -> None:
        self.kind: IdentityKind = plan.identity
        self.compares = plan.identity != "position"
        self._columns = plan.key if plan.identity == "key" else tuple(range(len(plan.columns)))
        self._domains = (
            [_domain(plan.columns[column].arrow) for column in self._columns] if self.compares else []
        )
        self._pairs = [PairDomain() for _ in self._columns[1:]] if self.compares else []
        self._stored = Growable(np.int64)  # copies here, by row value

    def fresh(self, rows: pa.RecordBatch, answer: Answer) -> Bools:
        """Which rows are new. Counts them as stored, and as delivered by this answer."""
        values = self._values(rows)
        self._stored.extend_to(int(values.max()) + 1)
        stored: Int64 = self._stored.view
        if self.kind == "key":
            first: Bools = (stored[values] == 0) & (ranks(values) == 0)
            stored[values] = 1
            return first
        occurrence = answer.occurrences(values)
        fresh: Bools = occurrence >= stored[values]
        np.maximum.at(stored, values, occurrence + 1)
        return fresh

    def _values(self, rows: pa.RecordBatch) -> Int64:
        """One number per row, equal where all identity columns are (NULLs equal to each other)."""
        if not self._columns:
            return np.zeros(len(rows), np.int64)
        numbers = self._numbers(rows, 0)
        for place, pair in enumerate(self._pairs, start=1):
            numbers = pair.number(numbers, self._numbers(rows, place))
        return numbers

    def _numbers(self, rows: pa.RecordBatch, place: int) -> Int64:
        values = rows.column(self._columns[place])
        if pa.types.is_nested(values.type):
            values = pa.array(
                [None if value is None else repr(value) for value in values.to_pylist()], pa.string()
            )
        return self._domains[place].number(values) + 1  # NULL, -1, becomes 0


def _domain(kind: pa.DataType) -> Domain:
    return Domain(pa.string() if pa.types.is_nested(kind) else kind)
