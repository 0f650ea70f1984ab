"""How each table is reached: scans, lookups bound by constants, lookups bound through joins; and whether that is enough.

Feasibility is the Nail algorithm (S4 section 2.2): start from what constants and scans reach, and add any table one of
whose lookups has every key column bound by what is there already.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fff.catalog import LookupMethod, ScanMethod, Table
from fff.dataflow.plan.expressions import Column
from fff.errors import InfeasibleQuery
from fff.sql.analysis.cases import MAX_SPELLED, bounded
from fff.sql.analysis.conjuncts import Conjunct, not_read, speaking_of
from fff.sql.analysis.equalities import Equalities, Pins
from fff.sql.binder.names import Relation
from fff.sql.binder.spj_block import SourceBlock
from fff.sql.scalars.typed import always_fails
from fff.sql.syntax.literals import Constant
from fff.structs import Struct, field

#: Keys that constants may ask one lookup for (a cross product, where IN lists pin several key columns).
MAX_SEED_KEYS = 10_000

#: Requests for constants beyond which a scan of the table may take fewer.
FEW_REQUESTS = 5


class SeedChoice(Struct, frozen=True):
    """A lookup whose every key column constants pin, and the keys to ask for."""

    method: LookupMethod
    keys: tuple[tuple[object, ...], ...]


class AliasAccess(Struct, frozen=True):
    """How the rows of one FROM-clause instance are reached."""

    active: bool
    seed: SeedChoice | None


class TableAccess(Struct, frozen=True):
    """The access methods of one base table that the query uses, and the aliases that share them."""

    table: Table
    relations: tuple[Relation, ...]
    scans: tuple[ScanMethod, ...]
    lookups: tuple[LookupMethod, ...]


class Access(Struct, frozen=True):
    """Every table's access, and the order in which the feasibility check reached the aliases."""

    tables: tuple[TableAccess, ...]
    aliases: tuple[AliasAccess, ...]
    joined: tuple[tuple[LookupMethod, ...], ...]  # by alias: the lookups that other aliases bind
    order: tuple[int, ...]

    def table_of(self, relation: Relation) -> int:
        """The ordinal of a relation's table."""
        return next(number for number, access in enumerate(self.tables) if relation in access.relations)

    def limiter(self, table: Table, method: ScanMethod | LookupMethod) -> int:
        """The ordinal of what holds a method's requests back: the same for methods that share it."""
        names = [one.limiter or access.table.source for access in self.tables for one in access.lookups]
        names += [one.limiter or access.table.source for access in self.tables for one in access.scans]
        return names.index(method.limiter or table.source)


