"""Predicates the engine evaluates itself: a small language, and its three-valued evaluation over Arrow columns.

Only what is proven equal to Spark's own evaluation belongs here (design: "Blocks and the upper query"); the planner
leaves every other predicate to Spark. Both sides of a comparison have the same type: the planner sees to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType

Array: TypeAlias = pa.Array


@dataclass(frozen=True)
class Column:
    """A column of an alias: ordinals into the block plan's aliases and that alias's table columns."""

    alias: int
    index: int


@dataclass(frozen=True)
class Literal:
    """A constant, as a Python value that `pa.scalar(value, type)` accepts; None is NULL."""

    value: object
    type: ArrowType


@dataclass(frozen=True)
class Compare:
    """`left op right` with SQL's NULL rules. NaN equals NaN and is above every number; -0.0 equals 0.0, as in Spark."""

    op: OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]
    left: Column | Literal
    right: Column | Literal


@dataclass(frozen=True)
class InList:
    """`item IN (values)`; NULL among the values makes a miss NULL instead of false."""

    item: Column
    values: tuple[object, ...]
    type: ArrowType


@dataclass(frozen=True)
class IsNull:
    """`item IS NULL`; never NULL itself."""

    item: Column


@dataclass(frozen=True)
class And:
    """Kleene conjunction."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Or:
    """Kleene disjunction."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Not:
    """Kleene negation."""

    item: Expr


Expr: TypeAlias = Compare | InList | IsNull | And | Or | Not | Column | Literal
Resolve: TypeAlias = Callable[[Column], Array]


def columns_of(expr: Expr) -> set[Column]:
    """Every column an expression reads."""
    match expr:
        case Column():
            return {expr}
        case Literal():
            return set()
        case Compare(left=left, right=right):
            return columns_of(left) | columns_of(right)
        case InList(item=item) | IsNull(item=item) | Not(item=item):
            return columns_of(item)
        case And(items=items) | Or(items=items):
            return set().union(*(columns_of(item) for item in items))


def evaluate(expr: Expr, resolve: Resolve, length: int) -> Array:
    """Truth of `expr` for each of `length` rows: a Boolean array, NULL for unknown."""
    match expr:
        case Column():
            return resolve(expr)
        case Literal(value=value, type=kind):
            return pa.repeat(pa.scalar(value, kind), length)
        case Compare(op=op, left=left, right=right):
            return _compare(op, _operand(left, resolve), _operand(right, resolve), length)
        case InList():
            return _in_list(expr, resolve(expr.item), length)
        case IsNull(item=item):
            return pc.is_null(resolve(item))
        case Not(item=item):
            return pc.invert(evaluate(item, resolve, length))
        case And(items=items):
            result = evaluate(items[0], resolve, length)
            for item in items[1:]:
                result = pc.and_kleene(result, evaluate(item, resolve, length))
            return result
        case Or(items=items):
            result = evaluate(items[0], resolve, length)
            for item in items[1:]:
                result = pc.or_kleene(result, evaluate(item, resolve, length))
            return result


def _operand(side: Column | Literal, resolve: Resolve) -> Array | pa.Scalar:
    return resolve(side) if isinstance(side, Column) else pa.scalar(side.value, side.type)


_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compare(op: str, left: Array | pa.Scalar, right: Array | pa.Scalar, length: int) -> Array:
    if op == "<=>":
        both = pc.and_(pc.is_null(left), pc.is_null(right))
        same = pc.fill_null(_compare("=", left, right, length), fill_value=False)
        return _column(pc.or_(both, same), length)
    if pa.types.is_floating(left.type):
        return _column(_compare_floats(op, left, right), length)
    return _column(_COMPARE[op](left, right), length)


def _compare_floats(op: str, left: Array | pa.Scalar, right: Array | pa.Scalar) -> Array | pa.Scalar:
    """IEEE comparison mended to Spark's total order: NaN equals NaN and is above everything else."""
    plain = _COMPARE[op](left, right)
    nan_left, nan_right = pc.is_nan(left), pc.is_nan(right)
    if op in ("=", "<="):
        plain = pc.or_(plain, pc.and_(nan_left, nan_right))
    if op == ">=":
        plain = pc.or_(plain, nan_left)
    if op == "<=":
        plain = pc.or_(plain, nan_right)
    if op == "<":
        plain = pc.or_(plain, pc.and_(nan_right, pc.invert(nan_left)))
    if op == ">":
        plain = pc.or_(plain, pc.and_(nan_left, pc.invert(nan_right)))
    if op == "<>":
        plain = pc.and_(plain, pc.invert(pc.and_(nan_left, nan_right)))
    return plain


def _in_list(expr: InList, item: Array, length: int) -> Array:
    known = [value for value in expr.values if value is not None]
    if known and pa.types.is_floating(item.type):
        result = evaluate(
            Or(tuple(Compare("=", expr.item, Literal(v, expr.type)) for v in known)), lambda _: item, length
        )
    else:
        found = pc.is_in(item, value_set=pa.array(known, expr.type))
        result = pc.if_else(pc.is_valid(item), found, pa.scalar(None, pa.bool_()))
    if len(known) < len(expr.values):  # a miss against a list with NULL is unknown
        result = pc.if_else(pc.fill_null(result, fill_value=False), result, pa.scalar(None, pa.bool_()))
    return result


def _column(value: Array | pa.Scalar, length: int) -> Array:
    return pa.repeat(value, length) if isinstance(value, pa.Scalar) else value
