"""Numbers as they are written, of the types that Spark reads them with."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa

from fff.dataflow.plan.expressions import Literal
from fff.schema import MOST_DIGITS, ArrowType, arrow_type
from fff.sql.scalars.coercion import DOUBLE, INT, LONG
from fff.sql.scalars.typed import LeftToSparkError, Typed
from fff.sql.syntax.statement import Node, Statement, identifier_span

_INTS = range(-(2**31), 2**31)
_LONGS = range(-(2**63), 2**63)
#: Letters behind whole numbers, by the types that they mean.
_SUFFIXES = {"tinyint": "Y", "smallint": "S", "bigint": "L"}


def number(text: str) -> Typed | None:
    """A number without suffix: an int where it fits, then a bigint, then a decimal. Raises LeftToSparkError."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal():
        value = int(text)
        if value in _LONGS:
            kind = INT if value in _INTS else LONG
            return Typed(Literal(value, kind), kind, literal=True)
    elif "e" in digits.lower():
        if math.isinf(float(text)):
            raise LeftToSparkError("a number beyond double")
        return Typed(Literal(float(text), DOUBLE), DOUBLE)
    exact = Decimal(text)
    return Typed(Literal(exact, decimal_type(exact)), decimal_type(exact))


def with_suffix(statement: Statement, literal: Node, written: str, *, minus: bool = False) -> Typed | None:
    """`1L` and the like, which the parser shows as the cast `CAST(1 AS BIGINT)`; None where it is the cast.

    Raises:
        LeftToSparkError: the number is beyond its type.
    """
    letter, span, digits = _SUFFIXES.get(written), identifier_span(literal), literal.name
    if letter is None or span is None or statement.text_at(span).upper() != digits.upper() + letter:
        return None
    if not (digits.isascii() and digits.isdecimal()):
        raise LeftToSparkError("a suffix of a whole number behind another one")
    kind, value = arrow_type(written), -int(digits) if minus else int(digits)
    half = 1 << (kind.bit_width - 1)
    if not -half <= value < half:
        raise LeftToSparkError("a number with a suffix")
    return Typed(
        Literal(value, kind), kind, literal=half > 1 << 7
    )  # of a tinyint Spark does not count digits


def decimal_type(value: Decimal) -> ArrowType:
    """The type of a decimal as it is written. Raises LeftToSparkError."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale, precision = max(0, -exponent), len(digits) + max(0, exponent)
    if max(scale, precision) > MOST_DIGITS:
        raise LeftToSparkError("a number of more than 38 digits")
    return pa.decimal128(max(1, scale, precision), scale)
