"""Ctrl-C: the first stops fetching and keeps what is there, the second aborts, at once and without leaving things behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

ABORTED = 130
GRACE_S = 1.0  # how long an aborted run may clean up behind itself before it is ended from outside


@contextlib.contextmanager
def handled(
    handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]], restored: Callable[[], bool]
) -> Iterator[None]:
    """Handle signals at once, and wake the running loop for them; what handled them before comes back if `restored`.

    A signal that comes just before the loop falls asleep, or to another thread, is otherwise seen only when
    the loop wakes.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, lambda: None)  # the loop listens; who is called is the next line's
        signal.signal(number, handler)
    try:
        yield
    finally:
        if restored():
            for number, previous in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, previous)


class Interrupts:
    """Signals of one run.

    `gentle` is called for the first Ctrl-C; while it is None there is nothing to keep, and the first one
    aborts. `emergency` undoes what must not stay (a temporary file, a hidden cursor) when there is no time to
    unwind.
    """

    def __init__(self) -> None:
        self.gentle: Callable[[], None] | None = None
        self.emergency: list[Callable[[], None]] = []
        self.exit_code: int | None = None  # set once the run is being aborted
        self.asked = False  # whether the first Ctrl-C has come and `gentle` was called for it

    def stop(self) -> None:
        """What the first Ctrl-C does; nothing where one has come, or where there is nothing to keep."""
        if self.gentle is not None and not self.asked:
            self.asked = True
            self.gentle()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Handle signals for the current task of the running event loop."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def handle(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGINT and self.gentle is not None and not self.asked:
                self.asked = True
                loop.call_soon_threadsafe(self.gentle)
                return
            if self.exit_code is not None:
                self._end()
            self.exit_code = ABORTED if number == signal.SIGINT else 128 + number
            loop.call_soon_threadsafe(task.cancel)
            timer = threading.Timer(GRACE_S, self._end)
            timer.daemon = True
            timer.start()

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        with handled(dict.fromkeys(numbers, handle), lambda: self.exit_code is None):
            yield

    def _end(self) -> None:
        # In a thread of its own: whatever the interrupted code holds locked, the process ends.
        undoing = threading.Thread(target=self._undo, name="fff-undo", daemon=True)
        undoing.start()
        undoing.join(GRACE_S)
        os._exit(ABORTED if self.exit_code is None else self.exit_code)

    def _undo(self) -> None:
        for undo in self.emergency:
            with contextlib.suppress(Exception):  # the process ends in a moment, whatever happens here
                undo()
