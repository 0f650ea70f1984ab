"""Spark's functions of higher order: what a lambda makes of the elements of arrays and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from fff.dataflow.plan.expressions import Column, Expr, FunctionCall, Lambda
from fff.schema import ArrowType
from fff.sql.scalars.coercion import BOOLEAN, INT, VOID, cast, type_name, wider
from fff.sql.scalars.collections.functions import array_of, check_compared, map_of
from fff.sql.scalars.typed import LeftToSparkError, Typed
from fff.sql.syntax.statement import Node, exp


class Among(Protocol):
    """What turns nodes into expressions where some names stand for variables of lambdas."""

    @property
    def variables(self) -> Mapping[str, Typed]:
        """The variables of the lambdas around, by their names in small letters."""

    def among(self, variables: Mapping[str, Typed]) -> Among:
        """The same inside one lambda more."""

    def value(self, node: Node) -> Typed:
        """The engine's form of an expression."""

    def expression(self, node: Node) -> Expr:
        """The engine's form of a condition."""


_NODES: dict[type[Node], tuple[str, tuple[str, ...]]] = {
    exp.Transform: ("transform", ("this", "expression")),
    exp.ArrayFilter: ("filter", ("this", "expression")),
    exp.Exists: ("exists", ("this", "expression")),
    exp.Reduce: ("aggregate", ("this", "initial", "merge", "finish")),
}
_NAMES = frozenset(
    {
        "forall",
        "aggregate",
        "reduce",
        "zip_with",
        "map_filter",
        "transform_keys",
        "transform_values",
        "map_zip_with",
    }
)


def arguments(node: Node) -> tuple[str, list[Node]] | None:
    """The name and the arguments of a function of higher order."""
    if isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES:
        return node.name.lower(), node.expressions
    shape = _NODES.get(type(node))
    if shape is None or not isinstance(node.args.get("this"), exp.Expression):
        return None
    operands = [node.args.get(part) for part in shape[1]]
    return shape[0], [one for one in operands if one is not None]


def applied(name: str, nodes: Sequence[Node], at: Among) -> Typed:
    """A function of higher order. Raises LeftToSparkError where it is not proven for these types."""
    maker = _Maker(at)
    if name in {"aggregate", "reduce"} and len(nodes) in {3, 4}:
        return maker.aggregate(nodes)
    if name in {"zip_with", "map_zip_with"} and len(nodes) == 3:
        return maker.zip_with(nodes) if name == "zip_with" else maker.map_zip_with(nodes)
    if name in {"transform", "filter", "exists", "forall"} and len(nodes) == 2:
        return maker.of_array(name, nodes)
    if len(nodes) == 2:
        return maker.of_map(name, nodes)
    raise LeftToSparkError(f"{name}(…)")