class Binder(Struct, frozen=True, dict=True):
    """What binds the key columns of lookups in one block; `tables` are narrowed by what its conditions say of them."""

    block: SourceBlock
    equalities: Equalities
    pins: Pins
    tables: Mapping[str, Table]
    links: Mapping[int, Sequence[tuple[Column, Column]]] = field(default_factory=dict)  # of right sides

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
        column = self.column(relation, name)
        others = self.equalities.others(column)
        for own, other in self.links.get(relation.ordinal, ()):
            others += (other, *self.equalities.others(other)) if own == column else ()
        return tuple(other for other in others if other.alias != relation.ordinal)

    def values(self, relation: Relation, name: str) -> tuple[object, ...] | None:
        """The constants that pin a key column, or None."""
        return self.known(relation).get(self.column(relation, name))

    def known(self, relation: Relation) -> Mapping[Column, tuple[object, ...]]:
        """What constants say of columns; of a table that only keys reach, with those between two bounds."""
        return self.pins.values if self.table(relation).usable_scans else self.pins.spelled

    def seed(self, relation: Relation) -> SeedChoice | None:
        """The best lookup that constants bind: most key columns, then most keys a request, then as declared."""
        best: SeedChoice | None = None
        if relation.ordinal in self.block.right:
            return best
        for method in self.table(relation).usable_lookups:
            values = [self.values(relation, name) for name in method.keys]
            known = [one for one in values if one is not None]
            if len(known) < len(values):
                continue
            keys = self._keys(tuple(self.column(relation, name) for name in method.keys), known)
            if keys is not None and (best is None or _rank(method) > _rank(best.method)):
                best = SeedChoice(method, keys)
        return best

    def brought(self, relation: Relation, seed: SeedChoice, read: set[int]) -> bool:
        """Whether these aliases have every key of a seed that may be in a result, in columns of which it is said as well."""
        several = [name for name in seed.method.keys if len(self.values(relation, name) or ()) != 1]
        scope = self.block.scope
        return all(
            any(
                one.alias in read and scope.field(one).type == scope.field(key).type
                for one in self.through(relation, name)
            )
            for name, key in ((name, self.column(relation, name)) for name in several)
        )

    def _keys(
        self, columns: Sequence[Column], known: Sequence[tuple[object, ...]]
    ) -> tuple[tuple[object, ...], ...] | None:
        """Every combination of what the columns of a key may be, those apart that conditions rule out; None if too many."""
        allowed = [set(values) for values in known]
        best = math.prod(map(len, known))
        rows: Iterable[tuple[object, ...]] = itertools.product(*known)
        for cases in self.pins.together:
            parts = [
                [
                    [value for value in case.get(column, values) if value in few]
                    for column, values, few in zip(columns, known, allowed, strict=True)
                ]
                for case in cases
            ]
            count = sum(math.prod(map(len, part)) for part in parts)
            if count < best:
                best, rows = count, (row for part in parts for row in itertools.product(*part))
        return None if best > MAX_SEED_KEYS else tuple(dict.fromkeys(rows))

    @cached_property
    def ways(self) -> Mapping[int, tuple[Way, ...]]:
        """By alias: its usable lookups."""
        return {
            relation.ordinal: tuple(
                Way(
                    method,
                    tuple(
                        frozenset(other.alias for other in self.through(relation, name))
                        for name in method.keys
                        if len(self.values(relation, name) or ()) != 1
                    ),
                    frozenset(other.alias for name in method.keys for other in self.through(relation, name)),
                )
                for method in self.table(relation).usable_lookups
            )
            for relation in self.block.scope.relations
        }

    @cached_property
    def bound_by(self) -> Mapping[int, set[int]]:
        """By alias: those of whose lookups it binds a key column."""
        binders: dict[int, set[int]] = {}
        for alias, ways in self.ways.items():
            for binder in {binder for way in ways for binder in way.binders}:
                binders.setdefault(binder, set()).add(alias)
        return binders


class Way(Struct, frozen=True):
    """A lookup of an alias: for each key column that no single constant pins, the aliases that bind it; and all that do."""

    method: LookupMethod
    needs: tuple[frozenset[int], ...]
    binders: frozenset[int]

    def bound(self, reached: set[int]) -> bool:
        """Whether the aliases reached so far, and single constants, bind the lookup."""
        return not any(aliases.isdisjoint(reached) for aliases in self.needs)


