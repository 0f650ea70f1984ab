"""The page of the experiments shows every one of them, with its plot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff.experiments import MODULES, experiments
from fff.experiments.writing import INTRODUCTION, sections

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "experiments.md").read_text(encoding="utf-8")


def test_there_is_a_section_for_every_experiment_in_order():
    assert list(sections(PAGE)) == list(experiments()), "`fff experiment NAME --docs docs` writes a section"
    assert PAGE.startswith(INTRODUCTION)


@pytest.mark.parametrize("name", list(experiments()))
def test_the_section_shows_claim_acceptances_and_plot(name):
    experiment, section = experiments()[name], sections(PAGE)[name]
    assert section.startswith(f"## {name}: {experiment.title}\n\n{experiment.source}. ")
    assert experiment.claim in section
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
