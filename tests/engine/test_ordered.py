"""`ORDER BY x LIMIT n` over a scan in the order of x: as much is read as the first rows need, and the answer is the same."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest

from fff.sql import explain
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, federated, run
from tests.web.serving import Serve

TYPES = {"id": "int", "x": "int", "d": "date", "s": "string"}


def site(rows: list[Row], page: int = 10) -> Site:
    return Site({"t": (tuple(TYPES), rows)}, page=page)


def row(number: int, x: int | None) -> Row:
    day = None if x is None else (dt.date(2024, 1, 1) + dt.timedelta(days=x)).isoformat()
    return (number, x, day, f"s{number % 3}")


def declared(order: str | None, **more: Any) -> dict[str, Any]:
    table = access("t", TYPES) | more
    return {"t": table | ({"order": [order]} if order else {})}


async def answer(
    serve: Serve, folder: Path, one: Site, tables: dict[str, Any], sql: str, *, keep: bool = False
) -> tuple[list[Row], int, list[str]]:
    """The rows, in their order; the pages that were fetched; and the warnings."""
    before = one.scans["t"]
    async with federated(serve, one, folder, tables, keep=keep) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
        assert execution.outcome.complete
        return rows, one.scans["t"] - before, list(execution.outcome.warnings)


RISING = [row(number, number // 2) for number in range(100)]  # two rows for each x


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "pages"),
    [
        ("SELECT id, x FROM t ORDER BY x NULLS LAST LIMIT 4", 1),
        (
            "SELECT id, x FROM t ORDER BY x NULLS LAST LIMIT 9",
            2,
        ),  # the tenth row may have the value of the ninth
        ("SELECT id, x FROM t ORDER BY x NULLS LAST, id DESC LIMIT 3 OFFSET 5", 1),
        ("SELECT id, x + 1 AS y FROM t WHERE x >= 20 ORDER BY t.x LIMIT 2", 5),
        ("SELECT id AS i, x AS x FROM t WHERE x IS NOT NULL AND s = 's0' ORDER BY x LIMIT 3", 1),
        ("SELECT id FROM t WHERE x IN (1, 30) ORDER BY x LIMIT 2", 1),
        ("SELECT id FROM t WHERE x IN (1, 30) ORDER BY x LIMIT 3", 7),
        # All of it:
        ("SELECT id, x FROM t ORDER BY x LIMIT 4", 10),  # NULLs come first, and may stand anywhere
        ("SELECT id, x FROM t WHERE x > 0 ORDER BY x DESC LIMIT 4", 10),
        ("SELECT id, -x AS x FROM t WHERE x > 0 ORDER BY x LIMIT 4", 10),
        ("SELECT id, x FROM t WHERE x > 0 ORDER BY x", 10),
        ("SELECT id, x FROM t WHERE x > 0 ORDER BY id, x LIMIT 4", 10),
        ("SELECT DISTINCT x FROM t WHERE x > 0 ORDER BY x LIMIT 4", 10),
        ("SELECT x, count(*) AS c FROM t WHERE x > 0 GROUP BY x ORDER BY x LIMIT 4", 10),
        (
            "SELECT id FROM t WHERE x > 0 AND cosh(x) > 0 ORDER BY x LIMIT 4",
            10,
        ),  # a condition left to Spark
        ("SELECT id FROM t WHERE x > 0 AND x = id ORDER BY x LIMIT 1", 10),
        ("SELECT a.id, a.x FROM t a JOIN t b ON a.id = b.x WHERE a.x > 0 ORDER BY a.x LIMIT 2", 10),
    ],
)
async def test_how_much_is_read(serve: Serve, tmp_path: Path, sql: str, pages: int) -> None:
    one = site(RISING)
    rows, read, warnings = await answer(serve, tmp_path, one, declared("x"), sql)
    assert read == pages
    assert not warnings
    assert rows == (await answer(serve, tmp_path, one, declared(None), sql))[0]


async def test_a_primary_key_is_never_null(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT id, s FROM t ORDER BY id LIMIT 5"
    tables = declared("id", primary_key=["id"])
    rows, read, _ = await answer(serve, tmp_path, site(RISING), tables, sql)
    assert (rows, read) == ([(n, f"s{n % 3}") for n in range(5)], 1)


async def test_newest_first(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT id, d FROM t ORDER BY d DESC LIMIT 5"
    falling = [*RISING[::-1][:30], row(1000, None), *RISING[::-1][30:]]
    rows, read, _ = await answer(serve, tmp_path, site(falling), declared("-d"), sql)
    assert read == 1
    assert [one[0] for one in sorted(rows, key=lambda one: -one[0])][:4] == [99, 98, 97, 96]
    async with federated(serve, site(falling), tmp_path, declared("-d")) as (federation, _):
        text = explain(federation.prepare(sql))
    assert "stops once the first 5 rows by d DESC are there: the scan is in that order" in text


async def test_an_order_that_is_not_kept_is_told_of_and_not_relied_on(serve: Serve, tmp_path: Path) -> None:
    rows = [*RISING[10:18], row(500, 0), *RISING[18:]]
    sql = "SELECT id, x FROM t ORDER BY x NULLS LAST LIMIT 1"
    found, read, warnings = await answer(serve, tmp_path, site(rows), declared("x"), sql)
    assert (found, read) == ([(500, 0)], 10)
    assert any("does not come in the declared order" in one for one in warnings)


async def test_a_session_stops_as_early(serve: Serve, tmp_path: Path) -> None:
    sql = "SELECT id, x FROM t ORDER BY x NULLS LAST LIMIT 4"
    assert (await answer(serve, tmp_path, site(RISING), declared("x"), sql, keep=True))[1] == 1


@pytest.mark.parametrize("scans", [2, pytest.param(25, marks=pytest.mark.slow)])
async def test_the_answer_is_that_of_the_whole_scan(serve: Serve, tmp_path: Path, scans: int) -> None:
    rng, pages = random.Random(5), [0, 0]
    for _ in range(scans):
        xs: list[int | None] = sorted(rng.randrange(rng.choice([3, 30])) for _ in range(rng.randrange(60)))
        for _ in range(rng.choice([0, 0, 3])):
            xs.insert(rng.randrange(len(xs) + 1), None)
        if falling := rng.random() < 0.5:
            xs.reverse()
        one = site([row(number, x) for number, x in enumerate(xs)], page=rng.randrange(1, 12))
        column = rng.choice(["x", "d"])
        where = rng.choice(["", "WHERE x > 2", "WHERE s = 's1'", "WHERE s <> 's1' AND x BETWEEN 1 AND 20"])
        by = f"{column} {'DESC' if falling else ''} {rng.choice(['', 'NULLS FIRST', 'NULLS LAST'])}"
        tail = f"LIMIT {rng.randrange(1, 9)} OFFSET {rng.choice([0, 0, 3])}"
        for sql in (
            f"SELECT id FROM t {where} ORDER BY {by}, id {tail}",
            f"SELECT x FROM t {where} ORDER BY {by} {tail}",
        ):
            found, read, warnings = await answer(
                serve, tmp_path, one, declared(f"{'-' if falling else ''}{column}"), sql
            )
            plain, all_pages, _ = await answer(serve, tmp_path, one, declared(None), sql)
            assert (found, warnings) == (plain, []), sql
            pages[0] += read
            pages[1] += all_pages
    assert pages[0] < 0.9 * pages[1]
