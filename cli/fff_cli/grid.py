"""Small tables of the live view: columns that give way to a narrow terminal in an order, numbers never cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fff_cli.values import fit, pad, width

#: A line of the live view: pieces of text, each with a style ("" for none; see fff_cli.region).
Line: TypeAlias = "list[tuple[str, str]]"
Cell: TypeAlias = "tuple[str, str]"

GAP = "  "
LEAST_WIDTH = 4  # a text column narrower than this says nothing


@dataclass(frozen=True)
class Column:
    """A column: `rank` 0 is never left out, of the others the highest goes first. `right` holds numbers."""

    title: str
    cells: Sequence[Cell]
    right: bool = False
    rank: int = 0
    title_style: str = ""
    narrowest: int | None = LEAST_WIDTH  # how far a text gives way; None: not at all, as numbers never do

    @property
    def wanted(self) -> int:
        """Terminal columns that show everything."""
        return max([width(self.title), *(width(text) for text, _ in self.cells)])

    @property
    def least(self) -> int:
        """Terminal columns that it must have."""
        return self.wanted if self.right or self.narrowest is None else min(self.wanted, self.narrowest)


@dataclass(frozen=True)
class Drawn:
    """A table as lines: its header, its rows, and how many columns had no room."""

    header: Line
    rows: tuple[Line, ...]
    left_out: int


def draw(columns: Sequence[Column], room: int) -> Drawn:
    """The columns in `room` terminal columns."""
    kept = list(columns)
    while len(kept) > 1 and _total(column.least for column in kept) > room:
        last = max(range(len(kept)), key=lambda index: (kept[index].rank, index))
        del kept[last]
    sizes = _sizes(kept, room)
    header: Line = []
    rows: list[Line] = [[] for _ in range(len(kept[0].cells) if kept else 0)]
    for index, (column, size) in enumerate(zip(kept, sizes, strict=True)):
        lead = GAP if index else ""
        header.append((lead + pad(column.title, size, right=column.right), column.title_style))
        for line, (text, style) in zip(rows, column.cells, strict=True):
            if lead:
                line.append((lead, ""))
            line.append((pad(text, size, right=column.right), style))
    return Drawn(header, tuple(rows), len(columns) - len(kept))


def _sizes(columns: Sequence[Column], room: int) -> list[int]:
    """Widths that fit: the widest texts give way first."""
    cap = max((column.wanted for column in columns), default=0)
    sizes = [column.wanted for column in columns]
    while _total(sizes) > room and cap > LEAST_WIDTH:
        cap -= 1
        sizes = [max(column.least, min(column.wanted, cap)) for column in columns]
    if len(sizes) == 1:
        sizes = [min(sizes[0], max(1, room))]
    return sizes


def _total(sizes: Iterable[int]) -> int:
    widths = list(sizes)
    return sum(widths) + len(GAP) * (len(widths) - 1)


def cut(line: Line, room: int) -> Line:
    """The line in at most `room` terminal columns."""
    kept: Line = []
    for text, style in line:
        # A number cut in two would be another number: such pieces are left out whole.
        fitted = " …" if text.startswith(GAP) and 1 < room < width(text) and kept else fit(text, room)
        kept.append((fitted, style))
        room -= width(text)
        if room <= 0:
            break
    return kept
