"""Conditions have the moment of their running: rows are dropped by it, and no Spark is needed."""

from __future__ import annotations

import datetime as dt

import planner_fakes
import pytest
from hard_rows import CATALOG

from fff.errors import QueryError
from fff.sql import prepare
from fff.sql.scalars.clock import at_moment

NOW = dt.datetime(2026, 11, 24, 2, 3, 4, 500, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("where", "there"),
    [
        ("dt > current_date() - INTERVAL 7 DAYS", "dt > DATE '2026-11-24' - INTERVAL 7 DAYS"),
        ("dt > CURRENT_DATE", "dt > DATE '2026-11-24'"),
        ("year(curdate ( )) = 2026", "year(DATE '2026-11-24') = 2026"),
        ("extract(YEAR FROM now()) > 1", "extract(YEAR FROM TIMESTAMP '2026-11-24 02:03:04.0005') > 1"),
        ("tn < localtimestamp()", "tn < TIMESTAMP_NTZ '2026-11-24 02:03:04.0005'"),
        ("i IN (SELECT i FROM u WHERE t < current_timestamp)", "i IN (SELECT i FROM u WHERE t < TIMESTAMP '2026-11-24 02:03:04.0005')"),
    ],
)  # fmt: skip
def test_a_condition_has_a_constant(where: str, there: str) -> None:
    text = at_moment(f"SELECT i FROM r WHERE {where}", NOW, set)
    assert text is not None
    assert text.text.sql == f"SELECT i FROM r WHERE {there}"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now(), current_timestamp() FROM r",  # of which a name has which, is not known
        "SELECT dt - DATE '2026-11-24', current_date() FROM r",
        "SELECT i FROM r WHERE dt < current_date() GROUP BY i HAVING max(dt) < now()",
        "SELECT i FROM r WHERE r.now < 1",
        "SELECT i FROM r WHERE day < current_day",
        "SELECT i FROM r ORDER BY dt - current_date()",
        "SELECT i FROM r WHERE s = 'now()' OR `current_date` = 3",
        "SELECT i FROM r WHERE now(3) < 1",
    ],
)
def test_whatever_else_is_left_as_it_is(sql: str) -> None:
    assert at_moment(sql, NOW, set) is None


def test_a_column_may_be_called_so() -> None:
    assert at_moment("SELECT i FROM r WHERE current_date > 3", NOW, lambda: {"current_date"}) is None


def test_nor_is_the_call_of_the_function_such_a_column() -> None:
    assert at_moment("SELECT i FROM r WHERE dt > current_date()", NOW, lambda: {"current_date"}) is not None


CLOCKS = planner_fakes.catalog(
    planner_fakes.table("w.c", "i int, current_date int, CURRENT_USER string", scans=1)
)


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT current_date FROM c", ["current_date"]),
        ("SELECT i FROM c WHERE current_date = 1", ["i", "current_date"]),
        ("SELECT max(i) FROM c WHERE Current_Date + 1 > 1", ["i", "current_date"]),
        ("SELECT current_user FROM c", ["CURRENT_USER"]),
        ("SELECT i FROM c WHERE current_timestamp > TIMESTAMP '2000-01-01'", ["i"]),
        ("SELECT i FROM (SELECT i FROM c) q WHERE current_date > DATE '2000-01-01'", ["i"]),
    ],
)
def test_a_bare_word_is_the_column_where_one_is_in_reach(sql: str, read: list[str]) -> None:
    [table] = prepare(sql, CLOCKS).blocks[0].plan.tables
    assert sorted(column.name for column in table.columns) == sorted(read)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT current_date FROM (SELECT 1 AS current_date) q", ["current_date"]),
        ("SELECT current_date + 1 FROM (SELECT i AS current_date FROM r) q", ["(current_date + 1)"]),
        ("SELECT current_date AS current_date FROM r", ["current_date"]),
        ("WITH q AS (SELECT current_date AS current_date) SELECT q.current_date FROM q", ["current_date"]),
        ("WITH q AS (SELECT current_date AS current_date) SELECT current_date FROM q", ["current_date"]),
        ("SELECT q.`current_timestamp` FROM (SELECT now() AS current_timestamp) q", ["current_timestamp"]),
        ("SELECT i FROM r JOIN (SELECT current_date AS current_date) q ON q.current_date > dt", ["i"]),
    ],
)
def test_so_it_is_of_a_query_that_gives_one_that_name(sql: str, names: list[str]) -> None:
    prepared = prepare(sql, CATALOG)
    assert (prepared.upper, prepared.sql) == (None, sql)
    assert prepared.result is not None
    assert [field.name for field in prepared.result.fields] == names


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT date_sub(current_date, 1) AS current_date FROM r WHERE dt >= current_date",
        "SELECT dt AS current_date FROM r WHERE dt <= current_date",
        "SELECT max(dt) AS current_date FROM r WHERE dt <= current_date",
        "SELECT q.current_date FROM (SELECT dt AS current_date FROM r WHERE dt <= current_date) q",
    ],
)
def test_conditions_have_the_moment_beside_an_alias_of_that_name(sql: str) -> None:
    [predicate] = prepare(sql, CATALOG).blocks[0].plan.predicates
    assert "DATE '" in predicate.text


