"""A checkpoint and the cache hold no secret: neither what proved who asks, nor what a source made of it in rows, heads and links."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.access.disk.journal import Journal
from fff.opening import open_federation
from tests.engine.cached import JOIN, World
from tests.engine.site import Site, rows_of, run
from tests.web.echoes import FORMS, PLAIN, SECRET, leaks
from tests.web.serving import Serve

COOKIE = "cOOKIE0123456789tsr"
WRITTEN = "qLITERAL0123456789wvu"
TOKEN = "tokBOUGHT9876543210zyxw"
DIGITS = "8273645546372891"
TOKENS = {
    "type": "oauth2_client_credentials",
    "access_token_url": "URL/token",
    "client_id": "me",
    "client_secret": SECRET,
}
#: By source: its `client`, and what is sent in bodies.
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bearer": ({"auth": {"type": "bearer", "token": PLAIN}}, {}),
    "basic": ({"auth": {"type": "http_basic", "username": "me", "password": SECRET}}, {}),
    "header": ({"headers": {"X-Key": "${env:KEY}"}}, {}),
    "literal": ({"headers": {"Authorization": f"Bearer {WRITTEN}"}}, {}),
    "written": ({}, {"method": "POST", "json": {"key": {"api_key": WRITTEN}}}),
    "query": ({"auth": {"type": "api_key", "name": "k", "api_key": SECRET, "location": "query"}}, {}),
    "oauth": ({"auth": TOKENS}, {}),
    "body": ({}, {"method": "POST", "json": {"key": "${env:KEY}"}}),
}


async def answer(request: web.Request) -> web.StreamResponse:
    """Rows, a head and a link with what was proved, in the form that the path names."""
    if request.path == "/token":
        return web.json_response({"access_token": TOKEN, "expires_in": 3600})
    sent = (await request.json())["key"] if request.method == "POST" else None
    body = sent["api_key"] if isinstance(sent, dict) else sent
    key = body or request.headers.get("Authorization") or request.headers.get("X-Key") or request.query["k"]
    where, _, form = request.path.rpartition("/")
    if form == "plain":
        return web.json_response(
            {"items": [{"id": 1, "x": "y"}]}, headers={"Set-Cookie": f"session={COOKIE}"}
        )
    texts = [FORMS[int(form)](key.removeprefix("Basic "))]
    if key.startswith("Basic "):
        texts.append(FORMS[int(form)](base64.b64decode(key[6:]).decode()))
    if where == "/head":
        return web.json_response(
            {"items": [{"id": 1, "x": "y"}]}, headers={"X-Echo": " ".join(texts), "ETag": '"1"'}
        )
    return web.json_response(
        {"items": [{"id": int(form), "x": text} for text in texts]}, headers={"ETag": '"1"'}
    )


def spec(url: str) -> str:
    sources = {}
    for name, (client, sent) in SOURCES.items():
        ends = {f"{kind}{form}": f"{kind}/{form}" for kind in ("rows", "head") for form in range(len(FORMS))}
        tables: dict[str, Any] = {
            table: {"scan": {"endpoint": {"path": path, "data_selector": "items"} | sent}}
            for table, path in ({"plain": "rows/plain"} | ends).items()
        }
        lookup = {"keys": ["id"], "endpoint": {"path": "rows/{id}", "data_selector": "items"} | sent}
        tables["k"] = {
            "key_columns": [{"name": "id", "require": "any_of", "operators": ["="]}],
            "lookups": [lookup],
        }
        for table in tables.values():
            table["columns"] = {"id": "int", "x": "string"}
        sources[name] = {"client": {"base_url": url} | client, "tables": tables}
    return json.dumps({"version": 1, "sources": sources}).replace("URL", url)


def kept(folder: Path) -> list[bytes]:
    """All that stands in a checkpoint's files, unpacked."""
    journal = Journal(folder)
    try:
        answers = [journal.take(name) for name in [*journal._known]]
    finally:
        journal.close()
    parts = [
        part for one in answers if one is not None for part in (json.dumps(dict(one[0])).encode(), one[1])
    ]
    return parts + [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


async def test_no_secret_is_in_a_checkpoint(serve: Serve, tmp_path: Path) -> None:
    server = await serve(answer)
    (tmp_path / "fff.yaml").write_text(spec(server.url), encoding="utf-8")
    federation = open_federation(
        [tmp_path / "fff.yaml"], environ={"KEY": SECRET}, checkpoint=tmp_path / "kept"
    )
    async with federation:
        for number, name in enumerate(SOURCES):
            forms = range(number % 4, len(FORMS), 4)  # each form of two sources
            names = ["plain", *(f"{kind}{form}" for kind in ("rows", "head") for form in forms)]
            keys = ", ".join(map(str, forms))
            every = " UNION ALL ".join(f"SELECT id, x FROM {name}.{table}" for table in names)
            sql = f"{every} UNION ALL SELECT id, x FROM {name}.k WHERE id IN ({keys})"
            execution = federation.execute(federation.prepare(sql))
            assert len(await rows_of(execution)) >= 3 * len(forms) + 1
            assert execution.outcome.complete
    parts = kept(tmp_path / "kept")
    assert sum(b'"x": "y"' in part for part in parts) >= len(SOURCES), "what holds none is kept"
    texts = [part.decode(code, "replace") for part in parts for code in ("utf-8", "utf-16-le")]
    assert [text for text in texts if leaks(text, SECRET, PLAIN, TOKEN, WRITTEN, COOKIE)] == []


@pytest.mark.parametrize(
    ("kind", "secret"),
    [("string", SECRET), ("string", TOKEN), ("bigint", DIGITS), ("decimal(20,2)", DIGITS)],
)
async def test_no_secret_is_kept_as_a_key_a_condition_or_a_number(
    serve: Serve, tmp_path: Path, kind: str, secret: str
) -> None:
    value = secret if kind == "string" else int(secret)
    literal = "'" + secret.replace("\\", "\\\\").replace("'", "\\'") + "'" if kind == "string" else secret

    async def told(request: web.Request) -> web.StreamResponse:
        rows = [{"id": n, "tok": value} for n in range(2)]
        return web.json_response([] if request.path == "/l" or "tok" in request.query else rows)

    columns = {"id": "int", "tok": kind}
    by_key = {"keys": ["tok"], "endpoint": {"path": "l", "params": {"q": "{tok}"}}}
    tables = {
        "t": {
            "columns": columns,
            "key_columns": [{"name": "tok", "operators": ["="]}],
            "scan": {"endpoint": "t"},
        },
        "l": {
            "columns": {"tok": kind, "d": "string"},
            "key_columns": [{"name": "tok", "require": "required"}],
            "lookups": [by_key],
        },
    }
    world = World((await serve(told)).url, Site({}), tmp_path, tables, environ={"KEY": secret})
    world.client = {"auth": {"type": "bearer", "token": "${env:KEY}"}}
    for sql, count in (
        ("SELECT id FROM t", 2),
        (f"SELECT id FROM t WHERE tok = {literal}", 0),
        (f"SELECT d FROM l WHERE tok = {literal}", 0),
    ):
        async with world.federation() as federation:
            rows, execution = await run(federation, sql)
        assert (len(rows), execution.outcome.complete) == (count, True)
    files = [path for path in world.kept.rglob("*") if path.is_file()]
    data = b"".join(path.read_bytes() for path in files)
    assert files
    assert not leaks(data.decode(errors="replace"), secret)
    assert not isinstance(value, int) or value.to_bytes(8, "little") not in data
    assert not list(world.kept.glob("*.arrow")), "nor is it packed somewhere"


async def test_numbers_are_kept_of_a_source_whose_secret_is_none(world: World) -> None:
    world.client, world.environ = {"auth": {"type": "bearer", "token": "${env:KEY}"}}, {"KEY": DIGITS}
    rows, *_ = await world.run(JOIN)
    again, sent, _ = await world.run(JOIN)
    assert (again, sent) == (rows, 0), "they are looked at, and are others"
