"""Rates: the one a spec declares, and the one a server was seen to admit."""

from __future__ import annotations

_MARGIN = 0.99  # of what a server was seen to admit
_SLACK = 0.02  # seconds by which timers come late, and which may be caught up
_NEAR = 0.93  # of the rate: what was admitted is as good as the rate
_STEP = 0.02  # growth of a rate that nobody refused
_SLOW = 4  # growths by that step; each further one is twice as large
_STEP_MAX = 0.5
_PERIOD = (1.0, 10.0)  # seconds between two growths
_SETTLED = (
    600.0  # seconds before a rate is tried to grow that was refused twice, and then by one step at a time
)
_PROVEN = 2  # horizons ago a rate came into force that counts as admitted


class TokenBucket:
    """A declared rate: `burst` requests at once after a quiet time, then `rate` a second."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled_at: float | None = None

    def tighten(self, rate: float, burst: float) -> None:
        """Another source declares a lower rate for the same host."""
        self.rate, self._burst = rate, burst
        self._tokens = min(self._tokens, burst)

    def delay(self, now: float) -> float:
        """Seconds until the next request may start; 0 for now."""
        if self._filled_at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
        return 0.0 if self._tokens >= 1 - 1e-9 else (1 - self._tokens) / self.rate

    def start(self) -> None:
        """A request starts."""
        self._tokens -= 1


class Pace:
    """The rate that a server was seen to admit; nothing is held back before it was saturated once.

    An epoch lasts from the first request that a server admits to the first admitted after it was saturated (it refused, or a
    quota was used up). Requests admitted in an epoch over its length: that is the allowed rate, whether the server counts in
    fixed or sliding windows or fills a bucket. Requests then start evenly at just below it. The first epoch may have begun in
    a window that others had used, or with a full bucket; so the rate grows, ever faster, until the server is saturated again.
    """

    def __init__(self) -> None:
        self.rate: float | None = None  # requests a second; None: not known
        self._epoch: float | None = None  # when the first request of the epoch started
        self._admitted = 0  # requests of the epoch
        self._next = float("-inf")  # when the next request may start
        self._horizon = 0.0  # length of the last epoch
        self._hint: float | None = None
        self._step = _STEP
        self._saturations = 0
        self._settled = False
        self._grow_at = float("inf")
        self._past: list[tuple[float, float]] = []  # since when which rate was in force, before each growth
        self._wanted = False  # somebody waited for the rate since the last growth

    def delay(self, now: float, even: float = 0.0) -> float:
        """Seconds until the next request may start; 0 for now. `even` is the rate that a quota's rest allows."""
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

    def hint(self, rate: float) -> None:
        """The server tells its rate; used once it was saturated."""
        self._hint = rate

    def resume(self, started: float, *, closed: float | None = None, refused: bool = True) -> None:
        """The first request, started then, is admitted after the server was saturated: a new epoch begins.

        `closed`: when the server refused once more although the time it had asked for was over. `refused`: it did refuse;
        else a quota it told of was used up.
        """
        if self._epoch is not None and self._admitted:
            opened = started if closed is None else (started + closed) / 2  # somewhere between
            self._learn(self._admitted, opened - self._epoch, started, refused=refused)
        elif self.rate is not None:
            self.rate *= 0.7  # refused again before it admitted anything
        self._epoch, self._admitted = started, 0
        if self.rate is not None:
            self._next = max(self._next, started + 1 / self.rate)

    def restart(self) -> None:
        """What was admitted lately says nothing of a rate."""
        self._epoch, self._admitted = None, 0

    def _learn(self, admitted: int, horizon: float, now: float, *, refused: bool) -> None:
        seen = admitted / max(horizon, 1e-3)
        self._saturations += 1
        proven = self._proven(now)
        if self._hint is not None:
            self.rate = _MARGIN * self._hint
        elif self.rate is None:
            self.rate = _MARGIN * seen
            self._horizon = horizon
            self._grow_at = now + self._period
            return
        elif proven is not None:
            self.rate = max(proven, _MARGIN * seen)
        elif (
            seen < _NEAR * self.rate
        ):  # the first estimate may have counted a full bucket; later ones are near
            self.rate = max(_MARGIN * seen, (0.1 if self._saturations <= 2 else 0.9) * self.rate)
        elif refused:
            self.rate *= 1 - _STEP
        self._past.clear()
        self._step = _STEP
        self._settled = self._settled or refused
        self._grow_at = now + self._period

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
