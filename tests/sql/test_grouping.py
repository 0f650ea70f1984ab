"""Grouping, windows and numbers of arguments are checked before the first request, and refused only where Spark refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import planner_fakes
import pyarrow as pa
import pytest

from fff.errors import QueryError, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.syntax.aggregates import is_row_wise
from fff.sql.syntax.function_arities import ARITIES, WINDOWLESS
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node

CATALOG = planner_fakes.catalog(
    planner_fakes.table("w.r", "x string, v int, y int, st struct<k:int>, a array<int>", scans=1),
    planner_fakes.table("w.s", "x string, v int", scans=1),
)
EMPTY = {
    "r": pa.schema(
        [
            *(("x", pa.string()), ("v", pa.int32()), ("y", pa.int32())),
            *(("st", pa.struct([("k", pa.int32())])), ("a", pa.list_(pa.int32()))),
        ]
    ).empty_table(),
    "s": pa.schema([("x", pa.string()), ("v", pa.int32())]).empty_table(),
}

#: Statements, and what is underlined in them.
REFUSED = [
    ("SELECT x, count(*) FROM r", "x"),
    ("SELECT count(*), 1 + v FROM r", "v"),
    ("SELECT sum(v) AS n, upper(r.x) FROM r", "r.x"),
    ("SELECT x, v, sum(y) FROM r GROUP BY x", "v"),
    ("SELECT x, v, sum(y) FROM r GROUP BY 1", "v"),
    ("SELECT x, st.k FROM r GROUP BY x", "st.k"),
    ("SELECT r.x, s.v, count(*) FROM r JOIN s ON r.x = s.x GROUP BY r.x", "s.v"),
    ("SELECT x FROM r HAVING count(*) > 1", "x"),
    ("SELECT n FROM (SELECT x, count(*) AS n FROM r) q", "x"),
    ("SELECT CASE WHEN v > 1 THEN max(y) END FROM r GROUP BY x", "v"),
    ("SELECT max(v), x FROM r UNION ALL SELECT v, x FROM s", "x"),
    ("SELECT sum(count(*)) FROM r", "count"),
    ("SELECT max(sum(v) + 1) FROM r GROUP BY x", "sum"),
    ("SELECT rank() FROM r", "rank"),
    ("SELECT x, ROW_NUMBER() OVER (PARTITION BY x) FROM r", "ROW_NUMBER"),
    ("SELECT lag(v) FROM r", "lag"),
    ("SELECT x FROM r WHERE row_number() OVER (ORDER BY v) = 1", "row_number() OVER (ORDER BY v) = 1"),
    ("SELECT substring(x) FROM r", "substring"),
    ("SELECT x FROM r WHERE nullif(x) = 'a'", ")"),  # the parser's own error
    ("SELECT x FROM r ORDER BY upper(x, x)", "upper"),
    ("SELECT coalesce() FROM r", "coalesce"),
    ("SELECT sum(abs(v, 2)) FROM r", "abs"),
    ("SELECT r.x FROM r JOIN s ON ifnull(r.x) = s.x", "ifnull"),
]

#: Of functions that no window takes, those that may give more or fewer than one value for a row.
OF_SEVERAL = {"grouping", "grouping_id", "session_window"}
#: No functions of a select list, or refused without OVER.
NOT_LISTED = {
    "collations",
    "python_worker_logs",
    "range",
    "sql_keywords",
    "counter_diff",
    "row_number",
    "lag",
    "lead",
}

ACCEPTED = [
    "SELECT count(*), max(v) + 1 FROM r", "SELECT x, count(*) FROM r GROUP BY x", "SELECT upper(x), count(*) FROM r GROUP BY x",
    "SELECT upper(x) AS u, count(*) FROM r GROUP BY u", "SELECT upper(x), count(*) FROM r GROUP BY 1", "SELECT x, v, count(*) FROM r GROUP BY ALL",
    "SELECT x, v, count(*) FROM r GROUP BY ROLLUP (x, v)", "SELECT v + 1 FROM r GROUP BY v + 1", "SELECT st.k, count(*) FROM r GROUP BY st",
    "SELECT st.k, count(*) FROM r GROUP BY st.k", "SELECT 1, 'x', current_date, count(*) FROM r", "SELECT 1 AS one, one + count(*) FROM r",
    "SELECT x, count(*) OVER () FROM r", "SELECT x, sum(count(*)) OVER (ORDER BY x) FROM r GROUP BY x", "SELECT any_value(x), count(*) FROM r",
    "SELECT count(*), (SELECT max(s.v) FROM s) FROM r", "SELECT x, (SELECT count(*) FROM s WHERE s.x = r.x) FROM r",
    "SELECT max(v) FILTER (WHERE x = 'a') FROM r", "SELECT first(x IGNORE NULLS), first_value(x, true) FROM r",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM r", "SELECT aggregate(a, 0, (m, e) -> m + e) FROM r",
    "SELECT transform(collect_list(v), e -> e + 1) FROM r", "SELECT count(DISTINCT x, v) FROM r", "SELECT rank() OVER w FROM r WINDOW w AS (ORDER BY x)",
    "SELECT x, rank() OVER (PARTITION BY x SORT BY v) FROM r", "SELECT lag(v, 1) IGNORE NULLS OVER (ORDER BY x) FROM r",
    "SELECT x, explode(collect_list(v)) FROM r GROUP BY x", "SELECT F.x, count(*) FROM r F JOIN s USING (x) GROUP BY x",
    "SELECT x FROM r WHERE EXISTS (SELECT max(s.v) FROM s WHERE s.x = r.x HAVING max(s.v) > 1)",
    "SELECT substring(x FROM 2), substring(x, 1), substr(x FROM 2 FOR 3), trim(BOTH 'a' FROM x), position('a' IN x), overlay(x PLACING 'a' FROM 1) FROM r",
    "SELECT extract(YEAR FROM DATE '2020-01-01'), dateadd(MONTH, 1, DATE '2020-01-01'), date_add(DATE '2020-01-01', 1), datediff(DAY, current_date, current_date) FROM r",
    "SELECT cast(v AS decimal(10, 2)), decimal(v), struct(v AS k, x), named_struct('k', v), concat_ws(',', x, x), if(v > 1, 1, 2), ceil(1.5, 0) FROM r",
    "SELECT left(x, 1), struct(*), count(r.*), array(v, y)[0], map(x, v)['a'], coalesce(x, 'a'), concat(), greatest(v, y) FROM r GROUP BY ALL",
    "WITH upper(a, b, c) AS (SELECT 1, 2, 3) SELECT a FROM upper", "SELECT left.a FROM (SELECT 1, 2) AS left(a, b)",
    "SELECT x FROM r LATERAL VIEW explode(a) abs AS z", "SELECT * FROM range(3)", "SELECT * FROM (SELECT x, v FROM r) PIVOT (sum(v) FOR x IN ('a', 'b'))",
    "SELECT mask(x, lowerChar => 'q') FROM r", "SELECT count(*) FROM r |> SELECT 1 AS one", "SELECT x, sum(v) FROM r GROUP BY x, y GROUPING SETS ((x), (y))",
]  # fmt: skip


@pytest.mark.parametrize(("sql", "place"), REFUSED)
def test_what_spark_would_refuse_is_told_at_once(sql: str, place: str) -> None:
    planner_fakes.refused_at(sql, place, CATALOG)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_refuses_what_is_refused_and_takes_what_is_taken(spark: SparkEngine) -> None:
    for sql, _ in REFUSED:
        with pytest.raises(SparkError):
            spark.check(sql, EMPTY)
    judged = [sql for sql in ACCEPTED if _takes(spark, sql)]
    assert len(judged) > 0.8 * len(ACCEPTED)
    for sql in judged:
        prepare(sql, CATALOG)


def _takes(spark: SparkEngine, sql: str) -> bool:
    try:
        spark.check(sql, EMPTY)
    except SparkError:
        return False
    return True


def test_statements_of_the_other_tests_pass() -> None:
    """Those are Spark's as well; what they are refused for is something else."""
    for case in Path(__file__).with_name("statements.txt").read_text().split("\n====\n"):
        assert "neither grouped by" not in case
        assert "arguments" not in case


