"""How long a scan lets its reader wait for a page, and so after how long without one it counts as stalled."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from fff.limits import STALL_LEAST_S, STALL_MOST_S, STALL_S

#: Waits that are remembered, and how many there must be before they say anything.
_RECENT, _ENOUGH = 20, 5
#: Times the longest of them.
_FACTOR = 4.0


class StallAlarm:
    """Tells when the reader of one scan waits for too long: several times the longest wait of late.

    One timer for many pages, which looks when the last wait began: one for each costs more than all else that waiting does.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._recent: deque[float] = deque(maxlen=_RECENT)  # seconds that pages have been waited for
        self._patience = STALL_S
        self._began: float | None = None  # the wait that is under way and of which nothing has been told
        # Invariant: due no later than a wait under way is too long.
        self._timer: asyncio.TimerHandle | None = None

    def waits(self) -> float:
        """The reader begins to wait for a page; returns the time."""
        self._began = began = self._loop.time()
        due = began + self._patience
        if self._timer is None or self._timer.when() > due:
            self._set(due)
        return began

    def came(self, began: float) -> float:
        """A page has come that was waited for since then; returns for how long."""
        self._began = None
        waited = self._loop.time() - began
        self._recent.append(waited)
        if len(self._recent) >= _ENOUGH:
            self._patience = min(max(STALL_LEAST_S, _FACTOR * max(self._recent)), STALL_MOST_S)
        return waited

    def end(self) -> None:
        """The scan is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, due: float) -> None:
        self.end()
        self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._began is None:
            return
        due = self._began + self._patience
        if due > self._loop.time():
            self._set(due)
        else:
            self._began = None
            self._tell()
