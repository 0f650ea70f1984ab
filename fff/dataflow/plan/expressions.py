"""Expressions the engine evaluates itself: a small language, and its three-valued evaluation over Arrow columns.

Only what is proven equal to Spark's own evaluation belongs here (design: "Blocks and the upper query"); the planner
leaves everything else to Spark. Both sides of a comparison have the same type, and arguments those that the kernel of
the call is written for: the planner sees to it.

Where Spark raises an error on a row (overflow, division by zero, a cast), the row is undecided: its value is NULL, and
`evaluate_rows` tells it apart. A branch that Spark does not evaluate there (behind a false AND, in a CASE) cannot fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.values import Failures, Partial, Value, column, either, true_rows, valid_rows
from fff.schema import ArrowType
from fff.structs import Struct

Array: TypeAlias = pa.Array
Operator: TypeAlias = OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]


class Column(Struct, frozen=True):
    """A column of an alias: ordinals into the block plan's aliases and that alias's table columns."""

    alias: int
    index: int


class Literal(Struct, frozen=True, dict=True):
    """A constant, as a Python value that `pa.scalar(value, type)` accepts; None is NULL."""

    value: object
    type: ArrowType

    def __hash__(self) -> int:
        """Lists have no hash in Python: arrays of one type share one."""
        return hash((None if pa.types.is_nested(self.type) else self.value, self.type))

    @cached_property
    def scalar(self) -> pa.Scalar:
        """The constant for Arrow."""
        return pa.scalar(self.value, self.type)


class FunctionCall(Struct, frozen=True):
    """A scalar function, operator, cast or CASE of Spark SQL, as the kernel of that name computes it.

    `case` takes conditions and values in turn, then the value for the rest; `coalesce` any number of values. These two
    evaluate an argument only on rows for which it is needed. `fails`: the kernel itself may raise an error on some row.
    """

    name: str
    args: tuple[Expr, ...]
    type: ArrowType
    fails: bool = False


class Compare(Struct, frozen=True):
    """`left op right` with SQL's NULL rules. NaN equals NaN and is above every number; -0.0 equals 0.0, as in Spark."""

    op: Operator
    left: Expr
    right: Expr


class InList(Struct, frozen=True):
    """`item IN (values)`; NULL among the values makes a miss NULL instead of false."""

    item: Expr
    values: tuple[object, ...]
    type: ArrowType


class IsNull(Struct, frozen=True):
    """`item IS NULL`; never NULL itself."""

    item: Expr


class And(Struct, frozen=True):
    """Kleene conjunction."""

    items: tuple[Expr, ...]


class Or(Struct, frozen=True):
    """Kleene disjunction."""

    items: tuple[Expr, ...]


class Not(Struct, frozen=True):
    """Kleene negation."""

    item: Expr


class Lambda(Struct, frozen=True):
    """What a function of higher order does with each element: an argument of its call, and of nothing else.

    `variables` stand in `body` for what the function gives it; their aliases are negative, and no other lambda has them.
    """

    variables: tuple[Column, ...]
    body: Expr


Expr: TypeAlias = Compare | InList | IsNull | And | Or | Not | Column | Literal | FunctionCall | Lambda
Resolve: TypeAlias = Callable[[Column], Array]


class Evaluated(Struct, frozen=True):
    """The value of an expression for each row, and the rows on which Spark raises an error, if any; those are NULL."""

    values: Array
    failed: Failures | None


def subexpressions(expr: Expr) -> tuple[Expr, ...]:
    """The expressions an expression is made of."""
    match expr:
        case Compare(left=left, right=right):
            return (left, right)
        case InList(item=item) | IsNull(item=item) | Not(item=item):
            return (item,)
        case And(items=items) | Or(items=items) | FunctionCall(args=items):
            return items
        case Lambda(body=body):
            return (body,)
    return ()


def columns_of(expr: Expr) -> set[Column]:
    """Every column an expression reads."""
    if isinstance(expr, Column):
        return {expr}
    columns = set().union(*(columns_of(part) for part in subexpressions(expr)))
    return columns - set(expr.variables) if isinstance(expr, Lambda) else columns


