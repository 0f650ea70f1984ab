"""Functions of one number: with fewer digits, and those whose last digits are not Java's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, failing
from fff.schema import ArrowType

#: Doubles hold whole numbers up to here, and powers of ten up to this exponent.
_EXACT_WHOLE, _EXACT_POWER = 2.0**53, 22
_WIDE = Context(prec=800)
#: As Java has them.
_DEGREES, _RADIANS = 57.29577951308232, 0.017453292519943295


def _rounded(exactly: str, of_arrow: str) -> Kernel:
    """Rounds decimals, and doubles as the decimals that they are written as."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        value, digits = as_array(args[0]), args[1].as_py()
        if pa.types.is_decimal(kind):
            wide = value.cast(pa.decimal256(76, value.type.scale))
            return pc.round(wide, ndigits=digits, round_mode=of_arrow).cast(kind)
        numbers = value.to_numpy(zero_copy_only=False)
        with np.errstate(all="ignore"):
            scaled = np.abs(numbers) * 10.0**digits
            whole = np.floor(scaled)
            rest = scaled - whole
            # Near a half, and where products are not exact, the digits decide.
            plain = (scaled < _EXACT_WHOLE / 8) & (np.abs(rest - 0.5) > 1e-3)
            rounded = np.copysign((whole + (rest > 0.5)) / 10.0**digits, numbers)
        unclear = np.isfinite(numbers) & ~plain
        for number in np.unique(numbers[unclear]):
            step = Decimal(1).scaleb(-digits)
            exact = float(Decimal(repr(float(number))).quantize(step, rounding=exactly, context=_WIDE))
            rounded[numbers == number] = exact
        rounded = np.where(np.isfinite(numbers), rounded, numbers)
        return pa.array(rounded + 0.0, kind, mask=pc.is_null(value).to_numpy(zero_copy_only=False))

    return kernel


def _whole(cut: Callable[..., Value], mode: str) -> Kernel:
    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        value = as_array(args[0])
        if pa.types.is_decimal(kind):
            wide = value.cast(pa.decimal256(76, value.type.scale))
            return pc.round(wide, ndigits=0, round_mode=mode).cast(kind)
        numbers = cut(value).to_numpy(zero_copy_only=False)
        with np.errstate(all="ignore"):
            numbers = np.where(np.isnan(numbers), 0.0, numbers)
            inside = (numbers >= -(2.0**63)) & (numbers < 2.0**63)
        mask = pc.is_null(value).to_numpy(zero_copy_only=False)
        integers = pa.array(np.where(inside, numbers, 0.0).astype(np.int64), kind, mask=mask)
        return failing(integers, pa.array(~inside & ~mask), "[ARITHMETIC_OVERFLOW] overflow.")

    return kernel


def _sqrt(args: Sequence[Value], _: ArrowType) -> Value:
    return pc.sqrt(args[0])


def _sign(args: Sequence[Value], kind: ArrowType) -> Value:
    numbers = as_array(args[0]).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        signs = np.where(numbers == 0, numbers, np.sign(numbers))
    return pa.array(signs, kind, mask=pc.is_null(args[0]).to_numpy(zero_copy_only=False))


def _scaled(factor: float) -> Kernel:
    return lambda args, _: pc.multiply(args[0], pa.scalar(factor, pa.float64()))


def _factorial(args: Sequence[Value], kind: ArrowType) -> Value:
    numbers = as_array(args[0])
    factorials = pa.array([math.factorial(number) for number in range(21)], pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, len(factorials)))
    return factorials.take(pc.if_else(inside, numbers, pa.scalar(None, numbers.type))).cast(kind)


def _bits(args: Sequence[Value], kind: ArrowType) -> Value:
    numbers = as_array(args[0]).cast(pa.int64())
    counts = np.bitwise_count(pc.fill_null(numbers, 0).to_numpy().view(np.uint64))
    return pa.array(counts, kind, mask=pc.is_null(numbers).to_numpy(zero_copy_only=False))


ROUNDING: dict[str, Kernel] = {
    "round": _rounded(ROUND_HALF_UP, "half_towards_infinity"),
    "bround": _rounded(ROUND_HALF_EVEN, "half_to_even"),
    "floor": _whole(pc.floor, "down"),
    "ceil": _whole(pc.ceil, "up"),
    "sqrt": _sqrt,
    "sign": _sign,
    "rint": lambda args, _: pc.round(args[0], round_mode="half_to_even"),
    "degrees": _scaled(_DEGREES),
    "radians": _scaled(_RADIANS),
    "factorial": _factorial,
    "bit_count": _bits,
}
