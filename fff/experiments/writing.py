"""What an experiment found, as text, Markdown, CSV and JSON; and the page of the manual that shows all of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fff.experiments.experiment import Check, Experiment, Findings

#: What the page of the manual says before its first experiment; sections follow, one for each, headed by its name.
INTRODUCTION = """\
# The papers' experiments, re-run

Each section is one experiment: what the paper claims, what must hold here, what was found, and the plot. The page is written
by `make experiments`, and one section of it by `fff experiment NAME --docs docs`; `fff experiment` alone re-runs everything
and writes the numbers to `./experiments` ([the command](cli.md#fff-experiment)).

*Resources* says who works for whom: with **one shared CPU** all modules take turns on one processor; with **independent
servers** each access method has a server of its own and the engine's own work takes no time; **real time** is this
machine's clock, so that the figures differ from run to run. Everything else runs in virtual time, where one seed gives one run,
whatever the machine. SteMs are those of the real engine, core and runtime, over simulated sources (`fff/simulation`); join
modules are those of the eddy of 2000 (`fff/classic`).
"""

_HEADING = re.compile(r"^## (?P<name>\S+): ", re.MULTILINE)


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


def verdict(check: Check) -> str:
    """`pass` or `FAIL`."""
    return "pass" if check.passed else "FAIL"


def as_text(experiment: Experiment, findings: Findings) -> str:
    """What a terminal shows: the table, then each acceptance."""
    lines = [
        f"{experiment.name}: {experiment.title}  [{experiment.source}; {experiment.resources}]",
        "",
        plain_table(findings.columns, findings.rows),
        "",
    ]
    for check in findings.checks:
        lines += [
            f"{verdict(check)}  {check.claim}",
            f"      wanted: {check.wanted}",
            f"      found:  {check.found}",
        ]
    lines += [f"note: {note}" for note in findings.notes]
    return "\n".join(lines) + "\n"


def as_markdown(experiment: Experiment, findings: Findings, *, seed: int, plot: str | None) -> str:
    """One section of a page: claim, acceptances, table, and the plot where there is one (a path beside the page)."""
    lines = [
        f"## {experiment.name}: {experiment.title}",
        "",
        f"{experiment.source}. Resources: {experiment.resources}; seed {seed}. **{'pass' if findings.passed else 'FAIL'}**",
        "",
        f"The paper's claim: {experiment.claim}",
        "",
        *_markdown_table(
            ("claim", "wanted", "found", ""),
            [(check.claim, check.wanted, check.found, verdict(check)) for check in findings.checks],
        ),
        "",
    ]
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


def as_json(experiment: Experiment, findings: Findings, *, seed: int) -> str:
    """Everything, curves included."""
    told = {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "resources": experiment.resources,
        "claim": experiment.claim,
        "seed": seed,
        "passed": findings.passed,
        **asdict(findings),
    }
    return json.dumps(told, indent=1, default=float) + "\n"


def write_numbers(
    experiment: Experiment, findings: Findings, *, seed: int, folder: Path, plot: str | None
) -> None:
    """Write NAME.md, NAME.csv and NAME.json; the folder exists."""
    texts = {
        "md": as_markdown(experiment, findings, seed=seed, plot=plot),
        "csv": as_csv(findings),
        "json": as_json(experiment, findings, seed=seed),
    }
    for ending, text in texts.items():
        (folder / f"{experiment.name}.{ending}").write_text(text, encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The sections of a page that `page_of` wrote, by the name of their experiment."""
    starts = list(_HEADING.finditer(page))
    ends = [*(start.start() for start in starts[1:]), len(page)]
    return {start["name"]: page[start.start() : end] for start, end in zip(starts, ends, strict=True)}


def page_of(known: Sequence[str], found: Mapping[str, str]) -> str:
    """The page of the manual: the introduction, then the sections that are there, in the order of `known`."""
    return "\n".join([INTRODUCTION, *(found[name].rstrip("\n") + "\n" for name in known if name in found)])
