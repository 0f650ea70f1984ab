"""Arrays and maps as what they are made of: their elements in one column, and how many of them each row has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.values import Value, column, length_of
from fff.schema import ArrowType
from fff.structs import Struct


def is_list(kind: ArrowType) -> bool:
    """An array, but no map."""
    return bool(pa.types.is_list(kind))


class Parts(Struct, frozen=True, dict=True):
    """The elements of the arrays of a column, without those of NULLs."""

    values: pa.Array
    lengths: Int64
    valid: Bools

    @classmethod
    def of(cls, items: pa.Array) -> Parts:
        """Those of a column of arrays."""
        starts, lengths, valid = _bounds(items)
        return cls(_taken(items.values, starts, lengths), lengths, valid)

    @classmethod
    def of_map(cls, items: pa.Array) -> tuple[Parts, Parts]:
        """The keys and the values of a column of maps."""
        starts, lengths, valid = _bounds(items)
        keys, values = (_taken(one, starts, lengths) for one in (items.keys, items.items))
        return cls(keys, lengths, valid), cls(values, lengths, valid)

    @cached_property
    def rows(self) -> Int64:
        """The row of each element."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def starts(self) -> Int64:
        """Where the elements of each row begin."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def places(self) -> Int64:
        """The place of each element in its array, from 0."""
        return np.arange(len(self.values)) - np.repeat(self.starts, self.lengths)

    def taken(self, chosen: Int64, valid: Bools | None = None) -> pa.Array:
        """Arrays of some of the elements, by their numbers, which go from row to row."""
        valid = self.valid if valid is None else valid
        chosen = chosen[valid[self.rows[chosen]]]
        lengths = np.bincount(self.rows[chosen], minlength=len(self.lengths))
        return made(self.values.take(pa.array(chosen)), lengths, valid)

    def where(self, kept: Bools) -> pa.Array:
        """Arrays of the elements that are to be kept."""
        return self.taken(np.flatnonzero(kept))


def _bounds(items: pa.Array) -> tuple[Int64, Int64, Bools]:
    offsets = items.offsets.to_numpy().astype(np.int64)
    valid: Bools = pc.is_valid(items).to_numpy(zero_copy_only=False)
    return offsets[:-1], np.where(valid, np.diff(offsets), 0), valid


def _taken(values: pa.Array, starts: Int64, lengths: Int64) -> pa.Array:
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    if not total:
        return values.slice(0, 0)
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
    if places[-1] - places[0] == total - 1:
        return values.slice(int(places[0]), total)
    return values.take(pa.array(places))


def made(values: pa.Array, lengths: Int64, valid: Bools, kind: ArrowType | None = None) -> pa.Array:
    """A column of arrays of so many elements each."""
    offsets = np.concatenate(([0], np.cumsum(np.where(valid, lengths, 0)))).astype(np.int32)
    mask = None if valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind or pa.list_(values.type), mask=mask)


def made_map(keys: pa.Array, values: pa.Array, lengths: Int64, valid: Bools, kind: ArrowType) -> pa.Array:
    """A column of maps of so many keys each."""
    offsets = np.concatenate(([0], np.cumsum(np.where(valid, lengths, 0)))).astype(np.int32)
    mask = None if valid.all() else pa.array(~valid)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values, type=kind, mask=mask)


def aligned(args: Sequence[Value]) -> list[pa.Array]:
    """All as columns, of as many rows as the longest has."""
    length = length_of(args)
    return [column(one, length) for one in args]


def appended(parts: Sequence[Parts], valid: Bools) -> tuple[pa.Array, Int64]:
    """The elements of several arrays row by row one behind the other, and how many there are of each row."""
    values = pa.concat_arrays([one.values for one in parts])
    rows = np.concatenate([one.rows for one in parts])
    chosen = np.flatnonzero(valid[rows])
    order = chosen[np.argsort(rows[chosen], kind="stable")]
    lengths = np.sum([one.lengths for one in parts], axis=0)
    return values.take(pa.array(order)), np.where(valid, lengths, 0)
