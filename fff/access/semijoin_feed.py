"""Feeds: tables that no source holds, made of the keys that other blocks of the statement find (semi-join reduction).

To the block that is fed, a feed is a table with one scan. It never holds back the blocks that feed it: keys nobody has
read yet wait here, and there are at most as many as there are distinct keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence

import numpy as np
import pyarrow as pa

from fff.access.key_index import KeyNumbers
from fff.catalog import Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import InvariantError, QueryError, SourceError
from fff.limits import FEED_PAGE_ROWS
from fff.schema import comparison_kind, schema_of
from fff.sql.plan import KeyQuery
from fff.stats import AccessMeter

#: What is open, apart from blocks, while the query for the keys has not been run.
_QUERY = -1


class FeedBroken(SourceError):  # noqa: N818 - what it is, not a failure of its own
    """The keys are not all there, because a block that finds them ended incomplete: that block tells the cause."""


class KeyFeed:
    """The distinct keys that some blocks find, as a source with one table. Implements `SourceAdapter`.

    Args:
        table: the table of the block that is fed; its columns are the keys.
        sources: the blocks that find keys.
        query: what is to be run for the keys when those blocks have ended, if they are not simply what those find.
        distinct: each once, and none with a NULL; else all rows that they find.
    """

    name = ""

    def __init__(
        self, table: Table, sources: Collection[int], query: KeyQuery | None = None, *, distinct: bool = True
    ) -> None:
        self.tables = (table,)
        self.query, self._distinct = query, distinct
        self._schema = schema_of(table.columns)
        self._numbers = KeyNumbers(self._schema.types if distinct else ())
        self._open = {*sources, _QUERY} if query is not None else set(sources)
        self._broken: str | None = None
        self._unread: deque[pa.RecordBatch] = deque()
        self._news = asyncio.Event()
        self._closed = False  # its only reader has left
        self.keys = 0  # distinct keys so far

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Take in what a block found: one array per column of the table."""
        arrays = [
            array if array.type == kind else array.cast(kind)
            for array, kind in zip(columns, self._schema.types, strict=True)
        ]
        if self._closed or not len(arrays[0]):
            return
        if not self._distinct:
            self.keys += len(arrays[0])
            self._unread.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._news.set()
            return
        numbers = self._numbers.number(arrays)
        # Numbers are dense in order of arrival, so what is new has a number that no key had before.
        fresh = np.flatnonzero(numbers >= self.keys)
        if not len(fresh):
            return
        _, first = np.unique(numbers[fresh], return_index=True)
        rows = pa.RecordBatch.from_arrays(arrays, schema=self._schema).take(pa.array(np.sort(fresh[first])))
        self.keys += len(rows)
        self._unread.append(rows)
        self._news.set()

    @property
    def query_due(self) -> bool:
        """Whether the query for the keys can be run, and somebody waits for it."""
        return self._open == {_QUERY} and not self._closed

    def answer(self, rows: pa.Table) -> None:
        """Take in what the query for the keys found; there will be no more.

        Raises:
            QueryError: what it computes cannot be compared exactly with the key columns.
        """
        assert self.query is not None, "only a feed with a query is answered"
        columns = [rows.column(index).combine_chunks() for index in self.query.columns]
        for column, field in zip(columns, self.tables[0].columns, strict=True):
            if comparison_kind(column.type) != comparison_kind(field.arrow):
                raise QueryError(
                    f"{field.name} is of type {field.type}: the query that its keys come from gives {column.type}",
                    hint=f"keys are looked up between columns of one type: write CAST(… AS {field.type}) in that query",
                )
        self.add(columns)
        self.end(_QUERY, None)

    def end(self, block: int, broken: str | None) -> None:
        """A block will find no more keys; `broken` says why those it found are not all, if they are not."""
        self._open.discard(block)
        self._broken = self._broken or broken
        self._news.set()

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every distinct key, as they are found. Raises FeedBroken at the end when they are not all."""
        _ = table, method, window
        try:
            while True:
                self._news.clear()
                while self._unread:
                    rows = self._page().select(list(columns))
                    meter.pages += 1
                    yield Page(rows)
                if not self._open:
                    break
                await self._news.wait()
        finally:
            self._closed = True
            self._unread.clear()
        if self._broken is not None:
            raise FeedBroken(self._broken)

    def _page(self) -> pa.RecordBatch:
        """Unread keys, as many as make a page."""
        parts = [self._unread.popleft()]
        size = len(parts[0])
        while self._unread and size + len(self._unread[0]) <= FEED_PAGE_ROWS:
            parts.append(self._unread.popleft())
            size += len(parts[-1])
        page = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        if len(page) > FEED_PAGE_ROWS:
            self._unread.appendleft(page.slice(FEED_PAGE_ROWS))
            page = page.slice(0, FEED_PAGE_ROWS)
        return page

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """A feed answers none."""
        _ = method, columns, keys, meter
        raise InvariantError(f"the keys {table.name} were asked by key")
        yield  # makes it the generator that it stands in for

    async def close(self) -> None:
        """Nothing to release."""
