"""Functions of higher order: what a lambda makes of the elements of arrays and maps.

The lambda comes as an argument like the others: called with the row of each element, and the elements, it gives what it
makes of each of them, and on which of them it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64, numpy_mask
from fff.dataflow.kernels.collections.lists import padded
from fff.dataflow.kernels.collections.maps import checked
from fff.dataflow.kernels.collections.parts import Parts, aligned, made, made_map
from fff.dataflow.kernels.collections.ranks import together
from fff.dataflow.kernels.values import Failures, Kernel, Partial, Value, either, of_type
from fff.schema import ArrowType


class LambdaBody(Protocol):
    """What is done with elements, each of which is of a row."""

    def __call__(self, rows: Int64, *elements: pa.Array) -> Partial:
        """What comes of each."""


def _of_rows(failed: Failures | None, rows: Int64, length: int) -> Failures | None:
    """The rows of elements that fail; the first of a row is told."""
    if failed is None:
        return None
    [bad] = np.nonzero(failed.rows)
    first = np.full(length, -1, np.int64)
    first[rows[bad][::-1]] = bad[::-1]
    return Failures(first >= 0, lambda row: failed.tell(int(first[row])))


def _with(values: Value, failed: Failures | None) -> Value | Partial:
    if failed is None:
        return values
    return Partial(pc.if_else(pa.array(failed.rows), pa.scalar(None, values.type), values), failed)


def _elements(items: Parts, body: LambdaBody, count: int = 1) -> Partial:
    """What comes of the elements of arrays, and, if two things are asked for, of their places."""
    more = [pa.array(items.places, pa.int32())] if count == 2 else []
    return body(items.rows, items.values, *more)


def _transform(args: Sequence[Value], kind: ArrowType, *, count: int) -> Value | Partial:
    items = Parts.of(args[0])
    outcome = _elements(items, args[1], count)
    failed = _of_rows(outcome.failed, items.rows, len(items.lengths))
    return _with(made(outcome.values, items.lengths, items.valid, kind), failed)


def _filter(args: Sequence[Value], kind: ArrowType, *, count: int) -> Value | Partial:
    items = Parts.of(args[0])
    outcome = _elements(items, args[1], count)
    failed = _of_rows(outcome.failed, items.rows, len(items.lengths))
    return _with(of_type(items.where(numpy_mask(outcome.values)), kind), failed)


def _any(args: Sequence[Value], _: ArrowType, *, every: bool) -> Value | Partial:
    """`exists`, or `forall`: it ends at the first element that decides; where none does, one that is unknown makes it so."""
    items = Parts.of(args[0])
    outcome = _elements(items, args[1])
    length = len(items.lengths)
    deciding = numpy_mask(pc.invert(outcome.values) if every else outcome.values)
    failed = outcome.failed
    if failed is not None:
        deciding = deciding & ~failed.rows  # where there is no value, one stands for it
        first = np.full(length, len(items.values), np.int64)
        [at] = np.nonzero(deciding)
        first[items.rows[at][::-1]] = at[::-1]
        failed = failed.where(np.arange(len(items.values)) < first[items.rows])
    decided = np.bincount(items.rows[deciding], minlength=length) > 0
    null = pc.is_null(outcome.values).to_numpy(zero_copy_only=False)
    unknown = np.bincount(items.rows[null], minlength=length) > 0
    result = pa.array(decided != every, mask=~items.valid | (~decided & unknown))
    return _with(result, _of_rows(failed, items.rows, length))


def _aggregate(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """`aggregate(array, start, merge, finish)`: all rows go one element further at a time."""
    whole, held = aligned(args[:2])
    merge, finish = args[2], args[3]
    items = Parts.of(whole)
    length = len(whole)
    failed: Failures | None = None
    for place in range(int(items.lengths.max(initial=0))):
        [rows] = np.nonzero(items.lengths > place)
        element = items.values.take(pa.array(items.starts[rows] + place))
        outcome = merge(rows, held.take(pa.array(rows)), element)
        newly_failed = _of_rows(outcome.failed, rows, length)
        failed = either(failed, newly_failed)
        where = np.arange(length)
        where[rows] = length + np.arange(len(rows))
        held = pa.concat_arrays([held, outcome.values.cast(held.type)]).take(pa.array(where))
    outcome = finish(np.arange(length), held)
    valid = items.valid
    newly_failed = None if outcome.failed is None else outcome.failed.where(valid)
    result = of_type(pc.if_else(pa.array(valid), outcome.values, pa.scalar(None, outcome.values.type)), kind)
    return _with(result, either(failed, newly_failed))


def _zip_with(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """What comes of the elements of two arrays at one place; of the shorter one they are NULL."""
    left, right = map(Parts.of, aligned(args[:2]))
    valid = left.valid & right.valid
    lengths = np.where(valid, np.maximum(left.lengths, right.lengths), 0)
    rows = np.repeat(np.arange(len(valid)), lengths)
    outcome = args[2](rows, padded(left, lengths), padded(right, lengths))
    return _with(made(outcome.values, lengths, valid, kind), _of_rows(outcome.failed, rows, len(valid)))


def _map_filter(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    keys, values = Parts.of_map(args[0])
    outcome = args[1](keys.rows, keys.values, values.values)
    kept = np.flatnonzero(numpy_mask(outcome.values))
    lengths = np.bincount(keys.rows[kept], minlength=len(keys.lengths))
    chosen = [one.values.take(pa.array(kept)) for one in (keys, values)]
    result = made_map(chosen[0], chosen[1], lengths, keys.valid, kind)
    return _with(result, _of_rows(outcome.failed, keys.rows, len(keys.lengths)))


def _changed(args: Sequence[Value], kind: ArrowType, *, of_keys: bool) -> Value | Partial:
    """`transform_keys` or `transform_values`."""
    keys, values = Parts.of_map(args[0])
    length = len(keys.lengths)
    outcome = args[1](keys.rows, keys.values, values.values)
    failed = _of_rows(outcome.failed, keys.rows, length)
    if not of_keys:
        return _with(made_map(keys.values, outcome.values, keys.lengths, keys.valid, kind), failed)
    good = keys.valid if failed is None else keys.valid & ~failed.rows
    kept = pa.array(np.flatnonzero(good[keys.rows]))
    chosen = [one.take(kept) for one in (outcome.values, values.values)]
    made_of = checked(chosen[0], chosen[1], np.where(good, keys.lengths, 0), good, kind)
    if isinstance(made_of, Partial):
        return Partial(made_of.values, either(failed, made_of.failed))
    return _with(made_of, failed)


def _map_zip_with(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """What comes of the values that two maps have for a key: the keys of the first, then those that only the other has."""
    sides = [Parts.of_map(one) for one in aligned(args[:2])]
    (one_keys, one_values), (other_keys, other_values) = sides
    valid = one_keys.valid & other_keys.valid
    left, right = together(one_keys.values, other_keys.values)
    width = int(max(left.max(initial=-1), right.max(initial=-1))) + 2
    codes = [one_keys.rows * width + left, other_keys.rows * width + right]
    alone = np.flatnonzero(~np.isin(codes[1], codes[0]))
    rows = np.concatenate((one_keys.rows, other_keys.rows[alone]))
    chosen = np.flatnonzero(valid[rows])
    order = chosen[np.argsort(rows[chosen], kind="stable")]
    keys = pa.concat_arrays([one_keys.values, other_keys.values.take(pa.array(alone))]).take(pa.array(order))
    code = np.concatenate((codes[0], codes[1][alone]))[order]
    values = [_at(code, of, one.values) for of, one in zip(codes, (one_values, other_values), strict=True)]
    rows = rows[order]
    outcome = args[2](rows, keys, *values)
    lengths = np.bincount(rows, minlength=len(valid))
    return _with(
        made_map(keys, outcome.values, lengths, valid, kind), _of_rows(outcome.failed, rows, len(valid))
    )


def _at(wanted: Int64, codes: Int64, values: pa.Array) -> pa.Array:
    """The values of codes among others, which are different; NULL where there is none."""
    order = np.argsort(codes, kind="stable")
    at = np.searchsorted(codes[order], wanted)
    there: Bools = at < len(codes)
    there[there] = codes[order][at[there]] == wanted[there]
    places = np.zeros(len(wanted), np.int64)
    places[there] = order[at[there]]
    return values.take(pa.array(places, mask=~there))


def _counted(kernel: Callable[..., Value | Partial], count: int) -> Kernel:
    return lambda args, kind: kernel(args, kind, count=count)


LAMBDAS: dict[str, Kernel] = {
    "transform": _counted(_transform, 1),
    "transform_indexed": _counted(_transform, 2),
    "filter": _counted(_filter, 1),
    "filter_indexed": _counted(_filter, 2),
    "exists": lambda args, kind: _any(args, kind, every=False),
    "forall": lambda args, kind: _any(args, kind, every=True),
    "aggregate": _aggregate,
    "zip_with": _zip_with,
    "map_filter": _map_filter,
    "transform_keys": lambda args, kind: _changed(args, kind, of_keys=True),
    "transform_values": lambda args, kind: _changed(args, kind, of_keys=False),
    "map_zip_with": _map_zip_with,
}
