"""An expression with what Spark's analyzer knows of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import (
    Column,
    Expr,
    FunctionCall,
    Lambda,
    Literal,
    columns_of,
    evaluate_rows,
    subexpressions,
)
from fff.errors import InvariantError
from fff.schema import ArrowType
from fff.structs import Struct

#: Texts that are compared without their case (`COLLATE utf8_lcase`). They are texts to Arrow: only the planner tells them
#: apart, and no kernel and no table has values of this type.
ANY_CASE = pa.dictionary(pa.int8(), pa.string())
#: The types of texts of a collation, by its name: also of those that take no account of blanks at the end.
COLLATIONS = {
    "utf8_lcase": ANY_CASE,
    "utf8_lcase_rtrim": pa.dictionary(pa.int16(), pa.string()),
    "utf8_binary_rtrim": pa.dictionary(pa.int32(), pa.string()),
}
COLLATED = {kind: name for name, kind in COLLATIONS.items()}
#: Functions that repeat their first argument, and those whose values are as long as two of their arguments multiply to.
_REPEATING = frozenset({"repeat", "array_repeat"})
_MULTIPLYING = _REPEATING | {"replace", "replace_by_row", "concat_ws", "array_join"}
#: Nested, they make values that are no more times longer than what they are made of: no memory would hold those of a page.
_MOST_GROWN = 10_000


class LeftToSparkError(Exception):
    """This expression is not the engine's; the message says why."""


class Typed(Struct, frozen=True):
    """An engine expression and the Arrow type of its values, which is that of Spark.

    `literal`: a number as it is written, for which Spark finds a narrower decimal type than for other whole numbers.
    `units`: of an interval, the letters of the first and the last unit of Spark's type of it, as in "DS", DAY TO SECOND;
    "" where they are not known.
    """

    expr: Expr
    type: ArrowType
    literal: bool = False
    units: str = ""

    @property
    def may_fail(self) -> bool:
        """Whether Spark can raise an error on some row."""
        return may_fail(self.expr)


def may_fail(expr: Expr) -> bool:
    """Whether Spark can raise an error on some row."""
    return (isinstance(expr, FunctionCall) and expr.fails) or any(map(may_fail, subexpressions(expr)))


def always_fails(expr: Expr) -> str | None:
    """What Spark says of a part without columns that has no value."""
    if isinstance(expr, Lambda):  # which may have no elements
        return None
    if isinstance(expr, FunctionCall) and not columns_of(expr):
        failed = evaluate_rows(expr, _no_column, 1).failed
        return None if failed is None else failed.message
    return next((why for part in subexpressions(expr) if (why := always_fails(part)) is not None), None)


def call(name: str, args: Sequence[Typed], kind: ArrowType, *, fails: bool = False) -> Typed:
    """A call of a kernel; of constants, what it comes to, unless that fails."""
    if kind in COLLATED:
        raise LeftToSparkError("texts of a collation")
    if name == "case" and pa.types.is_list(kind) and kind.value_type == pa.null():
        raise LeftToSparkError("a choice among arrays of NULLs")  # which Arrow does not make
    made = FunctionCall(name, tuple(arg.expr for arg in args), kind, fails)
    if name in _MULTIPLYING and _growth(made) > _MOST_GROWN:
        raise LeftToSparkError(f"{name}(…) of long values")
    return Typed(folded(made, kind), kind)


def _growth(expr: Expr) -> int:
    """How many times longer a value may be than those of the columns that it is made of, where texts and arrays multiply."""
    if isinstance(expr, Literal):
        return _length(expr.value)
    longest, second = 1, 1
    for part in subexpressions(expr):
        longest, second = sorted((longest, second, _growth(part)), reverse=True)[:2]
    if not isinstance(expr, FunctionCall) or expr.name not in _MULTIPLYING:
        return longest
    count = expr.args[1] if expr.name in _REPEATING else None
    often = count.value if isinstance(count, Literal) else second
    return longest * (max(often, 1) if isinstance(often, int) else 1)


def _length(value: object) -> int:
    """How many parts a constant has."""
    if isinstance(value, list):
        return max(len(value) * max((_length(one) for one in value), default=1), 1)
    return max(len(value), 1) if isinstance(value, str | bytes) else 1


def folded(expr: Expr, kind: ArrowType) -> Expr:
    """An expression of constants as the constant it comes to, where it does not fail and Python has such a value."""
    if not all(isinstance(part, Literal) for part in subexpressions(expr)):
        return expr
    evaluated = evaluate_rows(expr, _no_column, 1)
    if evaluated.failed is not None:
        return expr
    try:
        value = evaluated.values[0].as_py()
        in_utc = isinstance(value, dt.datetime) and value.tzinfo is not None
        return Literal(value.replace(tzinfo=dt.UTC) if in_utc else value, kind)
    except (ValueError, OverflowError):  # a date or a moment that Python does not know
        return expr


def _no_column(column: Column) -> object:
    raise InvariantError(f"{column} in a constant expression")
