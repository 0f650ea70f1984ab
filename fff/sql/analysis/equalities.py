"""Equality classes by union-find, and what holds for every member of one: constants, and conditions on keys that lookups ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from fff.dataflow.plan.expressions import (
    And,
    Column,
    Compare,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    Or,
    columns_of,
    evaluate,
)
from fff.schema import ArrowType
from fff.sql.analysis.cases import Case, both, cases_of, united
from fff.sql.analysis.conjuncts import Conjunct, links_of
from fff.sql.analysis.predicates import map_columns, pinned
from fff.sql.binder.names import Scope
from fff.sql.binder.spj_block import SourceBlock
from fff.sql.scalars.typed import may_fail
from fff.sql.syntax.literals import fits
from fff.structs import Struct, field, replace


class Equalities(Struct, frozen=True, dict=True):
    """Columns that inner-join equalities hold equal, in classes of one comparison kind each."""

    classes: tuple[tuple[Column, ...], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Column, Column]]) -> Equalities:
        """The transitive closure of the pairs; members stand in the order of the FROM clause."""
        parent: dict[Column, Column] = {}

        def root(column: Column) -> Column:
            parent.setdefault(column, column)
            while parent[column] != column:
                parent[column] = parent[parent[column]]
                column = parent[column]
            return column

        for left, right in pairs:
            parent[root(left)] = root(right)
        groups: dict[Column, list[Column]] = {}
        for column in sorted(parent, key=place):
            groups.setdefault(root(column), []).append(column)
        return cls(tuple(tuple(group) for group in groups.values()))

    def others(self, column: Column) -> tuple[Column, ...]:
        """The columns that are equal to this one."""
        return tuple(one for one in self._class_of.get(column, ()) if one != column)

    @cached_property
    def _class_of(self) -> dict[Column, tuple[Column, ...]]:
        return {column: group for group in self.classes for column in group}


class Pins(Struct, frozen=True):
    """What constants say about columns, directly or through an equality class.

    `values` holds, for each pinned column, every value it may have in a result; an empty tuple means no row qualifies.
    `derived` are the predicates that other members of a class inherit, each with the column it comes from.
    """

    values: Mapping[Column, tuple[object, ...]]
    derived: tuple[tuple[Expr, Column], ...]
    #: The same with every value that bounds leave spelled out, where those are few: for tables that only keys can reach.
    spelled: Mapping[Column, tuple[object, ...]] = field(default_factory=dict)
    #: Values of several columns that go together, one tuple of cases for each conjunct that says such a thing.
    together: tuple[tuple[Case, ...], ...] = ()

    @property
    def contradiction(self) -> Column | None:
        """A column that no value can satisfy: the block has no rows."""
        return next((column for column, values in self.spelled.items() if not values), None)


def pin(conjuncts: Sequence[Expr], equalities: Equalities, scope: Scope) -> Pins:
    """Spread `column = constant` and `column IN (constants)` over the equality classes."""
    values: dict[Column, tuple[object, ...]] = {}
    derived: list[tuple[Expr, Column]] = []
    known = set(conjuncts)
    certain = [one for one in conjuncts if not may_fail(one)]
    together = tuple(cases_of(one) for one in certain if pinned(one) is None)
    listed = [
        InList(column, some, scope.field(column).arrow)
        for cases in together
        for column, some in united(cases).items()
    ]
    for conjunct in (*conjuncts, *listed):
        pin_values = pinned(conjunct)
        if pin_values is None:
            continue
        column, allowed = pin_values
        for member in (column, *equalities.others(column)):
            arrow = scope.field(member).arrow
            fitting = tuple(value for value in allowed if fits(value, arrow))
            known_here = set(fitting)
            values[member] = tuple(value for value in values.get(member, fitting) if value in known_here)
            if member == column or not fitting:
                continue
            inherited = _inherit(conjunct, member, fitting, scope)
            if inherited not in known:
                known.add(inherited)
                derived.append((inherited, column))
    spelled = both(united(cases_of(And(tuple(certain)), spell=True)) if certain else {}, values)
    for held in (values, spelled):
        _leave_passing(held, certain, equalities, scope)
    return Pins(values, tuple(derived), spelled, tuple(cases for cases in together if len(cases) > 1))


def _leave_passing(
    held: dict[Column, tuple[object, ...]], conjuncts: Sequence[Expr], equalities: Equalities, scope: Scope
) -> None:
    """Take from what columns may be the constants that conditions of one column reject: `k IN (1, …, 99) AND k % 50 = 0`."""
    for conjunct in conjuncts:
        column, *more = columns_of(conjunct)
        known = () if more or pinned(conjunct) is not None else held.get(column, ())
        arrow = scope.field(column).arrow
        if not known or pa.types.is_floating(arrow):  # 0.0 and -0.0 are equal, and print differently
            continue
        try:
            rows = {column: pa.array(known, arrow)}
        except (pa.ArrowException, OverflowError):  # a constant that the type has not
            continue
        passes = evaluate(conjunct, rows.__getitem__, len(known)).to_pylist()
        kept = {value for value, passed in zip(known, passes, strict=True) if passed}
        for member in (column, *equalities.others(column)):
            if member in held:
                held[member] = tuple(value for value in held[member] if value in kept)


def handed_on(
    block: SourceBlock, conjuncts: Sequence[Conjunct], equalities: Equalities, sought: Collection[Column]
) -> Iterator[Conjunct]:
    """What conditions on one column that lookups are asked by, of those `sought`, say of the columns that its keys come from.

    What fails them there has no partner, so that its key need not be asked for: of a right side an ON condition says so to
    what ON equates it with, and WHERE of a left join's where no NULL passes it. Constants are spread by `pin`.
    """
    known = {(one.expr, one.on) for one in conjuncts}
    links = links_of(conjuncts)
    for one in conjuncts:
        if one.where != "engine" or one.expr is None or may_fail(one.expr):
            continue
        column, *more = columns_of(one.expr)
        if more or column not in sought:
            continue
        linked = [other for own, other in links.get(column.alias, ()) if own == column]
        if one.on == column.alias:
            others = linked
        elif one.on is not None:
            continue
        elif linked:
            others = [] if _passes_null(one.expr, block.scope.field(column).arrow) else linked
        else:
            others = [] if pinned(one.expr) else list(equalities.others(column))
        for other in others:
            said = _said_of(other, one.expr, column, block.scope)
            if said is not None and (said, one.on) not in known:
                known.add((said, one.on))
                reason = f"follows from {block.scope.describe(column)}"
                text = f"{one.text}, of {block.scope.describe(other)}"
                yield Conjunct(text, "engine", reason, expr=said, on=one.on, derived=True)


def _passes_null(expr: Expr, arrow: ArrowType) -> bool:
    """Whether a condition on one column is true of NULL."""
    return bool(evaluate(expr, lambda _: pa.nulls(1, arrow), 1)[0].as_py())


def _said_of(other: Column, expr: Expr, column: Column, scope: Scope) -> Expr | None:
    """What a condition on one column says of another that equals it; None where it may mean something else there."""
    arrow, kind = scope.field(other).arrow, scope.field(column).arrow
    if arrow == kind and not pa.types.is_floating(kind):  # 0.0 and -0.0 are equal, and print differently
        return map_columns(expr, lambda _: other)
    if isinstance(expr, And):
        known = [said for item in expr.items if (said := _compared(other, item, arrow)) is not None]
        return And(tuple(known)) if known else None
    return _compared(other, expr, arrow)


def _compared(other: Column, expr: Expr, arrow: ArrowType) -> Expr | None:
    """Comparisons with constants, as those of a column of another width; None for anything else."""
    match expr:
        case Compare(left=Column(), right=Literal(value=value)) if fits(value, arrow):
            return replace(expr, left=other, right=Literal(value, arrow))
        case InList(item=Column(), values=values):
            return InList(other, tuple(value for value in values if fits(value, arrow)), arrow)
        case IsNull(item=Column()):
            return IsNull(other)
        case Not(item=item):
            said = _compared(other, item, arrow)
            return None if said is None else Not(said)
        case And(items=items) | Or(items=items):
            parts = [_compared(other, item, arrow) for item in items]
            known = tuple(part for part in parts if part is not None)
            return replace(expr, items=known) if len(known) == len(parts) else None
    return None


def _inherit(conjunct: Expr, member: Column, values: tuple[object, ...], scope: Scope) -> Expr:
    arrow = scope.field(member).arrow
    if isinstance(conjunct, Compare):
        return replace(conjunct, left=member, right=Literal(values[0], arrow))
    return InList(member, values, arrow)


def place(column: Column) -> tuple[int, int]:
    """Where a column stands in the order of the FROM clause."""
    return column.alias, column.index
