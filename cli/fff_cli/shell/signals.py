"""Ctrl-C in a session: the running statement's, never the shell's. SIGTERM and SIGHUP end the session."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from fff.errors import FFFError
from fff_cli.run.interrupts import ABORTED, GRACE_S, Interrupts, handled

T = TypeVar("T")


class StatementAborted(Exception):  # noqa: N818 - the end of a statement, not an error
    """Ctrl-C ended what was running; there is no result."""


class SessionInterrupts(Interrupts):
    """Signals of one session.

    While something runs, the first Ctrl-C is `gentle` (where there is something to keep), the next one aborts
    it, and one more, for what does not let itself be aborted, ends the process. While nothing runs, Ctrl-C is
    a KeyboardInterrupt where `reading` says that a plain read waits for a line; the editor hears its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reading = False
        self.pressed = 0  # how often since the running statement began
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[Any] | None = None
        self._aborting = False
        self._aborted_any = False

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Handle signals for the session, which is the current task of the running event loop."""
        self._loop, session = asyncio.get_running_loop(), asyncio.current_task()
        assert session is not None

        def end(number: int, _frame: FrameType | None) -> None:
            if self.exit_code is not None:
                self._end()
            self.exit_code = 128 + number
            assert self._loop is not None
            self._loop.call_soon_threadsafe(session.cancel)
            self._end_soon()

        handlers = {signal.SIGINT: self._interrupted, signal.SIGTERM: end, signal.SIGHUP: end}
        with handled(handlers, lambda: self.exit_code is None):
            yield

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        if self._running is None:
            if self.reading:
                raise KeyboardInterrupt
            return
        assert self._loop is not None
        self.pressed += 1
        if self.pressed == 1 and self.gentle is not None:
            self._loop.call_soon_threadsafe(self.gentle)
        elif not self._aborting:
            self._aborting = self._aborted_any = True
            self._loop.call_soon_threadsafe(self._running.cancel)
        else:
            self.exit_code = ABORTED
            self._end()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this as what Ctrl-C may end; raises StatementAborted when it did, besides what `work` raises."""
        self.pressed, self._aborting = 0, False
        task = asyncio.create_task(work)
        self._running = task
        try:
            return await task
        except (asyncio.CancelledError, FFFError):
            if self._aborting and self.exit_code is None:
                raise StatementAborted from None
            raise
        finally:
            self._running = None

    def leave(self, exit_code: int) -> None:
        """The session ends: do not wait long for threads that an aborted statement may have left behind."""
        if self._aborted_any:
            self.exit_code = exit_code
            self._end_soon()

    def _end_soon(self) -> None:
        timer = threading.Timer(GRACE_S, self._end)
        timer.daemon = True
        timer.start()
