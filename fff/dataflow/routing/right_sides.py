"""What becomes of tuples that look for matches in the right side of a left, semi or anti join.

A match takes effect as it comes: that of a left join goes on, concatenated; of a semi join the first lets the tuple go on, by
itself; of an anti join the first drops it. That a tuple has none is known by EOT alone: then it goes on with no row, -1, in a
left or anti join, and is dropped in a semi join. A tuple that no EOT can reach any more is undecided and is heard of no more;
what failed is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.store.sorted_runs import MOST, NOTHING, Candidates, Run, Within, pairs, run_of
from fff.limits import PROBE_PAIRS

#: Candidates per stored row from which a look at the farthest ones, which takes all rows of a run, is worth it.
_FARTHEST_FROM = 1


class Met(NamedTuple):
    """What came of some pairs of tuples and rows: tuples that go on, and which of the tuples had a match."""

    going: TupleBatch
    matched: Bools


class RightSides:
    """Decides by ON conditions; nothing here is queued, parked or asked for."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def hopeful(self, batch: TupleBatch, alias: int) -> Bools:
        """Which tuples may have a match at all: no link is NULL, and what ON says of them alone is true."""
        constraints = self._block.constraints
        hopeful = np.ones(len(batch), np.bool_)
        for link in constraints.links(batch.state.span, alias):
            hopeful &= self._block.numbers(batch, link.other, link.column) >= 0
        for predicate in constraints.gates[alias]:
            passing = np.zeros(len(batch), np.bool_)
            passing[self._block.selections.passing(predicate, batch)] = True
            hopeful &= passing
        return hopeful

    def meet(self, batch: TupleBatch, alias: int, positions: Int64, rows: Int64) -> Met:
        """Of pairs (position in the batch, row) that agree on some link: what those lead to that meet all of ON."""
        going, positions = self._agreeing(batch, alias, positions, rows)
        matched = np.zeros(len(batch), np.bool_)
        matched[positions] = True
        return Met(going, matched) if self.stay(alias) else self._met(batch, alias, matched)

    def _met(self, batch: TupleBatch, alias: int, matched: Bools) -> Met:
        """What comes of the first match of a semi or anti join."""
        semi = self._block.plan.aliases[alias].kind == "semi"
        return Met(self._by_itself(batch.take(np.flatnonzero(matched & semi)), alias), matched)

    def _agreeing(
        self, batch: TupleBatch, alias: int, positions: Int64, rows: Int64
    ) -> tuple[TupleBatch, Int64]:
        """The pairs that meet all of ON, and the position of the tuple of each."""
        going = batch.take(positions).with_rows(alias, rows)
        for link in self._block.constraints.links(batch.state.span, alias):
            same = self._block.numbers(going, alias, link.own) == self._block.numbers(
                going, link.other, link.column
            )
            if not same.all():
                going, positions = going.take(np.flatnonzero(same)), positions[same]
        for predicate in self._block.constraints.pairing[alias]:
            passing = self._block.selections.passing(predicate, going)
            going, positions = going.take(passing), positions[passing]
        return going, positions

    def meet_arrived(self, batch: TupleBatch, alias: int, rows: Int64) -> Met:
        """What comes of rows that have arrived, where no equality says which tuples they match."""
        bounded = self._block.bounded(batch, alias) or [Within.anything(len(batch))]
        runs = [self._run(alias, bounded[0], rows)]
        if self.stay(alias):
            return self.meet(batch, alias, *pairs(runs, bounded[0]))
        return self._met(batch, alias, self._find(batch, alias, runs, bounded, MOST)[1])

    def meet_stored(self, batch: TupleBatch, alias: int) -> tuple[TupleBatch, TupleBatch, Met]:
        """The same of stored rows, for tuples that need one match: who is judged, who has to wait, what comes of the first."""
        stem = self._block.stem(alias)
        bounded = self._block.bounded(batch, alias)
        if bounded:
            runs = stem.runs(bounded[0].own, hashed=bounded[0].hashed).runs
        else:
            bounded = [Within.anything(len(batch))]
            runs = [self._run(alias, bounded[0], np.arange(len(stem)))]
        judged, matched = self._find(batch, alias, runs, bounded, PROBE_PAIRS)
        batch, rest = batch.take(np.flatnonzero(judged)), batch.take(np.flatnonzero(~judged))
        return batch, rest, self._met(batch, alias, matched[judged])

    def _run(self, alias: int, within: Within, rows: Int64) -> Run:
        if within.own is NOTHING:
            return np.zeros(len(rows), np.int64), rows
        return run_of(self._block.stem(alias).computed(within.own, rows).values, rows, hashed=within.hashed)

    def _find(
        self, batch: TupleBatch, alias: int, runs: Sequence[Run], bounded: Sequence[Within], most: int
    ) -> tuple[Bools, Bools]:
        """Which tuples are judged, and which of these have a match: looked for among at most `most` pairs, and two a run for each.

        One candidate says most; the farthest by another bound says the rest where ON is two inequalities. Whoever is left
        is judged as far as what is to be looked at is not too much.
        """
        stem, candidates = self._block.stem(alias), Candidates(runs, bounded[0])
        sought = np.ones(len(batch), np.bool_)

        def show(positions: Int64, rows: Int64) -> None:
            mask = stem.passing(alias, rows)
            if mask is not None and not mask.all():
                positions, rows = positions[mask], rows[mask]
            sought[self._agreeing(batch, alias, positions, rows)[1]] = False

        for step in candidates.steps(sought, most, 1):
            show(*step)
        for bound in bounded[1:]:
            if int(candidates.counts[sought].sum()) > _FARTHEST_FROM * len(stem):
                show(*candidates.farthest(bound, sought, partial(stem.computed, bound.own)))
        left = np.cumsum(candidates.counts * sought)
        judged = ~sought | (left <= max(most, int(left[sought][:1].sum())))  # the first, whatever that takes
        sought &= judged
        for step in candidates.steps(sought, most):
            show(*step)
        return judged, judged & ~sought

    def stay(self, alias: int) -> bool:
        """Whether tuples with a match wait for more."""
        return self._block.plan.aliases[alias].kind == "left"

    def unmatched(self, batch: TupleBatch, alias: int) -> TupleBatch:
        """What tuples that certainly have no match lead to."""
        kept = 0 if self._block.plan.aliases[alias].kind == "semi" else len(batch)
        return self._by_itself(batch.take(np.arange(kept)), alias)

    def _by_itself(self, batch: TupleBatch, alias: int) -> TupleBatch:
        return batch.with_rows(alias, np.full(len(batch), -1, np.int64))