def _requests_for(seeds: Iterable[SeedChoice | None]) -> int:
    """How many requests the constants of some aliases take."""
    keys: dict[tuple[str, int], set[tuple[object, ...]]] = {}
    for seed in seeds:
        if seed is not None:
            keys.setdefault((seed.method.name, seed.method.batch_size), set()).update(seed.keys)
    return sum(math.ceil(len(some) / size) for (_, size), some in keys.items())


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
        few = seeded and _requests_for(seeds[relation.ordinal] for relation in group) <= FEW_REQUESTS
        scans.append(() if few else binder.table(group[0]).usable_scans)
        for relation in group:
            seed = seeds[relation.ordinal] if seeded or not scans[-1] else None
            aliases[relation.ordinal] = AliasAccess(bool(scans[-1]) or seed is not None, seed)
    aliases |= dict.fromkeys(_patient(binder, aliases), AliasAccess(active=False, seed=None))
    active = [relation.ordinal for relation in relations if aliases[relation.ordinal].active]
    order = _reach(binder, active)
    if len(order) < len(relations):
        waiting = [one for one in relations if one.ordinal not in order]
        error = _infeasible(binder, waiting, conjuncts)
        error.unreached = tuple(one.ordinal for one in waiting)
        raise error
    joined = _all_joined(binder, aliases)
    tables = []
    for group, used in zip(groups, scans, strict=True):
        wanted = {method.name for relation in group for method in joined[relation.ordinal]}
        pinned = [set(seed.method.keys) for one in group if (seed := aliases[one.ordinal].seed) is not None]
        # Who takes the same keys stands in where the chosen one cannot answer.
        wanted |= {one.name for one in binder.table(group[0]).usable_lookups if set(one.keys) in pinned}
        table = binder.table(group[0])
        lookups = tuple(method for method in table.lookups if method.name in wanted)
        tables.append(TableAccess(table, group, used, lookups))
    return Access(
        tuple(tables),
        tuple(aliases[relation.ordinal] for relation in relations),
        tuple(joined[relation.ordinal] for relation in relations),
        tuple(order),
    )


def _patient(binder: Binder, aliases: Mapping[int, AliasAccess]) -> set[int]:
    """Those whose constants, which are many, are asked for only as far as rows have them that are read in any case."""
    many = [
        (relation, seed)
        for relation in binder.block.scope.relations
        if (seed := aliases[relation.ordinal].seed) is not None
        and _requests_for([seed]) > FEW_REQUESTS
        and not binder.table(relation).usable_scans
    ]
    joined = _all_joined(binder, aliases) if many else {}
    read = {one for one, lookups in joined.items() if aliases[one].active and not lookups}
    read -= {relation.ordinal for relation, _ in many} | binder.block.right.keys()
    return {relation.ordinal for relation, seed in many if binder.brought(relation, seed, read)}


def _all_joined(binder: Binder, aliases: Mapping[int, AliasAccess]) -> dict[int, tuple[LookupMethod, ...]]:
    """By alias: the lookups that others bind, where no constants bring its rows."""
    active = [ordinal for ordinal, access in sorted(aliases.items()) if access.active]
    return {
        relation.ordinal: () if aliases[relation.ordinal].seed else _joined(binder, relation, active)
        for relation in binder.block.scope.relations
    }


def _reach(binder: Binder, start: Sequence[int], without: int | None = None) -> list[int]:
    """The aliases that can be read when `start` can, in the order of getting there; `without` is left out."""
    order = [ordinal for ordinal in start if ordinal != without]
    reached = set(order)
    waiting = binder.ways.keys() - {*order, without}
    ready = sorted(alias for alias in waiting if any(way.bound(reached) for way in binder.ways[alias]))
    while ready:
        order += ready
        reached.update(ready)
        waiting -= reached
        # Only what one of these binds can have become ready by them.
        beside = {alias for one in ready for alias in binder.bound_by.get(one, ()) if alias in waiting}
        ready = sorted(alias for alias in beside if any(way.bound(reached) for way in binder.ways[alias]))
    return order


