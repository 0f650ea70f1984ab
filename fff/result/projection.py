"""What becomes of a block's rows on their way out: the values of a select list, then DISTINCT, OFFSET and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.expressions import Column, Expr, Resolve, evaluate_rows
from fff.dataflow.store.domains import Domain, PairDomain
from fff.errors import QueryError, Span
from fff.schema import Field
from fff.sql.plan import MADE, Branch, BranchUnion, Cut


class Projection:
    """Makes rows of the result of the rows of one block."""

    def __init__(self, branch: Branch, fields: Sequence[Field], sql: str) -> None:
        self.block = branch.block
        self._branch = branch
        self._names = [field.name for field in fields]
        self._sql = sql
        self._cutting = Cutting(branch.cut, fields)

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that these rows of the block give.

        Raises QueryError with Spark's words for a value that cannot be had.
        """
        for condition, place in self._branch.conditions:
            batch = batch.filter(self._value(condition, place, _columns_of(batch), len(batch)))
        columns, count = _columns_of(batch), len(batch)
        if (generator := self._branch.generator) is not None:
            opened = self._value(generator.value, generator.place, columns, count)
            columns, count = _made(columns, *elements(opened, outer=generator.outer))
        values = [
            self._value(value, place, columns, count)
            for value, place in zip(self._branch.values, self._branch.places, strict=True)
        ]
        return self._cutting.take(pa.RecordBatch.from_arrays(values, names=self._names))

    def _value(self, value: Expr, place: Span, columns: Resolve, count: int) -> pa.Array:
        if isinstance(value, Column):
            return columns(value)
        evaluated = evaluate_rows(value, columns, count)
        if evaluated.failed is not None:
            raise QueryError(evaluated.failed.message, sql=self._sql, span=place)
        return evaluated.values


def _columns_of(batch: pa.RecordBatch) -> Resolve:
    return lambda column: batch.column(column.index)


def _made(columns: Resolve, of_row: pa.Array, made: Sequence[pa.Array]) -> tuple[Resolve, int]:
    """The columns of the rows that a generator has made, of the block those that are read: not the arrays, if nobody does."""
    taken = cache(lambda column: columns(column).take(of_row))
    return lambda column: made[column.index] if column.alias == MADE else taken(column), len(of_row)


def elements(opened: pa.Array, *, outer: bool) -> tuple[pa.Array, list[pa.Array]]:
    """Of each element of some arrays or maps: the row that has it, and its place there, then it, or its key and its value.

    With `outer` a row without any has one of NULLs.
    """
    lists = opened.cast(pa.list_(_entry(opened.type))) if pa.types.is_map(opened.type) else opened
    rows = pc.list_parent_indices(lists).to_numpy()
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    parts = pc.list_flatten(lists)
    made = [pa.array(places, pa.int32()), *(parts.flatten() if lists is not opened else [parts])]
    if outer:
        bare = np.setdiff1d(np.arange(len(lists)), rows)
        order = np.argsort(np.concatenate([rows, bare]), kind="stable")
        made = [part.take(pa.array(order, mask=order >= len(rows))) for part in made]
        rows = np.concatenate([rows, bare])[order]
    return pa.array(rows), made


def _entry(kind: pa.MapType) -> pa.StructType:
    return pa.struct([("key", kind.key_type), ("value", kind.item_type)])


class Cutting:
    """Takes of rows that come in batches as many as a statement takes."""

    def __init__(self, cut: Cut, fields: Sequence[Field]) -> None:
        self._seen = _Seen(fields) if cut.distinct else None
        self._skip = cut.offset
        self._left = cut.limit

    @property
    def full(self) -> bool:
        """Whether no further row is taken."""
        return self._left == 0

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Those of some rows that are taken."""
        if self.full:
            return batch.slice(0, 0)
        if self._seen is not None:
            batch = self._seen.new(batch)
        skipped = min(self._skip, len(batch))
        self._skip -= skipped
        batch = batch.slice(skipped, self._left)
        self._left = None if self._left is None else self._left - len(batch)
        return batch


class UnionRows:
    """Makes the rows of a union of the rows that its blocks find. `sql` is the text that its places are of."""

    def __init__(self, union: BranchUnion, sql: str) -> None:
        self._projections = [Projection(branch, union.fields, sql) for branch in union.branches]
        self._cutting = Cutting(union.cut, union.fields)

    @property
    def full(self) -> bool:
        """Whether no further row is taken."""
        return self._cutting.full

    def reads(self, block: int) -> bool:
        """Whether rows of a block become rows of the union."""
        return any(one.block == block for one in self._projections)

    def of(self, block: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that some rows of a block give. Raises QueryError where a value cannot be had."""
        [projection] = [one for one in self._projections if one.block == block]
        rows = projection.rows(batch)
        return rows.slice(0, 0) if self.full else self._cutting.take(rows)

    def alone(self) -> list[pa.RecordBatch]:
        """The rows that no table makes. Raises QueryError where a value cannot be had."""
        row = pa.record_batch([pa.nulls(1)], names=["nothing"])
        made = (one.rows(row) for one in self._projections if one.block is None)
        return [self._cutting.take(rows) for rows in made]


class _Seen:
    """The different rows so far.

    NULLs are equal here, NaNs too, and both zeros, of which the positive one is given.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self._domains = [Domain(field.arrow) for field in fields]
        self._pairs = [PairDomain() for _ in fields]
        self._known = 0

    def new(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are like none before."""
        numbers: Int64 = np.zeros(len(batch), np.int64)
        for domain, pairs, column in zip(self._domains, self._pairs, batch.columns, strict=True):
            numbers = pairs.number(numbers, domain.number(column) + 1)  # NULL is -1 to the domain
        different, first = np.unique(numbers, return_index=True)
        batch = batch.take(pa.array(np.sort(first[different >= self._known])))
        self._known = max(self._known, int(different.max(initial=-1)) + 1)
        arrays = [
            pc.add(one, pa.scalar(0.0, one.type)) if pa.types.is_floating(one.type) else one
            for one in batch.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
