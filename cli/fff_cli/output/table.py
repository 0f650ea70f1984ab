"""Results as aligned text: a box cut to the screen on a terminal, plain columns cut nowhere in a pipe.

Column widths come from the first rows; what follows streams in those widths, so that memory stays bounded.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.display.counts import counted
from fff.structs import Struct
from fff_cli.output.console import Screen
from fff_cli.output.values import (
    bound_marks,
    bounded,
    concatenated,
    fit,
    has_any,
    is_number,
    pad,
    printable,
    texts,
    width,
)

Row: TypeAlias = tuple["str | None", ...]

MEASURED_ROWS = 1_000  # rows kept back to find column widths
LEAST_WIDTH = 4  # a column narrower than this says nothing; later columns are left out instead
MOST_APART = 24  # names that differ only behind so many terminal columns are cut alike
NULL = "NULL"
_NOT_PLAIN = bytes([*range(0x20), *range(0x7F, 0x100)])  # bytes of what may have to be escaped


class Layout(Struct, frozen=True):
    """What is shown of each row: the first `shown` columns at these widths; `cut` when columns were left out."""

    widths: tuple[int, ...]
    cut: bool

    @property
    def shown(self) -> int:
        """How many columns are shown."""
        return len(self.widths)


def layout(wanted: Sequence[int], room: int | None, whole: Sequence[int] = ()) -> Layout:
    """Widths that fit `room` terminal columns: wide columns give way first, then the last columns are left out.

    `whole` has the least width of each column whose values must not be cut, 0 for others: a number or a
    date that has lost its end reads as another one.
    """
    if room is None:
        return Layout(tuple(wanted), cut=False)
    least = [min(size, max(LEAST_WIDTH, floor)) for size, floor in zip_longest(wanted, whole, fillvalue=0)]
    count = len(wanted)
    while count > 1 and sum(least[:count]) > _space(count, len(wanted), room):
        count -= 1
    space = max(_space(count, len(wanted), room), count)
    cap = max(wanted[:count], default=0)

    def widths() -> list[int]:
        return [min(size, max(cap, floor)) for size, floor in zip(wanted[:count], least, strict=False)]

    while cap > LEAST_WIDTH and sum(widths()) > space:
        cap -= 1
    return Layout(tuple(min(size, space) for size in widths()), cut=count < len(wanted))


def told_apart(names: Sequence[str]) -> list[int]:
    """How much of each name must be shown, with the mark of what is cut, to tell it from the others that begin alike."""
    needed = dict.fromkeys(names, 0)
    for one, other in pairwise(sorted(needed)):
        pairs = enumerate(zip(one, other, strict=False))
        alike = next((at for at, (char, against) in pairs if char != against), min(len(one), len(other)))
        least = width(one[:alike]) + 2
        needed[one], needed[other] = max(needed[one], least), max(needed[other], least)
    return [min(needed[name], width(name), MOST_APART) for name in names]


def _space(shown: int, wanted: int, room: int) -> int:
    """Columns left for cell text once borders, padding and the mark of left-out columns are drawn."""
    return room - 3 * shown - 1 - (4 if shown < wanted else 0)


class TableWriter:
    """Writes result batches as one table; `screen` is None when the output is not a terminal."""

    def __init__(self, out: BinaryIO, screen: Screen | None) -> None:
        self._out = out
        self._screen = screen  # as it is when the first line is written
        self._boxed = screen is not None and screen.unicode
        self._names: tuple[str, ...] = ()
        self._right: tuple[bool, ...] = ()
        self._whole: tuple[bool, ...] = ()
        self._marks: tuple[str, ...] = ()
        self._held: list[pa.RecordBatch] = []
        self._layout: Layout | None = None
        self.shown = 0  # rows that were written

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self._names = tuple(printable(name) for name in schema.names)
        self._right = tuple(is_number(kind) for kind in schema.types)
        self._whole = tuple(is_number(kind) or pa.types.is_temporal(kind) for kind in schema.types)
        self._marks = bound_marks(schema, unicode=self._boxed)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; they are written once the widths are known."""
        if self._layout is not None:
            self._write(batch)
            return
        self._held.append(batch)
        if sum(batch.num_rows for batch in self._held) >= MEASURED_ROWS:
            self._open()

    def end(self) -> None:
        """Write what is left."""
        if self._layout is None:
            self._open()
        if self._boxed:
            self._put([self._rule("└┴┘")])
        assert self._layout is not None
        hidden = self._names[self._layout.shown :]
        if hidden and self._screen is not None:
            count = f"{counted(len(hidden), 'column')} not shown (-o line shows all): "
            self._put([fit(count + ", ".join(hidden), self._screen.width)])

    @property
    def width(self) -> int | None:
        """Terminal columns of the screen; None where there is none."""
        return None if self._screen is None else self._screen.width

    def _open(self) -> None:
        if self._screen is not None:
            self._screen = self._screen.now()
        cells = [1] * len(self._names)
        for batch in self._held:
            for index, column in enumerate(batch.columns):
                cells[index] = max(cells[index], *_widths(_shown(column, self._marks[index])))
        wanted = [max(size, width(name)) for size, name in zip(cells, self._names, strict=True)]
        whole = [
            max(size if kept else 0, apart)
            for size, kept, apart in zip(cells, self._whole, told_apart(self._names), strict=True)
        ]
        self._layout = layout(wanted, self.width, whole)
        header = [pad(name, size, right=right) for name, size, right in self._cells(self._names)]
        rules = ["┌┬┐", "├┼┤"] if self._boxed else ["", "-+-"]
        opening = [self._rule(rules[0])] if self._boxed else []
        self._put(
            [*opening, self._joined([self._styled(name, "1") for name in header]), self._rule(rules[1])]
        )
        held, self._held = self._held, []
        for batch in held:
            self._write(batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        """Write rows, column by column where all text is ASCII."""
        assert self._layout is not None
        self.shown += batch.num_rows
        shown = [_shown(*one) for one in zip(batch.columns[: self._layout.shown], self._marks, strict=False)]
        if not batch.num_rows:
            return
        if not all(map(_ascii, shown)):
            self._put(self._line(row) for row in zip(*(one.to_pylist() for one in shown), strict=True))
            return
        cells = [
            self._padded(column, size, right=right)
            for column, size, right in zip(shown, self._layout.widths, self._right, strict=False)
        ]
        if self._layout.cut:
            cells.append(self._more)
        lines = pc.binary_join_element_wise(*cells, " │ " if self._boxed else " | ")
        if self._boxed:
            lines = pc.binary_join_element_wise("│ ", lines, " │\n", "")
        else:
            lines = pc.ascii_rtrim_whitespace(pc.binary_join_element_wise("", lines, " "))
            lines = pc.binary_join_element_wise(lines, "\n", "")
        self._out.write(concatenated(lines))

    def _padded(self, column: pa.Array, size: int, *, right: bool) -> pa.Array:
        """The cells of a column of ASCII text, as `_line` makes them one by one."""
        text = pc.fill_null(column, NULL)
        if self._screen is not None:
            cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(text, 0, size - 1), "…", "")
            text = pc.if_else(pc.greater(pc.binary_length(text), size), cut, text)
        text = (pc.utf8_lpad if right else pc.utf8_rpad)(text, size, " ")
        if not column.null_count:
            return text
        styled = self._styled(pad(NULL, size, right=right), "2")
        return pc.if_else(pc.is_null(column), styled, text)

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
        more = [self._more] if self._layout.cut else []
        if self._boxed:
            return "│ " + " │ ".join(cells + more) + " │"
        return (" " + " | ".join(cells + more)).rstrip()

    @property
    def _more(self) -> str:
        """The mark of columns that are left out."""
        return "…" if self._boxed else "."

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


