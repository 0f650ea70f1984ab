"""Time as the web client sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from itertools import chain
from typing import Generic, Self, TypeVar

from fff.structs import Struct

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class Clock(Struct, frozen=True):
    """Steady time, wall time and waiting; tests, replays and the simulation bring their own."""

    now: Callable[[], float] = _loop_time  # steady seconds
    wall: Callable[[], float] = time.time  # seconds since the epoch, for dates in headers
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class OnceATurn(Generic[T]):
    """What is looked up once for all who ask in the same turn of a loop."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._known: tuple[asyncio.AbstractEventLoop, T] | None = None

    def __call__(self) -> T:
        """What it is in this turn."""
        loop, known = asyncio.get_running_loop(), self._known
        if known is None or known[0] is not loop:
            known = self._known = loop, self._look()
            loop.call_soon(self._forget)
        return known[1]

    def _forget(self) -> None:
        self._known = None


class FoundTogether(Generic[K, T]):
    """Finds what several ask for in the same turn of a loop with one look, where a look costs mostly the same."""

    def __init__(self, look: Callable[[Collection[K]], Mapping[K, T]]) -> None:
        self._look = look
        self._asked: list[tuple[Collection[K], asyncio.Future[Mapping[K, T]]]] = []

    async def find(self, some: Collection[K]) -> Mapping[K, T]:
        """What there is of these, and perhaps of others."""
        found: asyncio.Future[Mapping[K, T]] = asyncio.get_running_loop().create_future()
        if not self._asked or self._asked[0][1].get_loop() is not found.get_loop():
            self._asked = []
            found.get_loop().call_soon(self._answer, self._asked)
        self._asked.append((some, found))
        return await found

    def _answer(self, asked: list[tuple[Collection[K], asyncio.Future[Mapping[K, T]]]]) -> None:
        self._asked = []
        try:
            there = self._look(dict.fromkeys(chain.from_iterable(some for some, _ in asked)))
        except Exception as error:  # noqa: BLE001 - each of them has it
            for _, found in asked:
                if not found.done():
                    found.set_exception(error)
            return
        for _, found in asked:
            if not found.done():
                found.set_result(there)


class Coalescer(Generic[T]):
    """Takes what comes in turns of a loop that follow one another as one, where each taking costs mostly the same.

    Once a few turns have brought no more, or so much is here; and none after turns that took long, as those do in
    which other work is done: each would keep waiting what is here.
    """

    _IDLE_TURNS = 3  # what has arrived is here after as many
    _LONG_S = 0.01

    def __init__(self, take: Callable[[list[T]], None], enough: int) -> None:
        self._take = take
        self._enough = enough
        self._here: tuple[asyncio.AbstractEventLoop, float, list[T]] | None = None

    def add(self, one: T) -> None:
        """It has come."""
        loop = asyncio.get_running_loop()
        here = self._here
        if here is None or here[0] is not loop:
            here = self._here = loop, loop.time() + self._LONG_S, []
            loop.call_soon(self._look, here)
        here[2].append(one)

    def _look(
        self, here: tuple[asyncio.AbstractEventLoop, float, list[T]], known: int = 0, idle: int = 0
    ) -> None:
        loop, until, came = here
        idle = idle + 1 if len(came) == known else 0
        if idle < self._IDLE_TURNS and len(came) < self._enough and loop.time() < until:
            loop.call_soon(self._look, here, len(came), idle)
        else:
            self._here = None
            self._take(came)


class Deadlines:
    """When what is under way is given up: one timer for all, as most of it is over long before.

    A timer for each, set anew with all that arrives, costs a tenth of a small request.
    """

    def __init__(self) -> None:
        self.open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def note(self, at: float) -> None:
        """Something is to be given up then, unless it moves."""
        if self._timer is None or at < self._timer.when():
            self.close()
            self._timer = asyncio.get_running_loop().call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for one in [one for one in self.open if one.at <= now]:
            one.expire()
        if self.open:
            self.note(min(one.at for one in self.open))


class Deadline:
    """Gives up what the task does within it, as `asyncio.timeout`: after so many seconds in all, or when nothing moves."""

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self.began = self._loop.time()
        self._ends = self.at = self.began + seconds
        self._expired = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None, "only tasks can be given up"
        self._task, self._cancelling = task, task.cancelling()
        self._deadlines.open.add(self)
        self._deadlines.note(self.at)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._deadlines.open.discard(self)
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    @property
    def lasted(self) -> float:
        """Seconds since it began."""
        return self._loop.time() - self.began

    def moved(self, idle: float, more: float = 0.0) -> None:
        """Something has come: it may take so much more, and be idle for so long."""
        self._ends += more
        self.at = min(self._ends, self._loop.time() + idle)
        self._deadlines.note(self.at)

    def expire(self) -> None:
        """The time is over."""
        self._deadlines.open.discard(self)
        self._expired = True
        self._task.cancel()
