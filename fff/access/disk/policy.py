"""Which answers a run keeps on disk, and for how long they count as fresh."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fff.access.disk.discretion import Discretion
from fff.access.disk.folder import byte_limit, cache_folder
from fff.access.disk.journal import Journal
from fff.access.disk.responses import Replies
from fff.access.disk.store import RowStore
from fff.catalog import Cacheable, SourceAdapter, Table
from fff.errors import FFFError, UsageError
from fff.limits import CACHE_BYTES
from fff.quals import Quals

if TYPE_CHECKING:
    from fff.access.disk.source import CachedSource

#: Seconds that answers count as fresh where the cache is asked for and neither spec nor user says how long.
DEFAULT_TTL = 300.0


class RowCache:
    """What is kept between runs.

    Args:
        folder: where.
        every: of all sources, not only of those whose spec says so.
        ttl: seconds that answers count as fresh, whatever specs say; of all sources then.
        limit: bytes that it may take.
        clock: seconds of the wall clock.
        at_once: as for `RowStore`.
        journal: where the answers are as well, by request.
    """

    def __init__(
        self,
        folder: Path,
        *,
        every: bool = False,
        ttl: float | None = None,
        limit: int = CACHE_BYTES,
        clock: Callable[[], float] = time.time,
        at_once: bool = False,
        journal: Journal | None = None,
    ) -> None:
        self._journal = journal
        self.store = RowStore(folder, limit=limit, clock=clock, at_once=at_once)
        self._replies = Replies(self.store)
        self._every = every
        self._ttl = ttl
        self._changes = False

    @property
    def every(self) -> bool:
        """Whether answers of all sources are kept."""
        return self._every or self._ttl is not None

    def beside(
        self,
        asked: SourceAdapter,
        table: Table,
        source: Cacheable,
        aged: Callable[[float], None] = lambda _: None,
    ) -> CachedSource | None:
        """A table of a source with what is kept of it, the rest being `asked` for; None where nothing is to be kept.

        `aged` is told how old is what is taken from there.
        """
        ttl = self._time(source)
        if ttl <= 0:
            return None
        try:
            fingerprint = source.fingerprint(table)
        except FFFError:
            return None  # a secret is missing, say: the source itself tells when it is asked
        if self.store.shape(fingerprint) is None:
            return None
        from fff.access.disk.source import CachedSource  # noqa: PLC0415 - few runs keep anything

        self.attend([source])
        return CachedSource(
            self.store,
            table,
            asked,
            lambda quals, merged: self._shape(fingerprint, quals, merged=merged),
            ttl,
            changes=self._changes,
            wide=source.reads_whole_records(table),
            discretion=Discretion(source),
            journal=self._journal,
            aged=aged,
        )

    def attend(self, adapters: Iterable[object]) -> None:
        """What is asked of these sources from now on is remembered, as far as they are kept: also what they say of their tables."""
        self._replies.look()
        for adapter in adapters:
            if isinstance(adapter, Cacheable) and self._time(adapter) > 0:
                adapter.remember(self._replies)

    def _time(self, adapter: Cacheable) -> float:
        """Seconds that answers of a source count as fresh; 0 where none is kept."""
        ttl = self._ttl if self._ttl is not None else adapter.cache_ttl()
        if ttl is None:
            return DEFAULT_TTL if self._every else 0.0
        return ttl

    def _shape(self, fingerprint: bytes, quals: Quals, *, merged: bool) -> bytes:
        """What was read under qualifiers is part of a table: a table of its own here.

        So is what was put together of changes, which may hold rows that are gone.
        """
        narrowed = repr(quals).encode() if quals else b""
        shape = self.store.shape(fingerprint + (b"changes" if merged else b"") + narrowed)
        return shape or b""  # the store has broken: under whatever name, nothing is there and nothing is kept

    def refresh(self, *, changes: bool = False) -> None:
        """From now on this run asks the sources for what was fetched before.

        `changes`: of tables that can tell, only for the rows that have changed since.
        """
        self._changes = changes
        self.store.refresh()

    def flush(self) -> None:
        """Write what is new, for other runs and for the next statement."""
        self.store.flush()

    def close(self) -> None:
        """Write what is new and let go of the folder."""
        self.store.close()


def row_cache(
    environ: Mapping[str, str], *, enabled: bool | None = None, ttl: float | None = None
) -> RowCache | None:
    """The cache of this user; None where it is not wanted, or where there is no place for it.

    Args:
        environ: `XDG_CACHE_HOME`, `HOME`, `FFF_CACHE_MAX_BYTES`.
        enabled: False: none; True: for every source; None: for the sources whose spec says so.
        ttl: seconds that answers count as fresh, in place of what specs say; for every source.

    Raises:
        UsageError: the options contradict each other or are no numbers.
    """
    if ttl is not None and not 0 <= ttl < float("inf"):
        raise UsageError(f"the time that answers count as fresh must be a number of seconds, not {ttl!r}")
    if enabled is False:
        if ttl is not None:
            raise UsageError("a time for which answers are kept was given, and that none are kept")
        return None
    limit, folder = byte_limit(environ), cache_folder(environ)
    if folder is None or limit == 0:
        return None
    return RowCache(folder, every=enabled is True, ttl=ttl, limit=limit)
