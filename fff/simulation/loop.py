"""Virtual time: an event loop that never waits, whose clock jumps to the next timer when nothing is runnable."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Deadlock(RuntimeError):  # noqa: N818 - what it is
    """Nothing is runnable and nothing is due: on a real clock this would wait for ever."""


class _Jumping(selectors.SelectSelector):
    """Waits for nobody: a wait moves the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; the clock moves by `timeout` seconds."""
        if timeout is None:
            raise Deadlock("nothing is runnable and nothing is due")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, which begins at 0.0 seconds. No threads: nothing waits for them."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now

    def spend(self, seconds: float) -> None:
        """Let the code that runs now take time, as work of the processor would."""
        assert seconds >= 0
        self._jumping.now += seconds


def run(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine in virtual time, from time 0.

    Raises:
        Deadlock: it waits for what nothing will bring.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
