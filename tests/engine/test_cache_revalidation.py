"""What is no longer fresh is asked for with its validator: only what has changed is sent, and no mixture passes for an answer."""

from __future__ import annotations

import collections
import datetime as dt
import email.utils
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from fff.access.disk.policy import RowCache
from fff.access.disk.responses import Replies
from fff.access.disk.store import RowStore
from fff.errors import SourceError
from fff.federation import Federation
from fff.web.client import WebClient
from fff.web.types import HostPolicy, RawResponse, Remembered
from fff.web.validators import remembered
from fff_sources.load import load_catalog
from tests.engine.cached import JOIN, TABLES, World, site
from tests.engine.joins import SHAPES, mixed, oracle, random_site
from tests.engine.site import Row, Site, access, run
from tests.web.serving import Serve

CONDITIONS = ("If-None-Match", "If-Modified-Since")
LONG_AGO = "Tue, 14 Nov 2023 22:13:20 GMT"


def etag(_: web.Request, body: bytes) -> dict[str, str]:
    return {"ETag": f'W/"{hashlib.sha256(body).hexdigest()[:20]}"'}


@dataclass
class Validating:
    """Answers of a site with validators, and 304 where they are named and hold."""

    site: Site
    validators: Callable[[web.Request, bytes], dict[str, str]] = etag
    conditions: list[str] = field(default_factory=list)  # as they came
    statuses: collections.Counter[int] = field(default_factory=collections.Counter)

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        answer = await self.site.answer(asked)
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        named = [asked.headers[name] for name in CONDITIONS if name in asked.headers]
        self.conditions += named
        headers = self.validators(asked, answer.body) if answer.status == 200 else {}
        if named and named[0] in headers.values():
            answer = web.Response(status=304, headers=headers)
        else:
            answer.headers.update(headers)
        self.statuses[answer.status] += 1
        return answer


@pytest.fixture
async def server() -> Validating:
    return Validating(site())


@pytest.fixture
async def world(serve: Serve, tmp_path: Path, server: Validating) -> World:
    served = await serve(server.answer)
    return World(served.url, server.site, tmp_path, TABLES)


async def later(world: World, server: Validating, sql: str = JOIN, **options: Any) -> tuple[list[Row], Any]:
    """Run when nothing is fresh any more; the rows, and the statuses that came."""
    world.now += 1000
    server.statuses.clear()
    server.conditions.clear()
    rows, *_ = await world.run(sql, **options)
    return rows, dict(server.statuses)


def replace_row(server: Validating, table: str, at: int, row: Row) -> None:
    server.site.tables[table][1][at] = row


async def test_what_has_not_changed_is_not_sent_again(world: World, server: Validating) -> None:
    rows, *_ = await world.run(JOIN)
    assert server.conditions == []
    world.now += 1000
    async with world.federation() as federation:
        again, execution = await run(federation, JOIN)
        told = execution.outcome.report["access"]
    assert again == rows
    assert sum(one["requests"] for one in told) == sum(one["revalidated"] for one in told) == 8
    assert server.statuses == {200: 8, 304: 8}
    assert [one["bytes"] for one in told] == [0, 0], "no body came"
    assert [one["cached"] for one in told] == [0, 0]
    assert (await world.run(JOIN))[:2] == (rows, 0), "the rows are fresh again"
    assert await later(world, server) == (rows, {304: 8}), "and may be asked for so again and again"


@pytest.mark.parametrize("at", [0, 12, 24])
async def test_a_scan_of_which_one_page_changed(world: World, server: Validating, at: int) -> None:
    before, *_ = await world.run("SELECT a, b FROM r")
    replace_row(server, "r", at, (100, 200))
    rows, statuses = await later(world, server, "SELECT a, b FROM r")
    assert statuses == {200: 1, 304: 2}
    assert len(rows) == len(before)
    assert set(rows) - set(before) == {(100, 200)}
    assert (await world.run("SELECT a, b FROM r"))[:2] == (rows, 0)


