"""Queries in queries as tables of the eddies around them: pages are counted, no Spark, and no absence without proof."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fff.execution import RunOptions
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, R, S, T, oracle, sparkless
from tests.engine.site import Site, access, federated, rows_of, run
from tests.sampling import every, every_row
from tests.web.serving import Serve

#: r, s and t have 10, 4 and 2 pages.
EVERY = {"r": 10, "s": 4, "t": 2}


@pytest.mark.parametrize(
    ("sql", "scans"),
    every_row(2, [
        ("SELECT r.a, t.b FROM web.r LEFT JOIN (web.s JOIN web.t ON s.b = t.a) ON r.b = s.a", EVERY),
        ("SELECT r.a FROM web.r WHERE r.b IN (SELECT s.a FROM web.s JOIN web.t ON s.b = t.a WHERE t.b < 2)", EVERY),
        ("SELECT r.a FROM web.r WHERE NOT EXISTS (SELECT 1 FROM web.s, web.t WHERE s.b = t.a AND s.a = r.b AND t.b < r.a)", EVERY),
        ("SELECT r.a FROM web.r WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = r.b AND NOT EXISTS (SELECT 1 FROM web.t WHERE t.a = s.b))", EVERY),
        ("SELECT r.a, s.b, t.b FROM web.r FULL JOIN web.s ON r.b = s.a FULL JOIN web.t ON t.a = s.b", EVERY),
        ("SELECT r.a, s.b, t.b FROM web.r JOIN web.t ON r.b = t.a FULL JOIN web.s ON r.b = s.a", EVERY),
        ("SELECT r.a, s.b, t.b FROM web.r JOIN web.t ON r.b = t.a RIGHT JOIN web.s ON r.b = s.a", EVERY),
        ("SELECT d.b, s.b FROM (SELECT DISTINCT b FROM web.r) d LEFT JOIN web.s ON d.b = s.a", {"r": 10, "s": 4}),
        ("WITH f AS (SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a) SELECT f.a, t.b FROM f JOIN web.t ON f.b = t.a", EVERY),
    ]),
)  # fmt: skip
async def test_each_table_is_read_once(serve: Serve, tmp_path: Path, sql: str, scans: dict[str, int]) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
        plan = federation.explain(execution.prepared)
    assert (execution.outcome.exit_code, execution.outcome.complete) == (0, True)
    assert execution.outcome.report["spark"]["used"] is False
    states = [one["state"].rpartition(": ") for one in execution.outcome.report["routing"]]
    assert all(f"Block {block}\n" in plan for block, several, _ in states if several), "called as in the plan"
    assert rows == oracle(site, sql)
    assert site.scans.keys() <= scans.keys()
    assert all(site.scans[table] <= pages for table, pages in scans.items())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r.a FROM web.r WHERE r.b IN (SELECT s.a FROM web.s JOIN web.t ON s.b = t.a WHERE t.b < :most)",
        "SELECT r.a, z.b FROM web.r LEFT JOIN (SELECT DISTINCT b FROM web.s WHERE a < :most) z ON r.b = z.b",
        "SELECT r.a, s.b FROM (SELECT a, b FROM web.r WHERE a < :most) r FULL JOIN web.s ON r.b = s.a FULL JOIN web.t ON t.a = s.b AND t.b > :least",
    ],
)
async def test_a_query_with_a_parameter_is_a_table_as_well(serve: Serve, tmp_path: Path, sql: str) -> None:
    values = {name: value for name, value in {"most": 3, "least": 1}.items() if f":{name}" in sql}
    async with sparkless(serve, tmp_path) as (federation, site):
        execution = federation.execute(federation.prepare(sql, values), RunOptions(seed=1))
        rows = await rows_of(execution)
    assert execution.outcome.complete
    assert rows == oracle(site, sql.replace(":most", "3").replace(":least", "1"))


@pytest.mark.parametrize(
    ("sql", "pages"),
    [
        ("SELECT r.a FROM web.r WHERE r.b IN (SELECT s.a FROM web.s JOIN web.t ON s.b = t.a) LIMIT 3", 12),
        ("SELECT r.a, t.b FROM (SELECT a, b FROM web.r LIMIT 5) r LEFT JOIN web.t ON r.b = t.a", 3),
        ("SELECT s.b FROM web.s JOIN (SELECT DISTINCT b FROM web.r LIMIT 2) r ON r.b = s.a", 6),
        ("SELECT r.a FROM (SELECT a FROM web.r UNION ALL SELECT b FROM web.s LIMIT 4) r LEFT JOIN web.t ON r.a = t.a", 6),
        ("WITH f AS (SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a) SELECT a FROM f LIMIT 2", 9),
        ("SELECT r.a FROM web.r NATURAL LEFT JOIN web.t LIMIT 3", 3),
        ("SELECT r.a FROM web.r LEFT SEMI JOIN web.t USING (b) LIMIT 3", 4),
        ("WITH f AS (SELECT DISTINCT b FROM web.r) SELECT * FROM f LIMIT 12", 4),
        ("SELECT * FROM (SELECT DISTINCT b FROM web.r UNION ALL SELECT a FROM web.s) q LIMIT 5", 4),
        ("SELECT a FROM web.r WHERE EXISTS (SELECT 1 FROM web.s WHERE b > 5) LIMIT 2 + 1", 3),
        ("SELECT a FROM web.r WHERE EXISTS (SELECT 1 FROM web.s WHERE s.b > r.a) LIMIT 3", 3),
    ],
)  # fmt: skip
async def test_a_limit_ends_what_is_read_for_it(serve: Serve, tmp_path: Path, sql: str, pages: int) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert execution.outcome.complete
    assert 0 < len(rows) < 20
    assert sum(site.scans.values()) <= pages < 16


async def test_one_row_says_all_that_exists_asks(serve: Serve, tmp_path: Path) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, _ = await run(federation, "SELECT a FROM web.t WHERE EXISTS (SELECT 1 FROM web.r WHERE b = 3)")
        assert len(rows) == 13
        assert site.scans["r"] <= 3
        rows, _ = await run(
            federation, "SELECT a FROM web.t WHERE NOT EXISTS (SELECT 1 FROM web.r WHERE b > 99)"
        )
        assert len(rows) == 13


@pytest.mark.parametrize(
    "where",
    [
        "t.a IN (SELECT a FROM web.r WHERE b = 3)",
        "t.a IN (SELECT a FROM web.s UNION SELECT 7)",
        "t.a IN (SELECT b FROM web.s WHERE a IS NULL)",
        "t.a IN (SELECT a FROM (VALUES (12), (13), (13), (NULL)) q(a))",
        "t.a IN (SELECT a FROM web.r WHERE a > 20 LIMIT 2) AND t.b < 5",
        "EXISTS (SELECT 1 FROM web.r WHERE r.a = t.a AND r.b > 3)",
        "EXISTS (SELECT * FROM web.r JOIN web.s ON r.b = s.a WHERE r.a = t.a) AND t.a IN (SELECT a FROM web.s)",
    ],
)
async def test_keys_that_a_subquery_finds_are_asked_for_without_spark(
    serve: Serve, tmp_path: Path, where: str
) -> None:
    """t is read by key alone: each value of the subquery is asked for once, as it is found."""
    site = Site({"r": (("a", "b"), R), "s": (("a", "b"), S), "t": (("a", "b"), T)})
    tables = {
        "r": access("r", INTS),
        "s": access("s", INTS),
        "t": access("t", INTS, scan=False, lookups=["a"]),
    }
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        rows, execution = await run(federation, sql := f"SELECT t.a, t.b FROM web.t WHERE {where}")
        limited, _ = await run(federation, f"SELECT * FROM web.t WHERE {where} LIMIT 1")
    assert execution.outcome.report["spark"]["used"] is False
    assert "LIMIT" in where or rows == oracle(site, sql)
    assert len(limited) == min(1, len(rows))
    assert execution.outcome.complete


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.b FROM web.t WHERE t.a IN (SELECT b FROM web.r)",
        "SELECT t.b FROM web.t WHERE t.a IN (WITH w AS (FROM web.r SELECT b) SELECT b FROM w)",
        "SELECT t.b FROM web.t LEFT SEMI JOIN web.r ON t.a = r.b",
    ],
)
async def test_a_subquery_asks_for_each_key_once(serve: Serve, tmp_path: Path, sql: str) -> None:
    site = Site({"r": (("a", "b"), R), "t": (("a", "b"), T)})
    tables = {"r": access("r", INTS), "t": access("t", INTS, scan=False, lookups=["a"])}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        _, execution = await run(federation, sql)
        assert execution.outcome.report["spark"]["used"] is False
        assert {key for _, _, key in site.keys} == {str(b) for _, b in R if b is not None}
        assert set(site.keys.values()) == {1}
        site.faults["r", "scan@40"] = 500
        rows, execution = await run(federation, sql, on_source_error="partial")
    assert rows
    assert not execution.outcome.complete
    assert [part["table"] for part in execution.outcome.report["missing"]][:1] == ["web.r"]


@pytest.mark.parametrize("table", every(2, ["s", "t"]))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r.a, r.b, t.b FROM web.r LEFT JOIN (web.s JOIN web.t ON s.b = t.a) ON r.b = s.a",
        "SELECT r.a, r.b FROM web.r WHERE NOT EXISTS (SELECT 1 FROM web.s, web.t WHERE s.b = t.a AND s.a = r.b)",
        "SELECT r.a, r.b, t.b FROM web.r FULL JOIN web.s ON r.b = s.a FULL JOIN web.t ON t.a = s.b",
    ],
)
async def test_a_query_that_is_not_whole_proves_nothing(
    serve: Serve, tmp_path: Path, sql: str, table: str
) -> None:
    """No row of NULLs and no absence for want of a row that a page, or a key in its place, would have brought."""
    async with sparkless(serve, tmp_path) as (federation, site):
        whole = Counter(oracle(site, sql))
        site.faults |= {(table, "scan@10"): 500, (table, "scan@0"): 500} | {
            (table, str(key)): 500 for key in range(40)
        }
        rows, execution = await run(federation, sql, on_source_error="partial")
    assert not execution.outcome.complete
    assert table in {part["table"].removeprefix("web.") for part in execution.outcome.report["missing"]}
    assert not execution.outcome.report["doubts"], "rows that are here are right"
    assert Counter(rows) <= whole, "no row but those of the whole answer"


async def test_what_spark_groups_comes_joined(serve: Serve, tmp_path: Path) -> None:
    """A FULL JOIN below an aggregate: Spark gets the joined rows, and none for want of an answer."""
    sql = "SELECT count(*) AS n, count(r.a) AS k FROM web.r FULL JOIN web.s ON r.b = s.a"
    async with sparkless(serve, tmp_path) as (federation, site):
        duck = over_duck(federation)
        rows, execution = await run(federation, sql)
        assert rows == oracle(site, sql)
        assert execution.outcome.complete
        assert dict(site.scans) == {"r": 10, "s": 4}
        assert all("JOIN" not in asked for asked in duck.asked)
        site.faults["r", "scan@20"] = 500
        [(count, known)], execution = await run(federation, sql, on_source_error="partial")
    [(every, _)] = rows
    assert not execution.outcome.complete
    assert known < count < every, "rows of s that may have a partner beyond the failure are not counted"
    assert execution.outcome.report["bounds"]["columns"] == ["at_least", "at_least"]
