"""The worlds of hosts: their bounds are right, and where one host serves all, every preference asks for the least."""

from __future__ import annotations

import numpy as np
import pytest

from fff.options import PREFERENCES
from fff.policies import make_policy
from fff.policies.adaptive.scarcity import Scarcity
from fff_experiments.regret.hosts import KINDS, Host, HostsWorld, course, draw


def adaptive(prefer):
    return lambda plan: make_policy("adaptive", plan, prefer)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_static_order_beats_the_bounds(kind) -> None:
    world = draw(kind, 60, 3)
    bound = world.least_time()
    assert world.clairvoyant() <= min(sum(world.asked(order)) for order in world.orders())
    for order in world.orders():
        run = course(
            world, lambda plan, order=order: make_policy(f"fixed:R,{_names(order)}", plan), "cheap", 1
        )
        assert run.requests == sum(world.asked(order))
        assert run.seconds >= 0.9 * bound, "answers take as long as they are said to, give or take a tenth"
        assert run.requests >= world.least_requests(max(run.seconds, bound)) * (1 - 1e-9)


def _names(order) -> str:
    return ",".join(f"T{number}" for number in order)


@pytest.mark.slow
def test_on_one_host_all_preferences_ask_for_about_the_least() -> None:
    """A rarely has a match, B nearly always: a third more requests where each is taken for a server of its own."""
    passes = np.random.default_rng(5).random((400, 2)) < (0.2, 0.95)
    world = HostsWorld(passes, (Host(8, 0.05),), (0, 0), (0, 400))
    runs = {prefer: course(world, adaptive(prefer), prefer, 1) for prefer in PREFERENCES}
    for prefer in PREFERENCES:
        assert runs[prefer].requests <= 1.06 * world.clairvoyant()
        assert runs[prefer].seconds <= 1.05 * runs["cheap"].seconds


@pytest.mark.slow
def test_with_a_host_each_only_fast_pays_for_next_to_no_time() -> None:
    """Nine tenths pass the one, a tenth the other: a tenth of the time can be had for two thirds more requests."""
    passes = np.random.default_rng(5).random((400, 2)) < (0.9, 0.1)
    world = HostsWorld(passes, (Host(8, 0.02), Host(8, 0.02)), (0, 1), (0, 400))
    runs = {prefer: course(world, adaptive(prefer), prefer, 1) for prefer in PREFERENCES}
    assert runs["balanced"].requests <= 1.05 * world.clairvoyant()
    assert runs["fast"].requests > 1.3 * world.clairvoyant()
    assert runs["fast"].seconds < 0.97 * runs["cheap"].seconds


@pytest.mark.slow
def test_a_quota_is_spared_before_it_runs_out(monkeypatch) -> None:
    """To ask A first would ask for least, for all of 600 rows; it admits 200, and then one in 1.5 seconds."""
    passes = np.random.default_rng(5).random((600, 2)) < (0.2, 0.3)
    world = HostsWorld(passes, (Host(8, 0.05, (200, 300.0)), Host(8, 0.05)), (0, 1), (0, 600))
    cheap, told = (course(world, adaptive(prefer), prefer, 3) for prefer in ("cheap", "balanced"))
    monkeypatch.setattr(Scarcity, "quota", lambda *_: None)
    untold = course(world, adaptive("balanced"), "balanced", 3)
    assert told.requests <= 1.05 * untold.requests
    assert told.seconds <= 0.4 * untold.seconds <= 0.4 * cheap.seconds
