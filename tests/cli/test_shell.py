"""`fff shell`: sessions over standard input and on a terminal, over an engine that plays scenes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from fff.catalog import Catalog
from fff.errors import QueryError
from fff_cli.app import run
from fff_cli.options.arguments import QueryArguments
from fff_cli.shell import results
from fff_cli.shell.history import history_file
from fff_cli.shell.repl import run_shell
from fff_sources.demo import SPEC
from fff_sources.demo.process import DemoServer
from tests.cli import fake_engine
from tests.cli.terminal import FAKE, REAL, Terminal, environment, fake

CLOSING = "in 1.2 s, 97 requests, complete"


@pytest.fixture
def federation(monkeypatch):
    """The federation of the next session."""
    opened = fake_engine.Federation()

    @fake_engine.asynccontextmanager
    async def open_federation(sources, *, environ=None, keep=False, **_):
        opened.keeps = keep
        yield opened

    engine, meeting = types.ModuleType("fff.federation"), types.ModuleType("fff_cli.run.federation")
    meeting.open_federation = open_federation
    meeting.prepare_all = fake_engine.prepare_all
    meeting.discover_all = fake_engine.discover_all
    monkeypatch.setitem(sys.modules, "fff.federation", engine)
    monkeypatch.setitem(sys.modules, "fff_cli.run.federation", meeting)
    return opened


@pytest.fixture
def piped(federation, monkeypatch, capfdbinary, tmp_path):
    """Run a session whose standard input is this text; its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(text: str | bytes, **options) -> tuple[int, str, str]:
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = run_shell(QueryArguments.typed(**options))
        written = capfdbinary.readouterr()
        return code, written.out.decode(), written.err.decode()

    return run


def test_statements_run_in_order_as_csv(piped):
    code, out, err = piped("rows 1; rows 2\n;\n\nrows 0")
    assert code == 0
    assert out == "n,name\n0,row 0\nn,name\n0,row 0\n1,row 1\nn,name\n"
    assert err.splitlines() == [f"1 row {CLOSING}", f"2 rows {CLOSING}", f"0 rows {CLOSING}"]


def test_the_first_error_ends_the_session_with_its_code(piped):
    code, out, err = piped("rows 1;\n\nselect wrong;\nrows 2;")
    assert (code, out) == (1, "n,name\n0,row 0\n")
    assert err.splitlines()[1:] == [
        "error: no column wrong", "  1 | select wrong", "             ^^^^^", "  did you mean right?",
        "stopped at line 3 of standard input",
    ]  # fmt: skip
    assert piped("rows 0;\nfail; rows 1;")[0] == 4
    assert piped("bug; rows 1;")[2].startswith(
        "internal error: InvariantError: illegal move; -v shows where\nst"
    )


def test_a_partial_result_goes_on_and_is_told_at_the_end(piped):
    code, out, _ = piped("partial; rows 1;")
    assert code == 3
    assert out.endswith("n,name\n0,row 0\n")


def test_partial_results_of_one_session_all_stay(piped, tmp_path):
    (tmp_path / "f.partial").write_text("of an earlier run")
    _, _, err = piped("\\o csv f\nrows 1;\npartial;\nrows 2;\npartial; partial; rows 1;\n")
    assert err.count("removed") == 1, "by the first, in whose place nothing else is"
    assert (tmp_path / "f").read_text().count("n,name") == 3
    parts = sorted(path.name for path in tmp_path.glob("f.*"))
    assert parts == ["f.2.partial", "f.3.partial", "f.partial"]
    assert all(
        (tmp_path / name).read_text().endswith("n,name\n0,row 0\n1,row 1\n2,row 2\n") for name in parts
    )


