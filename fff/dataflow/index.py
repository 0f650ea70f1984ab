"""An index on one column of numbers (see `domains`): which rows have a given number.

Two parts. New rows hang in chains: `head[number]` is the newest, `next[row]` the one before it; a batch of probes walks
all its chains together. Once numbers repeat a lot, rows are settled into runs (sorted by number), where a probe costs an
interval instead of a walk. Nothing is hashed here: the numbers are dense.
"""

from __future__ import annotations

import numpy as np

from fff.dataflow.arrays import EMPTY, Growable, Int64

_LINK_ROUNDS = 4  # linking equal numbers of one batch goes round by round, then by sorting
_SETTLE_REPEATS = 4  # rows per number from which runs pay
_SETTLE_ROWS = 256


class NumberIndex:
    """Rows by number. Rows are appended; numbers are at least 0 (-1, NULL, is never indexed)."""

    def __init__(self) -> None:
        self._head = Growable(np.int64, -1)
        self._next = Growable(np.int64, -1)  # by entry
        self._entry_number = Growable(np.int64)
        self._entry_row = Growable(np.int64)
        self.count = Growable(np.int64)  # rows per number, chained and settled
        self.distinct = 0  # Invariant: distinct == numbers with count > 0
        self._settled = 0  # entries below this one are in runs, the others in chains
        self._run_rows = EMPTY
        self._run_start = EMPTY
        self._run_length = EMPTY

    def __len__(self) -> int:
        return self._entry_row.length

    def add(self, numbers: Int64, rows: Int64) -> None:
        """Index rows under their numbers. Both of shape (n,)."""
        if not len(numbers):
            return
        first = len(self)
        self._entry_number.append(numbers)
        self._entry_row.append(rows)
        self._next.extend_to(len(self))
        size = int(numbers.max()) + 1
        self._head.extend_to(size)
        self.count.extend_to(size)
        count = self.count.view
        if len(numbers) * 8 < size:
            np.add.at(count, numbers, 1)
        else:
            count += np.bincount(numbers, minlength=len(count))
        self.distinct += self._link(numbers, np.arange(first, len(self)))
        tail = len(self) - self._settled
        if tail >= _SETTLE_ROWS and tail >= self._settled and len(self) >= _SETTLE_REPEATS * self.distinct:
            self._settle()

    def _link(self, numbers: Int64, entries: Int64) -> int:
        """Hang entries at the head of their chains; returns how many numbers were not there before."""
        head: Int64 = self._head.view
        chain: Int64 = self._next.view
        fresh = 0
        for _ in range(_LINK_ROUNDS):
            before = head[numbers]
            chain[entries] = before
            head[numbers] = entries  # of equal numbers one wins
            lost = head[numbers] != entries
            won = numbers[~lost & (before < 0)]
            fresh += self._unsettled(won)
            if not lost.any():
                return fresh
            numbers, entries = numbers[lost], entries[lost]
        order = np.argsort(numbers, kind="stable")
        numbers, entries = numbers[order], entries[order]
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        chain[entries[1:]] = entries[:-1]
        chain[entries[starts]] = head[numbers[starts]]
        head[numbers[np.append(starts[1:], len(numbers)) - 1]] = entries[
            np.append(starts[1:], len(numbers)) - 1
        ]
        return fresh

    def _unsettled(self, numbers: Int64) -> int:
        inside = numbers[numbers < len(self._run_length)]
        return len(numbers) - int(np.count_nonzero(self._run_length[inside]))

    def _settle(self) -> None:
        numbers: Int64 = self._entry_number.view
        order = np.argsort(numbers, kind="stable")
        self._run_rows = self._entry_row.view[order]
        self._run_length = np.bincount(numbers, minlength=self.count.length)
        self._run_start = np.cumsum(self._run_length) - self._run_length
        self._settled = len(self)
        self._head.view[:] = -1

    def counts(self, numbers: Int64) -> Int64:
        """How many rows each number has; a number never seen has none."""
        count: Int64 = self.count.view
        if not len(count):
            return np.zeros(len(numbers), np.int64)
        inside = (numbers >= 0) & (numbers < len(count))
        if inside.all():
            return count[numbers]
        return np.where(inside, count[np.where(inside, numbers, 0)], 0)

    def match(self, numbers: Int64) -> tuple[Int64, Int64]:
        """All pairs (position in `numbers`, row) with equal numbers, in no particular order."""
        if not len(self) or not len(numbers):
            return EMPTY, EMPTY
        positions = np.flatnonzero(self.counts(numbers))
        if not len(positions):
            return EMPTY, EMPTY
        numbers = numbers[positions]
        found_at: list[Int64] = []
        found: list[Int64] = []
        if self._settled:
            at, rows = self._match_runs(numbers)
            found_at.append(positions[at])
            found.append(rows)
        if self._settled < len(self):
            head: Int64 = self._head.view
            chain: Int64 = self._next.view
            row: Int64 = self._entry_row.view
            entries = head[numbers]
            while True:
                alive = entries >= 0
                if not alive.all():
                    entries, positions = entries[alive], positions[alive]
                if not len(entries):
                    break
                found_at.append(positions)
                found.append(row[entries])
                entries = chain[entries]
        if len(found) == 1:
            return found_at[0], found[0]
        return np.concatenate(found_at), np.concatenate(found)

    def _match_runs(self, numbers: Int64) -> tuple[Int64, Int64]:
        inside = np.flatnonzero(numbers < len(self._run_length))
        wanted = numbers[inside]
        lengths = self._run_length[wanted]
        return np.repeat(inside, lengths), self._run_rows[spread(self._run_start[wanted], lengths)]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        chains = (self._head, self._next, self._entry_number, self._entry_row, self.count)
        runs = (self._run_rows, self._run_start, self._run_length)
        return sum(part.nbytes for part in chains) + sum(int(run.nbytes) for run in runs)


def spread(starts: Int64, lengths: Int64) -> Int64:
    """The concatenation of the ranges start, start + 1, ..., start + length - 1."""
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
