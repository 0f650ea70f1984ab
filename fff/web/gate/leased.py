"""The gate of a host in a task whose requests are leased: see `leases` for who leases them.

A lease is good for the moment in which it was given. A task that stands still for a while finds all that were
given meanwhile at once, and if it spent them the host would get more within a second than is declared. So it
gives back what comes late: by the time from asking to starting, less that for which whoever leases says that it
held the request back, and less what the way there and back takes anyway. A steady delay does no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from fff.stats import AccessMeter
from fff.structs import astuple
from fff.web.clock import Clock
from fff.web.gate.leases import Message, rules_of
from fff.web.gate.limiter import HostLimiter, Permit
from fff.web.gate.rate import SlidingLimit
from fff.web.gate.rate_limit_headers import Quota
from fff.web.gate.waits import Cause, WaitTooLong
from fff.web.types import HostPolicy

_log = logging.getLogger("fff")

#: Seconds that a lease may be late, or as many as the rate has for one request: 2 % more in a second, or one.
_LATE_S = 0.02
#: What the way takes is the quickest lease of so many seconds, once there were so many moments before this one;
#: what comes in one moment may all have waited for it.
_LATELY_S, _MOMENTS, _MOMENT_S = 10.0, 3, 0.1


class LeaseLost(Exception):  # noqa: N818 - internal; whoever waits for a lease goes on without
    """Nobody leases any more."""


class LeaseWire(Protocol):
    """The connection of a task."""

    def send(self, message: Message) -> None:
        """Never waits, and never fails: who is not there does not answer."""

    async def close(self) -> None:
        """End it once all is sent."""


#: Connects; is given who takes messages, and who is told of the end. Raises OSError, ValueError.
Connect = Callable[[Callable[[Message], None], Callable[[], None]], Awaitable[LeaseWire]]


class LeaseLine:
    """Leases of one task from wherever `connect` leads; where it leads nowhere, each host has its static share.

    Args:
        connect: connects once the first request wants to start.
        tasks: how many ask side by side.
        token: proves that this is a task of theirs; keys of hosts are hashed with it.
    """

    def __init__(self, connect: Connect, tasks: int, token: bytes) -> None:
        self.tasks = tasks
        self._clock = Clock()
        self.lost: str | None = None  # why there are static shares
        self.reached = False
        self._connect = connect
        self._token = token
        self._wire: LeaseWire | None = None
        self._connecting = asyncio.Lock()
        self._number = 0
        self._ways: deque[tuple[float, float]] = (
            deque()
        )  # by moment: its begin, seconds the quickest lease took
        self._waiting: dict[int, asyncio.Future[Message]] = {}

    def limiter(self, host: tuple[str, str], policy: HostPolicy) -> LeasedLimiter:
        """The gate of a host and of who asks, which stay unknown to whoever leases."""
        key = hmac.new(self._token, repr(host).encode(), "sha256").hexdigest()
        return LeasedLimiter(policy, self._clock, self, key)

    async def ask(self, number: int, key: str, rules: Message | None, units: int) -> Message:
        """The answer, once the request of that number may start. Raises LeaseLost."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self.send(["ask", number, key, rules, units])
            return await answer
        except asyncio.CancelledError:
            self.send(["back", number, []])
            raise
        finally:
            del self._waiting[number]

    def lateness(self, way: float) -> float:
        """By how many seconds a lease comes later than it had to, which was on its way for `way` seconds."""
        now = self._clock.now()
        while self._ways and self._ways[0][0] < now - _LATELY_S:
            self._ways.popleft()
        begin, quickest = now, way
        if self._ways and now - self._ways[-1][0] < _MOMENT_S:
            begin, quickest = self._ways.pop()
        usual = min(one for _, one in self._ways) if len(self._ways) >= _MOMENTS else 0.0
        self._ways.append((begin, min(way, quickest)))
        return way - usual

    def next(self) -> int:
        """A number for a request, below 0."""
        self._number -= 1
        return self._number

    def send(self, message: Message) -> None:
        """Say something that has no answer."""
        if self._wire is not None:
            self._wire.send(message)

    async def open(self) -> None:
        """Connect, unless that was done. Raises LeaseLost."""
        async with self._connecting:
            if self._wire is None and self.lost is None:
                try:
                    self._wire = await self._connect(self._receive, self._ended)
                    self.reached = True
                except (OSError, ValueError) as error:
                    self._lose(f"not reached: {error or type(error).__name__}")
        if self._wire is None:
            raise LeaseLost

    async def close(self) -> None:
        """Say goodbye, also where nothing was asked: what the task does not use is for the others."""
        with contextlib.suppress(LeaseLost):
            await self.open()
        if self._wire is not None:
            wire, self._wire = self._wire, None
            wire.send(["bye"])
            await wire.close()
        self.lost = self.lost or "closed"

    def _receive(self, message: Message) -> None:
        waiting = self._waiting.get(message[1])
        if waiting is not None and not waiting.done():  # else it was cancelled meanwhile
            waiting.set_result(message)

    def _ended(self) -> None:
        if self._wire is not None:
            self._wire = None
            self._lose("gone")

    def _lose(self, why: str) -> None:
        self.lost = why
        _log.warning(
            "the ceiling of the cluster is kept by static shares, of %d tasks each has one: who leases is %s",
            self.tasks,
            why,
        )
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LeaseLost())


