"""The pacer keeps refreshing within its share, whatever refreshes cost."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fff.spark.refresh_pacer import FIRST_COST_S, SHARE, SHORTEST_GAP_S, RefreshPacer


def test_nothing_new_is_nothing_due() -> None:
    pacer = RefreshPacer(started=100.0)
    assert not pacer.due(1_000.0, 0)
    assert pacer.due(1_000.0, 1)


def test_the_first_refresh_waits_until_it_fits_the_share() -> None:
    pacer = RefreshPacer(started=100.0)
    first = FIRST_COST_S / SHARE - FIRST_COST_S
    assert not pacer.due(100.0 + first - 0.01, 5)
    assert pacer.due(100.0 + first + 0.01, 5)


def test_a_quiet_spell_is_not_paid_back_by_a_burst() -> None:
    pacer = RefreshPacer(started=0.0)
    assert pacer.due(1_000.0, 1)
    pacer.done(1_002.0, cost=2.0)
    assert not pacer.due(1_002.1, 10**6)
    assert pacer.wait(1_002.0) == 2.0 * (1 - SHARE) / SHARE
    assert pacer.due(1_010.0, 1)


def test_cheap_refreshes_still_keep_a_gap() -> None:
    pacer = RefreshPacer(started=0.0)
    pacer.done(100.0, cost=0.001)
    assert pacer.wait(100.0) == SHORTEST_GAP_S


@given(seed=st.integers(0, 2**32), dearest=st.floats(0.01, 5.0))
def test_refreshing_stays_within_its_share(seed: int, dearest: float) -> None:
    rng = random.Random(seed)
    pacer = RefreshPacer(started=50.0)
    now, spent, before = 50.0, 0.0, FIRST_COST_S
    for _ in range(200):
        now += rng.expovariate(5.0)
        if not pacer.due(now, rng.randrange(3)):
            continue
        cost = rng.uniform(0.0, dearest)
        now += cost
        spent += cost
        pacer.done(now, cost)
        # What a refresh costs beyond the last one cannot be known before; that much, and no more, may be owed.
        assert spent <= SHARE * (now - 50.0) + max(0.0, cost - before) + 1e-9
        before = cost
    assert pacer.spent == spent
