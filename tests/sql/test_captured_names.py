"""Names that would mean something else where a statement is put in other words: fields, and variables of functions."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery
from fff.spark.session import SparkEngine
from fff.sql import prepare

TABLES = catalog(
    table("s.t", "arr array<struct<x:int>>, x int", scans=1),
    table("s.v", "k int, n int, x int", scans=1),
    table("s.w", "k int, n int", lookups=("k",)),
    table("s.c", "t struct<k:int>, k int", scans=1),
    table("s.l", "id int, items array<struct<q:int,n:int,z:int>>, z int", scans=1),
)
ROWS = {
    "t": [{"arr": [{"x": 1}, {"x": 2}], "x": 10}, {"arr": [], "x": 3}],
    "v": [{"k": 1, "n": 3, "x": 10}, {"k": 2, "n": 5, "x": 10}, {"k": 2, "n": 3, "x": 3}],
    "w": [{"k": 1, "n": 1}, {"k": 2, "n": 2}],
    "c": [{"t": {"k": 1}, "k": 1}, {"t": {"k": 9}, "k": 9}],
    "l": [
        {"id": 1, "items": [{"q": 5, "n": 5, "z": 9}], "z": 1},
        {"id": 2, "items": [{"q": 3, "n": 0, "z": 0}, {"q": 8, "n": 1, "z": 0}], "z": 5},
    ],
}
IN_LAMBDA = (
    "SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM v WHERE v.k = l.id AND exists(l.items, {0} -> {0}.q = n))"
)
COUNTED = "SELECT l.id FROM l WHERE size(filter(l.items, {0} -> {0}.q > z)) IN (SELECT k FROM v)"
MEMBERS = "SELECT t.n FROM w t LEFT SEMI JOIN {} LEFT SEMI JOIN v ON t.k = v.k"
WINDOW = "SELECT transform(t.arr, {0} -> {0}.x + x), count(*) OVER () AS n, t.x AS tx, v.x AS vx FROM t JOIN v USING (x)"


@pytest.mark.parametrize("sql", [IN_LAMBDA, COUNTED])
def test_no_alias_is_put_where_it_is_a_variable(sql: str) -> None:
    owner = "v" if sql is IN_LAMBDA else "l"
    prepared = prepare(sql.format(owner), TABLES)
    assert prepared.upper is not None
    assert "(SELECT" in prepared.upper.sql
    assert prepare(sql.format("e"), TABLES).upper is None, "any other name is none"


def test_a_table_is_called_otherwise_where_a_variable_has_its_name() -> None:
    upper = prepare(WINDOW.format("t"), TABLES).upper
    assert upper is not None
    assert "transform(`t #2`.arr, t -> t.x + `t #2`.x)" in upper.sql
    assert ") AS `t #2`, LATERAL" in upper.sql
    plain = prepare(WINDOW.format("e"), TABLES).upper
    assert plain is not None
    assert "transform(t.arr, e -> e.x + t.x)" in plain.sql


@pytest.mark.parametrize("first", ["c ON t.k = c.k", "c USING (k)"])
def test_no_table_with_a_column_called_like_the_other_side_is_put_into_exists(first: str) -> None:
    sql = MEMBERS.format(first)
    blocks = prepare(sql, TABLES).blocks
    conditions = [one.text for block in blocks for one in block.conjuncts]
    assert "t.k = c.k" in conditions or prepare(sql, TABLES).upper is not None


def test_a_subquery_that_makes_rows_is_no_single_value() -> None:
    sql = "SELECT w.n FROM w WHERE w.k = (SELECT {} FROM v)"
    assert prepare(sql.format("max(k)"), TABLES).blocks
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(sql.format("explode(collect_set(k))"), TABLES)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        IN_LAMBDA.format("v"),
        COUNTED.format("l"),
        WINDOW.format("t"),
        "SELECT t.x, max(size(transform(t.arr, t -> t.x + x))), max(v.x) FROM t JOIN v USING (x) GROUP BY t.x",
        MEMBERS.format("c ON t.k = c.k"),
        MEMBERS.format("c USING (k)"),
    ],
)
def test_the_rows_are_those_of_spark(sql: str, spark: SparkEngine) -> None:
    tables = {one.name: one for one in TABLES.tables()}
    data = {
        name: pa.Table.from_pylist(rows, pa.schema([(one.name, one.arrow) for one in tables[name].columns]))
        for name, rows in ROWS.items()
    }
    expected, got = spark.run_over(sql, data), shapes.Run(prepare(sql, TABLES), data, spark).result()
    assert got.column_names == expected.column_names
    assert sorted(map(repr, got.to_pylist())) == sorted(map(repr, expected.to_pylist()))
