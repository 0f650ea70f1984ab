"""Statements of one session start with what the ones before them taught about routing; answers never depend on it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from fff.dataflow.plan.state import TupleState
from fff.federation import Execution, Federation
from tests.engine.joins import INTS, JOIN, lookup_only, oracle, two
from tests.engine.site import Site, access, federated, run
from tests.sampling import every
from tests.web.serving import Serve

#: dead drops every row of r, many has five matches for each: dead belongs first.
ROUTED = "SELECT r.a, many.b FROM web.r JOIN web.many ON r.b = many.a JOIN web.dead ON r.a = dead.a"
RELATED = "SELECT many.b, dead.a FROM web.dead JOIN web.r AS other ON other.a = dead.a JOIN web.many ON many.a = other.b"
TABLES = {
    "r": access("r", INTS),
    "many": access("many", INTS, scan=False, lookups=["a"]),
    "dead": access("dead", INTS, scan=False, lookups=["a"]),
}


def lopsided(rows: int = 16) -> Site:
    r = [(i, 1000 + i) for i in range(rows)]
    many = [(1000 + i, copy) for i in range(rows) for copy in range(5)]
    return Site({"r": (("a", "b"), r), "many": (("a", "b"), many), "dead": (("a", "b"), [(-1, 0)])}, page=16)


def first_hops(execution: Execution) -> Counter[str]:
    """How many rows of r went to each table first."""
    [block] = execution._blocks
    plan = block.query.plan
    [r] = [n for n, alias in enumerate(plan.aliases) if plan.tables[alias.table].name == "web.r"]
    found: Counter[str] = Counter()
    for interval in block.eddy.flow().history:
        for (state, move), tuples in interval.items():
            if state == TupleState(1 << r) and move.predicate is None:
                found[plan.tables[plan.aliases[move.alias].table].name] += tuples
    return found


async def statements(federation: Federation, *some: str, seed: int) -> list[Execution]:
    # By requests: measured times would differ from run to run.
    return [(await run(federation, sql, seed=seed, prefer="cheap"))[1] for sql in some]


@pytest.mark.parametrize("seed", range(3))
async def test_a_related_statement_goes_right_from_its_first_rows_on(
    serve: Serve, tmp_path: Path, seed: int
) -> None:
    site = lopsided()
    async with federated(serve, site, tmp_path, TABLES) as (federation, _):
        cold, warm = await statements(federation, ROUTED, RELATED, seed=seed)
    assert (cold.outcome.report["warm_start"], warm.outcome.report["warm_start"]) == (False, True)
    assert first_hops(cold)["web.many"] > 0, "a cold start has to try"
    assert first_hops(warm) == {"web.dead": 16}


async def test_nothing_is_known_of_other_tables_and_to_other_sessions(serve: Serve, tmp_path: Path) -> None:
    site = lopsided()
    site.tables["other"] = (("a", "b"), [(1, 1)])
    tables = TABLES | {"other": access("other", INTS)}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        executions = await statements(federation, ROUTED, "SELECT a FROM web.other", ROUTED, seed=1)
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        executions += await statements(federation, ROUTED, seed=1)
    warm = [execution.outcome.report["warm_start"] for execution in executions]
    assert warm == [False, False, True, False]


async def test_other_policies_know_nothing(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, two(), tmp_path, lookup_only()) as (federation, _):
        await run(federation, JOIN)
        _, execution = await run(federation, JOIN, policy="rank")
    assert execution.outcome.report["warm_start"] is False


@pytest.mark.parametrize("prefer", every(2, ["fast", "balanced", "cheap"]))
async def test_the_answer_is_the_same_whatever_was_learnt(serve: Serve, tmp_path: Path, prefer: str) -> None:
    """Also where the sources have changed behind the session's back."""
    site, rng = two(), random.Random(5)
    rows = site.tables["s"][1]
    tables = lookup_only() | {"t": access("t", INTS, lookups=["a"])}
    site.tables["t"] = (("a", "b"), [(a, b % 3) for a, b in rows])
    statement = f"{JOIN} JOIN web.t ON t.a = s.a"
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        for number in range(4):
            found, execution = await run(federation, statement, prefer=prefer, seed=number)
            assert found == oracle(site, statement)
            assert execution.outcome.report["warm_start"] is (number > 0)
            site.tables["s"] = (("a", "b"), [(a, b) for a, b in rows for _ in range(rng.randrange(4))])
            site.tables["t"] = (("a", "b"), [row for row in rows if rng.random() < 0.5])


async def test_a_failed_statement_does_no_harm(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = 404
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        await run(federation, JOIN)
        site.faults.clear()
        rows, execution = await run(federation, JOIN)
    assert rows == oracle(site, JOIN)
    assert execution.outcome.complete
