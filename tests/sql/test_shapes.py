"""Statements of every shape: the plan's blocks and Spark's part give what Spark finds over the full tables."""

from __future__ import annotations

import os
import random

import pytest
import shapes
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis.semi_joins import Restrictions
from fff.sql.planner.block_order import Draft
from fff.structs import replace


def check(seed: int, spark: SparkEngine) -> str:
    """What became of a seed's statement; a wrong answer fails the test."""
    rng = random.Random(seed)
    sources = shapes.sources(rng)
    data = shapes.rows(rng, sources)
    sql = shapes.Writer(rng).statement()
    try:
        prepared = prepare(sql, sources)
    except InfeasibleQuery:
        return "infeasible"
    try:
        expected = spark.run_over(sql, data)
    except SparkError as error:
        if "[MISSING_ATTRIBUTES." not in str(error):
            raise
        return "no answer"  # its analyser gives two columns one number, which it calls a mistake of its own
    got = shapes.Run(prepared, data, spark).result()
    assert got.column_names == expected.column_names, (seed, sql)
    assert shapes.bag(got) == shapes.bag(expected), (seed, sql, prepared.upper and prepared.upper.sql)
    if any(block.feeds for block in prepared.blocks):
        return "fed"
    return "joined" if any(len(block.tables) > 1 for block in prepared.blocks) else "single"


@pytest.mark.spark
@pytest.mark.slow
def test_some_random_statements(spark: SparkEngine) -> None:
    found = [check(seed, spark) for seed in (1, 3, 4, 5, 7, 8, 13, 22, 32, 44)]
    assert {"fed", "joined", "single"} <= set(found)


@pytest.mark.spark
@pytest.mark.slow
def test_many_random_statements(spark: SparkEngine) -> None:
    start = int(os.environ["FFF_FUZZ_LONG_SEED"])
    found = [check(start + number, spark) for number in range(120)]
    assert {"fed", "joined", "single"} <= set(found), "else the generator has lost its point"
    assert found.count("fed") + found.count("joined") > 8


@pytest.mark.spark
@pytest.mark.slow
def test_limits_anywhere(spark: SparkEngine) -> None:
    """How many rows there are under a LIMIT is certain, whichever they are; random rows are left out of the blocks."""
    bounded = 0
    for seed in range(60):
        rng = random.Random(seed)
        sources = shapes.sources(rng)
        data = shapes.rows(rng, sources)
        writer = shapes.Writer(rng)
        one, other = (writer.select(1, [], want=1)[0] for _ in range(2))
        limit = f"LIMIT {rng.randint(0, 4)} {rng.choice(['', 'OFFSET 1'])}"
        inner = rng.choice(
            [
                f"{one} {limit}",
                f"({one} {limit}) UNION ALL {other}",
                f"{one} UNION ALL {other} {limit}",
                f"SELECT * FROM ({one}) {limit}",
                f"SELECT * FROM ({one} LIMIT 3) q {limit}",
            ]
        )
        sql = rng.choice(
            [
                f"SELECT count(*) FROM ({inner})",
                f"WITH w AS ({inner}) SELECT count(*) FROM w",
                f"WITH w AS ({inner}) SELECT (SELECT count(*) FROM w), (SELECT count(*) FROM w) FROM r LIMIT 2",
                f"SELECT count(*) FROM r WHERE EXISTS ({inner})",
                f"SELECT count(*) FROM (SELECT r.a, q.a FROM r LEFT JOIN (SELECT a FROM u GROUP BY a) q USING (a) {limit})",
            ]
        )
        try:
            prepared = prepare(sql, sources)
        except InfeasibleQuery:
            continue
        bounded += any(block.plan.limit is not None for block in prepared.blocks)
        expected, got = spark.run_over(sql, data), shapes.Run(prepared, data, spark).result()
        assert shapes.bag(got) == shapes.bag(expected), (seed, sql, prepared.upper and prepared.upper.sql)
    assert bounded > 15


def any_condition_restricts(self, scope, node, condition):
    """WHERE over the NULL-filled side of an outer join is taken for a filter of that side."""
    everything = frozenset(scope.sources)
    _right_filter(self, scope, node, replace(condition, exact=everything, restricted=everything))


def no_keys(self, keys, drafts, queries):
    """A block that is to get keys from others gets none."""
    return replace(_right_feed(self, keys, drafts, queries), sources=(), query=None)


_right_filter, _right_feed = Restrictions._filter, Draft._feed


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [(Restrictions, "_filter", any_condition_restricts), (Draft, "_feed", no_keys)],
)
def test_a_broken_planner_is_noticed(spark: SparkEngine, monkeypatch, owner, name, broken) -> None:
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises((AssertionError, SparkError)):  # other rows, or a view that nothing fills
        check_all(range(400), spark)


