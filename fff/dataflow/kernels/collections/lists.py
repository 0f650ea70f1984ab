"""Functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.collections.parts import Parts, aligned, appended, made
from fff.dataflow.kernels.collections.ranks import ranks, together
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, failing, of_type, valid_rows
from fff.schema import ArrowType


def _firsts(rows: Int64, codes: Int64) -> Int64:
    """The first of the elements that are alike in one row, in their order."""
    keys = rows * (int(codes.max(initial=-1)) + 2) + codes + 1
    return np.sort(np.unique(keys, return_index=True)[1])


def _distinct(args: Sequence[Value], _: ArrowType) -> Value:
    items = Parts.of(args[0])
    return items.taken(_firsts(items.rows, ranks(items.values)))


def _union(args: Sequence[Value], kind: ArrowType) -> Value:
    items = Parts.of(_concatenated(args, kind))
    return items.taken(_firsts(items.rows, ranks(items.values)))


def _among(left: Parts, right: Parts) -> tuple[Int64, Bools]:
    """The ranks of the elements on the left, and whether the array on the right of the same row has them."""
    one, other = together(left.values, right.values)
    width = int(max(one.max(initial=-1), other.max(initial=-1))) + 2
    return one, np.isin(left.rows * width + one + 1, right.rows * width + other + 1)


def _common(args: Sequence[Value], _: ArrowType, *, among: bool) -> Value:
    """`array_intersect`, or `array_except`: the different elements that are among those on the right, or not."""
    left, right = map(Parts.of, aligned(args))
    codes, there = _among(left, right)
    first = _firsts(left.rows, codes)
    return left.taken(first[there[first] == among], left.valid & right.valid)


def _overlap(args: Sequence[Value], _: ArrowType) -> Value:
    """Whether two arrays share an element that is not NULL; unknown where one has a NULL and none is empty."""
    left, right = map(Parts.of, aligned(args))
    codes, there = _among(left, right)
    length = len(left.lengths)
    shared = np.bincount(left.rows[there & (codes >= 0)], minlength=length) > 0
    null = (_nulls(left) | _nulls(right)) & (left.lengths > 0) & (right.lengths > 0)
    return pa.array(shared, mask=~(left.valid & right.valid) | (~shared & null))


def _nulls(items: Parts) -> Bools:
    """Which rows have a NULL among their elements."""
    null = pc.is_null(items.values).to_numpy(zero_copy_only=False)
    with_null: Bools = np.bincount(items.rows[null], minlength=len(items.lengths)) > 0
    return with_null


def _equal(items: Parts, wanted: pa.Array) -> Bools:
    """Which elements are equal to the value of their row; NULL is equal to none."""
    one, other = together(items.values, wanted)
    other = other[items.rows]
    equal: Bools = (one == other) & (one >= 0)
    return equal


def _contains(args: Sequence[Value], _: ArrowType) -> Value:
    """Whether an array holds a value; unknown where it holds a NULL instead, and of NULLs."""
    whole, wanted = aligned(args)
    items = Parts.of(whole)
    holds = np.bincount(items.rows[_equal(items, wanted)], minlength=len(whole)) > 0
    known = items.valid & valid_rows(wanted, len(whole))
    return pa.array(holds, mask=~known | (~holds & _nulls(items)))


def _position(args: Sequence[Value], _: ArrowType) -> Value:
    """The place of the first element that is equal to a value, from 1; 0 where there is none."""
    whole, wanted = aligned(args)
    items = Parts.of(whole)
    equal = np.flatnonzero(_equal(items, wanted))
    positions = np.zeros(len(whole), np.int64)
    positions[items.rows[equal][::-1]] = items.places[equal][::-1] + 1
    return pa.array(positions, mask=~(items.valid & valid_rows(wanted, len(whole))))


def _removed(args: Sequence[Value], _: ArrowType) -> Value:
    """An array without the elements that are equal to a value."""
    whole, wanted = aligned(args)
    items = Parts.of(whole)
    known = items.valid & valid_rows(wanted, len(whole))
    return items.taken(np.flatnonzero(~_equal(items, wanted)), known)


def _compact(args: Sequence[Value], _: ArrowType) -> Value:
    items = Parts.of(args[0])
    return items.where(pc.is_valid(items.values).to_numpy(zero_copy_only=False))


def _extreme(args: Sequence[Value], kind: ArrowType, *, greatest: bool) -> Value:
    """The greatest or least element that is not NULL, of equal ones the first."""
    items = Parts.of(args[0])
    value_ranks = ranks(items.values)
    [there] = np.nonzero(value_ranks >= 0)
    order = there[
        np.lexsort((there, -value_ranks[there] if greatest else value_ranks[there], items.rows[there]))
    ]
    rows, first = np.unique(items.rows[order], return_index=True)
    places = np.full(len(items.lengths), -1, np.int64)
    places[rows] = order[first]
    return of_type(items.values.take(pa.array(places, mask=places < 0)), kind)


def _sorted(args: Sequence[Value], _: ArrowType) -> Value:
    """Elements from the least to the greatest, or the other way round; NULLs before all or behind all."""
    items, descending, nulls_first = Parts.of(args[0]), args[1].as_py(), args[2].as_py()
    value_ranks = ranks(items.values)
    null = value_ranks < 0
    value_ranks = np.where(null, 0, -value_ranks if descending else value_ranks)
    return items.taken(np.lexsort((value_ranks, ~null if nulls_first else null, items.rows)))


def _reversed(args: Sequence[Value], _: ArrowType) -> Value:
    items = Parts.of(args[0])
    return items.taken(np.lexsort((-items.places, items.rows)))


def _concatenated(args: Sequence[Value], _: ArrowType) -> Value:
    parts = [Parts.of(one) for one in aligned(args)]
    valid = np.logical_and.reduce([one.valid for one in parts])
    values, lengths = appended(parts, valid)
    return made(values, lengths, valid)


def _added(args: Sequence[Value], kind: ArrowType, *, front: bool) -> Value:
    """An array with one element more, at its end or its front."""
    whole, one = aligned(args)
    items = Parts.of(whole)
    single = Parts(one, np.ones(len(one), np.int64), np.ones(len(one), np.bool_))
    values, lengths = appended([single, items] if front else [items, single], items.valid)
    return made(values, lengths, items.valid, kind)


def _inserted(args: Sequence[Value], kind: ArrowType) -> Value:
    """An array with one element more at a place, which is a constant; NULLs fill what is between."""
    whole, one = aligned([args[0], args[2]])
    items, place = Parts.of(whole), args[1].as_py()
    if place > 0:
        lengths = np.maximum(items.lengths + 1, place)
        at = np.full(len(whole), place - 1)
    else:
        lengths = np.maximum(items.lengths + 1, -place)
        at = lengths + place
    starts = np.cumsum(lengths) - lengths
    source = np.full(int(lengths.sum()), -1, np.int64)
    # Before the place from the front, behind it from the end.
    before = (
        items.places < at[items.rows] if place > 0 else items.places < (items.lengths + 1 + place)[items.rows]
    )
    from_end = lengths[items.rows] - items.lengths[items.rows] + items.places
    source[starts[items.rows] + np.where(before, items.places, from_end)] = np.arange(len(items.values))
    source[starts + at] = len(items.values) + np.arange(len(whole))
    keep = items.valid[np.repeat(np.arange(len(whole)), lengths)]
    source = source[keep]
    values = pa.concat_arrays([items.values, one]).take(pa.array(source, mask=source < 0))
    return made(values, lengths, items.valid, kind)


def _repeated(args: Sequence[Value], kind: ArrowType) -> Value:
    """An array of one value, a constant number of times."""
    one, count = as_array(args[0]), args[1].as_py()
    lengths = np.full(len(one), max(count, 0))
    return made(
        one.take(pa.array(np.repeat(np.arange(len(one)), lengths))),
        lengths,
        np.ones(len(one), np.bool_),
        kind,
    )


def _slice(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    whole, start, count = aligned(args)
    items = Parts.of(whole)
    known = items.valid & valid_rows(start, len(whole)) & valid_rows(count, len(whole))
    first, many = (
        pc.fill_null(one, 1).to_numpy(zero_copy_only=False).astype(np.int64) for one in (start, count)
    )
    from_zero = np.where(first > 0, first - 1, first + items.lengths)
    inside = (from_zero >= 0) & known
    kept = (items.places >= from_zero[items.rows]) & (items.places < (from_zero + many)[items.rows])
    result = items.taken(np.flatnonzero(kept & inside[items.rows]), known)
    bad = known & ((first == 0) | (many < 0))

    def tell(row: int) -> str:
        part, shown = ("START", "start") if first[row] == 0 else ("LENGTH", "length")
        return (
            f"[INVALID_PARAMETER_VALUE.{part}] The value of parameter(s) `{shown}` in `slice` is invalid: "
            + (
                "Expects a positive or a negative value for `start`, but got 0."
                if part == "START"
                else f"Expects `length` greater than or equal to 0, but got {many[row]}."
            )
        )

    return failing(of_type(result, kind), pa.array(bad), tell)


def _flattened(args: Sequence[Value], kind: ArrowType) -> Value:
    """The elements of the arrays in an array; NULL where one of those is NULL."""
    outer = Parts.of(args[0])
    inner = Parts.of(outer.values)
    valid = outer.valid & ~_nulls(outer)
    rows = outer.rows[inner.rows]
    lengths = np.bincount(rows, minlength=len(valid))
    return made(inner.values.take(pa.array(np.flatnonzero(valid[rows]))), lengths, valid, kind)


def _joined(args: Sequence[Value], _: ArrowType) -> Value:
    """The texts of an array with something between them; NULLs are left out, or stand for a text."""
    whole, between, *rest = aligned(args)
    items = Parts.of(whole)
    if rest:
        by = rest[0].take(pa.array(items.rows))
        texts = made(
            pc.coalesce(items.values, by), items.lengths, items.valid & valid_rows(rest[0], len(whole))
        )
    else:
        texts = items.where(pc.is_valid(items.values).to_numpy(zero_copy_only=False))
    return pc.binary_join(texts, between)


def _got(args: Sequence[Value], kind: ArrowType) -> Value:
    """`get(array, index)`, counted from 0; NULL where there is none."""
    whole, index = aligned(args)
    items = Parts.of(whole)
    at = pc.fill_null(index, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    there = (at >= 0) & (at < items.lengths)
    return of_type(items.values.take(pa.array(np.where(there, items.starts + at, 0), mask=~there)), kind)


def _zipped(args: Sequence[Value], kind: ArrowType) -> Value:
    """An array of structs of the elements at one place; NULL for those that an array lacks."""
    parts = [Parts.of(one) for one in aligned(args)]
    valid = np.logical_and.reduce([one.valid for one in parts])
    lengths = np.where(valid, np.maximum.reduce([one.lengths for one in parts]), 0)
    columns = [padded(one, lengths) for one in parts]
    fields = list(kind.value_type)
    return made(pa.StructArray.from_arrays(columns, fields=fields), lengths, valid, kind)


def padded(items: Parts, lengths: Int64) -> pa.Array:
    """The elements of arrays made so long, with NULLs where there are fewer."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    there = places < items.lengths[rows]
    return items.values.take(pa.array(np.where(there, items.starts[rows] + places, 0), mask=~there))


def _as_list(kernel: Callable[[Sequence[Value], ArrowType], Value]) -> Kernel:
    """The result as the type that was asked for."""
    return lambda args, kind: of_type(kernel(args, kind), kind)


LISTS: dict[str, Kernel] = {
    "array_distinct": _as_list(_distinct),
    "array_union": _as_list(_union),
    "array_intersect": _as_list(partial(_common, among=True)),
    "array_except": _as_list(partial(_common, among=False)),
    "arrays_overlap": _overlap,
    "array_contains": _contains,
    "array_position": _position,
    "array_remove": _as_list(_removed),
    "array_compact": _as_list(_compact),
    "array_max": partial(_extreme, greatest=True),
    "array_min": partial(_extreme, greatest=False),
    "sort_array": _as_list(_sorted),
    "array_reverse": _as_list(_reversed),
    "array_concat": _as_list(_concatenated),
    "array_append": partial(_added, front=False),
    "array_prepend": partial(_added, front=True),
    "array_insert": _inserted,
    "array_repeat": _repeated,
    "slice": _slice,
    "flatten": _flattened,
    "array_join": _joined,
    "get": _got,
    "arrays_zip": _zipped,
}
