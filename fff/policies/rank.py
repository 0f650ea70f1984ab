"""Rank ordering per TupleState (S3 section 2.1.4): most tuples removed per unit of cost first.

The rank of a move is (1 - fan-out) / cost. Fan-out is measured per (TupleState, move), so correlation between joins is
seen. Cost counts work, not seconds, so that a seed replays a run: a probe costs 1, a new key asked for `REQUEST_COST`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fff.dataflow.moves import Move, Outcome
from fff.dataflow.state import TupleState

REQUEST_COST = 50.0  # probes that one request is worth
PRIOR = 4.0  # tuples of fan-out 1 that every estimate starts with
EXPLORE = 0.02  # share of decisions that try a random move (ledger R7)
REOPTIMIZE = 100  # tuples of one state routed between two decisions (S3's reoptimisation frequency)


@dataclass
class _Estimate:
    taken: float = PRIOR
    produced: float = PRIOR
    requests: float = 0.0

    @property
    def rank(self) -> tuple[float, float]:
        cost = 1 + REQUEST_COST * self.requests / self.taken
        return (1 - self.produced / self.taken) / cost, -cost


class Rank:
    """Greedy by rank, re-decided every `reoptimize` tuples of a state."""

    name = "rank"

    def __init__(self, reoptimize: int = REOPTIMIZE) -> None:
        self._reoptimize = reoptimize
        self._estimates: dict[tuple[TupleState, Move], _Estimate] = {}
        self._chosen: dict[TupleState, Move] = {}
        self._routed: dict[TupleState, int] = {}

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The move of highest rank; now and then any. Lookups beside a scan are left to the constraints' fallbacks."""
        scanned = {move.alias for move in moves if move.lookup is None and move.predicate is None}
        sober = [move for move in moves if move.lookup is None or move.alias not in scanned]
        if rng.random() < EXPLORE:
            return rng.choice(sober)
        if state not in self._chosen:
            self._chosen[state] = max(sober, key=lambda move: self._rank(state, move))
        return self._chosen[state]

    def _rank(self, state: TupleState, move: Move) -> tuple[float, float]:
        estimate = self._estimates.get((state, move))
        if estimate is not None:
            return estimate.rank
        # Never tried. A probe costs little, so it is tried before anything is believed; of a lookup it is assumed that
        # it removes nothing and asks for every second tuple.
        return (2.0, -1.0) if move.lookup is None else (0.0, -REQUEST_COST / 2)

    def observe(self, outcome: Outcome) -> None:
        """Count; an empty SteM proves nothing about selectivity (P33)."""
        if not outcome.informed and not outcome.requests:
            return
        estimate = self._estimates.setdefault((outcome.state, outcome.move), _Estimate())
        estimate.taken += outcome.taken
        estimate.produced += outcome.produced
        estimate.requests += outcome.requests
        routed = self._routed.get(outcome.state, 0) + outcome.taken
        if routed >= self._reoptimize:
            self._chosen.pop(outcome.state, None)
            routed = 0
        self._routed[outcome.state] = routed
