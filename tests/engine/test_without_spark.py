"""Statements that need no Spark start none, and ask for no more pages than their rows need."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fff.errors import QueryError
from fff.federation import Federation, RunOptions
from tests.engine.joins import INTS, oracle
from tests.engine.site import Site, access, federated, rows_of, run, until
from tests.sampling import every_row
from tests.web.serving import Serve

SITE = {
    "r": (("a", "b"), [(i, i * 7 % 5) for i in range(400)]),
    "s": (("a", "b"), [(i, i) for i in range(50)]),
}


@contextlib.asynccontextmanager
async def sparkless(serve: Serve, folder: Path) -> AsyncIterator[tuple[Federation, Site]]:
    """Two scanned tables of 40 and 5 pages; whoever starts Spark fails."""
    site = Site(dict(SITE))
    async with federated(serve, site, folder, {"r": access("r", INTS), "s": access("s", INTS)}) as (one, _):

        def refuse(*_: object) -> None:
            raise AssertionError("Spark is started")

        one._start_spark = refuse  # type: ignore[method-assign,assignment]
        yield one, site


@pytest.mark.parametrize(
    ("sql", "pages"),
    every_row(
        2,
        [
            ("SELECT a + 1, b AS c FROM web.r WHERE b % 5 = 3", 40),
            ("SELECT a > 0 AS inhabited FROM web.r LIMIT 12", 3),
            ("SELECT a + 1 AS n FROM web.r WHERE b > 3 LIMIT 3", 3),
            ("SELECT a FROM web.r WHERE a % 2 = 1 LIMIT 3", 2),
            ("SELECT a FROM web.r WHERE a + 1 > 5 LIMIT 3", 2),
            ("SELECT DISTINCT b FROM web.r LIMIT 3", 2),
            ("SELECT DISTINCT b FROM web.r LIMIT 2 OFFSET 1", 2),
            ("SELECT DISTINCT b + 1 AS n FROM web.r WHERE a > 15 LIMIT 5", 4),
            ("SELECT DISTINCT b FROM web.r", 40),
            ("SELECT a FROM web.r UNION ALL SELECT a FROM web.s LIMIT 4", 3),
            ("SELECT a FROM web.r UNION ALL SELECT b + 1 FROM web.s", 45),
            ("SELECT b FROM web.r UNION SELECT 7 LIMIT 3", 2),
            ("SELECT 9 AS a UNION ALL SELECT a FROM web.r LIMIT 1", 0),
            ("SELECT 1", 0),
            ("SELECT 1 + 1 AS two", 0),
            ("SELECT a FROM web.r LIMIT 0", 0),
        ],
    ),
)
async def test_rows_leave_as_they_are_found(serve: Serve, tmp_path: Path, sql: str, pages: int) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    outcome = execution.outcome
    assert (outcome.exit_code, outcome.complete, outcome.missing) == (0, True, ())
    assert outcome.report["spark"]["used"] is False
    assert outcome.rows == len(rows)
    expected = oracle(site, sql)
    if "LIMIT" not in sql:
        assert rows == expected
        assert sum(site.scans.values()) == pages
    else:  # any rows do; pages that are under way already come as well
        whole = oracle(site, sql.partition("LIMIT")[0])
        assert len(rows) == len(expected)
        assert set(rows) <= set(whole)
        assert sum(site.scans.values()) <= pages


async def test_no_table_ends_another_that_is_still_wanted(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT DISTINCT a FROM web.s UNION ALL (SELECT b FROM web.r LIMIT 2)"
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert len(rows) == 52
    assert site.scans["s"] == 5
    assert site.scans["r"] <= 2
    assert execution.outcome.complete


async def test_a_value_that_cannot_be_had_ends_the_statement(serve: Serve, tmp_path: Path) -> None:
    async with sparkless(serve, tmp_path) as (federation, _):
        with pytest.raises(QueryError) as raised:
            await run(federation, "SELECT a,\n  10 / (a - 3) AS x FROM web.r")
    assert raised.value.render().splitlines()[1:3] == [
        "  2 |   10 / (a - 3) AS x FROM web.r",
        "        ^^^^^^^^^^^^^^^^^",
    ]
    assert "[DIVIDE_BY_ZERO]" in raised.value.message


@pytest.mark.parametrize("items", ["a + 1 AS n, b", "1, 2"])
async def test_it_can_be_looked_at_while_it_runs(serve: Serve, tmp_path: Path, items: str) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        site.faults["r", "scan@20"] = "hang"
        sql = f"SELECT 7 AS n, 8 AS b UNION ALL SELECT {items} FROM web.r"
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await until(site.hanging.is_set)
        await until(lambda: execution.snapshot().sample_rows > 1)
        assert execution.snapshot().sample_is == "newest rows"
        execution.interrupt()
        assert 1 < len(await reading) <= 391  # all but the page that hangs
    assert (execution.outcome.exit_code, execution.outcome.complete) == (3, False)


@pytest.mark.parametrize(
    "sql", ["SELECT a, count(*) FROM web.r", "SELECT substring(a) FROM web.r", "SELECT rank() FROM web.r"]
)
async def test_what_spark_would_refuse_costs_no_request(serve: Serve, tmp_path: Path, sql: str) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        await federation.discover(sql)
        with pytest.raises(QueryError) as raised:
            federation.prepare(sql)
    assert "^" in raised.value.render()
    assert not site.scans
