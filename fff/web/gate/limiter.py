"""Who may send to a host now: ceilings that are never exceeded, what the host was seen to admit, and the waits it asks for.

Waiters queue first in, first out, and those who ask side by side (`ASKER`) take turns; a freed place is handed over in the same call that frees it, so nothing polls.
In the order asked: a pause the server asked for; concurrency (`crowd`); what is left of the server's quotas (`quota`);
the declared rate, then the rate learnt (`pace`). One refusal may be about its request alone: that one waits as it was
told, and one other finds out whether the host refuses all. After the server was saturated a few requests go first; when
one is admitted, the others follow.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from fff.stats import AccessMeter
from fff.structs import Struct
from fff.web.clock import Clock
from fff.web.gate.concurrency import Crowd
from fff.web.gate.rate import ARRIVAL_S, Pace, SlidingLimit, TokenBucket
from fff.web.gate.rate_limit_headers import Quota, Remaining
from fff.web.gate.turns import ASKER, Turns
from fff.web.gate.waits import Cause, WaitTooLong
from fff.web.types import HostPolicy

_REMEMBERED = 1 << 14  # requests that count for a window or a rate which a further source declares


class Permit(Struct, frozen=True):
    """Leave to send one request: its number, how many were in flight with it, when it was given, as how many it counts."""

    serial: int
    level: int
    started: float
    units: int = 1


class _Doubt(Struct, frozen=True):
    """A refusal that may be about its request alone: the number of that one, and when its wait is over."""

    serial: int
    until: float


class HostLimiter:
    """The gate of one host and credential. `acquire` before sending, `release` after, exactly once each.

    In between at most one of `admitted`, `refused` and `unanswered`, preceded by `observe` where the answer tells of quotas.
    `arrival`: seconds until a request has arrived, at most, which is what declared windows count.
    """

    def __init__(self, policy: HostPolicy, clock: Clock, *, arrival: float = ARRIVAL_S) -> None:
        self.policy = policy  # the newest one applied
        self._clock = clock
        self._max_wait = policy.max_wait
        self._is_share = policy.share_of > 1
        self._crowd = Crowd(policy.max_concurrency)
        self._absent = (0, 1)  # of how many who share it out, how many use theirs by themselves
        self._places = self._own_places()  # what of the ceiling is for who asks here
        self._buckets = {one: TokenBucket(*one) for one in policy.rates}
        self._arrival = arrival
        self._windows = {window: SlidingLimit(window, arrival=arrival) for window in policy.windows}
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)  # when requests started
        self._pace = Pace()
        self._budgets: dict[str, Remaining] = {}
        self._in_flight = 0  # never above the limit at the moment a request starts
        self._paused_until = float("-inf")
        self._waiters: deque[asyncio.Future[Permit]] = deque()
        self._turns = Turns()
        self._units: dict[asyncio.Future[Permit], int] = {}  # of those that count as several requests
        # Those that count as more than others leave of a window, and until when they wait for that to change.
        self._apart: dict[asyncio.Future[Permit], float] = {}
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = 0.0
        self._serial = 0  # number of the newest request started
        self._wave = 0  # requests up to this number belong to a saturation that is dealt with
        self._cut = 0  # number of the newest request started when the crowd was last cut back
        self._saturated = False  # until a request started since is admitted
        self._shut = 0  # number of the newest request started when it became so
        self._shut_at = 0.0  # when it was last refused
        self._first = 0  # how many may still go first
        self._flying: set[int] = set()  # numbers of the requests in flight
        self._doubt: _Doubt | None = None  # a refusal of which it is not known whether it is about the host
        self._refused = False  # saturated by refusals, not by a quota that is used up
        self._closed: float | None = None  # when it was last refused too soon
        self.successes = 0  # answers that were not refusals
        self._refusals = 0  # waves of them since the last other answer
        self.blocked: dict[Cause, float] = {}  # seconds during which somebody waited, by cause
        # By meter of waiters: seconds blocked by the server when the first came.
        self._held: dict[int, float] = {}
        self._cause: Cause | None = None  # why the first waiter waits
        self._cause_since = 0.0

    @property
    def in_flight(self) -> int:
        """Requests started and not released."""
        return self._in_flight

    @property
    def limit(self) -> int:
        """How many may be in flight now."""
        return min(self._crowd.limit, self._places)

    @property
    def rate(self) -> float | None:
        """Requests a second the host was seen to admit; None while that is not known."""
        return self._pace.rate

    @property
    def cause(self) -> Cause | None:
        """Why the first of those that wait does so."""
        return self._cause

    @property
    def limited_by(self) -> Cause | None:
        """What held requests back longest, or None when nothing did."""
        return max(self.blocked, key=self.blocked.__getitem__, default=None)

    def tighten(self, policy: HostPolicy) -> None:
        """A further source on the same host: the lower ceiling, all rates and all windows hold for both."""
        self.policy = policy
        self._crowd.tighten(policy.max_concurrency)
        self._places = self._own_places()
        for window in policy.windows:
            if window not in self._windows:
                self._windows[window] = SlidingLimit(window, self._recent, self._arrival)
        for rate in policy.rates:
            if rate not in self._buckets:
                self._buckets[rate] = TokenBucket(*rate, self._recent)
        if self._absent[0]:
            self.hold_back(*self._absent)

    def hold_back(self, absent: int, of: int) -> None:
        """Of so many who share the ceilings out evenly, some use their shares by themselves: those are not for others."""
        self._absent, now = (absent, of), self._clock.now()
        self._places = self._own_places()
        for bucket in self._buckets.values():
            bucket.hold_back(absent, of, now)
        for window in self._windows.values():
            window.hold_back(absent, of)
        fitting = [one for one in self._apart if not self._held_back(self._units.get(one, 1))]
        self._waiters.extendleft(reversed(fitting))
        for waiter in fitting:
            del self._apart[waiter]
        self._pump(now)

    def _own_places(self) -> int:
        absent, of = self._absent
        return max(1, self._crowd.ceiling * (of - absent) // of)

    async def acquire(self, meter: AccessMeter, units: int = 1) -> Permit:
        """Wait for leave to send what counts as so many requests.

        Raises WaitTooLong where the server's wait is out of bounds, or no window holds that many.
        """
        now = self._clock.now()
        if not self._waiters and self._obstacle(now, units)[0] is None:
            return self._start(now, units)
        if units > 1 and math.isinf(self._window_delay(now, units)):
            raise WaitTooLong(math.inf, declared=True, shared=self._is_share)
        self._check_wait(now, units)
        waiter: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        asker = ASKER.get()
        self._turns.line_up(waiter, self._waiters, asker, units)
        if units > 1:
            self._units[waiter] = units
        self._account(now)
        before = self.blocked.copy()
        meter.gates[self] = meter.gates.get(self, 0) + 1
        self._held.setdefault(id(meter), before.get("throttled", 0.0))
        if self._waiters[0] is waiter or self._waiters[0].done():  # others wait for what the first waits for
            self._pump(now)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.release(waiter.result())  # the place came in the moment of cancellation
            raise
        finally:
            self._units.pop(waiter, None)
            self._turns.leave(waiter, asker)
            self._account(self._clock.now())
            for cause, seconds in self.blocked.items():
                if (waited := seconds - before.get(cause, 0.0)) > 0:
                    meter.waited[cause] = meter.waited.get(cause, 0.0) + waited
            meter.gates[self] -= 1
            if not meter.gates[self]:
                del meter.gates[self]
                meter.throttled_s += self.blocked.get("throttled", 0.0) - self._held.pop(id(meter))

    def resumes_in(self) -> float | None:
        """Seconds until the wait or the quota that the server told of is over; None where nobody waits for that."""
        now = self._clock.now()
        used_up = (one.ends for one in self._budgets.values() if one.left is not None and one.left < 1)
        wait = max((self._paused_until, *used_up)) - now
        return wait if self._waiters and wait > 0 else None

    def free_in(self) -> float:
        """Seconds until a request that comes now may start, as far as that is known: 0 where only others are before it."""
        return self._obstacle(self._clock.now())[1] or 0.0

    def left(self) -> tuple[float | None, float]:
        """Requests that may still start at once under the slowest of the quotas, and the seconds that each waits after those.

        None and 0 where no quota is known.
        """
        if not self._windows and not self._budgets:
            return None, 0.0
        now = self._clock.now()
        rests = [(float(window.left(now)), window.each_s) for window in self._windows.values()]
        rests += [
            (max(0.0, one.left), one.each_s(now))
            for one in self._budgets.values()
            if one.left is not None and now < one.ends
        ]
        return max(rests, key=lambda rest: rest[1], default=(None, 0.0))

    def release(self, permit: Permit) -> None:
        """The request is over: the next waiter starts at once."""
        self._in_flight -= 1
        self._flying.discard(permit.serial)
        now = self._clock.now()
        for window in self._windows.values():
            window.ended(permit.serial, now)
        if self._saturated and not self._later(self._wave):
            self._first = max(self._first, 1)
        self._pump(now)

    def unspent(self, permit: Permit) -> None:
        """In place of `release`: the request was not sent, and others may start for it."""
        for bucket in self._buckets.values():
            bucket.unspent(permit.started, permit.units, self._clock.now())
        for window in self._windows.values():
            window.unspent(permit.serial)
        self.release(permit)

    def observe(self, permit: Permit, quotas: Sequence[Quota]) -> None:
        """The answer tells what is left of the server's quotas."""
        if not quotas:
            return
        now, others = self._clock.now(), self._in_flight - 1
        for quota in quotas:
            self._budgets.setdefault(quota.name, Remaining()).observe(quota, permit.serial, others, now)
        rates = [quota.rate for quota in quotas if quota.rate is not None]
        if rates:
            self._pace.hint(min(rates))

    def admitted(self, permit: Permit) -> None:
        """The answer was no refusal."""
        self.successes += 1
        self._refusals = 0
        if self._doubt is not None and permit.serial > self._doubt.serial:
            self._doubt = None
        if permit.serial > self._wave:  # others tell of the time before the cut
            self._crowd.admitted(permit.level, self._in_flight)
        if self._saturated and permit.serial > self._shut:
            self._pace.resume(
                permit.started, closed=self._closed, refused=self._refused, counted=self._counted
            )
            self._saturated = permit.serial <= self._wave
            if self._saturated:  # some of those that went first were admitted, and others not
                self._shut = self._wave
                self._pace.saturated(self._shut_at)
        if self._saturated or permit.serial > self._wave:  # others belong to an epoch that is over
            self._pace.admitted()

    def refused(self, permit: Permit, wait: float, *, wait_named: bool = True) -> float:
        """The answer told to slow down. Returns the seconds that this request is to wait by itself, while others may start.

        0 where the host is to be left alone for `wait` seconds: nobody starts then. `wait_named`: the server named the wait.
        """
        if permit.serial <= self._wave:
            if not self._saturated:
                self._crowd.refused_again(self._in_flight)
            self.pause(wait)
            return 0.0
        known = any(budget.exhausted(0) for budget in self._budgets.values())
        level = max(permit.level, self._in_flight)  # requests overtake each other on the way
        crowded = not known and self._crowd.to_blame(level)
        if self._doubt is None and self._admits() and not known and wait <= self.policy.max_delay:
            self._doubt = _Doubt(permit.serial, self._clock.now() + wait)
            if crowded:
                self._cut_back(permit, level)
            return wait
        if self._doubt is not None:
            wait = max(wait, self._doubt.until - self._clock.now())
        # Refused again before anything was admitted: what it asked for was too short.
        wait = max(wait, min(wait * 2**self._refusals, self.policy.max_delay))
        self._refusals += 1
        self._pace.told_to_wait(wait, named=wait_named)
        if crowded:
            self._cut_back(permit, level)
            self._wave = self._serial
            if not self._saturated:
                self._pace.restart()
        else:
            self._closed = self._clock.now() if self._saturated else None
            several = wait_named and self._refusals == 1 and not self._counted
            self._saturate(min(self.limit, self._pace.admissions) if several else 1)
            self._refused = True
        self._doubt = None
        self.pause(wait)
        return 0.0

    @property
    def _counted(self) -> bool:
        """Whether the server tells what is left of a quota."""
        return any(budget.counts for budget in self._budgets.values())

    def unanswered(self, permit: Permit) -> None:
        """No answer came in time: the host may be overrun."""
        if permit.serial > self._wave:
            self._wave = self._serial
            self._crowd.overrun()

    def pause(self, seconds: float) -> None:
        """Let nobody start for that long; waiters fail at once where the policy does not allow to wait so long."""
        now = self._clock.now()
        self._paused_until = max(self._paused_until, now + seconds)
        self._pump(now)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut_back(self, permit: Permit, level: int) -> None:
        """Fewer at once: once for all that are in flight together."""
        if permit.serial > self._cut:
            self._crowd.refused(level, self._in_flight)
            self._cut = self._serial
        else:
            self._crowd.refused_again(self._in_flight)

    def _admits(self) -> bool:
        """Whether the host admitted requests up to now, and is not known to refuse all when it does."""
        others = self.successes > 0 or self._in_flight > 1
        return others and not self._refusals and not self._saturated and self._pace.unbounded

    def _later(self, serial: int) -> bool:
        """Whether a request is in flight that started after that one."""
        return any(one > serial for one in self._flying)

    def _saturate(self, first: int = 1) -> None:
        """The host takes no more for now, whoever asks; when it does again, so many are to go first."""
        self._wave, self._shut_at = self._serial, self._clock.now()
        if not self._saturated:
            self._shut = self._serial
            self._pace.saturated(self._shut_at)
        self._saturated, self._first = True, max(1, first)
        if self._pace.believed:
            self._crowd.forget()

    def _check_wait(self, now: float, units: int = 1) -> None:
        """Raise WaitTooLong where the wait is longer than the policy allows; for all who wait, too, where the server asks for it."""
        if self._paused_until <= now and not self._budgets and not self._windows:
            return
        ends = [self._paused_until, *(b.ends for b in self._budgets.values() if b.exhausted(self._in_flight))]
        window = 0.0 if self._held_back(units) else self._window_delay(now, units)
        if (wait := max(window, max(ends) - now)) <= self._max_wait:
            return
        if wait == window:  # others may count as less
            raise WaitTooLong(wait, declared=True, shared=self._is_share)
        too_long = WaitTooLong(wait)
        self._account(now)
        self._cause = None
        for waiter in (*self._waiters, *self._apart):
            if not waiter.done():
                waiter.set_exception(too_long)
        self._waiters.clear()
        self._apart.clear()
        raise too_long

    def _start(self, now: float, units: int = 1) -> Permit:
        for budget in self._budgets.values():
            budget.start()
        for bucket in self._buckets.values():
            bucket.start(now, units)
        self._pace.start(now, self._even(now))
        self._in_flight += 1
        self._serial += 1
        self._recent.extend([now] * units)
        for window in self._windows.values():
            window.start(self._serial, now, units)
        self._flying.add(self._serial)
        self._first -= 1
        return Permit(self._serial, self._in_flight, now, units)

    def _obstacle(self, now: float, units: int = 1) -> tuple[Cause | None, float | None]:
        """Why nobody may start now, and after how many seconds that may change by itself."""
        if self._paused_until > now:
            return "throttled", self._paused_until - now
        if self._saturated and self._first < 1:
            return "throttled", None
        if self._doubt is not None and self._doubt.until <= now:
            self._doubt = None  # it would be a pause that is over
        if self._doubt is not None and self._later(self._doubt.serial):
            return "throttled", self._doubt.until - now
        if self._in_flight >= self.limit:
            return ("concurrency" if self._crowd.limit >= self._crowd.ceiling else "throttled"), None
        for budget in self._budgets.values():
            if budget.expire(now):
                self._pace.free(now)  # the first of a window finds out what the window holds
            if budget.left is not None and budget.left < 1:
                if budget.exhausted(self._in_flight) and not self._saturated:
                    self._saturate()
                    self._closed, self._refused = None, False
                    self._pace.told_to_wait(budget.ends - now, named=True)
                return "throttled", budget.ends - now
        if self._buckets and (delay := max(one.delay(now, units) for one in self._buckets.values())) > 0:
            return "rate", delay
        if self._windows and (delay := self._window_delay(now, units)) > 0:
            return "rate", delay
        if (delay := self._pace.delay(now, self._even(now))) > 0:
            return "rate", delay
        return None, None

    def _held_back(self, units: int) -> bool:
        """Whether so many are more than others leave of a window, and no more than it takes."""
        return units > 1 and any(window.holds_back(units) for window in self._windows.values())

    def _window_delay(self, now: float, units: int = 1) -> float:
        return max([window.delay(now, units) for window in self._windows.values()]) if self._windows else 0.0

    def _even(self, now: float) -> float:
        return min([budget.even_rate(now) for budget in self._budgets.values()]) if self._budgets else 0.0

    def _pump(self, now: float) -> None:
        """Start every waiter that may start; set the timer when only time stands in the way."""
        self._account(now)
        cause: Cause | None = None
        while self._waiters:
            waiter = self._waiters[0]
            if waiter.done():  # cancelled while queueing
                self._waiters.popleft()
                continue
            units = self._units.get(waiter, 1)
            if self._held_back(units):  # nobody behind it need wait for that
                self._apart[self._waiters.popleft()] = now + self._max_wait
                continue
            cause, delay = self._obstacle(now, units)
            if cause is not None:
                try:
                    self._check_wait(now, units)
                except WaitTooLong as long:
                    if not waiter.done():
                        waiter.set_exception(long)
                    continue
                if delay is not None:
                    self._set_timer(now, delay)
                break
            self._turns.came(waiter)
            self._waiters.popleft().set_result(self._start(now, units))
        self._cause = cause if self._waiters else None
        if self._apart:
            self._tell_apart(now)

    def _tell_apart(self, now: float) -> None:
        """Whoever waited as long as the policy allows for others to leave more of a window waits no longer."""
        for waiter, until in list(self._apart.items()):
            if waiter.done() or until <= now:
                del self._apart[waiter]
                if not waiter.done():
                    waiter.set_exception(WaitTooLong(math.inf, declared=True, shared=True))
        if self._apart:
            self._set_timer(now, min(self._apart.values()) - now)

    def _set_timer(self, now: float, delay: float) -> None:
        if self._timer is not None:
            if self._timer_at <= now + delay + 1e-9:
                return
            self._timer.cancel()
        self._timer_at = now + delay
        self._timer = asyncio.get_running_loop().create_task(self._wake(delay))

    async def _wake(self, delay: float) -> None:
        await self._clock.sleep(delay)
        self._timer = None
        self._pump(self._clock.now())

    def _account(self, now: float) -> None:
        """Book the time since the last call on what stood in the way since then."""
        if self._cause is not None and now > self._cause_since:
            self.blocked[self._cause] = self.blocked.get(self._cause, 0.0) + now - self._cause_since
        self._cause_since = now
