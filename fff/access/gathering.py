"""Statements of many clients that begin in one moment wait for one another: what they share is asked for once.

Alone, each range of a table is a scan of its own, and each half-empty batch of keys a request. So who is about
to ask looks for a moment whether others come who want the same or what adjoins it; the moment ends when nobody
has come during it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pyarrow as pa

from fff.access.remainder import wanted_extent
from fff.catalog import Table
from fff.quals import Quals, common, implied
from fff.structs import Struct, field, replace

#: A moment is so many looks, so many seconds apart, at which nobody has come.
_LOOKS, LOOK_S = 3, 0.005
#: Seconds that are waited at most for one more, and for all of them.
_PATIENCE_S, _MOST_S = 0.25, 2.0


class _Group(Struct):
    """What the statements of one moment read, and whether the moment is over."""

    tables: list[Table] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Gathering:
    """The statements that are about to begin, and under which qualifiers each reads its tables with the others."""

    def __init__(self) -> None:
        self._group: _Group | None = None
        self._wider: dict[int, Mapping[str, Quals]] = {}  # by statement under way

    @asynccontextmanager
    async def joined(self, statement: object, tables: Sequence[Table]) -> AsyncIterator[None]:
        """Wait for others; while the context is open `wider` knows what they want together."""
        group = await self._moment(tables) if tables else _Group()
        self._wider[id(statement)] = {table.full_name: _wider(table, group.tables) for table in tables}
        try:
            yield
        finally:
            del self._wider[id(statement)]

    async def _moment(self, tables: Sequence[Table]) -> _Group:
        """Those who have come by the end of the moment that is now; who came first waits until it is over."""
        if self._group is not None:
            group = self._group
            group.tables += tables
            await group.over.wait()
            return group
        group = self._group = _Group([*tables])
        try:
            await settled(lambda: len(group.tables))
        finally:
            self._group = None
            group.over.set()
        return group

    def wider(self, statement: object, name: str, quals: Quals) -> Quals:
        """The qualifiers under which those who came together read a table; its own where one came alone."""
        return self._wider.get(id(statement), {}).get(name, quals)


async def settled(count: Callable[[], int], enough: int | None = None, every: float = LOOK_S) -> None:
    """Wait until a count has not risen for a moment, looked at every so many seconds, or is enough.

    A look that comes late begins the moment anew: this process was busy, perhaps with those who are to come. Without
    a pause between them looks are turns of the loop, in which all have their say, however long they take.
    """
    now = asyncio.get_running_loop().time
    began = rose = looked = now()
    looks, before = 0, count()
    while looks < _LOOKS and looked < min(rose + _PATIENCE_S, began + _MOST_S):
        if enough is not None and before >= enough:
            break
        await asyncio.sleep(every)
        last, looked = looked, now()
        if count() > before:
            rose, before, looks = looked, count(), 0
        else:
            looks = looks + 1 if not every or looked - last < 2 * LOOK_S else 0


def _wider(table: Table, group: Sequence[Table]) -> Quals:
    """The qualifiers of a table with those of the group that make one range with it, directly or by others."""
    several = dict.fromkeys(one.quals for one in group if one.full_name == table.full_name)
    ranges: list[Quals] = []
    for quals in several:
        wide, apart = quals, ranges
        while (adjoining := next((one for one in apart if _adjoin(table, wide, one)), None)) is not None:
            wide, apart = common([wide, adjoining]), [one for one in apart if one != adjoining]
        ranges = [*apart, wide]
    return next(one for one in ranges if implied(table.quals, one))


def _adjoin(table: Table, one: Quals, other: Quals) -> bool:
    """Whether what both have in common lets in what the one and the other do, and no more."""
    both = common([one, other])
    if both in (one, other):
        return True
    fields = [table.column(qual.column) for qual in (*one, *other)]
    if any(field is None or pa.types.is_floating(field.arrow) for field in fields):
        return False  # extents say nothing of these
    whole, mine, theirs = (wanted_extent(replace(table, quals=quals)) for quals in (both, one, other))
    return not any(rest for piece in whole.minus(mine) for rest in piece.minus(theirs))