def test_a_partial_result_is_first_and_stays_when_others_are_whole(piped, tmp_path):
    piped("\\o csv f\npartial; rows 1;\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "f.partial"]


def test_partial_results_that_are_asked_for_in_a_session_go_to_its_file(piped, tmp_path):
    piped("\\o csv f\n\\set on-source-error partial\npartial; rows 1;\n")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text().count("n,name") == 2


def test_leaving_early(piped):
    assert piped("rows 1;\n\\q\nselect wrong;")[:2] == (0, "n,name\n0,row 0\n")
    assert piped("quit\nselect wrong;")[0] == 0


def test_nothing_and_no_text(piped):
    assert piped("") == (0, "", "")
    assert piped(b"rows 0;\nr\xff;")[0] == 2
    assert piped("\ufeffrows 1;\r\nrows 0;\r\n", quiet=True) == (0, "n,name\n0,row 0\nn,name\n", "")


def test_tables_are_told(piped):
    code, out, _ = piped("\\d\n")
    assert code == 0
    assert out.splitlines()[0] == "table,columns,key_columns,access,description"
    assert out.splitlines()[2] == 'demo.Crime,"zip, crimeRating",zip,"scan, lookup[zip]",what Crime holds'
    assert piped("\\d demo;\nshow tables;")[1] == out + out
    assert [line.split(",")[0] for line in piped("\\d c*")[1].splitlines()[1:]] == ["demo.Crime"]
    one = piped("\\d crime")[1]
    assert "key columns (what a request can be given)\n  zip  optional  =" in one
    assert piped("describe Crime;")[1] == piped("desc table `demo`.`Crime`;")[1] == one
    assert "  found  int" in piped("\\d late")[1]
    assert piped("\\d nowhere") == (
        2, "", "error: there is no table 'nowhere'\n  \\d shows the tables there are\nstopped at line 1 of standard input\n",
    )  # fmt: skip
    assert piped("\\d x*")[2] == "no tables like x*\n"


def test_what_is_found_is_told_without_reading_what_every_other_source_has(piped, monkeypatch):
    def read(*_given, offered=True):
        assert not offered, "all sources are read"
        return []

    told = [piped(one)[1] for one in ("\\d crime\n", "\\d DEMO\n")]
    monkeypatch.setattr(Catalog, "tables", read)
    assert [piped(one)[1] for one in ("describe Crime;", "\\d DEMO\n")] == told


def test_explain_shows_the_plan_and_with_analyze_how_it_ran(piped, monkeypatch):
    assert (
        piped("explain select\n1;")[1]
        == piped("\\explain select\\n1")[1].replace("\\n", "\n")
        == "plan of select\n1 with {}\n"
    )
    assert piped("/* why */ EXPLAIN select 1;")[1] == "plan of select 1 with {}\n"
    assert piped("explain;")[2].startswith("error: there is nothing to explain")
    seen: list[object] = []
    monkeypatch.setattr(results, "analyzed", lambda *of: seen.append(of) or ["Ran", "  well"])
    code, out, err = piped("EXPLAIN ANALYZE rows 1;\n\\explain analyze rows 0")
    assert (code, err, len(seen)) == (0, "", 2), "rows and closing lines are for nobody"
    assert out == "plan of rows 1 with {}\nRan\n  well\nplan of rows 0 with {}\nRan\n  well\n"
    assert piped("explain extended select 1;")[2].startswith("error: EXPLAIN EXTENDED is not supported")


def test_params_are_set_shown_and_forgotten(piped):
    code, out, _ = piped(
        "\\p zip='02139'\n\\p n=3\n\\p\nexplain select :zip;\n\\p -zip\n\\p\n", params=("ratio=0.5",)
    )
    assert code == 0
    assert out.splitlines() == [
        ":ratio = 0.5BD", ":zip = '02139'", ":n = 3", "plan of select :zip with {'zip': '02139'}", ":ratio = 0.5BD", ":n = 3",
    ]  # fmt: skip
    assert piped("\\p")[1] == "no parameters; \\p name=value sets one\n"
    assert piped("\\p zip")[0] == piped("\\p -zip")[0] == 2


def test_expanded_display_is_switched_on_and_off(piped):
    code, out, err = piped("\\x\nrows 2;\n\\x\nrows 1;\n\\x on\n\\x on\nrows 1;")
    assert (code, out) == (
        0,
        "   n = 0\nname = row 0\n\n   n = 1\nname = row 1\nn,name\n0,row 0\n   n = 0\nname = row 0\n",
    )
    assert err.count("expanded display is on") == 3


def test_formats_and_files(piped, tmp_path):
    code, out, err = piped("\\o ndjson\nrows 1;\n\\o csv 'out file.csv'\nrows 1; rows 2;\n\\o\nrows 0;")
    assert (code, out) == (0, '{"n":0,"name":"row 0"}\nn,name\n')
    assert (tmp_path / "out file.csv").read_text() == "n,name\n0,row 0\nn,name\n0,row 0\n1,row 1\n"
    assert "results go to out file.csv as csv\n" in err
    assert piped("\\o out.json\nrows 1;")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text()) == [{"n": 0, "name": "row 0"}]
    code, _, err = piped("\\o json out.json\nrows 2;\nrows 1;")
    assert code == 2
    assert "error: 'out.json' holds a result, and a json file holds one" in err
    assert len(json.loads((tmp_path / "out.json").read_text())) == 2


