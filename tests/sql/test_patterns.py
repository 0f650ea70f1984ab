"""Patterns that Java certainly refuses are told before the first request."""

from __future__ import annotations

import pytest
from hard_rows import CATALOG, DATA
from planner_fakes import refused_at

from fff.errors import QueryError, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.refusals.patterns import mistake_in

MISTAKEN = [
    *("(", "a)", "(a|(b)", "[ab", "[^", "*a", "a|+", "(?:*)", "a**", "a+?*", "a\\"),
    *("(?i)(", "[a(]) (", "\\((", "(?=a", "(?<!a", "(?m:a", "])", "(a]", "[a[b("),
]  # fmt: skip
RIGHT = [
    *("()", "[(]", "[^)a]", "\\(", "\\Q(\\E", "a|", "(a|b)?", "a*+", "a+?", "^*", "]", "}", "[]a]"),
    *("(?x)a #(", "(?<n>a)\\k<n>", "[a[b(]]", "[a&&[^(]]", "\\cA", "(?i)a", "(?>a)", "a{2}", "", "[\\]]", "(?-i)(a)"),
]  # fmt: skip
#: Neither called mistaken nor right: what brackets and backslashes do there is Java's to say.
UNSURE = ["(?b", "(?<n>(", "\\Q(", "(?x)(", "{"]


@pytest.mark.parametrize("pattern", MISTAKEN)
def test_what_is_mistaken_is_told(pattern: str) -> None:
    assert mistake_in(pattern)


@pytest.mark.parametrize("pattern", RIGHT + UNSURE)
def test_nothing_else_is(pattern: str) -> None:
    assert mistake_in(pattern) is None


@pytest.mark.parametrize(
    "call",
    [
        *("s RLIKE {}", "NOT (s REGEXP {})", "regexp_like(s, {})", "regexp(s, {})", "regexp_replace(s, {}, '')"),
        *("regexp_extract(s, {}, 0)", "regexp_extract_all(s, {})", "regexp_count(s, {})", "regexp_instr(s, {})"),
        *("regexp_substr(s, {})", "split(s, {})", "split(s, {}, 2)"),
    ],
)  # fmt: skip
def test_wherever_a_pattern_stands(call: str) -> None:
    select = f"SELECT {call} FROM r"
    assert "no regular expression" in refused_at(select.format("'(a'"), "'(a'", CATALOG)
    assert prepare(select.format("'(a)'"), CATALOG).blocks


@pytest.mark.parametrize(
    "expression",
    [
        *("s LIKE '('", "split_part(s, '(', 1)", "replace(s, '(', '')", "s RLIKE '(' || ')'", "s RLIKE '(' ')'"),
        *("CASE WHEN b THEN s RLIKE '(' END", "if(b, s RLIKE '(', true)", "s RLIKE r'\\('", "s RLIKE '\\\\('"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_or_may_not_be_come_to_is_left_alone(expression: str) -> None:
    assert prepare(f"SELECT {expression} FROM r", CATALOG).blocks


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i FROM r WHERE i > 1 AND s RLIKE '('",
        "SELECT i > 1 OR s RLIKE '(' FROM r",
        "SELECT split(s, '(') FROM r WHERE i > 1",
        "SELECT i FROM r WHERE i IN (SELECT i FROM r WHERE s RLIKE '(')",
    ],
)
def test_where_no_row_may_come_to_it_nothing_is_said(query: str) -> None:
    assert prepare(query, CATALOG).blocks
    with pytest.raises(QueryError, match="no regular expression"):
        prepare("SELECT i FROM r WHERE s RLIKE '(' AND i > 1", CATALOG)


@pytest.mark.spark
@pytest.mark.slow
def test_patterns_are_those_of_spark(spark: SparkEngine) -> None:
    for pattern in MISTAKEN:
        with pytest.raises(SparkError, match="PATTERN"):
            spark.run_over(f"SELECT s RLIKE r'{pattern}' AS x FROM r", DATA)
    columns = ", ".join(f"s RLIKE r'{pattern}' AS x{number}" for number, pattern in enumerate(RIGHT))
    assert spark.run_over(f"SELECT {columns} FROM r", DATA).num_rows
