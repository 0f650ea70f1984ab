"""What Spark says is told without advice that FFF refuses, and without names that are Spark's own."""

from __future__ import annotations

import pytest

from fff.errors import SparkError
from fff.spark.messages import locate, short


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            (
                "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
                'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012\n== SQL =='
            ),
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead",
        ),
        (
            (
                "[NUMERIC_VALUE_OUT_OF_RANGE] 1000 cannot be represented as Decimal(5, 2). If necessary set "
                '"spark.sql.ansi.enabled" to "false" to bypass this error, and return NULL instead. SQLSTATE: 22003'
            ),
            "[NUMERIC_VALUE_OUT_OF_RANGE] 1000 cannot be represented as Decimal(5, 2)",
        ),
        (
            (
                "[WRONG_NUM_ARGS] The `map` requires 2n (n > 0) parameters but the actual number is 3. Please, refer to "
                "'https://spark.apache.org/docs/latest/sql-ref-functions.html' for a fix. SQLSTATE: 42605; line 1 pos 7"
            ),
            "[WRONG_NUM_ARGS] The `map` requires 2n (n > 0) parameters but the actual number is 3",
        ),
        (
            '[DATATYPE_MISMATCH] Cannot resolve "(lateralAliasReference(z) = scalarsubquery(t.a))" due to it. SQLSTATE: 1',
            '[DATATYPE_MISMATCH] Cannot resolve "(z = a subquery)" due to it',
        ),
        (
            "[MISSING_AGGREGATION] The expression is based on upper(s#27), l#26L. SQLSTATE: 42803",
            "[MISSING_AGGREGATION] The expression is based on upper(s), l",
        ),
        (
            "[CAST_INVALID_INPUT] The value 'x#12. See' of the type \"STRING\" cannot be cast",
            "[CAST_INVALID_INPUT] The value 'x#12. See' of the type \"STRING\" cannot be cast",
        ),
    ],
)
def test_what_is_told(said: str, told: str) -> None:
    assert short(said) == f"Spark: {told}"


@pytest.mark.parametrize(
    ("text", "asked", "place", "word"),
    [
        ("SELECT 1 FROM t RIGHT SEMI JOIN u", True, "line 1, pos 37", "SEMI"),
        ("SELECT 1\nFROM t WHERE a = ANY (SELECT 1)", True, "line 2, pos 21", "("),
        ("SELECT 1 FROM t RIGHT SEMI JOIN u", False, "line 1, pos 22", "SEMI"),
    ],
)
def test_where_a_text_is_no_query_any_more(text: str, asked: bool, place: str, word: str) -> None:
    shown = f"DESCRIBE QUERY {text}" if asked else text
    error = SparkError("it is none")
    locate(
        error,
        (),
        f"[PARSE_SYNTAX_ERROR] At '{word}'. SQLSTATE: 1 ({place})\n\n== SQL ==\n{shown}\n---^^^\n",
        text,
    )
    assert (error.fragment, error.start, error.given) == (word, text.index(word), text)
    other = SparkError("it is something else")
    locate(other, (), f"[DIVIDE_BY_ZERO] ({place})\n\n== SQL ==\n{shown}", text)
    assert other.fragment == ""
