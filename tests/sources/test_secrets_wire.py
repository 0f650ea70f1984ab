"""A secret goes to the declared host and nowhere else: not into any text, report or traceback, not to another host."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web

from fff.errors import FFFError, SourceError, SpecError
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
SECRET = 's3/cr+et& "läng" =%41'
SPELLINGS = [
    SECRET, quote(SECRET, safe=""), quote(SECRET), quote_plus(SECRET), quote(SECRET, safe="").lower(), json.dumps(SECRET)[1:-1],
    json.dumps(SECRET, ensure_ascii=False)[1:-1], json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    base64.b64encode(f"me:{SECRET}".encode()).decode(), base64.b64encode(SECRET.encode()).decode(), SECRET[:9],
]  # fmt: skip
AUTHS = {
    "bearer": "{type: bearer, token: '${env:KEY}'}",
    "basic": "{type: http_basic, username: me, password: '${env:KEY}'}",
    "header": "{type: api_key, name: X-Key, api_key: '${env:KEY}'}",
    "query": "{type: api_key, name: k, api_key: '${env:KEY}', location: query}",
    "literal": "{type: api_key, name: k, api_key: 's3/cr+et& \"läng\" =%41', location: query}",
    "oauth": "{type: oauth2_client_credentials, access_token_url: 'URL/token', client_id: me, client_secret: '${env:KEY}'}",
}


def text(url: str, auth: str, client: str = "", columns: str = "id: int") -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', auth: {AUTHS[auth].replace('URL', url)},"
        f" retry: {{max_attempts: 2, max_delay: 0}}{client}}}, tables: {{t: {{columns: {{{columns}}}, scan: {{endpoint:"
        " {path: r, data_selector: items, paginator: json_link}}}}}}}"
    )


def assert_hidden(*texts: str) -> None:
    for one in texts:
        for spelling in SPELLINGS:
            assert spelling not in one, one


Answer = Callable[[web.Request], web.Response]
ECHO = "\n".join(SPELLINGS[:-1])


def status(code: int) -> Answer:
    return lambda asked: web.Response(status=code, text=f"{'x' * 150} {ECHO} {asked.url}")


def cut_in_two(_: web.Request) -> web.Response:
    return web.Response(status=400, text="x" * 195 + SECRET)


ANSWERS: dict[str, Answer] = {
    "401": status(401),
    "503": status(503),
    "cut": cut_in_two,
    "redirect": lambda asked: web.Response(
        status=302,
        headers={"Location": f"http://other.example/?q={quote(SECRET, safe='')}&{asked.query_string}"},
    ),
    "redirect with user": lambda _: web.Response(
        status=302, headers={"Location": f"http://u:{quote(SECRET, safe='')}@other.example/"}
    ),
    "redirect astray": lambda _: web.Response(status=302, headers={"Location": f"http://[{quote(SECRET)}"}),
    "not JSON": lambda _: web.Response(text=SECRET, content_type="application/json"),
    "bad value": lambda _: web.json_response({"items": [{"id": "y" * 40 + SECRET}]}),
    "next elsewhere": lambda _: web.json_response(
        {"items": [], "next": f"http://other.example/{quote(SECRET, safe='')}"}
    ),
    "next is odd": lambda _: web.json_response({"items": [], "next": [SECRET]}),
    "next is no URL": lambda _: web.json_response({"items": [], "next": f"http://h:x{quote(SECRET)}/"}),
    "next again": lambda asked: web.json_response({"items": [{"id": 1}], "next": str(asked.url)}),
    "broken header": lambda _: web.Response(headers={"X-Odd": "x" * 20_000}, text=ECHO),
}


@pytest.mark.parametrize("auth", every(4, AUTHS))
@pytest.mark.parametrize("what", ANSWERS)
async def test_no_error_tells_a_secret(
    serve: Serve, read: Read, auth: str, what: str, logged: list[logging.LogRecord]
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/token" and what != "401":
            return web.json_response({"access_token": SECRET, "expires_in": 100})
        return ANSWERS[what](asked)

    server = await serve(handler)
    reader = read(text(server.url, auth), KEY=SECRET)
    with pytest.raises(FFFError) as caught:
        await reader.scan("t")
    error = caught.value
    assert isinstance(error, SourceError)
    messages = [record.getMessage() for record in logged if record.name != "aiohttp.access"]
    shown = "".join(traceback.format_exception(error))
    assert_hidden(shown, str(error), error.reason, error.url or "", *messages, *reader.meter.warnings)
    assert len(str(error)) < 2_000


async def test_a_secret_is_not_cut_in_two_where_a_long_error_ends(serve: Serve, read: Read) -> None:
    """Masks are short: of a long token that is repeated all over, the cut one at the end would be shown."""
    token = "".join(f"{number:x}g" for number in range(700))

    async def handler(asked: web.Request) -> web.Response:
        return web.Response(status=400, text=token * (2**16 // len(token) + 1))

    server = await serve(handler)
    reader = read(text(server.url, "bearer"), KEY=token)
    with pytest.raises(SourceError) as caught:
        await reader.scan("t")
    assert "***" in str(caught.value)
    assert token[:12] not in str(caught.value)


@pytest.mark.slow
async def test_a_run_of_the_command_line_tells_no_secret(serve: Serve, tmp_path: Path) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if "page" not in asked.query:
            url = f"{asked.url}&page=2" if asked.query_string else f"{asked.url}?page=2"
            return web.json_response({"items": [{"id": 1}], "next": url})
        return status(500)(asked)

    server = await serve(handler)
    (tmp_path / "fff.yaml").write_text(text(server.url, "query"), encoding="utf-8")
    report = tmp_path / "report.json"
    command = [
        "query",
        "-v",
        "SELECT * FROM t",
        "--report",
        str(report),
        "-s",
        str(tmp_path / "fff.yaml"),
        "--progress",
        "json",
    ]
    for policy, code in (("fail", 4), ("partial", 3)):
        process = await asyncio.create_subprocess_exec(
            *[
                sys.executable,
                "-W",
                "error",
                "-X",
                "dev",
                "-m",
                "fff_cli",
                *command,
                "--on-source-error",
                policy,
            ],
            env={**os.environ, "KEY": SECRET, "PYTHONASYNCIODEBUG": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 100)
        assert process.returncode == code, err.decode()
        assert_hidden(out.decode(), err.decode(), report.read_text())
        assert "never retrieved" not in err.decode()
        assert "unclosed" not in err.decode()
        assert "HTTP 500" in err.decode()


async def test_headers_with_secrets_stay_on_the_host(serve: Serve, read: Read) -> None:
    async def elsewhere(asked: web.Request) -> web.Response:
        del asked
        return web.json_response({"items": [{"id": 2}]})

    other = await serve(elsewhere)

    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/r":
            return web.json_response({"items": [{"id": 1}], "next": f"{other.url}/next"})
        return web.json_response({})

    server = await serve(handler)
    more = f", headers: {{X-Team: 'k ${{env:KEY}}', X-Plain: a}}, allowed_hosts: ['127.0.0.1:{other.port}']"
    reader = read(text(server.url, "bearer", more), KEY="geheim")
    assert await reader.scan("t") == [{"id": 1}, {"id": 2}]
    assert server.asked[0].headers["X-Team"] == "k geheim"
    (there,) = other.asked
    assert there.headers["X-Plain"] == "a"
    assert "geheim" not in str(there.headers)
    assert "Authorization" not in there.headers


@pytest.mark.parametrize("paginator", ["json_link", "auto"])
async def test_a_body_with_secrets_stays_on_the_host(serve: Serve, read: Read, paginator: str) -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.json_response({"items": [{"id": 2}]})

    other = await serve(elsewhere)

    async def handler(asked: web.Request) -> web.Response:
        assert (await asked.json())["q"] == "all"
        return web.json_response({"items": [{"id": 1}], "next": f"{other.url}/next"})

    server = await serve(handler)

    def reader(body: str) -> Reader:
        endpoint = f"{{path: r, method: POST, json: {body}, data_selector: items, paginator: {paginator}}}"
        client = f"{{base_url: '{server.url}', allowed_hosts: ['127.0.0.1:{other.port}']}}"
        tables = f"tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}}}"
        return read(f"{{version: 1, sources: {{api: {{client: {client}, {tables}}}}}}}", KEY="geheim")

    with pytest.raises(SourceError, match="refused to send secrets to a host other than") as caught:
        await reader("{q: all, deep: ['k ${env:KEY}']}").scan("t")
    assert other.asked == []
    assert "client.auth" in str(caught.value)
    assert await reader("{q: all}").scan("t") == [{"id": 1}, {"id": 2}], "there is nothing to keep"


@pytest.mark.parametrize("auth", ["bearer", "query"])
async def test_a_server_does_not_choose_who_we_are(serve: Serve, read: Read, auth: str) -> None:
    async def handler(asked: web.Request) -> web.Response:
        here = f"http://evil:pw@{asked.host}"
        if asked.path == "/r":
            return web.json_response({"items": [{"id": 1}], "next": f"{here}/next"})
        if asked.path == "/next":
            return web.Response(status=307, headers={"Location": f"{here}/last"})
        return web.json_response({"items": [{"id": 2}]})

    server = await serve(handler)
    reader = read(text(server.url, auth), KEY="geheim")
    assert await reader.scan("t") == [{"id": 1}, {"id": 2}]
    ours = "Bearer geheim" if auth == "bearer" else None
    assert [asked.headers.get("Authorization") for asked in server.asked] == [ours] * 3


@pytest.mark.parametrize(
    "url", ["http://me:geheim@127.0.0.1:1", "http://[half", "ftp://h", "http://h:99999999/", "x"]
)
async def test_a_base_url_must_be_one(read: Read, url: str) -> None:
    reader = read(text("http://h", "bearer"), KEY="x1234", FFF_API_BASE_URL=url)
    with pytest.raises(SpecError, match=r"^FFF_API_BASE_URL: the base URL of api") as caught:
        await reader.scan("t")
    assert "geheim" not in str(caught.value)
    assert caught.value.hint is not None
    assert "client.auth" in caught.value.hint or "export FFF_API_BASE_URL=https" in caught.value.hint
    reader = read(text(url, "bearer"), KEY="x1234")
    with pytest.raises(SpecError, match=r"\.yaml:\d+: sources\.api\.client\.base_url: ") as caught:
        await reader.scan("t")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("more", ["?format=json", "#top", "/v1?"])
async def test_a_base_url_ends_where_paths_begin(read: Read, more: str) -> None:
    for spec, environ in (
        (text(f"http://h{more}", "bearer"), {}),
        (text("http://h", "bearer"), {"FFF_API_BASE_URL": f"http://h{more}"}),
    ):
        with pytest.raises(SpecError, match="goes on behind where paths are joined to it") as caught:
            await read(spec, KEY="x1234", **environ).scan("t")
        assert "client.params" in (caught.value.hint or "")


async def test_a_secret_that_no_header_can_carry(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        raise AssertionError(asked)

    server = await serve(handler)
    reader = read(text(server.url, "bearer"), KEY="geheim\nX-Injected: 1")
    with pytest.raises(SourceError, match="'Authorization' holds a character") as caught:
        await reader.scan("t")
    assert "geheim" not in str(caught.value)
    assert server.asked == []
