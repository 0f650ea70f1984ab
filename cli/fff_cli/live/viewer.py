"""The live view on a terminal: draws snapshots while a query runs, and carries out what the keys say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fff.errors import FFFError
from fff.stats import Snapshot
from fff.structs import replace
from fff_cli.live.forecast import History
from fff_cli.live.keys import Keys, in_foreground
from fff_cli.live.selection import View, arranged, can_pick, moved, predicate
from fff_cli.output.console import is_terminal
from fff_cli.run.progress import Steering, Watching

if TYPE_CHECKING:
    from fff_cli.live.region import LiveRegion

DRAW_AFTER_S = 0.3  # a query that ends sooner never shows a live view
DRAW_EVERY_S = 0.16
DRAW_SHARE = 0.03  # of the run's time goes into drawing at most
LEAST_BYTES_S = 1_800  # written in a second at most, 18 kB in 10 s, by a terminal of 100 by 30 or smaller
CELL_BYTES_S = 0.6  # and for each place of a larger one
ASKED_S = 5.0  # how long a question waits for its answer
_ASK = "stop with what is there? q again"
_STEPS = {"up": -1, "down": 1}
_PAGES = {"page up": -4, "page down": 4}


class Live(Watching):
    """The live view. Keys are read where standard input is a terminal too."""

    draws = True

    def __init__(self, *, verbose: bool = False) -> None:
        super().__init__()
        self._verbose = verbose
        self._region: LiveRegion | None = None
        self._keys = Keys(self.press)
        self._steering: Steering | None = None
        self._cleared = False
        self._has_drawn = False  # the last time
        self._view = View()
        self._history = History()
        self._last: Snapshot | None = None
        self._last_history = self._history  # up to the snapshot that is shown
        self._asked_at: float | None = None  # when the user was asked whether to stop, in seconds of the run

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin with a view of its own for each statement."""
        self._region, self._cleared, self._steering = None, False, steering
        self._history, self._last, self._asked_at = History(), None, None
        self._view = View(ordered=steering is not None and steering.ordered, verbose=self._verbose)
        super().start(snapshot)

    def interrupted(self) -> None:
        """The head line says so."""
        self._view = replace(self._view, stopping=True)

    async def _run(self, snapshot: Callable[[], Snapshot]) -> None:
        await asyncio.sleep(DRAW_AFTER_S)
        from fff_cli.live.region import LiveRegion  # noqa: PLC0415 - brings rich, which only those who see it pay for

        self._region = LiveRegion(sys.stderr)
        with self._suspendable():
            while not self._cleared:
                if self._has_drawn and not is_terminal(sys.stderr):
                    os.kill(os.getpid(), signal.SIGHUP)  # the terminal is gone, and nobody has said so
                    return
                began = time.thread_time()
                now = snapshot()
                self._history = self._history.after(now)
                if not self._view.paused or self._last is None:
                    self._last, self._last_history = now, self._history
                if self._view.note == _ASK and not self._asks(now):
                    self._view = replace(self._view, note="")
                columns, lines = self._region.size()
                sent_s = self._draw() / max(LEAST_BYTES_S, columns * lines * CELL_BYTES_S)
                await asyncio.sleep(
                    max(DRAW_EVERY_S, (time.thread_time() - began) / DRAW_SHARE, min(sent_s, 1.5))
                )

    def _draw(self) -> int:
        """Show the last snapshot; how much was written."""
        if self._region is None or self._last is None or self._cleared:
            return 0
        if not in_foreground(sys.stderr.fileno()):
            self._has_drawn = False
            return 0  # the terminal is another program's for now
        self._has_drawn = True
        if self._steering is not None and Keys.possible():
            self._keys.open()
        self._view = replace(self._view, keys=self._keys.is_open)
        from fff_cli.live.frame import frame  # noqa: PLC0415 - see `_run`

        columns, lines = self._region.size()
        return self._region.show(
            frame(self._last, columns, lines, history=self._last_history, view=self._view)
        )

    def press(self, key: str) -> None:
        """Do what a key says; see the keys' line of the view."""
        snapshot, steering = self._last, self._steering
        if snapshot is None or steering is None:
            return
        asked, self._asked_at = self._asks(snapshot), None
        self._view = replace(self._view, note="")
        try:
            match key:
                case "up" | "down":
                    rows = arranged(snapshot, ordered=self._view.ordered)
                    picked = moved(snapshot, rows, self._view.picked, _STEPS[key])
                    note = (
                        "" if can_pick(snapshot) else "these rows cannot be told apart by a column of a table"
                    )
                    self._view = replace(self._view, picked=picked, note=note)
                case "enter":
                    self._toggle(snapshot, steering)
                case "clear":
                    self._view = replace(self._view, picked=None)
                    if snapshot.priorities:
                        steering.prioritize()
                case "pause":
                    self._view = replace(self._view, paused=not self._view.paused)
                case "help":
                    self._view = replace(self._view, help=not self._view.help)
                case "detail":
                    self._view = replace(self._view, detail=not self._view.detail)
                case "page up" | "page down":
                    scrolled = self._view.scrolled + _PAGES[key]
                    self._view = replace(self._view, scrolled=min(max(scrolled, 0), len(snapshot.access) - 1))
                case "quit" if asked:
                    steering.stop()
                case "quit" if not self._view.stopping:
                    self._asked_at = snapshot.elapsed_s
                    self._view = replace(self._view, note=_ASK)
        except FFFError as error:
            self._view = replace(self._view, note=error.message)
        self._draw()

    def _asks(self, snapshot: Snapshot) -> bool:
        """Whether the user was asked just now whether to stop."""
        return self._asked_at is not None and snapshot.elapsed_s - self._asked_at <= ASKED_S

    def _toggle(self, snapshot: Snapshot, steering: Steering) -> None:
        """Put the picked group first; a group that is first already goes back to the others."""
        if self._view.picked is None:
            return
        wanted = predicate(snapshot, self._view.picked)
        others = [one for one in snapshot.priorities if one != wanted]
        steering.prioritize(*others, *([wanted] if len(others) == len(snapshot.priorities) else []))

    @contextlib.contextmanager
    def _suspendable(self) -> Iterator[None]:
        """Give the terminal back while the process is stopped with Ctrl-Z."""
        stop = getattr(signal, "SIGTSTP", None)
        if stop is None or signal.getsignal(stop) is not signal.SIG_DFL:
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(stop, self._suspend)
        try:
            yield
        finally:
            loop.remove_signal_handler(stop)

    def _suspend(self) -> None:
        self._keys.close()
        if self._region is not None:
            self._region.close()
        os.kill(
            os.getpid(), signal.SIGSTOP
        )  # what SIGTSTP does when nobody handles it; the rest runs after `fg`
        self._draw()

    def clear(self) -> None:
        """Wipe the view; what follows is the result."""
        self._cleared = True
        self._keys.close()
        if self._region is not None:
            self._region.close()

    async def stop(self) -> None:
        """Wipe the view and end its task."""
        self.clear()
        await super().stop()
