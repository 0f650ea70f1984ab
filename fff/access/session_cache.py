"""Sharing: what several blocks of a statement, or several statements of a session, read from one table is fetched once.

Stands between the drivers and the sources. A `TableBuffer` holds what was read of one table; `AccessStore`
holds the buffers; each running statement has a `Lease` on those of its tables. A table that one block alone
reads, outside a session, is
not shared at all: its driver reads the source itself, and nothing is kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

from fff.access.checked import open_source
from fff.access.gathering import Gathering
from fff.access.patched import PatchedSource
from fff.access.table_buffer import TableBuffer
from fff.budget import Budget
from fff.catalog import Cacheable, Key, SourceAdapter, Table
from fff.limits import SCAN_WINDOW, SESSION_BYTES
from fff.quals import Quals, common, implied
from fff.structs import Struct, replace

if TYPE_CHECKING:
    from fff.access.disk.policy import RowCache


#: What a buffer holds rows of: a table by its full name, narrowed by qualifiers.
_Place: TypeAlias = tuple[str, Quals]


class Use(Struct, frozen=True):
    """That a block of a statement reads some columns of a table; `eager`: all of it, as far as is known."""

    block: int
    table: Table
    adapter: SourceAdapter
    columns: tuple[str, ...]
    eager: bool = True


class AccessStore:
    """What was read of tables. One lives as long as a session, or as long as a statement outside of one.

    Args:
        keep: keep what complete answers brought for later statements, with every declared column of a table whose
            records come whole.
        limit: bytes that are kept at most; beyond, tables that no running statement uses go, longest unused first.
        disk: what is kept between runs, if anything is.
        max_age: seconds after which what was begun to be read is not used by statements that begin then, or
            fewer where a source's spec says how long its answers count as fresh; None: it is, however old.
        clock: seconds.
        redact: takes secrets out of what adapters raise.
    """

    def __init__(
        self,
        *,
        keep: bool = False,
        limit: int = SESSION_BYTES,
        disk: RowCache | None = None,
        max_age: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.keep = keep
        self.redact = redact
        self.disk = disk
        self.limit = limit
        self._max_age = max_age
        self._clock = clock
        self._buffers: dict[_Place, TableBuffer] = {}  # least recently used first
        self._columns: dict[str, set[str]] = {}  # of tables that several expected statements read
        self._quals: dict[str, Quals] = {}  # under which all of them find what they want
        self._left: Counter[str] = Counter()  # expected statements that have not begun, by table
        self._expected: list[object] = []
        self._gathering = Gathering()

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(buffer.bytes for buffer in self._buffers.values())

    @property
    def held(self) -> set[str]:
        """Tables of which something is held that a statement may use."""
        return {name for (name, _), buffer in self._buffers.items() if not self._is_old(buffer)}

    def expect(self, statement: object, uses: Sequence[Use]) -> None:
        """A statement will come that reads this: until it has begun, what others read of the same tables is kept."""
        self._expected.append(statement)
        for name, columns in _columns_by_table(uses).items():
            quals = _quals_of(name, uses)
            self._quals[name] = common([quals, self._quals[name]]) if self._left[name] else quals
            self._left[name] += 1
            self._columns.setdefault(name, set()).update(columns)

    def gathered(self, statement: object, uses: Sequence[Use]) -> AbstractAsyncContextManager[None]:
        """Begin a statement with those that others begin in the same moment, if one may gain by the other."""
        tables = {
            use.table.full_name: replace(use.table, quals=_quals_of(use.table.full_name, uses))
            for use in uses
            if use.eager and self._gains(use)
        }
        return self._gathering.joined(statement, list(tables.values()))

    def _gains(self, use: Use) -> bool:
        """Whether one request may do for this reader of a table and another: a wider range, a fuller batch."""
        batched = any(method.batch_size > 1 for method in use.table.lookups)
        quals = use.table.quals
        held = self._holding(use, quals, set(use.columns), None)
        return batched or bool(quals and held is None)

    def reset(self) -> None:
        """Forget everything. Running statements go on with what they have begun to read."""
        self._buffers.clear()
        self._columns.clear()
        self._quals.clear()
        self._left.clear()
        self._expected.clear()

    def lease(self, statement: object, uses: Sequence[Use], budget: Budget | None = None) -> Lease:
        """Begin a statement that draws on a budget. The lease must be closed at its end."""
        columns = _columns_by_table(uses)
        if any(statement is one for one in self._expected):
            self._expected = [one for one in self._expected if one is not statement]
            self._left.subtract(columns.keys())
        lease = Lease(self)
        for name, needed in columns.items():
            mine = [use for use in uses if use.table.full_name == name]
            kept = self.keep or self._left[name] > 0
            quals = _quals_of(name, uses)
            buffer = self._holding(mine[0], quals, needed, budget)
            if buffer is None and budget is None:
                quals = self._gathering.wider(statement, name, quals)
                buffer = self._holding(mine[0], quals, needed, budget)
            if buffer is None:
                if not kept and len({use.block for use in mine}) < 2:
                    continue
                if self._left[name] > 0:
                    quals = common([quals, self._quals[name]])
                buffer = self._make(mine[0], quals, needed)
            buffer.kept = kept and not buffer.too_large
            buffer.window = SCAN_WINDOW if any(use.eager for use in mine) else 1
            self._buffers.pop(buffer.place, None)
            self._buffers[buffer.place] = buffer
            lease.take(buffer, {use.block for use in mine})
        return lease

    def _holding(self, use: Use, quals: Quals, needed: set[str], budget: Budget | None) -> TableBuffer | None:
        """The buffer to read from: narrowed just so, or less narrow and with a scan, or made for others as well."""
        name, whole = use.table.full_name, _comes_whole(use)
        fitting = [
            buffer
            for (table, had), buffer in self._buffers.items()
            if table == name
            and not self._is_old(buffer)
            and needed <= set(buffer.columns)
            and (whole or needed == set(buffer.columns) or buffer.pages() is not None)
            and implied(quals, had)
            and (had in (quals, self._quals.get(name)) or buffer.scanned(budget))
        ]
        return min(fitting, key=lambda buffer: buffer.table.quals != quals, default=None)

    def _make(self, use: Use, quals: Quals, needed: set[str]) -> TableBuffer:
        whole = _comes_whole(use)
        wanted = needed | (self._columns.get(use.table.full_name, set()) if whole else set())
        table = replace(use.table, quals=quals, rows_wanted=None)  # others may want more rows
        every = [field.name for field in table.columns]
        columns = tuple(every if self.keep and whole else [name for name in every if name in wanted])

        def opened(some: Quals) -> SourceAdapter:
            return open_source(replace(table, quals=some), use.adapter, self.disk, aged, redact=self.redact)

        def aged(seconds: float) -> None:
            """What comes from disk was read so long ago, and not just now."""
            if buffer.fresh_until is not None:
                buffer.fresh_until = min(buffer.fresh_until, self._clock() + lasts - seconds)

        source, parts = opened(quals), self._parts(table, columns)
        patched = PatchedSource(source, table, columns, parts, opened) if parts else None
        buffer = TableBuffer(self, table, patched if patched and patched.held else source, columns)
        lasts = float("inf") if self._max_age is None else self._max_age
        if self._max_age is not None:
            source_ttl = use.adapter.cache_ttl() if isinstance(use.adapter, Cacheable) else None
            lasts = lasts if source_ttl is None else min(lasts, source_ttl)
            until = self._clock() + lasts
            older = [part.fresh_until for part, _ in patched.held] if patched else []
            buffer.fresh_until = min([until, *(one for one in older if one is not None)])
        return buffer

    def _parts(self, table: Table, columns: Sequence[str]) -> list[TableBuffer]:
        """What is held of a table under other qualifiers, fresh and whole."""
        return [
            buffer
            for (name, _), buffer in self._buffers.items()
            if name == table.full_name
            and not self._is_old(buffer)
            and set(columns) <= set(buffer.columns)
            and buffer.pages() is not None
        ]

    def _is_old(self, buffer: TableBuffer) -> bool:
        return buffer.fresh_until is not None and self._clock() >= buffer.fresh_until

    def write(self) -> None:
        """Put on disk what is still to be kept there."""
        if self.disk is not None:
            self.disk.flush()

    def left(self, buffer: TableBuffer) -> None:
        """Nobody uses the buffer any more."""
        if self._buffers.get(buffer.place) is not buffer:
            buffer.clear()
        elif not buffer.kept or not buffer.settle():
            del self._buffers[buffer.place]
            buffer.clear()
        self._shrink()

    def grew(self, buffer: TableBuffer) -> None:
        """The buffer holds more than before: stay within the limit."""
        if buffer.kept and self.bytes > self.limit:
            self._shrink()
            if self.bytes > self.limit:
                buffer.give_up()

    def _shrink(self) -> None:
        for place, buffer in list(self._buffers.items()):
            if self.bytes <= self.limit:
                break
            if not buffer.users:
                self._buffers.pop(place).clear()  # others may have it for a part


class Lease:
    """A running statement's hold on the buffers of its tables."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self._buffers: dict[str, tuple[TableBuffer, set[int]]] = {}
        self.disk, self.redact = store.disk, store.redact
        self.asked: dict[tuple[str, str], set[Key]] = {}  # by table and lookup

    def take(self, buffer: TableBuffer, blocks: set[int]) -> None:
        """Hold a buffer for those blocks."""
        self._buffers[buffer.table.full_name] = (buffer, set(blocks))
        buffer.users |= {(self, block) for block in blocks}

    def buffer(self, table: Table) -> TableBuffer | None:
        """What holds the rows of a table; None where nothing of it is shared."""
        held = self._buffers.get(table.full_name)
        return None if held is None else held[0]

    def distinct_keys(self, table: str, method: str) -> int | None:
        """How many keys the blocks have asked a shared lookup for, each counted once; None where nothing is shared."""
        asked = self.asked.get((table, method))
        return None if asked is None else len(asked)

    def distrust(self, table: Table) -> None:
        """Its ways of access disagree: what one of them has read whole is not kept for others to take for all there is."""
        if table.full_name in self._buffers:
            self._buffers[table.full_name][0].kept = False
        if self.disk is not None:
            self.disk.store.distrust((table.source, table.name))

    def release(self, block: int) -> None:
        """A block is over; it may be said more than once."""
        for buffer, blocks in self._buffers.values():
            if block in blocks:
                blocks.remove(block)
                buffer.release((self, block))

    def close(self) -> None:
        """The statement is over."""
        for _, blocks in list(self._buffers.values()):
            for block in list(blocks):
                self.release(block)
        self._store.write()


def _comes_whole(use: Use) -> bool:
    """Whether a table's rows are the same whichever columns are asked for, so that more may be asked for than is wanted."""
    return not isinstance(use.adapter, Cacheable) or use.adapter.reads_whole_records(use.table)


def _columns_by_table(uses: Iterable[Use]) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for use in uses:
        columns.setdefault(use.table.full_name, set()).update(use.columns)
    return columns


def _quals_of(name: str, uses: Iterable[Use]) -> Quals:
    """The qualifiers under which all uses of a table find what they want."""
    return common([use.table.quals for use in uses if use.table.full_name == name])
