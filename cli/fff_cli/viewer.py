"""The live view on a terminal: draws snapshots while a query runs, and carries out what the keys say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from fff.errors import FFFError
from fff.stats import Snapshot
from fff_cli.forecast import History
from fff_cli.groups import View
from fff_cli.keys import Keys, in_foreground
from fff_cli.live import frame
from fff_cli.picking import arranged, can_pick, moved, predicate
from fff_cli.progress import Steering, Watching
from fff_cli.region import LiveRegion

DRAW_AFTER_S = 0.3  # a query that ends sooner never shows a live view
DRAW_EVERY_S = 0.16
_STEPS = {"up": -1, "down": 1}


class Live(Watching):
    """The live view. Keys are read where standard input is a terminal too."""

    def __init__(self) -> None:
        super().__init__()
        self._region: LiveRegion | None = None
        self._keys = Keys(self.press)
        self._steering: Steering | None = None
        self._cleared = False
        self._view = View()
        self._history = History()
        self._last: Snapshot | None = None

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin with a view of its own for each statement."""
        self._region, self._cleared, self._steering = None, False, steering
        self._history, self._last = History(), None
        self._view = View(ordered=steering is not None and steering.ordered)
        super().start(snapshot)

    def interrupted(self) -> None:
        """The head line says so."""
        self._view = replace(self._view, stopping=True)

    async def _run(self, snapshot: Callable[[], Snapshot]) -> None:
        await asyncio.sleep(DRAW_AFTER_S)
        self._region = LiveRegion(sys.stderr)
        with self._suspendable():
            while not self._cleared:
                self._last = snapshot()
                self._history = self._history.after(self._last)
                self._draw()
                await asyncio.sleep(DRAW_EVERY_S)

    def _draw(self) -> None:
        if self._region is None or self._last is None or self._cleared:
            return
        if not in_foreground(sys.stderr.fileno()):
            return  # the terminal is another program's for now
        if self._steering is not None and Keys.possible():
            self._keys.open()
        self._view = replace(self._view, keys=self._keys.is_open)
        columns, lines = self._region.size()
        self._region.show(frame(self._last, columns, lines, history=self._history, view=self._view))

    def press(self, key: str) -> None:
        """Do what a key says; see the keys' line of the view."""
        snapshot, steering = self._last, self._steering
        if snapshot is None or steering is None:
            return
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
                case "quit" if not self._view.stopping:
                    signal.raise_signal(signal.SIGINT)  # whatever Ctrl-C means to this run
        except FFFError as error:
            self._view = replace(self._view, note=error.message)
        self._draw()

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
