"""Which type the sides of an operator get under Spark's ANSI rules, and the casts that take them there.

After Spark's `AnsiTypeCoercion` and `DecimalPrecisionTypeCoercion`. Where the rule needs a type or a cast that is not
proven, the expression is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa

from fff.dataflow.plan.expressions import Expr, Literal, columns_of
from fff.schema import MOST_DIGITS, ArrowType, result_field
from fff.sql.scalars.java import writes_shortest
from fff.sql.scalars.typed import COLLATED, LeftToSparkError, Typed, call
from fff.structs import lazy_pattern

BOOLEAN = pa.bool_()
INT = pa.int32()
LONG = pa.int64()
FLOAT = pa.float32()
DOUBLE = pa.float64()
STRING = pa.string()
BINARY = pa.binary()
DATE = pa.date32()
TIMESTAMP = pa.timestamp("us", tz="UTC")
NAIVE = pa.timestamp("us")
VOID = pa.null()
#: Intervals: of microseconds, and of months, for which no result has a type.
DURATION = pa.duration("us")
MONTHS = pa.month_day_nano_interval()

#: Digits behind the point that Spark keeps where a result has too many.
_KEPT_SCALE = 6
#: Decimals of so many digits are whole numbers to Java, and exact.
_EXACT_DIGITS = 18
#: A text that is no moment in any zone: it begins neither with a date nor with a clock nor with a word.
_NO_MOMENT = lazy_pattern(
    r"(?!T|now|today|epoch|tomorrow|yesterday)[A-Za-z].*|[+-]?(?:\d{1,3}|\d{7,})?(?:[^\d:A-Za-z+-].*)?|\d+[^\d:T-].*",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
#: A moment in UTC, or at a distance from it.
_MOMENT = lazy_pattern(
    r"[+-]?\d{4,6}(?:-\d+(?:-\d+(?:[ T](?:[\d:.]* *(?:Z|UTC|[+-]\d\d?:\d\d)?)?)?)?)?", re.ASCII
)
_LETTERS = lazy_pattern(r"[A-Za-z]+")
#: What Spark takes for days where it is constant.
_DAY_WORDS = frozenset({"epoch", "now", "today", "tomorrow", "yesterday"})
#: What Java's `trim` takes away.
_TRIMMED = "".join(map(chr, range(0x21)))
_INTEGERS = (pa.int8(), pa.int16(), INT, LONG)
_DIGITS = {pa.int8(): 3, pa.int16(): 5, INT: 10, LONG: 20}


def is_integer(kind: ArrowType) -> bool:
    """A whole number."""
    return bool(pa.types.is_integer(kind))


def is_float(kind: ArrowType) -> bool:
    """A float or a double."""
    return kind in (FLOAT, DOUBLE)


def is_decimal(kind: ArrowType) -> bool:
    """A decimal."""
    return bool(pa.types.is_decimal(kind))


def is_number(kind: ArrowType) -> bool:
    """A number of any type."""
    return is_integer(kind) or is_float(kind) or is_decimal(kind)


def is_moment(kind: ArrowType) -> bool:
    """A timestamp with or without zone."""
    return bool(pa.types.is_timestamp(kind))


def type_name(kind: ArrowType) -> str:
    """What Spark SQL calls a type."""
    if kind in COLLATED:
        return f"string collate {COLLATED[kind]}"
    return result_field("", kind).type


def integral_decimal(one: Typed) -> ArrowType:
    """The decimal type that a whole number has beside decimals: of a literal no wider than it is written."""
    if one.literal and isinstance(one.expr, Literal) and isinstance(one.expr.value, int):
        return pa.decimal128(max(1, len(str(abs(one.expr.value)))), 0)
    return pa.decimal128(_DIGITS[one.type], 0)


def bounded(precision: int, scale: int) -> ArrowType:
    """The decimal type of a result: digits behind the point go where there are too many, down to six of them."""
    if precision <= MOST_DIGITS:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _KEPT_SCALE)))


def wider(left: ArrowType, right: ArrowType) -> ArrowType:
    """The type that the branches of a CASE, the items of a list or the sides of a comparison share.

    Raises:
        LeftToSparkError: there is none, or one that is not proven.
    """
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if one == VOID:
            return other
        if one == STRING and other != VOID:
            return _beside_string(other)
        if is_moment(one) and other == DATE:
            return one
    if is_number(left) and is_number(right):
        return _wider_number(left, right)
    if is_moment(left) and is_moment(right):
        return TIMESTAMP
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(_wider_part(left.value_type, right.value_type))
    if pa.types.is_map(left) and pa.types.is_map(right):
        key = _wider_part(left.key_type, right.key_type)
        return pa.map_(key, _wider_part(left.item_type, right.item_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right) and _names(left) == _names(right):
        return pa.struct(
            [(one.name, _wider_part(one.type, other.type)) for one, other in zip(left, right, strict=True)]
        )
    raise LeftToSparkError(f"compares {type_name(left)} with {type_name(right)}")


def _wider_part(left: ArrowType, right: ArrowType) -> ArrowType:
    """The type that parts share, of which Spark makes no bytes of texts."""
    if {left, right} == {STRING, BINARY}:
        raise LeftToSparkError("parts of texts with parts of bytes")
    return wider(left, right)


def _names(kind: ArrowType) -> list[str]:
    """The names of the fields of a struct, whose letters' case says nothing."""
    return [field.name.lower() for field in kind]


