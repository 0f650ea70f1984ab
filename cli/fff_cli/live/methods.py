"""The access methods as the live view shows them: one line each, in columns that a narrow terminal loses one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fff.display.counts import counted
from fff.stats import AccessStats
from fff_cli.live.forecast import ACTIVE, History, duration, key_of, share_of
from fff_cli.output.drawing import Cell, DrawnColumn, RenderableType, Text, bar, cell, table
from fff_cli.output.values import printable

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
LEAST_TRACE = 4  # rates beside each other, where the terminal is narrow
SHOWN_AFTER_S = 1.0  # spells shorter than that have no length
_LEVELS = "▁▂▃▄▅▆▇█"


def access_lines(
    access: Sequence[AccessStats], history: History, columns: int, room: int, first: int = 0
) -> list[RenderableType]:
    """A header and a line for each access method; when not all fit those under way, and a line for the others.

    `first` of them are scrolled away.
    """
    if not access or room < 1:
        return []
    space = room - 1 if room >= 3 else room
    shown, hidden = list(access), list[AccessStats]()
    if len(shown) > space:
        busy = sorted(shown, key=lambda one: (one.state not in ACTIVE, one.state in DONE, -one.in_flight))
        busy = busy[first:] + busy[:first]
        kept = {id(one) for one in busy[: max(1, space - 1)]}
        hidden = [one for one in shown if id(one) not in kept]
        shown = [one for one in shown if id(one) in kept]
    drawn, _ = table(_columns(shown, history, columns), columns - 1)
    drawn.show_header = room >= 3
    return [drawn, together(hidden, columns)] if hidden and space > 1 else [drawn]


def together(hidden: Sequence[AccessStats], columns: int, note: str = "") -> Text:
    """What there is no room for, in one line with a note behind it; where that is too long, in fewer words."""
    states = Counter(one.state for one in hidden).most_common()
    totals = [
        *(f"{count:,} {state}" for state, count in states),
        counted(sum(one.rows for one in hidden), "row"),
        counted(sum(one.requests for one in hidden), "request"),
    ]
    text = f"… {counted(len(hidden), 'more access method')}: {', '.join(totals)}{note}"
    return cell(text if len(text) < columns else f"… {len(hidden):,} more: {', '.join(totals)}", "dim")


def _names(shown: Sequence[AccessStats]) -> list[str]:
    """Names of the access methods, with their sources where two have the same."""
    often = Counter(one.name for one in shown)
    return [printable(f"{one.source}.{one.name}" if often[one.name] > 1 else one.name) for one in shown]


def _columns(shown: Sequence[AccessStats], history: History, columns: int) -> list[DrawnColumn]:
    wide, rates = columns >= WIDE, max(LEAST_TRACE, columns // 16)
    named = [cell(name) for name in _names(shown)]

    def numbers(title: str, texts: Sequence[Cell], rank: int) -> DrawnColumn:
        return DrawnColumn(title, texts, right=True, rank=rank)

    made = [
        DrawnColumn("access", named, narrowest=max(8, columns * 3 // 10)),
        DrawnColumn("state", [_state(one, history) for one in shown], narrowest=None),
        numbers("rows", [cell(_rows(one)) for one in shown], 0),
        numbers("", [cell(_percent(one)) for one in shown], 8),
        numbers("requests" if wide else "req", [cell(f"{one.requests:,}") for one in shown], 1),
        numbers("rate", [cell(_rate(one, history, wide=wide)) for one in shown], 2),
        DrawnColumn("", [cell(_trace(one, history, rates), "cyan") for one in shown], rank=3, narrowest=None),
        numbers("in flight", [_count(one.in_flight, "") for one in shown], 4),
        numbers("failed", [_count(one.failed, "bold red") for one in shown], 1),
        numbers("retries", [_count(one.retries, "yellow") for one in shown], 5),
        numbers("hedged", [_count(one.hedged, "dim") for one in shown], 9),
        numbers("waiting", [_count(one.pending_keys, "dim") for one in shown], 6),
        numbers("throttled", [_count(one.throttled, "yellow") for one in shown], 7),
    ]
    made = [column for column in made if any(isinstance(one, Text) and one.plain for one in column.cells)]
    size = min(BAR_MOST, columns - 1 - sum(column.wanted + 2 for column in made))
    shares = [share_of(one) if one.kind == "scan" else None for one in shown]
    if size >= BAR_LEAST and any(share is not None for share in shares):
        bars = [cell("") if share is None else bar(share, size) for share in shares]
        made.insert(3, DrawnColumn("", bars, rank=10, narrowest=None))
    return made


def state_text(one: AccessStats, history: History) -> str:
    """The state; stalled with for how long, and throttled with for how long it will be where the source says so."""
    if one.resumes_s is not None:
        return f"throttled, on in {duration(one.resumes_s)}"
    stalled = history.lasted(one, "stalled")
    throttled = history.lasted(one, "throttled")
    lasted, text = (stalled, "stalled") if stalled is not None else (throttled, "throttled")
    if lasted is None:
        return one.state
    return f"{text} {duration(lasted)}" if lasted >= SHOWN_AFTER_S else text


def _state(one: AccessStats, history: History) -> Cell:
    text = state_text(one, history)
    return cell(text, STATE_STYLES[text.split()[0].rstrip(",")])


def _rows(one: AccessStats) -> str:
    return f"{one.rows:,}/{one.total_rows:,}" if one.total_rows else f"{one.rows:,}"


def _percent(one: AccessStats) -> str:
    share = share_of(one) if one.kind == "scan" else None
    return "" if share is None else f"{int(share * 100)}%"


def _rate(one: AccessStats, history: History, *, wide: bool) -> str:
    """Rows a second of a scan, requests a second of a lookup."""
    rate = history.rate(one) if one.state in ACTIVE else None
    if rate is None:
        return ""
    unit = (" rows" if one.kind == "scan" else " req") if wide else ""
    return f"{rate:,.0f}{unit}/s"


def _trace(one: AccessStats, history: History, most_rates: int) -> str:
    """The rates of the last seconds as bars beside each other, the highest of them as high as a line."""
    rates = history.traces.get(key_of(one), ())
    if len(rates) < 2 or one.state not in ACTIVE:
        return ""
    most, rates = max(rates) or 1.0, rates[-most_rates:]  # what has come to a halt is a flat line
    return "".join(_LEVELS[min(len(_LEVELS) - 1, int(rate / most * len(_LEVELS)))] for rate in rates)


def _count(count: int, style: str) -> Cell:
    return cell(f"{count:,}" if count else "", style)
