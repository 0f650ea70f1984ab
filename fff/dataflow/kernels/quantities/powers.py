"""Powers of doubles, to the last bit those of Java's `StrictMath`, which has to compute them as FDLIBM does."""

from __future__ import annotations

import numpy as np

from fff.dataflow.kernels.quantities.exponents import EVEN_PART, Doubles, high_half, kernel_of, polynomial

#: 1 / ln 2, 2 / (3 ln 2), ln 2 and log2 1.5, each whole or as a head with zeros at its end and the tail to it.
_PER_LN2, _PER_LN2_HEAD, _PER_LN2_TAIL = (
    1.44269504088896338700e00,
    1.44269502162933349609e00,
    1.92596299112661746887e-08,
)
_CP, _CP_HEAD, _CP_TAIL = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
_LN2, _LN2_HEAD, _LN2_TAIL = (
    6.93147180559945286227e-01,
    6.93147182464599609375e-01,
    -1.90465429995776804525e-09,
)
_LOG_HEAD, _LOG_TAIL = 5.84962487220764160156e-01, 1.35003920212974897128e-08
_LOGARITHM = (
    *(5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01),
    *(2.72728123808534006489e-01, 2.30660745775561754067e-01, 2.06975017800338417784e-01),
)
#: How far the greatest double lies below 2 to the 1024, as a logarithm.
_ROUNDED_DOWN = 8.0085662595372944372e-17
_HUGE = float.fromhex("0x1.00000ffffffffp31")
_BELOW_1, _ABOVE_1 = float.fromhex("0x1.fffff00000000p-1"), float.fromhex("0x1.00000ffffffffp0")
_LOWER = ~0xFFFFFFFF


def power(x: Doubles, y: Doubles) -> Doubles:
    """The first numbers to the power of the second ones."""
    x, y = np.broadcast_arrays(x, y)
    base, exponent = np.abs(x), np.abs(y)
    whole = np.floor(exponent) == exponent
    odd = whole & (exponent < 2.0**53) & (np.fmod(exponent, 2.0) == 1.0)
    below = np.signbit(x)
    sign = np.where(below & odd, -1.0, 1.0)
    usual = np.isfinite(x) & np.isfinite(y) & (base != 0.0) & (base != 1.0) & (y != 0.0)
    result = sign * _usual(np.where(usual, base, 2.0), np.where(usual, y, 1.0))
    edge = sign * np.where(y < 0.0, 1.0 / base, base)  # of 0, 1 and infinities
    result = np.where(usual, result, edge)
    result = np.where(below & ~whole & (x != 0.0) & ~np.isinf(x), np.nan, result)
    far = np.where((base > 1.0) == (y > 0.0), np.inf, 0.0)
    result = np.where(np.isinf(y), np.where(base == 1.0, np.nan, far), result)
    result = np.where(exponent == 1.0, np.where(y > 0.0, x, 1.0 / x), result)
    result = np.where(
        (y == 0.5) & (x >= -np.finfo(np.float64).max), np.sqrt(np.where(x < 0.0, np.nan, x) + 0.0), result
    )
    result = np.where(y == 2.0, x * x, result)
    return np.where(y == 0.0, 1.0, np.where(np.isnan(x) | np.isnan(y), np.nan, result))


def _head(numbers: Doubles) -> Doubles:
    """Numbers with zeros in the lower half of their bits."""
    return (np.ascontiguousarray(numbers).view(np.int64) & _LOWER).view(np.float64)


def _usual(base: Doubles, y: Doubles) -> Doubles:
    """Powers of finite numbers above 0 other than 1."""
    near, far = _logarithm_near_1(base), _logarithm(base)
    huge = np.abs(y) > _HUGE
    head, tail = (np.where(huge, one, other) for one, other in zip(near, far, strict=True))
    upper = _head(y)
    low, high = (y - upper) * head + y * tail, upper * head
    result = _exponential(high, low)
    beyond = np.where(y > 0.0, np.inf, 0.0)
    result = np.where(huge & (base > _ABOVE_1), beyond, result)
    return np.where(huge & (base < _BELOW_1), np.where(y > 0.0, 0.0, np.inf), result)


def _logarithm_near_1(base: Doubles) -> tuple[Doubles, Doubles]:
    """Head and tail of logarithms to the base 2 of numbers that are hardly other than 1."""
    t = base - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u, v = _PER_LN2_HEAD * t, t * _PER_LN2_TAIL - w * _PER_LN2
    head = _head(u + v)
    return head, v - (head - u)


def _logarithm(base: Doubles) -> tuple[Doubles, Doubles]:
    """Head and tail of logarithms to the base 2."""
    tiny = high_half(base) < 0x00100000
    base = np.where(tiny, base * 2.0**53, base)
    bits = high_half(base)
    mantissa = bits & 0x000FFFFF
    middle = (mantissa > 0x3988E) & (mantissa < 0xBB67A)  # between the roots of 1.5 and 3
    above = mantissa >= 0xBB67A
    exponent = ((bits >> 20) - 0x3FF - np.where(tiny, 53, 0) + above).astype(np.float64)
    bits = (mantissa | 0x3FF00000) - np.where(above, 0x00100000, 0)
    base = ((base.view(np.int64) & 0xFFFFFFFF) | (bits << 32)).view(np.float64)
    point = np.where(middle, 1.5, 1.0)
    u, v = base - point, 1.0 / (base + point)
    ratio = u * v
    head = _head(ratio)
    sum_head = ((((bits >> 1) | 0x20000000) + 0x00080000 + np.where(middle, 1 << 18, 0)) << 32).view(
        np.float64
    )
    sum_tail = base - (sum_head - point)
    tail = v * ((u - head * sum_head) - head * sum_tail)
    square = ratio * ratio
    rest = square * square * polynomial(square, _LOGARITHM)
    rest = rest + tail * (head + ratio)
    square = head * head
    sum_head = _head(3.0 + square + rest)
    sum_tail = rest - ((sum_head - 3.0) - square)
    u, v = head * sum_head, tail * sum_head + sum_tail * ratio
    head = _head(u + v)
    tail = v - (head - u)
    log_head, log_tail = np.where(middle, _LOG_HEAD, 0.0), np.where(middle, _LOG_TAIL, 0.0)
    high, low = _CP_HEAD * head, _CP_TAIL * head + tail * _CP + log_tail
    head = _head(((high + low) + log_head) + exponent)
    return head, low - (((head - exponent) - log_head) - high)


def _exponential(high: Doubles, low: Doubles) -> Doubles:
    """2 to the sum of two numbers."""
    z = low + high
    over = (z > 1024.0) | ((z == 1024.0) & (low + _ROUNDED_DOWN > z - high))
    under = (z < -1075.0) | ((z == -1075.0) & (low <= z - high))
    inside = ~(over | under)
    high, low, z = (np.where(inside, one, 0.0) for one in (high, low, z))
    size = np.abs(_head(z))
    whole = np.where(size > 0.5, np.copysign(np.floor(size + 0.5), z), 0.0)
    high = high - whole
    t = _head(low + high)
    u, v = t * _LN2_HEAD, (low - (t - high)) * _LN2 + t * _LN2_TAIL
    z = u + v
    w = v - (z - u)
    t = z * z
    c = z - t * polynomial(t, EVEN_PART)
    r = (z * c) / (c - 2.0) - (w + z * w)
    result = np.ldexp(1.0 - (r - z), whole.astype(np.int32))
    return np.where(over, np.inf, np.where(under, 0.0, result))


POWERS = {"pow": kernel_of(power, positive=False)}
