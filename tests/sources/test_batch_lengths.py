"""Batches that servers find too long: keys are data, and a batch is declared by their number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]


class Narrow:
    """Takes URLs of so many characters, and says with a status that others are too long."""

    def __init__(self, most: int, status: int) -> None:
        self.most, self.status = most, status
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.query["k"])
        if len(str(request.rel_url)) > self.most:
            return web.Response(status=self.status, text="no")
        return web.json_response([{"k": key, "v": len(key)} for key in request.query["k"].split(",")])


def spec(url: str) -> str:
    return f"""
version: 1
sources:
  s:
    client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}
    tables:
      t:
        columns: {{k: string, v: int}}
        lookups:
          - {{keys: [k], batch: {{size: 40, separator: ","}}, endpoint: {{path: t, params: {{k: "{{k}}"}}}}}}
"""


KEYS = [f"{number:03}{'x' * 100}" for number in range(40)]


@pytest.mark.parametrize("status", [414, 431, 413])
async def test_what_is_too_long_is_asked_for_by_halves(serve: Serve, read: Read, status: int) -> None:
    server = Narrow(1_500, status)
    reader = read(spec((await serve(server.answer)).url))
    assert sorted(row["k"] for row in await reader.lookup("t", *KEYS)) == KEYS
    sizes = [len(one.split(",")) for one in server.asked]
    assert sizes == [40, 20, 10, 10, 10, 10]
    server.asked.clear()
    assert len(await reader.lookup("t", *(f"y{key}" for key in KEYS))) == 40
    assert [len(one.split(",")) for one in server.asked] == [10] * 4, "what is as long is not tried again"
    server.asked.clear()
    assert len(await reader.lookup("t", *"abcdefgh")) == 8
    assert server.asked == ["a,b,c,d,e,f,g,h"], "shorter keys fit in one request"


async def test_a_bad_request_may_be_that_of_one_key_and_says_nothing_of_others(
    serve: Serve, read: Read
) -> None:
    server = Narrow(2_500, 400)
    reader = read(spec((await serve(server.answer)).url))
    for _ in range(2):
        assert len(await reader.lookup("t", *KEYS)) == 40
        assert [len(one.split(",")) for one in server.asked] == [40, 20, 20]
        server.asked.clear()


async def test_a_batch_that_was_answered_is_not_asked_for_again(serve: Serve, read: Read) -> None:
    """Where another one, which was under way meanwhile, is no longer and too long all the same."""
    server = Narrow(1_500, 414)
    reader = read(spec((await serve(server.answer)).url))
    plain, wide = (
        [f"{number:02}{'x' * 60}" for number in range(20)],
        [f"{number:02}{'ü' * 30}" for number in range(20)],
    )
    rows = await asyncio.gather(reader.lookup("t", *plain), reader.lookup("t", *wide))
    assert sorted(len(some) for some in rows) == [20, 20]


async def test_one_key_that_is_too_long_is_an_error_of_a_few_lines(serve: Serve, read: Read) -> None:
    reader = read(spec((await serve(Narrow(1_500, 414).answer)).url))
    with pytest.raises(SourceError, match="HTTP 414") as refused:
        await reader.lookup("t", "x" * 3_000)
    assert len(str(refused.value)) < 500


async def test_a_bad_request_that_is_short_is_no_batch_to_part(serve: Serve, read: Read) -> None:
    server = Narrow(20, 400)
    reader = read(spec((await serve(server.answer)).url))
    with pytest.raises(SourceError, match="HTTP 400"):
        await reader.lookup("t", *"abcdefghijklmnop")
    assert len(server.asked) == 1
