"""The access methods as the live view shows them: one line each, in columns that a narrow terminal loses one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fff.stats import AccessStats
from fff_cli.forecast import ACTIVE, History, duration
from fff_cli.grid import Cell, Column, Line, draw
from fff_cli.values import printable

STATE_STYLES = {
    "running": "green",
    "throttled": "bold yellow",
    "stalled": "bold yellow",
    "failed": "bold red",
    "complete": "dim",
    "waiting": "dim",
    "stopped": "dim",
    "unused": "dim",
}
DONE = ("complete", "unused", "stopped")
BAR_LEAST, BAR_MOST = 6, 20
WIDE = 100  # terminal columns from which on units are spelled out
TOLD_AFTER_S = 1.0  # spells shorter than that have no length


def access_lines(access: Sequence[AccessStats], history: History, columns: int, room: int) -> list[Line]:
    """A header and a line for each access method; those under way first when not all fit."""
    if not access or room < 1:
        return []
    header = room >= 3
    space = room - 1 if header else room
    shown = list(access)
    if len(shown) > space:
        busy = sorted(shown, key=lambda one: (one.state in DONE, -one.in_flight))
        kept = {id(one) for one in busy[: max(1, space - 1)]}
        shown = [one for one in shown if id(one) in kept]
    table = _columns(shown, _names(shown), history, columns)
    room_left = columns - 1
    bar = _bar_column(shown, table, room_left)
    drawn = draw(table[:3] + bar + table[3:], room_left)
    lines = [[(text, "dim") for text, _ in drawn.header], *drawn.rows] if header else list(drawn.rows)
    if len(shown) < len(access) and space > 1:
        lines.append([(f"… {len(access) - len(shown):,} more access methods", "dim")])
    return lines


def _names(shown: Sequence[AccessStats]) -> list[str]:
    """Names of the access methods, with their sources where two have the same."""
    often = Counter(one.name for one in shown)
    return [printable(f"{one.source}.{one.name}" if often[one.name] > 1 else one.name) for one in shown]


def _columns(
    shown: Sequence[AccessStats], names: Sequence[str], history: History, columns: int
) -> list[Column]:
    wide = columns >= WIDE
    table = [
        Column("access", [(name, "") for name in names], narrowest=max(8, columns * 3 // 10)),
        Column("state", [_state(one, history) for one in shown], narrowest=None),
        Column("rows", [(_rows(one), "") for one in shown], right=True),
        Column("", [(_percent(one), "") for one in shown], right=True, rank=6),
        Column(
            "requests" if wide else "req", [(f"{one.requests:,}", "") for one in shown], right=True, rank=1
        ),
        Column("rate", [(_rate(one, history, wide=wide), "") for one in shown], right=True, rank=2),
        Column("in flight", [_count(one.in_flight, "") for one in shown], right=True, rank=3),
        Column("failed", [_count(one.failed, "bold red") for one in shown], right=True, rank=1),
        Column("retries", [_count(one.retries, "yellow") for one in shown], right=True, rank=4),
        Column("hedged", [_count(one.hedged, "dim") for one in shown], right=True, rank=8),
        Column("waiting", [_count(one.pending_keys, "dim") for one in shown], right=True, rank=5),
        Column("throttled", [_count(one.throttled, "yellow") for one in shown], right=True, rank=7),
    ]
    return [column for column in table if any(text for text, _ in column.cells)]


def _bar_column(shown: Sequence[AccessStats], table: Sequence[Column], room: int) -> list[Column]:
    """Bars where room is left for them."""
    taken = sum(column.wanted + 2 for column in table)
    size = min(BAR_MOST, room - taken)
    if size < BAR_LEAST or not any(one.total_rows for one in shown):
        return []
    return [Column("", [(_bar(one, size), "green") for one in shown], rank=9, narrowest=None)]


def _state(one: AccessStats, history: History) -> Cell:
    """The state; stalled with for how long, and throttled with for how long it will be where the source says so."""
    if one.resumes_s is not None:
        return (f"throttled, on in {duration(one.resumes_s)}", STATE_STYLES["throttled"])
    stalled = history.lasted(one, "stalled")
    throttled = history.lasted(one, "throttled")
    lasted, text = (stalled, "stalled") if stalled is not None else (throttled, "throttled")
    if lasted is None:
        return (one.state, STATE_STYLES[one.state])
    return (f"{text} {duration(lasted)}" if lasted >= TOLD_AFTER_S else text, STATE_STYLES["stalled"])


def _rows(one: AccessStats) -> str:
    return f"{one.rows:,}/{one.total_rows:,}" if one.total_rows else f"{one.rows:,}"


def _share(one: AccessStats) -> float | None:
    return min(1.0, one.rows / one.total_rows) if one.total_rows else None


def _percent(one: AccessStats) -> str:
    share = _share(one)
    return "" if share is None else f"{int(share * 100)}%"


def _bar(one: AccessStats, size: int) -> str:
    share = _share(one)
    if share is None:
        return ""
    full = int(share * size)
    return "█" * full + "░" * (size - full)


def _rate(one: AccessStats, history: History, *, wide: bool) -> str:
    """Rows a second of a scan, requests a second of a lookup."""
    rate = history.rate(one) if one.state in ACTIVE else None
    if rate is None:
        return ""
    unit = (" rows" if one.kind == "scan" else " req") if wide else ""
    return f"{rate:,.0f}{unit}/s"


def _count(count: int, style: str) -> Cell:
    return (f"{count:,}", style) if count else ("", "")
