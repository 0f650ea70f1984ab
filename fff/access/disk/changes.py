"""Rows that are on disk brought up to date by the rows that have come or changed since, where a table can tell those."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.access.disk.codec import keys_bytes, keys_from
from fff.access.key_index import KeyNumbers
from fff.catalog import Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.arrays import Int64
from fff.quals import text_of
from fff.stats import AccessMeter
from fff.structs import replace

UNSEEN = "deletions are not seen"


class Watermark:
    """From which value of a column on a scan may lack changes.

    A row may change after the page that it is on was read, while others still come. Such a change is dated later than
    all that is on the first page, so the greatest there counts; that of all pages only where they come by that column.

    Args:
        column: that rises with every change.
        known: that of the scan which changes are put to.
    """

    def __init__(self, column: str, known: bytes = b"") -> None:
        self._column = column
        self._first = True
        self.value: Any = keys_from(known)[0][0] if known else None

    def see(self, page: Page) -> None:
        """A page comes, in the order of reading."""
        if page.rows.num_rows and (self._first or page.order == self._column):
            self._first = False
            come = pc.max(page.rows.column(self._column)).as_py()
            known = [one for one in (self.value, come) if one is not None]
            self.value = max(known, default=None)

    @property
    def text(self) -> bytes:
        """To be kept with the scan; empty where nothing is known."""
        return b"" if self.value is None else keys_bytes([(self.value,)]) or b""


async def brought_up_to_date(
    before: Sequence[pa.RecordBatch],
    adapter: SourceAdapter,
    table: Table,
    method: ScanMethod,
    columns: Sequence[str],
    *,
    mark: Watermark,
    meter: AccessMeter,
    window: int,
) -> list[Page] | None:
    """Every row of a table: those of before, and in the place of those with the same key what the source now says of it.

    `mark` says since when, and from where on the rows that come may lack changes. None where a row that comes has no key:
    the table has to be read in full.

    Asked for are all that have changed, whatever the statement wants: a row that it wants no more must not stay.
    """
    assert table.changes is not None, "whoever asks for changes knows that the table tells them"
    since = table.changes.since(mark.value)
    changed = replace(table, quals=(since,), rows_wanted=None, sort=None)
    asked = cast("AsyncGenerator[Page]", adapter.scan(changed, method, columns, meter=meter, window=window))
    async with aclosing(asked) as stream:
        pages = [page async for page in stream]
    for page in pages:
        mark.see(page)
    merged = _merged(before, [page.rows for page in pages], table.primary_key)
    if merged is None:
        meter.warn(f"{table.full_name}: a changed row has no key, so all of it was read")
        return None
    if table.changes.deletions:
        meter.warn(
            f"{table.full_name}: only what has changed since {table.changes.column} "
            f"{text_of(since.value)} was asked for; {UNSEEN}"
        )
    broken = next((page.truncated for page in pages if page.truncated is not None), None)
    meter.cached += len(before)
    return [Page(rows, truncated=broken) for rows in merged]


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
