"""What is believed of every move: counts per (TupleState, move) and per move, kept up to date and drawn from.

The currency is seconds of service. A lookup costs what its answers have taken, per tuple that had to wait for
one; where nobody measures, `REQUEST_S` per new key. What is not measured at all (probes, predicates) costs
`PROBE_S` a tuple.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState
from fff.policies.adaptive.change_points import CountChange, LevelChange, Since
from fff.policies.adaptive.distributions import MATCHES, PASS, Cost, Lumps, Share, posterior
from fff.policies.adaptive.prior import Lesson, Level, Past, Sums, Trial
from fff.structs import Struct, field

PROBE_S = 2e-5
REQUEST_S = 1e-3
#: Observations that what did not change keeps when something else did: it may have, unseen.
KEPT = 2.0
#: Where nothing costs anything: tuples that those before the last ones count for, or as many as these.
LATELY = 1000
#: Posterior deviations that a draw varies by, and those by which it is better than the mean.
TEMPER, OPTIMISM = 0.5, 0.5
#: Those by which a guess without dice is better: with more of them tuples that cost the same go many ways.
HOPE = 0.25
#: Logarithm of how far a method's answers must take from what those of its limiter usually take to cost
#: otherwise.
APART = math.log(2.0)
#: And how far what a server takes may move for its answers to be those of before.
WANDERS = math.log(4.0)
#: A new key for every second tuple, until more is known.
_FRESH = 0.5


class _Counts(Struct):
    """What came of tuples that took one move."""

    fan_out: Share = field(default_factory=Share)
    waited: Share = field(default_factory=Share)  # tuples whose answer took time
    asked: Share = field(default_factory=Share)  # new keys that had to be asked for

    def shrink(self) -> None:
        for share in (self.fan_out, self.waited, self.asked):
            share.shrink(KEPT)

    def recall(self, lesson: Lesson) -> None:
        """Begin with what the past says."""
        self.fan_out.add(*lesson.fan_out)
        self.waited.add(*lesson.waited)
        self.asked.add(*lesson.asked)

    def disown(self, lesson: Lesson) -> None:
        """Take that back: what is left was counted here, in whole tuples."""
        for share, counted in (
            (self.fan_out, lesson.fan_out),
            (self.waited, lesson.waited),
            (self.asked, lesson.asked),
        ):
            share.taken = float(round(share.taken - counted[0]))
            share.produced = float(round(share.produced - counted[1]))

    def lesson(self) -> Lesson:
        """For the next run."""
        return Lesson(_sums(self.fan_out), _sums(self.waited), _sums(self.asked))


class _Everywhere(_Counts):
    """What came of tuples of any state that took one move."""

    lumps: Lumps = field(default_factory=Lumps)


class _Here(_Counts):
    """What came of tuples of one state that took one move, and what tells that this has changed."""

    change: CountChange | None = None  # from the first outcome on
    everywhere: _Everywhere | None = None  # likewise


def _follow(share: Share, taken: int, produced: int) -> None:
    """Count, and forget what is long ago: SteMs fill. Nothing is at stake, so that a test for changes would be dear."""
    if taken:
        share.shrink(max(LATELY, taken))
    share.add(taken, produced)


def _sums(share: Share) -> Sums:
    return share.taken, share.produced


class Beliefs:
    """Statistics of moves, in each state and in all.

    `by_request`: a lookup costs its requests, whatever time they take. `past`: what earlier runs taught, if
    any did. `limiter`: what holds a lookup back; methods that share it cost alike, unless their answers show
    otherwise. `shared`: how many tuples of a state have a key in common.
    """

    def __init__(
        self,
        *,
        by_request: bool = False,
        past: Past | None = None,
        limiter: Callable[[Move], Hashable] | None = None,
        shared: Callable[[TupleState, Move], float] | None = None,
    ) -> None:
        self.by_request = by_request
        self.limiter = limiter or (lambda move: move)
        self.shared = shared or (lambda _state, _move: 1.0)
        self.costs: dict[Move, Cost] = {}
        self._cost_changes: dict[Move, LevelChange] = defaultdict(LevelChange)
        self._here: dict[tuple[TupleState, Move], _Here] = defaultdict(_Here)
        self.anywhere: dict[Move, _Everywhere] = defaultdict(_Everywhere)
        self._trial: Trial | None = None
        self._at_stake = past is not None  # whether anything is known to cost more than a probe
        if past:
            self._recall(past.discounted())

    def _recall(self, past: Past) -> None:
        self._trial = Trial(past)
        for key, lesson in past.here.items():
            self._here[key].recall(lesson)
        for move, lesson in past.anywhere.items():
            self.anywhere[move].recall(lesson)
        for move, level in past.costs.items():
            self.costs[move] = Cost(level.count, level.total, level.square)

    def lessons(self) -> Past:
        """What there is to tell the next run."""
        return Past(
            {key: counts.lesson() for key, counts in self._here.items()},
            {move: counts.lesson() for move, counts in self.anywhere.items()},
            {move: Level(cost.count, cost.total, cost.square) for move, cost in self.costs.items()},
        )

    def observe(self, outcome: Outcome) -> bool:
        """Count; an empty SteM proves nothing about selectivity (P33).

        True if what was believed has to be learnt anew.
        """
        move, taken, cost = outcome.move, outcome.taken, outcome.cost
        key = outcome.state, move
        here = self._here[key]
        everywhere = here.everywhere
        if everywhere is None:
            everywhere = here.everywhere = self.anywhere[move]
        if not self._at_stake:
            if not cost and move.lookup is None:
                if outcome.informed:
                    _follow(here.fan_out, taken, outcome.produced)
                    _follow(everywhere.fan_out, taken, outcome.produced)
                return False
            self._at_stake = True
        changed = False
        if (taken and (cost > 0 or move.lookup is not None)) or outcome.requests:
            keys = max(1.0, taken / self.shared(*key)) if taken else 0.0  # an answer is to one key at least
            if move.lookup is not None:
                waited = keys if cost > 0 else 0
                here.waited.add(taken, waited)
                here.asked.add(taken, outcome.requests)
                everywhere.waited.add(keys, waited)
                everywhere.asked.add(keys, outcome.requests)
            if cost > 0 and taken:
                changed = self._learn_cost(move, math.log(cost / keys))
        if outcome.informed and (taken or outcome.produced):
            produced, change = outcome.produced, here.change
            for share in (here.fan_out, everywhere.fan_out):
                share.taken += taken
                share.produced += produced
            if taken and move.predicate is None:
                everywhere.lumps.add(taken, produced)
            if change is None:
                change = here.change = CountChange(filters=move.predicate is not None)
            since = change.add(taken, produced)
            if since is not None:
                changed = True
                self._begin_anew(key, since)
        if changed:
            self._trial = None  # what the past said is doubted with all the rest
            self._doubt(move)
        elif self._trial is not None and self._discredited(self._trial, outcome):
            self._disown(self._trial)
            return True
        # Fan-outs of scanned tables change as their SteMs fill; what little is at stake is learnt on the way.
        return changed and (move.predicate is not None or move.lookup is not None)

    def _learn_cost(self, move: Move, log_cost: float) -> bool:
        cost = self.costs.get(move)
        if cost is None:
            cost = self.costs[move] = Cost()
        cost.add(log_cost)
        since = self._cost_changes[move].add(log_cost)
        if since is None:
            return False
        self.costs[move] = Cost(since.weight, since.total, since.square)
        # What a server takes wanders with all that it serves, and says nothing of what it answers.
        return move.lookup is None or abs(since.total / since.weight - cost.total / cost.count) > WANDERS

    def _begin_anew(self, key: tuple[TupleState, Move], since: Since) -> None:
        """The fan-out of a move has changed: only what came since then in this state counts."""
        for (_, move), counts in self._here.items():
            if move == key[1]:
                counts.fan_out = Share()
        self._here[key].fan_out.add(since.weight, since.total)
        everywhere = self.anywhere[key[1]]
        everywhere.fan_out, everywhere.lumps = Share(), Lumps()

    def _discredited(self, trial: Trial, outcome: Outcome) -> bool:
        """Whether an outcome is one too many for what the past says."""
        state, move, taken = outcome.state, outcome.move, outcome.taken
        if outcome.cost > 0 and taken:
            matters = move.lookup is None or not self.by_request
            if trial.discredited_by_cost(move, math.log(outcome.cost / taken), matters=matters):
                return True
        return outcome.informed and trial.discredited_by_count(state, move, taken, outcome.produced)

    def _disown(self, trial: Trial) -> None:
        """The past was of another world: only what was seen in this run counts."""
        self._trial = None
        for key, lesson in trial.past.here.items():
            self._here[key].disown(lesson)
        for move, lesson in trial.past.anywhere.items():
            self.anywhere[move].disown(lesson)
        self.costs = trial.costs

    def _doubt(self, changed: Move) -> None:
        """One move has changed: the others may have."""
        for (_, move), counts in self._here.items():
            if move != changed:
                counts.shrink()
        for move, everywhere in self.anywhere.items():
            if move != changed:
                everywhere.shrink()
        for move, cost in self.costs.items():
            if move != changed:
                cost.shrink(KEPT)

    def expected(self, state: TupleState, move: Move) -> float:
        """The fan-out, without any luck."""
        return self._fan_out(state, move)[0]

    def hoped(self, state: TupleState, move: Move) -> float:
        """The fan-out on the hopeful side, without dice: the less is known of it, the better it may be."""
        mean, deviation = self._fan_out(state, move)
        return max(0.0, mean - HOPE * deviation)

    def _fan_out(self, state: TupleState, move: Move) -> tuple[float, float]:
        filters = move.predicate is not None
        guess = PASS if filters else MATCHES
        known, here = self.anywhere.get(move), self._here.get((state, move))
        centre = guess if known is None else known.fan_out.mean(guess)
        return posterior(None if here is None else here.fan_out, centre, filters)

    def price(self, move: Move, unknown: float) -> float:
        """Seconds of one tuple's answer, without any luck; `unknown` where nobody measures."""
        if not self.measured(move):
            return unknown
        return math.exp(self.cost(move).posterior(self.centre(move))[0])

    def cost(self, move: Move) -> Cost:
        """What is known of the seconds that a move costs a tuple: what all moves of its limiter do, unless it stands apart."""
        own = self.costs.get(move) or Cost()
        if move.lookup is None:
            return own
        limiter, together = self.limiter(move), Cost()
        for other, cost in self.costs.items():
            if other.lookup is not None and self.limiter(other) == limiter:
                together.add_all(cost)
        if own.count and abs(own.total / own.count - together.total / together.count) > APART:
            return own
        return together

    def draw(self, rng: random.Random) -> Draw:
        """One belief out of those that the observations leave possible, on the hopeful side."""
        return Draw(self, rng)

    def everywhere(self, move: Move) -> tuple[float, bool, float]:
        """Of a move in any state: what its fan-out is centred on, whether it filters, how its matches come in lumps."""
        known = self.anywhere.get(move)
        filters = move.predicate is not None
        guess = PASS if filters else MATCHES
        if known is None:
            return guess, filters, 1.0
        return known.fan_out.mean(guess), filters or known.fan_out.filters, known.lumps.dispersion

    def met(self, move: Move) -> bool:
        """Whether anything is known of what a move finds."""
        return move in self.anywhere and self.anywhere[move].fan_out.taken > 0

    def here(self, state: TupleState, move: Move) -> _Here | None:
        """What is known of a move in one state."""
        return self._here.get((state, move))

    def centre(self, move: Move) -> float:
        """The logarithm of what moves of the same kind cost; what the cost of one never tried is centred on."""
        levels = self.levels(move)
        return sum(levels) / len(levels) if levels else 0.0

    def levels(self, move: Move) -> list[float]:
        """Logarithms of what moves of the same kind cost."""
        kind = _kind(move)
        return [cost.total / cost.count for other, cost in self.costs.items() if _kind(other) == kind]

    @property
    def request_s(self) -> float:
        """Seconds that a request usually takes, whichever it is."""
        levels = [cost.total / cost.count for move, cost in self.costs.items() if move.lookup is not None]
        return math.exp(sum(levels) / len(levels)) if levels else REQUEST_S

    def measured(self, move: Move) -> bool:
        """Whether somebody measures moves of this kind."""
        return bool(self.costs) and any(_kind(other) == _kind(move) for other in self.costs)


