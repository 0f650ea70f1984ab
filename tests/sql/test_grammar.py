"""Operators bind as Spark's grammar has it, and words are names where it has them so."""

from __future__ import annotations

import pytest
from hard_rows import CATALOG
from property_scalars import translated

from fff.errors import QueryError, UsageError
from fff.sql import prepare
from fff.sql.syntax import grammar
from fff.sql.syntax.parse import parse_statement


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("b = b < b", "(b = b) < b"),
        ("b <=> b = b <> b", "((b <=> b) = b) <> b"),
        ("i < 5 = b", "(i < 5) = b"),
        ("s = 'a' LIKE 'true'", "(s = 'a') LIKE 'true'"),
        ("b = b IS NULL", "(b = b) IS NULL"),
        ("NOT b = b AND b", "(NOT (b = b)) AND b"),
        ("NOT b IS NULL", "NOT (b IS NULL)"),
        ("i BETWEEN 1 AND 2 + 3 * 4", "i BETWEEN 1 AND (2 + (3 * 4))"),
        ("b BETWEEN 2 > 1 AND true", "b BETWEEN (2 > 1) AND true"),
        ("i IS DISTINCT FROM 1 + 1", "i IS DISTINCT FROM (1 + 1)"),
        ("i || l + 1", "(i || l) + 1"),
        ("i | l & 1 ^ 2", "i | ((l & 1) ^ 2)"),
        ("i << 1 + 1 >> 2", "(i << (1 + 1)) >> 2"),
        ("i - 1 - 2", "(i - 1) - 2"),
        ("7 div 2 * i", "(7 div 2) * i"),
        ("~i + 1", "(~i) + 1"),
        ("-i * 2", "(-i) * 2"),
        ("i !< 3 AND i !> 5", "i >= 3 AND i <= 5"),
        ("-5::string", "CAST(-5 AS STRING)"),
        ("- 2147483648::int", "CAST(-2147483648 AS INT)"),
        ("-5L::string", "CAST(-5L AS STRING)"),
        ("-1::boolean", "CAST(-1 AS BOOLEAN)"),
        ("-.5::int", "CAST(-0.5 AS INT)"),
        ("i -1::bigint", "i - (1::bigint)"),
        ("-i::bigint", "-(i::bigint)"),
        ("+i", "positive(i)"),
        ("1 + +'5'", "1 + positive('5')"),
        ("exists(a, I -> i = 1)", "exists(a, y -> y = 1)"),
        ("filter(a, I -> i > t.i)", "filter(a, y -> y > t.i)"),
        ("transform_values(mp, (K, v) -> k || V)", "transform_values(mp, (k, v) -> k || v)"),
        ("substring(1 > 2, 1, 2)", "substring((1 > 2), 1, 2)"),
        ("CAST(/* 5L */ 5 AS BIGINT) * m", "CAST(5 AS BIGINT) * m"),
        ("CAST(5L AS BIGINT) * m", "CAST(5 AS BIGINT) * m"),
    ],
)
def test_an_expression_is_the_one_that_its_brackets_would_say(text: str, meant: str) -> None:
    assert translated(text) == translated(meant)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("+5 * m", "decimal128(21, 2)"),
        ("5L * m", "decimal128(12, 2)"),
        ("-5::bigint * m", "decimal128(31, 2)"),
    ],
)
def test_a_number_with_something_around_it_has_other_digits(text: str, kind: str) -> None:
    assert str(translated(text).type) == kind


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("i ISNULL", "ISNULL"),
        ("i XOR", "XOR"),
        ("i for", "for"),
        ("i QUALIFY", "QUALIFY"),
        ("i INTO", "INTO"),
        ("b != b = b", "((NOT (b = b)) = b)"),
        ("NOT b IS NULL", "(NOT (b IS NULL))"),
        ("! b IS NULL", "(NOT (b IS NULL))"),
        ("b IS NOT NULL", "(b IS NOT NULL)"),
        ("-5::string", "CAST(-5 AS STRING)"),
        ("-5L::string", "CAST(-5 AS STRING)"),
        ("-i::string", "(- CAST(i AS STRING))"),
        ("+ d", "(+ d)"),
        ("1 + +5", "(1 + (+ 5))"),
    ],
)
def test_a_column_has_the_name_that_spark_gives_it(item: str, name: str) -> None:
    prepared = prepare(f"SELECT {item} FROM r", CATALOG)
    assert prepared.result is not None
    assert [field.name for field in prepared.result.fields] == [name]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "i ISNULL IS NULL",
            "i NOT NULL",
            "i IS 5",
            "i IS NULL = b",
            "i IN (1) = b",
            "i BETWEEN 1 5",
            "b = NOT b",
        ),
        *(
            "i > > 1",
            "i < = 1",
            "s ~~ 'a'",
            "{fn upper(s)}",
            "1 {# x #}",
            "1 + /*+ x */ 1",
            "s COLLATE 'utf8_lcase'",
        ),
        *(".5e", "5.e", "1.5e", "s GLOB 'a'", "b XOR b", "b OVERLAPS b"),
    ],
)
def test_what_is_no_expression_of_spark_is_refused_where_it_stands(text: str) -> None:
    with pytest.raises(QueryError, match="syntax error") as refused:
        parse_statement(f"SELECT * FROM r WHERE {text}")
    assert refused.value.span is not None


