"""Rank ordering per TupleState (S3 section 2.1.4): most tuples removed per unit of cost first.

The rank of a move is (1 - fan-out) / cost. Fan-out is measured per (TupleState, move), so correlation between
joins is seen, and centred on what the move does to tuples of any state. Cost is in seconds, as measured where
somebody measures (the paper instruments its operators): a probe costs `PROBE_S`, a new key asked for
`REQUEST_S` until requests of the move have been timed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState
from fff.structs import Struct, field

PROBE_S = 20e-6  # seconds that a probe of a SteM is taken to cost
REQUEST_S = 1e-3  # and a request that nobody has timed yet
PRIOR = 4.0  # tuples that what a move does in any state counts for in each state, and fan-out 1 in any
TRIAL = 10  # tuples that a probe is tried with before it is believed
EXPLORE = 0.02  # share of decisions that try a random move (ledger R7)
REOPTIMIZE = 100  # tuples of one state routed between two decisions (S3's reoptimisation frequency)


class _FanOut(Struct):
    taken: float = 0.0
    produced: float = 0.0

    def mean(self, centre: float) -> float:
        return (self.produced + PRIOR * centre) / (self.taken + PRIOR)


class _Operator(Struct):
    """What a move does to tuples of any state, and what it costs."""

    fan_out: _FanOut = field(default_factory=_FanOut)
    requests: float = 0.0
    timed: float = 0.0  # tuples whose service was measured
    seconds: float = 0.0  # that it took

    @property
    def cost(self) -> float:
        """Seconds that a tuple costs."""
        if self.timed:
            return PROBE_S + self.seconds / self.timed
        return PROBE_S + REQUEST_S * self.requests / max(self.fan_out.taken, 1.0)


class Rank:
    """Greedy by rank, re-decided every `reoptimize` tuples of a state."""

    name = "rank"

    def __init__(self, reoptimize: int = REOPTIMIZE) -> None:
        self._reoptimize = reoptimize
        self._operators: dict[Move, _Operator] = {}
        self._estimates: dict[tuple[TupleState, Move], _FanOut] = {}
        self._chosen: dict[TupleState, Move] = {}
        self._routed: dict[TupleState, int] = {}

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The move of highest rank; now and then any.

        Lookups beside a scan are left to the constraints' fallbacks.
        """
        scanned = {move.alias for move in moves if move.lookup is None and move.predicate is None}
        sober = [move for move in moves if move.lookup is None or move.alias not in scanned]
        if rng.random() < EXPLORE:
            return rng.choice(sober)
        if state in self._chosen:
            return self._chosen[state]
        best = max(sober, key=lambda move: self._rank(state, move))
        if not self._on_trial(best):
            self._chosen[state] = best
        return best

    def _on_trial(self, move: Move) -> bool:
        """A probe costs little, so it is tried before anything is believed, for a few tuples and not for a whole period."""
        operator = self._operators.get(move)
        return move.lookup is None and (operator is None or operator.fan_out.taken < TRIAL)

    def _rank(self, state: TupleState, move: Move) -> tuple[float, float]:
        operator = self._operators.get(move)
        if self._on_trial(move):
            return math.inf, -(operator.fan_out.taken if operator else 0.0)
        if (
            operator is None
        ):  # of a lookup it is assumed that it removes nothing and asks for every second tuple
            return 0.0, -REQUEST_S / 2
        centre = operator.fan_out.mean(1.0)
        own = self._estimates.get((state, move))
        fan_out = centre if own is None else own.mean(centre)
        return (1 - fan_out) / operator.cost, -operator.cost

    def observe(self, outcome: Outcome) -> None:
        """Count; an empty SteM proves nothing about selectivity (P33)."""
        if not outcome.informed and not outcome.requests:
            return
        operator = self._operators.setdefault(outcome.move, _Operator())
        estimate = self._estimates.setdefault((outcome.state, outcome.move), _FanOut())
        for fan_out in (operator.fan_out, estimate):
            fan_out.taken += outcome.taken
            fan_out.produced += outcome.produced
        operator.requests += outcome.requests
        if outcome.cost > 0:
            operator.timed += outcome.taken
            operator.seconds += outcome.cost
        routed = self._routed.get(outcome.state, 0) + outcome.taken
        if routed >= self._reoptimize:
            self._chosen.pop(outcome.state, None)
            routed = 0
        self._routed[outcome.state] = routed
