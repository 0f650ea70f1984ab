"""A store over a source in memory that notes what it is asked, and statements that read it."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence

import pyarrow as pa

from fff.access.session_cache import AccessStore, Lease, Use
from fff.access.stack import open_table
from fff.budget import Budget
from fff.catalog import LookupMethod, Page, ScanMethod, Table
from fff.schema import Field
from fff.stats import AccessMeter

SCAN = ScanMethod("t.scan")
BY_A = LookupMethod("t.lookup[a]", ("a",), batch_size=3)
TABLE = Table(
    "web",
    "t",
    (Field.of("a", "int"), Field.of("b", "string"), Field.of("c", "double")),
    scans=(SCAN,),
    lookups=(BY_A,),
)
ROWS = [(i % 7, f"b{i}", i / 2) for i in range(20)]


class Source:
    """A source in memory that notes what it is asked; pages and answers wait for `gate`, when there is one."""

    name = "web"
    tables = (TABLE,)

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.keys: collections.Counter[object] = collections.Counter()
        self.asked: list[tuple[str, ...]] = []
        self.open = 0  # readings under way
        self.gate: asyncio.Event | None = None
        self.fault: Callable[[object], Exception | None] = lambda what: None
        self.truncated: str | None = None
        self.more = False  # lookups answer with every row, whatever they are asked for
        self.answer_page = len(ROWS)  # rows of a page of an answer

    def page(self, rows: Sequence[tuple[object, ...]], columns: Sequence[str]) -> pa.RecordBatch:
        names = [field.name for field in TABLE.columns]
        arrays = [
            pa.array([row[names.index(name)] for row in rows], TABLE.columns[names.index(name)].arrow)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, list(columns))

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        self.asked.append(tuple(columns))
        self.open += 1
        try:
            for start in range(0, len(ROWS), 5):
                await self._pause(start)
                meter.charge(self.name, TABLE.name)
                meter.requests += 1
                self.pages.append(start)
                yield Page(self.page(ROWS[start : start + 5], columns), total_rows=len(ROWS))
            if self.truncated is not None:
                yield Page(self.page([], columns), self.truncated)
        finally:
            self.open -= 1

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        self.asked.append(tuple(columns))
        self.open += 1
        try:
            await self._pause(keys)
            meter.charge(self.name, TABLE.name)
            meter.requests += 1
            self.keys.update(keys)
            wanted = {key[0] for key in keys}
            found = [row for row in ROWS if self.more or row[0] in wanted]
            for start in range(0, max(len(found), 1), self.answer_page):
                if start:
                    await self._pause((start, keys))
                    meter.charge(self.name, TABLE.name)
                    meter.requests += 1
                yield Page(self.page(found[start : start + self.answer_page], columns), self.truncated)
        finally:
            self.open -= 1

    async def _pause(self, what: object) -> None:
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        if (error := self.fault(what)) is not None:
            raise error

    async def close(self) -> None: ...


Rows = list[tuple[object, ...]]


class World:
    """A store over one source, and statements that read it."""

    def __init__(self, **store: object) -> None:
        self.source = Source()
        self.store = AccessStore(**store)  # type: ignore[arg-type]
        self.meter = AccessMeter()

    def lease(self, *columns: Sequence[str]) -> Lease:
        """A statement with a block for each list of columns."""
        uses = [Use(number, TABLE, self.source, tuple(names)) for number, names in enumerate(columns)]
        return self.store.lease(object(), uses)

    async def scan(
        self,
        lease: Lease,
        block: int,
        columns: Sequence[str] = ("a", "b"),
        stop: int = 99,
        budget: Budget | None = None,
    ) -> Rows:
        source = open_table(Use(block, TABLE, self.source, ()), lease)
        meter = self.meter if budget is None else AccessMeter(budget=budget)
        pages = source.scan(TABLE, SCAN, columns, meter=meter, window=2)
        return await taken(pages, stop)  # type: ignore[arg-type]

    async def ask(
        self,
        lease: Lease,
        block: int,
        *keys: object,
        columns: Sequence[str] = ("a", "b"),
        budget: Budget | None = None,
        eager: bool = True,
        stop: int = 99,
    ) -> Rows:
        source = open_table(Use(block, TABLE, self.source, (), eager), lease)
        meter = self.meter if budget is None else AccessMeter(budget=budget)
        pages = source.lookup(TABLE, BY_A, columns, [(key,) for key in keys], meter=meter)
        return sorted(await taken(pages, stop))  # type: ignore[arg-type, type-var]


async def taken(pages: AsyncGenerator[Page], stop: int = 99) -> Rows:
    rows: Rows = []
    async with contextlib.aclosing(pages):
        async for page in pages:
            rows += zip(*(column.to_pylist() for column in page.rows.columns), strict=True)
            stop -= 1
            if not stop:
                break
    return rows


ALL = [row[:2] for row in ROWS]


def of(*keys: object) -> Rows:
    return sorted(row[:2] for row in ROWS if row[0] in keys)
