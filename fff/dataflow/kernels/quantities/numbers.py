"""Buckets of ranges, single bits, other bases, and numbers rounded before their point."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, column, failing, length_of
from fff.schema import ArrowType

_OVERFLOW = "[ARITHMETIC_OVERFLOW] Overflow."
_BEYOND = "[ARITHMETIC_OVERFLOW] Overflow in function conv()."
_DIGITS, _LONGS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 2**64


def _bucket(args: Sequence[Value], kind: ArrowType) -> Value:
    """In which of so many buckets of one width a number is; 0 is below them, and one more than there are above."""
    length = length_of(args)
    columns = [column(one, length) for one in args]
    null: Bools = np.logical_or.reduce([pc.is_null(one).to_numpy(zero_copy_only=False) for one in columns])
    value, low, high, many = (pc.fill_null(one, 0).to_numpy(zero_copy_only=False) for one in columns)
    null |= (many <= 0) | (many == 2**63 - 1) | np.isnan(value) | (low == high)
    null |= ~np.isfinite(low) | ~np.isfinite(high)
    up = low < high
    first, last = np.minimum(low, high), np.maximum(low, high)
    with np.errstate(all="ignore"):
        passed = np.where(up, value - first, last - value)
        bucket = np.where(null, 0.0, many.astype(np.float64) * passed / (last - first))
        great = bucket >= 2.0**63  # one more than the greatest is the least
        inside = np.where(great | np.isnan(bucket), 0.0, bucket).astype(np.int64) + 1
        inside = np.where(great, -(2**63), inside)
    below, above = np.where(up, value < low, value > low), np.where(up, value >= high, value <= high)
    return pa.array(np.where(below, 0, np.where(above, many + 1, inside)), kind, mask=null)


def _bit(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A bit of a whole number, counted from its least."""
    length = length_of(args)
    number, place = (column(one, length) for one in args)
    width = number.type.bit_width
    mask = pc.or_(pc.is_null(number), pc.is_null(place)).to_numpy(zero_copy_only=False)
    values, at = (
        pc.fill_null(one, 0).to_numpy(zero_copy_only=False).astype(np.int64) for one in (number, place)
    )
    bad = ((at < 0) | (at >= width)) & ~mask
    bits = np.right_shift(values, np.clip(at, 0, 63)) & 1

    def tell(row: int) -> str:
        return (
            "[INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE] The value of parameter(s) `pos` in `getbit` is invalid: "
            f"Expects an integer value between 0 and {width - 1} (upper bound exclusive), but got {at[row]}."
        )

    return failing(pa.array(bits, pa.int64(), mask=mask).cast(kind), pa.array(bad), tell)


def _tens(mode: str) -> Kernel:
    """A number rounded to tens, hundreds and so on; the count of digits is negative."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        value, digits = as_array(args[0]), args[1].as_py()
        as_decimal = value if pa.types.is_decimal(value.type) else value.cast(pa.decimal128(20, 0))
        wide = as_decimal.cast(pa.decimal256(76, as_decimal.type.scale))
        rounded = pc.round(wide, ndigits=digits, round_mode=mode)
        if pa.types.is_decimal(kind):
            return rounded.cast(kind)
        half = 1 << (kind.bit_width - 1)
        bounds = [pa.scalar(Decimal(one), pa.decimal256(76, 0)) for one in (-half, half - 1)]
        outside = pc.or_(pc.less(rounded, bounds[0]), pc.greater(rounded, bounds[1]))
        inside = pc.if_else(pc.fill_null(outside, fill_value=False), pa.scalar(None, rounded.type), rounded)
        return failing(inside.cast(pa.int64()).cast(kind), outside, _OVERFLOW)

    return kernel


def _converted(text: str, base: int, target: int) -> str | None:
    """The digits of a number in another base: a long without a sign, or with one where the target is negative; None beyond it.

    Digits end with the first that is none.
    """
    negative = text.startswith("-")
    number = 0
    for letter in text[negative:]:
        digit = _DIGITS.find(letter.upper()) if letter.isascii() else -1
        if not 0 <= digit < base:
            break
        number = number * base + digit
        if number >= _LONGS:
            return None
    if negative and target > 0:
        number = _LONGS - 1 if number >= _LONGS // 2 else -number % _LONGS
    elif target < 0 and number >= _LONGS // 2:
        number, negative = _LONGS - number, True
    digits = ""
    while number or not digits:
        number, digit = divmod(number, abs(target))
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if negative and target < 0 else digits


def _conv(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """Numbers in another base, of constant bases; each different text once."""
    texts, (base, target) = as_array(args[0]), (one.as_py() for one in args[1:])
    if base is None or target is None or not (2 <= base <= len(_DIGITS) and 2 <= abs(target) <= len(_DIGITS)):
        return pa.nulls(len(texts), kind)
    coded = texts.dictionary_encode()
    trimmed = [(one or "").strip(" ") for one in coded.dictionary.to_pylist()]
    made = [_converted(one, base, target) if one else None for one in trimmed]
    beyond = pa.array(
        [bool(one) and each is None for one, each in zip(trimmed, made, strict=True)], pa.bool_()
    )
    return failing(pa.array(made, kind).take(coded.indices), beyond.take(coded.indices), _BEYOND)


NUMBERS: dict[str, Kernel] = {
    "conv": _conv,
    "width_bucket": _bucket,
    "getbit": _bit,
    "round_tens": _tens("half_towards_infinity"),
    "bround_tens": _tens("half_to_even"),
    "floor_tens": _tens("down"),
    "ceil_tens": _tens("up"),
}
