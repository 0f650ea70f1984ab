"""G4 and G10: filters that work side by side, as web services do. Time against spend, and results against time.

Each filter serves one tuple at a time; tuples wait in the eddy, the furthest-travelled goes first. What is
spent is seconds of service. The bounds are those of a fluid that splits over all static orders (Condon et al.
2006), solved exactly on the tuples that were really there.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome
from fff.dataflow.plan.policy import PullingPolicy, RoutingPolicy
from fff.policies import PREFERENCES, make_policy
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.regret.filters import check
from fff_experiments.regret.runs import CONTROLS, Excess, in_order, judged
from fff_experiments.regret.simplex import minimise
from fff_experiments.regret.worlds import Setup, World, draw


@dataclass(frozen=True)
class Course:
    """How a run went: when each result was out, when the last tuple was through, what was spent."""

    results: tuple[float, ...]
    makespan: float
    spent: float


class _Filters:
    """The modules, and the tuples that wait for them."""

    def __init__(self, world: World, policy: RoutingPolicy, seed: int) -> None:
        self._world = world
        self._policy = policy
        self._rng = random.Random(seed)
        self._busy: list[int | None] = [None] * world.setup.modules
        self._waiting: dict[int, list[int]] = {0: list(range(world.setup.tuples))[::-1]}
        self._ends: list[tuple[float, int, int, int]] = []  # time, module, tuple, done
        self._results: list[float] = []
        self._spent = 0.0

    def run(self) -> Course:
        """Until every tuple is through."""
        now, full = 0.0, (1 << self._world.setup.modules) - 1
        self._start(now)
        while self._ends:
            now, module, number, done = heapq.heappop(self._ends)
            self._busy[module] = None
            after = done | 1 << module
            passed = bool(self._world.sizes[number, after])
            cost = float(self._world.costs[number, module])
            state, move = self._world.state(done), self._world.move(module)
            self._policy.observe(Outcome(state, move, 1, int(passed), cost=cost))
            if passed and after == full:
                self._results.append(now)
            elif passed:
                self._waiting.setdefault(after, []).append(number)
            self._start(now)
        assert not any(self._waiting.values()), "tuples were left behind"
        return Course(tuple(self._results), now, self._spent)

    def _start(self, now: float) -> None:
        """Give work to every module that is free and shall have some."""
        moved = True
        while moved and None in self._busy:
            moved = False
            for done in sorted(self._waiting, key=lambda done: -done.bit_count()):
                if self._waiting[done] and (module := self._chosen(done)) is not None:
                    number = self._waiting[done].pop()
                    cost = float(self._world.costs[number, module])
                    self._busy[module] = number
                    self._spent += cost
                    heapq.heappush(self._ends, (now + cost, module, number, done))
                    moved = True
                    break

    def _chosen(self, done: int) -> int | None:
        """The free module that a tuple goes to; None to wait."""
        modules = self._world.legal(done)
        free = [module for module in modules if self._busy[module] is None]
        if not free:
            return None
        moves = [self._world.move(module) for module in modules]
        if len(moves) == 1:
            return free[0]
        state = self._world.state(done)
        if isinstance(self._policy, PullingPolicy):
            taken = self._policy.take(Offer(state, moves, 1, self._load), self._rng)
            move = None if taken is None else taken[0]
        elif self._policy.name == "fixed":
            move = self._policy.choose(state, moves, self._rng)
        else:
            move = self._policy.choose(state, [self._world.move(module) for module in free], self._rng)
        return next((module for module in free if self._world.move(module) == move), None)

    def _load(self, move: Move) -> Load:
        assert move.predicate is not None
        return Load(int(self._busy[move.predicate] is not None), 1)


def loads(world: World, order: Sequence[int]) -> list[float]:
    """Seconds of service of each module under a static order."""
    load, done = [0.0] * world.setup.modules, 0
    for module in order:
        load[module] = float(world.sizes[:, done] @ world.costs[:, module])
        done |= 1 << module
    return load


def least_makespan(world: World) -> float:
    """No division of the tuples over static orders is through earlier."""
    by_order = [loads(world, order) for order in world.orders()]
    rows = [([*(load[module] for load in by_order), -1.0], 0.0) for module in range(world.setup.modules)]
    return minimise([0.0] * len(by_order) + [1.0], rows, [([1.0] * len(by_order) + [0.0], 1.0)])


def least_spend(world: World, makespan: float) -> float:
    """The least that any division over static orders spends that is through by then."""
    by_order = [loads(world, order) for order in world.orders()]
    rows = [([load[module] for load in by_order], makespan) for module in range(world.setup.modules)]
    return minimise([sum(load) for load in by_order], rows, [([1.0] * len(by_order), 1.0)])


_DEAREST = "dearest order"
_CONTROLS = CONTROLS | {_DEAREST: "the static order that spends most, in place of the default"}
_COMPARED = ("naive", "lottery", "lottery:costs", "rank")


def _policies(world: World, control: str) -> dict[str, RoutingPolicy]:
    policies: dict[str, RoutingPolicy] = {name: make_policy(name, world.plan) for name in _COMPARED}
    for prefer in PREFERENCES:
        name = f"adaptive, {prefer}"
        if control == _DEAREST:
            policies[name] = in_order(world, max(world.orders(), key=lambda order: sum(loads(world, order))))
        elif control:
            policies[name] = judged(control)(world.plan)
        else:
            policies[name] = make_policy("adaptive", world.plan, prefer)
    return policies


def run_front(trial: TrialRequest) -> Findings:
    """G4: how near to the front of time and spend."""
    seed, instances, tuples = trial.seed, trial.some(12, 2), 800
    times: dict[str, list[float]] = {}
    spends: dict[str, list[float]] = {}
    fronts: dict[str, list[float]] = {}
    for number in range(instances):
        world = draw(Setup(tuples, modules=3), seed * 100_003 + number)
        bound, cheapest = least_makespan(world), world.best()
        policies = _policies(world, trial.control)
        policies["cheapest static order"] = in_order(
            world, min(world.orders(), key=lambda o: sum(loads(world, o)))
        )
        policies["fastest static order"] = in_order(
            world, min(world.orders(), key=lambda o: max(loads(world, o)))
        )
        for name, policy in policies.items():
            course = _Filters(world, policy, seed + number).run()
            times.setdefault(name, []).append(course.makespan / bound - 1)
            spends.setdefault(name, []).append(course.spent / cheapest - 1)
            front = least_spend(world, max(course.makespan, bound))
            fronts.setdefault(name, []).append(course.spent / front - 1)
    results = {
        name: (Excess(tuple(times[name])), Excess(tuple(spends[name])), Excess(tuple(fronts[name])))
        for name in times
    }
    curves = tuple(
        Curve(name, [1 + time.mean], [1 + spend.mean], "points") for name, (time, spend, _) in results.items()
    )
    fast, balanced = results["adaptive, fast"], results["adaptive, balanced"]
    return Findings(
        ("policy", "makespan over bound", "spend over cheapest", "spend over the front at its own makespan"),
        tuple((name, *map(str, some)) for name, some in results.items()),
        (Panel("Time against spend", "makespan / bound", "spend / cheapest", curves),),
        (
            check("--prefer fast is through about as early as is possible", fast[0], 0.05),
            check("--prefer balanced spends about the least for the time it takes", balanced[2], 0.05),
            Check(
                "cheap spends least, fast is fastest",
                "spend: cheap <= balanced <= fast, cheap < fast; makespan: fast <= balanced <= cheap",
                " ".join(f"{prefer} {results[f'adaptive, {prefer}'][1].mean:.1%}" for prefer in PREFERENCES),
                results["adaptive, cheap"][1].mean <= balanced[1].mean <= fast[1].mean
                and results["adaptive, cheap"][1].mean < fast[1].mean
                and fast[0].mean <= balanced[0].mean <= results["adaptive, cheap"][0].mean,
            ),
        ),
        (
            f"mean / 95th percentile over {instances} instances of 3 filters and {tuples} tuples",
            (
                "side by side, back-pressure alone keeps to the front, so that controls `naive` and `inverted` fail only the third claim: naive routing "
                f"is {_mean(results, 'naive', 0)} over the bound and {_mean(results, 'naive', 2)} over the front, `fast` "
                f"{_mean(results, 'adaptive, fast', 0)} and {_mean(results, 'adaptive, fast', 2)}. What the default adds is the choice: "
                f"`cheap` spends {_mean(results, 'adaptive, cheap', 1)} over the least, naive routing {_mean(results, 'naive', 1)}"
            ),
        ),
    )


def _mean(results: Mapping[str, tuple[Excess, ...]], policy: str, measure: int) -> str:
    return f"{results[policy][measure].mean:.1%}"


def _area(course: Course, until: float) -> float:
    """Under the curve of results against time, as a share of all results from the beginning."""
    return float(np.mean([max(0.0, until - at) for at in course.results])) / until


def run_early_results(trial: TrialRequest) -> Findings:
    """G10: when the k-th result is out."""
    seed, instances, tuples = trial.seed, trial.some(12, 4), 800
    shares = (0.0, 0.1, 0.5)
    ratios: dict[str, list[list[float]]] = {}
    curves: list[Curve] = []
    for number in range(instances):
        world = draw(Setup(tuples, modules=3), seed * 100_003 + number)
        if world.sizes[:, -1].sum() < 10:
            continue  # so few results say nothing about a share of them
        known = [_Filters(world, in_order(world, order), 0).run() for order in world.orders()]
        for name, policy in _policies(world, trial.control).items():
            course = _Filters(world, policy, seed + number).run()
            until = max(course.makespan, *(one.makespan for one in known))
            areas = [_area(course, until) / max(_area(one, until) for one in known)]
            for share in shares:
                place = int(share * (len(course.results) - 1))
                areas.append(min(one.results[place] for one in known) / course.results[place])
            ratios.setdefault(name, []).append(areas)
            if all(curve.label != name for curve in curves):
                curves.append(Curve(name, course.results, range(1, len(course.results) + 1), "steps"))
    means = {name: np.mean(values, axis=0) for name, values in ratios.items()}
    ours = means["adaptive, balanced"]
    return Findings(
        ("policy", "area / best", "first result", "10 %", "50 %"),
        tuple((name, *(f"{value:.2f}" for value in values)) for name, values in means.items()),
        (Panel("Results against time, one instance", "seconds", "results", tuple(curves)),),
        (
            Check(
                "the area under results against time is near that of the best static order",
                "mean >= 0.90",
                f"{ours[0]:.2f}",
                bool(ours[0] >= 0.9),
            ),
            Check(
                "half of the results are out as early as under the best static order for that",
                "mean >= 0.90",
                f"{ours[3]:.2f}",
                bool(ours[3] >= 0.9),
            ),
        ),
        (
            "each column is the best of all static orders for it, divided by what the policy took; above 1: earlier",
            (
                f"naive routing is as early ({means['naive'][0]:.2f}, and {means['naive'][3]:.2f} for half of the results), so that controls "
                "`naive` and `inverted` fail no claim: what is claimed is that saving does not make results late"
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        "G4",
        "Time against spend",
        "literature on regret in routing; Condon et al. 2006",
        "independent servers",
        "fast is within 5 % of the least makespan, balanced within 5 % of the least spend for its makespan",
        run_front,
        _CONTROLS,
    ),
    Experiment(
        "G10",
        "Results against time",
        "literature on regret in routing",
        "independent servers",
        "results come as early as under the static order that is best for them, or nearly",
        run_early_results,
        _CONTROLS,
    ),
)