class LeasedLimiter(HostLimiter):
    """A host's gate that asks for each start; without anybody to ask, the gate of a static share."""

    def __init__(self, policy: HostPolicy, clock: Clock, line: LeaseLine, key: str) -> None:
        super().__init__(policy.shared(line.tasks), clock)
        self.policy = policy
        self._line = line
        self._key = key
        self._rules_sent = False  # whether the rules are known at the other end
        self._outcomes: dict[int, list[Message]] = {}  # of leased requests, by number
        self._alone = False
        self._left: tuple[float | None, float] = (None, 0.0)
        self._queue = 0

    @property
    def cause(self) -> Cause | None:
        """See `HostLimiter`; of leases only that somebody waits is known before the wait is over."""
        return super().cause if self._line.lost is not None else "rate" if self._queue else None

    def resumes_in(self) -> float | None:
        """See `HostLimiter`."""
        wait = self._paused_until - self._clock.now()
        return (
            super().resumes_in()
            if self._line.lost is not None
            else wait
            if self._queue and wait > 0
            else None
        )

    def left(self) -> tuple[float | None, float]:
        """See `HostLimiter`; as it was when the last request started."""
        return super().left() if self._line.lost is not None else self._left

    def tighten(self, policy: HostPolicy) -> None:
        """See `HostLimiter`."""
        super().tighten(policy.shared(self._line.tasks))
        self.policy, self._rules_sent = policy, False

    async def acquire(self, meter: AccessMeter, units: int = 1) -> Permit:
        """See `HostLimiter`."""
        if self._line.lost is None:
            meter.gates[self] = meter.gates.get(self, 0) + 1
            self._queue += 1
            try:
                return await self._leased(meter, units)
            except LeaseLost:
                pass
            finally:
                self._queue -= 1
                meter.gates[self] -= 1
                if not meter.gates[self]:
                    del meter.gates[self]
        self._fall_back(meter)
        return await super().acquire(meter, units)

    async def _leased(self, meter: AccessMeter, units: int) -> Permit:
        await self._line.open()
        while True:
            asked = self._clock.now()
            number, answer = await self._ask(units)
            if answer[0] == "long":
                raise WaitTooLong(answer[2], declared=answer[3], shared=answer[4])
            _, _, held, waited, successes, left = answer
            for cause, seconds in waited.items():
                self.blocked[cause] = self.blocked.get(cause, 0.0) + seconds
                meter.waited[cause] = meter.waited.get(cause, 0.0) + seconds
            meter.throttled_s += waited.get("throttled", 0.0)
            self.successes = max(self.successes, successes)
            self._left = left[0], left[1]
            rate = self.policy.fill_rate
            if rate is None or self._line.lateness(self._clock.now() - asked - held) <= max(
                _LATE_S, 1 / rate
            ):
                self._outcomes[number] = []
                return Permit(number, 1, self._clock.now())
            self._line.send(["late", number])

    async def _ask(self, units: int) -> tuple[int, Message]:
        """The number of a request that wants to start, and the answer."""
        rules = None if self._rules_sent else rules_of(self.policy)
        self._rules_sent = True
        number = self._line.next()
        return number, await self._line.ask(number, self._key, rules, units)

    def _fall_back(self, meter: AccessMeter) -> None:
        """From now on with the static share; where there were leases, as if all that is declared were just used up."""
        if self._alone:
            return
        self._alone = True
        meter.warn(
            "the ceiling of the cluster was kept by static shares: who leases requests was not reached"
        )
        if self._line.reached:
            now = self._clock.now()
            for bucket in self._buckets.values():
                bucket.use_up(now)
            windows = self.policy.shared(self._line.tasks).windows
            self._windows = {one: SlidingLimit(one, [now] * one.limit) for one in windows}

    def release(self, permit: Permit) -> None:
        """See `HostLimiter`: what came of the request goes along."""
        outcomes = self._outcomes.pop(permit.serial, None)
        if outcomes is None:
            super().release(permit)
        else:
            self._line.send(["back", permit.serial, outcomes])

    def observe(self, permit: Permit, quotas: Sequence[Quota]) -> None:
        """See `HostLimiter`."""
        if permit.serial not in self._outcomes:
            super().observe(permit, quotas)
        elif quotas:
            self._outcomes[permit.serial].append(["observe", [astuple(one) for one in quotas]])

    def admitted(self, permit: Permit) -> None:
        """See `HostLimiter`."""
        if permit.serial not in self._outcomes:
            super().admitted(permit)
        else:
            self.successes += 1
            self._outcomes[permit.serial].append(["admitted"])

    def refused(self, permit: Permit, wait: float, *, wait_named: bool = True) -> float:
        """See `HostLimiter`; a leased request waits by itself, others for as long as they are told elsewhere."""
        if permit.serial not in self._outcomes:
            return super().refused(permit, wait, wait_named=wait_named)
        self._outcomes[permit.serial].append(["refused", wait, wait_named])
        self._paused_until = max(self._paused_until, self._clock.now() + wait)
        return 0.0 if wait > self.policy.max_delay else wait  # a wait out of bounds is told by who leases

    def unanswered(self, permit: Permit) -> None:
        """See `HostLimiter`."""
        if permit.serial not in self._outcomes:
            super().unanswered(permit)
        else:
            self._outcomes[permit.serial].append(["unanswered"])

    def pause(self, seconds: float) -> None:
        """See `HostLimiter`."""
        super().pause(seconds)
        if self._line.lost is None and seconds > 0:
            self._line.send(["pause", self._key, seconds])
