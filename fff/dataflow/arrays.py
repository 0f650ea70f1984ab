"""Growable NumPy arrays and Arrow columns: the storage under domains, indexes and SteMs."""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64: TypeAlias = NDArray[np.int64]
Int8: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]

_S = TypeVar("_S", bound=np.generic)

EMPTY: Int64 = np.empty(0, np.int64)


class Growable(Generic[_S]):
    """An array that grows at its end by doubling; `view` is the used part, shape (length,)."""

    __slots__ = ("_data", "_fill", "length")

    def __init__(self, dtype: type[_S], fill: int = 0) -> None:
        self._fill = fill
        self._data: NDArray[_S] = np.full(16, fill, dtype)
        self.length = 0

    @property
    def view(self) -> NDArray[_S]:
        """The used part, writable, valid until the next growth."""
        return self._data[: self.length]

    def extend_to(self, length: int) -> None:
        """Make the array at least `length` long; new elements have the fill value."""
        if length > len(self._data):
            grown = np.full(max(length, 2 * len(self._data)), self._fill, self._data.dtype)
            grown[: self.length] = self._data[: self.length]
            self._data = grown
        self.length = max(self.length, length)

    def append(self, values: NDArray[_S]) -> None:
        """Add values at the end."""
        start = self.length
        self.extend_to(start + len(values))
        self._data[start : self.length] = values

    def clear(self) -> None:
        """Forget everything and give the memory back."""
        self._data = np.full(16, self._fill, self._data.dtype)
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return int(self._data.nbytes)


class ArrowColumn:
    """One column, appended to chunk by chunk. Chunks merge geometrically, so that a take meets only a few."""

    __slots__ = ("_chunks", "length", "type")

    def __init__(self, kind: pa.DataType) -> None:
        self.type = kind
        self._chunks: list[pa.Array] = []
        self.length = 0

    def append(self, values: pa.Array) -> None:
        """Add an array of the column's type."""
        if not len(values):
            return
        self.length += len(values)
        self._chunks.append(values)
        while len(self._chunks) > 1 and 2 * len(self._chunks[-1]) >= len(self._chunks[-2]):
            last = self._chunks.pop()
            self._chunks[-1] = pa.concat_arrays([self._chunks[-1], last])

    def take(self, rows: Int64) -> pa.Array:
        """The values at `rows`, in their order."""
        if not self._chunks:
            return pa.nulls(len(rows), self.type)
        if len(self._chunks) > 1 and len(rows) * 4 >= self.length:
            self._chunks = [pa.concat_arrays(self._chunks)]
        if len(self._chunks) == 1:
            return self._chunks[0].take(pa.array(rows))
        taken = pa.chunked_array(self._chunks).take(pa.array(rows))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

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
        return sum(chunk.nbytes for chunk in self._chunks)


def ranks(values: Int64) -> Int64:
    """For each element, how many equal elements stand before it in the array."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, len(values)))
    result = np.empty(len(values), np.int64)
    result[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return result


def numpy_mask(mask: pa.Array) -> Bools:
    """A Boolean Arrow array as NumPy, NULL counting as false."""
    if mask.null_count:
        mask = mask.fill_null(False)
    result: Bools = mask.to_numpy(zero_copy_only=False)
    return result
