"""SteM: the State Module of one base table (S4 section 2.1.4): its rows, once, for every alias and every join.

Build is one atomic step: the rows get the next sequence numbers and are visible to every later probe (ledger P03).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import ArrowColumn, Bools, Growable, Int64
from fff.dataflow.domains import Domain
from fff.dataflow.identity import Answer, Identity
from fff.dataflow.index import NumberIndex
from fff.dataflow.plan import TablePlan

#: Stamps are sequence number and alias ordinal, lexicographically (P01): 6 bits of alias.
ALIAS_BITS = 6
MAX_ALIASES = 1 << ALIAS_BITS


class SteM:
    """Rows of one table: Arrow columns, value numbers of the columns that are compared, indexes on first use.

    Rows are named by row numbers, dense from 0 in build order.
    """

    def __init__(
        self, plan: TablePlan, aliases: Sequence[int], domains: Mapping[int, Domain], identity: Identity
    ) -> None:
        self.plan = plan
        self.aliases = tuple(aliases)
        self.columns = [ArrowColumn(field.arrow) for field in plan.columns]
        self.domains = domains  # by column
        self.numbers = {column: Growable(np.int64) for column in domains}
        self.sequence = Growable(np.int64)
        self.identity = identity
        # With one alias, rows that fail its predicates are not stored and no mask is needed.
        self._passes = {alias: Growable(np.bool_) for alias in aliases} if len(aliases) > 1 else {}
        self.alias_rows = dict.fromkeys(aliases, 0)
        self._indexes: dict[int, NumberIndex] = {}
        self.complete = False  # EOT(true) is in: every row of the table has arrived
        self.arrived = 0  # rows that came, duplicates and rows no alias wants included
        self.duplicates = 0
        self.probes = 0
        self.hits = 0
        self.covered = 0

    def __len__(self) -> int:
        return self.sequence.length

    def number(self, rows: pa.RecordBatch) -> dict[int, Int64]:
        """Value numbers of the compared columns of arriving rows."""
        return {column: domain.number(rows.column(column)) for column, domain in self.domains.items()}

    def build(
        self,
        rows: pa.RecordBatch,
        numbers: Mapping[int, Int64],
        passes: Mapping[int, Bools],
        answer: Answer,
        sequence: int,
    ) -> tuple[Int64, int]:
        """Store the rows that some alias wants and that are not here yet.

        `numbers` are the value numbers by column, `passes` says by alias which rows pass its inline predicates, `answer`
        is the access that delivered them (it counts occurrences), `sequence` the last sequence number given out.
        Returns the new row numbers, ascending, and the last sequence number now.
        """
        self.arrived += len(rows)
        wanted = np.logical_or.reduce(list(passes.values()))
        new = np.flatnonzero(wanted)
        if self.identity.compares and len(new):
            picked = rows if len(new) == len(rows) else rows.take(pa.array(new))
            fresh = self.identity.fresh(picked, answer)
            self.duplicates += len(new) - int(fresh.sum())
            new = new[fresh]
        if not len(new):
            return new, sequence
        if len(new) < len(rows):
            rows = rows.take(pa.array(new))
        first = len(self)
        for storage, values in zip(self.columns, rows.columns, strict=True):
            storage.append(values)
        stored = np.arange(first, first + len(new))
        for column, known in self.numbers.items():
            known.append(numbers[column][new])
            index = self._indexes.get(column)
            if index is not None:
                _index(index, numbers[column][new], stored)
        for alias, mask in passes.items():
            kept = mask[new]
            self.alias_rows[alias] += int(kept.sum())
            if alias in self._passes:
                self._passes[alias].append(kept)
        self.sequence.append(np.arange(sequence + 1, sequence + 1 + len(new)))
        return stored, sequence + len(new)

    def passing(self, alias: int, rows: Int64) -> Bools | None:
        """Which rows pass the alias's inline predicates; None when all stored rows do."""
        known = self._passes.get(alias)
        return None if known is None else known.view[rows]

    def stamps(self, alias: int, rows: Int64) -> Int64:
        """Stamps of rows as that alias."""
        return self.sequence.view[rows] << ALIAS_BITS | alias

    def index(self, column: int) -> NumberIndex:
        """The index on a compared column, made on first use (T15)."""
        index = self._indexes.get(column)
        if index is None:
            index = self._indexes[column] = NumberIndex()
            _index(index, self.numbers[column].view, np.arange(len(self)))
        return index

    def pair_counts(self, links: Sequence[tuple[int, Int64]], probes: int) -> Int64:
        """For each prober an upper bound of its matches. `links` are (own column, numbers of the probers)."""
        if not links:
            return np.full(probes, len(self), np.int64)
        column, wanted = self._narrowest(links)
        return self.index(column).counts(wanted)

    def match(self, links: Sequence[tuple[int, Int64]], probes: int) -> tuple[Int64, Int64]:
        """Pairs (prober position, row) that agree on every link; every pair when there is no link."""
        if not links:
            return np.repeat(np.arange(probes), len(self)), np.tile(np.arange(len(self)), probes)
        column, wanted = self._narrowest(links)
        positions, rows = self.index(column).match(wanted)
        for other, numbers in links:
            if other != column and len(rows):
                same = self.numbers[other].view[rows] == numbers[positions]
                positions, rows = positions[same], rows[same]
        return positions, rows

    def _narrowest(self, links: Sequence[tuple[int, Int64]]) -> tuple[int, Int64]:
        """The link whose column has most distinct values (P41)."""
        if len(links) == 1:
            return links[0]
        return max(links, key=lambda link: self.index(link[0]).distinct)

    @property
    def nbytes(self) -> int:
        """Bytes held: rows, numbers, indexes."""
        rows = sum(column.nbytes for column in self.columns)
        numbers = sum(known.nbytes for known in self.numbers.values())
        return rows + numbers + self.sequence.nbytes + sum(index.nbytes for index in self._indexes.values())


def _index(index: NumberIndex, numbers: Int64, rows: Int64) -> None:
    known = numbers >= 0
    if known.all():
        index.add(numbers, rows)
    else:
        index.add(numbers[known], rows[known])
