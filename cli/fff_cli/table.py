"""Results as aligned text: a box cut to the screen on a terminal, plain columns cut nowhere in a pipe.

Column widths come from the first rows; what follows streams in those widths, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from fff_cli.values import fit, is_number, pad, printable, texts, width

Row: TypeAlias = tuple["str | None", ...]

MEASURED_ROWS = 1_000  # rows kept back to find column widths
LEAST_WIDTH = 4  # a column narrower than this says nothing; later columns are left out instead
NULL = "NULL"


@dataclass(frozen=True)
class Screen:
    """The terminal a table is drawn on: its columns, whether it shows box characters and colours."""

    width: int
    unicode: bool = True
    color: bool = False


@dataclass(frozen=True)
class Layout:
    """What is shown of each row: the first `shown` columns at these widths; `cut` when columns were left out."""

    widths: tuple[int, ...]
    cut: bool

    @property
    def shown(self) -> int:
        """How many columns are shown."""
        return len(self.widths)


def layout(wanted: Sequence[int], room: int | None) -> Layout:
    """Widths that fit `room` terminal columns: wide columns give way first, then the last columns are left out."""
    if room is None:
        return Layout(tuple(wanted), cut=False)
    count = len(wanted)
    while count > 1 and sum(min(size, LEAST_WIDTH) for size in wanted[:count]) > _space(
        count, len(wanted), room
    ):
        count -= 1
    space = max(_space(count, len(wanted), room), count)
    kept = list(wanted[:count])
    cap = max(kept, default=0)
    while cap > 1 and sum(min(size, cap) for size in kept) > space:
        cap -= 1
    return Layout(tuple(min(size, cap) for size in kept), cut=count < len(wanted))


def _space(shown: int, wanted: int, room: int) -> int:
    """Columns left for cell text once borders, padding and the mark of left-out columns are drawn."""
    return room - 3 * shown - 1 - (4 if shown < wanted else 0)


class TableWriter:
    """Writes result batches as one table; `screen` is None when the output is not a terminal."""

    def __init__(self, out: BinaryIO, screen: Screen | None) -> None:
        self._out = out
        self._screen = screen
        self._boxed = screen is not None and screen.unicode
        self._names: tuple[str, ...] = ()
        self._right: tuple[bool, ...] = ()
        self._held: list[Row] = []
        self._layout: Layout | None = None

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self._names = tuple(printable(name) for name in schema.names)
        self._right = tuple(is_number(kind) for kind in schema.types)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; they are written once the widths are known."""
        rows = _rows(batch)
        if self._layout is not None:
            self._put(self._line(row) for row in rows)
            return
        self._held += rows
        if len(self._held) >= MEASURED_ROWS:
            self._open()

    def end(self) -> None:
        """Write what is left."""
        if self._layout is None:
            self._open()
        if self._boxed:
            self._put([self._rule("└┴┘")])

    def _open(self) -> None:
        wanted = [max(1, width(name)) for name in self._names]
        for row in self._held:
            for index, value in enumerate(row):
                wanted[index] = max(wanted[index], width(NULL if value is None else value))
        self._layout = layout(wanted, None if self._screen is None else self._screen.width)
        header = [pad(name, size, right=right) for name, size, right in self._cells(self._names)]
        rules = ["┌┬┐", "├┼┤"] if self._boxed else ["", "-+-"]
        opening = [self._rule(rules[0])] if self._boxed else []
        self._put(
            [*opening, self._joined([self._styled(name, "1") for name in header]), self._rule(rules[1])]
        )
        held, self._held = self._held, []
        self._put(self._line(row) for row in held)

    def _cells(self, row: Iterable[str]) -> Iterable[tuple[str, int, bool]]:
        assert self._layout is not None
        return zip(row, self._layout.widths, self._right, strict=False)

    def _line(self, row: Row) -> str:
        cells = []
        for index, (text, size, right) in enumerate(
            self._cells(NULL if value is None else value for value in row)
        ):
            room = size if self._screen is not None else max(size, width(text))
            padded = pad(text, room, right=right)
            cells.append(self._styled(padded, "2") if row[index] is None else padded)
        return self._joined(cells)

    def _joined(self, cells: list[str]) -> str:
        assert self._layout is not None
        more = ["…" if self._boxed else "."] if self._layout.cut else []
        if self._boxed:
            return "│ " + " │ ".join(cells + more) + " │"
        return (" " + " | ".join(cells + more)).rstrip()

    def _rule(self, corners: str) -> str:
        assert self._layout is not None
        sizes = [*self._layout.widths, *([1] if self._layout.cut else [])]
        if not self._boxed:
            return "+".join("-" * (size + 2) for size in sizes)
        return corners[0] + corners[1].join("─" * (size + 2) for size in sizes) + corners[2]

    def _styled(self, text: str, code: str) -> str:
        color = self._screen is not None and self._screen.color
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    def _put(self, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if text:
            self._out.write(text.encode("utf-8", "replace"))


def _rows(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch as safe text; a string that reads NULL is quoted, to tell it from NULL."""
    columns = []
    for column in batch.columns:
        shown = [None if text is None else printable(text) for text in texts(column).to_pylist()]
        columns.append([f"'{NULL}'" if text == NULL else text for text in shown])
    return list(zip(*columns, strict=True))


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[str]:
    """Small plain table for the live view: no borders, two spaces between columns, cut to `room`."""
    sizes = [max([width(name), *(width(row[index]) for row in rows)]) for index, name in enumerate(names)]
    return [
        fit("  ".join(pad(text, size) for text, size in zip(row, sizes, strict=True)).rstrip(), room)
        for row in (names, *rows)
    ]
