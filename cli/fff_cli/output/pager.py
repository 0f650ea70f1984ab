"""The pager: what is longer than the terminal is read in `$PAGER`, or in less."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from fff.structs import lazy_pattern
from fff_cli.output.console import LESS, pager, terminal_size
from fff_cli.output.streams import StandardOutput
from fff_cli.output.values import width

_COPY_BYTES = 1 << 20
_LABEL = b"PARTIAL: what is missing is told when this is left\n"
_STYLE = lazy_pattern(r"\x1b\[[0-9;]*m")


class PagedOutput:
    """Standard output for a result that is shown once it is whole: in the pager where it is longer than the terminal.

    Nothing waits for whoever reads: until then the rows are on disk. `before_write` makes room, as for
    `StandardOutput`.
    """

    def __init__(self, before_write: Callable[[], None] = lambda: None) -> None:
        self.out: BinaryIO = cast("BinaryIO", tempfile.TemporaryFile("w+b"))  # noqa: SIM115 - closed by `drop`
        self._before_write = before_write

    def flush(self) -> None:
        """Nobody sees it yet."""

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Show it; what the pager has to say is None."""
        del aside
        self._before_write()
        command = pager() if self._is_long() else []
        if not (command and self._is_shown_by(command, whole=whole)):
            self.out.seek(0)
            plain = StandardOutput()
            while piece := self.out.read(_COPY_BYTES):
                plain.out.write(piece)
                plain.flush()
        self.drop()
        return None

    def _is_shown_by(self, command: list[str], *, whole: bool) -> bool:
        """Let a pager show it, what is no whole result under a label: how the run ended is told later."""
        if whole:
            return _shown_by(command, self.out)
        with tempfile.TemporaryFile("w+b") as labelled:
            labelled.write(_LABEL)
            self.out.seek(0)
            shutil.copyfileobj(self.out, labelled, _COPY_BYTES)
            return _shown_by(command, cast("BinaryIO", labelled))

    def drop(self) -> None:
        """Forget it."""
        self.out.close()

    def _is_long(self) -> bool:
        """Whether it does not fit the terminal, with a line for the prompt."""
        columns, lines = terminal_size(sys.stdout)
        self.out.seek(0)
        taken = 0
        for line in self.out:
            text = _STYLE.sub("", line.decode("utf-8", "replace").rstrip("\n"))
            taken += max(1, -(-width(text) // columns))
            if taken >= lines:
                return True
        return False


def _shown_by(command: list[str], text: BinaryIO) -> bool:
    """Let a pager show this; False where it cannot be run. Ctrl-C is the pager's, Ctrl-Z everybody's."""
    text.seek(0)
    text.flush()  # what was read ahead of that is forgotten: the pager moves the file's place as it likes
    try:
        shown = subprocess.Popen(command, stdin=text, env={"LESS": LESS, **os.environ})  # noqa: S603 - the user's own
    except OSError as error:
        sys.stderr.write(f"warning: cannot run the pager {command[0]!r}: {error.strerror}\n")
        return False
    with _signals_are_its(), shown:
        shown.wait()
    return True


@contextlib.contextmanager
def _signals_are_its() -> Iterator[None]:
    """While a pager has the terminal, Ctrl-C does not end the run, and Ctrl-Z stops both."""
    names = {"SIGINT": signal.SIG_IGN, "SIGTSTP": signal.SIG_DFL}
    numbers = {getattr(signal, name): how for name, how in names.items() if hasattr(signal, name)}
    before = {number: signal.signal(number, how) for number, how in numbers.items()}
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)