def test_a_file_keeps_what_it_held_when_the_next_statement_fails(piped, tmp_path):
    assert piped("\\o out.csv\nrows 1;\nlate;")[0] == 4
    assert (tmp_path / "out.csv").read_text() == "n,name\n0,row 0\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("\\nope", "error: there is no command \\nope\n  \\? lists the commands"),
        ("\\", "error: there is no command \\\n"),
        (".tables", "error: there is no command .tables\n  did you mean \\dt?"),
        ("\\deadline 5", "error: there is no command \\deadline\n  did you mean \\set deadline?"),
        ("\\watch 2", "error: there is no command \\watch\n  `fff watch SQL --every 5m` runs"),
        ("\\pset pager", "error: there is no command \\pset\n  did you mean \\set?"),
        ("\\o xml", "error: unknown output format 'xml'"),
        ("\\o out.what", "error: cannot tell the format from the ending"),
        ("\\o csv nowhere/x", "error: cannot write 'nowhere/x': there is no such folder"),
        ("\\report nowhere/x", "error: cannot write 'nowhere/x': there is no such folder"),
        ("\\policy best", "error: no routing policy is called 'best'"),
        ("\\timing maybe", "error: \\timing maybe: neither on nor off"),
        ("\\rows 0", "error: \\rows 0: neither a number above 0 nor all"),
        ("\\i", "error: \\i needs the name of a file"),
        ("\\i nowhere.sql", "error: cannot read 'nowhere.sql'"),
        ("\\reset all", "error: \\reset takes nothing behind it"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(piped, command, said):
    code, out, err = piped(command)
    assert (code, out) == (2, "")
    assert err.startswith(said)


def test_files_of_statements(piped, tmp_path):
    (tmp_path / "a.sql").write_text("rows 1;\n\\i b.sql\n\\timing off\nrows 0")
    (tmp_path / "b.sql").write_text("\ufeffrows 2")
    code, out, err = piped("\\i a.sql\nrows 0;")
    assert (code, out) == (0, "n,name\n0,row 0\nn,name\n0,row 0\n1,row 1\nn,name\nn,name\n")
    assert err.splitlines() == [f"1 row {CLOSING}", f"2 rows {CLOSING}", "timing is off"]
    (tmp_path / "b.sql").write_text("select wrong; rows 2;")
    code, out, err = piped("\\i a.sql\nrows 0;")
    assert (code, out) == (1, "n,name\n0,row 0\n")
    assert err.splitlines()[-2:] == ["at line 1 of b.sql", "stopped at line 1 of standard input"]
    (tmp_path / "b.sql").write_text("\\i b.sql")
    assert "error: more than 16 files run each other\n" in piped("\\i b.sql")[2]


def test_timing_off_still_tells_what_is_amiss(piped):
    assert piped("\\timing\nrows 1;\n\\timing\n")[2] == "timing is off\ntiming is on\n"
    assert "PARTIAL: a source failed" in piped("\\timing off\npartial;")[2]


@pytest.mark.parametrize("text", ["\\o csv f\n\\report f\nrows 1;", "\\report ./f\n\\o csv f\nrows 1;"])
def test_results_and_reports_share_no_file(text, piped, tmp_path):
    code, out, err = piped(text)
    assert (code, out, [*tmp_path.iterdir()]) == (2, "", [])
    assert "f': the result is written there\n  \\report FILE names another\nstopped at line 2" in err


def test_policy_report_and_reset_reach_the_engine(piped, federation, tmp_path):
    code, _, err = piped(
        "\\policy naive\n\\report r.json\nrows 2;\n\\report\n\\report off\n\\policy\n\\reset\n", seed=7
    )
    assert code == 0
    told = json.loads((tmp_path / "r.json").read_text())
    assert (told["rows"], told["options"]["policy"], told["options"]["seed"]) == (2, "naive", "7")
    assert "each statement leaves its report in r.json\nno report is written\nthe policy is naive" in err
    assert (federation.resets, federation.keeps) == (1, True)


def test_one_spark_has_one_log(piped, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).touch()
    piped("\\report one\nrows 0;\n\\report two\nrows 0;", verbose=True)
    logs = [json.loads((tmp_path / name).read_text())["options"]["spark_log"] for name in ("one", "two")]
    assert logs[0] == logs[1]
    assert not Path(logs[0]).exists(), "no Spark has started"


def test_help_lists_every_command(piped):
    out = piped("help\n")[1]
    for name in (
        "\\d",
        "\\timing",
        "\\o",
        "\\p",
        "\\policy",
        "\\i",
        "\\explain",
        "\\reset",
        "\\report",
        "\\q",
        "\\?",
    ):
        assert f"  {name} " in out, name


def test_wrong_options_end_before_anything_runs(piped):
    assert piped("rows 1;", spark_master="x", spark_remote="y")[:2] == (2, "")
    assert piped("rows 1;", output="xml")[:2] == (2, "")
    assert piped("rows 1;", params=("zip",))[:2] == (2, "")


def test_a_statement_may_end_with_a_wish_for_lines(piped):
    code, out, _ = piped("rows 1\\G rows 1; rows 1 \\G\nselect '\\G';")
    assert code == 1  # what stands in a string ends nothing
    assert out == "   n = 0\nname = row 0\nn,name\n0,row 0\n   n = 0\nname = row 0\n"


def test_unknown_commands_say_what_is_near(piped):
    assert "error: there is no command \\repot\n  did you mean \\report" in piped("\\repot x")[2]
    assert "error: there is no command \\zzzzzz\n  \\? lists" in piped("\\zzzzzz")[2]
    for typed, meant in {
        "quit": "q",
        "help": "?",
        "tables": "dt",
        "describe FEC": "d",
        "exlain": "explain",
        "sett": "set",
    }.items():
        assert f"did you mean \\{meant}" in piped(f"\\{typed}")[2], typed


def test_values_are_asked_for_by_the_command_of_the_shell(piped, monkeypatch):
    assert "\\p zip: not of the form NAME=VALUE\n  for example \\p zip=94704" in piped("\\p zip")[2]

    def refuse(*_):
        raise QueryError("parameter :zip has no value", hint="give it one with -p zip=VALUE")

    monkeypatch.setattr(sys.modules["fff_cli.run.federation"], "prepare_all", refuse)
    assert "give it one with \\p zip=VALUE\n" in piped("select :zip;")[2]


def test_an_unknown_table_is_looked_for_by_the_commands_of_the_shell(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FFF_SOURCES", "")
    (tmp_path / "town.yaml").write_text(SPEC.read_text())
    for sources, hint in {
        (): "nothing reads it: \\source town.yaml",
        (Path("town.yaml"),): "; \\d shows them",
    }.items():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT * FROM nowhere;")))
        assert run_shell(QueryArguments.typed(sources=list(sources))) == 1
        assert f"{hint}\n" in capfd.readouterr().err


def test_options_are_set_for_the_statements_to_come(piped, tmp_path):
    text = "\\set deadline 2.5\n\\set max_requests=7\n\\set prefer CHEAP\n\\set rows all\n\\report r\nrows 0;\n\\set\n"
    code, out, _ = piped(text)
    assert code == 0
    assert (
        "deadline = 2.5\nmax-requests = 7\nmemory-limit = half\nprefer = cheap\non-source-error = fail\nrows = all\n"
        in out
    )
    assert out.endswith("pager = off\nlive = on\ncache = spec\n")
    options = json.loads((tmp_path / "r").read_text())["options"]
    assert (options["deadline"], options["max_requests"], options["prefer"]) == ("2.5", "7", "cheap")
    told = piped("\\set deadline 3\n\\set deadline off\nrows 0;", output="csv")
    assert told[1] == "n,name\n", "rows and nothing else go where results go"
    assert told[2].startswith("deadline = 3.0\ndeadline = off\n")
    assert piped("\\set prefer")[1] == "prefer = balanced\n"
    for wrong, told in (
        ("deadline soon", "\\set deadline soon: it must be a number of seconds above 0, or off"),
        ("deadline nan", "\\set deadline nan: it must"),
        ("max-requests 0", "\\set max-requests 0: it must be a whole number"),
        ("prefer quick", "\\set prefer quick: it must be fast, balanced or cheap"),
        ("on-source-error maybe", "\\set on-source-error maybe: it must be fail or partial"),
        ("live perhaps", "\\set live perhaps: it must be on or off"),
        ("cache perhaps", "\\set cache perhaps: it must be on, off or spec"),
        ("prefr fast", "\\set knows no 'prefr'\n  did you mean prefer?"),
    ):
        code, out, err = piped(f"\\set {wrong}")
        assert (code, out, err.startswith(f"error: {told}")) == (2, "", True), wrong


@pytest.mark.slow
def test_the_cache_on_disk_is_switched_between_statements(tmp_path, monkeypatch, capfd):
    program = (
        "SELECT zip FROM Crime WHERE zip = '94705';\n\\set cache on\nSELECT zip FROM Crime WHERE zip = '94700';\n"
        "\\set cache off\nSELECT zip FROM Crime WHERE zip = '94701';\n\\set max-requests 1\n\\set cache\n"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with DemoServer() as server:
        monkeypatch.setenv("FFF_DEMO_BASE_URL", server.base_url)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program.encode())))
        assert run(["shell", "-q", "-s", str(SPEC)]) == 0
    assert capfd.readouterr().out.endswith("zip\n94701\ncache = off\n")
    assert run(["cache", "stats", "-o", "csv"]) == 0
    assert [line.split(",")[:5] for line in capfd.readouterr().out.splitlines()[1:]] == [
        ["demo", "Crime", "0", "1", "1"]
    ]


