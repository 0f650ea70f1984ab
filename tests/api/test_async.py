"""`fff.connect_async`, on the caller's loop."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

import fff
from tests.api.conftest import Publish
from tests.api.sites import JOIN, ROWS, TABLES, site


async def test_statements_run_side_by_side(publish: Publish) -> None:
    async with fff.connect_async(publish(site(), TABLES), seed=3) as federation:
        one, other = await asyncio.gather(
            federation.sql(JOIN), federation.sql("SELECT a FROM web.r WHERE b = :b", {"b": 0})
        )
    assert sorted(one) == sorted((a, 10 * b) for a, b in ROWS)
    assert sorted(other) == [(a,) for a, b in ROWS if b == 0]
    assert one.report["seed"] == 3


async def test_snapshots_and_batches(publish: Publish) -> None:
    async with fff.connect_async(publish(site(), TABLES)) as federation:
        stream = federation.stream(JOIN, interval=0.001)
        phases = [snapshot.phase async for snapshot in stream]
        assert phases[-1] == "done"
        assert len(stream.result) == 45
        assert stream.complete
        with pytest.raises(fff.UsageError, match="once"):
            _ = [snapshot async for snapshot in stream]
        batches = federation.batches("SELECT a FROM web.r")
        assert sum([len(batch) async for batch in batches]) == 45
        assert batches.report["complete"]
        assert [table.name for table in federation.tables()][:2] == ["r", "s"]
        assert "web.r" in await federation.explain(JOIN)


async def test_cancelling_the_caller_cancels_the_statement(publish: Publish) -> None:
    served = site()
    served.faults["r", "scan@10"] = "hang"
    async with fff.connect_async(publish(served, TABLES)) as federation:
        waiting = asyncio.create_task(federation.sql("SELECT a FROM web.r"))
        async for batch in federation.batches("SELECT a FROM web.r"):
            assert len(batch) == 10
            break
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with contextlib.aclosing(aiter(federation.batches("SELECT a FROM web.r"))) as batches:
            await anext(batches)
    assert federation._runs == set()


async def test_closing_ends_what_runs(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    served = site()
    served.faults["r", "scan@0"] = "hang"
    hanging = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(served.hanging, "set", lambda: loop.call_soon_threadsafe(hanging.set))
    federation = fff.connect_async(publish(served, TABLES))
    with pytest.raises(fff.UsageError, match="closed"):
        federation.tables()
    async with federation:
        waiting = asyncio.create_task(federation.sql("SELECT a FROM web.r"))
        await hanging.wait()
    with pytest.raises(fff.UsageError, match="closed while"):
        await waiting


async def test_what_is_wrong_with_the_sources_comes_out_of_entering() -> None:
    federation = fff.connect_async("nowhere.yaml")
    with pytest.raises(fff.UsageError, match="no such spec"):
        await federation.__aenter__()


def test_a_connection_stays_in_one_event_loop(publish: Publish) -> None:
    federation = fff.connect_async(publish(site(), TABLES))
    federation.open()
    with asyncio.Runner() as one, asyncio.Runner() as other:
        assert len(one.run(federation.sql(JOIN))) == 45
        for ask in (federation.sql, federation.explain):
            with pytest.raises(fff.UsageError, match="event loop of its first statement"):
                other.run(ask(JOIN))
        one.run(federation.close())
        federation.open()
        assert len(other.run(federation.sql(JOIN))) == 45
        other.run(federation.close())
