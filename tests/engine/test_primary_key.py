"""A declared primary key always identifies: whatever brings a row twice, it is there once, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.federation import RunOutcome
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, federated, run
from tests.web.serving import Serve

TYPES = {"id": "int", "note": "string"}
#: 6 and 7 come twice, 7 with another note, and rows without a key are as many as there are.
DRIFTED: list[Row] = [
    *((n, f"n{n}") for n in range(8)),
    *((None, "x"), (None, "x")),
    *((6, "n6"), (7, "later")),
    *((n, f"n{n}") for n in range(8, 14)),
]
ONCE = [row for row in DRIFTED if row != (7, "later")]
ONCE.remove((6, "n6"))


def site(rows: list[Row] = DRIFTED, page: int = 4, **others: list[Row]) -> Site:
    return Site(
        {"t": (("id", "note"), rows)} | {name: (("id", "note"), rows) for name, rows in others.items()}, page
    )


def keyed(**options: Any) -> dict[str, Any]:
    return {"t": access("t", TYPES, **options) | {"primary_key": ["id"]}}


async def answer(
    serve: Serve, tmp_path: Path, one: Site, tables: dict[str, Any], sql: str
) -> tuple[list[Row], RunOutcome]:
    async with federated(serve, one, tmp_path, tables) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    return rows, execution.outcome


def sorted_rows(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple((value is None, str(value)) for value in row))


@pytest.mark.parametrize("page", [3, 4, 100])
async def test_one_scan_brings_rows_twice(serve: Serve, tmp_path: Path, page: int) -> None:
    rows, outcome = await answer(serve, tmp_path, site(page=page), keyed(), "SELECT * FROM web.t")
    assert [key for key, _ in rows] == [key for key, _ in sorted_rows(ONCE)]
    assert set(rows) <= set(DRIFTED), "pages may come in any order, and what comes first is taken"
    (scan,) = outcome.report["access"]
    assert (scan["rows"], scan["duplicates"], outcome.report["stems"][0]["conflicts"]) == (18, 2, 1)
    (warning,) = outcome.warnings
    assert "web.t: a row differs from the one of the same primary key" in warning
    assert "first of id = 7; in note" in warning
    # A row that is on two pages may be there in the place of another: the total counts it twice.
    assert outcome.complete == (page == 100)
    assert ("on two pages" in (outcome.reason or "")) == (page < 100)


async def test_the_key_is_fetched_where_the_statement_does_not_need_it(serve: Serve, tmp_path: Path) -> None:
    rows, _ = await answer(serve, tmp_path, site(), keyed(), "SELECT note FROM web.t")
    assert sorted(rows) == sorted((note,) for _, note in ONCE)
    rows, _ = await answer(serve, tmp_path, site(), keyed(), "SELECT count(*) FROM web.t")
    assert rows == [(len(ONCE),)]


async def test_a_request_that_names_columns_names_the_key(serve: Serve, tmp_path: Path) -> None:
    seen = []

    class Selecting(Site):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            seen.append(request.query["fields"])
            return web.json_response([{"id": 1, "note": "a"}, {"id": 1, "note": "a"}])

    table = {
        "columns": TYPES,
        "primary_key": ["id"],
        "scan": {"endpoint": {"path": "t", "select": {"param": "fields"}}},
    }
    rows, _ = await answer(serve, tmp_path, Selecting({}), {"t": table}, "SELECT note FROM web.t")
    assert (rows, seen) == ([("a",)], ["id,note"])


@pytest.mark.parametrize("limit", [6, 8, 11, 12])
@pytest.mark.parametrize("order", ["", " ORDER BY id"])
async def test_rows_that_come_twice_do_not_count_for_limit(
    serve: Serve, tmp_path: Path, limit: int, order: str
) -> None:
    twice = [(n // 2, f"n{n // 2}") for n in range(40)]
    tables = keyed()
    tables["t"]["order"] = ["id"]
    tables["t"]["scan"]["endpoint"]["paginator"] |= {"page_size": 4, "page_size_param": "size"}
    one = site(twice)
    rows, outcome = await answer(serve, tmp_path, one, tables, f"SELECT id FROM web.t{order} LIMIT {limit}")
    assert (sorted(rows), outcome.complete) == ([(n,) for n in range(limit)], True)
    assert one.scans["t"] <= limit // 2 + 2, "and no more is read than that takes"


async def test_mirrors_that_disagree(serve: Serve, tmp_path: Path) -> None:
    """The first one stops half-way; the other has other notes for some of what it brought."""
    one = site([(n, f"n{n}") for n in range(12)], u=[(n, f"n{n}" if n % 2 else "other") for n in range(12)])
    one.faults["t", "scan@8"] = 500
    tables = keyed()
    tables["t"]["scan"] = [tables["t"]["scan"], access("u", TYPES)["scan"]]
    rows, outcome = await answer(serve, tmp_path, one, tables, "SELECT * FROM web.t")
    notes = dict(rows)
    assert len(rows) == 12
    assert all(notes[n] == f"n{n}" for n in range(8)), "what came first was taken"
    assert outcome.report["stems"][0]["conflicts"] == 4
    assert any("4 rows differ" in warning and "in note" in warning for warning in outcome.warnings)


async def test_mirrors_that_disagree_about_a_table_without_a_key(serve: Serve, tmp_path: Path) -> None:
    """Whether a row is another's later state cannot be known; a mirror that lacks it is not known to be whole."""
    rows: list[Row] = [(n, f"n{n}") for n in range(12)]
    for others, beyond in (([(n, f"n{n}" if n % 2 else "other") for n in range(12)], 4), (rows, 0)):
        one = site(rows, u=others)
        one.faults["t", "scan@8"] = 500
        tables = {"t": access("t", TYPES)}
        tables["t"]["scan"] = [tables["t"]["scan"], access("u", TYPES)["scan"]]
        answered, outcome = await answer(serve, tmp_path, one, tables, "SELECT * FROM web.t")
        assert len(answered) == 12 + beyond
        assert outcome.complete == (beyond == 0)
        assert [f"lacks {beyond} rows" in part.reason for part in outcome.missing] == [True] * (beyond > 0)


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize("others", [9, 12, 13])
async def test_what_a_scan_told_before_it_failed_is_held_against_its_mirror(
    serve: Serve, tmp_path: Path, others: int, key: bool
) -> None:
    one = site([(n, f"n{n}") for n in range(12)], u=[(n, f"n{n}") for n in range(others)])
    one.faults["t", "scan@8"] = 500
    tables = keyed() if key else {"t": access("t", TYPES)}
    tables["t"]["scan"] = [tables["t"]["scan"], access("u", TYPES)["scan"]]
    rows, outcome = await answer(serve, tmp_path, one, tables, "SELECT * FROM web.t")
    assert len(rows) == others
    assert outcome.complete == (others >= 12), "rows that were added meanwhile lack nothing"
    assert [part.reason for part in outcome.missing] == [
        "it gave 9 rows, and another scan of the table, which failed, spoke of 12"
    ] * (others < 12)


