"""Lookups of one method make most of their requests once: what a key is asked with does not depend on those before it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
KEYS = ["plain", "ä/b", "x y", "100%", "a&b=c", "7", "{k}", "$$", "a.b", "0"]


def spec(url: str, lookup: str, client: str) -> str:
    return f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{url}/v1/"{client}}}
            tables:
              t:
                columns: {{k: string, n: int}}
                key_columns: [{{name: k, require: required, param: id}}]
                lookups: [{lookup}]
    """


@pytest.mark.parametrize("client", ["", ", params: {fixed: 1, id: nobody}, headers: {X-Fixed: '{{1}}'}"])
@pytest.mark.parametrize(
    "lookup",
    every(
        4,
        [
            "{keys: [k], endpoint: t}",
            "{keys: [k], endpoint: '/t/{k}'}",
            "{keys: [k], endpoint: 'a{{b}}/{k:08}/x-{k}'}",
            "{keys: [k], endpoint: {path: 't/{k}', params: {also: 'a-{k}', own: [1, 2]}}}",
            "{keys: [k], endpoint: {path: t, headers: {X-Key: 'key {k}'}}}",
            "{keys: [k], endpoint: {path: t, paginator: {type: page_number, page_size: 5, max_pages: 1}}}",
            "{keys: [k], endpoint: {path: t, method: POST, json: {k: '{k}'}}}",
            "{keys: [k], batch: {size: 3}, endpoint: t}",
        ],
    ),
)
async def test_a_key_is_asked_for_as_if_it_was_the_first(
    serve: Serve, read: Read, lookup: str, client: str
) -> None:
    asked: list[tuple[str, str, object, object]] = []

    async def handler(request: web.Request) -> web.Response:
        told = request.headers.get("X-Key"), request.headers.get("X-Fixed")
        asked.append((request.method, request.raw_path, told, await request.text()))
        return web.json_response([])

    server = await serve(handler)
    one = read(spec(server.url, lookup, client))
    keys = [key for key in KEYS if "X-Key" not in lookup or key.isascii()]
    for key in keys:
        await one.lookup("t", key)
    in_turn, asked[:] = list(asked), []
    for key in keys:
        await read(spec(server.url, lookup, client)).lookup("t", key)
    assert in_turn == asked
    assert len({str(one) for one in asked}) == len(keys)
