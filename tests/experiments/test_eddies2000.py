"""The experiments of the eddies paper hold what they promise, and would not if the eddy were a toy."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from fff.policies.windowed_lottery import WindowedLottery
from fff.structs import replace
from fff_experiments import experiments
from fff_experiments.eddies2000 import delays, joins, selections
from fff_experiments.eddies2000.setups import Chain, naive, spread, static, two_selections
from fff_experiments.experiment import Findings, TrialRequest
from fff_experiments.judging import judge
from fff_experiments.writing import as_text

#: E11 runs most of the others many times.
NAMES = tuple(f"E{number}" for number in range(1, 15) if number != 11)


def held(name: str, seed: int, scale: float = 1.0) -> Findings:
    experiment = experiments()[name]
    judged = judge(experiment, TrialRequest(seed, scale))
    findings = judged.findings
    assert findings.passed, as_text(experiment, judged)
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
def test_one_seed_one_finding() -> None:
    for name in ("E4", "E8"):
        run = experiments()[name].run
        assert run(TrialRequest(3, 0.1)) == run(TrialRequest(3, 0.1)) != run(TrialRequest(4, 0.1))
    late = replace(joins.SELECTIVE_T, delay_r=delays.DELAY)
    one, same, other = (delays._stems(WindowedLottery(100), late, seed) for seed in (3, 3, 4))
    assert one == same != other


def test_quick_ones_hold_also_in_the_fast_tests() -> None:
    held("E8", 2, 0.2)
    held("E9", 2, 0.2)


class TestFluidModel:
    @pytest.mark.parametrize(("cost", "excess"), [(1, 0), (3, 0.023), (5, 0), (7, 0.029), (9, 0.015)])
    def test_costs(self, cost, excess) -> None:
        best = min(cost + 2.5, 5 + 0.5 * cost)
        assert selections.fluid((cost, 5.0), (0.5, 0.5))[0] / best - 1 == pytest.approx(excess, abs=5e-4)

    @pytest.mark.parametrize(
        ("passing", "cost", "share"), [(0.1, 6.79, 0.36), (0.5, 7.5, 0.5), (0.9, 9.17, 0.83)]
    )
    def test_selectivities(self, passing, cost, share) -> None:
        found = selections.fluid((5.0, 5.0), (passing, 0.5))
        assert found == pytest.approx((cost, share), abs=0.006)

    def test_is_what_a_naive_eddy_does(self) -> None:
        query = two_selections(1500, (2.0, 5.0), (0.5, 0.7), 5)
        cost, _ = selections.fluid((2.0, 5.0), (0.5, 0.7))
        assert naive(query, 5).time / 1500 == pytest.approx(cost, rel=0.03)


class TestSetups:
    def test_any_share_of_a_spread_is_exact(self) -> None:
        values = spread(1000, random.Random(1))
        assert [sum(value < share for value in values) for share in (0.1, 0.5, 0.9)] == [100, 500, 900]

    @pytest.mark.parametrize(
        ("chain", "rs", "st"),
        [
            (joins.INDEX_FIRST, 1.8, 0.1),
            (joins.HASH_FIRST, 0.2, 0.5),
            (joins.SELECTIVE_T, 1.0, 0.2),
            (joins.EXPANDING_T, 1.0, 1.8),
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
    """What would be found if eddies were toys."""

    def failed(self, name: str, control: str, scale: float) -> list[str]:
        return failed(experiments()[name].run(TrialRequest(1, scale, control)))

    def test_a_lottery_without_tickets_does_not_see_selectivities(self) -> None:
        assert "the lottery is near the best order" in self.failed("E2", "naive", 0.1)

    @pytest.mark.slow
    def test_a_static_plan_is_no_eddy(self) -> None:
        assert len(self.failed("E7", "pessimal", 1.0)) >= 3

    def test_an_eddy_that_does_not_follow_the_costs_does_not_drift(self) -> None:
        assert len(self.failed("E8", "no toggling", 0.2)) >= 2

    @pytest.mark.slow
    def test_without_p33_a_silent_source_passes_for_a_selective_one(self) -> None:
        found = self.failed("E10", "gullible", 1.0)
        assert found == ["SteMs and P33: a silent source does not pass for a selective one"]

    @pytest.mark.slow
    def test_an_eddy_that_learns_nothing_does_not_recover(self) -> None:
        found = self.failed("E10", "naive", 1.0)
        assert "it recovers when R comes" in found
        assert "so the optimum is not missed" in found
