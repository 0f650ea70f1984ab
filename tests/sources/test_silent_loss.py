"""Sources that answer as if nothing were wrong, and leave rows out: a batch of which one key is read, a page without a body."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
ROWS = {"a": 1, "b": 2, "c": 3, "d": 4}
Takes = Callable[[list[str]], list[str]]
SERVERS: dict[str, Takes] = {
    "all": lambda keys: keys,
    "last": lambda keys: keys[-1:],
    "first": lambda keys: keys[:1],
    "none": lambda keys: keys if len(keys) == 1 else [],
}


async def site(serve: Serve, takes: Takes) -> Served:
    async def handler(asked: web.Request) -> web.Response:
        keys = takes(asked.query.getall("k"))
        return web.json_response([{"k": key, "n": ROWS[key]} for key in keys if key in ROWS])

    return await serve(handler)


def reader_of(read: Read, url: str, batch: int = 4) -> Reader:
    return read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{url}"}}
            tables:
              t:
                columns: {{k: string, n: int}}
                lookups: [{{keys: [k], batch: {{size: {batch}}}, endpoint: t}}]
        """
    )


@pytest.mark.parametrize("keys", ["abcd", "axxd", "xabx", "xxxa", "axxx", "xaxx"])
async def test_an_honest_source_is_believed_after_one_question_at_most(
    serve: Serve, read: Read, keys: str
) -> None:
    server = await site(serve, SERVERS["all"])
    reader = reader_of(read, server.url)
    for _ in range(3):
        rows = await reader.lookup("t", *(key if key in ROWS else f"{key}{i}" for i, key in enumerate(keys)))
        assert {row["k"] for row in rows} == set(keys) & set(ROWS)
    assert len(server.asked) == 3 + (keys in ("xxxa", "axxx"))


@pytest.mark.parametrize(
    ("takes", "keys", "said"),
    [
        ("last", "abcd", "of 4 keys in one request the source reads the last one only"),
        ("last", "xxxd", "reads the last one only"),
        ("last", "abcx", "brings no rows, and one for the first of them alone does"),
        ("first", "abcd", "reads the first one only"),
        ("first", "axxx", "reads the first one only"),
        ("none", "abcd", "brings no rows, and one for the first of them alone does"),
    ],
)
async def test_a_source_that_reads_one_key_of_a_batch_is_found_out(
    serve: Serve, read: Read, takes: str, keys: str, said: str
) -> None:
    server = await site(serve, SERVERS[takes])
    reader = reader_of(read, server.url)
    with pytest.raises(SourceError, match=said) as told:
        await reader.lookup("t", *keys)
    assert told.value.hint is not None
    assert "batch" in told.value.hint
    asked = len(server.asked)
    with pytest.raises(SourceError, match="key"):
        await reader.lookup("t", *"bcda")
    assert len(server.asked) == asked + 1, "found out once"


async def test_a_source_that_has_nothing_is_asked_a_few_times_more_and_then_believed(
    serve: Serve, read: Read
) -> None:
    server = await site(serve, SERVERS["all"])
    reader = reader_of(read, server.url)
    for _ in range(10):
        assert await reader.lookup("t", "w", "x", "y", "z") == []
    assert len(server.asked) == 10 + 3


async def test_one_key_alone_is_no_batch(serve: Serve, read: Read) -> None:
    server = await site(serve, SERVERS["last"])
    reader = reader_of(read, server.url)
    assert await reader.lookup("t", "a") == [{"k": "a", "n": 1}]
    assert await reader.lookup("t", "x") == []
    assert len(server.asked) == 2


async def test_a_page_without_a_body_is_no_last_page(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = asked.query.get("page")
        if asked.path == "/none":
            return web.Response(status=204)
        return web.json_response([{"k": f"k{page}", "n": 1}]) if page == "1" else web.Response(body=b"\n")

    server = await serve(handler)
    reader = read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{server.url}"}}
            table_defaults: {{columns: {{k: string, n: int}}}}
            tables:
              t: {{scan: {{endpoint: {{path: t, paginator: {{type: page_number}}}}}}}}
              lines: {{scan: {{endpoint: {{path: t, format: ndjson, params: {{page: 2}}}}}}}}
              none: {{scan: {{endpoint: none}}}}
        """
    )
    with pytest.raises(SourceError, match="the answer is empty, which is not json"):
        await reader.scan("t")
    assert await reader.scan("none") == []
    assert await reader.scan("lines") == []


async def test_a_next_page_that_no_paginator_reads_is_worth_a_warning(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        headers = {"Link": f'<{asked.url}?page=2>; rel="next"'} if asked.path != "/last" else {}
        return web.json_response([{"k": "a", "n": 1}], headers=headers)

    server = await serve(handler)
    reader = read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{server.url}"}}
            table_defaults: {{columns: {{k: string, n: int}}}}
            tables:
              last: {{scan: {{endpoint: last}}}}
              scanned: {{scan: {{endpoint: scanned}}}}
              looked_up: {{lookups: [{{keys: [k], endpoint: "of/{{k}}"}}]}}
        """
    )
    await reader.scan("last")
    assert not reader.meter.warnings
    await reader.scan("scanned")
    await reader.lookup("looked_up", "a")
    said = [str(warning) for warning in reader.meter.warnings]
    assert [text.split(":")[0] for text in said] == ["web.scanned", "web.looked_up"]
    assert all("no paginator" in text for text in said)
