"""Exponentials and logarithms of doubles, to the last bit those of Java's `StrictMath`, which has to compute them as FDLIBM does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fff.dataflow.kernels.values import Kernel, Value, as_array, length_of
from fff.schema import ArrowType

Doubles = NDArray[np.float64]

#: ln 2 in two parts, the first with zeros at its end, so that its products with exponents are exact.
_LN2_HIGH, _LN2_LOW, _PER_LN2 = (
    6.93147180369123816490e-01,
    1.90821492927058770002e-10,
    1.44269504088896338700e00,
)
_LOG2_HIGH, _LOG2_LOW, _PER_LN10 = (
    3.01029995663611771306e-01,
    3.69423907715893078616e-13,
    4.34294481903251816668e-01,
)
#: Beyond these the exponential is infinite or 0.
_GREATEST, _LEAST = 7.09782712893383973096e02, -7.45133219101941108420e02
#: Of the even part of the exponential, and of the two halves of the odd part of the logarithm.
EVEN_PART = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05),
    *(-1.65339022054652515390e-06, 4.13813679705723846039e-08),
)
_LOGARITHM = (
    (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01),
    (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01),
)
_TWO_54 = 2.0**54


def polynomial(at: Doubles, coefficients: Sequence[float]) -> Doubles:
    """The sum of powers of numbers with these factors, the first of which is of none."""
    return reduce(lambda sum_, one: one + at * sum_, coefficients[-2::-1], np.full_like(at, coefficients[-1]))


def high_half(numbers: Doubles) -> NDArray[np.int64]:
    """The upper half of the bits."""
    return numbers.view(np.int64) >> 32


def exponential(numbers: Doubles) -> Doubles:
    """The base of natural logarithms to these powers."""
    x = np.where(np.isfinite(numbers), np.clip(numbers, _LEAST, _GREATEST), 0.0)
    size, up = high_half(np.abs(x)), x >= 0
    near = size < 0x3FF0A2B2  # one and a half times ln 2
    whole = np.trunc(np.where(near, np.where(up, 1.0, -1.0), _PER_LN2 * x + np.where(up, 0.5, -0.5)))
    whole = np.where(size > 0x3FD62E42, whole, 0.0)  # a half of ln 2
    high, low = x - whole * _LN2_HIGH, whole * _LN2_LOW
    rest = np.where(whole == 0, x, high - low)
    square = rest * rest
    c = rest - square * polynomial(square, EVEN_PART)
    plain = 1.0 - ((rest * c) / (c - 2.0) - rest)
    shifted = np.ldexp(1.0 - ((low - (rest * c) / (2.0 - c)) - high), whole.astype(np.int32))
    result = np.where(size < 0x3E300000, 1.0 + x, np.where(whole == 0, plain, shifted))
    result = np.where(numbers > _GREATEST, np.inf, np.where(numbers < _LEAST, 0.0, result))
    return np.where(np.isnan(numbers), np.nan, result)


def _split(x: Doubles) -> tuple[Doubles, Doubles]:
    """The exponents of positive numbers, and what is left of these, from 1 on and below 2."""
    tiny = high_half(x) < 0x00100000
    x = np.where(tiny, x * _TWO_54, x)
    exponent = (high_half(x) >> 20) - 1023 - np.where(tiny, 54, 0)
    bits = x.view(np.int64) & 0x000FFFFFFFFFFFFF
    return exponent.astype(np.float64), (bits | 0x3FF0000000000000).view(np.float64)


def logarithm(numbers: Doubles) -> Doubles:
    """The natural logarithms of positive numbers, finite or not."""
    exponent, x = _split(np.where(np.isfinite(numbers), numbers, 1.0))
    upper = high_half(x) & 0x000FFFFF
    halved = ((upper + 0x95F64) & 0x100000) != 0  # from the root of 2 on
    f = np.where(halved, x * 0.5, x) - 1.0
    k = exponent + halved
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * polynomial(w, _LOGARITHM[1]) + z * polynomial(w, _LOGARITHM[0])
    half = 0.5 * f * f
    inside = ((upper - 0x6147A) | (0x6B851 - upper)) > 0
    wide = np.where(
        k == 0,
        f - (half - s * (half + odd)),
        k * _LN2_HIGH - ((half - (s * (half + odd) + k * _LN2_LOW)) - f),
    )
    narrow = np.where(k == 0, f - s * (f - odd), k * _LN2_HIGH - ((s * (f - odd) - k * _LN2_LOW) - f))
    small = f * f * (0.5 - 0.33333333333333333 * f)
    tiny = np.where(k == 0, f - small, k * _LN2_HIGH - ((small - k * _LN2_LOW) - f))
    tiny = np.where(f == 0, np.where(k == 0, 0.0, k * _LN2_HIGH + k * _LN2_LOW), tiny)
    result = np.where((0x000FFFFF & (2 + upper)) < 3, tiny, np.where(inside, wide, narrow))
    return np.where(np.isfinite(numbers), result, numbers)


def _logarithm_of_ten(numbers: Doubles) -> Doubles:
    exponent, x = _split(np.where(np.isfinite(numbers), numbers, 1.0))
    below = exponent < 0
    y = exponent + below
    low = y * _LOG2_LOW + _PER_LN10 * logarithm(np.where(below, x * 0.5, x))
    return np.where(np.isfinite(numbers), low + y * _LOG2_HIGH, numbers)


def kernel_of(compute: Callable[..., Doubles], *, positive: bool) -> Kernel:
    """A function of doubles; `positive`: NULL of what is not above 0."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        length = length_of(args)
        null = np.zeros(length, np.bool_)
        operands = []
        for one in map(as_array, args):
            numbers = pc.fill_null(one, 1.0).to_numpy(zero_copy_only=False)
            outside = numbers <= 0 if positive else np.zeros(len(numbers), np.bool_)
            null = null | pc.is_null(one).to_numpy(zero_copy_only=False) | outside
            operands.append(np.where(outside, 1.0, numbers))
        with np.errstate(all="ignore"):
            return pa.array(np.broadcast_to(compute(*operands), length), kind, mask=null)

    return kernel


EXPONENTS: dict[str, Kernel] = {
    "exp": kernel_of(exponential, positive=False),
    "ln": kernel_of(logarithm, positive=True),
    "log10": kernel_of(_logarithm_of_ten, positive=True),
    "log2": kernel_of(lambda one: logarithm(one) / logarithm(np.array([2.0])), positive=True),
    "log": kernel_of(lambda base, one: logarithm(one) / logarithm(base), positive=True),
}
