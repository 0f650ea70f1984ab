"""`fff experiment`: what it prints and writes, how it ends. The experiments in it are made up here."""

from __future__ import annotations

import json
import sys
import types

import pytest

from fff import experiments
from fff.experiments import plotting, writing
from fff.experiments.experiment import Check, Curve, Experiment, Findings, Panel
from fff_cli.app import run


def found(seed: int, *, passed: bool = True) -> Findings:
    return Findings(
        columns=("plan", "seconds"),
        rows=(("eddy", 1.25), ("static | left", 12345.678)),
        panels=(
            Panel("results over time", "time [s]", "rows", (Curve("eddy", (0.0, 1.0), (0.0, float(seed))),)),
            Panel("empty", "x", "y", (Curve("nothing", (), ()),)),
        ),
        checks=(
            Check("faster", "at most 2 s", "1.25 s", passed=True),
            Check("cheaper", "at most 3", "2", passed=passed),
        ),
        notes=("made up",),
    )


def made_up(name: str, *, passed: bool = True) -> Experiment:
    return Experiment(
        name,
        f"the title of {name}",
        "nowhere, figure 0",
        "independent servers",
        "all is well",
        lambda seed: found(seed, passed=passed),
    )


@pytest.fixture
def registered(monkeypatch):
    """A registry with two experiments that pass and one that does not."""
    module = types.ModuleType("made_up_experiments")
    module.EXPERIMENTS = (made_up("X1"), made_up("X-2"), made_up("X3", passed=False))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(experiments, "MODULES", (module.__name__,))


@pytest.mark.usefixtures("registered")
class TestCommand:
    def test_everything_is_written_and_told(self, tmp_path, capsys):
        assert run(["experiment", "x1", "X-2", "X1", "--seed", "7", "-O", str(tmp_path / "found")]) == 0
        endings = ("csv", "json", "md", "png", "svg")
        assert sorted(path.name for path in (tmp_path / "found").iterdir()) == sorted(
            f"{name}.{ending}" for name in ("X1", "X-2") for ending in endings
        )
        shown = capsys.readouterr()
        assert shown.out.count("pass  ") == 4
        assert "static | left   12,346" in shown.out
        assert "2 of 2 experiments pass" in shown.err
        told = json.loads((tmp_path / "found" / "X1.json").read_text())
        assert told["passed"] is True
        assert told["seed"] == 7
        assert told["panels"][0]["curves"][0]["y"] == [0.0, 7.0]
        assert (tmp_path / "found" / "X1.csv").read_text().splitlines()[1] == "eddy,1.25"
        assert "static \\| left" in (tmp_path / "found" / "X1.md").read_text()
        assert (tmp_path / "found" / "X1.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.slow
    def test_one_failure_fails_all(self, tmp_path, capsys):
        assert run(["experiment", "-O", str(tmp_path)]) == 1
        shown = capsys.readouterr()
        assert "FAIL  cheaper\n" in shown.out
        assert "2 of 3 experiments pass; failed: X3" in shown.err
        assert json.loads((tmp_path / "X3.json").read_text())["passed"] is False

    def test_an_unknown_name_is_one_error_with_the_list(self, tmp_path, capsys):
        assert run(["experiment", "X1", "E99", "-O", str(tmp_path)]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == "error: no experiment is called 'E99'\n  there are: X1, X-2, X3\n"
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_cannot_be_is_an_error_before_anything_runs(self, tmp_path, capsys):
        (tmp_path / "file").write_text("")
        assert run(["experiment", "X1", "-O", str(tmp_path / "file")]) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.startswith("error: ")

    def test_list(self, capsys):
        assert run(["experiment", "--list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[2:]] == ["X1", "X-2", "X3"]
        assert "independent servers" in lines[2]

    def test_without_matplotlib_the_numbers_are_written_and_one_line_says_how(
        self, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr(plotting, "can_plot", lambda: False)
        assert run(["experiment", "X1", "-O", str(tmp_path)]) == 0
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".md"]
        assert "![" not in (tmp_path / "X1.md").read_text()
        [line] = [line for line in capsys.readouterr().err.splitlines() if "plots" in line]
        assert "pip install 'fff[plots]'" in line
        assert run(["experiment", "X1", "--docs", str(tmp_path)]) == 2

    @pytest.mark.slow
    def test_the_manual_keeps_what_was_not_run_in_the_order_of_the_registry(self, tmp_path):
        assert run(["experiment", "X3", "--docs", str(tmp_path)]) == 1
        assert run(["experiment", "X1", "--docs", str(tmp_path), "--seed", "3"]) == 0
        page = (tmp_path / "experiments.md").read_text()
        assert list(writing.sections(page)) == ["X1", "X3"]
        assert page.startswith(writing.INTRODUCTION)
        assert run(["experiment", "X1", "--docs", str(tmp_path), "--seed", "3"]) == 0
        assert (tmp_path / "experiments.md").read_text() == page
        assert "](experiments/X1.svg)" in page
        first = (tmp_path / "experiments" / "X1.svg").read_bytes()
        assert run(["experiment", "X1", "--docs", str(tmp_path), "--seed", "3"]) == 0
        assert (tmp_path / "experiments" / "X1.svg").read_bytes() == first


def test_two_experiments_of_one_name_are_refused(monkeypatch):
    module = types.ModuleType("twice")
    module.EXPERIMENTS = (made_up("X1"), made_up("X1"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(experiments, "MODULES", (module.__name__,))
    with pytest.raises(AssertionError, match="two experiments are called X1"):
        experiments.experiments()
