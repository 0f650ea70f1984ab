"""What must be true of a run, whatever the network and the sources did. Each check gives what is wrong, in words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from fff.result.doubts import TWICE
from fff.stats import RunOutcome
from fff.structs import replace
from tests.faults.site import Row
from tests.simulation.faulty_web import oracle
from tests.soak.day import Day
from tests.soak.network import Exchange
from tests.soak.play import Came, OneRun, Rows
from tests.soak.statements import Statement
from tests.soak.weather import OF_CONNECTIONS

#: Virtual seconds by which what is due may be late: pieces of bytes that are under way, and the turns of the loop.
LATE = 0.5
#: And after Ctrl-C: what is left for joining, and for the engine above.
AFTER_INTERRUPT = 12.0 + LATE


def problems(chosen: Day, came: Came) -> list[str]:
    """All that is wrong with a run; nothing where all is well."""
    found = [*_of_the_end(chosen, came)]
    # Ceilings hold for all that one client sends; one that goes on in the place of another knows nothing of its last seconds.
    clients = [came.runs[:1], came.runs[1:]] if chosen.bounds.kill is not None else [came.runs]
    for runs in clients:
        found += _of_the_wire(chosen, [one for run in runs for one in run.exchanges])
    if chosen.bounds.kill is not None and chosen.odd is None and len(came.runs) > 1:
        before = {one.target for one in came.runs[0].exchanges if one.whole and one.status == 200}
        again = [one.target for one in came.runs[1].exchanges if one.target in before]
        if again:
            found.append(f"asked for again though it was answered before the kill: {again}")
    for number, run in enumerate(came.runs):
        last = number == len(came.runs) - 1
        found += [
            f"run {number}: {text}" for text in _of_a_run(chosen, came, run, resumed=last and number > 0)
        ]
    return found


def _of_a_run(chosen: Day, came: Came, run: OneRun, *, resumed: bool) -> Iterator[str]:
    yield from _of_the_answer(chosen, run)
    yield from _of_the_waits(run.exchanges)
    outcome, bounds, options = run.outcome, chosen.bounds, chosen.options
    took = run.ended - run.began
    if options.deadline is not None and took > options.deadline + LATE:
        yield f"the deadline of {options.deadline:g} s was passed: {took:.2f} s"
    if bounds.interrupt is not None and took > bounds.interrupt + AFTER_INTERRUPT:
        yield f"interrupted after {bounds.interrupt:.2f} s, ended after {took:.2f} s"
    if options.max_requests is not None and len(run.exchanges) > options.max_requests:
        yield f"{len(run.exchanges)} requests of at most {options.max_requests}"
    if len(run.exchanges) > run.requests:
        yield f"{len(run.exchanges)} requests on the wire, {run.requests} in the report"
    # What has just left when a run ends with parts missing may not get there.
    late = 0 if outcome is None or outcome.complete else chosen.client["rate_limit"]["max_concurrency"]
    if (
        outcome is not None
        and run.requests > len(run.exchanges) + late + came.network.unread
        and not set(OF_CONNECTIONS) & {*came.network.weather.struck}
    ):
        yield f"{run.requests} requests in the report, {len(run.exchanges)} on the wire"
    if outcome is None:
        return
    if outcome.complete != (not outcome.missing) or outcome.complete != (outcome.exit_code == 0):
        yield f"complete: {outcome.complete}, missing {outcome.missing}, exit code {outcome.exit_code}"
    json.dumps(outcome.report)
    whole = chosen.sound and (chosen.bounds.kill is None or resumed)
    if whole and not outcome.complete:
        yield f"nothing was wrong, and yet: {outcome.reason}"


def _of_the_answer(chosen: Day, run: OneRun) -> Iterator[str]:
    """The rows: all of them, or all certain, or labelled."""
    if chosen.blind:
        return
    statement, outcome = chosen.statement, run.outcome
    least, most = _least(chosen, run), _most(chosen)
    changing = least != most
    all_rows = replace(statement, first=None)
    upper = oracle(all_rows.sql, most)
    complete = outcome is not None and outcome.complete
    if statement.monotone:
        extra = run.rows - upper
        if not complete and outcome is not None and any(one.startswith(TWICE) for one in outcome.doubts):
            extra = Counter({row: count for row, count in extra.items() if row not in upper})
        if extra:
            yield f"{_shown(extra)} are not of the answer ({'complete' if complete else 'partial'})"
        lower = oracle(all_rows.sql, least)
        if complete and statement.first is not None:
            wanted = min(statement.first, lower.total())
            if not wanted <= run.rows.total() <= statement.first:
                yield f"{run.rows.total()} rows of {wanted}"
        elif complete and (lost := lower - run.rows):
            yield f"complete without {_shown(lost)}"
    elif changing or outcome is None:
        return
    elif complete:
        wanted = upper.total() if statement.first is None else min(statement.first, upper.total())
        if run.rows - upper or run.rows.total() != wanted:
            yield f"complete: {_shown(upper - run.rows)} lost, {_shown(run.rows - upper)} too many"
    elif outcome.bounds:
        yield from _of_the_bounds(statement, run.rows, outcome, upper)
    elif not outcome.doubts and (extra := run.rows - upper):
        yield f"partial, not in doubt, and {_shown(extra)} are not of the answer"


def _of_the_bounds(statement: Statement, rows: Rows, outcome: RunOutcome, expected: Rows) -> Iterator[str]:
    """Each row stands for one of the complete answer that its values bound."""
    certain = [place for place, bound in enumerate(outcome.bounds) if bound == "certain"]
    rows_are = outcome.report["bounds"]["rows"]
    truth = {tuple(row[place] for place in certain): row for row in expected}
    for row in rows:
        whole = truth.get(tuple(row[place] for place in certain))
        if whole is None:
            if rows_are == "certain":
                yield f"the row {row} is of no group of the answer"
            continue
        above = outcome.within or (None,) * len(row)
        for value, right, bound, within in zip(row, whole, outcome.bounds, above, strict=True):
            low, high = bound == "at_least", bound == "at_most"
            if value is not None and within is not None and value + within < right:
                yield f"{value} is told to be within {within} of {right}: {statement.sql}"
            if value is not None and ((low and not value <= right) or (high and not value >= right)):
                yield f"{value} is told to be {bound} of {right}: {statement.sql}"


def _least(chosen: Day, run: OneRun) -> Mapping[str, tuple[Row, ...]]:
    """Rows that a complete answer rests on, at least.

    Of a second mirror alone where this run has heard nothing of the first, or reads no column that tells rows apart: those
    that the second lacks and the first gave look like others.
    """
    first = any(
        one.target.startswith(f"/{chosen.odd}/first") and one.whole and one.status == 200
        for one in run.exchanges
    )
    compared = first and _tells_rows_apart(chosen)

    def lower(odd: Any) -> tuple[Row, ...]:
        rows: tuple[Row, ...] = odd.rows if odd.lower is None else odd.lower
        return rows if compared or odd.second is None else tuple(one for one in rows if one in odd.second)

    return _changed(chosen, lower)


def _tells_rows_apart(chosen: Day) -> bool:
    """Whether the statement reads a column of the odd table that no two of its rows share."""
    if chosen.odd is None or chosen.cells[chosen.odd].world.keyed:
        return True
    sql = chosen.statement.sql
    names = "|".join([chosen.odd, *re.findall(rf"web\.{chosen.odd} (\w+)", sql)])
    return re.search(rf"\b({names})\.(id|name)\b|(?<![\w.])(id|name)\b", sql) is not None


def _most(chosen: Day) -> Mapping[str, tuple[Row, ...]]:
    """And at most."""

    def upper(odd: Any) -> tuple[Row, ...]:
        more = (*(odd.upper or ()), *(odd.second or ()))
        return (*odd.rows, *(one for one in more if one not in odd.rows))

    return _changed(chosen, upper)


def _changed(chosen: Day, of: Any) -> dict[str, tuple[Row, ...]]:
    return {
        name: of(cell.behaviour) if name == chosen.odd else cell.behaviour.rows
        for name, cell in chosen.cells.items()
    }


def _shown(rows: Rows) -> str:
    return f"{rows.total()} rows such as {sorted(map(repr, rows))[:2]}"


def _of_the_end(chosen: Day, came: Came) -> Iterator[str]:
    if came.left:
        yield f"left behind: {came.left}"
    for name, one in came.played.items():
        if one.broken is not None:
            yield f"the simulated source {name} is wrong itself: {one.broken!r}"
        if one.endless:
            yield f"requests without end: {one.cell.name}"
    yield from came.queues.over


def _of_the_wire(chosen: Day, exchanges: list[Exchange]) -> Iterator[str]:
    """Ceilings, windows and rates."""
    rate = chosen.client["rate_limit"]
    if (most := _at_once(exchanges)) > rate["max_concurrency"]:
        yield f"{most} requests at once of at most {rate['max_concurrency']}"
    if "limit" in rate:
        arrived = sorted(one.arrived for one in exchanges if one.arrived is not None)
        for early, late in zip(arrived, arrived[rate["limit"] :], strict=False):
            if late - early < rate["per"] - 1e-6:
                yield f"{rate['limit'] + 1} requests in {late - early:.3f} s of {rate['per']:g}, at {early:.3f}"
                break
    if "fill_rate" in rate:
        sent = sorted(one.sent for one in exchanges)
        burst, fill = rate["bucket_size"], rate["fill_rate"]
        for count in (1, 5, 20):
            for early, late in zip(sent, sent[burst + count - 1 :], strict=False):
                if late - early < (count - 1) / fill - LATE:
                    yield f"{burst + count} requests in {late - early:.3f} s, at a rate of {fill}"
                    break


def _of_the_waits(exchanges: list[Exchange]) -> Iterator[str]:
    """Whoever was told when to come again does not come before."""
    waits: dict[str, tuple[float, float]] = {}
    for one in exchanges:
        told, until = waits.get(one.target, (0.0, 0.0))
        if told <= one.sent < until - 1e-6:  # two may have been on their way together
            yield f"{one.target} was asked for at {one.sent:.3f}, not to be before {until:.3f}"
        if one.asked_to_wait is not None and one.ended is not None:
            waits[one.target] = (one.ended, one.ended + one.asked_to_wait)


def _at_once(exchanges: list[Exchange]) -> int:
    """The most requests that were under way together; one that ends makes room for the one that begins then."""
    moments = [(one.sent, 1) for one in exchanges]
    moments += [(one.ended, -1) for one in exchanges if one.ended is not None]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def counted(came: Came) -> Counter[str]:
    """What happened, for the tally."""
    seen: Counter[str] = Counter(
        {f"struck by {kind}": count for kind, count in came.network.weather.struck.items()}
    )
    seen["requests"] = len(came.network.exchanges)
    for run in came.runs:
        seen["left" if run.outcome is None else "complete" if run.outcome.complete else "partial"] += 1
        seen["with rows"] += bool(run.rows)
    return seen