@pytest.mark.spark
@pytest.mark.slow
def test_every_example_of_sparks_own_documentation_passes(spark: SparkEngine) -> None:
    spark.wait()
    assert spark._session is not None
    examples = []
    for name in sorted(SPARK_FUNCTIONS):
        rows = spark._session.spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()
        examples += re.findall(r"^\s*> (SELECT .*?);\s*$", "\n".join(row[0] for row in rows), re.MULTILINE)
    assert len(examples) > 500
    refused = [(sql, told) for sql in examples if (told := _refusal(sql)) is not None]
    assert not refused


def _refusal(sql: str) -> str | None:
    """What is said of arguments, aggregates or windows; other things these examples may be refused for."""
    try:
        prepare(sql, CATALOG)
    except QueryError as error:
        words = (" takes ", "neither grouped by", "window function", "aggregate cannot", "needs an order")
        return error.message if any(word in error.message for word in words) else None
    return None


def calls() -> Iterator[tuple[str, Node]]:
    """Each of Spark's functions, with every number of arguments that it takes."""
    arities = dict(one.split(":") for one in ARITIES.split())
    for name in SPARK_FUNCTIONS - NOT_LISTED:
        for count in (int(one.rstrip("+")) for one in arities.get(name, "0,1,2,3").split(",")):
            with suppress(QueryError):
                yield (
                    name,
                    parse_statement(f"SELECT {name}({', '.join('abcdefgh'[:count])}) AS q").tree.expressions[
                        0
                    ],
                )


