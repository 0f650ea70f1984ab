"""Lottery scheduling (S1 section 4.3): a module earns a ticket per tuple taken and pays one per tuple returned.

Tickets say nothing of costs, which the paper leaves to back-pressure. Where nothing pushes back, tickets are
divided by the measured cost of a tuple (ledger P32): `lottery:costs`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState

#: A module never falls below this, so that exploration survives fan-outs above one (ledger P32).
FLOOR = 1.0


class Lottery:
    """Draws the next destination with probability proportional to tickets; `costs`: to tickets per second of service."""

    name = "lottery"

    def __init__(self, *, costs: bool = False) -> None:
        self.tickets: dict[Move, float] = {}
        self._costs = costs
        self._taken: dict[Move, int] = {}  # tuples whose service was measured
        self._seconds: dict[Move, float] = {}  # that it took

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """The winner among the modules that may take the batch."""
        return rng.choices(moves, [self._weight(move) for move in moves])[0]

    def _weight(self, move: Move) -> float:
        tickets = self.tickets.get(move, FLOOR)
        if not self._costs or not self._seconds:
            return tickets
        known = self._taken.get(move)
        if known:
            return tickets * known / self._seconds[move]
        # Never measured: as dear as those that were, on the whole.
        return tickets * sum(self._taken.values()) / sum(self._seconds.values())

    def observe(self, outcome: Outcome) -> None:
        """Credit what the module took, debit what it returned; an empty SteM proves nothing (P33)."""
        if outcome.informed:
            held = self.tickets.get(outcome.move, FLOOR) + outcome.taken - outcome.produced
            self.tickets[outcome.move] = max(FLOOR, held)
        if self._costs and outcome.cost > 0 and outcome.taken:
            self._taken[outcome.move] = self._taken.get(outcome.move, 0) + outcome.taken
            self._seconds[outcome.move] = self._seconds.get(outcome.move, 0.0) + outcome.cost
