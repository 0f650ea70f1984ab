"""No door hands on what a failing server repeats of the secrets that it was asked with, whatever it makes of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from aiohttp import web

from tests.api.postgres_serving import standing
from tests.api.serving import serving
from tests.engine.site import Site
from tests.web.echoes import FORMS, PLAIN, SECRET, leaks

AUTHS: dict[str, dict[str, Any]] = {
    "bearer": {"auth": {"type": "bearer", "token": PLAIN}},
    "basic": {"auth": {"type": "http_basic", "username": "me", "password": SECRET}},
    "header": {"auth": {"type": "api_key", "name": "X-Key", "api_key": PLAIN}},
    "query": {"auth": {"type": "api_key", "name": "k", "api_key": SECRET, "location": "query"}},
}


@dataclass
class Echo(Site):
    """Fails with what it was asked with, in a form by the path; behind a first page where it is asked for pages."""

    tables: Any = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "offset" in request.query and request.query["offset"] == "0":
            return web.json_response({"items": [{"a": 1}], "total": 9})
        key = request.headers.get("Authorization") or request.headers.get("X-Key") or request.query["k"]
        form = FORMS[int(request.path.rpartition("/")[2])]
        written = form(key.removeprefix("Basic "))
        if key.startswith("Basic "):
            written += f" {form(base64.b64decode(key[6:]).decode())}"
        return web.json_response({"error": written, "asked": str(request.rel_url)}, status=400)


def spec(folder: Path, url: str) -> Path:
    """A source for each way to prove who asks, of tables that fail at once and one that fails later."""
    pages = {"type": "offset", "offset_param": "offset", "total_path": "total"}
    ends = {f"t{form}": {"path": f"{form}"} for form in range(len(FORMS))}
    ends["part"] = {"path": "0", "paginator": pages}
    tables = {
        name: {"columns": {"a": "int"}, "scan": {"endpoint": end | {"data_selector": "items"}}}
        for name, end in ends.items()
    }
    common = {"base_url": url, "retry": {"max_attempts": 1}}
    sources = {name: {"client": common | auth, "tables": tables} for name, auth in AUTHS.items()}
    path = folder / "fff.yaml"
    path.write_text(json.dumps({"version": 1, "sources": sources}), encoding="utf-8")
    return path


WHOLLY = [f"SELECT a FROM {name}.t{form}" for form in range(len(FORMS)) for name in AUTHS]
PARTLY = [f"SELECT a FROM {name}.part" for name in AUTHS]


def test_what_is_unpacked_would_be_noticed() -> None:
    for form in FORMS:
        assert leaks(f"the server says: {form(SECRET)}"), form(SECRET)
        assert leaks(f"the server says: {form(PLAIN)}"), form(PLAIN)


@pytest.fixture
def path(publish: Any, tmp_path: Path) -> Path:
    published = yaml.safe_load(publish(Echo(), {}).read_text(encoding="utf-8"))
    return spec(tmp_path, published["sources"]["web"]["client"]["base_url"])


async def check(ask: Callable[[str], Awaitable[str]], every: int = 1) -> None:
    """`ask`: all that a door says to a statement; `every`: the how manieth of them are tried."""
    texts = [await ask(sql) for sql in WHOLLY[::every]]
    assert [text for text in texts if "HTTP 400" not in text or "***" not in text] == [], (
        "the server is quoted"
    )
    texts += [await ask(sql) for sql in PARTLY]
    assert [text for text in texts if leaks(text)] == []


async def test_over_http(path: Path) -> None:
    async with serving(path) as client:

        async def ask(sql: str) -> str:
            answer = await client.query(sql, report=True)
            later = await client.call("GET", f"/v1/queries/{answer.headers.get('X-FFF-Query', '')}")
            return f"{answer.data.decode()} {dict(answer.headers)} {later.data.decode()}"

        await check(ask)


@pytest.mark.skipif(find_spec("duckdb") is None, reason="pip install 'fff[duckdb]'")
async def test_over_postgresql(path: Path) -> None:
    async with standing(path, only=tuple(AUTHS)) as server, await server.connect() as client:
        notices: list[str] = []
        client.add_notice_handler(lambda notice: notices.append(_diagnosed(notice)))
        await client.execute("SET fff.partial = on")

        async def ask(sql: str) -> str:
            notices.clear()
            try:
                await client.execute(sql)
            except psycopg.Error as error:
                notices.extend([str(error), _diagnosed(error.diag)])
            return " ".join(notices)

        await check(ask, every=5)


def _diagnosed(of: psycopg.errors.Diagnostic) -> str:
    return f"{of.message_primary} {of.message_detail} {of.message_hint} {of.context}"


@pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")
async def test_over_mcp(path: Path) -> None:
    import mcp

    from fff_cli.mcp.agents import Agents
    from fff_cli.mcp.server import server_of

    async with Agents((path,)) as agents, mcp.Client(server_of(agents)) as session:

        async def ask(sql: str) -> str:
            reply = await session.call_tool("query", {"sql": sql})
            texts = [str(part.text) for part in reply.content] + [json.dumps(reply.structured_content)]
            if not reply.is_error:
                handle = reply.structured_content["handle"]
                report = await session.call_tool("read_report", {"handle": handle})
                texts.append(json.dumps(report.structured_content))
            return " ".join(texts)

        await check(ask, every=5)
