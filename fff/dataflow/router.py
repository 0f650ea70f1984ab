"""Routing: where the next batch goes, what comes of it, who waits (ledger section 5, rules 1 to 4).

`urgent` marks what the user wants first (`Priorities`): it decides who goes first, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from fff.dataflow.access import KeyState, ScanState
from fff.dataflow.arrays import EMPTY, Int64
from fff.dataflow.batch import TupleBatch
from fff.dataflow.block import Block
from fff.dataflow.expressions import Expr
from fff.dataflow.flow import Flow
from fff.dataflow.moves import Load, Move, Offer, Outcome
from fff.dataflow.parked import ParkedGroup
from fff.dataflow.policy import PullingPolicy, RoutingPolicy
from fff.dataflow.priorities import Priorities
from fff.dataflow.queue import WaitingTuples
from fff.dataflow.state import TupleState
from fff.limits import PROBE_PAIRS

#: In place of a lookup: parked until the scan ends.
SCAN = -1


class Router:
    """The tuples inside the eddy: waiting to be routed, parked in front of passive aliases, or found (results)."""

    def __init__(
        self, block: Block, policy: RoutingPolicy, rng: random.Random, waiting: WaitingTuples
    ) -> None:
        self.block = block
        self.policy = policy
        self.flow = Flow()
        self._pulling = policy if isinstance(policy, PullingPolicy) else None
        self.waiting = waiting
        self.priorities: Priorities | None = None
        self.found: list[TupleBatch] = []  # results not handed out yet
        self.emitted = 0  # results so far
        self.routing: dict[tuple[TupleState, Move], list[int]] = {}  # -> [batches, tuples]
        self._rng = rng
        self._parked: dict[tuple[int, int], dict[TupleState, ParkedGroup]] = {}  # by (alias, lookup or SCAN)

    def arrive(self, alias: int, rows: Int64, *, urgent: bool = False) -> None:
        """New rows of an alias: an active one starts chains, for a passive one parked probers get their matches."""
        if self.block.fires[alias]:
            stamps = self.block.stem(alias).stamps(alias, rows)
            self._enqueue(TupleBatch(TupleState(1 << alias), {alias: rows}, stamps), urgent=urgent)
        else:
            self._wake(alias, rows)

    def _wake(self, alias: int, rows: Int64) -> None:
        """Concatenate new rows of a passive alias with the tuples parked on their keys."""
        table = self.block.plan.aliases[alias].table
        stem = self.block.stems[table]
        for index, module in enumerate(self.block.lookups[table]):
            groups = self._parked.get((alias, index))
            if not groups:
                continue
            keys = module.row_keys(
                {column: stem.numbers[column].view[rows] for column in module.plan.columns}
            )
            state = module.states(np.maximum(keys, 0))
            asked = (keys >= 0) & ((state == KeyState.PENDING) | (state == KeyState.IN_FLIGHT))
            for group in list(groups.values()):
                if group.live and asked.any():
                    self._wake_group(group, Move(alias, index), keys[asked], rows[asked])
        for group in list(self._parked.get((alias, SCAN), {}).values()):
            if group.live:
                links = self.block.constraints.links(group.state.span, alias)
                keys = stem.numbers[links[0].own].view[rows] if links else np.zeros(len(rows), np.int64)
                self._wake_group(group, Move(alias), keys, rows)

    def _wake_group(self, group: ParkedGroup, move: Move, keys: Int64, rows: Int64) -> None:
        """Concatenate rows with the tuples of a group that wait for their keys."""
        for part in group.parts(keys, PROBE_PAIRS):
            positions, tuples = group.match(keys[part])
            if len(tuples):
                found = self._concatenate(tuples, move.alias, rows[part][positions])
                self.block.stem(move.alias).hits += len(found)
                self._learn(Outcome(group.state, move, 0, len(found)))
                self._enqueue(found)

    def route(self) -> None:
        """Let the next waiting batch take one move (rule 2)."""
        if not self.waiting:
            return
        batch, urgent = self.waiting.pop()
        moves = self.block.constraints.legal(batch.state)
        if len(moves) == 1:
            move = moves[0]
        elif self._pulling is None:
            move = self.policy.choose(batch.state, moves, self._rng)
        else:
            offer = Offer(batch.state, moves, len(batch), self.load, urgent)
            taken = self._pulling.take(offer, self._rng)
            if taken is None and self._looking_up():
                self.waiting.hold(batch, urgent=urgent)
                return
            move, size = taken or (self.policy.choose(batch.state, moves, self._rng), len(batch))
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
        module = self.block.lookups[table][move.lookup]
        under_way = sum(len(request.keys) for request in module.requests.values())
        batch = module.plan.batch_size
        return Load(module.pending + under_way, module.plan.window * batch, batch)

    def _looking_up(self) -> bool:
        """Whether some lookup will answer or fail."""
        return any(not module.idle for modules in self.block.lookups for module in modules)

    def _part(self, batch: TupleBatch, move: Move, size: int, *, urgent: bool) -> TupleBatch:
        """The tuples of a batch that go now; the others wait. Those whose key has been asked for go beyond `size`."""
        assert size > 0, f"{move} was chosen for no tuple"
        if size >= len(batch):
            return batch
        if move.lookup is None:
            part, rest = batch.split(size)
            self.waiting.push(rest, urgent=urgent)
            return part
        table = self.block.plan.aliases[move.alias].table
        bindings = self.block.constraints.bindings(batch.state.span, move.alias)
        binding = next(binding for binding in bindings if binding.lookup == move.lookup)
        keys = self.block.keys(batch, move.alias, binding)
        known = self.block.lookups[table][move.lookup].states(np.maximum(keys, 0)) >= KeyState.PENDING
        fresh = (keys >= 0) & ~known
        going = ~fresh | (np.cumsum(fresh) <= size)
        if not going.all():
            self.waiting.push(batch.take(np.flatnonzero(~going)), urgent=urgent)
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
        alias = move.alias
        stem = self.block.stem(alias)
        links = [
            (link.own, self.block.numbers(batch, link.other, link.column))
            for link in self.block.constraints.links(batch.state.span, alias)
        ]
        pairs = np.cumsum(stem.pair_counts(links, len(batch)))
        if len(batch) > 1 and pairs[-1] > PROBE_PAIRS:
            size = max(1, int(np.searchsorted(pairs, PROBE_PAIRS)))
            batch, rest = batch.split(size)
            self.waiting.push(rest, urgent=urgent)
            links = [(column, numbers[:size]) for column, numbers in links]
        positions, rows = stem.match(links, len(batch))
        mask = stem.passing(alias, rows)
        if mask is not None and not mask.all():
            positions, rows = positions[mask], rows[mask]
        positions, rows = self._older(batch, alias, positions, rows)
        found = self._evaluate(self._joined(batch.take(positions), alias, rows), batch.state.span, alias)
        stem.probes += len(batch)
        stem.hits += len(found)
        self._count(batch, move)
        requests, parked = self._ask(batch, move, urgent=urgent)
        # Of a parked tuple nothing is known yet: it counts as taken when its lookup has ended.
        taken = len(batch) - parked
        informed = len(stem) > 0
        self._learn(Outcome(batch.state, move, taken, len(found), requests, informed=informed))
        self._enqueue(found)

    def _older(self, batch: TupleBatch, alias: int, positions: Int64, rows: Int64) -> tuple[Int64, Int64]:
        """Keep matches older than their prober; only aliases that start chains carry stamps (K6, P01)."""
        stem = self.block.stem(alias)
        if not self.block.fires[alias] or not len(rows):
            return positions, rows
        newest = stem.stamps(alias, np.array([len(stem) - 1]))[0]
        if batch.stamps.min() > newest:  # the whole batch is newer than the SteM
            return positions, rows
        older = stem.stamps(alias, rows) < batch.stamps[positions]
        return positions[older], rows[older]

    def _concatenate(self, tuples: TupleBatch, alias: int, rows: Int64) -> TupleBatch:
        """tuples[i] with rows[i] as `alias`, where every equality and every newly evaluable predicate holds."""
        found = self._joined(tuples, alias, rows)
        for link in self.block.constraints.links(tuples.state.span, alias):
            same = self.block.numbers(found, alias, link.own) == self.block.numbers(
                found, link.other, link.column
            )
            if not same.all():
                found = found.take(np.flatnonzero(same))
        return self._evaluate(found, tuples.state.span, alias)

    def _joined(self, tuples: TupleBatch, alias: int, rows: Int64) -> TupleBatch:
        state = TupleState(tuples.state.span | 1 << alias, tuples.state.done)
        return TupleBatch(state, {**tuples.rows, alias: rows}, tuples.stamps)

    def _evaluate(self, found: TupleBatch, span: int, alias: int) -> TupleBatch:
        """Those of `found` that pass the inline predicates which `alias` joining `span` makes evaluable."""
        for predicate in self.block.constraints.evaluable(span, alias):
            if len(found):
                found = found.take(self.block.selections.passing(predicate, found))
        return found

    def _ask(self, batch: TupleBatch, move: Move, *, urgent: bool) -> tuple[int, int]:
        """What a probe does beyond the SteM: park on a lookup, or start or remember one.

        Returns how many keys are newly asked for, and how many tuples have parked.
        """
        alias = move.alias
        table = self.block.plan.aliases[alias].table
        if self.block.stems[table].complete:
            return 0, 0
        if not self.block.fires[alias] and move.lookup is None:
            return 0, self._park_on_scan(batch, alias)
        if not self.block.lookups[table]:
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
            keys = keys[keys >= 0]
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

    def _park_on_scan(self, batch: TupleBatch, alias: int) -> int:
        """Park in front of an alias that starts no chains, until its scan ends; returns how many parked."""
        if not any(
            scan.state is ScanState.RUNNING for scan in self.block.scans[self.block.plan.aliases[alias].table]
        ):
            return 0
        links = self.block.constraints.links(batch.state.span, alias)
        keys = (
            self.block.numbers(batch, links[0].other, links[0].column)
            if links
            else np.zeros(len(batch), np.int64)
        )
        self._group(alias, SCAN, batch.state).park(batch, keys)
        return len(batch)

    def _group(self, alias: int, lookup: int, state: TupleState) -> ParkedGroup:
        """The tuples of a state that wait for a lookup (or the scan) of an alias."""
        groups = self._parked.setdefault((alias, lookup), {})
        if state not in groups:
            groups[state] = ParkedGroup(state)
        return groups[state]

    def _lose(self, table: int, lookup: int, keys: Int64) -> None:
        """A key that will not be asked for any more goes missing, unless a scan or seed answers for it."""
        if self.block.plan.tables[table].scans:
            return
        module = self.block.lookups[table][lookup]
        for key in np.unique(keys[module.states(keys) < KeyState.PENDING]).tolist():
            self.block.missing.key(table, lookup, module, key, self.block.missing.cancelled)

    def _park(self, batch: TupleBatch, alias: int, first: int, *, urgent: bool = False) -> int:
        """Park the tuples that no EOT covers, each on one lookup; returns how many. Keys that none answers go missing."""
        parked = 0
        table = self.block.plan.aliases[alias].table
        bindings = self.block.constraints.bindings(batch.state.span, alias)
        keys = [self.block.keys(batch, alias, binding) for binding in bindings]
        modules = [self.block.lookups[table][binding.lookup] for binding in bindings]
        answerable = np.ones(len(batch), np.bool_)
        for module, mine in zip(modules, keys, strict=True):
            # A NULL key has no match and needs no answer; coverage by any lookup will do.
            answerable &= (mine >= 0) & (module.states(np.maximum(mine, 0)) != KeyState.COVERED)
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
                group = self._group(alias, bindings[place].lookup, batch.state)
                group.park(batch.take(left[alive]), mine[alive])
                module.request(mine[alive], urgent=urgent)
                parked += int(alive.sum())
            left = left[~alive]
        for place in places[:1]:
            module = modules[place]
            for key in np.unique(keys[place][left]).tolist():
                reason = module.reasons.get(key, self.block.missing.cancelled)
                self.block.missing.key(table, bindings[place].lookup, module, key, reason)
        return parked

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
        self.found.append(batch)

    def _learn(self, outcome: Outcome) -> None:
        self.flow.observe(outcome)
        self.policy.observe(outcome)

    def _count(self, batch: TupleBatch, move: Move) -> None:
        counters = self.routing.setdefault((batch.state, move), [0, 0])
        counters[0] += 1
        counters[1] += len(batch)

    def taken(self) -> list[TupleBatch]:
        """The results found since the last call."""
        found, self.found = self.found, []
        return found

    def release(self, table: int, lookup: int, keys: Int64, seconds: float = 0.0) -> None:
        """EOT of these keys: the tuples parked on them have had every match, and share the seconds it took."""
        groups = [(alias, group, group.release(keys)) for alias, group in self._groups(table, lookup)]
        total = sum(released for _, _, released in groups)
        for alias, group, released in groups:
            if released:
                cost = seconds * released / total
                self._learn(Outcome(group.state, Move(alias, lookup), released, 0, cost=cost))

    def spare(self, table: int, lookup: int, key: int) -> bool:
        """Whether a pending key need not be asked for: all who wait for it have had every match by other lookups. They leave.

        Only of a table for whose keys nobody asks but tuples that park: what a seed or an accelerated probe wants has no
        tuple to tell by.
        """
        if any(self.block.fires[alias] for alias in self.block.stems[table].aliases):
            return False
        modules = self.block.lookups[table]
        served: list[tuple[int, ParkedGroup]] = []
        for alias, group in self._groups(table, lookup):
            waiting = group.waiting(np.array([key], np.int64))
            covered = np.zeros(len(waiting), np.bool_)
            for binding in self.block.constraints.bindings(group.state.span, alias):
                keys = self.block.keys(waiting, alias, binding)
                covered |= (keys >= 0) & (
                    modules[binding.lookup].states(np.maximum(keys, 0)) == KeyState.COVERED
                )
            if not covered.all():
                return False
            if len(waiting):
                served.append((alias, group))
        for alias, group in served:
            self._learn(Outcome(group.state, Move(alias, lookup), group.spare(key), 0))
        return bool(served)

    def scans_over(self, table: int) -> None:
        """No scan of the table will bring anything more: the tuples parked on it have had every match."""
        for alias, group in self._groups(table, SCAN):
            self._learn(Outcome(group.state, Move(alias), group.close(), 0))

    def reoffer(self, table: int, lookup: int, keys: Int64, first: int | None = None) -> None:
        """Another lookup shall answer these keys: park their tuples there (P18); what no lookup answers goes missing.

        They failed, or (`first` is asked instead, as long as it can be) have not been asked for and may still be.
        """
        for alias, group in self._groups(table, lookup):
            waiting = group.waiting(keys)
            if first is None:
                group.release(keys)
            else:
                for key in keys.tolist():
                    group.spare(key)
            parts = [(waiting, False)] if self.priorities is None else self.priorities.split(waiting)
            for part, urgent in parts:
                self._park(part, alias, first=lookup if first is None else first, urgent=urgent)

    def prioritize(self, predicates: Sequence[Expr]) -> None:
        """These go first from now on, whatever went first before (R8)."""
        self.priorities = Priorities(predicates, self.block) if predicates else None
        waiting = list(self.waiting.batches())
        self.waiting.clear()
        for batch in waiting:
            self._enqueue(batch)
        self.hurry()

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
        """Tuples parked in front of passive aliases (of one table)."""
        return sum(
            group.live
            for (alias, _), groups in self._parked.items()
            if table is None or self.block.plan.aliases[alias].table == table
            for group in groups.values()
        )

    def groups(self) -> Iterator[ParkedGroup]:
        """Every group in which somebody waits."""
        yield from (group for _, group in self.parked())

    def parked(self) -> Iterator[tuple[int, ParkedGroup]]:
        """Every group in which somebody waits, with the alias whose answers it waits for."""
        for (alias, _), groups in self._parked.items():
            yield from ((alias, group) for group in groups.values() if group.live)

    def drop(self) -> None:
        """Forget every tuple: no further result is wanted."""
        self.waiting.clear()
        self._parked.clear()

    def _groups(self, table: int, lookup: int) -> Iterator[tuple[int, ParkedGroup]]:
        for alias in self.block.stems[table].aliases:
            for group in list(self._parked.get((alias, lookup), {}).values()):
                if group.live:
                    yield alias, group

    def validate(self) -> None:
        """Assert that every tuple is accounted for (ledger I3)."""
        assert self.waiting.tuples == self.waiting.counted()
        for (alias, lookup), groups in self._parked.items():
            if lookup == SCAN:
                continue
            under_way = self.block.lookups[self.block.plan.aliases[alias].table][lookup].under_way()
            for group in groups.values():
                assert group.live == len(group.waiting(under_way) if len(under_way) else EMPTY)
