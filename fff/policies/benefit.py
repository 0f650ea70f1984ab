"""Benefit over cost (S4 section 4.1, ledger R6): most value for the user per second, as soon as possible.

The benefit of a move is the number of matches it brings, times what they are worth to the user; its cost the
time that the tuple spends there. Both are estimated per (TupleState, move). An access method that stands idle
costs no time that anybody would otherwise use, one with a backlog costs the backlog. So lookups beside a scan
(accelerators) are taken while they have room: they bring matches that the scan has not brought yet, and a
join runs partly by index, partly by hash. Tuples that the user has prioritised are worth `URGENT` times as
much, and may queue for a lookup.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome
from fff.dataflow.plan.state import TupleState
from fff.policies.adaptive.posterior import PROBE_S, REQUEST_S, Beliefs

#: What a prioritised match is worth, in matches like any other.
URGENT = 20.0
#: Share of decisions that try a random move (ledger R7).
EXPLORE = 0.02


class Benefit:
    """Greedy by benefit over cost."""

    name = "benefit"

    def __init__(self) -> None:
        self._beliefs = Beliefs()

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The move of the highest ratio, as if nothing stood before any of them; now and then any."""
        if rng.random() < EXPLORE:
            return rng.choice(moves)
        return max(moves, key=lambda move: self._ratio(state, move, moves, Load(), 1.0))

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """The move of the highest ratio given what stands before each; a lookup gets as many tuples as it has room for."""
        if rng.random() < EXPLORE:
            return rng.choice(offer.moves), 1
        value = URGENT if offer.urgent else 1.0
        loads = {move: offer.load(move) for move in offer.moves}
        best = max(
            offer.moves, key=lambda move: self._ratio(offer.state, move, offer.moves, loads[move], value)
        )
        room = loads[best].room
        return best, offer.size if room is None or offer.urgent else max(1, min(room, offer.size))

    def _ratio(self, state: TupleState, move: Move, moves: Sequence[Move], load: Load, value: float) -> float:
        """Benefit over cost of one tuple."""
        fan_out = self._beliefs.expected(state, move)
        cost = PROBE_S
        if move.lookup is None:
            return fan_out * value / cost
        backlog = load.backlog / load.window if load.window else 0.0
        cost += self._beliefs.price(move, REQUEST_S) * backlog
        probe = Move(move.alias)
        if (
            probe in moves
        ):  # what the probe alone finds it finds as well; of the rest, one match per tuple may come early
            fan_out = self._beliefs.expected(state, probe)
            early = max(0.0, 1.0 - fan_out)
            return (fan_out + early * value) / cost
        return fan_out * value / cost

    def observe(self, outcome: Outcome) -> None:
        """Count."""
        self._beliefs.observe(outcome)