async def test_a_lookup_that_disagrees_with_the_scan(serve: Serve, tmp_path: Path) -> None:
    """The scan stops half-way; then keys are asked for, also such as it had brought."""
    one = site(
        [(n, f"n{n}") for n in range(12)], k=[(n, "") for n in range(12)], v=[(n, "new") for n in range(12)]
    )
    one.faults["t", "scan@8"] = 500
    tables = keyed() | {"k": access("k", TYPES)}
    tables["t"] |= {key: part for key, part in access("v", TYPES, lookups=["id"]).items() if key != "scan"}
    tables["t"]["scan"] = access("t", TYPES)["scan"]
    rows, outcome = await answer(
        serve, tmp_path, one, tables, "SELECT t.* FROM web.k JOIN web.t ON k.id = t.id"
    )
    assert len(rows) == 12
    conflicts = outcome.report["stems"][-1]["conflicts"] + outcome.report["stems"][0]["conflicts"]
    assert conflicts == sum(one.keys["v", "id", str(n)] for n, note in rows if note != "new")
    if conflicts:
        assert any("of the same primary key" in warning for warning in outcome.warnings)


async def test_without_a_key_equal_rows_are_rows(serve: Serve, tmp_path: Path) -> None:
    tables = {"t": access("t", TYPES)}
    rows, outcome = await answer(serve, tmp_path, site(), tables, "SELECT * FROM web.t")
    assert (rows, outcome.warnings) == (sorted_rows(DRIFTED), ())
