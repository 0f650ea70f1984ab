"""Domains: every value of an equality class gets a small dense integer, once, when its row arrives.

After that, equality is equality of integers: SteM indexes, lookup coverage and parked probers are arrays addressed by
the value's number, and no string is hashed or compared again. Numbers are exact: a 64-bit fingerprint only finds the
candidate, the value itself is compared. NULL has the number -1.

The hash table is open addressing over the numbers alone, probed for a whole batch at once.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fff.dataflow.arrays import ArrowColumn, Growable, Int64, Spill, spill_columns, spilled
from fff.schema import ArrowType

_U64: TypeAlias = np.ndarray
_Slots: TypeAlias = NDArray[np.int32]
_MULTIPLIER_A = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_B = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(32)
_SLOT = np.dtype(np.int32)
_TAIL_MASKS = np.array([0] + [(1 << (8 * n)) - 1 for n in range(1, 9)], np.uint64)
_MOVED_AT_ONCE = 1 << 14  # codes that move to larger slots without being noticed
_FEW = 16  # codes that are found sooner one by one than all at once
_LONGEST_WORDS = 32  # strings over 256 bytes are hashed one by one


def mix(codes: Int64) -> _U64:
    """Spread 64-bit codes over all bits (two multiplications)."""
    x = codes.view(np.uint64) * _MULTIPLIER_A
    x ^= x >> _SHIFT
    x *= _MULTIPLIER_B
    x ^= x >> _SHIFT
    return x


class CodeTable:
    """Numbers for 64-bit codes, dense from 0; what an earlier batch brought has the lower number.

    A large table grows while it is used: what a batch brings goes into the new slots, what is in the old ones moves over
    bit by bit, so that no batch waits for all of it.
    """

    def __init__(self) -> None:
        self._slots: _Slots = np.zeros(64, np.int32)  # one more than the number; 0 is a free slot
        self._old: _Slots | None = None  # the slots before, while codes are still being moved from them
        self._to_move = range(0)  # numbers of codes that are in the old slots alone
        self._spill: Spill | None = None  # where slots are made, if not in memory
        self.by_number = Growable(np.int64)

    def __len__(self) -> int:
        return self.by_number.length

    def number(self, codes: Int64) -> Int64:
        """The number of each code, new codes being numbered on the way. Shape (n,) to (n,)."""
        # Load stays at or below one half even if every code is new.
        if 2 * (len(self) + len(codes)) > len(self._slots):
            self._grow(len(self) + len(codes))
        if self._old is None:
            return self._numbered(codes)
        numbers = self._find(self._old, codes)
        new = (numbers < 0).nonzero()[0]
        if len(new):
            numbers[new] = self._numbered(codes[new])
        self._move(64 + 4 * len(codes))
        return numbers

    def find(self, codes: Int64) -> Int64:
        """The number of each code, -1 of one that has none."""
        numbers = self._find(self._slots, codes)
        if self._old is not None:
            numbers = np.maximum(numbers, self._find(self._old, codes))
        return numbers

    def _numbered(self, codes: Int64) -> Int64:
        numbers = np.empty(len(codes), np.int64)
        pending: Int64 | None = None  # at first all
        wanted = codes
        slots = _places(codes, self._slots)
        while len(wanted) > _FEW:
            candidates = self._slots[slots]
            free = (candidates == 0).nonzero()[0]
            if len(free):
                self._claim(slots[free], wanted[free])
                candidates[free] = self._slots[slots[free]]
            candidates -= 1
            hit = self.by_number.view[candidates] == wanted
            if pending is None:
                if hit.all():
                    return candidates.astype(np.int64)
                pending = np.arange(len(codes))
            numbers[pending[hit]] = candidates[hit]
            miss = (~hit).nonzero()[0]
            pending, wanted = pending[miss], wanted[miss]
            slots = (slots[miss] + 1) & (len(self._slots) - 1)
        if len(wanted):
            last = self._numbered_singly(wanted.tolist(), slots.tolist())
            numbers[slice(None) if pending is None else pending] = last
        return numbers

    def _numbered_singly(self, codes: list[int], slots: list[int]) -> list[int]:
        """The same for a few codes: NumPy has its price whatever the length of an array."""
        table, known, mask = self._slots.data, self.by_number.view.data, len(self._slots) - 1
        here, new, numbers = len(known), list[int](), list[int]()
        for code, first in zip(codes, slots, strict=True):
            slot, number = first, table[first] - 1
            while number >= 0 and (known[number] if number < here else new[number - here]) != code:
                slot = (slot + 1) & mask
                number = table[slot] - 1
            if number < 0:
                number = here + len(new)
                table[slot] = number + 1
                new.append(code)
            numbers.append(number)
        if new:
            self.by_number.append(np.array(new, np.int64))
        return numbers

    def _find(self, table: _Slots, codes: Int64) -> Int64:
        numbers = np.full(len(codes), -1, np.int64)
        slots = _places(codes, table)
        pending = (table[slots]).nonzero()[0]
        slots = slots[pending]
        while len(pending):
            candidates = table[slots] - 1
            hit = self.by_number.view[candidates] == codes[pending]
            numbers[pending[hit]] = candidates[hit]
            pending, slots = pending[~hit], (slots[~hit] + 1) & (len(table) - 1)
            taken = (table[slots]).nonzero()[0]
            pending, slots = pending[taken], slots[taken]
        return numbers

    def _claim(self, slots: Int64, codes: Int64) -> None:
        """Give each free slot to one of the codes that want it; equal codes share the winner's number."""
        won = _one_each(self._slots, slots)
        slots = slots[won]
        self._slots[slots] = np.arange(len(self) + 1, len(self) + 1 + len(slots))
        self.by_number.append(codes[won])

    def _grow(self, needed: int) -> None:
        if self._old is not None:
            self._move(len(self))
        size = len(self._slots)
        while size < 4 * needed:
            size *= 2
        slots: _Slots = np.zeros(size, np.int32) if self._spill is None else self._spill.zeros(size, _SLOT)
        self._old, self._slots, self._to_move = self._slots, slots, range(len(self))
        if len(self) <= _MOVED_AT_ONCE:
            self._move(len(self))

    def spill(self, spill: Spill) -> None:
        """Leave memory, and grow outside it from now on, where it is large."""
        self.by_number.spill(spill)
        if self._spill is None and self._slots.nbytes >= max(1, spill.least):
            self._spill = spill
            self._slots = spilled(self._slots, spill)

    def _move(self, most: int) -> None:
        """Give codes that are in the old slots alone a place in the new ones, so many at most."""
        some, self._to_move = self._to_move[:most], self._to_move[most:]
        if not self._to_move:
            self._old = None
        numbers: Int64 = np.arange(some.start, some.stop)
        slots = _places(self.by_number.view[numbers], self._slots)
        while len(slots):
            free = (self._slots[slots] == 0).nonzero()[0]
            won = free[_one_each(self._slots, slots[free])]
            self._slots[slots[won]] = numbers[won] + 1
            left = np.ones(len(slots), np.bool_)
            left[won] = False
            numbers, slots = numbers[left], (slots[left] + 1) & (len(self._slots) - 1)


def _places(codes: Int64, slots: _Slots) -> Int64:
    """Where each code looks first."""
    places: Int64 = (mix(codes) & np.uint64(len(slots) - 1)).view(np.int64)
    return places


def _one_each(table: _Slots, slots: Int64) -> Int64:
    """Of all that want the same free slot one: their positions, rising. The slots are marked, and to be overwritten."""
    mark = -1 - np.arange(len(slots), dtype=np.int32)
    table[slots] = mark
    [won] = np.nonzero(table[slots] == mark)
    return won


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
