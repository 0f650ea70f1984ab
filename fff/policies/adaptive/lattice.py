"""The states that tuples may still come to, and the cheapest way through them.

From a state S each move M leads to one state S+M, so the states below S form a lattice, and the least
expected cost of finishing a tuple is V(S) = min over M of c(S, M) + f(S, M) V(S+M), where f is the fan-out.
For predicates that commute this is exact whatever their correlation, as S says which of them have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fff.dataflow.plan.moves import Move, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.structs import Struct

#: States that are looked through; where a lattice has more, decisions are greedy by rank.
MAX_STATES = 256

#: What a move is believed to do to one tuple: cost and fan-out.
Belief = Callable[[TupleState, Move], tuple[float, float]]
#: The same with what it takes of each resource, by the resource's place in a bill.
Billing = Callable[[TupleState, Move], tuple[Sequence[tuple[int, float]], float]]

#: A state and those reachable from it, furthest-travelled first, with their moves and where these lead.
Below = tuple[tuple[TupleState, tuple[tuple[Move, TupleState], ...]], ...]


def sober(moves: Sequence[Move]) -> tuple[Move, ...]:
    """Without lookups beside a scan: accelerators, never needed for the answer, which cost requests."""
    looked_up = [move.alias for move in moves if move.lookup is not None]
    scanned = [move.alias for move in moves if move.lookup is None and move.predicate is None]
    if not looked_up or not scanned:
        return tuple(moves)
    return tuple(move for move in moves if move.lookup is None or move.alias not in scanned)


class Valued(Struct, frozen=True):
    """A state with the expected cost of each move from it to the end, cheapest first."""

    moves: tuple[tuple[float, Move], ...]
    bill: Callable[[Move], tuple[float, ...]] | None = None  # of each, where resources are told apart

    @property
    def value(self) -> float:
        """The least expected cost of finishing a tuple."""
        return self.moves[0][0]


class Lattice:
    """Moves by state, filled on first use: what was offered, else what the plan allows, else what has not been taken."""

    def __init__(self, plan: BlockPlan | None) -> None:
        self._constraints = None if plan is None else Constraints.of(plan)
        self._moves: dict[TupleState, tuple[Move, ...]] = {}
        self._offered: set[TupleState] = set()
        self._below: dict[TupleState, Below] = {}

    def offer(self, state: TupleState, moves: tuple[Move, ...]) -> None:
        """These moves are open to tuples of a state."""
        if state in self._offered and self._moves[state] == moves:
            return
        if self._constraints is not None and set(self._planned(state)) != set(moves):
            self._constraints = None  # the plan does not describe where these tuples travel
            self._forget()
        if self._moves.get(state) != moves:
            self._forget()
        self._offered.add(state)
        self._moves[state] = moves

    def _forget(self) -> None:
        self._moves = {state: moves for state, moves in self._moves.items() if state in self._offered}
        self._below.clear()

    def _planned(self, state: TupleState) -> tuple[Move, ...]:
        constraints = self._constraints
        assert constraints is not None
        if state.span & ~constraints.everything or state.done & ~constraints.all_done:
            return ()
        return sober(constraints.legal(state))

    def below(self, state: TupleState) -> Below:
        """The state and those that can be reached from it, with their moves, furthest-travelled first.

        Nothing, if there are more than `MAX_STATES`.
        """
        known = self._below.get(state)
        if known is None:
            known = self._below[state] = self._explore(state)
        return known

    def _explore(self, state: TupleState) -> Below:
        if self._too_wide(state):
            return ()
        transitions: dict[TupleState, tuple[tuple[Move, TupleState], ...]] = {}
        todo = [state]
        while todo:
            here = todo.pop()
            if here in transitions:
                continue
            if len(transitions) >= MAX_STATES:
                return ()
            steps = tuple((move, after(here, move)) for move in self._moves[here])
            transitions[here] = steps
            for move, there in steps:
                if there not in self._moves:
                    self._moves[there] = (
                        self._planned(there)
                        if self._constraints is not None
                        else _left(self._moves[here], move)
                    )
                todo.append(there)
        return tuple(sorted(transitions.items(), key=lambda item: -item[0].weight))

    def _too_wide(self, state: TupleState) -> bool:
        """Whether moves that do not hinder one another lead to more states than are looked through.

        What is open stays open until it is taken, so that every set of such moves leads to a state of its
        own; only Cartesian products wait again for what they bring to be joined.
        """
        free = {
            (move.alias, move.predicate)
            for move in self._moves[state]
            if move.predicate is not None
            or self._constraints is None
            or self._constraints.near(state.span, move.alias)
        }
        return 1 << len(free) > MAX_STATES


def _left(moves: tuple[Move, ...], taken: Move) -> tuple[Move, ...]:
    """What remains of some moves when one of them has been taken."""
    return tuple(
        move
        for move in moves
        if (move.predicate != taken.predicate if taken.predicate is not None else move.alias != taken.alias)
    )


def solve(
    lattice: Lattice, state: TupleState, moves: Sequence[Move], belief: Belief
) -> dict[TupleState, Valued]:
    """The cost of each move from a state and from every state below it, under one belief."""
    below = lattice.below(state)
    if not below:
        return {state: _by_rank(state, moves, belief)}
    solved: dict[TupleState, Valued] = {}
    values: dict[TupleState, float] = {}
    for here, steps in below:
        if not steps:
            values[here] = 0.0
            continue
        options = []
        for move, there in steps:
            cost, fan_out = belief(here, move)
            options.append((cost + fan_out * values[there], move))
        if len(options) > 1:
            options.sort(key=_first)
        valued = solved[here] = Valued(tuple(options))
        values[here] = valued.value
    return solved


class Bills:
    """What finishing a tuple takes of each resource, by whichever moves are cheapest at their prices.

    Args:
        below: a state and those that can be reached from it, as `Lattice.below` has them.
        billing: what each move takes; asked once, before prices are.
    """

    def __init__(self, below: Below, billing: Billing) -> None:
        places = {here: place for place, (here, _) in enumerate(below)}
        self._states = [here for here, _ in below]
        self._steps = [
            [_Turn(move, places[there], *billing(here, move)) for move, there in steps]
            for here, steps in below
        ]
        self._ways: list[_Turn | None] = []
        self._cheapest: tuple[float, ...] = ()

    def solve(self, prices: Sequence[float]) -> dict[TupleState, Valued]:
        """The cost of each move from every state, and its bill."""
        values, ways = self._walk(prices)
        solved: dict[TupleState, Valued] = {}
        for here, steps in zip(self._states, self._steps, strict=True):
            if steps:
                options = [(step.cost(prices, values), step.move) for step in steps]
                options.sort(key=_first)
                solved[here] = Valued(tuple(options), partial(_bill_of, steps, ways, len(prices)))
        return solved

    def cheapest(self, prices: Sequence[float]) -> tuple[float, ...]:
        """The bill of the cheapest way from the first state alone."""
        ways = self._walk(prices)[1]
        if ways != self._ways:  # as a rule they are those of the prices before
            self._ways, self._cheapest = ways, _bill(ways[-1], ways, len(prices))
        return self._cheapest

    def _walk(self, prices: Sequence[float]) -> tuple[list[float], list[_Turn | None]]:
        """What a tuple costs from each state on, and its cheapest step; all that a state leads to comes before it."""
        values: list[float] = []
        ways: list[_Turn | None] = []
        for steps in self._steps:
            least, way = 0.0, None
            for step in steps:
                cost = step.fan_out * values[step.there]
                for (
                    place,
                    amount,
                ) in step.taken:  # `_Turn.cost`, without a call: this is walked some dozen times a decision
                    cost += prices[place] * amount
                if way is None or cost < least:
                    least, way = cost, step
            values.append(least)
            ways.append(way)
        return values, ways


class _Turn(Struct, frozen=True):
    """A move from one state to the state at the place `there`, and what it takes of a tuple."""

    move: Move
    there: int
    taken: Sequence[tuple[int, float]]
    fan_out: float

    def cost(self, prices: Sequence[float], values: Sequence[float]) -> float:
        cost = self.fan_out * values[self.there]
        for place, amount in self.taken:
            cost += prices[place] * amount
        return cost


def _bill(step: _Turn | None, ways: Sequence[_Turn | None], width: int) -> tuple[float, ...]:
    """What a step and the cheapest ones after it take."""
    bill, share = [0.0] * width, 1.0
    while step is not None:
        for place, amount in step.taken:
            bill[place] += share * amount
        share *= step.fan_out
        step = ways[step.there]
    return tuple(bill)


def _bill_of(
    steps: Sequence[_Turn], ways: Sequence[_Turn | None], width: int, move: Move
) -> tuple[float, ...]:
    return _bill(next(step for step in steps if step.move == move), ways, width)


def _by_rank(state: TupleState, moves: Sequence[Move], belief: Belief) -> Valued:
    """Without looking ahead: most tuples removed per cost first.

    The figures are ranks, turned so that less is better.
    """
    options = []
    for move in moves:
        cost, fan_out = belief(state, move)
        options.append(((fan_out - 1) / max(cost, 1e-12), move))
    options.sort(key=_first)
    return Valued(tuple(options))


def _first(option: tuple[float, *tuple[object, ...]]) -> float:
    return option[0]
