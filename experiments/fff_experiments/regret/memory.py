"""G9: what the memory of a past run is worth to the default policy, and what it costs where it is of another world.

A world is drawn with twice the tuples: a first run has one half, the run that is judged has the other. It
starts knowing nothing, or with what the first run taught, or with what a run in another world taught, which
has the same moves under the same names and in all else nothing in common.
"""

from __future__ import annotations

import numpy as np

from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.prior import Past
from fff.structs import replace
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.regret.filters import check, pooled
from fff_experiments.regret.runs import Excess, in_order, spent
from fff_experiments.regret.worlds import Setup, Shape, World, draw

#: Tuples of each run, and after how many it is judged.
_TUPLES, _AT = 1000, (100, 300, 1000)
_STARTS = ("cold", "warm", "wrong")
#: What the literature asks: half the cold excess after 100 tuples, and this at most; this much more under a
#: wrong past.
_WARM, _HURT = 0.06, 0.03
_JOINS: tuple[Shape, ...] = ("star", "chain", "tree")


def halves(shape: Shape, seed: int) -> tuple[World, World]:
    """The world of a seed, twice: with other tuples."""
    world = draw(Setup(2 * _TUPLES, shape=shape), seed)
    setup = replace(world.setup, tuples=_TUPLES)
    first, second = (
        replace(world, setup=setup, sizes=world.sizes[part], costs=world.costs[part], bounds=(0, _TUPLES))
        for part in (slice(_TUPLES), slice(_TUPLES, None))
    )
    return first, second


def taught(world: World, seed: int) -> Past:
    """What a run teaches."""
    policy = Adaptive(world.plan)
    spent(world, policy, seed)
    return policy.beliefs.lessons()


def _start(start: str, world: World, past: Past, other: World, control: str) -> RoutingPolicy:
    """The policy that is judged; `past`: what it remembers."""
    if control == "no memory" or start == "cold":
        return Adaptive(world.plan)
    if control == "obeyed" and start == "wrong":
        return in_order(world, min(other.orders(), key=lambda order: other.static(order, 0, _TUPLES)))
    return Adaptive(world.plan, past=past)


def excesses(shape: Shape, instances: int, seed: int, control: str = "") -> dict[str, list[Excess]]:
    """By how a run starts, the excess over the best static order in hindsight after so many tuples."""
    by_start: dict[str, list[list[float]]] = {start: [[] for _ in _AT] for start in _STARTS}
    worlds = [halves(shape, seed * 100_003 + number) for number in range(instances)]
    pasts = [taught(first, seed + number) for number, (first, _) in enumerate(worlds)]
    for number, (_, world) in enumerate(worlds):
        best = [world.best(0, tuples) for tuples in _AT]
        for start, of in zip(_STARTS, (number, number, number - 1), strict=True):
            policy = _start(start, world, pasts[of], worlds[of][0], control)
            total = np.cumsum(spent(world, policy, seed + number))
            for values, tuples, least in zip(by_start[start], _AT, best, strict=True):
                values.append(float(total[tuples - 1]) / least - 1)
    return {start: [Excess(tuple(values)) for values in some] for start, some in by_start.items()}


def run_memory(trial: TrialRequest) -> Findings:
    """G9: cold, warm, and led astray."""
    seed, instances, joins = trial.seed, trial.some(60, 2), trial.some(20, 2)
    rows: list[tuple[object, ...]] = []
    filters = excesses("filters", instances, seed, trial.control)
    shapes = {shape: excesses(shape, joins, seed, trial.control) for shape in _JOINS}
    worlds: dict[str, tuple[int, dict[str, list[Excess]]]] = {"filters": (instances, filters)}
    worlds |= {shape: (joins, by_start) for shape, by_start in shapes.items()}
    for world, (count, by_start) in worlds.items():
        rows += [(world, start, count, *map(str, by_start[start])) for start in _STARTS]
    curves = tuple(
        Curve(start, _AT, [max(excess.mean, 1e-3) for excess in filters[start]]) for start in _STARTS
    )
    cold, warm, wrong = (filters[start][0] for start in _STARTS)
    j_cold, j_warm, j_wrong = (
        pooled([by_start[start][0] for by_start in shapes.values()]) for start in _STARTS
    )
    return Findings(
        ("world", "start", "instances", *(f"T={at}: mean / p95" for at in _AT)),
        tuple(rows),
        (Panel("Excess over the best static order", "tuples", "mean excess", curves, True, True),),
        (
            _halved("filters", cold, warm),
            check("filters: little is left of it", warm, _WARM),
            _unhurt("filters", cold, wrong),
            _halved("joins (star, chain, tree together)", j_cold, j_warm),
            _unhurt("joins", j_cold, j_wrong),
        ),
        (
            "cold: knowing nothing. warm: told by a run over other tuples of the same world. wrong: told by one of another world",
            "joins have no acceptance in the literature; they are held to the same",
        ),
    )


def _halved(world: str, cold: Excess, warm: Excess) -> Check:
    return Check(
        f"{world}: a warm start halves the excess after {_AT[0]} tuples",
        f"mean <= {cold.mean / 2:.1%}, half of {cold.mean:.1%}",
        str(warm),
        warm.mean <= cold.mean / 2,
    )


def _unhurt(world: str, cold: Excess, wrong: Excess) -> Check:
    return Check(
        f"{world}: a past from another world does not hurt",
        f"mean <= {cold.mean + _HURT:.1%}, {_HURT:.0%} above a cold start",
        str(wrong),
        wrong.mean <= cold.mean + _HURT,
    )


EXPERIMENTS = (
    Experiment(
        "G9",
        "Regret of a warm start",
        "literature on regret in routing",
        "one shared CPU",
        "what a past run taught halves the excess after 100 tuples, and costs 3 % at most where it is wrong",
        run_memory,
        {
            "no memory": "nothing is remembered",
            "obeyed": "the order that was best in the other world is followed, whatever happens",
        },
    ),
)
