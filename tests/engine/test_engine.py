"""Whole runs over a loopback site: SQL in, rows out, and what went over the wire."""

from __future__ import annotations

import asyncio
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from fff.errors import InfeasibleQuery, SourceError, SparkError
from fff.federation import RunOptions
from fff.policies import POLICIES
from fff.result.audit import report as audit_report
from tests.engine.joins import INTS, JOIN, lookup_only, oracle, two
from tests.engine.site import Site, access, federated, rows_of, run, until
from tests.sampling import every
from tests.web.serving import Serve


@pytest.mark.parametrize("semantics", every(2, ["parked", "paper"]))
@pytest.mark.parametrize("policy", POLICIES)
async def test_one_request_per_distinct_key(
    serve: Serve, tmp_path: Path, policy: str, semantics: str
) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, JOIN, policy=policy, semantics=semantics)
    assert rows == oracle(site, JOIN)
    assert sorted(site.keys.items()) == [(("s", "a", str(k)), 1) for k in range(7)]
    assert execution.outcome.complete
    (lookup,) = [a for a in execution.outcome.report["access"] if a["kind"] == "lookup"]
    assert (lookup["requests"], lookup["distinct_keys"], lookup["complete"]) == (7, 7, True)


async def test_the_audit_is_made_where_it_is_read(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than a small join of many tables."""
    judged: list[object] = []
    hindsight = audit_report.hindsight

    def judge(*args: Any) -> object:
        judged.append(args)
        return hindsight(*args)

    monkeypatch.setattr(audit_report, "hindsight", judge)
    tables = {name: access(name, INTS, scan=True) for name in "rs"}
    async with federated(serve, two(), tmp_path, tables) as (federation, _):
        _, execution = await run(federation, JOIN)
        assert not judged
        assert execution.outcome.report is execution.outcome.report
    assert len(judged) == 1


async def test_five_sources_of_which_one_is_scannable_in_any_from_order(serve: Serve, tmp_path: Path) -> None:
    rng = random.Random(5)
    site = Site(
        {name: (("a", "b"), [(rng.randrange(8), rng.randrange(8)) for _ in range(12)]) for name in "tuvwx"}
    )
    tables = {
        name: access(name, INTS, scan=name == "t", lookups=[] if name == "t" else ["a"]) for name in "tuvwx"
    }
    on = "t.b = u.a AND u.b = v.a AND v.b = w.a AND w.b = x.a"
    expected = oracle(site, f"SELECT t.a, x.b FROM web.t, web.u, web.v, web.w, web.x WHERE {on}")
    assert expected
    orders = list(itertools.permutations("tuvwx"))
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        for order in rng.sample(orders, 12):
            site.keys.clear()
            sql = f"SELECT t.a, x.b FROM {', '.join(f'web.{name}' for name in order)} WHERE {on}"
            rows, _ = await run(federation, sql, policy="naive", seed=rng.randrange(100))
            assert rows == expected, order
            assert max(site.keys.values()) == 1


SHAPES = [
    "SELECT x.a, y.b FROM web.r x, web.r y WHERE x.b = y.a",
    "SELECT x.a FROM web.r x, web.r y WHERE x.a = y.a AND x.b = y.b",
    "SELECT r.a, s.a FROM web.r, web.s WHERE r.a < s.b AND r.b <> s.a",
    "SELECT r.a, s.b, t.b FROM web.r, web.s, web.t WHERE r.b = s.a AND s.b = t.a AND t.b = r.a",
    "SELECT r.b, s.b FROM web.r, web.s WHERE r.a IN (1, 3) AND s.a = 2",
    "SELECT s.a, s.b, t.a FROM web.s CROSS JOIN web.t",
    "SELECT r.a, t.b FROM web.r JOIN web.t ON r.b = t.a WHERE r.a IS NOT NULL OR t.b > 1",
]


@pytest.mark.parametrize("sql", every(4, SHAPES))
async def test_shapes_of_joins_over_competing_access_methods(serve: Serve, tmp_path: Path, sql: str) -> None:
    rng = random.Random(sql)

    def value() -> int | None:
        return None if rng.random() < 0.1 else rng.randrange(4)

    site = Site(
        {name: (("a", "b"), [(value(), value()) for _ in range(14)]) for name in "rst"}, page=3, jitter=rng
    )
    tables = {
        "r": access("r", INTS, scans=2),
        "s": access("s", INTS, lookups=["a", "b"]),
        "t": access("t", INTS, lookups=["a"]),
    }
    expected = oracle(site, sql)
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        for policy in POLICIES:
            for semantics in ("parked", "paper"):
                rows, execution = await run(federation, sql, policy=policy, semantics=semantics)
                assert rows == expected, (policy, semantics)
                assert execution.outcome.exit_code == 0


async def test_a_table_that_needs_a_key_is_refused_before_any_request(serve: Serve, tmp_path: Path) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        with pytest.raises(InfeasibleQuery, match="nothing binds a") as refused:
            federation.prepare("SELECT * FROM web.s")
    assert "s.a = " in str(refused.value)
    assert served.asked == []


async def test_constants_ask_for_their_keys_only(serve: Serve, tmp_path: Path) -> None:
    site = two()
    tables = {"r": access("r", INTS), "s": access("s", INTS, lookups=["a"])}
    async with federated(serve, site, tmp_path, tables) as (federation, served):
        rows, _ = await run(federation, "SELECT b FROM web.s WHERE a IN (2, 3, 3, 99)")
    assert rows == [(20,), (30,), (31,)]
    assert sorted(served.paths) == ["/get/s/a/2", "/get/s/a/3", "/get/s/a/99"]


async def test_limit_stops_all_fetching(serve: Serve, tmp_path: Path) -> None:
    site = two(rows=5000)
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        rows, execution = await run(federation, "SELECT a FROM web.r LIMIT 25")
    assert len(rows) == 25
    assert site.scans["r"] <= 5, "three pages of ten are needed"
    assert execution.outcome.complete
    assert len(served.asked) == site.scans["r"]


async def test_offset_skips_rows_of_what_is_fetched(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, two(), tmp_path, lookup_only()) as (federation, _):
        rows, _ = await run(federation, "SELECT a FROM web.r LIMIT 7 OFFSET 4")
        assert len(rows) == 7
        rows, _ = await run(federation, "SELECT a FROM web.r LIMIT 70 OFFSET 55")
        assert len(rows) == 5


async def test_a_key_that_fails_goes_missing_and_the_rest_is_there(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, JOIN)
        assert rows == [row for row in oracle(site, JOIN) if row[1] not in (30, 31)]
        outcome = execution.outcome
        assert (outcome.complete, outcome.exit_code) == (False, 3)
        assert outcome.report["missing"] == [
            {"table": "web.s", "predicate": "a = 3", "reason": "HTTP 500 after 2 attempts"}
        ]
        with pytest.raises(SourceError, match="HTTP 500 after 2 attempts"):
            await run(federation, JOIN, on_source_error="fail", hold_rows=True)


async def test_a_scan_that_dies_is_replaced_by_lookups(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "scan@0"] = 500
    tables = {"r": access("r", INTS), "s": access("s", INTS, lookups=["a"])}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        rows, execution = await run(federation, JOIN)
    assert rows == oracle(site, JOIN)
    assert execution.outcome.complete
    assert {key for _, _, key in site.keys} == {str(k) for k in range(7)}


async def test_a_scan_that_dies_half_way_leaves_a_labelled_part(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, JOIN)
    assert rows
    assert set(rows) < set(oracle(site, JOIN))
    assert [part.predicate for part in execution.outcome.missing] == ["true"]
    assert execution.outcome.exit_code == 3


async def test_its_mirror_takes_over_from_a_scan_that_dies(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    tables = lookup_only()
    tables["r"] = access("r", INTS, scans=2)
    mirror = tables["r"]["scan"][1]["endpoint"]  # type: ignore[index,call-overload]
    mirror["path"] = "scan/mirror"
    site.tables["mirror"] = site.tables["r"]
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        rows, execution = await run(federation, JOIN)
    assert rows == oracle(Site({name: site.tables[name] for name in "rs"}), JOIN)
    assert execution.outcome.complete
    scans = [one for one in execution.outcome.report["access"] if one["kind"] == "scan"]
    assert [one["complete"] for one in scans] == [False, True]
    assert scans[1]["duplicates"] > 0


async def test_no_source_at_all_is_no_result(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        with pytest.raises(SourceError, match="HTTP 500") as failed:
            await run(federation, JOIN)
    assert failed.value.exit_code == 4


async def test_a_malformed_body_is_one_clear_error(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan"] = "garbage"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        with pytest.raises(SourceError, match=r"web\.r: the answer is not valid json"):
            await run(federation, JOIN)


async def test_the_first_rows_come_while_a_key_is_still_asked_for(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(federation.prepare(JOIN), RunOptions(seed=1))
        batches = execution.batches()
        first = await anext(batches)
        assert len(first)
        assert execution.snapshot().phase == "fetching"
        await site.hanging.wait()
        execution.interrupt()
        async for _ in batches:
            pass
    outcome = execution.outcome
    assert (outcome.exit_code, outcome.missing[0].reason) == (3, "interrupted")
    assert "a = 3" in [part.predicate for part in outcome.missing]


async def test_a_scan_that_was_stopped_has_not_failed_either(serve: Serve, tmp_path: Path) -> None:
    site = two(rows=30)
    site.faults["r", "scan@20"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(
            federation.prepare(JOIN), RunOptions(seed=1, on_source_error="partial")
        )
        batches = execution.batches()
        await anext(batches)
        await site.hanging.wait()
        execution.interrupt()
        async for _ in batches:
            pass
    assert {one.state for one in execution.snapshot().access if one.kind == "scan"} == {"stopped"}


@pytest.mark.parametrize(("fault", "state"), [(None, "stopped"), (404, "stopped"), (400, "failed")])
async def test_a_lookup_that_was_stopped_has_not_failed(
    fault: int | None, state: str, serve: Serve, tmp_path: Path
) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    if fault is not None:
        site.faults["s", "1"] = fault
    tables = lookup_only()
    tables["s"]["on_status"] = [{"status_code": 404, "action": "empty"}]
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        execution = federation.execute(
            federation.prepare(JOIN), RunOptions(seed=1, on_source_error="partial")
        )
        batches = execution.batches()
        await anext(batches)
        await site.hanging.wait()
        await until(lambda: state != "failed" or any(one.failed for one in execution.snapshot().access))
        execution.interrupt()
        async for _ in batches:
            pass
    states = {one.kind: one.state for one in execution.snapshot().access if one.table == "s"}
    assert states == {"lookup": state}


async def test_a_lookup_that_a_limit_has_stopped_has_not_failed(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(federation.prepare(f"{JOIN} LIMIT 1"), RunOptions(seed=1))
        async for _ in execution.batches():
            pass
    assert execution.outcome.complete
    states = {one.kind: one.state for one in execution.snapshot().access if one.table == "s"}
    assert states == {"lookup": "stopped"}


def names_of(tasks: set[asyncio.Task[Any]]) -> list[str]:
    return [str(getattr(task.get_coro(), "__qualname__", "")) for task in tasks]


async def test_who_leaves_early_leaves_nothing_running(serve: Serve, tmp_path: Path) -> None:
    site = two(rows=500)
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        before = asyncio.all_tasks()
        batches = federation.execute(federation.prepare(JOIN), RunOptions(seed=1)).batches()
        await anext(batches)
        assert any(name.startswith("BlockDriver") for name in names_of(asyncio.all_tasks() - before))
        await batches.aclose()
        left = names_of(asyncio.all_tasks() - before)
        assert not [name for name in left if name.startswith(("BlockDriver", "Execution"))]


async def test_a_deadline_ends_with_what_is_there(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, JOIN, deadline=0.5)
    assert set(rows) < set(oracle(site, JOIN))
    assert execution.outcome.exit_code == 3
    assert "deadline" in (execution.outcome.reason or "")


@pytest.mark.parametrize("budget", [1, 3, 9, 12])
async def test_a_budget_of_requests_is_never_exceeded(serve: Serve, tmp_path: Path, budget: int) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        rows, execution = await run(federation, JOIN, max_requests=budget)
    assert len(served.asked) <= budget
    assert sum(access["requests"] for access in execution.outcome.report["access"]) == budget
    assert set(rows) <= set(oracle(site, JOIN))
    assert execution.outcome.exit_code == 3
    assert execution.outcome.missing


async def test_a_scan_waits_for_nobody_when_held_rows_are_released_at_the_end(
    serve: Serve, tmp_path: Path
) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, _ = await run(federation, JOIN, hold_rows=True)
    assert rows == oracle(site, JOIN)


async def test_the_same_seed_routes_the_same_way(serve: Serve, tmp_path: Path) -> None:
    site = two()
    tables = {"r": access("r", INTS), "s": access("s", INTS)}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        reports = [(await run(federation, JOIN, policy="naive", seed=9))[1].outcome.report for _ in range(2)]
    assert reports[0]["seed"] == 9
    assert sorted(map(str, reports[0]["stems"])) == sorted(map(str, reports[1]["stems"]))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")  # joins the JVM that is there
@pytest.mark.slow
async def test_an_aggregate_runs_in_spark_over_all_rows(serve: Serve, tmp_path: Path) -> None:
    site = two()
    sql = "SELECT s.b, count(*) AS n, sum(r.a) AS total FROM web.r JOIN web.s ON r.b = s.a GROUP BY s.b HAVING count(*) > 1"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        rows, execution = await run(federation, sql, refresh=True)
        assert rows == oracle(site, sql)
        assert execution.outcome.report["spark"]["used"] is True
        empty, _ = await run(federation, "SELECT count(*), max(a) FROM web.r WHERE a > 1000")
        assert empty == [(0, None)]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.slow
async def test_spark_rejects_a_wrong_query_before_the_last_row(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(
            federation.prepare(
                "SELECT map_contains_key(map(r.a, 1), array(r.a)) FROM web.r JOIN web.s ON r.b = s.a"
            ),
            RunOptions(seed=1),
        )
        async with asyncio.timeout(90):
            with pytest.raises(SparkError):
                await rows_of(execution)
    assert execution.outcome.exit_code == 1


async def test_an_abort_is_heard_whenever_it_comes(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan"] = "hang"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(federation.prepare(JOIN), RunOptions(seed=1))
        execution._abort(SparkError("before the first turn"))
        async with asyncio.timeout(30):
            with pytest.raises(SparkError, match="before the first turn"):
                await rows_of(execution)
