"""A column, or what is computed of some, in sorted runs, for joins by inequality: which rows lie between two bounds, for each of many probers.

What has been appended since the last look becomes a run of its own at the next one; runs merge geometrically, so that a
probe searches a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fff.dataflow.arrays import EMPTY, Bools, Int64, numpy_mask
from fff.dataflow.plan.expressions import And, Evaluated, Expr
from fff.dataflow.store.index import spread
from fff.structs import Struct

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
#: How many times more candidates a prober is shown at each step that has not decided it.
_STEP_GROWTH = 4

NOTHING: Final = And(())  # stands for what is bounded where nothing is
Run: TypeAlias = tuple[Int64, Int64]  # values, ascending, and their rows
_Range: TypeAlias = tuple[Int64, Int64]  # of a run, by prober: where it begins, and how many rows it has

_HASH_BASE = 0x9E3779B97F4A7C15  # odd, so that no power of it is 0
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
    valid = numpy_mask(values.is_valid())
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


def hashes(texts: pa.Array) -> tuple[Int64, Bools]:
    """The same number for texts that are equal, for others hardly ever, and which are not NULL: their bytes as a polynomial."""
    valid = numpy_mask(texts.is_valid())
    _, ends, data = texts.buffers()
    totals = np.zeros(len(texts), np.uint64)
    if not len(texts) or data is None:
        return totals.view(np.int64), valid
    places = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    lengths = np.diff(places)
    powers = np.cumprod(np.full(int(lengths.max()) + 1, _HASH_BASE, np.uint64))
    text = np.frombuffer(data, np.uint8)[places[0] : places[-1]].astype(np.uint64) + np.uint64(1)
    within = np.arange(len(text)) - np.repeat(places[:-1] - places[0], lengths)
    filled = np.flatnonzero(lengths)
    if len(filled):
        totals[filled] = np.add.reduceat(text * powers[within], (places[:-1] - places[0])[filled])
    return totals.view(np.int64), valid


class Within(Struct, frozen=True):
    """For each prober the bounds, themselves included, between which a value of its matches must lie; a superset of them.

    `side`: "<" where all are upper bounds, ">" where all are lower ones. `hashed`: what must be equal is told by its hash.
    """

    own: Expr
    lows: Int64
    highs: Int64
    side: str = ""
    hashed: bool = False

    @staticmethod
    def anything(probers: int) -> Within:
        """No bounds, of nothing."""
        return Within(NOTHING, np.full(probers, LEAST), np.full(probers, MOST))

    def take(self, places: Int64 | slice) -> Within:
        """Those of some probers."""
        return Within(self.own, self.lows[places], self.highs[places], self.side, self.hashed)


class SortedRuns:
    """Rows by the value of a column or an expression, ascending; NULLs are in no run."""

    def __init__(self, computed: Callable[[Int64], Evaluated], *, hashed: bool = False) -> None:
        self._computed, self._hashed = computed, hashed
        self._taken = 0  # rows that are in runs, or NULL
        self.runs: list[Run] = []
        self.fails = False  # on some row: it is in no run, though it passes on with every tuple
        self._counted: tuple[Within, list[_Range]] | None = None  # who were counted last, to be matched then

    def extend_to(self, rows: int) -> None:
        """Take in what has been appended: so many rows are stored."""
        if self._taken == rows:
            return
        new: Int64 = np.arange(self._taken, rows)
        self._taken, self._counted = rows, None
        computed = self._computed(new)
        self.fails |= computed.failed is not None and bool(computed.failed.rows.any())
        self.runs.append(run_of(computed.values, new, hashed=self._hashed))
        while len(self.runs) > 1 and 2 * len(self.runs[-1][0]) >= len(self.runs[-2][0]):
            both = zip(self.runs.pop(-2), self.runs.pop(), strict=True)
            self.runs.append(_sorted(*map(np.concatenate, both)))

    def counts(self, within: Within) -> Int64:
        """How many rows lie between the bounds of each prober."""
        ranges = list(_between(self.runs, within))
        self._counted = within, ranges
        return _lengths(ranges, len(within.lows))

    def match(self, within: Within) -> tuple[Int64, Int64]:
        """All pairs (prober position, row) of rows that lie between a prober's bounds."""
        counted, self._counted = self._counted, None  # who is matched is not counted again
        if counted is not None and counted[0] is within:
            return _pairs(self.runs, counted[1])
        return pairs(self.runs, within)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(values.nbytes + rows.nbytes for values, rows in self.runs)


