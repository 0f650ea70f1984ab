"""The regret bench: its worlds and bounds are right, and the default policy holds what G1 to G4, G9 and G10 promise."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from fff_experiments import experiments
from fff_experiments.experiment import Findings, TrialRequest
from fff_experiments.regret import filters, memory, parallel
from fff_experiments.regret.parallel import _Filters, least_makespan, least_spend, loads
from fff_experiments.regret.runs import best_static, changing, in_order, judged, named, spent, stationary
from fff_experiments.regret.simplex import InfeasibleError, minimise
from fff_experiments.regret.worlds import Setup, draw


def held(findings: Findings) -> None:
    assert findings.passed, [check for check in findings.checks if not check.passed]
    assert all(len(row) == len(findings.columns) for row in findings.rows)


class TestWorlds:
    @pytest.mark.parametrize("shape", ["filters", "star", "chain", "tree"])
    def test_what_a_policy_spends_is_what_its_order_costs(self, shape) -> None:
        world = draw(Setup(50, shape=shape), 3)
        for order in world.orders():
            assert sum(spent(world, in_order(world, order), 1)) == pytest.approx(world.static(order, 0, 50))

    def test_bindings_bound_the_orders(self) -> None:
        assert len(draw(Setup(5), 1).orders()) == 24
        assert len(draw(Setup(5, shape="chain"), 1).orders()) == 6
        assert all(order.index(0) < order.index(2) for order in draw(Setup(5, shape="tree"), 1).orders())

    def test_the_clairvoyant_is_never_beaten_by_one_order(self) -> None:
        for seed in range(5):
            world = draw(Setup(200, phases=4), seed)
            assert world.clairvoyant() <= world.best() * (1 + 1e-12)

    def test_one_seed_one_world(self) -> None:
        one, two, other = (draw(Setup(20), seed) for seed in (1, 1, 2))
        assert (one.costs == two.costs).all()
        assert (one.costs != other.costs).any()


class TestSimplex:
    def test_against_a_search_over_a_grid(self) -> None:
        rng = random.Random(4)
        for _ in range(20):
            costs = [rng.random() for _ in range(3)]
            row = [rng.random() for _ in range(3)]
            bound = min(row) + 0.3 * (max(row) - min(row))
            found = minimise(costs, [(row, bound)], [([1.0] * 3, 1.0)])
            grid = [
                (a / 50, b / 50, 1 - (a + b) / 50)
                for a, b in itertools.product(range(51), repeat=2)
                if a + b <= 50
            ]
            searched = min(np.dot(costs, x) for x in grid if np.dot(row, x) <= bound + 1e-9)
            assert found <= searched + 1e-9
            assert found >= searched - 0.05

    def test_no_solution_is_an_error(self) -> None:
        with pytest.raises(InfeasibleError):
            minimise([1.0, 1.0], [([1.0, 1.0], 0.5)], [([1.0, 1.0], 1.0)])


class TestBounds:
    def test_no_static_order_beats_them(self) -> None:
        for seed in range(4):
            world = draw(Setup(60, modules=3), seed)
            bound = least_makespan(world)
            assert bound <= min(max(loads(world, order)) for order in world.orders()) + 1e-6
            for order in world.orders():
                course = _Filters(world, in_order(world, order), 0).run()
                assert course.makespan >= bound * (1 - 1e-9)
                assert course.spent == pytest.approx(sum(loads(world, order)))
                assert course.spent >= least_spend(world, course.makespan) * (1 - 1e-9)
            assert least_spend(world, 1e9) == pytest.approx(world.best())


def test_the_default_beats_the_others_from_the_beginning() -> None:
    ours, theirs = (stationary(Setup(150), named(name), 6, 7, [150])[0] for name in ("adaptive", "rank"))
    assert ours.mean < 0.2 < theirs.mean


def test_baselines_are_told_costs_and_controls_are_not_the_default() -> None:
    """What is told costs beats what is not; nothing that stands in for the default comes near it."""
    excess = {
        name: stationary(Setup(600), named(name), 6, 7, [600])[0].mean
        for name in ("lottery", "lottery:costs", "rank", "adaptive")
    }
    told = max(excess["rank"], excess["lottery:costs"])
    assert excess["adaptive"] < min(excess["rank"], excess["lottery:costs"])
    assert told < excess["lottery"] / 2
    for control in ("naive", "inverted"):
        assert stationary(Setup(600), judged(control), 6, 7, [600])[0].mean > 2 * told


def test_it_follows_changes_that_no_static_order_can() -> None:
    setup = Setup(600, phases=3)
    assert changing(setup, named("adaptive"), 4, 5).mean < best_static(setup, 4, 5).mean


def test_one_seed_one_finding() -> None:
    first, second, third = (stationary(Setup(80), named("adaptive"), 2, seed, [80]) for seed in (1, 1, 2))
    assert first == second != third


def test_they_are_registered() -> None:
    assert {"G1", "G2", "G3", "G4", "G9", "G10", "G11", "G12", "G13", "G14"} <= experiments().keys()


@pytest.mark.slow
class TestAcceptances:
    def test_g1(self) -> None:
        held(filters.run_stationary(TrialRequest(2, 0.5)))

    def test_g2(self) -> None:
        held(filters.run_changing(TrialRequest(2, 0.5)))

    def test_g3(self) -> None:
        held(filters.run_adverse(TrialRequest(2, 0.5)))

    def test_g9(self) -> None:
        held(memory.run_memory(TrialRequest(2, 0.5)))

    def test_g4(self) -> None:
        held(parallel.run_front(TrialRequest(2)))

    def test_g10(self) -> None:
        held(parallel.run_early_results(TrialRequest(2, 0.5)))
