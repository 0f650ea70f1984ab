"""What a request takes: latencies, phases, stalls, failures; one processor for all requests, or a server for each method."""

from __future__ import annotations

import asyncio
import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fff.simulation.loop import VirtualLoop


class Latency(Protocol):
    """How long one request takes."""

    def seconds(self, now: float, rng: random.Random) -> float:
        """Of a request that is begun at `now`."""


@dataclass(frozen=True)
class FixedTime:
    """Always as long."""

    value: float

    def seconds(self, now: float, rng: random.Random) -> float:  # noqa: ARG002
        """`value`."""
        return self.value


@dataclass(frozen=True)
class Uniform:
    """Any duration between two, each as likely."""

    low: float
    high: float

    def seconds(self, now: float, rng: random.Random) -> float:  # noqa: ARG002
        """Drawn anew for each request."""
        return rng.uniform(self.low, self.high)


@dataclass(frozen=True)
class LogNormal:
    """Most requests near the median, some far above: `sigma` is the deviation of the logarithm."""

    median: float
    sigma: float

    def seconds(self, now: float, rng: random.Random) -> float:  # noqa: ARG002
        """Drawn anew for each request."""
        return self.median * rng.lognormvariate(0.0, self.sigma)


@dataclass(frozen=True)
class HeavyTail:
    """Pareto: never below `least`; the smaller `shape`, the heavier the tail (no variance at 2 and below)."""

    least: float
    shape: float

    def seconds(self, now: float, rng: random.Random) -> float:  # noqa: ARG002
        """Drawn anew for each request."""
        return self.least * rng.paretovariate(self.shape)


@dataclass(frozen=True)
class Phases:
    """Latencies that take turns: each from its time on, in ascending order, the first from 0."""

    steps: tuple[tuple[float, Latency], ...]

    def __post_init__(self) -> None:
        starts = [start for start, _ in self.steps]
        assert starts == sorted(starts)
        assert starts[0] == 0, "the first phase begins at 0"

    def seconds(self, now: float, rng: random.Random) -> float:
        """By the phase that `now` is in."""
        place = bisect.bisect_right([start for start, _ in self.steps], now) - 1
        return self.steps[place][1].seconds(now, rng)


@dataclass(frozen=True)
class Stall:
    """From `start` on, nothing moves for `seconds`: what is under way then takes that much longer."""

    start: float
    seconds: float

    @property
    def end(self) -> float:
        """When it moves again."""
        return self.start + self.seconds


@dataclass(frozen=True)
class RandomFailures:
    """Which requests fail, after the time they take: each with a probability, and all that end in [`start`, `end`)."""

    probability: float = 0.0
    start: float = 0.0
    end: float = 0.0

    def strike(self, now: float, rng: random.Random) -> bool:
        """Whether a request that ends now fails."""
        return self.start <= now < self.end or rng.random() < self.probability


AT_ONCE = FixedTime(0.0)
NEVER = RandomFailures()


class OneProcessor:
    """One processor that all share: requests take turns in order of arrival, and the engine goes before any of them."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._engine_s = 0.0  # what the engine has taken so far

    async def work(self, seconds: float) -> None:
        """Occupy the processor for so long; while the engine works, a request makes no progress."""
        async with self._turn:
            left = seconds
            while left > 0:
                before = self._engine_s
                await asyncio.sleep(left)
                left = self._engine_s - before

    def spend(self, seconds: float) -> None:
        """The engine works now."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.spend(seconds)
        self._engine_s += seconds


class SimulatedQuota:
    """Admits `limit` requests at once, and as many more in each `per` seconds, evenly; what is not used is kept up to `limit`."""

    def __init__(self, limit: int, per: float) -> None:
        self._limit = limit
        self.each_s = per / limit
        self._full_at = 0.0  # when all of it is there again

    def left(self, now: float) -> float:
        """How much of it is there; below 0 where requests wait for it."""
        return self._limit - max(0.0, self._full_at - now) / self.each_s

    async def take(self) -> None:
        """Wait for a request's turn."""
        now = asyncio.get_running_loop().time()
        self._full_at = max(self._full_at, now) + self.each_s
        await asyncio.sleep(max(0.0, -self.left(now) * self.each_s))


class Server:
    """Serves one access method: as many requests at once as have a place in line, the others wait.

    Args:
        latency: of each request.
        line: as many places as requests are served at once; servers of one host share it.
        stalls: when nothing moves.
        processor: what serving occupies; None where the server has a processor of its own for each request.
        rng: for the latencies.
        quota: what a request has to wait for besides; servers of one host share it.
    """

    def __init__(
        self,
        latency: Latency,
        line: asyncio.Semaphore,
        stalls: Sequence[Stall],
        processor: OneProcessor | None,
        rng: random.Random,
        *,
        quota: SimulatedQuota | None = None,
    ) -> None:
        self.quota = quota
        self._latency = latency
        self._line = line
        self._stalls = sorted(stalls, key=lambda stall: stall.start)
        self._processor = processor
        self._rng = rng

    @property
    def line(self) -> asyncio.Semaphore:
        """Held while a request is served."""
        return self._line

    async def serve(self) -> None:
        """Take the time of one request, whose place in line is held."""
        if self.quota is not None:
            await self.quota.take()
        now = asyncio.get_running_loop().time()
        seconds = self._latency.seconds(now, self._rng)
        if self._processor is not None:
            await self._processor.work(seconds)
            now, seconds = asyncio.get_running_loop().time(), 0.0
        await asyncio.sleep(ending(now, seconds, self._stalls) - now)


def ending(begin: float, seconds: float, stalls: Sequence[Stall]) -> float:
    """When what begins now and takes so long without stalls ends; `stalls` ascend."""
    end = begin + seconds
    for stall in stalls:
        if begin < stall.end and end > stall.start:
            end += stall.end - max(begin, stall.start)
    return end
