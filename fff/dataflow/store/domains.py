"""Domains: every value of an equality class gets a small dense integer, once, when its row arrives.

After that, equality is equality of integers: SteM indexes, lookup coverage and parked probers are arrays addressed by
the value's number, and no string is hashed or compared again. Numbers are exact: a 64-bit fingerprint only finds the
candidate, the value itself is compared. NULL has the number -1.

Numbers come from a `CodeTable` of the values, or of their fingerprints.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Growable, Int64, Spill
from fff.dataflow.columns import ArrowColumn, spill_columns
from fff.dataflow.store.code_table import CodeTable, mix
from fff.schema import ArrowType

_TAIL_MASKS = np.array([0] + [(1 << (8 * n)) - 1 for n in range(1, 9)], np.uint64)
_LONGEST_WORDS = 32  # strings over 256 bytes are hashed one by one


class Domain:
    """The values of one comparison kind that an equality class or a lookup key ranges over."""

    def __init__(self, kind: ArrowType) -> None:
        self.type = _carrier(kind)
        self._wide = kind if pa.types.is_decimal(kind) and self.type != kind else None  # carried as text
        self._by_code_only = not (pa.types.is_string(self.type) or pa.types.is_binary(self.type))
        self._table = CodeTable()  # of the values, or of their fingerprints
        self._values = ArrowColumn(self.type)  # by number, where the code is not the value
        self._by_value: dict[object, int] = {}  # values whose fingerprint belongs to another value
        self._numbers: Growable[np.int64] | None = (
            None  # value numbers by fingerprint number, once they differ
        )

    def __len__(self) -> int:
        return len(self._table) if self._by_code_only else self._values.length

    def number(self, values: pa.Array) -> Int64:
        """The dense number of each value, -1 for NULL."""
        if values.type != self.type:
            values = values.cast(self.type)
        if values.null_count == len(values):
            return np.full(len(values), -1, np.int64)
        if values.null_count:
            numbers = np.full(len(values), -1, np.int64)
            valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
            numbers[valid] = self.number(values.drop_null())
            return numbers
        codes = _codes(values)
        return self._table.number(codes) if self._by_code_only else self._verified(codes, values)

    def spill(self, spill: Spill) -> None:
        """Leave memory, as far as that is worth it."""
        self._table.spill(spill)
        spill_columns([self._values], spill)
        if self._numbers is not None:
            self._numbers.spill(spill)

    def value(self, number: int) -> object:
        """The value of that number, as a Python object."""
        if self._by_code_only:
            return self.values(np.array([number]))[0].as_py()
        scalar = self._values.value(number)
        return (scalar if self._wide is None else scalar.cast(self._wide)).as_py()

    def values(self, numbers: Int64) -> pa.Array:
        """The values of these numbers, in the domain's type: integers of any width as 64-bit ones."""
        if self._by_code_only:
            return _decode(self._table.by_number.view[numbers], self.type)
        taken = self._values.take(numbers)
        return taken if self._wide is None else taken.cast(self._wide)

    def _verified(self, codes: Int64, values: pa.Array) -> Int64:
        """Fingerprints find the candidate, comparison decides."""
        first = self._first(codes, values)
        same = pc.equal(self._values.take(first), values)
        if not pc.all(same).as_py():
            if self._numbers is None:
                self._numbers = Growable(np.int64)
                self._numbers.append(np.arange(len(self._table)))
            for position in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
                value = values[int(position)].as_py()
                number = self._by_value.get(value)
                if number is None:
                    number = self._by_value[value] = len(self)
                    self._values.append(pa.array([value], self.type))
                first[position] = number
        return first

    def _first(self, codes: Int64, values: pa.Array) -> Int64:
        """Value numbers of fingerprints; a fingerprint seen for the first time takes the value it came with."""
        known = len(self._table)
        slots = self._table.number(codes)
        if len(self._table) > known:
            fresh = (slots >= known).nonzero()[0]
            # Ascending, so in order of number.
            at = fresh[np.unique(slots[fresh], return_index=True)[1]]
            if self._numbers is not None:
                self._numbers.append(np.arange(len(self), len(self) + len(at)))
            self._values.append(values.take(pa.array(at)))
        return slots if self._numbers is None else self._numbers.view[slots]


