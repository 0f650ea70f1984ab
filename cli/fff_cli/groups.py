"""The result so far, as the live view shows it: groups with what they rest on, newest rows, rows not answered in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from fff.stats import MISSING, Snapshot
from fff_cli.grid import Cell, Column, Line, draw
from fff_cli.picking import Identity, arranged, can_pick, is_first, position
from fff_cli.values import cell, fit, printable

CELL_ROOM = 30  # widest cell of the sample, unless the terminal is wide
DIGITS = 4  # shown of a fraction: a current average changes in all of them
UNKNOWN = "…"  # a value whose table has not answered yet; behind a number of rows: so many are under way
SETTLED = "✓"
TITLES = {
    "current groups": "groups so far",
    "newest rows": "newest rows so far",
    "final": "result",
}
INDENT = 2


@dataclass(frozen=True)
class View:
    """What the user does with the view, and what the snapshot does not know."""

    stopping: bool = False
    keys: bool = False  # whether keys are read, and their help is shown
    picked: Identity | None = None
    note: str = ""  # an answer to the last key
    ordered: bool = False  # whether the order of the rows is the statement's


def sample_lines(snapshot: Snapshot, columns: int, room: int, view: View) -> list[Line]:
    """Title, header, as many rows as fit, how many more there are, and rows that are not answered in full."""
    if room < 3 or not (snapshot.columns or snapshot.partial_columns):
        return []
    apart = bool(snapshot.partial) and snapshot.partial_columns != snapshot.columns
    below = _partial_apart(snapshot, columns, room // 3) if apart else []
    within = () if apart else snapshot.partial
    above = _result(snapshot, within, columns, room - len(below), view) if snapshot.columns else []
    return above + below


def _result(
    snapshot: Snapshot, partial: Sequence[tuple[object, ...]], columns: int, room: int, view: View
) -> list[Line]:
    """The table of the result, rows not answered in full at its end."""
    rows = arranged(snapshot, ordered=view.ordered)
    total = max(snapshot.sample_rows + _unreached(snapshot), len(rows))
    space = max(0, room - 2)
    unfinished = min(len(partial), max(space // 3, space - total))
    shown = min(len(rows), space - unfinished)
    if total > shown:
        shown = max(0, min(shown, space - unfinished - 1))
    first = _first_shown(position(snapshot, rows, view.picked), shown, len(rows))
    rows = rows[first : first + shown]
    table = _columns(snapshot, rows, partial[:unfinished], columns)
    drawn = draw(table, columns - 1 - INDENT)
    lines: list[Line] = [_title(snapshot, shown, total, drawn.left_out), _indented(drawn.header, "underline")]
    picked = position(snapshot, rows, view.picked) if can_pick(snapshot) else None
    rest: list[Line] = [[(f"  … {total - shown:,} more", "dim")]] if total > shown else []
    for at, line in enumerate(drawn.rows):
        if at == shown:
            lines += rest
        if at == picked:
            lines.append([("▸ ", "reverse"), *((text, "reverse") for text, _ in line)])
        elif at < shown and is_first(snapshot, rows[at]):
            lines.append([("» ", "yellow"), *line])
        else:
            lines.append([("  ", ""), *line])
    return lines if len(drawn.rows) > shown else lines + rest


def _first_shown(at: int | None, shown: int, total: int) -> int:
    """Which row to begin with, so that the picked one is in sight."""
    if at is None or at < shown:
        return 0
    return min(at - shown + 1, max(0, total - shown))


def _unreached(snapshot: Snapshot) -> int:
    """Groups on display that rest on rows under way alone."""
    return sum(bool(rows) for rows in snapshot.under_way)


def _title(snapshot: Snapshot, shown: int, total: int, left_out: int) -> Line:
    """What is shown, how much of it, and what the marks mean."""
    groups = snapshot.sample_is != "newest rows"
    told = [f"{shown:,} of {total:,}" if shown < total else f"{total:,}"]
    if groups and snapshot.settled:
        settled = sum(snapshot.settled)
        more = "" if len(snapshot.settled) >= snapshot.sample_rows + _unreached(snapshot) else "+"
        told.append(f"{settled:,}{more} final ({SETTLED})" if settled else "none final yet")
    if _unreached(snapshot):
        told.append(f"{_unreached(snapshot):,} of rows under way ({UNKNOWN} not answered yet)")
    elif snapshot.partial and snapshot.partial_columns == snapshot.columns:
        told.append(f"{UNKNOWN} not answered yet")
    if left_out:
        told.append(f"{left_out} column{'' if left_out == 1 else 's'} not shown")
    return [(TITLES[snapshot.sample_is], "bold cyan"), *((f"  {piece}", "dim") for piece in told)]


def _columns(
    snapshot: Snapshot, rows: Sequence[int], partial: Sequence[tuple[object, ...]], columns: int
) -> list[Column]:
    """The result's columns, then how many rows each group rests on and whether it is final."""
    values = [snapshot.sample[row] for row in rows]
    table = _value_columns(snapshot.columns, [*values, *partial], columns)
    blank: list[Cell] = [("", "")] * len(partial)
    if (
        snapshot.rests_on
        and len(snapshot.rests_on) == len(snapshot.sample)
        and snapshot.sample_is != "newest rows"
    ):
        counts = [(_rests_on(snapshot, row), "dim") for row in rows]
        table.append(Column("rows", counts + blank, right=True, rank=1, title_style="dim"))
    if any(snapshot.settled) and len(snapshot.settled) == len(snapshot.sample):
        marks = [(SETTLED, "green") if snapshot.settled[row] else ("", "") for row in rows]
        table.append(Column("", marks + blank, rank=2, narrowest=None))
    return table