@pytest.mark.parametrize("name", ["current_user", "session_user"])
def test_other_words_of_the_session_are_sparks_and_their_columns_are_read(name: str) -> None:
    assert prepare(f"WITH q AS (SELECT {name} AS {name}) SELECT q.{name} FROM q", CATALOG).upper is not None


def test_beside_an_alias_of_its_own_select_the_word_is_sparks() -> None:
    assert prepare("SELECT 1 AS current_date, current_date AS y FROM r", CATALOG).upper is not None


def test_no_spark_is_needed_for_it() -> None:
    sql = "SELECT i FROM r WHERE dt > current_date() - INTERVAL 1 DAY AND 1 / i > 0"
    prepared = prepare(sql, CATALOG)
    assert (prepared.upper, prepared.sql) == (None, sql)
    with pytest.raises(QueryError) as refused:
        prepare("SELECT i FROM r WHERE dt > current_date() AND nothing = 1", CATALOG)
    assert refused.value.render().splitlines()[1:3] == [
        "  1 | SELECT i FROM r WHERE dt > current_date() AND nothing = 1",
        "                                                    ^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("current_date()", "current_date()"),
        ("curdate() AS today", "today"),
        ("current_date - 7", "date_sub(current_date(), 7)"),
        ("datediff(CURRENT_DATE, dt)", "datediff(current_date(), dt)"),
        ("now()", "now()"),
        ("year(now()) + i", "(year(now()) + i)"),
        ("localtimestamp()", "localtimestamp()"),
    ],
)
def test_select_lists_have_it_and_columns_the_name_of_the_function(item: str, name: str) -> None:
    for sql in (
        f"SELECT {item}, i FROM r WHERE dt <= current_date()",
        f"SELECT * FROM (SELECT {item}, i FROM r) q",
        f"SELECT {item}, i FROM r UNION ALL SELECT {item}, i FROM r",
    ):
        prepared = prepare(sql, CATALOG)
        assert prepared.result is not None
        assert [field.name for field in prepared.result.fields] == [name, "i"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(dt) < current_date() AS old FROM r",
        "SELECT now(), xpath(s, 'a') FROM r WHERE dt < current_date()",
        "SELECT i FROM r WHERE dt < (SELECT max(current_date()) FROM r)",
    ],
)
def test_where_spark_runs_a_statement_the_moment_is_sparks_in_all_of_it(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.upper is not None
    told = prepared.upper.sql + "".join(one.text for block in prepared.blocks for one in block.conjuncts)
    assert "DATE '" not in told


def test_what_is_wrong_beside_it_is_underlined_where_it_stands() -> None:
    with pytest.raises(QueryError) as refused:
        prepare("SELECT current_date(), nothing FROM r", CATALOG)
    assert refused.value.render().splitlines()[1:3] == [
        "  1 | SELECT current_date(), nothing FROM r",
        "                             ^^^^^^^",
    ]
