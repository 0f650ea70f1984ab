"""Growable NumPy arrays and Arrow columns: the storage under domains, indexes and SteMs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64: TypeAlias = NDArray[np.int64]
Int8: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]

_S = TypeVar("_S", bound=np.generic)

EMPTY: Int64 = np.empty(0, np.int64)

_LARGE = 1 << 20  # elements from which an array is copied as seldom as can be
_CHUNK_ROWS = 4 << 20  # the most that a chunk of a column is made to have: to copy it holds nobody up
_CHUNK_BYTES = 64 << 20
_LOOSE = 32  # chunks that wait to be merged where nobody takes
_LOOSE_TAKEN = 4  # and where somebody does
_FILE_LEAST = (
    4  # columns leave memory in fewer and larger parts than arrays, as each takes a chunk more to read
)
_TAKE_ROWS = 3000  # rows that are copied in the time that it takes to take from one chunk more
_SPLIT_ROWS = 16  # and in that of finding the chunk of a row and bringing the row back to its place
_COMPARED = 24  # chunks whose rows are found by comparing with each start


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
                grown = np.empty(max(length, room * (2 if room < _LARGE else 8)), self._data.dtype)
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


class ArrowColumn:
    """One column, appended to chunk by chunk. Small chunks merge geometrically, so that a take meets only a few."""

    __slots__ = ("_apart", "_chunks", "_fixed", "_loose", "_sizes", "_starts", "length", "type")

    def __init__(self, kind: pa.DataType) -> None:
        self.type = kind
        self._chunks: list[pa.Array] = []
        self._sizes: list[int] = []  # bytes of each
        self._fixed = 0  # how many of them are outside memory: to merge these would bring them back
        self._loose = 0  # how many of the last ones came since chunks were merged
        self._starts: list[int] | None = None  # first row of each chunk; None: to be counted anew
        self._apart = (
            0  # rows that could have been copied in the time that chunks have cost since they were one
        )
        self.length = 0

    def append(self, values: pa.Array) -> None:
        """Add an array of the column's type."""
        if not len(values):
            return
        size = values.nbytes
        large = _LOOSE * len(values) > _CHUNK_ROWS or _LOOSE * size > _CHUNK_BYTES
        if self._loose and (large or self._loose == _LOOSE):  # so those that wait always fit into one
            self._merge_last()
        self.length += len(values)
        self._starts = None
        self._chunks.append(values)
        self._sizes.append(size)
        self._loose += 1

    def _merge_last(self) -> None:
        """Merge what came last, and chunks before it that are not much larger."""
        chunks, sizes = self._chunks, self._sizes
        first, rows, size = len(chunks) - 1, len(chunks[-1]), sizes[-1]
        apart = len(chunks) - self._loose
        while first > self._fixed and (first > apart or 4 * rows >= len(chunks[first - 1])):
            rows, size = rows + len(chunks[first - 1]), size + sizes[first - 1]
            if rows > _CHUNK_ROWS or size > _CHUNK_BYTES:
                break
            first -= 1
        if first < len(chunks) - 1:
            self._merge(first)
        self._loose = 0

    def take(self, rows: Int64, *, holes: bool = False) -> pa.Array:
        """The values at `rows`, in their order; with `holes`, NULL for row -1.

        Never from a `ChunkedArray`: Arrow would make one array of the whole column first.
        """
        if not self._chunks:
            return pa.nulls(len(rows), self.type)
        if holes and len(rows) and rows.min() < 0:
            there = rows >= 0
            return self.take(rows[there]).take(pa.array(np.cumsum(there) - 1, mask=~there))
        if len(self._chunks) > 1:
            self._apart += _TAKE_ROWS * len(self._chunks) + _SPLIT_ROWS * len(rows)
            few = self.length <= _CHUNK_ROWS and sum(self._sizes) <= _CHUNK_BYTES
            if few and not self._fixed and self._apart >= self.length:
                self._merge(0)
            elif self._loose > _LOOSE_TAKEN or not few:
                self._merge_last()
        if len(self._chunks) == 1 or not len(rows):
            return self._chunks[0].take(numbers(rows))
        return self._from_chunks(rows)

    def _from_chunks(self, rows: Int64) -> pa.Array:
        """The values at `rows` where they are in several chunks: taken chunk by chunk, and put in order."""
        if self._starts is None:
            self._starts = [0, *accumulate(map(len, self._chunks))]
        starts = self._starts
        if len(self._chunks) <= _COMPARED:
            chunk = np.zeros(len(rows), np.int8)
            for start in starts[1:-1]:
                chunk += rows >= start
        else:
            chunk = (np.searchsorted(starts, rows, side="right") - 1).astype(np.int16)
        order = np.argsort(chunk, kind="stable")  # of few bits: sorted by counting
        ordered = rows[order]
        ends = np.searchsorted(chunk[order], np.arange(len(self._chunks)), side="right").tolist()
        parts = [
            self._chunks[at].take(numbers(ordered[first:end] - starts[at]))
            for at, (first, end) in enumerate(pairwise([0, *ends]))
            if first < end
        ]
        if len(parts) == 1:
            return parts[0]
        places = np.empty(len(rows), np.int64)
        places[order] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(numbers(places))

    def _merge(self, first: int) -> None:
        """Make one chunk of the last ones."""
        self._chunks[first:] = [pa.concat_arrays(self._chunks[first:])]
        self._sizes[first:] = [self._chunks[first].nbytes]
        self._starts, self._apart, self._loose = None, 0, 0

    def drop(self, count: int) -> None:
        """Forget the first values and give their memory back."""
        self.length -= count
        gone = 0
        while gone < len(self._chunks) and count >= len(self._chunks[gone]):
            count -= len(self._chunks[gone])
            gone += 1
        del self._chunks[:gone], self._sizes[:gone]
        self._fixed = max(0, self._fixed - gone)
        self._loose = min(self._loose, len(self._chunks))
        if count:
            rest = self._chunks[0][
                count:
            ]  # of what is mapped a part is as good; else only a copy gives memory back
            self._chunks[0] = rest if self._fixed else rest.take(pa.array(np.arange(len(rest))))
            self._sizes[0] = self._chunks[0].nbytes
        self._starts = None

    @property
    def in_memory(self) -> int:
        """Bytes of the chunks that are in memory."""
        return sum(self._sizes[self._fixed :])

    def unspilled(self) -> pa.ChunkedArray:
        """What is in memory: the last rows."""
        return pa.chunked_array(self._chunks[self._fixed :], self.type)

    def spilled(self, chunks: list[pa.Array]) -> None:
        """The same rows are outside memory now, in these chunks."""
        self._chunks[self._fixed :] = chunks
        self._sizes[self._fixed :] = [chunk.nbytes for chunk in chunks]
        self._starts, self._fixed, self._loose = None, len(self._chunks), 0

    def value(self, row: int) -> pa.Scalar:
        """One value; far cheaper than a take of one row."""
        for chunk in self._chunks:
            if row < len(chunk):
                return chunk[row]
            row -= len(chunk)
        raise IndexError("past the end of the column")

    @property
    def nbytes(self) -> int:
        """Bytes held by the chunks."""
        return sum(self._sizes)


def spill_columns(columns: Sequence[ArrowColumn], spill: Spill) -> None:
    """What columns of the same rows, which always go together, have in memory leaves it, where it is much."""
    if sum(column.in_memory for column in columns) >= max(1, _FILE_LEAST * spill.least):
        for column, chunks in zip(columns, spill.store([one.unspilled() for one in columns]), strict=True):
            column.spilled(chunks)


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
