"""Who works for whom: the two resource models that the papers' experiments need."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

from fff_experiments.classic.schedule import Schedule


class WorkProcessor(Protocol):
    """Carries out work. Which modules may start how much at once is the modules' own business."""

    def work(self, amount: float, done: Callable[[], None]) -> None:
        """Start something that takes `amount` units; `done` is called when it is finished."""


class OwnServers:
    """Independent servers: whatever has started takes its own time, undisturbed (remote indexes, S1 section 4.5)."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule

    def work(self, amount: float, done: Callable[[], None]) -> None:
        """Finish after `amount` units of time."""
        self._schedule.at(self._schedule.now + amount, done)


class SharedProcessor:
    """One processor, shared evenly by all that have something to do: modules as threads (S1 sections 4.1 to 4.4).

    `_credit` is the work that each running thread has been given since the beginning of time, so that
    whatever started at credit c is finished at credit c + amount, however many others come and go meanwhile.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._credit = 0.0
        self._since = 0.0  # when _credit was true
        self._running: list[tuple[float, int, Callable[[], None]]] = []
        self._started = 0
        self._plan = 0  # number of the latest plan; earlier ones are void

    def work(self, amount: float, done: Callable[[], None]) -> None:
        """Finish when this thread has had `amount` units of the processor."""
        self._advance()
        heapq.heappush(self._running, (self._credit + amount, self._started, done))
        self._started += 1
        self._replan()

    def _advance(self) -> None:
        now = self._schedule.now
        if self._running:
            self._credit += (now - self._since) / len(self._running)
        self._since = now

    def _replan(self) -> None:
        self._plan += 1
        if self._running:
            left = max(0.0, self._running[0][0] - self._credit)
            plan = self._plan
            self._schedule.at(self._schedule.now + left * len(self._running), lambda: self._finish(plan))

    def _finish(self, plan: int) -> None:
        if plan != self._plan:
            return  # somebody started or finished in between
        self._advance()
        self._credit, _, done = heapq.heappop(self._running)
        self._replan()
        done()