async def test_rows_that_move_from_page_to_page(world: World, server: Validating) -> None:
    await world.run("SELECT a, b FROM r")
    server.site.tables["r"][1].insert(0, (100, 200))
    rows, statuses = await later(world, server, "SELECT a, b FROM r")
    assert statuses == {200: 3}
    assert len(rows) == len(set(rows)) == 26
    del server.site.tables["r"][1][5:]
    rows, statuses = await later(world, server, "SELECT a, b FROM r")
    assert (len(rows), statuses) == (5, {200: 1})


async def test_keys_that_appear_and_vanish(world: World, server: Validating) -> None:
    sql = "SELECT a, c FROM s WHERE b IN (1, 2, 9)"
    assert (await world.run(sql))[0] == [(1, "s1"), (2, "s2")]
    replace_row(server, "s", 1, (9, 9, "s9"))
    assert await later(world, server, sql) == ([(2, "s2"), (9, "s9")], {200: 2, 304: 1})


async def test_a_failure_on_the_way_leaves_no_mixture(world: World, server: Validating) -> None:
    await world.run("SELECT a, b FROM r")
    replace_row(server, "r", 0, (100, 200))
    server.site.faults = {("r", "scan@20"): 500}
    rows, statuses = await later(world, server, "SELECT a, b FROM r", on_source_error="partial")
    assert statuses == {200: 1, 304: 1, 500: 1}
    assert len(rows) == 20
    server.site.faults = {}
    server.statuses.clear()
    rows, sent, _ = await world.run("SELECT a, b FROM r")
    assert (len(rows), sent, dict(server.statuses)) == (25, 3, {304: 3}), "what came is remembered, as pages"
    assert (100, 200) in rows


# ---------------------------------------------------------------------------------------------------------- validators


def modified(_: web.Request, body: bytes) -> dict[str, str]:
    changed = b"200" in body  # row 100, 200
    return {"Last-Modified": "Wed, 15 Nov 2023 22:13:20 GMT" if changed else LONG_AGO}


async def test_last_modified(world: World, server: Validating) -> None:
    server.validators = modified
    await world.run("SELECT a, b FROM r")
    replace_row(server, "r", 0, (100, 200))
    rows, statuses = await later(world, server, "SELECT a, b FROM r")
    assert statuses == {200: 1, 304: 2}
    assert server.conditions == [LONG_AGO] * 3
    assert (100, 200) in rows


def just_now(_: web.Request, body: bytes) -> dict[str, str]:
    del body
    return {"Last-Modified": email.utils.format_datetime(dt.datetime.now(dt.UTC), usegmt=True)}


WITHOUT: dict[str, Callable[[web.Request, bytes], dict[str, str]]] = {
    "no validator": lambda _, __: {},
    "what is not to be stored": lambda asked, body: {
        "Cache-Control": "private, No-Store",
        **etag(asked, body),
    },
    "what varies with everything": lambda asked, body: {"Vary": "*", **etag(asked, body)},
    "a change that the next second may repeat": just_now,
    "no date": lambda _, __: {"Last-Modified": LONG_AGO, "Date": "yesterday"},
    "no moment": lambda _, __: {"Last-Modified": "yesterday"},
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WITHOUT)
async def test_nothing_is_asked_for_with_a_condition(world: World, server: Validating, what: str) -> None:
    server.validators = WITHOUT[what]
    rows, *_ = await world.run(JOIN)
    assert await later(world, server) == (rows, {200: 8})
    assert server.conditions == []


async def test_a_server_that_does_not_mind_conditions(world: World, server: Validating) -> None:
    rows, *_ = await world.run(JOIN)
    counter = iter(range(10_000))
    server.validators = lambda _, __: {"ETag": f'"{next(counter)}"'}
    assert await later(world, server) == (rows, {200: 8})
    assert len(server.conditions) == 8


# ---------------------------------------------------------------------------------------------------------- who may ask


def _bearer(name: str) -> dict[str, Any]:
    return {"auth": {"type": "bearer", "token": f"${{env:{name}}}"}}