def test_what_was_typed_is_told_and_saved(piped, tmp_path):
    assert piped("rows 0;\n\\timing\nrows 0\\G\n\\s\n")[1].endswith("rows 0;\n\\timing\nrows 0\\G\n")
    piped("rows 0; rows 1;\n\\s a.sql\n")
    assert (tmp_path / "a.sql").read_text() == "rows 0;\nrows 1;\n"
    assert piped("\\i a.sql")[1] == "n,name\nn,name\n0,row 0\n"
    assert "error: \\e needs a terminal" in piped("\\e")[2]


def test_specs_are_read_anew_while_the_session_goes_on(tmp_path, monkeypatch, capfd):
    def spec(name: str, rows: str) -> Path:
        (tmp_path / f"{name}.csv").write_text(rows)
        file = tmp_path / f"{name}.yaml"
        file.write_text(
            f"version: 1\nsources:\n  {name}:\n    type: files\n    tables: {{t: {{path: {name}.csv}}}}\n"
        )
        return file

    one, two = spec("one", "a\n1\n"), spec("two", "b\n2\n")
    (tmp_path / "broken.yaml").write_text("version: 1\nsources: []\n")
    program = f"SELECT a FROM one.t;\n\\source {two}\nSELECT b FROM two.t;\n\\l\n\\reload\nSELECT a, b FROM one.t AS o, two.t AS t;\n"
    monkeypatch.chdir(tmp_path)

    def typed(text: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return run(["shell", "-s", str(one)]), *capfd.readouterr()

    code, out, err = typed(program)
    assert code == 0, err
    assert out.startswith("a\n1\nb\n2\none  1 table\ntwo  1 table\nand ")
    assert out.endswith("a,b\n1,2\n")
    assert "added: 2 tables" in err
    assert "read anew: 2 tables" in err
    assert typed(f"\\source {one}")[2].startswith(f"error: '{one}' adds nothing")
    code, _, err = typed("\\source broken.yaml\n")
    assert code == 2
    assert "broken.yaml" in err


@pytest.mark.skipif(os.name != "posix", reason="the editor is a script")
def test_what_an_editor_made_is_run(federation, monkeypatch, tmp_path):
    from fff_cli.shell import commands

    editor = tmp_path / "ed"
    editor.write_text('#!/bin/sh\necho "rows 2; -- $(cat $1)" > "$1.new"; mv "$1.new" "$1"\n')
    editor.chmod(0o700)
    assert [item.text for item in commands._edited(str(editor), "rows 1")] == ["rows 2"]
    with pytest.raises(commands.UsageError, match="ended with 1"):
        commands._edited("false", "rows 1")
    assert commands._edited("true", "rows 1") == [], "what was not saved is not run again"
    with pytest.raises(commands.UsageError, match="cannot run the editor"):
        commands._edited(str(tmp_path / "none"), "rows 1")


def test_the_history_is_its_owners_alone(tmp_path):
    state = tmp_path / "state"
    file = history_file({"XDG_STATE_HOME": str(state), "HOME": "/nowhere"})
    assert file == state / "fff" / "history"
    assert file.stat().st_mode & 0o777 == 0o600
    assert history_file({"HOME": str(tmp_path)}) == tmp_path / ".local" / "state" / "fff" / "history"
    assert history_file({"HOME": str(tmp_path), "XDG_STATE_HOME": "relative"}) is not None
    assert history_file({}) is None
    (tmp_path / "file").touch()
    assert history_file({"XDG_STATE_HOME": str(tmp_path / "file")}) is None


# ----------------------------------------------------------------------------------------------------- as a process


def test_a_session_that_reads_a_pipe():
    done = fake("shell", stdin="rows 1;\nselect wrong;\n")
    assert (done.returncode, done.stdout) == (1, "n,name\n0,row 0\n")
    assert done.stderr.splitlines()[-1] == "stopped at line 2 of standard input"


def terminal(tmp_path, *options, **changes):
    environ = environment(XDG_STATE_HOME=str(tmp_path), PROMPT_TOOLKIT_NO_CPR="1", **changes)
    return Terminal((*FAKE, "shell", *options), environ=environ)


@pytest.mark.slow
def test_a_session_on_a_terminal(tmp_path):
    with terminal(tmp_path, "--no-pager") as shell:
        assert "3 tables; \\? lists commands, \\q leaves" in shell.expect("fff>")
        shell.type("rows\n")
        shell.expect("...>")
        shell.type("2;\n")
        assert "│ 1 │ row 1 │" in shell.expect(f"2 rows {CLOSING}")
        shell.expect("fff>")
        shell.type("rows\n\\timing\n")
        shell.expect("timing is off")
        shell.expect("...>")  # what was begun stands there again
        shell.type("4;\n")
        shell.expect("│ 3 │ row 3 │")
        shell.expect("fff>")
        shell.type("\\timing\n")
        shell.expect("timing is on")
        shell.expect("fff>")
        shell.type("select wrong; rows 1;\n")
        shell.expect("error: no column wrong")
        shell.expect(f"1 row {CLOSING}")
        shell.expect("fff>")
        shell.type("rows 100000;\n")
        assert "│ 39 │ row 39 │" in shell.expect("100,000 rows (40 shown; \\rows all, or \\o csv FILE)")
        shell.expect("fff>")
        shell.type("rows 9; \x03")  # Ctrl-C clears what is typed
        shell.expect("fff>")
        shell.type("\\nope\n")
        shell.expect("error: there is no command \\nope")
        shell.expect("fff>")
        shell.type("\\policy\n")
        assert "rank,\n" in shell.expect("benefit, adaptive").replace("\r", ""), "no word is broken"
        shell.expect("fff>")
        shell.type(" rows 3;\n")
        shell.expect(f"3 rows {CLOSING}")
        shell.expect("fff>")
        shell.type("\x04")
        assert shell.finish() == 0
    kept = [line for line in (tmp_path / "fff" / "history").read_text().splitlines() if line.startswith("+")]
    assert kept == [
        "+rows",
        "+2;",
        "+rows",
        "+\\timing",
        "+rows",
        "+4;",
        "+\\timing",
        "+select wrong; rows 1;",
        "+rows 100000;",
        "+\\nope",
        "+\\policy",
    ]


@pytest.mark.slow
def test_interrupts_are_the_statements(tmp_path):
    with terminal(tmp_path) as shell:
        shell.expect("fff>")
        shell.type("wait;\n")
        shell.expect("Spark   ")
        shell.interrupt()
        assert "│ 4 │ row 4 │" in shell.expect("5 rows in 1.2 s, 97 requests, PARTIAL: interrupted")
        shell.expect("fff>")
        shell.type("stuck; rows 7;\n")
        shell.expect("Spark   ")
        shell.interrupt()
        shell.expect("stopping")
        shell.interrupt()
        shell.expect("aborted")
        assert "7 rows" not in shell.expect("fff>")
        shell.type("rows 1;\n")
        shell.expect(f"1 row {CLOSING}")
        shell.expect("fff>")
        shell.type("blocked;\n")
        shell.expect("Spark   ")
        shell.interrupt()
        shell.expect("stopping")
        shell.interrupt()
        shell.expect("fff>")
        shell.type("quit\n")  # a thread that never ends does not hold up the end
        assert shell.finish() == 0


@pytest.mark.slow
def test_tab_completes_and_arrows_go_back(tmp_path):
    with terminal(tmp_path, "-q") as shell:
        shell.expect("fff>")
        shell.type("explain select crimeR\t")
        shell.expect("ating")
        shell.type(" from Crime;\n")
        shell.expect("plan of select crimeRating from Crime with {}")
        shell.expect("fff>")
        shell.type("\x1b[A\n")
        shell.expect("plan of select crimeRating from Crime with {}")
        shell.expect("fff>")
        shell.type("\\q\n")
        assert shell.finish() == 0


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_plain_prompts(tmp_path):
    with terminal(tmp_path, TERM="dumb") as shell:
        shell.expect("fff>")
        shell.type("rows\n")
        shell.expect("...>")
        shell.type("1;\n")
        shell.expect(f"1 row {CLOSING}")
        shell.expect("fff>")
        shell.interrupt_plain_prompt()
        shell.expect("fff>")
        shell.type("\x04")
        assert shell.finish() == 0
        assert shell.text.endswith("fff> \r\n")
        assert "\x1b" not in shell.text


@pytest.mark.slow
def test_termination_ends_the_session_and_gives_the_terminal_back(tmp_path):
    with terminal(tmp_path) as shell:
        shell.expect("fff>")
        shell.process.terminate()
        assert shell.finish() == 143
        assert "Traceback" not in shell.text


@pytest.mark.slow
def test_results_to_a_pipe_and_prompts_to_the_terminal(tmp_path):
    environ = environment(XDG_STATE_HOME=str(tmp_path), PROMPT_TOOLKIT_NO_CPR="1")
    with Terminal((*FAKE, "shell"), environ=environ, stdout_to_pipe=True) as shell:
        shell.expect("fff>")
        shell.type("rows 1;\n")
        shell.expect(f"1 row {CLOSING}")
        shell.expect("fff>")
        shell.type("\x04")
        assert shell.finish() == 0
        assert shell.process.stdout.read() == b"n,name\n0,row 0\n"


def test_only_a_terminal_pays_for_the_line_editor():
    code = "import sys, fff_cli.commands.query, fff_cli.shell.repl; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment(),
    )
    assert {"prompt_toolkit", "pyspark", "rich"}.isdisjoint(done.stdout.split())


