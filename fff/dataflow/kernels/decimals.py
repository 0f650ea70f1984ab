"""Quotients and remainders of decimals, with the digits that Java's and Spark's arithmetic leave.

The planner sees to it that what is computed on the way has 72 digits at most, which Arrow's widest decimals hold.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import numpy_mask
from fff.dataflow.kernels.values import Value, column, length_of
from fff.schema import ArrowType

_MOST = 76
#: Digits behind the point that Spark divides to, before it rounds to those of the result.
_QUOTIENT_SCALE = 39
#: Arrow gives a quotient so many digits behind its point at least.
_FEWEST = 4


def sides(left: Value, right: Value) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Both as columns, and where the right one is zero; there it is 1."""
    length = length_of((left, right))
    one, other = (column(side, length) for side in (left, right))
    zero = pc.equal(other, pa.scalar(Decimal(0), other.type))
    wide = pa.decimal256(_MOST, other.type.scale)
    return one, pc.if_else(zero, pa.scalar(Decimal(1), wide), other.cast(wide)), zero


def quotient(left: pa.Array, right: pa.Array, kind: ArrowType) -> pa.Array:
    """`left / right`, cut after 39 places, then rounded to those of the result, halves away from zero."""
    dividend = _digits(left, _QUOTIENT_SCALE + right.type.scale)
    quotient = _divided(dividend, _digits(right, right.type.scale))
    quotient = _half_up(quotient, _QUOTIENT_SCALE - kind.scale)
    return _spoken(quotient, _MOST, kind.scale).cast(kind)


def remainder(left: pa.Array, right: pa.Array, kind: ArrowType) -> pa.Array:
    """What is left over, with the sign of the dividend."""
    scale = max(left.type.scale, right.type.scale)
    dividend, divisor = _digits(left, scale), _digits(right, scale)
    return _spoken(_rest(dividend, divisor, _divided(dividend, divisor)), _MOST, scale).cast(kind)


def whole_quotient(left: pa.Array, right: pa.Array) -> pa.Array:
    """`left div right`."""
    scale = max(left.type.scale, right.type.scale)
    return _divided(_digits(left, scale), _digits(right, scale)).cast(pa.int64())


def _spoken(values: pa.Array, precision: int, scale: int = 0) -> pa.Array:
    """The same digits as a decimal of another type."""
    kind = pa.decimal256(precision, scale)
    return pa.Array.from_buffers(kind, len(values), values.buffers(), values.null_count, values.offset)


def _digits(value: pa.Array, scale: int) -> pa.Array:
    """All digits down to some place, as whole numbers."""
    return _spoken(value.cast(pa.decimal256(_MOST, scale)), _MOST)


def _rest(dividend: pa.Array, divisor: pa.Array, whole: pa.Array) -> pa.Array:
    product = pc.multiply(_spoken(whole, 37), _spoken(divisor, 38))
    return _spoken(pc.subtract(_spoken(dividend, _MOST - 1), _spoken(product, _MOST - 1)), _MOST)


def _divided(dividend: pa.Array, divisor: pa.Array) -> pa.Array:
    """The quotient of whole numbers, cut to a whole one.

    Arrow's is wrong for some numbers near powers of two (seen with 26.0.1: 2^63 - 1, times 10^40, by 10^34), which the
    remainder tells.
    """
    quotient = pc.divide(_spoken(dividend, _MOST - _FEWEST), _spoken(divisor, _FEWEST - 1))
    whole = _spoken(pc.trunc(quotient).cast(pa.decimal256(_MOST, 0)), _MOST)
    rest = _rest(dividend, divisor, whole)
    signs = [pc.sign(one) for one in (rest, dividend)]
    right = pc.and_(
        pc.less(pc.abs(rest), pc.abs(divisor)),
        pc.or_(pc.equal(signs[0], signs[1]), pc.equal(rest, pa.scalar(Decimal(0), rest.type))),
    )
    wrong = np.flatnonzero(numpy_mask(pc.invert(right)))
    if not len(wrong):
        return whole
    exact = []
    for row in wrong:
        one, other = int(dividend[row].as_py()), int(divisor[row].as_py())
        exact.append(Decimal(abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)))
    mask = np.zeros(len(whole), np.bool_)
    mask[wrong] = True
    return pc.replace_with_mask(whole, pa.array(mask), pa.array(exact, whole.type))


def _half_up(digits: pa.Array, power: int) -> pa.Array:
    """Whole numbers without so many of their last digits, halves rounded away from zero."""
    half = pa.scalar(Decimal(5 * 10 ** (power - 1)), pa.decimal256(_MOST - 1, 0))
    spoken = _spoken(digits, _MOST - 1)
    more = pc.if_else(pc.less(spoken, pa.scalar(Decimal(0), spoken.type)), pc.negate(half), half)
    by = column(pa.scalar(Decimal(10**power), pa.decimal256(_MOST, 0)), len(digits))
    return _divided(_spoken(pc.add(spoken, more), _MOST), by)
