"""What `fff experiment` does: experiments one after another, their numbers and plots written, or the manual's pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fff.errors import UsageError
from fff.version import how_to_install
from fff_experiments import choose, experiments, plotting, writing
from fff_experiments.experiment import Experiment, TrialRequest
from fff_experiments.judging import Judged, judge


def listing() -> str:
    """The name, source, resources and title of each experiment, as a table of plain text."""
    rows = [(known.name, known.source, known.resources, known.title) for known in experiments().values()]
    return writing.plain_table(("name", "source", "resources", "title"), rows)


def run(
    names: Sequence[str],
    *,
    seed: int,
    scale: float,
    seeds: int | None,
    controls: bool | None,
    folder: Path,
    docs: Path | None,
    show: Callable[[str], None],
    say: Callable[[str], None],
) -> bool:
    """Run them one after another; whether every acceptance holds with most seeds, and can fail.

    Args:
        names: which; all without any.
        seed: the first one.
        scale: the size, as a share of the full one.
        seeds: how many; without a number as many as the manual's page has, or 1.
        controls: whether negative controls are run; if nothing is said, for the manual.
        folder: where NAME.md, .csv, .json, .png and .svg go.
        docs: instead of all that, rewrite their sections of DIR/experiments.md and their plots in
            DIR/experiments.
        show: takes what each experiment found.
        say: takes how it went on the whole.

    Raises:
        UsageError: no experiment of that name; a folder that cannot be written; no plots for the manual.
    """
    chosen = choose(names)
    plots = plotting.can_plot()
    if docs is not None and not plots:
        raise UsageError(
            "the manual has plots, and matplotlib is not installed", hint=how_to_install("plots")
        )
    target = folder if docs is None else docs / "experiments"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}") from error
    failed = []
    for experiment in chosen:
        judged = judge(
            experiment,
            TrialRequest(seed, scale),
            seeds=seeds or (1 if docs is None else experiment.page_seeds),
            controls=docs is not None if controls is None else controls,
        )
        show(writing.as_text(experiment, judged))
        if docs is None:
            _write(experiment, judged, folder=folder, plots=plots)
        else:
            _document(experiment, judged, docs=docs)
        if not judged.passed:
            failed.append(experiment.name)
    if not plots:
        say(f"no plots: they need the extra packages of {how_to_install('plots')}")
    held = len(chosen) - len(failed)
    say(f"{held} of {len(chosen)} experiments pass" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return not failed


def _write(experiment: Experiment, judged: Judged, *, folder: Path, plots: bool) -> None:
    if plots:
        plotting.draw(experiment, judged.findings, folder, ("png", "svg"))
    plot = f"{experiment.name}.svg" if plots else None
    writing.write_numbers(experiment, judged, folder=folder, plot=plot)


def _document(experiment: Experiment, judged: Judged, *, docs: Path) -> None:
    plotting.draw(experiment, judged.findings, docs / "experiments", ("svg",))
    page = docs / "experiments.md"
    sections = writing.sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    plot = f"experiments/{experiment.name}.svg"
    sections[experiment.name] = writing.as_markdown(experiment, judged, plot=plot)
    page.write_text(writing.page_of(list(experiments()), sections), encoding="utf-8")
    policies = docs / "policies.md"
    if policies.exists():
        text = policies.read_text(encoding="utf-8")
        policies.write_text(writing.with_table(text, experiment, judged.findings), encoding="utf-8")
