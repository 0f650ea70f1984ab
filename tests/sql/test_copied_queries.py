"""Queries of WITH over tables that are read by key, which several places name, each for keys of its own; and those that none names."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
import shapes
from hard_rows import bag
from planner_fakes import catalog, refused_at, table

from fff.errors import InfeasibleQuery, QueryError, SparkError, UsageError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.nested.repeatable import VARYING, is_repeatable
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS

CATALOG = catalog(
    table("w.t", "id bigint, k bigint, s string", scans=1),
    table("w.v", "k bigint, n string, x bigint", lookups=("k",)),
)
BOUND = [
    "WITH q AS (SELECT k, n FROM v) SELECT s, count(a.n), count(b.n) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = id GROUP BY s",
    "WITH q AS (SELECT k, n FROM v), p AS (SELECT id FROM t JOIN q ON q.k = t.k GROUP BY id) SELECT p.id, q.n FROM p JOIN q ON q.k = p.id",
    "WITH q(y, z) AS (SELECT k, n FROM v WHERE x > 1) SELECT max(q.z), max(b.z) FROM t LEFT JOIN q ON q.y = t.k LEFT JOIN q AS b ON b.y = id",
    "WITH r AS (SELECT id FROM t), q AS (SELECT * FROM v), p AS (SELECT k FROM q) SELECT max(a.k), max(b.k) FROM r LEFT JOIN p a ON a.k = r.id LEFT JOIN p b ON b.k = r.id",
    "SELECT * FROM (WITH q AS (SELECT k, n FROM v) SELECT count(a.n) AS c, count(b.n) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = id)",
    "WITH q AS (SELECT k FROM v), u AS (SELECT s FROM t) SELECT (SELECT max(k) FROM q WHERE q.k = id), (SELECT min(k) FROM q WHERE q.k = t.k), u.s FROM t, u",
]  # fmt: skip
#: Rows that may be others each time, keys that one place does not have, names that mean something else there.
KEPT = [
    "WITH q AS (SELECT k FROM v LIMIT 2) SELECT count(*) FROM t JOIN q a ON a.k = t.k JOIN q b ON b.k = id",
    "WITH q AS (SELECT k, rand() r FROM v) SELECT count(*), max(r) FROM t LEFT JOIN q a USING (k) LEFT JOIN q b USING (k, r)",
    "WITH q AS (SELECT k, uniform(0, 9) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, shuffle(array(x, k)) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, randstr(3) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, row_number() OVER (ORDER BY n) r FROM v) SELECT count(*) FROM t JOIN q a ON a.k = t.k JOIN q b ON b.k = id",
    "WITH q AS (SELECT k FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k > id",
    "WITH q AS (SELECT k FROM v), v AS (SELECT id k FROM t) SELECT count(*) FROM v JOIN q a USING (k) LEFT JOIN q b USING (k)",
]  # fmt: skip

#: Of whose queries of WITH nothing is read but what is named, and whether Spark is asked whether they are right.
UNREAD = {
    "WITH u AS (SELECT * FROM v), a AS (SELECT id FROM t) SELECT * FROM a": False,
    "WITH u AS (SELECT * FROM v), a AS (SELECT k FROM u JOIN t USING (k)), b AS (SELECT n + x AS y FROM v x) SELECT id FROM t": False,
    "WITH u AS (SELECT k, max(n) FROM v GROUP BY k) SELECT id FROM t WHERE k > 1": True,
    "WITH u(a) AS (SELECT sinh(w.v.x) FROM w.v WHERE w.v.k = v.x) SELECT id FROM t": True,
    "SELECT q.id FROM (WITH u AS (SELECT v.* FROM v), a AS (SELECT id FROM t) SELECT * FROM a) q": False,
    "WITH a AS (SELECT id FROM t), u AS (SELECT * FROM a, v WHERE a.id > v.k ORDER BY n) SELECT a.id FROM a LIMIT 2": True,
    "WITH u AS (SELECT * FROM v) FROM t |> WHERE id > 1 |> SELECT id": False,
    "WITH u AS (SELECT * FROM v WHERE x = :x), a AS (SELECT id FROM t) SELECT * FROM a": False,
}  # fmt: skip
#: Wrong in what nothing reads, with what is underlined.
WRONG = [
    ("WITH u AS (SELECT nope FROM v) SELECT id FROM t", "nope"),
    ("WITH u AS (SELECT v.nope FROM v) SELECT id FROM t", "nope"),
    ("WITH u AS (SELECT k FROM nowhere) SELECT id FROM t", "nowhere"),
    ("WITH u AS (SELECT k FROM v), a AS (SELECT n FROM u) SELECT id FROM t", "n"),
    ("WITH u AS (SELECT k + array(1) FROM v) SELECT id FROM t", "array(1)"),
    ("WITH u AS (SELECT count(*) FROM a), a AS (SELECT id FROM t) SELECT * FROM a", "a"),
    ("WITH u AS (SELECT n, max(k) FROM v) SELECT id FROM t", "n"),
    ("WITH u AS (SELECT k FROM v WHERE n) SELECT id FROM t", "n"),
    ("WITH u AS (SELECT nosuch(k) FROM v) SELECT id FROM t", "nosuch"),
    ("WITH u(a, b) AS (SELECT k FROM v) SELECT id FROM t", None),
    ("WITH u AS (SELECT 1 AS a), u AS (SELECT 2 AS a) SELECT id FROM t", None),
]


@pytest.mark.parametrize("sql", BOUND)
def test_each_place_has_its_keys(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.sql == sql
    read = [block for block in prepared.blocks if any(one.full_name == "w.v" for one in block.tables)]
    assert all(block.bindings for block in read)
    assert len(read) > 1 or len(read[0].bindings) > 1


@pytest.mark.parametrize("sql", KEPT)
def test_what_may_differ_from_place_to_place_is_one_query(sql: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(sql, CATALOG)


def test_every_function_of_spark_is_known_to_give_the_same_each_time_or_not() -> None:
    different = set()
    for name in SPARK_FUNCTIONS:
        for arguments in ("", "a", "a, b", "a, b, c"):
            with suppress(QueryError):
                statement = parse_statement(f"SELECT {name}({arguments}) AS q FROM t")
                different |= set() if is_repeatable(statement.tree) else {name}
    refused = {"reflect", "java_method", "try_reflect"}
    assert different | refused == VARYING
    assert not is_repeatable(parse_statement("SELECT mine(a) FROM t").tree)
    assert not is_repeatable(parse_statement("SELECT a FROM t TABLESAMPLE (1 ROWS)").tree)


def values(sql: str) -> dict[str, object]:
    return {"x": 1} if ":x" in sql else {}


@pytest.mark.parametrize("sql", UNREAD)
def test_what_nothing_reads_is_not_asked_for(sql: str) -> None:
    prepared = prepare(sql, CATALOG, values(sql))
    assert {one.name for block in prepared.blocks for one in block.tables if one.source} == {"t"}
    assert (prepared.upper is not None) is UNREAD[sql]
    assert max(block.plan.limit or 0 for block in prepared.blocks) == 2 * ("LIMIT" in sql)


@pytest.mark.parametrize(("sql", "place"), WRONG)
def test_what_nothing_reads_has_to_be_right(sql: str, place: str | None) -> None:
    refused_at(sql, place, CATALOG)


def test_values_of_what_nothing_reads_have_to_be_there() -> None:
    sql = "WITH u AS (SELECT * FROM v WHERE x = :x) SELECT id FROM t"
    for given in ({}, {"x": 1, "y": 2}):
        with pytest.raises(UsageError):
            prepare(sql, CATALOG, given)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_says_the_same_of_statements_with_what_nothing_reads(spark: SparkEngine) -> None:
    data = {
        "t": pa.table({"id": [1, 2, 3], "k": [2, 2, None], "s": ["a", None, "b"]}),
        "v": pa.table({"k": [1, 2], "n": ["x", "y"], "x": [5, 6]}),
    }
    for sql in (one for one in UNREAD if "LIMIT" not in one):
        expected = spark.run_over(sql.replace("w.v", "v").replace(":x", "1"), data)
        got = shapes.Run(prepare(sql, CATALOG, values(sql)), data, spark).result()
        assert (got.column_names, got.schema.types, bag(got)) == (
            *(expected.column_names, expected.schema.types),
            bag(expected),
        ), sql
    for sql, _ in WRONG:
        with pytest.raises(SparkError):
            spark.run_over(sql, data)
