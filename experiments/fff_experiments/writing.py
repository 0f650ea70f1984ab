"""What an experiment found, as text, Markdown, CSV and JSON; and the page of the manual that shows all of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fff.structs import lazy_pattern
from fff_experiments.experiment import Experiment, Findings
from fff_experiments.judging import Judged

#: What the page of the manual says before its first experiment; sections follow, one for each, headed by its
#: name.
INTRODUCTION = """\
# The papers' experiments, re-run

Each section is one experiment: what the paper claims, what must hold here, what was found, and the plot. The page is written
by `make experiments`, and one section of it by `fff experiment NAME --docs docs`; `fff experiment` alone re-runs everything
and writes the numbers to `./experiments` ([the command](cli.md#fff-experiment)). Where the papers' sections are built and
measured, and what is missing, is in [papers.md](papers.md).

*Seeds* says with how many seeds, five as a rule, a claim holds; what is found and shown is of the first. A claim passes if it
holds with most. *Negative controls* are the same experiment with something broken in the place of what the claim is about,
as a claim that cannot fail says nothing. Where no control fails a claim, because it is about the set-up or about all plans
alike, it says what it then shows.

*Resources* says who works for whom: with **one shared CPU** all modules take turns on one processor; with **independent
servers** each access method has a server of its own and the engine's own work takes no time; **real time** is this
machine's clock, so that the figures differ from run to run. Everything else runs in virtual time, where one seed gives one run,
whatever the machine. SteMs are those of the real engine, core and runtime, over simulated sources (`fff/simulation`), but for
S-7 to S-9, which have their own (`experiments/fff_experiments/statemodules`); join modules are those of the eddy of 2000
(`experiments/fff_experiments/classic`).
"""

_PAPERS = ("Eddies 2000", "Overheads 2003", "SteMs 2003")
_HEADING = lazy_pattern(r"^## (?P<name>\S+): ", re.MULTILINE)


def cell(value: object) -> str:
    """A value of the table as text: floats to four significant digits."""
    if isinstance(value, float):
        text = f"{value:.4g}"
        return f"{value:,.0f}" if "e+" in text else text
    return str(value)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """An aligned table: numbers to the right."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [
        max(len(title), *(len(row[index]) for row in cells), 0) if cells else len(title)
        for index, title in enumerate(columns)
    ]
    right = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(columns))]

    def line(texts: Sequence[str]) -> str:
        parts = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, cells)])


def verdict(judged: Judged, place: int) -> str:
    """`pass` or `FAIL`."""
    return "pass" if judged.holds(place) else "FAIL"


def as_text(experiment: Experiment, judged: Judged) -> str:
    """What a terminal shows: the table, then each acceptance."""
    findings = judged.findings
    lines = [
        f"{experiment.name}: {experiment.title}  [{experiment.source}; {experiment.resources}]",
        "",
        plain_table(findings.columns, findings.rows),
        "",
    ]
    for place, check in enumerate(findings.checks):
        lines += [
            f"{verdict(judged, place)}  {check.claim}",
            f"      wanted: {check.wanted}",
            f"      found:  {check.found}",
        ]
        if judged.seeds > 1:
            lines.append(f"      holds with {judged.held(place)} of {judged.seeds} seeds")
        if judged.controls:
            lines.append(f"      {_bite(judged, place)}")
    lines += [f"CANNOT FAIL  {claim}" for claim in judged.toothless]
    lines += [f"note: {note}" for note in findings.notes]
    return "\n".join(lines) + "\n"


def _bite(judged: Judged, place: int) -> str:
    """Under which controls a claim fails, and what it shows where there is none."""
    names = judged.bitten(place)
    fails = f"fails under {', '.join(names)}" if names else "fails under no control"
    shows = judged.findings.checks[place].shows
    return f"{fails}; it shows {shows}" if shows else fails


def claimed_by(experiment: Experiment) -> str:
    """What stands before its claim: not all of them are those of a paper."""
    return "The paper's claim" if experiment.source.startswith(_PAPERS) else "What is claimed"


