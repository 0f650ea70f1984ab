"""Functions of numbers that have rules of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Literal
from fff.schema import MOST_DIGITS
from fff.sql.scalars.coercion import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    VOID,
    cast,
    is_decimal,
    is_integer,
    is_number,
    type_name,
)
from fff.sql.scalars.typed import LeftToSparkError, Typed, call

#: Functions of doubles alone, with how many they take.
_OF_DOUBLES = {"exp": 1, "ln": 1, "log": 2, "log10": 1, "log2": 1, "pow": 2}
NAMES = frozenset({"e", "getbit", "pi", "width_bucket", *_OF_DOUBLES})
_DIGITS = {pa.int8(): 3, pa.int16(): 5, INT: 10, LONG: 20}


def applied(name: str, args: Sequence[Typed]) -> Typed:
    """A function of `NAMES`. Raises LeftToSparkError where it is not proven for these types."""
    kinds = [one.type for one in args]
    if name in {"e", "pi"} and not args:
        return Typed(Literal(math.e if name == "e" else math.pi, DOUBLE), DOUBLE)
    if len(args) == _OF_DOUBLES.get(name) and all(map(_is_written_number, args)):
        return call(name, [cast(one, DOUBLE) for one in args], DOUBLE)
    if (
        name == "getbit"
        and len(args) == 2
        and is_integer(kinds[0])
        and kinds[1] in (pa.int8(), pa.int16(), INT)
    ):
        return call(name, [args[0], cast(args[1], INT)], pa.int8(), fails=True)
    if name == "width_bucket" and len(args) == 4 and all(map(_is_written_number, args)):
        operands = [*(cast(one, DOUBLE) for one in args[:3]), cast(args[3], LONG)]
        if any(one.may_fail for one in operands) and not all(isinstance(one.expr, Literal) for one in args):
            raise LeftToSparkError("width_bucket(…) of what may fail")
        return call(name, operands, LONG)
    raise LeftToSparkError(f"{name}({', '.join(map(type_name, kinds))})")


def _is_written_number(one: Typed) -> bool:
    """A number, NULL, or a constant text that Spark reads as a number."""
    return is_number(one.type) or one.type == VOID or (one.type == STRING and isinstance(one.expr, Literal))


def to_tens(name: str, number: Typed, count: int) -> Typed:
    """`round` or `bround` to a negative number of digits."""
    kind = number.type
    if count < -MOST_DIGITS or not (is_integer(kind) or is_decimal(kind)):
        raise LeftToSparkError(f"{name}(…) to these digits")
    if is_decimal(kind):
        digits = max(kind.precision - kind.scale + 1, 1 - count)
        if digits > MOST_DIGITS:
            raise LeftToSparkError(f"{name}({type_name(kind)})")
        kind = pa.decimal128(digits, 0)
    operands = [number, Typed(Literal(count, INT), INT)]
    return call(f"{name}_tens", operands, kind, fails=is_integer(kind))


def whole(name: str, number: Typed, count: object) -> Typed:
    """`floor` or `ceil` to a number of digits: a decimal."""
    kind = number.type
    if not isinstance(count, int) or not (is_integer(kind) or is_decimal(kind)):
        raise LeftToSparkError(f"{name}(…) to these digits")
    if is_integer(kind):
        kind = pa.decimal128(_DIGITS[kind], 0)
    before = kind.precision - kind.scale + 1
    scale = min(count, kind.scale) if count >= 0 else 0
    digits = before + scale if count >= 0 else max(before, 1 - count)
    if digits > MOST_DIGITS or count < -MOST_DIGITS:
        raise LeftToSparkError(f"{name}({type_name(kind)})")
    operands = [cast(number, kind), Typed(Literal(min(count, kind.scale), INT), INT)]
    return call(f"{name}_tens", operands, pa.decimal128(digits, scale))
