"""Statements of several blocks: fed from one another, side by side, all ending together. DuckDB stands in for Spark."""

from __future__ import annotations

import asyncio
import collections
import functools
import random
from pathlib import Path

import pyarrow as pa
import pytest

from fff.errors import QueryError, SourceError, SparkError
from fff.federation import Execution, RunOptions
from fff.result.partial.final_groups import Settled
from fff.sql.plan import Prepared, UpperQuery
from fff.structs import replace
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, LEFT, SHAPES, lookup_only, mixed, oracle, random_site, two
from tests.engine.site import access, federated, rows_of, run, until
from tests.sampling import every
from tests.web.serving import Serve


@pytest.mark.parametrize("sql", every(3, SHAPES))
async def test_any_shape_gives_the_rows_of_the_full_tables(serve: Serve, tmp_path: Path, sql: str) -> None:
    rng = random.Random(sql)
    for policy in ("naive", "rank"):
        site = random_site(rng)
        async with federated(serve, site, tmp_path, mixed()) as (federation, _):
            over_duck(federation)
            rows, execution = await run(federation, sql, policy=policy, seed=rng.randrange(99))
        assert rows == oracle(site, sql)
        assert execution.outcome.complete
        assert all(count == 1 for count in site.keys.values()), "a key is asked for once"
        pages = {name: max(1, -(-len(rows) // site.page)) for name, (_, rows) in site.tables.items()}
        assert all(site.scans[name] in (0, pages[name]) for name in site.tables), "a page is read once"


async def test_a_table_by_key_on_the_nullable_side_is_fed_with_the_distinct_keys(
    serve: Serve, tmp_path: Path
) -> None:
    site = two()
    site.tables["r"][1].append((99, None))  # no key
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, LEFT)
    assert rows == oracle(site, LEFT)
    assert site.keys == {("s", "a", str(k)): 1 for k in range(7)}
    report = execution.outcome.report
    assert [one["name"] for one in report["access"]] == ["r.scan", "s.lookup[a]"]
    assert {stem["table"] for stem in report["stems"]} == {"web.r", "web.s"}
    assert all(share["state"].partition(": ")[0] in ("__fff_1", "__fff_2") for share in report["routing"])


async def test_keys_are_asked_for_while_the_block_that_finds_them_still_reads(
    serve: Serve, tmp_path: Path
) -> None:
    site = two()
    site.faults["r", "scan@50"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        execution = federation.execute(federation.prepare(LEFT), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: site.hanging.is_set() and len(site.keys) == 7)
        site.over.set()
        assert await reading == oracle(site, LEFT)


async def test_what_a_feeding_block_lacks_is_told_once_and_where_it_is(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, LEFT)
        outcome = execution.outcome
        assert rows
        assert not collections.Counter(rows) - collections.Counter(oracle(site, LEFT))
        assert (outcome.complete, outcome.exit_code) == (False, 3)
        assert [(part.table, part.predicate) for part in outcome.missing] == [("web.r", "true")]
        assert outcome.reason == "HTTP 500 after 2 attempts"
        execution = federation.execute(federation.prepare(LEFT), RunOptions(seed=1, on_source_error="fail"))
        with pytest.raises(SourceError, match="HTTP 500"):
            await rows_of(execution)
        assert (execution.outcome.exit_code, execution.outcome.rows) == (4, 0)


async def test_the_missing_parts_of_all_blocks_are_listed(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.tables["t"] = (("a", "b"), [(1, 1)])
    site.faults["s", "3"] = 500
    site.faults["t", "scan"] = 500
    tables = mixed() | {"t": access("t", INTS)}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, f"{LEFT} UNION ALL SELECT a, b FROM web.t")
    missing = {(part.table, part.predicate) for part in execution.outcome.missing}
    assert missing == {("web.s", "a = 3"), ("web.t", "true")}
    assert len(rows) >= 60


async def test_no_source_at_all_is_no_result_over_all_blocks(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        with pytest.raises(SourceError, match="HTTP 500"):
            await run(federation, LEFT)


def looked_up(execution: Execution, rows: int) -> bool:
    """Whether lookups have brought so many rows."""
    return sum(one.rows for one in execution.snapshot().access if one.kind == "lookup") == rows


@pytest.mark.parametrize("how", ["interrupt", "deadline"])
async def test_all_blocks_stop_together(serve: Serve, tmp_path: Path, how: str) -> None:
    site = two()
    site.faults["r", "scan@40"] = "hang"
    site.tables["t"] = (("a", "b"), [(1, 1)])
    site.faults["t", "scan"] = "hang"
    tables = lookup_only() | {"t": access("t", INTS)}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        sql = f"{LEFT} UNION ALL SELECT a, b FROM web.t"
        for deadline in (0.8, 3.2, 12.8) if how == "deadline" else (None,):
            execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, deadline=deadline))
            reading = asyncio.create_task(rows_of(execution))
            if how == "interrupt":
                await until(site.hanging.is_set)
                await until(functools.partial(looked_up, execution, len(site.tables["s"][1])))
                execution.interrupt()
            async with asyncio.timeout(60):
                rows = await reading
            wrong = collections.Counter(rows) - collections.Counter(oracle(site, sql))
            if not wrong:  # a busy machine needs longer for all keys of the rows that are here
                break
    assert not wrong
    outcome = execution.outcome
    assert outcome.exit_code == 3
    assert {part.table for part in outcome.missing} >= {"web.r", "web.t"}
    assert how in (outcome.reason or "")


async def test_a_wrong_upper_query_ends_all_blocks(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@40"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        prepared = federation.prepare(LEFT)
        assert prepared.upper is not None
        wrong = replace(prepared, upper=replace(prepared.upper, sql="SELECT nonsense FROM __fff_1"))
        async with asyncio.timeout(60):
            execution = federation.execute(wrong, RunOptions(seed=1))
            with pytest.raises(SparkError, match="nonsense"):
                await rows_of(execution)
    assert execution.outcome.exit_code == 1


async def test_a_statement_without_blocks_is_sparks_alone(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, two(), tmp_path, lookup_only()) as (federation, served):
        over_duck(federation)
        upper = UpperQuery("SELECT 7 AS seven", "", aggregated=False)
        execution = federation.execute(Prepared("SELECT 7", (), upper=upper))
        assert await rows_of(execution) == [(7,)]
        assert execution.outcome.complete
        assert execution.snapshot().sample == ((7,),)
    assert served.asked == []


@pytest.mark.slow
async def test_rows_are_shown_while_other_blocks_have_none(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.tables["t"] = (("a", "b"), [(1, 1)])
    site.faults["t", "scan"] = "hang"
    tables = {"r": access("r", INTS), "t": access("t", INTS)}
    sql = "SELECT b, count(*) AS n FROM (SELECT b FROM web.r UNION ALL SELECT b FROM web.t) GROUP BY b"
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: execution.snapshot().sample_is == "current groups")
        shown = execution.snapshot()
        assert len(shown.sample) == 7
        assert shown.phase == "fetching"
        site.over.set()
        assert await reading == oracle(site, sql)


@pytest.mark.slow
async def test_groups_tell_what_they_rest_on_and_whether_they_are_settled(
    serve: Serve, tmp_path: Path
) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        prepared = federation.prepare(
            "SELECT s.a AS k, count(*) AS n FROM web.r JOIN web.s ON r.b = s.a GROUP BY s.a"
        )
        (block,) = prepared.blocks
        assert prepared.upper is not None
        sql = f"SELECT a AS k, count(*) AS n FROM {block.view} GROUP BY a"
        counted = f"SELECT a AS k, count(*) AS n, count(*) AS rests FROM {block.view} GROUP BY a"
        upper = replace(prepared.upper, sql=sql, counted=counted, group_keys=(0, None))
        execution = federation.execute(replace(prepared, upper=upper), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: sum(execution.snapshot().settled) == 5 and any(execution.snapshot().under_way))
        shown = execution.snapshot()
        assert shown.columns == ("k", "n")
        assert shown.group_keys == ("s.a", None)
        assert shown.rests_on[:5] == tuple(row[1] for row in shown.sample[:5])
        assert all(shown.settled[:5]), "only the group of the key that hangs can change"
        assert (shown.rests_on[5:], shown.settled[5:], shown.under_way) == (
            (0,),
            (False,),
            (0, 0, 0, 0, 0, 9),
        )
        assert shown.sample[5] == (3, 9), "rows of r that wait for it"
        site.over.set()
        await reading
        last = execution.snapshot()
    assert (len(last.sample), set(last.settled)) == (6, {True})
    assert sum(last.rests_on) == len(oracle(site, "SELECT 1 FROM web.r JOIN web.s ON r.b = s.a"))


async def test_no_group_is_settled_once_something_is_missing(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults |= {("s", "3"): "hang", ("s", "5"): 500}
    sql = "SELECT s.a AS k, count(*) AS n FROM web.r JOIN web.s ON r.b = s.a GROUP BY s.a"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        [block] = execution._blocks
        columns = block.query.plan.output[:1]
        await until(lambda: bool(block.missing) and block.eddy.open_values(columns) is not None)
        assert execution._spark_sink is not None
        assert execution._spark_sink._settled() is None
        site.over.set()
        await reading
        shown = execution.snapshot()
    assert shown.settled == (False,) * 5


def test_groups_are_settled_by_the_values_of_their_keys() -> None:
    nan = float("nan")
    shown = pa.table({"n": [1, 2, 3, 4], "f": [0.0, nan, None, 2.5], "s": ["a", "b", None, "a"]})
    still_open = pa.table({"s": ["b", None, "z"], "f": [nan, None, 2.5]})
    assert Settled((2, 1), still_open).of(shown) == (True, False, False, True)
    assert Settled((2,), still_open.select(["s"])).of(shown) == (True, False, False, True)
    assert Settled((), pa.table({})).of(shown) == (True,) * 4
    other_type = pa.table({"s": [1]})
    assert Settled((2,), other_type).of(shown) == (False,) * 4


async def test_priorities_reach_the_blocks_that_have_their_columns(serve: Serve, tmp_path: Path) -> None:
    site = two(rows=41, keys=41)
    site.page = 50
    async with federated(serve, site, tmp_path, lookup_only(), rate_limit={"max_concurrency": 1}) as (
        federation,
        _,
    ):
        over_duck(federation)
        rows, execution = await run(federation, LEFT, prioritize=("s.a = 36",))
        assert rows == oracle(site, LEFT)
        asked = [key for _, _, key in site.keys]
        assert site.tables["r"][1][-1] == (40, 36)
        assert asked[0] == "36", "the last row's key"
        assert execution.snapshot().priorities == ("s.a = 36",)
        execution = federation.execute(federation.prepare(LEFT))
        with pytest.raises(QueryError, match="nowhere"):
            execution.prioritize("r.a = 1", "nowhere.z = 1")
        assert execution.snapshot().priorities == ()
        with pytest.raises(QueryError):
            federation.execute(federation.prepare(LEFT), RunOptions(prioritize=("zz = 1",)))


async def test_partial_rows_are_shown_with_the_columns_they_lack(serve: Serve, tmp_path: Path) -> None:
    from fff.stats import MISSING

    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(
            federation.prepare("SELECT s.b AS x, r.a AS y FROM web.r JOIN web.s ON r.b = s.a"),
            RunOptions(seed=1),
        )
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: site.hanging.is_set() and 0 < len(execution.snapshot().partial) < 10)
        shown = execution.snapshot()
        assert shown.partial_columns == ("x", "y")
        assert {row[0] for row in shown.partial} == {MISSING}
        assert {row[1] for row in shown.partial} == {a for a, b in site.tables["r"][1] if b == 3}
        site.over.set()
        await reading
    assert execution.snapshot().partial == ()


async def test_a_budget_holds_over_all_blocks(serve: Serve, tmp_path: Path) -> None:
    site = two()
    for budget in (1, 4, 7, 12):
        async with federated(serve, site, tmp_path, mixed()) as (federation, served):
            over_duck(federation)
            site.tables["t"] = site.tables["s"]
            sql = f"{LEFT} UNION ALL SELECT a, b FROM web.t"
            _, execution = await run(federation, sql, max_requests=budget)
        assert len(served.asked) == budget
        assert sum(one["requests"] for one in execution.outcome.report["access"]) == budget
        assert execution.outcome.exit_code == 3


async def test_a_feed_of_two_blocks_brings_each_key_once(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.tables["t"] = (("a", "b"), [(5, 90), (8, 91)])
    sql = (
        "SELECT k.b, s.b FROM (SELECT b FROM web.r UNION ALL SELECT a FROM web.t) k "
        "LEFT JOIN web.s ON s.a = k.b"
    )
    async with federated(serve, site, tmp_path, mixed()) as (federation, _):
        over_duck(federation)
        rows, _ = await run(federation, sql)
    assert rows == oracle(site, sql)
    assert site.keys == {("s", "a", str(k)): 1 for k in (0, 1, 2, 3, 4, 5, 6, 8)}


@pytest.mark.parametrize("budget", [2, 9, 17, 25])
async def test_a_budget_counts_what_is_sent_again(serve: Serve, tmp_path: Path, budget: int) -> None:
    site = two()
    site.tables["t"] = two(rows=20).tables["r"]
    site.faults |= {("s", "2"): 503, ("s", "5"): 500, ("t", "scan@10"): 503}
    sql = f"{LEFT} UNION ALL SELECT a, b FROM web.t UNION ALL SELECT a, a FROM web.t"
    async with federated(serve, site, tmp_path, mixed()) as (federation, served):
        over_duck(federation)
        _, execution = await run(federation, sql, max_requests=budget)
    sent = sum(one["requests"] for one in execution.outcome.report["access"])
    assert len(served.asked) == sent == min(budget, 6 + 9 + 3)
    assert execution.outcome.exit_code == 3


async def test_fetching_waits_for_spark_only_at_the_end(serve: Serve, tmp_path: Path) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        duck = over_duck(federation)
        duck.up.clear()
        execution = federation.execute(federation.prepare(LEFT), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: execution.snapshot().phase == "aggregating")
        assert len(served.asked) == 13
        assert duck.asked == []
        duck.up.set()
        assert await reading == oracle(site, LEFT)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")  # joins the JVM that is there
@pytest.mark.slow
async def test_spark_runs_over_all_blocks_and_counts_groups(serve: Serve, tmp_path: Path) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, LEFT, refresh=True)
        assert rows == oracle(site, LEFT)
        assert execution.outcome.report["spark"]["used"] is True
        sql = "SELECT s.a AS k, count(*) AS n FROM web.r JOIN web.s ON r.b = s.a GROUP BY s.a"
        rows, execution = await run(federation, sql, refresh=True)
        assert rows == oracle(site, sql)
        last = execution.snapshot()
        assert last.group_keys == ("s.a", None)
        assert last.rests_on == tuple(row[1] for row in last.sample)
        assert set(last.settled) == {True}
        rows, _ = await run(federation, "SELECT 1 AS x UNION SELECT 2")
        assert rows == [(1,), (2,)]
        with pytest.raises(SparkError):
            await run(
                federation,
                "SELECT r.a, map_contains_key(map(s.a, 1), array(s.a)) FROM web.r LEFT JOIN web.s ON r.b = s.a",
            )