@pytest.mark.slow
async def test_another_credential_names_no_validator(world: World, server: Validating) -> None:
    world.environ = {"ALICE": "s3cret-of-alice", "BOB": "s3cret-of-bob"}
    world.client = _bearer("ALICE")
    rows, *_ = await world.run(JOIN)
    others: list[dict[str, Any]] = [
        _bearer("BOB"),
        {},
        {"headers": {"X-Key": "${env:BOB}"}},
        {"auth": {"type": "http_basic", "username": "alice", "password": "${env:BOB}"}},
        {"auth": {"type": "http_basic", "username": "carol", "password": "${env:BOB}"}},
        {"auth": {"type": "api_key", "name": "k", "api_key": "${env:BOB}x", "location": "query"}},
    ]
    for other in others:
        world.client = other
        assert (await later(world, server))[1] == {200: 8}, other
        assert server.conditions == [], other
        assert (await later(world, server))[1] == {304: 8}, "their own are theirs"
    world.client = _bearer("ALICE")
    assert await later(world, server) == (rows, {304: 8})
    for path in world.kept.rglob("*"):
        assert not path.is_file() or b"s3cret" not in path.read_bytes()


@pytest.mark.parametrize("secret", ["s1-is-long-enough", "s1"])
async def test_an_answer_that_repeats_a_secret_is_not_kept(
    world: World, server: Validating, secret: str
) -> None:
    world.client, world.environ = _bearer("TOKEN"), {"TOKEN": secret}
    replace_row(server, "s", 1, (1, 1, f"you said {secret}"))
    rows, *_ = await world.run(JOIN)
    again, sent, _ = await world.run(JOIN)
    assert (again, sent) == (rows, 1 if len(secret) > 8 else 0), "a word of two letters may stand anywhere"
    assert await later(world, server) == (rows, {304: 7, 200: 1} if len(secret) > 8 else {304: 8})
    await world.run("SELECT a, b, c FROM t")
    replace_row(server, "t", 15, (1, 1, f"you said {secret}"))
    world.now += 1000
    sent = [(await world.run("SELECT a, b, c FROM t"))[1] for _ in range(2)]
    assert sent == [3, 3 if len(secret) > 8 else 0]
    if len(secret) > 8:
        files = [path for path in world.kept.rglob("*") if path.is_file()]
        assert not [path.name for path in files if secret.encode() in path.read_bytes()]


async def test_another_query_of_the_url_is_another_request(world: World, server: Validating) -> None:
    await world.run("SELECT a, b FROM r")
    world.client = {"headers": {"Accept-Language": "de"}}
    assert (await later(world, server, "SELECT a, b FROM r"))[1] == {200: 3}
    world.client = {"headers": {"If-None-Match": '"own"'}}
    await later(world, server, "SELECT a, b FROM r")
    assert server.conditions == ['"own"'] * 3, "the spec's own condition stays"


# ------------------------------------------------------------------------------------------------------- on the wire


async def test_links_of_an_answer_that_has_not_changed_are_followed(serve: Serve, tmp_path: Path) -> None:
    """The link to the next page is in a header, which a 304 need not repeat."""
    pages = [[{"a": 1, "b": 1}], [{"a": 2, "b": 2}], [{"a": 3, "b": 3}]]
    statuses: list[int] = []

    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query.get("page", 0))
        if "If-None-Match" in asked.headers:
            statuses.append(304)
            return web.Response(status=304, headers={"Content-Type": "text/html"})
        statuses.append(200)
        link = f'<{asked.url.with_query(page=page + 1)}>; rel="next"'
        headers = {"ETag": f'"{page}"', **({"Link": link} if page < 2 else {})}
        return web.json_response(pages[page], headers=headers)

    served = await serve(handler)
    tables = {
        "r": {
            "columns": {"a": "int", "b": "int"},
            "scan": {"endpoint": {"path": "r", "paginator": "header_link"}},
        }
    }
    world = World(served.url, Site({}), tmp_path, tables)
    for _ in range(2):
        async with world.federation() as federation:
            rows, execution = await run(federation, "SELECT a FROM r")
        assert rows == [(1,), (2,), (3,)]
        assert execution.outcome.complete
        world.now += 1000
    assert statuses == [200] * 3 + [304] * 3


