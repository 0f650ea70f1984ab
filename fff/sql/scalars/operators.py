"""Operators of numbers, with the types that Spark makes of their sides."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa

from fff.dataflow.plan.expressions import Literal
from fff.schema import MOST_DIGITS, ArrowType
from fff.sql.scalars import coercion
from fff.sql.scalars.coercion import DOUBLE, INT, LONG, STRING, cast
from fff.sql.scalars.functions import applied
from fff.sql.scalars.quantities import intervals
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.literals import JAVAS_DIGITS

#: Quotients of decimals have so many digits before their points at most, and so many behind them at least.
_MOST_QUOTIENT, _QUOTIENT_PLACES = 32, 6
#: Whole numbers of so many digits are longs.
_LONG_DIGITS = 18
_QUOTIENTS = frozenset({"divide", "div", "remainder", "pmod"})
_TRIED = frozenset({"add", "subtract", "multiply", "divide", "remainder"})
_DATE_MOVES = {"add": "date_add", "subtract": "date_sub"}


def signed(name: str, one: Typed) -> Typed:
    """`-` or `abs` of a number. Raises LeftToSparkError."""
    if intervals.is_interval(one.type):
        return intervals.negated(one) if name == "negative" else intervals.absolute(one)
    kind = DOUBLE if one.type == STRING else one.type
    if not coercion.is_number(kind) or _is_long(kind):
        raise LeftToSparkError(f"{name} of {coercion.type_name(kind)}")
    return call(name, [cast(one, kind)], kind, fails=coercion.is_integer(kind))


def arithmetic(name: str, left: Typed, right: Typed, *, tries: bool = False) -> Typed:
    """An operator of two numbers, which Spark first makes one type of; `tries`: NULL where that fails.

    Raises:
        LeftToSparkError: it is not proven for these types.
    """
    sides = [left, right]
    if intervals.concerned(name, left, right):
        return intervals.arithmetic(name, left, right, tries=tries)
    if left.type == coercion.DATE and coercion.is_integer(right.type) and name in _DATE_MOVES and not tries:
        return applied(_DATE_MOVES[name], sides)
    if any(coercion.is_decimal(side.type) for side in sides) and not any(
        coercion.is_float(side.type) or side.type == STRING for side in sides
    ):
        return _decimals(name, left, right, tries=tries)
    kind = wider = reduce(coercion.wider, (side.type for side in sides))
    if not coercion.is_number(kind):
        raise LeftToSparkError(f"{name} of {coercion.type_name(kind)}")
    if name == "divide":
        kind = DOUBLE
    elif name == "div":
        if not coercion.is_integer(kind):
            raise LeftToSparkError("div of numbers that are not whole")
        kind = LONG
    if tries and STRING in (left.type, right.type) and (left.may_fail or right.may_fail):
        raise LeftToSparkError(f"try_{name}(…) of a text and what may fail")  # which Spark tries as well
    read = [cast(side, wider, tries=tries) if side.type == STRING else side for side in sides]
    operands = [cast(side, kind) for side in read]
    fails = coercion.is_integer(kind)
    if name in _QUOTIENTS:
        divisor = _constant(operands[1])
        fails = divisor in (None, 0) or (divisor == -1 and name == "div")
    return _called(name, operands, kind, fails=fails, tries=tries)


def bitwise(name: str, *sides: Typed) -> Typed:
    """`&`, `|`, `^` or `~` of whole numbers. Raises LeftToSparkError."""
    kind = reduce(coercion.wider, (side.type for side in sides))
    if not all(coercion.is_integer(side.type) for side in sides):
        raise LeftToSparkError(f"{name} of {coercion.type_name(kind)}")
    return call(name, [cast(side, kind) for side in sides], kind)


def shifted(name: str, number: Typed, count: Typed) -> Typed:
    """A shift by a constant number of bits. Raises LeftToSparkError."""
    kind = LONG if number.type == LONG else INT
    if not coercion.is_integer(number.type) or count.type != INT or not isinstance(count.expr, Literal):
        raise LeftToSparkError(f"{name}({coercion.type_name(number.type)})")
    return call(name, [cast(number, kind), count], kind)


def _constant(one: Typed) -> object:
    return one.expr.value if isinstance(one.expr, Literal) else None


def _called(name: str, operands: list[Typed], kind: ArrowType, *, fails: bool, tries: bool) -> Typed:
    if tries and name not in _TRIED:
        raise LeftToSparkError(f"try_{name}(…)")
    # A dividend is not evaluated where the divisor is zero.
    if tries and name in _QUOTIENTS and operands[0].may_fail:
        raise LeftToSparkError(f"try_{name}(…) of what may fail")
    return call(f"try_{name}", operands, kind) if tries else call(name, operands, kind, fails=fails)


def _decimals(name: str, left: Typed, right: Typed, *, tries: bool) -> Typed:
    sides = []
    for side in (left, right):
        if side.type == STRING or not coercion.is_number(side.type):
            raise LeftToSparkError(f"{name} of {coercion.type_name(side.type)}")
        sides.append(side if coercion.is_decimal(side.type) else cast(side, coercion.integral_decimal(side)))
    one, other = (side.type for side in sides)
    scale, whole = max(one.scale, other.scale), (one.precision - one.scale, other.precision - other.scale)
    if name in _QUOTIENTS:
        return _quotient(name, sides, whole, tries=tries)
    if name == "multiply":
        precision, scale = one.precision + other.precision + 1, one.scale + other.scale
    else:
        precision = scale + max(whole) + 1
    if precision > JAVAS_DIGITS:
        return _wide(name, sides, coercion.bounded(precision, scale), tries=tries)
    return _called(name, sides, pa.decimal128(precision, scale), fails=False, tries=tries)


def _wide(name: str, sides: list[Typed], kind: ArrowType, *, tries: bool) -> Typed:
    """An operator of decimals whose result may be beyond its type."""
    if tries and any(side.may_fail for side in sides):
        raise LeftToSparkError(f"try_{name}(…) of what may fail")
    return call(f"{'try_' if tries else ''}wide_{name}", sides, kind, fails=not tries)


def _quotient(name: str, sides: list[Typed], whole: tuple[int, int], *, tries: bool) -> Typed:
    """A quotient or a remainder of decimals with so many digits before their points."""
    one, other = (side.type for side in sides)
    scale, quotient = max(one.scale, other.scale), whole[0] + other.scale  # digits before its point
    is_wide = quotient > _MOST_QUOTIENT or scale + max(whole) > MOST_DIGITS - 1
    if name == "div":
        if is_wide or quotient > _LONG_DIGITS:
            raise LeftToSparkError("div of decimals of so many digits")
        kind = LONG
    elif name == "divide":
        places = max(_QUOTIENT_PLACES, one.scale + other.precision + 1)
        kind = coercion.bounded(quotient + places, places)
    else:
        kind = pa.decimal128(min(whole) + scale, scale)
        if quotient > MOST_DIGITS:  # which Java calls impossible for some
            raise LeftToSparkError(f"{name} of decimals of so many digits")
        is_wide |= name == "pmod" and whole[0] < whole[1]  # which need not fit into the result's type
    if is_wide:
        return _wide(name, sides, kind, tries=tries)
    return _called(name, sides, kind, fails=_constant(sides[1]) in (None, 0), tries=tries)


def _is_long(kind: ArrowType) -> bool:
    return coercion.is_decimal(kind) and bool(kind.precision > JAVAS_DIGITS)
