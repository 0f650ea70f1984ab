"""Redirects: rows behind them are those of the key, but where they lead to no thing or to another key's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
PATH, PARAM = "'api/u/{k}'", "{path: api/u, params: {k: '{k}'}}"
BODY, CSV = "{path: api/u, method: POST, json: {k: '{k}'}}", "{path: 'api/u/{k}', format: csv}"


async def redirected(
    serve: Serve, read: Read, endpoint: str, *, to: str, status: int, rows: object, more: str = ""
) -> Reader:
    async def handler(asked: web.Request) -> web.Response:
        leads = asked.path.startswith("/api/u") and (asked.method == "POST" or asked.path_qs != to)
        if leads:
            return web.Response(status=status, headers={"Location": to})
        return web.Response(text=rows) if isinstance(rows, str) else web.json_response(rows)

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
        (PATH, "/", 302),
        (PATH, "/?lang=en", 302),
        (PATH, "/api/u/", 301),
        (PATH, "/api", 302),
        (PATH, "/other/Login?again=1", 302),
        (PATH, "/api/404", 302),
        (PARAM, "/api/u", 301),
        (PARAM, "/api/u?page=1", 301),
        (BODY, "/api", 303),
        (CSV, "/", 302),
    ],
)
async def test_rows_behind_a_redirect_that_leads_to_no_thing_are_not_taken_for_those_of_a_key(
    serve: Serve, read: Read, endpoint: str, to: str, status: int
) -> None:
    rows = "n\n99\n" if endpoint == CSV else {"n": 99}
    reader = await redirected(serve, read, endpoint, to=to, status=status, rows=rows)
    for columns in (None, ["n"]):
        with pytest.raises(
            SourceError, match="a redirect led away from k, and its rows do not say"
        ) as caught:
            await reader.lookup("t", "Bob", columns=columns)
        assert "declare the path of the column" in str(caught.value.hint)


@pytest.mark.parametrize("endpoint", [PATH, PARAM, BODY, CSV])
async def test_no_place_has_the_rows_of_two_keys(serve: Serve, read: Read, endpoint: str) -> None:
    """Another spelling of the key is none."""
    rows = "n\n99\n" if endpoint == CSV else {"n": 99}
    reader = await redirected(serve, read, endpoint, to="/people/unknown", status=303, rows=rows)
    for key in ("Zoë", "zoe", "Zoë"):
        assert await reader.lookup("t", key) == [{"k": key, "n": 99}]
    for key in ("Bob", "Zoë"):
        with pytest.raises(SourceError, match="redirects led from several values of k to one place"):
            await reader.lookup("t", key)


@pytest.mark.parametrize(
    ("key", "endpoint", "to", "status"),
    [
        ("Bob", PATH, "/v/bob", 301),
        ("Zoë Müller", PATH, "/v/17-zo%C3%AB-m%C3%BCller?x", 302),
        ("00501", PARAM, "/api/u?zip=501", 301),
        ("00501", PARAM, "/?zip=00501", 301),
        ("Bob", BODY, "/v", 307),
        ("Zürich", PARAM, "/api?city=zurich", 301),
        ("O'Brien", PARAM, "/?name=obrien", 301),
        ("978-0-14-032872-1", PARAM, "/?isbn=9780140328721", 301),
        ("New York", PARAM, "/?city=newyork", 301),
        ("9780140328721", PATH, "/books/OL7353617M", 302),
        ("Bob", PATH, "/bucket/8fa3-77", 302),
        ("Bob", PATH, "/people/bobby", 302),
        ("Bob", PARAM, "/all/", 301),
        ("Bob", BODY, "/results/77", 303),
        ("Bob", BODY, "/api/u?found=77", 303),
        ("latest", PATH, "/api/u/2.1.0", 302),
        ("Bob", CSV, "/bucket/8fa3-77.csv", 302),
    ],
)
async def test_rows_behind_other_redirects_are_those_of_the_key(
    serve: Serve, read: Read, *, key: str, endpoint: str, to: str, status: int
) -> None:
    """Sources lead from a key to what they call the thing themselves."""
    rows = "n\n1\n" if endpoint == CSV else {"n": 1}
    reader = await redirected(serve, read, endpoint, to=to, status=status, rows=rows)
    assert await reader.lookup("t", key) == [{"k": key, "n": 1}]


async def test_rows_that_say_their_key_are_read_wherever_a_redirect_leads(serve: Serve, read: Read) -> None:
    rows = [{"k": "Bob", "n": 1}, {"k": "Al", "n": 2}]
    reader = await redirected(serve, read, PARAM, to="/", status=301, rows=rows)
    assert await reader.lookup("t", "Bob") == rows


async def test_a_redirect_that_means_no_rows_may_be_declared(serve: Serve, read: Read) -> None:
    more = "on_status: [{status_code: 302, action: empty}]"
    reader = await redirected(serve, read, PATH, to="/", status=302, rows={"n": 99}, more=more)
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
    with pytest.raises(SourceError, match="redirects led from several values of region to one place"):
        await reader.scan("t")
