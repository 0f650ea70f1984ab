"""The client over a real wire: limits, retries, redirects, caps, budgets, and what errors say."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from fff.budget import Budget, BudgetExhausted
from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.types import Credentials, HostPolicy, Request
from tests.web.serving import FakeTime, Serve

SECRET = "t0p s3cret/+"
CREDENTIALS = Credentials({"Authorization": f"Bearer {SECRET}"}, {"key": SECRET}, "me")
USED_UP = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"}


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., WebClient]]:
    clients: list[WebClient] = []

    def build(time: FakeTime | None = None, **options: Any) -> WebClient:
        clock = (time or FakeTime()).clock
        clients.append(WebClient(rng=random.Random(1), clock=clock, **options))
        clients[-1].redactor.add(SECRET)
        return clients[-1]

    yield build
    for client in clients:
        await client.close()


def request(url: str, **fields: Any) -> Request:
    policy = HostPolicy(**fields.pop("policy", {}))
    return Request(url, policy=policy, source="gov", table="crime", **fields)


def answers(*items: web.Response | int) -> Callable[[web.Request], Any]:
    """A handler that gives these answers in turn, and the last one for ever; numbers are statuses."""
    waiting = list(items)

    async def handler(_: web.Request) -> web.Response:
        item = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return web.Response(status=item, text=str(item)) if isinstance(item, int) else clone(item)

    return handler


def clone(item: web.Response) -> web.Response:
    return web.Response(status=item.status, body=item.body, headers=item.headers)


async def test_the_ceiling_is_reached_and_never_exceeded(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    barrier, inside, most = asyncio.Barrier(8), 0, 0

    async def handler(_: web.Request) -> web.Response:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await barrier.wait()  # hangs unless eight are inside at once
        inside -= 1
        return web.Response(text="{}")

    server, client, meters = await serve(handler), make(), [AccessMeter(), AccessMeter()]
    async with asyncio.timeout(20):
        await asyncio.gather(*(client.request(request(server.url), meter=meters[n % 2]) for n in range(80)))
    assert most == 8
    assert len(server.asked) == 80
    assert sum(meter.requests for meter in meters) == 80
    assert all(meter.in_flight == 0 and 1 <= meter.max_in_flight <= 8 for meter in meters)


async def test_limits_are_kept_per_credential(serve: Serve, make: Callable[..., WebClient]) -> None:
    barrier = asyncio.Barrier(4)

    async def handler(_: web.Request) -> web.Response:
        await barrier.wait()  # hangs unless both credentials are inside together
        return web.Response(text="{}")

    server, client = await serve(handler), make()
    both = [Credentials(identity="a"), Credentials(identity="b")]
    async with asyncio.timeout(20):
        await asyncio.gather(
            *(
                client.request(
                    request(server.url, credentials=who, policy={"max_concurrency": 2}), meter=AccessMeter()
                )
                for who in both
                for _ in range(4)
            )
        )
    assert len(server.asked) == 8


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        (("2", "Tue, 14 Nov 2023 22:13:20 GMT"), 2.0),
        (("Tue, 14 Nov 2023 22:14:20 GMT", "Tue, 14 Nov 2023 22:13:20 GMT"), 60.0),
        # By the server's clock: an hour behind ours, and a year ahead.
        (("Tue, 14 Nov 2023 21:14:20 GMT", "Tue, 14 Nov 2023 21:13:20 GMT"), 60.0),
        (("Thu, 14 Nov 2024 00:00:07 GMT", "Thu, 14 Nov 2024 00:00:00 GMT"), 7.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_holds_the_whole_host(
    serve: Serve, make: Callable[..., WebClient], asked: tuple[str, str], wait: float, status: int
) -> None:
    time = FakeTime()
    headers = dict(zip(("Retry-After", "Date"), asked, strict=True))
    server = await serve(answers(web.Response(status=status, headers=headers), 200))
    client, meter = make(time), AccessMeter()
    first = asyncio.create_task(
        client.request(request(server.url, policy={"max_concurrency": 1}), meter=meter)
    )
    others = [
        asyncio.create_task(
            client.request(request(server.url, policy={"max_concurrency": 1}), meter=AccessMeter())
        )
        for _ in range(3)
    ]
    response = await first
    await asyncio.gather(*others)
    assert response.attempts == 2
    assert time.slept == [wait], "one wait, for everybody"
    assert len(server.asked) == 5
    assert (meter.throttled, meter.retries, meter.failed, meter.limited_by) == (1, 1, 0, "throttled")


async def test_a_quota_used_up_is_waited_for_before_being_told(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    time = FakeTime()
    spent = web.Response(text="{}", headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"})
    server, client, meter = await serve(answers(spent, 200)), make(time), AccessMeter()
    await client.request(request(server.url), meter=meter)
    assert time.slept == []
    await client.request(request(server.url), meter=meter)
    assert time.slept == [pytest.approx(7)]
    assert meter.throttled == 0


async def test_many_more_than_the_server_admits_all_get_through(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    inside = refused = 0

    async def handler(_: web.Request) -> web.Response:
        nonlocal inside, refused
        if inside >= 8:
            refused += 1
            return web.Response(status=429, headers={"Retry-After": "1"})
        inside += 1
        await asyncio.sleep(0.005)
        inside -= 1
        return web.Response(text="{}")

    server, client, meter = await serve(handler), make(), AccessMeter()
    policy = {"max_concurrency": 32, "max_attempts": 3}
    await asyncio.gather(
        *(client.request(request(server.url, policy=policy), meter=meter) for _ in range(300))
    )
    assert meter.throttled == refused < 60
    assert meter.requests == 300 + refused


async def test_a_server_that_only_refuses_is_given_up_on(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    time = FakeTime()
    server = await serve(answers(web.Response(status=429, headers={"Retry-After": "3"})))
    client, meter = make(time), AccessMeter()
    with pytest.raises(SourceError) as error:
        await client.request(request(server.url), meter=meter)
    assert (error.value.status, error.value.attempts, len(server.asked)) == (429, 5, 5)
    assert time.slept == [3.0, 6.0, 12.0, 24.0], "what it asked for was too short"
    assert (meter.failed, meter.throttled, meter.retries) == (1, 5, 4)


@pytest.mark.parametrize("told", ["0", "Tue, 14 Nov 2023 22:13:10 GMT"])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_wait_that_is_over_when_it_is_told_is_none_that_is_named(
    serve: Serve, make: Callable[..., WebClient], status: int, told: str
) -> None:
    """Seconds that are left, rounded down, are 0 for most of the last one."""
    time, refusal = FakeTime(), web.Response(status=status, headers={"Retry-After": told})
    server, meter = await serve(answers(refusal, refusal, refusal, 200)), AccessMeter()
    assert (await make(time).request(request(server.url), meter=meter)).attempts == 4
    assert [wait > 0.5 * 2**at for at, wait in enumerate(time.slept)] == [True] * 3
    server = await serve(answers(web.Response(status=status, headers={"Retry-After": told, **USED_UP}), 200))
    time = FakeTime()
    await make(time).request(request(server.url), meter=meter)
    assert time.slept == [7], "the time of its reset is named"


@pytest.mark.parametrize("told", [{"Retry-After": "7"}, USED_UP])
async def test_403_that_says_when_to_come_back_is_asked_again_then(
    serve: Serve, make: Callable[..., WebClient], told: dict[str, str]
) -> None:
    time, meter, refusal = FakeTime(), AccessMeter(), web.Response(status=403, headers=told)
    server = await serve(answers(refusal, 200))
    assert (await make(time).request(request(server.url), meter=meter)).attempts == 2
    assert (time.slept, meter.throttled) == ([7], 1)


async def test_403_with_retry_after_is_no_fault_of_the_secret(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    server = await serve(answers(web.Response(status=403, headers={"Retry-After": "7"})))
    with pytest.raises(SourceError, match="HTTP 403 after 5 attempts") as caught:
        await make().request(request(server.url), meter=AccessMeter())
    assert "client.rate_limit" in caught.value.render()
    assert "client.auth" not in caught.value.render()


async def test_403_beside_a_used_up_quota_is_an_answer_once_the_quota_was_waited_for(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    time, meter = FakeTime(), AccessMeter()
    server = await serve(answers(web.Response(status=403, headers=USED_UP)))
    with pytest.raises(SourceError, match="HTTP 403 after 2 attempts") as caught:
        await make(time).request(request(server.url), meter=meter)
    assert (time.slept, meter.throttled, caught.value.throttled) == ([7], 1, False)
    assert "client.auth" in caught.value.render()
    assert "try again later" in caught.value.render()


async def test_403_beside_a_quota_that_is_used_up_for_long_tells_of_both(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    told = {**USED_UP, "X-RateLimit-Reset": "3600"}
    server = await serve(answers(web.Response(status=403, headers=told, text="your key has ended")))
    with pytest.raises(SourceError, match="asks to wait 3600 s") as caught:
        await make().request(request(server.url), meter=AccessMeter())
    for words in ("retry.max_wait", "HTTP 403", "client.auth", "your key has ended"):
        assert words in caught.value.render()


@pytest.mark.parametrize(
    "told",
    [
        {},
        {**USED_UP, "X-RateLimit-Remaining": "9"},
        {"X-RateLimit-Remaining": "0"},
        # Used up after every answer: no reason for a refusal.
        {**USED_UP, "X-RateLimit-Limit": "1", "X-RateLimit-Reset": "1"},
        {**USED_UP, "X-RateLimit-Reset": "1"},
        {"RateLimit": "limit=1, remaining=0, reset=1"},
        {"RateLimit": '"a";r=0;t=1', "RateLimit-Policy": '"a";q=5;w=1'},
    ],
)
async def test_403_that_says_no_such_thing_is_final(
    serve: Serve, make: Callable[..., WebClient], told: dict[str, str]
) -> None:
    server = await serve(answers(web.Response(status=403, headers=told)))
    with pytest.raises(SourceError, match=r"client\.auth"):
        await make().request(request(server.url), meter=AccessMeter())
    assert len(server.asked) == 1


async def test_a_wait_longer_than_allowed_is_a_refusal(serve: Serve, make: Callable[..., WebClient]) -> None:
    time = FakeTime()
    server = await serve(answers(web.Response(status=429, headers={"Retry-After": "7200"})))
    with pytest.raises(SourceError, match="asks to wait 7200 s"):
        await make(time).request(request(server.url), meter=AccessMeter())
    assert time.slept == []
    assert len(server.asked) == 1


async def test_503_then_success(serve: Serve, make: Callable[..., WebClient]) -> None:
    time = FakeTime()
    server, client, meter = await serve(answers(503, 500, 200)), make(time), AccessMeter()
    response = await client.request(request(server.url), meter=meter)
    assert (response.status, response.attempts, response.body) == (200, 3, b"200")
    assert len(time.slept) == 2
    assert time.slept[0] <= 0.5
    assert time.slept[1] <= 1.0
    assert (meter.requests, meter.retries, meter.throttled, meter.bytes) == (3, 2, 0, 9)


@pytest.mark.parametrize("status", [408, 425, 500, 502, 504])
async def test_a_told_wait_is_kept_whatever_the_status(
    serve: Serve, make: Callable[..., WebClient], status: int
) -> None:
    def told(seconds: int) -> web.Response:
        return web.Response(status=status, headers={"Retry-After": str(seconds)})

    time, meter = FakeTime(), AccessMeter()
    server, client = await serve(answers(told(7), told(0), 200)), make(time)
    assert (await client.request(request(server.url), meter=meter)).attempts == 3
    assert time.slept[0] == 7
    assert 0 < time.slept[1] < 1, "as ever where that is longer"
    assert (meter.throttled_s, meter.throttled) == (7, 0)
    server = await serve(answers(told(7200)))
    with pytest.raises(SourceError, match=f"HTTP {status}") as caught:
        await client.request(request(server.url), meter=AccessMeter())
    assert "asks to wait 7200 s" in str(caught.value)
    assert "client.retry.max_wait" in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422])
async def test_other_statuses_fail_at_once(serve: Serve, make: Callable[..., WebClient], status: int) -> None:
    time = FakeTime()
    server = await serve(answers(web.json_response({"error": f"no\u0007 {SECRET}"}, status=status)))
    with pytest.raises(SourceError) as error:
        await make(time).request(request(f"{server.url}/a", credentials=CREDENTIALS), meter=AccessMeter())
    text = str(error.value)
    assert error.value.status == status
    assert f"gov.crime: HTTP {status} ({server.url}/a?key=***)" in text
    assert "***" in (error.value.hint or "")
    assert "\u0007" not in text
    assert len(server.asked) == 1
    assert time.slept == []


async def test_accepted_statuses_are_answers(serve: Serve, make: Callable[..., WebClient]) -> None:
    server = await serve(answers(404))
    response = await make().request(request(server.url, accept=frozenset({404})), meter=AccessMeter())
    assert response.status == 404


async def test_a_reset_connection_is_tried_again(serve: Serve, make: Callable[..., WebClient]) -> None:
    resets = 2

    async def handler(asked: web.Request) -> web.Response:
        nonlocal resets
        if resets:
            resets -= 1
            assert asked.transport is not None
            asked.transport.abort()
        return web.Response(text="fine")

    server, meter = await serve(handler), AccessMeter()
    response = await make().request(request(server.url), meter=meter)
    assert response.body == b"fine"
    assert (meter.requests, meter.retries, len(server.asked)) == (3, 2, 3)


async def test_a_body_cut_short_is_tried_again(serve: Serve, make: Callable[..., WebClient]) -> None:
    cuts = 1

    async def handler(asked: web.Request) -> web.StreamResponse:
        nonlocal cuts
        answer = web.StreamResponse(headers={"Content-Length": "10"})
        await answer.prepare(asked)
        await answer.write(b"half")
        if cuts:
            cuts -= 1
            assert asked.transport is not None
            asked.transport.close()
        else:
            await answer.write(b"-whole")
        return answer

    response = await make().request(request((await serve(handler)).url), meter=AccessMeter())
    assert response.body == b"half-whole"


@pytest.mark.parametrize(
    "coding", [b"", b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding: chunked, x\r\n"]
)
async def test_a_reset_is_no_end_of_a_body_that_closing_ends(
    make: Callable[..., WebClient], unused_tcp_port: int, coding: bytes
) -> None:
    """Neither a length nor chunks: whole rows came, and then the connection broke."""
    resets = 2

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal resets
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + coding + b"Connection: close\r\n\r\na,b\n1,2\n")
        await writer.drain()
        if resets:
            resets -= 1
            await asyncio.sleep(0.05)  # for what was written to get there
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        else:
            writer.write(b"3,4\n")
            writer.close()

    meter = AccessMeter()
    async with await asyncio.start_server(answer, "127.0.0.1", unused_tcp_port):
        asked = request(f"http://127.0.0.1:{unused_tcp_port}/")
        response = await make().request(asked, meter=meter)
    assert (response.body, meter.retries) == (b"a,b\n1,2\n3,4\n", 2)


async def test_nobody_listens(make: Callable[..., WebClient], unused_tcp_port: int) -> None:
    meter = AccessMeter()
    with pytest.raises(SourceError, match="cannot connect") as error:
        await make().request(request(f"http://127.0.0.1:{unused_tcp_port}/"), meter=meter)
    assert error.value.attempts == 5
    assert (meter.requests, meter.failed, meter.in_flight) == (5, 1, 0)


async def test_a_redirect_on_the_same_host_keeps_the_credentials(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/old":
            return web.Response(status=308, headers={"Location": "/new?q=1&key=leak"})
        return web.json_response([asked.raw_path, asked.headers.get("Authorization")])

    server, meter = await serve(handler), AccessMeter()
    response = await make().request(request(f"{server.url}/old", credentials=CREDENTIALS), meter=meter)
    assert response.body.decode() == f'["/new?q=1&key=t0p%20s3cret%2F%2B", "Bearer {SECRET}"]'
    assert meter.requests == 2


@pytest.mark.parametrize(
    ("here", "there", "same"),
    [
        ("http://svc.example/a", "https://svc.example/b", True),
        ("http://svc.example:80/a", "https://svc.example:443/b", True),
        ("http://svc.example:8080/a", "https://svc.example:8080/b", True),
        ("http://svc.example:8080/a", "https://svc.example:9999/b", False),
        ("http://svc.example:8080/a", "https://svc.example/b", False),
        ("http://svc.example/a", "https://svc.example:8443/b", False),
        ("http://svc.example/a", "http://svc.example:443/b", False),
    ],
)
async def test_another_port_is_another_host_but_for_that_of_https(
    make: Callable[..., WebClient], here: str, there: str, same: bool
) -> None:
    asked = request(here, credentials=CREDENTIALS, policy={"allowed_hosts": frozenset({"svc.example"})})
    client = make()
    assert bool(client._redirected(asked, 302, here, there).credentials.headers) == same
    if not same:
        with pytest.raises(Exception, match="refused a redirect to another host"):
            client._redirected(request(here, credentials=CREDENTIALS), 302, here, there)


async def test_a_redirect_to_another_host_is_refused(serve: Serve, make: Callable[..., WebClient]) -> None:
    there = await serve(answers(200))
    here = await serve(
        answers(web.Response(status=302, headers={"Location": f"{there.url}/?key=t0p%20s3cret%2F%2B"}))
    )
    with pytest.raises(SourceError, match="refused a redirect to another host") as error:
        await make().request(request(here.url, credentials=CREDENTIALS), meter=AccessMeter())
    assert there.asked == []
    assert "s3cret" not in str(error.value)


async def test_an_allowed_host_is_followed_to_without_credentials(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    there = await serve(answers(200))
    here = await serve(answers(web.Response(status=302, headers={"Location": f"{there.url}/there"})))
    policy = {"allowed_hosts": frozenset({f"127.0.0.1:{there.port}"})}
    asked = request(
        here.url, credentials=CREDENTIALS, policy=policy, headers={"Cookie": "a=b", "Accept": "x/y"}
    )
    response = await make().request(asked, meter=AccessMeter())
    assert response.url == f"{there.url}/there"
    got = there.asked[0]
    assert got.raw_path == "/there"
    assert "Authorization" not in got.headers
    assert "Cookie" not in got.headers
    assert got.headers["Accept"] == "x/y"


@pytest.mark.parametrize(
    ("status", "place", "method"),
    [
        *((status, "/search/", "POST") for status in (301, 302, 307, 308)),
        *((status, "/v2/find", "POST") for status in (301, 307, 308)),
        (303, "/search/", "GET"),
        (302, "/results/7", "GET"),
    ],
)
async def test_a_question_that_was_posted_is_asked_where_it_is_redirected_to(
    serve: Serve, make: Callable[..., WebClient], status: int, place: str, method: str
) -> None:
    """What a GET lists there, without the body, would be taken for what was found."""
    asked: list[tuple[str, str, str]] = []

    async def handler(one: web.Request) -> web.Response:
        asked.append((one.method, one.path, await one.text()))
        return (
            web.Response(status=status, headers={"Location": place})
            if one.path == "/search"
            else web.Response()
        )

    server = await serve(handler)
    await make().request(request(f"{server.url}/search", method="POST", json={"q": 1}), meter=AccessMeter())
    assert asked[1:] == [(method, place, '{"q": 1}' if method == "POST" else "")]


async def test_redirects_in_a_circle_end(serve: Serve, make: Callable[..., WebClient]) -> None:
    server = await serve(answers(web.Response(status=301, headers={"Location": "/"})))
    with pytest.raises(SourceError, match="more than 5 redirects"):
        await make().request(request(server.url), meter=AccessMeter())
    assert len(server.asked) == 6


async def test_caps_on_size_and_ratio(serve: Serve, make: Callable[..., WebClient]) -> None:
    bomb = gzip.compress(bytes(20_000_000))
    server = await serve(answers(web.Response(body=bomb, headers={"Content-Encoding": "gzip"})))
    meter = AccessMeter()
    with pytest.raises(SourceError, match="expands more than 200 times"):
        await make().request(request(server.url), meter=meter)
    assert (meter.requests, meter.retries, meter.failed) == (1, 0, 1)
    server = await serve(answers(web.Response(body=b"x" * 1001)))
    with pytest.raises(SourceError, match="larger than 1,000 bytes"):
        await make().request(request(server.url, policy={"max_body": 1000}), meter=AccessMeter())


async def test_a_budget_is_not_exceeded_by_one(serve: Serve, make: Callable[..., WebClient]) -> None:
    server, client, meter = await serve(answers(503, 200)), make(), AccessMeter(budget=Budget(7))
    done = await asyncio.gather(
        *(client.request(request(server.url), meter=meter) for _ in range(20)), return_exceptions=True
    )
    assert len(server.asked) == client.requests_sent == meter.requests == 7
    assert meter.budget is not None
    assert meter.budget.spent == 7
    spent = [item for item in done if isinstance(item, BudgetExhausted)]
    assert len(spent) == 14, "six answers, one of the seven requests having been a retry"
    assert "budget of 7 requests" in str(spent[0])


async def test_what_no_budget_pays_for_takes_no_turn_from_others(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    time = FakeTime()
    server, client = await serve(answers(200)), make(time)
    policy = {"fill_rate": 1.0, "bucket_size": 1}
    poor = AccessMeter(budget=Budget(3))
    waiting = [
        asyncio.create_task(client.request(request(f"{server.url}/poor", policy=policy), meter=poor))
        for _ in range(30)
    ]
    await asyncio.sleep(0)
    await client.request(request(f"{server.url}/rich", policy=policy), meter=AccessMeter())
    assert time.now == pytest.approx(3, abs=0.1), "the fourth request, at one a second"
    done = await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(isinstance(one, BudgetExhausted) for one in done) == 27
    assert sorted(server.paths) == [*["/poor"] * 3, "/rich"]


async def test_a_budget_gets_back_what_was_not_sent(serve: Serve, make: Callable[..., WebClient]) -> None:
    arrived, end = asyncio.Event(), asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        arrived.set()
        await end.wait()
        return web.Response()

    server, client, budget = await serve(handler), make(), Budget(2)
    asked = request(server.url, policy={"max_concurrency": 1})
    meter = AccessMeter(budget=budget)
    first, queueing = (asyncio.create_task(client.request(asked, meter=meter)) for _ in range(2))
    await arrived.wait()
    assert budget.spent == 2
    queueing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await queueing
    assert (budget.spent, meter.requests) == (1, 1)
    end.set()
    await first
    assert (await client.request(asked, meter=meter)).status == 200
    assert len(server.asked) == budget.spent == 2


async def test_a_cancelled_request_frees_its_place(serve: Serve, make: Callable[..., WebClient]) -> None:
    arrived, end = asyncio.Event(), asyncio.Event()

    async def handler(asked: web.Request) -> web.Response:
        arrived.set()
        if asked.path == "/slow":
            await end.wait()
        return web.Response(text="fast")

    server, client, meter = await serve(handler), make(), AccessMeter()
    policy = {"max_concurrency": 1}
    slow = asyncio.create_task(client.request(request(f"{server.url}/slow", policy=policy), meter=meter))
    await arrived.wait()
    slow.cancel()
    async with asyncio.timeout(10):
        response = await client.request(request(f"{server.url}/fast", policy=policy), meter=meter)
    end.set()
    assert response.body == b"fast"
    assert meter.in_flight == 0


async def test_parameters_are_escaped_and_bodies_sent(serve: Serve, make: Callable[..., WebClient]) -> None:
    async def handler(asked: web.Request) -> web.Response:
        return web.json_response([asked.method, asked.raw_path, dict(asked.query), (await asked.text())])

    server, client = await serve(handler), make()
    asked = request(
        f"{server.url}/a%2Fb?x=1", params=(("q", "a/b?&=#é {}"), ("q", "2")), method="POST", json={"k": [1]}
    )
    response = await client.request(asked, meter=AccessMeter())
    assert response.body.decode().startswith('["POST", "/a%2Fb?x=1&q=a%2Fb%3F%26%3D%23%C3%A9%20%7B%7D&q=2"')
    assert '{\\"k\\": [1]}' in response.body.decode()
    asked = request(server.url, method="POST", form={"grant": "a b"})
    assert b"grant=a+b" in (await client.request(asked, meter=AccessMeter())).body


async def test_requests_are_written_whole_whatever_came_before_them(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        named = {
            name: asked.headers.getall(name)
            for name in ("X-Key", "Accept", "Content-Type")
            if name in asked.headers
        }
        return web.json_response([asked.method, asked.path, named])

    server, client = await serve(handler), make()

    async def seen(url: str, **fields: Any) -> object:
        return json.loads((await client.request(request(url, **fields), meter=AccessMeter())).body)

    every = {"Accept": ["*/*"]}
    assert await seen(f"{server.url}/a") == ["GET", "/a", every]
    assert await seen(f"{server.url}?q=1#part", headers={"x-key": "1"}) == [
        "GET",
        "/",
        every | {"X-Key": ["1"]},
    ]
    assert await seen(f"{server.url}/a", headers={"x-key": "2", "accept": "text/csv"}) == [
        "GET",
        "/a",
        {"X-Key": ["2"], "Accept": ["text/csv"]},
    ]
    sent = {"Content-Type": ["application/json"]}
    assert await seen(f"{server.url}/b", method="POST", json=[1]) == ["POST", "/b", every | sent]
    own = {"content-type": "application/vnd.x+json"}
    assert await seen(f"{server.url}/b", method="POST", json=[1], headers=own) == [
        "POST",
        "/b",
        every | {"Content-Type": ["application/vnd.x+json"]},
    ]
    assert await seen(f"{server.url}/a") == ["GET", "/a", every]
    # What no request line can hold is written otherwise: nothing of a URL becomes a header.
    assert await seen(f"{server.url}/a\r\nX-Key: 1") == ["GET", "/a\r\nX-Key: 1", every]


async def test_busy_time_and_what_limits_are_measured(serve: Serve, make: Callable[..., WebClient]) -> None:
    time = FakeTime()

    async def handler(_: web.Request) -> web.Response:
        time.now += 1.0
        return web.Response(text="{}")

    server, client, meter = await serve(handler), make(time), AccessMeter()
    policy = {"max_concurrency": 1}
    await asyncio.gather(*(client.request(request(server.url, policy=policy), meter=meter) for _ in range(4)))
    assert meter.busy_s == pytest.approx(4.0)
    assert meter.waited == {"concurrency": pytest.approx(1 + 2 + 3)}
    assert meter.limited_by == "concurrency"


async def test_the_client_can_be_used_again_after_closing(
    serve: Serve, make: Callable[..., WebClient]
) -> None:
    server, client = await serve(answers(200)), make()
    await client.request(request(server.url), meter=AccessMeter())
    await client.close()
    await client.close()
    assert (await client.request(request(server.url), meter=AccessMeter())).status == 200


async def test_a_request_counts_once_it_is_on_the_wire(
    serve: Serve, make: Callable[..., WebClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, connecting, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(_: web.Request) -> web.Response:
        arrived.set()
        await over.wait()
        return web.Response()

    async def connect(*_: Any, **__: Any) -> Any:
        connecting.set()
        await asyncio.Event().wait()

    server = await serve(handler)

    async def cancelled(once: asyncio.Event) -> tuple[int, int, int, int]:
        client, budget = make(), Budget(3)
        meter = AccessMeter(budget=budget)
        task = asyncio.create_task(client.request(request(server.url), meter=meter))
        await once.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return meter.requests, client.requests_sent, budget.spent, meter.in_flight

    assert await cancelled(arrived) == (1, 1, 1, 0)
    with monkeypatch.context() as patch:
        patch.setattr(aiohttp.TCPConnector, "connect", connect)
        assert await cancelled(connecting) == (0, 0, 0, 0)
    over.set()
