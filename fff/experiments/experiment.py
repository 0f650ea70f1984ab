"""What an experiment is, and what it finds: numbers, curves, and claims that hold or do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

#: Who works for whom: one processor that all modules share, a server of its own for each, or the machine's own clock.
Resources = Literal["one shared CPU", "independent servers", "real time"]


@dataclass(frozen=True)
class Check:
    """One acceptance: what the paper claims, what must hold here, what was found."""

    claim: str
    wanted: str
    found: str
    passed: bool


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

    `run` takes a seed; the same seed gives the same findings unless `resources` is "real time".
    """

    name: str  # as typed: E1, O2, S-4, G1
    title: str
    source: str  # paper, section, figure
    resources: Resources
    claim: str
    run: Callable[[int], Findings]
