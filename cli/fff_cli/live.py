"""The live view: one frozen snapshot drawn as lines that fit the terminal. Nothing here knows the engine or a terminal.

From top to bottom: how far the run is, the result so far, one line for each access method, where tuples are routed,
what is fetched first, what is missing, Spark, the keys. Sources and routing get what they need up to a share of the
height; the result gets the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fff.stats import Missing, RoutingShare, Snapshot, SparkStats
from fff_cli.forecast import History, duration
from fff_cli.grid import Line, cut
from fff_cli.groups import View, sample_lines
from fff_cli.methods import access_lines
from fff_cli.picking import can_pick
from fff_cli.values import fit, printable, width

ROUTES = 4  # tuple states whose routing is shown
AIRY = 32  # a terminal of so many lines has room for blank ones
LABEL = 9  # columns of the labels in front of routing, priorities, Spark

NEW = History()
PLAIN = View()


def frame(
    snapshot: Snapshot, columns: int, lines: int, *, history: History = NEW, view: View = PLAIN
) -> list[Line]:
    """The lines to show on a terminal of this size: at most `lines - 1` of them, none wider than it.

    `history` is that of the snapshots up to this one; without it there are no rates and no forecast.
    """
    room = lines - 1
    head = [_headline(snapshot, columns, history, view)]
    foot = [
        *_first(snapshot.priorities, columns),
        *_missing(snapshot.missing, columns),
        *_spark(snapshot.spark),
        *_keys(snapshot, view),
    ]
    foot = foot[: max(0, room - 2)] if room < 8 else foot
    room -= len(head) + len(foot)
    access = access_lines(snapshot.access, history, columns, max(1, room // 2))
    routing = _routing(snapshot.routing, columns, max(0, min(ROUTES, (room - len(access)) // 4)))
    room -= len(access) + len(routing)
    airy = lines >= AIRY and room >= 6
    sample = sample_lines(snapshot, columns, room - 3 if airy else room, view)
    sections = [sample, access, routing, foot]
    drawn = list(head)
    for section in sections:
        drawn += [[], *section] if airy and section and len(drawn) > 1 else section
    return [cut(line, columns - 1) for line in drawn[: lines - 1]]


def _headline(snapshot: Snapshot, columns: int, history: History, view: View) -> Line:
    phase = "stopping" if view.stopping and snapshot.phase != "done" else snapshot.phase
    left = f"{snapshot.elapsed_s:6.1f} s  {phase}"
    seconds = None if view.stopping else history.seconds_left(snapshot)
    soon = "" if seconds is None else f"  about {duration(seconds)} left"
    requests = sum(access.requests for access in snapshot.access)
    right = f"{snapshot.rows:,} rows  {requests:,} requests"
    middle = f"  policy {printable(snapshot.policy)}, seed {snapshot.seed}"
    if width(left + soon + middle + right) + 3 > columns:
        middle = ""
    if width(left + soon + right) + 3 > columns:
        right = f"{requests:,} requests"
    if width(left + soon + right) + 3 > columns:
        right = ""
    gap = max(2, columns - width(left + soon + middle + right) - 1)
    return [(left, "bold"), (soon, "cyan"), (middle, "dim"), (" " * gap, ""), (right, "bold")]


def _routing(routing: Sequence[RoutingShare], columns: int, room: int) -> list[Line]:
    """For each tuple state, busiest first, what share of its tuples went where."""
    states: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for share in routing:
        states[share.state][share.destination] += share.tuples
    busiest = sorted(states.items(), key=lambda item: -sum(item[1].values()))[:room]
    drawn: list[Line] = []
    for state, destinations in busiest:
        total = sum(destinations.values()) or 1
        ranked = sorted(destinations.items(), key=lambda item: -item[1])
        label = fit(f"{printable(state)} → ", columns // 2)
        shares: Line = [
            (f"{'  ' if at else ''}{printable(name)} {tuples / total:.0%}", "")
            for at, (name, tuples) in enumerate(ranked)
        ]
        drawn.append(
            [("routing".ljust(LABEL) if not drawn else " " * LABEL, "dim"), (label, "cyan"), *shares]
        )
    return drawn


def _first(priorities: Sequence[str], columns: int) -> list[Line]:
    """The predicates fetched first, in one line."""
    if not priorities:
        return []
    more = f" (and {len(priorities) - 1:,} more)" if len(priorities) > 1 else ""
    text = "; ".join(printable(one) for one in priorities)
    if width(text) > columns - 1 - LABEL:
        text = fit(printable(priorities[-1]), columns - 1 - LABEL - len(more)) + more
    return [[("first".ljust(LABEL), "dim"), (text, "yellow")]]


def _missing(missing: Sequence[Missing], columns: int) -> list[Line]:
    if not missing:
        return []
    more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
    return [[(fit(f"missing {missing_text(missing[0])}", columns - 1 - len(more)) + more, "bold red")]]


def missing_text(one: Missing) -> str:
    """A missing part in a few words: table, which rows, why."""
    which = f" where {one.predicate}" if one.predicate and one.predicate.lower() != "true" else ""
    return printable(f"{one.table}{which}: {one.reason}")


def _spark(spark: SparkStats) -> list[Line]:
    if not spark.used:
        return []
    if spark.start_s is None:
        state = "starting"
    else:
        state = f"started in {spark.start_s:.1f} s, {spark.refreshes} {'refresh' if spark.refreshes == 1 else 'refreshes'}"
        if spark.final_s is not None:
            state += f", final run {spark.final_s:.1f} s"
    return [[("Spark".ljust(LABEL), "dim"), (state, "")]]


def _keys(snapshot: Snapshot, view: View) -> list[Line]:
    """What the keys do, or the answer to the last one."""
    if not view.keys:
        return []
    if view.note:
        return [[(printable(view.note), "yellow")]]
    pick = "↑↓ pick  Enter fetch it first  " if can_pick(snapshot) else ""
    clear = "Esc none first  " if snapshot.priorities else ""
    return [[(f"{pick}{clear}q stop", "dim")]]
