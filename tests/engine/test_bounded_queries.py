"""LIMIT bounds requests wherever it stands: in FROM, WITH, IN, EXISTS, UNION ALL, over LEFT JOIN; and the answer is one of Spark's."""

from __future__ import annotations

from pathlib import Path

import pytest

from fff.sql import explain
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, federated, run
from tests.sampling import every_row
from tests.web.serving import Serve

TYPES = {"id": "int", "x": "int", "s": "string"}
PAPERS: list[Row] = [(number, number // 2, f"s{number % 3}") for number in range(100)]
FACTS = {"id": "int", "fact": "string"}

#: A statement, the pages of `papers` it reads, and what its rows must be where that is certain.
STATEMENTS: list[tuple[str, int, list[Row] | None]] = [
    ("SELECT count(*) FROM (SELECT id FROM papers LIMIT 30)", 3, [(30,)]),
    ("SELECT count(*) FROM (SELECT id FROM papers LIMIT 30 OFFSET 5)", 4, [(30,)]),
    ("SELECT count(*) FROM (SELECT * FROM papers LIMIT 1000)", 10, [(100,)]),
    ("SELECT count(*), min(x) FROM (SELECT id, x FROM papers WHERE x >= 20 LIMIT 10)", 5, [(10, 20)]),
    ("SELECT count(*) FROM (SELECT id FROM papers WHERE x >= 20 AND cosh(x) > 0 LIMIT 10)", 10, [(10,)]),
    ("SELECT count(*) FROM (SELECT x FROM papers GROUP BY x LIMIT 5)", 10, [(5,)]),
    ("SELECT count(*) FROM (SELECT DISTINCT s FROM papers LIMIT 2)", 10, [(2,)]),
    ("SELECT count(*) FROM (SELECT id, row_number() OVER (ORDER BY x) FROM papers LIMIT 2)", 10, [(2,)]),
    ("SELECT * FROM (SELECT id FROM papers ORDER BY x DESC, id DESC LIMIT 3) ORDER BY id", 10, [(97,), (98,), (99,)]),
    ("WITH t AS (SELECT id FROM papers LIMIT 10) SELECT count(*) FROM t", 1, [(10,)]),
    ("WITH t AS (SELECT id FROM papers LIMIT 10) SELECT count(fact) FROM t JOIN facts USING (id)", 1, [(10,)]),
    ("WITH t AS (SELECT id FROM papers LIMIT 10) SELECT count(fact) FROM t JOIN known USING (id)", 1, [(10,)]),
    ("WITH t AS (SELECT * FROM papers), u AS (SELECT id FROM t LIMIT 12) SELECT count(*) FROM u", 2, [(12,)]),
    ("SELECT count(*) FROM (SELECT id FROM (SELECT * FROM papers LIMIT 50) LIMIT 7)", 1, [(7,)]),
    ("SELECT count(*) FROM (SELECT id FROM (SELECT * FROM papers LIMIT 7) LIMIT 50)", 1, [(7,)]),
    ("SELECT count(*) FROM (SELECT id FROM (SELECT * FROM papers LIMIT 30) WHERE id >= 0 LIMIT 5)", 3, [(5,)]),
    ("SELECT id FROM (SELECT * FROM papers) LIMIT 5", 1, None),
    ("WITH t AS (SELECT id FROM papers) SELECT id FROM t LIMIT 5", 1, None),
    ("(SELECT id FROM papers) LIMIT 5", 1, None),
    # What looks at no other row, whatever function it is; and what does.
    ("SELECT count(*) FROM (SELECT id, cosh(x), random() AS r, hash(s) FROM papers LIMIT 5)", 1, [(5,)]),
    ("WITH t AS (SELECT id, cosh(x) AS y FROM papers) SELECT * FROM t LIMIT 5", 1, None),
    ("SELECT p.id, EXISTS (SELECT 1 FROM facts f WHERE f.id = p.id) AS e FROM papers p LIMIT 5", 1, None),
    ("SELECT p.id < 50, NOT EXISTS (SELECT 1 FROM known f WHERE f.id = p.id) AS e FROM papers p LIMIT 5", 1, [(True, False)] * 5),
    ("SELECT p.id < 50, EXISTS (SELECT 1 FROM papers f WHERE f.id = p.id + 50) AS e FROM papers p WHERE p.x >= 0 LIMIT 2", range(10, 12), [(True, True)] * 2),
    ("SELECT count(*) FROM known WHERE EXISTS (SELECT cosh(x) FROM papers WHERE x > 7)", 2, [(100,)]),
    # Several who name one query: as many rows as the greediest wants, and the same for all of them.
    ("WITH t AS (SELECT id FROM papers LIMIT 10) SELECT count(*) FROM t a JOIN t b ON a.id = b.id", 1, [(10,)]),
    ("WITH t AS (SELECT id FROM papers) SELECT count(*) FROM (SELECT * FROM t LIMIT 3) a, (SELECT * FROM t LIMIT 15) b", 2, [(45,)]),
    ("WITH t AS (SELECT id FROM papers) SELECT count(*) FROM (SELECT * FROM t LIMIT 3) a, t b", 10, [(300,)]),
    ("SELECT count(*) FROM (SELECT id FROM papers LIMIT 10) a, (SELECT id FROM papers) b", 10, [(1000,)]),
    # Set operations.
    ("SELECT count(*) FROM ((SELECT id FROM papers LIMIT 3) UNION ALL (SELECT id FROM papers LIMIT 4))", 1, [(7,)]),
    ("SELECT count(*) FROM (SELECT id FROM papers UNION ALL SELECT x FROM papers LIMIT 12)", 2, [(12,)]),
    ("SELECT id FROM papers UNION ALL SELECT x FROM papers LIMIT 12", range(1, 3), None),  # the page of one is enough for both
    ("SELECT count(*) FROM (SELECT id FROM papers UNION SELECT x FROM papers LIMIT 12)", 10, [(12,)]),
    ("SELECT count(*) FROM (SELECT id FROM papers EXCEPT SELECT 3 LIMIT 12)", 10, [(12,)]),
    # Subqueries in conditions.
    ("SELECT count(*) FROM facts WHERE id IN (SELECT id FROM papers LIMIT 10)", 1, [(10,)]),
    ("SELECT count(*) FROM known WHERE EXISTS (SELECT * FROM papers WHERE x > 7)", 2, [(100,)]),
    ("SELECT count(*) FROM known WHERE NOT EXISTS (SELECT * FROM papers)", 1, [(0,)]),
    ("SELECT count(*) FROM known k WHERE EXISTS (SELECT * FROM papers p WHERE p.id = k.id LIMIT 1)", 10, [(100,)]),
    # Queries of WITH that nothing reads, but others of them.
    ("WITH u AS (SELECT * FROM facts), v AS (SELECT x FROM papers), w AS (SELECT id FROM known LIMIT 3) SELECT count(*) FROM w", 0, [(3,)]),
    ("WITH u AS (SELECT id, max(fact) FROM facts GROUP BY id), v AS (SELECT u.id, x FROM u JOIN papers USING (id)) SELECT count(*) FROM known", 0, [(100,)]),
    ("WITH t AS (SELECT * FROM papers), u AS (SELECT x, count(*) FROM t a GROUP BY x) SELECT x * 0 FROM t LIMIT 2", 1, [(0,), (0,)]),
    # Joins under a LIMIT.
    ("SELECT count(*) FROM (SELECT p.id FROM papers p RIGHT JOIN known f USING (id) LIMIT 5)", range(1, 4), [(5,)]),
    ("SELECT count(*) FROM (SELECT p.id FROM papers p SEMI JOIN known f USING (id) LIMIT 5)", 1, [(5,)]),
    ("SELECT p.id, (SELECT max(fact) FROM known) AS m FROM papers p LIMIT 5", 1, None),
    ("WITH t AS (SELECT id FROM papers) SELECT * FROM t JOIN facts USING (id) LIMIT 5", range(1, 4), None),
    ("WITH t AS (SELECT id FROM papers LIMIT 3) SELECT * FROM t NATURAL JOIN facts", 1, None),
]  # fmt: skip


def site() -> Site:
    facts: list[Row] = [(number, f"f{number}") for number in range(100)]
    columns = tuple(FACTS)
    return Site({"papers": (tuple(TYPES), PAPERS), "facts": (columns, facts), "known": (columns, facts)})


TABLES = {
    "papers": access("papers", TYPES),
    "facts": access("facts", FACTS, scan=False, lookups=["id"]),
    "known": access("known", FACTS),
}


@pytest.mark.parametrize(("sql", "pages", "rows"), every_row(3, STATEMENTS))
async def test_pages_that_are_read(
    serve: Serve, tmp_path: Path, sql: str, pages: int | range, rows: list[Row] | None
) -> None:
    """So many, or one of those where it depends on which of two tables answers first."""
    one = site()
    async with federated(serve, one, tmp_path, TABLES) as (federation, _):
        over_duck(federation)
        found, execution = await run(federation, sql)
        assert execution.outcome.complete
        assert execution.outcome.report["complete"] is True
    assert one.scans["papers"] in (pages if isinstance(pages, range) else [pages])
    if rows is not None:
        assert found == rows


async def test_a_session_keeps_no_part_for_the_whole(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(), tmp_path, TABLES, keep=True) as (federation, _):
        over_duck(federation)
        assert (await run(federation, "SELECT count(*) FROM (SELECT id FROM papers LIMIT 3)"))[0] == [(3,)]
        assert (await run(federation, "SELECT count(*) FROM papers"))[0] == [(100,)]


@pytest.mark.parametrize(
    ("sql", "pages"),
    [
        ("SELECT sum(x) FROM (SELECT x FROM papers ORDER BY x NULLS LAST LIMIT 4)", 1),
        ("WITH t AS (SELECT id, x FROM papers ORDER BY x NULLS LAST LIMIT 9) SELECT sum(x) FROM t JOIN facts USING (id)", 2),
        ("SELECT sum(x) FROM (SELECT x FROM papers WHERE x > 20 ORDER BY x LIMIT 4)", 5),
        ("SELECT sum(x) FROM (SELECT x FROM papers WHERE x > 0 ORDER BY x DESC LIMIT 4)", 10),
    ],
)  # fmt: skip
async def test_an_order_that_the_source_keeps(serve: Serve, tmp_path: Path, sql: str, pages: int) -> None:
    answers = []
    for order in ([], ["x"]):
        one = site()
        tables = TABLES | {"papers": TABLES["papers"] | ({"order": order} if order else {})}
        async with federated(serve, one, tmp_path, tables) as (federation, _):
            over_duck(federation)
            found, execution = await run(federation, sql)
            assert execution.outcome.complete
            answers.append(found)
    assert one.scans["papers"] == pages
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT p.id FROM papers p JOIN facts f ON f.id = p.id LIMIT 15",
        "SELECT p.id FROM papers p LEFT JOIN facts f ON f.id = p.id LIMIT 15",
        "SELECT p.id FROM papers p LEFT JOIN facts f USING (id) WHERE f.fact > 'f' LIMIT 15",
        "SELECT p.id FROM papers p SEMI JOIN facts f ON f.id = p.id WHERE p.x > 4 LIMIT 15",
    ],
)
async def test_a_join_under_a_limit_ends_as_the_outermost_one_does(
    serve: Serve, tmp_path: Path, inner: str
) -> None:
    one = site()
    async with federated(serve, one, tmp_path, TABLES) as (federation, _):
        over_duck(federation)
        found, execution = await run(federation, f"SELECT count(*) FROM ({inner})")
        assert execution.outcome.complete
    assert found == [(15,)]
    assert (
        one.scans["papers"] < 10
    )  # pages are read while lookups are under way, so how many is a matter of time


async def test_explain_says_so(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        text = explain(federation.prepare(STATEMENTS[0][0]))
    assert "stops after 30 rows" in text
