"""What the eddy expects of a routing policy: choose among legal moves, learn from outcomes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from fff.dataflow.moves import Move, Outcome
from fff.dataflow.state import TupleState


class RoutingPolicy(Protocol):
    """A policy can be slow; it cannot be wrong."""

    name: str

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """One of `moves` (at least two), for a batch of tuples of `state`."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from what came of a move."""
