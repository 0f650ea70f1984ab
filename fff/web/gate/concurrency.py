"""How many requests a host takes at once: additive increase, multiplicative decrease, and no cut without a reason."""

from __future__ import annotations

from collections import Counter

_PROBE_AFTER = 100  # answers at the level below a refused one before the refused one is tried again
_PROBE_AFTER_MAX = 100_000
_ENOUGH = 4  # answers at a level that prove it, or as many as the level where that is more


class Crowd:
    """The limit of requests in flight, between 1 and a ceiling.

    A level is how many were in flight when a request started, itself included. A refusal at a level at which
    many were
    admitted lately cannot be about concurrency. One above the levels that hold is: the limit goes back by one where
    the level below is proven, else it is halved, down to what the server was seen to admit. It grows by one
    an answer up to half the refused level, then by one a round; the refused level is tried again only after
    many answers, since every try costs the wait that comes with a refusal.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = ceiling
        self._admitted: Counter[int] = Counter()  # by level, since the last cut
        self._floor = 1  # this wave's cuts end here
        self._refused_at: int | None = None
        self._probe_after = _PROBE_AFTER
        self._calm = 0  # answers at full use since the limit last changed

    def tighten(self, ceiling: int) -> None:
        """Another source declares a lower ceiling for the same host."""
        self.ceiling = min(self.ceiling, ceiling)
        self.limit = min(self.limit, self.ceiling)

    def admitted(self, level: int, in_flight: int) -> None:
        """A request that started at `level` was answered with anything but a refusal."""
        self._admitted[level] += 1
        if self.limit >= self.ceiling or in_flight < self.limit:
            return
        self._calm += 1
        at_edge = self._refused_at is not None and self.limit + 1 >= self._refused_at
        far = self._refused_at is not None and 2 * self.limit < self._refused_at
        if self._calm < (1 if far else self._probe_after if at_edge else self.limit):
            return
        self._calm = 0
        if self._refused_at is not None and self.limit >= self._refused_at:
            self._refused_at, self._probe_after = None, _PROBE_AFTER  # the level holds now
        self.limit += 1

    def to_blame(self, level: int) -> bool:
        """Whether a refusal at a level may be about how many were in flight."""
        return level > 1 and not self._proven(level)

    def refused(self, level: int, in_flight: int) -> None:
        """The first refusal of a wave that may be about concurrency."""
        if self._refused_at is not None and self.limit >= self._refused_at:
            self._probe_after = min(_PROBE_AFTER_MAX, 10 * self._probe_after)
        one_step = level >= self.limit and 2 * self._count(level - 1) >= level
        self._refused_at = max(2, level if one_step else in_flight)
        self.limit = level - 1 if one_step else max(1, self.limit // 2)
        self._floor = self.limit if one_step else max(1, in_flight // 4)
        self._calm = 0
        self._admitted.clear()

    def refused_again(self, in_flight: int) -> None:
        """A further refusal of the wave: those still in flight may have been admitted."""
        self.limit = min(self.limit, max(self._floor, in_flight - 1))

    def overrun(self) -> None:
        """Requests end without an answer: fewer at once."""
        self.limit = max(1, self.limit // 2)
        self._calm = 0

    def forget(self) -> None:
        """What was admitted so far proves nothing about the time to come."""
        self._admitted.clear()

    def _proven(self, level: int) -> bool:
        return self._count(level) >= max(_ENOUGH, level)

    def _count(self, level: int) -> int:
        return sum(n for at, n in self._admitted.items() if at >= level)
