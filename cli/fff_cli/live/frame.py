"""The live view: one frozen snapshot drawn so that it fits the terminal. Nothing here knows the engine or a terminal.

From top to bottom: how far the run is and what it waits for, the result so far, one line for each access
method, where tuples are routed, what is fetched first, what is missing, Spark, the keys. Sources and routing
get what they need up to a share of the height; the result gets the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fff.display.counts import counted
from fff.stats import Missing, RoutingShare, Snapshot, SparkStats
from fff_cli.live.forecast import History, duration, share_done
from fff_cli.live.groups import sample_lines
from fff_cli.live.methods import access_lines, state_text
from fff_cli.live.selection import View, can_pick
from fff_cli.output.drawing import Group, ProgressBar, RenderableType, Text, bar, beside, cell, height, line
from fff_cli.output.values import fit, printable, width
from fff_cli.run.account import missing_texts

ROUTES = 8  # tuple states whose routing is shown in detail
AIRY = 32  # a terminal of so many lines has room for blank ones
ROOMY = 18  # and one of so many for what explains rather than tells
LABEL = 9  # columns of the labels in front of routing, priorities, Spark
BAR_LEAST = 8
KEYS = (
    ("↑ ↓  k j", "pick a group"),
    ("Enter", "fetch it first, or not (»)"),
    ("Esc  x", "nothing is first any more"),
    ("PgUp PgDn", "scroll the access methods"),
    ("r", "routing in detail"),
    ("Space", "hold the picture still"),
    ("q", "stop with what is there"),
    ("?", "this help"),
)

_LIMITS = {
    "concurrency": "its limit of requests at once",
    "rate": "its rate limit",
    "throttled": "what it told us",
}

NEW = History()
PLAIN = View()


def frame(
    snapshot: Snapshot, columns: int, lines: int, *, history: History = NEW, view: View = PLAIN
) -> RenderableType:
    """What to show on a terminal of this size: at most `lines - 1` lines, none wider than it.

    `history` is that of the snapshots up to this one; without it there are no rates and no forecast.
    """
    room = lines - 1
    head: list[RenderableType] = [_headline(snapshot, columns, history, view)]
    if room >= 8:
        head += _waiting(snapshot, columns, history)
    foot = [
        *_first(snapshot.priorities, columns),
        *_missing(snapshot.missing, columns),
        *(_spark(snapshot.spark) if lines >= ROOMY else []),
        *_keys(snapshot, columns, view),
    ]
    foot = foot[: max(0, room - 2)] if room < 8 else foot
    room -= len(head) + len(foot)
    share = room // 2 if snapshot.columns or snapshot.partial_columns else room - 1
    share = min(share, room - len(KEYS)) if view.help else share
    access = access_lines(snapshot.access, history, columns, max(1, share), view.scrolled)
    spare = (room - height(access)) // 2 if view.detail else int(lines >= ROOMY)
    routing = _routing(snapshot.routing, columns, max(0, min(ROUTES, spare)))
    room -= height(access) + len(routing)
    airy = lines >= AIRY and room >= 6
    body = _help()[:room] if view.help else sample_lines(snapshot, columns, room - 4 if airy else room, view)
    drawn = list(head)
    for section in (body, access, routing, foot):
        drawn += [cell(""), *section] if airy and section else section
    return Group(*drawn)


def _headline(snapshot: Snapshot, columns: int, history: History, view: View) -> RenderableType:
    """Time, phase, one bar for all, what is left, and on the right what there is so far."""
    stopping = view.stopping and snapshot.phase != "done"
    phase = ("stopping" if stopping else snapshot.phase) + (" (held still)" if view.paused else "")
    left = cell(f"{snapshot.elapsed_s:6.1f} s  {phase}", "bold")
    seconds = None if view.stopping else history.seconds_left(snapshot)
    share = None if view.stopping else share_done(snapshot, seconds)
    requests = sum(access.requests for access in snapshot.access)
    parts: list[Text | ProgressBar] = [left]
    soon = [] if seconds is None else [cell(f"about {duration(seconds)} left", "cyan")]
    policy = (
        [cell(f"policy {printable(snapshot.policy)}, seed {snapshot.seed}", "dim")] if view.verbose else []
    )
    counts = cell(f"{counted(snapshot.rows, 'row')}  {counted(requests, 'request')}", "bold")
    for more in (soon, [counts], policy):  # the most telling first, as far as there is room
        taken = sum(part.cell_len + 2 for part in (*parts, *more) if isinstance(part, Text))
        if taken < columns - 1:  # what fills the line between them is a column wide at least
            parts += more
    taken = sum(part.cell_len + 2 for part in parts if isinstance(part, Text))
    if share is not None and columns - 1 - taken >= BAR_LEAST + 6:
        parts[1:1] = [bar(share), cell(f"{int(share * 100)}%", "green")]
    else:
        parts.insert(1 + len(soon), cell(""))
    return beside(*parts)


def _waiting(snapshot: Snapshot, columns: int, history: History) -> list[RenderableType]:
    """What the run waits for, in words, as many as there is room for."""
    if snapshot.phase == "aggregating":
        return [line(("waiting for ", "dim"), "Spark")]
    one = history.slowest(snapshot)
    if one is None and snapshot.phase == "done":
        return []
    if one is None:  # for a moment nothing is under way: what stands below keeps its place
        return [cell("")]
    rate = history.rate(one)
    ranked: list[tuple[str, int]] = []  # and which of it goes last where there is no room
    if one.resumes_s is not None:
        ranked.append((f"told to wait {duration(one.resumes_s)}", 0))
    elif one.state != "running":
        ranked.append((state_text(one, history), 0))
    if rate:
        ranked.append((f"{rate:,.0f}/s" if rate >= 1 else f"{rate:.1g}/s", 1))
    if one.in_flight:
        ranked.append((f"{one.in_flight:,} in flight", 3))
    if one.pending_keys:
        ranked.append((f"{counted(one.pending_keys, 'key')} waiting", 4))
    elif snapshot.waiting and one.kind == "lookup":
        ranked.append((f"{counted(snapshot.waiting, 'row')} waiting", 4))
    if one.limited_by == "rate" or (one.limited_by is not None and one.state == "running"):
        ranked.append((f"held back by {_LIMITS.get(one.limited_by, one.limited_by)}", 2))
    began = f"{printable(one.table)}: "
    room = columns - 1 - len("waiting for ") - width(began)
    while len(ranked) > 1 and sum(len(note) + 2 for note, _ in ranked) - 2 > room:
        ranked.remove(max(ranked, key=lambda note: note[1]))
    held = "yellow" if one.state in ("stalled", "throttled") else "dim"
    notes = ", ".join(note for note, _ in ranked)
    return [line(("waiting for ", "dim"), began if notes else began.rstrip(": "), (notes, held))]


def _labelled(label: str, *pieces: tuple[str, str]) -> Text:
    return line((f"{label:<{LABEL}}", "dim"), *pieces)


def _routing(routing: Sequence[RoutingShare], columns: int, room: int) -> list[RenderableType]:
    """For each tuple state, busiest first, what share of its tuples went where."""
    states: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for share in routing:
        states[share.state][share.destination] += share.tuples
    busiest = sorted(states.items(), key=lambda item: -sum(item[1].values()))[:room]
    drawn: list[RenderableType] = []
    for state, destinations in busiest:
        total = sum(destinations.values()) or 1
        label = fit(f"{printable(state)} → ", columns // 2)
        ranked = sorted(destinations.items(), key=lambda item: -item[1])
        shares = "  ".join(f"{printable(name)} {tuples / total:.0%}" for name, tuples in ranked)
        drawn.append(_labelled("" if drawn else "routing", (label, "cyan"), (shares, "")))
    return drawn


def _first(priorities: Sequence[str], columns: int) -> list[RenderableType]:
    """The predicates fetched first, in one line."""
    if not priorities:
        return []
    text = "; ".join(printable(one) for one in priorities)
    if width(text) > columns - 1 - LABEL and len(priorities) > 1:
        return _counted_line("first    ", priorities[-1], len(priorities), columns, "yellow")
    return [_labelled("first", (text, "yellow"))]


def _missing(missing: Sequence[Missing], columns: int) -> list[RenderableType]:
    texts = missing_texts(missing)
    return _counted_line("missing ", texts[0], len(texts), columns, "bold red") if texts else []


def _counted_line(label: str, text: str, count: int, columns: int, style: str) -> list[RenderableType]:
    """One of several things, and how many more there are."""
    more = f" (and {count - 1:,} more)" if count > 1 else ""
    return [cell(fit(label + printable(text), columns - 1 - len(more)) + more, style)]


def _spark(spark: SparkStats) -> list[RenderableType]:
    if not spark.used:
        return []
    if spark.start_s is None:
        return [_labelled("Spark", ("starting", ""))]
    runs = f"{spark.refreshes} {'refresh' if spark.refreshes == 1 else 'refreshes'}"
    final = "" if spark.final_s is None else f", final run {spark.final_s:.1f} s"
    return [_labelled("Spark", (f"started in {spark.start_s:.1f} s, {runs}{final}", ""))]


def _keys(snapshot: Snapshot, columns: int, view: View) -> list[RenderableType]:
    """What the keys do, or the answer to the last one."""
    if not view.keys:
        return []
    if view.note:
        return [cell(printable(view.note), "yellow")]
    keys = ["q stop", "? help"]
    more = ["↑↓ pick", "Enter fetch it first"] if can_pick(snapshot) else []
    more += ["Esc none first"] if snapshot.priorities else []
    for at, one in enumerate(more):
        if sum(len(key) + 2 for key in (*keys, one)) - 2 < columns:
            keys.insert(at, one)
    return [cell("  ".join(keys), "dim")]


def _help() -> list[RenderableType]:
    return [cell(f"  {key:<11}{does}") for key, does in KEYS]