@pytest.mark.parametrize("sql", ["SELECT i AS 'x' FROM r", "SELECT AS STRUCT i FROM r"])
def test_and_so_is_what_is_no_select(sql: str) -> None:
    with pytest.raises(QueryError, match="syntax error"):
        parse_statement(sql)


def test_letters_behind_digits_are_a_name() -> None:
    with pytest.raises(QueryError, match="unknown column 5e"):
        prepare("SELECT 5e FROM r", CATALOG)
    assert prepare("SELECT q.5e FROM (SELECT i AS 5e FROM r) q WHERE 5e > 1e0", CATALOG).upper is None


def test_words_name_columns_where_nothing_follows_that_they_begin() -> None:
    words = "case any all values distinct cross for into qualify asof xor isnull"
    named = ", ".join(f"i AS {word}" for word in words.split())
    sql = f"SELECT {', '.join(words.split())}, q.case, any + 1 AS z FROM (SELECT {named} FROM r) q WHERE case > 1"
    assert prepare(sql, CATALOG)
    assert prepare("SELECT CASE WHEN b THEN i END AS x FROM r WINDOW WHERE s LIKE ANY ('a')", CATALOG)


@pytest.mark.parametrize(
    "sql",
    [
        *("SELECT DISTINCT desc FROM q", "SELECT DISTINCT desc AS d FROM q", "SELECT ALL desc FROM q"),
        *("SELECT count(DISTINCT desc) FROM q", "SELECT listagg(DISTINCT desc, ',') FROM q"),
        *("SELECT CASE desc WHEN 'a' THEN 1 END FROM q", "SELECT CASE asc || 'x' WHEN 'a' THEN 1 END FROM q"),
        *("SELECT CASE end WHEN 'a' THEN 1 END FROM q", "SELECT CASE div(i, 2) WHEN 1 THEN 1 END FROM q"),
        "SELECT * FROM (SELECT i, desc FROM q) PIVOT (sum(i) FOR desc IN ('a', 'b'))",
        "SELECT i FROM q QUALIFY desc = 'a' AND row_number() OVER (ORDER BY i) = 1",
        "SELECT sum(i) OVER desc FROM q WINDOW desc AS (ORDER BY i)",
        "SELECT * FROM (SELECT 1 AS a, 2 AS b) UNPIVOT (v FOR desc IN (a, b))",
        *(
            "SELECT DISTINCT div(i, 2) FROM q",
            "SELECT DISTINCT and(b, b) FROM q",
            "SELECT ALL div(i, 2) FROM q",
        ),
        *("SELECT count(DISTINCT .5) FROM q", "SELECT sum(DISTINCT .5 * i) FROM q", "VALUES .5, .6"),
    ],
)
def test_words_stand_before_columns_called_as_what_would_go_on_behind_a_name(sql: str) -> None:
    named = "WITH q AS (SELECT i, b, s AS desc, s AS asc, s AS end FROM r)"
    assert prepare(f"{named} {sql}" if "q" in sql else sql, CATALOG)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT i FROM q ORDER BY case DESC, window ASC, any DESC NULLS LAST",
        "SELECT sum(i) OVER (ORDER BY case DESC ROWS UNBOUNDED PRECEDING) FROM q",
        "SELECT case DIV 2, distinct DIV 2 AS x, q.window DIV 2 FROM q WHERE NOT qualify AND (b) AND window > 1",
        "SELECT i FROM q WHERE (qualify OR b) AND window DIV (2) = 1 ORDER BY distinct DESC",
    ],
)
def test_and_are_names_where_that_does_go_on(sql: str) -> None:
    names = "i AS case, i AS window, i AS any, i AS distinct, b AS qualify"
    assert prepare(f"WITH q AS (SELECT i, b, {names} FROM r) {sql}", CATALOG)


def test_what_is_no_sql_at_all_is_told_how_sql_begins() -> None:
    with pytest.raises(QueryError, match='syntax error at "foo"') as refused:
        parse_statement("foo: bar {x}")
    assert refused.value.hint == "a query begins with SELECT, WITH, FROM or VALUES"


def test_a_parser_that_cannot_be_extended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As sqlglot's is where `sqlglotc` is installed beside it: no statement is to blame."""

    def compiled(_: object, **__: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(grammar.SparkGrammar, "__init__", compiled)
    with pytest.raises(UsageError, match="pip uninstall sqlglotc"):
        parse_statement("SELECT 1")
