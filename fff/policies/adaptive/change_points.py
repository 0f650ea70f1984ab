"""Change-point detection by generalised likelihood ratio: has a stream of numbers changed, and since when?

A stream is compared before and after a possible change at 1, 2, 4, ... observations ago: a split that is off
by a factor of two costs little power, and a look costs the logarithm of the stream's length. The threshold
grows with the stream so that a stream that never changes raises an alarm with probability `FALSE_ALARM` at
most, however long it is watched (Lai & Xing 2010; the restart upon an alarm, rather than a window, is what
keeps this free of a forgetting constant).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def _threshold(seen: int) -> float:
    seen = max(2, seen)
    return math.log(seen * math.log2(seen) / FALSE_ALARM)


#: No stream that is looked at has a lower one.
_LEAST_THRESHOLD = _threshold(_FIRST_LOOK)


class _Stream:
    """Cumulative sums of a stream, and when to look at it next."""

    def __init__(self) -> None:
        self.weight = [0.0]
        self.total = [0.0]
        self.square = [0.0]
        self._next = _FIRST_LOOK
        self._seen = 0
        self._unseen: list[tuple[float, float]] = []  # came since the last look

    def add(self, weight: float, total: float) -> Sequence[tuple[float, float]]:
        """Append; what came since the last look, if it is time for another."""
        unseen = self._unseen
        unseen.append((weight, total))
        seen = self._seen + len(unseen)
        if seen < self._next:
            return ()
        weights, totals, squares = self.weight, self.total, self.square
        for one, many in unseen:
            weights.append(weights[-1] + one)
            totals.append(totals[-1] + many)
            # Of counts produced^2 / taken: with its sum, Pearson's dispersion needs no second pass.
            squares.append(squares[-1] + many * many / max(one, 1.0))
            if len(weights) > _KEPT:
                del weights[1:-1:2], totals[1:-1:2], squares[1:-1:2]
        self._unseen, self._seen = [], seen
        self._next = seen + max(1, min(_LOOK_MOST, int(seen * _LOOK_SHARE)))
        return unseen

    def threshold(self) -> float:
        """Of the log likelihood ratio; grows with the logarithm of what has been seen."""
        return _threshold(self._seen)

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
        stream = self._stream
        produced, self._early = produced + self._early, 0.0
        unseen = stream.add(taken, produced)
        if not unseen:
            return None
        likelihood = self._log_likelihood
        for size, count in unseen:
            self._closest += likelihood(count, size)
        size, count = stream.weight[-1], stream.total[-1]
        whole = likelihood(count, size)
        # Two fan-outs fit no better than one for each observation.
        most = self._closest - whole
        if most <= _LEAST_THRESHOLD or most <= (bar := stream.threshold() * self._dispersion()):
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
        found = count * math.log(count / size) if count > 0 and size > 0 else 0.0
        return found + _plogp(size - count, size) if self._filters else found

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
        if not stream.add(1.0, value):
            return None
        size, total, square = stream.weight[-1], stream.total[-1], stream.square[-1]
        # The better two levels explain what varies, the more they gain: of all splits the best one counts.
        most, where = -1.0, 0
        weights, totals, last, back = stream.weight, stream.total, len(stream.weight) - 1, 1
        while back < last:
            before, sum_before = weights[last - back], totals[last - back]
            sum_after = total - sum_before
            explained = sum_before * sum_before / before + sum_after * sum_after / (size - before)
            if explained > most:
                most, where = explained, last - back
            back *= 2
        within = max(0.0, square - most)
        variance = (within + self._BELIEF * self._SPREAD**2) / (size - 2 + self._BELIEF)
        if (most - total * total / size) / (2 * variance) <= stream.threshold():
            return None
        since = stream.since(where)
        self._stream = _Stream()
        return since
