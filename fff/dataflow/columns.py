"""Arrow columns that grow at their end: the storage under SteMs and domains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fff.dataflow.arrays import Growable, Int64, Spill, numbers, numpy_mask

_CHUNK_ROWS = 4 << 20  # the most that a chunk of a column is made to have: to copy it holds nobody up
_CHUNK_BYTES = 64 << 20
_GROWN = 4  # times as much may one have that grows in place, as each chunk has its price where rows are taken
_LOOSE = 32  # chunks that wait to be put together where nobody takes
#: Columns leave memory in fewer and larger parts than arrays, as each takes a chunk more to read.
_FILE_LEAST = 4
_COMPARED = 24  # chunks whose rows are found by comparing with each start


class ArrowColumn:
    """One column, appended to chunk by chunk. What came last is put together where somebody takes: from few chunks, then."""

    __slots__ = ("_chunks", "_fixed", "_growing", "_loose", "_sizes", "_starts", "length", "type")

    def __init__(self, kind: pa.DataType) -> None:
        self.type = kind
        self._chunks: list[pa.Array] = []
        self._sizes: list[int] = []  # bytes of each
        self._fixed = 0  # how many of them are outside memory: to copy these would bring them back
        self._loose = 0  # how many of the last ones are as they came
        self._growing: _Growing | None = None  # the chunk before these, if it can grow
        self._starts: list[int] | None = None  # first row of each chunk; None: to be counted anew
        self.length = 0

    def append(self, values: pa.Array) -> None:
        """Add an array of the column's type."""
        if not len(values):
            return
        size = values.nbytes
        large = _LOOSE * len(values) > _CHUNK_ROWS or _LOOSE * size > _CHUNK_BYTES
        if self._loose and (large or self._loose == _LOOSE):  # so no more is copied at once than a chunk has
            self._settle()
        self.length += len(values)
        self._starts = None
        self._chunks.append(values)
        self._sizes.append(size)
        self._loose += 1

    def _settle(self) -> None:
        """Put together what came last, as far as chunks may be long."""
        at = len(self._chunks) - self._loose
        came = list(zip(self._chunks[at:], self._sizes[at:], strict=True))
        del self._chunks[at:], self._sizes[at:]
        self._starts, self._loose = None, 0
        group: list[pa.Array] = []
        times = _GROWN if _Growing.suits(self.type) else 1
        rows, size = (0, 0) if self._growing is None else (len(self._chunks[-1]), self._sizes[-1])
        apart = False  # whether the last one stays as it is
        for chunk, its in came:
            rows, size = rows + len(chunk), size + its
            large = _is_large(len(chunk), its)
            if large or apart or rows > times * _CHUNK_ROWS or size > times * _CHUNK_BYTES:
                self._put(group)
                self._growing, group, rows, size = None, [], len(chunk), its
            group.append(chunk)
            apart = large
        self._put(group)

    def _put(self, group: list[pa.Array]) -> None:
        """Into the chunk that has room for it, or a new one."""
        if not group:
            return
        values = group[0] if len(group) == 1 else pa.concat_arrays(group)
        grows = _Growing.suits(self.type)
        if grows and not _is_large(len(values), values.nbytes):
            if self._growing is None:
                self._growing = _Growing(self.type)
            else:
                del self._chunks[-1], self._sizes[-1]
            self._growing.append(values)
            values = self._growing.array()
        else:
            self._growing = None
        self._chunks.append(values)
        self._sizes.append(values.nbytes)
        if not grows:
            self._merge_last()

    def _merge_last(self) -> None:
        """Merge the last chunk and those before it that are not much longer, of a type whose chunks do not grow."""
        chunks, sizes = self._chunks, self._sizes
        first, rows, size = len(chunks) - 1, len(chunks[-1]), sizes[-1]
        while first > self._fixed and 4 * rows >= len(chunks[first - 1]):
            rows, size = rows + len(chunks[first - 1]), size + sizes[first - 1]
            if rows > _CHUNK_ROWS or size > _CHUNK_BYTES:
                break
            first -= 1
        if first < len(chunks) - 1:
            chunks[first:] = [pa.concat_arrays(chunks[first:])]
            sizes[first:] = [chunks[first].nbytes]

    def take(self, rows: Int64, *, holes: bool = False) -> pa.Array:
        """The values at `rows`, in their order; with `holes`, NULL for row -1.

        Never from a `ChunkedArray`: Arrow would make one array of the whole column first.
        """
        if not self._chunks:
            return pa.nulls(len(rows), self.type)
        if holes and len(rows) and rows.min() < 0:
            there = rows >= 0
            return self.take(rows[there]).take(pa.array(np.cumsum(there) - 1, mask=~there))
        if self._loose and len(self._chunks) > 1:
            self._settle()
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
        if len(self._chunks) - self._loose <= bool(count):  # the chunk that could grow is gone, or was copied
            self._growing = None
        self._starts = None

    @property
    def grown(self) -> int:
        """Bytes of the chunk that grows, which Arrow has not allocated."""
        return 0 if self._growing is None else self._sizes[-1 - self._loose]

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
        self._starts, self._fixed, self._loose, self._growing = None, len(self._chunks), 0, None

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


