"""Equality classes by union-find, and the constants that hold for every member of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fff.dataflow.expressions import Column, Compare, Expr, InList, Literal
from fff.sql.literals import fits
from fff.sql.names import Scope
from fff.sql.predicates import pinned


@dataclass(frozen=True)
class Equalities:
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
        return next(
            (tuple(one for one in group if one != column) for group in self.classes if column in group), ()
        )


@dataclass(frozen=True)
class Pins:
    """What constants say about columns, directly or through an equality class.

    `values` holds, for each pinned column, every value it may have in a result; an empty tuple means no row qualifies.
    `derived` are the predicates that other members of a class inherit, each with the column it comes from.
    """

    values: Mapping[Column, tuple[object, ...]]
    derived: tuple[tuple[Expr, Column], ...]

    @property
    def contradiction(self) -> Column | None:
        """A column that no value can satisfy: the block has no rows."""
        return next((column for column, values in self.values.items() if not values), None)


def pin(conjuncts: Sequence[Expr], equalities: Equalities, scope: Scope) -> Pins:
    """Spread `column = constant` and `column IN (constants)` over the equality classes."""
    values: dict[Column, tuple[object, ...]] = {}
    derived: list[tuple[Expr, Column]] = []
    known = set(conjuncts)
    for conjunct in conjuncts:
        found = pinned(conjunct)
        if found is None:
            continue
        column, allowed = found
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
    return Pins(values, tuple(derived))


def _inherit(conjunct: Expr, member: Column, values: tuple[object, ...], scope: Scope) -> Expr:
    arrow = scope.field(member).arrow
    if isinstance(conjunct, Compare):
        return replace(conjunct, left=member, right=Literal(values[0], arrow))
    return InList(member, values, arrow)


def place(column: Column) -> tuple[int, int]:
    """Where a column stands in the order of the FROM clause."""
    return column.alias, column.index
