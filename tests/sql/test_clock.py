"""Conditions have the moment of their running: rows are dropped by it, and no Spark is needed."""

from __future__ import annotations

import datetime as dt

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
        ("extract(YEAR FROM now()) > 1", "extract(YEAR FROM TIMESTAMP '2026-11-24 02:03:04.000500') > 1"),
        ("tn < localtimestamp()", "tn < TIMESTAMP_NTZ '2026-11-24 02:03:04.000500'"),
        ("i IN (SELECT i FROM u WHERE t < current_timestamp)", "i IN (SELECT i FROM u WHERE t < TIMESTAMP '2026-11-24 02:03:04.000500')"),
    ],
)  # fmt: skip
def test_a_condition_has_a_constant(where: str, there: str) -> None:
    text = at_moment(f"SELECT i FROM r WHERE {where}", NOW, set)
    assert text is not None
    assert text.sql == f"SELECT i FROM r WHERE {there}"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now() FROM r WHERE dt < current_date()",  # one moment for all of it, and the name is Spark's
        "SELECT i FROM r WHERE dt < current_date() GROUP BY i HAVING max(dt) < now()",
        "SELECT i FROM r WHERE r.now < 1",
        "SELECT i FROM r WHERE day < current_day",
        "SELECT i FROM r WHERE i = (SELECT max(now()) FROM u)",
        "SELECT i FROM r WHERE s = 'now()' OR `current_date` = 3",
        "SELECT i FROM r WHERE now(3) < 1",
    ],
)
def test_whatever_else_is_left_as_it_is(sql: str) -> None:
    assert at_moment(sql, NOW, set) is None


def test_a_column_may_be_called_so() -> None:
    assert at_moment("SELECT i FROM r WHERE current_date > 3", NOW, lambda: {"current_date"}) is None


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
