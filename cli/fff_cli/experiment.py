"""`fff experiment`: re-runs the papers' experiments, prints what they found, writes numbers and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fff.errors import UsageError
from fff.experiments import choose, experiments, plotting, writing
from fff.experiments.experiment import Experiment, Findings
from fff_cli.progress import say

FAILED = 1


def list_experiments() -> int:
    """Print the name, source, resources and title of each experiment."""
    rows = [(known.name, known.source, known.resources, known.title) for known in experiments().values()]
    print(writing.plain_table(("name", "source", "resources", "title"), rows))
    return 0


def run_experiments(names: Sequence[str], *, seed: int, folder: Path, docs: Path | None) -> int:
    """Run them one after another; 0 if every acceptance holds.

    Args:
        names: which; all without any.
        seed: of all of them.
        folder: where NAME.md, .csv, .json, .png and .svg go.
        docs: instead of all that, rewrite their sections of DIR/experiments.md and their plots in DIR/experiments.

    Raises:
        UsageError: no experiment of that name; a folder that cannot be written; no plots for the manual.
    """
    chosen = choose(names)
    plots = plotting.can_plot()
    if docs is not None and not plots:
        raise UsageError("the manual has plots, and matplotlib is not installed", hint=_HOW_TO_PLOT)
    target = folder if docs is None else docs / "experiments"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
    failed = []
    for experiment in chosen:
        findings = experiment.run(seed)
        print(writing.as_text(experiment, findings), flush=True)
        if docs is None:
            _write(experiment, findings, seed=seed, folder=folder, plots=plots)
        else:
            _document(experiment, findings, seed=seed, docs=docs)
        if not findings.passed:
            failed.append(experiment.name)
    if not plots:
        say(f"no plots: {_HOW_TO_PLOT}")
    held = len(chosen) - len(failed)
    say(f"{held} of {len(chosen)} experiments pass" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return FAILED if failed else 0


_HOW_TO_PLOT = "they need the extra packages of pip install 'fff[plots]'"


def _write(experiment: Experiment, findings: Findings, *, seed: int, folder: Path, plots: bool) -> None:
    if plots:
        plotting.draw(experiment, findings, folder, ("png", "svg"))
    plot = f"{experiment.name}.svg" if plots else None
    writing.write_numbers(experiment, findings, seed=seed, folder=folder, plot=plot)


def _document(experiment: Experiment, findings: Findings, *, seed: int, docs: Path) -> None:
    plotting.draw(experiment, findings, docs / "experiments", ("svg",))
    page = docs / "experiments.md"
    found = writing.sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    plot = f"experiments/{experiment.name}.svg"
    found[experiment.name] = writing.as_markdown(experiment, findings, seed=seed, plot=plot)
    page.write_text(writing.page_of(list(experiments()), found), encoding="utf-8")
