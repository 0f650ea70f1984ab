"""The states that tuples may still come to, and the cheapest way through them.

From a state S each move M leads to one state S+M, so the states below S form a lattice, and the least
expected cost of finishing a tuple is V(S) = min over M of c(S, M) + f(S, M) V(S+M), where f is the fan-out.
For predicates that commute this is exact whatever their correlation, as S says which of them have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fff.dataflow.plan.moves import Move, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.structs import Struct

#: States that are looked through; where a lattice has more, decisions are greedy by rank.
MAX_STATES = 256

#: What a move is believed to do to one tuple: cost and fan-out.
Belief = Callable[[TupleState, Move], tuple[float, float]]
#: What it takes of each resource, by the resource's place in a bill.
_Taken = Sequence[tuple[int, float]]
#: The same with that in place of the cost.
Billing = Callable[[TupleState, Move], tuple[_Taken, float]]
#: The fan-out of a move, the place of the state that it leads to, and of what it takes.
_Turn = tuple[float, int, int]

#: A state and those reachable from it, furthest-travelled first, with their moves and the places of those
#: that they lead to.
Below = tuple[tuple[TupleState, tuple[tuple[Move, int], ...]], ...]


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
        states = sorted(transitions, key=lambda state: -state.weight)
        places = {here: place for place, here in enumerate(states)}
        return tuple(
            (here, tuple((move, places[there]) for move, there in transitions[here])) for here in states
        )

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
    values: list[float] = []
    for here, steps in below:
        if not steps:
            values.append(0.0)
            continue
        options = []
        for move, there in steps:
            cost, fan_out = belief(here, move)
            options.append((cost + fan_out * values[there], move))
        if len(options) > 1:
            options.sort(key=_first)
        valued = solved[here] = Valued(tuple(options))
        values.append(valued.value)
    return solved


class Bills:
    """What finishing a tuple takes of each resource, by whichever moves are cheapest at their prices.

    Args:
        below: a state and those that can be reached from it, as `Lattice.below` has them.
        billing: what each move takes; asked once, before prices are. Moves that take the same are priced once
            where it says so by the same object.
    """

    def __init__(self, below: Below, billing: Billing) -> None:
        self._below = below
        self.places = {here: place for place, (here, steps) in enumerate(below) if steps}
        self._taken: list[_Taken] = []
        known: dict[int, int] = {}  # places of these, by identity
        self._steps: list[list[_Turn]] = []
        for here, steps in below:
            turns: list[_Turn] = []
            for move, there in steps:
                taken, fan_out = billing(here, move)
                if id(taken) not in known:
                    known[id(taken)] = len(self._taken)
                    self._taken.append(taken)
                turns.append((fan_out, there, known[id(taken)]))
            self._steps.append(turns)
        self._ways: list[_Turn | None] = []
        self._cheapest: tuple[float, ...] = ()

    def solve(self, prices: Sequence[float]) -> Mapping[TupleState, Valued]:
        """The cost of each move from every state, and its bill."""
        return _Solved(self, prices)

    def valued(
        self, place: int, prices: Sequence[float], values: Sequence[float], ways: Sequence[_Turn | None]
    ) -> Valued:
        """The state at a place, at the prices that the others were valued by."""
        costs, turns = self._costs(prices), {}
        options = []
        for (move, _), turn in zip(self._below[place][1], self._steps[place], strict=True):
            fan_out, there, taken = turns[move] = turn
            options.append((fan_out * values[there] + costs[taken], move))
        options.sort(key=_first)
        return Valued(tuple(options), lambda move: self._bill(turns[move], ways, len(prices)))

    def cheapest(self, prices: Sequence[float]) -> tuple[float, ...]:
        """The bill of the cheapest way from the first state alone."""
        ways = self.walk(prices)[1]
        if ways != self._ways:  # as a rule they are those of the prices before
            self._ways, self._cheapest = ways, self._bill(ways[-1], ways, len(prices))
        return self._cheapest

    def _costs(self, prices: Sequence[float]) -> list[float]:
        costs = []
        for taken in self._taken:
            cost = 0.0
            for place, amount in taken:
                cost += prices[place] * amount
            costs.append(cost)
        return costs

    def walk(self, prices: Sequence[float]) -> tuple[list[float], list[_Turn | None]]:
        """What a tuple costs from each state on, and its cheapest step; all that a state leads to comes before it."""
        costs = self._costs(prices)
        values: list[float] = []
        ways: list[_Turn | None] = []
        for turns in self._steps:
            least, way = 0.0, None
            for turn in turns:  # this is walked some dozen times a decision
                fan_out, there, taken = turn
                cost = fan_out * values[there] + costs[taken]
                if way is None or cost < least:
                    least, way = cost, turn
            values.append(least)
            ways.append(way)
        return values, ways

    def _bill(self, turn: _Turn | None, ways: Sequence[_Turn | None], width: int) -> tuple[float, ...]:
        """What a step and the cheapest ones after it take."""
        bill, share = [0.0] * width, 1.0
        while turn is not None:
            fan_out, there, taken = turn
            for place, amount in self._taken[taken]:
                bill[place] += share * amount
            share *= fan_out
            turn = ways[there]
        return tuple(bill)


class _Solved(Mapping[TupleState, Valued]):
    """States valued at some prices: the moves of one are told apart when it is asked for, as few ever are."""

    def __init__(self, bills: Bills, prices: Sequence[float]) -> None:
        self._bills, self._prices = bills, prices
        self._values, self._ways = bills.walk(prices)
        self._places = bills.places
        self._valued: dict[TupleState, Valued] = {}

    def __getitem__(self, state: TupleState) -> Valued:
        valued = self._valued.get(state)
        if valued is None:
            valued = self._bills.valued(self._places[state], self._prices, self._values, self._ways)
            self._valued[state] = valued
        return valued

    def __iter__(self) -> Iterator[TupleState]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


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
