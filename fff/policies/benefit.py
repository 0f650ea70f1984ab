"""Benefit over cost (S4 section 4.1, ledger R6): most value for the user per second, as soon as possible.

The benefit of a move is the number of matches it brings, times what they are worth to the user: the share of
the result's columns that they know, as partial results (`Worth`). Its cost is the time that the tuple spends
there. All are estimated per (TupleState, move). An access method that stands idle costs no time that anybody
would otherwise use, one with a backlog costs the backlog, and for one that is full a tuple waits where it may
still go elsewhere. So lookups beside a scan (accelerators) are taken while they have room: they bring matches
that the scan has not brought yet, and a join runs partly by index, partly by hash. Tuples that the user has
prioritised are worth `URGENT` times as much, and may queue for a lookup.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.policies.adaptive.posterior import PROBE_S, REQUEST_S, Beliefs

#: What a prioritised match is worth, in matches like any other.
URGENT = 20.0
#: Share of decisions that try a random move (ledger R7).
EXPLORE = 0.02
#: What the columns of a tuple count for that lacks a key of the result: for what it may become.
HIDDEN = 0.5


class Worth:
    """What tuples are worth as partial results, by span (S4, footnote 5)."""

    def __init__(self, plan: BlockPlan) -> None:
        self._constraints = Constraints.of(plan)
        self._output = plan.output
        self._keys = [
            column
            for column in plan.output
            if column.index in plan.tables[plan.aliases[column.alias].table].key
        ]
        self._known: dict[int, float] = {}

    def __call__(self, span: int) -> float:
        """The share of the result's columns that a tuple of the span knows, less if it lacks a key of the result."""
        worth = self._known.get(span)
        if worth is None:
            known = self._constraints.known
            columns = sum(known(span, column) is not None for column in self._output)
            shown = all(known(span, column) is not None for column in self._keys)
            # One more for the row itself: it counts where nothing of it is read.
            worth = (1 + columns) / (1 + len(self._output)) * (1.0 if shown else HIDDEN)
            self._known[span] = worth
        return worth


class Benefit:
    """Greedy by benefit over cost."""

    name = "benefit"

    def __init__(self, plan: BlockPlan | None = None) -> None:
        self._beliefs = Beliefs()
        self._worth = None if plan is None else Worth(plan)

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The move of the highest ratio, as if nothing stood before any of them; now and then any."""
        if rng.random() < EXPLORE:
            return rng.choice(moves)
        return max(moves, key=lambda move: self._ratio(state, move, moves, Load(), 1.0))

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """The move of the highest ratio of those that have room; a lookup gets as many tuples as it has room for."""
        loads = {move: offer.load(move) for move in offer.moves}
        free = [move for move in offer.moves if offer.urgent or loads[move].room != 0]
        if not free:
            return None
        if rng.random() < EXPLORE:
            return rng.choice(free), 1
        value = URGENT if offer.urgent else 1.0
        best = max(free, key=lambda move: self._ratio(offer.state, move, offer.moves, loads[move], value))
        room = loads[best].room
        return best, offer.size if room is None or offer.urgent else max(1, min(room, offer.size))

    def _ratio(self, state: TupleState, move: Move, moves: Sequence[Move], load: Load, value: float) -> float:
        """Benefit over cost of one tuple."""
        value *= 1.0 if self._worth is None else self._worth(after(state, move).span)
        if move.lookup is None:
            return self._beliefs.expected(state, move) * value / PROBE_S
        backlog = load.backlog / load.window if load.window else 0.0
        cost = PROBE_S + self._beliefs.price(move, REQUEST_S) * backlog
        probe = Move(move.alias)
        if (
            probe in moves
        ):  # what the probe alone finds it finds as well, and one match per tuple may come early
            return max(1.0, self._beliefs.expected(state, probe)) * value / cost
        return self._beliefs.expected(state, move) * value / cost

    def observe(self, outcome: Outcome) -> None:
        """Count."""
        self._beliefs.observe(outcome)
