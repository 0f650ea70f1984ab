"""Code tables: dense numbers for 64-bit codes, a whole batch at once.

Codes that are near each other, as the ids of most sources are, stand in an array by the code itself, which costs a fifth
of hashing them. Others are in a hash table, open addressing over the numbers alone. A table changes from one to the other
as it grows, and when a code comes that is far from the rest.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fff.dataflow.arrays import Growable, Int64, Spill, spilled

_U64: TypeAlias = np.ndarray
_Slots: TypeAlias = NDArray[np.int32]
_MULTIPLIER_A = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_B = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(32)
_SLOT = np.dtype(np.int32)
_MOVED_AT_ONCE = 1 << 14  # codes that move to larger slots without being noticed
_FEW = 16  # codes that are found sooner one by one than all at once
_COPIED_AT_ONCE = 1 << 22  # slots that are copied without being noticed
_NEAR = 4  # slots for each code, at most, where codes have slots of their own: as few as a hash table has
_NEAR_ROOM = 1 << 17  # slots that are not worth counting
_CODES = range(-(1 << 63), 1 << 63)


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
        self._slots: _Slots = np.zeros(0, np.int32)  # one more than the number; 0 is a free slot
        self._first: int | None = (
            0  # the code of the first slot, where each has its own; None: they are hashed
        )
        self._old: _Slots | None = None  # the slots before, while codes are still being moved from them
        self._old_first: int | None = None
        self._look_at = 0  # twice as many codes as it takes to ask anew whether they are near each other
        self._to_move = range(0)  # numbers of codes that are in the old slots alone
        self._spill: Spill | None = None  # where slots are made, if not in memory
        self.by_number = Growable(np.int64)

    def __len__(self) -> int:
        return self.by_number.length

    def number(self, codes: Int64) -> Int64:
        """The number of each code, new codes being numbered on the way. Shape (n,) to (n,)."""
        self._make_room(codes)
        if self._old is None:
            return self._numbered(codes)
        numbers = self._find(self._old, self._old_first, codes)
        new = (numbers < 0).nonzero()[0]
        if len(new):
            numbers[new] = self._numbered(codes[new])
        self._move(64 + 4 * len(codes))
        return numbers

    def find(self, codes: Int64) -> Int64:
        """The number of each code, -1 of one that has none."""
        numbers = self._find(self._slots, self._first, codes)
        if self._old is not None:
            numbers = np.maximum(numbers, self._find(self._old, self._old_first, codes))
        return numbers

    def _numbered(self, codes: Int64) -> Int64:
        if self._first is not None:
            return self._numbered_near(codes, self._first)
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

    def _numbered_near(self, codes: Int64, first: int) -> Int64:
        """The same where each code has a slot of its own, from the first code on."""
        slots = codes - first
        found = self._slots[slots]
        new = (found == 0).nonzero()[0]
        if len(new):
            self._claim(slots[new], codes[new])
            found[new] = self._slots[slots[new]]
        numbers = found.astype(np.int64)
        numbers -= 1
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

    def _find(self, table: _Slots, first: int | None, codes: Int64) -> Int64:
        numbers = np.full(len(codes), -1, np.int64)
        if first is not None:
            slots = codes - first
            inside = (slots.view(np.uint64) < len(table)).nonzero()[0]  # those below are the largest
            numbers[inside] = table[slots[inside]] - 1
            return numbers
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

    def _make_room(self, codes: Int64) -> None:
        """See that every code finds a slot, even if all are new."""
        if not len(codes):
            return
        needed = len(self) + len(codes)
        if self._first is not None:
            if int((codes - self._first).view(np.uint64).max()) < len(self._slots):
                return
        elif 2 * needed <= min(len(self._slots), self._look_at):  # at most every other slot is taken
            return
        known = self.by_number.view if len(self) else codes
        start = min(int(codes.min()), int(known.min()))
        stop = max(int(codes.max()), int(known.max())) + 1
        is_near, self._look_at = stop - start <= _NEAR * needed + _NEAR_ROOM, 3 * needed
        if not is_near and self._first is None and 2 * needed <= len(self._slots):
            return
        if self._old is not None:
            self._move(len(self))
        self._old, self._old_first, self._to_move = self._slots, self._first, range(len(self))
        if is_near:
            self._first, stop = self._with_room(start, stop)
            size = stop - self._first
        else:
            self._first, size = None, 64
            while size < 4 * needed:
                size *= 2
        self._slots = np.zeros(size, np.int32) if self._spill is None else self._spill.zeros(size, _SLOT)
        if self._first is not None and self._old_first is not None and 0 < len(self._old) <= _COPIED_AT_ONCE:
            low, high = max(self._first, self._old_first), min(stop, self._old_first + len(self._old))
            old = self._old[low - self._old_first : high - self._old_first]
            self._slots[low - self._first : high - self._first] = old
            self._to_move = range(0)
        if len(self._to_move) <= _MOVED_AT_ONCE:
            self._move(len(self))

    def _with_room(self, start: int, stop: int) -> tuple[int, int]:
        """From where to where slots go for codes of a range: half as many more where it has grown, elsewhere what there was."""
        most = (stop - start) // 2
        below = above = most
        if self._old_first is not None and len(self):
            if start >= self._old_first:
                below = min(most, start - self._old_first)
            if stop <= self._old_first + len(self._slots):
                above = min(most, self._old_first + len(self._slots) - stop)
        return max(start - below, _CODES.start), min(stop + above, _CODES.stop)

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
        codes = self.by_number.view[some.start : some.stop]
        if self._first is not None:
            self._slots[codes - self._first] = numbers + 1
            return
        slots = _places(codes, self._slots)
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
