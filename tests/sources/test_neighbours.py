"""Rows of other keys in an answer, where these are asked for in other requests of the same lookup: each row comes once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from aiohttp import web

from fff.federation import Federation
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
Rows = list[tuple[str, int]]
SPEC = """
    version: 1
    sources:
      api:
        client: {{base_url: "{url}"}}
        tables:
          x: {{columns: {{s: string, k: string}}, scan: {{endpoint: x}}}}
          y:
            columns: {{k: string, v: int}}
            lookups: [{{keys: [k], batch: {{size: 4, separator: ","}}, endpoint: y}}]
            on_status: [{{status_code: 404, action: empty}}]
          z:
            columns: {{s: string, k: string, v: int}}
            lookups: [{{keys: [s, k], batch: {{size: 4, separator: ","}}, endpoint: z}}]
    """
LETTERS = [(letter, number) for number, letter in enumerate("abcdefgh")]


def with_neighbours(keys: Sequence[str]) -> Rows:
    """Of each pair of letters both, whichever was asked for."""
    return [row for row in LETTERS if {row[0], LETTERS[row[1] ^ 1][0]} & {*keys}]


def too_long(keys: Sequence[str]) -> Rows | int:
    return 414 if len(keys) > 2 else with_neighbours(keys)


def unknown(keys: Sequence[str]) -> Rows | int:
    """A status where one of several is not known, as `q` is not."""
    return 404 if "q" in keys else with_neighbours(keys)


def beginnings(keys: Sequence[str]) -> Rows:
    known = [("ab", 0), ("ac", 1), ("abc", 2), ("m", 3), ("", 4)]
    return [row for row in known if any(key and row[0].startswith(key) for key in keys)]


def split(keys: Sequence[str]) -> Rows:
    return [*with_neighbours(keys), *([("a,b", 9)] if {"a", "b"} <= {*keys} else [])]


@pytest.mark.parametrize(
    ("answer", "keys", "rows"),
    [
        (too_long, "acbdegfh", LETTERS),
        (unknown, "aqbd", [LETTERS[0], LETTERS[1], LETTERS[3]]),
        (split, ["a", "b", "a,b", "c"], [*LETTERS[:3], ("a,b", 9)]),
        (beginnings, ["a", "ab", "m"], [("ab", 0), ("m", 3)]),
    ],
)
async def test_a_row_comes_once_whichever_requests_it_answers(
    serve: Serve, read: Read, answer: Callable[[Sequence[str]], Rows | int], keys: Sequence[str], rows: Rows
) -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/x":
            return web.json_response([{"k": key} for key in keys])
        found = answer(request.query["k"].split(","))
        if isinstance(found, int):
            return web.Response(status=found)
        return web.json_response([{"k": key, "v": value} for key, value in found])

    sql = "SELECT y.k, y.v FROM x JOIN y ON x.k = y.k"
    assert await joined(await serve(handler), read, sql) == sorted(rows)


async def test_a_row_comes_once_where_the_source_looks_at_one_of_two_keys(serve: Serve, read: Read) -> None:
    rows = [(site, user) for site in "st" for user in "abc"]

    async def handler(request: web.Request) -> web.Response:
        users = request.query.get("k", "a,b,c").split(",")
        return web.json_response([{"s": s, "k": k, "v": 1} for s, k in rows if k in users])

    found = await joined(
        await serve(handler), read, "SELECT z.s, z.k FROM x JOIN z ON x.k = z.k AND x.s = z.s"
    )
    assert found == rows


async def joined(served: Served, read: Read, sql: str) -> list[tuple[object, ...]]:
    """The rows of a statement that may lack some, and has none twice."""
    reader = read(SPEC.format(url=served.url))
    async with Federation(reader.catalog, reader.client) as federation:
        execution = federation.execute(federation.prepare(sql))
        return sorted(
            [tuple(row.values()) async for batch in execution.batches() for row in batch.to_pylist()]
        )
