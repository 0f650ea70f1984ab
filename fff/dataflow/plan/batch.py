"""TupleBatch: tuples of one TupleState that travel together.

A composite tuple is one row number per spanned alias (the array of pointers of S3 section 2.2); values stay in the SteMs
until a predicate or the output needs them. Batches split and merge freely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.state import TupleState
from fff.structs import Struct


class TupleBatch(Struct, frozen=True):
    """`rows[alias]` has shape (n,), `stamps` too. Row -1: no row, of the right side of a left, semi or anti join.

    A stamp is that of the generator, the newest active component: composites inherit it, since only older components
    are ever concatenated (ledger section 5).
    """

    state: TupleState
    rows: Mapping[int, Int64]
    stamps: Int64

    def __len__(self) -> int:
        return len(self.stamps)

    def take(self, positions: Int64) -> TupleBatch:
        """The tuples at `positions`."""
        return TupleBatch(
            self.state, {alias: rows[positions] for alias, rows in self.rows.items()}, self.stamps[positions]
        )

    def split(self, size: int) -> tuple[TupleBatch, TupleBatch]:
        """The first `size` tuples, and the others."""
        head = {alias: rows[:size] for alias, rows in self.rows.items()}
        tail = {alias: rows[size:] for alias, rows in self.rows.items()}
        return (
            TupleBatch(self.state, head, self.stamps[:size]),
            TupleBatch(self.state, tail, self.stamps[size:]),
        )

    def with_state(self, state: TupleState) -> TupleBatch:
        """The same tuples in another state of the same span."""
        return TupleBatch(state, self.rows, self.stamps)

    def with_rows(self, alias: int, rows: Int64) -> TupleBatch:
        """Each tuple concatenated with a row of an alias that it does not span yet."""
        state = TupleState(self.state.span | 1 << alias, self.state.done)
        return TupleBatch(state, {**self.rows, alias: rows}, self.stamps)


def merge(batches: Sequence[TupleBatch]) -> TupleBatch:
    """One batch of the tuples of several; all have the same state."""
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    rows = {alias: np.concatenate([batch.rows[alias] for batch in batches]) for alias in first.rows}
    return TupleBatch(first.state, rows, np.concatenate([batch.stamps for batch in batches]))
