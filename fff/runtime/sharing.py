"""Sharing: what several blocks of a statement, or several statements of a session, read from one table is fetched once.

Stands between the drivers and the sources. A `Shelf` holds what was read of one table; `AccessStore` holds the shelves;
each running statement has a `Lease` on those of its tables. A table that one block alone reads, outside a session, is
not shared at all: its driver reads the source itself, and nothing is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from fff.catalog import SourceAdapter, Table
from fff.limits import SCAN_WINDOW, SESSION_BYTES
from fff.quals import Quals, common, implied
from fff.runtime.shelf import Key, SharedSource, Shelf

if TYPE_CHECKING:
    from fff.cache.keeping import RowCache


#: What a shelf holds rows of: a table by its full name, narrowed by qualifiers.
_Place: TypeAlias = tuple[str, Quals]


@dataclass(frozen=True)
class Use:
    """That a block of a statement reads some columns of a table; `eager`: all of it, as far as is known."""

    block: int
    table: Table
    adapter: SourceAdapter
    columns: tuple[str, ...]
    eager: bool = True


class AccessStore:
    """What was read of tables. One lives as long as a session, or as long as a statement outside of one.

    Args:
        keep: keep what complete answers brought for later statements, with every declared column of a table.
        limit: bytes that are kept at most; beyond, tables that no running statement uses go, longest unused first.
        disk: what is kept between runs, if anything is.
    """

    def __init__(
        self, *, keep: bool = False, limit: int = SESSION_BYTES, disk: RowCache | None = None
    ) -> None:
        self.keep = keep
        self._disk = disk
        self.limit = limit
        self._shelves: dict[_Place, Shelf] = {}  # least recently used first
        self._columns: dict[str, set[str]] = {}  # of tables that several expected statements read
        self._quals: dict[str, Quals] = {}  # under which all of them find what they want
        self._left: Counter[str] = Counter()  # expected statements that have not begun, by table
        self._expected: list[object] = []

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(shelf.bytes for shelf in self._shelves.values())

    def expect(self, statement: object, uses: Sequence[Use]) -> None:
        """A statement will come that reads this: until it has begun, what others read of the same tables is kept."""
        self._expected.append(statement)
        for name, columns in _columns_by_table(uses).items():
            quals = _quals_of(name, uses)
            self._quals[name] = common([quals, self._quals[name]]) if self._left[name] else quals
            self._left[name] += 1
            self._columns.setdefault(name, set()).update(columns)

    def reset(self) -> None:
        """Forget everything. Running statements go on with what they have begun to read."""
        self._shelves.clear()
        self._columns.clear()
        self._quals.clear()
        self._left.clear()
        self._expected.clear()

    def lease(self, statement: object, uses: Sequence[Use]) -> Lease:
        """Begin a statement. The lease must be closed at its end."""
        columns = _columns_by_table(uses)
        if any(statement is one for one in self._expected):
            self._expected = [one for one in self._expected if one is not statement]
            self._left.subtract(columns.keys())
        lease = Lease(self)
        for name, needed in columns.items():
            mine = [use for use in uses if use.table.full_name == name]
            kept = self.keep or self._left[name] > 0
            quals = _quals_of(name, uses)
            shelf = self._holding(name, quals, needed)
            if shelf is None:
                if not kept and len({use.block for use in mine}) < 2:
                    continue
                if self._left[name] > 0:
                    quals = common([quals, self._quals[name]])
                shelf = self._make(mine[0], quals, needed)
            shelf.kept = kept and not shelf.too_large
            shelf.window = SCAN_WINDOW if any(use.eager for use in mine) else 1
            self._shelves.pop(shelf.place, None)
            self._shelves[shelf.place] = shelf
            lease.take(shelf, {use.block for use in mine})
        return lease

    def _holding(self, name: str, quals: Quals, needed: set[str]) -> Shelf | None:
        """The shelf to read from: narrowed just so, or less narrow and with a scan, or made for others as well."""
        found = [
            shelf
            for (table, had), shelf in self._shelves.items()
            if table == name
            and needed <= set(shelf.columns)
            and implied(quals, had)
            and (had in (quals, self._quals.get(name)) or shelf.scanned)
        ]
        return min(found, key=lambda shelf: shelf.table.quals != quals, default=None)

    def _make(self, use: Use, quals: Quals, needed: set[str]) -> Shelf:
        wanted = needed | self._columns.get(use.table.full_name, set())
        table = replace(use.table, quals=quals, rows_wanted=None)  # others may want more rows
        every = [field.name for field in table.columns]
        columns = tuple(every if self.keep else [name for name in every if name in wanted])
        return Shelf(self, table, self.beside_disk(table, use.adapter), columns)

    def beside_disk(self, table: Table, adapter: SourceAdapter) -> SourceAdapter:
        """The source, with what earlier runs have kept of it."""
        return adapter if self._disk is None else self._disk.source(table, adapter)

    def write(self) -> None:
        """Put on disk what is still to be kept there."""
        if self._disk is not None:
            self._disk.flush()

    def left(self, shelf: Shelf) -> None:
        """Nobody uses the shelf any more."""
        if self._shelves.get(shelf.place) is not shelf:
            shelf.clear()
        elif not shelf.kept or not shelf.settle():
            del self._shelves[shelf.place]
            shelf.clear()
        self._shrink()

    def grew(self, shelf: Shelf) -> None:
        """The shelf holds more than before: stay within the limit."""
        if shelf.kept and self.bytes > self.limit:
            self._shrink()
            if self.bytes > self.limit:
                shelf.give_up()

    def _shrink(self) -> None:
        for place, shelf in list(self._shelves.items()):
            if self.bytes <= self.limit:
                break
            if not shelf.users:
                del self._shelves[place]


class Lease:
    """A running statement's hold on the shelves of its tables."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self._shelves: dict[str, tuple[Shelf, set[int]]] = {}
        self._asked: dict[tuple[str, str], set[Key]] = {}

    def take(self, shelf: Shelf, blocks: set[int]) -> None:
        """Hold a shelf for those blocks."""
        self._shelves[shelf.table.full_name] = (shelf, set(blocks))
        shelf.users |= {(self, block) for block in blocks}

    def source(self, block: int, table: Table, adapter: SourceAdapter) -> SourceAdapter:
        """What a block is to read a table from: its shelf, or the source itself where nothing is shared."""
        held = self._shelves.get(table.full_name)
        if held is None:
            return self._store.beside_disk(table, adapter)
        return SharedSource(held[0], (self, block), self._asked)

    def distinct_keys(self, table: str, method: str) -> int | None:
        """How many keys the blocks have asked a shared lookup for, each counted once; None where nothing is shared."""
        asked = self._asked.get((table, method))
        return None if asked is None else len(asked)

    def release(self, block: int) -> None:
        """A block is over; it may be said more than once."""
        for shelf, blocks in self._shelves.values():
            if block in blocks:
                blocks.remove(block)
                shelf.release((self, block))

    def close(self) -> None:
        """The statement is over."""
        for _, blocks in list(self._shelves.values()):
            for block in list(blocks):
                self.release(block)
        self._store.write()


def _columns_by_table(uses: Iterable[Use]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for use in uses:
        found.setdefault(use.table.full_name, set()).update(use.columns)
    return found


def _quals_of(name: str, uses: Iterable[Use]) -> Quals:
    """The qualifiers under which all uses of a table find what they want."""
    return common([use.table.quals for use in uses if use.table.full_name == name])
