"""Queries in queries that the engine answers are tables for the blocks around them, and joins that one eddy does not run such queries."""

from __future__ import annotations

import pytest
import shapes
from hard_rows import CATALOG, DATA, bag
from planner_fakes import DEMO

from fff.spark.session import SparkEngine
from fff.sql import explain, prepare

#: The engine answers all of them; the blocks that they fall into.
ALONE = {
    "SELECT r.l, u.s FROM r JOIN (SELECT DISTINCT i, s FROM u) u ON r.i = u.i": 2,
    "SELECT r.l, z.c FROM r LEFT JOIN (SELECT u.i, r.s AS c FROM u JOIN r ON u.i = r.i) z ON r.i = z.i": 2,
    "SELECT r.l, x.s FROM r LEFT JOIN (u x JOIN r y ON x.i = y.i) ON r.i = x.i AND y.b": 2,
    "SELECT * FROM r LEFT JOIN (u x JOIN u y ON x.i = y.i) ON r.i = x.i": 2,
    "SELECT r.s, u.a, z.d FROM r JOIN u ON r.i = u.i RIGHT JOIN r z ON z.s = u.s": 2,
    "SELECT l FROM r WHERE i IN (SELECT x.i FROM u x JOIN r y ON x.s = y.s)": 2,
    "SELECT l FROM r WHERE i IN (SELECT i FROM u UNION ALL SELECT i FROM r WHERE b)": 3,
    "SELECT l FROM r WHERE NOT EXISTS (SELECT 1 FROM u x JOIN r y ON x.i = y.i WHERE x.s = r.s AND y.l < r.d)": 2,
    "SELECT l FROM r WHERE EXISTS (SELECT x.i FROM u x WHERE x.i = r.i AND EXISTS (SELECT 1 FROM r y WHERE y.s = x.s))": 2,
    "SELECT l FROM r WHERE NOT EXISTS (SELECT 1 FROM u x WHERE x.i = r.i AND NOT EXISTS (SELECT 1 FROM r y WHERE y.s = x.s))": 2,
    "WITH z AS (SELECT DISTINCT s FROM r), y AS (SELECT z.s, u.i FROM z JOIN u ON z.s = u.s) SELECT a.i, b.s FROM y a LEFT JOIN y b ON a.i = b.i": 3,
    "SELECT z.i, z.j FROM (SELECT r.i, u.i AS j FROM r FULL JOIN u ON r.i = u.i) z WHERE z.i IS NULL OR z.j IS NULL": 3,
    "SELECT r.l, u.a, x.d FROM r FULL JOIN u ON r.i = u.i FULL JOIN r x ON x.s = u.s": 4,
    "SELECT i, l, a, day FROM r FULL JOIN u USING (i) FULL JOIN (SELECT i, dt AS day FROM r WHERE b) x USING (i)": 5,
    "SELECT r.l, u.a, x.d FROM r JOIN r x ON r.i = x.i FULL JOIN u ON r.s = u.s": 3,
    "SELECT l, a, i, s FROM r NATURAL FULL JOIN u": 2,
    "SELECT r.l FROM r FULL JOIN u ON r.i = u.i WHERE r.i IN (SELECT i FROM r WHERE b)": 3,
    "SELECT r.l, u.a FROM r FULL JOIN u ON r.i = u.i WHERE EXISTS (SELECT * FROM u x WHERE x.i = r.i)": 3,
    "SELECT 1 UNION SELECT r.i FROM r FULL JOIN u ON r.i = u.i": 3,
    "SELECT i, a FROM u NATURAL LEFT JOIN (SELECT i, b FROM r WHERE d > 0) z": 2,
    "SELECT * FROM r LEFT ANTI JOIN u USING (i)": 1,
    "SELECT l, s FROM u NATURAL RIGHT JOIN (SELECT i, l FROM r) z": 2,
    "SELECT l FROM r WHERE i IN (SELECT i % 2 FROM u)": 2,
    "SELECT l FROM r WHERE EXISTS (SELECT 1 FROM u x JOIN u y ON x.i = y.i WHERE x.i > r.i)": 2,
    "SELECT l FROM r WHERE EXISTS (SELECT 1 FROM u WHERE i > 1) AND NOT EXISTS (SELECT i, a FROM u WHERE i > 99)": 3,
    "SELECT i, s FROM r WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.i <=> r.i) AND EXISTS (SELECT * FROM u WHERE u.i < r.l)": 1,
    "SELECT l FROM r WHERE (s, i) IN (SELECT upper(s), i FROM u WHERE i > 0)": 2,
    "SELECT * FROM (SELECT * FROM (SELECT i, l FROM r WHERE b) WHERE l > 0) JOIN u USING (i)": 1,
}  # fmt: skip
#: Of these Spark groups and orders, and joins nothing: it reads the rows of one block.
ABOVE = [
    "SELECT * EXCEPT (x.i, b) FROM (SELECT i, b FROM r) z JOIN u ON z.i = u.i FULL JOIN u x ON z.b = (x.i > 0) ORDER BY 1",
    "SELECT u.s, count(*), sum(r.l) FROM r FULL JOIN u ON r.i = u.i GROUP BY u.s",
    "SELECT count(*) AS c FROM r FULL JOIN u ON r.i = u.i",
    "SELECT r.s, u.s FROM r FULL JOIN u ON r.i = u.i ORDER BY 1, 2",
    "SELECT u.i, upper(r.s), max(r.d) FROM r JOIN r z ON r.i = z.i FULL JOIN u ON z.i = u.i WHERE r.b IS NULL OR r.l > 0 GROUP BY 1, 2 HAVING count(r.i) < 9",
    "SELECT sum(u.i) OVER (PARTITION BY r.s ORDER BY r.l, u.i) AS z FROM r FULL JOIN u ON r.i = u.i",
    "SELECT r.i FROM r FULL JOIN u ON r.i = u.i EXCEPT SELECT 1",
    "SELECT x.s, count(*) FROM r LEFT JOIN (u x JOIN u y ON x.i = y.i) ON r.i = x.i GROUP BY x.s",
]  # fmt: skip
#: With what keeps Spark at the joins.
WHOLE = [
    "SELECT r.l FROM r JOIN (SELECT i FROM u LIMIT 2) u ON r.i = u.i WHERE r.l = (SELECT max(l) FROM r)",
    "SELECT r.l FROM r JOIN (SELECT i, count(*) AS c FROM u GROUP BY i) u ON r.i = u.i",
    "SELECT r.l FROM r JOIN (SELECT DISTINCT 1 / i AS i FROM u) u ON r.d = u.i",  # an error of what nobody may read
    "SELECT r.l FROM r LEFT JOIN (SELECT DISTINCT i FROM u WHERE 1 / i > 0) u ON r.i = u.i",
    "SELECT r.l FROM r JOIN (SELECT DISTINCT i, I FROM u) u ON r.s = 'a'",  # of one name
    "SELECT count(*) FROM r WHERE i IS NOT NULL AND i NOT IN (SELECT max(i) FROM u)",
]


