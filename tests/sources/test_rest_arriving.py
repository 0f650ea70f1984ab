"""Bodies of lines are read while they arrive, whole and once, whatever breaks on the way."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Callable
from contextlib import aclosing

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.response import streaming
from tests.sources.arriving import csv_of, cut, dribbling
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE", 200)


def spec(url: str, form: str, more: str = "") -> str:
    endpoint = f"{{path: r, format: {form}{more}}}"
    return (
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}', retry: {{max_attempts: 3, max_delay: 0.01}}}}, "
        f"tables: {{t: {{columns: {{n: int, word: string}}, scan: {{endpoint: {endpoint}}}}}}}}}}}}}"
    )


async def test_rows_are_there_before_the_answer_has_ended(serve: Serve, read: Read) -> None:
    body, rows = csv_of(60, random.Random(1))
    seen = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(body[:500])
        await asyncio.wait_for(seen.wait(), 20)  # nothing more comes before somebody has seen the first rows
        await answer.write(body[500:])
        return answer

    server = await serve(handler)
    reader = read(spec(server.url, "csv", ", comment: '#'"))
    table, found = reader.table("t"), []
    pages = reader.catalog.adapter_of(table).scan(
        table, table.scans[0], ["n", "word"], meter=reader.meter, window=4
    )
    async with aclosing(pages) as opened:  # type: ignore[type-var]
        async for page in opened:
            seen.set()
            found += page.rows.to_pylist()
    assert found == rows
    assert reader.meter.requests == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_every_row_comes_once_wherever_the_body_is_cut(serve: Serve, read: Read, seed: int) -> None:
    rng = random.Random(seed)
    body, rows = csv_of(rng.randrange(120), rng)
    packed = gzip.compress(body[:300]) + gzip.compress(body[300:])
    server = await serve(dribbling(cut(body, rng)))
    assert await read(spec(server.url, "csv", ", comment: '#'")).scan("t") == rows
    for form, text in (("csv", body), ("csv.gz", packed)):
        files = await serve(dribbling(cut(text, rng)))
        url = f"{{url: x.{form}, comment: '#', columns: {{n: int, word: string}}}}"
        source = f"{{version: 1, sources: {{s: {{type: files, client: {{base_url: '{files.url}'}}, tables: {{t: {url}}}}}}}}}"
        assert await read(source).scan("t", window=3) == rows
    lines = b"".join(b'{"n": %d, "word": "x"}\n' % n for n in range(len(rows)))
    nd = await serve(dribbling(cut(lines, rng)))
    assert [row["n"] for row in await read(spec(nd.url, "ndjson")).scan("t")] == list(range(len(rows)))


async def test_a_broken_connection_is_gone_on_with(serve: Serve, read: Read) -> None:
    body, rows = csv_of(80, random.Random(3))
    attempts = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal attempts
        attempts += 1
        answer = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await answer.prepare(request)
        await answer.write(body if attempts == 3 else body[: 300 * attempts])
        if attempts < 3:
            await asyncio.sleep(0.01)
            assert request.transport is not None
            request.transport.close()
        return answer

    server = await serve(handler)
    reader = read(spec(server.url, "csv", ", comment: '#'"))
    assert await reader.scan("t") == rows
    assert (attempts, reader.meter.retries) == (3, 2)


async def test_a_body_that_is_another_the_second_time_is_an_error(serve: Serve, read: Read) -> None:
    body, _ = csv_of(80, random.Random(3))
    attempts = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal attempts
        attempts += 1
        answer = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await answer.prepare(request)
        await answer.write(body[:600] if attempts == 1 else body.replace(b"0", b"1"))
        if attempts == 1:
            await asyncio.sleep(0.01)
            assert request.transport is not None
            request.transport.close()
        return answer

    server = await serve(handler)
    with pytest.raises(SourceError, match="another when it was asked for again"):
        await read(spec(server.url, "csv", ", comment: '#'")).scan("t")


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("second", ["a page in HTML", "fewer rows", "nothing", "absent"])
async def test_a_second_answer_that_is_shorter_ends_nothing(
    serve: Serve, read: Read, form: str, second: str
) -> None:
    """Of the first one rows have been handed on; what comes in its place has not even those."""
    line = b"%d,x\n" if form == "csv" else b'{"n": %d, "word": "x"}\n'
    body = (b"n,word\n" if form == "csv" else b"") + b"".join(line % n for n in range(300))
    attempts = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            texts = {"a page in HTML": b"<html>Please try again later</html>", "fewer rows": body[:-1500]}
            status = {"nothing": 204, "absent": 404}.get(second, 200)
            return web.Response(body=texts.get(second, b"")[:700], status=status)
        answer = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await answer.prepare(request)
        await answer.write(body[:1500])
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.close()
        return answer

    server = await serve(handler)
    text = spec(server.url, form).replace("{t: {", "{t: {on_status: [{status_code: 404, action: empty}], ")
    with pytest.raises(SourceError, match="another, and shorter, when it was asked for again"):
        await read(text).scan("t")
    assert attempts == 2


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_what_is_wrong_is_named_by_its_place_in_the_whole(serve: Serve, read: Read, form: str) -> None:
    good = [b"%d,x\n" % n if form == "csv" else b'{"n": %d, "word": "x"}\n' % n for n in range(100)]
    head = b"n,word\n" if form == "csv" else b""
    bad = b"no,x\n" if form == "csv" else b'{"n": "no"}\n'
    server = await serve(dribbling([head, *good, bad, *good]))
    with pytest.raises(SourceError, match="record 101") as error:
        await read(spec(server.url, form)).scan("t")
    assert error.value.url == f"{server.url}/r"
    if form == "ndjson":
        server = await serve(dribbling([*good, b"{,}\n", *good]))
        with pytest.raises(SourceError, match="line 101"):
            await read(spec(server.url, form)).scan("t")


async def test_pages_of_lines_go_by_all_records(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        start = int(request.query["offset"])
        page = range(start, min(start + 50, 120))
        return web.Response(body=b"".join(b'{"n": %d, "word": "x"}\n' % n for n in page))

    server = await serve(handler)
    reader = read(spec(server.url, "ndjson", ", paginator: {type: offset, page_size: 50}"))
    assert [row["n"] for row in await reader.scan("t")] == list(range(120))
    assert [request.query["offset"] for request in server.asked] == ["0", "50", "100", "120"]


async def test_encodings_whose_lines_end_otherwise_wait_for_the_end(serve: Serve, read: Read) -> None:
    body, rows = csv_of(40, random.Random(5))
    text = body.decode().encode("utf-16")
    server = await serve(dribbling([text[:333], text[333:]]))
    assert await read(spec(server.url, "csv", ", comment: '#', encoding: utf-16")).scan("t") == rows


async def test_quotes_in_the_middle_of_cells_leave_the_cutting_to_the_end(serve: Serve, read: Read) -> None:
    rng = random.Random(9)
    for _ in range(8):
        cells = [rng.choice(['5" pipe', '"two\nlines"', "plain", 'a "b" c']) for _ in range(60)]
        body = "n,word\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(cells))
        server = await serve(dribbling(cut(body.encode(), rng)))
        found = await read(spec(server.url, "csv")).scan("t")
        assert found == [
            {"n": n, "word": cell.strip('"') if "\n" in cell else cell} for n, cell in enumerate(cells)
        ]
