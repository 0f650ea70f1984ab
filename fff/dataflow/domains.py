"""Domains: every value of an equality class gets a small dense integer, once, when its row arrives.

After that, equality is equality of integers: SteM indexes, lookup coverage and parked probers are arrays addressed by
the value's number, and no string is hashed or compared again. Numbers are exact: a 64-bit fingerprint only finds the
candidate, the value itself is compared. NULL has the number -1.

The hash table is open addressing over three `int64` arrays, probed for a whole batch at once.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import ArrowColumn, Growable, Int64
from fff.schema import ArrowType

_U64: TypeAlias = np.ndarray
_MULTIPLIER_A = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_B = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(32)
_TAIL_MASKS = np.array([0] + [(1 << (8 * n)) - 1 for n in range(1, 9)], np.uint64)
_LONGEST_WORDS = 32  # strings over 256 bytes are hashed one by one


def mix(codes: Int64) -> _U64:
    """Spread 64-bit codes over all bits (two multiplications)."""
    x = codes.view(np.uint64) * _MULTIPLIER_A
    x ^= x >> _SHIFT
    x *= _MULTIPLIER_B
    x ^= x >> _SHIFT
    return x


class CodeTable:
    """Numbers for 64-bit codes, dense from 0; what an earlier batch brought has the lower number."""

    def __init__(self) -> None:
        self._mask = 63
        self._codes = np.zeros(64, np.int64)
        self._numbers = np.full(64, -1, np.int64)
        self._owner = np.zeros(64, np.int64)
        self.by_number = Growable(np.int64)

    def __len__(self) -> int:
        return self.by_number.length

    def number(self, codes: Int64) -> Int64:
        """The number of each code, new codes being numbered on the way. Shape (n,) to (n,)."""
        # Load stays at or below one half even if every code is new.
        if 2 * (len(self) + len(codes)) > self._mask + 1:
            self._grow(len(self) + len(codes))
        numbers = np.empty(len(codes), np.int64)
        pending = np.arange(len(codes))
        wanted = codes
        slots = (mix(codes) & np.uint64(self._mask)).view(np.int64)
        while len(pending):
            found = self._numbers[slots]
            free = np.flatnonzero(found < 0)
            if len(free):
                self._claim(slots[free], wanted[free])
                found = self._numbers[slots]
            hit = self._codes[slots] == wanted
            numbers[pending[hit]] = found[hit]
            miss = ~hit
            pending, wanted = pending[miss], wanted[miss]
            slots = (slots[miss] + 1) & self._mask
        return numbers

    def _claim(self, slots: Int64, codes: Int64) -> None:
        """Give each free slot to one of the codes that want it; equal codes share the winner's number."""
        order = np.arange(len(slots))
        self._owner[slots] = order
        won = self._owner[slots] == order
        slots, codes = slots[won], codes[won]
        self._codes[slots] = codes
        self._numbers[slots] = len(self) + np.arange(len(slots))
        self.by_number.append(codes)

    def _grow(self, needed: int) -> None:
        size = self._mask + 1
        while size < 4 * needed:
            size *= 2
        self._mask = size - 1
        self._codes = np.zeros(size, np.int64)
        self._numbers = np.full(size, -1, np.int64)
        self._owner = np.zeros(size, np.int64)
        known: Int64 = self.by_number.view
        pending = np.arange(len(known))
        slots = (mix(known) & np.uint64(self._mask)).view(np.int64)
        while len(pending):
            free = self._numbers[slots] < 0
            self._owner[slots[free]] = pending[free]
            won = free & (self._owner[slots] == pending)
            self._codes[slots[won]] = known[pending[won]]
            self._numbers[slots[won]] = pending[won]
            pending, slots = pending[~won], (slots[~won] + 1) & self._mask


