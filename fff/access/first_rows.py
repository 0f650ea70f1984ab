"""A scan that is read no further than LIMIT needs it, in a declared order where ORDER BY asks for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.access.key_index import KeyNumbers
from fff.catalog import Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.arrays import Bools, Int64, ranks
from fff.dataflow.plan.expressions import And, Expr, evaluate
from fff.sql.plan import FirstRows
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
            + (" nulls first" if first.nulls_first else "")
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
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
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
        self._last: pa.Array | None = None  # value; of NULLs nothing is said where they are not to come first
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
        present = np.asarray(pc.is_valid(column)) | self._first.nulls_first
        values = column.filter(pa.array(present))
        if not len(values):
            return True
        before = self._last is not None
        places = self._places(pa.concat_arrays([self._last, values]) if self._last is not None else values)
        if np.any(np.diff(places) < 0):
            self.sorted = False
            return False
        counts = self._counting(rows)[present]
        ties = int(np.count_nonzero(counts & (places[before:] == places[-1])))
        self._at_last = ties + (self._at_last if before and places[0] == places[-1] else 0)
        self._counted += int(np.count_nonzero(counts))
        self._last = values.slice(len(values) - 1)
        return True

    def _places(self, values: pa.Array) -> Int64:
        """Where values stand in the order, the same for those that are alike: NULL before all, NaN as the largest."""
        ranks = np.asarray(pc.rank(values.drop_null(), tiebreaker="dense"), np.int64)
        places = np.full(len(values), -len(values) - 1, np.int64)
        places[np.asarray(values.is_valid())] = -ranks if self._first.falling else ranks
        return places

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
