"""Names in double quotes are strings in Spark SQL: worth a warning where a column is called so."""

from __future__ import annotations

import json

import planner_fakes
import pytest

from fff.sql import prepare
from fff_cli.app import run

CATALOG = planner_fakes.catalog(planner_fakes.table("w.Crime", "zip string", scans=1))
WARNING = '"{0}" is a string: Spark SQL quotes names in backticks; the column is `{0}`'


def test_they_are_told_where_the_query_runs(tmp_path, monkeypatch, capfd) -> None:
    (tmp_path / "t.csv").write_text("id\n1\n")
    monkeypatch.chdir(tmp_path)
    assert run(["query", "SELECT \"id\" AS x FROM 't.csv'"]) == 0
    out, err = capfd.readouterr()
    assert out == "x\nid\n"
    assert err.startswith(f"warning: {WARNING.format('id')}\n1 row in ")
    assert err.count("warning") == 1
    assert run(["query", "SELECT \"id\" AS x FROM 't.csv'", "--report", "r.json", "-q"]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["warnings"] == [WARNING.format("id")]


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ('SELECT "zip" FROM Crime', ["zip"]),
        ("SELECT zip FROM Crime WHERE \"Zip\" = '1'", ["Zip"]),
        ("SELECT 'zip' FROM Crime", []),
        ('SELECT zip FROM Crime WHERE zip = "94705"', []),
        ("SELECT `zip` FROM Crime", []),
    ],
)
def test_a_column_in_double_quotes_is_warned_of(sql: str, names: list[str]) -> None:
    assert list(prepare(sql, CATALOG).warnings) == [WARNING.format(name) for name in names]
