"""What is said of a query in FROM binds keys inside of it, and never changes what the statement means."""

from __future__ import annotations

import planner_fakes
import pytest
import shapes
from hard_rows import CATALOG, DATA, bag

from fff.errors import InfeasibleQuery
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.nested.pushed_conditions import with_conditions
from fff.sql.syntax.source_map import Edited

KEYED = planner_fakes.catalog(
    planner_fakes.table("web.v", "k bigint, n string", lookups=("k",)),
    planner_fakes.table("web.e", "id bigint, k bigint", scans=1),
)

#: With the condition that is said inside.
MOVED = {
    "SELECT s FROM (SELECT DISTINCT i, s FROM r) q WHERE i = 1": "FROM r WHERE (r.i = 1)",
    "SELECT count(*) FROM (SELECT i AS x FROM r WHERE b OR i > 0) q WHERE q.x BETWEEN -1 AND 3 AND q.x <> 2":
        "WHERE ( b OR i > 0) AND (r.i BETWEEN -1 AND 3) AND (r.i <> 2)",
    "SELECT i, n FROM (SELECT i, count(*) AS n FROM r GROUP BY i) q WHERE i IN (1, 2) AND n > 0": "WHERE (r.i IN (1, 2)) GROUP BY i",
    "SELECT i, rn FROM (SELECT i, rank() OVER (PARTITION BY s, i ORDER BY l) AS rn FROM r) q WHERE i = 1": "WHERE (r.i = 1)",
    "SELECT i FROM (SELECT i FROM r UNION ALL SELECT i FROM u) q WHERE i = 1 ORDER BY i": "FROM u WHERE (u.i = 1)",
    "SELECT i FROM (SELECT i FROM r EXCEPT SELECT i FROM u) q WHERE i = 1": "FROM u WHERE (u.i = 1)",
    "SELECT max(i) FROM (SELECT * FROM (SELECT i, s FROM r) p) q WHERE s LIKE 'a%'": "FROM r WHERE (r.s LIKE 'a%')",
    "SELECT count(*) FROM u LEFT JOIN (SELECT i FROM r) q ON q.i = u.i WHERE q.i > 0": "FROM r WHERE (r.i > 0)",
    "SELECT i, count(*) FROM r GROUP BY i HAVING i = 1 AND count(*) > 0": "FROM r WHERE (r.i = 1) GROUP BY i",
    "SELECT i, count(*), rank() OVER (ORDER BY count(*)) FROM r GROUP BY i HAVING i = 1": "FROM r WHERE (r.i = 1) GROUP BY i",
    "SELECT i, rank() OVER (PARTITION BY s, i ORDER BY l) AS rn FROM r QUALIFY i = 1 AND rn < 3": "FROM r WHERE (r.i = 1) QUALIFY",
    "SELECT l FROM r WHERE b QUALIFY count(*) OVER w > 0 AND r.i IN (0, 1) WINDOW w AS (PARTITION BY i)": "WHERE ( b) AND (r.i IN (0, 1)) QUALIFY",
    "SELECT i, s, sum(count(*)) OVER (PARTITION BY s) AS n FROM r GROUP BY i, s QUALIFY s = 'a' AND i = 1": "FROM r WHERE (r.s = 'a') GROUP BY i, s",
}  # fmt: skip