class PairDomain:
    """Numbers for pairs of numbers: keys of several columns, whole rows. A pair with a -1 has the number -1."""

    def __init__(self) -> None:
        self._table = CodeTable()

    def __len__(self) -> int:
        return len(self._table)

    def spill(self, spill: Spill) -> None:
        """Leave memory, and grow outside it from now on, where it is large."""
        self._table.spill(spill)

    def number(self, left: Int64, right: Int64) -> Int64:
        """The dense number of each pair."""
        known = (left >= 0) & (right >= 0)
        if known.all():
            return self._table.number((left << 32) | right)
        numbers = np.full(len(left), -1, np.int64)
        numbers[known] = self._table.number((left[known] << 32) | right[known])
        return numbers

    def find(self, left: Int64, right: Int64) -> Int64:
        """The number of each pair, -1 of one that has none."""
        numbers = self._table.find((left << 32) | right)
        numbers[(left < 0) | (right < 0)] = -1
        return numbers

    def pair(self, number: int) -> tuple[int, int]:
        """The pair of that number."""
        code = int(self._table.by_number.view[number])
        return code >> 32, code & 0xFFFFFFFF

    def pairs(self, numbers: Int64) -> tuple[Int64, Int64]:
        """The pairs of these numbers, part by part."""
        codes: Int64 = self._table.by_number.view[numbers]
        return codes >> 32, codes & 0xFFFFFFFF


def _carrier(kind: ArrowType) -> ArrowType:
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_decimal(kind):
        return pa.string() if kind.precision > 18 else kind
    if pa.types.is_nested(kind):
        raise TypeError(f"columns of type {kind} cannot be compared")
    return kind


def _codes(values: pa.Array) -> Int64:
    """64-bit codes of an array without NULLs: the value itself where it fits, else a fingerprint."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return fingerprints(values)
    if pa.types.is_floating(kind):
        floats: np.ndarray = (
            values.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        )  # -0.0 becomes 0.0
        floats[np.isnan(floats)] = np.nan  # one NaN
        return np.asarray(floats).view(np.int64)
    if pa.types.is_decimal(kind):
        words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
        return np.ascontiguousarray(words[values.offset : values.offset + len(values), 0])
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    if pa.types.is_date32(kind):
        values = values.view(pa.int32())
    if values.type.bit_width < 64:
        values = values.cast(pa.int64())
    codes: Int64 = values.view(pa.int64()).to_numpy()
    return codes


def _decode(codes: Int64, kind: ArrowType) -> pa.Array:
    """The values of codes of a kind whose code is the value."""
    if pa.types.is_floating(kind):
        return pa.array(codes.view(np.float64), pa.float64()).cast(kind)
    if pa.types.is_decimal(kind):
        words = np.empty((len(codes), 2), np.int64)
        words[:, 0], words[:, 1] = codes, codes >> 63
        return pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(words.tobytes())])
    if pa.types.is_boolean(kind):
        return pa.array(codes.astype(np.bool_))
    if pa.types.is_date32(kind):
        return pa.array(codes.astype(np.int32)).view(kind)
    return pa.array(codes.copy()).view(kind)


def fingerprints(values: pa.Array) -> Int64:
    """A 64-bit fingerprint of each string's bytes, eight bytes a step for all strings at once."""
    buffers = values.buffers()
    offsets = np.frombuffer(buffers[1], np.int32)[values.offset : values.offset + len(values) + 1].astype(
        np.int64
    )
    starts, lengths = offsets[:-1], np.diff(offsets)
    result = mix(lengths)
    # Whether a string is long is its own affair: its fingerprint must not depend on what came with it.
    long = (lengths > 8 * _LONGEST_WORDS).nonzero()[0]
    lengths[long] = 0
    longest = int(lengths.max(initial=0))
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.empty(0, np.uint8)
    data = np.concatenate((data[int(offsets[0]) : int(offsets[-1])], np.zeros(8, np.uint8)))
    starts = starts - offsets[0]
    words = np.ndarray((len(data) - 7,), np.uint64, data, 0, (1,))  # a word at every byte
    for step in range(-(-longest // 8)):
        left = lengths - 8 * step
        alive = (left > 0).nonzero()[0]
        some = slice(None) if len(alive) == len(left) else alive
        word = words[starts[some] + 8 * step] & _TAIL_MASKS[np.minimum(left[some], 8)]
        result[some] = mix((result[some] ^ word).view(np.int64))
    codes: Int64 = result.view(np.int64)
    if len(long):
        texts = values.take(pa.array(long)).cast(pa.binary()).to_pylist()
        # Not `hash`: it differs from process to process, and a seed is to replay a run.
        codes[long] = [int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True) for text in texts]
    return codes
