"""Constants of the SQL text as Python values, and which column types they can be compared with exactly.

Spark coerces the two sides of a comparison to a common type. A constant is moved into the engine only if turning it
into a value of the column's own type cannot change what any comparison with it says, under ANSI rules and in every
session time zone. Everything else stays in Spark.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Literal

import numpy as np
import pyarrow as pa

from fff.schema import MOST_DIGITS, ArrowType, comparison_kind
from fff.sql.syntax.statement import TEXTS, Node, Statement, exp, identifier_span, token_span
from fff.structs import Struct, lazy_pattern

ConstantKind = Literal[
    "null", "boolean", "integer", "decimal", "double", "string", "date", "timestamp", "timestamp_ntz"
]

_INTEGER_TEXT = lazy_pattern(r"-?\d{1,18}", re.ASCII)
_DATE_TEXT = lazy_pattern(r"\d{4}-\d{2}-\d{2}", re.ASCII)
#: Up to 23:59:59.999999: not every Python refuses 24:00:00, as Spark does.
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_TIME_TEXT = lazy_pattern(rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:[ T]({_CLOCK}))?", re.ASCII)
#: Java, and so Spark, knows offsets up to 18 hours; Python up to 24.
_OFFSET = r"[+-](?:(?:0\d|1[0-7]):[0-5]\d|18:00)"
_ZONED_TEXT = lazy_pattern(rf"(\d{{4}}-\d{{2}}-\d{{2}}[ T]{_CLOCK}) ?(Z|{_OFFSET})", re.ASCII)
_EXACT_IN_DOUBLE = 2**53
_LONG = range(-(2**63), 2**63)
_INT = range(-(2**31), 2**31)
_ARITHMETIC: dict[type[Node], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}


class Constant(Struct, frozen=True):
    """A constant and the family of Spark types it belongs to."""

    kind: ConstantKind
    value: object

    @property
    def numeric(self) -> bool:
        """Whether it is a number."""
        return self.kind in {"integer", "decimal", "double"}


#: Decimals of more digits are rounded on the way through Spark's operators.
JAVAS_DIGITS = 34


class NotExactError(Exception):
    """The constant has no exact counterpart in the column's type; the comparison stays in Spark."""


class NoSuchValueError(Exception):
    """No value of the column's type equals the constant."""


def constant_of(statement: Statement, node: Node) -> Constant | None:
    """The constant a piece of the tree stands for, or None."""
    node = node.unnest()
    if isinstance(node, exp.Placeholder):
        known = node.name in statement.params
        return constant_of_value(statement.params[node.name]) if known else None
    if isinstance(node, exp.Null):
        return Constant("null", None)
    if isinstance(node, exp.Boolean):
        return Constant("boolean", bool(node.this))
    if isinstance(node, exp.Neg):
        inner = constant_of(statement, node.this)
        operand = node.this.unnest()
        of_float = isinstance(operand, exp.Cast) and operand.to.is_type("float")
        if inner is None or not inner.numeric or of_float:  # kept as a double, it would no longer be a float
            return None
        assert isinstance(inner.value, int | float | Decimal)
        value = inner.value
        digits = len(value.as_tuple().digits) if isinstance(value, Decimal) else 0
        if digits > JAVAS_DIGITS and not isinstance(node.this, exp.Literal):  # `-(…)`, which Spark computes
            return None
        return Constant(inner.kind, value.copy_negate() if isinstance(value, Decimal) else -value)
    if isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string):
        return _string(statement, node)
    if isinstance(node, exp.Literal):
        return _number(node.name)
    if isinstance(node, exp.Cast | exp.TryCast) and isinstance(node.this, exp.Literal):
        return _typed(statement, node.this, node.to)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        total = _int_of(node)
        return None if total is None else Constant("integer", total)
    return None


