"""The default: optimistic lattice sampling with restart upon change, behind a spend gate.

It grew out of lattice posterior sampling: beliefs per (TupleState, move) (`beliefs`), the lattice of states solved exactly
under one draw from them (`lattice`), a restart where a stream is found to have changed (`changes`). In place of plain
posterior sampling the draw is narrowed and shifted towards good news, and a move has one draw for all states: what is
tried is what might well be best, and what most tuples pass at the end of their way anyway is learnt there for nothing.
docs/policies.md has the measured excess.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal

from fff.dataflow.moves import Move, Offer, Outcome
from fff.dataflow.plan import BlockPlan
from fff.dataflow.state import TupleState, bits
from fff.policies.beliefs import PROBE_S, Beliefs
from fff.policies.lattice import Lattice, Valued, sober, solve
from fff.policies.memory import Past

#: How a user weighs time against requests.
Preference = Literal["fast", "balanced", "cheap"]
#: What a tuple may cost above the least, rather than wait for a busy access method: as a share of the least cost of a
#: tuple that is new.
PATIENCE: dict[Preference, float] = {"fast": math.inf, "balanced": 0.5, "cheap": 0.0}

#: Decisions are made one by one after a start or a change; later after a share of those made, and after so many at most.
WARM_UP, REOPTIMIZE_SHARE, REOPTIMIZE = 200, 0.05, 100
#: Tuples of a batch that go at once, as a share of those whose fate is known.
CAUTION = 0.1
#: And as a share of those that have gone and whose fate is not known yet: before that is, to decide on fewer at a time
#: makes nobody wiser.
SPREAD = 0.5
#: Seconds of service worth a decision of their own: forty times what deciding takes. Fewer tuples than that go together.
THINKING_S = 2e-2
#: Where moves cost about nothing: tuples between two decisions, as a share of those decided.
HASTE = 1.0
#: Fan-outs that differ by less are about the same there.
ABOUT = 0.2
#: Outcomes of such moves, of at least so many tuples each, that are learnt together after as many one by one.
TOGETHER, MANY = 8, 32


class Adaptive:
    """Routes each tuple the way that would be cheapest if a hopeful guess at what is unknown were true."""

    name = "adaptive"

    def __init__(
        self, plan: BlockPlan | None = None, prefer: Preference = "balanced", past: Past | None = None
    ) -> None:
        self.beliefs = Beliefs(by_request=prefer == "cheap", past=past)
        self.restarts = 0
        self._patience = PATIENCE[prefer]
        self._lattice = Lattice(plan)
        self._solved: dict[TupleState, Valued] = {}
        self._probes: dict[TupleState, Move] = {}
        self._decided: dict[TupleState, int] = {}  # tuples, since the last restart
        self._due: dict[TupleState, int] = {}  # solve anew when so many are decided
        self._gathered: dict[tuple[TupleState, Move], tuple[int, int, int, int]] = {}
        self._gone: dict[TupleState, int] = {}  # tuples that were let go, since the last restart
        self._fates: dict[TupleState, float] = {}  # tuples whose outcome is known, since the last restart

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The cheapest move under the belief in force."""
        return self._decide(state, sober(moves), 1, rng).moves[0][1]

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """The cheapest move that has room, unless waiting for a better one is worth it; few tuples while little is known."""
        state, moves = offer.state, sober(offer.moves)
        if len(moves) == 1:
            return moves[0], offer.size
        costs = self.beliefs.costs
        if not any(move.lookup is not None or (costs and move in costs) for move in moves):
            return self._probe(state, moves, offer.size, rng), offer.size
        before = self._solved.get(state)
        least = 1 if before is None else 1 + int(THINKING_S / max(abs(before.value), PROBE_S))
        gone, known = self._gone.get(state, 0), self._fates.get(state, 0.0)
        size = min(max(least, int(known * CAUTION), int((gone - known) * SPREAD)), offer.size)
        valued = self._decide(state, moves, size, rng, least)
        bound = valued.value + self._patience * self._value_of_new(state)
        for value, move in valued.moves:
            if value > bound:
                break
            load = offer.load(move)
            room = offer.size if load.room is None else load.room
            if room > 0:
                # A request costs about the same however few keys it carries: it is filled.
                size = min(max(size, load.batch), offer.size, room)
                self._gone[state] = gone + size
                return move, size
        return None

    def _probe(self, state: TupleState, moves: tuple[Move, ...], size: int, rng: random.Random) -> Move:
        """Where every move costs about nothing, thinking must not cost more: the least fan-out, reconsidered now and then."""
        decided = self._decided.get(state, 0)
        if state not in self._probes or decided >= self._due.get(state, 0):
            draw = self.beliefs.draw(rng)
            fan_outs = [draw(state, move)[1] for move in moves]
            # Of those about as good the first, in every state: tuples that keep together travel in larger batches.
            enough = min(fan_outs) * (1 + ABOUT) + ABOUT / 10
            self._probes[state] = next(
                move for move, fan_out in zip(moves, fan_outs, strict=True) if fan_out <= enough
            )
            self._due[state] = decided + size + int(decided * HASTE)
        self._decided[state] = decided + size
        return self._probes[state]

    def _decide(
        self, state: TupleState, moves: tuple[Move, ...], size: int, rng: random.Random, least: int = 1
    ) -> Valued:
        self._lattice.offer(state, moves)
        decided = self._decided.get(state, 0)
        if state not in self._solved or decided >= self._due.get(state, 0):
            solved = solve(self._lattice, state, moves, self.beliefs.draw(rng))
            self._solved |= solved
            for below in solved:
                so_far = self._decided.get(below, 0)
                pause = 1 if so_far < WARM_UP else min(REOPTIMIZE, int(so_far * REOPTIMIZE_SHARE))
                self._due[below] = so_far + max(pause, least)
        self._decided[state] = decided + size
        return self._solved[state]

    def _value_of_new(self, state: TupleState) -> float:
        """What a tuple costs in all that has only begun: the largest, of the aliases that this one may have come from."""
        begun = [self._solved.get(TupleState(1 << alias)) for alias in bits(state.span)]
        return max(abs(valued.value) for valued in (*begun, self._solved[state]) if valued is not None)

    def observe(self, outcome: Outcome) -> None:
        """Learn; start over where something has changed."""
        gathered = self._gather(outcome)
        if gathered is not None and self.beliefs.observe(gathered):
            self.restarts += 1
            for memory in (self._decided, self._due, self._gone, self._fates):
                memory.clear()
        if outcome.taken:
            self._fates[outcome.state] = self._fates.get(outcome.state, 0.0) + outcome.taken

    def _gather(self, outcome: Outcome) -> Outcome | None:
        """What is to be learnt now: big batches that probed a SteM at no cost are learnt several at a time."""
        move = outcome.move
        free = move.lookup is None and move.predicate is None and not outcome.cost
        if not free or not outcome.informed or outcome.taken < MANY:
            return outcome
        key = outcome.state, move
        count, taken, produced, requests = self._gathered.get(key, (0, 0, 0, 0))
        if count < TOGETHER:  # the first ones
            self._gathered[key] = count + 1, 0, 0, 0
            return outcome
        count, taken, produced = count + 1, taken + outcome.taken, produced + outcome.produced
        requests += outcome.requests
        if count < 2 * TOGETHER:
            self._gathered[key] = count, taken, produced, requests
            return None
        self._gathered[key] = TOGETHER, 0, 0, 0
        return Outcome(outcome.state, move, taken, produced, requests)
