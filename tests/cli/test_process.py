"""The command line as a process, with and without a terminal."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from fff.errors import SourceError
from fff.federation import RunOutcome
from fff.options import RunOptions
from fff.result.report import make_report
from fff.stats import AccessStats, Missing
from fff.structs import replace
from fff_cli.app import run as run_here
from fff_cli.run.account import closing_lines
from fff_cli.run.reports import Reports, bare
from tests.cli.fake_engine import Execution, outcome, snapshot
from tests.cli.terminal import FAKE, REAL, Terminal, ended, environment, fake, under_way
from tests.sampling import every_row


def test_rows_go_to_standard_output_and_the_closing_line_to_standard_error():
    done = fake("query", "rows 2")
    assert done.returncode == 0
    assert done.stdout == "n,name\n0,row 0\n1,row 1\n"
    assert done.stderr == "2 rows in 1.2 s, 97 requests, complete\n"


def test_what_is_told_does_not_go_to_standard_output_when_standard_error_is_closed():
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *REAL, "query", "SELECT 1 AS x, 'never", "-o", "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_quiet_says_nothing():
    assert fake("query", "rows 2", "-q").stderr == ""


@pytest.mark.slow
def test_sql_comes_from_files_and_standard_input(tmp_path):
    one, two = tmp_path / "one.sql", tmp_path / "two.sql"
    one.write_text("rows 1; rows 0;\n")
    two.write_text("\ufeffrows 2")
    assert (
        fake("query", "-q", "-f", str(one), "-f", str(two)).stdout
        == "n,name\n0,row 0\nn,name\nn,name\n0,row 0\n1,row 1\n"
    )
    assert fake("query", "-q", stdin="rows 1").stdout == "n,name\n0,row 0\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    every_row(4, [
        (("query", "select wrong"), 1, "error: no column wrong\n  1 | select wrong\n             ^^^^^\n  did you mean right?\n"),
        (("query", "fail"), 4, "error: demo.Crime: HTTP 503 after 5 attempts (http://x/y)\n"),
        (("query", "bug"), 1, "internal error: InvariantError: illegal move; -v shows where\n"),
        (("query",), 2, "error: the SQL is empty"),
        (("query", "rows 1", "-f", "x.sql"), 2, "error: SQL was given both as an argument and with -f"),
        (("query", "-f", "nowhere.sql"), 2, "error: cannot read 'nowhere.sql': No such file or directory\n  name a file of SQL"),
        (("query", "rows 1", "--nope"), 2, "error: No such option: --nope"),
        (("query", "rows 1", "--verbos"), 2, "error: No such option: --verbos; did you mean --verbose? (see fff query"),
        (("query", "rows 1", "--limt", "3"), 2, "error: No such option: --limt (see fff query"),
        (("query", "rows 1", "--progress", "loud"), 2, "error: Invalid value for '--progress': 'loud' is not one of"),
        (("query", "rows 1", "--deadline", "-1"), 2, "error: Invalid value for '--deadline': must be at least 0 (see"),
        (("query", "rows 1", "--deadline", "soon"), 2, "error: Invalid value for '--deadline': must be a number (see"),
        (("query", "rows 1", "--seed", "x"), 2, "error: Invalid value for '--seed': must be a whole number (see"),
        (("query", "rows 1", "-o", "xml"), 2, "error: unknown output format 'xml'\n  one of table, csv"),
        (("query", "rows 1", "-O", "/tmp"), 2, "error: cannot write '/tmp': it is a folder\n  name a file in it, or -O /tmp/ "),
        (("query", "rows 1", "-O", "x.what"), 2, "error: cannot tell the format from the ending of 'x.what'"),
        (("query", "rows 1", "-O", "nowhere/x.csv"), 2, "error: cannot write 'nowhere/x.csv': No such file or directory\n  name a file"),
        (("query", "rows 1", "--report", "nowhere/x"), 2, "error: cannot write 'nowhere/x': there is no such folder\n  name a file"),
        (("query", "rows 1", "--report", "/tmp"), 2, "error: cannot write '/tmp': it is a folder\n  name a file"),
        (("query", "rows", "1"), 2, "error: Got unexpected extra argument(s) (1): put the SQL into quotes, as in fff query"),
        (("query", "'\udce9'"), 2, "error: the SQL is not UTF-8 text"),
        (("query", "select :x", "-p", "x=\udce9"), 2, "error: the value of -p is not UTF-8 text"),
        (("SELECT 1",), 2, "error: No such command 'SELECT 1'; SQL is for fff query"),
        (("query", "rows 1", "-p", "zip"), 2, "error: -p zip: not of the form NAME=VALUE"),
        (("query", "rows 1; rows 2", "-o", "parquet"), 2, "error: several statements have several results, and a parquet file holds one"),
        (("query", "rows 1", "--spark-master", "x", "--spark-remote", "y"), 2, "error: --spark-master and --spark-remote exclude"),
        (("nonsense",), 2, "error: No such command 'nonsense'"),
    ]),
)  # fmt: skip
def test_errors_are_short_leave_standard_output_empty_and_have_their_code(arguments, code, said, tmp_path):
    done = fake(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) <= 4
    assert list(tmp_path.iterdir()) == []


def test_files_that_nothing_reads_are_told(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FFF_SOURCES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "other.yaml").write_text("a: 1\n")
    (tmp_path / "race.yaml").write_text("version: 1\nsources:\n  s: {}\n")

    def said(*arguments: str) -> str:
        assert run_here(["query", *arguments]) != 0
        return capfd.readouterr().err

    assert said("SELECT a FROM horses").endswith(
        "  race.yaml in this folder may have it, and nothing reads it: -s race.yaml\n"
    )
    several = said("SELECT a FROM products")
    assert "is ambiguous" in several, "of the bundled ones"
    assert several.endswith(
        "write source.table\n  race.yaml in this folder may have it, and nothing reads it: -s race.yaml\n"
    )
    table = "{columns: {a: int}, scan: {endpoint: {path: t}}}"
    source = f"{{client: {{base_url: 'http://localhost:1'}}, tables: {{horses: {table}}}}}"
    (tmp_path / "fff.yaml").write_text(f"version: 1\nsources: {{a: {source}, b: {source}}}\n")
    assert said("SELECT a FROM horses").endswith("write source.table\n"), "the tables are known"
    (tmp_path / "fff.yaml").unlink()
    assert "unknown table race.yaml" in said("SELECT a FROM 'race.yaml'")
    assert said("race.yaml").startswith("error: 'race.yaml' is the name of a file, and no SQL\n  -f FILE")
    (tmp_path / "race.yaml").unlink()
    assert "nothing reads it" not in said("SELECT a FROM horses")


def test_what_is_typed_is_read_as_utf_8_whatever_the_locale():
    plain = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = subprocess.run(
        [sys.executable, "-m", "fff_cli", "query", "-q", "SELECT 'ä' AS a, :b AS b", "-p", "b=é"],
        env=plain,
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == "a,b\nä,é\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_help_that_cannot_be_written_is_an_error_in_words():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fff_cli", "--help"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (2, b"error: cannot write the result: No space left on device\n")


def test_hints_for_a_file_that_is_not_there(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").mkdir()
    assert run_here(["query", "SELECT 1", "-s", "none"]) == 2
    assert "no spec is in this folder" in capfd.readouterr().err
    for name, hint in (
        ("data\\zips.csv", "a backslash makes the next character another: write / or \\\\"),
        ("https://x.org/y.csv", "fff source init https://x.org/y.csv drafts"),
    ):
        assert run_here(["query", f"SELECT * FROM '{name}'"]) == 1
        assert hint in capfd.readouterr().err


@pytest.mark.slow
def test_sql_that_is_no_text_is_refused_and_a_dash_means_standard_input():
    refused = subprocess.run(
        [sys.executable, "-m", "fff_cli", "query"], input=b"SELECT '\xff'", capture_output=True, check=False
    )
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert refused.stderr.startswith(b"error: standard input is not UTF-8 text (byte 8)\n")
    read = subprocess.run(
        [sys.executable, "-m", "fff_cli", "explain", "-f", "-"],
        input=b"SELECT nope(1)",
        capture_output=True,
        check=False,
    )
    assert b"unknown function nope" in read.stderr


@pytest.mark.parametrize(
    ("error", "last"),
    [
        (SourceError("cannot connect", source="a", attempts=5), "check the network and the source's base_url, or try again later"),
        (SourceError("HTTP 503", status=503, hint="the server says: no"), "try again later"),
        (SourceError("HTTP 429", status=429, attempts=5), "try again later, or ask for less at once with client.rate_limit in the source's spec"),
        (SourceError("HTTP 404", status=404), "check path and params of the endpoint in the source's spec"),
        (SourceError("HTTP 401", status=401, hint="check client.auth; the server says: no"), "check client.auth; the server says: no"),
        (SourceError("stopped after 3 pages (max_pages)"), "correct the source's spec; `fff source test FILE` tries it out"),
    ],
)  # fmt: skip
def test_every_error_of_a_source_ends_with_what_to_do_next(error, last):
    assert str(error).splitlines()[-1] == f"  {last}"


@pytest.mark.slow
def test_a_result_for_dev_stdout_goes_on_where_standard_output_is(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("before\n")
    with log.open("a") as file:
        done = subprocess.run(
            [*FAKE, "query", "rows 1", "-q", "-O", "/dev/stdout", "-o", "csv"],
            stdout=file,
            env=environment(),
            check=False,
        )
        file.write("after\n")
    assert done.returncode == 0
    assert log.read_text() == "before\nn,name\n0,row 0\nafter\n"
    assert list(tmp_path.iterdir()) == [log]


def test_every_report_has_every_field():
    run = make_report(
        sql="",
        snapshot=snapshot(),
        complete=True,
        exit_code=0,
        reason=None,
        rows=0,
        warnings=(),
        doubts=(),
        audit=(),
    )
    assert list(bare("", "", 1)) == list(run)
    assert bare("", "", 1)["spark"].keys() == run["spark"].keys()


def test_the_report_of_a_run_that_nobody_reads_to_its_end_counts_what_was_read():
    """A reader that leaves ends no run, but its result was not whole, whatever Spark had made of it by then."""
    whole = outcome(make_report=lambda: {"complete": True, "exit_code": 0})
    cut = Execution("stuck", [], RunOptions()).cut_outcome
    for error, given, code in ((asyncio.CancelledError(), 130, 130), (BrokenPipeError(), None, 0)):
        for settled in (None, whole):
            reports = Reports(None)
            reports.failed(SimpleNamespace(settled=settled, cut_outcome=cut), error, given, rows=7)
            (account,) = reports._accounts
            assert (account["exit_code"], account["rows"], account["complete"]) == (code, 7, False)


@pytest.mark.slow
def test_a_traceback_comes_with_verbose_only():
    assert "Traceback" not in fake("query", "fail").stderr
    verbose = fake("query", "fail", "-v")
    assert "Traceback" in verbose.stderr
    assert verbose.returncode == 4


def test_a_source_that_fails_late_ends_with_4_and_a_partial_result_with_3(tmp_path):
    late = fake("query", "late")
    assert late.returncode == 4
    assert late.stderr.startswith("error: demo.Crime: connection reset\n  ")
    assert late.stderr.endswith("\n  the 3 rows written before that are not the whole answer\n")
    assert (
        "written"
        not in fake("query", "late", "-O", str(tmp_path / "none.csv")).stderr + fake("query", "fail").stderr
    )
    table = fake("query", "late", "-o", "table")  # no row is out before the widths are known
    assert (table.returncode, table.stdout) == (4, "")
    assert "written" not in table.stderr
    partial = fake("query", "partial")
    assert partial.returncode == 3
    assert partial.stdout.count("\n") == 4
    said = partial.stderr.splitlines()
    assert said[0] == "warning: 2 bad records"
    assert said[1] == "3 rows in 1.2 s, 97 requests, PARTIAL: a source failed"
    assert said[2:] == ["  missing demo.Crime: 12 keys, HTTP 503 after 5 attempts (zip = '99999', …)"]


def test_a_table_that_was_not_read_is_told_before_keys_of_others():
    keys = tuple(Missing("a.S", f"x = {number}", "gone") for number in range(30))
    account = RunOutcome(
        complete=False, exit_code=3, reason="gone", rows=0, elapsed_s=1.0, warnings=(), make_report=dict,
        missing=(*keys, Missing("a.R", "true", "gone")),
    )  # fmt: skip
    access = (AccessStats("a", "S", "lookup", ("x",), "S.lookup[x]", "failed", distinct_keys=400),)
    assert closing_lines(account, access)[1:] == [
        "  missing a.R: gone", "  missing a.S: 30 of 400 keys, gone (x = 0, …)",
    ]  # fmt: skip
    more = replace(
        account,
        missing=(*keys, Missing("a.S", "350 more keys", "gone"), Missing("a.S", "1 more keys", "HTTP 500")),
    )
    asked = (replace(access[0], distinct_keys=40, pending_keys=350),)
    assert closing_lines(more, asked)[1:] == [
        "  missing a.S: 380 of 390 keys, gone (x = 0, …)", "  missing a.S: 1 of 390 keys, HTTP 500",
    ]  # fmt: skip
    each = replace(account, missing=tuple(Missing("a.S", f"x = {n}", f"HTTP {n}") for n in range(12)))
    assert closing_lines(each, ())[-2:] == [
        "  missing a.S where x = 9: HTTP 9", "  and 2 more missing parts (--report tells more)",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_partial_statement_among_several_decides_the_exit_code():
    done = fake("query", "partial; rows 1")
    assert done.returncode == 3
    assert done.stdout.endswith("n,name\n0,row 0\n")


def test_files_appear_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o640)
    assert fake("query", "late", "-O", str(target)).returncode == 4
    assert target.read_text() == "old"
    done = fake("query", "partial", "-O", str(target), "--on-source-error", "partial")
    assert (done.returncode, done.stdout) == (3, "")
    assert target.read_text() == "n,name\n0,row 0\n1,row 1\n2,row 2\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.slow
def test_a_new_file_has_the_usual_permissions_and_a_link_stays_a_link(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    fake("query", "rows 1", "-O", str(link), umask=0o027)
    assert link.is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == [{"n": 0, "name": "row 0"}]
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_devices_are_written_as_they_are():
    assert fake("query", "-q", "rows 1", "-o", "csv", "-O", "/dev/stdout").stdout == "n,name\n0,row 0\n"


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told(unbuffered):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*FAKE, "query", "rows 1"],
            stdout=full,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment(PYTHONUNBUFFERED=unbuffered),
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: cannot write the result: No space left on device\n"
    done = fake("query", "rows 1", "-o", "csv", "-O", "/dev/full", "--report", "/dev/stdout")
    assert (done.returncode, json.loads(done.stdout)["reason"]) == (
        2,
        "cannot write the result: No space left on device",
    )


@pytest.mark.slow
def test_reports_are_written_also_when_there_is_no_result(tmp_path):
    report = tmp_path / "report.json"
    fake(
        "query",
        "rows 1; rows 2",
        "--report",
        str(report),
        "--seed",
        "7",
        "--policy",
        "naive",
        "--deadline",
        "9",
    )
    first, second = json.loads(report.read_text())
    assert (first["rows"], second["rows"]) == (1, 2)
    assert first["options"] | {"seed": "7", "policy": "naive", "deadline": "9.0"} == first["options"]
    fake("query", "fail", "--report", str(report))
    failed = json.loads(report.read_text())
    assert (failed["complete"], failed["exit_code"], failed["rows"]) == (False, 4, 0)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {"on_source_error": "fail", "hold_rows": "False", "refresh": "False"}),
        (("--on-source-error", "fail"), {"on_source_error": "fail", "hold_rows": "True"}),
        (("--on-source-error", "partial"), {"on_source_error": "partial", "hold_rows": "False"}),
        (("--max-requests", "5", "--semantics", "paper"), {"max_requests": "5", "semantics": "paper"}),
        (("--spark-master", "spark://x"), {"spark_master": "spark://x"}),
    ],
)
@pytest.mark.slow
def test_options_reach_the_engine(arguments, options, tmp_path):
    report = tmp_path / "report.json"
    fake("query", "rows 1", "--report", str(report), *arguments)
    told = json.loads(report.read_text())["options"]
    assert told | options == told


@pytest.mark.slow
def test_a_closed_pipe_ends_the_run_without_a_word():
    command = " ".join([*FAKE, "query", "'rows 200000'"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -2"], capture_output=True, text=True, timeout=60, check=False, env=environment(),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout == "n,name\n0,row 0\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_first_batch_is_out_while_the_run_goes_on():
    with subprocess.Popen(
        [*FAKE, "query", "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
    ) as run:
        assert [run.stdout.readline() for _ in range(4)] == [
            b"n,name\n",
            b"0,row 0\n",
            b"1,row 1\n",
            b"2,row 2\n",
        ]
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert out == b"3,row 3\n4,row 4\n"
    assert err.decode().splitlines() == [
        "stopping with what is there; Ctrl-C again aborts",
        "5 rows in 1.2 s, 97 requests, PARTIAL: interrupted",
    ]
    assert run.returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "ending"), [("stuck", "csv"), ("blocked", "csv"), ("blocked", "duckdb"), ("blocked", "xlsx")]
)
def test_the_second_interrupt_aborts_and_leaves_nothing_behind(scene, ending, tmp_path):
    arguments = [*FAKE, "query", scene, "-O", str(tmp_path / f"out.{ending}")]
    own = environment(TMPDIR=str(tmp_path))
    with ended(subprocess.Popen(arguments, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=own)) as run:
        under_way(run, tmp_path)
        run.send_signal(signal.SIGINT)
        assert run.stderr.readline() == b"stopping with what is there; Ctrl-C again aborts\n"
        run.send_signal(signal.SIGINT)
        assert run.stderr.read() == b"aborted\n"
        assert run.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_termination_leaves_nothing_behind_either(tmp_path):
    arguments = [*FAKE, "query", "stuck", "-O", str(tmp_path / "out.csv")]
    with ended(
        subprocess.Popen(arguments, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment())
    ) as run:
        under_way(run, tmp_path)
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_progress_as_json_is_one_object_a_line():
    objects = [
        json.loads(line) for line in fake("query", "rows 20000", "--progress", "json").stderr.splitlines()
    ]
    assert [one["event"] for one in objects] == ["progress", "end"]
    assert objects[0]["access"][0]["rows"] == 7000
    assert "sample" not in objects[0]
    ended = json.loads(fake("query", "partial", "--progress", "json").stderr.splitlines()[-1])
    assert (ended["event"], ended["exit_code"], ended["missing"][0]["table"]) == ("end", 3, "demo.Crime")
    failed = json.loads(fake("query", "select wrong", "--progress", "json").stderr)
    assert (failed["event"], failed["exit_code"]) == ("error", 1)


@pytest.mark.slow
def test_prefer_is_one_of_three():
    assert fake("query", "rows 0", "--prefer", "cheap").returncode == 0
    wrong = fake("query", "rows 0", "--prefer", "best")
    assert (wrong.returncode, "'fast', 'balanced', 'cheap'" in wrong.stderr) == (2, True)


def test_explain_prints_the_plan():
    done = fake("explain", "select :zip", "-p", "zip='02139'")
    assert done.stdout == "plan of select :zip with {'zip': '02139'}\n"
    assert fake("explain", "select wrong").returncode == 1


# ----------------------------------------------------------------------------------------------------- on a terminal


def test_a_terminal_gets_a_table_and_nothing_of_the_live_view_stays():
    with Terminal((*FAKE, "query", "wait")) as terminal:
        terminal.read_until("Spark   ")
        terminal.interrupt()
        assert terminal.finish() == 3
        assert terminal.text.count("\x1b[?25l") == terminal.text.count("\x1b[?25h") == 1
        assert terminal.screen()[:10] == [
            "┌───┬───────┐", "│ n │ name  │", "├───┼───────┤", "│ 0 │ row 0 │", "│ 1 │ row 1 │", "│ 2 │ row 2 │",
            "│ 3 │ row 3 │", "│ 4 │ row 4 │", "└───┴───────┘", "5 rows in 1.2 s, 97 requests, PARTIAL: interrupted",
        ]  # fmt: skip


@pytest.mark.slow
def test_only_q_twice_and_ctrl_c_end_a_run():
    with Terminal((*FAKE, "query", "groups")) as terminal:
        terminal.expect("q stop")
        for typed in ("fff query 'select q'; quit\n", "\x1b[200~q\x1b[201~", "\x1c", "\x04", "\x13"):
            terminal.type(typed)
            for _ in range(4):  # pictures, in which it has been quiet for long enough
                terminal.expect("fetching")
        terminal.type("q")
        terminal.expect("q again")
        assert "stopping" not in terminal.text
        terminal.type("q")
        assert terminal.finish() == 3
        assert terminal.text.count("\x1b[?2004h") == terminal.text.count("\x1b[?2004l") == 1
        assert "aborted" not in terminal.text


@pytest.mark.slow
def test_an_aborted_live_view_leaves_the_terminal_clean():
    with Terminal((*FAKE, "query", "blocked")) as terminal:
        terminal.read_until("Spark   ")
        terminal.interrupt()
        terminal.read_until("stopping")
        terminal.interrupt()
        assert terminal.finish() == 130
        assert terminal.text.count("\x1b[?25h") == 1
        assert [line for line in terminal.screen() if line] == ["aborted"]


@pytest.mark.slow
def test_rows_in_a_streaming_format_take_the_place_of_the_live_view():
    with Terminal((*FAKE, "query", "wait", "-o", "csv")) as terminal:
        terminal.read_until("2,row 2")
        terminal.interrupt()
        assert terminal.finish() == 3
        assert terminal.screen()[:4] == ["n,name", "0,row 0", "1,row 1", "2,row 2"]


@pytest.mark.slow
def test_a_pipe_gets_no_control_characters_while_the_terminal_shows_the_live_view():
    with Terminal((*FAKE, "query", "wait"), stdout_to_pipe=True) as terminal:
        terminal.read_until("Spark   ")
        terminal.interrupt()
        assert terminal.finish() == 3
        assert terminal.process.stdout.read() == b"n,name\n" + b"".join(
            b"%d,row %d\n" % (n, n) for n in range(5)
        )


@pytest.mark.parametrize(
    ("options", "environ"),
    [(("--no-live",), {}), (("--progress", "off"), {}), (("-q",), {}), ((), {"TERM": "dumb"})],
)
@pytest.mark.slow
def test_no_live_view_where_none_is_wanted_or_possible(options, environ):
    with Terminal(
        (*FAKE, "query", "wait", "-o", "csv", *options), environ=environment(**environ)
    ) as terminal:
        terminal.read_until("2,row 2")
        terminal.interrupt()
        assert terminal.finish() == 3
        assert "\x1b" not in terminal.text


@pytest.mark.slow
def test_no_color_and_columns_are_obeyed():
    with Terminal((*FAKE, "query", "wide 3"), environ=environment(NO_COLOR="1", COLUMNS="50")) as terminal:
        assert terminal.finish() == 0
        table = terminal.screen()[:5]
        assert "\x1b" not in terminal.text
        assert {len(line) for line in table} <= set(range(40, 51))
        assert "…" in table[3]


@pytest.mark.parametrize(
    "form",
    [
        "table",
        *(pytest.param(form, marks=pytest.mark.slow) for form in ("json", "csv", "ndjson", "markdown")),
    ],
)
def test_source_text_cannot_drive_the_terminal(form):
    with Terminal((*FAKE, "query", "text", "-o", form), environ=environment(NO_COLOR="1")) as terminal:
        assert terminal.finish() == 0
        assert "\x1b" not in terminal.text
        assert "\u202e" not in terminal.text


def test_a_pipe_gets_source_text_as_it_is():
    assert "\x1b[31mred" in fake("query", "text", "-o", "csv").stdout


@pytest.mark.slow
def test_binary_formats_are_not_for_terminals():
    with Terminal((*FAKE, "query", "rows 1", "-o", "arrow")) as terminal:
        assert terminal.finish() == 2
        assert terminal.screen()[0] == "error: arrow is not for terminals"


@pytest.mark.slow
def test_without_sql_a_terminal_is_told_so():
    with Terminal((*FAKE, "query")) as terminal:
        assert terminal.finish() == 2
        assert terminal.screen()[0] == "error: there is no SQL"


def test_help_and_version_load_nothing_heavy():
    code = "import sys; from fff_cli.app import run; run(['query', '--help']); run(['--version']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert "--on-source-error" in done.stdout
    heavy = {"pyarrow", "numpy", "rich", "pyspark", "sqlglot", "aiohttp", "asyncio"}
    assert heavy & set(done.stderr.split()) == set()


#: What few queries need, at the end of many imports or at their beginning.
NEEDED_BY_FEW = {
    *("fff_sources.files.source", "fff_sources.files.spec", "fff.dataflow.kernels.registry"),
    *("fff_cli.output.adding", "fff_cli.output.sinks.folders", "fff_cli.live.viewer", "fff.functions.source"),
    *("fff.sql.planner.rewriting", "fff.sql.nested.derived_tables", "fff.sql.planner.recursion"),
    *("fff.sql.nested.pushed_conditions", "fff.sql.calls.parents", "fff.sql.calls.expand"),
    *("fff.forecast.estimate", "fff.access.disk.source", "fff.web.gate.leased", "pyarrow.vendored.docscrape"),
    *("numpy.ma", "html.entities", "sqlite3", "statistics"),
}


def test_a_query_loads_nothing_that_few_need():
    code = """import sys
