"""The same query over the same rows with more ways to reach them (I9)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from fff.dataflow.plan import LookupPlan, ScanPlan, TablePlan
from tests.fuzz.generate import Instance


def more_access(instance: Instance, rng: random.Random) -> Iterator[Instance]:
    """One table with a scan more, and one table with a lookup more."""
    number = rng.randrange(len(instance.plan.tables))
    table = instance.plan.tables[number]
    yield _with(instance, number, replace(table, scans=(*table.scans, ScanPlan("added"))))
    group = rng.choice(instance.plan.equalities).members if instance.plan.equalities else ()
    if group:
        member = rng.choice(group)
        number = instance.plan.aliases[member.alias].table
        table = instance.plan.tables[number]
        added = LookupPlan("added", (member.index,), rng.randint(1, 3))
        yield _with(instance, number, replace(table, lookups=(*table.lookups, added)))


def _with(instance: Instance, number: int, table: TablePlan) -> Instance:
    """A table in place of another; several access methods need an identity that compares."""
    plan = instance.plan
    competing = len(table.scans) + len(table.lookups) > 1
    if competing and table.identity == "position":
        table = replace(table, identity="value")
    aliases = tuple(
        replace(alias, active=bool(table.scans or alias.seeds)) if alias.table == number else alias
        for alias in plan.aliases
    )
    tables = (*plan.tables[:number], table, *plan.tables[number + 1 :])
    return replace(instance, plan=replace(plan, tables=tables, aliases=aliases))
