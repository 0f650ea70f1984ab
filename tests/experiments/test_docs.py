"""The page of the experiments shows every one of them, with its plot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff_experiments import MODULES, experiments
from fff_experiments.writing import INTRODUCTION, claimed_by, sections

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "experiments.md").read_text(encoding="utf-8")
POLICIES = (DOCS / "policies.md").read_text(encoding="utf-8")


def table(section: str, columns: str) -> list[list[str]]:
    """The rows of a table of a section, by how its heading begins."""
    _, _, rest = section.partition(f"\n| {columns} |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line[1:-1].replace("\\|", "/").split("|")] for line in lines]


def test_there_is_a_section_for_every_experiment_in_order():
    assert list(sections(PAGE)) == list(experiments()), "`fff experiment NAME --docs docs` writes a section"
    assert PAGE.startswith(INTRODUCTION)


@pytest.mark.parametrize("name", list(experiments()))
def test_claims_are_judged_with_several_seeds_and_can_fail(name):
    section, experiment = sections(PAGE)[name], experiments()[name]
    controls = experiment.controls
    if experiment.page_seeds > 1:
        [last] = re.findall(r"; seeds 1 to (\d+), what is shown is of seed 1", section)
        seeds = int(last)
        assert seeds >= 3, "a claim passes if it holds with most"
        claims = table(section, "claim | wanted | found |  | seeds | negative controls")
    else:
        seeds = 1
        rows = table(section, "claim | wanted | found |  | negative controls")
        claims = [[*row[:4], "1 of 1", row[4]] for row in rows]
    assert claims
    for claim, _, _, verdict, told, bite in claims:
        held, _, of = told.partition(" of ")
        assert (verdict, of) == ("pass", str(seeds)), claim
        assert 2 * int(held) > seeds, claim
        assert "fails under no control" not in bite or "; it shows " in bite, claim
    assert controls
    bites = {
        name
        for *_, bite in claims
        for name in bite.partition(";")[0].removeprefix("fails under ").split(", ")
    }
    for control, what in controls.items():
        harmless = "" if control in bites else "; fails no claim"
        assert f"- `{control}`: {what}{harmless}\n" in section


@pytest.mark.parametrize("name", re.findall(r"<!-- table (\S+) -->", POLICIES))
def test_the_tables_of_the_policies_are_those_of_the_experiments(name):
    [shown] = re.findall(rf"<!-- table {name} -->\n(.*?)\n<!-- end -->", POLICIES, re.DOTALL)
    assert f"\n{shown}\n" in sections(PAGE)[name]


def test_what_the_policies_page_says_of_an_experiment_has_its_numbers_there():
    shown = set(re.findall(r"<!-- table (\S+) -->", POLICIES))
    for line in POLICIES.splitlines():
        named = {name for name in experiments() if re.search(rf"(?<![\w-]){name}(?!\w)", line)}
        assert named <= shown or "](experiments.md)" in line, line


def test_shares_that_the_policies_page_measures_are_in_its_tables():
    """What was measured comes after the policy's own constants; a table that is written anew leaves no older figure behind."""
    _, _, measured = POLICIES.partition("## What is guaranteed, what was measured")
    tables = [line for line in measured.splitlines() if line.startswith("|")]
    prose = [line for line in measured.splitlines() if not line.startswith("|")]
    shown = {round(float(share)) for line in tables for share in re.findall(r"(-?[\d.]+) ?%", line)}
    bound = next(line for line in prose if line.startswith("- Joins have no acceptance"))
    for line in prose:
        told = {int(share) for share in re.findall(r"(\d+) %", line)}
        assert line == bound or told <= shown, line


@pytest.mark.parametrize("name", list(experiments()))
def test_the_section_shows_claim_acceptances_and_plot(name):
    experiment, section = experiments()[name], sections(PAGE)[name]
    assert section.startswith(f"## {name}: {experiment.title}\n\n{experiment.source}. ")
    assert f"\n{claimed_by(experiment)}: {experiment.claim}\n" in section
    assert f"Resources: {experiment.resources}" in section
    assert "**pass**" in section
    assert "FAIL" not in section
    assert "| pass |" in section
    [plot] = re.findall(r"!\[.*\]\((.*)\)", section)
    picture = (DOCS / plot).read_text(encoding="utf-8")
    assert "<svg" in picture
    assert len(picture) < 150_000, "small files"


def test_no_plot_is_left_over():
    shown = {f"{name}.svg" for name in experiments()}
    assert {path.name for path in (DOCS / "experiments").iterdir()} == shown


def test_names_are_those_of_the_papers():
    assert MODULES
    assert all(re.fullmatch(r"[A-Z]-?\d+(rt)?", name) for name in experiments())
