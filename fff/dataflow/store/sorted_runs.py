"""A column in sorted runs, for joins by inequality: which rows lie between two bounds, for each of many probers.

What has been appended since the last look becomes a run of its own at the next one; runs merge geometrically, so that a
probe searches a few.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fff.dataflow.arrays import EMPTY, ArrowColumn, Bools, Int64
from fff.dataflow.store.index import spread
from fff.structs import Struct

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


#: Digits of a decimal that are told apart by 64 bits.
_WHOLE_DIGITS = 18


def sortable(kind: pa.DataType) -> bool:
    """Whether values of a type are ordered as the integers that stand for them; different values may have the same one."""
    return exact(kind) or pa.types.is_string(kind) or pa.types.is_decimal128(kind)


def exact(kind: pa.DataType) -> bool:
    """Whether different values of a sortable type have different integers."""
    whole = pa.types.is_signed_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    short = pa.types.is_decimal128(kind) and kind.precision <= _WHOLE_DIGITS
    return bool(whole or short or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def ordinals(values: pa.Array) -> tuple[Int64, Bools]:
    """The integers that stand for values of a sortable type, and which are not NULL.

    Of a text the first eight bytes, of a long decimal its upper half; NaN is above all numbers.
    """
    valid: Bools = values.is_valid().to_numpy(zero_copy_only=False)
    kind = values.type
    if pa.types.is_floating(kind):
        return _of_floats(values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)), valid
    if pa.types.is_string(kind):
        return _of_texts(values), valid
    if pa.types.is_decimal(kind):
        halves = np.frombuffer(values.buffers()[1] or b"", np.int64).reshape(-1, 2)
        part = halves[values.offset : values.offset + len(values), 0 if exact(kind) else 1]
        return np.where(valid, part, 0), valid
    width = pa.int64() if kind.bit_width == 64 else pa.int32()
    whole = values.view(width) if not pa.types.is_integer(kind) else values
    numbers: Int64 = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return numbers, valid


def _of_floats(values: NDArray[np.float64]) -> Int64:
    """Their bits; those of negative numbers the other way round."""
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)  # one NaN, one zero
    return np.where(bits < 0, bits ^ MOST, bits)


def _of_texts(values: pa.Array) -> Int64:
    """The first eight bytes of UTF-8, in whose order texts are."""
    _, ends, data = values.buffers()
    if not len(values) or data is None:
        return np.zeros(len(values), np.int64)
    places = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8)
    prefixes = np.zeros(len(values), np.uint64)
    for byte in range(8):
        at = places[:-1] + byte
        inside = at < places[1:]
        prefixes[inside] |= text[at[inside]].astype(np.uint64) << np.uint64(56 - 8 * byte)
    return (prefixes ^ np.uint64(1 << 63)).view(np.int64)


class Within(Struct, frozen=True):
    """For each prober the bounds, themselves included, between which a column of its matches must lie; a superset of them."""

    column: int
    lows: Int64
    highs: Int64

    def take(self, places: Int64 | slice) -> Within:
        """Those of some probers."""
        return Within(self.column, self.lows[places], self.highs[places])


class SortedRuns:
    """Rows by the values of a column, ascending; NULLs are in no run."""

    def __init__(self, column: ArrowColumn) -> None:
        self._column = column
        self._taken = 0  # rows that are in runs, or NULL
        self._runs: list[tuple[Int64, Int64]] = []  # values and their rows

    def _catch_up(self) -> list[tuple[Int64, Int64]]:
        if self._taken < self._column.length:
            rows: Int64 = np.arange(self._taken, self._column.length)
            self._taken = self._column.length
            values, valid = ordinals(self._column.take(rows))
            self._runs.append(_sorted(values[valid], rows[valid]))
            while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) >= len(self._runs[-2][0]):
                pairs = zip(self._runs.pop(-2), self._runs.pop(), strict=True)
                self._runs.append(_sorted(*map(np.concatenate, pairs)))
        return self._runs

    def counts(self, within: Within) -> Int64:
        """How many rows lie between the bounds of each prober."""
        total = np.zeros(len(within.lows), np.int64)
        for values, _ in self._catch_up():
            total += _between(values, within)[1]
        return total

    def match(self, within: Within) -> tuple[Int64, Int64]:
        """All pairs (prober position, row) of rows that lie between a prober's bounds."""
        positions, matching = [EMPTY], [EMPTY]
        for values, rows in self._catch_up():
            starts, lengths = _between(values, within)
            positions.append(np.repeat(np.arange(len(lengths)), lengths))
            matching.append(rows[spread(starts, lengths)])
        return np.concatenate(positions), np.concatenate(matching)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(values.nbytes + rows.nbytes for values, rows in self._runs)


def _sorted(values: Int64, rows: Int64) -> tuple[Int64, Int64]:
    order = np.argsort(values, kind="stable")
    return values[order], rows[order]


def _between(values: Int64, within: Within) -> tuple[Int64, Int64]:
    starts = np.searchsorted(values, within.lows, side="left")
    ends = np.searchsorted(values, within.highs, side="right")
    return starts, np.maximum(ends - starts, 0)