def evaluate(expr: Expr, resolve: Resolve, length: int) -> Array:
    """The value of `expr` for each of `length` rows; for a condition its truth, NULL for unknown, and where Spark raises an error."""
    return evaluate_rows(expr, resolve, length).values


def evaluate_rows(expr: Expr, resolve: Resolve, length: int) -> Evaluated:
    """The value of `expr` for each of `length` rows, and on which of them Spark raises an error."""
    result = _value(expr, resolve, length)
    values = column(result.values, length)
    if result.failed is not None:  # what fails may have been judged since, as by IS NULL
        values = pc.if_else(pa.array(result.failed.rows), pa.scalar(None, values.type), values)
    return Evaluated(values, result.failed)


def _value(expr: Expr, resolve: Resolve, length: int) -> Partial:
    match expr:
        case Column():
            return Partial(resolve(expr), None)
        case Literal():
            return Partial(expr.scalar, None)
        case FunctionCall(name="case", args=args):
            return _case(args, resolve, length)
        case FunctionCall(name="coalesce", args=args):
            return _coalesce(args, resolve, length)
        case FunctionCall():
            return _call(expr, resolve, length)
        case Compare(op=op, left=left, right=right):
            sides, failed = _strictly((left, right), resolve, length, strict=op != "<=>")
            return Partial(_compare(op, sides[0], sides[1], length), failed)
        case InList(item=item):
            one = _value(item, resolve, length)
            return Partial(_in_list(expr, column(one.values, length), length), one.failed)
        case IsNull(item=item):
            one = _value(item, resolve, length)
            return Partial(pc.is_null(one.values), one.failed)
        case Not(item=item):
            one = _value(item, resolve, length)
            return Partial(pc.invert(one.values), one.failed)
        case And(items=items):
            return _connected(items, pc.and_kleene, pc.invert, resolve, length)
        case Or(items=items):
            return _connected(items, pc.or_kleene, lambda truth: truth, resolve, length)
        case Lambda():
            return Partial(_Body(expr, resolve), None)


class _Body(Struct, frozen=True):
    """A lambda among rows: called with elements, and the row of each, it gives what comes of each."""

    expr: Lambda
    resolve: Resolve

    def __call__(self, rows: Int64, *elements: Array) -> Partial:
        places = pa.array(rows)
        known = dict(zip(self.expr.variables, elements, strict=True))

        def resolve(column: Column) -> Array:
            return known[column] if column in known else self.resolve(column).take(places)

        body = _value(self.expr.body, resolve, len(rows))
        return Partial(column(body.values, len(rows)), body.failed)


def _connected(
    items: Sequence[Expr],
    connect: Callable[[Value, Value], Value],
    decides: Callable[[Value], Value],
    resolve: Resolve,
    length: int,
) -> Partial:
    """Items joined from left to right; where one decides, what is behind it is not evaluated, and cannot fail."""
    first = _value(items[0], resolve, length)
    result, failed = first.values, first.failed
    for item in items[1:]:
        one = _value(item, resolve, length)
        if one.failed is not None:
            failed = either(failed, one.failed.where(~true_rows(decides(result), length)))
        result = connect(result, one.values)
    return Partial(result, failed)


def _strictly(
    args: Sequence[Expr], resolve: Resolve, length: int, *, strict: bool = True
) -> tuple[list[Value], Failures | None]:
    """The values of arguments. A strict function evaluates none behind one that is NULL."""
    values: list[Value] = []
    failed: Failures | None = None
    for arg in args:
        one = _value(arg, resolve, length)
        newly_failed = one.failed
        for before in values if strict else ():
            newly_failed = None if newly_failed is None else newly_failed.where(valid_rows(before, length))
        failed = either(failed, newly_failed)
        values.append(one.values)
    return values, failed


#: Calls that evaluate their divisor first, and those that evaluate all arguments, whichever is NULL.
_RIGHT_FIRST = frozenset({"divide", "div", "remainder", "pmod", "try_divide", "try_remainder"})
_RIGHT_FIRST |= {"wide_divide", "wide_remainder", "wide_pmod", "try_wide_divide", "try_wide_remainder"}
_EAGER = frozenset({"greatest", "least", "concat", "concat_ws", "array", "map", "struct", "identical"})


