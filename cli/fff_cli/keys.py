"""Single keys from the terminal while a query runs: read without echo, the terminal given back on every way out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from fff_cli.console import is_terminal

try:
    import termios
    import tty

    HAS_TERMIOS = True
except ImportError:  # Windows: no keys
    HAS_TERMIOS = False

ESCAPE_AFTER_S = (
    0.05  # an escape that no more bytes follow for so long is the key, not the beginning of another one
)
_SEQUENCE = re.compile(rb"\x1b[\[O][0-9;]*[ -/]*[@-~]|\x1b\x1b|\x1b(?=[^\[O])|[^\x1b]", re.DOTALL)
_NAMES = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"k": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"j": "down",
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b\x1b": "clear",
    b"\x1b": "clear",
    b"x": "clear",
    b"q": "quit",
}


def decode(data: bytes) -> tuple[list[str], bytes]:
    """The keys in what was read, those that mean nothing left out, and the beginning of one that is not all there."""
    names, at = [], 0
    while at < len(data):
        match = _SEQUENCE.match(data, at)
        if match is None:
            break
        at = match.end()
        if name := _NAMES.get(match[0]):
            names.append(name)
    return names, data[at:]


class Keys:
    """Hands single keys to `on_key` while it is open. Closed it has no effect whatever on the terminal."""

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] | None = None  # the terminal's settings while they are ours
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rest = b""
        self._escape: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether keys are read now."""
        return self._before is not None

    @staticmethod
    def possible() -> bool:
        """Whether keys can be read: the SQL does not come through standard input, and someone sees the view."""
        return HAS_TERMIOS and is_terminal(sys.stdin) and is_terminal(sys.stderr)

    def open(self) -> None:
        """Read keys from now on, in the running event loop."""
        if self.is_open or not in_foreground(sys.stdin.fileno()):
            return
        descriptor = sys.stdin.fileno()
        try:
            before = termios.tcgetattr(descriptor)
            tty.setcbreak(descriptor, termios.TCSANOW)
        except termios.error:  # not a terminal that can do it: the view works without keys
            return
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._readable)

    def close(self) -> None:
        """Give the terminal back; also from another thread, when the process is about to end."""
        before, self._before = self._before, None
        if before is None:
            return
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
        assert self._loop is not None
        if self._escape is not None:
            self._escape.cancel()
        with contextlib.suppress(RuntimeError):  # a loop that is closed reads nothing
            self._loop.remove_reader(sys.stdin.fileno())

    def _readable(self) -> None:
        descriptor = sys.stdin.fileno()
        if not in_foreground(descriptor):  # what is typed is the shell's
            self.close()
            return
        try:
            data = os.read(descriptor, 1024)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self.close()
            return
        if self._escape is not None:
            self._escape.cancel()
        names, self._rest = decode(self._rest + data)
        if self._rest:
            assert self._loop is not None
            self._escape = self._loop.call_later(ESCAPE_AFTER_S, self._lone_escape)
        for name in names:
            self._on_key(name)

    def _lone_escape(self) -> None:
        rest, self._rest = self._rest, b""
        if rest == b"\x1b":
            self._on_key("clear")


def in_foreground(descriptor: int) -> bool:
    """Whether the shell has given this process the terminal; true where there is no job control."""
    if not HAS_TERMIOS:
        return True
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True
