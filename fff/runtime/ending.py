"""When a run must end: a deadline or the first Ctrl-C stops fetching, then joining, and what comes after, in this order.

A deadline is when the answer is there. So each stage ends early enough for what is left to do after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fff.limits import (
    CUT_POLL_S,
    INTERRUPT_JOIN_S,
    INTERRUPT_SPARK_S,
    JOIN_MOST_S,
    JOIN_SHARE,
    SPARK_MOST_SHARE,
    SPARK_SHARE,
)

_T = TypeVar("_T")


class Ending:
    """The time by which one run is to have its answer, whole or not; all times by the clock of the running loop.

    Args:
        deadline_s: seconds from `begin` on, None for no bound.
        after_joins: seconds that what follows joining would take by now, and whether that was measured.
        is_starting: whether that cannot begin yet, however early fetching and joining end.
    """

    def __init__(
        self,
        deadline_s: float | None,
        after_joins: Callable[[], tuple[float, bool]],
        is_starting: Callable[[], bool] = lambda: False,
    ) -> None:
        self.reason: str | None = None  # why the run was told to end, once it was
        self._deadline_s = deadline_s
        self._after_joins = after_joins
        self._is_starting = is_starting
        self._span = 0.0  # seconds from being asked for the answer until it is due
        self._due: float | None = None
        self._why = ""
        self._moved = asyncio.Event()
        self._fetched = asyncio.Event()  # fetching must end

    def begin(self) -> None:
        """The deadline counts from now."""
        if self._deadline_s is not None and self._due is None:
            self._bring_forward(self._deadline_s, f"the deadline of {self._deadline_s:g} s passed")

    def interrupt(self, reason: str) -> None:
        """Somebody wants to see what is there."""
        self.reason = self.reason or reason
        seconds, measured = self._after_joins()
        after = 2 * seconds if measured else max(INTERRUPT_SPARK_S, 2 * seconds)
        self._bring_forward(INTERRUPT_JOIN_S + after, reason)

    def _bring_forward(self, seconds: float, why: str) -> None:
        due = asyncio.get_running_loop().time() + seconds
        if self._due is None or due < self._due:
            self._due, self._span, self._why = due, seconds, why
            self._moved.set()

    @property
    def passed(self) -> bool:
        """Whether the answer is due."""
        return self._due is not None and asyncio.get_running_loop().time() >= self._due

    async def watch(self, stop_fetching: Callable[[str], None], stop_joining: Callable[[str], None]) -> None:
        """Tell when fetching must end, and then when joining must."""
        await self._until(lambda: self._for_rest() + 2 * self._for_joins())
        self.reason = self.reason or self._why
        self._fetched.set()
        stop_fetching(self.reason)
        await self._until(lambda: self._for_rest() + self._for_joins())
        stop_joining(self.reason)

    async def while_fetching(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """What comes of work that is of use while rows are fetched; None where that must end before."""
        return await _before(work, self._fetched.wait())

    async def in_time(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """What comes of work that follows joining; None where the answer is due before."""
        result = await _before(work, self._until(lambda: 0.0))
        if result is None:
            self.reason = self.reason or self._why
        return result

    async def _until(self, before: Callable[[], float]) -> None:
        """Until so many seconds before the answer is due, which may change while it is waited for."""
        while True:
            self._moved.clear()
            left = None
            if self._due is not None:
                left = self._due - before() - asyncio.get_running_loop().time()
                if left <= 0:
                    return
            try:
                # What is left to do is known better as time goes by: it is asked again, though never in a
                # hurry; while it cannot begin, often, as its time may have come when it can.
                again = CUT_POLL_S if left is None or self._is_starting() else max(CUT_POLL_S, left / 4)
                async with asyncio.timeout(left if left is None else min(left, again)):
                    await self._moved.wait()
            except TimeoutError:
                continue

    def _for_joins(self) -> float:
        """For what is inside the eddies, twice: once for joining on, once for handing on what was found."""
        return min(JOIN_SHARE * self._span, JOIN_MOST_S)

    def _for_rest(self) -> float:
        if self._is_starting():
            return 0.0  # to end sooner would leave it idle, and the answer without what could have come
        seconds, measured = self._after_joins()
        seconds = seconds if measured else max(seconds, SPARK_SHARE * self._span)
        return min(seconds, SPARK_MOST_SHARE * self._span)


async def _before(work: Coroutine[Any, Any, _T], end: Coroutine[Any, Any, object]) -> _T | None:
    """What comes of the work, None where the end is there first: the work is cancelled then."""
    running, ending = asyncio.create_task(work), asyncio.create_task(end)
    try:
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        return running.result() if running.done() else None
    finally:
        for task in (ending, running):
            task.cancel()
        await asyncio.gather(ending, running, return_exceptions=True)
