"""Parked probers: tuples waiting in front of a passive alias for the EOT of their lookup (ledger section 5, rule 4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fff.dataflow.arrays import Growable, Int64
from fff.dataflow.batch import TupleBatch
from fff.dataflow.index import NumberIndex
from fff.dataflow.state import TupleState, bits

#: Places below which nothing is given back: a fresh index costs time in proportion to the highest key number.
_COMPACT_PLACES = 4096


class ParkedGroup:
    """Tuples of one TupleState parked on one lookup of one alias, found by key number.

    A tuple is alive while its key is being asked for; after that its place is only memory, given back when most places
    are such. Invariant: live == tuples whose key is pending or in flight, or all of them where they wait for a scan.
    """

    def __init__(self, state: TupleState) -> None:
        self.state = state
        self._rows = {alias: Growable(np.int64) for alias in bits(state.span)}
        self._stamps = Growable(np.int64)
        self._keys = Growable(np.int64)
        self._gone = Growable(np.bool_)
        self._index = NumberIndex()
        self._spared = False  # a key may be waited for again, so that some that waited for it are gone
        self.live = 0

    def park(self, batch: TupleBatch, keys: Int64) -> None:
        """Add tuples, each waiting for its key."""
        places = self._stamps.length
        for alias, rows in batch.rows.items():
            self._rows[alias].append(rows)
        self._stamps.append(batch.stamps)
        self._keys.append(keys)
        self._gone.extend_to(self._stamps.length)
        self._index.add(keys, np.arange(places, places + len(keys)))
        self.live += len(keys)

    def match(self, keys: Int64) -> tuple[Int64, TupleBatch]:
        """Tuples waiting for the keys of arriving rows: positions in `keys`, and the tuple for each."""
        positions, places = self._index.match(keys)
        if self._spared:
            here = ~self._gone.view[places]
            positions, places = positions[here], places[here]
        return positions, self.at(places)

    def parts(self, keys: Int64, most: int) -> Iterator[slice]:
        """Parts of `keys` that match at most so many tuples each; a single key may match more."""
        ends = np.cumsum(self._index.counts(keys))
        start, before = 0, 0
        while start < len(keys):
            end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
            yield slice(start, end)
            start, before = end, int(ends[end - 1])

    def spare(self, key: int) -> int:
        """Nobody needs to wait for this key any more, though it has not been asked for: how many tuples did."""
        self._spared = True
        return self.release(np.array([key], np.int64))

    def release(self, keys: Int64) -> int:
        """The lookups of these keys (distinct) have ended: how many tuples waited for them."""
        places = self._places(keys)
        self._gone.view[places] = True
        self.live -= len(places)
        if self._stamps.length > max(_COMPACT_PLACES, 4 * self.live):
            self._compact()
        return len(places)

    def _compact(self) -> None:
        kept = self.alive()
        tuples, keys = self.at(kept), self.keys_at(kept)
        self._index, self.live = NumberIndex(), 0
        self._gone.clear()
        for column in (self._stamps, self._keys, *self._rows.values()):
            column.clear()
        if len(kept):
            self.park(tuples, keys)

    def close(self) -> int:
        """Nothing more will come for any tuple: how many waited."""
        released = self.live
        self._gone.view[:] = True
        self._compact()
        return released

    def waiting(self, keys: Int64) -> TupleBatch:
        """The tuples that wait for any of these keys."""
        return self.at(self._places(keys))

    def _places(self, keys: Int64) -> Int64:
        _, places = self._index.match(keys)
        return places[~self._gone.view[places]] if self._spared else places

    def alive(self) -> Int64:
        """The places of the tuples that still wait, in the order they were parked."""
        return np.flatnonzero(~self._gone.view)

    def keys_at(self, places: Int64) -> Int64:
        """What the tuples at these places wait for."""
        keys: Int64 = self._keys.view[places]
        return keys

    def at(self, places: Int64) -> TupleBatch:
        """The tuples at these places."""
        rows = {alias: known.view[places] for alias, known in self._rows.items()}
        return TupleBatch(self.state, rows, self._stamps.view[places])
