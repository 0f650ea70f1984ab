"""A terminal of a size: what it shows, with colours, after what a command has written to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wcwidth import wcwidth

_SEQUENCE = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@-~])|\x1b[=>]|\x1b\][^\x07]*\x07|\x1b[()].")
_BLANK = (" ", "")


@dataclass
class Emulator:
    """Characters with their styles, line by line; lines that scroll away are counted."""

    columns: int
    lines: int
    scrolled: int = 0
    overflows: int = 0  # how often a line was written beyond the last column
    _cells: list[list[tuple[str, str]]] = field(default_factory=list)
    _row: int = 0
    _column: int = 0
    _style: str = ""
    _rest: str = ""

    def __post_init__(self) -> None:
        self._cells = [[_BLANK] * self.columns for _ in range(self.lines)]

    def feed(self, text: str) -> None:
        """Take what was written; a sequence cut at its end waits for what follows."""
        text, at = self._rest + text, 0
        self._rest = ""
        while at < len(text):
            if text[at] == "\x1b":
                match = _SEQUENCE.match(text, at)
                if match is None:
                    self._rest = text[at:]
                    assert len(self._rest) < 20, f"no sequence that is known: {self._rest[:20]!r}"
                    return
                at = match.end()
                if match[3] and not match[1]:
                    self._obey(match[3], [int(one) if one else 0 for one in match[2].split(";")], match[2])
                continue
            self._take(text[at])
            at += 1

    def _take(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n":
                self._down()
            case "\b":
                self._column = max(0, self._column - 1)
            case "\a":
                pass
            case _:
                self._put(char)

    def _put(self, char: str) -> None:
        size = wcwidth(char)
        if size <= 0:  # it joins the one before
            row, column = self._row, max(0, self._column - 1)
            before, style = self._cells[row][column]
            self._cells[row][column] = (before + char, style)
            return
        if self._column + size > self.columns:
            self.overflows += 1
            self._column = 0
            self._down()
        self._cells[self._row][self._column : self._column + size] = [
            (char, self._style),
            *[("", self._style)] * (size - 1),
        ]
        self._column += size

    def _down(self) -> None:
        if self._row + 1 < self.lines:
            self._row += 1
            return
        self.scrolled += 1
        self._cells = [*self._cells[1:], [_BLANK] * self.columns]

    def _obey(self, code: str, numbers: list[int], written: str) -> None:
        count = max(1, numbers[0])
        row = self._cells[self._row]
        match code:
            case "A":
                self._row = max(0, self._row - count)
            case "B":
                self._row = min(self.lines - 1, self._row + count)
            case "C":
                self._column = min(self.columns - 1, self._column + count)
            case "D":
                self._column = max(0, min(self._column, self.columns) - count)
            case "G":
                self._column = count - 1
            case "H":
                self._row, self._column = count - 1, max(1, numbers[-1] if len(numbers) > 1 else 1) - 1
            case "K" if numbers[0] == 0:
                row[self._column :] = [_BLANK] * (self.columns - min(self._column, self.columns))
            case "K":
                row[:] = [_BLANK] * self.columns
            case "J" if numbers[0] == 0:
                row[self._column :] = [_BLANK] * (self.columns - min(self._column, self.columns))
                for below in self._cells[self._row + 1 :]:
                    below[:] = [_BLANK] * self.columns
            case "J":
                self._cells = [[_BLANK] * self.columns for _ in range(self.lines)]
            case "m":
                self._style = "" if written in ("", "0") else self._style + f"\x1b[{written}m"
                if written.startswith("0;"):
                    self._style = f"\x1b[{written}m"
            case _:
                assert code in "hln", f"unexpected control sequence {written}{code}"

    def line(self) -> str:
        """The line of the cursor, without colours."""
        return "".join(char for char, _ in self._cells[self._row]).strip()

    def shown(self) -> list[str]:
        """The lines as they are seen, without colours."""
        return ["".join(char for char, _ in row).rstrip() for row in self._cells]

    def styled(self) -> str:
        """The lines with their colours, as text that draws them again."""
        lines = []
        for row in self._cells:
            line, now = "", ""
            for char, style in row:
                if style != now:
                    line, now = line + ("\x1b[0m" if now else "") + style, style
                line += char
            lines.append(line + ("\x1b[0m" if now else ""))
        return "\n".join(lines)
