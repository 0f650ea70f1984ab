"""Tuples sent through two filters, and which of them a policy lets first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from fff.dataflow.plan.moves import Move, Outcome, after
from fff.dataflow.plan.state import TupleState
from fff.policies.adaptive.policy import Adaptive

NEW = TupleState(0b1)
A, B = Move(predicate=0), Move(predicate=1)


def drive(
    policy: Adaptive, passing: Mapping[Move, float], costs: Mapping[Move, float], tuples: int, seed: int = 1
) -> Counter[Move]:
    """Send tuples through filters; how many went to each first."""
    rng, first = random.Random(seed), Counter[Move]()
    moves = tuple(passing)
    for _ in range(tuples):
        state, left = NEW, moves
        while left:
            move = left[0] if len(left) == 1 else policy.choose(state, left, rng)
            first[move] += state == NEW
            passed = rng.random() < passing[move]
            policy.observe(
                Outcome(state, move, 1, int(passed), cost=costs[move] * rng.lognormvariate(0, 0.2))
            )
            if not passed:
                break
            state, left = after(state, move), tuple(other for other in left if other != move)
    return first
