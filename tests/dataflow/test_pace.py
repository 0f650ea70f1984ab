"""What is learned of a lookup method's speed: quantiles, what a batch costs, when more keys may be expected."""

from __future__ import annotations

import math
import random

import pytest

from fff.dataflow.lookups.latency import AnswerTimes, Demand


def times(*answers: tuple[int, float]) -> AnswerTimes:
    found = AnswerTimes()
    for keys, seconds in answers:
        found.observe(keys, seconds)
    return found


def test_quantiles_are_of_what_was_seen() -> None:
    found = times(*[(1, float(second)) for second in random.Random(1).sample(range(1, 101), 100)])
    assert found.quantile(0.5) == 50
    assert found.quantile(0.95) == 95
    assert found.quantile(1.0) == 100
    assert found.left_after(95) == pytest.approx(3.0), "96 to 100, on the average 98"
    assert found.left_after(100) == 0
    assert (times().quantile(0.95), times().left_after(1.0)) == (0.0, math.inf), "nothing is known"


def test_old_answers_are_forgotten() -> None:
    found = times(*[(1, 9.0)] * 200, *[(1, 1.0)] * 220)
    assert found.quantile(1.0) == 1.0


def test_new_answers_are_seen_soon() -> None:
    found = times((1, 1.0))
    assert found.quantile(1.0) == 1.0
    found.observe(1, 2.0)
    assert found.quantile(1.0) == 2.0


def test_what_a_request_costs_by_itself_is_told_from_what_its_keys_cost() -> None:
    assert times().fixed_share(50) == 1.0
    assert times((1, 0.2), (50, 0.2), (20, 0.2)).fixed_share(50) == 1.0
    by_keys = times(*[(count, 0.01 * count) for count in (1, 50, 5, 50, 10, 50, 20, 50) * 10])
    assert by_keys.fixed_share(50) < 0.1
    mixed = times(*[(count, 0.5 + 0.01 * count) for count in (1, 50, 5, 50, 10, 50, 20, 50) * 10])
    assert mixed.fixed_share(50) == pytest.approx(0.5, abs=0.05)


def test_noise_is_not_taken_for_a_cost_of_keys() -> None:
    rng = random.Random(2)
    found = times((7, 0.3), *[(50, rng.lognormvariate(-1.5, 0.5)) for _ in range(100)])
    assert found.fixed_share(50) > 0.7


def test_keys_are_expected_while_they_come_at_their_usual_gaps() -> None:
    demand = Demand()
    assert demand.since == math.inf
    demand.look(0, 5.0)
    demand.look(3, 10.0)
    assert demand.since == 10.0
    assert math.isnan(demand.hopeless_at())
    demand.sent(0)
    assert demand.since == math.inf
    demand.look(5, 12.0)
    assert (demand.since, demand.hopeless_at()) == (12.0, 12.0 + 3 * 2.0)
    demand.look(5, 13.0)
    assert demand.hopeless_at() == 18.0, "time alone brings no keys"
    demand.look(9, 14.0)
    assert demand.since == 12.0, "of the oldest"
    demand.sent(2)
    assert demand.since == 14.0, "those that are left came last"


def test_bursts_do_not_hide_the_long_gaps_between_them() -> None:
    demand, now, keys = Demand(), 0.0, 0
    for _ in range(3):
        for _ in range(50):
            keys += 1
            demand.look(keys, now)
            now += 0.001
        now += 2.0
    assert demand.hopeless_at() > now - 2.0 + 2 * 2.0


def test_a_long_gap_is_forgotten_in_time() -> None:
    demand, now = Demand(), 0.0
    for keys in range(1, 400):
        demand.look(keys, now)
        now += 10.0 if keys == 1 else 0.5
    assert demand.hopeless_at() < now + 3 * 2.0
