"""Make a failing case small: leave out rows, predicates, access methods and faults for as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fff.structs import replace
from tests.fuzz.generate import Instance, feasible, sql_of
from tests.fuzz.oracle import brute_force
from tests.fuzz.world import MakeEddy, Run, Wrong, play, verdict

LONGEST_S = 120.0  # after so long the smallest so far will do
TRIES = 25  # worlds tried per smaller candidate: leaving something out changes what happens when


def failure(instance: Instance, run: Run, make: MakeEddy) -> Wrong | None:
    """What goes wrong with a run, if anything."""
    try:
        verdict(instance, run, play(instance, run, make), brute_force(instance))
    except Wrong as wrong:
        return wrong
    return None


def shrink(instance: Instance, run: Run, make: MakeEddy) -> str:
    """The report of the smallest failing relative of a failing run that was found."""
    found = failure(instance, run, make)
    assert found is not None, "only failing runs are made small"
    grown, until = True, time.monotonic() + LONGEST_S
    while grown and time.monotonic() < until:
        grown = False
        for smaller, simpler in candidates(instance, run):
            for seed in [simpler.seed, *range(TRIES)]:
                if time.monotonic() > until:
                    break
                tried = replace(simpler, seed=seed)
                wrong = failure(smaller, tried, make)
                if wrong is not None:
                    instance, run, found, grown = smaller, tried, wrong, True
                    break
            if grown:
                break
    return str(found)


def candidates(instance: Instance, run: Run) -> Iterator[tuple[Instance, Run]]:
    """Everything one step smaller."""
    plain = Run(run.seed, semantics=run.semantics, policy=run.policy)
    for name in (
        "route_size",
        "scans",
        "scan_credit",
        "window",
        "bias",
        "superset",
        "stalls",
        "page_rows",
        "prioritize",
        "windows",
    ):
        if getattr(run, name) != getattr(plain, name):
            yield instance, replace(run, **{name: getattr(plain, name)})
    if run.fail_scans:
        yield instance, replace(run, fail_scans=0.0)
    if run.fail_lookups:
        yield instance, replace(run, fail_lookups=0.0)
    for table, rows in enumerate(instance.rows):
        for place in range(len(rows)):
            left = (*rows[:place], *rows[place + 1 :])
            yield replace(instance, rows=(*instance.rows[:table], left, *instance.rows[table + 1 :])), run
    for smaller in (*without_predicates(instance), *without_access(instance)):
        if feasible(smaller.plan):
            yield smaller, run


def without_predicates(instance: Instance) -> Iterator[Instance]:
    """One predicate fewer. Those that pin a constant stay while a seed rests on them."""
    plan = instance.plan
    for place, predicate in enumerate(plan.predicates):
        if any(plan.aliases[alias].seeds or plan.aliases[alias].constants for alias in predicate.aliases):
            continue
        left = (*plan.predicates[:place], *plan.predicates[place + 1 :])
        smaller = replace(plan, predicates=left)
        yield replace(instance, plan=smaller, sql=sql_of(smaller))


def without_access(instance: Instance) -> Iterator[Instance]:
    """One scan or lookup fewer, where no seed names it and something else is left."""
    plan = instance.plan
    for number, table in enumerate(plan.tables):
        seeded = any(alias.seeds for alias in plan.aliases if alias.table == number)
        smaller = []
        if len(table.scans) > 1 or (table.scans and table.lookups):
            smaller.append(replace(table, scans=table.scans[:-1]))
        if table.lookups and not seeded and (table.scans or len(table.lookups) > 1):
            smaller.append(replace(table, lookups=table.lookups[:-1]))
        for one in smaller:
            aliases = tuple(
                replace(alias, active=bool(one.scans or alias.seeds)) if alias.table == number else alias
                for alias in plan.aliases
            )
            tables = (*plan.tables[:number], one, *plan.tables[number + 1 :])
            yield replace(instance, plan=replace(plan, tables=tables, aliases=aliases))
