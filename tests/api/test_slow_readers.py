"""A reader that takes its time holds the sources back, whichever way the rows leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import fff
from fff.api.running import AsyncConnection
from fff.catalog import Catalog
from fff.execution import RunOptions
from fff.federation import Federation
from fff.limits import AHEAD_BATCHES, BATCH_ROWS, READY_BATCHES
from fff.runtime import driver
from fff.simulation.recorder import RunRecorder
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedSource, SimulatedTable

PAGES = 150
#: Turns of the event loop in which a run that nobody holds back is long over.
TURNS = 20 * PAGES
#: Beside the batches that wait: pages that scans have credit for, and those of requests that had begun.
UNDER_WAY = 8

SCAN = "SELECT k FROM r"
JOIN = "SELECT r.k FROM r JOIN r q ON r.k = q.k"
LOOKUPS = "SELECT r.k, s.v FROM r JOIN s ON s.k = r.k"
ANY_SPEC = """
version: 1
sources:
  web: {client: {base_url: "http://127.0.0.1:9"}, tables: {t: {columns: {a: bigint}, scan: {endpoint: {path: t}}}}}
"""


class Recorded(RunRecorder):
    """Counts requests."""

    asked_for = 0

    def asked(self, *arguments: object) -> None:
        self.asked_for += 1
        super().asked(*arguments)  # type: ignore[arg-type]


def federation(recorder: RunRecorder) -> Federation:
    """R in many pages of one row; S has one row for each, by key."""
    keys = list(range(PAGES))
    catalog = Catalog()
    catalog.add(
        SimulatedSource(
            [
                SimulatedTable("r", pa.record_batch({"k": keys}), scans=(SimulatedScan(page_rows=1),)),
                SimulatedTable(
                    "s", pa.record_batch({"k": keys, "v": keys}), lookups=(SimulatedLookup(("k",)),)
                ),
            ],
            recorder,
            seed=1,
        )
    )
    return Federation(catalog)


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


@asynccontextmanager
async def connected(recorder: RunRecorder) -> AsyncIterator[AsyncConnection]:
    async with federation(recorder) as inner:
        connection = fff.connect_async()
        connection._federation = inner
        async with connection:
            yield connection


def least(sql: str) -> int:
    """Requests of the whole statement."""
    return 2 * PAGES if sql == LOOKUPS else PAGES


def most(sql: str, ahead: int) -> int:
    """Requests while nobody takes what comes."""
    first = (
        BATCH_ROWS // driver._PAGE_LEAST if sql == JOIN else 0
    )  # taken in while nothing waits for the reader
    return first + (2 if sql == LOOKUPS else 1) * (READY_BATCHES + ahead + UNDER_WAY)


@pytest.mark.parametrize("sql", [SCAN, JOIN, LOOKUPS])
async def test_the_reader_of_an_execution(sql: str) -> None:
    recorder = Recorded()
    async with federation(recorder) as engine:
        execution = engine.execute(engine.prepare(sql), RunOptions(seed=1))
        batches = execution.batches()
        rows = len(await anext(batches))
        await turns()
        assert recorder.asked_for <= most(sql, 1)
        async for batch in batches:
            rows += len(batch)
        assert (rows, execution.outcome.complete) == (PAGES, True)
        assert recorder.asked_for >= least(sql)


async def test_rows_that_are_held_to_the_end_hold_nothing_back() -> None:
    recorder = Recorded()
    async with federation(recorder) as engine:
        execution = engine.execute(engine.prepare(SCAN), RunOptions(seed=1, hold_rows=True))
        assert sum([len(batch) async for batch in execution.batches()]) == PAGES


async def test_an_interrupt_ends_what_is_held_back() -> None:
    recorder = Recorded()
    async with federation(recorder) as engine:
        execution = engine.execute(engine.prepare(SCAN), RunOptions(seed=1))
        batches = execution.batches()
        rows = len(await anext(batches))
        await turns()
        execution.interrupt()
        async for batch in batches:
            rows += len(batch)
        assert execution.outcome.exit_code == 3
        assert rows <= most(SCAN, 1)


@pytest.mark.parametrize("sql", [SCAN, LOOKUPS])
async def test_the_reader_of_asynchronous_batches(sql: str) -> None:
    recorder = Recorded()
    async with connected(recorder) as connection:
        rows = 0
        async for batch in connection.batches(sql):
            if not rows:
                await turns()
                assert recorder.asked_for <= most(sql, AHEAD_BATCHES)
            rows += len(batch)
        assert rows == PAGES


async def test_the_reader_of_a_stream() -> None:
    recorder = Recorded()
    async with connected(recorder) as connection:
        stream = connection.stream(SCAN, interval=0.0)
        snapshots = aiter(stream)
        await anext(snapshots)
        seen = recorder.asked_for
        await turns()
        assert recorder.asked_for - seen <= most(SCAN, AHEAD_BATCHES)
        async for _ in snapshots:
            pass
        assert len(stream.result) == PAGES


def test_the_reader_of_batches_that_blocks(tmp_path: Path) -> None:
    spec = tmp_path / "fff.yaml"
    spec.write_text(ANY_SPEC, encoding="utf-8")
    recorder = Recorded()

    async def opened() -> Federation:
        return federation(recorder)

    with fff.connect(str(spec)) as connection:
        connection._loop.run(connection._inner.federation.close())
        connection._inner._federation = connection._loop.run(opened())
        with connection.batches(SCAN) as batches:
            rows = len(next(batches))
            connection._loop.run(turns())
            assert recorder.asked_for <= most(SCAN, AHEAD_BATCHES)
            rows += sum(map(len, batches))
        assert rows == PAGES


async def test_a_whole_result_is_fetched_without_a_pause() -> None:
    async with connected(Recorded()) as connection:
        assert len(await connection.sql(LOOKUPS)) == PAGES
