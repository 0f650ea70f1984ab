"""Numbers as Spark computes with them under ANSI rules: whole numbers do not wrap around, and nothing divides by zero.

Both arguments are of one type. Decimals come with the result type that Spark gives the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fff.dataflow.arrays import Bools, numpy_mask
from fff.dataflow.kernels import decimals
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, failing
from fff.schema import ArrowType

DIVIDE_BY_ZERO = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead."
)
REMAINDER_BY_ZERO = "[REMAINDER_BY_ZERO] Remainder by zero. Use `try_mod` to tolerate divisor being 0 and return NULL instead."
_OVERFLOW = {
    8: "[BINARY_ARITHMETIC_OVERFLOW] the result does not fit into a tinyint.",
    16: "[BINARY_ARITHMETIC_OVERFLOW] the result does not fit into a smallint.",
    32: "[ARITHMETIC_OVERFLOW] integer overflow.",
    64: "[ARITHMETIC_OVERFLOW] long overflow.",
}
_CHECKED = {"add": pc.add_checked, "subtract": pc.subtract_checked, "multiply": pc.multiply_checked}
_PLAIN = {"add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply}


def _computed(name: str, args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    left, right = args
    if pa.types.is_floating(kind):
        return _PLAIN[name](left, right)
    if pa.types.is_decimal(kind):
        return _decimal(name, left, right, kind)
    try:
        return _CHECKED[name](left, right)
    except pa.ArrowInvalid:  # some row overflows: find which
        result = _PLAIN[name](left, right)
        return _without(result, _overflows(name, _ints(left), _ints(right), kind), kind)


def _overflows(
    name: str, left: NDArray[np.int64], right: NDArray[np.int64], kind: ArrowType
) -> NDArray[np.bool_]:
    """Where the result is beyond the type."""
    with np.errstate(all="ignore"):
        if name == "add":
            result = left + right
            wraps = ((left ^ result) & (right ^ result)) < 0
        elif name == "subtract":
            result = left - right
            wraps = ((left ^ right) & (left ^ result)) < 0
        else:
            result = left * right
            nonzero = np.where(left == 0, 1, left)
            wraps = (left != 0) & ((result // nonzero != right) | ((left == -1) & (right == -(2**63))))
    half = 1 << (kind.bit_width - 1)
    return np.asarray(wraps | (result < -half) | (result > half - 1))


def _without(result: Value, bad: Bools, kind: ArrowType) -> Value | Partial:
    """The result, but for rows beyond the type; NULL does not fail."""
    rows = pc.and_(pa.array(np.broadcast_to(bad, len(result))), pc.is_valid(result))
    return failing(result, rows, _OVERFLOW[kind.bit_width])


def _ints(value: Value) -> NDArray[np.int64]:
    if isinstance(value, pa.Scalar):
        return np.array([value.as_py() or 0], np.int64)
    integers: NDArray[np.int64] = pc.fill_null(value, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return integers


def _decimal(name: str, left: Value, right: Value, kind: ArrowType) -> Value:
    """Exact: the planner leaves to Spark what needs more than 38 digits."""
    result = _PLAIN[name](left, right)
    return result if result.type == kind else result.cast(kind)


def _divide(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    left, right = args
    if pa.types.is_decimal(kind):
        return _of_decimals(decimals.quotient, args, kind, DIVIDE_BY_ZERO)
    zero = pc.and_(pc.equal(right, pa.scalar(0.0)), pc.is_valid(left))
    return failing(_array(pc.divide(left, right), left, right), _array(zero, left, right), DIVIDE_BY_ZERO)


def _of_decimals(
    compute: Callable[[pa.Array, pa.Array, ArrowType], pa.Array],
    args: Sequence[Value],
    kind: ArrowType,
    by_zero: str,
) -> Value | Partial:
    left, right, zero = decimals.sides(*args)
    return failing(compute(left, right, kind), pc.and_(zero, pc.is_valid(left)), by_zero)


def _array(value: Value, *among: Value) -> pa.Array:
    """A value as a column, where one of the arguments is one."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, next(len(one) for one in among if isinstance(one, pa.Array)))
    return value


def _integral(args: Sequence[Value], kind: ArrowType, *, quotient: bool) -> Value | Partial:
    """`div`, or the remainder with the sign of the dividend, of whole numbers."""
    left, right = args
    if pa.types.is_decimal(left.type):
        return _of_decimals(
            lambda one, other, _: decimals.whole_quotient(one, other), args, kind, DIVIDE_BY_ZERO
        )
    if isinstance(right, pa.Scalar) and right.as_py() not in {None, 0, -1}:
        whole = pc.divide(left, right)
        return whole if quotient else pc.subtract(left, pc.multiply(whole, right))
    zero = pc.equal(right, pa.scalar(0, right.type))
    safe = pc.if_else(zero, pa.scalar(1, right.type), right)
    if quotient:
        message, overflow = (
            DIVIDE_BY_ZERO,
            pc.and_(
                pc.equal(right, pa.scalar(-1, right.type)), pc.equal(left, pa.scalar(-(2**63), left.type))
            ),
        )
        safe = pc.if_else(overflow, pa.scalar(1, right.type), safe)
        result = pc.divide(left, safe)
    else:
        message, overflow = REMAINDER_BY_ZERO, None
        # By -1 there is no remainder, and the smallest number has no quotient.
        safe = pc.if_else(pc.equal(safe, pa.scalar(-1, right.type)), pa.scalar(1, right.type), safe)
        result = pc.subtract(left, pc.multiply(pc.divide(left, safe), safe))
    result = _array(result, left, right)
    failed = _array(pc.and_(zero, pc.is_valid(left)), left, right)
    if overflow is None:
        return failing(result, failed, message)
    beyond = numpy_mask(_array(overflow, left, right))
    return failing(
        result,
        pc.or_kleene(failed, pa.array(beyond)),
        lambda row: _OVERFLOW[kind.bit_width] if beyond[row] else message,
    )


