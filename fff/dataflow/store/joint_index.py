"""An index on several columns of numbers together, for keys of which no single column is selective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fff.dataflow.arrays import Growable, Int64, Spill, Spillable
from fff.dataflow.store.domains import PairDomain
from fff.dataflow.store.index import NumberIndex


class JointIndex:
    """Rows by the numbers of several columns: each combination that occurs has a number of its own.

    Args:
        columns: numbers of the stored rows by column, which grow.
        links: (column, numbers of probers), for the columns.
    """

    def __init__(self, columns: Mapping[int, Growable[np.int64]], links: Sequence[tuple[int, Int64]]) -> None:
        self._columns = [columns[column] for column, _ in links]
        self._pairs = [PairDomain() for _ in links[1:]]
        self._numbers = Growable(np.int64)
        self._index = NumberIndex(self._numbers)

    @property
    def most(self) -> int:
        """How many rows agree on all columns at most."""
        self._catch_up()
        return self._index.most

    def counts(self, links: Sequence[tuple[int, Int64]]) -> Int64:
        """How many rows each prober matches."""
        return self._index.counts(self._find(links))

    def match(self, links: Sequence[tuple[int, Int64]]) -> tuple[Int64, Int64]:
        """All pairs (prober position, row) that agree on every column."""
        return self._index.match(self._find(links))

    def _catch_up(self) -> None:
        """Take in the rows stored since."""
        first = self._numbers.length
        if first < self._columns[0].length:
            numbers, *more = (column.view[first:] for column in self._columns)
            for pairs, other in zip(self._pairs, more, strict=True):
                numbers = pairs.number(numbers, other)
            self._numbers.append(numbers)

    def _find(self, links: Sequence[tuple[int, Int64]]) -> Int64:
        """The number of each prober's combination, -1 of one that no row has."""
        self._catch_up()
        (_, wanted), *others = links
        for pairs, (_, other) in zip(self._pairs, others, strict=True):
            wanted = pairs.find(wanted, other)
        return wanted

    def spill(self, spill: Spill) -> None:
        """Leave memory, as far as that is worth it."""
        parts: tuple[Spillable, ...] = (*self._pairs, self._numbers, self._index)
        for part in parts:
            part.spill(spill)

    @property
    def nbytes(self) -> int:
        """Bytes held: numbers and index."""
        return self._numbers.nbytes + self._index.nbytes
