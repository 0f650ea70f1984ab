"""Several statements in one command: checked first, run in order, their results, reports and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from fff_cli.app import run as fff
from tests.cli.terminal import FAKE, Terminal, environment, fake
from tests.cli.watched import Watched, spec


def test_nothing_runs_when_any_statement_is_wrong(tmp_path):
    report = tmp_path / "report.json"
    report.write_text("of yesterday")
    done = fake("query", "rows 1; rows 2; select wrong", "--report", str(report))
    assert (done.returncode, done.stdout) == (1, "")
    account = json.loads(report.read_text())
    assert (account["complete"], account["exit_code"], account["rows"]) == (False, 1, 0)
    assert account["reason"].startswith("no column wrong")


def test_priorities_are_checked_before_a_script_runs_and_go_to_the_statements_that_have_them(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    site, script = Watched(), "SELECT id FROM r WHERE id = 1; SELECT y FROM s WHERE x IN ('k1', 'k2')"
    run = ["query", script, "-s", "fff.yaml", "-q", "--report", "report.json", "--no-cache"]
    with site.serving() as url:
        spec(url, tmp_path)
        for wrong, said in (("nope = 1", "no part of the query has all the columns"), ("id +", "1 | id +")):
            assert fff([*run, "--prioritize", "y = 20", "--prioritize", wrong]) == 1
            assert said in capfd.readouterr().err
        assert site.asked == 0
        assert fff([*run, "--prioritize", "y = 20", "--prioritize", "id = 1"]) == 0
    assert sorted(capfd.readouterr().out.split()) == ["1", "10", "20", "id", "y"]


def test_what_is_wrong_is_told_by_its_line_and_its_file(tmp_path, capfd):
    (tmp_path / "a.sql").write_text("SELECT 1 AS id;\n\n-- why\nSELECT idd\nFROM (SELECT 1 AS id) q;\n")
    (tmp_path / "b.sql").write_text("SELECT 2 AS id")
    assert fff(["query", "-f", str(tmp_path / "a.sql")]) == 1
    assert "error: unknown column idd\n  4 | SELECT idd\n             ^^^\n" in capfd.readouterr().err
    assert fff(["query", "-f", str(tmp_path / "b.sql"), "-f", str(tmp_path / "a.sql")]) == 1
    assert f"error: {tmp_path / 'a.sql'}: unknown column idd\n  4 | SELECT idd\n" in capfd.readouterr().err


def test_statements_share_a_session_and_what_is_granted(tmp_path):
    report = tmp_path / "report.json"
    fake("query", "rows 1; rows 2", "--report", str(report), "--max-requests", "9", "--deadline", "100")
    first, second = (one["options"] for one in json.loads(report.read_text()))
    assert first["expected"] == second["expected"] == 2
    assert first["limit"] == 9
    assert 0 < float(second["deadline"]) < float(first["deadline"]) == 100


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csv", "n,name\n0,row 0\nn,name\n0,row 0\n"),
        ("tsv", "n\tname\n0\trow 0\nn\tname\n0\trow 0\n"),
        ("ndjson", '{"n":0,"name":"row 0"}\n' * 2),
        ("json", '[\n{"n":0,"name":"row 0"}\n]\n' * 2),
        ("markdown", "| n | name |\n| ---: | --- |\n| 0 | row 0 |\n\n| n | name |\n| ---: | --- |\n| 0 | row 0 |\n"),
        ("table", " n | name\n---+-------\n 0 | row 0\n\n n | name\n---+-------\n 0 | row 0\n"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_results_follow_each_other_in_a_file_as_on_standard_output(form, text, tmp_path):
    target = tmp_path / "out"
    assert fake("query", "-q", "rows 1; rows 1", "-o", form).stdout == text
    done = fake("query", "-q", "rows 1; rows 1", "-o", form, "-O", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert target.read_text() == text


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_binary_file_holds_one_result(form, tmp_path):
    done = fake("query", "rows 1; rows 1", "-O", str(tmp_path / f"out.{form}"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: several statements have several results")
    assert list(tmp_path.iterdir()) == []


def test_the_first_statement_without_a_result_ends_the_script(tmp_path):
    target, report = tmp_path / "out.csv", tmp_path / "report.json"
    target.write_text("old")
    done = fake("query", "partial; fail; rows 1", "-O", str(target), "--report", str(report))
    assert done.returncode == 4
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "report.json"]
    assert done.stderr.splitlines()[-3:-1] == [
        "not run: 1 statement", "error: demo.Crime: HTTP 503 after 5 attempts (http://x/y)",
    ]  # fmt: skip
    accounts = json.loads(report.read_text())
    assert [one["exit_code"] for one in accounts] == [3, 4, 4]
    assert accounts[2]["sql"] == "rows 1"
    assert accounts[2]["reason"].startswith("not run")


@pytest.mark.slow
def test_the_worst_exit_code_counts():
    assert fake("query", "-q", "partial; rows 0").returncode == 3
    assert fake("query", "-q", "rows 0; partial").returncode == 3
    assert fake("query", "-q", "partial; late").returncode == 4


@pytest.mark.slow
def test_the_first_interrupt_ends_the_script_with_what_is_there(tmp_path):
    report = tmp_path / "report.json"
    arguments = [*FAKE, "query", "wait; rows 1", "--report", str(report)]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment()
    ) as run:
        assert run.stdout.readline() == b"n,name\n"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 3
    assert out.endswith(b"4,row 4\n")
    assert err.splitlines()[-1] == b"not run: 1 statement"
    assert [one["complete"] for one in json.loads(report.read_text())] == [False, False]


@pytest.mark.slow
@pytest.mark.parametrize("command", [("query", "stuck"), ("explain", "--analyze", "stuck")])
def test_an_aborted_run_has_a_report(command, tmp_path):
    report = tmp_path / "report.json"
    with subprocess.Popen(
        [*FAKE, *command, "--report", str(report)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
    ) as run:
        assert run.stdout.readline()
        time.sleep(0.5 * (command[0] == "explain"))  # the plan comes before the run
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
        assert run.stderr.read() == b"aborted\n"
    account = json.loads(report.read_text())
    assert (account["exit_code"], account["reason"], account["complete"]) == (143, "aborted", False)
    assert account["rows"] == 3, "which somebody has"


@pytest.mark.parametrize(("where", "rows"), [((), 3), (("-O", "out.csv"), 0)])
def test_the_report_of_a_run_that_fails_counts_the_rows_that_somebody_has(where, rows, tmp_path):
    assert fake("query", "late", "--report", "report.json", *where, cwd=tmp_path).returncode == 4
    account = json.loads((tmp_path / "report.json").read_text())
    assert (account["rows"], account["complete"], account["exit_code"]) == (rows, False, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "said"), [(("--progress", "json"), b"aborted"), (("-q",), None)])
def test_an_abort_is_told_as_the_rest_is(how, said):
    with subprocess.Popen([*FAKE, "query", "stuck", *how], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, env=environment()) as run:  # fmt: skip
        assert run.stdout.readline()
        run.terminate()
        run.wait(60)
        lines = run.stderr.read().splitlines()
    assert [json.loads(line)["event"] for line in lines][-1:] == ([] if said is None else [said.decode()])


@pytest.mark.parametrize(("scene", "code"), [("late", 4), ("select wrong", 1)])
def test_an_analysis_that_failed_has_a_report(scene, code, tmp_path):
    report = tmp_path / "report.json"
    assert fake("explain", "--analyze", scene, "--report", str(report)).returncode == code
    assert json.loads(report.read_text())["exit_code"] == code


@pytest.mark.slow
def test_a_reader_that_has_enough_is_in_the_report(tmp_path):
    report = tmp_path / "report.json"
    reading, writing = os.pipe()
    with subprocess.Popen([*FAKE, "query", "rows 100000", "--report", str(report)], stdout=writing, env=environment(),
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:  # fmt: skip
        os.close(writing)
        os.close(reading)
        assert run.communicate(timeout=60)[1] == b""
    assert run.returncode == 0
    account = json.loads(report.read_text())
    assert (account["complete"], account["exit_code"]) == (False, 0)
    assert "standard output was closed" in account["reason"]


def test_progress_objects_count_and_hold_no_rows():
    lines = fake("query", "rows 3000; rows 3000", "--progress", "json").stderr.splitlines()
    objects = [json.loads(line) for line in lines]
    assert [(one["event"], one["statement"]) for one in objects] == [
        ("progress", 1), ("end", 1), ("progress", 2), ("end", 2),
    ]  # fmt: skip
    assert objects[0]["groups"] == {"known": 61, "final": 0}
    assert objects[0]["partial_rows"] == 0
    assert objects[0]["priorities"] == []
    assert {"sample", "partial", "rests_on", "columns"} & set(objects[0]) == set()
    assert len(lines[0]) < 2500
    skipped = fake("query", "fail; rows 1", "--progress", "json").stderr.splitlines()
    assert [json.loads(line)["event"] for line in skipped] == ["not_run", "error"]


def test_priorities_reach_the_engine(tmp_path):
    report = tmp_path / "report.json"
    fake("query", "rows 1", "--prioritize", "a = 1", "--prioritize", "b = 'x'", "--report", str(report))
    assert json.loads(report.read_text())["options"]["prioritize"] == str(("a = 1", "b = 'x'"))


@pytest.mark.slow
def test_cron_has_no_terminal_no_home_and_closed_streams(tmp_path):
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": environment()["PYTHONPATH"]}
    command = " ".join([*FAKE, "query", "'rows 2'", "<&-", ">", str(tmp_path / "out.csv")])
    done = subprocess.run(
        ["sh", "-c", command], env=environ, cwd="/", capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "2 rows in 1.2 s, 97 requests, complete\n")
    assert (tmp_path / "out.csv").read_text() == "n,name\n0,row 0\n1,row 1\n"


# ----------------------------------------------------------------------------------------------------- on a terminal


@pytest.mark.slow
def test_groups_are_picked_in_the_live_view_and_the_terminal_is_given_back():
    with Terminal((*FAKE, "query", "groups", "-o", "csv"), columns=100) as terminal:
        before = terminal.settings()
        terminal.read_until("q stop")
        terminal.press("jj\x1b[B\x1b[A")
        terminal.read_until("▸")
        terminal.press("\r")
        terminal.read_until("first    ")
        terminal.resize(60, 15)
        terminal.press("q")
        terminal.read_until("q again")
        terminal.press("q")
        assert terminal.finish() == 3
        assert terminal.settings() == before
        assert [line for line in terminal.screen() if line][:2] == [
            "first",
            "F.State = 'S001' AND C.rating = 1.0",
        ] or [line for line in terminal.screen() if line][:2] == [
            "first",
            "F.State = 'S001' AND C.rating = 1",
        ]


@pytest.mark.slow
def test_an_abort_gives_the_terminal_back():
    with Terminal((*FAKE, "query", "blocked", "-O", os.devnull, "-o", "csv")) as terminal:
        before = terminal.settings()
        terminal.read_until("q stop")
        assert terminal.settings() != before
        terminal.press("q")
        terminal.read_until("q again")
        terminal.press("q")
        terminal.read_until("stopping")
        terminal.interrupt()
        assert terminal.finish() == 130
        assert terminal.settings() == before


@pytest.mark.slow
def test_sql_through_standard_input_leaves_the_keys_alone(tmp_path):
    (tmp_path / "q.sql").write_text("wait")
    command = f"{' '.join(FAKE)} query -O {os.devnull} -o csv < {tmp_path}/q.sql"
    with Terminal(("bash", "-c", f"exec {command}"), columns=40) as terminal:
        before = terminal.settings()
        terminal.read_until("Spark")
        assert terminal.settings() == before
        assert "q stop" not in terminal.text
        terminal.interrupt()
        assert terminal.finish() == 3
        shown = terminal.screen()
        first, second = (line.strip() for line in shown[:2])
        assert f"{first} {second}" == "5 rows in 1.2 s, 97 requests, PARTIAL: interrupted", "between words"
        assert all(len(line) <= 40 for line in shown)


@pytest.mark.slow
def test_a_picture_that_does_not_change_is_drawn_once():
    with Terminal((*FAKE, "query", "still", "-O", os.devnull, "-o", "csv")) as terminal:
        terminal.read_until("q stop")
        terminal.press("zzzzzz")  # keys that mean nothing
        terminal.interrupt()
        assert terminal.finish() == 0
        assert terminal.text.count("current") == 0
        assert terminal.text.count("groups so far") == 1
