"""An index on one column of numbers (see `domains`): which rows have a given number.

Two parts. New rows hang in chains: `head[number]` is the newest, `next[row]` the one before it; a batch of probes walks
all its chains together. As long as no number has come twice, as those of keys do not, the heads are all there is. Once
numbers repeat a lot, rows are settled into runs (sorted by number), where a probe costs an interval instead of a walk.
Nothing is hashed here: the numbers are dense.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fff.dataflow.arrays import EMPTY, Growable, Int64, Spill, spilled

_LINK_ROUNDS = 4  # linking equal numbers of one batch goes round by round, then by sorting
_SETTLE_REPEATS = 4  # rows per number from which runs pay
_SETTLE_ROWS = 256


class NumberIndex:
    """Rows by number. What has been appended to the column since the last look is taken in by the next one.

    A negative number (-1 is NULL) is never found.
    """

    def __init__(self, numbers: Growable[np.int64]) -> None:
        self._numbers = numbers
        self._taken = 0  # rows taken in
        self._head = Growable(np.int32, -1)
        self._next = Growable(np.int32, -1)  # by row, once some number has come twice
        self._count = Growable(np.int32)  # rows per number, chained and settled; kept from then on too
        self._most = 0  # rows that a number has, at most
        self._distinct = 0  # Invariant: numbers with count > 0, of the rows taken in
        self._settled = 0  # rows below this one are in runs, the others in chains
        self._run_rows = EMPTY
        self._run_start = EMPTY
        self._run_length = EMPTY

    def __len__(self) -> int:
        return self._numbers.length

    @property
    def distinct(self) -> int:
        """How many numbers have a row."""
        self._catch_up()
        return self._distinct

    @property
    def most(self) -> int:
        """How many rows a number has at most."""
        self._catch_up()
        return self._most

    def _catch_up(self) -> None:
        first, self._taken = self._taken, len(self)
        if first == len(self):
            return
        numbers = self._numbers.view[first:]
        rows = np.arange(first, len(self))
        if numbers.min() < 0:
            known = (numbers >= 0).nonzero()[0]
            numbers, rows = numbers[known], rows[known]
        self._head.extend_to(int(numbers.max(initial=-1)) + 1)
        if self._most > 1 or not self._place(numbers, rows):
            self._next.extend_to(len(self))
            self._count.extend_to(self._head.length)
            self._link(numbers, rows)
        tail = len(self) - self._settled
        repeats = self._most > 1 and len(self) >= _SETTLE_REPEATS * self._distinct
        if repeats and tail >= max(_SETTLE_ROWS, self._settled):
            self._settle()

    def _place(self, numbers: Int64, rows: Int64) -> bool:
        """Take in rows whose numbers are all new and different. If they are not, nothing changes but that rows have counts."""
        head = self._head.view
        before = head[numbers]
        if before.max(initial=-1) < 0:
            head[numbers] = rows
            if (head[numbers] == rows).all():
                self._distinct += len(rows)
                self._most = min(1, self._distinct)
                return True
            head[numbers] = -1
        self._count.append((head >= 0).view(np.int8))
        return False

    def _link(self, numbers: Int64, rows: Int64) -> None:
        """Hang rows at the head of their chains."""
        head, chain = self._head.view, self._next.view
        for _ in range(_LINK_ROUNDS):
            chain[rows] = head[numbers]
            head[numbers] = rows  # of equal numbers one wins
            lost = (head[numbers] != rows).nonzero()[0]
            if not len(lost):
                self._add(numbers, 1)
                return
            won = np.ones(len(numbers), np.bool_)
            won[lost] = False
            self._add(numbers[won], 1)
            numbers, rows = numbers[lost], rows[lost]
        order = np.argsort(numbers, kind="stable")
        numbers, rows = numbers[order], rows[order]
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        lasts = np.append(starts[1:], len(numbers)) - 1
        chain[rows[1:]] = rows[:-1]
        chain[rows[starts]] = head[numbers[starts]]
        head[numbers[lasts]] = rows[lasts]
        self._add(numbers[starts], lasts + 1 - starts)

    def _add(self, numbers: Int64, more: Int64 | int) -> None:
        """Count more rows of numbers that are all different."""
        count = self._count.view
        before = count[numbers]
        self._distinct += len(before) - int(np.count_nonzero(before))
        count[numbers] = after = before + more
        self._most = max(self._most, int(after.max(initial=0)))

    def _settle(self) -> None:
        order = np.argsort(self._numbers.view, kind="stable")
        self._run_rows = order[np.searchsorted(self._numbers.view, 0, sorter=order) :]
        self._run_length = self._count.view.astype(np.int64)
        self._run_start = np.cumsum(self._run_length) - self._run_length
        self._settled = len(self)
        self._head.view[:] = -1

    def counts(self, numbers: Int64) -> Int64:
        """How many rows each number has; a number never seen has none."""
        self._catch_up()
        if self._most > 1:
            return _at(self._count.view, numbers, 0)
        return (_at(self._head.view, numbers, -1) >= 0).astype(np.int64)

    def match(self, numbers: Int64) -> tuple[Int64, Int64]:
        """All pairs (position in `numbers`, row) with equal numbers, in no particular order."""
        self._catch_up()
        probes: list[Int64] = []
        rows: list[Int64] = []
        if self._settled:
            lengths = _at(self._run_length, numbers, 0)
            positions = lengths.nonzero()[0]
            lengths = lengths[positions]
            probes.append(np.repeat(positions, lengths))
            rows.append(self._run_rows[spread(self._run_start[numbers[positions]], lengths)])
        if self._settled < len(self):
            entries = _at(self._head.view, numbers, -1)
            positions = (entries >= 0).nonzero()[0]
            entries = entries[positions]
            if self._most == 1 and not rows:
                return positions, entries
            while len(entries):
                probes.append(positions)
                rows.append(entries)
                entries = self._next.view[entries].astype(np.int64)
                alive = (entries >= 0).nonzero()[0]
                if len(alive) < len(entries):
                    entries, positions = entries[alive], positions[alive]
        if not rows:
            return EMPTY, EMPTY
        if len(rows) == 1:
            return probes[0], rows[0]
        return np.concatenate(probes), np.concatenate(rows)

    def spill(self, spill: Spill) -> None:
        """Leave memory, as far as that is worth it."""
        for part in (self._head, self._next, self._count):
            part.spill(spill)
        self._run_rows = spilled(self._run_rows, spill)
        self._run_start = spilled(self._run_start, spill)
        self._run_length = spilled(self._run_length, spill)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        chains = (self._head, self._next, self._count)
        runs = (self._run_rows, self._run_start, self._run_length)
        return sum(part.nbytes for part in chains) + sum(int(run.nbytes) for run in runs)


def _at(values: NDArray[np.signedinteger], numbers: Int64, otherwise: int) -> Int64:
    """values[number] for each number, and something else where there is none."""
    inside = numbers.view(np.uint64) < len(values)  # the negative ones are the largest
    if inside.all():
        return values[numbers].astype(np.int64)
    result = np.full(len(numbers), otherwise, np.int64)
    result[inside] = values[numbers[inside]]
    return result


def spread(starts: Int64, lengths: Int64) -> Int64:
    """The concatenation of the ranges start, start + 1, ..., start + length - 1."""
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
