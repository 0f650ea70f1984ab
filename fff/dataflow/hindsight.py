"""What a run would have spent under the best static order, as far as the run itself can tell (the self-audit).

A static order is what `--policy fixed` executes: one sequence of selection modules and aliases that every tuple follows as
far as it is legal. Its spend is worked out tuple count by tuple count: n tuples of a state that take a move leave as n times
the fan-out measured there; n tuples that look keys up ask for K (1 - (1 - 1/K)^n) of them, K distinct keys fitted to what was
asked for. Where a state never took a move, the fan-out of that move over all other states stands in.

The interval comes from the posterior of those fan-outs and counts (Gamma for fan-outs, drawn with a seeded generator): the
5 % and 95 % quantiles of the regret over `DRAWS` draws.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fff.dataflow.constraints import Constraints
from fff.dataflow.flow import Flow, Hop, Passage
from fff.dataflow.moves import Move, after
from fff.dataflow.naming import item_name
from fff.dataflow.plan import BlockPlan
from fff.dataflow.state import TupleState

#: Hops that one request is worth, as in the policies.
REQUEST_COST = 50.0
#: Tuples of prior evidence with which a fan-out is drawn towards that of its move in all states.
STRENGTH = 10.0
#: Draws from the posterior.
DRAWS = 100
#: Orders looked at one by one; with more items neighbours are swapped instead, from a good start, until nothing gains.
EVERY_ORDER = 6
#: Ordinal of a selection module's predicate, or of an alias: what an order lists.
Item = tuple[str, int]


@dataclass(frozen=True)
class Spend:
    """What routing costs: requests for keys, and hops of tuples between modules."""

    requests: float
    hops: float

    @property
    def work(self) -> float:
        """Both as hops."""
        return self.hops + REQUEST_COST * self.requests


@dataclass(frozen=True)
class Hindsight:
    """The audit of one block: what was spent, the best static order, and what that would have spent.

    `regret`: work spent over that of the best order, minus 1; `low` and `high` enclose it with 90 %.
    """

    order: tuple[str, ...]
    spent: Spend
    best: Spend
    regret: float
    low: float
    high: float


@dataclass(frozen=True)
class _Rates:
    """One set of beliefs: fan-outs by hop, and how many keys n tuples ask for by move."""

    fanout: Callable[[Hop], float]
    keys: Callable[[Move, float], float]


def hindsight(plan: BlockPlan, flow: Flow, seed: int) -> Hindsight | None:
    """Judge the routing of a block; None where no state had a choice or nothing was routed."""
    constraints = Constraints(plan)
    chosen = [hop for hop in flow.passages if len(constraints.legal(hop[0])) > 1]
    if not any(flow.passages[hop].taken for hop in chosen):
        return None
    return _Judge(plan, constraints, flow).judge(seed)


class _Judge:
    def __init__(self, plan: BlockPlan, constraints: Constraints, flow: Flow) -> None:
        self._plan = plan
        self._constraints = constraints
        self._flow = flow
        self._arrived: dict[TupleState, int] = defaultdict(int)
        self._by_move: dict[Move, Passage] = {}
        for (state, move), passage in flow.passages.items():
            if state.span.bit_count() == 1 and not state.done:
                self._arrived[state] += passage.taken
            pooled = self._by_move.setdefault(move, Passage())
            pooled.taken += passage.taken
            pooled.produced += passage.produced
            pooled.requests += passage.requests
        self._moves: dict[tuple[TupleState, tuple[Item, ...]], Move] = {}

    def judge(self, seed: int) -> Hindsight:
        means = _Rates(self._mean_fanout, self._mean_keys())
        order = min(self._orders(means), key=lambda order: self._spend(order, means).work)
        best = self._spend(order, means)
        spent = Spend(float(self._flow.requests), float(self._flow.tuples))
        rng = random.Random(seed)
        # Of this one order: a draw that picked its own best would find luck in every draw.
        regrets = sorted(self._regret(spent, self._spend(order, self._draw(rng))) for _ in range(DRAWS))
        return Hindsight(
            tuple(item_name(self._plan, kind, number) for kind, number in order),
            spent,
            best,
            self._regret(spent, best),
            regrets[DRAWS // 20],
            regrets[-1 - DRAWS // 20],
        )

    def _regret(self, spent: Spend, best: Spend) -> float:
        return spent.work / best.work - 1 if best.work else 0.0

    # ------------------------------------------------------------------------------------------------ the orders

    def _orders(self, rates: _Rates) -> Iterator[tuple[Item, ...]]:
        items: list[Item] = [("predicate", number) for number in self._constraints.modules]
        items += [("alias", number) for number in range(len(self._plan.aliases))]
        if len(items) <= EVERY_ORDER:
            yield from itertools.permutations(items)
            return
        order = tuple(sorted(items, key=self._rank))
        work = self._spend(order, rates).work
        yield order
        improved = True
        while improved:
            improved = False
            for first, second in itertools.combinations(range(len(order)), 2):
                swapped = list(order)
                swapped[first], swapped[second] = swapped[second], swapped[first]
                other = tuple(swapped)
                gained = self._spend(other, rates).work
                yield other
                if gained < work:
                    order, work, improved = other, gained, True

    def _rank(self, item: Item) -> float:
        """Fewest tuples left per work first; a start for the swaps, nothing more."""
        passages = [passage for move, passage in self._by_move.items() if _item(move) == item]
        taken = sum(passage.taken for passage in passages)
        if not taken:
            return 0.0
        work = taken + REQUEST_COST * sum(passage.requests for passage in passages)
        return (sum(passage.produced for passage in passages) - taken) / work

    # -------------------------------------------------------------------------------------------------- the spend

    def _spend(self, order: tuple[Item, ...], rates: _Rates) -> Spend:
        """What the order costs for the tuples that arrived."""
        hops = 0.0
        through: dict[Move, float] = defaultdict(float)
        for start, arrived in self._arrived.items():
            state, tuples = start, float(arrived)
            while not self._constraints.finished(state) and tuples > 0:
                move = self._move(state, order)
                hops += tuples
                if move.lookup is not None:
                    through[move] += tuples
                tuples *= rates.fanout((state, move))
                state = after(state, move)
        return Spend(sum(rates.keys(move, tuples) for move, tuples in through.items()), hops)

    def _move(self, state: TupleState, order: tuple[Item, ...]) -> Move:
        """Where the order sends a state: the first item that is legal; beside a scan no lookup."""
        known = self._moves.get((state, order))
        if known is None:
            places = {item: place for place, item in enumerate(order)}
            known = min(
                self._constraints.legal(state),
                key=lambda move: (places[_item(move)], -1 if move.lookup is None else move.lookup),
            )
            self._moves[state, order] = known
        return known

    # ------------------------------------------------------------------------------------------------- the beliefs

    def _pooled(self, move: Move) -> float:
        """Fan-out of a move over all states; 1 where it was never taken."""
        pooled = self._by_move.get(move, Passage())
        return (pooled.produced + 1) / (pooled.taken + 1)

    def _mean_fanout(self, hop: Hop) -> float:
        passage = self._flow.passages.get(hop, Passage())
        return (passage.produced + STRENGTH * self._pooled(hop[1])) / (passage.taken + STRENGTH)

    def _mean_keys(self) -> Callable[[Move, float], float]:
        distinct = {move: _distinct(pooled.taken, pooled.requests) for move, pooled in self._by_move.items()}
        return lambda move, tuples: _asked(distinct.get(move, math.inf), tuples)

    def _draw(self, rng: random.Random) -> _Rates:
        """One set of beliefs drawn from the posterior."""
        fanouts: dict[Hop, float] = {}

        def fanout(hop: Hop) -> float:
            if hop not in fanouts:
                passage = self._flow.passages.get(hop, Passage())
                shape = passage.produced + STRENGTH * self._pooled(hop[1])
                fanouts[hop] = rng.gammavariate(shape, 1 / (passage.taken + STRENGTH))
            return fanouts[hop]

        distinct = {
            move: _distinct(
                pooled.taken, min(float(pooled.taken), rng.gammavariate(pooled.requests + 0.5, 1))
            )
            for move, pooled in self._by_move.items()
        }
        return _Rates(fanout, lambda move, tuples: _asked(distinct.get(move, math.inf), tuples))


def _item(move: Move) -> Item:
    return ("predicate", move.predicate) if move.predicate is not None else ("alias", move.alias)


def _asked(distinct: float, tuples: float) -> float:
    """Distinct keys among `tuples` drawn from so many."""
    if distinct == math.inf:
        return tuples
    return distinct * -math.expm1(tuples * math.log1p(-1 / distinct)) if distinct > 1 else min(1.0, tuples)


def _distinct(tuples: float, asked: float) -> float:
    """How many distinct keys there are if `tuples` asked for `asked` of them; by bisection."""
    if asked >= tuples:
        return math.inf
    low, high = max(asked, 1.0), max(asked, 1.0) * 2
    while _asked(high, tuples) < asked:
        low, high = high, high * 2
        if high > 1e12:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _asked(middle, tuples) < asked else (low, middle)
    return high
