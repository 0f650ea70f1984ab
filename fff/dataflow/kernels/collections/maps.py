"""Maps and structs: made, taken apart, and looked into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.collections.parts import Parts, aligned, appended, made, made_map
from fff.dataflow.kernels.collections.ranks import ranks, together
from fff.dataflow.kernels.values import Failures, Kernel, Partial, Value, of_type, valid_rows
from fff.schema import ArrowType

_NULL_KEY = "[NULL_MAP_KEY] Cannot use null as map key."
_TWICE = "[DUPLICATED_MAP_KEY] Duplicate map key {} was found, please check the input data."


def checked(
    keys: pa.Array, values: pa.Array, lengths: Int64, valid: Bools, kind: ArrowType
) -> Value | Partial:
    """Maps of keys and values, so many in each row; those with a NULL among their keys, or one twice, fail."""
    length = len(lengths)
    rows = np.repeat(np.arange(length), lengths)
    key_ranks = ranks(keys)
    null = np.bincount(rows[key_ranks < 0], minlength=length) > 0
    order = np.lexsort((np.arange(len(rows)), key_ranks, rows))
    same = (np.diff(rows[order]) == 0) & (np.diff(key_ranks[order]) == 0) & (key_ranks[order][1:] >= 0)
    again = np.sort(order[1:][same])
    twice = np.bincount(rows[again], minlength=length) > 0
    bad = (null | twice) & valid
    if not bad.any():
        return made_map(keys, values, lengths, valid, kind)
    kept = pa.array(np.flatnonzero((valid & ~bad)[rows]))
    result = made_map(keys.take(kept), values.take(kept), np.where(bad, 0, lengths), valid & ~bad, kind)

    def tell(row: int) -> str:
        starts = np.cumsum(lengths) - lengths
        nulls = np.flatnonzero((key_ranks < 0) & (rows == row))
        repeated = again[rows[again] == row]
        if len(nulls) and (not len(repeated) or nulls[0] < repeated[0]):
            return _NULL_KEY
        return _TWICE.format(keys[int(repeated[0])] if len(repeated) else starts[row])

    return Partial(result, Failures(bad, tell))


def _map(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    columns = aligned(args)
    length, count = len(columns[0]), len(columns) // 2
    places = pa.array(np.arange(length * count).reshape(count, length).T.ravel())
    keys, values = (pa.concat_arrays(columns[at::2]).take(places) for at in (0, 1))
    return checked(keys, values, np.full(length, count), np.ones(length, np.bool_), kind)


def _from_arrays(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    keys, values = map(Parts.of, aligned(args))
    valid = keys.valid & values.valid
    uneven = valid & (keys.lengths != values.lengths)
    good = valid & ~uneven
    chosen = [one.values.take(pa.array(np.flatnonzero(good[one.rows]))) for one in (keys, values)]
    result = checked(chosen[0], chosen[1], np.where(good, keys.lengths, 0), good, kind)
    if not uneven.any():
        return result
    failures = Failures(
        uneven, lambda _: "The key array and value array of MapData must have the same length."
    )
    return (
        Partial(result.values, failures | result.failed)
        if isinstance(result, Partial)
        else Partial(result, failures)
    )


def _from_entries(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    entries = Parts.of(args[0])
    null = pc.is_null(entries.values).to_numpy(zero_copy_only=False)
    valid = entries.valid & ~(np.bincount(entries.rows[null], minlength=len(entries.lengths)) > 0)
    kept = entries.values.take(pa.array(np.flatnonzero(valid[entries.rows])))
    keys, values = kept.flatten()
    return checked(keys, values, np.where(valid, entries.lengths, 0), valid, kind)


def _concatenated(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    parts = [Parts.of_map(one) for one in aligned(args)]
    valid = np.logical_and.reduce([keys.valid for keys, _ in parts])
    keys, lengths = appended([one for one, _ in parts], valid)
    values, _ = appended([one for _, one in parts], valid)
    return checked(keys, values, lengths, valid, kind)


def _keys(args: Sequence[Value], kind: ArrowType) -> Value:
    keys, _ = Parts.of_map(args[0])
    return made(keys.values, keys.lengths, keys.valid, kind)


def _values(args: Sequence[Value], kind: ArrowType) -> Value:
    _, values = Parts.of_map(args[0])
    return made(values.values, values.lengths, values.valid, kind)


def _entries(args: Sequence[Value], kind: ArrowType) -> Value:
    keys, values = Parts.of_map(args[0])
    entries = pa.StructArray.from_arrays([keys.values, values.values], fields=list(kind.value_type))
    return made(entries, keys.lengths, keys.valid, kind)


def place_of(keys: Parts, wanted: pa.Array) -> Int64:
    """The number of the element with the key of its row; -1 where there is none."""
    one, other = together(keys.values, wanted)
    positions = np.full(len(keys.lengths), -1, np.int64)
    [equal] = np.nonzero((one == other[keys.rows]) & (one >= 0))
    positions[keys.rows[equal]] = equal
    return positions


def _of_key(args: Sequence[Value], kind: ArrowType) -> Value:
    whole, wanted = aligned(args)
    keys, values = Parts.of_map(whole)
    places = place_of(keys, wanted)
    return of_type(values.values.take(pa.array(places, mask=places < 0)), kind)


def _has_key(args: Sequence[Value], _: ArrowType) -> Value:
    whole, wanted = aligned(args)
    keys, _values = Parts.of_map(whole)
    return pa.array(place_of(keys, wanted) >= 0, mask=~(keys.valid & valid_rows(wanted, len(whole))))


def _struct(args: Sequence[Value], kind: ArrowType) -> Value:
    return pa.StructArray.from_arrays(aligned(args), fields=list(kind))


def _fields(args: Sequence[Value], kind: ArrowType) -> Value:
    """A field of the structs in an array."""
    items, place = Parts.of(args[0]), args[1].as_py()
    return made(items.values.flatten()[place], items.lengths, items.valid, kind)


MAPS: dict[str, Kernel] = {
    "map": _map,
    "map_from_arrays": _from_arrays,
    "map_from_entries": _from_entries,
    "map_concat": _concatenated,
    "map_keys": _keys,
    "map_values": _values,
    "map_entries": _entries,
    "of_computed_key": _of_key,
    "map_contains_key": _has_key,
    "struct": _struct,
    "fields": _fields,
}
