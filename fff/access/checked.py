"""A source whose answers to lookups are checked: rows of other keys alone are no answer to the keys that were asked for.

Below whatever keeps or shares answers, which sees no more than the rows of the keys that it wants.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import cast

import pyarrow as pa

from fff.access.key_index import having
from fff.catalog import LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.stats import AccessMeter


class CheckedSource:
    """A source as it is, but for lookups answered with rows that nobody asked for and none that was.

    Implements `SourceAdapter`.
    """

    def __init__(self, table: Table, adapter: SourceAdapter) -> None:
        self.name = adapter.name
        self.tables = (table,)
        self._adapter = adapter

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
        strays = 0
        right = not set(method.keys) <= set(columns)  # then nobody can tell
        pages = self._adapter.lookup(table, method, columns, keys, meter=meter)
        async with aclosing(cast("AsyncGenerator[Page]", pages)) as answered:
            async for page in answered:
                if len(page.rows) and not right:
                    right = _answers(page.rows, method.keys, keys)
                    strays += len(page.rows)
                    nothing = page.rows.slice(0, 0)
                yield page
        if strays and not right:
            rows = "row" if strays == 1 else "rows"
            yield Page(
                nothing, f"the answer has {strays} {rows} of other keys and none of what was asked for"
            )

    async def close(self) -> None:
        """Nothing of its own to release."""


def _answers(rows: pa.RecordBatch, names: Sequence[str], keys: Sequence[tuple[object, ...]]) -> bool:
    """Whether a row has one of the keys. Mostly the first one has, which costs least to see."""
    first = tuple(rows.column(name)[0].as_py() for name in names)
    return first in keys or bool(having(rows, names, keys).any())
