"""Calls for the rows that everything else has left: how often functions are called for select lists, OR, CASE, computed arguments, LIMIT."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fff
from fff.api import Connection
from fff.spark.session import SparkEngine
from tests.engine.site import Site, access
from tests.functions.papers import PAPERS, TYPES, VENUES, Calls, is_even, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def federation(publish: Callable[..., Path]) -> Iterator[Connection]:
    site = Site({"papers": (tuple(TYPES), list(PAPERS)), "venues": (("venue", "grade"), list(VENUES))})
    venues = access("venues", {"venue": "string", "grade": "string"}, lookups=["venue"])
    spec = publish(site, {"papers": access("papers", TYPES), "venues": venues})
    with fff.connect(spec, seed=3, cache=False) as connection:
        yield connection


def register(federation: Connection, name: str, run: Callable[..., Any], returns: str) -> Calls:
    calls = Calls(run)
    federation.register(name, calls, arguments={"abstract": "string"}, returns=returns)
    return calls


def called(test: Callable[..., bool]) -> set[tuple[Any, ...]]:
    """The abstracts of some papers."""
    return {(row[2],) for row in PAPERS if row[2] is not None and test(*row)}


#: A condition in which `even` and `letters` are called, and the rows that each must be called for.
CASES: list[tuple[str, Callable[..., bool], Callable[..., bool]]] = [
    ("SELECT id, even(abstract), letters(abstract) FROM papers WHERE year > 2013", *[lambda _i, _t, _a, y, _v: y > 2013] * 2),
    ("SELECT id, letters(abstract) FROM papers WHERE title LIKE '%3' AND even(abstract)", lambda _i, t, _a, _y, _v: t.endswith("3"), lambda _i, t, a, _y, _v: t.endswith("3") and is_even(a)),
    ("SELECT id, letters(abstract) s FROM papers ORDER BY id LIMIT 2", lambda *_: False, lambda i, *_: i < 2),
    ("SELECT p.id, letters(p.abstract) s FROM papers p JOIN venues v ON p.venue = v.venue WHERE v.grade = 'A'", lambda *_: False, lambda _i, _t, _a, _y, v: v == "v0"),
    ("SELECT id FROM papers WHERE even(abstract) OR id < 5", lambda i, *_: i >= 5, lambda *_: False),
    ("SELECT CASE WHEN year > 2013 THEN letters(abstract) END c FROM papers", lambda *_: False, lambda _i, _t, _a, y, _v: y > 2013),
    ("SELECT CASE WHEN year > 2013 THEN 0 WHEN (id < 5) THEN 1 ELSE 1 + letters(abstract) END c FROM papers", lambda *_: False, lambda i, _t, _a, y, _v: y <= 2013 and i >= 5),
    ("SELECT CASE WHEN year > 2013 THEN CASE WHEN id < 9 THEN 0 ELSE letters(abstract) END ELSE 1 END c FROM papers", lambda *_: False, lambda i, *_: i >= 9),
    ("SELECT CASE WHEN year = 2013 THEN 0 WHEN 10 / (year - 2013) > 2 THEN letters(abstract) END c FROM papers", lambda *_: False, lambda _i, _t, _a, y, _v: y != 2013 and 10 / (y - 2013) > 2),
    ("SELECT CASE WHEN year = 2013 THEN 0 WHEN 10 / (year - 2013) > 2 THEN 1 ELSE letters(abstract) END c FROM papers", lambda *_: False, lambda _i, _t, _a, y, _v: y != 2013 and 10 / (y - 2013) <= 2),
    ("SELECT if(year > 2013, 0, letters(abstract)) c, if(id < 5, even(abstract), true) e FROM papers", lambda i, *_: i < 5, lambda _i, _t, _a, y, _v: y <= 2013),
    ("SELECT id FROM papers WHERE title LIKE '%3' OR even(abstract)", lambda _i, t, *_: not t.endswith("3"), lambda *_: False),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)))
def test_called_once_for_the_rows_that_are_left(federation: Connection, number: int) -> None:
    sql, for_even, for_size = CASES[number]
    even, size = register(federation, "even", is_even, "boolean"), register(federation, "letters", len, "int")
    federation.sql(sql)
    assert even.counts == dict.fromkeys(called(for_even) if "even(" in sql else (), 1)
    assert size.counts == dict.fromkeys(called(for_size), 1)


@pytest.mark.parametrize("seed", range(4))
def test_of_two_conditions_one_is_called_for_what_the_other_has_left(
    federation: Connection, seed: int
) -> None:
    even, size = register(federation, "even", is_even, "boolean"), register(federation, "letters", len, "int")
    sql = "SELECT id FROM papers WHERE title LIKE '%3' AND even(abstract) AND letters(abstract) = 2"
    assert rows(federation, sql, seed=seed) == []
    assert even.seen == [("a3",)]
    assert size.seen in ([], [("a3",)])  # nothing tells yet which of them is to be called first
    even.seen.clear()
    size.seen.clear()
    assert rows(federation, sql, seed=seed) == []
    assert (even.seen, size.seen) == ([("a3",)], [])


@pytest.mark.slow
def test_nulls_and_names(federation: Connection) -> None:
    size = register(federation, "letters", len, "int")
    result = federation.sql("SELECT id, letters( upper(abstract) ), letters(abstract) AS s FROM papers")
    table = result.to_arrow()
    assert table.column_names == ["id", "letters( upper(abstract) )", "s"]
    wanted = [(i, *[None if a is None else len(a)] * 2) for i, _, a, *_ in PAPERS]
    assert sorted(zip(*(one.to_pylist() for one in table.columns), strict=True)) == wanted
    assert set(size.counts.values()) == {1}


#: Statements that need no Spark, and the columns of their results.
ENGINES: dict[str, list[str]] = {
    "SELECT id, letters(abstract) FROM papers": ["id", "letters(abstract)"],
    "SELECT *, letters(lower(abstract)) + 1 AS s FROM papers WHERE even(abstract)": [*sorted(TYPES), "s"],
    "SELECT p.* EXCEPT (year), letters(abstract) AS s FROM papers p": [*sorted({*TYPES} - {"year"}), "s"],
    "SELECT DISTINCT letters(abstract) AS s FROM papers": ["s"],
    "SELECT id FROM papers WHERE letters(abstract) IS NULL OR even(abstract)": ["id"],
    "SELECT id FROM papers WHERE title LIKE '%3' OR even(abstract)": ["id"],
    "SELECT id, CASE WHEN year > 2013 THEN letters(abstract) ELSE 0 END AS s FROM papers": ["id", "s"],
    "SELECT id, if(year > 2013, letters(abstract), 0) AS s FROM papers": ["id", "s"],
    "SELECT *, CASE WHEN year > 2013 THEN 0 ELSE letters(abstract) END s FROM papers": [*sorted(TYPES), "s"],
    "SELECT id FROM papers WHERE year > 2013 AND (id < 7 OR even(abstract) OR letters(title) = 2)": ["id"],
    "SELECT id FROM papers WHERE CASE WHEN year > 2013 THEN even(abstract) ELSE id < 3 END": ["id"],
    "SELECT p.id FROM papers p JOIN venues v ON p.venue = v.venue WHERE v.grade = 'A' OR even(p.abstract)": [
        "id"
    ],
    "SELECT id, letters(coalesce(abstract, title)) AS s FROM papers": ["id", "s"],
    "SELECT p.id, letters(v.grade) AS s FROM papers p LEFT JOIN venues v ON p.venue = v.venue": ["id", "s"],
    "SELECT s FROM (SELECT letters(abstract) AS s, id FROM papers) p WHERE id > 2": ["s"],
    "SELECT letters(abstract) AS s FROM papers UNION ALL SELECT id FROM papers": ["s"],
    "SELECT p.id, letters(p.abstract) s FROM papers p JOIN venues v ON p.venue = v.venue LIMIT 3": [
        "id",
        "s",
    ],
}


def test_no_spark_is_needed_for_calls(federation: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkEngine, "start", lambda *_: pytest.fail("a JVM was started"))
    even, size = register(federation, "even", is_even, "boolean"), register(federation, "letters", len, "int")
    for sql, names in ENGINES.items():
        even.seen.clear()
        size.seen.clear()
        result = federation.sql(sql)
        assert (result.to_arrow().column_names, result.report["spark"]["used"]) == (names, False), sql
        assert {*even.counts.values(), *size.counts.values()} <= {1}, sql


@pytest.mark.slow
def test_rows_with_calls_are_those_that_spark_makes(federation: Connection) -> None:
    register(federation, "even", is_even, "boolean")
    register(federation, "letters", len, "int")
    for sql, names in ENGINES.items():
        got = collections.Counter(map(tuple, federation.sql(sql)))
        limited = sql.endswith(" LIMIT 3")
        beside = federation.sql(f"SELECT *, count(*) OVER () AS n FROM ({sql.removesuffix(' LIMIT 3')})")
        assert beside.report["spark"]["used"]
        assert beside.to_arrow().column_names[:-1] == names
        expected = collections.Counter(tuple(row)[:-1] for row in beside)
        assert got <= expected if limited else got == expected, sql
        assert got.total() == (3 if limited else expected.total())


@pytest.mark.slow
def test_a_row_whose_value_is_missing_is_left_out_of_a_partial_result(federation: Connection) -> None:
    def run(abstract: str) -> int:
        if abstract == "a3":
            raise ValueError("no idea")
        return len(abstract)

    register(federation, "letters", run, "int")
    sql = "SELECT id, letters(abstract) AS s FROM papers WHERE abstract >= 'a3'"
    result = federation.sql(sql, on_source_error="partial")
    assert not result.complete
    assert [one.predicate for one in result.missing] == ["abstract = 'a3'"]
    wanted = [(i, 2) for i, _, a, *_ in PAPERS if a is not None and a > "a3"]
    assert sorted(zip(*(one.to_pylist() for one in result.to_arrow().columns), strict=True)) == wanted


@pytest.mark.slow
def test_one_statement_asks_once_wherever_the_calls_stand(federation: Connection) -> None:
    even = register(federation, "even", is_even, "boolean")
    sql = (
        "SELECT id FROM papers WHERE even(abstract) AND year > 2012 UNION ALL "
        "SELECT count(*) FROM papers WHERE NOT even(abstract) OR year = 2010"
    )
    found = rows(federation, sql)
    first = [(i,) for i, _, a, y, _ in PAPERS if a is not None and is_even(a) and y > 2012]
    second = sum((a is not None and not is_even(a)) or y == 2010 for _, _, a, y, _ in PAPERS)
    assert sorted(found) == sorted([*first, (second,)])
    assert set(even.counts.values()) == {1}
