"""Servers that count, in virtual time: for what takes minutes on a real wire."""

from __future__ import annotations

import asyncio
import math
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from fff.simulation.loop import VirtualLoop
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.types import HostPolicy, Outgoing, RawResponse, Request

EPOCH = 1_700_000_000.0


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Run under virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


class Limit(ABC):
    """Counts requests at the moment they arrive."""

    rate: float  # requests a second it admits in the long run

    @abstractmethod
    def admits(self, now: float) -> bool:
        """Whether it admits a request that arrives now, which then counts."""

    @abstractmethod
    def left(self, now: float) -> int:
        """Requests it would still admit."""

    @abstractmethod
    def opens(self, now: float) -> float:
        """Seconds until it admits again, after a refusal."""

    def resets(self, now: float) -> float:
        """Seconds until it is full again."""
        return self.opens(now)


class FixedWindow(Limit):
    """`limit` requests in each window of `window` seconds; windows start at multiples, `phase` later."""

    def __init__(self, limit: int, window: float, *, phase: float = 0.0, used: int = 0) -> None:
        self.limit, self.window, self.phase = limit, window, phase
        self.rate = limit / window
        self._number, self._used = self._at(0.0), used

    def _at(self, now: float) -> int:
        return math.floor((now + self.phase) / self.window + 1e-9)

    def _roll(self, now: float) -> None:
        if self._at(now) != self._number:
            self._number, self._used = self._at(now), 0

    def admits(self, now: float) -> bool:
        self._roll(now)
        if self._used >= self.limit:
            return False
        self._used += 1
        return True

    def left(self, now: float) -> int:
        self._roll(now)
        return self.limit - self._used

    def opens(self, now: float) -> float:
        return (self._at(now) + 1) * self.window - self.phase - now


class SlidingWindow(Limit):
    """`limit` requests in any `window` seconds."""

    def __init__(self, limit: int, window: float) -> None:
        self.limit, self.window = limit, window
        self.rate = limit / window
        self._log: deque[float] = deque()

    def _roll(self, now: float) -> None:
        while self._log and self._log[0] <= now - self.window:
            self._log.popleft()

    def admits(self, now: float) -> bool:
        self._roll(now)
        if len(self._log) >= self.limit:
            return False
        self._log.append(now)
        return True

    def left(self, now: float) -> int:
        self._roll(now)
        return self.limit - len(self._log)

    def opens(self, now: float) -> float:
        self._roll(now)
        return self._log[0] + self.window - now if self._log else 0.0


class Bucket(Limit):
    """`limit` requests at once, filled at `rate` a second."""

    def __init__(self, limit: int, rate: float) -> None:
        self.limit, self.rate = limit, rate
        self.window = limit / rate
        self._tokens, self._at = float(limit), 0.0

    def _roll(self, now: float) -> None:
        self._tokens = min(self.limit, self._tokens + (now - self._at) * self.rate)
        self._at = now

    def admits(self, now: float) -> bool:
        self._roll(now)
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens -= 1
        return True

    def left(self, now: float) -> int:
        self._roll(now)
        return math.floor(self._tokens + 1e-9)

    def opens(self, now: float) -> float:
        return max(0.0, 1 - self._tokens) / self.rate

    def resets(self, now: float) -> float:
        return (self.limit - self._tokens) / self.rate


Tell = Callable[["SimulatedServer", float, bool], Mapping[str, str]]


