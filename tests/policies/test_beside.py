"""Lookups beside a scan by the default policy: only of what is free, within bounds, and never of use to nobody."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome
from fff.dataflow.plan.plan import BlockPlan, LookupPlan, ScanPlan
from fff.options import Preference
from fff.policies.adaptive.beside import EXPLORE, SHARE
from fff.policies.adaptive.policy import Adaptive
from fff.structs import replace
from tests.dataflow.blocks import block, table
from tests.policies.driving import NEW

PLAN = block([table("a b", scans=1), table("k v", (0,), scans=1, key=(0,))], ["0.0 = 1.0"])
PROBE, INDEX = Move(1), Move(1, 0)
MANY = 10_000


def with_lookup(plan: BlockPlan, *, scan_limiter: int | None = None, **changed: object) -> BlockPlan:
    first, second, *rest = plan.tables
    lookup: LookupPlan = replace(second.lookups[0], limiter=0, **changed)  # type: ignore[arg-type]
    scans = tuple(ScanPlan(scan.name, scan_limiter) for scan in first.scans)
    return replace(plan, tables=(replace(first, scans=scans), replace(second, lookups=(lookup,)), *rest))


def offer(pages: int = MANY, size: int = 50, backlog: int = 0, window: int | None = 4) -> Offer:
    return Offer(NEW, (PROBE, INDEX), size, lambda _: Load(backlog, window), pages=lambda: pages)


def moves(policy: Adaptive, one: Offer, times: int = 200, hits: int = 0) -> Counter[Move]:
    """What a policy does with an offer, told that ten tuples find so many matches, whatever they do."""
    rng, found = random.Random(1), Counter[Move]()
    for _ in range(times):
        taken = policy.take(one, rng)
        assert taken is not None
        move, size = taken
        assert 1 <= size <= one.size
        found[move] += 1
        policy.observe(Outcome(NEW, move, 10, hits, requests=size if move == INDEX else 0))
    return found


@pytest.mark.parametrize(("prefer", "asks"), [("fast", True), ("balanced", True), ("cheap", False)])
def test_an_idle_index_is_asked_beside_a_scan_but_not_by_who_saves(prefer: Preference, asks: bool) -> None:
    found = moves(Adaptive(PLAN, prefer), offer())
    assert (found[INDEX] > 150) == asks
    assert asks or not found[INDEX]


def test_who_finds_matches_in_the_stem_needs_no_index_but_some_go_on_trying() -> None:
    found = moves(Adaptive(PLAN, "fast"), offer(), times=3000, hits=10)
    assert 0 < found[INDEX] < 3 * EXPLORE * 3000


def test_an_index_that_has_no_room_is_not_waited_for() -> None:
    assert not moves(Adaptive(PLAN, "fast"), offer(backlog=4))[INDEX]
    assert not moves(Adaptive(PLAN, "fast"), offer(window=None))[INDEX], "the table is here"


def test_balanced_adds_a_share_of_the_pages_at_most() -> None:
    """One request more than the share may be under way, as a batch of tuples goes together."""
    one = offer(pages=100, size=1)
    assert moves(Adaptive(PLAN), one)[INDEX] == SHARE * 100
    assert not moves(Adaptive(PLAN), offer(pages=0))[INDEX]
    assert moves(Adaptive(PLAN, "fast"), one)[INDEX] > 150


@pytest.mark.parametrize(
    ("plan", "free"),
    [
        (with_lookup(PLAN), True),
        (with_lookup(PLAN, scan_limiter=1), True),
        (with_lookup(PLAN, scan_limiter=0), False),
    ],
)
def test_what_serves_a_scan_is_not_free(plan: BlockPlan, free: bool) -> None:
    assert bool(moves(Adaptive(plan, "fast"), offer())[INDEX]) == free


def test_what_serves_a_lookup_that_tuples_need_is_not_free() -> None:
    third = table("k v", (0,), name="u")
    plan = block([*PLAN.tables, third], ["0.0 = 1.0", "0.1 = 2.0"])
    for ordinal, free in ((0, False), (1, True)):
        shared = with_lookup(plan)
        needed = replace(third, lookups=(replace(third.lookups[0], limiter=ordinal),))
        shared = replace(shared, tables=(*shared.tables[:2], needed))
        assert bool(moves(Adaptive(shared, "fast"), offer())[INDEX]) == free


@pytest.mark.parametrize(("prefer", "asks"), [("fast", True), ("balanced", False)])
def test_money_is_given_for_early_results_under_fast_alone(prefer: Preference, asks: bool) -> None:
    assert bool(moves(Adaptive(with_lookup(PLAN, price=0.1), prefer), offer())[INDEX]) == asks


def test_what_comes_of_them_teaches_of_the_probe_and_begins_nothing_anew() -> None:
    """The SteM fills, so that ever more tuples find their match: no reason to doubt all that is believed."""
    policy = Adaptive(PLAN, "fast")
    for hits in (0, 9):
        for _ in range(100):
            policy.observe(Outcome(NEW, INDEX, 10, hits, requests=1))
    assert policy.restarts == 0
    assert policy.beliefs.here(NEW, INDEX) is None
    assert policy.beliefs.expected(NEW, PROBE) > 0.3