class Candidates:
    """The rows among which a prober's matches are, for who needs to know of one only.

    Rows near the bound of a prober are the last to be shown: a text there may have the bound's integer and be beyond it.
    """

    def __init__(self, runs: Sequence[Run], within: Within) -> None:
        self._rows = [rows for _, rows in runs]
        self._ranges = list(_between(runs, within))
        self._side, self._probers = within.side, len(within.lows)

    @property
    def counts(self) -> Int64:
        """How many there are for each prober."""
        return _lengths(self._ranges, self._probers)

    def steps(self, sought: Bools, most: int, each: int | None = None) -> Iterator[tuple[Int64, Int64]]:
        """Pairs (prober position, row), at most `most` at once, of probers that `sought`, which may change, names then.

        `each`: how many of a run a prober is shown at most.
        """
        for rows, (starts, lengths) in zip(self._rows, self._ranges, strict=True):
            shown, size = 0, 1
            while shown < (MOST if each is None else each):
                probers = np.flatnonzero(sought & (lengths > shown))
                if not len(probers):
                    break
                size = max(1, min(size, most // len(probers)))
                taken = np.minimum(lengths[probers] - shown, size)
                before = lengths[probers] - shown - taken if self._side == ">" else shown
                first = starts[probers] + before
                yield np.repeat(probers, taken), rows[spread(first, taken)]
                shown, size = shown + size, size * _STEP_GROWTH

    def farthest(
        self, bound: Within, sought: Bools, computed: Callable[[Int64], Evaluated]
    ) -> tuple[Int64, Int64]:
        """Of each sought prober and run the candidate that is farthest within a bound of another value, as pairs.

        Where that one is beyond the bound the prober has no candidate any more. `computed` is what that bounds.
        Candidates that one side bounds are the first so many rows of a run, or the last: a running maximum knows.
        """
        positions, found = [EMPTY], [EMPTY]
        if not self._side or not bound.side:
            return EMPTY, EMPTY
        limits = bound.lows if bound.side == ">" else ~bound.highs
        step = -1 if self._side == ">" else 1
        for rows, (_, lengths) in zip(self._rows, self._ranges, strict=True):
            probers = np.flatnonzero(sought & (lengths > 0))
            if not len(probers):
                continue
            others, valid = ordinals(computed(rows[::step]).values)
            others = np.where(valid, others if bound.side == ">" else ~others, LEAST)
            places = _highest(others)[lengths[probers] - 1]
            inside = others[places] >= limits[probers]
            lengths[probers[~inside]] = 0
            positions.append(probers[inside])
            found.append(rows[::step][places[inside]])
        return np.concatenate(positions), np.concatenate(found)


def _highest(values: Int64) -> Int64:
    """For each place, where the highest value up to it is."""
    top = np.maximum.accumulate(values)
    rises = np.concatenate(([True], top[1:] > top[:-1]))
    return np.maximum.accumulate(np.where(rises, np.arange(len(values)), 0))


def pairs(runs: Sequence[Run], within: Within) -> tuple[Int64, Int64]:
    """All pairs (prober position, row) of rows in some runs that lie between a prober's bounds."""
    return _pairs(runs, _between(runs, within))


def _pairs(runs: Sequence[Run], ranges: Iterable[_Range]) -> tuple[Int64, Int64]:
    positions, matching = [EMPTY], [EMPTY]
    for (_, rows), (starts, lengths) in zip(runs, ranges, strict=True):
        positions.append(np.repeat(np.arange(len(lengths)), lengths))
        matching.append(rows[spread(starts, lengths)])
    return np.concatenate(positions), np.concatenate(matching)


def _lengths(ranges: Iterable[_Range], probers: int) -> Int64:
    return sum((lengths for _, lengths in ranges), np.zeros(probers, np.int64))


def run_of(values: pa.Array, rows: Int64, *, hashed: bool = False) -> Run:
    """Rows with these values in one run, or texts by their hashes."""
    numbers, valid = hashes(values) if hashed else ordinals(values)
    return _sorted(numbers[valid], rows[valid])


def _sorted(values: Int64, rows: Int64) -> tuple[Int64, Int64]:
    order = np.argsort(values, kind="stable")
    return values[order], rows[order]


def _between(runs: Sequence[Run], within: Within) -> Iterator[_Range]:
    """Of each run where the rows between each prober's bounds begin, and how many there are."""
    # Bounds that are looked up in ascending order are found several times faster: each is near the one before.
    order = np.argsort(within.highs if within.side == "<" else within.lows, kind="stable")
    lows, highs = within.lows[order], within.highs[order]
    for values, _ in runs:
        starts, lengths = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        first = np.searchsorted(values, lows, side="left")
        starts[order] = first
        lengths[order] = np.maximum(np.searchsorted(values, highs, side="right") - first, 0)
        yield starts, lengths
