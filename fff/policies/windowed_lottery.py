"""Windowed lottery (S1 section 4.5): modules prove themselves anew in each window, so that old merits are forgotten."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState
from fff.policies.lottery import FLOOR

#: Tuples taken, by all modules together, that make a window.
WINDOW = 1000


class WindowedLottery:
    """Draws with the tickets banked in the last window; those of this one are held in escrow until it ends.

    Args:
        window: tuples taken that make a window. The paper gives no length; it has to be short beside the
            changes that it is to follow, and long beside the noise.
    """

    name = "windowed-lottery"

    def __init__(self, window: int = WINDOW) -> None:
        assert window > 0
        self.banked: dict[Move, float] = {}
        self.escrow: dict[Move, float] = {}
        self._window = window
        self._taken = 0

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """The winner among the modules that may take the batch; in the first window, evenly (P32)."""
        return rng.choices(moves, [max(FLOOR, self.banked.get(move, FLOOR)) for move in moves])[0]

    def observe(self, outcome: Outcome) -> None:
        """Credit what the module took, debit what it returned; an empty SteM proves nothing (P33)."""
        if not outcome.informed:
            return
        held = self.escrow.get(outcome.move, 0.0) + outcome.taken - outcome.produced
        self.escrow[outcome.move] = held
        self._taken += outcome.taken
        if self._taken >= self._window:
            self.banked, self.escrow, self._taken = self.escrow, {}, 0
