"""The papers' experiments, re-run: each a table, a plot, a claim and its acceptance (`fff experiment`).

A module of experiments says what it has in `EXPERIMENTS` and is named here; it is imported when somebody asks.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from fff.errors import UsageError
from fff.experiments.experiment import Experiment

#: In the order of the papers.
MODULES: tuple[str, ...] = (
    "fff.experiments.selections2000",
    "fff.experiments.joins2000",
    "fff.experiments.dynamics2000",
    "fff.experiments.delays2000",
    "fff.experiments.stems2003",
    "fff.experiments.hybrids2003",
    "fff.experiments.realtime2003",
    "fff.experiments.overheads2003",
    "fff.experiments.regret",
    "fff.experiments.regret_memory",
    "fff.experiments.regret_parallel",
)


def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, in order."""
    found: dict[str, Experiment] = {}
    for module in MODULES:
        some: Sequence[Experiment] = importlib.import_module(module).EXPERIMENTS
        for experiment in some:
            assert experiment.name not in found, f"two experiments are called {experiment.name}"
            found[experiment.name] = experiment
    return found


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, whatever their case, in the order given, each once; all of them without names.

    Raises:
        UsageError: there is no experiment of one of the names.
    """
    known = experiments()
    by_name = {name.lower(): experiment for name, experiment in known.items()}
    for name in names:
        if name.lower() not in by_name:
            raise UsageError(f"no experiment is called {name!r}", hint=f"there are: {', '.join(known)}")
    wanted = dict.fromkeys(name.lower() for name in names)
    return [by_name[name] for name in wanted] if wanted else list(known.values())
