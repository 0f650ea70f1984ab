"""What a run would have spent under the best static order, as far as the run itself can tell (the self-audit).

A static order is what `--policy fixed` executes: one sequence of selection modules and aliases that every tuple follows as
far as it is legal. The currency is the policy's: seconds of service, of requests as measured and dearer where they have
a price, and of hops at what routing takes. How many tuples come to a TupleState does not depend on the way, so it is
estimated from all ways that were taken: of the tuples that took a move what came is known, the others are expected to
do as they did, drawn towards what the move did in all states. Lookups ask for distinct keys: of the rows that bind them,
n ask for K (1 - (1 - 1/K)^n), K fitted to what was asked for; rows are tuples without what other joins have multiplied
them by. As many requests are not full as were not, more or less. Beyond a few items not every order is looked at, and with many the
search ends after `EFFORT` hops: the best order is then the best one seen.

The interval comes from the posterior of all these (drawn with a seeded generator): the 5 % and 95 % quantiles of the
regret. Orders that are as cheap as the best in a tenth of the draws are its ties: the run cannot tell them apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fff.dataflow.plan.labels import item_name
from fff.dataflow.plan.moves import Move, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.flow import FlowStatistics, Hop
from fff.options import Preference
from fff.policies.adaptive.posterior import PROBE_S
from fff.result.audit.evidence import (
    DRAWS,
    Floats,
    LookupsStatistics,
    RoutingCost,
    RoutingEvidence,
    distinct_among,
)
from fff.structs import Struct, field

#: Orders looked at one by one; with more items two are swapped instead, from a good start, until nothing gains.
EVERY_ORDER = 6
#: Hops that the search for the best order follows; with many items it then stops at the best one seen.
EFFORT = 20_000
#: Share of the draws in which an order has to be as cheap as the best to be a tie, and the most ties that are told.
TIE, TIES = 0.1, 5
#: Ordinal of a selection module's predicate, or of an alias: what an order lists.
Item = tuple[str, int]
Order = tuple[Item, ...]


class Spend(Struct, frozen=True):
    """What routing costs: requests, hops of tuples between modules, and the seconds of service of both."""

    requests: float
    hops: float
    seconds: float


class Hindsight(Struct, frozen=True):
    """The audit of one block: what was spent, the best static order, and what that would have spent.

    `regret`: what was spent over what the best order costs, minus 1; `low` and `high` enclose it with 90 %. `ties`: orders
    that may be as good, the likeliest first. `choices`: the states of routed tuples that had a choice.
    """

    order: tuple[str, ...]
    ties: tuple[tuple[str, ...], ...]
    spent: Spend
    best: Spend
    regret: float
    low: float
    high: float
    choices: frozenset[TupleState]


class _Step(Struct, frozen=True):
    """What an item of an order means for tuples of one state: the move, and where they are then."""

    hop: Hop
    to: _PlannedState


class _PlannedState(Struct):
    """A state, with the steps known from it; None for an item that must wait."""

    state: TupleState
    steps: dict[Item, _Step | None] = field(default_factory=dict)


def hindsight(
    plan: BlockPlan,
    flow: FlowStatistics,
    seed: int,
    lookups: LookupsStatistics | None = None,
    prefer: Preference = "balanced",
) -> Hindsight | None:
    """Judge the routing of a block; None where no state had a choice or nothing was routed."""
    constraints = Constraints.of(plan)
    choices = frozenset(state for state, _ in flow.passages if len(constraints.legal(state)) > 1)
    if not any(passage.taken for (state, _), passage in flow.passages.items() if state in choices):
        return None
    rng = np.random.default_rng(seed)
    evidence = RoutingEvidence(plan, constraints, flow, lookups or {}, prefer=prefer, rng=rng)
    return _Judge(plan, constraints, evidence).judge(choices)


class _Judge:
    def __init__(self, plan: BlockPlan, constraints: Constraints, evidence: RoutingEvidence) -> None:
        self._plan = plan
        self._constraints = constraints
        self._evidence = evidence
        self._places: dict[TupleState, _PlannedState] = {}
        self._costs: dict[tuple[Hop, ...], tuple[Order, RoutingCost]] = {}
        self._effort = 0  # hops followed so far

    def judge(self, choices: frozenset[TupleState]) -> Hindsight:
        order, best = self._best()
        spent = self._evidence.spent()
        regrets = np.sort(_regret(spent.seconds[1:], best.seconds[1:]))
        ties = [
            (float((cost.seconds[1:] <= best.seconds[1:]).mean()), other)
            for other, cost in self._costs.values()
            if other != order
        ]
        ties = sorted((tie for tie in ties if tie[0] >= TIE), key=lambda tie: -tie[0])[:TIES]
        return Hindsight(
            self._names(order),
            tuple(self._names(other) for _, other in ties),
            _mean(spent),
            _mean(best),
            float(_regret(spent.seconds[:1], best.seconds[:1])[0]),
            float(regrets[DRAWS // 20]),
            float(regrets[-1 - DRAWS // 20]),
            choices,
        )

    def _names(self, order: Order) -> tuple[str, ...]:
        return tuple(item_name(self._plan, kind, number) for kind, number in order)

    # --------------------------------------------------------------------------------------------- the orders

    def _best(self) -> tuple[Order, RoutingCost]:
        """The best order seen, and what it would have spent."""
        items: list[Item] = [("predicate", number) for number in self._constraints.modules]
        items += [("alias", number) for number in range(len(self._plan.aliases))]
        if len(items) <= EVERY_ORDER:
            orders = (self._cost(order) for order in itertools.permutations(items))
            return min(orders, key=lambda seen: seen[1].seconds[0])
        order, best = self._cost(sorted(items, key=self._rank))
        # Neighbours first: what is out of place by little is put right with least effort.
        pairs = sorted(itertools.combinations(range(len(order)), 2), key=lambda pair: pair[1] - pair[0])
        improved = True
        while improved:
            improved = False
            for first, second in pairs:
                if self._effort > EFFORT:
                    return order, best
                swapped = list(order)
                swapped[first], swapped[second] = swapped[second], swapped[first]
                other, cost = self._cost(swapped)
                if cost.seconds[0] < best.seconds[0]:
                    order, best, improved = other, cost, True
        return order, best

    def _rank(self, item: Item) -> float:
        """Fewest tuples left per second first; a start for the swaps, nothing more."""
        passages = {move: one for move, one in self._evidence.by_move.items() if _item(move) == item}
        taken = sum(passage.taken for passage in passages.values())
        if not taken:
            return 0.0
        seconds = taken * PROBE_S
        for move, passage in passages.items():
            if move.lookup is not None:
                batch, _, each = self._evidence.per_request(move)
                seconds += passage.requests / batch * float(each[0])
        return (sum(passage.produced for passage in passages.values()) - taken) / seconds

    # ---------------------------------------------------------------------------------------------- the spend

    def _cost(self, order: Iterable[Item]) -> tuple[Order, RoutingCost]:
        """What an order would have spent on the tuples that arrived; with the first order that means the same."""
        order = tuple(order)
        paths = {start: self._path(start, order) for start in self._evidence.arrived}
        meaning = tuple(step.hop for path in paths.values() for step in path)
        known = self._costs.get(meaning)
        if known is None:
            known = self._costs[meaning] = order, self._follow(paths)
        return known

    def _follow(self, paths: Mapping[TupleState, Sequence[_Step]]) -> RoutingCost:
        evidence, zero = self._evidence, np.zeros(DRAWS + 1)
        hops, requests, seconds = zero, zero, zero
        through: dict[Move, tuple[TupleState, Floats]] = {}
        scanned: set[Move] = set()
        for start, path in paths.items():
            tuples = np.full(DRAWS + 1, float(evidence.arrived[start]))
            for step in path:
                hops = hops + tuples
                move = step.hop[1]
                if move.lookup is not None:
                    if step.hop[0] == start:
                        scanned.add(move)
                    rows = evidence.rows(start, step.hop, tuples)
                    first, before = through.get(move, (start, zero))
                    through[move] = first, before + rows
                size = evidence.size(step.to.state)
                tuples = evidence.leaving(step.hop, tuples) if size is None else size
        for move, (start, rows) in through.items():
            asked = distinct_among(evidence.keys(start, move), rows)
            many, each = evidence.requests(move, asked, scanned=move in scanned)
            requests = requests + many
            seconds = seconds + many * each
        return RoutingCost(requests, hops, seconds + hops * PROBE_S)

    def _path(self, start: TupleState, order: Iterable[Item]) -> list[_Step]:
        """The steps of tuples that begin in a state: each time the first item that is legal; beside a scan no lookup."""
        place = self._place(start)
        left = [item for item in order if item[0] == "predicate" or start.span != 1 << item[1]]
        path: list[_Step] = []
        while left:
            at, step = self._first(place, left)
            del left[at]
            path.append(step)
            place = step.to
        self._effort += len(path)
        return path

    def _place(self, state: TupleState) -> _PlannedState:
        place = self._places.get(state)
        if place is None:
            place = self._places[state] = _PlannedState(state)
        return place

    def _first(self, place: _PlannedState, left: list[Item]) -> tuple[int, _Step]:
        """The first of the items that tuples may go to, and its position among them; see `Constraints.legal`."""
        for at, item in enumerate(left):
            if item not in place.steps:
                place.steps[item] = self._step(place.state, item, joined=True)
            if (step := place.steps[item]) is not None:
                return at, step
        # Nothing that is left is joined with what is here.
        steps = ((at, self._step(place.state, item, joined=False)) for at, item in enumerate(left))
        return next((at, step) for at, step in steps if step is not None)

    def _step(self, state: TupleState, item: Item, *, joined: bool) -> _Step | None:
        kind, number = item
        if kind == "predicate":
            move = Move(predicate=number) if self._constraints.selects(state, number) else None
        elif joined and not self._constraints.near(state.span, number):
            move = None
        else:
            move = next(iter(self._constraints.probes(state.span, number)), None)
        if move is None:
            return None
        return _Step((state, move), self._place(after(state, move)))


def _item(move: Move) -> Item:
    return ("predicate", move.predicate) if move.predicate is not None else ("alias", move.alias)


def _regret(spent: Floats, best: Floats) -> Floats:
    return np.where(best > 0, spent / np.maximum(best, 1e-300) - 1, 0.0)


def _mean(cost: RoutingCost) -> Spend:
    return Spend(float(cost.requests[0]), float(cost.hops[0]), float(cost.seconds[0]))