async def _twice(serve: Serve, tmp_path: Path, scan: dict[str, Any], answer: Callable[..., Any]) -> Any:
    """The rows and the completeness of a run, and of one whose requests are answered by a 304 with no more than the ETag."""
    statuses: list[int] = []

    async def handler(asked: web.Request) -> web.Response:
        rows, headers = answer(asked)
        body = json.dumps(rows).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()}"'
        statuses.append(304 if asked.headers.get("If-None-Match") == tag else 200)
        if statuses[-1] == 304:
            return web.Response(status=304, headers={"ETag": tag})
        return web.Response(body=body, content_type="application/json", headers={"ETag": tag, **headers})

    served = await serve(handler)
    world = World(served.url, Site({}), tmp_path, {"r": {"columns": {"a": "int"}, "scan": scan}})
    told = []
    for _ in range(2):
        async with world.federation() as federation:
            rows, execution = await run(federation, "SELECT a FROM r", on_source_error="partial")
        told.append((sorted(rows), execution.outcome.complete))
        world.now += 1000
    assert set(statuses[: len(statuses) // 2]) == {200}
    assert set(statuses[len(statuses) // 2 :]) == {304}
    return told


def _page(asked: web.Request) -> Any:
    page = int(asked.query.get("page", 1))
    return [{"a": 2 * page - 1}, {"a": 2 * page}] if page <= 2 else [], {"X-WP-TotalPages": "2"}


def _cursor(_: web.Request) -> Any:
    return [{"a": 1}, {"a": 2}], {"X-Next-Cursor": "abc"}


def _one_of_many(_: web.Request) -> Any:
    return [{"a": 1}, {"a": 2}], {"X-Total-Count": "4"}


def _partial(_: web.Request) -> Any:
    return [{"a": 1}, {"a": 2}], {"X-Partial-Results": "true"}


@pytest.mark.parametrize("answer", [_page, _cursor, _one_of_many, _partial])
async def test_what_a_header_says_of_the_rows_counts_after_a_304(
    serve: Serve, tmp_path: Path, answer: Callable[..., Any]
) -> None:
    first, second = await _twice(serve, tmp_path, {"endpoint": "r"}, answer)
    whole = answer is _page
    assert first == ([(a,) for a in range(1, 5 if whole else 3)], whole)
    assert second == first


def test_a_header_may_be_in_any_encoding() -> None:
    answer = Remembered('"1"', "", {"x-who": b"Caf\xe9".decode("utf-8", "surrogateescape")}, b"[]")
    assert answer.said == b'"1"\n\nCaf\xe9'


def test_what_is_about_one_exchange_is_not_kept() -> None:
    passing = {
        "set-cookie": "session=1",
        "date": LONG_AGO,
        "age": "7",
        "retry-after": "3",
        "connection": "keep-alive, X-Hop",
        "x-hop": "1",
        "x-ratelimit-remaining": "0",
        "ratelimit": "q;r=0",
        "x-left": "0",
        "content-length": "2",
    }
    said = {"etag": '"1"', "x-wp-totalpages": "2", "content-type": "application/json"}
    kept = remembered(RawResponse(200, {**passing, **said}, b"[]"), HostPolicy(remaining_header="X-Left"))
    assert kept is not None
    assert kept.headers == said
    now = kept.renewed({"x-wp-totalpages": "3", "date": LONG_AGO, "content-length": "0"})
    assert now == {**said, "x-wp-totalpages": "3", "date": LONG_AGO}, "what a 304 says anew counts"


@pytest.mark.parametrize("kind", ["files", "rest"])
async def test_columns_that_have_to_be_found_out_are_asked_for_with_a_validator(
    serve: Serve, tmp_path: Path, kind: str
) -> None:
    statuses: list[int] = []
    body = b'[{"a": 1}, {"a": 2}]'

    async def handler(asked: web.Request) -> web.Response:
        statuses.append(304 if "If-None-Match" in asked.headers else 200)
        if statuses[-1] == 304:
            return web.Response(status=304)
        return web.Response(body=body, content_type="application/json", headers={"ETag": '"1"'})

    served = await serve(handler)
    tables = {"t": {"urls": ["t.json"]}} if kind == "files" else {"t": {"scan": {"endpoint": "t.json"}}}
    source = {"type": kind, "client": {"base_url": served.url, "cache": {"ttl": 100}}, "tables": tables}
    file = tmp_path / "fff.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "sources": {"web": source}}), encoding="utf-8")
    for _ in range(2):
        client = WebClient()
        catalog = load_catalog([file], environ={}, cwd=tmp_path, client=client)
        async with Federation(catalog, client, cache=RowCache(tmp_path / "rows")) as federation:
            await federation.discover("SELECT a FROM web.t")
            rows, _ = await run(federation, "SELECT a FROM web.t")
        assert rows == [(1,), (2,)]
    assert statuses[-1] == 304
    assert statuses.count(200) == 1, "the second run got no body"


@pytest.mark.slow
async def test_a_body_that_breaks_off_and_changes_back_is_no_mixture(serve: Serve, tmp_path: Path) -> None:
    """Lines are handed on while they arrive; the remembered body must not be taken for the rest of another."""
    lines = 300_000
    old = b"a\n" + b"1234\n" * lines
    new = b"a\n" + b"5678\n" * lines
    turns = iter(["old", "unchanged", "broken", "unchanged"])

    async def handler(asked: web.Request) -> web.StreamResponse:
        turn = next(turns)
        assert ("If-None-Match" in asked.headers) == (turn != "old")
        if turn == "unchanged":
            return web.Response(status=304)
        answer = web.StreamResponse(headers={"ETag": f'"{turn}"', "Content-Type": "text/csv"})
        answer.content_length = len(old)
        await answer.prepare(asked)
        await answer.write(old if turn == "old" else new[: len(new) - 10])
        if turn == "broken":
            assert asked.transport is not None
            asked.transport.close()
        return answer

    served = await serve(handler)
    scan = {"endpoint": {"path": "r", "format": "csv"}}
    world = World(served.url, Site({}), tmp_path, {"r": {"columns": {"a": "int"}, "scan": scan}})
    world.client = {"retry": {"max_attempts": 2, "base_delay": 0, "max_delay": 0}}
    for _ in range(2):
        async with world.federation() as federation:
            rows, _ = await run(federation, "SELECT a FROM r")
        assert collections.Counter(rows) == {(1234,): lines}
        world.now += 1000
    async with world.federation() as federation:
        with pytest.raises(SourceError, match="another when it was asked for again"):
            await run(federation, "SELECT a FROM r", on_source_error="fail")


async def test_a_validator_belongs_to_one_url(serve: Serve, tmp_path: Path) -> None:
    """A redirect that leads elsewhere than before: its new target is not asked with the old one's validator."""
    target = "old"
    asked_with: list[tuple[str, str | None]] = []

    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/r":
            return web.Response(status=302, headers={"Location": f"/{target}"})
        asked_with.append((asked.path, asked.headers.get("If-None-Match")))
        if asked.headers.get("If-None-Match") == '"v1"':
            return web.Response(status=304, headers={"ETag": '"v1"'})
        return web.json_response([{"a": asked.path}], headers={"ETag": '"v1"'})

    served = await serve(handler)
    tables = {"r": {"columns": {"a": "string"}, "scan": {"endpoint": {"path": "r"}}}}
    world = World(served.url, Site({}), tmp_path, tables)
    found = []
    for turn in range(3):
        target = "new" if turn == 2 else "old"
        async with world.federation() as federation:
            rows, _ = await run(federation, "SELECT a FROM r")
        found += rows
        world.now += 1000
    assert found == [("/old",), ("/old",), ("/new",)]
    assert asked_with == [("/old", None), ("/old", '"v1"'), ("/new", None)]


async def test_a_304_that_nobody_asked_for_is_an_error(serve: Serve, tmp_path: Path) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=304)

    served = await serve(handler)
    tables = {"r": access("r", {"a": "int", "b": "int"})}
    world = World(served.url, Site({}), tmp_path, tables)
    with pytest.raises(SourceError, match="HTTP 304"):
        await world.run("SELECT a FROM r")


# ------------------------------------------------------------------------------------------------------------- damage


def _damage(world: World, change: str) -> None:
    with sqlite3.connect(world.kept / "index.sqlite") as db:
        assert db.execute(f"UPDATE reply SET {change}").rowcount == 8
    db.close()


@pytest.mark.parametrize(
    "change",
    [
        "body = zeroblob(length(body))",
        *(
            pytest.param(change, marks=pytest.mark.slow)
            for change in (
                "body = 'x'",
                "etag = '\"other\"'",
                "headers = '{}'",
                "mac = NULL",
                "used = 'x', etag = 7",
            )
        ),
    ],
)
async def test_damage_costs_a_body(world: World, server: Validating, change: str) -> None:
    rows, *_ = await world.run(JOIN)
    _damage(world, change)
    assert await later(world, server) == (rows, {200: 8})
    assert await later(world, server) == (rows, {304: 8})


async def test_bodies_go_first_and_count(world: World, server: Validating) -> None:
    await world.run(JOIN)
    cache = world.cache()
    held = {one.table: one.bytes for one in cache.store.held()}
    cache.store.clear("web")
    assert cache.store.held() == []
    cache.close()
    assert set(held) == {"r", "s"}
    assert (await later(world, server))[1] == {200: 8}


async def test_what_is_too_old_is_gone(world: World, server: Validating) -> None:
    rows, *_ = await world.run(JOIN)
    for _ in range(3):  # renewed each time
        world.now += 29 * 86400
        assert await later(world, server) == (rows, {304: 8})
    world.now += 31 * 86400
    await world.run("SELECT a FROM s WHERE b = 77")  # whatever is written drops what is too old
    assert await later(world, server) == (rows, {200: 8})


# ---------------------------------------------------------------------------------------------------------- differential


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
async def test_random_changes_are_seen(serve: Serve, tmp_path: Path, seed: int) -> None:
    """Whatever changes between two runs, the answer is that over the tables as they are."""
    rng = random.Random(seed)
    one = random_site(rng)
    server = Validating(one)
    served = await serve(server.answer)
    world = World(served.url, one, tmp_path, mixed(), duck=True)
    seen: collections.Counter[int] = collections.Counter()
    for sql in rng.choices(SHAPES, k=6):
        for _ in range(rng.choice([0, 1, 3])):
            names, rows = one.tables[rng.choice(sorted(one.tables))]
            del names
            if rows and rng.random() < 0.4:
                rows.pop(rng.randrange(len(rows)))
            elif len(rows) > 1:
                rows.insert(rng.randrange(len(rows)), rng.choice(rows))
        found, statuses = await later(
            world, server, sql, policy=rng.choice(["naive", "rank"]), seed=rng.randrange(99)
        )
        assert found == oracle(one, sql), (seed, sql)
        seen += collections.Counter(statuses)
    assert seen[200]
    assert seen[304]


async def test_what_others_have_kept_is_looked_for_with_each_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not with each request, most of which find nothing."""
    looks = []
    has_replies = RowStore.has_replies
    monkeypatch.setattr(RowStore, "has_replies", lambda store: looks.append(store) or has_replies(store))
    caches = [RowCache(tmp_path / "rows", every=True) for _ in range(3)]
    here, there, own = (Replies(cache.store) for cache in caches)
    assert [here.is_empty for _ in range(100)] == [True] * 100
    assert len(looks) == 1
    await there.keep(b"request", ("s", "t"), Remembered('"a"', "", {}, b"body"))
    assert not there.is_empty, "what is not written yet counts"
    caches[1].flush()
    here.look()
    assert not here.is_empty
    assert await here.find(b"request") is not None
    assert not own.is_empty
    for cache in caches:
        cache.close()
