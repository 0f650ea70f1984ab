"""Change-point detection by generalised likelihood ratio: has a stream of numbers changed, and since when?

A stream is compared before and after a possible change at 1, 2, 4, ... observations ago: a split that is off
by a factor of two costs little power, and a look costs the logarithm of the stream's length. The threshold
grows with the stream so that a stream that never changes raises an alarm with probability `FALSE_ALARM` at
most, however long it is watched (Lai & Xing 2010; the restart upon an alarm, rather than a window, is what
keeps this free of a forgetting constant).
"""

from __future__ import annotations

import math

from fff.structs import Struct

FALSE_ALARM = 1e-3
#: Looks are taken at growing distances: a share of the observations already there, and so many at most.
_FIRST_LOOK = 6
_LOOK_SHARE, _LOOK_MOST = 0.05, 20
#: Observations kept one by one; beyond, every second is merged into its neighbour.
_KEPT = 2048


class Since(Struct, frozen=True):
    """What a stream looks like after a change: observations, and sums of what was observed."""

    weight: float
    total: float
    square: float = 0.0


class _Stream:
    """Cumulative sums of a stream, and when to look at it next."""

    def __init__(self) -> None:
        self.weight = [0.0]
        self.total = [0.0]
        self.square = [0.0]
        self._next = _FIRST_LOOK
        self._seen = 0

    def add(self, weight: float, total: float, square: float) -> bool:
        """Append; returns whether it is time to look."""
        self.weight.append(self.weight[-1] + weight)
        self.total.append(self.total[-1] + total)
        self.square.append(self.square[-1] + square)
        self._seen += 1
        if len(self.weight) > _KEPT:
            del self.weight[1:-1:2], self.total[1:-1:2], self.square[1:-1:2]
        if self._seen < self._next:
            return False
        self._next = self._seen + max(1, min(_LOOK_MOST, int(self._seen * _LOOK_SHARE)))
        return True

    def threshold(self) -> float:
        """Of the log likelihood ratio; grows with the logarithm of what has been seen."""
        seen = max(2, self._seen)
        return math.log(seen * math.log2(seen) / FALSE_ALARM)

    def splits(self) -> list[int]:
        """Places to compare before and after: 1, 2, 4, ... observations from the end."""
        last = len(self.weight) - 1
        places, back = [], 1
        while back < last:
            places.append(last - back)
            back *= 2
        return places

    def since(self, place: int) -> Since:
        """What came after a place."""
        return Since(
            self.weight[-1] - self.weight[place],
            self.total[-1] - self.total[place],
            self.square[-1] - self.square[place],
        )


def _plogp(count: float, size: float) -> float:
    return count * math.log(count / size) if count > 0 and size > 0 else 0.0


class CountChange:
    """A stream of (tuples taken, tuples produced): has the fan-out changed? Binomial for filters, Poisson for joins."""

    def __init__(self, *, filters: bool) -> None:
        self._stream = _Stream()
        self._filters = filters
        self._early = 0.0  # produced of tuples that are not reported as taken yet
        self._closest = 0.0  # log likelihood if each observation had a fan-out of its own

    def add(self, taken: float, produced: float) -> Since | None:
        """One more observation; what came since the change, if there was one.

        Matches of parked tuples come first, the tuples themselves when their answer has ended: that is one
        observation.
        """
        if not taken:
            self._early += produced
            return None
        stream, likelihood = self._stream, self._log_likelihood
        produced, self._early = produced + self._early, 0.0
        self._closest += likelihood(produced, taken)
        # produced^2 / taken: with its sum, Pearson's dispersion needs no second pass.
        if not stream.add(taken, produced, produced * produced / max(taken, 1.0)):
            return None
        size, count = stream.weight[-1], stream.total[-1]
        whole, bar = likelihood(count, size), stream.threshold() * self._dispersion()
        if self._closest - whole <= bar:  # two fan-outs fit no better than one for each observation
            return None
        best, where = bar, 0
        for place in stream.splits():
            before, many = stream.weight[place], stream.total[place]
            gain = likelihood(many, before) + likelihood(count - many, size - before) - whole
            if gain > best:
                best, where = gain, place
        if not where:
            return None
        since = stream.since(where)
        self._stream, self._closest = _Stream(), 0.0
        return since

    def _log_likelihood(self, count: float, size: float) -> float:
        return _plogp(count, size) + (_plogp(size - count, size) if self._filters else 0.0)

    def _dispersion(self) -> float:
        """How much more than Poisson the counts vary: fan-outs of a join come in lumps."""
        stream = self._stream
        count, size, seen = stream.total[-1], stream.weight[-1], len(stream.weight) - 1
        if self._filters or count <= 0 or size <= 0 or seen < 2:
            return 1.0
        mean = count / size
        return max(1.0, (stream.square[-1] / mean - count) / (seen - 1))


class LevelChange:
    """A stream of numbers that vary around a level (logarithms of costs): has the level changed?"""

    #: Spread that is taken for granted before anything was seen, and how many observations that belief is
    #: worth.
    _SPREAD, _BELIEF = 0.3, 4.0

    def __init__(self) -> None:
        self._stream = _Stream()

    def add(self, value: float) -> Since | None:
        """One more observation; what came since the change, if there was one."""
        stream = self._stream
        if not stream.add(1.0, value, value * value):
            return None
        size, total, square = stream.weight[-1], stream.total[-1], stream.square[-1]
        best, where = 0.0, 0
        for place in stream.splits():
            before, sum_before = stream.weight[place], stream.total[place]
            after, sum_after = size - before, total - sum_before
            within = square - sum_before**2 / before - sum_after**2 / after
            variance = (max(0.0, within) + self._BELIEF * self._SPREAD**2) / (size - 2 + self._BELIEF)
            gap = sum_before / before - sum_after / after
            gain = gap * gap * before * after / size / (2 * variance)
            if gain > best:
                best, where = gain, place
        if best <= stream.threshold():
            return None
        since = stream.since(where)
        self._stream = _Stream()
        return since
