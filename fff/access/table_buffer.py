"""A table buffer: what was read of one table, and how a block reads it from there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Protocol, TypeAlias, cast

import pyarrow as pa

from fff.access.gathering import LOOK_S, settled
from fff.access.key_index import KeyIndex, rows_having, tells_keys
from fff.access.shared_scan import SharedPages, unbroken
from fff.budget import Budget
from fff.catalog import Key, Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.limits import SCAN_WINDOW
from fff.quals import Quals
from fff.stats import AccessMeter, Misgivings
from fff.structs import Struct

#: Rows of a page that is made of pages kept.
_KEPT_PAGE_ROWS = 10_000

#: A batch with room, not yet sent: by lookup, by what its keys share and by who pays.
_Filling: TypeAlias = tuple[str, Key, Budget | None]


class _Request(Struct, frozen=True, eq=False):
    """A request that brings some of a block's keys; `batch`: all that it is for, empty where that is not known."""

    reading: SharedPages
    mine: Keys
    batch: Keys = ()


class Keeper(Protocol):
    """Who owns the buffers and watches how much they hold."""

    def grew(self, buffer: TableBuffer) -> None:
        """The buffer may hold more than before."""

    def left(self, buffer: TableBuffer) -> None:
        """Nobody uses the buffer any more."""