@pytest.mark.slow
def test_the_shell_is_silent_about_a_home_it_cannot_write(tmp_path):
    with terminal(tmp_path / "nowhere" / os.devnull, "-q", HOME="") as shell:
        shell.expect("fff>")
        shell.type("\\q\n")
        assert shell.finish() == 0


# ------------------------------------------------------------------------------------------------- over real sources


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_over_the_demo_sources_keeps_spark_and_what_it_read(tmp_path):
    with DemoServer(delay_scale=0) as server:
        environ = environment(
            XDG_STATE_HOME=str(tmp_path),
            PROMPT_TOOLKIT_NO_CPR="1",
            FFF_DEMO_BASE_URL=server.base_url,
            FFF_SOURCES=str(SPEC),
        )
        with Terminal((*REAL, "shell"), environ=environ) as shell:
            shell.expect("fff>")
            shell.type("SELECT count(*) AS zips\n")
            shell.expect("...>")
            shell.type("FROM Crime;\n")
            first = shell.expect(", complete")
            assert "zips" in first
            assert " 0 requests" not in first
            shell.expect("fff>")
            shell.type("SELECT max(incidents) AS worst FROM Crime;\n")
            assert " 0 requests" in shell.expect(", complete")
            shell.expect("fff>")
            shell.type("\\reset\nSELECT zip FROM Crime WHERE zip = '94705';\n")
            again = shell.expect(", complete")
            assert "94705" in again
            assert " 1 request," in again
            shell.expect("fff>")
            shell.type("SELECT zipp FROM Crime;\n")
            shell.expect("error: unknown column zipp")
            shell.expect("fff>")
            shell.type("\x04")
            assert shell.finish() == 0
