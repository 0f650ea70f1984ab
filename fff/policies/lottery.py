"""Lottery scheduling (S1 section 4.3): a module earns a ticket per tuple taken and pays one per tuple returned."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.moves import Move, Outcome
from fff.dataflow.state import TupleState

#: A module never falls below this, so that exploration survives fan-outs above one (ledger P32).
FLOOR = 1.0


class Lottery:
    """Draws the next destination with probability proportional to tickets."""

    name = "lottery"

    def __init__(self) -> None:
        self.tickets: dict[Move, float] = {}

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """The winner among the modules that may take the batch."""
        return rng.choices(moves, [self.tickets.get(move, FLOOR) for move in moves])[0]

    def observe(self, outcome: Outcome) -> None:
        """Credit what the module took, debit what it returned; an empty SteM proves nothing (P33)."""
        if outcome.informed:
            held = self.tickets.get(outcome.move, FLOOR) + outcome.taken - outcome.produced
            self.tickets[outcome.move] = max(FLOOR, held)
