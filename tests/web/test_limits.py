"""Limits of servers are found out and kept: few refusals, little of the allowed rate unused, nothing lost.

Virtual time and simulated servers; a run of minutes takes a fraction of a second.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.types import HostPolicy, Outgoing, RawResponse, Request
from tests.real.running import tool
from tests.web import simulated
from tests.web.simulated import Bucket, FixedWindow, Limit, Ran, SimulatedServer, SlidingWindow, Tell, drive

LIMITS: dict[str, Callable[[], Limit]] = {
    "fixed window of ten seconds": lambda: FixedWindow(100, 10),
    "fixed window of a minute": lambda: FixedWindow(60, 60),
    "fixed window somebody used": lambda: FixedWindow(100, 60, phase=20, used=95),
    "sliding window of ten seconds": lambda: SlidingWindow(100, 10),
    "sliding window of half a minute": lambda: SlidingWindow(5, 30),
    "bucket": lambda: Bucket(20, 10),
    "large bucket": lambda: Bucket(100, 5),
}
TELLS = {
    "triple": simulated.triple,
    "structured": simulated.structured,
    "epoch": simulated.epoch,
    "epoch in ms": simulated.epoch_ms,
}


def all_answered(ran: Ran) -> None:
    count = len(ran.answers)
    assert [int(answer.rsplit(b"/", 1)[1]) for answer in ran.answers] == list(range(count)), "nothing lost"
    server = ran.server
    assert ran.meter.requests == count + len(server.refused)
    assert ran.meter.throttled == ran.meter.retries == len(server.refused)
    assert ran.meter.failed == 0


MANY = [
    "fixed window of ten seconds",
    "fixed window somebody used",
    "sliding window of ten seconds",
    "bucket",
]


@pytest.mark.parametrize(
    ("limit", "tell"),
    [
        pytest.param(limit, tell, marks=[pytest.mark.slow] * (tell != "structured"))
        for limit in MANY
        for tell in TELLS
    ]
    + [(limit, "structured") for limit in LIMITS if limit not in MANY],
)
def test_a_server_that_tells_its_quota_refuses_hardly_ever(limit: str, tell: str) -> None:
    made = LIMITS[limit]()
    server = SimulatedServer(made, tell=TELLS[tell])
    ran = drive(server, int(400 * made.rate) + 150 if made.rate < 2 else 800)
    all_answered(ran)
    after = [at for at in server.refused if at > 0.2]
    assert len(after) <= 1, "the first requests, sent together, may be too many; then only rounded times are"
    fresh = 40 if "somebody" in limit else made.limit / made.rate  # the first window that is all ours
    # This one says in whole seconds, rounded up, when the next of a sliding window may go: what it says costs that much.
    asked_to_wait_longer = "sliding window of ten" in limit and tell == "epoch"
    assert server.share(since=fresh) >= (0.90 if asked_to_wait_longer else 0.95)
    assert ran.meter.limited_by in ("rate", "throttled")


@pytest.mark.parametrize("tell", [simulated.retry_after, simulated.nothing])
@pytest.mark.parametrize(
    "limit",
    ["fixed window of ten seconds", "fixed window of a minute", "sliding window of ten seconds", "bucket"],
)
@pytest.mark.slow
def test_a_server_that_only_refuses_is_found_out(limit: str, tell: Tell) -> None:
    made = LIMITS[limit]()
    server = SimulatedServer(made, tell=tell)
    ran = drive(server, int(1000 * min(made.rate, 1.5)))
    all_answered(ran)
    waves = server.waves()
    known = waves[-1] if len(waves) < 3 else waves[2]
    if tell is simulated.retry_after:
        assert len(waves) <= 5, "the first, those on trial, and one when too much is tried"
    assert len([at for at in server.refused if at > ran.took / 3]) <= 1, "once the limits are known"
    told = tell is simulated.retry_after
    assert server.share(since=known) >= (0.93 if told else 0.9)
    assert server.share(since=ran.took / 3) >= (0.95 if told else 0.9)


class Shared(SlidingWindow):
    """A window of which somebody else takes as much as there is to have, up to a moment."""

    def __init__(self, limit: int, window: float, until: float) -> None:
        super().__init__(limit, window)
        self._until, self._taken = until, 0.0

    def _roll(self, now: float) -> None:
        while self._taken < min(now, self._until):
            self._taken += self.window / self.limit
            super()._roll(self._taken)
            if len(self._log) < self.limit:
                self._log.append(self._taken)
        super()._roll(now)


@pytest.mark.parametrize("limit", [5, 20])
@pytest.mark.parametrize("refusal", [429, 503])
def test_refusals_end_soon_after_others_have_gone_who_used_a_window(limit: int, refusal: int) -> None:
    server = SimulatedServer(Shared(limit, 10.0, 60.0), tell=simulated.retry_after, refusal=refusal)
    ran = drive(server, 25 * limit)
    all_answered(ran)
    assert len([at for at in server.refused if at > 100]) <= 8
    assert server.share(since=100.0) >= 0.65


@pytest.mark.parametrize("at_once", [1, 4])
def test_waits_that_are_told_too_short_lose_nothing(at_once: int) -> None:
    server = SimulatedServer(FixedWindow(5, 1), tell=simulated.rounded_down)
    ran = drive(server, 60, max_concurrency=at_once)
    all_answered(ran)
    assert len(server.refused) <= 12
    assert ran.took < 30


@pytest.mark.parametrize("at_once", [1, 3, 8])
@pytest.mark.parametrize("ceiling", [8, 32])
@pytest.mark.slow
def test_a_server_that_bounds_concurrency_is_found_out(at_once: int, ceiling: int) -> None:
    server = SimulatedServer(at_once=at_once, tell=simulated.one_second)
    ran = drive(server, 1000, max_concurrency=ceiling)
    all_answered(ran)
    assert server.most == at_once
    waves = server.waves()
    assert len(waves) <= (0 if ceiling == at_once else 4)
    busy = 1000 * 0.05 / at_once
    assert ran.took - sum(at < ran.took for at in waves) <= 1.15 * busy, "of its capacity little is unused"
    late = [at for at in server.refused if at > ran.took / 2]
    assert len(late) <= 1


def test_a_short_query_under_a_generous_quota_is_not_slowed_down() -> None:
    server = SimulatedServer(FixedWindow(5000, 3600), tell=simulated.epoch)
    ran = drive(server, 200)
    all_answered(ran)
    assert ran.took < 200 / 8 * 0.07
    assert ran.meter.limited_by == "concurrency"


def test_declared_rates_stay_hard_under_a_server_that_allows_more() -> None:
    server = SimulatedServer(FixedWindow(1000, 10), tell=simulated.structured)
    ran = drive(server, 300, fill_rate=10, bucket_size=5, max_concurrency=3)
    all_answered(ran)
    assert server.most <= 3
    spans = zip(server.admitted, server.admitted[30:], strict=False)
    assert min(later - earlier for earlier, later in spans) >= (30 - 5) / 10 - 0.01
    assert ran.meter.limited_by == "rate"


def test_a_wait_out_of_bounds_ends_the_query_at_once() -> None:
    server = SimulatedServer(FixedWindow(5, 3600), tell=simulated.triple)
    with pytest.raises(SourceError, match=r"asks to wait \d+ s"):
        drive(server, 50)
    assert len(server.refused) <= 3


class TwoHosts:
    """One host refuses whatever it is asked, the other answers."""

    def __init__(self) -> None:
        self.answered: list[float] = []

    async def send(self, out: Outgoing) -> RawResponse:
        await asyncio.sleep(0.05)
        if "busy" in out.url and asyncio.get_running_loop().time() < 100:
            return RawResponse(429, {"retry-after": "100"}, b"")
        self.answered.append(asyncio.get_running_loop().time())
        return RawResponse(200, {}, b"")

    async def close(self) -> None:
        """Nothing to release."""


class Whim(Limit):
    """Refuses most requests whatever comes: no rate is a reason for it."""

    rate = math.inf

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def admits(self, now: float) -> bool:
        return self._rng.random() < 0.4

    def left(self, now: float) -> int:
        return 1

    def opens(self, now: float) -> float:
        return self._rng.uniform(1, 20)


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_refuses_at_random_is_not_asked_ever_less(seed: int) -> None:
    """What waits here is no limit of the server: the gaps stay as long as twice the longest wait after a refusal."""
    ran = drive(SimulatedServer(Whim(seed), tell=simulated.retry_after), 60, max_attempts=20)
    waits = [
        after - at for at, after in itertools.pairwise(sorted((*ran.server.admitted, *ran.server.refused)))
    ]
    assert max(waits) <= 61, "seconds from one request to the next"
    assert ran.took < 60 * 80


def test_a_throttled_host_holds_nobody_else_back() -> None:
    hosts, meters = TwoHosts(), [AccessMeter(), AccessMeter()]

    async def main() -> float:
        loop = asyncio.get_running_loop()
        client = WebClient(rng=random.Random(1), clock=Clock(now=loop.time), transport=hosts)
        rules = HostPolicy()

        async def one(host: str, meter: AccessMeter) -> Any:
            return await client.request(Request(f"http://{host}.example/", policy=rules), meter=meter)

        await asyncio.gather(
            *(one("busy", meters[0]) for _ in range(20)), *(one("calm", meters[1]) for _ in range(80))
        )
        return loop.time()

    took = simulated.run(main())
    assert hosts.answered[79] == pytest.approx(0.5), "eighty in ten rounds"
    assert 100 < took < 110
    assert (meters[0].limited_by, meters[1].limited_by) == ("throttled", "concurrency")
    assert 0 < meters[0].throttled <= 8
    assert meters[1].throttled == 0


@pytest.mark.slow
async def test_a_real_server_with_few_places(shared_folder: Path, tmp_path: Path) -> None:
    """The loopback source of the races, a process of its own: it refuses past eight at once and asks to wait a second."""
    script = shared_folder / "tools" / "race_server.py"
    options = ("--max-inflight", "8", "--lookup-ms", "20", "--keys", "250")
    with tool(script, tmp_path / "log", *options) as url:
        client, meter = WebClient(rng=random.Random(1)), AccessMeter()
        policy = HostPolicy(max_concurrency=16)
        asked = [Request(f"{url}/s/k{number:04d}", policy=policy) for number in range(250)]
        got = await asyncio.gather(*(client.request(one, meter=meter) for one in asked))
        stats = json.loads((await client.request(Request(f"{url}/_stats"), meter=AccessMeter())).body)
        await client.close()
    assert all(f'"k{number:04d}"'.encode() in one.body for number, one in enumerate(got)), "nothing lost"
    assert stats["max_inflight"] == 8
    assert meter.throttled == stats["s_429"] <= 25, "the first wave, and now and then a step too far"
    assert meter.requests == stats["s"] == 250 + stats["s_429"]