class Domain:
    """The values of one comparison kind that an equality class or a lookup key ranges over."""

    def __init__(self, kind: ArrowType) -> None:
        self.type = _carrier(kind)
        self._wide = kind if pa.types.is_decimal(kind) and self.type != kind else None  # carried as text
        self._table = CodeTable()
        self._values = ArrowColumn(self.type)  # by number
        self._by_value: dict[object, int] = {}  # values whose fingerprint belongs to another value
        self._by_code_only = not (pa.types.is_string(self.type) or pa.types.is_binary(self.type))
        self._numbers = Growable(np.int64)  # value numbers by fingerprint number

    def __len__(self) -> int:
        return self._values.length

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
        return self._exact(codes) if self._by_code_only else self._verified(codes, values)

    def value(self, number: int) -> object:
        """The value of that number, as a Python object."""
        scalar = self._values.value(number)
        return (scalar if self._wide is None else scalar.cast(self._wide)).as_py()

    def values(self, numbers: Int64) -> pa.Array:
        """The values of these numbers, in the domain's type: integers of any width as 64-bit ones."""
        taken = self._values.take(numbers)
        return taken if self._wide is None else taken.cast(self._wide)

    def _exact(self, codes: Int64) -> Int64:
        before = len(self._table)
        numbers = self._table.number(codes)
        if len(self._table) > before:
            self._values.append(_decode(self._table.by_number.view[before:], self.type))
        return numbers

    def _verified(self, codes: Int64, values: pa.Array) -> Int64:
        """Fingerprints find the candidate, comparison decides; `_first` maps fingerprint numbers to value numbers."""
        slots = self._table.number(codes)
        first = self._first(slots, values)
        same = pc.equal(self._values.take(first), values)
        if not pc.all(same).as_py():
            for position in np.flatnonzero(~same.to_numpy(zero_copy_only=False)):
                value = values[int(position)].as_py()
                number = self._by_value.get(value)
                if number is None:
                    number = self._by_value[value] = len(self)
                    self._values.append(pa.array([value], self.type))
                first[position] = number
        return first

    def _first(self, slots: Int64, values: pa.Array) -> Int64:
        """Value numbers of fingerprint numbers; a fingerprint seen for the first time takes the value it came with."""
        known = self._numbers.length
        if len(self._table) > known:
            fresh = np.flatnonzero(slots >= known)
            _, at = np.unique(slots[fresh], return_index=True)  # ascending, so in order of number
            start = len(self)
            self._values.append(values.take(pa.array(fresh[at])))
            self._numbers.append(start + np.arange(len(at)))
        first: Int64 = self._numbers.view[slots]
        return first


class PairDomain:
    """Numbers for pairs of numbers: keys of several columns, whole rows. A pair with a -1 has the number -1."""

    def __init__(self) -> None:
        self._table = CodeTable()

    def __len__(self) -> int:
        return len(self._table)

    def number(self, left: Int64, right: Int64) -> Int64:
        """The dense number of each pair."""
        known = (left >= 0) & (right >= 0)
        if known.all():
            return self._table.number((left << 32) | right)
        numbers = np.full(len(left), -1, np.int64)
        numbers[known] = self._table.number((left[known] << 32) | right[known])
        return numbers

    def pair(self, number: int) -> tuple[int, int]:
        """The pair of that number."""
        code = int(self._table.by_number.view[number])
        return code >> 32, code & 0xFFFFFFFF

    def pairs(self, numbers: Int64) -> tuple[Int64, Int64]:
        """The pairs of these numbers, part by part."""
        codes: Int64 = self._table.by_number.view[numbers]
        return codes >> 32, codes & 0xFFFFFFFF


def comparison_kind(kind: ArrowType) -> str:
    """Types with one kind compare as equal values without conversion; the planner only equates columns of one kind."""
    if pa.types.is_integer(kind):
        return "integer"
    return "string" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else str(kind)


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
    long = np.flatnonzero(lengths > 8 * _LONGEST_WORDS)
    lengths[long] = 0
    longest = int(lengths.max(initial=0))
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.empty(0, np.uint8)
    data = np.concatenate((data[int(offsets[0]) : int(offsets[-1])], np.zeros(8, np.uint8)))
    starts = starts - offsets[0]
    words = np.ndarray((len(data) - 7,), np.uint64, data, 0, (1,))  # a word at every byte
    for step in range(-(-longest // 8)):
        left = lengths - 8 * step
        alive = np.flatnonzero(left > 0)
        some = slice(None) if len(alive) == len(left) else alive
        word = words[starts[some] + 8 * step] & _TAIL_MASKS[np.minimum(left[some], 8)]
        result[some] = mix((result[some] ^ word).view(np.int64))
    codes: Int64 = result.view(np.int64)
    if len(long):
        texts = values.take(pa.array(long)).cast(pa.binary()).to_pylist()
        # Not `hash`: it differs from process to process, and a seed is to replay a run.
        codes[long] = [int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True) for text in texts]
    return codes
