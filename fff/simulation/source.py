"""Tables in memory behind simulated access methods: a source as the engine knows it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fff.catalog import Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import SourceError
from fff.schema import Field, spark_type
from fff.simulation.recorder import RunRecorder
from fff.simulation.service import (
    AT_ONCE,
    NEVER,
    Latency,
    OneProcessor,
    RandomFailures,
    Server,
    SimulatedQuota,
    Stall,
)
from fff.stats import AccessMeter


@dataclass(frozen=True)
class SimulatedScan:
    """A scan, page after page. Several on one table are mirrors of it, and each may give the rows in an order of its own.

    `latency`: of a page. `fails_after`: pages that come before it fails for good. `shuffled`: rows in random order.
    `host`: scans of one host are one limiter's; without one a scan is a host of its own. `lacks`: rows at the end that it
    does not have.
    """

    name: str = "scan"
    page_rows: int = 100
    latency: Latency = AT_ONCE
    stalls: tuple[Stall, ...] = ()
    fails_after: int | None = None
    shuffled: bool = False
    host: str = ""
    lacks: int = 0


@dataclass(frozen=True)
class SimulatedLookup:
    """An index: all rows with given values of `keys`; at most `concurrency` requests are served at once.

    `called`: its name, where several lookups of a table take the same keys. `host`: lookups of one host share its
    `concurrency`, which is the same for all of them, and its `quota`, so many requests in so many seconds; without one a
    lookup is a host of its own.
    """

    keys: tuple[str, ...]
    latency: Latency = AT_ONCE
    concurrency: int = 1
    batch_size: int = 1
    stalls: tuple[Stall, ...] = ()
    failures: RandomFailures = NEVER
    called: str = ""
    host: str = ""
    quota: tuple[int, float] | None = None

    @property
    def name(self) -> str:
        """As real sources call theirs, unless it is called otherwise."""
        return self.called or f"lookup[{','.join(self.keys)}]"


@dataclass(frozen=True)
class SimulatedTable:
    """A table and the ways to reach its rows. A scan gives them in the order they stand in, unless it is shuffled."""

    name: str
    rows: pa.RecordBatch
    primary_key: tuple[str, ...] = ()
    scans: tuple[SimulatedScan, ...] = ()
    lookups: tuple[SimulatedLookup, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of its access methods."""
        return *(scan.name for scan in self.scans), *(lookup.name for lookup in self.lookups)

    def declared(self, source: str) -> Table:
        """As the catalog has it."""
        return Table(
            source=source,
            name=self.name,
            columns=tuple(Field(f.name, spark_type(f.type), f.type) for f in self.rows.schema),
            primary_key=self.primary_key,
            scans=tuple(
                ScanMethod(scan.name, limiter=scan.host or f"{self.name}.{scan.name}") for scan in self.scans
            ),
            lookups=tuple(
                LookupMethod(
                    index.name,
                    index.keys,
                    index.batch_size,
                    limiter=index.host or f"{self.name}.{index.name}",
                )
                for index in self.lookups
            ),
            max_in_flight=max([index.concurrency for index in self.lookups], default=1),
        )


class SimulatedSource:
    """Implements `SourceAdapter`. Made inside the loop that it runs in.

    Args:
        tables: what it holds.
        recorder: told of every request when it is begun.
        seed: of latencies, failures and shuffled scans; each access method draws a sequence of its own from it.
        processor: what all its access methods share; None: each has a server of its own.
    """

    def __init__(
        self,
        tables: Sequence[SimulatedTable],
        recorder: RunRecorder,
        *,
        seed: int,
        processor: OneProcessor | None = None,
        name: str = "sim",
    ) -> None:
        self.name = name
        self.tables = tuple(table.declared(name) for table in tables)
        self._simulated = {table.name: table for table in tables}
        self._recorder = recorder
        self._seed = seed
        self._servers = servers_of(tables, seed, processor)
        self._indexes = {
            (table.name, lookup.name): _index(table.rows, lookup.keys)
            for table in tables
            for lookup in table.lookups
        }

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row. Raises SourceError where the scan is said to fail."""
        _ = window
        simulated = self._simulated[table.name]
        scan = next(scan for scan in simulated.scans if scan.name == method.name)
        server = self._servers[table.name, scan.name]
        rows = simulated.rows.select(list(columns)).slice(0, len(simulated.rows) - scan.lacks)
        if scan.shuffled:
            order = list(range(len(rows)))
            _rng(self._seed, table.name, scan.name, "order").shuffle(order)
            rows = rows.take(pa.array(order, pa.int64()))
        for number, start in enumerate(range(0, max(1, len(rows)), scan.page_rows)):
            async with server.line:
                self._recorder.asked(table.name, method.name, meter, ())
                try:
                    await server.serve()
                finally:
                    self._recorder.request_answered(meter)
            if number == scan.fails_after:
                meter.failed += 1
                raise SourceError(f"page {number} failed", source=self.name, table=table.name)
            meter.pages += 1
            yield Page(rows.slice(start, scan.page_rows), total_rows=len(rows))

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row that has one of the keys. Raises SourceError where a failure strikes."""
        simulated = self._simulated[table.name]
        lookup = next(index for index in simulated.lookups if index.name == method.name)
        server = self._servers[table.name, lookup.name]
        async with server.line:
            self._recorder.asked(table.name, method.name, meter, keys)
            try:
                await server.serve()
            finally:
                now = self._recorder.request_answered(meter)
        if server.quota is not None:
            meter.left, meter.each_s = max(0.0, server.quota.left(now)), server.quota.each_s
        if lookup.failures.strike(now, _rng(self._seed, table.name, lookup.name, repr(keys))):
            meter.failed += 1
            raise SourceError("the lookup failed", source=self.name, table=table.name)
        index = self._indexes[table.name, lookup.name]
        places = [place for key in keys for place in index.get(tuple(key), ())]
        yield Page(simulated.rows.select(list(columns)).take(pa.array(places, pa.int64())))

    async def close(self) -> None:
        """Nothing to release."""


def _index(rows: pa.RecordBatch, keys: Sequence[str]) -> dict[tuple[object, ...], list[int]]:
    places: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(zip(*(rows.column(name).to_pylist() for name in keys), strict=True)):
        places.setdefault(key, []).append(place)
    return places


def servers_of(
    tables: Sequence[SimulatedTable], seed: int, processor: OneProcessor | None
) -> dict[tuple[str, str], Server]:
    """A server for each access method, by the names of table and method; each draws a sequence of its own from the seed."""
    servers = {}
    lines: dict[str, asyncio.Semaphore] = {}
    quotas: dict[str, SimulatedQuota] = {}
    for table in tables:
        for scan in table.scans:
            servers[table.name, scan.name] = Server(
                scan.latency, asyncio.Semaphore(1), scan.stalls, processor, _rng(seed, table.name, scan.name)
            )
        for lookup in table.lookups:
            line = asyncio.Semaphore(lookup.concurrency)
            quota = None if lookup.quota is None else SimulatedQuota(*lookup.quota)
            if lookup.host and quota is not None:
                quota = quotas.setdefault(lookup.host, quota)
            servers[table.name, lookup.name] = Server(
                lookup.latency,
                lines.setdefault(lookup.host, line) if lookup.host else line,
                lookup.stalls,
                processor,
                _rng(seed, table.name, lookup.name),
                quota=quota,
            )
    return servers


def _rng(seed: int, *what: str) -> random.Random:
    return random.Random("/".join((str(seed), *what)))