class _Maker:
    def __init__(self, at: Among) -> None:
        self._at = at
        taken = [one.expr.alias for one in at.variables.values() if isinstance(one.expr, Column)]
        self._alias = min([0, *taken]) - 1

    def _inside(self, node: Node, kinds: Sequence[ArrowType]) -> tuple[tuple[Column, ...], Among, Node]:
        """The variables of a lambda, what reads its body, and that body."""
        if not isinstance(node, exp.Lambda) or len(node.expressions) > len(kinds):
            raise LeftToSparkError("a function of higher order without such a lambda")
        names = [one.name.lower() for one in node.expressions]
        if len(set(names)) < len(names):
            raise LeftToSparkError("a lambda with a name twice")
        columns = tuple(Column(self._alias, place) for place in range(len(names)))
        own = {name: Typed(column, kind) for name, column, kind in zip(names, columns, kinds, strict=False)}
        return columns, self._at.among({**self._at.variables, **own}), node.this

    def _lambda(self, node: Node, kinds: Sequence[ArrowType], *, count: int = 0) -> tuple[Lambda, ArrowType]:
        """A lambda of as many variables as it has to have, and the type of what it gives."""
        columns, inside, body = self._inside(node, kinds)
        if len(columns) != (count or len(kinds)):
            raise LeftToSparkError("a lambda of so many variables")
        result = inside.value(body)
        return Lambda(columns, result.expr), result.type

    def _condition(self, node: Node, kinds: Sequence[ArrowType]) -> Lambda:
        columns, inside, body = self._inside(node, kinds)
        if len(columns) != len(kinds):
            raise LeftToSparkError("a lambda of so many variables")
        return Lambda(columns, inside.expression(body))

    def of_array(self, name: str, nodes: Sequence[Node]) -> Typed:
        """`transform`, `filter`, `exists` or `forall`."""
        whole = self._at.value(nodes[0])
        kind = array_of(name, whole)
        indexed = isinstance(nodes[1], exp.Lambda) and len(nodes[1].expressions) == 2
        kinds = [kind, INT] if indexed and name in {"transform", "filter"} else [kind]
        called = f"{name}_indexed" if len(kinds) == 2 else name
        if name == "transform":
            if isinstance(nodes[1], exp.Lambda):
                body, gives = self._lambda(nodes[1], kinds)
            else:
                value = self._at.value(nodes[1])
                body, gives = Lambda((Column(self._alias, 0),), value.expr), value.type
            return _call(called, [whole.expr, body], pa.list_(gives))
        condition = self._condition(nodes[1], kinds)
        return _call(called, [whole.expr, condition], whole.type if name == "filter" else BOOLEAN)

    def aggregate(self, nodes: Sequence[Node]) -> Typed:
        """`aggregate(array, start, merge, finish)`."""
        whole, start = self._at.value(nodes[0]), self._at.value(nodes[1])
        kind = array_of("aggregate", whole)
        merge, merged = self._lambda(nodes[2], [start.type, kind])
        if merged != start.type or VOID in (kind, merged) or start.may_fail:
            raise LeftToSparkError(f"aggregate(…) from {type_name(start.type)} to {type_name(merged)}")
        if len(nodes) == 4:
            finish, gives = self._lambda(nodes[3], [start.type])
        else:
            variable = Column(self._alias, 0)
            finish, gives = Lambda((variable,), variable), start.type
        return _call("aggregate", [whole.expr, start.expr, merge, finish], gives)

    def zip_with(self, nodes: Sequence[Node]) -> Typed:
        """`zip_with(array, array, lambda)`."""
        left, right = self._at.value(nodes[0]), self._at.value(nodes[1])
        body, gives = self._lambda(nodes[2], [array_of("zip_with", left), array_of("zip_with", right)])
        return _call("zip_with", [left.expr, right.expr, body], pa.list_(gives))

    def of_map(self, name: str, nodes: Sequence[Node]) -> Typed:
        """`map_filter`, `transform_keys` or `transform_values`."""
        whole = self._at.value(nodes[0])
        key, value = map_of(name, whole)
        if name == "map_filter":
            return _call(name, [whole.expr, self._condition(nodes[1], [key, value])], whole.type)
        body, gives = self._lambda(nodes[1], [key, value])
        if name == "transform_values":
            return _call(name, [whole.expr, body], pa.map_(key, gives))
        check_compared(name, gives)
        if gives == VOID:
            raise LeftToSparkError("transform_keys(…) to NULL")
        return _call(name, [whole.expr, body], pa.map_(gives, value), fails=True)

    def map_zip_with(self, nodes: Sequence[Node]) -> Typed:
        """`map_zip_with(map, map, lambda)`."""
        sides = [self._at.value(nodes[0]), self._at.value(nodes[1])]
        (one, first), (other, second) = (map_of("map_zip_with", side) for side in sides)
        key = wider(one, other)
        check_compared("map_zip_with", key)
        if pa.types.is_string(one) != pa.types.is_string(other):
            raise LeftToSparkError("map_zip_with(…) of texts and others")
        maps = [cast(side, pa.map_(key, kind)) for side, kind in zip(sides, (first, second), strict=True)]
        body, gives = self._lambda(nodes[2], [key, first, second])
        return _call("map_zip_with", [*(one.expr for one in maps), body], pa.map_(key, gives))


def _call(name: str, args: Sequence[Expr], kind: ArrowType, *, fails: bool = False) -> Typed:
    return Typed(FunctionCall(name, tuple(args), kind, fails), kind)