#: Where fewer rows inside would be other ones, or the condition another.
APART = [
    "SELECT i FROM (SELECT i FROM r ORDER BY i LIMIT 3) q WHERE i = 1", "SELECT n FROM (SELECT i, count(*) AS n FROM r GROUP BY i) q WHERE n = 1",
    "SELECT i, rn FROM (SELECT i, rank() OVER (ORDER BY i) AS rn FROM r) q WHERE i = 1",
    "SELECT i, rn FROM (SELECT i, rank() OVER (PARTITION BY i % 2 ORDER BY l) AS rn FROM r) q WHERE i = 1",
    "SELECT i FROM (SELECT i, s FROM r GROUP BY ROLLUP (i, s)) q WHERE i = 1", "SELECT count(*) FROM u LEFT JOIN (SELECT i FROM r) q ON q.i = u.i WHERE q.i IS NULL",
    "WITH q AS (SELECT i FROM r) SELECT a.i FROM q a LEFT JOIN q b ON a.i = b.i WHERE a.i = 1 ORDER BY 1", "SELECT i FROM (SELECT i % 5 AS i FROM r) q WHERE i = 1 ORDER BY 1",
    "SELECT i FROM (SELECT i FROM u UNION SELECT l FROM r) q WHERE i = 1", "SELECT i AS l, count(*) FROM r GROUP BY i HAVING l = 1",
    "SELECT i, rank() OVER (ORDER BY l) AS rn FROM r QUALIFY i = 1", "SELECT l, rank() OVER (PARTITION BY i ORDER BY l), max(l) OVER () FROM r QUALIFY i = 1",
    "SELECT rank() OVER w, max(l) OVER (PARTITION BY i) FROM r QUALIFY i = 1 WINDOW w AS (PARTITION BY s ORDER BY l)",
    "SELECT count(*) FROM r HAVING count(*) > 1", "SELECT i FROM (SELECT i FROM r) q WHERE length(i) = 1 ORDER BY i",
]  # fmt: skip


def pushed(sql: str) -> str | None:
    text = with_conditions(Rewritten(Edited.of(sql), CATALOG, {}))
    return None if text is None else text.sql


@pytest.mark.parametrize("sql", MOVED)
def test_it_is_said_inside(sql: str) -> None:
    text = pushed(sql)
    assert text is not None
    assert MOVED[sql] in text
    assert pushed(text) is None


@pytest.mark.parametrize("sql", APART)
def test_it_is_not_said_where_that_would_change_the_answer(sql: str) -> None:
    assert pushed(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT * FROM v) q WHERE k = 2",
        "WITH q AS (SELECT * FROM v) SELECT max(n) FROM q WHERE k = 2",
        "SELECT n, row_number() OVER (ORDER BY n) FROM (SELECT k, n FROM v) q WHERE k = 2",
        "SELECT * FROM (SELECT * FROM v UNION ALL SELECT * FROM v) q WHERE k = 2 ORDER BY n",
        "SELECT k, count(*) FROM v GROUP BY k HAVING k = 2",
        "SELECT k, row_number() OVER (PARTITION BY k ORDER BY n) rn FROM v QUALIFY k = 2",
        "SELECT max(n) FROM (SELECT k, n FROM v QUALIFY rank() OVER (PARTITION BY k ORDER BY n) = 1 AND k = 2) q",
    ],
)
def test_keys_are_bound_by_what_is_said_outside(sql: str) -> None:
    prepared = prepare(sql, KEYED)
    for block in prepared.blocks:
        assert [one.keys for one in block.plan.aliases[0].seeds] == [((2,),)]


@pytest.mark.parametrize("on", ["q.k = e.id WHERE q.rn = 1", "q.k = e.id AND q.rn <= 2"])
def test_keys_come_through_windows_that_look_at_one_key_alone(on: str) -> None:
    kept = "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n) AS rn FROM v"
    assert prepare(f"SELECT e.id, q.n FROM e LEFT JOIN ({kept}) q ON {on}", KEYED)
    assert prepare(f"SELECT e.id, q.n FROM e JOIN ({kept} QUALIFY rn > 0) q ON {on}", KEYED)
    other = kept.replace("PARTITION BY k ", "")
    for sql in (
        f"SELECT e.id, q.n FROM e JOIN ({other}) q ON {on}",
        f"SELECT * FROM ({other}) q WHERE k = 2",
    ):
        with pytest.raises(InfeasibleQuery):
            prepare(sql, KEYED)


@pytest.mark.spark
@pytest.mark.slow
def test_rows_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in (*MOVED, *APART):
        expected = spark.run_over(sql, DATA)
        got = shapes.Run(prepare(sql, CATALOG), DATA, spark).result()
        assert bag(got) == bag(expected), sql
