"""The experiments of the SteM paper hold what they promise, on the real engine."""

from __future__ import annotations

import pytest

from fff.experiments import experiments, hybrids2003, stems2003
from fff.experiments.experiment import Findings
from fff.experiments.writing import as_text

#: In real time ratios depend on what else the machine does: `fff experiment` runs these, tests do not.
VIRTUAL = ("S-1", "S-2", "S-3", "S-4", "S-5")


def held(name: str, seed: int) -> Findings:
    experiment = experiments()[name]
    findings = experiment.run(seed)
    assert findings.passed, as_text(experiment, findings)
    assert findings.rows
    assert all(len(row) == len(findings.columns) for row in findings.rows)
    assert all(len(curve.x) == len(curve.y) > 1 for panel in findings.panels for curve in panel.curves)
    return findings


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 7])
@pytest.mark.parametrize("name", VIRTUAL)
def test_every_acceptance_holds(name, seed):
    held(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["S-3", "S-5"])
def test_one_seed_one_finding(name):
    run = experiments()[name].run
    assert run(3) == run(3) != run(4)


@pytest.mark.slow
def test_a_quick_one_holds_also_in_the_fast_tests():
    held("S-4", 1)


class TestBite:
    """What would be found if the engine were a toy: each acceptance can fail."""

    def test_a_cache_behind_the_index_would_not_be_taken_for_a_stem(self, monkeypatch):
        monkeypatch.setattr(stems2003, "SEEDS", 1)
        monkeypatch.setattr(stems2003, "_q1_stem", stems2003._q1_join)
        assert not stems2003._q1(1).passed

    @pytest.mark.slow
    def test_a_hybrid_that_only_scans_does_not_follow_the_index_join(self, monkeypatch):
        def scans_only(seed, policy=None):
            sql = "SELECT R.key, R.a FROM R, W WHERE R.key = W.key"
            return hybrids2003.run_block(sql, hybrids2003.tables(seed), policy="fixed", seed=seed)

        monkeypatch.setattr(hybrids2003, "_hybrid", scans_only)
        failed = [check.claim for check in hybrids2003._q4(1).checks if not check.passed]
        assert failed == [
            "the hybrid follows the index join early",
            "the policy of the paper, benefit over cost, does as well",
        ]

    def test_without_priorities_prioritised_results_do_not_come_first(self, monkeypatch):
        monkeypatch.setattr(hybrids2003, "PRIORITIZED", "W.key < 0")
        failed = [check.claim for check in hybrids2003._q5(1).checks if not check.passed]
        assert "prioritised results come mostly by the index" in failed
        assert "prioritised results come first" in failed
