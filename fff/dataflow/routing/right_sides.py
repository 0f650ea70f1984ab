"""What becomes of tuples that look for matches in the right side of a left, semi or anti join.

A match takes effect as it comes: that of a left join goes on, concatenated; of a semi join the first lets the tuple go on, by
itself; of an anti join the first drops it. That a tuple has none is known by EOT alone: then it goes on with no row, -1, in a
left or anti join, and is dropped in a semi join. A tuple that no EOT can reach any more is undecided and is heard of no more;
what failed is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch


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
        pairs = batch.take(positions).with_rows(alias, rows)
        for link in self._block.constraints.links(batch.state.span, alias):
            same = self._block.numbers(pairs, alias, link.own) == self._block.numbers(
                pairs, link.other, link.column
            )
            if not same.all():
                pairs, positions = pairs.take(np.flatnonzero(same)), positions[same]
        for predicate in self._block.constraints.pairing[alias]:
            passing = self._block.selections.passing(predicate, pairs)
            pairs, positions = pairs.take(passing), positions[passing]
        matched = np.zeros(len(batch), np.bool_)
        matched[positions] = True
        kind = self._block.plan.aliases[alias].kind
        if kind == "left":
            return Met(pairs, matched)
        return Met(self._by_itself(batch.take(np.flatnonzero(matched & (kind == "semi"))), alias), matched)

    def stay(self, alias: int) -> bool:
        """Whether tuples with a match wait for more."""
        return self._block.plan.aliases[alias].kind == "left"

    def unmatched(self, batch: TupleBatch, alias: int) -> TupleBatch:
        """What tuples that certainly have no match lead to."""
        kept = 0 if self._block.plan.aliases[alias].kind == "semi" else len(batch)
        return self._by_itself(batch.take(np.arange(kept)), alias)

    def _by_itself(self, batch: TupleBatch, alias: int) -> TupleBatch:
        return batch.with_rows(alias, np.full(len(batch), -1, np.int64))