def _remainder(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    left, right = args
    if pa.types.is_integer(kind):
        return _integral(args, kind, quotient=False)
    if pa.types.is_decimal(kind):
        return _of_decimals(decimals.remainder, args, kind, REMAINDER_BY_ZERO)
    with np.errstate(all="ignore"):
        remainders = np.fmod(_floats(left), _floats(right))
    valid = _array(pc.and_(pc.is_valid(left), pc.is_valid(right)), left, right)
    result = pc.if_else(valid, pa.array(remainders, kind), pa.scalar(None, kind))
    zero = pc.and_(pc.equal(right, pa.scalar(0.0, right.type)), pc.is_valid(left))
    return failing(result, _array(zero, left, right), REMAINDER_BY_ZERO)


def _positive_remainder(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """`pmod`: the remainder; where that is negative, the remainder of it and the divisor together."""
    first = _remainder(args, kind)
    rest, failed = (first.values, first.failed) if isinstance(first, Partial) else (first, None)
    left, right = as_array(rest), args[1]
    negative = pc.less(left, pa.scalar(0, pa.int8()))
    if not pc.any(negative).as_py():
        return first
    if pa.types.is_integer(kind):  # sums of ints and bigints wrap around here
        wide = max(kind, pa.int32(), key=lambda one: one.bit_width)
        total = pa.array(_ints(left) + _ints(right)).cast(wide, safe=False)
        right = right.cast(wide)
    else:
        total = pc.add(left, right)
    if pa.types.is_decimal(kind):
        one, other, _ = decimals.sides(pc.if_else(negative, total, pa.scalar(None, total.type)), right)
        second: Value | Partial = decimals.remainder(one, other, kind)
    else:
        second = _remainder((total, right), total.type)
    positive = second.values if isinstance(second, Partial) else second
    positive = positive.cast(kind) if positive.type != kind else positive
    result = pc.if_else(negative, positive, left)
    return result if failed is None else Partial(result, failed)


def _bits(compute: Callable[..., Value]) -> Kernel:
    return lambda args, _: compute(*args)


def _shifted(compute: np.ufunc) -> Kernel:
    """Shifts by as many bits as the count says in the type's own width, as Java does."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        values, count = as_array(args[0]), args[1].as_py()
        if count is None:
            return pa.nulls(len(values), kind)
        mask = pc.is_null(values).to_numpy(zero_copy_only=False)
        numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
        by = numbers.dtype.type(count % kind.bit_width)
        return pa.array(compute(numbers, by), kind, mask=mask)

    return kernel


def tried(kernel: Kernel) -> Kernel:
    """The same with NULL where it fails."""

    def kernel_of_try(args: Sequence[Value], kind: ArrowType) -> Value:
        result = kernel(args, kind)
        return result.values if isinstance(result, Partial) else result

    return kernel_of_try


def _floats(value: Value) -> NDArray[np.float64]:
    if isinstance(value, pa.Scalar):
        return np.array(0.0 if value.as_py() is None else value.as_py(), value.type.to_pandas_dtype())
    doubles: NDArray[np.float64] = value.to_numpy(zero_copy_only=False)
    return doubles


def _negative(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    [value] = args
    return _one_sided(pc.negate, value, kind)


def _absolute(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    [value] = args
    return _one_sided(pc.abs, value, kind)


def _one_sided(compute: Callable[[Value], Value], value: Value, kind: ArrowType) -> Value | Partial:
    """The smallest whole number has no counterpart."""
    result = compute(value)
    if not pa.types.is_integer(kind):
        return result
    least = pc.equal(value, pa.scalar(-(1 << (kind.bit_width - 1)), kind))
    return failing(result, least, _OVERFLOW[max(kind.bit_width, 32)])  # bytes too fail as whole numbers do


_FOUR: dict[str, Kernel] = {
    "add": partial(_computed, "add"),
    "subtract": partial(_computed, "subtract"),
    "multiply": partial(_computed, "multiply"),
    "divide": _divide,
    "remainder": _remainder,
}
ARITHMETIC: dict[str, Kernel] = {
    **_FOUR,
    **{f"try_{name}": tried(kernel) for name, kernel in _FOUR.items()},
    "pmod": _positive_remainder,
    "bit_and": _bits(pc.bit_wise_and),
    "bit_or": _bits(pc.bit_wise_or),
    "bit_xor": _bits(pc.bit_wise_xor),
    "bit_not": _bits(pc.bit_wise_not),
    "shiftleft": _shifted(np.left_shift),
    "shiftright": _shifted(np.right_shift),
    "div": partial(_integral, quotient=True),
    "negative": _negative,
    "abs": _absolute,
}
