"""How long a run keeps trying a host that does not answer: by the share of attempts that were answered. Virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.transport import Network, WireError
from fff.web.types import HostPolicy, Outgoing, RawResponse, Request
from tests.web import simulated
from tests.web.serving import Serve

#: Whether an attempt is answered: by when it is made, its key, and how often that was asked for before.
Answers = Callable[[float, int, int], bool]


@dataclass
class Moody:
    """A host that answers in 50 ms, or after `silence` seconds not at all; `failure` is what it says then."""

    answers: Answers
    silence: float = 0.002
    failure: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    sent: int = 0
    times: dict[int, int] = field(default_factory=dict)

    async def send(self, out: Outgoing) -> RawResponse:
        now, key = asyncio.get_running_loop().time(), int(out.url.rsplit("/", 1)[1])
        self.sent += 1
        times = self.times[key] = self.times.get(key, -1) + 1
        if self.answers(now, key, times):
            await asyncio.sleep(0.05)
            return RawResponse(200, {}, b"x")
        left = self.silence if out.seconds is None else min(self.silence, out.seconds)
        await asyncio.sleep(left)
        if self.failure is not None:
            return RawResponse(self.failure, self.headers, b"")
        raise WireError("no answer in time", again=True)

    async def close(self) -> None:
        """Nothing to release."""


@dataclass
class Ended:
    """How requests for keys, eight at a time, have ended."""

    failed: list[int]
    took: float
    meter: AccessMeter
    last: str


def ask(host: Moody, keys: int, meter: AccessMeter | None = None, at_once: int = 8, **policy: Any) -> Ended:
    meter = meter or AccessMeter()

    async def main() -> Ended:
        loop = asyncio.get_running_loop()
        clock = Clock(now=loop.time, wall=loop.time, sleep=asyncio.sleep)
        client = WebClient(rng=random.Random(1), clock=clock, transport=host)
        left, failed, rules, said = iter(range(keys)), [], HostPolicy(**policy), [""]

        async def work() -> None:
            for key in left:
                try:
                    asked = Request(f"http://h.example/{key}", policy=rules, source="gov", table="t")
                    await client.request(asked, meter=meter)
                except SourceError as error:
                    failed.append(key)
                    said.append(error.message)

        await asyncio.gather(*(work() for _ in range(at_once)))
        await client.close()
        return Ended(sorted(failed), loop.time(), meter, said[-1])

    ended: Ended = simulated.run(main())
    return ended


def test_a_host_that_never_answers_is_given_up_soon() -> None:
    host = Moody(lambda now, key, times: False)
    ended = ask(host, 2000)
    assert len(ended.failed) == 2000, "each is told as missing"
    assert host.sent <= 60
    assert ended.took < 20
    (warning,) = ended.meter.warnings
    assert "http://h.example:80 is not asked any more for gov.t: the last" in warning
    assert ended.meter.failed == 2000
    assert "not asked: the last" in ended.last


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("wait", ["", "7", "60"])
def test_a_host_that_refuses_everything_is_given_up(at_once: int, wait: str) -> None:
    """A quota of a day is used up, say: no run waits for the next."""
    headers = {"retry-after": wait} if wait else {}
    host = Moody(lambda now, key, times: now < 1.0, failure=429, headers=headers)
    ended = ask(host, 2000, at_once=at_once)
    assert len(ended.failed) >= 2000 - 20 * at_once
    assert 300 < ended.took < 450
    assert host.sent - (2000 - len(ended.failed)) < 130, "refusals"
    (warning,) = ended.meter.warnings
    assert "http://h.example:80 is not asked any more for gov.t: the source told the last" in warning
    assert "attempts to slow down" in ended.last


def test_a_host_that_refuses_for_a_window_is_waited_for() -> None:
    """Nobody gets through for four minutes, and then everybody."""
    host = Moody(lambda now, key, times: not 1.0 < now < 240.0, failure=429, headers={"retry-after": "30"})
    ended = ask(host, 2000, max_attempts=20)
    assert (ended.failed, list(ended.meter.warnings)) == ([], [])


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_host_that_keeps_everybody_waiting_holds_a_run_for_minutes_at_most(at_once: int) -> None:
    ended = ask(Moody(lambda now, key, times: False, silence=30.0), 500, at_once=at_once)
    assert len(ended.failed) == 500
    assert ended.took <= 400


def test_nothing_is_sent_where_no_time_is_left_for_an_answer() -> None:
    """Timers may fire a little early: what is left of the bound is then no time for another attempt, which would cost one."""
    host = Moody(lambda now, key, times: False, silence=300.0 - 1e-6)
    ended = ask(host, 1)
    assert host.sent == ended.meter.requests == 1


def test_one_request_takes_no_longer_than_its_bound_with_all_its_attempts() -> None:
    """As long as each attempt might take: 25 minutes, once."""
    ended = ask(Moody(lambda now, key, times: False, silence=299.0), 1)
    assert ended.took <= 300 + 1


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("failure", [None, 503])
def test_chance_opens_no_circuit(share: float, failure: int | None) -> None:
    """Exactly those are missing that failed five times themselves."""
    draw = random.Random(7)
    dice: dict[tuple[int, int], bool] = {}
    host = Moody(
        lambda now, key, times: dice.setdefault((key, times), draw.random() >= share), failure=failure
    )
    ended = ask(host, 1000)
    unlucky = [key for key in range(1000) if not any(dice.get((key, times), False) for times in range(5))]
    assert ended.failed == unlucky
    assert not ended.meter.warnings


def test_keys_that_no_request_can_be_answered_for_are_not_the_hosts_fault() -> None:
    """500 is an answer about the request, however many there are of it."""
    ended = ask(Moody(lambda now, key, times: not 100 <= key < 400, failure=500), 600)
    assert ended.failed == list(range(100, 400))


@pytest.mark.parametrize("outage", [5.0, 20.0, 45.0])
def test_a_good_host_is_waited_for(outage: float) -> None:
    """Few are lost in an outage, those that were on their way and those that looked for its end; all others are answered."""
    ended = ask(Moody(lambda now, key, times: not 2.0 <= now < 2.0 + outage), 3000)
    assert len(ended.failed) <= 16
    assert not ended.meter.warnings
    assert ended.took < 2.0 + outage + 3000 / 8 * 0.05 + 35


def test_a_good_host_that_is_gone_for_good_is_given_up_later() -> None:
    host = Moody(lambda now, key, times: now < 2.0)
    ended = ask(host, 3000)
    assert 30 < ended.took < 150
    assert len(ended.meter.warnings) == 1
    assert len(ended.failed) + host.sent > 3000


def test_another_access_method_finds_out_for_itself() -> None:
    """A fallback is tried, whatever its host did to another, and so is all in the next statement."""
    host = Moody(lambda now, key, times: host.sent > 100)
    assert len(ask(host, 500).failed) == 500
    host.sent = 200
    assert ask(host, 500, AccessMeter()).failed == []


async def drip(asked: web.Request) -> web.StreamResponse:
    """A byte now and then, for ever; or much, steadily, for longer than the bound of an answer without a body."""
    response = web.StreamResponse()
    await response.prepare(asked)
    size, wait, count = (1, 0.01, 10_000) if asked.path == "/drip" else (400_000, 0.1, 8)
    for _ in range(count):
        try:
            await response.write(b"x" * size)
        except ConnectionError:
            break
        await asyncio.sleep(wait)
    return response


@pytest.mark.slow
async def test_the_bound_of_an_answer_fits_its_size(serve: Serve) -> None:
    server, network = await serve(drip), Network()
    loop = asyncio.get_running_loop()
    try:
        policy = HostPolicy(total_timeout=0.4)
        began = loop.time()
        with pytest.raises(WireError, match="no answer in time"):
            await network.send(Outgoing("GET", f"{server.url}/drip", policy=policy))
        assert 0.3 < loop.time() - began < 60, "long before all of it has come"
        began = loop.time()
        answer = await network.send(Outgoing("GET", f"{server.url}/flow", policy=policy))
        assert len(answer.body) == 8 * 400_000
        assert loop.time() - began > 0.5
        with pytest.raises(WireError, match="no answer in time"):
            await network.send(Outgoing("GET", f"{server.url}/drip", policy=policy, seconds=0.05))
    finally:
        await network.close()
