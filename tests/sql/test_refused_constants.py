"""Constants that Spark refuses, values and columns of PIVOT and UNPIVOT: told before the first request, and no others."""

from __future__ import annotations

import planner_fakes
import pytest
from planner_fakes import CATALOG, EMPTY

from fff.errors import SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare

#: Statements, and what is underlined in them.
REFUSED = [
    ("SELECT ntile(2 - 5) OVER (ORDER BY id) FROM t", "2 - 5"),
    ("SELECT ntile(length('')) OVER (ORDER BY id) FROM t", "length('')"),
    ("SELECT nth_value(k, 1 - 1) OVER (ORDER BY id) FROM t", "1 - 1"),
    ("SELECT nth_value(k, '0') OVER (ORDER BY id) FROM t", "'0'"),
    ("SELECT stack(1 - 1, 1, 2) FROM t", "1 - 1"),
    ("SELECT * FROM range(1, 5, 1 - 1), t", "1 - 1"),
    ("SELECT percentile(d, 1.5) FROM t", "1.5"),
    ("SELECT percentile(d, '1.5') FROM t", "'1.5'"),
    ("SELECT percentile(d, 0.5 + 0.6) FROM t", "0.5 + 0.6"),
    ("SELECT percentile(d, array(0.5, 1.5)) FROM t", "array(0.5, 1.5)"),
    ("SELECT percentile(d, -0.1) FROM t", "-0.1"),
    ("SELECT percentile(d, k) FROM t", "k"),
    ("SELECT percentile(d, NULL) FROM t", "NULL"),
    ("SELECT percentile(d, 0.5, 1, 2) FROM t", "percentile"),
    ("SELECT approx_percentile(d, 2) FROM t", "2"),
    ("SELECT percentile_approx(d, 0.5, 0) FROM t", "0"),
    ("SELECT percentile_approx(d, 0.5, 3000000000) FROM t", "3000000000"),
    ("SELECT percentile_approx(d, 0.5, 1.5) FROM t", "1.5"),
    ("SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY d) FROM t", "1.5"),
    ("SELECT percentile_disc(-1) WITHIN GROUP (ORDER BY d) FROM t", "-1"),
    ("SELECT percentile_cont(d) WITHIN GROUP (ORDER BY d) FROM t", "d"),
    ("SELECT percentile_cont(0.5) FROM t", "percentile_cont"),
    ("SELECT approx_count_distinct(k, 1) FROM t", "1"),
    ("SELECT approx_count_distinct(k, 0.4) FROM t", "0.4"),
    ("SELECT histogram_numeric(k, 2 - 1) FROM t", "2 - 1"),
    ("SELECT listagg(s, k) FROM t", "k"),
    ("SELECT rand(k), uniform(1, 2) FROM t", "k"),
    ("SELECT round(d, k) FROM t", "k"),
    ("SELECT from_json(s, s) FROM t", "s"),
    ("SELECT array_contains(k, 1) FROM t", "k"),
    ("SELECT * FROM t PIVOT (sum(d) + k FOR s IN ('a'))", "k"),
    ("SELECT * FROM t PIVOT (max(d), id FOR s IN ('a'))", "id"),
    ("SELECT * FROM t PIVOT (sum(d) FOR k IN (id, 1))", "id"),
    ("SELECT * FROM t PIVOT (sum(d) FOR k IN ('x', 1))", "'x'"),
    ("SELECT * FROM t PIVOT (sum(d) FOR dt IN (1))", "1"),
    ("SELECT * FROM t PIVOT (sum(d) FOR (k, s) IN (1))", "1"),
    ("SELECT * FROM t PIVOT (sum(d) FOR (k, s) IN ((1, 'a', 3)))", "1, 'a', 3"),
    ("SELECT * FROM t UNPIVOT (val FOR col IN (k, s))", "s"),
    ("SELECT * FROM (SELECT id, dt FROM t) UNPIVOT (val FOR col IN (id, dt))", "dt"),
    ("SELECT * FROM t UNPIVOT ((v, w) FOR col IN ((k, id), (d, s)))", "s"),
    ("SELECT * FROM t UNPIVOT ((v, w) FOR col IN ((k, id), (d)))", "d"),
    ("SELECT * FROM t, LATERAL u", "u"),
    ("SELECT extract(nope FROM dt) FROM t", "dt"),
    ("SELECT date_part('epoch', dt) FROM t", "'epoch'"),
    ("SELECT id FROM t WHERE d > 1e-400BD", "1e-400BD"),
    ("SELECT CAST(s AS decimal(40, 2)) FROM t", "40"),
    ("SELECT CAST(arr AS array<decimal(5, 9)>) FROM n", "9"),
    ("SELECT k::numeric(39) FROM t", "39"),
    ("SELECT s LIKE 'a' ESCAPE 'xx' FROM t", "'xx'"),
    ("SELECT named_struct('a', 1, 'b') FROM t", "named_struct"),
    ("SELECT named_struct(s, 1) FROM t", "s"),
    ("SELECT named_struct(1, id) FROM t", "1"),
    ("SELECT k FROM t LIMIT 1L", "1L"),
    ("SELECT k FROM t LIMIT k", "k"),
    ("SELECT * FROM t PIVOT (sum(d) FOR dt IN (DATE '2020-01-29', true))", "dt IN (DATE '2020-01-29'"),
    ("SELECT k FROM t LIMIT ALL OFFSET id", "id"),
    ("SELECT * FROM t TABLESAMPLE (150 PERCENT)", "150"),
    ("SELECT * FROM t TABLESAMPLE (BUCKET 5 OUT OF 3)", "5"),
]  # fmt: skip
TAKEN = [
    "SELECT lag() OVER (ORDER BY id), lead(k, 1, 0, true) OVER (ORDER BY id), any_value(k, true) OVER () FROM t",
    "SELECT * FROM (SELECT k, s, d FROM t) PIVOT (sum(d) + 1 AS q, -max(k), CASE WHEN avg(d) > 1 THEN 1 END FOR s IN ('a', 'b' AS b))",
    "SELECT * FROM t PIVOT (round(sum(d) FILTER (WHERE id > 1), 2) FOR k IN (0, '1', true, 1.5))", "SELECT * FROM t PIVOT (1 FOR (s) IN (1, true))",
    "SELECT * FROM LATERAL t", "FROM LATERAL t SELECT id", "SELECT * FROM LATERAL (t JOIN u ON t.k = u.k)", "SELECT * FROM LATERAL t AS q, u WHERE q.k = u.k",
    "WITH w AS (SELECT k FROM t) SELECT * FROM LATERAL w", "SELECT * FROM LATERAL explode(array(1)) AS q(x), t",
    "SELECT percentile(d, 0.5, 2), percentile(k, array(0, 1.0)), percentile(k, '0.5'), percentile_approx(d, 0.25 * 2, 100), approx_percentile(dt, 1) FROM t",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d), percentile_disc(array(0.5, 1)) WITHIN GROUP (ORDER BY k) FROM t",
    "SELECT approx_count_distinct(k, 0.39), approx_count_distinct(k, 0.05D), histogram_numeric(k, 2), listagg(DISTINCT s, ', ') FROM t",
    "SELECT round(d, 1 + 1), ceil(d, 2), transform(array(d), x -> round(x, 1)), from_json(s, 'a int'), rand(1), date_part('YEAR', dt) FROM t",
    "SELECT decode(k, 1, 'a', id, 'b', 'c'), get_json_object(s, s), pow(k, id), percentile.k FROM (SELECT * FROM t) percentile",
    "SELECT * FROM (SELECT k AS x, d AS y FROM t) q UNPIVOT (val FOR col IN (q.x, y))", "SELECT * FROM t UNPIVOT ((v, w) FOR col IN ((k, s) AS a, (d, s)))",
    "SELECT CAST(k AS decimal(38, 38)), extract(yrs FROM dt), extract(dow_iso FROM dt), date_part('secs', dt), s LIKE 'a' ESCAPE '!' FROM t",
    "SELECT k FROM t TABLESAMPLE (100 PERCENT) LIMIT 1 + 1", "SELECT k FROM t TABLESAMPLE (BUCKET 3 OUT OF 3) LIMIT length('ab')",
    "SELECT named_struct(concat('a', 'b'), id) FROM t", "SELECT * FROM t PIVOT (count(*) FOR dt IN ('2020-01-29', DATE '2020-01-30'))",
]  # fmt: skip


def test_what_spark_refuses_is_told_at_once() -> None:
    for sql, place in REFUSED:
        planner_fakes.refused_at(sql, place, CATALOG)


def test_what_spark_takes_is_taken() -> None:
    for sql in TAKEN:
        assert prepare(sql, CATALOG), sql


@pytest.mark.spark
@pytest.mark.slow
def test_spark_refuses_and_takes_the_same(spark: SparkEngine) -> None:
    for sql, _ in REFUSED:
        with pytest.raises(SparkError):
            spark.check(sql, EMPTY)
    for sql in TAKEN:
        spark.check(sql, EMPTY)
