"""SteM: the State Module of one base table (S4 section 2.1.4): its rows, once, for every alias and every join.

Build is one atomic step: the rows get the next sequence numbers and are visible to every later probe (ledger P03).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Growable, Int64, Spill, Spillable
from fff.dataflow.columns import ArrowColumn, spill_columns
from fff.dataflow.plan.expressions import Evaluated, Expr, evaluate_rows
from fff.dataflow.plan.extents import Coverage
from fff.dataflow.plan.plan import TablePlan
from fff.dataflow.store.domains import Domain
from fff.dataflow.store.identity import Answer, Identity, differing
from fff.dataflow.store.index import NumberIndex
from fff.dataflow.store.joint_index import JointIndex
from fff.dataflow.store.sorted_runs import SortedRuns, Within, ordinals

#: Stamps are sequence number and alias ordinal, lexicographically (P01): 6 bits of alias.
ALIAS_BITS = 6
MAX_ALIASES = 1 << ALIAS_BITS
#: Rows that agree on the most selective column alone, for each prober and for a batch, from which all columns have an index
#: of their own together.
_CANDIDATES_EACH = 4
_CANDIDATES = 4096


class SteM:
    """Rows of one table: Arrow columns, value numbers of the columns that are compared, indexes on first use.

    Rows are named by row numbers, dense from 0 in build order. Of a table that nobody probes any more the first ones may
    be gone (`forget`); the others keep their numbers.
    """

    def __init__(
        self,
        plan: TablePlan,
        aliases: Sequence[int],
        domains: Mapping[int, Domain],
        identity: Identity,
        *,
        holes: bool = False,
    ) -> None:
        self.plan = plan
        self._holes = holes  # tuples may have row -1, no row: the table is the right side of some join
        self.aliases = tuple(aliases)
        self.columns = [ArrowColumn(field.arrow) for field in plan.columns]
        self.domains = domains  # by column
        self.numbers = {column: Growable(np.int64) for column in domains}
        self.sequence = Growable(np.int64)
        self.identity = identity
        identity.over(self.columns, domains)
        # With one alias, rows that fail its predicates are not stored and no mask is needed.
        self._passes = {alias: Growable(np.bool_) for alias in aliases} if len(aliases) > 1 else {}
        self.alias_rows = dict.fromkeys(aliases, 0)
        self._indexes: dict[int, NumberIndex] = {}
        self._runs: dict[tuple[Expr, bool], SortedRuns] = {}
        self._widest: dict[tuple[Expr, Expr], tuple[int, int | None]] = {}  # of how many rows, and how far
        self._joint: dict[tuple[int, ...], JointIndex] = {}  # by columns
        self.complete = False  # EOT(true) is in: every row of the table has arrived
        self.coverage = Coverage()  # EOT of predicates: every row of these extents has arrived
        #: Rows that the scan which was read whole last did not have, as far as that can be counted.
        self.beyond = 0
        self.forgotten = 0  # rows that were stored and are no more: the first ones
        self._had = {
            column: Growable(np.bool_) for column in domains
        }  # by value number: some of these had it
        self.arrived = 0  # rows that came, duplicates and rows no alias wants included
        self.duplicates = 0
        self.conflicts = 0  # of these: rows that differ from the row that had their key before
        self.conflicting: dict[str, None] = {}  # columns in which they do
        self.conflict: tuple[object, ...] | None = None  # the first such key
        self.probes = 0
        self.hits = 0
        self.covered = 0

    def __len__(self) -> int:
        return self.forgotten + self.sequence.length

    def compare(self, answer: Answer) -> None:
        """Count the rows that a scan which was read whole does not have."""
        if self.identity.by_answer:
            self.beyond = max(0, len(self) - answer.rows)

    def values(self, column: int, rows: Int64) -> pa.Array:
        """The values of a column at `rows`, NULL where there is no row."""
        return self.columns[column].take(self._places(rows), holes=self._holes)

    def _places(self, rows: Int64) -> Int64:
        """Where rows stand among those that are here."""
        if not self.forgotten or not len(rows):
            return rows
        places: Int64 = rows - self.forgotten
        assert places.min() >= 0, "a row is asked for that is gone"
        return places

    def numbers_at(self, column: int, rows: Int64) -> Int64:
        """The value numbers of a compared column at `rows`, those of NULL where there is no row."""
        if not self._holes:
            return self.numbers[column].view[self._places(rows)]
        numbers = np.full(len(rows), -1, np.int64)
        there = rows >= 0
        numbers[there] = self.numbers[column].view[rows[there]]
        return numbers

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
        new = wanted.nonzero()[0]
        if len(new) and self.identity.compares:
            all_new = len(new) == len(rows)
            picked = rows if all_new else rows.take(pa.array(new))
            known = numbers if all_new else {column: values[new] for column, values in numbers.items()}
            fresh = self.identity.fresh(picked, answer, known)
            repeats = len(new) - int(np.count_nonzero(fresh))
            self.duplicates += repeats
            new = new[fresh]
            stored = self._store(rows, new, numbers)
            if self.identity.kind == "key":
                self.identity.placed(len(self))
                if repeats:
                    self._compare(picked)
        else:
            stored = self._store(rows, new, numbers)
        if not len(new):
            return new, sequence
        for alias, mask in passes.items():
            kept = mask[new]
            self.alias_rows[alias] += int(kept.sum())
            if alias in self._passes:
                self._passes[alias].append(kept)
        self.sequence.append(np.arange(sequence + 1, sequence + 1 + len(new)))
        return stored, sequence + len(new)

    def _store(self, rows: pa.RecordBatch, new: Int64, numbers: Mapping[int, Int64]) -> Int64:
        """Take in some of arriving rows; returns their row numbers."""
        first = len(self)
        if len(new) < len(rows):
            rows = rows.take(pa.array(new))
            numbers = {column: known[new] for column, known in numbers.items()}
        for storage, values in zip(self.columns, rows.columns, strict=True):
            storage.append(values)
        stored = np.arange(first, first + len(new))
        for column, known in self.numbers.items():
            known.append(numbers[column])
        return stored

    def _compare(self, rows: pa.RecordBatch) -> None:
        """Note which of the rows that came last differ from those that had their keys before."""
        old, originals = self.identity.originals()
        unlike = np.zeros(len(old), np.bool_)
        for field, storage, values in zip(self.plan.columns, self.columns, rows.columns, strict=True):
            differ = differing(values.take(pa.array(old)), storage.take(originals))
            if differ.any():
                unlike |= differ
                self.conflicting.setdefault(field.name, None)
        if unlike.any() and self.conflict is None:
            first = int(originals[unlike.nonzero()[0][0]])
            self.conflict = tuple(self.columns[column].value(first).as_py() for column in self.plan.key)
        self.conflicts += int(np.count_nonzero(unlike))

    def passing(self, alias: int, rows: Int64) -> Bools | None:
        """Which rows pass the alias's inline predicates; None when all stored rows do."""
        known = self._passes.get(alias)
        return None if known is None else known.view[rows]

    def stamps(self, alias: int, rows: Int64) -> Int64:
        """Stamps of rows as that alias."""
        return self.sequence.view[self._places(rows)] << ALIAS_BITS | alias

    def late(self, alias: int, stamps: Int64) -> Bools | None:
        """Which stamps are newer than some row of the alias: tuples of the others have no match (P26); None when all are."""
        if not len(self):
            return None
        late: Bools = stamps > self.stamps(alias, np.zeros(1, np.int64))[0]
        return None if late.all() else late

    def older(self, alias: int, rows: Int64, stamps: Int64, positions: Int64) -> Bools | None:
        """Which rows of the alias are older than the stamp at their position; None when all rows are."""
        before, behind = self._built_before(alias, stamps.min()), self._built_before(alias, stamps.max())
        if before == len(self):
            return None
        older: Bools = rows < before
        if before < behind:  # some were built between those that ask
            unclear = (~older & (rows < behind)).nonzero()[0]
            older[unclear] = self.stamps(alias, rows[unclear]) < stamps[positions[unclear]]
        return older

    def _built_before(self, alias: int, stamp: np.int64) -> int:
        """Rows below this number are older than a stamp, as the alias; the others are not."""
        sequence = -((alias - int(stamp)) >> ALIAS_BITS)  # rounded up
        return self.forgotten + int(np.searchsorted(self.sequence.view, sequence))

    def index(self, column: int) -> NumberIndex:
        """The index on a compared column, made on first use (T15)."""
        index = self._indexes.get(column)
        if index is None:
            index = self._indexes[column] = NumberIndex(self.numbers[column])
        return index

    def computed(self, expr: Expr, rows: Int64) -> Evaluated:
        """An expression over columns of the table, at `rows`."""
        return evaluate_rows(expr, lambda column: self.values(column.index, rows), len(rows))

    def runs(self, expr: Expr, *, hashed: bool = False) -> SortedRuns:
        """A column, or what is computed of some, in sorted runs, made on first use, of all rows that are here."""
        runs = self._runs.get((expr, hashed))
        if runs is None:
            runs = self._runs[expr, hashed] = SortedRuns(partial(self.computed, expr), hashed=hashed)
        runs.extend_to(len(self))
        return runs

    def widest(self, below: Expr, above: Expr) -> int | None:
        """How far one value is below another at most, in any row; 0 where it never is, None where one fails on some row."""
        seen, most = self._widest.get((below, above), (0, 0))
        if seen < len(self) and most is not None:
            rows = np.arange(seen, len(self))
            both = [self.computed(one, rows) for one in (below, above)]
            (low, known), (high, too) = (ordinals(one.values) for one in both)
            # In floating point, rounded up: the integers may be further apart than there are integers.
            apart = (high.astype(np.float64) - low.astype(np.float64))[known & too]
            most = max(most, math.ceil(float(apart.max(initial=0.0)) * (1 + 1e-9)) + 1)
            if any(one.failed is not None and one.failed.rows.any() for one in both):
                most = None
            self._widest[below, above] = len(self), most
        return most

    def exceeds(self, pairs: int, links: Sequence[tuple[int, Int64]], probes: int) -> bool:
        """Whether so many probers may have more than so many matches; quick to tell where one index knows."""
        joint = self._joint.get(tuple(column for column, _ in links))
        if joint is None and len(links) != 1:
            return True
        return (self.index(links[0][0]) if joint is None else joint).most * probes > pairs

    def pair_counts(
        self, links: Sequence[tuple[int, Int64]], probes: int, within: Within | None = None
    ) -> Int64:
        """For each prober an upper bound of its matches. `links` are (own column, numbers of the probers)."""
        if within is not None:
            return self.runs(within.own, hashed=within.hashed).counts(within)
        if not links:
            return np.full(probes, len(self), np.int64)
        if len(links) == 1:
            [(column, wanted)] = links
            return self.index(column).counts(wanted)
        joint = self._joint.get(tuple(column for column, _ in links))
        if joint is not None:
            return joint.counts(links)
        column, wanted = self._narrowest(links)
        counts = self.index(column).counts(wanted)
        if int(counts.sum()) > max(_CANDIDATES_EACH * probes, _CANDIDATES):
            # No column is selective by itself: all of them together are.
            joint = self._joint[tuple(column for column, _ in links)] = JointIndex(self.numbers, links)
            counts = joint.counts(links)
        return counts

    def match(
        self, links: Sequence[tuple[int, Int64]], probes: int, within: Within | None = None
    ) -> tuple[Int64, Int64]:
        """Pairs (prober position, row) that agree on every link; without a link every pair within the bounds."""
        assert not self.forgotten, "rows are probed that are gone"
        if within is not None:
            return self.runs(within.own, hashed=within.hashed).match(within)
        if not links:
            return np.repeat(np.arange(probes), len(self)), np.tile(np.arange(len(self)), probes)
        joint = self._joint.get(tuple(column for column, _ in links))
        if joint is not None:
            return joint.match(links)
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

    def distinct(self) -> dict[str, int]:
        """How many different values each compared column has, NULL aside; nothing where some rows were not stored."""
        if len(self) + self.duplicates < self.arrived:
            return {}
        counts = {}
        for column in self.numbers:
            counts[self.plan.columns[column].name] = int(np.count_nonzero(self._values_had(column)))
        return counts

    def _values_had(self, column: int) -> Bools:
        """By value number: whether some row has it, or had it and is gone."""
        known, numbers = self._had[column], self.numbers[column].view
        known.extend_to(int(numbers.max(initial=-1)) + 1)
        known.view[numbers[numbers >= 0]] = True
        return known.view

    def spill(self, spill: Spill) -> None:
        """Rows, their numbers and indexes leave memory, as far as that is worth it; nothing else changes."""
        spill_columns(self.columns, spill)
        arrays: tuple[Spillable, ...] = (*self.numbers.values(), self.sequence, *self._passes.values())
        indexes: tuple[Spillable, ...] = (*self._indexes.values(), *self._joint.values(), self.identity)
        for part in (*arrays, *indexes, *self.domains.values()):
            part.spill(spill)

    def forget(self, below: int) -> None:
        """Rows below this number go: nobody probes them any more, none is compared, and no tuple under way has one."""
        count = below - self.forgotten
        for number in self.numbers:
            self._values_had(number)
        for column in self.columns:
            column.drop(count)
        for numbers in (*self.numbers.values(), self.sequence):
            numbers.drop(count)
        self.forgotten = below
        self._indexes, self._runs, self._widest, self._joint = {}, {}, {}, {}

    @property
    def nbytes(self) -> int:
        """Bytes held: rows, numbers, indexes."""
        rows = sum(column.nbytes for column in self.columns)
        numbers = sum(known.nbytes for known in self.numbers.values())
        indexes = sum(index.nbytes for index in self._indexes.values())
        joint = sum(index.nbytes for index in self._joint.values())
        runs = sum(run.nbytes for run in self._runs.values())
        numbers += sum(had.nbytes for had in self._had.values())
        return rows + numbers + self.sequence.nbytes + indexes + joint + runs
