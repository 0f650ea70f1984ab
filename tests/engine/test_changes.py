"""Tables that can be asked for what has changed: the rest comes from disk, and what comes out is what the source holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.access.disk.policy import RowCache
from fff.errors import SourceError
from fff.federation import Federation
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.web.serving import Serve

Row = dict[str, Any]


@dataclass
class Ledger:
    """Rows by id, each with the moment of its last change, in pages of two, the last change first.

    It knows `since`, and the `least` level.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    cut: bool = False  # whether pages beyond the first are refused
    by_id: bool = False
    after_first: list[tuple[int, str, str]] = field(default_factory=list)  # changes once a first page is out

    def put(self, id_: int | None, at: str, state: str = "open") -> None:
        self.rows[-1 if id_ is None else id_] = {
            "id": id_,
            "state": state,
            "level": int(state == "open"),
            "at": at,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        asked = dict(request.query)
        self.asked.append(asked)
        rows = [row for row in self.rows.values() if row["at"] >= asked.get("since", "")]
        rows = [row for row in rows if row["level"] >= int(asked.get("least", 0))]
        rows.sort(key=lambda row: str(row["id"] if self.by_id else row["at"]), reverse=not self.by_id)
        page = int(asked["page"])
        if page > 1:
            while self.after_first:
                self.put(*self.after_first.pop())
        rows = [self.rows[-1 if row["id"] is None else row["id"]] for row in rows]
        if self.cut and page > 1:
            return web.json_response({"error": "down"}, status=403)
        return web.json_response({"rows": rows[2 * page - 2 : 2 * page], "pages": max(1, -(-len(rows) // 2))})


SCAN = {
    "path": "t",
    "data_selector": "rows",
    "paginator": {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "pages"},
}
CHANGES = {"column": "at", "param": "since", "lookback": 3600}


class Desk:
    """Runs that share a folder and nothing else."""

    def __init__(self, url: str, folder: Path, **table: Any) -> None:
        self.ledger = Ledger()
        declared: dict[str, Any] = {
            "columns": {"id": "int", "state": "string", "level": "int", "at": "timestamp"},
            "primary_key": "id",
            "key_columns": [{"name": "level", "operators": [">="], "param": "least"}],
            "scan": {"endpoint": SCAN},
            "changes": CHANGES,
        }
        client = {"base_url": url, "retry": {"max_attempts": 1}}
        spec = {
            "version": 1,
            "sources": {"web": {"client": client, "tables": {"t": declared | table}}},
        }
        self.folder = folder
        (folder / "fff.yaml").write_text(json.dumps(spec), encoding="utf-8")

    async def run(
        self, sql: str = "SELECT id, state FROM t", *, changes: bool = True
    ) -> tuple[list[tuple[Any, ...]], Any]:
        self.ledger.asked.clear()
        client = WebClient()
        catalog = load_catalog([self.folder / "fff.yaml"], environ={}, cwd=self.folder, client=client)
        cache = RowCache(self.folder / "rows", every=True)
        async with Federation(catalog, client, cache=cache) as federation:
            federation.reset(changes=changes)
            execution = federation.execute(federation.prepare(sql))
            rows = [tuple(row.values()) async for batch in execution.batches() for row in batch.to_pylist()]
            return sorted(rows, key=str), execution.outcome


@pytest.fixture
async def desk(serve: Serve, tmp_path: Path) -> Desk:
    one: list[Desk] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        return await one[0].ledger.answer(request)

    one.append(Desk((await serve(answer)).url, tmp_path))
    for number in range(1, 8):
        one[0].ledger.put(number, f"2024-05-0{number}T00:00:00Z")
    return one[0]


def since(desk: Desk) -> set[str | None]:
    return {asked.get("since") for asked in desk.ledger.asked}


async def test_what_has_changed_is_merged_by_key_over_what_is_on_disk(desk: Desk) -> None:
    rows, outcome = await desk.run()
    assert since(desk) == {None}
    assert (len(rows), outcome.warnings) == (7, ()), "nothing was on disk: all was asked for"
    desk.ledger.put(2, "2024-06-01T00:00:00Z", "closed")
    desk.ledger.put(8, "2024-06-02T00:00:00Z")
    rows, outcome = await desk.run()
    assert since(desk) == {"2024-05-06T23:00:00Z"}, "an hour before the greatest that was seen"
    assert rows == sorted((row["id"], row["state"]) for row in desk.ledger.rows.values())
    assert outcome.complete
    (warning,) = outcome.warnings
    assert warning.endswith("deletions are not seen")
    assert len(desk.ledger.asked) == 2, "rows 7, 2 and 8, where all of them are four pages"
    desk.ledger.put(9, "2024-06-03T00:00:00Z")
    rows, _ = await desk.run()
    assert since(desk) == {"2024-06-01T23:00:00Z"}, "what was merged is what the next one builds on"
    assert len(rows) == 9


async def test_a_row_that_changes_while_pages_come_is_asked_for(desk: Desk) -> None:
    desk.ledger.by_id = True
    desk.ledger.after_first = [(1, "2024-06-01T00:00:00Z", "closed"), (7, "2024-06-02T00:00:00Z", "closed")]
    rows, _ = await desk.run()
    assert ((1, "open") in rows, (7, "closed") in rows) == (True, True), "one page was read before, one after"
    rows, outcome = await desk.run()
    assert outcome.complete
    assert since(desk) == {"2024-05-01T23:00:00Z"}, "as of the first page"
    assert ((1, "closed") in rows, len(rows)) == (True, 7)
    desk.ledger.put(3, "2024-06-03T00:00:00Z")
    desk.ledger.after_first = [(2, "2024-06-04T00:00:00Z", "closed"), (7, "2024-06-05T00:00:00Z", "open")]
    rows, _ = await desk.run()
    assert ((2, "open") in rows, (7, "open") in rows) == (True, True)
    rows, _ = await desk.run()
    assert (2, "closed") in rows, "so it is with the changes that come in pages"


async def test_a_row_that_leaves_the_condition_does_not_stay(desk: Desk) -> None:
    sql = "SELECT id FROM t WHERE level >= 1"
    rows, _ = await desk.run(sql)
    assert (len(rows), {asked.get("least") for asked in desk.ledger.asked}) == (7, {"1"})
    desk.ledger.put(3, "2024-06-01T00:00:00Z", "closed")
    rows, _ = await desk.run(sql)
    assert since(desk) != {None}
    assert [id_ for (id_,) in rows] == [1, 2, 4, 5, 6, 7]


async def test_rows_that_are_gone_stay_until_all_is_asked_for(desk: Desk) -> None:
    await desk.run()
    del desk.ledger.rows[4]
    rows, _ = await desk.run()
    assert (4, "open") in rows
    rows, outcome = await desk.run(changes=False)
    assert ((4, "open") in rows, since(desk), outcome.warnings) == (False, {None}, ())
    desk.ledger.put(9, "2024-06-03T00:00:00Z")
    rows, _ = await desk.run()
    assert since(desk) != {None}
    assert (4, "open") not in rows, "what was asked for in full is newer than what was merged"


async def test_an_ordinary_run_never_takes_what_was_merged(desk: Desk) -> None:
    await desk.run()
    desk.ledger.put(8, "2024-06-02T00:00:00Z")
    await desk.run()
    cache = RowCache(desk.folder / "rows", every=True, ttl=1e9)
    client = WebClient()
    catalog = load_catalog([desk.folder / "fff.yaml"], environ={}, cwd=desk.folder, client=client)
    async with Federation(catalog, client, cache=cache) as federation:
        execution = federation.execute(federation.prepare("SELECT id FROM t"))
        rows = [row async for batch in execution.batches() for row in batch.column(0).to_pylist()]
    assert sorted(rows) == [1, 2, 3, 4, 5, 6, 7], "the scan that was read in full, of before"


async def test_changes_that_do_not_come_whole_are_no_answer_and_not_kept(
    desk: Desk,
) -> None:
    await desk.run()
    for number in range(10, 15):
        desk.ledger.put(number, "2024-06-03T00:00:00Z")
    desk.ledger.cut = True
    with pytest.raises(SourceError, match="HTTP 403"):
        await desk.run()
    desk.ledger.cut = False
    rows, outcome = await desk.run()
    assert (outcome.complete, len(rows), since(desk)) == (True, 12, {"2024-05-06T23:00:00Z"})


async def test_a_changed_row_without_a_key_has_all_asked_for(desk: Desk) -> None:
    await desk.run()
    desk.ledger.put(None, "2024-06-01T00:00:00Z")
    rows, outcome = await desk.run()
    assert None in since(desk)
    assert (len(rows), outcome.complete) == (8, True)


SOME = "SELECT id FROM t WHERE level >= 1"


async def test_a_read_under_conditions_is_not_kept_as_the_whole_where_nothing_said_since_when(
    desk: Desk,
) -> None:
    desk.ledger.rows.clear()
    await desk.run()
    await desk.run(SOME)
    for number in range(1, 6):
        desk.ledger.put(number, f"2024-05-0{number}T00:00:00Z", "open" if number > 2 else "closed")
    assert len((await desk.run(SOME))[0]) == 3
    rows, outcome = await desk.run()
    assert ([id_ for id_, _ in rows], outcome.complete) == ([1, 2, 3, 4, 5], True)
    desk.ledger.put(6, "2024-06-01T00:00:00Z")
    rows, _ = await desk.run()
    assert (len(rows), None in since(desk)) == (6, False), "what was read in full is built on"


async def test_a_read_under_conditions_is_not_kept_as_the_whole_where_a_changed_row_had_no_key(
    desk: Desk,
) -> None:
    desk.ledger.put(1, "2024-05-01T00:00:00Z", "closed")
    await desk.run()
    await desk.run(SOME)
    desk.ledger.put(None, "2024-06-01T00:00:00Z")
    assert len((await desk.run(SOME))[0]) == 7
    del desk.ledger.rows[-1]
    rows, outcome = await desk.run()
    assert ([id_ for id_, _ in rows], outcome.complete) == ([1, 2, 3, 4, 5, 6, 7], True)
