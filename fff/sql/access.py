"""How each table is reached: scans, lookups bound by constants, lookups bound through joins; and whether that is enough.

Feasibility is the Nail algorithm (S4 section 2.2): start from what constants and scans reach, and add any table one of
whose lookups has every key column bound by what is there already.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fff.catalog import LookupMethod, ScanMethod, Table
from fff.dataflow.expressions import Column
from fff.errors import InfeasibleQuery
from fff.sql.blocks import SourceBlock
from fff.sql.classify import Conjunct
from fff.sql.equalities import Equalities, Pins
from fff.sql.literals import Constant
from fff.sql.names import Relation

#: Keys that constants may ask one lookup for (a cross product, where IN lists pin several key columns).
MAX_SEED_KEYS = 10_000


@dataclass(frozen=True)
class SeedChoice:
    """A lookup whose every key column constants pin, and the keys to ask for."""

    method: LookupMethod
    keys: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class AliasAccess:
    """How the rows of one FROM-clause instance are reached."""

    active: bool
    seed: SeedChoice | None


@dataclass(frozen=True)
class TableAccess:
    """The access methods of one base table that the query uses, and the aliases that share them."""

    table: Table
    relations: tuple[Relation, ...]
    scans: tuple[ScanMethod, ...]
    lookups: tuple[LookupMethod, ...]


@dataclass(frozen=True)
class Access:
    """Every table's access, and the order in which the feasibility check reached the aliases."""

    tables: tuple[TableAccess, ...]
    aliases: tuple[AliasAccess, ...]
    joined: tuple[tuple[LookupMethod, ...], ...]  # by alias: the lookups that other aliases bind
    order: tuple[int, ...]

    def table_of(self, relation: Relation) -> int:
        """The ordinal of a relation's table."""
        return next(number for number, access in enumerate(self.tables) if relation in access.relations)


@dataclass(frozen=True)
class Binder:
    """What binds the key columns of lookups in one block; `tables` are narrowed by what its conditions say of them."""

    block: SourceBlock
    equalities: Equalities
    pins: Pins
    tables: Mapping[str, Table]

    def table(self, relation: Relation) -> Table:
        """The table of a relation, narrowed."""
        return self.tables[relation.table.full_name]

    def column(self, relation: Relation, name: str) -> Column:
        """A declared column of a relation by its name."""
        lower = name.lower()
        names = [field.name.lower() for field in relation.table.columns]
        return Column(relation.ordinal, names.index(lower))

    def through(self, relation: Relation, name: str) -> tuple[Column, ...]:
        """Columns of other aliases that are equal to a key column."""
        others = self.equalities.others(self.column(relation, name))
        return tuple(other for other in others if other.alias != relation.ordinal)

    def values(self, relation: Relation, name: str) -> tuple[object, ...] | None:
        """The constants that pin a key column, or None."""
        return self.pins.values.get(self.column(relation, name))

    def seed(self, relation: Relation) -> SeedChoice | None:
        """The best lookup that constants bind: most key columns, then most keys a request, then as declared."""
        best: SeedChoice | None = None
        for method in usable_lookups(self.table(relation)):
            values = [self.values(relation, name) for name in method.keys]
            known = [one for one in values if one is not None]
            if len(known) < len(values) or math.prod(map(len, known)) > MAX_SEED_KEYS:
                continue
            if best is None or _rank(method) > _rank(best.method):
                best = SeedChoice(method, tuple(itertools.product(*known)))
        return best

    def bound(self, relation: Relation, method: LookupMethod, reached: set[int]) -> bool:
        """Whether the aliases reached so far, and single constants, bind a lookup."""
        return all(
            len(self.values(relation, name) or ()) == 1
            or any(other.alias in reached for other in self.through(relation, name))
            for name in method.keys
        )


def usable_scans(table: Table) -> tuple[ScanMethod, ...]:
    """The scans of a table; none where the source demands a key column that no qualifier tells it."""
    return table.scans if _told_enough(table) else ()


def usable_lookups(table: Table) -> tuple[LookupMethod, ...]:
    """The lookups that give the source every key column it demands, those that qualifiers tell it aside."""
    return tuple(method for method in table.lookups if _told_enough(table, method.keys))


def _told_enough(table: Table, keys: Sequence[str] = ()) -> bool:
    told = {name.lower() for name in keys} | {qual.column.lower() for qual in table.quals}
    required = {key.name.lower() for key in table.key_columns if key.require == "required"}
    any_of = {key.name.lower() for key in table.key_columns if key.require == "any_of"}
    return required <= told and (not any_of or bool(told & any_of))


