"""Equality classes by union-find, and the constants that hold for every member of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, Literal
from fff.sql.analysis.cases import Case, both, cases_of, united
from fff.sql.analysis.predicates import pinned
from fff.sql.binder.names import Scope
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
    spelled = united(cases_of(And(tuple(certain)), spell=True)) if certain else {}
    return Pins(
        values, tuple(derived), both(spelled, values), tuple(cases for cases in together if len(cases) > 1)
    )


def _inherit(conjunct: Expr, member: Column, values: tuple[object, ...], scope: Scope) -> Expr:
    arrow = scope.field(member).arrow
    if isinstance(conjunct, Compare):
        return replace(conjunct, left=member, right=Literal(values[0], arrow))
    return InList(member, values, arrow)


def place(column: Column) -> tuple[int, int]:
    """Where a column stands in the order of the FROM clause."""
    return column.alias, column.index