def _rests_on(snapshot: Snapshot, row: int) -> str:
    under_way = snapshot.under_way[row] if snapshot.under_way else 0
    return f"{under_way:,}{UNKNOWN}" if under_way else f"{snapshot.rests_on[row]:,}"


def _value_columns(names: Sequence[str], rows: Sequence[tuple[object, ...]], columns: int) -> list[Column]:
    cap = max(CELL_ROOM, columns // 3)
    table = []
    for index, name in enumerate(names):
        values = [row[index] for row in rows]
        known = [value for value in values if value is not None and value is not MISSING]
        numeric = bool(known) and all(
            isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in known
        )
        rounded = any(_digits(value) > DIGITS for value in known)
        cells = [_cell(value, cap, rounded=rounded) for value in values]
        table.append(Column(fit(printable(name), cap), cells, right=numeric, rank=10 + index if index else 0))
    return table


def _cell(value: object, cap: int, *, rounded: bool) -> Cell:
    if value is MISSING:
        return (UNKNOWN, "dim")
    if value is None:
        return ("NULL", "dim")
    if rounded and isinstance(value, float) and 1e-3 <= abs(value) < 1e12:
        return (f"{value:.{DIGITS}f}", "")
    return (fit(cell(value), cap), "")


def _digits(value: object) -> int:
    """Digits behind the point of a floating-point number."""
    return len(repr(value).partition(".")[2]) if isinstance(value, float) else 0


def _partial_apart(snapshot: Snapshot, columns: int, room: int) -> list[Line]:
    """Rows not answered in full, under a header of their own."""
    if room < 3:
        return []
    rows = snapshot.partial[: room - 2]
    drawn = draw(_value_columns(snapshot.partial_columns, rows, columns), columns - 1 - INDENT)
    count = f"  {len(rows):,} of {len(snapshot.partial):,}" if len(rows) < len(snapshot.partial) else ""
    title: Line = [("rows under way", "bold cyan"), (f"{count}  {UNKNOWN} not answered yet", "dim")]
    return [
        title,
        _indented(drawn.header, "underline"),
        *([(" " * INDENT, ""), *line] for line in drawn.rows),
    ]


def _indented(header: Line, style: str) -> Line:
    return [(" " * INDENT, ""), *((text, f"{style} {own}".strip()) for text, own in header)]
