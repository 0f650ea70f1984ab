"""`k IN (many constants)` over a table that can be scanned as well: whichever takes fewer requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fff.federation import RunOptions
from fff.sql.planner.explain import explain
from tests.engine.site import Row, Site, access, federated, rows_of, run
from tests.sampling import every, every_row
from tests.web.serving import Serve

TYPES = {"a": "int", "b": "int"}


def site(rows: int, page: int) -> Site:
    return Site({"t": (("a", "b"), [(n, n % 7) for n in range(rows)])}, page)


def tables(*, total: bool = True, key: bool = False) -> dict[str, Any]:
    table = access("t", TYPES, lookups=["a"])
    if not total:
        del table["scan"]["endpoint"]["paginator"]["total_path"]
        table["scan"]["endpoint"]["paginator"]["page_size"] = 10
    if key:
        table["primary_key"] = ["a"]
    return {"t": table}


def sql(keys: int, step: int = 1) -> str:
    return f"SELECT a, b FROM web.t WHERE a IN ({', '.join(str(n * step) for n in range(keys))})"


async def requests(
    serve: Serve, tmp_path: Path, one: Site, spec: dict[str, Any], text: str, **options: Any
) -> tuple[list[Row], int, int]:
    """The rows, and how many pages and keys were asked for."""
    async with federated(serve, one, tmp_path, spec) as (federation, _):
        rows, execution = await run(federation, text, **options)
    assert execution.outcome.complete
    return rows, one.scans["t"], sum(one.keys.values())


@pytest.mark.parametrize(
    ("semantics", "key"),
    [
        ("parked", False),
        pytest.param("paper", True, marks=pytest.mark.slow),
        pytest.param("parked", True, marks=pytest.mark.slow),
        pytest.param("paper", False, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("rows", "page", "keys", "step", "expected"),
    [
        pytest.param(300, 1000, 5000, 1, (1, 0), id="one page holds all"),
        pytest.param(300, 100, 1000, 1, (3, 0), id="three pages hold all", marks=pytest.mark.slow),
        pytest.param(300, 1000, 1, 1, (0, 1), id="one constant"),
        pytest.param(300, 1000, 3, 1, (0, 3), id="three constants", marks=pytest.mark.slow),
        pytest.param(1000, 1, 50, 20, (1, 50), id="a thousand pages"),
        pytest.param(520, 10, 50, 10, (1, 50), id="more pages left than keys"),
        pytest.param(500, 10, 50, 10, (50, 0), id="one page fewer left than keys"),
        pytest.param(480, 10, 50, 10, (48, 0), id="fewer pages than keys", marks=pytest.mark.slow),
        pytest.param(0, 10, 50, 1, (1, 0), id="nothing there"),
    ],
)
async def test_fewest_requests_win(
    serve: Serve,
    tmp_path: Path,
    *,
    rows: int,
    page: int,
    keys: int,
    step: int,
    expected: tuple[int, int],
    key: bool,
    semantics: str,
) -> None:
    one = site(rows, page)
    found, *asked = await requests(
        serve, tmp_path, one, tables(key=key), sql(keys, step), semantics=semantics
    )
    assert sorted(found) == [(n, n % 7) for n in range(0, min(rows, keys * step), step)]
    if expected == (1, 50):  # what was under way when the choice was made may have been sent
        assert asked[0] <= 1
        assert asked[1] == 50
    else:
        assert tuple(asked) == expected


@pytest.mark.parametrize(
    ("rows", "keys", "pages", "lookups"),
    every_row(2, [(7, 1000, 2, 0), (38, 1000, 5, 0), (5000, 50, 6, 50), (5000, 12, 3, 12)]),
)
async def test_a_scan_that_tells_no_total_is_tried_for_a_few_pages(
    serve: Serve, tmp_path: Path, *, rows: int, keys: int, pages: int, lookups: int
) -> None:
    found, scanned, asked = await requests(serve, tmp_path, site(rows, 10), tables(total=False), sql(keys, 2))
    assert sorted(found) == [(n, n % 7) for n in range(0, min(rows, 2 * keys), 2)]
    assert scanned <= pages
    assert asked == lookups


@pytest.mark.parametrize(
    ("rows", "keys", "step", "pages", "lookups"),
    every_row(2, [(200, 5000, 1, 20, 0), (500, 50, 10, 50, 0), (520, 50, 10, 1, 50), (2000, 6, 1, 1, 6)]),
)
async def test_a_scan_may_tell_its_pages_instead_of_its_rows(
    serve: Serve, tmp_path: Path, *, rows: int, keys: int, step: int, pages: int, lookups: int
) -> None:
    spec = tables()
    spec["t"]["scan"]["endpoint"]["paginator"] = {"type": "page_number", "total_path": "pages"}
    found, *asked = await requests(serve, tmp_path, site(rows, 10), spec, sql(keys, step))
    assert sorted(found) == [(n, n % 7) for n in range(0, min(rows, keys * step), step)]
    assert asked[1] == lookups
    assert asked[0] <= pages, "the first page may be given up for nothing"


async def test_speed_may_cost_requests(serve: Serve, tmp_path: Path) -> None:
    found, scanned, asked = await requests(
        serve, tmp_path, site(300, 1000), tables(), sql(300), prefer="fast"
    )
    assert (len(found), scanned) == (300, 1)
    assert asked <= 300, "what had been asked for when the page came"


@pytest.mark.parametrize("fault", [500, "garbage"])
@pytest.mark.parametrize("at", every(2, ["scan", "scan@20"]))
async def test_constants_are_asked_for_where_the_scan_fails(
    serve: Serve, tmp_path: Path, fault: int | str, at: str
) -> None:
    one = site(60, 10)
    one.faults["t", at] = fault
    found, _, asked = await requests(serve, tmp_path, one, tables(), sql(60))
    assert (sorted(found), asked) == ([(n, n % 7) for n in range(60)], 60)


async def test_keys_that_fail_then_are_missing(serve: Serve, tmp_path: Path) -> None:
    one = site(1000, 1)
    one.faults["t", "20"] = 500
    async with federated(serve, one, tmp_path, tables()) as (federation, _):
        rows, execution = await run(federation, sql(50, 20))
    assert len(rows) == 49
    assert [part.predicate for part in execution.outcome.missing] == ["a = 20"]
    assert execution.outcome.exit_code == 3


@pytest.mark.parametrize("hanging", ["scan", "20"])
async def test_what_a_stop_leaves_unread_is_missing(serve: Serve, tmp_path: Path, hanging: str) -> None:
    one = site(1000, 1)
    one.faults["t", hanging] = "hang"
    async with federated(serve, one, tmp_path, tables()) as (federation, _):
        execution = federation.execute(federation.prepare(sql(50, 20)), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await one.hanging.wait()
        execution.interrupt()
        await reading
    missing = {part.predicate for part in execution.outcome.missing}
    assert execution.outcome.exit_code == 3
    assert missing == {"true"} if hanging == "scan" else "a = 20" in missing and "true" not in missing


@pytest.mark.slow
async def test_other_tables_join_without_asking_for_keys_of_their_own(serve: Serve, tmp_path: Path) -> None:
    """Keys that the other table has and the constants have not are not asked for."""
    one = site(1000, 1)
    one.tables["s"] = (("a", "b"), [(n, 1) for n in range(0, 1000, 10)])
    spec = tables() | {"s": access("s", TYPES)}
    text = sql(50, 20).replace(
        "SELECT a, b FROM web.t WHERE a", "SELECT t.a, s.b FROM web.t JOIN web.s ON t.a = s.a WHERE t.a"
    )
    for mode in ("parked", "paper"):
        one.keys.clear()
        async with federated(serve, one, tmp_path, spec) as (federation, _):
            rows, execution = await run(federation, text, semantics=mode)
        assert (sorted(rows), execution.outcome.complete) == ([(n, 1) for n in range(0, 1000, 20)], True)
        assert sum(count for (table, _, _), count in one.keys.items() if table == "t") == 50


async def test_explain_says_that_it_is_open(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(1, 1), tmp_path, tables()) as (federation, _):
        assert "6 keys or scanned, whichever takes fewer requests" in explain(federation.prepare(sql(6)))
        assert "scan" not in explain(federation.prepare(sql(5)))
