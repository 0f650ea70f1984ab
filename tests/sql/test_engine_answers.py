"""Statements that the engine answers by itself: the same names, types and rows as Spark's, without Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal

import planner_fakes
import pyarrow as pa
import pytest
import shapes

from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare

CATALOG = planner_fakes.catalog(
    planner_fakes.table(
        "w.r",
        "i int, l bigint, t tinyint, d double, f float, s string, m decimal(5,2), b boolean, dt date",
        scans=1,
    ),
    planner_fakes.table("w.u", "i int, s string, a array<int>", scans=1),
)
_NAN = float("nan")
DATA = {
    "r": pa.table(
        {
            "i": pa.array([1, 1, None, 0, -7, 2**31 - 1], pa.int32()),
            "l": pa.array([1, 1, None, 2**40, -1, 0], pa.int64()),
            "t": pa.array([1, 1, None, 127, -128, 0], pa.int8()),
            "d": pa.array([0.0, -0.0, None, _NAN, -_NAN, math.inf]),
            "f": pa.array([0.0, -0.0, None, _NAN, 0.5, 1e30], pa.float32()),
            "s": pa.array(["a", "a", None, "", "Straße", "a "]),
            "m": pa.array([Decimal("1.50"), Decimal("1.50"), None, Decimal("0.00"), Decimal("-999.99"), Decimal("0.10")], pa.decimal128(5, 2)),
            "b": pa.array([True, True, None, False, False, True]),
            "dt": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 1), None, dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(9999, 12, 31)]),
        }
    ),
    "u": pa.table({"i": pa.array([1, 2, None], pa.int32()), "s": ["a", "b", None], "a": pa.array([[1], [], None], pa.list_(pa.int32()))}),
}  # fmt: skip

#: Answered without Spark.
ALONE = [
    "SELECT i, s FROM r",
    "SELECT 1", "SELECT 1 + 1 AS two", "SELECT NULL, true, 'x', 1.50, -3, 12345678901", "SELECT 1 LIMIT 0",
    "SELECT 1 AS one, s FROM r", "SELECT 'x' AS x FROM r, u WHERE r.i = u.i", "SELECT 5 FROM r LIMIT 2 OFFSET 1",
    "SELECT i IS NULL, s IS NOT NULL, NOT b, b AND i > 0, b OR l <> 1 FROM r", "SELECT i > 0 AS inhabited FROM r",
    "SELECT l + 1, d * 2, L - l, - d, d / 2, (l + t) * 2 FROM r WHERE l < 10", "SELECT upper(S), lower(r.s), length(s), ucase(s), Lcase(upper(s)) FROM r",
    "SELECT i <=> 1, i IN (1, 2), l >= t, (s = 'a') FROM r",
    "SELECT coalesce(i, l), if(b, 1, 2) AS x, CASE WHEN b THEN i ELSE l END AS y FROM r",
    "SELECT DISTINCT s FROM r", "SELECT DISTINCT d FROM r", "SELECT DISTINCT f, d FROM r", "SELECT DISTINCT i, l, t, m, b, dt FROM r",
    "SELECT DISTINCT i + 1 AS n FROM r WHERE i < 5", "SELECT DISTINCT b, i IS NULL AS n FROM r", "SELECT DISTINCT 1 FROM r",
    "SELECT i FROM r UNION ALL SELECT i FROM u", "SELECT i FROM r UNION SELECT i FROM u", "SELECT 1 AS a UNION ALL SELECT i FROM u",
    "SELECT i, s FROM r UNION ALL SELECT l, s FROM r UNION ALL SELECT NULL, 'x'", "SELECT t AS x FROM r UNION ALL SELECT d FROM r",
    "SELECT m FROM r UNION ALL SELECT l FROM r", "SELECT f FROM r UNION SELECT d FROM r", "SELECT i FROM r UNION SELECT m FROM r",
    "(SELECT i FROM r) UNION ALL (SELECT DISTINCT i FROM u UNION ALL SELECT 7)", "SELECT DISTINCT s FROM r UNION ALL SELECT s FROM u",
    "SELECT s FROM r UNION ALL SELECT s FROM u UNION SELECT 'z'",
    "SELECT a FROM u UNION ALL SELECT a FROM u",
]  # fmt: skip

#: Left to Spark, though much like those above.
NOT_ALONE = [
    "SELECT i FROM r UNION ALL SELECT s FROM u",  # strings become numbers, on conditions
    "SELECT i FROM r UNION SELECT i FROM u UNION ALL SELECT i FROM u",  # one of each, but not of the last
    "SELECT DISTINCT a FROM u",
    "SELECT i FROM r UNION ALL SELECT i FROM u ORDER BY 1",
    "SELECT i FROM r ORDER BY i", "SELECT count(*) FROM r", "SELECT i FROM r EXCEPT SELECT i FROM u",
    "SELECT 1 WHERE false", "SELECT i FROM r WHERE i = (SELECT max(i) FROM u)", "SELECT explode(a) FROM u",
    "WITH x AS (SELECT 1 AS one) SELECT one FROM x", "SELECT uuid()", "SELECT l + 1 AS n, n + 1 AS o FROM r",
    "SELECT mod(i, 2) FROM r", "SELECT DISTINCT NULL AS x",
    "(SELECT i FROM r ORDER BY i LIMIT 1) UNION ALL SELECT i FROM u",
]  # fmt: skip


@pytest.mark.spark
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


def bag(rows: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows; NaN equals itself, and the sign of a zero counts."""
    return Counter(zip(*(map(repr, column.to_pylist()) for column in rows.columns), strict=True))


@pytest.mark.parametrize(
    ("sql", "error", "place"),
    [
        ("SELECT i, 1 / i FROM r", "[DIVIDE_BY_ZERO]", "1 / i"),
        ("SELECT s, i + 1 AS n FROM r", "[ARITHMETIC_OVERFLOW]", "i + 1"),
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