class TableBuffer:
    """What was read of one table, always the same columns of it and under the same qualifiers.

    Who begins a reading pays for it, to its end. So while it is under way only those read along who draw on
    the same budget (most draw on none): nobody's rows end with the budget of another, nobody goes on at the
    cost of another who has left. What has ended serves everybody.
    """

    def __init__(self, store: Keeper, table: Table, adapter: SourceAdapter, columns: tuple[str, ...]) -> None:
        self.table = table
        self.adapter = adapter
        self.columns = columns
        self.users: set[tuple[Hashable, int]] = set()  # blocks of running statements that may read this table
        self.kept = False  # for later statements
        self.too_large = False
        self.fresh_until: float | None = None  # for statements that begin, by the clock of who owns it
        self.window = SCAN_WINDOW
        self._store = store
        self._started: dict[str, set[Hashable]] = {}  # by scan: who has begun to read it
        self._scans: dict[tuple[str, Budget | None], SharedPages] = {}  # by scan and by who pays
        # None: also what has ended.
        self._lookups: dict[tuple[str, Budget | None], dict[Key, SharedPages]] = {}
        self._filling: dict[_Filling, tuple[SharedPages, list[Key]]] = {}
        #: Lookups of which a batch failed, or had several pages, which come one by one.
        self.apart = set[str]()
        self._whole: pa.Table | None = None  # all rows, once a scan has brought them and somebody asks by key
        self._indexes: dict[tuple[str, ...], KeyIndex] = {}
        self._bytes_of_lookups = 0
        self._bytes_of_whole = 0  # where the rows are held beside the pages

    @property
    def place(self) -> tuple[str, Quals]:
        """What tells it from other buffers: they hold rows of other tables, or of other parts of the table."""
        return self.table.full_name, self.table.quals

    def scanned(self, budget: Budget | None) -> bool:
        """Whether a scan of the whole is there, or under way for those who draw on the budget."""
        return any(_serves(reading, payer, budget) for (_, payer), reading in self._scans.items())

    def pages(self) -> list[Page] | None:
        """The pages of a scan that has brought all that its qualifiers want, and nothing doubtful, if there is one."""
        return next((reading.pages() for reading in self._scans.values() if reading.sound), None)

    @property
    def wholes(self) -> list[SharedPages]:
        """The scans that have brought all rows."""
        return [reading for reading in self._scans.values() if reading.complete]

    @property
    def bytes(self) -> int:
        """Bytes held: rows and indexes."""
        scans = sum(reading.bytes for reading in self._scans.values())
        indexes = sum(index.nbytes for index in self._indexes.values())
        return scans + self._bytes_of_lookups + self._bytes_of_whole + indexes

    @property
    def retains(self) -> bool:
        """Whether answers may be wanted again."""
        return self.kept or len(self.users) > 1

    def scan(
        self, user: tuple[Hashable, int], method: ScanMethod, meter: AccessMeter
    ) -> tuple[SharedPages, bool]:
        """The running or finished scan, and whether it was there already."""
        self._started.setdefault(method.name, set()).add(user)
        for (name, payer), reading in self._scans.items():
            if name == method.name and _serves(reading, payer, meter.budget):
                return reading, True
        place = method.name, meter.budget
        pages = self.adapter.scan(self.table, method, self.columns, meter=meter, window=self.window)

        def changed(reading: SharedPages) -> None:
            self._scan_changed(place, reading)

        told = Misgivings(meter, user[0])
        begun = self._scans[place] = SharedPages(pages, ahead=False, changed=changed, misgivings=told)
        return begun, False

    def _scan_changed(self, place: tuple[str, Budget | None], reading: SharedPages) -> None:
        if reading.state in ("failed", "dropped") and self._scans.get(place) is reading:
            del self._scans[place]  # whoever comes later tries anew
        if not self.kept and self.users <= self._started.get(place[0], set()):
            reading.trim()
        if self.kept and reading.complete and not reading.misgivings.absent:
            self._lookups.clear()  # whatever they could bring is here
            self._bytes_of_lookups = 0
        if self.kept and reading.complete:
            twins = [one for (name, _), one in self._scans.items() if name == place[0] and one.complete]
            if len(twins) > 1 and self._scans.get(place) is reading:
                del self._scans[place]  # two budgets have paid for the same rows
        self._store.grew(self)

    @property
    def absent(self) -> frozenset[str]:
        """The columns that no record of a scan which has brought all rows had: a list may just not tell them."""
        return next((reading.misgivings.absent for reading in self.wholes), frozenset())

    def covering(self, keys: Sequence[str], columns: Sequence[str]) -> KeyIndex | None:
        """All rows by these columns, when a scan has brought them all, and says which they are and what else is wanted."""
        if not set(keys) <= set(self.columns) or not self.absent.isdisjoint(columns):
            return None
        whole = next(iter(self.wholes), None)
        if whole is None:
            self._whole, self._indexes, self._bytes_of_whole = None, {}, 0
            return None
        index = self._indexes.get(tuple(keys))
        if index is None:
            if self._whole is None:
                self._whole = self._together(whole)
            if not tells_keys(self._whole, keys):
                return None
            index = self._indexes[tuple(keys)] = KeyIndex(self._whole, keys)
            self._store.grew(self)
        return index

    def _together(self, whole: SharedPages) -> pa.Table:
        fields = [(field.name, field.arrow) for field in map(self.table.column, self.columns) if field]
        batches = [page.rows for page in whole.pages()]
        rows = pa.Table.from_batches(batches, pa.schema(fields)).combine_chunks()
        if whole.idle:  # the pages become parts of the table, so that rows are held once
            whole.replace([Page(batch) for batch in rows.to_batches(max_chunksize=_KEPT_PAGE_ROWS)])
        else:
            self._bytes_of_whole = int(rows.nbytes)
        return rows

    def answers(
        self, method: LookupMethod, keys: Keys, budget: Budget | None
    ) -> dict[SharedPages, list[Key]]:
        """The readings, under way or finished, that answer those of the keys that were asked for before."""
        readings: dict[SharedPages, list[Key]] = {}
        for payer in dict.fromkeys((budget, None)):
            known = self._lookups.get((method.name, payer), {})
            for key in keys:
                reading = known.get(key)
                if reading is not None and _serves(reading, payer, budget):
                    readings.setdefault(reading, []).append(key)
        return readings

    def ask(
        self, statement: Hashable, method: LookupMethod, keys: Keys, meter: AccessMeter, *, apart: bool
    ) -> list[_Request]:
        """Ask the source for keys that nobody has asked for who draws on the same budget.

        Those who read the table at once fill batches together, but for those that ask `apart`.
        """
        if len(keys) >= method.batch_size or len(self.users) < 2 or apart:
            pages = self.adapter.lookup(self.table, method, self.columns, keys, meter=meter)
            told = Misgivings(meter, statement)
            return [_Request(self._reading(method, keys, meter.budget, pages, told), keys, keys)]
        requests = []
        while keys:
            requests.append(self._fill(method, keys, meter, Misgivings(meter, statement)))
            keys = keys[len(requests[-1].mine) :]
        return requests

    def is_apart(self, method: LookupMethod, budget: Budget | None, *, eager: bool) -> bool:
        """Whether a block fills no batch with others of its statement: it wants few rows, or no good came of it."""
        return self._is_one_statement(budget) and (not eager or method.name in self.apart)

    def _fill(self, method: LookupMethod, keys: Keys, meter: AccessMeter, told: Misgivings) -> _Request:
        """Add the first of the keys to a batch that has room."""
        place = method.name, keys[0][: method.shared], meter.budget
        if place not in self._filling or not self._filling[place][0].readable:
            batch: list[Key] = []
            pages = self._filled(place, batch, method, meter)
            self._filling[place] = self._reading(method, batch, meter.budget, pages, told), batch
        reading, batch = self._filling[place]
        mine = keys[: method.batch_size - len(batch)]
        batch += mine
        self._lookups.setdefault((method.name, meter.budget), {}).update(dict.fromkeys(mine, reading))
        if len(batch) == method.batch_size:
            del self._filling[place]
        return _Request(reading, mine, batch)

    async def _filled(
        self, place: _Filling, batch: list[Key], method: LookupMethod, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """The answer to a batch, once nobody adds to it any more; blocks of one statement come without a pause."""
        pause = 0.0 if self._is_one_statement(meter.budget) else LOOK_S
        await settled(lambda: len(batch), method.batch_size, pause)
        if self._filling.get(place, (None, []))[1] is batch:
            del self._filling[place]
        pages = self.adapter.lookup(self.table, method, self.columns, batch, meter=meter)
        async with aclosing(cast("AsyncGenerator[Page]", pages)) as opened:
            several = False
            async for page in opened:
                if several:
                    self.apart.add(method.name)
                several = True
                yield page

    def _is_one_statement(self, budget: Budget | None) -> bool:
        """Whether only blocks of one statement may share what is paid for so."""
        return budget is not None or len({statement for statement, _ in self.users}) < 2

    def _reading(
        self,
        method: LookupMethod,
        keys: Keys,
        budget: Budget | None,
        pages: AsyncIterator[Page],
        told: Misgivings,
    ) -> SharedPages:
        place: tuple[str, Budget | None] = method.name, budget
        known = self._lookups.setdefault(place, {})
        size = 0

        def changed(reading: SharedPages) -> None:
            nonlocal size, place, known
            if reading.state == "ended" and place[1] is not None and self._lookups.get(place) is known:
                place, known = (method.name, None), self._for_all(place, keys, reading)
            over = reading.state in ("failed", "dropped") or (
                reading.state == "ended" and reading.idle and not self.retains
            )
            if over:
                for key in keys:
                    if known.get(key) is reading:
                        del known[key]
            now = 0 if over else reading.bytes
            if self._lookups.get(place) is known:
                self._bytes_of_lookups += now - size
            size = now
            self._store.grew(self)

        reading = SharedPages(pages, ahead=True, changed=changed, keys=keys, misgivings=told)
        for key in keys:
            known[key] = reading
        return reading

    def _for_all(
        self, place: tuple[str, Budget | None], keys: Keys, reading: SharedPages
    ) -> dict[Key, SharedPages]:
        """Let an answer that has ended serve whoever asks; gives back where it now is."""
        own, known = self._lookups[place], self._lookups.setdefault((place[0], None), {})
        for key in keys:
            if own.get(key) is reading:
                del own[key]
                if key not in known or not known[key].readable:
                    known[key] = reading
        if not own:
            del self._lookups[place]
        return known

    def release(self, user: Hashable) -> None:
        """A block is over."""
        self.users.discard(user)
        for started in self._started.values():
            started.discard(user)
        if not self.users:
            self._store.left(self)
        elif not self.kept:
            self._let_go_of_scans()  # but a block that is left may still want keys that others have asked for

    def give_up(self) -> None:
        """Too large to keep: hold only what running blocks may still want."""
        self.kept, self.too_large = False, True
        self._let_go()

    def _let_go_of_scans(self) -> None:
        for place, reading in list(self._scans.items()):
            self._scan_changed(place, reading)

    def _let_go(self) -> None:
        self._let_go_of_scans()
        if not self.retains:
            for known in self._lookups.values():
                gone = {reading for reading in known.values() if reading.state == "ended" and reading.idle}
                for key in [key for key, reading in known.items() if reading in gone]:
                    del known[key]
            self._bytes_of_lookups = sum(
                reading.bytes for known in self._lookups.values() for reading in set(known.values())
            )

    def settle(self) -> bool:
        """At the end of a statement: drop what is not complete; returns whether anything is left."""
        self._filling, self.apart = {}, set()
        self._scans = {place: reading for place, reading in self._scans.items() if reading.complete}
        self._lookups = {
            place: {key: reading for key, reading in known.items() if reading.complete}
            for place, known in self._lookups.items()
            if place[1] is None  # the others are not over
        }
        self._bytes_of_lookups = sum(
            reading.bytes for known in self._lookups.values() for reading in set(known.values())
        )
        self._started = {name: set() for name, _ in self._scans}
        return bool(self._scans) or any(self._lookups.values())

    def clear(self) -> None:
        """Forget everything."""
        self._scans, self._lookups, self._filling, self._started, self._indexes = {}, {}, {}, {}, {}
        self._whole, self._bytes_of_lookups, self._bytes_of_whole = None, 0, 0


def _serves(reading: SharedPages, payer: Budget | None, budget: Budget | None) -> bool:
    """Whether a reading that one budget pays for may be read by those who draw on another."""
    return reading.readable and (payer is budget or reading.state == "ended")


class SharedSource:
    """A table buffer as one block reads it.

    Implements `SourceAdapter`; `cached` counts what others had fetched.
    """

    def __init__(
        self,
        buffer: TableBuffer,
        user: tuple[Hashable, int],
        asked: dict[tuple[str, str], set[Key]],
        *,
        eager: bool,
    ) -> None:
        self.name = buffer.table.source
        self.tables = (buffer.table,)
        self._buffer = buffer
        self._user = user
        self._eager = eager
        self._asked = asked
        self._told = set[SharedPages]()

    def _tell(self, readings: Iterable[SharedPages], meter: AccessMeter) -> None:
        """Say what is wrong with answers that another statement has asked for."""
        for reading in set(readings) - self._told:
            reading.misgivings.tell(meter, self._user[0])
            self._told.add(reading)

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row, from the first page on, whenever this begins."""
        _ = table, window
        reading, cached = self._buffer.scan(self._user, method, meter)
        try:
            async with aclosing(reading.read(self._user)) as pages:
                async for page in pages:
                    meter.cached += cached and page.ends is None
                    yield page.select(columns)
        finally:
            self._tell([reading], meter)

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row that has one of the keys; asked for are only those that no answer serves."""
        self._asked.setdefault((table.full_name, method.name), set()).update(keys)
        index = self._buffer.covering(method.keys, columns)
        if index is not None:
            meter.cached += len(keys)
            self._tell(self._buffer.wholes, meter)
            for rows in index.rows_of(keys, columns):
                yield Page(rows)
            return
        async with aclosing(self._looked_up(method, columns, keys, meter)) as pages:
            async for page in pages:
                yield page

    async def _looked_up(
        self,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Keys,
        meter: AccessMeter,
        *,
        alone: bool = False,
    ) -> AsyncGenerator[Page]:
        """As `lookup`, where no scan has the rows; `alone`: in no request that is for other keys as well."""
        left = list(keys)
        while left:
            readings = self._buffer.answers(method, left, meter.budget)
            if alone:
                self._buffer.apart.add(method.name)
                readings = {one: some for one, some in readings.items() if len(one.keys) == len(some)}
            known = {key for some in readings.values() for key in some}
            if new := [key for key in left if key not in known]:
                apart = alone or self._buffer.is_apart(method, meter.budget, eager=self._eager)
                requests = self._buffer.ask(self._user[0], method, new, meter, apart=apart)
            else:
                reading, some = next(iter(readings.items()))
                requests = [_Request(reading, some)]
                meter.cached += len(some)
            pages = self._answers(requests, method, columns, len(keys), meter)
            async with aclosing(pages) as opened:
                async for page in opened:
                    yield page
            done = {key for one in requests for key in one.mine}
            left = [key for key in left if key not in done]

    async def _answers(
        self,
        requests: Sequence[_Request],
        method: LookupMethod,
        columns: Sequence[str],
        count: int,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """The answers to requests, for one who wants so many keys: without rows of keys that others ask for.

        What fails for keys of others as well is asked for anew without those: it may be theirs that are wrong,
        and what is said of it is for whoever has asked for just that.
        """
        for one in requests:
            one.reading.enter(one)
        try:
            for one in requests:
                alone = partial(self._looked_up, method, columns, one.mine, meter, alone=True)
                pages = unbroken(_own(one, method, columns, count), partial(_is_shared, one), alone)
                async with aclosing(pages) as opened:
                    async for page in opened:
                        yield page
        finally:
            self._tell([one.reading for one in requests], meter)
            for one in requests:
                await one.reading.leave(one)

    async def close(self) -> None:
        """Nothing of its own to release."""


def _is_shared(one: _Request) -> bool:
    """Whether the request is for keys of others as well."""
    return len(one.reading.keys) > len(one.mine)


async def _own(
    one: _Request, method: LookupMethod, columns: Sequence[str], count: int
) -> AsyncGenerator[Page]:
    """What a request brings for one who wants so many keys."""
    async with aclosing(one.reading.read(one, entered=True)) as pages:
        async for page in pages:
            # Where others have a part, a row nobody asked for may be one that comes by another key.
            alone = len(one.batch) == len(one.mine) == count
            rows = page.rows if alone else rows_having(page.rows, method.keys, one.mine)
            rows = rows.select(list(columns))
            unanswered = tuple(key for key in page.unanswered if key in one.mine)
            truncated = None if page.unanswered and not unanswered else page.truncated
            doubled, moved = page.doubled, page.moved
            total = page.total_rows
            yield Page(rows, truncated, total, unanswered=unanswered, doubled=doubled, moved=moved)
