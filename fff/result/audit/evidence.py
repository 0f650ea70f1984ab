"""What a run tells of its moves and states: tuples, distinct keys, requests and seconds, each with draws of what may be."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from fff.dataflow.plan.moves import Move, after
from fff.dataflow.plan.plan import BlockPlan, LookupPlan
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.flow import FlowStatistics, Hop, Passage
from fff.dataflow.statistics import BlockStatistics, LookupStatistics
from fff.options import Preference
from fff.policies.adaptive.posterior import PROBE_S, REQUEST_S
from fff.policies.adaptive.scarcity import Scarcity
from fff.structs import Struct

#: Tuples of prior evidence with which a fan-out is drawn towards that of its move in all states.
STRENGTH = 10.0
#: Draws from the posterior; before them goes the mean.
DRAWS = 100
#: Of the logarithm of one request's seconds around their mean; and of that mean around others' before anything is known.
SPREAD, LEVEL_SPREAD = 0.5, 1.5
#: Answers of one limiter take about as long, unless they differ by more than this factor (as in the policies).
APART = 2.0
#: Times that fan-outs are pooled by row: how many tuples a row has become is told by other moves' fan-outs.
POOLINGS = 2
#: More matches of a row that has some than this are several.
SEVERAL = 1.5
#: Distinct keys that are as good as any number of them.
UNBOUNDED = 1e12
Floats = npt.NDArray[np.float64]
#: By ordinals of table and lookup.
LookupsStatistics = Mapping[tuple[int, int], LookupStatistics]


def lookups_of(block: BlockStatistics) -> LookupsStatistics:
    """The lookups of a block."""
    return {
        (table, lookup): outcome
        for table, one in enumerate(block.tables)
        for lookup, outcome in enumerate(one.lookups)
    }


class RoutingCost(Struct, frozen=True):
    """Of an order: each of them first the mean, then the draws."""

    requests: Floats
    hops: Floats
    seconds: Floats


class RoutingEvidence:
    """What the run tells of moves and states; every number as its mean, followed by draws."""

    def __init__(
        self,
        plan: BlockPlan,
        constraints: Constraints,
        flow: FlowStatistics,
        lookups: LookupsStatistics,
        *,
        prefer: Preference,
        rng: np.random.Generator,
    ) -> None:
        self.plan = plan
        self.flow = flow
        self.arrived: dict[TupleState, int] = defaultdict(int)
        self.by_move: dict[Move, Passage] = {}
        self._constraints = constraints
        self._lookups = lookups
        self._scarcity = Scarcity(plan, prefer)
        self._rng = rng
        self._into: dict[TupleState, list[Hop]] = defaultdict(list)
        for (state, move), passage in flow.passages.items():
            if state.span.bit_count() == 1 and not state.done:
                self.arrived[state] += passage.taken
            if (
                passage.taken or passage.produced
            ):  # answers that broke off bring rows of tuples that they do not count
                self._into[after(state, move)].append((state, move))
            self.by_move[move] = self.by_move.get(move, Passage()) + passage
        self._alone = len(self.arrived) == 1
        self._parents = {state: self._tree(state.span) for state in self.arrived}
        self._sizes: dict[TupleState, Floats] = {}
        self._fanouts: dict[Hop, Floats] = {}
        self._luck: dict[Hop, Floats] = {}
        self._per_request: dict[Move, tuple[int, Floats, Floats]] = {}
        self._keys: dict[tuple[TupleState, Move], Floats] = {}
        self._levels = self._measured()
        self._pooled: dict[Move, tuple[float, float]] = {
            move: (passage.taken, passage.produced) for move, passage in self.by_move.items()
        }
        for _ in range(POOLINGS if self._multiplies() else 0):
            self._pooled = self._by_row()
        self._single = not self._multiplies(SEVERAL)
        self._laters: dict[Hop, Passage] = {}

    def pooled(self, move: Move) -> float:
        """Fan-out of a move over all states, tuples of one row counting as one; 1 where it was never taken."""
        taken, produced = self._pooled.get(move, (0.0, 0.0))
        return (produced + 1) / (taken + 1)

    def _multiplies(self, at_least: float = 1.0) -> bool:
        """Whether some join makes several tuples of one, more than so many in the mean."""
        return any(self.pooled(move) > at_least * self._met(move) for move in self.by_move)

    def _by_row(self) -> dict[Move, tuple[float, float]]:
        """Taken and produced of each move: the copies of a row fare alike, and say no more than one of them does."""
        pooled: dict[Move, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        for hop, passage in self.flow.passages.items():
            copies, (taken, produced) = self._copies(hop), pooled[hop[1]]
            pooled[hop[1]] = taken + passage.taken / copies, produced + passage.produced / copies
        return dict(pooled)

    # ---------------------------------------------------------------------------------------------- how many tuples

    def leaving(self, hop: Hop, tuples: Floats) -> Floats:
        """How many come of so many tuples of a state that take a move: as many as came of those that did, and of the others."""
        passage = self.flow.passages.get(hop, Passage())
        lumps, copies = self._lump(hop[1]), self._copies(hop)
        prior, weight = STRENGTH / max(lumps, 1.0), 1 / (copies * max(lumps, 1.0))
        shape = passage.produced * weight + prior * self.pooled(hop[1])
        rate = passage.taken * weight + prior
        fanouts = self._fanouts.get(hop)
        if fanouts is None:
            drawn = self._rng.gamma(shape, 1 / rate, DRAWS)
            if hop[1].predicate is not None:
                drawn = np.minimum(drawn, 1.0)
            fanouts = self._fanouts[hop] = np.concatenate([[shape / rate], drawn])
            self._luck[hop] = np.concatenate([[0.0], self._rng.standard_normal(DRAWS)])
        came, others = np.zeros_like(tuples), tuples
        for seen in (passage, self._later(hop)) if self._alone else ():
            known = np.minimum(seen.taken, others)
            came, others = came + known * (seen.produced / max(seen.taken, 1)), others - known
        came = came + others * fanouts
        return np.maximum(came + self._luck[hop] * np.sqrt(others * fanouts * lumps * copies), 0.0)

    def _later(self, hop: Hop) -> Passage:
        """What a move did with tuples of further states, all of which had come to this one too, had they gone this way.

        Nothing where joins make several tuples of one: those of further states are several of one here.
        """
        known = self._laters.get(hop)
        if known is None:
            (state, move), known = hop, Passage()
            for (other, its), passage in self.flow.passages.items() if self._single else ():
                further = other.span & state.span == state.span and other.done & state.done == state.done
                if its == move and other != state and further:
                    known = known + passage
            self._laters[hop] = known
        return known

    def _lump(self, move: Move) -> float:
        """What the number that comes of a tuple varies by, as a multiple of its mean."""
        fanout, met = self.pooled(move), self._met(move)
        return max(fanout / met - fanout, 0.05)

    def _copies(self, hop: Hop) -> float:
        """Tuples that fare alike: those of one row of what decides."""
        state, move = hop
        start = next(iter(self.arrived), state)
        decides = self._parents.get(start, {}).get(move.alias, -1)
        if move.predicate is not None:
            decides = max(self.plan.predicates[move.predicate].aliases, default=-1)
        return self._multiplied(start, state, decides) if decides >= 0 else 1.0

    def size(self, state: TupleState) -> Floats | None:
        """Tuples that come to a state, by the ways that were taken; None where none was."""
        if not self._alone:
            return None
        if state in self.arrived:
            return np.full(DRAWS + 1, float(self.arrived[state]))
        known = self._sizes.get(state)
        if known is None and self._into.get(state):
            ways = [self._came(hop) for hop in self._into[state]]
            weights = [1 / (way[1:].var() + 1e-9) for way in ways]
            mixed = sum(way * weight for way, weight in zip(ways, weights, strict=True)) / sum(weights)
            seen = sum(self.flow.passages[hop].produced for hop in self._into[state])
            known = self._sizes[state] = np.maximum(mixed, seen)
        return known

    def _came(self, hop: Hop) -> Floats:
        before = self.size(hop[0])
        assert before is not None, "tuples of a state have come to it"
        return self.leaving(hop, before)

    # ---------------------------------------------------------------------------------------- how many distinct keys

    def _tree(self, span: int) -> dict[int, int]:
        """By alias the one that it is joined to, nearest to the start."""
        parents: dict[int, int] = {}
        start, everything = span, self._constraints.everything
        while span != everything:
            beside = {
                alias: links[0].other
                for alias in bits(everything & ~span)
                if (links := self._constraints.links(span, alias))
            }
            parents |= beside or {bits(everything & ~span)[0]: bits(start)[0]}
            span |= sum(1 << alias for alias in beside) or 1 << bits(everything & ~span)[0]
        return parents

    def _met(self, move: Move) -> float:
        """The share of tuples that a move finds anything for."""
        fanout = self.pooled(move)
        seen = self._statistics_of(move)
        if seen is None or not seen.asked:
            return min(fanout, 1.0)
        return min((seen.met + 1) / (seen.asked + 1), fanout, 1.0)

    def _statistics_of(self, move: Move) -> LookupStatistics | None:
        if move.lookup is None:
            return None
        return self._lookups.get((self.plan.aliases[move.alias].table, move.lookup))

    def _move_to(self, alias: int) -> Move:
        """The move by which most tuples have got to an alias."""
        moves = [move for move in self.by_move if move.predicate is None and move.alias == alias]
        return max(moves, key=lambda move: self.by_move[move].taken, default=Move(alias))

    def _branch(self, alias: int, state: TupleState, parents: Mapping[int, int]) -> tuple[float, float]:
        """Of a row that an alias is joined to: how many tuples it has become, and the chance that it has become any."""
        move = self._move_to(alias)
        tuples = fanout = max(self.pooled(move), 1e-9)
        alive = 1.0
        for predicate in bits(state.done):
            if max(self.plan.predicates[predicate].aliases, default=-1) == alias:
                passes = self.pooled(Move(predicate=predicate))
                tuples, alive = tuples * passes, alive * min(passes, 1.0)
        for child in bits(state.span):
            if parents.get(child) == alias:
                more, some = self._branch(child, state, parents)
                tuples, alive = tuples * more, alive * some
        met = max(self._met(move), 1e-9)
        return tuples, max(met * (1 - (1 - min(alive, 1.0)) ** max(fanout / met, 1.0)), 1e-9)

    def _multiplied(self, start: TupleState, state: TupleState, alias: int) -> float:
        """Tuples of a state for each row of an alias in them: what joins beside the way to it have multiplied it by."""
        parents, factor, at, skip = self._parents[start], 1.0, alias, -1
        while True:
            for child in bits(state.span):
                if parents.get(child) == at and child != skip:
                    tuples, alive = self._branch(child, state, parents)
                    factor *= tuples / alive
            if at not in parents:
                return max(factor, 1.0)
            at, skip = parents[at], at

    def rows(self, start: TupleState, hop: Hop, tuples: Floats) -> Floats:
        """Rows that bind the key of a lookup, among tuples of a state."""
        parent = self._parents[start].get(hop[1].alias)
        if parent is None or not hop[0].span >> parent & 1:
            return tuples
        return tuples / self._multiplied(start, hop[0], parent)

    def keys(self, start: TupleState, move: Move) -> Floats:
        """How many distinct keys there are."""
        known = self._keys.get((start, move))
        if known is None:
            pooled = self.by_move.get(move, Passage())
            rows = sum(
                float(self.rows(start, hop, np.array([float(passage.taken)]))[0])
                for hop, passage in self.flow.passages.items()
                if hop[1] == move
            )
            # What was seen is how often a key came again.
            again = max(rows - pooled.requests, 0.0)
            drawn = self._rng.gamma(again + 0.5, 1, DRAWS)
            asked = rows - np.concatenate([[again], drawn])
            known = self._keys[start, move] = _distinct(rows, np.maximum(asked, min(rows, 1.0)))
        return known

    # ------------------------------------------------------------------------------------------- what a key costs

    def _measured(self) -> dict[tuple[int, int], tuple[float, int]]:
        """By lookup: seconds of a request, and of how many that is the mean."""
        return {
            place: (past.served_s / past.answered, past.answered)
            for place, past in self._lookups.items()
            if past.served_s > 0
        }

    def _request_s(self, place: tuple[int, int]) -> tuple[float, float]:
        """Seconds of a request, and how uncertain the logarithm of that is."""
        if not self._levels:
            return REQUEST_S, 0.0
        own = self._levels.get(place)
        limiter = self._limiter(place)
        alike = [
            (one, many)
            for other, (one, many) in self._levels.items()
            if limiter is not None and self._limiter(other) == limiter
            if own is None or 1 / APART < one / own[0] < APART
        ]
        shares = alike or ([own] if own is not None else [])
        if shares:
            many = sum(count for _, count in shares)
            return sum(one * count for one, count in shares) / many, SPREAD / math.sqrt(many)
        level = sum(math.log(one) for one, _ in self._levels.values()) / len(self._levels)
        return math.exp(level), LEVEL_SPREAD

    def _limiter(self, place: tuple[int, int]) -> int | None:
        return self.plan.tables[place[0]].lookups[place[1]].limiter

    def per_request(self, move: Move) -> tuple[int, Floats, Floats]:
        """Keys that a request carries, requests' worth of keys that go missing in those not full, seconds of a request."""
        known = self._per_request.get(move)
        if known is None:
            assert move.lookup is not None
            place = self.plan.aliases[move.alias].table, move.lookup
            lookup: LookupPlan = self.plan.tables[place[0]].lookups[place[1]]
            past = self._lookups.get(place)
            level, doubt = self._request_s(place)
            luck = np.concatenate([[0.0], self._rng.standard_normal(DRAWS)])
            seconds = level * np.exp(doubt * luck) * self._scarcity.worth(move)
            gaps = np.zeros(DRAWS + 1)
            if lookup.batch_size > 1:
                was = past.issued - past.asked / lookup.batch_size if past is not None else 0.0
                gaps = max(was, 1.0) * np.concatenate([[1.5], 3 * self._rng.random(DRAWS)])
            known = self._per_request[move] = lookup.batch_size, gaps, seconds
        return known

    def requests(self, move: Move, keys: Floats, *, scanned: bool) -> tuple[Floats, Floats]:
        """Requests for so many keys, and seconds of each. Keys of scanned rows come by the page, those of answers trickle."""
        batch, gaps, seconds = self.per_request(move)
        return np.minimum(keys / batch + (gaps / 4 if scanned else gaps), keys), seconds

    def spent(self) -> RoutingCost:
        """What the run has spent."""
        hops = np.full(DRAWS + 1, float(self.flow.tuples))
        requests, seconds = np.zeros(DRAWS + 1), hops * PROBE_S
        counted: set[tuple[int, int]] = set()
        for move, passage in self.by_move.items():
            if move.lookup is None:
                continue
            place = self.plan.aliases[move.alias].table, move.lookup
            past = self._lookups.get(place)
            if past is not None and place in counted:
                continue  # another alias of the same table
            counted.add(place)
            many = float(passage.requests if past is None else past.issued)
            requests = requests + many
            seconds = seconds + many * self.per_request(move)[2]
        return RoutingCost(requests, hops, seconds)


def distinct_among(distinct: Floats, tuples: Floats | float) -> Floats:
    """Distinct keys among `tuples` drawn from so many."""
    several = np.maximum(distinct, 1 + 1e-9)
    among = -several * np.expm1(tuples * np.log1p(-1 / several))
    return np.where(distinct > 1, among, np.minimum(1.0, tuples))


def _distinct(tuples: float, asked: Floats) -> Floats:
    """How many distinct keys there are if `tuples` asked for `asked` of them; by bisection of their logarithm."""
    low, high = np.maximum(asked, 1.0), np.full(len(asked), UNBOUNDED)
    for _ in range(50):
        middle = np.sqrt(low * high)
        few = distinct_among(middle, tuples) < asked
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return np.where(asked >= tuples, UNBOUNDED, high)
