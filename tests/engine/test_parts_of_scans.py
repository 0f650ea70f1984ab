"""EOT of a predicate: what a window of a scan covers is released, asked for no more, and missing by itself."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.federation import RunOptions
from tests.engine.site import federated, run
from tests.web.serving import Serve

PEOPLE = [{"id": n, "n": n * 3} for n in range(10)] + [{"id": 99, "n": None}]
EVENTS = [{"eid": n, "m": n} for n in range(30) if n % 2]


@dataclass
class Windowed:
    """People in one page, events by range (`from`, `to`) and by key; a window may fail or hang."""

    fails: str | None = None  # by where it ends
    hangs: str | None = None
    asked: list[str] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/people":
            return web.json_response(PEOPLE)
        if request.path.startswith("/event/"):
            self.keys.append(int(request.path.rpartition("/")[2]))
            return web.json_response([one for one in EVENTS if one["m"] == self.keys[-1]])
        low, high = request.query["from"], request.query["to"]
        self.asked.append(low)
        if high == self.fails:
            return web.json_response({"error": "no"}, status=500)
        if low == self.hangs:
            await self.over.wait()
        return web.json_response([one for one in EVENTS if int(low) <= one["m"] < int(high)])


def tables(*, lookup: bool = False) -> dict[str, Any]:
    events: dict[str, Any] = {
        "columns": {"eid": "int", "m": "int"},
        "key_columns": [
            {"name": "m", "operators": [">=", "<", *["="] * lookup], "param": {">=": "from", "<": "to"}}
        ],
        "scan": {
            "endpoint": {"path": "events"},
            "windows": {"column": "m", "start": 0, "end": 30, "size": 10, "outside": "none", "nulls": "none"},
        },
    }
    if lookup:
        events["lookups"] = [{"keys": ["m"], "endpoint": {"path": "event/{m}"}}]
    return {
        "p": {"columns": {"id": "int", "n": "int"}, "scan": {"endpoint": {"path": "people"}}},
        "e": events,
    }


LEFT = "SELECT p.id, e.eid FROM p LEFT JOIN e ON e.m = p.n"
INNER = "SELECT p.id, e.eid FROM p JOIN e ON e.m = p.n"
ANTI = "SELECT p.id FROM p LEFT ANTI JOIN e ON e.m = p.n"
ALL = {one["id"]: one["n"] for one in PEOPLE}


@pytest.mark.parametrize("sql", [LEFT, ANTI])
async def test_who_has_every_match_by_the_windows_that_ended_goes_on_at_once(
    serve: Serve, tmp_path: Path, sql: str
) -> None:
    site = Windowed(hangs="20")
    async with federated(serve, site, tmp_path, tables()) as (federation, _):  # type: ignore[arg-type]
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        found: list[Any] = []
        async for batch in execution.batches():
            found += batch.column(0).to_pylist()
            settled = {one for one, n in ALL.items() if n is None or (n < 20 and (sql == LEFT or not n % 2))}
            if not site.over.is_set() and set(found) == settled:
                site.over.set()  # else it waits for ever, and the test with it
        snapshot = execution.snapshot()
    assert not snapshot.missing
    assert sorted(found) == sorted(one for one, n in ALL.items() if sql == LEFT or n is None or not n % 2)


async def test_just_the_window_that_failed_is_missing(serve: Serve, tmp_path: Path) -> None:
    for sql, wanted in (
        (INNER, {one for one, n in ALL.items() if n is not None and n % 2 and not 10 <= n < 20}),
        (LEFT, {one for one, n in ALL.items() if n is None or not 10 <= n < 20}),
        (ANTI, {one for one, n in ALL.items() if n is None or (not n % 2 and not 10 <= n < 20)}),
    ):
        site = Windowed(fails="20")
        async with federated(serve, site, tmp_path, tables()) as (federation, _):  # type: ignore[arg-type]
            found, execution = await run(federation, sql, on_source_error="partial")
            assert {row[0] for row in found} == wanted
            (part,) = execution.snapshot().missing
        assert (part.table, part.predicate) == ("web.e", "m >= 10 AND m < 20")
        assert part.reason.startswith("HTTP 500")
        assert sorted(set(site.asked)) == ["0", "10", "20"]
        with pytest.raises(SourceError, match="HTTP 500"):
            async with federated(serve, site, tmp_path, tables()) as (federation, _):  # type: ignore[arg-type]
                await run(federation, sql, on_source_error="fail")


async def test_of_the_window_that_failed_what_is_wanted_is_missing(serve: Serve, tmp_path: Path) -> None:
    site = Windowed(fails="20")
    async with federated(serve, site, tmp_path, tables()) as (federation, _):  # type: ignore[arg-type]
        found, execution = await run(federation, "SELECT m FROM e WHERE m > 12", on_source_error="partial")
    assert found == [(n,) for n in range(21, 30, 2)]
    assert [part.predicate for part in execution.snapshot().missing] == ["m > 12 AND m < 20"]


async def test_keys_make_up_for_the_window_that_failed_alone(serve: Serve, tmp_path: Path) -> None:
    site = Windowed(fails="20")
    async with federated(serve, site, tmp_path, tables(lookup=True)) as (federation, _):  # type: ignore[arg-type]
        found, execution = await run(federation, INNER, policy="naive")
    assert [row[0] for row in found] == [one for one, n in ALL.items() if n is not None and n % 2]
    assert not execution.snapshot().missing
    assert sorted(site.keys) == [12, 15, 18], (
        "the other windows tell of all other keys, those without a row too"
    )


async def test_where_no_window_answers_the_others_are_not_tried(serve: Serve, tmp_path: Path) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        asked.add(request.query["from"])
        return web.json_response({"error": "no"}, status=403)

    asked = set[str]()
    site = Windowed()
    site.answer = refuse  # type: ignore[method-assign]
    many = tables()
    many["e"]["scan"]["windows"] |= {"size": 1}
    async with federated(serve, site, tmp_path, many) as (federation, _):  # type: ignore[arg-type]
        for where, predicate in (("", "true"), ("WHERE m >= 12", "m >= 12")):
            sql = f"SELECT eid FROM e {where}"
            _, execution = await run(federation, sql, on_source_error="partial")
            assert [part.predicate for part in execution.snapshot().missing] == [predicate]
    assert len(asked) <= 16, "those that were under way"