def check_all(seeds: range, spark: SparkEngine) -> None:
    for seed in seeds:
        check(seed, spark)


#: Every construct of the contract over scanned tables, and over tables that answer lookups only.
CONSTRUCTS = [
    "SELECT r.a, t.b FROM r LEFT JOIN t ON r.a = t.a",
    "SELECT r.a, t.b FROM t RIGHT OUTER JOIN r ON r.a = t.a AND t.b > 0",
    "SELECT * FROM r LEFT JOIN t USING (a) ORDER BY a NULLS LAST, r.b, t.b",
    "SELECT * FROM r NATURAL LEFT JOIN t",
    "SELECT r.a FROM r LEFT SEMI JOIN t ON r.a = t.a",
    "SELECT r.a FROM r LEFT ANTI JOIN t ON r.a = t.a AND t.b = 1",
    "SELECT a FROM r WHERE a IN (SELECT a FROM t WHERE b > 0)",
    "SELECT a FROM r WHERE (a, b) IN (SELECT a, b FROM t)",
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a)",
    "SELECT a FROM r WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.b = r.b)",
    "SELECT a, (SELECT max(t.b) FROM t WHERE t.a = r.a) AS most FROM r",
    "SELECT a FROM r WHERE b > (SELECT avg(t.b) FROM t WHERE t.a = r.a)",
    "SELECT r.a, l.m FROM r, LATERAL (SELECT max(b) AS m FROM t WHERE t.a = r.a) l",
    "SELECT r.a, l.b FROM r LEFT JOIN LATERAL (SELECT b FROM t WHERE t.a = r.a) l ON true",
    "WITH w AS (SELECT a, count(*) AS n FROM r GROUP BY a) SELECT w.a, w.n, t.b FROM w JOIN t ON t.a = w.a",
    "WITH v AS (SELECT a FROM r), w AS (SELECT a FROM v WHERE a > 0) SELECT * FROM v LEFT JOIN w USING (a)",
    "SELECT g.a, g.n, r.b FROM r JOIN (SELECT a, count(*) AS n FROM t GROUP BY a) g ON g.a = r.a",
    "SELECT a FROM r UNION SELECT a FROM r WHERE b = 1",
    "SELECT a FROM r UNION ALL SELECT b FROM r ORDER BY 1 LIMIT 3",
    "SELECT a FROM r INTERSECT SELECT b FROM r",
    "SELECT a FROM r EXCEPT ALL SELECT b FROM r",
    "SELECT a, b, row_number() OVER (PARTITION BY s ORDER BY a, b) AS n FROM r QUALIFY n = 1",
    "SELECT a, s, count(*) FROM r GROUP BY GROUPING SETS ((a), (s), ())",
    "SELECT s, count(DISTINCT a), sum(DISTINCT b) FROM r GROUP BY s ORDER BY s",
    "SELECT x.a, y.b FROM r x JOIN r y ON x.a = y.a LEFT JOIN t ON t.a = y.a WHERE x.b = 1",
    "SELECT a, e FROM r LATERAL VIEW explode(array(a, b)) z AS e",
    "SELECT r.a FROM r JOIN t ON r.a = t.a WHERE r.b NOT IN (SELECT u.b FROM u WHERE u.a = t.a)",
    "SELECT v.k, t.b FROM (VALUES (1), (2), (3)) AS v(k) LEFT JOIN t ON t.a = v.k JOIN r ON r.a = t.a",
    "SELECT r.a, CASE WHEN EXISTS (SELECT 1 FROM t WHERE t.a = r.a) THEN 'y' ELSE 'n' END AS f FROM r",
    "SELECT * FROM (SELECT a, b FROM r) PIVOT (count(*) FOR b IN (0, 1))",
    "SELECT r.a FROM r WHERE r.a IN (SELECT t.a FROM t WHERE t.b IN (SELECT u.b FROM u WHERE u.a = t.a))",
    "SELECT g.k, t.b FROM (SELECT a + 1 AS k, max(b) AS m FROM r GROUP BY 1 HAVING count(*) > 0) g LEFT JOIN t ON t.a = g.k",
    "WITH w AS (SELECT DISTINCT a AS k FROM r ORDER BY k DESC NULLS LAST LIMIT 2) SELECT w.k, t.b FROM w JOIN t ON t.a = w.k",
    "SELECT r.b FROM r LEFT SEMI JOIN t ON r.a = t.a AND t.s > 'x' WHERE r.b >= 0",
    "SELECT g.a, u.b FROM (SELECT a FROM r LEFT JOIN t USING (a)) g LEFT JOIN u ON u.a = g.a",
    "SELECT g.a, u.b FROM (SELECT a FROM t RIGHT JOIN r USING (a)) g LEFT JOIN u ON u.a = g.a",
    "SELECT a FROM t RIGHT JOIN r USING (a) WHERE a IN (SELECT a FROM u)",
    "SELECT g.a, u.b FROM (SELECT a FROM (SELECT a FROM r WHERE b = 1) FULL JOIN r USING (a)) g JOIN u ON u.a = g.a",
    "SELECT a, u.b FROM (SELECT a FROM r WHERE b = 1) x RIGHT JOIN r USING (a) LEFT JOIN u USING (a)",
    "SELECT a, u.b FROM (SELECT a FROM r WHERE b = 1) x FULL JOIN (SELECT a FROM r WHERE b = 0) y USING (a) LEFT JOIN u USING (a)",
    "FROM r |> LEFT JOIN t ON r.a = t.a |> SELECT r.a, t.b",
    "SELECT r.a FROM r FULL JOIN (SELECT DISTINCT a FROM r WHERE b = 1) d ON d.a = r.a",
    "SELECT a, u.b FROM (SELECT a FROM r WHERE b = 1 ORDER BY a LIMIT 1) d FULL JOIN r USING (a) LEFT JOIN u USING (a)",
    "SELECT t.b FROM t WHERE a IN (SELECT a FROM r WHERE b > 0)",
    "SELECT t.b FROM t WHERE (a, b) IN (SELECT a, b FROM r)",
    "SELECT t.b FROM t WHERE a IN (SELECT r.a FROM r WHERE r.b = t.b)",
    "SELECT t.b FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.a = t.a AND r.b > t.b)",
    "SELECT t.b FROM t WHERE EXISTS (SELECT 1 FROM r WHERE r.a = t.a GROUP BY r.b HAVING count(*) > 1)",
    "SELECT t.b FROM t WHERE EXISTS (SELECT 1 FROM r JOIN u ON u.a = r.a WHERE r.a = t.a)",
    "SELECT t.b FROM t WHERE EXISTS (SELECT 1 FROM r x RIGHT JOIN r y ON x.a = y.b WHERE x.a = t.a)",
    "SELECT t.b FROM t WHERE s > 'x' AND (a IN (SELECT max(a) FROM r GROUP BY b))",
    "SELECT t.b FROM t WHERE a IN (SELECT a FROM r WHERE a IS NOT NULL ORDER BY a, b LIMIT 2)",
    "SELECT t.b FROM t WHERE (a, b) IN (SELECT a + 0, b FROM r)",
    "SELECT t.b FROM t WHERE a IN ((SELECT a FROM r) UNION (SELECT b FROM r))",
    "WITH w AS (SELECT a, count(*) AS n FROM r GROUP BY a) SELECT t.b FROM t WHERE a IN (SELECT a FROM w WHERE n > 1)",
    "SELECT r.b, t.b FROM r LEFT JOIN t ON t.b = r.b AND t.a IN (SELECT a FROM r)",
    "SELECT v.k FROM (SELECT a AS k, b FROM t) v WHERE v.k IN (SELECT a FROM r)",
    "SELECT t.b FROM t WHERE a = (SELECT max(a) FROM r)",
    "SELECT t.b, r.b FROM t JOIN r ON r.b = t.b WHERE t.s > 'x' AND (t.a = (SELECT min(r.a) + 0 FROM r JOIN r q ON q.a = r.b))",
    "SELECT t.b FROM t WHERE a = (SELECT max(a) FROM r WHERE b > 1000) AND b IN (SELECT b FROM r)",
    "SELECT t.b FROM t WHERE t.a = (SELECT a FROM r WHERE a > 0 ORDER BY a, b LIMIT 1) ORDER BY 1",
]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("sql", CONSTRUCTS)
def test_constructs(spark: SparkEngine, sql: str) -> None:
    answered = 0
    for keyed in (False, True):
        rng = random.Random(sql)
        declared = [
            table(
                f"x.{name}",
                shapes.COLUMNS,
                scans=int(name == "r" or not keyed),
                lookups=("a",) * (name != "r"),
            )
            for name in shapes.NAMES
        ]
        for _ in range(2):
            data = shapes.rows(rng, catalog(*declared))
            try:
                prepared = prepare(sql, catalog(*declared))
            except InfeasibleQuery:
                assert keyed
                assert any(word in sql for word in ("|>", "VALUES", "NATURAL")), "keys could be had"
                continue
            answered += 1
            expected, got = spark.run_over(sql, data), shapes.Run(prepared, data, spark).result()
            assert got.column_names == expected.column_names
            assert shapes.bag(got) == shapes.bag(expected)
    assert answered
