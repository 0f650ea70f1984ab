"""Rows that are on disk brought up to date by the rows that have come or changed since, where a table can tell those."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.access.key_index import KeyNumbers
from fff.catalog import Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.arrays import Int64
from fff.quals import text_of
from fff.stats import AccessMeter
from fff.structs import replace

UNSEEN = "deletions are not seen"


async def brought_up_to_date(
    before: Sequence[pa.RecordBatch],
    adapter: SourceAdapter,
    table: Table,
    method: ScanMethod,
    columns: Sequence[str],
    *,
    meter: AccessMeter,
    window: int,
) -> AsyncGenerator[Page]:
    """Every row of a table: those of before, and in the place of those with the same key what the source now says of it.

    Asked for are all that have changed, whatever the statement wants: a row that it wants no more must not stay. Where
    nothing says since when, or a row that comes has no key, the whole table is asked for.
    """
    assert table.changes is not None, "whoever asks for changes knows that the table tells them"
    greatest = _greatest(before, table.changes.column)
    if greatest is not None:
        since = table.changes.since(greatest)
        changed = replace(table, quals=(since,), rows_wanted=None, sort=None)
        pages = [page async for page in _asked(adapter, changed, method, columns, meter=meter, window=window)]
        merged = _merged(before, [page.rows for page in pages], table.primary_key)
        if merged is not None:
            if table.changes.deletions:
                meter.warn(
                    f"{table.full_name}: only what has changed since {table.changes.column} "
                    f"{text_of(since.value)} was asked for; {UNSEEN}"
                )
            broken = next((page.truncated for page in pages if page.truncated is not None), None)
            meter.cached += len(before)
            for rows in merged:
                yield Page(rows, truncated=broken)
            return
        meter.warn(f"{table.full_name}: a changed row has no key, so all of it was read")
    async with aclosing(_asked(adapter, table, method, columns, meter=meter, window=window)) as whole:
        async for page in whole:
            yield page


def _asked(
    adapter: SourceAdapter, table: Table, method: ScanMethod, columns: Sequence[str], **how: Any
) -> AsyncGenerator[Page]:
    return cast("AsyncGenerator[Page]", adapter.scan(table, method, columns, **how))


def _greatest(before: Sequence[pa.RecordBatch], column: str) -> object:
    """The greatest value of a column; None where there is none."""
    parts = [pc.max(rows.column(column)).as_py() for rows in before if rows.num_rows]
    return max((part for part in parts if part is not None), default=None)


def _merged(
    before: Sequence[pa.RecordBatch], come: Sequence[pa.RecordBatch], keys: Sequence[str]
) -> list[pa.RecordBatch] | None:
    """The rows of both without those of before that have come again; None where a row that comes has no key.

    Of several that come with one key (one that moved from page to page) the last counts.
    """
    if not come:
        return list(before)
    new = pa.concat_batches(come)
    numbers = KeyNumbers([new.schema.field(name).type for name in keys])
    coming = numbers.number([new.column(name) for name in keys])
    if (coming < 0).any():
        return None
    last = np.sort(len(coming) - 1 - np.unique(coming[::-1], return_index=True)[1])
    left = [rows.filter(pa.array(~np.isin(_of(numbers, rows, keys), coming))) for rows in before]
    return [*left, new.take(pa.array(last))]


def _of(numbers: KeyNumbers, rows: pa.RecordBatch, keys: Sequence[str]) -> Int64:
    return numbers.number([rows.column(name) for name in keys])
