"""What the eddy expects of a routing policy: choose among legal moves, learn from outcomes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from fff.dataflow.plan.moves import Move, Offer, Outcome, ScanRace
from fff.dataflow.plan.state import TupleState


class RoutingPolicy(Protocol):
    """A policy can be slow; it cannot be wrong."""

    name: str

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """One of `moves` (at least two), for a batch of tuples of `state`."""

    def observe(self, outcome: Outcome) -> None:
        """Learn from what came of a move."""


@runtime_checkable
class PullingPolicy(RoutingPolicy, Protocol):
    """A policy that also says how many tuples of a batch go, knowing what stands before each move."""

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """One of the offer's moves and how many of its tuples take it, at least 1; the others are offered again.

        None: all of them wait until some lookup has ended. The router asks `choose` instead where none is under way.
        """


@runtime_checkable
class RacingPolicy(Protocol):
    """A policy that says which of several scans of a table read on; without one the next begins where one fails or stalls."""

    def race(self, race: ScanRace) -> Mapping[int, int]:
        """By scan how many pages it may be ahead, `race.most` at most; those left out pause. Somebody always reads on."""
