"""Rarer spellings of plain things: taken where Spark takes them, without it where the plain spelling needs none."""

from __future__ import annotations

import pytest
import shapes
from hard_rows import CATALOG, DATA, bag

from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare

#: Answered by the engine.
ALONE = [
    "SELECT q.b FROM (SELECT cast(b AS string) FROM r) q",
    "SELECT q.b FROM (SELECT (try_cast((r.b) AS string)) FROM r) q",
    "WITH q AS (SELECT b::string, i AS y FROM r) SELECT y, b FROM q",
    "SELECT q.dt FROM (SELECT cast(dt AS timestamp) FROM r) q",
    "SELECT * FROM r, u JOIN u AS k USING (i)",
]
#: By Spark, over their tables.
WITH_SPARK = [
    "SELECT q.i FROM (SELECT bigint(i) FROM r) q",
    "SELECT q.`true`, `null` FROM (SELECT true, null FROM r) q",
    "SELECT * FROM u, u",
    "SELECT u.i FROM u JOIN u USING (i) WHERE u.i = 1",
    "SELECT u.d FROM u JOIN r AS u USING (i)",
    "SELECT u.s FROM u LEFT SEMI JOIN u USING (i)",
    "SELECT count(*) AS n FROM u, u LEFT JOIN r USING (i)",
    "FROM r, u |> JOIN u USING (i)",
]
#: By nobody.
REFUSED = [
    "SELECT q.b FROM (SELECT cast(cast(b AS int) AS string) FROM r) q",
    "SELECT u.i FROM u, u",
    "SELECT i FROM u, u",
    "SELECT i FROM r, u JOIN u AS k USING (i)",
]


@pytest.mark.parametrize("sql", ALONE)
def test_no_spark_for_what_the_engine_answers(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is None


@pytest.mark.parametrize("sql", WITH_SPARK)
def test_what_spark_takes_is_not_refused(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is not None


@pytest.mark.parametrize("sql", REFUSED)
def test_what_spark_refuses_is_told_where_it_stands(sql: str) -> None:
    with pytest.raises(QueryError) as refused:
        prepare(sql, CATALOG)
    assert refused.value.span is not None


@pytest.mark.spark
@pytest.mark.slow
def test_rows_and_refusals_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in ALONE + WITH_SPARK:
        got, expected = shapes.Run(prepare(sql, CATALOG), DATA, spark).result(), spark.run_over(sql, DATA)
        assert (got.column_names, bag(got)) == (expected.column_names, bag(expected)), sql
    for sql in REFUSED:
        with pytest.raises(QueryError):
            spark.run_over(sql, DATA)
