"""The naive eddy (S1 section 4.2): any legal move, each as likely."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState


class Naive:
    """Order emerges, if at all, from back-pressure and from routing returned tuples first."""

    name = "naive"

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """A uniformly random move."""
        return rng.choice(moves)

    def observe(self, outcome: Outcome) -> None:
        """Learns nothing."""
