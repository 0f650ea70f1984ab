"""Tables of one name in several sources, which a statement tells apart by the names of these."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from planner_fakes import catalog, refused_at, table

from fff.catalog import Table
from fff.spark.session import SparkEngine
from fff.sql import prepare

TABLES = catalog(
    table("a.items", "k int, x int, arr array<int>", scans=1),
    table("b.items", "k int, x int, y int", scans=1),
    table("s.t", "a int, x int", scans=1),
    table("s.v", "k int, n int", scans=1),
    table("s.c", "k int, items struct<k:int>", scans=1),
)
ROWS = {
    "a.items": [{"k": 1, "x": 10, "arr": [1]}, {"k": 2, "x": 20, "arr": [20]}],
    "b.items": [{"k": 1, "x": 10, "y": 5}, {"k": 2, "x": 3, "y": 50}],
    "s.t": [{"a": 10, "x": 1}, {"a": 20, "x": 2}],
    "s.v": [{"k": 1, "n": 5}, {"k": 2, "n": 50}],
    "s.c": [{"k": 1, "items": {"k": 7}}, {"k": 9, "items": {"k": 9}}],
}
CORRELATED = "SELECT max(b.items.y) FROM b.items WHERE b.items.k = a.items.k"
JOINED = "a.items {} b.items ON a.items.k = b.items.k"


def upper(sql: str) -> str:
    """What Spark runs of a statement."""
    written = prepare(sql, TABLES).upper
    assert written is not None
    return written.sql


def test_each_has_an_alias_of_its_own() -> None:
    assert upper(f"SELECT a.items.x FROM a.items WHERE a.items.x < ({CORRELATED})") == (
        "SELECT `a.items`.x FROM __fff_1 AS `a.items` WHERE `a.items`.x < "
        "(SELECT max(`b.items`.y) FROM __fff_2 AS `b.items` WHERE `b.items`.k = `a.items`.k)"
    )
    inner = "SELECT max(t.n) FROM s.v t WHERE t.k = s.t.x"
    assert upper(f"SELECT t.a, ({inner}) AS m FROM s.t") == (
        "SELECT `s.t`.a, (SELECT max(t.n) FROM __fff_2 t WHERE t.k = `s.t`.x) AS m FROM __fff_1 AS `s.t`"
    )


def test_a_name_that_nothing_else_has_stays() -> None:
    assert "FROM __fff_1 AS items WHERE items.x <" in upper(
        "SELECT x FROM a.items WHERE a.items.x < (SELECT max(n) FROM v WHERE v.k = a.items.k)"
    )


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT items.k FROM a.items JOIN b.items ON a.items.k = b.items.k", "items"),
        ("SELECT a.items.k FROM a.items JOIN b.items ON a.items.k = b.items.zz", "zz"),
    ],
)
def test_what_is_refused_is_told_of_what_was_written(sql: str, place: str) -> None:
    refused_at(sql, place, TABLES)


class _Run(shapes.Run):
    def _rows(self, table: Table) -> pa.Table:
        return self.data[table.full_name] if table.source else super()._rows(table)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.items.x FROM a.items WHERE a.items.x < ({CORRELATED})",
        f"SELECT a.items.x, ({CORRELATED}) FROM a.items",
        f"SELECT a.items.x FROM a.items WHERE a.items.x NOT IN ({CORRELATED.replace('max(b.items.y)', 'x')})",
        f"SELECT a.items.x FROM a.items TABLESAMPLE (100 ROWS) WHERE a.items.x < ({CORRELATED})",
        f"SELECT a.items.x AS p, b.items.x AS q FROM {JOINED.format('FULL JOIN')}",
        f"SELECT a.items.x, b.items.x + 1 FROM {JOINED.format('JOIN')}",
        f"SELECT a.items.*, y FROM {JOINED.format('LEFT JOIN')} AND b.items.y > 5 WHERE items.y > 0",
        f"SELECT b.items.x, count(*) FROM {JOINED.format('JOIN')} GROUP BY b.items.x ORDER BY b.items.x",
        f"SELECT a.items.x FROM {JOINED.format('LEFT SEMI JOIN')} AND b.items.y < a.items.x",
        f"SELECT a.items.x, e FROM {JOINED.format('JOIN')} LATERAL VIEW explode(a.items.arr) AS e",
        "SELECT a.items.x FROM a.items WHERE (SELECT max(c.k) FROM c WHERE a.items.k = c.k) > 0",
        "SELECT transform(a.items.arr, items -> a.items.x + items) AS r FROM a.items JOIN b.items USING (k)",
        f"FROM {JOINED.format('|> JOIN')} |> SELECT a.items.x AS p, b.items.x AS q",
    ],
)
def test_the_rows_are_those_of_spark(sql: str, spark: SparkEngine) -> None:
    data = {one.full_name: _rows(one) for one in TABLES.tables()}
    named = {"at": data["a.items"], "bt": data["b.items"], "c": data["s.c"]}
    written = sql.replace(" items.y", " bt.y").replace("a.items", "at").replace("b.items", "bt")
    expected, got = spark.run_over(written, named), _Run(prepare(sql, TABLES), data, spark).result()
    assert got.column_names == expected.column_names
    assert _bag(got) == _bag(expected)


def _rows(one: Table) -> pa.Table:
    schema = pa.schema([(field.name, field.arrow) for field in one.columns])
    return pa.Table.from_pylist(ROWS[one.full_name], schema=schema)


def _bag(found: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in found.columns), strict=True)))