@pytest.mark.parametrize("sql", ALONE)
def test_the_engine_answers_all(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is None
    assert len(prepared.blocks) == ALONE[sql]


@pytest.mark.parametrize("sql", ABOVE)
def test_spark_joins_nothing(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is not None
    assert [block.view for block in prepared.blocks if block.view], "one view of joined rows"
    assert sum(bool(block.view) for block in prepared.blocks) == 1
    assert " JOIN " not in prepared.upper.sql


@pytest.mark.parametrize("sql", WHOLE)
def test_what_is_not_a_table_stays_with_spark(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is not None
    assert not any(feed.rows for block in prepared.blocks for feed in block.feeds)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT zip, year FROM crime",
        "SELECT C.zip, year FROM crime C LEFT JOIN Demographics D ON C.zip = D.zip",
        "SELECT zip, year FROM crime JOIN FEC USING (zip)",
        "SELECT zip, year FROM crime UNION SELECT zip, id FROM FEC",
    ],
)
def test_conditions_on_a_query_bind_the_keys_of_its_tables(query: str) -> None:
    prepared = prepare(f"SELECT q.year FROM ({query}) q WHERE q.zip = '94704'", DEMO)
    assert prepared.upper is None
    assert [seed.keys for seed in prepared.blocks[0].plan.aliases[0].seeds] == [(("94704",),)]
    limited = prepare(f"SELECT q.year FROM ({query} LIMIT 3) q WHERE q.zip = '94704'", DEMO)
    assert not limited.blocks[0].plan.aliases[0].seeds


def test_a_query_that_is_named_twice_is_read_once() -> None:
    sql = "WITH z AS (SELECT i, s FROM u LIMIT 2) SELECT a.i, b.s FROM z a JOIN z b ON a.i = b.i UNION ALL SELECT i, s FROM z"
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is None
    assert [len(block.feeds) for block in prepared.blocks] == [0, 1, 1]


def test_explain_tells_of_what_a_table_is_made() -> None:
    text = explain(prepare("SELECT r.l FROM r LEFT JOIN (SELECT DISTINCT i FROM u) z ON r.i = z.i", CATALOG))
    assert "made_1 (i): the rows of a query, made of block 1" in text


@pytest.mark.spark
@pytest.mark.slow
def test_rows_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in (*ALONE, *ABOVE):
        expected = spark.run_over(sql.replace("w.", ""), DATA)
        got = shapes.Run(prepare(sql, CATALOG), DATA, spark).result()
        assert bag(got) == bag(expected), sql
        assert (got.column_names, got.schema.types) == (expected.column_names, expected.schema.types), sql


def test_different_rows_may_be_null() -> None:
    """What NOT IN compares with a query of different rows is no key: a NULL in it leaves no row."""
    prepared = prepare(
        "SELECT i FROM r WHERE i IS NOT NULL AND i NOT IN (SELECT DISTINCT i FROM u UNION SELECT 1)", CATALOG
    )
    assert prepared.upper is not None
    assert all(alias.kind != "anti" for block in prepared.blocks for alias in block.plan.aliases)
