"""The experiments of the eddies paper hold what they promise, and would not if the eddy were a toy."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fff.experiments import delays2000, dynamics2000, experiments, joins2000, selections2000
from fff.experiments.experiment import Findings
from fff.experiments.setups2000 import Chain, naive, spread, static, two_selections
from fff.experiments.writing import as_text
from fff.policies.naive import Naive
from fff.policies.windowed_lottery import WindowedLottery

NAMES = tuple(f"E{number}" for number in range(1, 11))


def held(name: str, seed: int) -> Findings:
    experiment = experiments()[name]
    findings = experiment.run(seed)
    assert findings.passed, as_text(experiment, findings)
    assert findings.rows
    assert all(len(row) == len(findings.columns) for row in findings.rows)
    assert all(len(curve.x) == len(curve.y) > 0 for panel in findings.panels for curve in panel.curves)
    return findings


def failed(findings: Findings) -> list[str]:
    return [check.claim for check in findings.checks if not check.passed]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_acceptance_holds(name) -> None:
    held(name, 1)


@pytest.mark.slow
def test_one_seed_one_finding(monkeypatch) -> None:
    monkeypatch.setattr(selections2000, "TUPLES", 500)
    for name in ("E4", "E8"):
        run = experiments()[name].run
        assert run(3) == run(3) != run(4)
    one, same, other = (delays2000._stems(WindowedLottery(100), seed) for seed in (3, 3, 4))
    assert one == same != other


def test_quick_ones_hold_also_in_the_fast_tests(monkeypatch) -> None:
    monkeypatch.setattr(dynamics2000, "TOGGLED", 800)
    monkeypatch.setattr(dynamics2000, "QUARTER", 200)
    held("E8", 2)
    held("E9", 2)


class TestFluidModel:
    @pytest.mark.parametrize(("cost", "excess"), [(1, 0), (3, 0.023), (5, 0), (7, 0.029), (9, 0.015)])
    def test_costs(self, cost, excess) -> None:
        best = min(cost + 2.5, 5 + 0.5 * cost)
        assert selections2000.fluid((cost, 5.0), (0.5, 0.5))[0] / best - 1 == pytest.approx(excess, abs=5e-4)

    @pytest.mark.parametrize(
        ("passing", "cost", "share"), [(0.1, 6.79, 0.36), (0.5, 7.5, 0.5), (0.9, 9.17, 0.83)]
    )
    def test_selectivities(self, passing, cost, share) -> None:
        found = selections2000.fluid((5.0, 5.0), (passing, 0.5))
        assert found == pytest.approx((cost, share), abs=0.006)

    def test_is_what_a_naive_eddy_does(self) -> None:
        query = two_selections(1500, (2.0, 5.0), (0.5, 0.7), 5)
        cost, _ = selections2000.fluid((2.0, 5.0), (0.5, 0.7))
        assert naive(query, 5).time / 1500 == pytest.approx(cost, rel=0.03)


class TestSetups:
    def test_any_share_of_a_spread_is_exact(self) -> None:
        values = spread(1000, random.Random(1))
        assert [sum(value < share for value in values) for share in (0.1, 0.5, 0.9)] == [100, 500, 900]

    @pytest.mark.parametrize(
        ("chain", "rs", "st"),
        [
            (joins2000.INDEX_FIRST, 1.8, 0.1),
            (joins2000.HASH_FIRST, 0.2, 0.5),
            (joins2000.SELECTIVE_T, 1.0, 0.2),
            (joins2000.EXPANDING_T, 1.0, 1.8),
        ],
    )
    def test_joins_have_their_selectivities_with_respect_to_s(self, chain: Chain, rs, st) -> None:
        r, s, t = chain.rows(3)
        in_r, in_t = Counter(row[0] for row in r), Counter(row[0] for row in t)
        assert sum(in_r[row[0]] for row in s) / len(s) == pytest.approx(rs, rel=0.06)
        assert sum(in_t[row[1]] for row in s) / len(s) == pytest.approx(st, rel=0.06)

    def test_static_plans_cost_what_arithmetic_says(self) -> None:
        query = two_selections(200, (2.0, 5.0), (0.5, 0.1), 0)
        assert static(query, "s1", "s2").time == pytest.approx(200 * 2 + 100 * 5)
        assert static(query, "s2", "s1").time == pytest.approx(200 * 5 + 20 * 2)


class TestBite:
    """What would be found if eddies were toys: each acceptance can fail."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(selections2000, "TUPLES", 600)
        monkeypatch.setattr(selections2000, "DRAWS", 1)
        selections2000._by_selectivity.cache_clear()
        yield
        selections2000._by_selectivity.cache_clear()

    @pytest.mark.slow
    def test_a_lottery_without_tickets_does_not_see_selectivities(self, monkeypatch) -> None:
        monkeypatch.setattr(selections2000, "lottery", naive)
        assert "the lottery is near the best order" in failed(selections2000.selectivities(1))
        assert "the lottery adapts" in failed(selections2000.tuple_flow(1))

    @pytest.mark.slow
    def test_a_static_plan_is_no_eddy(self, monkeypatch) -> None:
        monkeypatch.setattr(dynamics2000, "remote", lambda query, *_: static(query, "FA", "FB", remote=True))
        found = failed(dynamics2000.swapping_costs(1))
        assert len(found) == 3

    def test_an_eddy_that_does_not_follow_the_costs_does_not_drift(self, monkeypatch) -> None:
        monkeypatch.setattr(dynamics2000, "TOGGLED", 800)
        monkeypatch.setattr(dynamics2000, "QUARTER", 200)
        monkeypatch.setattr(dynamics2000, "DEAR", dynamics2000.CHEAP)
        assert len(failed(dynamics2000.toggling_costs(1))) >= 2

    @pytest.mark.slow
    def test_without_p33_a_silent_source_passes_for_a_selective_one(self, monkeypatch) -> None:
        monkeypatch.setattr(
            delays2000,
            "_stems",
            lambda policy, seed, gullible=True, real=delays2000._stems: real(policy, seed, gullible=True),
        )
        found = failed(delays2000.delayed_source(1))
        assert found == ["SteMs and P33: a silent source does not pass for a selective one"]

    @pytest.mark.slow
    def test_an_eddy_that_learns_nothing_does_not_recover(self, monkeypatch) -> None:
        monkeypatch.setattr(delays2000, "lottery", lambda query, seed, _: naive(query, seed))
        monkeypatch.setattr(delays2000, "WindowedLottery", lambda _: Naive())
        found = failed(delays2000.delayed_source(1))
        assert "it recovers when R comes" in found
        assert "so the optimum is not missed" in found