def test_what_no_window_takes_gives_one_value_for_each_row() -> None:
    several = {name for name, item in calls() if not is_row_wise(item)}
    assert several & set(WINDOWLESS.split()) == OF_SEVERAL
    assert {"window", "any_value", "explode", "stack", "json_tuple", "listagg", "hll_union_agg"} <= several
    assert {name for name, item in calls() if is_row_wise(item)}.isdisjoint(several)


@pytest.mark.parametrize(
    ("item", "limited"),
    [
        *((f"sinh(v), {one}", True) for one in ("rand()", "EXISTS (SELECT 1 FROM s WHERE s.x = r.x)", "from_json(x, 'a INT').a")),
        *((one, False) for one in ("any_value(v, true)", "window(x, '1 hour')", "explode(a)", "max(v) OVER ()", "default.mine(v)")),
    ],
)  # fmt: skip
def test_a_limit_ends_the_scan_where_each_row_gives_one(item: str, limited: bool) -> None:
    plan = next(block.plan for block in prepare(f"SELECT {item} FROM r LIMIT 2", CATALOG).blocks)
    assert (plan.limit == 2) is limited


def test_a_query_that_gives_an_array_is_read_in_full_to_see_that_it_has_one_row() -> None:
    for item, limit in (("exists((SELECT a FROM r), e -> e > 1)", None), ("EXISTS (SELECT a FROM r)", 1)):
        blocks = prepare(f"SELECT count(*), {item} FROM s", CATALOG).blocks
        assert [one.plan.limit for one in blocks if one.tables[0].name == "r"] == [limit]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_says_of_the_same_functions_that_they_are_of_several_rows(spark: SparkEngine) -> None:
    spark.wait()
    assert spark._session is not None
    session = spark._session.spark
    known, name_of = (
        session._jsparkSession.sessionState().catalog(),
        session._jvm.org.apache.spark.sql.catalyst,
    )
    groups = {"agg_funcs", "generator_funcs", "window_funcs"}
    for name, item in calls():
        if name == "case":
            continue
        group = known.lookupFunctionInfo(name_of.FunctionIdentifier(name)).getGroup()
        assert not (is_row_wise(item) and group in groups), name