def _int_of(node: Node) -> int | None:
    """What sums and products of plain numbers of type int come to, as generated SQL has them; None for all else."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        value = int(node.name) if not node.is_string and node.name.isdecimal() else None
    elif (operation := _ARITHMETIC.get(type(node))) is not None:
        sides = _int_of(node.this), _int_of(node.expression)
        value = None if sides[0] is None or sides[1] is None else operation(sides[0], sides[1])
    else:
        value = None
    # Beyond int, Spark has another type or an error.
    return value if value is not None and value in _INT else None


def constant_of_value(value: object) -> Constant | None:
    """The constant a parameter's Python value stands for; None for one the engine does not compare."""
    if value is None:
        return Constant("null", None)
    if isinstance(value, bool):
        return Constant("boolean", value)
    if isinstance(value, int):
        plain = int(value)  # of a class of its own, each number of a range would be compared with it
        return Constant("integer", plain) if plain in _LONG else _decimal(Decimal(plain))
    if isinstance(value, float):
        return Constant("double", value) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return _decimal(value) if value.is_finite() else None
    if isinstance(value, str):
        return Constant("string", value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            return Constant("timestamp_ntz", value)
        return Constant("timestamp", value.astimezone(dt.UTC))
    if isinstance(value, dt.date):
        return Constant("date", value)
    return None


def convert(constant: Constant, arrow: ArrowType) -> object:
    """The constant as a value of a column's type, meaning the same in every comparison with it.

    Raises:
        NotExactError: there is no such value, or Spark's coercion could see it differently.
    """
    kind, value = constant.kind, constant.value
    if kind == "null" and comparison_kind(arrow) is not None:
        return None
    if pa.types.is_integer(arrow):
        return _to_integer(constant, arrow)
    if pa.types.is_float64(arrow) or pa.types.is_float32(arrow):
        return _to_float(constant, single=pa.types.is_float32(arrow))
    if pa.types.is_decimal(arrow) and kind in {"integer", "decimal"}:
        return _to_decimal(Decimal(str(value)), arrow.precision, arrow.scale)
    if pa.types.is_timestamp(arrow):
        return _to_timestamp(constant, naive=arrow.tz is None)
    if pa.types.is_date32(arrow):
        if kind == "string":
            return _date(str(value))
        if kind == "date":
            return value
    if (pa.types.is_string(arrow) and kind == "string") or (pa.types.is_boolean(arrow) and kind == "boolean"):
        return value
    raise NotExactError


def back_cast(value: object, wider: ArrowType, arrow: ArrowType) -> object:
    """The one value of a type that, cast to the wider type `given`, is this value: comparing with either says the same.

    Raises:
        NoSuchValueError: there is none.
        NotExactError: there may be several, or it is not certain.
    """
    if value is None:
        return None
    if isinstance(value, bool):  # many numbers are true
        raise NotExactError
    if pa.types.is_integer(arrow) and isinstance(value, int | float | Decimal):
        exact_in: dict[ArrowType, float] = {pa.float32(): 2**24, pa.float64(): _EXACT_IN_DOUBLE}
        if not isinstance(value, Decimal) and not abs(value) < exact_in.get(wider, math.inf):  # NaN, too
            raise NotExactError
        if value != int(value) or int(value) not in _range_of(arrow):
            raise NoSuchValueError
        return int(value)
    if pa.types.is_decimal(arrow) and pa.types.is_decimal(wider) and isinstance(value, Decimal):
        if wider.scale < arrow.scale:  # several are rounded to it
            raise NotExactError
        shift = Decimal(1).scaleb(-arrow.scale)
        with localcontext() as context:
            context.prec = 2 * MOST_DIGITS
            exact = value.quantize(shift)
        if exact != value or abs(exact) >= Decimal(10) ** (arrow.precision - arrow.scale):
            raise NoSuchValueError
        return exact
    raise NotExactError


def fits(value: object, arrow: ArrowType) -> bool:
    """Whether a value of one comparison kind is also a value of this type of the same kind (integers differ in width)."""
    return not pa.types.is_integer(arrow) or value is None or value in _range_of(arrow)


def _string(statement: Statement, node: Node) -> Constant | None:
    """A string that stands in the text as the parser has it, which makes others of some."""
    span = identifier_span(node)
    if span is None:
        return None
    token = statement.tokens[statement.token_at(span.start)]
    as_written = token_span(token) == span and token.text == str(node.this)
    return Constant("string", token.text) if as_written and token.token_type in TEXTS else None


def _number(text: str) -> Constant | None:
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return None
    if "e" in text.lower():
        return Constant("double", float(text))
    if text.isdigit() and int(text) in _LONG:
        return Constant("integer", int(text))
    return _decimal(Decimal(text))


def _decimal(value: Decimal) -> Constant | None:
    """A decimal constant, unless it has more digits than Spark's widest type: then it is an error there."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if max(len(digits) + max(exponent, 0), -exponent) > MOST_DIGITS:
        return None
    return Constant("decimal", value)


def _typed(statement: Statement, literal: Node, to: Node) -> Constant | None:
    """DATE '…', TIMESTAMP '…' and numbers with a type suffix, all of which the parser shows as casts."""
    kind = to.this
    if literal.is_string:
        constant = _string(statement, literal)
        if kind is exp.DType.DECIMAL:
            return _suffixed_decimal(literal)
        if constant is None:
            return None
        try:
            if kind is exp.DType.DATE:
                return Constant("date", _date(literal.name))
            if kind in (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ):
                return Constant("timestamp", _to_timestamp(constant, naive=False))
            if kind is exp.DType.TIMESTAMPNTZ:
                return Constant("timestamp_ntz", _to_timestamp(constant, naive=True))
        except NotExactError:
            return None
        return None
    number = _number(literal.name)
    if number is None or not isinstance(number.value, int | float | Decimal):
        return None
    if kind is exp.DType.DOUBLE:
        return None if math.isinf(float(number.value)) else Constant("double", float(number.value))
    if kind is exp.DType.FLOAT:
        return _single(literal.name)
    widths: dict[object, int] = {
        exp.DType.TINYINT: 8,
        exp.DType.SMALLINT: 16,
        exp.DType.INT: 32,
        exp.DType.BIGINT: 64,
    }
    width = widths.get(kind)
    if isinstance(number.value, int) and width is not None and number.value < 1 << (width - 1):
        return number
    return None


def _suffixed_decimal(literal: Node) -> Constant | None:
    """`7.25BD`, which the parser shows as a cast of a string that stands nowhere; a written cast may round."""
    if identifier_span(literal) is not None or _number(literal.name) is None:
        return None
    return _decimal(Decimal(literal.name))


def _single(text: str) -> Constant | None:
    """The float nearest to a number; `1e0F` is that and `CAST(1e0 AS FLOAT)` rounds to double first: take what both say."""
    nearest: float = pa.scalar(text).cast(pa.float32()).as_py()
    if math.isinf(nearest):  # `1e40F` is refused, a cast gives infinity
        return None
    with np.errstate(over="ignore"):
        return Constant("double", nearest) if float(np.float32(float(text))) == nearest else None


def _to_integer(constant: Constant, arrow: ArrowType) -> int:
    value = constant.value
    if constant.kind == "string" and _INTEGER_TEXT.fullmatch(str(value)):
        value = int(str(value))  # ANSI: the string is cast to bigint
    if isinstance(value, int) and not isinstance(value, bool) and value in _range_of(arrow):
        return value
    raise NotExactError


def _to_float(constant: Constant, *, single: bool) -> float:
    """Spark compares in double: the value must survive the way there, and back to a narrower column."""
    raw = constant.value
    if not constant.numeric or not isinstance(raw, int | float | Decimal):
        raise NotExactError
    if isinstance(raw, int) and abs(raw) > _EXACT_IN_DOUBLE:
        raise NotExactError
    value = float(raw)
    if not math.isfinite(value):
        raise NotExactError
    if single:
        with np.errstate(over="ignore"):
            if float(np.float32(value)) != value:
                raise NotExactError
    return value


def _to_decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """Exact in the column's type, and small enough that Spark's common type needs no rounding."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    own_scale = max(0, -exponent)
    own_whole = max(0, len(digits) + exponent)
    if max(scale, own_scale) + max(precision - scale, own_whole) > MOST_DIGITS:
        raise NotExactError
    if own_whole > precision - scale:
        raise NotExactError
    with localcontext() as context:
        context.prec = 2 * MOST_DIGITS
        exact = value.quantize(Decimal(1).scaleb(-scale))
    if exact != value:
        raise NotExactError
    return exact


def _to_timestamp(constant: Constant, *, naive: bool) -> dt.datetime:
    """A moment for a timestamp, a wall-clock reading for a timestamp_ntz; never one for the other."""
    value, wanted = constant.value, "timestamp_ntz" if naive else "timestamp"
    if constant.kind == wanted and isinstance(value, dt.datetime):
        return value
    if constant.kind != "string":
        raise NotExactError
    match = (_TIME_TEXT if naive else _ZONED_TEXT).fullmatch(str(value))
    if match is None:
        raise NotExactError
    text = f"{match[1]} {match[2] or '00:00:00'}" if naive else match[1] + match[2].replace("Z", "+00:00")
    try:
        moment = dt.datetime.fromisoformat(text)
        return moment if naive else moment.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise NotExactError from error


def _date(text: str) -> dt.date:
    if not _DATE_TEXT.fullmatch(text):
        raise NotExactError
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise NotExactError from error


def _range_of(arrow: ArrowType) -> range:
    half = 1 << (arrow.bit_width - 1)
    return range(-half, half)
