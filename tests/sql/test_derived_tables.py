"""Queries in FROM that only choose rows and columns are part of the SELECT around them, and need no Spark."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import shapes
from hard_rows import CATALOG, DATA, bag
from planner_fakes import catalog, table
from random_derived import Writer

from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis import rewritten
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.build_scopes import read_queries
from fff.sql.nested.derived_tables import merged
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Statement

MERGED = {
    "SELECT x + 1, a.* FROM (SELECT i % 2 AS x, s FROM r WHERE b) AS a WHERE x < 10":
        "SELECT (a.i % 2) + 1 AS `(x + 1)`, (a.i % 2) AS x, a.s AS s FROM w.r AS a WHERE (a.b) AND ( (a.i % 2) < 10)",
    "SELECT z, s FROM (SELECT *, i % 2 AS z FROM r WHERE b) a WHERE z > 0":
        "SELECT (a.i % 2) AS z, a.s AS s FROM w.r AS a WHERE (a.b) AND ( (a.i % 2) > 0)",
    "SELECT * FROM (SELECT i, s FROM r WHERE b) a LEFT JOIN u ON a.i = u.i":
        "SELECT a.i AS i, a.s AS s, u.i AS i, u.s AS s, u.a AS a FROM w.r AS a LEFT JOIN u ON a.i = u.i WHERE (a.b)",
    "SELECT * FROM (SELECT i, s FROM r WHERE b) a LEFT JOIN (SELECT i FROM u WHERE s = 'a') c ON a.i = c.i":
        "SELECT a.i AS i, a.s AS s, c.i AS i FROM w.r AS a LEFT JOIN w.u AS c ON (c.s = 'a') AND ( a.i = c.i) WHERE (a.b)",
    "SELECT z FROM (SELECT i AS z FROM r) a JOIN (SELECT l AS i FROM r) b ON z = b.i":
        "SELECT a.i AS z FROM w.r AS a JOIN w.r AS b ON a.i = b.l",
    "SELECT i FROM (SELECT r.i FROM r JOIN u ON r.i = u.i) LIMIT 1":
        "SELECT `r #2`.i AS i FROM w.r AS `r #2` JOIN w.u AS `u #2` ON `r #2`.i = `u #2`.i LIMIT 1",
    "WITH x AS (SELECT i, s FROM r), y AS (SELECT i FROM x WHERE s = 'a') SELECT p.i FROM y p JOIN y q USING (i)":
        "SELECT p.i AS i FROM w.r AS p JOIN w.r AS q USING (i) WHERE (p.s = 'a') AND (q.s = 'a')",
    "WITH r AS (SELECT i FROM w.r WHERE i > 0) SELECT i FROM r": "SELECT r.i AS i FROM w.r AS r WHERE (r.i > 0)",
    "SELECT a.i FROM (SELECT i FROM r WHERE b) a LEFT SEMI JOIN (SELECT i FROM u WHERE s > '') c ON a.i = c.i":
        "SELECT a.i AS i FROM w.r AS a LEFT SEMI JOIN w.u AS c ON (c.s > '') AND ( a.i = c.i) WHERE (a.b)",
    "SELECT q.s FROM u LEFT JOIN (SELECT i, s FROM r WHERE b OR l > 0) q ON q.i = u.i AND q.s > u.s WHERE q.i IS NULL":
        "SELECT q.s AS s FROM u LEFT JOIN w.r AS q ON (q.b OR q.l > 0) AND ( q.i = u.i AND q.s > u.s) WHERE q.i IS NULL",
    "SELECT u.i FROM u LEFT ANTI JOIN (SELECT i % 2 AS n FROM r WHERE b) q ON n = u.i":
        "SELECT u.i AS i FROM u LEFT ANTI JOIN w.r AS q ON (q.b) AND ( (q.i % 2) = u.i)",
    "SELECT u.i, z FROM u, LATERAL (SELECT r.i % 2 AS z FROM r WHERE r.i = u.i AND b) AS q WHERE z > 0":
        "SELECT u.i AS i, (q.i % 2) AS z FROM u, w.r AS q WHERE (q.i = u.i AND q.b) AND ( (q.i % 2) > 0)",
    "SELECT u.i, q.l FROM u LEFT JOIN LATERAL (SELECT l FROM r WHERE r.i = u.i) q ON q.l > 0":
        "SELECT u.i AS i, q.l AS l FROM u LEFT JOIN w.r AS q ON (q.i = u.i) AND ( q.l > 0)",
    "WITH a AS (SELECT l, i FROM r WHERE b) SELECT *, a.*, u.* FROM u JOIN a USING (i) WHERE l > 0 LIMIT 9":
        "SELECT u.i AS i, u.s AS s, u.a AS a, a.l AS l, a.i AS i, a.l AS l, u.i AS i, u.s AS s, u.a AS a FROM u JOIN w.r AS a USING (i) WHERE (a.b) AND ( a.l > 0) LIMIT 9",
    "WITH a AS (SELECT i, l, s FROM r) SELECT * FROM a JOIN u x USING (s) LEFT JOIN u USING (i) LEFT SEMI JOIN r y USING (l)":
        "SELECT a.l AS l, a.i AS i, a.s AS s, x.i AS i, x.a AS a, u.s AS s, u.a AS a FROM w.r AS a JOIN u x USING (s) LEFT JOIN u USING (i) LEFT SEMI JOIN r y USING (l)",
    "WITH a AS (SELECT * FROM r) SELECT *, l AS m FROM u NATURAL JOIN a":
        "SELECT u.i AS i, u.s AS s, u.a AS a, a.l AS l, a.t AS t, a.d AS d, a.f AS f, a.m AS m, a.b AS b, a.dt AS dt, a.l AS m FROM u NATURAL JOIN w.r AS a",
    "SELECT q.l, q.i, v.s FROM (SELECT * FROM r JOIN (SELECT i, a FROM u) p USING (i)) q JOIN u v ON v.i = q.i":
        "SELECT `r #2`.l AS l, `r #2`.i AS i, v.s AS s FROM w.r AS `r #2` JOIN w.u AS `p #2` USING (i) JOIN u v ON v.i = `r #2`.i",
    "WITH q(x, y) AS (SELECT i, l FROM r) SELECT p.*, y + 1 FROM q p WHERE p.x > 0":
        "SELECT p.i AS x, p.l AS y, p.l + 1 AS `(y + 1)` FROM w.r AS p WHERE p.i > 0",
    "SELECT l, z.y FROM (SELECT r.i, r.l, u.i, u.s FROM r JOIN u ON r.i = u.i) AS z(l, x, y, v)":
        "SELECT `r #2`.i AS l, `u #2`.i AS y FROM w.r AS `r #2` JOIN w.u AS `u #2` ON `r #2`.i = `u #2`.i",
    "SELECT * EXCEPT (a.l), z FROM (SELECT * EXCEPT (t, d, f, m, b, dt), i % 2 AS z FROM r) a WHERE l > 0":
        "SELECT a.i AS i, a.s AS s, (a.i % 2) AS z, (a.i % 2) AS z FROM w.r AS a WHERE a.l > 0",
    "SELECT i FROM (SELECT i FROM r) a UNION ALL SELECT j FROM (SELECT i AS j FROM u) b":
        "SELECT a.i AS i FROM w.r AS a UNION ALL SELECT b.i AS j FROM w.u AS b",
}  # fmt: skip

#: With what keeps them apart.
APART = [
    "SELECT i FROM (SELECT DISTINCT i FROM r)", "SELECT i FROM (SELECT i FROM r LIMIT 1)", "SELECT i FROM (SELECT i FROM r ORDER BY i)",
    "SELECT n FROM (SELECT count(*) AS n FROM r)", "SELECT x FROM (SELECT rand() AS x FROM r)",  # another number of rows, or of calls
    "SELECT * FROM u LEFT JOIN (SELECT i, 1 AS one FROM r) a ON a.i = u.i",  # NULL where there is no row
    "SELECT x AS l, l + 1 FROM (SELECT i AS x FROM r)",  # a name of the select list, which would be a column's
    "SELECT * FROM u NATURAL JOIN (SELECT i FROM r)", "SELECT * FROM u JOIN (SELECT l AS i FROM r) USING (i)",
    "SELECT i FROM (SELECT i FROM r UNION ALL SELECT i FROM u)", "SELECT a.i FROM (SELECT i, i FROM r) a",
    "WITH x AS (SELECT i FROM r), y AS (SELECT count(*) AS n FROM r) SELECT i FROM x",
    "SELECT * FROM u LEFT JOIN LATERAL (SELECT i % 2 AS z FROM r WHERE r.i = u.i) q ON true",  # NULL where there is no row
    "SELECT * FROM u, LATERAL (SELECT max(l) AS n FROM r WHERE r.i = u.i) q", "SELECT * FROM u LEFT JOIN (SELECT r.i FROM r JOIN u USING (i)) q ON q.i = u.i",
    "SELECT s FROM (SELECT s FROM r) TABLESAMPLE (50 PERCENT)",
    "SELECT u.i FROM u JOIN (SELECT * FROM u) AS q(x, x, y) ON u.i = x", "SELECT u.i FROM u JOIN (SELECT r.i, u.i FROM r JOIN u ON b) q ON u.i = q.i",
    "SELECT * EXCEPT (x) FROM (SELECT i, i + 1 AS x, l AS X FROM r) q", "SELECT * EXCEPT (q.i, i) FROM (SELECT i, l FROM r) q",  # Spark says why not
    "SELECT * EXCEPT (a) FROM (SELECT i, 'a' FROM r) q", "SELECT * EXCEPT (i) FROM (SELECT i FROM r) q",  # which leaves no column
]  # fmt: skip

#: Tables of columns that are called as others' aliases and fields are.
ALIKE = catalog(
    table("w.t", "a int, x int, m decimal(10,2), arr array<struct<x:int>>", scans=1),
    table("w.v", "k int, n int, x int", scans=1),
    table("w.c", "t struct<k:int,a:int>, k int, n int", scans=1),
    table("w.p", "k int, n int", lookups=("k",)),
)
ROWS = {
    "t": [{"a": 1, "x": 10, "m": Decimal(1), "arr": [{"x": 1}, {"x": 2}]}, {"a": 2, "x": 7, "m": Decimal(2), "arr": [{"x": 4}]}],
    "v": [{"k": 1, "n": 10, "x": 3}, {"k": 2, "n": 3, "x": 3}, {"k": 9, "n": 9, "x": 0}],
    "c": [{"t": {"k": 1, "a": 9}, "k": 1, "n": 10}, {"t": {"k": 5, "a": 7}, "k": 7, "n": 7}, {"t": {"k": 5, "a": 2}, "k": 4, "n": 7}],
    "p": [{"k": 1, "n": 1}, {"k": 2, "n": 2}, {"k": 2, "n": 7}],
}  # fmt: skip
FILLED = {
    one.name: pa.Table.from_pylist(ROWS[one.name], pa.schema([(field.name, field.arrow) for field in one.columns]))
    for one in ALIKE.tables()
}  # fmt: skip

#: An alias that means something else where a column of it is used: in a query, or as a variable.
SHADOWED = {
    "SELECT q.y FROM (SELECT a AS y, x AS z FROM t) q WHERE q.y IN (SELECT q.k FROM v q WHERE q.n = z)":
        "SELECT `t #2`.a AS y FROM w.t AS `t #2` WHERE `t #2`.a IN (SELECT q.k FROM v q WHERE q.n = `t #2`.x)",
    "WITH q AS (SELECT a AS y, x AS z FROM t) SELECT y FROM q WHERE NOT EXISTS (SELECT 1 FROM v q WHERE q.k = y AND q.n = z)":
        "SELECT `t #2`.a AS y FROM w.t AS `t #2` WHERE NOT EXISTS (SELECT 1 FROM v q WHERE q.k = `t #2`.a AND q.n = `t #2`.x)",
    "SELECT t.y FROM (SELECT a AS y, x AS z FROM t) t WHERE t.z IN (SELECT c.n FROM c WHERE c.k = y)":
        "SELECT `t #2`.a AS y FROM w.t AS `t #2` WHERE `t #2`.x IN (SELECT c.n FROM c WHERE c.k = `t #2`.a)",
    "SELECT t.y FROM (SELECT a AS y, x AS z FROM t) t WHERE t.z IN (SELECT v.n FROM v WHERE v.k = y)":
        "SELECT t.a AS y FROM w.t AS t WHERE t.x IN (SELECT v.n FROM v WHERE v.k = t.a)",
    "SELECT transform(q.arr, q -> q.x + y) AS r FROM (SELECT arr, x AS y FROM t) q":
        "SELECT transform(`t #2`.arr, q -> q.x + `t #2`.x) AS r FROM w.t AS `t #2`",
    "SELECT q.r FROM (SELECT transform(arr, q -> q.x + x) AS r FROM t) q":
        "SELECT (transform(`t #2`.arr, q -> q.x + `t #2`.x)) AS r FROM w.t AS `t #2`",
    "SELECT q.r FROM (SELECT transform(arr, e -> e.x + x) AS r FROM t) q":
        "SELECT (transform(q.arr, e -> e.x + q.x)) AS r FROM w.t AS q",
}  # fmt: skip
#: A name that another table or a variable would take, whatever the alias.
CAPTURED = [
    "SELECT transform(t.arr, v -> v.x + n) AS r FROM t JOIN v ON v.k = t.a JOIN (SELECT k AS z FROM c) q ON q.z = v.k",
    "SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k AS y FROM v) q WHERE q.y = a AND x > 8)",
    "SELECT t.a, l.r FROM t, LATERAL (SELECT transform(array(named_struct('x', k)), t -> t.x + a) AS r FROM v WHERE v.k = t.a) l",
]

#: Whole numbers that are columns, with the type that `m / c` has then: beside a decimal each has all digits of its type.
NUMBERS = {
    "3": "decimal(21,13)", "(-3)": "decimal(21,13)", "- 2147483648": "decimal(21,13)", "-(2147483648)": "decimal(31,23)",
    "2147483648": "decimal(31,23)", "3L": "decimal(31,23)", "-3L": "decimal(31,23)", "3S": "decimal(16,8)", "3Y": "decimal(14,6)",
    "CAST(3 AS BIGINT)": "decimal(31,23)", "1 + 2": "decimal(21,13)", "99999999999999999999": "decimal(31,23)", "3.0": "decimal(15,6)",
}  # fmt: skip
OF_NUMBERS = [
    "SELECT q.m * q.c AS p, q.m / q.c AS d, q.m + c AS s, c FROM (SELECT m, 3 AS c FROM t) q",
    "FROM t |> EXTEND 3 AS c |> SELECT m / c AS d",
    "SELECT m / q.c AS e FROM t JOIN LATERAL (SELECT k, 3 AS c FROM v WHERE v.k = t.a) q",
    "SELECT q.m / q.c AS e FROM (SELECT m, c FROM (SELECT m, 3L AS c FROM t) p) q UNION ALL SELECT m FROM t",
    "SELECT q.m FROM (SELECT m, 3 AS c FROM t) q JOIN p ON p.k = q.c - 1",
]

#: What would have another value at each use.
RANDOM = [
    "WITH q AS (SELECT k, rand() AS r FROM p) SELECT x.r = x.r AS same, x.k FROM t JOIN q x ON x.k = t.a",
    "SELECT q.r <=> q.r AS same FROM (SELECT shuffle(array(a, x, 1, 2, 3, 4, 5, 6)) AS r FROM t) q",
    "SELECT q.r = q.r AS same FROM (SELECT uniform(0, 1000000) + a AS r, a FROM t) q JOIN v ON v.k = q.a",
    "SELECT q.r = q.r AS same FROM (SELECT randstr(9) AS r FROM t) q",
    "SELECT *, q.r > 2 AS more FROM (SELECT uniform(0, 1) * 0 AS r FROM t) q",
    "SELECT q.* FROM (SELECT uuid() = '' AS r FROM t) q",
    "SELECT t.a, q.n FROM t LEFT JOIN (SELECT k, n FROM v WHERE rand() < 2) q ON q.k = t.a",
    "SELECT q.k FROM (SELECT v.k FROM v JOIN c ON v.k = c.k WHERE rand() < 2) q",
]


@pytest.mark.parametrize("sql", MERGED)
def test_one_select_for_both(sql: str) -> None:
    text = merged(Rewritten(Edited.of(sql), CATALOG, {}))
    assert text is not None
    assert text.sql == MERGED[sql]
    assert prepare(sql, CATALOG).upper is None


def test_queries_of_one_from_are_merged_without_reading_the_text_again_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = []

    def counted(*arguments: Any) -> Any:
        read.append(arguments)
        return read_queries(*arguments)

    monkeypatch.setattr(rewritten, "read_queries", counted)
    for count in (2, 12):
        entries = ", ".join(
            f"(SELECT i AS x, s AS y FROM r WHERE l > {n}) AS q{n} (a, b)" for n in range(count)
        )
        text = merged(Rewritten(Edited.of(f"SELECT q0.a FROM {entries} WHERE q0.b = q1.b"), CATALOG, {}))
        assert text is not None
        assert text.sql.count("SELECT") == 1
    assert len(read) == 4, "before and after, whatever their number"


def test_a_chain_of_queries_of_with_is_written_once_while_it_is_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def counted(statement: Statement, *rest: Any) -> Any:
        sizes.append(len(statement.sql))
        return read_queries(statement, *rest)

    monkeypatch.setattr(rewritten, "read_queries", counted)
    chain = ", ".join(f"q{n} AS (SELECT i, l + 1 AS l FROM q{n - 1} WHERE l > {n})" for n in range(1, 20))
    sql = f"WITH q0 AS (SELECT i, l FROM r), {chain} SELECT i, l FROM q19"
    text = merged(Rewritten(Edited.of(sql), CATALOG, {}))
    assert text is not None
    assert text.sql.count("SELECT") == 1
    assert max(sizes) < len(sql) + 2 * len(text.sql)


@pytest.mark.parametrize("sql", APART)
def test_what_is_more_than_a_choice_stays_with_spark(sql: str) -> None:
    text = merged(Rewritten(Edited.of(sql), CATALOG, {}))
    assert text is None or prepare(sql, CATALOG).upper is not None


@pytest.mark.parametrize("sql", SHADOWED)
def test_columns_are_named_so_that_nothing_else_takes_the_name(sql: str) -> None:
    text = merged(Rewritten(Edited.of(sql), ALIKE, {}))
    assert text is not None
    assert text.sql == SHADOWED[sql]


@pytest.mark.parametrize("sql", CAPTURED)
def test_nothing_is_merged_where_no_name_would_do(sql: str) -> None:
    assert merged(Rewritten(Edited.of(sql), ALIKE, {})) is None


def test_a_whole_number_of_a_query_has_the_type_of_a_column() -> None:
    for written, kind in NUMBERS.items():
        result = prepare(f"SELECT q.m / q.c AS d FROM (SELECT m, {written} AS c FROM t) q", ALIKE).result
        assert result is not None, written
        assert [field.type for field in result.fields] == [kind], written


def test_a_parameter_of_a_query_has_the_type_of_a_column() -> None:
    for value, kind in ((3, "decimal(21,13)"), (2**31, "decimal(31,23)"), (Decimal("3.0"), "decimal(15,6)")):
        sql = "SELECT q.m / q.c AS d FROM (SELECT m, :n AS c FROM t) q"
        result = prepare(sql, ALIKE, {"n": value}).result
        assert result is not None
        assert [field.type for field in result.fields] == [kind]


@pytest.mark.parametrize("sql", RANDOM)
def test_random_values_are_computed_once(sql: str) -> None:
    assert merged(Rewritten(Edited.of(sql), ALIKE, {})) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM (SELECT * EXCEPT (n) FROM p) WHERE k = 3",
        "WITH q AS (SELECT * EXCEPT (n) FROM p) SELECT a FROM t JOIN q ON a = k",
        "SELECT * EXCEPT (n) FROM (SELECT p.* EXCEPT (n), a FROM t, p WHERE k = a) JOIN v USING (k)",
        "FROM p |> DROP n |> WHERE k = 3",
    ],
)
def test_what_a_star_leaves_out_hides_no_key(sql: str) -> None:
    assert prepare(sql, ALIKE).upper is None


def test_a_random_value_that_nothing_uses_keeps_nothing_apart() -> None:
    sql = "SELECT q.k FROM t JOIN (SELECT k, rand() AS r FROM p) q ON q.k = t.a"
    assert prepare(sql, ALIKE).upper is None


def test_what_fails_is_told_of_the_text_as_it_was_written() -> None:
    sql = "SELECT 1 / x FROM (SELECT i AS x FROM r) a"
    with pytest.raises(QueryError) as raised:
        shapes.Run(prepare(sql, CATALOG), DATA, spark=None).result()  # type: ignore[arg-type] # nobody asks it
    assert raised.value.span is not None
    assert sql[raised.value.span.start : raised.value.span.end].startswith("1 / x")


def alike(spark: SparkEngine, seed: int, count: int) -> int:
    """How many of so many statements the engine answers, all as Spark does."""
    writer, alone = Writer(random.Random(seed)), 0
    for _ in range(count):
        sql = writer.statement()
        prepared = prepare(sql, CATALOG)
        if prepared.upper is None:
            alone += 1
            expected = spark.run_over(sql.replace("w.", ""), DATA)
            got = shapes.Run(prepared, DATA, spark).result()
            assert (got.column_names, bag(got)) == (expected.column_names, bag(expected)), sql
    return alone


@pytest.mark.spark
@pytest.mark.slow
def test_rows_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in MERGED:
        expected, got = (
            spark.run_over(sql.replace("w.", ""), DATA),
            shapes.Run(prepare(sql, CATALOG), DATA, spark).result(),
        )
        assert got.column_names == expected.column_names, sql
        assert "LIMIT" in sql or bag(got) == bag(expected), sql
    assert alike(spark, 1, 60) > 30


@pytest.mark.spark
@pytest.mark.slow
def test_rows_of_many_are_those_of_spark(spark: SparkEngine) -> None:
    assert alike(spark, random.SystemRandom().getrandbits(32), 300) > 150


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("sql", [*SHADOWED, *CAPTURED, *OF_NUMBERS, *RANDOM])
def test_names_and_numbers_are_those_of_spark(spark: SparkEngine, sql: str) -> None:
    expected, got = spark.run_over(sql, FILLED), shapes.Run(prepare(sql, ALIKE), FILLED, spark).result()
    assert (got.column_names, bag(got)) == (expected.column_names, bag(expected))
    assert not any(map(pa.types.is_decimal, expected.schema.types)) or got.schema == expected.schema


@pytest.mark.spark
@pytest.mark.slow
def test_numbers_of_queries_have_the_types_of_spark(spark: SparkEngine) -> None:
    for written, kind in NUMBERS.items():
        sql = f"SELECT q.m / q.c AS d FROM (SELECT m, {written} AS c FROM t) q"
        precision, scale = map(int, kind[8:-1].split(","))
        assert spark.run_over(sql, FILLED).schema.types == [pa.decimal128(precision, scale)], written
