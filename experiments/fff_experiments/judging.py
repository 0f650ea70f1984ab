"""Experiments judged: with several seeds, and with negative controls under which claims have to fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fff.structs import replace
from fff_experiments.experiment import Experiment, Findings, TrialRequest


@dataclass(frozen=True)
class Judged:
    """What an experiment found in a trial, with other seeds, and under each negative control; by place in `checks`."""

    trial: TrialRequest
    findings: Findings
    others: Mapping[int, Findings]  # by seed
    controls: Mapping[str, Findings]

    @property
    def seeds(self) -> int:
        """With how many seeds it was run."""
        return 1 + len(self.others)

    def held(self, place: int) -> int:
        """With how many seeds a claim held."""
        return sum(one.checks[place].passed for one in (self.findings, *self.others.values()))

    def holds(self, place: int) -> bool:
        """Whether a claim held with most seeds: how many is told, and a claim about chance may miss its bound now and then."""
        return 2 * self.held(place) > self.seeds

    def bitten(self, place: int) -> list[str]:
        """The negative controls under which a claim fails."""
        return [name for name, one in self.controls.items() if not one.checks[place].passed]

    def fails(self, control: str) -> bool:
        """Whether some claim fails under a negative control: what is broken in it matters to no claim otherwise."""
        return not self.controls[control].passed

    @property
    def toothless(self) -> list[str]:
        """Claims that hold under every negative control and do not say what they then show."""
        return [
            check.claim
            for place, check in enumerate(self.findings.checks)
            if self.controls and not check.shows and not self.bitten(place)
        ]

    @property
    def passed(self) -> bool:
        """Whether every claim holds with most seeds, and can fail."""
        return all(map(self.holds, range(len(self.findings.checks)))) and not self.toothless


def judge(experiment: Experiment, trial: TrialRequest, *, seeds: int = 1, controls: bool = False) -> Judged:
    """Run a trial, the same with the seeds that follow, and the experiment's negative controls with the first seed."""
    findings = experiment.run(trial)
    later = range(trial.seed + 1, trial.seed + seeds)
    others = {seed: experiment.run(replace(trial, seed=seed)) for seed in later}
    names = experiment.controls if controls else ()
    broken = {name: experiment.run(replace(trial, control=name)) for name in names}
    sizes = {len(one.checks) for one in (findings, *others.values(), *broken.values())}
    assert len(sizes) == 1, f"{experiment.name} does not always make the same claims"
    return Judged(trial, findings, others, broken)
