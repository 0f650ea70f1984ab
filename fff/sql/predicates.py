"""Which conjuncts the engine can evaluate exactly as Spark does, and their translation.

Columns in the result are declared columns (see `fff.sql.names`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias, cast

from fff.dataflow.expressions import (
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
from fff.errors import InternalError
from fff.schema import ArrowType, Field, arrow_type
from fff.sql.dialect import Node, Statement, exp, operands
from fff.sql.literals import Constant, NotExactError, comparison_kind, constant_of, convert
from fff.sql.names import Scope, resolve

Operator: TypeAlias = OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]

_OPERATORS: dict[type[Node], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BOOLEAN = arrow_type("boolean")
_STRING = arrow_type("string")
_LONG = arrow_type("bigint")


class LeftToSparkError(Exception):
    """This conjunct is not the engine's; the message says why."""


@dataclass(frozen=True)
class Translator:
    """Turns conditions of one scope into engine expressions."""

    statement: Statement
    scope: Scope
    params: Mapping[str, object]

    def expression(self, node: Node) -> Expr:
        """The engine's form of a condition.

        Raises:
            LeftToSparkError: it has none that is proven equal to Spark's own evaluation.
            QueryError: an unknown or ambiguous name.
        """
        node = node.unnest()
        if isinstance(node, exp.And | exp.Or):
            items = tuple(self.expression(part) for part in operands(node))
            return And(items) if isinstance(node, exp.And) else _either(items)
        if isinstance(node, exp.Not):
            return Not(self.expression(node.this))
        if isinstance(node, exp.NullSafeNEQ):
            return Not(self._compare("<=>", node.this, node.expression))
        if operator := _OPERATORS.get(type(node)):
            return self._compare(operator, node.this, node.expression)
        if isinstance(node, exp.Between):
            if node.args.get("symmetric"):
                raise LeftToSparkError("BETWEEN SYMMETRIC")
            return And(
                (
                    self._compare(">=", node.this, node.args["low"]),
                    self._compare("<=", node.this, node.args["high"]),
                )
            )
        if isinstance(node, exp.In):
            return self._in_list(node)
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.Column):
            column = self._column(node)
            if comparison_kind(self._type(column)) != comparison_kind(_BOOLEAN):
                raise LeftToSparkError("not a Boolean column")
            return column
        constant = constant_of(self.statement, node, self.params)
        if constant is not None and constant.kind in {"boolean", "null"}:
            return Literal(constant.value, _BOOLEAN)
        raise LeftToSparkError(_describe(node))

    def _is(self, node: Node) -> Expr:
        right = node.expression
        if isinstance(right, exp.Null):
            return IsNull(self._column(node.this))
        if isinstance(right, exp.Boolean):
            return self._compare("<=>", node.this, right)
        raise LeftToSparkError("this form of IS")

    def _in_list(self, node: Node) -> Expr:
        column = self._column(node.this)
        items = node.args.get("expressions") or ()
        constants = [constant_of(self.statement, item, self.params) for item in items]
        known = [constant for constant in constants if constant is not None]
        if not items or len(known) < len(constants):
            raise LeftToSparkError("IN with something other than constants")
        if len({constant.kind == "string" for constant in known if constant.kind != "null"}) > 1:
            raise LeftToSparkError("IN with constants of different types")
        kind = self._type(column)
        return InList(column, tuple(self._convert(constant, column) for constant in known), kind)

    def _compare(self, operator: Operator, left: Node, right: Node) -> Expr:
        constants = [constant_of(self.statement, side, self.params) for side in (left, right)]
        if constants[0] is not None and constants[1] is not None:
            return _fold(operator, constants[0], constants[1])
        if constants[0] is not None:
            return self._compare(_MIRRORED.get(operator, operator), right, left)
        column = self._column(left)
        if constants[1] is not None:
            return Compare(operator, column, Literal(self._convert(constants[1], column), self._type(column)))
        other = self._column(right)
        kinds = [comparison_kind(self._type(one)) for one in (column, other)]
        if kinds[0] is None or kinds[0] != kinds[1]:
            names = f"{self._field(column).type} with {self._field(other).type}"
            raise LeftToSparkError(f"compares {names}")
        return Compare(operator, column, other)

    def _convert(self, constant: Constant, column: Column) -> object:
        try:
            return convert(constant, self._type(column))
        except NotExactError:
            what = "a constant of another type" if constant.kind != "null" else "NULL"
            raise LeftToSparkError(f"compares {self._field(column).type} with {what}") from None

    def _column(self, node: Node) -> Column:
        node = node.unnest()
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise LeftToSparkError(_describe(node))
        reference = resolve(self.statement, node, self.scope)
        if reference.has_fields:
            raise LeftToSparkError("reads a field of a struct")
        return reference.column

    def _field(self, column: Column) -> Field:
        return self.scope.field(column)

    def _type(self, column: Column) -> ArrowType:
        return self._field(column).arrow


