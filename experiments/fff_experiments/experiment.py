"""What an experiment is, and what it finds: numbers, curves, and claims that hold or do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

#: Who works for whom: one processor that all modules share, a server of its own for each, or the machine's
#: own clock.
Resources = Literal["one shared CPU", "independent servers", "real time"]


@dataclass(frozen=True)
class TrialRequest:
    """One run of an experiment that is asked for.

    `scale`: the share of the full size; what is claimed is claimed of 1.0. `control`: one of the experiment's
    negative controls, which stands in for what the claims are about; none where it is empty.
    """

    seed: int = 1
    scale: float = 1.0
    control: str = ""

    def some(self, number: int, least: int = 1) -> int:
        """A number at this scale: of rows, of instances."""
        return max(least, round(self.scale * number))


@dataclass(frozen=True)
class Check:
    """One acceptance: what the paper claims, what must hold here, what was found.

    `shows`: what a claim shows that no negative control can fail, because it is about the set-up or about all
    plans alike.
    """

    claim: str
    wanted: str
    found: str
    passed: bool
    shows: str = ""


@dataclass(frozen=True)
class Curve:
    """One line of a plot; `x` and `y` have the same length."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Literal["line", "points", "steps", "dashed"] = "line"


@dataclass(frozen=True)
class Panel:
    """One pair of axes, drawn as the paper draws its figure."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Findings:
    """What one run of an experiment brought: a table, plots, acceptances."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    panels: tuple[Panel, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every acceptance holds."""
        return all(check.passed for check in self.checks)


@dataclass(frozen=True)
class Experiment:
    """One experiment: how it is called, where it comes from, what it claims, and how to run it.

    The same trial gives the same findings unless `resources` is "real time". `controls`: by name, what each
    negative control puts in the place of what the claims are about; each claim fails under one of them, or
    says what it shows.
    """

    name: str  # as typed: E1, O2, S-4, G1
    title: str
    source: str  # paper, section, figure
    resources: Resources
    claim: str
    run: Callable[[TrialRequest], Findings]
    controls: Mapping[str, str] = field(default_factory=dict)
    page_seeds: int = 5  # that the manual's page has of it
