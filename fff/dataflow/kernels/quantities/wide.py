"""Decimals of so many digits that no column holds what is computed on the way: each different pair of them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import numpy_mask
from fff.dataflow.kernels.arithmetic import DIVIDE_BY_ZERO, REMAINDER_BY_ZERO, tried
from fff.dataflow.kernels.collections.parts import aligned
from fff.dataflow.kernels.collections.ranks import ranks
from fff.dataflow.kernels.texts import fitted
from fff.dataflow.kernels.values import Failures, Kernel, Partial, Value, either
from fff.schema import ArrowType

#: Spark reckons exactly, but for products, which it cuts after so many digits, and quotients, after so many places; what
#: comes out is rounded to the result's own places (`Decimal.MATH_CONTEXT`).
_EXACT = Context(prec=300, rounding=ROUND_HALF_UP)
_PRODUCT = Context(prec=39, rounding=ROUND_DOWN)
_QUOTIENT_STEP = Decimal(1).scaleb(-39)


def _divided(one: Decimal, other: Decimal) -> Decimal:
    return _EXACT.divide(one, other).quantize(_QUOTIENT_STEP, ROUND_DOWN, context=_EXACT)


def _positive_rest(one: Decimal, other: Decimal) -> Decimal:
    rest = _EXACT.remainder(one, other)
    return _EXACT.remainder(_EXACT.add(rest, other), other) if rest < 0 else rest


_COMPUTE: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": _EXACT.add,
    "subtract": _EXACT.subtract,
    "multiply": _PRODUCT.multiply,
    "divide": _divided,
    "remainder": _EXACT.remainder,
    "pmod": _positive_rest,
}
_BY_ZERO = {"divide": DIVIDE_BY_ZERO, "remainder": REMAINDER_BY_ZERO, "pmod": REMAINDER_BY_ZERO}


def _kernel(name: str) -> Kernel:
    compute = _COMPUTE[name]

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        left, right = aligned(args)
        valid = numpy_mask(pc.and_(pc.is_valid(left), pc.is_valid(right)))
        zero = numpy_mask(pc.equal(right, pa.scalar(Decimal(0), right.type))) & valid & (name in _BY_ZERO)
        [rows] = np.nonzero(valid & ~zero)
        pairs = np.stack([ranks(one)[rows] for one in (left, right)], 1)
        _, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        exact = [compute(left[row].as_py(), right[row].as_py()) for row in rows[first].tolist()]
        made = pa.array([fitted(one, kind) for one in exact], kind)
        places = np.full(len(valid), -1)
        places[rows] = place.reshape(-1)
        result = made.take(pa.array(places, mask=places < 0))
        beyond = valid & ~zero & pc.is_null(result).to_numpy(zero_copy_only=False)

        def tell(row: int) -> str:
            shown = format(exact[places[row]], "f")
            return (
                f"[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] The value {shown} cannot be represented as "
                f"Decimal({kind.precision}, {kind.scale})."
            )

        failed = either(
            Failures(zero, lambda _: _BY_ZERO[name]) if zero.any() else None,
            Failures(beyond, tell) if beyond.any() else None,
        )
        return result if failed is None else Partial(result, failed)

    return kernel


WIDE: dict[str, Kernel] = {f"wide_{name}": _kernel(name) for name in _COMPUTE}
WIDE |= {f"try_{name}": tried(kernel) for name, kernel in WIDE.items() if name != "wide_pmod"}
