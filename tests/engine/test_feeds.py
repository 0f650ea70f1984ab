"""Feeds on their own: distinct keys in pages, whoever finds them, however often."""

from __future__ import annotations

import asyncio
import collections
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fff.access.semijoin_feed import FeedBroken, KeyFeed
from fff.catalog import LookupMethod, ScanMethod, Table
from fff.dataflow import scans
from fff.errors import InvariantError
from fff.limits import FEED_PAGE_ROWS
from fff.schema import Field
from fff.stats import AccessMeter
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, lookup_only, oracle
from tests.engine.site import Row, Site, access, federated, run
from tests.sampling import every
from tests.web.serving import Serve

SCAN = ScanMethod("keys")


def feed_of(*types: str, sources: tuple[int, ...] = (0,)) -> KeyFeed:
    columns = tuple(Field.of(f"k{number}", kind) for number, kind in enumerate(types))
    return KeyFeed(Table("", "keys", columns, scans=(SCAN,)), sources)


async def read(feed: KeyFeed) -> list[Row]:
    rows: list[Row] = []
    names = [field.name for field in feed.tables[0].columns]
    async for page in feed.scan(feed.tables[0], SCAN, names, meter=AccessMeter(), window=1):
        assert 0 < len(page.rows) <= FEED_PAGE_ROWS
        rows += zip(*(column.to_pylist() for column in page.rows.columns), strict=True)
    return rows


async def test_each_key_comes_once_and_none_with_a_null() -> None:
    feed = feed_of("int", "string")
    feed.add([pa.array([1, 1, None, 2], pa.int32()), pa.array(["a", "a", "b", None])])
    feed.add([pa.array([], pa.int32()), pa.array([], pa.string())])
    feed.add([pa.array([2, 1, 1], pa.int32()), pa.array(["a", "b", "a"])])
    feed.end(0, None)
    assert await read(feed) == [(1, "a"), (2, "a"), (1, "b")]
    assert feed.keys == 3


async def test_values_come_in_the_type_of_the_table() -> None:
    feed = feed_of("bigint")
    feed.add([pa.array([1, 2], pa.int32())])
    feed.end(0, None)
    rows = [
        page.rows async for page in feed.scan(feed.tables[0], SCAN, ["k0"], meter=AccessMeter(), window=1)
    ]
    assert rows[0].schema.types == [pa.int64()]


async def test_it_ends_with_the_last_block_that_feeds_it() -> None:
    feed = feed_of("int", sources=(0, 2))
    reading = asyncio.create_task(read(feed))
    feed.add([pa.array([1], pa.int32())])
    feed.end(2, None)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not reading.done()
    feed.add([pa.array([1, 5], pa.int32())])
    feed.end(0, None)
    assert await reading == [(1,), (5,)]


async def test_keys_that_are_not_all_there_come_before_the_failure() -> None:
    feed = feed_of("int", sources=(0, 1))
    feed.add([pa.array([1], pa.int32())])
    feed.end(0, "keys that web.r would bring are missing: HTTP 500")
    feed.end(1, None)
    pages = feed.scan(feed.tables[0], SCAN, ["k0"], meter=AccessMeter(), window=1)
    assert (await anext(pages)).rows.column(0).to_pylist() == [1]
    with pytest.raises(FeedBroken, match="HTTP 500"):
        await anext(pages)


async def test_a_feed_that_nobody_reads_any_more_holds_nothing() -> None:
    feed = feed_of("int")
    pages = feed.scan(feed.tables[0], SCAN, ["k0"], meter=AccessMeter(), window=1)
    feed.add([pa.array([1], pa.int32())])
    await anext(pages)
    feed.add([pa.array([2], pa.int32())])
    await pages.aclose()
    feed.add([pa.array([3], pa.int32())])
    assert not feed._unread
    assert feed.keys == 2


async def test_a_feed_answers_no_key() -> None:
    feed = feed_of("int")
    with pytest.raises(InvariantError):
        async for _ in feed.lookup(
            feed.tables[0], LookupMethod("no", ("k0",)), ["k0"], [(1,)], meter=AccessMeter()
        ):
            pass


async def test_random_batches_against_a_set() -> None:
    rng = random.Random(3)
    for _ in range(30):
        feed = feed_of("int", "double")
        wanted: dict[Row, None] = {}
        for _ in range(rng.randrange(8)):
            rows = [
                (rng.choice([None, 1, 2, 3]), rng.choice([None, 0.0, 1.5])) for _ in range(rng.randrange(20))
            ]
            wanted |= {row: None for row in rows if None not in row}
            feed.add(
                [pa.array([r[0] for r in rows], pa.int32()), pa.array([r[1] for r in rows], pa.float64())]
            )
        feed.end(0, None)
        assert await read(feed) == list(wanted)


async def test_many_keys_come_in_pages_of_bounded_size() -> None:
    feed = feed_of("bigint")
    for start in range(0, 50_000, 25_000):
        feed.add([pa.array(np.arange(start, start + 25_000))])
    feed.end(0, None)
    assert [row[0] for row in await read(feed)] == list(range(50_000))


async def test_blocks_that_are_held_back_hold_up_nobody(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least room there is: every scan waits while anything waits inside its eddy."""
    monkeypatch.setattr(scans, "HELD_TUPLES", 0)
    rng = random.Random(4)
    site = Site(
        {name: (("a", "b"), [(rng.randrange(30), rng.randrange(30)) for _ in range(60)]) for name in "rst"},
        page=5,
        jitter=rng,
    )
    tables = lookup_only() | {"t": access("t", INTS, scan=False, lookups=["a"])}
    sql = "SELECT r.a, s.b, t.b FROM (SELECT a, b FROM web.r GROUP BY a, b) r LEFT JOIN web.s ON r.b = s.a LEFT JOIN web.t ON s.b = t.a"
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        async with asyncio.timeout(100):
            rows, execution = await run(federation, sql, policy="naive")
    assert rows == oracle(site, sql)
    assert execution.outcome.complete
    assert set(collections.Counter(site.keys).values()) == {1}


@pytest.mark.parametrize("fault", every(2, [500, "garbage"]))
@pytest.mark.parametrize("what", ["scan@10", "3"])
async def test_a_chain_of_feeds_with_a_fault_somewhere_gives_a_labelled_part(
    serve: Serve, tmp_path: Path, fault: int | str, what: str
) -> None:
    rng = random.Random(9)
    site = Site(
        {name: (("a", "b"), [(rng.randrange(9), rng.randrange(9)) for _ in range(30)]) for name in "rst"}
    )
    broken = "r" if what.startswith("scan") else "s"
    site.faults[broken, what] = fault
    tables = lookup_only() | {"t": access("t", INTS, scan=False, lookups=["a"])}
    sql = "SELECT r.a, s.b, t.b FROM (SELECT a, b FROM web.r GROUP BY a, b) r LEFT JOIN web.s ON r.b = s.a LEFT JOIN web.t ON s.b = t.a"
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert rows
    outcome = execution.outcome
    assert (outcome.complete, outcome.exit_code) == (False, 3)
    assert {part.table for part in outcome.missing} == {f"web.{broken}"}
    ends = [block.finish.complete for block in execution._blocks if block.finish is not None]
    assert ends == ([False] * 3 if broken == "r" else [True, False, False]), (
        "who is fed with a part has a part"
    )
    assert not any(one["source"] == "" for one in outcome.report["access"])
