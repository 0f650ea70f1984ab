"""Parking: tuples that wait in front of an alias for an EOT, where they wait, and what becomes of them then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from fff.dataflow.arrays import Bools, Int64, distinct
from fff.dataflow.lookups.access import KeyState
from fff.dataflow.lookups.parked import SCAN, ParkedGroup, ParkedTuples
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.extents import Extent
from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.routing.held import HeldParts
from fff.dataflow.routing.priorities import Priorities
from fff.dataflow.routing.pruning import Pruning


class Parking(ABC):
    """The half of the router that tuples wait in. EOT lets them go, a failure sends them elsewhere (P18)."""

    def __init__(self, block: Block, *, prunes: bool) -> None:
        self.block = block
        self.held = HeldParts(block)
        self.pruning = Pruning(block, self.held, dead_too=prunes)
        self.parked = ParkedTuples(block.plan)
        self.priorities: Priorities | None = None

    @abstractmethod
    def _learn(self, outcome: Outcome) -> None:
        """What came of a move."""

    @abstractmethod
    def _unmatched(self, batch: TupleBatch, move: Move) -> None:
        """These tuples have no match in a right side, and never will."""

    def _park_on_scan(self, batch: TupleBatch, alias: int, matched: Bools | None = None) -> int:
        """Park in front of an alias that starts no chains, until its scan ends; returns how many parked."""
        if not self.block.scanning(self.block.plan.aliases[alias].table):
            return 0
        links = self.block.constraints.links(batch.state.span, alias)
        keys = (
            self.block.numbers(batch, links[0].other, links[0].column)
            if links
            else np.zeros(len(batch), np.int64)
        )
        self.parked.group(alias, SCAN, batch.state).park(batch, keys, matched=matched)
        return len(batch)

    def _park(
        self, batch: TupleBatch, alias: int, first: int, matched: Bools | None = None, *, urgent: bool = False
    ) -> int:
        """Park the tuples that no EOT covers, each on one lookup; returns how many. Keys that none answers go missing.

        `matched`: in front of a right side, which of them have had a match. Who is covered is settled then, and a scan that
        is running may answer what lookups do not.
        """
        parked = 0
        table = self.block.plan.aliases[alias].table
        bindings = self.block.constraints.bindings(batch.state.span, alias)
        keys = [self.block.keys(batch, alias, binding) for binding in bindings]
        modules = [self.block.lookups[table][binding.lookup] for binding in bindings]
        answerable = ~self.held.matches(batch, alias)
        for module, mine in zip(modules, keys, strict=True):
            # A NULL key has no match and needs no answer; coverage by any lookup will do.
            answerable &= (mine >= 0) & (module.states(np.maximum(mine, 0)) != KeyState.COVERED)
        if matched is not None:
            self._unmatched(batch.take(np.flatnonzero(~answerable & ~matched)), Move(alias, first))
        left = np.flatnonzero(answerable)
        places = sorted(range(len(bindings)), key=lambda place: bindings[place].lookup != first)
        for place in places:
            module, mine = modules[place], keys[place][left]
            if not len(left):
                return parked
            alive = module.states(mine) != KeyState.FAILED
            if self.block.cancelled:
                alive &= module.states(mine) == KeyState.IN_FLIGHT
            if alive.any():
                group = self.parked.group(alias, bindings[place].lookup, batch.state)
                some = None if matched is None else matched[left[alive]]
                group.park(batch.take(left[alive]), mine[alive], matched=some)
                module.request(mine[alive], urgent=urgent)
                parked += int(alive.sum())
            left = left[~alive]
        if matched is not None and len(left):
            on_scan = self._park_on_scan(batch.take(left), alias, matched[left])
            if on_scan:
                return parked + on_scan
        for place in places[:1]:
            module = modules[place]
            for key in distinct(keys[place][left]).tolist():
                reason = module.reasons.get(key, self.block.missing.cancelled)
                self.block.missing.key(table, bindings[place].lookup, module, key, reason)
        return parked

    def release(
        self, table: int, lookup: int, keys: Int64, parts: Sequence[int], seconds: Sequence[float]
    ) -> None:
        """EOT of these keys, so many by each answer: the tuples parked on them have had every match, and share the seconds it took."""
        ended = [
            (alias, group, self._ended(alias, group, keys)) for alias, group in self._groups(table, lookup)
        ]
        counts = np.array(parts)
        starts: Int64 = counts.cumsum() - counts
        groups = []
        for alias, group, unmatched in ended:
            waited = np.append(group.release(keys), 0)  # of the last parts there may be no keys
            groups.append((Move(alias, lookup), group, _sums(waited, starts, counts), unmatched))
        for number, took in enumerate(seconds):
            total = sum(released[number] for _, _, released, _ in groups)
            for move, group, released, _ in groups:
                if here := released[number]:
                    self._learn(Outcome(group.state, move, here, 0, cost=took * here / total))
        for move, _, _, unmatched in groups:
            if unmatched is not None:
                self._unmatched(unmatched, move)

    def _ended(self, alias: int, group: ParkedGroup, keys: Int64) -> TupleBatch | None:
        """Those who wait for these keys of a right side and have had no match."""
        if alias not in self.block.constraints.right:
            return None
        return group.unmatched(group.places(keys))

    def spare(self, table: int, lookup: int, keys: Int64) -> Bools:
        """Which pending keys need not be asked for: all who wait for them have had every match, or are dead. They leave.

        Only of a table for whose keys nobody asks but tuples that park: what a seed or an accelerated probe wants has no
        tuple to tell by.
        """
        waited, needed = np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.bool_)
        aliases = self.block.stems[table].aliases
        if any(self.block.fires[alias] for alias in aliases):
            idle = self.held.keys(table, self.block.lookups[table][lookup], keys)
            for alias, group in self._groups(table, lookup) if idle.any() else ():
                self._served(alias, lookup, group, group.places(keys[idle]))
            return idle
        # Who has waited in front of a right side may have left by a match that came another way.
        waited |= any(alias in self.block.constraints.right for alias in aliases)
        parked_groups: list[tuple[int, ParkedGroup, Int64, Int64, Bools]] = []
        for alias, group in self._groups(table, lookup):
            at, places = group.match_places(keys)
            waiting = group.at(places)
            served = self.pruning.served(waiting, alias, lookup)
            alive = ~served & ~self.pruning.dead(waiting, alias)
            waited[at] = True
            needed[at[alive]] = True
            parked_groups.append((alias, group, at, places, served))
        idle = waited & ~needed
        for alias, group, at, places, served in parked_groups if idle.any() else ():
            leave = idle[at]
            right = alias in self.block.constraints.right
            unmatched = group.unmatched(places[leave & served]) if right else None
            group.spare(keys[idle])
            for taken, informed in ((served[leave].sum(), True), ((~served[leave]).sum(), False)):
                if taken:
                    self._learn(Outcome(group.state, Move(alias, lookup), int(taken), 0, informed=informed))
            if unmatched is not None:
                self._unmatched(unmatched, Move(alias, lookup))
        return idle

    def part_over(self, table: int, extent: Extent) -> None:
        """EOT of a part of a scan: who has every match by it waits no longer; of pending keys `spare` sees when they go."""
        self.block.stems[table].coverage.add(extent)
        for lookup in (SCAN, *range(len(self.block.lookups[table]))):
            for alias, group in self._groups(table, lookup):
                if lookup != SCAN and alias not in self.block.constraints.right:
                    continue
                places = group.alive()
                self._served(alias, lookup, group, places[self.held.matches(group.at(places), alias)])

    def _served(self, alias: int, lookup: int, group: ParkedGroup, places: Int64) -> None:
        """The tuples at these places of a group have every match, and wait no longer."""
        move = Move(alias, None if lookup == SCAN else lookup)
        unmatched = group.unmatched(places) if alias in self.block.constraints.right else None
        group.leave(places)
        self._learn(Outcome(group.state, move, len(places), 0))
        if unmatched is not None:
            self._unmatched(unmatched, move)

    def scans_over(self, table: int, *, complete: bool) -> None:
        """No scan of the table will bring anything more.

        If one has brought all, whoever is parked in front of the table has had every match.
        """
        for alias, group in self._groups(table, SCAN):
            if not complete:
                self._leave_scan(alias, group)
                continue
            self._complete(alias, SCAN, group)
        for lookup in range(len(self.block.lookups[table])) if complete else ():
            for alias, group in self._groups(table, lookup):
                self._complete(alias, lookup, group)

    def _complete(self, alias: int, lookup: int, group: ParkedGroup) -> None:
        """Everything is here that the tuples of a group wait for."""
        move = Move(alias, None if lookup == SCAN else lookup)
        right = alias in self.block.constraints.right
        unmatched = group.unmatched(group.alive()) if right else None
        self._learn(Outcome(group.state, move, group.close(), 0))
        if unmatched is not None:
            self._unmatched(unmatched, move)

    def scan_stalls(self, table: int) -> None:
        """Nobody shall wait for the scan of the table who can ask by key."""
        for alias, group in self._groups(table, SCAN):
            if self.block.constraints.by_key(alias):
                self._leave_scan(alias, group)

    def _leave_scan(self, alias: int, group: ParkedGroup) -> None:
        """Who waits for the scan waits for a lookup instead, if it binds one of a right side."""
        waiting = self._by_match(group, group.alive()) if alias in self.block.constraints.right else ()
        self._learn(Outcome(group.state, Move(alias), group.close(), 0))
        bindings = self.block.constraints.bindings(group.state.span, alias)
        for batch, matched in waiting if bindings else ():
            self._repark(batch, alias, bindings[0].lookup, matched)

    def reoffer(self, table: int, lookup: int, keys: Int64, first: int | None = None) -> None:
        """Another lookup shall answer these keys: park their tuples there (P18); what no lookup answers goes missing.

        They failed, or (`first` is asked instead, as long as it can be) have not been asked for and may still be.
        """
        for alias, group in self._groups(table, lookup):
            right = alias in self.block.constraints.right
            waiting = self._by_match(group, group.places(keys)) if right else [(group.waiting(keys), None)]
            if first is None:
                group.release(keys)
            else:
                group.spare(keys)
            for batch, matched in waiting:
                self._repark(batch, alias, lookup if first is None else first, matched)

    def _by_match(self, group: ParkedGroup, places: Int64) -> list[tuple[TupleBatch, bool | None]]:
        """The tuples at some places of a group, by whether they have had a match."""
        return [(group.unmatched(places), False), (group.matched(places), True)]

    def _repark(self, batch: TupleBatch, alias: int, first: int, matched: bool | None) -> None:
        parts = [(batch, False)] if self.priorities is None else self.priorities.split(batch)
        for part, urgent in parts if len(batch) else ():
            known = None if matched is None else np.full(len(part), matched)
            self._park(part, alias, first, known, urgent=urgent)

    def _groups(self, table: int, lookup: int) -> Iterator[tuple[int, ParkedGroup]]:
        for alias in self.block.stems[table].aliases:
            for group in self.parked.before(alias, lookup):
                yield alias, group


def _sums(counts: Int64, starts: Int64, parts: Int64) -> list[int]:
    """The sums of parts of an array, which ends with a 0 that is of none."""
    sums = np.add.reduceat(counts, starts)
    return np.where(parts > 0, sums, 0).tolist()  # type: ignore[no-any-return]