from fff_cli.app import run
from fff_cli.run.loading import spare_loading
spare_loading()
run(['query', 'SELECT 1 AS x'])
print(*sys.modules, file=sys.stderr)"""
    run = partial(subprocess.run, capture_output=True, text=True, env=environment(), timeout=60, check=True)
    done = run([sys.executable, "-c", code])
    assert set(done.stderr.split()) & NEEDED_BY_FEW == set()


def test_a_bare_command_shows_help_and_is_a_usage_error():
    done = subprocess.run([*REAL], capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


@pytest.mark.slow
def test_what_is_piped_in_is_a_table(tmp_path):
    (tmp_path / "names.csv").write_text("zip,name\n94704,Ann\n00501,Bo\n")
    for piped in ("zip;n\n00501;1\n94704;2\n", '{"zip": "00501", "n": 1}\n{"zip": "94704", "n": 2}\n'):
        done = subprocess.run(
            [*REAL, "query", "SELECT name, n FROM stdin JOIN 'names.csv' USING (zip) WHERE n < 2"],
            input=piped,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "name,n\nBo,1\n"
        assert ", 0 requests, complete" in done.stderr


@pytest.mark.slow
def test_what_is_piped_in_serves_a_spec_and_a_statement(tmp_path):
    """It can be read but once, and whoever came second must not take it for empty."""
    (tmp_path / "fff.yaml").write_text(
        "version: 1\nsources:\n  m: {type: files, tables: {t: {path: '-', format: csv}}}\n"
    )
    command = [*REAL, "query", "-q", "SELECT t.n FROM stdin JOIN t ON stdin.n = t.n"]
    done = subprocess.run(
        command,
        input="n\n1\n2\n",
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["1", "2", "n"]), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["thread", "executor", "atexit"])
def test_what_runs_on_comes_to_its_end_before_the_process(how):
    """The process leaves at once, but neither a thread nor what is to be done at the end is cut short."""
    later = {
        "thread": "threading.Thread(target=work).start()",
        "executor": "executor = concurrent.futures.ThreadPoolExecutor(); executor.submit(work)",
        "atexit": "atexit.register(work)",
    }[how]
    code = (
        "import atexit, concurrent.futures, threading, time\nimport fff_cli.app\n"
        "from fff_cli.__main__ import main\n"
        "def work(): time.sleep(0.2); print('worked')\n"
        f"def run(arguments):\n    {later}\n    return 5\n"
        "fff_cli.app.run = run\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "worked\n", "")


def test_a_plan_over_files_is_told_without_a_spec(tmp_path, monkeypatch, capsys):
    (tmp_path / "names.csv").write_text("zip,name\n94704,Ann\n00501,Bo\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FFF_SOURCES", raising=False)
    assert run_here(["explain", "SELECT name FROM 'names.csv' WHERE zip = '00501'"]) == 0
    told = capsys.readouterr().out
    assert "names.csv" in told
    assert "zip = '00501'" in told
    for name in ("names.csv", "'names.csv'", "csv.`names.csv`"):
        assert run_here(["source", "show", name]) == 0
        assert "zip" in capsys.readouterr().out
