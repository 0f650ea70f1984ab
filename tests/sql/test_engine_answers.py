"""Statements that the engine answers by itself: the same names, types and rows as Spark's, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from hard_rows import CATALOG, DATA, bag

from fff.dataflow.kernels.arithmetic import ARITHMETIC
from fff.dataflow.kernels.values import Partial
from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare

#: Answered without Spark.
ALONE = [
    "SELECT explode(a) FROM u", "SELECT i, posexplode_outer(a) AS (p, x) FROM u",
    "SELECT i, s FROM r",
    "SELECT 1", "SELECT 1 + 1 AS two", "SELECT NULL, true, 'x', 1.50, -3, 12345678901", "SELECT 1 LIMIT 0",
    "SELECT 1 AS one, s FROM r", "SELECT 'x' AS x FROM r, u WHERE r.i = u.i", "SELECT 5 FROM r LIMIT 2 OFFSET 1",
    "SELECT i IS NULL, s IS NOT NULL, NOT b, b AND i > 0, b OR l <> 1 FROM r", "SELECT i > 0 AS inhabited FROM r",
    "SELECT l + 1, d * 2, L - l, - d, d / 2, (l + t) * 2 FROM r WHERE l < 10", "SELECT upper(S), lower(r.s), length(s), ucase(s), Lcase(upper(s)) FROM r",
    "SELECT i <=> 1, i IN (1, 2), l >= t, (s = 'a') FROM r",
    "SELECT pi(), mod(i, 2), if(b, 1, 2), CASE i WHEN 1 THEN s ELSE 'x' END, s || 'y', s LIKE 'a%', i BETWEEN 1 AND 3, cast(i AS string) FROM r",
    "SELECT substr(s, 1, 2), round(d), replace(s, 'a', 'b'), i::bigint, i IS DISTINCT FROM 1 FROM r WHERE d < 1e6",
    "SELECT coalesce(i, l), if(b, 1, 2) AS x, CASE WHEN b THEN i ELSE l END AS y FROM r",
    "SELECT DISTINCT s FROM r", "SELECT DISTINCT d FROM r", "SELECT DISTINCT f, d FROM r", "SELECT DISTINCT i, l, t, m, b, dt FROM r",
    "SELECT DISTINCT i + 1 AS n FROM r WHERE i < 5", "SELECT DISTINCT b, i IS NULL AS n FROM r", "SELECT DISTINCT 1 FROM r",
    "SELECT i FROM r UNION ALL SELECT i FROM u", "SELECT i FROM r UNION SELECT i FROM u", "SELECT 1 AS a UNION ALL SELECT i FROM u",
    "SELECT i, s FROM r UNION ALL SELECT l, s FROM r UNION ALL SELECT NULL, 'x'", "SELECT t AS x FROM r UNION ALL SELECT d FROM r",
    "SELECT m FROM r UNION ALL SELECT l FROM r", "SELECT f FROM r UNION SELECT d FROM r", "SELECT i FROM r UNION SELECT m FROM r",
    "(SELECT i FROM r) UNION ALL (SELECT DISTINCT i FROM u UNION ALL SELECT 7)", "SELECT DISTINCT s FROM r UNION ALL SELECT s FROM u",
    "SELECT s FROM r UNION ALL SELECT s FROM u UNION SELECT 'z'",
    "SELECT a FROM u UNION ALL SELECT a FROM u",
    "SELECT transform(a, x -> x + i) AS t, map(1, s, 2, 'b') AS m, struct(i, s) AS st, array(a, a) AS aa FROM u WHERE exists(a, x -> x = 1) OR a IS NULL",
    "SELECT array_distinct(a), array_max(a), a = a, array_contains(a, 1), array_append(a, i) FROM u WHERE a < array(5)",
    "SELECT dt - DATE '2020-01-01' AS days, dt + INTERVAL '1:02' HOUR TO MINUTE AS m FROM r WHERE dt - INTERVAL 1 YEAR 2 MONTH < dt",
    "SELECT map(1, u.s) AS m, aggregate(u.a, r.i, (x, y) -> x + y) AS n, (u.i, r.l) AS both FROM r, u WHERE r.i = u.i",
    "SELECT i + l || s, s || i * 2 || s, i & l | 1, (i || l) + 0, (i | l) & 1 FROM r WHERE i BETWEEN 0 AND 9 AND l BETWEEN 0 AND 9",
    "SELECT array(i) AS x FROM u UNION ALL SELECT array(l) FROM r",
    "(SELECT i, s FROM r)", "((SELECT l + 1, 's' FROM r))", "(TABLE u)", "((SELECT i FROM r) UNION (SELECT i FROM u))", "(FROM r |> WHERE b |> SELECT i)",
    "(SELECT i FROM r) LIMIT 2", "((SELECT i FROM r) LIMIT 2);", "(SELECT i FROM r LIMIT 4) LIMIT 3 OFFSET 1", "(WITH q AS (SELECT i FROM r) SELECT * FROM q)",
    "VALUES (struct(1, 'a' AS b)), ((2, 'c')), (3, 'd')", "SELECT x, y FROM VALUES (struct(struct(1, 2), 3)), ((NULL, 4)) AS v(x, y)",
    "SELECT repeat(repeat(s, 3), 100), replace(repeat(s, 900), 'a', 'bb') FROM r", "SELECT -'5', i AS ``, 1 AS `` FROM r", "WITH q AS (SELECT i AS n FROM r) (SELECT * FROM q) LIMIT 3", "(SELECT i FROM r UNION ALL SELECT i FROM u)LIMIT 7 OFFSET 3",
]  # fmt: skip

#: Left to Spark, though much like those above.
NOT_ALONE = [
    "SELECT i FROM r UNION ALL SELECT s FROM u",  # strings become numbers, on conditions
    "SELECT i FROM r UNION SELECT i FROM u UNION ALL SELECT i FROM u",  # one of each, but not of the last
    "SELECT DISTINCT a FROM u",
    "SELECT array() AS x FROM u",  # elements without a type
    "SELECT a[i] FROM (SELECT array(1, 2) AS a, i FROM u) AS t",
    "SELECT i FROM r UNION ALL SELECT i FROM u ORDER BY 1",
    "SELECT i FROM r ORDER BY i", "SELECT count(*) FROM r", "SELECT i FROM r EXCEPT SELECT i FROM u",
    "SELECT 1 WHERE false", "SELECT i FROM r WHERE i = (SELECT max(i) FROM u)", "SELECT explode(a), explode(a) FROM u", "SELECT explode(array()) FROM u",
    "SELECT repeat(repeat(s, 1000), 1000) FROM r", "SELECT flatten(array_repeat(array_repeat(i, 1000), 1000)) FROM r",
    "SELECT length(repeat(repeat(repeat(repeat('a', 1000), 1000), 1000), 1000))", "SELECT replace(repeat(s, 900), 'a', repeat('b', 900)) FROM r",
    "SELECT uuid()", "SELECT struct(i x, s AS y, l + 1 `z z`) FROM r",
    "SELECT space(i) FROM r", "SELECT space(2147483647)", "SELECT round(i, 700000000) FROM r",
    "SELECT DISTINCT NULL AS x",
    "(SELECT i FROM r ORDER BY i LIMIT 1) UNION ALL SELECT i FROM u",
    "(SELECT i FROM r ORDER BY i) LIMIT 1", "(SELECT i FROM r) ORDER BY i",
]  # fmt: skip


@pytest.mark.spark
@pytest.mark.slow
def test_names_types_and_rows_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in ALONE:
        prepared = prepare(sql, CATALOG)
        assert prepared.upper is None, sql
        expected, got = spark.run_over(sql, DATA), shapes.Run(prepared, DATA, spark).result()
        assert got.column_names == expected.column_names, sql
        if "LIMIT" not in sql:
            assert bag(got) == bag(expected), sql
        assert len(got) == len(expected), sql
        assert prepared.result is not None
        assert [field.arrow for field in prepared.result.fields] == expected.schema.types, sql


@pytest.mark.parametrize("sql", NOT_ALONE)
def test_what_is_not_proven_is_left_to_spark(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is not None


@pytest.mark.parametrize(
    ("sql", "error", "place"),
    [
        ("SELECT i, 1 / i FROM r", "[DIVIDE_BY_ZERO]", "1 / i"),
        ("SELECT s, i + 1 AS n FROM r", "[ARITHMETIC_OVERFLOW]", "i + 1"),
        ("SELECT abs(t) FROM r", "[ARITHMETIC_OVERFLOW]", "abs(t)"),
        ("SELECT -t FROM r", "[ARITHMETIC_OVERFLOW]", "-t"),
        ("SELECT 1 AS n UNION ALL SELECT 1 % 0", "[REMAINDER_BY_ZERO]", "1 % 0"),
    ],
)
def test_a_value_that_cannot_be_had_ends_the_statement(sql: str, error: str, place: str) -> None:
    prepared = prepare(sql, CATALOG)
    with pytest.raises(QueryError) as raised:
        shapes.Run(prepared, DATA, spark=None).result()  # type: ignore[arg-type] # nobody asks it
    assert error in raised.value.message
    assert raised.value.span is not None
    assert sql[raised.value.span.start : raised.value.span.end].startswith(place)


@pytest.mark.parametrize("beside", ["d IN (2.0D, double('NaN'))", "d = double('NaN')"])
def test_a_nan_is_in_every_list_that_names_one(beside: str) -> None:
    prepared = prepare(f"SELECT l FROM r WHERE d IN (double('NaN'), 1.0D) AND {beside}", CATALOG)
    assert prepared.only_block.empty is None
    assert shapes.Run(prepared, DATA, spark=None).result().column(0).to_pylist() == [2**40, -1]  # type: ignore[arg-type] # nobody asks it


def test_a_page_that_fails_in_two_ways_fails_on_every_such_row() -> None:
    """A quotient beyond the type, beside a division by zero."""
    columns = [pa.array([-(2**63), 5, 6], pa.int64()), pa.array([-1, 0, 3], pa.int64())]
    values = ARITHMETIC["div"](columns, pa.int64())
    assert isinstance(values, Partial)
    assert values.failed is not None
    assert values.failed.rows.tolist() == [True, True, False]
    assert [values.failed.tell(row)[:12] for row in (0, 1)] == ["[ARITHMETIC_", "[DIVIDE_BY_Z"]


@pytest.mark.parametrize("text", ["-1.5F", "- 1.5F", "-(1.5F)"])
def test_a_negative_float_is_no_double(text: str) -> None:
    result = prepare(f"SELECT {text} AS x FROM r", CATALOG).result
    assert result is None or [field.type for field in result.fields] == ["float"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("coalesce(i, 0.5, '1')", "double"),
        ("coalesce(i, '1', 0.5)", "decimal(21,1)"),
        ("CASE WHEN b THEN i WHEN NOT b THEN 0.5 ELSE '1' END", "double"),
    ],
)
def test_the_common_type_of_a_list_is_folded_in_its_order(text: str, kind: str) -> None:
    result = prepare(f"SELECT {text} AS x FROM r", CATALOG).result
    assert result is not None
    assert [field.type for field in result.fields] == [kind]


def test_hexadecimal_digits_are_a_name() -> None:
    with pytest.raises(QueryError, match="unknown column 0x1F"):
        prepare("SELECT i FROM r WHERE i = 0x1F", CATALOG)
