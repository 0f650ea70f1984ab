"""Row identity: when an arriving row is one that is here already (ledger P22).

By declared key, or by (row value, occurrence number within one complete answer): the n-th copy from one access method is
the n-th copy from another, so SQL's duplicates survive competing access methods and competing answers do not add any.

Of rows that share a declared key the first to arrive is the row (within an answer the first in it), whatever brought it;
`differing` tells in which columns others are not like it. A key with a NULL in it identifies nothing: such rows are told
apart by value where several access methods bring them, and are all kept where one does.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import EMPTY, Bools, Growable, Int64, Spill, Spillable, ranks
from fff.dataflow.columns import ArrowColumn
from fff.dataflow.plan.plan import IdentityKind, TablePlan
from fff.dataflow.store.domains import Domain, PairDomain
from fff.dataflow.store.ranges import KeyRanges, ordered
from fff.structs import replace

#: Rows of one answer that are kept as they came; beyond, copies are counted by row value, which costs memory in
#: proportion to the table but time in proportion to the page.
_FEW_ROWS = 4096


class Answer:
    """One answer (a scan from its beginning, one lookup request): the copies of each row it has delivered so far."""

    __slots__ = ("_counts", "_seen", "rows")

    def __init__(self) -> None:
        self.rows = 0  # delivered
        self._seen = EMPTY
        self._counts: Growable[np.int64] | None = None

    def occurrences(self, values: Int64) -> Int64:
        """For each arriving row value how many copies the answer had delivered before it; counts them as delivered."""
        self.rows += len(values)
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
        competing = len(plan.scans) + len(plan.lookups) > 1
        #: Whether it matters which answer a row came in.
        self.by_answer = plan.identity == "value" or (plan.identity == "key" and competing)
        self._columns = plan.key if plan.identity == "key" else tuple(range(len(plan.columns)))
        self._types = [field.arrow for field in plan.columns]
        self._domains: dict[int, Domain] = {}  # of columns that nothing else numbers
        self._pairs = [PairDomain() for _ in self._columns[1:]] if self.compares else []
        self._stored = Growable(
            np.int64
        )  # by row value: copies here; by key: one more than the number of its row
        self._values = EMPTY  # of the rows looked at last
        self._fresh: Bools = np.empty(0, np.bool_)
        self._ranges: KeyRanges | None = None  # as long as keys come in order, by which they are told apart
        self._rows: Sequence[ArrowColumn] = ()
        without_key = plan.identity == "key" and competing
        self._unnamed = Identity(replace(plan, identity="value", key=())) if without_key else None

    def over(self, rows: Sequence[ArrowColumn], numbered: Container[int]) -> None:
        """Where all rows will be stored that are said to be new, and which of their columns have numbers anyway."""
        if self.kind == "key" and len(self._columns) == 1 and self._columns[0] not in numbered:
            self._rows = rows
            self._ranges = KeyRanges() if ordered(self._types[self._columns[0]]) else None

    def fresh(
        self, rows: pa.RecordBatch, answer: Answer, numbers: Mapping[int, Int64] | None = None
    ) -> Bools:
        """Which rows are new. Counts them as stored, and as delivered by this answer.

        `numbers` are value numbers of some columns, from one domain each.
        """
        if self.kind == "key":
            return self._new_keys(rows, answer, numbers or {})
        values = self._numbered(rows, numbers or {}) if self._columns else np.zeros(len(rows), np.int64)
        self._stored.extend_to(int(values.max()) + 1)
        stored: Int64 = self._stored.view
        occurrence = answer.occurrences(values)
        fresh: Bools = occurrence >= stored[values]
        np.maximum.at(stored, values, occurrence + 1)
        return fresh

    def _new_keys(self, rows: pa.RecordBatch, answer: Answer, numbers: Mapping[int, Int64]) -> Bools:
        answer.rows += len(rows)
        if self._ranges is not None:
            if self._ranges.apart(rows.column(self._columns[0])):
                self._values, self._fresh = EMPTY, np.ones(len(rows), np.bool_)
                return self._fresh
            self._number_all()
        values = self._values = self._numbered(rows, numbers)
        self._stored.extend_to(int(values.max(initial=-1)) + 1)
        fresh: Bools = np.ones(len(values), np.bool_)
        named = np.flatnonzero(values >= 0)
        if len(named) == len(values):
            fresh = self._first(values)
        else:
            fresh[named] = self._first(values[named])
            if self._unnamed is not None:
                without = np.flatnonzero(values < 0)
                answer.rows -= len(without)  # which are counted there
                fresh[without] = self._unnamed.fresh(rows.take(pa.array(without)), answer)
        self._fresh = fresh
        return fresh

    def _number_all(self) -> None:
        """Keys do not come in order any more: number those that are here."""
        self._ranges = None
        [column] = self._columns
        self._domains[column] = _domain(self._types[column])
        here = np.arange(self._rows[column].length)
        numbers = self._domains[column].number(self._rows[column].take(here))
        self._stored.extend_to(len(here))
        self._stored.view[numbers] = here + 1

    def _first(self, values: Int64) -> Bools:
        """Which keys are not here yet, nor before in this batch."""
        stored = self._stored.view
        fresh: Bools = stored[values] == 0
        if (values[1:] > values[:-1]).all():
            stored[values[fresh]] = -1  # until they are placed
            return fresh
        at = np.flatnonzero(fresh)
        new, marks = values[at], np.arange(-1, -1 - len(at), -1)
        stored[new[::-1]] = marks[::-1]  # of equal ones the first is written last
        fresh[at[stored[new] != marks]] = False
        return fresh

    def spill(self, spill: Spill) -> None:
        """Leave memory, as far as that is worth it."""
        parts: tuple[Spillable, ...] = (self._stored, *self._domains.values(), *self._pairs)
        for part in parts:
            part.spill(spill)
        if self._unnamed is not None:
            self._unnamed.spill(spill)

    def placed(self, first: int) -> None:
        """The new rows of the last batch are stored, from this row number on."""
        if not len(self._values):
            return
        values = self._values[self._fresh]
        at = np.arange(first + 1, first + 1 + len(values))
        if len(values) and values.min() < 0:
            values, at = values[values >= 0], at[values >= 0]
        self._stored.view[values] = at

    def originals(self) -> tuple[Int64, Int64]:
        """Of the last batch: the rows whose key was there before, by position, and the stored rows that have it."""
        old = np.flatnonzero(~self._fresh & (self._values >= 0))
        return old, self._stored.view[self._values[old]] - 1

    def _numbered(self, rows: pa.RecordBatch, numbers: Mapping[int, Int64]) -> Int64:
        """One number per row, equal where all identity columns are; -1 for a key with a NULL, else NULLs are equal."""
        composite = self._numbers(rows, 0, numbers)
        for place, pair in enumerate(self._pairs, start=1):
            composite = pair.number(composite, self._numbers(rows, place, numbers))
        return composite

    def _numbers(self, rows: pa.RecordBatch, place: int, numbers: Mapping[int, Int64]) -> Int64:
        column = self._columns[place]
        known = numbers.get(column)
        if known is None:
            values = rows.column(column)
            if pa.types.is_nested(values.type):
                values = pa.array(
                    [None if value is None else repr(value) for value in values.to_pylist()], pa.string()
                )
            if column not in self._domains:
                self._domains[column] = _domain(self._types[column])
            known = self._domains[column].number(values)
        return known if self.kind == "key" else known + 1  # NULL, -1, becomes 0


def differing(here: pa.Array, there: pa.Array) -> Bools:
    """Where two arrays of one type differ: NULL and NaN are like themselves."""
    if pa.types.is_nested(here.type):
        pairs = zip(here.to_pylist(), there.to_pylist(), strict=True)
        return np.array([repr(one) != repr(other) for one, other in pairs], np.bool_)
    same = pc.fill_null(pc.equal(here, there), fill_value=False)
    same = pc.or_(same, pc.and_(pc.is_null(here, nan_is_null=True), pc.is_null(there, nan_is_null=True)))
    if pa.types.is_floating(here.type):
        same = pc.and_(same, pc.equal(pc.is_null(here), pc.is_null(there)))
    differ: Bools = ~same.to_numpy(zero_copy_only=False)
    return differ


def _domain(kind: pa.DataType) -> Domain:
    return Domain(pa.string() if pa.types.is_nested(kind) else kind)
