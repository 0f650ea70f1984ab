"""A table put together of what a session holds of it under other qualifiers, and of what the source is asked for beside that."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import cast

import numpy as np
import pyarrow as pa

from fff.access.key_index import KeyIndex
from fff.access.remainder import Patches, certain, patches, put_together
from fff.access.table_buffer import TableBuffer
from fff.catalog import Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.plan.extents import Extent
from fff.quals import Quals
from fff.stats import AccessMeter
from fff.structs import replace


class PatchedSource:
    """One table of a source, and parts of it that are here: only what is in none of them is asked for. Implements `SourceAdapter`.

    Args:
        source: the table, as it is read under its qualifiers.
        columns: those that every part has.
        parts: what is here.
        opened: the table as it is read under narrower qualifiers.
    """

    def __init__(
        self,
        source: SourceAdapter,
        table: Table,
        columns: Sequence[str],
        parts: Sequence[TableBuffer],
        opened: Callable[[Quals], SourceAdapter],
    ) -> None:
        self.name = table.source
        self.tables = (table,)
        self._source = source
        self._opened = opened
        have = {name.lower() for name in columns}
        known = [(part, certain(table, part.table.quals)) for part in parts]
        self.held: list[tuple[TableBuffer, Extent]] = [
            (part, extent)
            for part, extent in known
            if extent is not None and {name for name, _ in extent.columns} <= have
        ]
        held = [(part.pages(), part.table.quals) for part, _ in self.held]
        covered = patches(table, [(pages, quals) for pages, quals in held if pages is not None])
        self._patches: Patches[list[Page]] | None = covered if covered and covered.columns <= have else None

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row: those that are here, then what the source is asked for."""
        if self._patches is None:
            pages = self._source.scan(table, method, columns, meter=meter, window=window)
            async with aclosing(cast("AsyncGenerator[Page]", pages)) as opened:
                async for page in opened:
                    yield page
            return

        for part, _ in self.held:
            meter.lacks(part.absent)

        def ask(quals: Quals) -> AsyncGenerator[Page]:
            narrowed = replace(table, quals=quals)
            rest = self._opened(quals).scan(narrowed, method, columns, meter=meter, window=window)
            return cast("AsyncGenerator[Page]", rest)

        async with aclosing(put_together(table, self._patches, ask, columns, meter)) as patched:
            async for page in patched:
                yield page
        self._patches, self.held = None, []  # whoever asks again has it all, or wants it anew

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row that has one of the keys; asked for are only those that lie in no part that is here."""
        left = list(keys)
        for part, extent in self.held:
            inside = _inside(table, method.keys, left, extent)
            index: KeyIndex | None = part.covering(method.keys, columns) if any(inside) else None
            if index is not None:
                mine = [key for key, own in zip(left, inside, strict=True) if own]
                left = [key for key, own in zip(left, inside, strict=True) if not own]
                meter.cached += len(mine)
                for rows in index.rows_of(mine, columns):
                    yield Page(rows)
        if left:
            pages = self._source.lookup(table, method, columns, left, meter=meter)
            async with aclosing(cast("AsyncGenerator[Page]", pages)) as opened:
                async for page in opened:
                    yield page

    async def close(self) -> None:
        """Nothing of its own to release."""


def _inside(table: Table, names: Sequence[str], keys: Keys, extent: Extent) -> list[bool]:
    """Of which keys every row is in an extent."""
    places = {name.lower(): place for place, name in enumerate(names)}
    inside = np.ones(len(keys), np.bool_)
    for name, values in extent.columns:
        field = table.column(name)
        if name not in places or field is None:
            return [False] * len(keys)
        inside &= values.mask(pa.array([key[places[name]] for key in keys], field.arrow))
    return [bool(one) for one in inside]
