"""What a scan on disk has for lookups: all rows by some columns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pyarrow as pa

from fff.access.key_index import KeyIndex, tells_keys


class Covering:
    """All rows of a table by key columns, where a scan on disk holds them. Looked for once: later scans are this run's own.

    Args:
        load: the rows of a scan on disk in which something may stand in all these columns, if there is one.
    """

    def __init__(self, load: Callable[[Sequence[str]], Awaitable[pa.Table | None]]) -> None:
        self._load = load
        self._loading = asyncio.Lock()
        self._whole: pa.Table | None = None
        self._indexes: dict[tuple[str, ...], KeyIndex | None] = {}
        self._lacking: set[tuple[str, ...]] = set()  # columns that no scan has

    async def by(self, names: tuple[str, ...], needed: tuple[str, ...]) -> KeyIndex | None:
        """The rows by these columns, with all that is needed of them."""
        if not self._is_known(names, needed):
            async with self._loading:
                if not self._is_known(names, needed):
                    await self._find(names, needed)
        return None if needed in self._lacking else self._indexes[names]

    def _is_known(self, names: tuple[str, ...], needed: tuple[str, ...]) -> bool:
        return needed in self._lacking or (names in self._indexes and self._has(needed))

    def _has(self, needed: tuple[str, ...]) -> bool:
        return self._whole is not None and set(needed) <= set(self._whole.schema.names)

    async def _find(self, names: tuple[str, ...], needed: tuple[str, ...]) -> None:
        if not self._has(needed):
            loaded = await self._load(needed)
            if loaded is None:
                self._lacking.add(needed)
                return
            self._whole, self._indexes = loaded, {}
        whole = self._whole
        assert whole is not None, "it has what is needed"
        self._indexes[names] = (
            await asyncio.to_thread(KeyIndex, whole, names) if tells_keys(whole, names) else None
        )
