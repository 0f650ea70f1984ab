"""Parts of structs, arrays and maps, and which of several values is the greatest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import numpy_mask
from fff.dataflow.kernels.collections.parts import aligned
from fff.dataflow.kernels.values import Failures, Kernel, Partial, Value, failing
from fff.schema import ArrowType


def _field(args: Sequence[Value], _: ArrowType) -> Value:
    return pc.struct_field(args[0], args[1].as_py())


def _element(args: Sequence[Value], _: ArrowType) -> Value | Partial:
    """`array[index]`, counted from 0."""
    items, places = aligned(args)
    places = pc.cast(places, pa.int64())
    valid = pc.and_(pc.is_valid(items), pc.is_valid(places))
    place = pc.fill_null(places, 0).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(items), 0).to_numpy(zero_copy_only=False)
    inside = (place >= 0) & (place < lengths)
    starts = items.offsets.to_numpy()[:-1]
    taken = items.values.take(pa.array(np.where(inside, starts + place, 0), mask=~inside))
    result = pc.if_else(valid, taken, pa.scalar(None, taken.type))

    def tell(row: int) -> str:
        return (
            f"[INVALID_ARRAY_INDEX] The index {place[row]} is out of bounds. "
            f"The array has {lengths[row]} elements."
        )

    return failing(result, pc.and_(valid, pa.array(~inside)), tell)


def _of_key(args: Sequence[Value], kind: ArrowType) -> Value:
    if not args[1].is_valid:
        return pa.nulls(len(args[0]), kind)
    return pc.map_lookup(args[0], args[1], "first")


def _at(args: Sequence[Value], kind: ArrowType, *, tries: bool) -> Value | Partial:
    """`element_at(array, place)`: counted from 1, or from the end where the place is negative."""
    items, places = aligned(args)
    lengths = pc.cast(pc.list_value_length(items), pa.int64())
    place = pc.cast(places, pa.int64())
    counted = pc.if_else(pc.less(place, 0), pc.add(place, lengths), pc.subtract(place, 1))
    zero = pc.and_(pc.equal(place, 0), pc.is_valid(items))
    # There is no place before the first.
    element = _element([items, pc.if_else(zero, pa.scalar(-1, pa.int64()), counted)], kind)
    values, failed = (element.values, element.failed) if isinstance(element, Partial) else (element, None)
    if failed is None:
        return values

    def tell(row: int) -> str:
        if place[row].as_py() == 0:
            return (
                "[INVALID_INDEX_OF_ZERO] The index 0 is invalid. An index shall be either < 0 or > 0 "
                "(the first element has index 1)."
            )
        return (
            f"[INVALID_ARRAY_INDEX_IN_ELEMENT_AT] The index {place[row]} is out of bounds. "
            f"The array has {lengths[row]} elements. Use `try_element_at` to tolerate accessing element "
            "at invalid index and return NULL instead."
        )

    failures = Failures(failed.rows, tell)
    return Partial(values, failures.where(numpy_mask(zero)) if tries else failures)


def _array(args: Sequence[Value], kind: ArrowType) -> Value:
    columns = aligned(args)
    length = len(columns[0])
    places = np.arange(length * len(args)).reshape(len(args), length).T.ravel()
    offsets = np.arange(0, length * len(args) + 1, len(args), dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(columns).take(pa.array(places)), type=kind)


def _size(args: Sequence[Value], kind: ArrowType) -> Value:
    lengths = np.diff(args[0].offsets.to_numpy()) if pa.types.is_map(args[0].type) else None
    if lengths is None:
        return pc.list_value_length(args[0]).cast(kind)
    return pa.array(lengths, kind, mask=pc.is_null(args[0]).to_numpy(zero_copy_only=False))


def _extreme(args: Sequence[Value], *, greatest: bool) -> Value:
    """The greatest or least of what is not NULL; NaN is above all, and of equal ones it is the first."""
    result, *others = args
    for other in others:
        left, right = (other, result) if greatest else (result, other)
        above = pc.greater(left, right)
        if pa.types.is_floating(result.type):
            above = pc.or_(above, pc.and_(pc.is_nan(left), pc.invert(pc.is_nan(right))))
        takes = pc.if_else(pc.is_null(other), pa.scalar(False), pc.fill_null(above, pa.scalar(True)))
        result = pc.if_else(takes, other, result)
    return result


NESTED: dict[str, Kernel] = {
    "field": _field,
    "element": _element,
    "of_key": _of_key,
    "element_at": lambda args, kind: _at(args, kind, tries=False),
    "try_element_at": lambda args, kind: _at(args, kind, tries=True),
    "array": _array,
    "isnan": lambda args, _: pc.fill_null(pc.is_nan(args[0]), fill_value=False),
    "size": _size,
    "greatest": lambda args, _: _extreme(args, greatest=True),
    "least": lambda args, _: _extreme(args, greatest=False),
}