def plan_access(binder: Binder, conjuncts: Sequence[Conjunct]) -> Access:
    """Choose the access methods and check that they reach every alias.

    Raises:
        InfeasibleQuery: a table whose key columns nothing binds.
    """
    relations = binder.block.scope.relations
    names = list(dict.fromkeys(relation.table.full_name for relation in relations))
    groups = [tuple(one for one in relations if one.table.full_name == name) for name in names]
    seeds = [binder.seed(relation) for relation in relations]
    scans: list[tuple[ScanMethod, ...]] = []
    aliases: dict[int, AliasAccess] = {}
    for group in groups:
        seeded = all(seeds[relation.ordinal] is not None for relation in group)
        scans.append(() if seeded else usable_scans(binder.table(group[0])))
        for relation in group:
            seed = None if scans[-1] else seeds[relation.ordinal]
            aliases[relation.ordinal] = AliasAccess(bool(scans[-1]) or seed is not None, seed)
    active = [relation.ordinal for relation in relations if aliases[relation.ordinal].active]
    order = _reach(binder, active)
    if len(order) < len(relations):
        waiting = [one for one in relations if one.ordinal not in order]
        error = _infeasible(binder, waiting, conjuncts)
        error.unreached = tuple(one.ordinal for one in waiting)
        raise error
    joined = {
        relation.ordinal: _joined(binder, relation, active)
        if scans[number] or not aliases[relation.ordinal].seed
        else ()
        for number, group in enumerate(groups)
        for relation in group
    }
    tables = []
    for group, used in zip(groups, scans, strict=True):
        wanted = {method.name for relation in group for method in joined[relation.ordinal]}
        wanted |= {
            seed.method.name for relation in group if (seed := aliases[relation.ordinal].seed) is not None
        }
        table = binder.table(group[0])
        lookups = tuple(method for method in table.lookups if method.name in wanted)
        tables.append(TableAccess(table, group, used, lookups))
    return Access(
        tuple(tables),
        tuple(aliases[relation.ordinal] for relation in relations),
        tuple(joined[relation.ordinal] for relation in relations),
        tuple(order),
    )


def _reach(binder: Binder, start: Sequence[int], without: int | None = None) -> list[int]:
    """The aliases that can be read when `start` can, in the order of getting there; `without` is left out."""
    order = [ordinal for ordinal in start if ordinal != without]
    waiting = [one for one in binder.block.scope.relations if one.ordinal not in (*order, without)]
    while True:
        reached = set(order)
        ready = [
            relation
            for relation in waiting
            if any(
                binder.bound(relation, method, reached) for method in usable_lookups(binder.table(relation))
            )
        ]
        if not ready:
            return order
        order += [relation.ordinal for relation in ready]
        waiting = [relation for relation in waiting if relation not in ready]


def _joined(binder: Binder, relation: Relation, active: Sequence[int]) -> tuple[LookupMethod, ...]:
    """The lookups that other aliases bind, those that need no row of this one to be read themselves."""
    reached = set(_reach(binder, active, without=relation.ordinal))
    return tuple(
        method
        for method in usable_lookups(binder.table(relation))
        if binder.bound(relation, method, reached)
        and any(other.alias in reached for name in method.keys for other in binder.through(relation, name))
    )


def _infeasible(
    binder: Binder, waiting: Sequence[Relation], conjuncts: Sequence[Conjunct]
) -> InfeasibleQuery:
    """Name the table, the key columns nothing binds, and what could bind them."""
    # A call waits for its arguments: what they come from is the cause.
    relation = min(waiting, key=lambda one: (one.called, min(map(len, _unbound(binder, one)), default=0)))
    table, sql = relation.table, binder.block.statement.sql
    options = _unbound(binder, relation)
    demanded = [key for key in binder.table(relation).key_columns if key.require != "optional"]
    if not options and table.scans and any({*key.operators} - {"=", "in"} for key in demanded):
        return _untold(binder, relation)
    if not options:
        reason = (
            "declares no scan"
            if not table.lookups
            else "declares no lookup with every key column it requires"
        )
        return InfeasibleQuery(
            f"{table.full_name} cannot be read: its source {reason}",
            sql=sql,
            span=relation.span,
            hint="add a scan or a lookup to its source spec",
        )
    best = min(options, key=len)
    wanted = " or ".join(dict.fromkeys(_both(names) for names in options))
    return InfeasibleQuery(
        f"{table.full_name} can only be read by key: nothing binds {wanted}",
        sql=sql,
        span=relation.span,
        hint=_hint(binder, relation, best, waiting, conjuncts),
    )


