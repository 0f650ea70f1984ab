"""Pipes are planned as the SELECT that they mean; those that mean none are Spark's."""

from __future__ import annotations

import pytest
from hard_rows import CATALOG
from planner_fakes import refused_at

from fff.errors import QueryError
from fff.sql import prepare
from fff.sql.syntax.shorthands import without_shorthands


@pytest.mark.parametrize(
    ("pipes", "select"),
    [
        ("FROM r |> WHERE i > 1 |> WHERE b |> LIMIT 2", "SELECT * FROM r WHERE (i > 1) AND (b) LIMIT 2"),
        ("FROM r |> JOIN u USING (i) |> SELECT DISTINCT l", "SELECT DISTINCT l FROM r JOIN u USING (i)"),
        ("FROM r |> AS q |> WHERE q.b |> SELECT q.i", "SELECT q.i FROM r AS q WHERE (q.b)"),
        (
            "FROM r |> WHERE b |> JOIN u ON r.i = u.i |> SELECT r.l",
            "SELECT r.l FROM (SELECT * FROM r WHERE (b)) AS r JOIN u ON r.i = u.i",
        ),
        (
            "FROM r |> SELECT i AS x |> WHERE x > 1 |> LIMIT 5 |> LIMIT 2",
            "SELECT * FROM (SELECT * FROM (SELECT i AS x FROM r) WHERE (x > 1) LIMIT 5) LIMIT 2",
        ),
        ("SELECT i FROM r |> OFFSET 2", "SELECT * FROM (SELECT i FROM r) OFFSET 2"),
        (
            "FROM r |> AGGREGATE max(i) AS m GROUP BY b, s |> ORDER BY m",
            "SELECT * FROM (SELECT b, s, max(i) AS m FROM r GROUP BY b, s) ORDER BY m",
        ),
    ],
)
def test_pipes_mean_a_select(pipes: str, select: str) -> None:
    found, expected = prepare(pipes, CATALOG), prepare(select, CATALOG)
    assert [one.plan for one in found.blocks] == [one.plan for one in expected.blocks]
    assert (found.upper is None) == (expected.upper is None)
    assert found.ordered == expected.ordered
    assert found.sql == pipes


@pytest.mark.parametrize(
    "pipes",
    [
        "FROM r |> SELECT count(*)",  # which Spark refuses, as it does the next
        "FROM r |> AGGREGATE count(*) GROUP BY 1",  # the first column of r
        "FROM r |> ORDER BY i |> SELECT l",
        "FROM r, u |> LIMIT 3 |> WHERE r.i = u.i",
        "FROM r |> SET i = i + 1",
        "FROM r |> TABLESAMPLE (10 PERCENT)",
        "FROM r |> SELECT i |> WHERE r.l = 1",  # refused, but `SELECT i |> WHERE r.i = 1` is not
        "FROM r |> SELECT r.i, r.l |> JOIN u AS r ON true |> WHERE r.l = 1",
        "FROM r |> SELECT i AS x |> SET x = x + 1, x = 2",
    ],
)
def test_what_is_not_certain_is_left_to_spark(pipes: str) -> None:
    upper = prepare(pipes, CATALOG).upper
    assert upper is not None
    assert "|>" in upper.sql


def test_errors_underline_the_pipes() -> None:
    sql = "TABLE r |> WHERE b |> SELECT 1 / i AS x"
    result = prepare(sql, CATALOG).result
    assert result is not None
    [place] = result.branches[0].places
    assert sql[place.start : place.end].startswith("1 / i")
    for sql in ("FROM r |> |> WHERE", "FROM r |> WHERE b) UNION SELECT 1"):
        with pytest.raises(QueryError):
            prepare(sql, CATALOG)


@pytest.mark.parametrize(
    ("operator", "instead"),
    [
        ("LATERAL VIEW explode(a) e AS x", "JOIN LATERAL"),
        ("HAVING i > 1", "WHERE"),
        ("GROUP BY i", "AGGREGATE"),
    ],
)
def test_what_no_pipe_is_written_with_is_told_with_what_is(operator: str, instead: str) -> None:
    with pytest.raises(QueryError) as refused:
        prepare(f"FROM r |> {operator}", CATALOG)
    assert f"|> {instead}" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("bare", "piped"),
    [
        ("SELECT i UNION ALL SELECT 1", "SELECT i |> UNION ALL (SELECT 1)"),
        (
            "SELECT i UNION SELECT 9 INTERSECT SELECT 9 EXCEPT SELECT 7",
            "SELECT i |> UNION (SELECT 9 INTERSECT SELECT 9) |> EXCEPT (SELECT 7)",
        ),
        ("SELECT * EXCEPT (i) EXCEPT (SELECT 1)", "SELECT * EXCEPT (i) |> EXCEPT ((SELECT 1))"),
        (
            "JOIN (FROM u |> SELECT i EXCEPT SELECT 1) q USING (i) |> WHERE b",
            "JOIN (FROM u |> SELECT i |> EXCEPT (SELECT 1)) q USING (i) |> WHERE b",
        ),
    ],
)
def test_sets_need_no_pipe_behind_one(bare: str, piped: str) -> None:
    assert without_shorthands(f"FROM r |> {bare}").sql == f"FROM r |> {piped}"


@pytest.mark.parametrize(
    ("pipes", "name"),
    [
        ("FROM r |> SELECT i |> WHERE l > 1", "l > 1"),
        ("FROM r |> WHERE nope = 1", "nope = 1"),
        ("FROM r |> AGGREGATE sum(nope) GROUP BY b", "nope)"),
        ("FROM r |> DROP nope |> LIMIT 1", "nope |>"),
        ("FROM r |> WHERE r.nope = 1", "nope = 1"),
        ("FROM r |> SELECT i |> JOIN u ON u.nope = i", "nope = i"),
        ("FROM r |> SET i = coalesce(l, 1), nope = 1 |> SELECT i", "nope = 1"),
        ("SELECT i FROM r |> WHERE i > 1 |> SET l = 2", "l = 2"),
    ],
)
def test_a_column_that_nothing_has_is_told_where_it_stands(pipes: str, name: str) -> None:
    with pytest.raises(QueryError, match="unknown column") as refused:
        prepare(pipes, CATALOG)
    assert refused.value.sql == pipes
    assert refused.value.span is not None
    assert refused.value.span.start == pipes.index(name)


def test_a_qualifier_that_nothing_has_is_told_where_it_stands() -> None:
    assert refused_at("FROM r |> AS q |> WHERE q.i = zzz.i", "zzz", CATALOG) == "unknown table or alias zzz"


@pytest.mark.parametrize(
    "pipes",
    [
        "FROM r |> EXTEND 1 AS x |> WHERE r.x = 1",
        "FROM r |> SELECT i AS x |> SELECT r.x",
        "FROM r |> AGGREGATE sum(i) AS x GROUP BY b |> SELECT r.x",
    ],
)
def test_what_a_pipe_makes_is_not_of_the_table(pipes: str) -> None:
    assert refused_at(pipes, "r", CATALOG) == "unknown table or alias r"


def test_a_pattern_that_is_none_is_told_where_it_stands() -> None:
    assert "a bracket is not closed" in refused_at("FROM r |> WHERE s RLIKE '(a'", "'(a'", CATALOG)


def test_what_is_named_as_the_table_is_taken() -> None:
    assert prepare("FROM r |> EXTEND 1 AS x |> AS r |> WHERE r.x = 1", CATALOG)
    assert prepare("FROM r |> EXTEND named_struct('x', 1) AS r, 2 AS x |> WHERE r.x = 1", CATALOG)
