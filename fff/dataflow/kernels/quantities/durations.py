"""Lengths of time in microseconds, which do not wrap around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.arithmetic import tried
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, either, failing
from fff.schema import ArrowType

_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
_LEAST = -(2**63)
_TOO_LONG = (
    "[INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION] Integer overflow while operating with intervals."
)
_TOO_FAR = "[DATETIME_OVERFLOW] Datetime operation overflow."
_LONG = "[ARITHMETIC_OVERFLOW] long overflow."
_BY_ZERO = "[INTERVAL_DIVIDED_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead."


def _counts(value: Value) -> tuple[Int64, Bools]:
    """Whole numbers, or days or microseconds, and where there are none."""
    values = as_array(value)
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64), mask


def _made(numbers: Int64, mask: Bools, kind: ArrowType) -> pa.Array:
    return pa.array(numbers, pa.int64(), mask=mask).view(kind)


def _sum(sign: int, message: str) -> Kernel:
    """The sum, or the difference, of two counts of microseconds."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        (left, no_left), (right, no_right) = _counts(args[0]), _counts(args[1])
        with np.errstate(over="ignore"):
            total = left + sign * right if sign > 0 else left - right
        wraps = ((left ^ total) & ((right if sign > 0 else ~right) ^ total)) < 0
        mask = no_left | no_right
        return failing(_made(total, mask, kind), pa.array(wraps & ~mask), message)

    return kernel


def _minus(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A moment so much earlier, as Spark computes it: later by the negative, which the longest time does not have."""
    difference = _sum(-1, _TOO_FAR)(args, kind)
    (_, no_moment), (length, no_length) = _counts(args[0]), _counts(args[1])
    beyond = (length == _LEAST) & ~(no_moment | no_length)
    if not beyond.any():
        return difference
    values, failed = (
        (difference.values, difference.failed) if isinstance(difference, Partial) else (difference, None)
    )
    lost = failing(values, pa.array(beyond), _TOO_LONG)
    assert isinstance(lost, Partial)
    return Partial(lost.values, either(lost.failed, failed))


def _times(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """So many times as long."""
    (length, no_length), (count, no_count) = _counts(args[0]), _counts(args[1])
    with np.errstate(all="ignore"):
        product = length * count
        wraps = (length != 0) & (product // np.where(length == 0, 1, length) != count)
        wraps |= ((length == _LEAST) & (count == -1)) | ((length == -1) & (count == _LEAST))
    mask = no_length | no_count
    return failing(_made(product, mask, kind), pa.array(wraps & ~mask), _TOO_LONG)


def _over(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A part of a length, halves rounded away from zero."""
    (length, no_length), (count, no_count) = _counts(args[0]), _counts(args[1])
    mask = no_length | no_count
    zero, beyond = count == 0, (length == _LEAST) & (count == -1)
    safe = np.where(zero | beyond, 1, count)
    quotient = length // safe
    rest = length - quotient * safe
    # Rounded down so far: up where the rest is more than a half, or a half of what is positive.
    twice = np.abs(rest) > np.abs(safe) - np.abs(rest)
    half = np.abs(rest) == np.abs(safe) - np.abs(rest)
    rounded = quotient + (twice | (half & ((length < 0) == (safe < 0))))
    failed = (zero | beyond) & ~mask
    return failing(
        _made(rounded, mask, kind),
        pa.array(failed),
        lambda row: _BY_ZERO if zero[row % len(zero)] else _TOO_LONG,
    )


def _days_between(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """From the second date to the first."""
    (end, no_end), (start, no_start) = _counts(args[0]), _counts(args[1])
    days = end - start
    beyond = np.abs(days) > (2**63 - 1) // _DAY
    mask = no_end | no_start
    return failing(_made(np.where(beyond, 0, days) * _DAY, mask, kind), pa.array(beyond & ~mask), _LONG)


def _one_sided(compute: Callable[[Int64], Int64]) -> Kernel:
    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        length, mask = _counts(args[0])
        with np.errstate(over="ignore"):
            result = compute(length)
        return failing(_made(result, mask, kind), pa.array((length == _LEAST) & ~mask), _TOO_LONG)

    return kernel


def _sign(args: Sequence[Value], kind: ArrowType) -> Value:
    length, mask = _counts(args[0])
    return pa.array(np.sign(length).astype(np.float64), kind, mask=mask)


_PARTS: dict[str, tuple[int, int]] = {
    "DAY": (_DAY, 2**62),
    "HOUR": (_HOUR, 24),
    "MINUTE": (_MINUTE, 60),
    "SECOND": (1, _MINUTE),
}


def _part(args: Sequence[Value], kind: ArrowType) -> Value:
    """The days, hours, minutes or seconds of a length; of a negative one they are negative."""
    length, mask = _counts(args[0])
    unit, most = _PARTS[args[1].as_py()]
    part = np.fmod((length - np.fmod(length, unit)) // unit, most)
    if pa.types.is_decimal(kind):
        digits = pa.array(part, pa.int64(), mask=mask).cast(pa.decimal128(19, 0))
        return pc.multiply(digits, pa.scalar(Decimal("0.000001"), pa.decimal128(7, 6))).cast(kind)
    return pa.array(part, pa.int64(), mask=mask).cast(kind)


_FOUR: dict[str, Kernel] = {
    "duration_add": _sum(1, _TOO_LONG),
    "duration_subtract": _sum(-1, _TOO_LONG),
    "duration_times": _times,
    "duration_over": _over,
}
DURATIONS: dict[str, Kernel] = {
    **_FOUR,
    **{f"try_{name}": tried(kernel) for name, kernel in _FOUR.items()},
    "moment_plus": _sum(1, _TOO_FAR),
    "moment_minus": _minus,
    "moments_between": _sum(-1, _LONG),
    "days_between": _days_between,
    "duration_negative": _one_sided(np.negative),
    "duration_abs": _one_sided(np.abs),
    "duration_sign": _sign,
    "duration_part": _part,
}
