"""One ceiling for tasks that ask hosts side by side: each start of a request is a lease. No input or output, no secrets.

A lease is for one request: it is given in the moment in which that may start, by the same limiter that a single
process has, and for that moment: a task that had no time for it then gives it back unspent (see `leased`). So no
window counts what may never be sent, nobody holds what another could use, and whatever a server says to one task
(a refusal, what is left of a quota) holds for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from fff.stats import AccessMeter
from fff.structs import Struct, field, replace
from fff.web.clock import Clock
from fff.web.gate.limiter import HostLimiter, Permit
from fff.web.gate.rate_limit_headers import Quota
from fff.web.gate.waits import WaitTooLong
from fff.web.types import HostPolicy, Window

_ARRIVAL_S = 30.0  # until a request has arrived whose task stands still with the lease
_JOBS = 1000  # that are remembered after their tasks have gone

#: As JSON: its kind, then what it says.
Message = Sequence[Any]
Send = Callable[[Message], None]


class _Job(Struct):
    """Which of a job's tasks have come so far, by number, and how many are here."""

    tasks: int
    seen: set[int] = field(default_factory=set)
    here: int = 0


class SharedCeiling:
    """The limiters of hosts, which tasks lease the starts of their requests from.

    Of a job's tasks those that have not come hold their static shares back: one that cannot reach this uses its share all the
    same, and together they stay within what is declared. A task that has come and gone leaves its share to the others; one
    that has died, where it cannot be told whether it comes again, does not.
    """

    def __init__(self) -> None:
        self._clock = Clock()
        self._hosts: dict[str, HostLimiter] = {}
        self._jobs: dict[str, _Job] = {}

    def enter(self, job: str, task: int, tasks: int, send: Send) -> LeasingTask:
        """A task of a job of so many comes; what it is answered is given to `send`."""
        known = self._jobs.setdefault(job, _Job(tasks))
        known.seen.add(task)
        known.here += 1
        self._hold_back()
        return LeasingTask(self, job, task, send)

    def leave(self, job: str, task: int, *, died: bool) -> None:
        """It goes."""
        known = self._jobs[job]
        known.here -= 1
        if died:
            known.seen.discard(task)
        self._hold_back()
        if len(self._jobs) > _JOBS:
            idle = [name for name, one in self._jobs.items() if not one.here]
            for name in idle[: len(self._jobs) - _JOBS]:
                del self._jobs[name]

    def host(self, key: str, policy: HostPolicy | None) -> HostLimiter:
        """The limiter of a host and credential; `policy` where a task has not told it before. Raises KeyError."""
        if key not in self._hosts and policy is not None:
            self._hosts[key] = HostLimiter(policy, self._clock, arrival=_ARRIVAL_S)
            self._hold_back()
        elif policy is not None:
            self._hosts[key].tighten(policy)
        return self._hosts[key]

    def now(self) -> float:
        """Seconds, steady."""
        return self._clock.now()

    def close(self) -> None:
        """Stop all timers."""
        for limiter in self._hosts.values():
            limiter.close()

    def _hold_back(self) -> None:
        missing = [(one.tasks - len(one.seen), one.tasks) for one in self._jobs.values() if one.here]
        absent, of = max(missing, key=lambda pair: pair[0] / pair[1], default=(0, 1))
        for limiter in self._hosts.values():
            limiter.hold_back(absent, of)


class LeasingTask:
    """What one task is told and tells.

    It says `ask` (number, host, rules or none, as how many requests it counts) and is answered `go` or `long`,
    the latter where its wait would be out of bounds; `late` (number) where it got to know of `go` too late to start; `back` (number, what came of
    the request) when that is over or not wanted any more; `pause` (host, seconds); `bye` before it goes.
    """

    def __init__(self, ceiling: SharedCeiling, job: str, task: int, send: Send) -> None:
        self._ceiling = ceiling
        self._name = job, task
        self._send = send
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._leases: dict[int, tuple[HostLimiter, Permit]] = {}
        self._done = False

    def receive(self, message: Message) -> None:
        """Raises ValueError, KeyError where it makes no sense."""
        match message:
            case ["ask", int(number), str(key), rules, int(units)]:
                limiter = self._ceiling.host(key, None if rules is None else policy_of(rules))
                task = asyncio.get_running_loop().create_task(self._lease(number, limiter, units))
                self._asking[number] = task
                task.add_done_callback(lambda _: self._asking.pop(number, None))
            case ["back", int(number), [*outcomes]]:
                self._back(number, outcomes)
            case ["late", int(number)]:
                limiter, permit = self._leases.pop(number)
                limiter.unspent(permit)
            case ["pause", str(key), float() | int() as seconds]:
                self._ceiling.host(key, None).pause(seconds)
            case ["bye"]:
                self._done = True
            case _:
                raise ValueError(f"no such message: {message!r:.100}")

    def leave(self) -> None:
        """The task is gone: what it has leased comes back."""
        for number in [*self._asking, *self._leases]:
            self._back(number, ())
        self._ceiling.leave(*self._name, died=not self._done)

    async def _lease(self, number: int, limiter: HostLimiter, units: int) -> None:
        meter = AccessMeter()
        try:
            began = self._ceiling.now()
            permit = await limiter.acquire(meter, units)
        except WaitTooLong as long:
            self._send(["long", number, long.seconds, long.declared, long.shared])
        else:
            self._leases[number] = limiter, permit
            held = self._ceiling.now() - began
            self._send(["go", number, held, meter.waited, limiter.successes, limiter.left()])

    def _back(self, number: int, outcomes: Sequence[Message]) -> None:
        if number in self._asking:
            self._asking[number].cancel()
        if number not in self._leases:
            return  # it was cancelled, or told to wait too long
        limiter, permit = self._leases.pop(number)
        try:
            for outcome in outcomes:
                _tell(limiter, permit, outcome)
        finally:
            limiter.release(permit)


def rules_of(policy: HostPolicy) -> Message:
    """What a limiter needs of a host's rules, as JSON."""
    windows = [[one.limit, one.per] for one in policy.windows]
    bounds = policy.max_wait, policy.max_delay
    return [policy.max_concurrency, policy.fill_rate, policy.bucket_size, windows, *bounds]


def policy_of(rules: Message) -> HostPolicy:
    """The same, read. Raises ValueError."""
    concurrency, rate, bucket, windows, max_wait, max_delay = rules
    known = HostPolicy(max_concurrency=concurrency, fill_rate=rate, bucket_size=bucket)
    return replace(
        known,
        windows=tuple(Window(limit, per) for limit, per in windows),
        max_wait=max_wait,
        max_delay=max_delay,
    )


def _tell(limiter: HostLimiter, permit: Permit, outcome: Message) -> None:
    match outcome:
        case ["observe", [*quotas]]:
            limiter.observe(permit, [Quota(*one) for one in quotas])
        case ["admitted"]:
            limiter.admitted(permit)
        case ["refused", wait, wait_named]:
            limiter.refused(permit, wait, wait_named=wait_named)
        case ["unanswered"]:
            limiter.unanswered(permit)
        case _:
            raise ValueError(f"no such outcome: {outcome!r:.100}")
