"""Policies in worlds where every move is answered at once: what each spends above a clairvoyant."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fff.dataflow.plan.moves import Outcome
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies import make_policy
from fff_experiments.broken import Forced, Inverted
from fff_experiments.regret.worlds import Setup, World, draw

#: The policies that learn or guess, as they are called; the window is the one of the literature's comparison.
POLICIES = ("naive", "lottery", "lottery:costs", "windowed-lottery:100", "rank", "benefit", "adaptive")
#: What each knows that the default knows too: costs as measured.
KNOWS_COSTS = frozenset({"lottery:costs", "rank", "rank:10", "benefit", "adaptive"})
#: What negative controls put in the place of the default.
CONTROLS = {
    "naive": "naive routing in place of the default",
    "inverted": "a lottery that prefers whoever has the fewest tickets, in place of the default",
}


def knowledge(policy: str) -> str:
    """What a policy is told, for a table."""
    return (
        "costs, selectivities"
        if policy in KNOWS_COSTS
        else "nothing"
        if policy == "naive"
        else "selectivities"
    )


def spent(world: World, policy: RoutingPolicy, seed: int) -> list[float]:
    """What a policy spends on each source tuple."""
    rng = random.Random(seed)
    full = (1 << world.setup.modules) - 1
    legal = [tuple(world.move(module) for module in world.legal(done)) for done in range(full + 1)]
    modules = [world.legal(done) for done in range(full + 1)]
    states = [world.state(done) for done in range(full + 1)]
    requests = 0 if world.setup.shape == "filters" else 1
    totals = []
    for sizes, costs in zip(world.sizes.tolist(), world.costs.tolist(), strict=True):
        done, total = 0, 0.0
        while done != full and sizes[done]:
            moves = legal[done]
            move = moves[0] if len(moves) == 1 else policy.choose(states[done], moves, rng)
            module = modules[done][moves.index(move)]
            taken, after = sizes[done], done | 1 << module
            cost = taken * costs[module]
            total += cost
            policy.observe(Outcome(states[done], move, taken, sizes[after], requests * taken, cost=cost))
            done = after
        totals.append(total)
    return totals


@dataclass(frozen=True)
class Excess:
    """cost / best - 1 over many instances."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.values))

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return float(np.percentile(self.values, 95))

    def __str__(self) -> str:
        return f"{self.mean:.1%} / {self.p95:.1%}"


Maker = Callable[[BlockPlan], RoutingPolicy]


def named(policy: str) -> Maker:
    """A policy by its name."""
    return lambda plan: make_policy(policy, plan)


def judged(control: str) -> Maker:
    """The default policy, or what a negative control puts in its place."""
    match control:
        case "inverted":
            return lambda _: Inverted()
        case "naive":
            return named("naive")
    return named("adaptive")


def in_order(world: World, order: Sequence[int]) -> Forced:
    """A static order of a world's modules, as a policy."""
    return Forced([world.move(module) for module in order])


def stationary(setup: Setup, make: Maker, instances: int, seed: int, at: Sequence[int]) -> list[Excess]:
    """Excess over the best static order in hindsight after so many tuples."""
    excesses: list[list[float]] = [[] for _ in at]
    for number in range(instances):
        world = draw(setup, seed * 100_003 + number)
        total = np.cumsum(spent(world, make(world.plan), seed + number))
        for values, tuples in zip(excesses, at, strict=True):
            values.append(float(total[tuples - 1]) / world.best(0, tuples) - 1)
    return [Excess(tuple(values)) for values in excesses]


def changing(setup: Setup, make: Maker, instances: int, seed: int) -> Excess:
    """Excess over the clairvoyant who takes the best order of each phase."""
    values = []
    for number in range(instances):
        world = draw(setup, seed * 100_003 + number)
        values.append(sum(spent(world, make(world.plan), seed + number)) / world.clairvoyant() - 1)
    return Excess(tuple(values))


def best_static(setup: Setup, instances: int, seed: int) -> Excess:
    """Excess of the best single order in hindsight over the clairvoyant."""
    worlds = (draw(setup, seed * 100_003 + number) for number in range(instances))
    return Excess(tuple(world.best() / world.clairvoyant() - 1 for world in worlds))
