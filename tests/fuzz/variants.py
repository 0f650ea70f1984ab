"""The same query over the same rows: with more ways to reach them (I9), with its aliases in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.plan import EqualityClass, LookupPlan, ScanPlan, TablePlan
from fff.sql.analysis.predicates import map_columns
from fff.structs import replace
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


def turned(instance: Instance) -> Instance:
    """The aliases from last to first: right sides stand before what they are joined with, as those of RIGHT JOIN do."""
    plan = instance.plan
    last = len(plan.aliases) - 1

    def moved(column: Column) -> Column:
        return Column(last - column.alias, column.index)

    aliases = tuple(
        replace(alias, links=tuple((own, moved(other)) for own, other in alias.links))
        for alias in reversed(plan.aliases)
    )
    equalities = tuple(EqualityClass(tuple(map(moved, one.members))) for one in plan.equalities)
    predicates = tuple(
        replace(one, expr=map_columns(one.expr, moved), on=None if one.on is None else last - one.on)
        for one in plan.predicates
    )
    output = tuple(map(moved, plan.output))
    changed = replace(plan, aliases=aliases, equalities=equalities, predicates=predicates, output=output)
    return replace(instance, plan=changed)


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
