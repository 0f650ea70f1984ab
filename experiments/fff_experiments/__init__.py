"""The papers' experiments, re-run: each a table, a plot, a claim and its acceptance (`fff experiment`).

In: a seed, a size, perhaps a negative control.
Out: findings: numbers, curves, and claims that hold or do not.

    broken          Policies that negative controls put in the place of those that claims are about.
    classic/        The eddies of 2000 (Avnur & Hellerstein) and of 2003 (Deshpande, synchronous)
    command         What `fff experiment` does
    eddies2000/     E1 to E14: the figures of Avnur & Hellerstein (2000).
    experiment      What an experiment is, and what it finds
    judging         Experiments judged: with several seeds
    overheads2003/  O1 to O3: what routing costs where there is nothing to gain by it (Deshpande 2003).
    plotting        Plots in the manner of the papers' figures
    regret/         G1 to G14: what policies spend above a clairvoyant.
    statemodules/   State modules beyond the real engine's: on a disk, unbuilt, over several tables.
    stems2003/      S-1 to S-11: Raman, Deshpande & Hellerstein (2003).
    writing         What an experiment found, as text, Markdown, CSV and JSON

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from fff.errors import UsageError
from fff_experiments.experiment import Experiment

#: In the order of the papers.
MODULES: tuple[str, ...] = (
    "fff_experiments.eddies2000.selections",
    "fff_experiments.eddies2000.joins",
    "fff_experiments.eddies2000.dynamics",
    "fff_experiments.eddies2000.delays",
    "fff_experiments.eddies2000.fitted",
    "fff_experiments.eddies2000.operators",
    "fff_experiments.eddies2000.odds",
    "fff_experiments.eddies2000.algorithms",
    "fff_experiments.stems2003.stems",
    "fff_experiments.stems2003.hybrids",
    "fff_experiments.stems2003.turning",
    "fff_experiments.stems2003.spilling",
    "fff_experiments.stems2003.storing",
    "fff_experiments.stems2003.structures",
    "fff_experiments.stems2003.rivals",
    "fff_experiments.stems2003.realtime",
    "fff_experiments.overheads2003.overheads",
    "fff_experiments.regret.filters",
    "fff_experiments.regret.memory",
    "fff_experiments.regret.parallel",
    "fff_experiments.regret.hosts",
    "fff_experiments.regret.clock",
    "fff_experiments.regret.engine",
    "fff_experiments.regret.self_audit",
)


def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, in order."""
    by_name: dict[str, Experiment] = {}
    for module in MODULES:
        some: Sequence[Experiment] = importlib.import_module(module).EXPERIMENTS
        for experiment in some:
            assert experiment.name not in by_name, f"two experiments are called {experiment.name}"
            by_name[experiment.name] = experiment
    return by_name


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
