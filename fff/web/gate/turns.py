"""Whose turn it is at a gate, among those who ask side by side."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextvars import ContextVar
from typing import Any, TypeAlias

Waiter: TypeAlias = "asyncio.Future[Any]"

#: For whom requests are sent, where several share a gate: the clients of a server.
ASKER: ContextVar[str] = ContextVar("asker", default="")


class Turns:
    """Whose turn it is among those who ask side by side, by start-time fair queueing.

    Each waiter's turn is as many requests behind the last of its asker as it counts, and behind those that have come. So who
    asks for one thing waits for one of everybody else's, however many these ask for.
    """

    def __init__(self) -> None:
        self._turns: dict[Waiter, float] = {}
        self._last: dict[
            str, tuple[float, int]
        ] = {}  # by who asks: the last turn, and how many of theirs wait
        self._now = 0.0

    def line_up(self, waiter: Waiter, waiters: deque[Waiter], asker: str, units: int) -> None:
        """Put a waiter in its place."""
        last, waiting = self._last.get(asker, (0.0, 0))
        turn = max(self._now, last) + units
        self._last[asker], self._turns[waiter] = (turn, waiting + 1), turn
        place = len(waiters)
        while place and self._turns.get(waiters[place - 1], math.inf) > turn:  # or gone
            place -= 1
        waiters.insert(place, waiter)

    def came(self, waiter: Waiter) -> None:
        """It is a waiter's turn."""
        self._now = max(self._now, self._turns.get(waiter, 0.0))

    def leave(self, waiter: Waiter, asker: str) -> None:
        """A waiter waits no longer, for whatever reason."""
        del self._turns[waiter]
        last, waiting = self._last.pop(asker)
        if waiting > 1:
            self._last[asker] = last, waiting - 1
        if not self._last:
            self._now = 0.0
