"""Virtual time: things happen at their time, and at equal times in the order in which they were planned."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Schedule:
    """A discrete-event scheduler. Time is in the unit of the costs and never goes back."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._planned = 0

    def at(self, time: float, happen: Callable[[], None]) -> None:
        """Plan something for a time that has not passed."""
        assert time >= self.now, f"{time} is before {self.now}"
        heapq.heappush(self._events, (time, self._planned, happen))
        self._planned += 1

    def run(self) -> None:
        """Let everything happen, what is planned meanwhile included."""
        while self._events:
            self.now, _, happen = heapq.heappop(self._events)
            happen()