def _kind(move: Move) -> int:
    return 0 if move.predicate is not None else 1 if move.lookup is None else 2


def _luck(rng: random.Random) -> float:
    return TEMPER * rng.gauss(0.0, 1.0) - OPTIMISM


class _Drawn(NamedTuple):
    """Of one move: what a tuple costs that has to wait, how lucky it is, what it does in any state."""

    price: float
    luck: float
    everywhere: tuple[float, bool, float]
    waited: float | None  # share of tuples, in any state; None where new keys count in its place
    asked: float | None  # likewise; None where nothing is known of the move


class Draw:
    """Cost and fan-out of any move in any state, under one draw: a move that is lucky is so in every state."""

    def __init__(self, beliefs: Beliefs, rng: random.Random) -> None:
        self._beliefs = beliefs
        self._rng = rng
        self._moves: dict[Move, _Drawn] = {}
        self._lucks: dict[Hashable, float] = {}  # of the cost of all moves of a limiter

    def keys(self, state: TupleState, move: Move) -> float:
        """New keys that a tuple asks for."""
        asked = self._drawn(move).asked
        if asked is None:
            return _FRESH
        here = self._beliefs.here(state, move)
        return self._share(state, move, asked, None if here is None else here.asked)

    def __call__(self, state: TupleState, move: Move) -> tuple[float, float]:
        """Seconds that a tuple costs, and the tuples that come of it."""
        drawn = self._drawn(move)
        price, luck = drawn.price, drawn.luck
        here = self._beliefs.here(state, move)
        mean, deviation = posterior(None if here is None else here.fan_out, *drawn.everywhere)
        fan_out = max(0.0, mean + luck * deviation)
        if move.lookup is None:
            return price, fan_out
        if drawn.waited is None:
            return price * self.keys(state, move), fan_out
        return price * self._share(state, move, drawn.waited, None if here is None else here.waited), fan_out

    def _share(self, state: TupleState, move: Move, everywhere: float, here: Share | None) -> float:
        """Of the tuples of a state, those that cost what a lookup costs."""
        centre = everywhere / self._beliefs.shared(state, move)
        return min(1.0, centre if here is None else posterior(here, centre, False)[0])

    def _drawn(self, move: Move) -> _Drawn:
        drawn = self._moves.get(move)
        if drawn is None:
            beliefs, known = self._beliefs, self._beliefs.anywhere.get(move)
            by_keys = known is None or beliefs.by_request or not beliefs.measured(move)
            drawn = self._moves[move] = _Drawn(
                self._price(move),
                _luck(self._rng),
                beliefs.everywhere(move),
                None if known is None or by_keys else known.waited.mean(_FRESH),
                None if known is None else known.asked.mean(_FRESH),
            )
        return drawn

    def _price(self, move: Move) -> float:
        beliefs = self._beliefs
        if move.lookup is not None and (beliefs.by_request or not beliefs.measured(move)):
            return REQUEST_S
        if not beliefs.measured(move):
            return PROBE_S
        level, deviation = beliefs.cost(move).posterior(beliefs.centre(move))
        whose = move if move.lookup is None else beliefs.limiter(move)
        if whose not in self._lucks:
            self._lucks[whose] = _luck(self._rng)
        return math.exp(level + self._lucks[whose] * deviation)