def _untold(binder: Binder, relation: Relation) -> InfeasibleQuery:
    """Its scans are there, but only for requests that say something about some key columns."""
    table = binder.table(relation)
    told = {qual.column.lower() for qual in table.quals}
    keys = [key for key in table.key_columns if key.require != "optional" and key.name.lower() not in told]
    names = [key.name for key in keys if key.require == "required"] or [key.name for key in keys]
    joined = " and " if any(key.require == "required" for key in keys) else " or "
    operators = ", ".join(f"{key.name}: {' '.join(key.operators)}" for key in keys if key.name in names)
    return InfeasibleQuery(
        f"{table.full_name} can only be read with a condition on {joined.join(names)}",
        sql=binder.block.statement.sql,
        span=relation.span,
        hint=f"compare it with a constant in WHERE; operators that its source takes: {operators}",
    )


def _unbound(binder: Binder, relation: Relation) -> list[tuple[str, ...]]:
    """For each lookup, the key columns that neither constants nor reachable aliases bind."""
    reachable = {one.ordinal for one in binder.block.scope.relations if _reachable(binder, one)}
    found = []
    for method in usable_lookups(binder.table(relation)):
        missing = tuple(
            name
            for name in method.keys
            if len(binder.values(relation, name) or ()) != 1
            and not any(other.alias in reachable for other in binder.through(relation, name))
        )
        found.append(missing or method.keys)
    return found


def _reachable(binder: Binder, relation: Relation) -> bool:
    return bool(usable_scans(binder.table(relation))) or binder.seed(relation) is not None


def _hint(
    binder: Binder,
    relation: Relation,
    names: Sequence[str],
    waiting: Sequence[Relation],
    conjuncts: Sequence[Conjunct],
) -> str:
    hints = []
    for name in names:
        column = binder.column(relation, name)
        kind = binder.block.scope.field(column).type
        values = binder.values(relation, name)
        if values is not None and len(values) > 1:
            if len(values) > MAX_SEED_KEYS:
                hints.append(
                    f"{name} has {len(values):,} constants: at most {MAX_SEED_KEYS:,} keys can be asked for"
                )
            else:
                hints.append(
                    f"{name} has {len(values)} constants: beside a key column that is joined it can have only one; "
                    "run the query once for each"
                )
            continue
        hint = _other_type(binder, column, conjuncts) or _circle(binder, relation, name, waiting)
        example = _example(kind)
        hints.append(
            hint
            or f"add WHERE {relation.alias}.{name} = {example} or {relation.alias}.{name} IN ({example}, …), "
            f"or join it with a column of another table ({name}: {kind})"
        )
    return "\n  ".join(dict.fromkeys(hints))


def _other_type(binder: Binder, column: Column, conjuncts: Sequence[Conjunct]) -> str | None:
    """The key column is compared after all, but with something of another type."""
    field = binder.block.scope.field(column)
    for conjunct in conjuncts:
        if conjunct.compared is None or column not in conjunct.compared:
            continue
        other = next((one for one in conjunct.compared if one != column), None)
        if isinstance(other, Constant):
            if field.type == "string" and other.numeric:
                return f"{field.name} is a string: write '{other.value}'"
            return (
                f"{field.name} is of type {field.type}: {conjunct.text} does not compare it with one exactly"
            )
        if isinstance(other, Column):
            kind = binder.block.scope.field(other).type
            return (
                f"{conjunct.text} compares {field.type} with {kind}: keys are looked up only between columns of one "
                "type; declare the same type for both in the source specs"
            )
    return None


def _circle(binder: Binder, relation: Relation, name: str, waiting: Sequence[Relation]) -> str | None:
    """The key column is joined, but only to tables that nothing reaches either."""
    others = [
        other
        for other in binder.through(relation, name)
        if any(other.alias == one.ordinal for one in waiting)
    ]
    if not others:
        return None
    scope = binder.block.scope
    listed = " and ".join(scope.describe(other) for other in others)
    kind = scope.field(binder.column(relation, name)).type
    return (
        f"{relation.alias}.{name} is joined to {listed}, which nothing binds either: "
        f"add a constant for one of them ({name}: {kind})"
    )


def _example(kind: str) -> str:
    if kind == "date":
        return "DATE '…'"
    return (
        "'…'"
        if kind in {"string", "timestamp", "timestamp_ntz"} or kind.startswith(("varchar", "char"))
        else "…"
    )


def _both(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _rank(method: LookupMethod) -> tuple[int, int]:
    return len(method.keys), method.batch_size
