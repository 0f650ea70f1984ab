"""A checkpoint holds no secret: neither what proved who asks, nor what a source made of it in rows, heads and links."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from aiohttp import web

from fff.access.disk.journal import Journal
from fff.opening import open_federation
from tests.engine.site import rows_of
from tests.web.echoes import FORMS, PLAIN, SECRET, leaks
from tests.web.serving import Serve

COOKIE = "cOOKIE0123456789tsr"
WRITTEN = "qLITERAL0123456789wvu"
TOKEN = "tokBOUGHT9876543210zyxw"
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