def _call(expr: FunctionCall, resolve: Resolve, length: int) -> Partial:
    if expr.name in _RIGHT_FIRST:
        args, failed = _strictly(expr.args[::-1], resolve, length)
        args.reverse()
    else:
        args, failed = _strictly(expr.args, resolve, length, strict=expr.name not in _EAGER)
    if args and not any(isinstance(arg, pa.Array) for arg in args):
        args[0] = column(args[0], length)
    from fff.dataflow.kernels.registry import KERNELS  # noqa: PLC0415 - many modules, which few statements need

    result = KERNELS[expr.name](args, expr.type)
    if isinstance(result, Partial):
        return Partial(result.values, either(failed, result.failed))
    return Partial(result, failed)


def _case(args: Sequence[Expr], resolve: Resolve, length: int) -> Partial:
    conditions, values = args[:-1:2], [*args[1::2], args[-1]]
    left: Bools = np.ones(length, np.bool_)
    truths: list[Value] = []
    branches: list[Value] = []
    failed: Failures | None = None
    for number, value in enumerate(values):
        here = left
        if number < len(conditions):
            one = _value(conditions[number], resolve, length)
            failed = either(failed, None if one.failed is None else one.failed.where(left))
            truth = true_rows(one.values, length)
            here, left = left & truth, left & ~truth
            truths.append(pa.array(truth))
        one = _value(value, resolve, length)
        failed = either(failed, None if one.failed is None else one.failed.where(here))
        branches.append(one.values)
    result = branches.pop()
    for truth, value in zip(reversed(truths), reversed(branches), strict=True):
        result = pc.if_else(truth, value, result)
    return Partial(result, failed)


def _coalesce(args: Sequence[Expr], resolve: Resolve, length: int) -> Partial:
    left: Bools = np.ones(length, np.bool_)
    choices: list[Value] = []
    failed: Failures | None = None
    for arg in args:
        one = _value(arg, resolve, length)
        failed = either(failed, None if one.failed is None else one.failed.where(left))
        left = left & ~valid_rows(one.values, length)
        choices.append(one.values)
    return Partial(pc.coalesce(*choices), failed)


_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compare(op: str, left: Value, right: Value, length: int) -> Value:
    if op == "<=>":
        both = pc.and_(pc.is_null(left), pc.is_null(right))
        same = pc.fill_null(_compare("=", left, right, length), fill_value=False)
        return pc.or_(both, same)
    if pa.types.is_floating(left.type):
        return _compare_floats(op, left, right)
    return _COMPARE[op](left, right)


#: What is not so where a number, or a NaN, is above one that is no NaN.
_BELOW = {">": "<=", ">=": "<"}


def _compare_floats(op: str, left: Value, right: Value) -> Value:
    """IEEE comparison mended to Spark's total order: NaN equals NaN and is above everything else."""
    if isinstance(right, pa.Scalar) and right.is_valid and not math.isnan(right.as_py()):
        below = _BELOW.get(op)
        return _COMPARE[op](left, right) if below is None else pc.invert(_COMPARE[below](left, right))
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


#: Stands for values that are known.
_ITEM = Column(0, 0)


def _in_list(expr: InList, item: Array, length: int) -> Array:
    known = [value for value in expr.values if value is not None]
    if known and pa.types.is_floating(item.type):
        any_of = Or(tuple(Compare("=", _ITEM, Literal(v, expr.type)) for v in known))
        result = evaluate(any_of, lambda _: item, length)
    else:
        member = pc.is_in(item, value_set=pa.array(known, expr.type))
        result = pc.if_else(pc.is_valid(item), member, pa.scalar(None, pa.bool_()))
    if len(known) < len(expr.values):  # a miss against a list with NULL is unknown
        result = pc.if_else(pc.fill_null(result, fill_value=False), result, pa.scalar(None, pa.bool_()))
    return result
