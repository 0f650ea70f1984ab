"""How fast access methods are asked and how fast they answer: what a run has taught so far, in seconds of its own clock."""

from __future__ import annotations

import bisect
import math
from collections import deque

#: Answers whose seconds are remembered; older ones no longer say how the source is now.
_RECENT = 200
#: Pages that tell how fast a scan is of late.
_LATE_PAGES = 8
#: Of so many remembered answers one may be new before they are summed up again.
_FEW_NEW = 16
#: Usual gaps between keys without a new one after which no more are expected soon.
_SILENT_GAPS = 3.0
#: Gaps that pass until a longer one of the past counts half.
_FORGOTTEN_GAPS = 8.0


class AnswerTimes:
    """Seconds that requests took from being asked to EOT."""

    def __init__(self) -> None:
        self.count = 0
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)  # keys, seconds
        self._looked_at = 0  # `count` when what follows was made
        self._sorted: list[float] = []
        self._mean_keys = self._mean_seconds = 0.0
        self._spread = self._together = (
            0.0  # sums of squared deviations of keys, and of their products with seconds
        )

    def observe(self, keys: int, seconds: float) -> None:
        """A request for so many keys has ended, or was given up after so long, which is the least it would have taken."""
        self.count += 1
        self._recent.append((keys, seconds))

    def quantile(self, share: float) -> float:
        """What that share of the recent answers took at most; 0 before the first one."""
        if not self.count:
            return 0.0
        self._look()
        return self._sorted[max(0, math.ceil(share * len(self._sorted)) - 1)]

    def left_after(self, seconds: float) -> float:
        """How much longer those recent answers took on the average that took longer than so many seconds."""
        if not self.count:
            return math.inf
        self._look()
        longer = self._sorted[bisect.bisect_right(self._sorted, seconds) :]
        return sum(longer) / len(longer) - seconds if longer else 0.0

    def fixed_share(self, batch_size: int) -> float:
        """The part of a full request's seconds that it costs however few keys it carries, from 0 to 1.

        By a regression of seconds on keys whose slope is drawn towards none: a request costs the same for any number of keys
        until answers say otherwise.
        """
        if not self.count:
            return 1.0
        self._look()
        slope = max(0.0, self._together / (self._spread + batch_size**2))
        fixed = max(0.0, self._mean_seconds - slope * self._mean_keys)
        full = fixed + slope * batch_size
        return fixed / full if full > 0 else 1.0

    def _look(self) -> None:
        """Sum the recent answers up, unless few are new."""
        if self._looked_at and self.count - self._looked_at < max(1, len(self._sorted) // _FEW_NEW):
            return
        size = len(self._recent)
        self._looked_at = self.count
        self._sorted = sorted(seconds for _, seconds in self._recent)
        self._mean_keys = sum(keys for keys, _ in self._recent) / size
        self._mean_seconds = sum(self._sorted) / size
        self._spread = sum((keys - self._mean_keys) ** 2 for keys, _ in self._recent)
        self._together = sum(
            (keys - self._mean_keys) * (seconds - self._mean_seconds) for keys, seconds in self._recent
        )


class PageTimes:
    """Seconds that the pages of a scan let their reader wait."""

    def __init__(self) -> None:
        self.first = 0.0  # for the first one
        self._pages = 0
        self._seconds = 0.0
        self._recent: deque[tuple[int, float]] = deque(maxlen=_LATE_PAGES)

    def observe(self, pages: int, seconds: float, since: int = 0) -> None:
        """So many have come after so long. `since`: pages of rivals meanwhile; after many what was of late is long past."""
        if since > _LATE_PAGES:
            self._recent.clear()
        if not self._pages:
            self.first = seconds / pages
        self._pages += pages
        self._seconds += seconds
        self._recent.append((pages, seconds))

    @property
    def mean(self) -> float:
        """For a page, since the scan began; 0 before the first one."""
        return self._seconds / self._pages if self._pages else 0.0

    @property
    def late(self) -> int:
        """How many pages came of late."""
        return sum(count for count, _ in self._recent)

    @property
    def usual(self) -> float:
        """For a page, of late."""
        return sum(seconds for _, seconds in self._recent) / self.late if self._recent else 0.0


class Demand:
    """When new keys come. They come in bursts: a page of a scan, the answers of one turn of the runtime."""

    def __init__(self) -> None:
        self.since = math.inf  # when the oldest of the keys came that have not been sent
        self._seen = 0
        self._last = math.nan
        self._gap = math.nan  # a usual long gap between bursts: the longest one, halved as others pass

    def look(self, keys: int, now: float) -> None:
        """So many keys have been asked for so far."""
        if keys > self._seen:
            if math.isnan(self._last):
                self._last = now
            elif now > self._last:
                self._passed(now - self._last)
                self._last = now
            self.since = min(self.since, now)
        self._seen = keys

    def _passed(self, gap: float) -> None:
        if not gap <= self._gap:
            self._gap = gap
        else:
            self._gap = max(gap, self._gap * 0.5 ** (gap / (_FORGOTTEN_GAPS * self._gap)))

    def sent(self, pending: int) -> None:
        """Requests went out and left so many keys, which are those that came last."""
        self.since = self._last if pending else math.inf

    def hopeless_at(self) -> float:
        """When no more keys are to be expected soon; not a number before the first gap is known."""
        return self._last + _SILENT_GAPS * self._gap
