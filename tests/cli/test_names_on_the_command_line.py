"""What is said of columns, files and sources by name: names of SQL in any case, each once, and standard input once."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from fff_cli.app import run as fff


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.csv").write_text("id,Name\n1,one\n2,two\n")


SQL = "SELECT * FROM 'a.csv'"


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "sqlite"])
def test_columns_of_upsert_are_named_in_any_case(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert fff(["query", SQL, "-O", f"b.{form}", "--upsert", "ID,name"]) == 0
    assert f"'b.{form}': 0 added, 2 replaced, 2 rows" in capfd.readouterr().err


def test_folders_are_called_as_the_result_spells_their_columns(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert fff(["query", SQL, "-O", "b/", "--partition-by", "ID", "--upsert", "NAME"]) == 0
    assert "0 added, 2 replaced, 2 rows" in capfd.readouterr().err
    assert sorted(one.name for one in (tmp_path / "b").iterdir()) == ["id=1", "id=2"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["query", SQL, "-O", "b/", "--partition-by", "id,id"], 2, "the column 'id' is named twice"),
        (["query", SQL, "-O", "b.csv", "--upsert", "id", "--upsert", "ID"], 2, "'id' is named twice"),
        (["query", "-f", "-", "-f", "-"], 2, "-f - was given twice: standard input is read once"),
        (["query", "-- all of it\nSELECT 1"], 2, "SQL that begins with a comment looks like an option"),
        (["explain", "-- all of it\nSELECT 1"], 2, "write -- before it, or use -f FILE or -f -"),
        (["cache", "clear", "--source", "nope"], 2, "nothing is kept of 'nope', and no source is called so"),
        (["cache", "clear", "--source", "github"], 0, "cleared: 0 scans and keys"),
    ],
)
def test_what_cannot_be_meant_is_said(
    words: list[str], code: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert fff(words) == code
    assert said in capfd.readouterr().err
    assert not list(tmp_path.glob("b*"))


def test_a_nul_in_the_sql_is_refused_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1\0 AS a"))
    assert fff(["query"]) == 1
    assert "NUL is no character of SQL\n  1 | SELECT 1\\x00 AS a\n" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 'a\0' = 'a' AS a"))
    assert fff(["query", "-o", "csv"]) == 0
    assert capfd.readouterr().out == "a\nfalse\n"
