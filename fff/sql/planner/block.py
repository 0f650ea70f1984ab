"""Plans one select-project-join block: its conjuncts sorted, its access chosen, its columns cut to those needed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pyarrow as pa

from fff.catalog import LookupMethod, ScanMethod, Table
from fff.dataflow.plan.expressions import Column, Compare, Expr, InList, IsNull, Literal, Not
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    IdentityKind,
    LookupPlan,
    Predicate,
    ScanPlan,
    Seed,
    TablePlan,
)
from fff.dataflow.store.stem import MAX_ALIASES
from fff.errors import UnsupportedSQL
from fff.schema import Field
from fff.sql.analysis.cases import cases_of, united
from fff.sql.analysis.conjuncts import Conjunct, classify, link_of, links_of
from fff.sql.analysis.equalities import Equalities, Pins, handed_on, pin, place
from fff.sql.analysis.predicates import map_columns
from fff.sql.analysis.pushdown import narrowed, says_all
from fff.sql.binder.names import Relation, Scope
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.plan import BlockQuery, Feed, FirstRows, KeyBinding, LookupBinding
from fff.sql.planner.access_paths import Access, AliasAccess, Binder, TableAccess, plan_access, spelled
from fff.sql.syntax.literals import Constant
from fff.sql.syntax.parameters import params as parameters
from fff.structs import Struct, replace

#: A lookup is kept this many times as busy as its host's ceiling of concurrent requests allows.
WINDOW_FACTOR = 2


class BlockParts(Struct, frozen=True):
    """What is known about a block before it is known which columns the rest of the statement needs from it."""

    block: SourceBlock
    conjuncts: tuple[Conjunct, ...]
    binder: Binder
    access: Access

    @classmethod
    def of(
        cls,
        block: SourceBlock,
        conjuncts: tuple[Conjunct, ...] | None = None,
    ) -> BlockParts:
        """Choose how the tables of a block are reached; `conjuncts` are its own, sorted, where they are known.

        Raises:
            QueryError: an unknown or ambiguous name.
            InfeasibleQuery: a table whose key columns nothing binds.
            UnsupportedSQL: too many tables.
        """
        if len(block.scope.relations) > MAX_ALIASES:
            raise UnsupportedSQL(
                f"one SELECT joins at most {MAX_ALIASES} tables, this one {len(block.scope.relations)}"
            )
        conjuncts = classify(block) if conjuncts is None else conjuncts
        equalities = equalities_of(conjuncts)
        pins = _pins(block, conjuncts, equalities)
        tables = narrowed(block, conjuncts, equalities)
        binder = Binder(block, equalities, pins, tables, links_of(conjuncts))
        return cls(block, conjuncts, binder, plan_access(binder, conjuncts))

    @property
    def equalities(self) -> Equalities:
        """The block's equality classes."""
        return self.binder.equalities

    @property
    def pins(self) -> Pins:
        """The block's constants."""
        return self.binder.pins

    @property
    def residual(self) -> tuple[Condition, ...]:
        """The conditions left to Spark."""
        return tuple(
            one.condition for one in self.conjuncts if one.where == "spark" and one.condition is not None
        )

    @property
    def undecided(self) -> tuple[Condition, ...]:
        """The conditions of the engine's that may raise an error on a row: what is above the block has the last word on them."""
        return tuple(one.condition for one in self.conjuncts if one.undecided and one.condition is not None)

    @property
    def empty(self) -> str | None:
        """Why the block cannot have rows, where it cannot."""
        never = next(
            (one for one in self.conjuncts if one.on is None and _is_false(one)),
            None,
        )
        if never is not None:
            return f"{never.text} is never true"
        column = self.pins.contradiction
        return None if column is None else f"no value of {self.block.scope.describe(column)} satisfies WHERE"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user would want to know before paying for it."""
        warnings = []
        for one in self.conjuncts:
            sides = [side for side in one.compared or () if isinstance(side, Column)]
            number = next(
                (side for side in one.compared or () if isinstance(side, Constant) and side.numeric), None
            )
            if number is not None and any(map(self._is_text_key, sides)):
                warnings.append(
                    f"{one.text} compares a string with a number: no lookup is asked for it; "
                    f"{spelled(one, number)}"
                )
            if len(sides) == 2 and sides[0].alias != sides[1].alias:
                kinds = " with ".join(self.block.scope.field(side).type for side in sides)
                warnings.append(
                    f"{one.text} compares {kinds}: no lookup is asked for it while fetching; "
                    "declare one type for both columns"
                )
        return tuple(warnings)

    def _is_text_key(self, column: Column) -> bool:
        """Whether a lookup of its table takes the column, which is of texts."""
        field = self.block.scope.field(column)
        table = self.binder.table(self.block.scope.relations[column.alias])
        keys = {name.lower() for method in table.lookups for name in method.keys}
        return field.type == "string" and field.name.lower() in keys

    def told(self, first: FirstRows | None = None) -> bool:
        """Whether a scan of its only table brings just the rows that fulfil its conditions, those that are wanted first."""
        if len(self.access.tables) != 1 or len(self.access.aliases) != 1 or self.residual:
            return False
        table = self.access.tables[0].table
        last = None  # NULL comes after all that counts
        if first is not None and first.column is not None and first.cut and not first.nulls_first:
            last = Not(IsNull(first.column))
        return all(
            one.where == "engine" and one.expr is not None and (one.expr == last or says_all(table, one.expr))
            for one in self.conjuncts
        )

    def by_scan(self) -> BlockParts:
        """The same with constants said to the only scan of its only table, where it can be told them all: a LIMIT goes along there."""
        tables = self.access.tables
        if not self.conjuncts or not self.told() or len(tables[0].table.usable_scans) != 1:
            return self
        scanned = replace(tables[0], scans=tables[0].table.usable_scans, lookups=())
        access = Access((scanned,), (AliasAccess(active=True, seed=None),), ((),), self.access.order)
        return replace(self, access=access)

    def any_column(self) -> list[Column]:
        """One column to count rows by, when a query needs none: one that is there anyway, else a narrow one."""
        used = [column for one in self.conjuncts if one.expr is not None for column in _columns(one.expr)]
        if used or not self.block.scope.relations:
            return used[:1]
        return [Column(0, _narrowest(self.block.scope.relations[0].table))]

    def block_query(
        self,
        output: Sequence[Column],
        *,
        view: str = "",
        fields: tuple[Field, ...] = (),
        limit: int | None = None,
        first: FirstRows | None = None,
        feeds: tuple[Feed, ...] = (),
        at_hand: frozenset[tuple[str, ...]] = frozenset(),
        hesitant: bool = False,
    ) -> BlockQuery:
        """The plan of the block with these declared columns as its output, renumbered to those the query needs.

        `at_hand` names columns (lower-case parts) that are fetched all the same, where the block has them.
        """
        scope = self.block.scope
        conjuncts = (*self.conjuncts, *self._derived())
        predicates = [
            one
            for one in conjuncts
            if one.where == "engine"
            or (one.on is not None and (_is_false(one) or (one.where == "equality" and not link_of(one))))
        ]
        places = self._places(predicates, [*output, *self._named(at_hand)])
        plan = BlockPlan(
            tables=tuple(self._table(number, places[number]) for number in range(len(places))),
            aliases=tuple(self._alias(ordinal, places) for ordinal in range(len(scope.relations))),
            equalities=tuple(
                EqualityClass(tuple(self._move(member, places) for member in members))
                for members in self.equalities.classes
            ),
            predicates=tuple(self._predicate(one, places) for one in predicates),
            output=tuple(self._move(column, places) for column in output),
            limit=0 if self.empty else limit,
        )
        # All rows of a scan count where there is nothing else to read and no condition: it need not bring more.
        counts = len(plan.aliases) == 1 and not (plan.tables[0].lookups or plan.equalities)
        counts = counts and (not plan.predicates or self.told(first))
        wanted = None if not counts else first.count if first is not None and first.cut else plan.limit
        return BlockQuery(
            plan=plan,
            tables=tuple(
                replace(access.table, rows_wanted=wanted, sort=None if first is None else first.sort)
                for access in self.access.tables
            ),
            conjuncts=self._marked(conjuncts),
            equalities=tuple(
                tuple(scope.describe(member) for member in members) for members in self.equalities.classes
            ),
            bindings=tuple(self._bindings()),
            order=self.access.order,
            empty=self.empty,
            view=view,
            fields=fields,
            feeds=feeds,
            hesitant=hesitant,
            first=first
            if first is None or first.column is None
            else replace(first, column=self._move(first.column, places)),
        )

    def _derived(self) -> list[Conjunct]:
        """Constants that an equality class hands on to its other members, and conditions on what lookups are asked by."""
        scope = self.block.scope
        constants = [
            Conjunct(
                _text(expr, scope),
                "engine",
                f"follows from {scope.describe(origin)}",
                expr=expr,
                derived=True,
            )
            for expr, origin in self.pins.derived
        ]
        binder = self.binder
        sought = {
            binder.column(relation, name)
            for relation in scope.relations
            for method in binder.table(relation).usable_lookups
            for name in method.keys
        }
        every = (*self.conjuncts, *constants)
        return [*constants, *handed_on(self.block, every, self.equalities, sought)]

    def _marked(self, conjuncts: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
        """The conjuncts, those that bind a seed told apart."""
        seeded = set()
        for relation, alias in zip(self.block.scope.relations, self.access.aliases, strict=True):
            if alias.seed is not None:
                seeded |= {self.binder.column(relation, name) for name in alias.seed.method.keys}
        marked = []
        for one in conjuncts:
            decided = one.where == "engine" and one.expr is not None and not one.undecided
            held = united(cases_of(one.expr, spell=True)) if decided and one.expr is not None else {}
            marked.append(replace(one, where="seed lookup") if not seeded.isdisjoint(held) else one)
        return tuple(marked)

    def _places(self, predicates: Sequence[Conjunct], output: Sequence[Column]) -> list[list[int]]:
        """For each table, the declared columns that the query needs, in declared order."""
        scope = self.block.scope
        used = {*output, *(member for members in self.equalities.classes for member in members)}
        used |= {column for links in self.binder.links.values() for link in links for column in link}
        used |= {column for one in predicates if one.expr is not None for column in _columns(one.expr)}
        places = []
        for access in self.access.tables:
            ordinals = {relation.ordinal for relation in access.relations}
            wanted = {column.index for column in used if column.alias in ordinals}
            names = {name.lower() for method in access.lookups for name in method.keys}
            if _identity(access) == "key":
                names |= {name.lower() for name in access.table.primary_key}
            declared = enumerate(scope.relation(min(ordinals)).table.columns)
            wanted |= {index for index, field in declared if field.name.lower() in names}
            places.append(sorted(wanted or {_narrowest(access.table)}))
        return places

    def _named(self, names: frozenset[tuple[str, ...]]) -> list[Column]:
        """The columns that some names, qualified or not, may mean."""
        return [
            Column(relation.ordinal, index)
            for relation in self.block.scope.relations
            for index, field in enumerate(relation.table.columns)
            for name in names
            if field.name.lower() in name
            and (name[0] == field.name.lower() or name[0] in _names_of(relation))
        ]

    def _move(self, column: Column, places: Sequence[Sequence[int]]) -> Column:
        table = self.access.table_of(self.block.scope.relation(column.alias))
        return Column(column.alias, places[table].index(column.index))

    def _table(self, number: int, columns: Sequence[int]) -> TablePlan:
        access = self.access.tables[number]
        table = access.table
        kind = _identity(access)
        return TablePlan(
            name=table.full_name,
            wanted=table.wanted,
            columns=tuple(table.columns[index] for index in columns),
            scans=tuple(
                ScanPlan(method.name, self.access.limiter(table, method), _price(method))
                for method in access.scans
            ),
            lookups=tuple(
                LookupPlan(
                    method.name,
                    _indices(table, method.keys, columns),
                    method.batch_size,
                    WINDOW_FACTOR * table.max_in_flight,
                    self.access.limiter(table, method),
                    table.max_in_flight,
                    _price(method),
                )
                for method in access.lookups
            ),
            identity=kind,
            key=_indices(table, table.primary_key, columns) if kind == "key" else (),
        )

    def _alias(self, ordinal: int, places: Sequence[Sequence[int]]) -> AliasPlan:
        relation = self.block.scope.relation(ordinal)
        chosen = self.access.aliases[ordinal]
        number = self.access.table_of(relation)
        seeds: tuple[Seed, ...] = ()
        if chosen.seed is not None:
            method = next(
                index
                for index, method in zip(count(), self.access.tables[number].lookups, strict=False)
                if method.name == chosen.seed.method.name
            )
            seeds = (Seed(method, chosen.seed.keys),)
        constants = tuple(
            (places[number].index(column.index), values[0])
            for column, values in sorted(self.binder.known(relation).items(), key=lambda item: place(item[0]))
            if column.alias == ordinal and len(values) == 1
        )
        links = tuple(
            (self._move(own, places).index, self._move(other, places))
            for own, other in self.binder.links.get(ordinal, ())
        )
        kind = self.block.right.get(ordinal, "inner")
        return AliasPlan(relation.alias, number, chosen.active, seeds, constants, kind, links)

    def _predicate(self, conjunct: Conjunct, places: Sequence[Sequence[int]]) -> Predicate:
        assert conjunct.expr is not None
        expr = map_columns(conjunct.expr, lambda column: self._move(column, places))
        return Predicate(expr, conjunct.text, on=conjunct.on)

    def _bindings(self) -> list[LookupBinding]:
        binder = self.binder
        bindings = []
        for access in self.access.tables:
            for relation in access.relations:
                seed = self.access.aliases[relation.ordinal].seed
                for method in access.lookups:
                    seeded = seed is not None and seed.method.name == method.name
                    if not seeded and method not in self.access.joined[relation.ordinal]:
                        continue
                    keys = tuple(
                        KeyBinding(
                            name,
                            binder.values(relation, name),
                            tuple(self.block.scope.describe(one) for one in binder.through(relation, name)),
                        )
                        for name in method.keys
                    )
                    asked = len(seed.keys) if seeded and seed is not None else None
                    bindings.append(LookupBinding(relation.ordinal, method.name, keys, asked))
        return bindings


def equalities_of(conjuncts: Sequence[Conjunct]) -> Equalities:
    """The equality classes of a block."""
    return Equalities.of(
        (one.expr.left, one.expr.right)
        for one in conjuncts
        if one.where == "equality" and one.on is None and isinstance(one.expr, Compare)
        if isinstance(one.expr.left, Column) and isinstance(one.expr.right, Column)
    )


def _pins(block: SourceBlock, conjuncts: Sequence[Conjunct], equalities: Equalities) -> Pins:
    """What constants say of columns: of those of a right side, what its own ON condition says, where that is one value."""

    def engine(on: int | None) -> list[Expr]:
        return [
            one.expr for one in conjuncts if one.where == "engine" and one.on == on and one.expr is not None
        ]

    pins = pin(engine(None), equalities, block.scope)
    single: dict[Column, tuple[object, ...]] = {}
    for right in block.right:
        own = pin(engine(right), Equalities(()), block.scope).values
        single |= {
            column: known for column, known in own.items() if column.alias == right and len(known) == 1
        }
    spelled = {**pins.spelled, **single}
    if any(one.on is None and _is_false(one) for one in conjuncts):  # no value of any column does
        relations = block.scope.relations
        spelled |= {Column(one.ordinal, at): () for one in relations for at in range(len(one.table.columns))}
    return replace(pins, values={**pins.values, **single}, spelled=spelled)


def _is_false(conjunct: Conjunct) -> bool:
    return conjunct.where == "constant" and conjunct.reason == "never true"


def _price(method: ScanMethod | LookupMethod) -> float:
    return 0.0 if method.price is None else float(method.price.amount)


def _identity(access: TableAccess) -> IdentityKind:
    """Without a key one access method delivers every row once, a lookup because its keys are asked for once each."""
    if access.table.primary_key:
        return "key"
    return "position" if len(access.scans) + len(access.lookups) <= 1 else "value"


def _names_of(relation: Relation) -> set[str]:
    return {relation.alias.lower(), relation.table.name.lower(), relation.table.source.lower()}


def _indices(table: Table, names: Sequence[str], columns: Sequence[int]) -> tuple[int, ...]:
    declared = [field.name.lower() for field in table.columns]
    return tuple(columns.index(declared.index(name.lower())) for name in names)


def _narrowest(table: Table) -> int:
    """The column that costs least to carry."""
    return min(range(len(table.columns)), key=lambda index: (_width(table.columns[index]), index))


def _width(field: Field) -> int:
    return field.arrow.bit_width if pa.types.is_primitive(field.arrow) else 1024


def _columns(expr: Expr) -> list[Column]:
    columns: list[Column] = []

    def note(column: Column) -> Column:
        columns.append(column)
        return column

    map_columns(expr, note)
    return columns


def _text(expr: Expr, scope: Scope) -> str:
    """A derived predicate as SQL, long lists cut."""
    match expr:
        case Compare(op=op, left=Column() as column, right=Literal(value=value)):
            return f"{scope.describe(column)} {op} {_literal(value)}"
        case InList(item=Column() as column, values=values):
            listed = ", ".join(_literal(value) for value in values[:5]) + (", …" if len(values) > 5 else "")
            return f"{scope.describe(column)} IN ({listed})"
    return str(expr)


def _literal(value: object) -> str:
    return parameters.render("", value)
