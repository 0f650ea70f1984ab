"""Routing: where the next batch goes, what comes of it, who waits (ledger section 5, rules 1 to 4).

`urgent` marks what the user wants first (`Priorities`): it decides who goes first, and nothing else.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fff.dataflow.arrays import EMPTY, Bools, Int64, distinct
from fff.dataflow.lookups.access import KeyState
from fff.dataflow.lookups.parked import SCAN, ParkedGroup
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Expr
from fff.dataflow.plan.moves import Load, Move, Offer, Outcome
from fff.dataflow.plan.policy import PullingPolicy, RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Binding
from fff.dataflow.routing.flow import Flow
from fff.dataflow.routing.parking import Parking
from fff.dataflow.routing.priorities import Priorities
from fff.dataflow.routing.probers import Probers
from fff.dataflow.routing.queue import WaitingTuples
from fff.dataflow.routing.right_sides import RightSides
from fff.limits import FORGOTTEN_ROWS, PROBE_PAIRS


class Router(Parking):
    """The tuples inside the eddy: waiting to be routed, parked in front of passive aliases, or found (results)."""

    def __init__(
        self,
        block: Block,
        policy: RoutingPolicy,
        rng: random.Random,
        waiting: WaitingTuples,
        *,
        prunes: bool = True,
    ) -> None:
        super().__init__(block, prunes=prunes)
        self.policy = policy
        self.flow = Flow()
        self._pulling = policy if isinstance(policy, PullingPolicy) else None
        self.waiting = waiting
        self.results: list[TupleBatch] = []  # results not handed out yet
        self.emitted = 0  # results so far
        self.routing: dict[tuple[TupleState, Move], list[int]] = {}  # -> [batches, tuples]
        self._rng = rng
        self._expected = [partial(block.expected, alias) for alias in range(len(block.plan.aliases))]
        self._right_sides = RightSides(block)
        self._probers = Probers(block)
        self._waking: deque[Iterator[None]] = deque()  # matches of arrived rows with parked tuples, half made

    def arrive(self, alias: int, rows: Int64, *, urgent: bool = False) -> None:
        """New rows of an alias: an active one starts chains, for a passive one parked probers get their matches."""
        if self.block.fires[alias]:
            stamps = self.block.stem(alias).stamps(alias, rows)
            self._enqueue(TupleBatch(TupleState(1 << alias), {alias: rows}, stamps), urgent=urgent)
        else:
            self._waking.append(self._wake(alias, rows))
            if len(self._waking) == 1:
                self._go_on_waking()

    @property
    def waking(self) -> bool:
        """Whether rows have arrived that have not met all tuples parked on their keys: `route` goes on with them.

        Until then nobody may park, and nothing may be released.
        """
        return bool(self._waking)

    def _go_on_waking(self) -> None:
        if next(self._waking[0], self) is self:
            self._waking.popleft()

    def _wake(self, alias: int, rows: Int64) -> Iterator[None]:
        """Concatenate new rows of a passive alias with the tuples parked on their keys, in steps of bounded work."""
        table = self.block.plan.aliases[alias].table
        stem = self.block.stems[table]
        for index, module in enumerate(self.block.lookups[table]):
            groups = self.parked.before(alias, index)
            if not groups:
                continue
            keys = module.row_keys(
                {column: stem.numbers[column].view[rows] for column in module.plan.columns}
            )
            state = module.states(np.maximum(keys, 0))
            asked = (keys >= 0) & ((state == KeyState.PENDING) | (state == KeyState.IN_FLIGHT))
            for group in groups if asked.any() else ():
                yield from self._wake_group(group, Move(alias, index), keys[asked], rows[asked])
        for group in self.parked.before(alias, SCAN):
            links = self.block.constraints.links(group.state.span, alias)
            keys = stem.numbers[links[0].own].view[rows] if links else np.zeros(len(rows), np.int64)
            yield from self._wake_group(
                group,
                Move(alias),
                keys,
                rows,
                linked=bool(links) or alias not in self.block.constraints.right,
            )

    def _wake_group(
        self, group: ParkedGroup, move: Move, keys: Int64, rows: Int64, *, linked: bool = True
    ) -> Iterator[None]:
        """Concatenate rows with the tuples of a group that wait for their keys; not `linked`: all wait for a right side."""
        for number, part in enumerate(group.parts(keys, PROBE_PAIRS)):
            if number:
                yield
            if linked:
                positions, places = group.match_places(keys[part])
                matches = rows[part][positions]
            else:
                places = group.alive()
            if not len(places):
                continue
            if move.alias in self.block.constraints.right:
                if linked:
                    places, positions = np.unique(places, return_inverse=True)
                    going, matched = self._right_sides.meet(group.at(places), move.alias, positions, matches)
                else:
                    going, matched = self._right_sides.meet_arrived(group.at(places), move.alias, rows[part])
                if self._right_sides.stay(move.alias):
                    group.match_found(places[matched])
                else:
                    group.leave(places[matched])
                going = self._passing(going, group.state.span, move.alias)
            else:
                going = self._concatenate(group.at(places), move.alias, matches)
            self.block.stem(move.alias).hits += len(going)
            self._learn(Outcome(group.state, move, 0, len(going)))
            self._enqueue(going)

    def route(self) -> None:
        """Let the next waiting batch take one move (rule 2), unless rows that have arrived come first."""
        if self._waking:
            self._go_on_waking()
            return
        if not self.waiting:
            return
        batch, urgent = self.waiting.pop()
        moves = self.block.constraints.legal(batch.state)
        if len(moves) == 1:
            move = moves[0]
        elif self._pulling is None:
            move = self.policy.choose(batch.state, moves, self._rng)
        else:
            expected = self._expected[batch.state.span.bit_length() - 1]
            offer = Offer(batch.state, moves, len(batch), self.load, urgent, self.block.pages, expected)
            taken = self._pulling.take(offer, self._rng)
            if taken is None and self._looking_up():
                self.waiting.hold(batch, urgent=urgent)
                return
            move, size = taken or (self.policy.choose(batch.state, moves, self._rng), offer.size)
            if size < offer.size:
                batch = self._part(batch, move, size, urgent=urgent)
        assert move in moves, f"{move} is not a legal move of {batch.state}"
        if move.predicate is not None:
            self._select(batch, move)
        else:
            self._probe(batch, move, urgent=urgent)

    def load(self, move: Move) -> Load:
        """What stands before a move: keys that its lookup has not answered yet, and how many it may be asked for at once."""
        table = self.block.plan.aliases[move.alias].table
        if move.lookup is None or self.block.stems[table].complete:
            return Load()
        return self.block.limiters[table][move.lookup].load(self.block.lookups[table][move.lookup])

    def _looking_up(self) -> bool:
        """Whether some lookup will answer or fail."""
        return any(not module.idle for modules in self.block.lookups for module in modules)

    def _part(self, batch: TupleBatch, move: Move, size: int, *, urgent: bool) -> TupleBatch:
        """The tuples of a batch that go now; the others wait. Those whose key has been asked for go beyond `size`."""
        assert size > 0, f"{move} was chosen for no tuple"
        if move.lookup is None:
            part, rest = batch.split(size)
            self.waiting.push(rest, urgent=urgent, back=True)
            return part
        table = self.block.plan.aliases[move.alias].table
        bindings = self.block.constraints.bindings(batch.state.span, move.alias)
        binding = next(binding for binding in bindings if binding.lookup == move.lookup)
        keys = self.block.keys(batch, move.alias, binding)
        known = self.block.lookups[table][move.lookup].states(np.maximum(keys, 0)) >= KeyState.PENDING
        fresh = (keys >= 0) & ~known
        going = ~fresh | (np.cumsum(fresh) <= size)
        if not going.all():
            self.waiting.push(batch.take(np.flatnonzero(~going)), urgent=urgent, back=True)
            batch = batch.take(np.flatnonzero(going))
        return batch

    def _select(self, batch: TupleBatch, move: Move) -> None:
        assert move.predicate is not None
        kept = self.block.selections.passing(move.predicate, batch)
        self._count(batch, move)
        self._learn(Outcome(batch.state, move, len(batch), len(kept)))
        state = TupleState(batch.state.span, batch.state.done | 1 << move.predicate)
        self._enqueue(batch.take(kept).with_state(state))

    def _probe(self, batch: TupleBatch, move: Move, *, urgent: bool = False) -> None:
        alias, span = move.alias, batch.state.span
        if alias in self.block.constraints.right:
            self._seek(batch, move, urgent=urgent)
            return
        batch, positions, rows = self._matches(batch, alias, urgent=urgent)
        positions, rows = self._older(batch, alias, positions, rows)
        joined = self._passing(batch.take(positions).with_rows(alias, rows), span, alias)
        self._count(batch, move)
        requests, parked = self._ask(batch, move, urgent=urgent)
        self._probed(batch, move, len(batch) - parked, len(joined), requests)
        self._enqueue(joined)

    def _probed(self, batch: TupleBatch, move: Move, taken: int, hits: int, requests: int) -> None:
        """Count what came of a probe. Of a parked tuple nothing is known yet: it counts as taken when its lookup has ended."""
        stem = self.block.stem(move.alias)
        stem.probes += len(batch)
        stem.hits += hits
        self._learn(Outcome(batch.state, move, taken, hits, requests, informed=len(stem) > 0))

    def _seek(self, batch: TupleBatch, move: Move, *, urgent: bool) -> None:
        """Probe the right side of a left, semi or anti join; who has no match so far waits to be told, unless it is known."""
        alias, span = move.alias, batch.state.span
        table = self.block.plan.aliases[alias].table
        stem = self.block.stems[table]
        hopeful = self._right_sides.hopeful(batch, alias)
        self._unmatched(batch.take(np.flatnonzero(~hopeful)), move)
        hopeless = len(batch) - int(np.count_nonzero(hopeful))
        batch = batch.take(np.flatnonzero(hopeful))
        if self._right_sides.stay(alias) or self.block.constraints.links(span, alias):
            batch, positions, rows = self._matches(batch, alias, urgent=urgent)
            going, matched = self._right_sides.meet(batch, alias, positions, rows)
        else:
            batch, rest, (going, matched) = self._right_sides.meet_stored(batch, alias)
            if len(rest):
                self.waiting.push(rest, urgent=urgent, back=True)
        going = self._passing(going, span, alias)
        self._count(batch, move)
        held = self.held.matches(batch, alias)
        waits = np.flatnonzero((~matched | self._right_sides.stay(alias)) & ~held)
        before = sum(module.pending for module in self.block.lookups[table])
        parked = 0
        self._unmatched(batch.take(np.flatnonzero(~matched & (held | stem.complete))), move)
        if len(waits) and not stem.complete:
            parked = self._await(batch.take(waits), move, matched[waits], urgent=urgent)
        requests = sum(module.pending for module in self.block.lookups[table]) - before
        self._probed(batch, move, hopeless + len(batch) - parked, len(going), requests)
        self._enqueue(going)

    def _unmatched(self, batch: TupleBatch, move: Move) -> None:
        """These tuples have no match in a right side, and never will."""
        if len(batch):
            going = self._right_sides.unmatched(batch, move.alias)
            going = self._passing(going, batch.state.span, move.alias)
            self._learn(Outcome(batch.state, move, 0, len(going)))
            self._enqueue(going)

    def _await(self, batch: TupleBatch, move: Move, matched: Bools, *, urgent: bool) -> int:
        """Park in front of a right side, on its scan or a lookup; returns how many parked."""
        bindings = self.block.constraints.bindings(batch.state.span, move.alias)
        table = self.block.plan.aliases[move.alias].table
        if move.lookup is None and not (bindings and self.block.by_keys[table]):
            parked = self._park_on_scan(batch, move.alias, matched)
            if parked:
                return parked
        first = move.lookup if move.lookup is not None else bindings[0].lookup if bindings else 0
        return self._park(batch, move.alias, first, matched, urgent=urgent)

    def _matches(self, batch: TupleBatch, alias: int, *, urgent: bool) -> tuple[TupleBatch, Int64, Int64]:
        """Rows that agree with the tuples on every link: the tuples that were looked at, and pairs (position, row).

        What would be too many pairs at once waits for its turn.
        """
        stem = self.block.stem(alias)
        links = [
            (link.own, self.block.numbers(batch, link.other, link.column))
            for link in self.block.constraints.links(batch.state.span, alias)
        ]
        late = stem.late(alias, batch.stamps) if self.block.fires[alias] else None
        within = None if links else self.block.within(batch, alias)
        if len(batch) > 1 and stem.exceeds(PROBE_PAIRS, links, len(batch)):
            counts = stem.pair_counts(links, len(batch), within)
            pairs = np.cumsum(counts if late is None else counts * late)
            if pairs[-1] > PROBE_PAIRS:
                size = max(1, int(np.searchsorted(pairs, PROBE_PAIRS)))
                batch, rest = batch.split(size)
                self.waiting.push(rest, urgent=urgent, back=True)
                links = [(column, numbers[:size]) for column, numbers in links]
                late = None if late is None else late[:size]
                within = None if within is None else within.take(np.arange(size))
        places = None if late is None or late.all() else late.nonzero()[0]
        if places is not None:
            links = [(column, numbers[places]) for column, numbers in links]
            within = None if within is None else within.take(places)
        positions, rows = stem.match(links, len(batch) if places is None else len(places), within)
        positions = positions if places is None else places[positions]
        mask = stem.passing(alias, rows)
        if mask is not None and not mask.all():
            positions, rows = positions[mask], rows[mask]
        return batch, positions, rows

    def _older(self, batch: TupleBatch, alias: int, positions: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Keep matches older than their prober; only aliases that start chains carry stamps (K6, P01)."""
        if not self.block.fires[alias] or not len(rows):
            return positions, rows
        older = self.block.stem(alias).older(alias, rows, batch.stamps, positions)
        return (positions, rows) if older is None else (positions[older], rows[older])

    def _concatenate(self, tuples: TupleBatch, alias: int, rows: Int64) -> TupleBatch:
        """tuples[i] with rows[i] as `alias`, where every equality and every newly evaluable predicate holds."""
        joined = tuples.with_rows(alias, rows)
        for link in self.block.constraints.links(tuples.state.span, alias):
            same = self.block.numbers(joined, alias, link.own) == self.block.numbers(
                joined, link.other, link.column
            )
            if not same.all():
                joined = joined.take(np.flatnonzero(same))
        return self._passing(joined, tuples.state.span, alias)

    def _passing(self, joined: TupleBatch, span: int, alias: int) -> TupleBatch:
        """Those of `joined` that pass the inline predicates which `alias` joining `span` makes evaluable."""
        for predicate in self.block.constraints.evaluable(span, alias):
            if len(joined):
                joined = joined.take(self.block.selections.passing(predicate, joined))
        return joined

    def _ask(self, batch: TupleBatch, move: Move, *, urgent: bool) -> tuple[int, int]:
        """What a probe does beyond the SteM: park on a lookup, or start or remember one.

        Returns how many keys are newly asked for, and how many tuples have parked.
        """
        alias = move.alias
        table = self.block.plan.aliases[alias].table
        if self.block.stems[table].complete:
            return 0, 0
        if not self.block.fires[alias] and move.lookup is None:
            held = self.held.matches(batch, alias)
            return 0, self._park_on_scan(batch.take(np.flatnonzero(~held)), alias)
        if not self.block.lookups[table] or self.block.plan.aliases[alias].seeds:
            return 0, 0
        bindings = self.block.constraints.bindings(batch.state.span, alias)
        if not bindings:
            return 0, 0
        parked = 0
        before = sum(module.pending for module in self.block.lookups[table])
        if not self.block.fires[alias]:
            assert move.lookup is not None
            parked = self._park(batch, alias, first=move.lookup, urgent=urgent)
        else:
            chosen = next((b for b in bindings if b.lookup == move.lookup), bindings[0])
            module = self.block.lookups[table][chosen.lookup]
            keys = self.block.keys(batch, alias, chosen)
            keys = keys[(keys >= 0) & ~self.held.matches(batch, alias)]
            if self.block.cancelled:
                if move.lookup is not None:
                    self._lose(table, chosen.lookup, keys)
            elif move.lookup is not None or self.block.by_keys[table]:
                module.request(keys, urgent=urgent)
            elif urgent and self.block.plan.tables[table].scans:
                # The user wants these early (R9). That is no cost of the move: a policy must not shun it for that.
                module.request(keys, urgent=True)
                return 0, 0
            elif alias in self.block.constraints.guarded:
                module.want(keys)
        return sum(module.pending for module in self.block.lookups[table]) - before, parked

    def _lose(self, table: int, lookup: int, keys: Int64) -> None:
        """A key that will not be asked for any more goes missing, unless a scan or seed answers for it."""
        if self.block.plan.tables[table].scans:
            return
        module = self.block.lookups[table][lookup]
        for key in distinct(keys[module.states(keys) < KeyState.PENDING]).tolist():
            self.block.missing.key(table, lookup, module, key, self.block.missing.cancelled)

    def _enqueue(self, batch: TupleBatch, *, urgent: bool = False) -> None:
        if not len(batch):
            return
        if self.priorities is None or urgent:
            self._place(batch, urgent=urgent)
            return
        for part, first in self.priorities.split(batch):
            self._place(part, urgent=first)

    def _place(self, batch: TupleBatch, *, urgent: bool) -> None:
        if not self.block.constraints.finished(batch.state):
            self.waiting.push(batch, urgent=urgent)
            return
        limit = self.block.plan.limit
        if limit is not None and self.emitted + len(batch) > limit:
            batch, _ = batch.split(limit - self.emitted)
            if not len(batch):
                return
        self.emitted += len(batch)
        self.results.append(batch)

    def _learn(self, outcome: Outcome) -> None:
        self.flow.observe(outcome)
        self.policy.observe(outcome)

    def _count(self, batch: TupleBatch, move: Move) -> None:
        counters = self.routing.setdefault((batch.state, move), [0, 0])
        counters[0] += 1
        counters[1] += len(batch)

    def taken(self) -> list[TupleBatch]:
        """The results found since the last call."""
        results, self.results = self.results, []
        for batch in results if self.block.plan.recursion is not None else ():
            self.block.rounds.take(self.block.gather(batch))
        return results

    def prioritize(self, predicates: Sequence[Expr]) -> None:
        """These go first from now on, whatever went first before (R8)."""
        self.priorities = Priorities(predicates, self.block) if predicates else None
        waiting = list(self.waiting.batches())
        self.waiting.clear()
        for batch in waiting:
            self._enqueue(batch)
        self.hurry()
        self._go_back()

    def _go_back(self) -> None:
        """Ask for the matches of prioritised rows that have gone by and wait for a scan: now they would ask (R9)."""
        plan = self.block.plan
        for alias, one in enumerate(plan.aliases):
            beside = self.block.fires[alias] and plan.tables[one.table].scans and not one.seeds
            if (
                self.priorities is None
                or self.block.cancelled
                or not beside
                or self.block.stem(alias).complete
            ):
                continue
            for other in range(len(plan.aliases)):
                bindings = self.block.constraints.bindings(1 << other, alias)
                if other != alias and self.block.fires[other] and bindings:
                    self._ask_again(self.priorities, other, alias, bindings[0])

    def _ask_again(self, priorities: Priorities, other: int, alias: int, binding: Binding) -> None:
        """Ask for the rows of `alias` that prioritised rows of another one have for matches, unless they are here."""
        table = self.block.plan.aliases[alias].table
        stem, module = self.block.stems[table], self.block.lookups[table][binding.lookup]
        by = self.block.stem(other)
        rows = np.arange(len(by))
        batch = TupleBatch(TupleState(1 << other), {other: rows}, by.stamps(other, rows))
        first, passing = priorities.mask(batch), by.passing(other, rows)
        if first is None:
            return
        batch = batch.take(np.flatnonzero(first if passing is None else first & passing))
        batch = batch.take(np.flatnonzero(~self.held.matches(batch, alias)))
        keys = self.block.keys(batch, alias, binding)
        if stem.plan.key and set(stem.plan.key) <= set(module.plan.columns):
            here = module.row_keys({column: stem.numbers[column].view for column in module.plan.columns})
            keys = keys[~np.isin(keys, here)]
        module.request(keys[keys >= 0], urgent=True)

    def hurry(self) -> None:
        """Of all pending keys, those that a prioritised tuple waits for, or that are prioritised by themselves, go first."""
        for table, modules in enumerate(self.block.lookups):
            for index, module in enumerate(modules):
                module.calm()
                if self.priorities is None or not module.pending:
                    continue
                module.hurry(self.priorities.keys(table, module, module.queued()))
                for _, group in self._groups(table, index):
                    places = group.alive()
                    mask = self.priorities.mask(group.at(places))
                    if mask is not None:
                        module.hurry(group.keys_at(places[mask]))

    def parked_tuples(self, table: int | None = None) -> int:
        """Tuples parked in front of aliases (of one table)."""
        return self.parked.count(table)

    def drop(self) -> None:
        """Forget every tuple: no further result is wanted."""
        self.waiting.clear()
        self.parked.clear()
        self._waking.clear()
        self.block.rounds.drop()

    def forget(self, least: int = FORGOTTEN_ROWS) -> None:
        """Whatever was emitted has been gathered: rows that nobody will ask for again go, so many at once or all."""
        self._probers.forget(self.waiting.batches, self.parked, least)

    def validate(self) -> None:
        """Assert that every tuple is accounted for (ledger I3)."""
        assert self.waiting.tuples == self.waiting.counted()
        for alias, lookup, group in self.parked.waiting():
            if lookup == SCAN:
                continue
            under_way = self.block.lookups[self.block.plan.aliases[alias].table][lookup].under_way()
            assert group.live == len(group.waiting(under_way) if len(under_way) else EMPTY)
