"""A source whose answers to lookups are checked: rows of other keys alone are no answer to the keys that were asked for.

Below whatever keeps or shares answers, which sees no more than the rows of the keys that it wants.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from fff.access.key_index import having
from fff.catalog import Cacheable, LookupMethod, Page, Prompt, ScanMethod, SourceAdapter, Table
from fff.stats import AccessMeter

if TYPE_CHECKING:
    from fff.access.disk.policy import RowCache


def open_source(table: Table, adapter: SourceAdapter, disk: RowCache | None) -> SourceAdapter:
    """What whoever shares a table reads it from: a source whose answers are checked, with what earlier runs have kept of it."""
    checked = CheckedSource(table, adapter)
    if disk is None or not isinstance(adapter, Cacheable):
        return checked
    return disk.beside(checked, table, adapter) or checked


class CheckedSource:
    """A source as it is, but for lookups answered with rows that nobody asked for and none that was.

    Implements `SourceAdapter`.
    """

    def __init__(self, table: Table, adapter: SourceAdapter) -> None:
        self.name = adapter.name
        self.tables = (table,)
        self._adapter = adapter
        self._prompt = adapter if isinstance(adapter, Prompt) else None

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """As the source answers."""
        return self._adapter.scan(table, method, columns, meter=meter, window=window)

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """As the source answers; truncated where every row is a stray.

        Beside right rows strays change nothing (P25).
        """
        pages = self._adapter.lookup(table, method, columns, keys, meter=meter)
        async with aclosing(self._checked(method, columns, keys, (), pages)) as answered:
            async for page in answered:
                yield page

    async def _checked(
        self,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        first: Sequence[Page],
        rest: AsyncIterator[Page],
    ) -> AsyncGenerator[Page]:
        """An answer of which some pages are here and others follow."""
        strays = 0
        right = not set(method.keys) <= set(columns)  # then nobody can tell
        async with aclosing(cast("AsyncGenerator[Page]", rest)) as answered:
            async for page in _all(first, answered):
                if len(page.rows) and not right:
                    right = _answers(page.rows, method.keys, keys)
                    strays += len(page.rows)
                    nothing = page.rows.slice(0, 0)
                yield page
        if strays and not right:
            yield _only_strays(nothing, strays)

    async def answer(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> tuple[Sequence[Page], AsyncGenerator[Page] | None]:
        """As `lookup`, without a generator where one answer is all."""
        if self._prompt is None:
            return (), self.lookup(table, method, columns, keys, meter=meter)
        pages, rest = await self._prompt.answer(table, method, columns, keys, meter=meter)
        if rest is not None:
            return (), self._checked(method, columns, keys, pages, rest)
        strays = 0
        for page in pages if set(method.keys) <= set(columns) else ():
            if len(page.rows):
                if _answers(page.rows, method.keys, keys):
                    return pages, None
                strays += len(page.rows)
        return (pages if not strays else [*pages, _only_strays(pages[0].rows.slice(0, 0), strays)]), None

    async def close(self) -> None:
        """Nothing of its own to release."""


async def _all(first: Sequence[Page], rest: AsyncIterator[Page]) -> AsyncGenerator[Page]:
    for page in first:
        yield page
    async for page in rest:
        yield page


def _only_strays(nothing: pa.RecordBatch, strays: int) -> Page:
    rows = "row" if strays == 1 else "rows"
    return Page(nothing, f"the answer has {strays} {rows} of other keys and none of what was asked for")


def _answers(rows: pa.RecordBatch, names: Sequence[str], keys: Sequence[tuple[object, ...]]) -> bool:
    """Whether a row has one of the keys. Mostly the first one has, which costs least to see."""
    first = tuple(rows.column(name)[0].as_py() for name in names)
    return first in keys or bool(having(rows, names, keys).any())
