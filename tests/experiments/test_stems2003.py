"""The experiments of the SteM paper hold what they promise, on the real engine."""

from __future__ import annotations

import pytest

from fff_experiments import experiments
from fff_experiments.experiment import Findings, TrialRequest
from fff_experiments.judging import judge
from fff_experiments.writing import as_text

#: In real time ratios depend on what else the machine does: `fff experiment` runs these, tests do not.
VIRTUAL = ("S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-7", "S-8", "S-9", "S-11")


def held(name: str, seed: int) -> Findings:
    experiment = experiments()[name]
    judged = judge(experiment, TrialRequest(seed))
    findings = judged.findings
    assert findings.passed, as_text(experiment, judged)
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
    assert run(TrialRequest(3)) == run(TrialRequest(3)) != run(TrialRequest(4))


@pytest.mark.slow
def test_a_quick_one_holds_also_in_the_fast_tests():
    held("S-4", 1)


class TestBite:
    """What would be found if the engine were a toy."""

    def failed(self, name, control):
        return [
            check.claim
            for check in experiments()[name].run(TrialRequest(1, 0.1, control)).checks
            if not check.passed
        ]

    def test_a_cache_behind_the_index_would_not_be_taken_for_a_stem(self):
        assert len(self.failed("S-1", "index join")) == 4

    @pytest.mark.slow
    def test_a_hybrid_that_only_scans_does_not_follow_the_index_join(self):
        assert self.failed("S-4", "hash join") == [
            "the hybrid follows the index join early",
            "the policy of the paper, benefit over cost, does as well",
            "the default does as well under `fast` and `balanced`",
            "it keeps sending a small fraction of the tuples of R to the index",
        ]

    def test_without_priorities_prioritised_results_do_not_come_first(self):
        failed = self.failed("S-5", "nobody first")
        assert "prioritised results come mostly by the index" in failed
        assert "prioritised results come first" in failed