def _joined(binder: Binder, relation: Relation, active: Sequence[int]) -> tuple[LookupMethod, ...]:
    """The lookups that other aliases bind, those that need no row of this one to be read themselves."""
    ways = binder.ways[relation.ordinal]
    reached = set(_reach(binder, active, without=relation.ordinal)) if ways else set()
    right = relation.ordinal in binder.block.right  # no seed: constants bind it as anything else does
    return tuple(
        way.method for way in ways if way.bound(reached) and (right or not way.binders.isdisjoint(reached))
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
        lacking = "lookup with every key column it requires" if table.lookups else "scan"
        return InfeasibleQuery(
            f"{table.full_name} cannot be read: its source declares no {lacking}",
            sql=sql,
            span=relation.span,
            hint="add a scan or a lookup to its source spec",
        )
    best = min(options, key=len)
    wanted = " or ".join(dict.fromkeys(_both(names) for names in options))
    speaking = list(speaking_of(binder.block, {binder.column(relation, name) for name in best}, conjuncts))
    for conjunct in speaking:
        plain = len(conjunct.compared or ()) > 1
        failure = None if plain or conjunct.expr is None else always_fails(conjunct.expr)
        if failure is not None:
            hint = f"so nothing binds {wanted} of {table.full_name}"
            return InfeasibleQuery(failure, sql=sql, span=conjunct.span, hint=hint)
    unread = (not_read(binder.block, conjunct) for conjunct in speaking)
    return InfeasibleQuery(
        f"{table.full_name} can only be read by key: nothing binds {wanted}",
        sql=sql,
        span=next(filter(None, unread), relation.span),
        hint=_hint(binder, relation, best, waiting, conjuncts),
    )


def _untold(binder: Binder, relation: Relation) -> InfeasibleQuery:
    """Its scans are there, but only for requests that say something about some key columns."""
    table = binder.table(relation)
    sent = {qual.column.lower() for qual in table.quals}
    keys = [key for key in table.key_columns if key.require != "optional" and key.name.lower() not in sent]
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
    reachable = {
        one.ordinal
        for one in binder.block.scope.relations
        if binder.table(one).usable_scans or binder.seed(one) is not None
    }
    unbound = []
    for method in binder.table(relation).usable_lookups:
        missing = tuple(
            name
            for name in method.keys
            if len(binder.values(relation, name) or ()) != 1
            and not any(other.alias in reachable for other in binder.through(relation, name))
        )
        unbound.append(missing or method.keys)
    return unbound


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
        hint = (
            _other_type(binder, column, conjuncts)
            or _circle(binder, relation, name, waiting)
            or _not_plain(binder.block, name, column, conjuncts)
        )
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
                return f"{field.name} is a string: {spelled(conjunct, other)}"
            return (
                f"{field.name} is of type {field.type}: {conjunct.text} does not compare it with one exactly"
            )
        if isinstance(other, Column):
            kind = binder.block.scope.field(other).type
            if kind == field.type:  # one of several, so that it says nothing of the key's value
                continue
            return (
                f"{conjunct.text} compares {field.type} with {kind}: keys are looked up only between columns of one "
                "type; declare the same type for both in the source specs"
            )
    return None


def spelled(conjunct: Conjunct, number: Constant) -> str:
    """How a number is written in a conjunct to be the text that a column of strings has."""
    parameter = re.search(r":(\w+)", conjunct.text)
    given = f", or give -p {parameter[1]}:string={number.value}" if parameter else ""
    written = re.search(rf"\b0*{re.escape(str(number.value))}\b", conjunct.text)  # a text keeps its zeros
    return f"write '{written[0] if written else number.value}'{given}"


def _not_plain(block: SourceBlock, name: str, column: Column, conjuncts: Sequence[Conjunct]) -> str | None:
    """A condition speaks of the key column, but not of which values it has."""
    every = [
        one.expr for one in conjuncts if one.where == "engine" and one.on is None and one.expr is not None
    ]
    low, high = bounded(every).get(column, (0, 0))
    if high - low >= MAX_SPELLED:
        return (
            f"{high - low + 1:,} values of {name} are between its bounds: "
            f"up to {MAX_SPELLED:,} are asked for one by one"
        )
    for one in speaking_of(block, {column}, conjuncts):
        why = f" (left to Spark: {one.reason})" if one.where == "spark" and one.reason else ""
        return (
            f"{one.text} does not say which values {name} has{why}: have {name} alone on one side of =, "
            "and on the other one a constant or what another table's columns give"
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
