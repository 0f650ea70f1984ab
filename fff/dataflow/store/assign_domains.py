"""Domains by table and column: columns that are ever compared share one numbering of their values."""

from __future__ import annotations

from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.store.domains import Domain
from fff.schema import comparison_kind

_Place = tuple[int, int]  # (table, column)


def wire(plan: BlockPlan) -> list[dict[int, Domain]]:
    """For each table, the domain of each of its columns that is in an equality class, a link or a lookup key.

    Classes that meet in one column of a table (self-joins) share a domain, so that a row has one number per column.
    """
    parent: dict[_Place, _Place] = {}

    def find(place: _Place) -> _Place:
        parent.setdefault(place, place)
        while parent[place] != place:
            place = parent[place]
        return place

    for equality in plan.equalities:
        places = [(plan.aliases[member.alias].table, member.index) for member in equality.members]
        for place in places:
            parent[find(place)] = find(places[0])
    for alias in plan.aliases:
        for own, other in alias.links:
            parent[find((alias.table, own))] = find((plan.aliases[other.alias].table, other.index))
    for table, table_plan in enumerate(plan.tables):
        for lookup in table_plan.lookups:
            for column in lookup.columns:
                find((table, column))

    domains: dict[_Place, Domain] = {}
    wired: list[dict[int, Domain]] = [{} for _ in plan.tables]
    for place in sorted(parent):
        root = find(place)
        kind = plan.tables[place[0]].columns[place[1]].arrow
        if root not in domains:
            domains[root] = Domain(kind)
        assert comparison_kind(kind) == comparison_kind(_kind(plan, root)), (
            f"{place} and {root} do not compare"
        )
        wired[place[0]][place[1]] = domains[root]
    return wired


def _kind(plan: BlockPlan, place: _Place) -> object:
    return plan.tables[place[0]].columns[place[1]].arrow