class _Growing:
    """A chunk that grows in place: arrays of it that were given out stay as they are, as only what is beyond them is written."""

    __slots__ = ("_data", "_ends", "_kind", "_nulls", "_rows", "_valid")

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._rows = self._nulls = 0
        self._valid = _Bits()  # empty as long as nothing is NULL
        self._ends: Growable[np.int32] | None = None  # of texts
        if _is_text(kind):
            self._ends = Growable(np.int32)
            self._ends.extend_to(1)
        self._data: Growable[np.uint8] | _Bits = _Bits() if pa.types.is_boolean(kind) else Growable(np.uint8)

    @staticmethod
    def suits(kind: pa.DataType) -> bool:
        """Whether values of a type lie in one or two buffers side by side."""
        fixed = pa.types.is_primitive(kind) or pa.types.is_decimal(kind)
        return bool(fixed) or _is_text(kind)

    def append(self, values: pa.Array) -> None:
        """Add values of the type."""
        count, nulls = len(values), values.null_count
        if nulls or self._nulls:
            if not self._nulls:
                self._valid.append(np.ones(self._rows, np.bool_))
            self._valid.append(numpy_mask(values.is_valid()))
        _, first, second = (*values.buffers(), None)[:3]
        if isinstance(self._data, _Bits):
            self._data.append(numpy_mask(values))
        elif self._ends is None:
            width = self._kind.bit_width // 8
            self._data.append(np.frombuffer(first, np.uint8, count * width, values.offset * width))
        else:
            ends = np.frombuffer(first, np.int32)[values.offset : values.offset + count + 1]
            self._ends.append(ends[1:] + np.int32(self._data.length - int(ends[0])))
            if second is not None:
                self._data.append(np.frombuffer(second, np.uint8)[ends[0] : ends[-1]])
        self._rows += count
        self._nulls += nulls

    def array(self) -> pa.Array:
        """All values."""
        buffers = [None if not self._nulls else pa.py_buffer(self._valid.view)]
        if self._ends is not None:
            buffers.append(pa.py_buffer(self._ends.view))
        buffers.append(pa.py_buffer(self._data.view))
        return pa.Array.from_buffers(self._kind, self._rows, buffers, self._nulls)


class _Bits:
    """Bits that are appended to, the lowest of a byte first."""

    __slots__ = ("_bytes", "_rest")

    def __init__(self) -> None:
        self._bytes = Growable(np.uint8)
        self._rest = 0  # bits of the last byte that are used, if not all are

    @property
    def view(self) -> NDArray[np.uint8]:
        """The used bytes."""
        return self._bytes.view

    def append(self, bits: NDArray[np.bool_]) -> None:
        """Add some."""
        if self._rest:
            last = np.unpackbits(self.view[-1:], count=self._rest, bitorder="little")
            bits = np.concatenate((last.view(np.bool_), bits))
            self._bytes.length -= 1
        self._bytes.append(np.packbits(bits, bitorder="little"))
        self._rest = len(bits) % 8


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _is_large(rows: int, size: int) -> bool:
    """Whether a chunk is not copied to be put together with others: beside it hardly anything would find room."""
    return 2 * rows > _CHUNK_ROWS or 2 * size > _CHUNK_BYTES


def spill_columns(columns: Sequence[ArrowColumn], spill: Spill) -> None:
    """What columns of the same rows, which always go together, have in memory leaves it, where it is much."""
    if sum(column.in_memory for column in columns) >= max(1, _FILE_LEAST * spill.least):
        for column, chunks in zip(columns, spill.store([one.unspilled() for one in columns]), strict=True):
            column.spilled(chunks)
