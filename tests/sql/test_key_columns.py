"""Keys that a scanned table computes where a lookup of its columns does not say how: NULL has one, or they are part of a value."""

from __future__ import annotations

import planner_fakes
import pyarrow as pa
import pytest
import shapes
from hard_rows import bag

from fff.errors import InfeasibleQuery
from fff.spark.session import SparkEngine
from fff.sql import explain, prepare

_STRUCT = "st struct<k:int,in:struct<k:bigint>>, a array<int>, m map<string,int>"
CATALOG = planner_fakes.catalog(
    planner_fakes.table("w.t", f"id int, k int, b boolean, s string, {_STRUCT}", scans=1),
    planner_fakes.table("w.v", "k int, n string", lookups=("k",)),
    planner_fakes.table("w.two", "k int, s string, n bigint", lookups=("k,s",)),
)
_KINDS = [pa.struct([("k", pa.int32()), ("in", pa.struct([("k", pa.int64())]))]), pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())]  # fmt: skip
DATA = {
    "t": pa.table(
        {
            "id": pa.array(range(7), pa.int32()),
            "k": pa.array([1, None, 3, 3, None, 9, 2], pa.int32()),
            "b": [True, False, None, True, True, False, None],
            "s": ["a", None, "b", "", "a", "b", "a"],
            "st": pa.array([{"k": 1, "in": {"k": 2}}, None, {"k": None, "in": None}, {"k": 7, "in": {"k": 9}}, *[None] * 3], _KINDS[0]),
            "a": pa.array([[1, 2], [], None, [None, 7], [3], [9], [2]], _KINDS[1]),
            "m": pa.array([[("x", 1)], [], None, [("y", 2)], [("x", None)], [("x", 7)], [("x", 3), ("y", 1)]], _KINDS[2]),
        }
    ),
    "v": pa.table({"k": pa.array([1, 2, 3, 7, 7, None], pa.int32()), "n": ["one", "two", "three", "seven", None, "none"]}),
    "two": pa.table({"k": pa.array([1, 7, 2], pa.int32()), "s": ["a", "b", "a"], "n": [10, 20, 30]}),
}  # fmt: skip

BOUND = [
    "SELECT t.id, v.n FROM t JOIN v ON v.k = coalesce(t.k, 7)",
    "SELECT t.id, v.n FROM t, v WHERE nvl(t.k, 7) = v.k AND t.id > 0",
    "SELECT t.id, v.n FROM t JOIN v ON (v.k = if(t.b, t.k, 2))",
    "SELECT id, n FROM t JOIN v ON v.k = CASE WHEN b AND id < 3 THEN 1 WHEN s = 'a' THEN t.k ELSE 7 END WHERE id <> 6",
    "SELECT t.id, v.n FROM t LEFT JOIN v ON v.k = ifnull(t.k, 7) AND v.n > 'o'",
    "SELECT t.id, v.n FROM t JOIN v ON t.st.k = v.k",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = st.in.k",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = get(t.a, 1)",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = t.m['x']",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = greatest(t.k, 2)",
    "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.k = coalesce(t.k, 7) AND n = 'seven')",
    "SELECT t.id FROM t WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.k = coalesce(t.k, 7))",
    "SELECT t.id, two.n FROM t JOIN two ON two.k = coalesce(t.k, 7) AND two.s = coalesce(t.s, 'b')",
    "SELECT w.t.id, v.n, x.n FROM t JOIN v ON v.k = coalesce(t.k, 7) JOIN v x ON x.k = t.st.k",
    "SELECT v.n, count(*) AS c FROM t JOIN v ON v.k = coalesce(t.k, 7) GROUP BY v.n",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = coalesce(t.k, 7) UNION ALL SELECT id, s FROM t",
    "SELECT q.id, v.n FROM (SELECT id, m FROM t WHERE id > 0) q JOIN v ON v.k = q.m['x']",
    "SELECT v.n, count(*) AS c FROM (SELECT id, length(s) AS l FROM t), v WHERE v.k = coalesce(l, 1) GROUP BY v.n",
]
#: An error that another condition might spare, all columns, rows that a join fills in, more than one table.
NOT_BOUND = [
    "SELECT t.id, v.n FROM t JOIN v ON v.k = t.a[0]",
    "SELECT * FROM t JOIN v ON v.k = coalesce(t.k, 7)",
    "SELECT t.id, v.n FROM t x LEFT JOIN t ON t.id = x.k JOIN v ON v.k = coalesce(t.k, 7)",
    "SELECT t.id, v.n FROM t JOIN t x ON x.id = t.id JOIN v ON v.k = coalesce(t.k, x.k)",
    "SELECT t.id, v.n FROM t JOIN v ON v.k = coalesce(t.k, v.n)",
    "SELECT t.id, v.n FROM t JOIN v ON v.k < coalesce(t.k, 7)",
]


@pytest.mark.parametrize("sql", BOUND)
def test_the_engine_computes_the_key(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert (prepared.upper is None) == ("GROUP BY" not in sql)
    assert sum(bool(feed.rows) for block in prepared.blocks for feed in block.feeds) == 1


@pytest.mark.parametrize("sql", NOT_BOUND)
def test_what_computes_no_key_is_refused(sql: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(sql, CATALOG)


def test_only_the_columns_that_are_named_are_read() -> None:
    text = explain(prepare(BOUND[0], CATALOG))
    assert "made_1 (id, key_1): the rows of a query" in text
    assert "w.t: id, k\n" in text


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("sql", BOUND)
def test_rows_are_those_of_spark(spark: SparkEngine, sql: str) -> None:
    expected = spark.run_over(sql.replace("w.t", "t"), DATA)
    got = shapes.Run(prepare(sql, CATALOG), DATA, spark).result()
    assert bag(got) == bag(expected)
    assert (got.column_names, got.schema.types) == (expected.column_names, expected.schema.types)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.id, (SELECT max(n) FROM two WHERE two.k = coalesce(t.k, 7) AND two.s = nvl(t.s, 'b')) FROM t",
        "SELECT id, concat((SELECT max(n) FROM v WHERE ifnull(t.K, 7) = v.k), t.s) FROM t",
        "SELECT EXISTS (SELECT 1 FROM v WHERE (k = t.st.in.k)), t.k FROM t JOIN t u ON t.id = u.id",
        "SELECT t.id IN (SELECT k FROM v WHERE v.k = coalesce(t.k, 7)) FROM t",
        "SELECT * FROM (SELECT EXISTS (SELECT 1 FROM v WHERE k = coalesce(t.k, 7)) FROM t) q WHERE true",
        "SELECT 'key_1', EXISTS (SELECT 1 FROM v WHERE k = coalesce(t.k, 7)) FROM t",
    ],
)
def test_spark_calls_columns_by_what_is_written(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is not None
    assert "key_" not in prepared.upper.sql.replace("'key_1'", "")
    assert sum(bool(feed.rows) for block in prepared.blocks for feed in block.feeds) == 1


def test_an_equation_of_a_select_list_keeps_its_name() -> None:
    prepared = prepare("SELECT v.k = coalesce(t.k, 7) FROM t JOIN v ON v.k = coalesce(t.k, 7)", CATALOG)
    assert prepared.result is not None
    assert [field.name for field in prepared.result.fields] == ["(k = coalesce(k, 7))"]
