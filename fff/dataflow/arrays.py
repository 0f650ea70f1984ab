"""Growable NumPy arrays: the storage under columns, domains and indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64: TypeAlias = NDArray[np.int64]
Int8: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]

_S = TypeVar("_S", bound=np.generic)

EMPTY: Int64 = np.empty(0, np.int64)

#: Bytes from which an array is copied as seldom as can be. Its room is so large then that the system maps it anew, and backs
#: what is used of it alone; smaller room may lie where something was before, and be backed already.
_LARGE = 4 << 20


def numbers(rows: Int64) -> pa.Array:
    """The same numbers, in the same memory where they are side by side there.

    `pa.array` asks first whether some are masked, for which numpy loads what takes a fortieth of a short run.
    """
    return pa.Array.from_buffers(
        pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows, np.int64))]
    )


class Spill(Protocol):
    """Room outside memory, which the runtime has: the core only says what goes there."""

    least: int  # bytes from which something is worth being moved

    def zeros(self, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """A new array, writable, of zeros."""

    def store(self, columns: Sequence[pa.ChunkedArray]) -> list[list[pa.Array]]:
        """The same values, read only, for each column in chunks."""


class Spillable(Protocol):
    """What can leave memory."""

    def spill(self, spill: Spill) -> None:
        """Leave memory, and grow outside it from now on, as far as that is worth it; nothing else changes."""


def spilled(array: NDArray[_S], spill: Spill) -> NDArray[_S]:
    """The array outside memory, itself where it is small or there already."""
    if array.nbytes < max(1, spill.least) or not isinstance(array.base, np.ndarray | None):
        return array
    moved: NDArray[_S] = spill.zeros(len(array), array.dtype)
    moved[:] = array
    return moved


class Growable(Generic[_S]):
    """An array that grows at its end; `view` is the used part, shape (length,).

    Room beyond the used part is address space that the system backs once it is written to. A large array therefore takes
    much room at once: it is seldom copied, so that no growth holds anybody up for long.
    """

    __slots__ = ("_data", "_fill", "_spill", "length")

    def __init__(self, dtype: type[_S], fill: int = 0) -> None:
        self._fill = fill
        self._spill: Spill | None = None  # where the data is, if not in memory
        self._data: NDArray[_S] = np.empty(16, dtype)
        self.length = 0

    @property
    def view(self) -> NDArray[_S]:
        """The used part, writable, valid until the next growth."""
        return self._data[: self.length]

    def extend_to(self, length: int) -> None:
        """Make the array at least `length` long; new elements have the fill value."""
        if length > self.length:
            self._data_for(length)[self.length : length] = self._fill
            self.length = length

    def append(self, values: NDArray[np.generic]) -> None:
        """Add values at the end."""
        length = self.length + len(values)
        self._data_for(length)[self.length : length] = values
        self.length = length

    def _data_for(self, length: int) -> NDArray[_S]:
        """The data, with room for so many elements."""
        room = len(self._data)
        if length > room:
            if self._spill is None:
                factor = 2 if self._data.nbytes < _LARGE else 8
                grown = np.empty(max(length, factor * room), self._data.dtype)
            else:
                grown = self._spill.zeros(max(length, 2 * room), self._data.dtype)
            grown[: self.length] = self.view
            self._data = grown
        return self._data

    def spill(self, spill: Spill) -> None:
        """Leave memory, and grow outside it from now on, where it is large."""
        if self._spill is None and self.nbytes >= max(1, spill.least):
            self._data, self._spill = spilled(self.view, spill), spill

    def drop(self, count: int) -> None:
        """Forget the first elements and give their memory back; what is left is in memory."""
        self._data, self._spill = self.view[count:].copy(), None
        self.length -= count

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._data = np.empty(16, self._data.dtype)
        self._spill = None
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the used part."""
        return int(self.view.nbytes)


def ranks(values: Int64) -> Int64:
    """For each element, how many equal elements stand before it in the array."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, len(values)))
    result = np.empty(len(values), np.int64)
    result[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return result


def distinct(values: Int64) -> Int64:
    """Each of the values once, in order: what `np.unique` gives, which loads masked arrays when it is first asked, for 10 ms."""
    ordered = np.sort(values)
    each: Int64 = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return each


def numpy_mask(mask: pa.Array) -> Bools:
    """A Boolean Arrow array as NumPy, NULL counting as false."""
    if mask.null_count:
        mask = mask.fill_null(False)
    result: Bools = mask.to_numpy(zero_copy_only=False)
    return result
