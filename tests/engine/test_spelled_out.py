"""Rows that a statement spells out bind keys and join without Spark: VALUES, range() and explode(array(…)) in FROM."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from fff.errors import InfeasibleQuery
from fff.spark.session import SparkEngine
from tests.engine.site import Site, access, federated, run
from tests.web.serving import Serve

V = [(k, "abc"[k % 3], 10 * k) for k in range(1, 9)]
TABLES = {
    "v": access("v", {"k": "int", "s": "string", "n": "int"}, scan=False, lookups=["k"]),
    "r": access("r", {"k": "int", "b": "bigint", "s": "string"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "keys", "rows"),
    [
        (
            "SELECT n FROM v JOIN VALUES (1), (2), (2), (9), (NULL) AS q(id) ON v.k = q.id",
            "129",
            [10, 20, 20],
        ),
        ("SELECT n FROM v JOIN (VALUES (1, 'b'), (2, 'x')) AS q(k, s) USING (k, s)", "12", [10]),
        ("SELECT n FROM VALUES (bigint(3)), (4) q JOIN v ON v.k = col1", "34", [30, 40]),
        ("SELECT n FROM v, range(2, 5) r WHERE v.k = r.id", "234", [20, 30, 40]),
        ("SELECT n FROM range(1, 6, 2) JOIN v ON v.k = id + 1", "246", [20, 40, 60]),
        ("SELECT n FROM explode(array(1 + 1, 5)) AS e(k) JOIN v USING (k)", "25", [20, 50]),
        ("SELECT n FROM (SELECT explode(array(2, 5)) AS k) e JOIN v USING (k)", "25", [20, 50]),
        ("SELECT n FROM v WHERE k IN (SELECT explode(sequence(2, 5, 3)))", "25", [20, 50]),
        ("WITH z AS (SELECT 3 AS k) SELECT n FROM z JOIN v USING (k)", "3", [30]),
        ("SELECT n FROM v WHERE k = (SELECT 1 + 2)", "3", [30]),
        ("SELECT size(a) AS n FROM (SELECT array(1, 2) AS a UNION ALL SELECT array(3)) z", "", [1, 2]),
        ("SELECT sum FROM (VALUES (3)) AS t(sum)", "", [3]),
        ("SELECT n FROM v WHERE k IN (VALUES (1), (5), (NULL))", "15", [10, 50]),
        ("VALUES (3), (4)", "", [3, 4]),
    ],
)
async def test_keys_come_from_rows_in_the_text(
    serve: Serve, tmp_path: Path, sql: str, keys: str, rows: list[int]
) -> None:
    web = Site({"v": (("k", "s", "n"), V)})
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        found, execution = await run(federation, sql)
    assert sorted(found) == [(n,) for n in rows]
    assert "".join(sorted(key for _, _, key in web.keys)) == keys
    assert execution.outcome.complete
    assert not execution.outcome.report["spark"]["used"]


DATA = {
    "v": pa.table({"k": pa.array([r[0] for r in V], pa.int32()), "s": [r[1] for r in V], "n": pa.array([r[2] for r in V], pa.int32())}),
    "r": pa.table({"k": pa.array([1, 2, None, 4], pa.int32()), "b": [1, 3, 5, None], "s": ["1", "2", "3", None]}),
}  # fmt: skip
#: Whether Spark is needed, and the statement.
STATEMENTS = [
    (False, "SELECT * FROM VALUES (1, 'a'), (2, NULL)"),
    (False, "SELECT q.x + 1, y FROM VALUES (1, 2L), (2, 3) AS q(x, y)"),
    (False, "SELECT * FROM (VALUES (1.50), (2.25)) AS q(x) WHERE x > 2"),
    (False, "SELECT * FROM VALUES (DATE '2020-01-31' + INTERVAL 1 DAY, true), (NULL, false)"),
    (False, "SELECT * FROM range(3)"),
    (False, "SELECT r.x FROM range(10, 1, -4) AS r(x)"),
    (False, "SELECT * FROM range(5, 1)"),
    (False, "SELECT DISTINCT * FROM explode(array(1, 2L, 2))"),
    (False, "SELECT n, x FROM v, VALUES (1, 'p'), (2, 'q'), (2, 'r') AS q(k, x) WHERE v.k = q.k"),
    (False, "SELECT v.n FROM r JOIN v ON v.k = r.k + 1"),
    (False, "SELECT v.n FROM r JOIN v ON v.k = CAST(r.s AS INT) AND v.n = r.b * 10"),
    (False, "SELECT n FROM v WHERE (k, s) IN ((1, 'b'), (2, 'x'), (3, 'a'))"),
    (False, "SELECT n FROM v WHERE k BETWEEN 1 AND 3 AND k <> 2"),
    (False, "SELECT n FROM v WHERE k = 3.0 OR k = 2.5"),
    (False, "SELECT n FROM v WHERE k IN (VALUES 1, (2)) AND n NOT IN (VALUES 20, 30)"),
    (False, "SELECT k FROM r WHERE k NOT IN (VALUES 1, (NULL)) OR b IN (VALUES 1 + 2, NULL)"),
    (False, "VALUES (1, 'a'), (2, NULL)"),
    (False, "SELECT explode(array(1, 2L, NULL))"),
    (False, "SELECT explode(array('a', 'b')) AS `x y`"),
    (False, "SELECT explode(array(1)) x"),
    (False, "SELECT explode(sequence(1, 3)) AS x"),
    (False, "SELECT x + 1 AS y FROM (SELECT explode(array(1, 2)) AS x) z WHERE x > 1"),
    (False, "SELECT * FROM (SELECT 1 AS a, 'x' AS b, 2.5 AS c) t WHERE a > 0"),
    (
        False,
        "WITH t AS (SELECT 2 AS a), u AS (SELECT a * a AS z FROM t) SELECT z, k FROM u JOIN r ON r.k < u.z",
    ),
    (False, "SELECT k, n FROM (SELECT 9 AS k, 1 AS one) a FULL JOIN r USING (k) LEFT JOIN v USING (k)"),
    (False, "SELECT explode(map('a', 1))"),
    (False, "SELECT 1 AS one, explode(array(1, 2)) AS x"),
    (False, "VALUES (1), (2) AS q(x) UNION ALL SELECT k FROM r"),
    (True, "SELECT k, k IN (VALUES 1) FROM r"),
    (True, "SELECT k FROM r WHERE (k, s) IN (SELECT * FROM VALUES (1, '1'), (2, NULL))"),
    (False, "VALUES (1, 'a'), (2, NULL) |> WHERE col1 > 1"),
    (False, "VALUES (1, 'a'), (2, NULL) |> EXTEND col1 + 1 AS z |> DROP col2"),
    (False, "TABLE r |> WHERE k > 1 |> DROP b, s |> LIMIT 3"),
    (False, "FROM r |> JOIN v ON v.k = r.k + 1 |> WHERE n > 10 |> SELECT r.k, n AS m |> WHERE m < 60"),
    (False, "FROM r |> WHERE k > 0 |> LEFT JOIN v USING (k) |> SELECT r.k, n |> LIMIT 9"),
    (False, "WITH q AS (SELECT k FROM r) FROM q |> AS p |> JOIN v ON v.k = p.k |> SELECT DISTINCT v.s"),
    (False, "SELECT k FROM r |> JOIN v USING (k) |> OFFSET 0"),
    (True, "FROM r |> JOIN v USING (k) |> AGGREGATE sum(n) AS m, count(v.n) GROUP BY b |> WHERE m > 1"),
    (True, "FROM r |> JOIN v USING (k) |> SELECT k, n |> ORDER BY n DESC |> LIMIT 2"),
    (True, "FROM r |> EXTEND k + 1 AS z |> WHERE r.k > 0 |> EXTEND z * 2 AS y |> WHERE r.b IS NOT NULL"),
    (
        True,
        "WITH RECURSIVE f(z) AS (SELECT 1 UNION ALL SELECT z + 1 FROM f WHERE z < 4) SELECT f.z, v.n FROM f JOIN v ON v.k = f.z",
    ),
    (
        True,
        "WITH RECURSIVE f AS (SELECT 1 AS z UNION ALL SELECT z * 2 FROM f WHERE z < 4) SELECT v.n FROM f AS q JOIN v ON v.k = q.z",
    ),
    (False, "SELECT n FROM v WHERE k = (SELECT 1 + 2)"),
    (False, "SELECT n FROM v WHERE NOT (k < 2 OR k > 4) AND NOT (k <> 3 AND k <> 4)"),
    (True, "TABLE r |> AS q |> JOIN r ON q.k = r.b |> SELECT q.k, r.s |> ORDER BY 1"),
    (True, "(TABLE r |> DROP b, s) UNION ALL VALUES (1)"),
    (True, "TABLE r |> AGGREGATE count(*) AS n GROUP BY b |> WHERE n > 0 |> SELECT n"),
    (True, "SELECT count(*) AS c, sum(n) AS s FROM v JOIN VALUES (1), (2) AS q(id) ON v.k = q.id"),
    (True, "SELECT sum(v.n) AS s FROM r JOIN v ON v.k = r.k + 1"),
    (False, "SELECT n FROM v WHERE k IN (SELECT id FROM VALUES (1), (2) AS q(id))"),
    (True, "SELECT q.id, n FROM VALUES (1), (12) AS q(id) LEFT JOIN v ON v.k = q.id ORDER BY 1"),
    (False, "WITH c AS (SELECT id + 1 AS k FROM range(3)) SELECT n FROM v JOIN c ON v.k = c.k"),
    (True, "SELECT * FROM VALUES (1), (2.5) AS q(x)"),
]


def site() -> Site:
    r = list(zip(*(column.to_pylist() for column in DATA["r"].columns), strict=True))
    return Site({"v": (("k", "s", "n"), V), "r": (("k", "b", "s"), r)})


@pytest.mark.spark
@pytest.mark.slow
async def test_rows_are_those_of_spark(spark: SparkEngine, serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        federation._start_spark = lambda _: spark  # type: ignore[method-assign]
        for needed, sql in STATEMENTS:
            expected = spark.run_over(sql, DATA)
            execution = federation.execute(federation.prepare(sql))
            got = pa.Table.from_batches([batch async for batch in execution.batches()])
            assert got.column_names == expected.column_names, sql
            assert bag(got) == bag(expected), sql
            assert got.schema.types == expected.schema.types, sql
            assert execution.outcome.report["spark"]["used"] == needed, sql


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(map(repr, rows.to_pylist()))


@pytest.mark.parametrize(
    "rows",
    ["VALUES (rand()) AS q(id)", "range(1.5) q"],
)  # fmt: skip
async def test_what_only_spark_judges_stays_in_the_text(serve: Serve, tmp_path: Path, rows: str) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        assert federation.prepare(f"SELECT * FROM {rows}").upper is not None
        with pytest.raises(InfeasibleQuery, match="nothing binds k"):
            federation.prepare(f"SELECT * FROM v JOIN {rows} ON v.k = q.id")
