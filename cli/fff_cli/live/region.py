"""Lines at the bottom of a terminal that are drawn over and vanish at the end. Only lines that changed are written.

`rich.live` writes all of them each time; over a slow connection that flickers, and fills the line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import IO

from fff.structs import lazy_pattern
from fff_cli.output.console import terminal_size
from fff_cli.output.drawing import RenderableType, rendered
from fff_cli.output.values import width

LEAST_WIDTH, LEAST_HEIGHT = 20, 5

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_PLAIN = "\x1b[0m"
_STYLE = lazy_pattern(r"\x1b\[[0-9;]*m")
_CLEAR_BELOW, _CLEAR_RIGHT, _WIPE_ABOVE = "\x1b[J", "\x1b[K", "\x1b[A\x1b[2K"


class LiveRegion:
    """The region. The cursor waits, hidden, at the beginning of the line below it."""

    def __init__(self, stream: IO[str], environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._color = not environ.get("NO_COLOR")
        self._open = False
        self._drawn: list[str] = []
        self._size = (0, 0)

    def size(self) -> tuple[int, int]:
        """Columns and lines there are now: COLUMNS and LINES, else the terminal's own."""
        size = terminal_size(self._stream)
        return max(LEAST_WIDTH, size[0]), max(LEAST_HEIGHT, size[1])

    def show(self, picture: RenderableType) -> int:
        """Draw this over the last picture, in one write; nothing is written when it is the same.

        Returns how many bytes were.
        """
        size = self.size()
        lines = rendered(picture, size[0] - 1, color=self._color).splitlines()[: size[1] - 1]
        if lines == self._drawn and size == self._size:
            return 0
        parts = [] if self._open else [_HIDE]
        if size != self._size:
            parts.append(self._wiped(size[0]))
            self._drawn = []
        elif self._drawn:
            parts.append(f"\x1b[{len(self._drawn)}A\r")
        for number, line in enumerate(lines):
            parts.append(_change(self._drawn[number] if number < len(self._drawn) else "", line) + "\n")
        if len(lines) < len(self._drawn):
            parts.append(_CLEAR_BELOW)
        self._open, self._size, self._drawn = True, size, lines
        text = "".join(parts)
        self._write(text)
        return len(text.encode())

    def close(self) -> None:
        """Wipe the lines and give the cursor back; harmless when nothing is drawn."""
        if self._open:
            self._open = False
            wiped = self._wiped(self.size()[0])
            self._drawn, self._size = [], (0, 0)
            self._write(wiped + _SHOW)

    def _wiped(self, columns: int) -> str:
        """What wipes the lines; a terminal that became narrower has wrapped the wider ones.

        Line by line: of a whole screen that is cleared at once, some terminals keep a copy to scroll back to.
        """
        rows = sum(max(1, -(-_columns(line.rstrip(" ")) // columns)) for line in self._drawn)
        return _WIPE_ABOVE * rows + "\r"

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, and nobody is left to be told
            self._stream.write(text)
            self._stream.flush()


def _change(before: str, after: str) -> str:
    """What turns a line on the terminal into another: its end, from a place on where no style is open."""
    if before == after:
        return ""
    same = os.path.commonprefix([before, after])  # noqa: RUF071 - no paths, but texts
    begin = same.rfind(_PLAIN) + len(_PLAIN) if _PLAIN in same else 0
    if "\x1b" not in same[begin:]:
        begin += same[begin:].rfind(" ") + 1
    skipped = f"\x1b[{_columns(after[:begin]) + 1}G" if begin else ""
    return f"{skipped}{after[begin:].rstrip(' ')}{_CLEAR_RIGHT}"


def _columns(line: str) -> int:
    """Terminal columns that a line takes."""
    return width(_STYLE.sub("", line))
