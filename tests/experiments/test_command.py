"""`fff experiment`: what it prints and writes, how it ends. The experiments in it are made up here."""

from __future__ import annotations

import json
import sys
import types

import pytest

import fff_experiments as experiments
from fff.structs import replace
from fff_cli.app import run
from fff_experiments import plotting, writing
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.judging import judge
from tests.sampling import every


def found(trial: TrialRequest, *, passed: bool = True) -> Findings:
    broken = trial.control == "broken"
    return Findings(
        columns=("plan", "seconds"),
        rows=(("eddy", 1.25), ("static | left", 12345.678)),
        panels=(
            Panel(
                "results over time", "time [s]", "rows", (Curve("eddy", range(2), (0.0, float(trial.seed))),)
            ),
            Panel("empty", "x", "y", (Curve("nothing", (), ()),)),
        ),
        checks=(
            Check("faster", "at most 2 s", "1.25 s", passed=not broken),
            Check(
                "cheaper",
                "at most 3",
                "2",
                passed=passed and trial.seed not in (5, 6),
                shows="what all plans show",
            ),
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
        lambda trial: found(trial, passed=passed),
        {"broken": "a broken rule", "harmless": "a rule that changes nothing"},
    )


@pytest.fixture
def registered(monkeypatch):
    """A registry with two experiments that pass and one that does not."""
    module = types.ModuleType("made_up_experiments")
    module.EXPERIMENTS = (made_up("X1"), made_up("X-2"), made_up("X3", passed=False))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(experiments, "MODULES", (module.__name__,))


@pytest.fixture
def undrawn(monkeypatch):
    """No plots, which take a second."""
    monkeypatch.setattr(plotting, "draw", lambda *_: None)


@pytest.mark.usefixtures("registered")
class TestCommand:
    @pytest.mark.slow
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
        assert told["scale"] == 1
        assert told["controls"] == told["other_seeds"] == {}
        assert told["panels"][0]["curves"][0] | {"label": "", "style": ""} == {
            "label": "",
            "x": [0, 1],
            "y": [0.0, 7.0],
            "style": "",
        }
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

    def test_seeds_are_counted_and_most_must_hold(self, tmp_path, capsys, undrawn):
        assert run(["experiment", "X1", "--seed", "4", "--seeds", "5", "-O", str(tmp_path)]) == 0
        out = capsys.readouterr().out
        assert out.count("holds with 5 of 5 seeds") == out.count("holds with 3 of 5 seeds") == 1
        assert "| pass | 3 of 5 |" in (tmp_path / "X1.md").read_text()
        assert run(["experiment", "X1", "--seed", "4", "--seeds", "3", "-O", str(tmp_path)]) == 1
        assert "FAIL  cheaper" in capsys.readouterr().out
        told = json.loads((tmp_path / "X1.json").read_text())
        assert told["passed"] is False
        assert told["other_seeds"] == {"5": [True, False], "6": [True, False]}
        assert "| FAIL | 1 of 3 |" in (tmp_path / "X1.md").read_text()

    def test_negative_controls_are_told_by_claim(self, tmp_path, capsys, undrawn):
        assert run(["experiment", "X1", "--controls", "-O", str(tmp_path)]) == 0
        out = capsys.readouterr().out
        assert "      fails under broken\n" in out
        assert "      fails under no control; it shows what all plans show\n" in out
        told = json.loads((tmp_path / "X1.json").read_text())
        assert told["controls"] == {"broken": [False, True], "harmless": [True, True]}
        assert "- `broken`: a broken rule\n" in (tmp_path / "X1.md").read_text()
        assert (
            "- `harmless`: a rule that changes nothing; fails no claim\n" in (tmp_path / "X1.md").read_text()
        )

    @pytest.mark.slow
    def test_a_claim_that_cannot_fail_fails(self, tmp_path, capsys, monkeypatch):
        [tame, *_] = experiments.choose(["X1"])
        monkeypatch.setattr(
            sys.modules["made_up_experiments"],
            "EXPERIMENTS",
            (replace(tame, controls={"harmless": "nothing"}),),
        )
        assert run(["experiment", "X1", "-O", str(tmp_path)]) == 0, "without controls nobody knows"
        assert run(["experiment", "X1", "--controls", "-O", str(tmp_path)]) == 1
        assert "CANNOT FAIL  faster\n" in capsys.readouterr().out
        assert json.loads((tmp_path / "X1.json").read_text())["cannot_fail"] == ["faster"]

    def test_a_size_is_told(self, tmp_path, undrawn):
        assert run(["experiment", "X1", "--scale", "0.5", "-O", str(tmp_path)]) == 0
        assert json.loads((tmp_path / "X1.json").read_text())["scale"] == 0.5
        assert "at 0.5 of the full size" in (tmp_path / "X1.md").read_text()

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
        (tmp_path / "policies.md").write_text("before\n<!-- table X1 -->\nold\n<!-- end -->\nafter\n")
        assert run(["experiment", "X3", "--docs", str(tmp_path)]) == 1
        one = ["experiment", "X1", "--docs", str(tmp_path), "--seed", "3", "--seeds", "2"]
        assert run(one) == 0
        page = (tmp_path / "experiments.md").read_text()
        assert list(writing.sections(page)) == ["X1", "X3"]
        assert page.startswith(writing.INTRODUCTION)
        assert run(one) == 0
        assert (tmp_path / "experiments.md").read_text() == page
        assert "](experiments/X1.svg)" in page
        assert "5 seeds" not in page
        assert "| pass | 2 of 2 | fails under broken |" in page, "controls are run for the manual"
        policies = (tmp_path / "policies.md").read_text()
        assert policies.startswith("before\n<!-- table X1 -->\n| plan | seconds |\n")
        assert policies.endswith("<!-- end -->\nafter\n")
        assert "old" not in policies
        first = (tmp_path / "experiments" / "X1.svg").read_bytes()
        assert run(one) == 0
        assert (tmp_path / "experiments" / "X1.svg").read_bytes() == first


#: As small as they run at all.
SMALL = "0.02"
#: Real time, or many instances: with the slow tests.
SLOW = frozenset(
    {"S-1", "S-3", "S-4", "S-5", "S-6", "S-7", "S-9", "S-10", "S-11", "S-1rt", "S-2rt", "S-4rt"}
    | {"O1", "O2", "O3", "E5", "E6", "E10", "E11", "E12", "E13", "S-2"}
    | {"G1", "G2", "G3", "G4", "G9", "G10", "G11", "G12", "G13", "G14"}
)


@pytest.mark.parametrize(
    "name",
    [
        *every(3, [name for name in experiments.experiments() if name not in SLOW]),
        *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(SLOW)),
    ],
)
def test_every_experiment_runs_through_the_command(name, tmp_path, capsys):
    """At a small size claims may fail, but everything is written, and what is written can be read."""
    assert run(["experiment", name, "--scale", SMALL, "-O", str(tmp_path)]) in (0, 1)
    shown = capsys.readouterr()
    assert "error" not in shown.err
    told = json.loads((tmp_path / f"{name}.json").read_text())
    assert told["name"] == name
    assert told["checks"]
    assert all({"claim", "wanted", "found", "passed"} <= check.keys() for check in told["checks"])
    assert all(len(row) == len(told["columns"]) for row in told["rows"])
    curves = [curve for panel in told["panels"] for curve in panel["curves"]]
    assert curves
    for curve in curves:
        assert len(curve["x"]) == len(curve["y"])
        assert all(isinstance(value, int | float) for value in (*curve["x"], *curve["y"]))


#: How large an experiment has to be for its negative controls to fail its claims; others are run whole.
BITES = {"E11": 0.1, "E12": 0.2, "E13": 0.2, "E14": 0.5, "S-10": 0.25} | dict.fromkeys(
    ("O1", "O2", "O3"), 0.02
)
BITES |= {"G12": 0.15} | dict.fromkeys(("G1", "G2", "G3", "G4", "G9", "G10", "G11", "G13", "G14"), 0.34)


@pytest.mark.slow
@pytest.mark.parametrize("name", experiments.experiments())
def test_every_claim_can_fail_or_says_what_it_shows(name):
    judged = judge(experiments.experiments()[name], TrialRequest(1, BITES.get(name, 1.0)), controls=True)
    assert judged.controls
    assert not judged.toothless


def test_two_experiments_of_one_name_are_refused(monkeypatch):
    module = types.ModuleType("twice")
    module.EXPERIMENTS = (made_up("X1"), made_up("X1"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(experiments, "MODULES", (module.__name__,))
    with pytest.raises(AssertionError, match="two experiments are called X1"):
        experiments.experiments()
