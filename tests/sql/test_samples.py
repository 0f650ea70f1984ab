"""Samples of queries and tables: they are taken of all rows, whatever is said of them outside."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from planner_fakes import catalog, table

from fff.spark.session import SparkEngine
from fff.sql import prepare

TABLES = catalog(
    table("s.v", "k int, n int", scans=1),
    table("s.w", "k int, n int", lookups=("k",)),
)
DATA = {
    "v": pa.table({"k": pa.array([1, 2, 2], pa.int32()), "n": pa.array([5, 6, 7], pa.int32())}),
    "w": pa.table({"k": pa.array([2, 9], pa.int32()), "n": pa.array([8, 9], pa.int32())}),
}
SAMPLE = "(SELECT k, n FROM v) TABLESAMPLE (100 ROWS)"
STATEMENTS = [
    f"SELECT q.k FROM {SAMPLE} q",
    f"SELECT q.a FROM {SAMPLE} AS q (a, b) WHERE q.b > 5",
    f"SELECT * FROM {SAMPLE} WHERE k = 2",
    f"SELECT q.k, w.n FROM w JOIN {SAMPLE} q ON w.k = q.k WHERE q.n < 7",
    f"SELECT v.n, q.n AS m FROM v LEFT JOIN {SAMPLE} q ON v.k = q.k AND q.n > 6",
    "SELECT v.n, q.m FROM v JOIN (SELECT k, max(n) AS m FROM w WHERE k = 2 GROUP BY k) TABLESAMPLE (9 ROWS) q ON v.k = q.k",
    "WITH c AS (SELECT k, n FROM v) SELECT q.n FROM c TABLESAMPLE (100 ROWS) q WHERE q.k = 2",
    "SELECT q.k FROM (v JOIN (SELECT 2 AS z) r ON k = z) TABLESAMPLE (100 ROWS) q WHERE q.n = 6",
]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT q.k FROM (SELECT k, n FROM v) TABLESAMPLE (1 ROWS) q WHERE q.k = 2",
        "SELECT k FROM (SELECT k, n FROM v) TABLESAMPLE (1 ROWS) WHERE k = 2",
        "SELECT q.k FROM ((SELECT k FROM v)) TABLESAMPLE (1 ROWS) AS q WHERE q.k = 2",
        "SELECT q.k FROM (SELECT 2 AS z) r JOIN (SELECT k FROM v) TABLESAMPLE (1 ROWS) q ON q.k = r.z",
        "SELECT q.k FROM (v CROSS JOIN (SELECT 1 AS z) r) TABLESAMPLE (1 ROWS) q WHERE q.k = 2",
        "SELECT v.k FROM (v CROSS JOIN (SELECT 1 AS z) r) TABLESAMPLE (1 ROWS) WHERE v.k = 2",
        "WITH c AS (SELECT k FROM v) SELECT k FROM c TABLESAMPLE (1 ROWS) q WHERE k = 2",
    ],
)
def test_nothing_is_left_out_before_a_sample_is_taken(sql: str) -> None:
    prepared = prepare(sql, TABLES)
    assert [block.conjuncts for block in prepared.blocks] == [()]
    assert not any(block.feeds for block in prepared.blocks)
    assert prepared.upper is not None
    assert prepared.upper.sql.count("2") == sql.count("2")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("sql", STATEMENTS)
def test_samples_of_all_rows_are_those_of_spark(sql: str, spark: SparkEngine) -> None:
    expected, got = spark.run_over(sql, DATA), shapes.Run(prepare(sql, TABLES), DATA, spark).result()
    assert got.column_names == expected.column_names
    assert shapes.bag(got) == shapes.bag(expected)
