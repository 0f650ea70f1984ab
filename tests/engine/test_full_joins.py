"""FULL JOIN without Spark: each table is read once, and no row goes without a partner for want of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.joins import oracle, sparkless
from tests.engine.site import run
from tests.sampling import every_row
from tests.web.serving import Serve


@pytest.mark.parametrize(
    ("sql", "scans"),
    every_row(2, [
        ("SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a", {"r": 10, "s": 4}),
        ("SELECT * FROM web.r FULL OUTER JOIN web.s USING (a)", {"r": 10, "s": 4}),
        ("SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a AND r.a > s.b WHERE r.a IS NULL OR r.a % 2 = 1", {"r": 10, "s": 4}),
        ("SELECT DISTINCT coalesce(r.b, s.a) AS k FROM web.r FULL JOIN web.s ON r.b = s.a", {"r": 10, "s": 4}),
        ("SELECT x.a, y.b FROM (SELECT a, b FROM web.r WHERE a < 50) x FULL JOIN (SELECT a, b FROM web.s WHERE b > 20) y ON x.b = y.a", {"r": 10, "s": 4}),
        ("SELECT r.a, t.a FROM web.r FULL JOIN web.t ON r.b = t.a", {"r": 10, "t": 2}),
        ("SELECT x.a, y.a FROM web.s x FULL JOIN web.s y ON x.a = y.b", {"s": 4}),
        ("SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a WHERE s.b IS NULL AND r.a IS NOT NULL", {"r": 10, "s": 4}),
    ]),
)  # fmt: skip
async def test_each_table_is_read_once(serve: Serve, tmp_path: Path, sql: str, scans: dict[str, int]) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert (execution.outcome.exit_code, execution.outcome.complete) == (0, True)
    assert execution.outcome.report["spark"]["used"] is False
    assert rows == oracle(site, sql)
    assert dict(site.scans) == scans
    assert not site.keys, "what a scan brings anyway is not looked up"


async def test_limit_ends_it(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT r.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a LIMIT 3"
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert len(rows) == 3
    assert execution.outcome.complete
    assert sum(site.scans.values()) <= 6


@pytest.mark.parametrize("table", ["r", "s"])
async def test_a_scan_that_fails_proves_nothing(serve: Serve, tmp_path: Path, table: str) -> None:
    """Rows that may have a partner beyond the failure are undecided: not in the answer, which says what is missing."""
    sql = "SELECT r.a, r.b, s.a, s.b FROM web.r FULL JOIN web.s ON r.b = s.a"
    async with sparkless(serve, tmp_path) as (federation, site):
        whole = oracle(site, sql)
        site.faults[table, "scan@20"] = 500
        rows, execution = await run(federation, sql, on_source_error="partial")
    outcome = execution.outcome
    assert not outcome.complete
    assert {part["table"] for part in outcome.report["missing"]} == {f"web.{table}"}
    assert rows
    assert set(rows) < set(whole), "no row but those of the whole answer"
    here, key, there = (0, 2, 3) if table == "r" else (3, 1, 0)
    alone = [row for row in rows if row[here] is None]
    assert alone, "NULL has no partner anywhere"
    assert all(row[key] is None for row in alone), "what is not here may be beyond the failure"
    assert any(row[there] is None for row in rows), "all of the other table is here"