class LineWriter:
    """A line for each value, an empty one between rows: what is too wide for a table."""

    def __init__(self, out: BinaryIO, screen: Screen | None) -> None:
        self._out = out
        self._color = screen is not None and screen.color
        self._unicode = screen is not None and screen.unicode
        self._marks: tuple[str, ...] = ()
        self._names: list[str] = []
        self._begun = False

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        names = [printable(name) for name in schema.names]
        longest = max(map(width, names), default=0)
        self._names = [pad(name, longest, right=True) for name in names]
        self._marks = bound_marks(schema, unicode=self._unicode)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        style, plain = ("\x1b[1m", "\x1b[0m") if self._color else ("", "")
        shown = [_shown(*one).to_pylist() for one in zip(batch.columns, self._marks, strict=True)]
        for row in zip(*shown, strict=True):
            lines = (
                f"{style}{name}{plain} = {NULL if text is None else text}\n"
                for name, text in zip(self._names, row, strict=True)
            )
            self._out.write(("\n" * self._begun + "".join(lines)).encode("utf-8", "replace"))
            self._begun = True

    def end(self) -> None:
        """Nothing is left."""


class FirstRowsWriter:
    """Hands on the first rows only, and says at the end how many there are; `more` says how to see them."""

    def __init__(self, out: BinaryIO, screen: Screen, most: int, more: str) -> None:
        self._to = TableWriter(out, screen)
        self._out = out
        self._most = most
        self._rows = 0
        self._more = more

    @property
    def shown(self) -> int:
        """How many rows were written."""
        return self._to.shown

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self._to.begin(schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows."""
        if self._rows < self._most:
            self._to.write(batch.slice(0, self._most - self._rows))
        self._rows += batch.num_rows

    def end(self) -> None:
        """Write what is left, and the note."""
        self._to.end()
        if self._rows > self._most:
            note = f"{self._rows:,} rows ({self._most:,} shown; {self._more})"
            lines = textwrap.wrap(note, self._to.width or len(note))
            self._out.write("".join(f"{line}\n" for line in lines).encode())


def _shown(column: pa.Array, mark: str) -> pa.Array:
    """A column as safe text; a string that reads NULL is quoted, to tell it from NULL."""
    written = texts(column)
    if pa.types.is_string(written.type) and has_any(written, _NOT_PLAIN):
        written = pa.array(
            [None if text is None else printable(text) for text in written.to_pylist()], pa.string()
        )
    null = pc.equal(written, NULL)
    if pc.any(null).as_py():
        written = pc.if_else(null, f"'{NULL}'", written)
    return bounded(written, mark)


def _ascii(shown: pa.Array) -> bool:
    return bytes(concatenated(shown)).isascii()


def _widths(shown: pa.Array) -> list[int]:
    """The width of each cell, or of the widest."""
    if not _ascii(shown):
        return [width(NULL if text is None else text) for text in shown.to_pylist()]
    widest = pc.max(pc.binary_length(shown)).as_py() or 0
    return [max(widest, len(NULL) if shown.null_count else 0)]
