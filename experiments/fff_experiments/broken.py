"""Policies that negative controls put in the place of those that claims are about."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies.lottery import FLOOR, Lottery
from fff.policies.windowed_lottery import WindowedLottery
from fff.structs import replace


class Inverted:
    """A lottery in which the fewest tickets win most often: the policy learns, and does the opposite."""

    name = "inverted"

    def __init__(self, policy: RoutingPolicy | None = None) -> None:
        policy = policy or Lottery()
        assert isinstance(policy, Lottery | WindowedLottery)
        self._policy = policy

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """Weights are mirrored between the greatest and the least."""
        held = self._policy.tickets if isinstance(self._policy, Lottery) else self._policy.banked
        weights = [max(FLOOR, held.get(move, FLOOR)) for move in moves]
        return rng.choices(moves, [max(weights) + min(weights) - weight for weight in weights])[0]

    def observe(self, outcome: Outcome) -> None:
        """As the lottery does."""
        self._policy.observe(outcome)


class Forced:
    """A static order."""

    name = "fixed"

    def __init__(self, order: Sequence[Move]) -> None:
        self._order = tuple(order)

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """The first."""
        return min(moves, key=self._order.index)

    def observe(self, outcome: Outcome) -> None:
        """Learns nothing."""


class TupleByTuple:
    """A policy that decides for each tuple of a batch, and is told what came of each: deciding is dear, batches are what they were."""

    def __init__(self, policy: RoutingPolicy) -> None:
        self.name = policy.name
        self._policy = policy
        self._choices: dict[TupleState, tuple[Sequence[Move], random.Random]] = {}

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """For the first tuple of a batch, and the whole of it goes."""
        self._choices[state] = moves, rng
        return self._policy.choose(state, moves, rng)

    def observe(self, outcome: Outcome) -> None:
        """Of one tuple after another; where there was a choice it is made anew after each."""
        each = max(1, outcome.taken)
        produced, more = divmod(outcome.produced, each)
        for place in range(each):
            alone = replace(
                outcome,
                taken=min(1, outcome.taken),
                produced=produced + (place < more),
                requests=outcome.requests if not place else 0,
                cost=outcome.cost / each,
            )
            self._policy.observe(alone)
            if outcome.state in self._choices:
                self._policy.choose(outcome.state, *self._choices[outcome.state])
