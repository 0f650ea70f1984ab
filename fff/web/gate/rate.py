"""Rates: the one a spec declares, and the one a server was seen to admit."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable

from fff.web.types import Window

_MARGIN = 0.99  # of what a server was seen to admit
_TAKEN_BACK_S = 3.0  # seconds within which a start that was none gives back what it took
_SLACK = 0.02  # seconds by which timers come late, and which may be caught up
ARRIVAL_S = 1.0  # seconds that a request is on its way at most, connecting included
_AHEAD = 8  # ends of requests that are looked at besides those that may be needed
_NEAR = 0.93  # of the rate: what was admitted is as good as the rate
_FAR = 0.7  # of the rate: what was admitted contradicts it
_STEP = 0.02  # growth of a rate that nobody refused
_SLOW = 4  # growths by that step; each further one is twice as large
_STEP_MAX = 0.5
_PERIOD = (1.0, 10.0)  # seconds between two growths
_SETTLED = (
    600.0  # seconds before a rate is tried to grow that was refused twice, and then by one step at a time
)
_PROVEN = 2  # horizons ago a rate came into force that counts as admitted
_AGAIN = 0.85  # of the speed that led to a refusal: an epoch on trial repeats the one before it, and is never ahead of it
_ALIKE = 0.2  # of the larger one: two epochs tell of one limit
_MANY = 5  # epochs that do not agree, of which all together tell of one
_GAP = 20.0  # seconds between two requests that a rate may always come to
_GAP_WAITS = 2  # and as many times the longest wait after a refusal


class TokenBucket:
    """A declared rate: `burst` requests at once after a quiet time, then `rate` a second.

    `sent`: when requests started that had not been declared to count, of which some may go at once by now.
    """

    def __init__(self, rate: float, burst: float, sent: Iterable[float] = ()) -> None:
        self.rate = rate
        self._burst = burst
        self._tokens = burst
        self._share = 1.0
        self._filled_at: float | None = None
        self._starts: deque[tuple[float, int]] = (
            deque()
        )  # of late: when requests started, as how many they count
        self._before = 0.0, burst  # when that was, and what there was then
        for at in sent:
            self.delay(at)
            self._tokens = max(0.0, self._tokens - 1)

    def hold_back(self, absent: int, of: int, now: float) -> None:
        """So many of those who share it out use theirs by themselves."""
        self.delay(now)
        self._share = (of - absent) / of if absent < of else 1 / of
        self._tokens = min(self._tokens, self._most)
        self._forget()

    def use_up(self, now: float) -> None:
        """All that may go out at once has gone."""
        self._tokens, self._filled_at = 0.0, now
        self._forget()

    def delay(self, now: float, units: int = 1) -> float:
        """Seconds until the next request may start, which counts as so many; 0 for now."""
        if self._filled_at is not None:
            self._tokens = self._later(self._filled_at, self._tokens, now)
        self._filled_at = now
        needed = min(units, self._most)  # what is more than all that may go at once is made up for afterwards
        lacking = needed - self._tokens
        return 0.0 if lacking <= 1e-9 else lacking / (self.rate * self._share)

    def start(self, now: float, units: int = 1) -> None:
        """A request starts, for which there was no delay."""
        if not self._starts:
            self._before = now, self._tokens
        self._tokens -= units
        self._starts.append((now, units))
        while self._starts[0][0] < now - _TAKEN_BACK_S:
            at, units = self._starts.popleft()
            self._before = at, self._later(*self._before, at) - units

    def unspent(self, started: float, units: int, now: float) -> None:
        """One that was to start then has not: there is what there would be if it had never been to."""
        if (started, units) not in self._starts:
            return
        self._starts.remove((started, units))
        at, tokens = self._before
        for start, counted in self._starts:
            at, tokens = start, self._later(at, tokens, start) - counted
        self._tokens, self._filled_at = self._later(at, tokens, now), now

    @property
    def _most(self) -> float:
        return max(1.0, self._burst * self._share)

    def _later(self, at: float, tokens: float, now: float) -> float:
        """What there is later if nobody starts."""
        return min(self._most, tokens + (now - at) * self.rate * self._share)

    def _forget(self) -> None:
        """What has started before now has."""
        self._starts.clear()


class SlidingLimit:
    """A window of requests as the server sees them arrive: some time after they start, and before they are answered.

    One may count as several (`units`). What counts as more than the window holds never starts.

    Args:
        sent: when requests that count as well were started.
        arrival: seconds until a request that starts has arrived, at most.
    """

    def __init__(self, window: Window, sent: Iterable[float] = (), arrival: float = ARRIVAL_S) -> None:
        self._window = window
        self._arrival = arrival
        self._limit = window.limit
        # Requests that count -> from when on they no longer do, steady time.
        self._held: dict[int, float] = {}
        self._units: dict[int, int] = {}  # of those that count as several
        self._used = 0
        self._ends: list[tuple[float, int]] = []  # a heap of the same, with times that are no longer true
        for number, at in enumerate(sent):
            self._hold(-1 - number, at + arrival)

    def hold_back(self, absent: int, of: int) -> None:
        """So many of those who share it out use theirs by themselves: each no more than a whole number of requests."""
        limit = self._window.limit
        self._limit = max(1, limit - absent * (limit // of) if of <= limit else limit * (of - absent) // of)

    def holds_back(self, units: int) -> bool:
        """Whether so many fit into the window, and not into what others leave of it."""
        return self._limit < units <= self._window.limit

    def delay(self, now: float, units: int = 1) -> float:
        """Seconds until a request may start, or until so many at least have gone that it is time to look again; 0 for now."""
        left = self.left(now)
        if left >= units:
            return 0.0
        if units > self._limit:
            return math.inf if units > self._window.limit else self._window.per
        if units == 1:
            return self._ends[0][0] - now
        end = now
        for end, serial in heapq.nsmallest(2 * units + _AHEAD, self._ends):
            if self._held.get(serial) == end:
                left += self._units.get(serial, 1)
                if left >= units:
                    break
        return end - now

    @property
    def each_s(self) -> float:
        """Seconds that a request waits for where all are used up, in the long run."""
        return self._window.per / self._window.limit

    def left(self, now: float) -> int:
        """How many may start now."""
        while self._ends and (
            self._ends[0][0] <= now or self._held.get(self._ends[0][1]) != self._ends[0][0]
        ):
            end, serial = heapq.heappop(self._ends)
            if self._held.get(serial) == end:
                del self._held[serial]
                self._used -= self._units.pop(serial, 1)
        return self._limit - self._used

    def start(self, serial: int, now: float, units: int = 1) -> None:
        """A request starts."""
        if units > 1:
            self._units[serial] = units
        self._hold(serial, now + self._arrival)

    def unspent(self, serial: int) -> None:
        """It has not started."""
        if self._held.pop(serial, None) is not None:
            self._used -= self._units.pop(serial, 1)

    def ended(self, serial: int, now: float) -> None:
        """It was answered, and so had arrived."""
        if now + self._window.per < self._held.get(serial, 0.0):
            self._hold(serial, now)

    def _hold(self, serial: int, arrived: float) -> None:
        if serial not in self._held:
            self._used += self._units.get(serial, 1)
        self._held[serial] = arrived + self._window.per
        heapq.heappush(self._ends, (self._held[serial], serial))


class Pace:
    """The rate that a server was seen to admit; nothing is held back before it refused twice in the same way.

    An epoch lasts from the first request that a server admits to the first admitted after it was saturated
    (it refused, or a quota was used up). Requests admitted in an epoch over its length: that is the allowed
    rate, whether the server counts in fixed or sliding windows or fills a bucket. One refusal proves no
    limit, and the first epoch may have begun in a window that others had used, or with a full bucket. So an
    epoch on trial follows, nearly as fast as the one before; only when it
    ends as that one did, requests start evenly at just below the rate. A refusal at that rate contradicts it: what was
    learnt is forgotten, and more epochs must agree the next time. Short ones may never: what was admitted in one sliding
    window is what the next one admits, burst by burst. Then the rate over several of them is taken.

    What waits here makes epochs longer, so a server that refuses whatever comes would be asked ever less. But
    no window is longer than the wait after which it admits: no rate keeps requests further apart than that.
    """

    def __init__(self) -> None:
        self.rate: float | None = None  # requests a second; None: not known
        self._epoch: float | None = None  # when the first request of the epoch started
        self._shut: float | None = None  # when the server was saturated
        self._admitted = 0  # requests of the epoch
        self._next = float("-inf")  # when the next request may start
        self._horizon = 0.0  # length of the last epoch
        self._hint: float | None = None
        self._step = _STEP
        self._trial: list[tuple[int, float]] = []  # epochs that agree, by requests and length, while on trial
        self._needed = 2  # of them until they are believed
        self._ended: list[tuple[int, float]] = []  # all that refusals have ended since a rate was believed
        self._used = 0  # quotas that were used up
        self._settled = False
        self._since = 0.0  # when the rate was set
        self._grow_at = float("inf")
        self._past: list[tuple[float, float]] = []  # since when which rate was in force, before each growth
        self._wanted = False  # somebody waited for the rate since the last growth
        self._gap = _GAP  # seconds between two requests, at most
        self._unnamed = 0.0  # seconds waited since it last admitted a request, as the server named no time

    @property
    def unbounded(self) -> bool:
        """Whether nothing that the server did tells of a limit."""
        return self.rate is None and self._hint is None

    @property
    def believed(self) -> bool:
        """Whether requests start at a rate that the server was seen to admit."""
        return self.rate is not None and not self._trial

    @property
    def admissions(self) -> int:
        """Requests admitted in this epoch so far."""
        return self._admitted

    def delay(self, now: float, even: float = 0.0) -> float:
        """Seconds until the next request may start; 0 for now.

        `even` is the rate that a quota's rest allows.
        """
        if self.rate is None or now >= self._next:
            return 0.0
        self._wanted = True
        if even > self.rate:  # the gap was made for the lower rate
            gap = 1 / self.rate - 1 / even
            return max(0.0, self._next - gap - now)
        return self._next - now

    def start(self, now: float, even: float = 0.0) -> None:
        """A request starts."""
        if self._epoch is None:
            self._epoch = now
        if self.rate is None:
            return
        if now >= self._grow_at:
            self._grow(now)
        self._next = max(min(self._next, now), now - _SLACK) + 1 / max(self.rate, even)

    def free(self, now: float) -> None:
        """The next request need not wait for the rate."""
        self._next = min(self._next, now)

    def admitted(self) -> None:
        """A request of the epoch was answered with anything but a refusal."""
        self._admitted += 1
        if self._trial and self._shut is None and self._admitted > self._trial[-1][0]:
            self.rate = None  # more than the refusal allowed: it was about something else

    def hint(self, rate: float) -> None:
        """The server tells its rate; used once it was saturated."""
        self._hint = rate

    def saturated(self, now: float) -> None:
        """The server takes no more for now."""
        self._shut = now

    def told_to_wait(self, seconds: float, *, named: bool) -> None:
        """The server refused a request, and is left alone for so long; `named`: it asked for that itself."""
        self._unnamed = 0.0 if named else self._unnamed + seconds
        self._gap = max(self._gap, _GAP_WAITS * max(seconds, self._unnamed))

    def resume(
        self, started: float, *, closed: float | None = None, refused: bool = True, counted: bool = False
    ) -> None:
        """The first request, started then, is admitted after the server was saturated: a new epoch begins.

        `closed`: when the server refused once more although the time it had asked for was over. `refused`: it
        did refuse; else a quota it told of was used up. `counted`: it tells what is left of its quotas.
        """
        if self._epoch is not None and self._admitted:
            opened = started if closed is None else (started + closed) / 2  # somewhere between
            length = max(opened - self._epoch, 1e-3)
            if not self.believed:
                self._horizon = length
            if counted or self._hint is not None:
                self._used_up(length, started, refused=refused)
            else:
                self._refused(length, started)
        elif self.rate is not None:
            self.rate = self._bounded(0.7 * self.rate)  # refused again before it admitted anything
        self._epoch, self._admitted, self._shut, self._unnamed = started, 0, None, 0.0
        if self.rate is not None:
            self._next = max(self._next, started + 1 / self.rate)

    def restart(self) -> None:
        """What was admitted lately says nothing of a rate."""
        self._epoch, self._admitted = None, 0

    def _refused(self, length: float, now: float) -> None:
        """An epoch ended with a refusal."""
        seen = self._admitted / length
        if self.rate is not None and self.believed:
            proven = self._proven(now)
            if seen >= _FAR * (self._past[0][1] if self._past else self.rate):
                if proven is not None:
                    rate = max(proven, _MARGIN * seen)
                elif seen >= _NEAR * self.rate:
                    rate = (1 - _STEP) * self.rate
                else:
                    rate = _MARGIN * seen
                # Where it still counts what went before the rate, or that has grown far beyond, this is no limit yet.
                told = now - self._since > self._horizon and rate >= _FAR * self.rate
                self._settled = self._settled or told
                self._set(rate, now)
                return
            self._settled, self._needed = False, self._needed + 1
            self._grow_at = float("inf")
        if self._trial and not _alike(self._trial[-1], (self._admitted, length)):
            self._trial = []
        self._trial.append((self._admitted, length))
        self._ended.append(self._trial[-1])
        if len(self._trial) >= self._needed or len(self._ended) > _MANY:
            epochs = self._trial if len(self._trial) >= self._needed else self._ended
            admitted, self._horizon = map(sum, zip(*epochs[1:], strict=True))
            self._set(_MARGIN * admitted / self._horizon, now)
        else:
            assert self._epoch is not None
            shut = now if self._shut is None else self._shut
            self.rate = self._bounded(max(seen, _AGAIN * self._admitted / max(shut - self._epoch, 1e-3)))

    def _used_up(self, length: float, now: float, *, refused: bool) -> None:
        """An epoch of a server that tells of its quotas, or its rate, ended."""
        seen = self._admitted / length
        proven = self._proven(now)
        self._used += 1
        if self._hint is not None:
            rate = _MARGIN * self._hint
        elif self.rate is None:
            rate = _MARGIN * seen
        elif proven is not None:
            rate = max(proven, _MARGIN * seen)
        elif seen < _NEAR * self.rate:  # the first estimate may have counted a full bucket
            rate = max(_MARGIN * seen, (0.1 if self._used <= 2 else 0.9) * self.rate)  # later ones are near
        else:
            rate = (1 - _STEP) * self.rate if refused else self.rate
        self._settled = self._settled or (refused and self.rate is not None)
        self._set(rate, now)

    def _set(self, rate: float, now: float) -> None:
        self.rate, self._trial, self._ended = self._bounded(rate), [], []
        self._past.clear()
        self._step = _STEP
        self._since, self._grow_at = now, now + self._period

    def _bounded(self, rate: float) -> float:
        """The rate, or where the server tells none itself the lowest one that a refusal can be a reason for."""
        return rate if self._hint is not None else max(rate, 1 / self._gap)

    def _proven(self, now: float) -> float | None:
        """The rate that was in force long enough ago that the server has counted a whole window of it since."""
        before = now - _PROVEN * max(self._horizon, _PERIOD[0])
        return max((rate for since, rate in self._past if since <= before), default=None)

    @property
    def _period(self) -> float:
        if self._settled:
            return _SETTLED
        return min(max(self._horizon, _PERIOD[0]), _PERIOD[1])

    def _grow(self, now: float) -> None:
        assert self.rate is not None
        if self._wanted and self._hint is None:
            self._past.append((self._grow_at - self._period, self.rate))
            self.rate *= 1 + self._step
            if len(self._past) >= _SLOW and not self._settled:
                self._step = min(_STEP_MAX, 2 * self._step)
        self._wanted = False
        self._grow_at = now + self._period


def _alike(one: tuple[int, float], other: tuple[int, float]) -> bool:
    """Whether two epochs, by requests and length, end as one limit would end them: after as many, or at the same rate."""
    rates = one[0] / one[1], other[0] / other[1]
    return any(abs(a - b) <= _ALIKE * max(a, b) for a, b in (rates, (one[0], other[0])))