def _beside_string(other: ArrowType) -> ArrowType:
    if is_integer(other):
        return LONG
    if is_number(other):
        return DOUBLE
    if other in (BOOLEAN, DATE, BINARY) or is_moment(other):
        return other
    raise LeftToSparkError(f"compares string with {type_name(other)}")


def _wider_number(left: ArrowType, right: ArrowType) -> ArrowType:
    if is_decimal(left) or is_decimal(right):
        if is_float(left) or is_float(right):
            return DOUBLE
        one, other = (side if is_decimal(side) else pa.decimal128(_DIGITS[side], 0) for side in (left, right))
        return wider_decimal(one, other)
    if is_float(left) and is_float(right):
        return DOUBLE
    if is_float(left) or is_float(right):
        return DOUBLE  # also of a float and a whole number, which float would not hold
    return max(left, right, key=_INTEGERS.index)


def wider_decimal(left: ArrowType, right: ArrowType) -> ArrowType:
    """A decimal type that holds the values of both; where 38 digits do not, it is Spark's."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    if whole + scale > MOST_DIGITS:
        raise LeftToSparkError(f"compares {type_name(left)} with {type_name(right)}")
    return pa.decimal128(whole + scale, scale)


def common(items: Sequence[Typed]) -> tuple[list[Typed], ArrowType]:
    """Several expressions as values of one type, and that type.

    Raises:
        LeftToSparkError: there is no such type, or a cast that is not proven.
    """
    if any(item.type in COLLATED for item in items):
        raise LeftToSparkError("texts of a collation")
    kind = reduce(wider, (item.type for item in items))  # one by one: a text after 0.5 makes a double of both
    return [cast(item, kind) for item in items], kind


def cast(one: Typed, kind: ArrowType, *, tries: bool = False) -> Typed:
    """An expression as a value of another type; `tries`: NULL where that fails.

    Raises:
        LeftToSparkError: that cast is not proven.
    """
    if one.type == kind:
        return Typed(one.expr, kind)
    if one.type == VOID:
        if one.may_fail:  # as array(NULL)[5] does
            raise LeftToSparkError("a NULL that may fail")
        return Typed(Literal(None, kind), kind)
    if one.type == STRING and isinstance(one.expr, Literal) and is_moment(kind):
        return _moment(one.expr, kind, tries=tries)
    fails = _fails(one.type, kind)
    if fails is None:
        raise LeftToSparkError(f"casts {type_name(one.type)} to {type_name(kind)}")
    if one.type == STRING and kind == DATE and _may_be_word(one.expr):
        raise LeftToSparkError("a date that is a word")
    return call("try_cast" if tries else "cast", (one,), kind, fails=fails and not tries)


def _may_be_word(expr: Expr) -> bool:
    """Whether a text may be 'today' and the like, which are days where they are constant, and nowhere else."""
    if not isinstance(expr, Literal):
        return not columns_of(expr)
    word = _LETTERS.match(str(expr.value or "").strip(_TRIMMED))
    return word is not None and word[0].lower() in _DAY_WORDS


def _moment(one: Literal, kind: ArrowType, *, tries: bool) -> Typed:
    """A text as a moment, in UTC, which is the time zone of every session, or at a distance from it."""
    text = str(one.value or "").strip(_TRIMMED)
    if one.value is None:
        return Typed(Literal(None, kind), kind)
    if not _MOMENT.fullmatch(text) and not _NO_MOMENT.fullmatch(text):
        raise LeftToSparkError("a moment in a form of its own")
    if kind == NAIVE and text[10:].strip("0123456789:. T"):
        raise LeftToSparkError("a moment without zone that has one")
    as_text = Typed(one, STRING)
    return call("try_cast" if tries else "cast", (as_text,), kind, fails=not tries)


def _fails(source: ArrowType, to: ArrowType) -> bool | None:
    """Whether a cast can fail; None where it is not proven."""
    if pa.types.is_nested(source) or pa.types.is_nested(to):
        return False if _widens(source, to) else None
    simple = is_number(to) or to in (BOOLEAN, STRING)
    if is_integer(source):
        if is_integer(to):
            return bool(to.bit_width < source.bit_width)
        if is_decimal(to):
            return bool(to.precision - to.scale < _DIGITS[source])
        return False if simple else None
    if is_float(source):
        # How Java writes them, and so rounds them to decimals, differs between its versions.
        if to == STRING or is_decimal(to):
            return is_decimal(to) if writes_shortest() else None
        return is_integer(to) if simple else None
    if is_decimal(source):
        if is_decimal(to):
            wide, wanted = source.precision - source.scale, to.precision - to.scale
            return bool(wanted < wide or (wanted == wide and to.scale < source.scale))  # 9.9 rounds to 10
        # Of more digits Java makes a double first.
        exact = source.precision <= _EXACT_DIGITS
        return is_integer(to) if simple and (exact or not is_integer(to)) else None
    if source == STRING:
        return False if to == BINARY else True if simple or to == DATE else None
    if source == BOOLEAN:
        return False if simple and not (is_decimal(to) and to.precision == to.scale) else None
    if source == DATE:
        return {STRING: False, TIMESTAMP: True, NAIVE: True}.get(to)
    if is_moment(source):
        return (
            False if to in (STRING, DATE, TIMESTAMP, NAIVE) or (to == LONG and source == TIMESTAMP) else None
        )
    return None


def _widens(source: ArrowType, to: ArrowType) -> bool:
    """Whether a cast cannot fail, of arrays, maps and structs in all their parts."""
    if VOID in (source, to) or source == to:
        return bool(to != VOID or source == VOID)
    if source.id != to.id or not pa.types.is_nested(source):
        return not pa.types.is_nested(source) and not pa.types.is_nested(to) and _fails(source, to) is False
    pairs = zip(_parts(source), _parts(to), strict=False)
    return len(_parts(source)) == len(_parts(to)) and all(_widens(one, other) for one, other in pairs)


def _parts(kind: ArrowType) -> list[ArrowType]:
    """The types that a nested type is made of."""
    return (
        [kind.field(place).type for place in range(kind.num_fields)]
        if not pa.types.is_map(kind)
        else [
            kind.key_type,
            kind.item_type,
        ]
    )
