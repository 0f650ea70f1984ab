"""The order that Spark has among values of any type, as numbers: equal values have equal ranks, and greater ones greater."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Int64
from fff.dataflow.kernels.collections.parts import Parts, is_list
from fff.dataflow.kernels.values import Kernel, Value, as_array, column, length_of
from fff.schema import ArrowType

_COMPARE = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def ranks(values: pa.Array) -> Int64:
    """A rank for each value; -1 for NULL. NaN is above all numbers, and both zeros are one.

    Structs and arrays are compared part by part; in them NULL equals NULL, and is below everything.
    """
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), -1, np.int64)
    if pa.types.is_struct(kind):
        parts = [ranks(part) for part in values.flatten()]
        return _of_rows(np.stack(parts, 1) if parts else np.zeros((len(values), 1), np.int64), values)
    if is_list(kind):
        items = Parts.of(values)
        rows, places = items.rows, items.places
        matrix = np.full((len(values), int(items.lengths.max(initial=1))), -2, np.int64)
        matrix[rows, places] = ranks(items.values)
        return _of_rows(matrix, values)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_floating(kind):
        values = pc.add(values.cast(pa.float64()), 0.0)
        values = pc.if_else(pc.is_nan(values), pa.scalar(np.nan), values)
    coded = values.dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    places = np.empty(len(order) + 1, np.int64)
    places[order] = np.arange(len(order))
    places[-1] = -1
    ranked: Int64 = places[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)]
    return ranked


def _of_rows(matrix: Int64, values: pa.Array) -> Int64:
    """The ranks of the rows of a matrix."""
    if not len(matrix):
        return np.empty(0, np.int64)
    numbered = np.unique(matrix, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where(pc.is_valid(values).to_numpy(zero_copy_only=False), numbered, -1)


def together(*columns: pa.Array) -> list[Int64]:
    """The ranks of the values of several columns of one type among all of them."""
    ranked = ranks(pa.concat_arrays(columns))
    return np.split(ranked, np.cumsum([len(one) for one in columns])[:-1])


def compared(args: Sequence[Value], _: ArrowType) -> Value:
    """`left operator right`, unknown where one is NULL."""
    left, right = _ranked(args)
    return pa.array(_COMPARE[args[2].as_py()](left, right), mask=(left < 0) | (right < 0))


def identical(args: Sequence[Value], _: ArrowType) -> Value:
    """`left <=> right`."""
    left, right = _ranked(args)
    return pa.array(left == right)


def _ranked(args: Sequence[Value]) -> list[Int64]:
    length = length_of(args[:2])
    ranked = together(*(as_array(one) for one in args[:2]))
    return [np.broadcast_to(one, length) for one in ranked]


def extreme(args: Sequence[Value], kind: ArrowType, *, greatest: bool) -> Value:
    """The greatest or least of what is not NULL; of equal ones the first."""
    length = length_of(args)
    columns = [column(one, length) for one in args]
    ranked = np.stack(together(*columns))
    best = ranked.argmax(0) if greatest else np.where(ranked < 0, np.iinfo(np.int64).max, ranked).argmin(0)
    return pa.concat_arrays(columns).take(pa.array(best * length + np.arange(length))).cast(kind)


RANKS: dict[str, Kernel] = {"compared": compared, "identical": identical}
