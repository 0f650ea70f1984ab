"""Options whose value is empty, as an unset variable leaves them: refused by name, and nothing is read or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from fff_cli.app import run as fff

OPTIONS = [
    *(
        "--upsert",
        "--partition-by",
        "--checkpoint",
        "--record",
        "--replay",
        "--report",
        "--policy",
    ),
    *("--prioritize", "-O", "-o", "-s", "-f", "-p", "--spark-master", "--rows", "--memory-limit"),
]


@pytest.mark.parametrize("option", OPTIONS)
def test_an_empty_value_is_refused_by_the_name_of_its_option(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = [] if option == "-O" else ["-O", "kept.csv"]
    assert fff(["query", "SELECT 1 AS a", *file, option, ""]) == 2
    said = capfd.readouterr().err
    assert f"'{option}'" in said
    assert "it is empty; is a variable unset?" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["query", "SELECT 1 AS a", "-O", "a.csv", "--upsert", " , "], "'--upsert': it is empty"),
        (["query", "SELECT 1 AS a", "-O", "a.csv", "--upsert", "a,"], "'--upsert': a name in it is empty"),
        (["query", "SELECT 1 AS a", "-O", "a/", "--partition-by", "a, ,b"], "a name in it is empty"),
        (["explain", "SELECT 1 AS a", "--report", " "], "'--report': it is empty"),
        (["watch", "SELECT 1 AS a", "--key", ""], "'--key': it is empty"),
        (["refresh", ""], "'FILE': it is empty"),
        (["resume", ""], "'DIR': it is empty"),
        (["source", "lint", ""], "'FILE': it is empty"),
        (["cache", "clear", "--source", ""], "'--source': it is empty"),
    ],
)
def test_so_are_names_in_lists_and_what_other_commands_take(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fff(words) == 2
    assert said in capfd.readouterr().err


def test_a_variable_of_fff_that_is_empty_is_one_that_is_not_set(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FFF_SERVER", "")
    assert fff(["query", "SELECT 1 AS a", "-q"]) == 0
    assert capfd.readouterr().out == "a\n1\n"
