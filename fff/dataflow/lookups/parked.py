"""Parked probers: tuples waiting in front of an alias for the EOT of their lookup or its scan (ledger section 5, rule 4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fff.dataflow.arrays import Bools, Growable, Int64
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.store.index import NumberIndex

#: In place of a lookup: parked until the scan ends.
SCAN = -1
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
        self._matched = Growable(np.bool_)  # of tuples that ask whether they have a match: they have one
        self._index = NumberIndex(self._keys)
        self._spared = False  # a key may be waited for again, so that some that waited for it are gone
        self.live = 0

    def park(self, batch: TupleBatch, keys: Int64, *, matched: Bools | None = None) -> None:
        """Add tuples, each waiting for its key; `matched` are those that have had a match already."""
        places = self._stamps.length
        for alias, rows in batch.rows.items():
            self._rows[alias].append(rows)
        self._stamps.append(batch.stamps)
        self._keys.append(keys)
        self._gone.extend_to(self._stamps.length)
        self._matched.extend_to(self._stamps.length)
        if matched is not None:
            self._matched.view[places:] = matched
        self.live += len(keys)

    def match(self, keys: Int64) -> tuple[Int64, TupleBatch]:
        """Tuples waiting for the keys of arriving rows: positions in `keys`, and the tuple for each."""
        positions, places = self.match_places(keys)
        return positions, self.at(places)

    def match_places(self, keys: Int64) -> tuple[Int64, Int64]:
        """Tuples waiting for the keys of arriving rows: positions in `keys`, and the place of the tuple for each."""
        positions, places = self._index.match(keys)
        if self._spared:
            here = ~self._gone.view[places]
            positions, places = positions[here], places[here]
        return positions, places

    def match_found(self, places: Int64) -> None:
        """The tuples at these places have a match."""
        self._matched.view[places] = True

    def leave(self, places: Int64) -> None:
        """The tuples at these places (distinct) wait no longer, though their keys are still being asked for."""
        self._spared = True
        self._gone.view[places] = True
        self.live -= len(places)

    def parts(self, keys: Int64, most: int) -> Iterator[slice]:
        """Parts of `keys` that match at most so many tuples each; a single key may match more."""
        ends = self._index.counts(keys).cumsum()
        start, before = 0, 0
        while start < len(keys):
            end = max(start + 1, int(ends.searchsorted(before + most, side="right")))
            yield slice(start, end)
            start, before = end, int(ends[end - 1])

    def spare(self, keys: Int64) -> None:
        """Nobody needs to wait for these keys any more, though they have not been asked for."""
        self._spared = True
        self.release(keys)

    def release(self, keys: Int64) -> Int64:
        """The lookups of these keys (distinct) have ended: how many tuples waited for each."""
        positions, places = self._index.match(keys)
        here = ~self._gone.view[places]
        positions, places = positions[here], places[here]
        self._gone.view[places] = True
        self.live -= len(places)
        if self._stamps.length > max(_COMPACT_PLACES, 4 * self.live):
            self._compact()
        return np.bincount(positions, minlength=len(keys))

    def _compact(self) -> None:
        kept = self.alive()
        tuples, keys, matched = self.at(kept), self.keys_at(kept), self._matched.view[kept]
        self._index, self.live = NumberIndex(self._keys), 0
        self._gone.clear()
        self._matched.clear()
        for column in (self._stamps, self._keys, *self._rows.values()):
            column.clear()
        if len(kept):
            self.park(tuples, keys, matched=matched)

    def close(self) -> int:
        """Nothing more will come for any tuple: how many waited."""
        released = self.live
        self._gone.view[:] = True
        self._compact()
        return released

    def waiting(self, keys: Int64) -> TupleBatch:
        """The tuples that wait for any of these keys."""
        return self.at(self.places(keys))

    def unmatched(self, places: Int64) -> TupleBatch:
        """Those of the tuples at these places that have had no match."""
        return self.at(places[~self._matched.view[places]])

    def matched(self, places: Int64) -> TupleBatch:
        """Those of the tuples at these places that have had a match."""
        return self.at(places[self._matched.view[places]])

    def places(self, keys: Int64) -> Int64:
        """Where the tuples stand that wait for any of these keys (distinct)."""
        _, places = self._index.match(keys)
        return places[~self._gone.view[places]]

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


class ParkedTuples:
    """Every group, by the alias it is parked in front of, the lookup (or SCAN) it waits for, and the state of its tuples."""

    def __init__(self, plan: BlockPlan) -> None:
        self._tables = [alias.table for alias in plan.aliases]
        self._groups: dict[tuple[int, int], dict[TupleState, ParkedGroup]] = {}

    def group(self, alias: int, lookup: int, state: TupleState) -> ParkedGroup:
        """The tuples of a state that wait for a lookup (or the scan) of an alias."""
        groups = self._groups.setdefault((alias, lookup), {})
        if state not in groups:
            groups[state] = ParkedGroup(state)
        return groups[state]

    def before(self, alias: int, lookup: int) -> list[ParkedGroup]:
        """The groups in which somebody waits for a lookup (or the scan) of an alias."""
        return [group for group in self._groups.get((alias, lookup), {}).values() if group.live]

    def waiting(self) -> Iterator[tuple[int, int, ParkedGroup]]:
        """Every group in which somebody waits, with its alias and what it waits for."""
        for (alias, lookup), groups in self._groups.items():
            yield from ((alias, lookup, group) for group in groups.values() if group.live)

    def count(self, table: int | None = None) -> int:
        """Tuples that wait (for one table)."""
        return sum(group.live for alias, _, group in self.waiting() if table in (None, self._tables[alias]))

    def clear(self) -> None:
        """Forget them all."""
        self._groups.clear()
