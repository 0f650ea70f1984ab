"""What a partial answer says of itself: that rows are missing, or that some may be wrong."""

from __future__ import annotations

import asyncio
import collections
from pathlib import Path

import pytest

from fff.federation import RunOptions
from fff.sql.analysis.soundness import causes_among, doubts_of
from fff.sql.syntax.parse import parse_statement
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, LEFT, lookup_only, oracle, two
from tests.engine.site import access, federated, rows_of, run, until
from tests.web.serving import Serve


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # only rows are missing
        ("SELECT r.a FROM r JOIN t ON r.a = t.a, s WHERE s.b = 1", {}),
        ("SELECT DISTINCT a, upper(b) FROM r WHERE NOT (NOT EXISTS (SELECT 1 FROM t)) LIMIT 3", {}),
        ("SELECT r.a FROM r LEFT SEMI JOIN t ON r.a = t.a ORDER BY 1", {}),
        ("SELECT a FROM r WHERE a IN (SELECT a FROM t) OR EXISTS (SELECT 1 FROM s)", {}),
        ("SELECT a FROM r UNION SELECT a FROM t INTERSECT SELECT a FROM s", {}),
        ("SELECT a FROM r GROUP BY a", {}),
        ("SELECT r.a, l.b FROM r, LATERAL (SELECT b FROM t WHERE t.a = r.a) l", {}),
        ("SELECT a, e FROM r LATERAL VIEW explode(array(a, b)) z AS e", {}),
        # rows may be wrong, but only where the doubtful side lacks something
        ("SELECT r.a FROM r LEFT JOIN t ON r.a = t.a", {"t": ["LEFT JOIN"]}),
        ("SELECT * FROM r NATURAL RIGHT JOIN web.t", {"r": ["RIGHT JOIN"]}),
        ("SELECT * FROM r JOIN s USING (a) FULL JOIN t USING (a)", {n: ["FULL JOIN"] for n in "rst"}),
        ("SELECT * FROM (r LEFT JOIN s ON r.a = s.a) JOIN t ON t.a = r.a", {"s": ["LEFT JOIN"]}),
        ("FROM r |> LEFT JOIN t ON r.a = t.a |> SELECT r.a, t.b", {"t": ["LEFT JOIN"]}),
        ("SELECT r.a FROM r LEFT ANTI JOIN t ON r.a = t.a", {"t": ["ANTI JOIN"]}),
        ("SELECT a FROM r WHERE NOT EXISTS (SELECT 1 FROM WEB.T WHERE t.a = r.a)", {"t": ["NOT EXISTS"]}),
        ("SELECT a FROM r WHERE b > 1 AND a NOT IN (SELECT a FROM t)", {"t": ["NOT IN"]}),
        ("SELECT a FROM r EXCEPT ALL SELECT a FROM t", {"t": ["EXCEPT"]}),
        ("SELECT a FROM r ORDER BY a LIMIT 2", {"r": ["ORDER BY with LIMIT"]}),
        ("SELECT a, count(*) FROM r GROUP BY a", {"r": ["aggregates"]}),
        ("SELECT a FROM r GROUP BY a HAVING max(b) < 3", {"r": ["aggregates"]}),
        ("SELECT a, rank() OVER (ORDER BY b) FROM r", {"r": ["window functions"]}),
        ("SELECT a FROM r QUALIFY row_number() OVER (ORDER BY b) = 1", {"r": ["window functions"]}),
        ("SELECT * FROM r PIVOT (count(*) FOR b IN (0, 1))", {"r": ["PIVOT"]}),
        ("SELECT EXISTS (SELECT 1 FROM t) FROM r", {"t": ["a subquery that stands for a value"]}),
        (
            "SELECT a FROM r WHERE b > (SELECT max(b) FROM t)",
            {"t": ["a subquery that stands for a value", "aggregates"]},
        ),
        (
            "WITH k AS (SELECT count(*) AS a FROM r), m AS (SELECT a FROM k JOIN s) SELECT * FROM m LEFT JOIN t",
            {"r": ["aggregates"], "t": ["LEFT JOIN"]},
        ),
    ],
)
def test_what_may_be_wrong_where_a_table_lacks_rows(sql: str, expected: dict[str, list[str]]) -> None:
    doubts = doubts_of(parse_statement(sql).tree)
    found = {name: list(causes_among(doubts, [f"web.{name}"])) for name in "rst"}
    assert {name: causes for name, causes in found.items() if causes} == expected
    assert causes_among(doubts, ["other.x"]) == ()


DOUBTFUL = [
    LEFT,
    "SELECT a FROM web.r x WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b ORDER BY 1)",
    "SELECT b, (SELECT max(s.b) FROM web.s WHERE s.a = x.b) AS m FROM web.r x",
]


@pytest.mark.parametrize("sql", DOUBTFUL)
async def test_rows_that_may_be_wrong_are_said_to_be(serve: Serve, tmp_path: Path, sql: str) -> None:
    site = two()
    site.faults["s", "3"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert collections.Counter(rows) - collections.Counter(oracle(site, sql)), "else there is nothing to say"
    outcome = execution.outcome
    assert outcome.doubts
    assert outcome.report["doubts"] == list(outcome.doubts)
    (warning,) = outcome.warnings
    assert warning.startswith("rows may be wrong, not only missing: web.s was not read in full")


@pytest.mark.parametrize("sql", [LEFT, "SELECT a FROM web.r WHERE b IN (SELECT a FROM web.s)"])
async def test_rows_that_are_right_are_not_doubted(serve: Serve, tmp_path: Path, sql: str) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert rows
    assert not collections.Counter(rows) - collections.Counter(oracle(site, sql))
    assert (execution.outcome.exit_code, execution.outcome.doubts, execution.outcome.warnings) == (3, (), ())


async def test_keys_that_a_stop_left_unread_are_missing(serve: Serve, tmp_path: Path) -> None:
    """The first page of keys hangs: all others have been found and wait, and then fetching is stopped."""
    site = two()
    site.faults["r", "scan@50"] = "hang"
    site.faults |= {("s", str(key)): "hang" for key in range(7)}
    tables = lookup_only() | {"r": access("r", INTS)}
    async with federated(serve, site, tmp_path, tables, rate_limit={"max_concurrency": 1}) as (federation, _):
        over_duck(federation)
        execution = federation.execute(federation.prepare(LEFT), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await until(site.hanging.is_set)
        execution.interrupt()
        await reading
        outcome = execution.outcome
    assert (outcome.exit_code, outcome.complete) == (3, False)
    assert {part.table for part in outcome.missing} == {"web.r", "web.s"}
    assert outcome.doubts == ("LEFT JOIN",)
