"""Servers that mean no good, and requests that are given up half-way."""

from __future__ import annotations

import asyncio
import contextlib
import random
import zlib
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.body import BodyError, BodyReader
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.types import HostPolicy, Request
from tests.web.serving import FakeTime, Serve


@pytest.fixture
async def client() -> AsyncIterator[WebClient]:
    made = WebClient(rng=random.Random(1), clock=FakeTime().clock)
    yield made
    await made.close()


def feed_all(reader: BodyReader, chunks: list[bytes]) -> None:
    for chunk in chunks:
        reader.feed(chunk)


def test_what_expands_to_nothing_is_bounded_too() -> None:
    reader = BodyReader("gzip", max_body=10_000, max_ratio=200)
    packer = zlib.compressobj(wbits=31)
    nothing = packer.compress(b"") + packer.flush()
    with pytest.raises(BodyError, match="larger than 10,000 bytes"):
        feed_all(reader, [nothing] * 1000)


async def test_an_endless_body_ends_at_the_cap(serve: Serve, client: WebClient) -> None:
    sent = 0

    async def handler(asked: web.Request) -> web.StreamResponse:
        nonlocal sent
        answer = web.StreamResponse()
        await answer.prepare(asked)
        while True:
            await answer.write(b" " * 10_000)
            sent += 10_000

    server = await serve(handler)
    with pytest.raises(SourceError, match="larger than 100,000 bytes") as caught:
        await client.request(Request(server.url, policy=HostPolicy(max_body=100_000)), meter=AccessMeter())
    assert caught.value.attempts == 1
    assert sent < 50_000_000, "little more than what lies in between"


async def test_a_body_that_trickles_is_given_up_on(serve: Serve, client: WebClient) -> None:
    over = asyncio.Event()

    async def handler(asked: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(asked)
        await answer.write(b"[")
        await over.wait()
        return answer

    server = await serve(handler)
    policy = HostPolicy(read_timeout=0.05, max_attempts=2, max_delay=0)
    with pytest.raises(SourceError, match="no answer in time after 2 attempts") as error:
        await client.request(Request(server.url, policy=policy), meter=AccessMeter())
    over.set()
    assert "it had begun to come: give it longer with client.timeout" in str(error.value.hint)


async def test_an_answer_that_nobody_asked_for_answers_nothing(client: WebClient) -> None:
    asked: list[bytes] = []
    more, sent = asyncio.Event(), asyncio.Event()

    async def serve_raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
                asked.append(path)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + path)
                if path == b"/a":
                    await more.wait()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/x")
                    await writer.drain()
                    sent.set()
        writer.close()

    async with await asyncio.start_server(serve_raw, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert (await client.request(Request(f"{url}/a"), meter=AccessMeter())).body == b"/a"
        more.set()
        await sent.wait()
        await asyncio.sleep(0.05)  # until it is here; where it is later, the test is passed all the same
        assert (await client.request(Request(f"{url}/b"), meter=AccessMeter())).body == b"/b"
        assert asked == [b"/a", b"/b"]
        await client.close()


async def test_a_head_may_have_links_that_repeat_a_long_url(serve: Serve, client: WebClient) -> None:
    link = ", ".join(f'<https://example.org/t?ids={"1,2," * 1500}&page={n}>; rel="{n}"' for n in range(4))

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="x", headers={"Link": link})

    response = await client.request(Request((await serve(handler)).url), meter=AccessMeter())
    assert response.headers["link"] == link


async def test_a_broken_error_body_does_not_hide_the_status(serve: Serve, client: WebClient) -> None:
    answers = iter([503, 200])

    async def handler(_: web.Request) -> web.Response:
        status = next(answers)
        headers = {"Content-Encoding": "zstd"} if status == 503 else {}
        return web.Response(status=status, body=b"x", headers=headers)

    server = await serve(handler)
    assert (await client.request(Request(server.url), meter=AccessMeter())).attempts == 2


async def test_a_hundred_cancelled_waiters_leave_every_place_free(serve: Serve, client: WebClient) -> None:
    started, hold = asyncio.Event(), asyncio.Event()

    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/hold":
            started.set()
            await hold.wait()
        return web.Response(text=asked.path)

    server = await serve(handler)
    policy = HostPolicy(max_concurrency=2)

    async def send(path: str) -> bytes:
        answer = await client.request(Request(server.url + path, policy=policy), meter=AccessMeter())
        return answer.body

    tasks = [asyncio.create_task(send("/hold")) for _ in range(100)]
    await started.wait()
    for task in tasks:
        task.cancel()
    assert all(
        isinstance(end, asyncio.CancelledError)
        for end in await asyncio.gather(*tasks, return_exceptions=True)
    )
    both = await asyncio.wait_for(asyncio.gather(send("/a"), send("/b")), 20)
    assert list(both) == [b"/a", b"/b"]
    hold.set()


async def test_a_wait_before_the_next_attempt_can_be_cancelled(serve: Serve) -> None:
    waiting = asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def handler(asked: web.Request) -> web.Response:
        return web.Response(status=500 if asked.path == "/" else 200)

    server = await serve(handler)
    client = WebClient(rng=random.Random(1), clock=Clock(sleep=sleep))
    policy = HostPolicy(max_concurrency=1)
    try:
        task = asyncio.create_task(
            client.request(Request(f"{server.url}/", policy=policy), meter=AccessMeter())
        )
        await waiting.wait()
        other = Request(f"{server.url}/other", policy=policy)
        assert (await client.request(other, meter=AccessMeter())).status == 200, "who waits holds no place"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        await client.close()


async def test_scans_and_lookups_of_one_host_take_turns(serve: Serve, client: WebClient) -> None:
    async def handler(asked: web.Request) -> web.Response:
        return web.Response(text=asked.path)

    server = await serve(handler)
    policy = HostPolicy(max_concurrency=1)

    async def send(path: str) -> None:
        await client.request(Request(f"{server.url}/{path}", policy=policy), meter=AccessMeter())

    async def scan() -> None:
        for _ in range(10):
            await send("scan")

    await asyncio.gather(
        *(send(f"lookup{n}") for n in range(5)), scan(), *(send(f"lookup{n}") for n in range(5, 20))
    )
    assert server.paths.index("/scan") == 5, "first come, first served"
    assert server.paths[6:21] == [f"/lookup{n}" for n in range(5, 20)]


async def test_a_kept_connection_that_the_server_has_closed_costs_no_attempt(client: WebClient) -> None:
    """Three are kept. Each is closed as the next request is written: that goes out once more, over a new one."""
    asked: Counter[str] = Counter()
    three = asyncio.Barrier(3)

    async def serve_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            asked[path] += 1
            if path == "/first":
                await three.wait()
            if path != "/never":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
            if path == "/first":
                head = await reader.readuntil(b"\r\n\r\n")
                asked[head.split()[1].decode()] += 1
        writer.close()

    async with await asyncio.start_server(serve_once, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        policy, meter = HostPolicy(max_attempts=1), AccessMeter()

        async def ask(path: str, method: str = "GET") -> int:
            return (await client.request(Request(url + path, method, policy=policy), meter=meter)).attempts

        await asyncio.gather(*(ask("/first") for _ in range(3)))
        assert await ask("/again") == 1
        with pytest.raises(SourceError, match="the server closed the connection"):  # the new connection, too
            await ask("/never")
        with pytest.raises(SourceError, match="the server closed the connection"):  # may have been heard
            await ask("/post", "POST")
    assert asked == {"/first": 3, "/again": 2, "/never": 2, "/post": 1}
    assert (meter.requests, meter.retries) == (8, 2)
