"""How long a scan lets its reader wait for a page, and so after how long without one it counts as stalled."""

from __future__ import annotations

from collections import deque

from fff.limits import STALL_LEAST_S, STALL_MOST_S, STALL_S

#: Waits that are remembered, and how many there must be before they say anything.
_RECENT, _ENOUGH = 20, 5
#: Times the longest of them.
_FACTOR = 4.0


class PageGaps:
    """Seconds that the reader of one scan has waited for each page."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def waited(self, seconds: float) -> None:
        """A page has come after so long."""
        self._recent.append(seconds)

    @property
    def stalled_after(self) -> float:
        """Seconds without a page after which the scan counts as stalled: several times the longest wait of late."""
        if len(self._recent) < _ENOUGH:
            return STALL_S
        return min(max(STALL_LEAST_S, _FACTOR * max(self._recent)), STALL_MOST_S)
