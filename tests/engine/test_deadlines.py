"""A deadline is when the answer is there: what is fetched, joined or aggregated then ends, and the answer says so."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fff.dataflow.routing import router as router_module
from fff.errors import SparkError
from fff.federation import Execution, RunOptions
from fff.result import row_sink
from fff.runtime import ending as ending_module
from fff.runtime.ending import Ending
from fff.simulation.loop import run as virtually
from fff.spark.session import SparkEngine
from fff.spark.spool import Spool
from tests.engine.duck import DuckSpark
from tests.engine.joins import INTS, oracle, two
from tests.engine.site import Site, access, federated, rows_of, until
from tests.web.serving import Serve

PRODUCT = "SELECT r.a, s.a, t.a FROM web.r, web.s, web.t"
GROUPED = "SELECT r.b, count(*) AS n FROM web.r, web.s GROUP BY r.b"
TABLES = {name: access(name, INTS) for name in "rst"}


def product(rows: int = 120) -> Site:
    """Three tables that nothing links."""
    site = Site({name: (("a", "b"), [(i, i % 7) for i in range(rows)]) for name in "rst"})
    site.page = rows
    return site


# ------------------------------------------------------------------------------------------------------- when what ends


def stages(
    deadline: float | None,
    *after: tuple[float, tuple[float, bool]],
    interrupted: float | None = None,
    up: float = 0.0,
):
    """When fetching and joining were told to end, and why; `after` tells what the rest takes from some time on.

    It can begin when it is `up`.
    """

    async def main() -> list[tuple[str, float, str]]:
        clock = asyncio.get_running_loop().time
        told: list[tuple[str, float, str]] = []
        rest = lambda: [rest for since, rest in after if since <= clock()][-1]  # noqa: E731
        ending = Ending(deadline, rest, lambda: clock() < up)
        ending.begin()
        watch = asyncio.create_task(
            ending.watch(
                lambda why: told.append(("fetching", round(clock(), 1), why)),
                lambda why: told.append(("joining", round(clock(), 1), why)),
            )
        )
        if interrupted is not None:
            await asyncio.sleep(interrupted)
            ending.interrupt("interrupted")
        await watch
        assert await ending.in_time(asyncio.sleep(3600, "too late")) is None
        told.append(("all", round(clock(), 1), ending.reason or ""))
        return told

    return virtually(main)


def test_each_stage_ends_early_enough_for_those_after_it() -> None:
    why = "the deadline of 10 s passed"
    assert stages(10, (0, (0.0, True))) == [("fetching", 9.6, why), ("joining", 9.8, why), ("all", 10.0, why)]
    assert stages(10, (0, (3.0, True))) == [("fetching", 6.6, why), ("joining", 6.8, why), ("all", 10.0, why)]


def test_what_was_never_measured_gets_a_share() -> None:
    assert [at for _, at, _ in stages(10, (0, (0.0, False)))] == [7.1, 7.3, 10.0]


def test_fetching_goes_on_while_what_follows_cannot_begin() -> None:
    start = (0, (5.0, False))
    assert [at for _, at, _ in stages(3, start, up=4)] == [2.9, 2.9, 3.0], (
        "there is nothing to leave time for"
    )
    assert [at for _, at, _ in stages(10, start, (4, (1.0, False)), up=4)] == [7.1, 7.3, 10.0]
    late = [at for _, at, _ in stages(30, start, (24.2, (1.0, False)), up=24.2)]
    assert late == [24.2, 24.2, 30.0], "none of the time that is left to it is lost"


def test_what_takes_longer_and_longer_is_begun_earlier() -> None:
    told = stages(100, (0, (1.0, True)), (20, (30.0, True)), (50, (60.0, True)))
    [fetching, joining, everything] = [at for _, at, _ in told]
    assert 50 <= fetching <= joining < 55
    assert everything == 100


def test_an_estimate_leaves_time_for_fetching() -> None:
    assert [at for _, at, _ in stages(10, (0, (3600.0, True)))] == [1.6, 1.8, 10.0]


def test_the_first_interrupt_is_a_deadline_near_by() -> None:
    told = stages(None, (0, (0.0, True)), interrupted=100)
    assert [at for _, at, _ in told][-1] == 102.0
    assert {why for _, _, why in told} == {"interrupted"}
    assert stages(101, (0, (0.0, True)), interrupted=100)[-1][1] == 101.0, "it puts nothing off"
    assert stages(None, (0, (5.0, True)), interrupted=100)[-1][1] == 112.0, "twice what Spark took before"


def test_work_in_time_is_not_disturbed() -> None:
    async def main() -> tuple[object, object]:
        ending = Ending(5, lambda: (0.0, True))
        ending.begin()
        done = (
            await ending.in_time(asyncio.sleep(1, "done")),
            await ending.while_fetching(asyncio.sleep(1, "too")),
        )
        assert ending.reason is None
        return done

    assert virtually(main) == ("done", "too")


# ------------------------------------------------------------------------------------------------------------- joining


@pytest.mark.slow
async def test_a_deadline_ends_joins_under_way(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 50)
    site = product()
    async with federated(serve, site, tmp_path, TABLES) as (federation, _):
        for deadline in (0.4, 1.6, 6.4):  # a busy machine needs longer until it joins at all
            execution = federation.execute(federation.prepare(PRODUCT), RunOptions(seed=1, deadline=deadline))
            if rows := await rows_of(execution):
                break
    outcome = execution.outcome
    assert 0 < len(rows) < 120**3
    assert max(Counter(rows).values()) == 1
    assert (outcome.exit_code, outcome.rows) == (3, len(rows))
    assert {(part.table, part.predicate) for part in outcome.missing} == {
        (f"web.{name}", "not joined yet") for name in "rst"
    }
    assert (outcome.reason or "").startswith(f"the deadline of {deadline} s passed (fetching ")
    assert "joining" in (outcome.reason or "")


@pytest.mark.slow
async def test_a_budget_lets_joins_end_and_a_deadline_still_cuts_them(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 50)
    site = product()
    site.page = 60
    async with federated(serve, site, tmp_path, TABLES) as (federation, _):
        for deadline in (0.4, 1.6, 6.4):
            options = RunOptions(seed=1, deadline=deadline, max_requests=5)
            execution = federation.execute(federation.prepare(PRODUCT), options)
            if rows := await rows_of(execution):
                break
        small = federation.execute(
            federation.prepare("SELECT r.a, s.a FROM web.r, web.s"), RunOptions(seed=1, max_requests=3)
        )
        assert len(await rows_of(small)) in (60 * 120, 120 * 60)
    assert 0 < len(rows) < 120**3
    assert execution.outcome.exit_code == 3
    assert small.outcome.exit_code == 3


async def test_the_first_interrupt_ends_joins_under_way(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 100)
    monkeypatch.setattr(ending_module, "INTERRUPT_JOIN_S", 0.1)
    async with federated(serve, product(), tmp_path, TABLES) as (federation, _):
        execution = federation.execute(federation.prepare(PRODUCT), RunOptions(seed=1))
        rows = 0
        async for batch in execution.batches():
            if not rows:
                execution.interrupt()
            rows += len(batch)
    assert 0 < rows < 120**3
    assert execution.outcome.reason == "interrupted"
    assert execution.outcome.exit_code == 3


async def test_rows_that_nobody_takes_in_time_are_dropped_and_told_of(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sink, "LATE_ROWS", 50)
    async with federated(serve, product(30), tmp_path, TABLES) as (federation, _):
        execution = federation.execute(federation.prepare(PRODUCT), RunOptions(seed=1, deadline=3600))
        rows = 0
        async for batch in execution.batches():
            rows += len(batch)
            execution._ending._due = 0.0
    outcome = execution.outcome
    assert (outcome.rows, outcome.exit_code) == (rows, 3)
    assert rows == 100, "what was being written, and as much as may be late"
    assert {part.predicate for part in outcome.missing} == {"not written"}


# --------------------------------------------------------------------------------------------------------------- Spark


class Slow(DuckSpark):
    """Whose run over all rows ends only when it is told to."""

    def __init__(self, *, up: bool = True) -> None:
        super().__init__()
        self.stopped: list[str] = []
        self.final = threading.Event()
        if not up:
            self.up.clear()

    def wait(self) -> None:
        if not self.up.wait(60):
            raise SparkError("Spark was stopped")

    def run_over(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        if self.final.is_set() and "DESCRIBE" not in sql:
            assert stop is not None
            assert stop.wait(60), "nobody stopped it"
            self.stopped.append(sql)
            raise SparkError("Spark was told to stop the query")
        return super().run_over(sql, views, stop)


async def slowly(serve: Serve, tmp_path: Path, spark: Slow, sql: str = GROUPED, **options: Any) -> Execution:
    async with federated(serve, product(), tmp_path, TABLES) as (federation, _):
        federation._start_spark = lambda _: spark  # type: ignore[method-assign,assignment,return-value]
        execution = federation.execute(federation.prepare(sql), RunOptions(**({"seed": 1} | options)))
        execution.found = [  # type: ignore[attr-defined]
            (batch.schema.names, list(zip(*batch.to_pydict().values(), strict=True)))
            async for batch in execution.batches()
        ]
        spark.up.set()
        return execution


@pytest.mark.slow
async def test_a_deadline_ends_sparks_last_run(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT sum(DISTINCT r.a % 5) AS n FROM web.r, web.s"
    for deadline in (1.0, 4.0, 16.0):  # a busy machine needs longer until Spark's last run begins
        spark = Slow()
        spark.final.set()
        execution = await slowly(serve, tmp_path, spark, deadline=deadline, sql=sql)
        outcome = execution.outcome
        if any("rests on 0 of 14,400 rows" in warning for warning in outcome.warnings):
            break
    assert spark.stopped, "it was told to stop"
    assert execution.found == [(["n"], [])]  # type: ignore[attr-defined]
    assert (outcome.complete, outcome.exit_code, outcome.rows) == (False, 3, 0)
    assert {(part.table, part.predicate) for part in outcome.missing} == {
        ("web.r", "not aggregated yet"),
        ("web.s", "not aggregated yet"),
    }
    assert "Spark" in (outcome.reason or "")
    assert any("rests on 0 of 14,400 rows" in warning for warning in outcome.warnings)
    assert outcome.doubts


async def test_what_needs_no_spark_is_told_in_place_of_its_result(serve: Serve, tmp_path: Path) -> None:
    for deadline in (0.5, 2.0, 8.0):
        execution = await slowly(serve, tmp_path, Slow(up=False), deadline=deadline)
        [(names, rows)] = execution.found  # type: ignore[attr-defined]
        if sorted(rows) == oracle(product(), GROUPED):
            break
    assert names == ["b", "n"]
    assert sorted(rows) == oracle(product(), GROUPED)
    assert execution.outcome.exit_code == 3
    assert not execution.outcome.complete, "the answer is always Spark's"


async def test_the_newest_result_is_told_in_place_of_the_last(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fff.spark.refresh_pacer.RefreshPacer.wait", lambda self, now: 0.0)
    monkeypatch.setattr(ending_module, "INTERRUPT_JOIN_S", 0.05)
    spark, site = Slow(), product()
    site.tables["s"] = (("a", "b"), [(i, i) for i in range(240)])
    site.faults["s", "scan@120"] = "hang"
    async with federated(serve, site, tmp_path, TABLES) as (federation, _):
        federation._start_spark = lambda _: spark  # type: ignore[method-assign,assignment,return-value]
        options = RunOptions(seed=1, refresh=True)
        execution = federation.execute(federation.prepare(GROUPED), options)
        reading = asyncio.create_task(rows_of(execution))
        await until(
            lambda: (
                execution.snapshot().spark.refreshes > 0
                and len(sample := execution.snapshot().sample) == 7
                and sum(row[-1] for row in sample) == 120 * 120
            )  # type: ignore[misc]
        )
        spark.final.set()
        execution.interrupt()
        async with asyncio.timeout(60):
            rows = await reading
    assert sum(n for _, n in rows) == 120 * 120
    assert execution.outcome.exit_code == 3
    assert {part.table for part in execution.outcome.missing} == {"web.r", "web.s"}


async def test_a_query_for_keys_ends_with_fetching(serve: Serve, tmp_path: Path) -> None:
    spark, site = Slow(), two()
    spark.final.set()
    tables = {"r": access("r", INTS), "s": access("s", INTS, scan=False, lookups=["a"])}
    sql = "SELECT s.b FROM web.s WHERE s.a IN (SELECT max(b) FROM web.r GROUP BY a)"
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        federation._start_spark = lambda _: spark  # type: ignore[method-assign,assignment,return-value]
        prepared = federation.prepare(sql)
        assert any(feed.query for block in prepared.blocks for feed in block.feeds), "keys are asked of Spark"
        execution = federation.execute(prepared, RunOptions(seed=1, deadline=0.5))
        async with asyncio.timeout(60):
            assert await rows_of(execution) == []
    assert execution.outcome.exit_code == 3
    assert execution.outcome.missing


@pytest.mark.spark
@pytest.mark.slow
def test_spark_stops_when_it_is_told(spark: SparkEngine) -> None:
    one, stop, errors = pa.table({"x": range(1000)}), threading.Event(), []

    def run() -> None:
        try:
            spark.run_over(
                "SELECT count(*) FROM v a, v b, v c, v d WHERE a.x + b.x > c.x * d.x", {"v": one}, stop
            )
        except SparkError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    spark.wait()
    while not spark._one_query.locked() and thread.is_alive():
        time.sleep(0.01)
    stop.set()
    thread.join(120)
    assert not thread.is_alive()
    assert len(errors) == 1
    assert spark.run("SELECT count(*) AS n FROM v", "v", one).to_pylist() == [{"n": 1000}]
