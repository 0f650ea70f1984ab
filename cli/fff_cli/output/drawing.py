"""What rich draws: tables whose columns give way, bars, trees, SQL. The only importer of rich.

Imported where something is drawn on a terminal, and nowhere else: pipes and files do not pay for it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from fff.errors import FFFError, QueryError, underline
from fff.structs import Struct
from fff_cli.output.values import folded, line_printable

__all__ = [
    "Cell",
    "DrawnColumn",
    "Group",
    "ProgressBar",
    "RenderableType",
    "Table",
    "Text",
    "bar",
    "beside",
    "cell",
    "error_text",
    "hanging",
    "height",
    "line",
    "outline",
    "rendered",
    "table",
]

Cell: TypeAlias = "Text | ProgressBar"

GAP = 2
LEAST_WIDTH = 4  # a text column narrower than this says nothing


def rendered(what: RenderableType, columns: int, *, color: bool | None = True) -> str:
    """What is drawn in so many terminal columns.

    `color`: False leaves bold and the like, None no codes at all.
    """
    console = Console(
        file=io.StringIO(),
        width=columns,
        height=1,  # of no consequence: nothing drawn here fills a screen
        force_terminal=color is not None,
        force_jupyter=False,
        color_system=None
        if color is None
        else "standard",  # the terminal's own colours, on dark and on light
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    with console.capture() as captured:
        # A text by itself is joined with nothing, which forgets how it is to be cut.
        no_wrap, overflow = (what.no_wrap, what.overflow) if isinstance(what, Text) else (None, None)
        console.print(what, no_wrap=no_wrap, overflow=overflow)
    return captured.get()


def cell(text: str, style: str = "") -> Text:
    """A piece of text on one line, cut with an ellipsis where there is no room."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def line(*pieces: str | tuple[str, str]) -> Text:
    """Pieces of text with their styles, as one such line."""
    return Text.assemble(*pieces, no_wrap=True, overflow="ellipsis")


def bar(share: float, columns: int | None = None, style: str = "green") -> ProgressBar:
    """How much of something is done; in all the room there is where no columns are said."""
    return ProgressBar(1.0, share, width=columns, style="dim", complete_style=style, finished_style=style)


class DrawnColumn(Struct, frozen=True):
    """A column: `rank` 0 goes last, of the others the highest goes first.

    `right` holds numbers, never cut; nor is their title, unless it `gives_way`.
    """

    title: str
    cells: Sequence[Cell]
    right: bool = False
    rank: int = 0
    narrowest: int | None = LEAST_WIDTH  # how far a text gives way; None: not at all
    gives_way: bool = False

    @property
    def wanted(self) -> int:
        """Terminal columns that show everything."""
        return max(cell(self.title).cell_len, self._widest)

    @property
    def _widest(self) -> int:
        return max((_width(one) for one in self.cells), default=0)

    @property
    def least(self) -> int:
        """Terminal columns that it must have."""
        if self.right:
            return max(min(self.wanted, LEAST_WIDTH), self._widest) if self.gives_way else self.wanted
        return self.wanted if self.narrowest is None else min(self.wanted, self.narrowest)

    @property
    def tight(self) -> int:
        """Those without which it says nothing."""
        return self.least if self.right or self.narrowest is None else min(self.least, LEAST_WIDTH)


def table(
    columns: Sequence[DrawnColumn], room: int, style: str = "dim", rows: Mapping[int, str] | None = None
) -> tuple[Table, int]:
    """The columns that `room` terminal columns hold, and how many had none.

    `rows`: the style of some of the rows.
    """
    kept = list(columns)
    while len(kept) > 1:
        last = max(range(len(kept)), key=lambda index: (kept[index].rank, index))
        needed = sum((column.least if kept[last].rank else column.tight) + GAP for column in kept) - GAP
        if needed <= room:
            break
        del kept[last]
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style=style)
    for column, size in zip(kept, _sizes(kept, room), strict=True):
        drawn.add_column(cell(column.title), justify="right" if column.right else "left", width=size)
    for at, cells in enumerate(zip(*(column.cells for column in kept), strict=True)):
        drawn.add_row(*cells, style=(rows or {}).get(at))
    return drawn, len(columns) - len(kept)


def _sizes(columns: Sequence[DrawnColumn], room: int) -> list[int]:
    """Widths that fit: the widest texts give way first."""
    fits = sum(column.least + GAP for column in columns) - GAP <= room
    wanted = [(column.wanted, column.least if fits else column.tight) for column in columns]
    cap = max(most for most, _ in wanted)
    while sum(max(least, min(most, cap)) + GAP for most, least in wanted) - GAP > room and cap > 1:
        cap -= 1
    return [min(max(least, min(most, cap)), room) for most, least in wanted]


def beside(*parts: RenderableType) -> Table:
    """Parts beside each other on one line; a bar, or an empty text, fills the room between the others."""
    grid = Table.grid(padding=(0, GAP, 0, 0), expand=True, pad_edge=False)
    for part in parts:
        fills = isinstance(part, ProgressBar) or (isinstance(part, Text) and not part.plain)
        grid.add_column(no_wrap=True, ratio=1 if fills else None)
    grid.add_row(*parts)
    return grid


def height(parts: Sequence[RenderableType]) -> int:
    """Lines that parts of the live view take: tables theirs, all others one."""
    return sum(one.row_count + one.show_header if isinstance(one, Table) else 1 for one in parts)


def _width(one: Cell) -> int:
    return one.cell_len if isinstance(one, Text) else one.width or 0


def hanging(text: str, margin: int, style: str = "") -> Table:
    """A line that goes on below itself where it is too long, its first characters in a margin of their own."""
    grid = Table.grid()
    grid.add_column(width=margin, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(text[:margin].rstrip(), style), Text(text[margin:]))
    return grid


#: Stands between what is told and the gloss on a word in it.
GLOSS = "  — "


def outline(text: str) -> Group:
    """Indented lines as trees: what stands deeper belongs to the line above it. Glosses are dim."""
    roots: list[Tree] = []
    above: list[tuple[int, Tree]] = []
    for written in filter(None, text.splitlines()):
        words, mark, gloss = written.lstrip().partition(GLOSS)
        deep = len(written) - len(written.lstrip())
        while above and above[-1][0] >= deep:
            above.pop()
        if above:
            branch = above[-1][1].add(Text.assemble(words, (mark + gloss, "dim")))
        else:
            branch = Tree(Text.assemble((words, "bold cyan"), (mark + gloss, "dim")), guide_style="dim")
            roots.append(branch)
        above.append((deep, branch))
    return Group(*roots)


def error_text(error: FFFError, columns: int) -> Text:
    """An error: what is wrong, its place in the SQL, what to do next."""
    lines = line_printable(f"error: {error.told()}").splitlines()
    parts = [Text(folded(line, columns), "" if at else "bold red") for at, line in enumerate(lines)]
    if not isinstance(error, QueryError) or error.sql is None or error.span is None:
        return Text("\n").join(parts)
    place = len(error.message.splitlines())
    number, carets = underline(error.sql, error.span, max(20, columns - 12))
    gutter, rule, sql = line_printable(number).partition(" | ")
    code = Syntax("", "sql", theme="ansi_dark", background_color="default").highlight(sql)
    code.rstrip()
    parts[place : place + 2] = [Text.assemble((gutter + rule, "dim"), code), Text(carets, "bold red")]
    return Text("\n").join(parts)
