"""No option is taken that would do nothing: it is refused, and told where it belongs."""

from __future__ import annotations

import pytest

from fff_cli import app
from fff_cli.options.checkpoint import begin

SQL, SERVER = "SELECT 1", ("--server", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explain", SQL, *SERVER), "fff explain has no --server, which is for fff query: leave it out"),
        (("-s", "a.yaml", "query", SQL), "fff has no -s, which is for fff query: write it behind that"),
        (("watch", SQL, "--upsert", "a"), "fff watch has no --upsert, which is for fff query: leave it out"),
        (("shell", "--checkpoint", "a"), "fff shell has no --checkpoint, which is for fff query: leave it out"),
        (("source", "list", "-p", "a=1"), "fff source list has no -p, which is for fff query: leave it out"),
        (("explain", SQL, "--report", "r"), "--report and --record are of a run\n  add --analyze"),
        (("spark", "status", "-o", "xml"), "a status is not written as 'xml'\n  use -o json, or leave it out"),
        (("source", "lint", "a.yaml"), "a.yaml: no such spec file or folder\n  name another, or write one: fff source init"),
        (("login", "--list", "fec"), "--list and SOURCE exclude each other"),
        (("demo", "--serve", "--prioritize", "a = 1"), "--serve and --prioritize exclude each other"),
        (("experiment", "--list", "S-1"), "--list and NAME exclude each other"),
        (("experiment", "S-1", "--docs", "d", "-O", "e"), "--docs and -O exclude each other"),
        (("source", "trust", "--list", "--revoke"), "--list and --revoke exclude each other"),
        (("source", "import", ".", "--count", "-o", "x"), "--count and -o exclude each other"),
        (("serve", "--socket", "s", "--port", "9000"), "--socket and --port exclude each other"),
        (("query", SQL, "--safe-csv", "-O", "x.parquet"), "--safe-csv is for CSV and TSV, and this is parquet"),
        (("query", SQL, *SERVER, "--safe-csv", "-o", "json"), "--safe-csv is for CSV and TSV, and this is json"),
        (("query", SQL, *SERVER, "--append", "-O", "x.csv"), "--append does not go with --server"),
        (("query", SQL, *SERVER, "--upsert", "a", "-O", "x.csv"), "--upsert does not go with --server"),
        (("query", SQL, *SERVER, "--refreshable", "-O", "x.csv"), "--refreshable does not go with --server"),
        (("query", SQL, *SERVER, "--partition-by", "a", "-O", "x"), "--partition-by does not go with --server"),
        (("query", SQL, *SERVER, "--memory-limit", "1GB"), "--memory-limit is the server's to say"),
    ],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("kept")
    assert app.run(arguments) == 2
    out, told = capsys.readouterr()
    assert (out, told[: len(said) + 7]) == ("", f"error: {said}")
    assert len(told.splitlines()) <= 2
    assert (tmp_path / "x.csv").read_text() == "kept"


@pytest.mark.parametrize("sql", [SQL, "SHOW TABLES", "EXPLAIN SELECT 1"])
def test_a_policy_that_nobody_knows_is_refused_where_nothing_is_to_be_routed_too(
    sql, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert app.run(["query", sql, "--policy", "adaptiv"]) == 2
    out, told = capsys.readouterr()
    assert (out, told.splitlines()[0]) == ("", "error: no routing policy is called 'adaptiv'")


@pytest.mark.parametrize("begun", [(SQL,), ("-f", "a.sql")])
@pytest.mark.parametrize("more", [("-f", "b.sql"), ("SELECT 2",)])
def test_what_is_gone_on_with_takes_no_other_sql(begun, more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    begin(tmp_path / "kept", ["query", *begun], [SQL], 1)
    assert app.run(["resume", "kept", *more]) == 2
    told = capsys.readouterr().err
    assert "a checkpoint has its SQL" in told or "Got unexpected extra argument" in told


@pytest.mark.parametrize(
    ("options", "idle"),
    [
        (("--deadline", "9", "-O", "x.csv", "--append"), "--deadline, -O, --append do"),
        (("--policy", "rank", "--seed", "1", "--prefer", "fast", "--no-warm"), "--policy, --seed, --prefer, --no-warm do"),
        (("--live", "--rows", "3", "--analyze", "--deadline", "9"), "--rows, --live do"),
        (("--checkpoint", "kept", "-q"), None),
        (("--max-requests", "9", "--cache"), None),
    ],
)  # fmt: skip
def test_a_query_is_explained_as_it_was_typed(options, idle, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app.run(["explain", SQL, *options]) == 0
    out, told = capsys.readouterr()
    assert out
    notes = [line for line in told.splitlines() if line.startswith("note: -")]
    assert notes == ([] if idle is None else [f"note: {idle} nothing here"])
    assert not list(tmp_path.iterdir())