@dataclass
class SimulatedServer:
    """A transport that answers after a while, under a limit on the rate or on what it does at once."""

    limit: Limit | None = None
    at_once: int | None = None
    tell: Tell = lambda server, now, refused: {}
    latency: Callable[[random.Random], float] = lambda rng: rng.uniform(0.04, 0.06)
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    refusal: int = 429
    body: Callable[[Outgoing], bytes] = lambda out: out.url.encode()
    inside: int = 0
    most: int = 0
    admitted: list[float] = field(default_factory=list)  # when
    refused: list[float] = field(default_factory=list)

    async def send(self, out: Outgoing) -> RawResponse:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self.rng.uniform(0.001, 0.003))
        now = clock()
        busy = self.at_once is not None and self.inside >= self.at_once
        if busy or (self.limit is not None and not self.limit.admits(now)):
            self.refused.append(now)
            headers = dict(self.tell(self, now, True))
            await asyncio.sleep(self.rng.uniform(0.001, 0.003))
            return RawResponse(self.refusal, headers, b"")
        self.admitted.append(now)
        headers = dict(self.tell(self, now, False))
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.latency(self.rng))
        finally:
            self.inside -= 1
        return RawResponse(200, headers, self.body(out))

    async def close(self) -> None:
        """Nothing to release."""

    def share(self, since: float = 0.0) -> float:
        """What was admitted between then and the last admission, over what the limit allows."""
        assert self.limit is not None
        some = [at for at in self.admitted if at >= since]
        return (len(some) - 1) / ((some[-1] - some[0]) * self.limit.rate)

    def waves(self, gap: float = 0.2) -> list[float]:
        """When refusals began, those close together taken as one."""
        starts: list[float] = []
        last = -math.inf
        for at in self.refused:
            if at - last > gap:
                starts.append(at)
            last = at
        return starts


def retry_after(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    """Whole seconds, rounded up."""
    assert server.limit is not None
    return {"retry-after": str(max(1, math.ceil(server.limit.opens(now) - 1e-9)))} if refused else {}


def rounded_down(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    """The seconds that are left, which in the last of them are 0."""
    assert server.limit is not None
    return {"retry-after": str(math.floor(server.limit.opens(now)))} if refused else {}


def one_second(_server: SimulatedServer, _now: float, refused: bool) -> Mapping[str, str]:
    return {"retry-after": "1"} if refused else {}


def nothing(_server: SimulatedServer, _now: float, _refused: bool) -> Mapping[str, str]:
    return {}


def triple(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    assert server.limit is not None
    return {
        "ratelimit-limit": str(server.limit.limit),
        "ratelimit-remaining": str(server.limit.left(now)),
        "ratelimit-reset": str(math.ceil(server.limit.resets(now) - 1e-9)),
        **retry_after(server, now, refused),
    }


def structured(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    limit = server.limit
    assert limit is not None
    return {
        "ratelimit-policy": f'"default";q={limit.limit};w={limit.window:g}',
        "ratelimit": f'"default";r={limit.left(now)};t={math.ceil(limit.resets(now) - 1e-9)}',
        **retry_after(server, now, refused),
    }


def epoch(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    """GitHub's way: no Retry-After, the reset as seconds since 1970."""
    assert server.limit is not None
    return {
        "x-ratelimit-remaining": str(server.limit.left(now)),
        "x-ratelimit-reset": str(math.ceil(EPOCH + now + server.limit.resets(now) - 1e-9)),
    }


def epoch_ms(server: SimulatedServer, now: float, refused: bool) -> Mapping[str, str]:
    assert server.limit is not None
    return {
        "x-ratelimit-limit": str(server.limit.limit),
        "x-ratelimit-remaining": str(server.limit.left(now)),
        "x-ratelimit-reset": str(math.ceil(1000 * (EPOCH + now + server.limit.resets(now)))),
    }


@dataclass
class Ran:
    server: SimulatedServer
    meter: AccessMeter
    client: WebClient
    answers: list[bytes]
    took: float


def drive(
    server: SimulatedServer, count: int, *, meter: AccessMeter | None = None, hosts: int = 1, **policy: Any
) -> Ran:
    """Send requests all at once, through one client, to so many hosts in turn."""
    meter = meter or AccessMeter()

    async def main() -> Ran:
        loop = asyncio.get_running_loop()
        clock = Clock(now=loop.time, wall=lambda: EPOCH + loop.time(), sleep=asyncio.sleep)
        client = WebClient(rng=random.Random(1), clock=clock, transport=server)
        rules = HostPolicy(**policy)

        async def one(number: int) -> bytes:
            asked = Request(f"http://simulated{number % hosts or ''}.example/{number}", policy=rules)
            return (await client.request(asked, meter=meter)).body

        tasks: list[Awaitable[bytes]] = [asyncio.ensure_future(one(number)) for number in range(count)]
        answers = list(await asyncio.gather(*tasks))
        await client.close()
        return Ran(server, meter, client, answers, loop.time())

    ran: Ran = run(main())
    return ran
