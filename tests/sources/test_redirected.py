"""Redirects that lose the key: what they lead to is not taken for rows of that key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
PATH, PARAM, BODY = "u/{k}", "{path: u, params: {k: '{k}'}}", "{path: u, method: POST, json: {k: '{k}'}}"


async def redirected(
    serve: Serve, read: Read, endpoint: str, *, to: str, status: int, rows: object, more: str = ""
) -> Reader:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path.startswith("/u"):
            return web.Response(status=status, headers={"Location": to})
        return web.json_response(rows)

    server = await serve(handler)
    return read(
        f"""
        version: 1
        sources:
          s:
            client: {{base_url: "{server.url}"}}
            tables:
              t:
                columns: {{k: string, n: int}}
                lookups: [{{keys: [k], endpoint: {endpoint}}}]
                {more}
        """
    )


@pytest.mark.parametrize(
    ("endpoint", "to", "status"),
    [
        (f"'{PATH}'", "/", 302),
        (PARAM, "/all/", 301),
        (BODY, "/all", 303),
        (f"'{PATH}'", "/people/bobby", 302),
    ],
)
async def test_rows_behind_a_redirect_that_loses_the_key_are_not_taken_for_its_own(
    serve: Serve, read: Read, endpoint: str, to: str, status: int
) -> None:
    reader = await redirected(serve, read, endpoint, to=to, status=status, rows={"n": 99})
    with pytest.raises(SourceError, match="a redirect led away from k"):
        await reader.lookup("t", "Bob")
    with pytest.raises(SourceError, match="a redirect led away from k"):
        await reader.lookup("t", "Bob", columns=["n"])


@pytest.mark.parametrize(
    ("key", "endpoint", "to", "status"),
    [
        ("Bob", f"'{PATH}'", "/v/bob", 301),
        ("Zoë Müller", f"'{PATH}'", "/v/17-zo%C3%AB-m%C3%BCller?x", 302),
        ("00501", PARAM, "/v?zip=501", 301),
        ("Bob", BODY, "/v", 307),
    ],
)
async def test_a_redirect_that_keeps_the_key_keeps_its_rows(
    serve: Serve, read: Read, *, key: str, endpoint: str, to: str, status: int
) -> None:
    reader = await redirected(serve, read, endpoint, to=to, status=status, rows={"n": 1})
    assert await reader.lookup("t", key) == [{"k": key, "n": 1}]


async def test_rows_that_say_their_key_are_read_wherever_a_redirect_leads(serve: Serve, read: Read) -> None:
    rows = [{"k": "Bob", "n": 1}, {"k": "Al", "n": 2}]
    reader = await redirected(serve, read, PARAM, to="/all/", status=301, rows=rows)
    assert await reader.lookup("t", "Bob") == rows


async def test_a_redirect_that_means_no_rows_may_be_declared(serve: Serve, read: Read) -> None:
    more = "on_status: [{status_code: 302, action: empty}]"
    reader = await redirected(serve, read, f"'{PATH}'", to="/", status=302, rows={"n": 99}, more=more)
    assert await reader.lookup("t", "Bob") == []


async def test_a_redirect_that_loses_one_of_several_values_gives_it_no_rows(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/us":
            return web.Response(status=302, headers={"Location": "/eu"})
        return web.json_response([{"n": 1}])

    reader = read(
        f"""
        version: 1
        sources:
          s:
            client: {{base_url: "{(await serve(handler)).url}"}}
            tables:
              t: {{columns: {{region: string, n: int}}, values: {{region: [eu, us]}}, scan: {{endpoint: "{{region}}"}}}}
        """
    )
    with pytest.raises(SourceError, match="a redirect led away from region"):
        await reader.scan("t")
