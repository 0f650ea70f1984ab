"""Left, semi and anti joins run in the eddy: no Spark, as few requests as their rows need, and no absence without proof."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fff.federation import Federation
from fff.sql import explain
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, federated, run
from tests.sampling import every_row
from tests.web.serving import Serve

#: 40 pages; `x` is NULL now and then, and half of the others are no key of `s`.
R: list[Row] = [(number, None if number % 7 == 3 else number % 20, number % 5) for number in range(400)]
S: list[Row] = [(number, number % 3, f"s{number}") for number in range(10)]
T: list[Row] = [(number % 2, f"t{number}") for number in range(4)]
TABLES = {
    "r": access("r", {"id": "int", "x": "int", "v": "int"}),
    "s": access("s", {"x": "int", "n": "int", "w": "string"}, scan=False, lookups=["x"]),
    "t": access("t", {"n": "int", "u": "string"}, scan=False, lookups=["n"]),
    "q": access("q", {"x": "int", "n": "int", "w": "string"}),
}


@contextlib.asynccontextmanager
async def sparkless(serve: Serve, folder: Path) -> AsyncIterator[tuple[Federation, Site]]:
    """The tables; whoever starts Spark fails."""
    site = Site(
        {
            "r": (("id", "x", "v"), R),
            "s": (("x", "n", "w"), S),
            "t": (("n", "u"), T),
            "q": (("x", "n", "w"), S),
        }
    )
    async with federated(serve, site, folder, TABLES) as (one, _):

        def refuse(*_: object) -> None:
            raise AssertionError("Spark is started")

        one._start_spark = refuse  # type: ignore[method-assign,assignment]
        yield one, site


KEYS = {x for _, x, _ in R if x is not None}
W = {x: w for x, _, w in S}
N = {x: n for x, n, _ in S}
US = {n: [u for m, u in T if m == n] for n in range(3)}


@pytest.mark.parametrize(
    ("sql", "expected", "keys"),
    every_row(4, [
        ("SELECT id, w FROM r LEFT JOIN s ON r.x = s.x", [(i, W.get(x)) for i, x, _ in R], len(KEYS)),
        (
            "SELECT id, w FROM r LEFT OUTER JOIN s ON r.x = s.x AND r.v = 1 AND s.n > 0",
            [(i, W[x] if v == 1 and x in W and N[x] > 0 else None) for i, x, v in R],
            len({x for _, x, v in R if v == 1 and x is not None}),
        ),
        ("SELECT id FROM r LEFT JOIN s USING (x) WHERE w IS NULL", [(i,) for i, x, _ in R if x not in W], len(KEYS)),
        ("SELECT id FROM r LEFT JOIN s ON s.x = r.x WHERE s.n > 1", [(i,) for i, x, _ in R if N.get(x, 0) > 1], len(KEYS)),
        (
            "SELECT id, u FROM r LEFT JOIN s ON s.x = r.x LEFT JOIN t ON t.n = s.n WHERE id < 40",
            [(i, u) for i, x, _ in R[:40] for u in (US.get(N.get(x, 9), []) or [None])],
            len(KEYS) + 3,
        ),
        ("SELECT id FROM r LEFT SEMI JOIN s ON r.x = s.x AND s.n = 2", [(i,) for i, x, _ in R if N.get(x) == 2], len(KEYS)),
        ("SELECT id FROM r LEFT ANTI JOIN s ON r.x = s.x", [(i,) for i, x, _ in R if x not in W], len(KEYS)),
        ("SELECT id FROM r ANTI JOIN q ON r.x = q.x AND q.n < r.v", [(i,) for i, x, v in R if x not in N or N[x] >= v], 0),
        ("SELECT id, w FROM r LEFT JOIN q ON r.x = q.x", [(i, W.get(x)) for i, x, _ in R], 0),
        ("SELECT id FROM r WHERE x IN (SELECT x FROM s WHERE n = 2)", [(i,) for i, x, _ in R if N.get(x) == 2], len(KEYS)),
        ("SELECT id FROM r WHERE v = 1 AND EXISTS (SELECT * FROM s WHERE x = r.x AND n < r.v)", [(i,) for i, x, v in R if v == 1 and N.get(x, 9) < v], len({x for _, x, v in R if v == 1})),
        ("SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.x = r.x)", [(i,) for i, x, _ in R if x not in W], len(KEYS)),
        ("SELECT id FROM r WHERE x NOT IN (SELECT x FROM q WHERE x IS NOT NULL) AND x IS NOT NULL", [(i,) for i, x, _ in R if x is not None and x not in W], 0),
        ("SELECT id FROM r WHERE x NOT IN (SELECT x FROM q WHERE x < 5) AND x > 2", [(i,) for i, x, _ in R if x is not None and x > 4], 0),
        ("SELECT id, p.w FROM r LEFT JOIN (SELECT x, w FROM s WHERE n > 0) p ON r.x = p.x", [(i, W[x] if N.get(x, 0) > 0 else None) for i, x, _ in R], len(KEYS)),
        ("SELECT id FROM r LEFT ANTI JOIN (SELECT x FROM s WHERE n > 0) p ON r.x = p.x", [(i,) for i, x, _ in R if N.get(x, 0) == 0], len(KEYS)),
        ("SELECT id, p.w FROM r, LATERAL (SELECT * FROM s WHERE s.x = r.x) p", [(i, W[x]) for i, x, _ in R if x in W], len(KEYS)),
        ("SELECT id, p.w FROM r LEFT JOIN LATERAL (SELECT w FROM s WHERE s.x = r.x) p ON r.v = 1", [(i, W.get(x) if v == 1 else None) for i, x, v in R], len({x for _, x, v in R if v == 1 and x is not None})),
        ("SELECT id, w FROM s RIGHT JOIN r ON r.x = s.x AND s.n > 0", [(i, W[x] if N.get(x, 0) > 0 else None) for i, x, _ in R], len(KEYS)),
        ("SELECT id FROM q RIGHT JOIN r USING (x) WHERE x = 3 OR w IS NULL", [(i,) for i, x, _ in R if x == 3 or x not in W], 0),
        (
            "SELECT DISTINCT q.n, r.v FROM r JOIN q ON q.x = r.x WHERE q.n IN (SELECT n FROM t) AND NOT EXISTS (SELECT 1 FROM s WHERE s.x = r.v AND s.n = q.n)",
            list({(N[x], v) for _, x, v in R if x in W and US[N[x]] and N[v] != N[x]}),
            8,
        ),
        (
            "SELECT id, upper(w) AS w FROM r LEFT JOIN q ON r.x = q.x SEMI JOIN s ON s.n = q.n AND s.x = r.v",
            [(i, W[x].upper()) for i, x, v in R if x in W and N[v] == N[x]],
            5,
        ),
    ]),
)  # fmt: skip
async def test_rows_without_spark(
    serve: Serve, tmp_path: Path, sql: str, expected: list[Row], keys: int
) -> None:
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert execution.outcome.complete
    assert rows == sorted(expected, key=lambda row: tuple((value is None, str(value)) for value in row))
    assert sum(site.keys.values()) <= keys
    assert max(site.keys.values(), default=1) == 1
    assert not any("None" in key for _, _, key in site.keys), "a NULL key has no match and is no request"


@pytest.mark.parametrize(
    ("sql", "pages"),
    every_row(
        2,
        [
            ("SELECT r.id, s.w FROM r LEFT JOIN s ON r.x = s.x LIMIT 3", 1),
            ("SELECT r.id, s.w FROM s RIGHT JOIN r ON r.x = s.x LIMIT 3", 1),
            ("SELECT * FROM (SELECT r.id, s.w FROM r LEFT JOIN s ON r.x = s.x) LIMIT 3", 1),
            (
                "WITH p AS (SELECT r.id, s.w FROM r LEFT JOIN s ON r.x = s.x) SELECT id + 1 AS z FROM p LIMIT 3",
                1,
            ),
            ("SELECT id FROM r LEFT ANTI JOIN s ON r.x = s.x LIMIT 3", 2),
            ("SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE r.x = s.x) LIMIT 3", 2),
            ("SELECT id FROM r LEFT SEMI JOIN s ON r.x = s.x LIMIT 3", 1),
            ("SELECT id FROM r WHERE x IN (SELECT x FROM s) LIMIT 3", 1),
            ("SELECT id FROM r WHERE x IN (SELECT x FROM q) LIMIT 3", 1),
            ("SELECT id FROM r WHERE EXISTS (SELECT * FROM s WHERE s.x = r.x AND s.n < 2) LIMIT 3", 1),
            ("SELECT id FROM r LEFT JOIN s ON r.x = s.x WHERE w IS NULL OR n = 1 LIMIT 3", 1),
            ("SELECT id, w FROM r LEFT JOIN s ON r.x = s.x AND false LIMIT 3", 1),
            ("SELECT id FROM r WHERE v % 2 = 0 LIMIT 3", 1),
        ],
    ),
)
async def test_a_limit_stops_requests(serve: Serve, tmp_path: Path, sql: str, pages: int) -> None:
    """As few pages as hold the rows, and what lookups are answered and under way then; not the other 39 pages."""
    async with sparkless(serve, tmp_path) as (federation, site):
        rows, execution = await run(federation, sql)
    assert len(rows) == 3
    assert execution.outcome.complete
    assert site.scans["r"] == pages
    assert site.scans["q"] <= 1
    assert sum(site.keys.values()) <= 3 + 8, (
        "those that answer the rows, and a host's ceiling of requests under way"
    )


@pytest.mark.parametrize(
    ("sql", "certain"),
    every_row(2, [
        ("SELECT id, w FROM r LEFT JOIN s ON r.x = s.x", [(i, W.get(x)) for i, x, _ in R if x not in {2, 12}]),
        ("SELECT id FROM r LEFT ANTI JOIN s ON r.x = s.x", [(i,) for i, x, _ in R if x not in W and x != 12]),
        ("SELECT id FROM r LEFT SEMI JOIN s ON r.x = s.x", [(i,) for i, x, _ in R if x in W and x != 2]),
        ("SELECT id FROM r WHERE x IN (SELECT x FROM s)", [(i,) for i, x, _ in R if x in W and x != 2]),
        ("SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE x = r.x)", [(i,) for i, x, _ in R if x not in W and x != 12]),
        ("SELECT id, w FROM s RIGHT JOIN r USING (x)", [(i, W.get(x)) for i, x, _ in R if x not in {2, 12}]),
    ]),
)  # fmt: skip
async def test_a_lookup_that_fails_proves_nothing(
    serve: Serve, tmp_path: Path, sql: str, certain: list[Row]
) -> None:
    """Its rows are undecided: not in the answer, which says what is missing."""
    async with sparkless(serve, tmp_path) as (federation, site):
        site.faults |= {("s", "2"): 500, ("s", "12"): 500}
        rows, execution = await run(federation, sql, on_source_error="partial")
    outcome = execution.outcome
    assert not outcome.complete
    assert not outcome.report["doubts"], "rows that are here are right"
    assert {part["predicate"] for part in outcome.report["missing"]} == {"x = 2", "x = 12"}
    assert rows == sorted(certain, key=lambda row: tuple((value is None, str(value)) for value in row))


async def test_what_the_eddy_does_not_join_is_left_to_spark(serve: Serve, tmp_path: Path) -> None:
    """Right sides that are aggregates, ON conditions that it does not evaluate, columns of USING beside those they are of."""
    left = [
        "SELECT id FROM r LEFT JOIN (SELECT max(x) AS x FROM q) q ON r.x = q.x",
        "SELECT id FROM r LEFT JOIN q ON r.x = q.x AND rand() < 0.5",
        "SELECT r.id FROM r JOIN q AS p USING (x) RIGHT JOIN q ON r.x = q.x",
        "SELECT id FROM r WHERE x NOT IN (SELECT x FROM q)",
        "SELECT id FROM r LEFT JOIN q ON r.x = q.x AND q.n = (SELECT max(n) FROM q)",
    ]
    async with sparkless(serve, tmp_path) as (federation, _):
        for sql in left:
            prepared = federation.prepare(sql)
            assert prepared.upper is not None, sql
            assert all(alias.kind == "inner" for block in prepared.blocks for alias in block.plan.aliases), (
                sql
            )
        text = explain(federation.prepare("SELECT id FROM r LEFT ANTI JOIN s ON r.x = s.x AND s.n = 1"))
        assert "right side of an anti join" in text
        assert "anti join of s: s.n = 1" in text
        text = explain(
            federation.prepare("SELECT id FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE x = r.x AND n = 1)")
        )
        assert "right side of an anti join" in text
        assert "anti join of s: s.n = 1" in text
        assert "Spark" not in text


async def test_a_null_that_is_rejected_makes_the_join_an_inner_one(serve: Serve, tmp_path: Path) -> None:
    async with sparkless(serve, tmp_path) as (federation, _):
        for where, kind in [
            ("s.n > 1", "inner"), ("s.n = r.v", "inner"), ("s.n IN (1, 2)", "inner"), ("s.w IS NOT NULL", "inner"),
            ("(s.n = 1 OR s.w = 'x')", "inner"), ("NOT s.n = 1", "inner"), ("s.n IS NULL", "left"),
            ("(s.n = 1 OR r.v = 1)", "left"), ("s.n <=> 1", "left"), ("coalesce(s.n, 1) = 1", "left"),
        ]:  # fmt: skip
            prepared = federation.prepare(f"SELECT id FROM r LEFT JOIN s ON r.x = s.x WHERE {where}")
            assert [alias.kind for alias in prepared.blocks[0].plan.aliases] == ["inner", kind], where


async def test_groups_over_a_left_join(serve: Serve, tmp_path: Path) -> None:
    """Spark groups what the eddy joins: its view has the NULLs."""
    site = Site({"r": (("id", "x", "v"), R), "s": (("x", "n", "w"), S)})
    async with federated(serve, site, tmp_path, {"r": TABLES["r"], "s": TABLES["s"]}) as (federation, _):
        over_duck(federation)
        rows, execution = await run(
            federation, "SELECT count(*), count(s.w), count(DISTINCT s.x) FROM r LEFT JOIN s ON r.x = s.x"
        )
    assert execution.outcome.complete
    assert rows == [(400, sum(x in W for _, x, _ in R), 10)]