def constant_truth(expr: Expr) -> bool | None:
    """What an expression without columns says."""
    if columns_of(expr):
        raise InternalError("not a constant condition")
    return cast("bool | None", evaluate(expr, _no_column, 1)[0].as_py())


def map_columns(expr: Expr, change: Callable[[Column], Column]) -> Expr:
    """The expression with every column replaced."""
    match expr:
        case Column():
            return change(expr)
        case Compare(left=left, right=right):
            sides = [change(side) if isinstance(side, Column) else side for side in (left, right)]
            return replace(expr, left=sides[0], right=sides[1])
        case InList(item=item) | IsNull(item=item):
            return replace(expr, item=change(item))
        case Not(item=inner):
            return Not(map_columns(inner, change))
        case And(items=items):
            return And(tuple(map_columns(item, change) for item in items))
        case Or(items=items):
            return Or(tuple(map_columns(item, change) for item in items))
    return expr


def pinned(expr: Expr) -> tuple[Column, tuple[object, ...]] | None:
    """The column that a conjunct holds to a list of constants, and the constants; NULLs match nothing."""
    match expr:
        case Compare(op="=", left=Column() as column, right=Literal(value=value)):
            return column, () if value is None else (value,)
        case InList(item=column, values=values):
            return column, tuple(dict.fromkeys(value for value in values if value is not None))
    return None


def _either(items: Sequence[Expr]) -> Expr:
    """A disjunction; `x = 1 OR x = 2` becomes `x IN (1, 2)`, which means the same and can bind a lookup."""
    values: list[object] = []
    columns: set[Column] = set()
    kinds: list[ArrowType] = []
    for item in items:
        match item:
            case Compare(op="=", left=Column() as column, right=Literal(value=value, type=kind)):
                values.append(value)
            case InList(item=column, values=several, type=kind):
                values += several
            case _:
                return Or(tuple(items))
        columns.add(column)
        kinds.append(kind)
    return InList(columns.pop(), tuple(values), kinds[0]) if len(columns) == 1 else Or(tuple(items))


def _fold(operator: Operator, left: Constant, right: Constant) -> Expr:
    """A comparison of two constants: `1 = 1`, as generated SQL is full of."""
    kinds = {left.kind, right.kind} - {"null"}
    if kinds <= {"integer"}:
        kind = _LONG
    elif kinds == {"string"}:
        kind = _STRING
    elif kinds == {"boolean"}:
        kind = _BOOLEAN
    else:
        raise LeftToSparkError("compares constants")
    truth = evaluate(
        Compare(operator, Column(0, 0), Literal(right.value, kind)), _single(left.value, kind), 1
    )
    return Literal(truth[0].as_py(), _BOOLEAN)


def _single(value: object, kind: ArrowType) -> Callable[[Column], object]:
    column = evaluate(Literal(value, kind), _no_column, 1)
    return lambda _: column


def _no_column(column: Column) -> object:
    raise InternalError(f"{column} in a constant condition")


def _describe(node: Node) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{node.name}(…)"
    for kind, word in (
        (exp.Like, "LIKE"),
        (exp.RegexpLike, "RLIKE"),
        (exp.Case, "CASE"),
        (exp.Cast, "a cast"),
    ):
        if isinstance(node, kind):
            return word
    if isinstance(node, exp.Func):
        return f"{node.sql_name().lower()}(…)"
    if isinstance(node, exp.Binary | exp.Unary):
        return f"{node.key}(…)" if isinstance(node, exp.Predicate) else "arithmetic"
    return "an expression"
