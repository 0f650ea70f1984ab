"""What a query behind LATERAL may name: columns of what stands to its left, and none of its own result."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from hard_rows import bag
from planner_fakes import CATALOG, DEMO, EMPTY, refused_at

from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.nested.lateral_views import without_lateral_views
from fff.sql.syntax.source_map import Edited

#: The query gives a name that it has from its left.
SAME_NAMES = [
    "SELECT t.id, q.* FROM t, LATERAL (SELECT k * 2 AS k) q",
    "SELECT t.id, q.k FROM t, LATERAL (SELECT upper(s) AS s, k + 1 AS k) q",
    "SELECT t.id, q.name FROM t LEFT JOIN LATERAL (SELECT name, s AS s FROM u WHERE u.k = t.k) q ON true",
    "SELECT p.y FROM t, LATERAL (SELECT k + 1 AS z) q, LATERAL (SELECT z + 1 AS y, z AS z) p",
    "SELECT q.c FROM t, LATERAL (SELECT k * 2 AS c, 5 AS k) q",
    "SELECT q.z FROM t, LATERAL (SELECT p.k AS z FROM (SELECT k AS k) p) q",
    "SELECT t.id, (SELECT k AS k) AS z FROM t",
]
#: Names that nothing to the left has.
UNKNOWN = [
    ("SELECT t.id, q.* FROM t, LATERAL (SELECT nosuch + 1 AS nosuch) q", "nosuch"),
    ("SELECT t.id, q.* FROM t, LATERAL (SELECT name FROM u WHERE u.k = later.id) q, n later", "later"),
    ("SELECT t.id, q.* FROM t, LATERAL (SELECT name FROM u WHERE u.n = q.n) q", "q"),
    ("SELECT t.id, q.z FROM t, LATERAL (SELECT t.k AS z UNION ALL SELECT q.z) q", "q"),
    ("SELECT t.id, q.name FROM LATERAL (SELECT name FROM u WHERE u.k = t.k) q, t", "t"),
    ("SELECT t.id, q.z FROM t JOIN (u JOIN LATERAL (SELECT t.k AS z) q) ON t.k = u.k", "t"),
    ("SELECT t.k AS foo, q.z FROM t, LATERAL (SELECT foo AS z) q", "foo"),
    ("SELECT q.name FROM t LEFT SEMI JOIN n h ON h.id = t.id, LATERAL (SELECT name FROM u WHERE u.k = h.id) q", "h"),
    # An entry of a select list knows no name of a later one either, nor its own.
    ("SELECT z + 1 AS y, k + 1 AS z FROM t", "z"),
    ("SELECT sum(z) AS z FROM t", "z"),
    ("SELECT id FROM t WHERE EXISTS (SELECT z AS z FROM u)", "z"),
]  # fmt: skip


@pytest.mark.parametrize("sql", SAME_NAMES)
def test_a_name_that_the_query_gives_is_that_of_its_left(sql: str) -> None:
    prepare(sql, CATALOG)


@pytest.mark.parametrize(("sql", "place"), UNKNOWN)
def test_what_does_not_stand_to_the_left_is_unknown(sql: str, place: str) -> None:
    assert "unknown" in refused_at(sql, place, CATALOG)


def test_a_later_table_does_not_make_a_key_ambiguous() -> None:
    query = "SELECT population FROM Demographics d WHERE d.zip = State"
    sql = f"SELECT q.population FROM FEC, LATERAL ({query}) q, FEC g WHERE g.id = FEC.id"
    assert any(block.bindings for block in prepare(sql, DEMO).blocks)


#: Views of whose columns a function makes use, by the query in FROM that they become.
VIEWED = {
    "SELECT transform(n.items, i -> i.qty + e.x) AS r FROM n LATERAL VIEW explode(n.arr) e AS x":
        "SELECT transform(n.items, i -> i.qty + n.x) AS r FROM (SELECT n.items, explode(n.arr) AS x FROM n) n",
    "SELECT transform(n.items, n -> n.qty + e.x) AS r FROM n LATERAL VIEW explode(n.arr) e AS x": None,  # n is its variable
}  # fmt: skip


@pytest.mark.parametrize("sql", VIEWED)
def test_a_column_of_a_view_does_not_become_a_field_of_a_variable(sql: str) -> None:
    text = without_lateral_views(Rewritten(Edited.of(sql), CATALOG, {}))
    assert (text and text.sql) == VIEWED[sql]


@pytest.mark.spark
@pytest.mark.slow
def test_functions_of_views_are_those_of_spark(spark: SparkEngine) -> None:
    row = {"id": 1, "arr": [10, 20], "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]}
    data = {"n": pa.Table.from_pylist([row], EMPTY["n"].schema)}
    for sql in VIEWED:
        expected, got = spark.run_over(sql, data), shapes.Run(prepare(sql, CATALOG), data, spark).result()
        assert bag(got) == bag(expected), sql
