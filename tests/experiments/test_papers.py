"""The page that follows the papers part by part names only files and experiments that exist, and leaves no part out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff_experiments import experiments

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
TABLES = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
REQUIREMENTS = "Requirement by requirement"
PAPERS = {title: text for title, text in TABLES.items() if title != REQUIREMENTS}
#: What a system must have to be that of the papers, and the concepts and rules that its policies and joins rest on.
REQUIRED = [
    *(f"A{number}" for number in range(1, 8)),
    *(f"C{number}" for number in range(1, 8)),
    *("D1", "D2", "D4"),
    *(f"R{number}" for number in range(1, 10)),
    *(f"O-{letter}" for letter in "abcdefg"),
    *(f"T{number}" for number in range(1, 21)),
    *(f"K{number}" for number in range(1, 11)),
    *(f"H{number}" for number in range(1, 10)),
    *(f"F{number}" for number in range(1, 5)),
]
#: Sections that describe or measure something, and how many figures, tables and theorems there are.
EDDIES = [
    "1.1",
    "1.2",
    "2.1",
    "2.2",
    "2.2.1",
    "2.2.2",
    "2.2.3",
    "3.1",
    "3.1.1",
    "3.2",
    "4.1",
    "4.2",
    "4.3",
    "4.4",
    "4.5",
    "4.5.1",
]
OVERHEADS = ["2.1.1", "2.1.2", "2.1.3", "2.1.4", "2.2", "3.1", "3.2", "3.3", "3.4"]
STEMS = [
    "1.1",
    "2.1.1",
    "2.1.2",
    "2.1.3",
    "2.1.4",
    "2.2",
    "2.3",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "4.1",
    "4.2",
    "4.3",
    "4.4",
    "4.5",
    "4.6",
]
PARTS = {
    "Eddies, 2000": (EDDIES, {"Figure": 13, "Table": 1, "Theorem": 0}),
    "Overheads of eddies, 2003": (OVERHEADS, {"Figure": 7, "Table": 0, "Theorem": 0}),
    "State modules, 2003": (STEMS, {"Figure": 13, "Table": 3, "Theorem": 5}),
}


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines][2:]


def numbers(text: str, what: str) -> set[int]:
    """Of figures and the like: `Figure 3`, `Figures 5 and 6`, `Figures 7 to 9`."""
    found: set[int] = set()
    for first, joined, last in re.findall(rf"{what}s? (\d+)(?: (and|to) (\d+))?", text):
        found |= {int(first), *([int(last)] if joined else [])}
        if joined == "to":
            found |= set(range(int(first), int(last)))
    return found


def test_there_is_a_table_for_each_paper() -> None:
    assert list(PAPERS) == list(PARTS)


@pytest.mark.parametrize("paper", PARTS)
def test_no_part_is_left_out(paper) -> None:
    sections, counts = PARTS[paper]
    first = [cells[0] for cells in rows(PAPERS[paper])]
    told = {number for cell in first for number in re.findall(r"(?<![\w.])\d(?:\.\d)+(?![\w.])", cell)}
    assert set(sections) <= told
    for what, count in counts.items():
        assert numbers(" ".join(first), what) == set(range(1, count + 1)), what


@pytest.mark.parametrize("paper", PARTS)
def test_every_part_is_built_measured_or_said_to_be_missing(paper) -> None:
    for part, built, measured, missing in rows(PAPERS[paper]):
        assert built or measured or missing, part
        assert (built and measured) or missing or measured, f"{part}: built, and nobody looks"


def test_every_requirement_is_built_and_looked_at() -> None:
    told = [(part.split(" ")[0], built, measured) for part, built, measured, _ in rows(TABLES[REQUIREMENTS])]
    assert [name for name, _, _ in told] == REQUIRED
    assert [name for name, built, measured in told if not (built and measured)] == []


def test_the_files_and_experiments_that_are_named_exist() -> None:
    paths = set(re.findall(r"`((?:fff|tests|experiments|sources)/[\w./]*)`", PAGE))
    assert len(paths) > 80
    assert {path for path in paths if not (ROOT / path).exists()} == set()
    known = experiments()
    for table in TABLES.values():
        for _, _, measured, _ in rows(table):
            plain = re.sub(r"`[^`]*`|\([^)]*\)", "", measured)
            names = re.findall(r"[A-Z]-?\d+(?:rt)?", plain)
            assert set(names) <= known.keys()
            assert re.sub(r"[A-Z]-?\d+(?:rt)?|\bto\b|\bagain\b|[,\s]", "", plain) == "", measured


def test_every_experiment_of_the_papers_is_named() -> None:
    named = set(re.findall(r"[A-Z]-?\d+(?:rt)?", PAGE)) | {f"E{number}" for number in range(1, 11)}
    assert {name for name in experiments() if name not in named} <= {
        "G4",
        "G10",
        "G11",
        "G12",
        "G13",
        "G14",
    }, "ours, of no paper"
