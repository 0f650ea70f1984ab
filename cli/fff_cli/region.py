"""Lines at the bottom of a terminal that are drawn over and vanish at the end. Only lines that changed are written."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import IO

from fff_cli.grid import Line
from fff_cli.values import width

LEAST_WIDTH, LEAST_HEIGHT = 20, 5
_CODES = {"bold": 1, "dim": 2, "underline": 4, "reverse": 7, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
_COLORS = 30  # codes from here on are colours, which NO_COLOR turns off

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR_BELOW, _CLEAR_RIGHT = "\x1b[J", "\x1b[K"


class LiveRegion:
    """The region. The cursor waits, hidden, at the beginning of the line below it."""

    def __init__(self, stream: IO[str], environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._color = not environ.get("NO_COLOR")
        self._open = False
        self._drawn: list[str] = []
        self._widths: list[int] = []
        self._size = (0, 0)

    def size(self) -> tuple[int, int]:
        """Columns and lines there are now: COLUMNS and LINES, else the terminal's own."""
        size = terminal_size(self._stream)
        return max(LEAST_WIDTH, size[0]), max(LEAST_HEIGHT, size[1])

    def show(self, lines: Sequence[Line]) -> None:
        """Draw these lines over the last ones; nothing is written when they are the same."""
        size = self.size()
        texts = [self._styled(line) for line in lines]
        if texts == self._drawn and size == self._size:
            return
        parts = [] if self._open else [_HIDE]
        if size != self._size:
            parts.append(self._wiped(size[0]))
            self._drawn = []
        elif self._drawn:
            parts.append(f"\x1b[{len(self._drawn)}A\r")
        for number, text in enumerate(texts):
            same = number < len(self._drawn) and self._drawn[number] == text
            parts.append("\n" if same else f"{text}{_CLEAR_RIGHT}\n")
        if len(texts) < len(self._drawn):
            parts.append(_CLEAR_BELOW)
        self._open, self._size = True, size
        self._drawn, self._widths = texts, [sum(width(text) for text, _ in line) for line in lines]
        self._write("".join(parts))

    def close(self) -> None:
        """Wipe the lines and give the cursor back; harmless when nothing is drawn."""
        if self._open:
            self._open = False
            wiped = self._wiped(self.size()[0])
            self._drawn, self._widths, self._size = [], [], (0, 0)
            self._write(wiped + _SHOW)

    def _wiped(self, columns: int) -> str:
        """What wipes the lines; a terminal that became narrower has wrapped the wider ones."""
        rows = sum(max(1, -(-size // columns)) for size in self._widths)
        return f"\x1b[{rows}A\r{_CLEAR_BELOW}" if rows else ""

    def _styled(self, line: Line) -> str:
        return "".join(self._piece(text, style) for text, style in line)

    def _piece(self, text: str, style: str) -> str:
        codes = [_CODES[word] for word in style.split()]
        codes = [code for code in codes if self._color or code < _COLORS]
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m" if codes and text else text

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, and nobody is left to be told
            self._stream.write(text)
            self._stream.flush()


def terminal_size(stream: IO[str]) -> tuple[int, int]:
    """Columns and lines of the terminal a stream is: COLUMNS and LINES, else its own, else 80 by 24."""
    own = os.terminal_size((0, 0))
    with contextlib.suppress(OSError, ValueError):  # no terminal, or closed: the usual size will do
        own = os.get_terminal_size(stream.fileno())
    asked = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    usual = own if all(own) else shutil.get_terminal_size()
    columns, lines = (
        int(said) if said.isdecimal() and int(said) else known
        for said, known in zip(asked, usual, strict=True)
    )
    return columns, lines