def as_markdown(experiment: Experiment, judged: Judged, *, plot: str | None) -> str:
    """One section of a page: claim, acceptances, table, and the plot where there is one (a path beside the page)."""
    findings, trial = judged.findings, judged.trial
    seeds = f"seed {trial.seed}"
    if judged.seeds > 1:
        seeds = (
            f"seeds {trial.seed} to {trial.seed + judged.seeds - 1}, what is shown is of seed {trial.seed}"
        )
    size = "" if trial.scale == 1 else f"; at {trial.scale:g} of the full size"
    columns, rows = ["claim", "wanted", "found", ""], []
    if judged.seeds > 1:
        columns.append("seeds")
    if judged.controls:
        columns.append("negative controls")
    for place, check in enumerate(findings.checks):
        cells = [check.claim, check.wanted, check.found, verdict(judged, place)]
        if judged.seeds > 1:
            cells.append(f"{judged.held(place)} of {judged.seeds}")
        if judged.controls:
            cells.append(_bite(judged, place))
        rows.append(cells)
    lines = [
        f"## {experiment.name}: {experiment.title}",
        "",
        f"{experiment.source}. Resources: {experiment.resources}; {seeds}{size}. **{'pass' if judged.passed else 'FAIL'}**",
        "",
        f"{claimed_by(experiment)}: {experiment.claim}",
        "",
        *_markdown_table(columns, rows),
        "",
    ]
    if judged.controls:
        lines += ["Negative controls, with the first seed:", ""]
        for name in judged.controls:
            harmless = "" if judged.fails(name) else "; fails no claim"
            lines.append(f"- `{name}`: {experiment.controls[name]}{harmless}")
        lines.append("")
    if plot is not None:
        lines += [f"![{experiment.name}: {experiment.title}]({plot})", ""]
    lines += [*_markdown_table(findings.columns, findings.rows), ""]
    for note in findings.notes:
        lines += [note, ""]
    return "\n".join(lines)


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    def line(values: Sequence[object]) -> str:
        return f"| {' | '.join(cell(value).replace('|', chr(92) + '|') for value in values)} |"

    return [line(columns), f"|{' --- |' * len(columns)}", *map(line, rows)]


def as_csv(findings: Findings) -> str:
    """The table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(findings.columns)
    writer.writerows(findings.rows)
    return text.getvalue()


def as_json(experiment: Experiment, judged: Judged) -> str:
    """Everything, curves included; of other seeds and of controls which claims held, in the order of `checks`."""

    def held(findings: Findings) -> list[bool]:
        return [check.passed for check in findings.checks]

    document = {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "resources": experiment.resources,
        "claim": experiment.claim,
        "seed": judged.trial.seed,
        "scale": judged.trial.scale,
        "passed": judged.passed,
        "other_seeds": {seed: held(one) for seed, one in judged.others.items()},
        "controls": {name: held(one) for name, one in judged.controls.items()},
        "cannot_fail": judged.toothless,
        **asdict(judged.findings),
    }
    return json.dumps(document, indent=1, default=_plain) + "\n"


def _plain(value: object) -> object:
    """Numbers of NumPy as floats, sequences of any kind as lists."""
    return list(value) if isinstance(value, Sequence) else float(value)  # type: ignore[arg-type]


def write_numbers(experiment: Experiment, judged: Judged, *, folder: Path, plot: str | None) -> None:
    """Write NAME.md, NAME.csv and NAME.json; the folder exists."""
    texts = {
        "md": as_markdown(experiment, judged, plot=plot),
        "csv": as_csv(judged.findings),
        "json": as_json(experiment, judged),
    }
    for ending, text in texts.items():
        (folder / f"{experiment.name}.{ending}").write_text(text, encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The sections of a page that `page_of` wrote, by the name of their experiment."""
    starts = list(_HEADING.finditer(page))
    ends = [*(start.start() for start in starts[1:]), len(page)]
    return {start["name"]: page[start.start() : end] for start, end in zip(starts, ends, strict=True)}


def page_of(known: Sequence[str], sections: Mapping[str, str]) -> str:
    """The page of the manual: the introduction, then the sections that are there, in the order of `known`."""
    return "\n".join(
        [INTRODUCTION, *(sections[name].rstrip("\n") + "\n" for name in known if name in sections)]
    )


def with_table(page: str, experiment: Experiment, findings: Findings) -> str:
    """A page with the experiment's table anew between `<!-- table NAME -->` and `<!-- end -->`, where it has these."""
    table = "\n".join(_markdown_table(findings.columns, findings.rows))
    mark = f"<!-- table {experiment.name} -->"
    pattern = re.compile(rf"{re.escape(mark)}\n.*?<!-- end -->", re.DOTALL)
    return pattern.sub(lambda _: f"{mark}\n{table}\n<!-- end -->", page)
