"""The result so far, as the live view shows it: groups with what they rest on, newest rows, rows not answered in full."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from fff.display.counts import counted
from fff.stats import MISSING, Snapshot
from fff_cli.live.selection import View, arranged, can_pick, is_first, position
from fff_cli.output import values
from fff_cli.output.drawing import LEAST_WIDTH, Cell, DrawnColumn, RenderableType, Text, cell, line, table

KEY_LEAST = 16  # of what rows are grouped by, rather than more columns
CELL_ROOM = 30  # widest cell of the sample, unless the terminal is wide
DIGITS = 4  # shown of a fraction: a current average changes in all of them
UNKNOWN = "…"  # a value whose table has not answered yet; behind a number of rows: so many are under way
SETTLED = "✓"
TITLES = {
    "current groups": "groups so far",
    "newest rows": "newest rows so far",
    "final": "result",
}


def sample_lines(snapshot: Snapshot, columns: int, room: int, view: View) -> list[RenderableType]:
    """Title, header, as many rows as fit, and rows that are not answered in full."""
    if room < 3 or not (snapshot.columns or snapshot.partial_columns):
        return []
    apart = bool(snapshot.partial) and snapshot.partial_columns != snapshot.columns
    below = _partial_apart(snapshot, columns, room // 3) if apart else []
    taken = min(len(snapshot.partial), room // 3 - 2) + 2 if below else 0
    within = () if apart else snapshot.partial
    above = _result(snapshot, within, columns, room - taken, view) if snapshot.columns else []
    return above + below


def _result(
    snapshot: Snapshot, partial: Sequence[tuple[object, ...]], columns: int, room: int, view: View
) -> list[RenderableType]:
    """The table of the result, rows not answered in full at its end."""
    rows = arranged(snapshot, ordered=view.ordered)
    total = max(snapshot.sample_rows + _unreached(snapshot), len(rows))
    space = max(0, room - 2)
    unfinished = min(len(partial), max(space // 3, space - total))
    shown = min(len(rows), space - unfinished)
    first = _first_shown(position(snapshot, rows, view.picked), shown, len(rows))
    rows = rows[first : first + shown]
    made = _columns(snapshot, rows, partial[:unfinished], columns)
    picked = position(snapshot, rows, view.picked) if can_pick(snapshot) else None
    marks = ["»" if is_first(snapshot, row) else " " for row in rows] + [" "] * unfinished
    if picked is not None:
        marks[picked] = "▸"
    made.insert(0, DrawnColumn(" ", [cell(mark, "yellow") for mark in marks], narrowest=None))
    drawn, left_out = table(made, columns - 1, "underline", {} if picked is None else {picked: "reverse"})
    return [_title(snapshot, (first, shown, total), left_out, columns), drawn]


def _first_shown(at: int | None, shown: int, total: int) -> int:
    """Which row to begin with, so that the picked one is in sight."""
    if at is None or at < shown:
        return 0
    return min(at - shown + 1, max(0, total - shown))


def _unreached(snapshot: Snapshot) -> int:
    """Groups on display that rest on rows under way alone."""
    return sum(bool(rows) for rows in snapshot.under_way)


def _title(snapshot: Snapshot, window: tuple[int, int, int], left_out: int, columns: int) -> Text:
    """What is shown, how much of it, and what the marks mean, as far as there is room."""
    groups = snapshot.sample_is != "newest rows"
    first, shown, total = window
    which = f"{first + 1:,}-{first + shown:,}" if groups and shown else f"{shown:,}"
    notes = [f"{which} of {total:,}" if shown < total else f"{total:,}"]
    if groups and snapshot.settled:
        settled = sum(snapshot.settled)
        more = "" if len(snapshot.settled) >= snapshot.sample_rows + _unreached(snapshot) else "+"
        notes.append(f"{settled:,}{more} final ({SETTLED})" if settled else "none final yet")
    if _unreached(snapshot):
        notes += [f"{_unreached(snapshot):,} without a whole row", f"({UNKNOWN} not answered yet)"]
    elif snapshot.partial and snapshot.partial_columns == snapshot.columns:
        notes.append(f"{UNKNOWN} not answered yet")
    if left_out:
        notes.append(f"{counted(left_out, 'column')} not shown")
    title = TITLES[snapshot.sample_is]
    while len(notes) > 1 and len(title) + sum(len(note) + 2 for note in notes) >= columns:
        notes.pop()
    return _headed(title, *notes)


def _headed(title: str, *notes: str) -> Text:
    suffix = "".join(f" {piece}" if piece.startswith("(") else f"  {piece}" for piece in notes)
    return line((title, "bold cyan"), (suffix, "dim"))


def _columns(
    snapshot: Snapshot, rows: Sequence[int], partial: Sequence[tuple[object, ...]], columns: int
) -> list[DrawnColumn]:
    """The result's columns, then how many rows each group rests on and whether it is final.

    What the rows are grouped by is the last to go: without it no other column says anything.
    """
    shown = [*(snapshot.sample[row] for row in rows), *partial]
    made = _value_columns(snapshot.columns, shown, columns, snapshot.group_keys)
    blank: list[Cell] = [cell("")] * len(partial)
    if (
        snapshot.rests_on
        and len(snapshot.rests_on) == len(snapshot.sample)
        and snapshot.sample_is != "newest rows"
    ):
        counts: list[Cell] = [cell(_rests_on(snapshot, row), "dim") for row in rows]
        made.append(DrawnColumn("rows", counts + blank, right=True, rank=1))
    if any(snapshot.settled) and len(snapshot.settled) == len(snapshot.sample):
        marks: list[Cell] = [cell(SETTLED if snapshot.settled[row] else "", "green") for row in rows]
        made.append(DrawnColumn("", marks + blank, rank=2, narrowest=None))
    return made


def _rests_on(snapshot: Snapshot, row: int) -> str:
    under_way = snapshot.under_way[row] if snapshot.under_way else 0
    return f"{under_way:,}{UNKNOWN}" if under_way else f"{snapshot.rests_on[row]:,}"


def _value_columns(
    names: Sequence[str], rows: Sequence[tuple[object, ...]], columns: int, keys: Sequence[str | None] = ()
) -> list[DrawnColumn]:
    cap = max(CELL_ROOM, columns // 3)
    kept = {index for index, key in enumerate(keys) if key is not None} or {0}
    made = []
    for index, name in enumerate(names):
        shown = [row[index] for row in rows]
        known = [value for value in shown if value is not None and value is not MISSING]
        key = index in kept
        # What is computed of a group is most often a number: it stays on its side when the first one comes.
        numeric = (bool(known) or (bool(keys) and not key)) and all(
            isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) for value in known
        )
        rounded = any(_digits(value) > DIGITS for value in known)
        cells = [_cell(value, cap, rounded=rounded) for value in shown]
        title = values.fit(values.printable(name), cap)
        rank = 0 if key else 10 + index
        made.append(
            DrawnColumn(title, cells, numeric, rank, KEY_LEAST if key else LEAST_WIDTH, gives_way=True)
        )
    return made


def _cell(value: object, cap: int, *, rounded: bool) -> Cell:
    if value is MISSING:
        return cell(UNKNOWN, "dim")
    if value is None:
        return cell("NULL", "dim")
    if rounded and isinstance(value, float) and 1e-3 <= abs(value) < 1e12:
        return cell(f"{value:.{DIGITS}f}")
    return cell(values.fit(values.cell(value), cap))


def _digits(value: object) -> int:
    """Digits behind the point of a floating-point number."""
    return len(repr(value).partition(".")[2]) if isinstance(value, float) else 0


def _partial_apart(snapshot: Snapshot, columns: int, room: int) -> list[RenderableType]:
    """Rows not answered in full, under a header of their own."""
    if room < 3:
        return []
    rows = snapshot.partial[: room - 2]
    made = _value_columns(snapshot.partial_columns, rows, columns)
    made.insert(0, DrawnColumn(" ", [cell(" ")] * len(rows), narrowest=None))
    count = f"{len(rows):,} of {len(snapshot.partial):,}  " if len(rows) < len(snapshot.partial) else ""
    return [
        _headed("rows under way", f"{count}{UNKNOWN} not answered yet"),
        table(made, columns - 1, "underline")[0],
    ]
