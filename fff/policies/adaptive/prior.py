"""What past runs taught, told to a new run as if a few tuples had said it, and doubted until it has proved right.

A prior that is right spares the first tuples their detours; one that is wrong must cost next to nothing. Two
things see to that. It counts for few tuples (`TUPLES`, `CALLS`), so that it is outweighed soon. And it is on
trial: what each move really does is compared with what the past says of it and with what one would expect
knowing nothing, by Bayes factor; where the past is the worse guess by a factor of `DISCREDIT` on the whole,
or of `CHANGED` for one move, all of it is dropped, as one figure from another world makes the others suspect.
Probes of scanned tables are not judged: their fan-outs grow as the SteMs fill.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.state import TupleState
from fff.policies.adaptive.distributions import Cost, Share
from fff.structs import Struct

#: Tuples and measured costs that the past counts for at most, for each move and for each move in one state.
TUPLES, CALLS = 40.0, 8.0
#: The past is dropped where knowing nothing explains so many times better what all moves do, or what one of
#: them does.
DISCREDIT, CHANGED = 3.0, 20.0
#: Of the logarithm of a cost: spread of a move's level between runs; of levels of any moves; least spread of
#: one call.
_BETWEEN_RUNS, _ANY, _WITHIN = 0.25, 1.5, 0.3

Sums = tuple[float, float]


class Lesson(Struct, frozen=True):
    """What came of tuples that took a move.

    Each pair: tuples that took it, and how many came out, waited, were new keys.
    """

    fan_out: Sums = (0.0, 0.0)
    waited: Sums = (0.0, 0.0)
    asked: Sums = (0.0, 0.0)

    def discounted(self) -> Lesson:
        """Worth `TUPLES` at most."""
        return Lesson(_at_most(self.fan_out), _at_most(self.waited), _at_most(self.asked))


def _at_most(sums: Sums) -> Sums:
    taken, produced = sums
    return sums if taken <= TUPLES else (TUPLES, produced * TUPLES / taken)


class Level(Struct, frozen=True):
    """Logarithms of the seconds that a move cost a tuple: how many, their sum, the sum of their squares."""

    count: float
    total: float
    square: float

    def discounted(self) -> Level:
        """Worth `CALLS` at most."""
        share = min(1.0, CALLS / self.count)
        return Level(self.count * share, self.total * share, self.square * share)


class Past(Struct, frozen=True):
    """What a run taught, as plain data: per move and state, per move in any state, and what each move costs."""

    here: Mapping[tuple[TupleState, Move], Lesson]
    anywhere: Mapping[Move, Lesson]
    costs: Mapping[Move, Level]

    def __bool__(self) -> bool:
        return bool(self.here or self.anywhere or self.costs)

    def discounted(self) -> Past:
        """At the strength that a new run starts with."""
        return Past(
            {key: lesson.discounted() for key, lesson in self.here.items()},
            {move: lesson.discounted() for move, lesson in self.anywhere.items()},
            {move: level.discounted() for move, level in self.costs.items()},
        )


class Trial:
    """Judges a past by what moves really do. `past` as it was told: discounted."""

    def __init__(self, past: Past) -> None:
        self.past = past
        levels = [level.total / level.count for level in past.costs.values()]
        self._centre = sum(levels) / len(levels) if levels else 0.0
        self._counts: dict[tuple[TupleState, Move], Share] = {}
        # For the past, logarithms of Bayes factors.
        self._evidence: dict[tuple[TupleState, Move] | Move, float] = {}
        self._total = 0.0  # of it
        self.costs: dict[Move, Cost] = {}

    def discredited_by_count(self, state: TupleState, move: Move, taken: int, produced: int) -> bool:
        """Whether a move's fan-out in a state shows the past to be of another world."""
        past = self.past.here.get((state, move))
        if past is None or not past.fan_out[0] or (move.predicate is None and move.lookup is None):
            return False
        own = self._counts.setdefault((state, move), Share())
        own.add(taken, produced)
        if not taken:
            return False  # matches of tuples that are not reported as taken yet
        judge = _as_filter if move.predicate is not None else _as_join
        return self._discredits((state, move), judge(own, past.fan_out) - judge(own, (0.0, 0.0)))

    def discredited_by_cost(self, move: Move, log_cost: float, *, matters: bool = True) -> bool:
        """Whether a move's cost does; not where it does not matter."""
        own = self.costs.setdefault(move, Cost())
        own.add(log_cost)
        past = self.past.costs.get(move)
        if past is None or not matters:
            return False
        mean, level = own.total / own.count, past.total / past.count
        within = max(_WITHIN**2, past.square / past.count - level**2)
        right = within / own.count + within / past.count + _BETWEEN_RUNS**2
        other = within / own.count + _ANY**2
        return self._discredits(move, _normal(mean - level, right) - _normal(mean - self._centre, other))

    def _discredits(self, key: tuple[TupleState, Move] | Move, evidence: float) -> bool:
        self._total += evidence - self._evidence.get(key, 0.0)
        self._evidence[key] = evidence
        return self._total < -math.log(DISCREDIT) or evidence < -math.log(CHANGED)


def _as_filter(own: Share, past: Sums) -> float:
    """The logarithm of the probability of what was counted, under the Beta prior that was told."""
    passed, dropped = 1 + past[1], 1 + max(0.0, past[0] - past[1])
    came, gone = own.produced, max(0.0, own.taken - own.produced)
    return _log_beta(passed + came, dropped + gone) - _log_beta(passed, dropped)


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)


def _as_join(own: Share, past: Sums) -> float:
    """Likewise under a Gamma prior, but for what does not depend on it; one match in one tuple is expected beforehand."""
    matches, tuples = 1 + past[1], 1 + past[0]
    after = matches + own.produced
    return (
        matches * math.log(tuples)
        - math.lgamma(matches)
        + math.lgamma(after)
        - after * math.log(tuples + own.taken)
    )


def _normal(distance: float, variance: float) -> float:
    return -(distance**2 / variance + math.log(variance)) / 2
