"""After a refusal: as fast again as a hand-written script, none asked again too early, and no more refusals than it has.

The script keeps so many requests in flight, and waits with each as its refusal said; others go on meanwhile.
Virtual time.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.types import HostPolicy, Outgoing, RawResponse, Request
from tests.sampling import every, every_row
from tests.web import simulated
from tests.web.simulated import EPOCH, Bucket, FixedWindow, Limit, SimulatedServer, SlidingWindow, Tell, drive

IN_FLIGHT = 8

#: How a refusal asks for a wait that ends at a moment of wall-clock time, in so many seconds.
SAYS: dict[str, Callable[[float, float], dict[str, str]]] = {
    "seconds": lambda ends, wait: {"retry-after": f"{wait:g}"},
    "a date": lambda ends, wait: {"retry-after": email.utils.formatdate(ends, usegmt=True)},
    "a reset": lambda ends, wait: {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{ends:.0f}"},
}


@dataclass
class Refusing(SimulatedServer):
    """Refuses by number and key of a request, asks for a wait, of a second as a rule, and notes who comes before it is over."""

    refuses: Callable[[int, int, int], bool] = lambda number, key, times: False
    slowly: bool = False  # a refusal takes as long as an answer
    wait: float = 1.0
    says: str = "seconds"
    count: int = 0
    early: int = 0
    until: dict[int, float] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    async def send(self, out: Outgoing) -> RawResponse:
        now, key, number = asyncio.get_running_loop().time(), int(out.url.rsplit("/", 1)[1]), self.count
        self.count += 1
        self.early += now < self.until.get(key, 0.0) - 1e-6
        times = self.times[key] = self.times.get(key, 0) + 1
        if not self.refuses(number, key, times):
            return await super().send(out)
        self.refused.append(now)
        await asyncio.sleep(self.latency(self.rng) if self.slowly else 0.002)
        told = asyncio.get_running_loop().time()
        # Dates and resets are of whole seconds.
        self.until[key] = told + self.wait if self.says == "seconds" else math.ceil(told + self.wait)
        return RawResponse(429, SAYS[self.says](EPOCH + self.until[key], self.wait), b"")


def by_hand(server: SimulatedServer, count: int, hosts: int = 1) -> float:
    """How long the script takes. Where a refusal says that nothing is left until a reset, all of its host wait for that."""
    resets = [0.0] * hosts

    async def work(left: Iterator[int]) -> None:
        for number in left:
            while True:
                now = asyncio.get_running_loop().time()
                if now < resets[number % hosts]:
                    await asyncio.sleep(resets[number % hosts] - now)
                url = f"http://simulated.example/{number}"
                answer = await server.send(Outgoing("GET", url, {}, None, None, frozenset(), HostPolicy()))
                if answer.status != 429:
                    break
                wait = answer.headers.get("retry-after", "1")
                if "x-ratelimit-reset" in answer.headers:
                    resets[number % hosts] = float(answer.headers["x-ratelimit-reset"]) - EPOCH
                elif isinstance(server, Refusing):
                    await asyncio.sleep(server.until[number] - asyncio.get_running_loop().time())
                else:
                    await asyncio.sleep(float(wait))

    async def main() -> float:
        left = iter(range(count))
        await asyncio.gather(*(work(left) for _ in range(IN_FLIGHT * hosts)))
        return asyncio.get_running_loop().time()

    took: float = simulated.run(main())
    return took


WHICH: dict[str, Callable[[int, int, int], bool]] = {
    "the first five": lambda number, key, times: number < 5,
    "five of the first eight": lambda number, key, times: 3 <= number < 8,
    "every twentieth request": lambda number, key, times: number % 20 == 19 and number < 100,
    "every twentieth key, once": lambda number, key, times: key % 20 == 7 and times == 1,
    "the last key of twenty, once": lambda number, key, times: key % 20 == 19 and times == 1,
    "five far apart and near": lambda number, key, times: number in (10, 22, 41, 60, 75),
}


@pytest.mark.parametrize("seconds", every(3, [0.05, 0.005, 0.2]))
@pytest.mark.parametrize("slowly", [False, True])
@pytest.mark.parametrize("which", WHICH)
def test_five_refusals_among_a_hundred_cost_what_they_cost_by_hand(
    which: str, slowly: bool, seconds: float
) -> None:
    def made() -> Refusing:
        return Refusing(
            refuses=WHICH[which], slowly=slowly, latency=lambda rng: seconds * rng.uniform(0.8, 1.2)
        )

    script, server = made(), made()
    reference = by_hand(script, 100)
    ran = drive(server, 100, max_concurrency=IN_FLIGHT)
    assert len(set(ran.answers)) == 100
    assert len(server.refused) == 5 <= len(script.refused)
    assert ran.took <= 1.5 * reference
    assert server.early == 0


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("wait", every(3, [4.0, 1.0, 20.0]))
@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize("which", ["five of the first eight", "five far apart and near"])
def test_however_a_refusal_asks_for_whatever_wait(which: str, says: str, wait: float, hosts: int) -> None:
    script, server = (Refusing(refuses=WHICH[which], says=says, wait=wait) for _ in range(2))
    reference = by_hand(script, 100, hosts)
    ran = drive(server, 100, hosts=hosts, max_concurrency=IN_FLIGHT)
    assert len(set(ran.answers)) == 100
    assert len(server.refused) == 5 <= len(script.refused)
    # Quotas that seem to run out again and again are spread evenly, though here it is by number who is refused.
    seems = says == "a reset" and which == "five far apart and near"
    assert ran.took <= (2.5 if seems else 1.5) * reference
    assert server.early == 0


def test_five_refusals_in_a_row_cost_two_waits() -> None:
    """The one that finds out whether the host refuses all is refused: the host is left alone as long as it asked."""
    server = Refusing(refuses=lambda number, key, times: 40 <= number < 45)
    ran = drive(server, 100, max_concurrency=IN_FLIGHT)
    assert ran.took < 2 + 1.5 * 100 * 0.05 / IN_FLIGHT
    assert server.early == 0


RULES: dict[str, Callable[[], Limit]] = {
    "fixed windows": lambda: FixedWindow(100, 10),
    "short fixed windows": lambda: FixedWindow(20, 1),
    "a window that had begun": lambda: FixedWindow(100, 10, phase=6),
    "sliding windows": lambda: SlidingWindow(100, 10),
    "short sliding windows": lambda: SlidingWindow(20, 1),
    "a few in a long window": lambda: SlidingWindow(5, 30),
    "a bucket": lambda: Bucket(20, 10),
    "a quick bucket": lambda: Bucket(20, 30),
}


@pytest.mark.parametrize(
    ("rule", "tell"),
    every_row(
        3,
        [(rule, simulated.retry_after) for rule in RULES]
        + [(rule, simulated.nothing) for rule in RULES if "long" not in rule],
    ),  # which is given up on after five attempts
)
def test_limits_are_used_as_by_hand_with_fewer_refusals(rule: str, tell: Tell) -> None:
    script, server = (SimulatedServer(RULES[rule](), tell=tell) for _ in range(2))
    assert server.limit is not None
    count = int(min(600, 100 * server.limit.rate))
    reference = by_hand(script, count)
    ran = drive(server, count, max_concurrency=IN_FLIGHT)
    assert len(set(ran.answers)) == count
    assert len(server.refused) <= len(script.refused)
    assert ran.took <= 1.5 * reference


@pytest.mark.parametrize("latency", [0.02, 0.05])
@pytest.mark.parametrize("at_once", [2, 5, 12])
def test_a_bound_on_concurrency_is_used_as_by_hand(at_once: int, latency: float) -> None:
    script, server = (
        SimulatedServer(at_once=at_once, tell=simulated.one_second, latency=lambda rng: latency)
        for _ in range(2)
    )
    reference = by_hand(script, 400)
    ran = drive(server, 400, max_concurrency=IN_FLIGHT)
    assert len(server.refused) <= len(script.refused)
    assert ran.took <= 1.5 * reference


def test_a_wait_of_one_request_is_shown_and_ends_in_time() -> None:
    """Another that takes long, and so tells nothing, holds nobody back for longer than the refusal asked for."""
    meter = AccessMeter()
    seen: list[float | None] = []

    def latency(rng: random.Random) -> float:
        seen.append(meter.resumes_in)
        return 20.0 if len(server.admitted) == 3 else 0.05

    server = Refusing(refuses=lambda number, key, times: number == 1, latency=latency)
    ran = drive(server, 40, meter=meter, max_concurrency=3)
    assert ran.took < 23
    assert len([at for at in server.admitted if at < 2]) >= 20
    assert any(left is not None and 0 < left <= 1 for left in seen)
    assert 0.9 <= meter.throttled_s < 2
    assert not meter.gates


def test_a_question_that_was_told_to_wait_is_not_asked_by_another_before() -> None:
    """Two readings share a page: the second stood in line for it when the first was told to come again later."""
    server = Refusing(refuses=lambda number, key, times: key == 7 and times == 1, wait=2.0)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        clock = Clock(now=loop.time, wall=lambda: EPOCH + loop.time(), sleep=asyncio.sleep)
        client = WebClient(rng=random.Random(1), clock=clock, transport=server)
        rules, meter = HostPolicy(max_concurrency=1), AccessMeter()
        numbers = [1, 7, 2, 7, 3]
        asked = [Request(f"http://simulated.example/{number}", policy=rules) for number in numbers]
        await asyncio.gather(*(client.request(one, meter=meter) for one in asked))
        await client.close()

    simulated.run(main())
    assert (server.times[7], server.early) == (3, 0)
    assert len([at for at in server.admitted if at < 1]) == 3  # the others did not wait for it


def test_an_incident_is_over_when_it_is_over() -> None:
    """A host that refuses everything for two seconds is asked at full speed within two of its waits."""

    def incident(server: Refusing) -> Callable[[int, int, int], bool]:
        return lambda number, key, times: 3 <= asyncio.get_running_loop().time() < 5

    server = Refusing()
    server.refuses = incident(server)
    ran = drive(server, 1600, max_concurrency=IN_FLIGHT)
    full = IN_FLIGHT / 0.052
    after = [at for at in server.admitted if 7 <= at < 8]
    assert len(after) >= 0.8 * full
    assert ran.took <= 1.5 * (1600 / full + 2)
