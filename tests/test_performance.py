"""The page of ratios is what was measured, and a ratio above its bar fails the check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.growth import GROWTHS, Growth
from benchmarks.performance import DOCS, MEASURES, Measure, Result, main, page


def test_the_page_shows_what_was_measured_and_nothing_above_its_bar() -> None:
    data = json.loads((DOCS / "performance.json").read_text("utf-8"))
    results = [Result(**one) for one in data["ratios"]]
    grown = [Growth(**one) for one in data["growth"]]
    assert (DOCS / "performance.md").read_text("utf-8") == page(results, grown)
    assert [(one.name, one.base, *one.ratios) for one in grown] == [
        (name, base, *(f"{size:,}" for size in sizes)) for name, _, base, sizes in GROWTHS
    ]
    promised = [(one.name, one.against, one.bar, one.target) for one in MEASURES]
    assert [(one.name, one.against, one.bar, one.target) for one in results] == promised
    assert all(one.kept for one in results)


@pytest.mark.parametrize(("ours", "code"), [(2.9, 0), (3.1, 1)])
def test_the_check_fails_where_a_ratio_exceeds_its_bar(ours: float, code: int, tmp_path: Path) -> None:
    asked: list[bool] = []

    def timed(short: bool) -> tuple[float, float]:
        asked.append(short)
        return ours, 1.0

    measures = [Measure("this", "that", 3.0, 1.0, "how", timed)]
    assert main(["--check"], measures, tmp_path) == code
    assert set(asked) == {True}
    assert list(tmp_path.iterdir()) == [], "only the long form is written down"
    assert main([], measures, tmp_path, lambda: [Growth("a row", 10, {"1": 1.5, "10": 1.0})]) == 0
    assert asked[-1] is False
    written = json.loads((tmp_path / "performance.json").read_text("utf-8"))["ratios"]
    assert (written[0]["ratio"], written[0]["bar"]) == (ours, 3.0)
    assert ("**3.10**" in (tmp_path / "performance.md").read_text("utf-8")) == bool(code)


def test_a_reference_that_is_not_installed_is_told_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(short: bool) -> tuple[float, float]:
        raise AssertionError(short)

    measures = [Measure("this", "that", 3.0, 1.0, "how", never, lambda: "that is not installed")]
    assert main(["--check"], measures, tmp_path) == 0
    assert "that is not installed" in capsys.readouterr().out
    assert main([], measures, tmp_path, list) == 0
    assert "| this | that | not installed | 3 | 1 |" in (tmp_path / "performance.md").read_text("utf-8")
