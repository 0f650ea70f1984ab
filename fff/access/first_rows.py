"""A scan that is read no further than LIMIT needs it, in a declared order where ORDER BY asks for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.access.key_index import KeyNumbers
from fff.catalog import LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.arrays import Bools, ranks
from fff.dataflow.plan.expressions import And, Expr, evaluate
from fff.sql.planner.plan import FirstRows
from fff.stats import AccessMeter


class OrderedPrefix:
    """A source whose scan ends once it has brought the first rows; `fff.sql.planner.top_rows` says why that is all. Implements `SourceAdapter`.

    Args:
        adapter: the source.
        first: how many rows, and by which of the columns asked for.
        predicates: what rows must fulfil to count, over the columns asked for.
    """

    def __init__(self, adapter: SourceAdapter, first: FirstRows, predicates: Sequence[Expr]) -> None:
        self.name = adapter.name
        self.tables = adapter.tables
        self._adapter = adapter
        self._first = first
        self._predicates = tuple(predicates)

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """The rows up to the first ones; all of them where the pages do not come in the declared order."""
        first = self._first
        key = tuple(name for name in columns if name.lower() in {one.lower() for one in table.primary_key})
        read = _Read(first, self._predicates, key)
        wanted = (
            None
            if first.column is None
            else f"{'-' if first.falling else ''}{columns[first.column.index]}".lower()
        )
        pages = self._adapter.scan(table, method, columns, meter=meter, window=window)
        async with aclosing(cast("AsyncGenerator[Page]", pages)) as opened:
            async for page in opened:
                read.sorted = read.sorted and (wanted is None or wanted == (page.order or "").lower())
                if read.sorted and not read.take(page.rows):
                    meant = "declared order" if first.sort is None else "order asked for"
                    meter.warn(
                        f"{table.full_name}: the scan does not come in the {meant}, so all of it was read"
                    )
                yield page
                if read.enough:
                    return

    def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """As the source answers."""
        pages = self._adapter.lookup(table, method, columns, keys, meter=meter)
        return cast("AsyncGenerator[Page]", pages)

    async def close(self) -> None:
        """Nothing of its own to release."""


class _Read:
    """What was read so far of a scan that is sorted, as far as that goes."""

    def __init__(self, first: FirstRows, predicates: tuple[Expr, ...], key: tuple[str, ...]) -> None:
        self.sorted = True
        self._key = key  # rows of one key count once
        self._keys: KeyNumbers | None = None
        self._known = 0  # keys so far
        self._first = first
        self._predicates = predicates
        self._last: int | None = None  # value; of rows without one nothing is said
        self._counted = 0  # rows that count
        self._at_last = 0  # of them, those with the last value: more of these may come

    @property
    def enough(self) -> bool:
        """Whether no later row can be among the first ones."""
        return self.sorted and self._counted - self._at_last >= self._first.count

    def take(self, rows: pa.RecordBatch) -> bool:
        """The next rows; False where they are out of order."""
        if self._first.column is None:
            self._counted += int(np.count_nonzero(self._counting(rows)))
            return True
        column = rows.column(self._first.column.index)
        present = np.asarray(pc.is_valid(column))
        values = np.asarray(_whole(column.drop_null()))
        if self._first.falling:
            values = ~values  # in the reverse order, like the negative ones, and never out of range
        if not len(values):
            return True
        beside = values if self._last is None else np.concatenate([[self._last], values])
        if np.any(np.diff(beside) < 0):
            self.sorted = False
            return False
        counts = self._counting(rows)[present]
        last = int(values[-1])
        ties = int(np.count_nonzero(counts & (values == last)))
        self._at_last = ties + (self._at_last if last == self._last else 0)
        self._counted += int(np.count_nonzero(counts))
        self._last = last
        return True

    def _counting(self, rows: pa.RecordBatch) -> Bools:
        """Which rows fulfil the conditions and are there for the first time."""
        firsts = self._first_of_key(rows)
        if not self._predicates:
            return firsts
        truth = evaluate(And(self._predicates), lambda one: rows.column(one.index), len(rows))
        fulfilled: Bools = np.asarray(pc.fill_null(truth, fill_value=False))
        return firsts & fulfilled

    def _first_of_key(self, rows: pa.RecordBatch) -> Bools:
        firsts: Bools = np.ones(len(rows), np.bool_)
        if not self._key or not len(rows):
            return firsts
        arrays = [rows.column(name) for name in self._key]
        self._keys = self._keys or KeyNumbers([array.type for array in arrays])
        numbers = self._keys.number(arrays)
        firsts = (numbers < 0) | ((numbers >= self._known) & (ranks(numbers) == 0))
        self._known = max(self._known, int(numbers.max()) + 1)
        return firsts


def _whole(column: pa.Array) -> pa.Array:
    """Integers, dates and times as 64-bit integers in the same order."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64())
