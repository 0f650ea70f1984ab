"""Single keys from the terminal while a query runs: read without echo, the terminal given back on every way out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from fff.structs import lazy_pattern
from fff_cli.output.console import is_terminal, write_error

try:
    import termios
    import tty

    HAS_TERMIOS = True
except ImportError:  # Windows: no keys
    HAS_TERMIOS = False

ESCAPE_AFTER_S = (
    0.05  # an escape that no more bytes follow for so long is the key, not the beginning of another one
)
BURST_S = 0.15  # how long after several keys at once nothing is taken for a key: a paste may come in pieces
#: Bracketed paste: what a terminal puts around what is pasted, and how it is asked to.
_PASTE, _PASTED = b"\x1b[200~", b"\x1b[201~"
_ASK_FOR_BRACKETS, _NO_BRACKETS = "\x1b[?2004h", "\x1b[?2004l"
_MOVES = frozenset({"up", "down"})  # a key held down may come many times at once
_SEQUENCE = lazy_pattern(rb"\x1b[\[O][0-9;]*[ -/]*[@-~]|\x1b\x1b|\x1b(?=[^\[O])|[^\x1b]", re.DOTALL)
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
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b" ": "pause",
    b"r": "detail",
    b"?": "help",
}


def decode(data: bytes) -> tuple[list[str], bytes]:
    """The keys in what was read, "" for one that means nothing, and the beginning of one that is not all there."""
    names, at = [], 0
    while at < len(data):
        match = _SEQUENCE.match(data, at)
        if match is None:
            break
        at = match.end()
        names.append(_NAMES.get(match[0], ""))
    return names, data[at:]


def without_pastes(data: bytes, *, pasting: bool) -> tuple[bytes, bool]:
    """What was typed of what was read, and whether a paste goes on after it; `pasting`: whether one went on before."""
    typed = b""
    while data:
        if pasting:
            _, end, data = data.partition(_PASTED)
            pasting = not end
        else:
            before, begin, data = data.partition(_PASTE)
            typed += before
            pasting = bool(begin)
    return typed, pasting


class Keys:
    """Hands single keys to `on_key` while it is open. Closed it has no effect whatever on the terminal."""

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._before: list[Any] | None = None  # the terminal's settings while they are ours
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rest = b""
        self._pasting = False
        self._deaf_until = 0.0
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
            _spare_ctrl_c_alone(descriptor)
        except termios.error:  # not a terminal that can do it: the view works without keys
            return
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._readable)
        write_error(_ASK_FOR_BRACKETS)

    def close(self) -> None:
        """Give the terminal back; also from another thread, when the process is about to end."""
        before, self._before = self._before, None
        if before is None:
            return
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
        write_error(_NO_BRACKETS)
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
        assert self._loop is not None
        data = self._rest + data
        typed, self._pasting = without_pastes(data, pasting=self._pasting)
        if self._pasting:
            self._rest = data[-len(_PASTED) + 1 :]  # perhaps the beginning of its end
            return
        names, self._rest = decode(typed)
        now = self._loop.time()
        if len(names) > 1 and not set(names) <= _MOVES:
            # Nobody types that fast: it was pasted, or typed for another program while nobody looked.
            self._deaf_until, self._rest = now + BURST_S, b""
        if now < self._deaf_until:
            self._deaf_until = now + BURST_S
            return
        if self._rest:
            self._escape = self._loop.call_later(ESCAPE_AFTER_S, self._lone_escape)
        for name in names:
            self._on_key(name)

    def _lone_escape(self) -> None:
        rest, self._rest = self._rest, b""
        if rest == b"\x1b":
            self._on_key("clear")


def _spare_ctrl_c_alone(descriptor: int) -> None:
    """Ctrl-C alone may end the process: no other key kills it or holds its output up."""
    settings = termios.tcgetattr(descriptor)
    settings[0] &= ~termios.IXON
    settings[6][termios.VQUIT] = bytes([os.fpathconf(descriptor, "PC_VDISABLE") & 0xFF])  # no key
    termios.tcsetattr(descriptor, termios.TCSANOW, settings)


def in_foreground(descriptor: int) -> bool:
    """Whether the shell has given this process the terminal; true where there is no job control."""
    if not HAS_TERMIOS:
        return True
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True
