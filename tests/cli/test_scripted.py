"""Queries in scripts: pipes, redirects, cron, script(1), a narrow terminal, files, parameters; over the demo sources."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from fff_sources.demo import spec_text
from fff_sources.demo.data import generate
from tests.cli.terminal import REAL, ROOT, Terminal, environment

SCAN = "SELECT id, name, zip FROM demo.FEC"
FFF = shlex.join(REAL)


@pytest.fixture(scope="module")
def spec(demo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec of demo sources that answer at once."""
    path = tmp_path_factory.mktemp("demo") / "demo.yaml"
    path.write_text(spec_text(demo_url), encoding="utf-8")
    return path


def shell(command: str, spec: Path, **options) -> subprocess.CompletedProcess[str]:
    """A line of a script; `$FFF` is the command."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        text=True,
        timeout=120,
        check=False,
        env=environment(FFF=FFF, FFF_SOURCES=str(spec)),
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )


def contributions() -> int:
    return len(generate().fec)


@pytest.mark.slow
def test_head_gets_its_lines_and_the_run_ends_quietly(spec):
    done = shell(f"$FFF query {SCAN!r} | head -5", spec)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert (lines[0], len(lines)) == ("id,name,zip", 5)


def test_a_redirect_gets_every_row_and_nothing_else(spec, tmp_path):
    done = shell(f"$FFF query 'SELECT zip, incidents FROM demo.Crime' > {tmp_path}/out.csv", spec)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.endswith(", complete\n")
    text = (tmp_path / "out.csv").read_text()
    header, *rows = csv.reader(text.splitlines())
    assert header == ["zip", "incidents"]
    assert sorted(row[0] for row in rows) == sorted(row["zip"] for row in generate().crime)
    assert "\x1b" not in text + done.stderr
    assert "\r" not in done.stderr


@pytest.mark.slow
def test_both_streams_into_one_file_keep_whole_lines(spec, tmp_path):
    assert shell(f"$FFF query {SCAN!r} > {tmp_path}/all 2>&1", spec).returncode == 0
    lines = (tmp_path / "all").read_text().splitlines()
    assert len(lines) == contributions() + 2
    assert lines[-1].endswith(", complete")


@pytest.mark.slow
def test_cron(spec, tmp_path):
    """No terminal, no home, a minimal PATH, standard input closed."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "cli", "sources"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {FFF} query {SCAN!r} -s {spec} --report report.json <&-"],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": paths},
        cwd=tmp_path,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == contributions() + 1
    assert done.stderr.endswith(", complete\n")
    assert json.loads((tmp_path / "report.json").read_text())["complete"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("script") is None, reason="script(1) is not installed")
def test_under_script_a_terminal_is_a_terminal(spec, tmp_path):
    query = f"{FFF} query {shlex.quote(SCAN + ' LIMIT 3')} --no-live"
    done = shell(f"script -qec {shlex.quote(query)} {tmp_path}/typescript", spec)
    assert done.returncode == 0
    assert done.stdout.startswith("┌")
    assert done.stdout.count("│") == 4 * 4


@pytest.mark.slow
def test_a_terminal_of_40_columns_is_not_overrun(spec):
    query = (*REAL, "query", "SELECT * FROM demo.FEC LIMIT 4", "-s", str(spec))
    with Terminal(query, columns=40) as terminal:
        assert terminal.finish() == 0
        screen = [line for line in terminal.screen() if line]
    assert max(map(len, screen)) <= 40
    assert sum(line.startswith("│") for line in screen) >= 5


@pytest.mark.slow
def test_several_files_run_in_order_and_the_first_error_ends_the_run(spec, tmp_path):
    (tmp_path / "one.sql").write_text("SELECT zip FROM demo.Crime WHERE zip = '94705';\n-- nothing more\n")
    (tmp_path / "two.sql").write_text(
        "SELECT zip FROM demo.Crime WHERE zip = '94706'; SELECT nope FROM demo.Crime; SELECT 1"
    )
    done = shell(f"cd {tmp_path} && $FFF query -q -f one.sql -f two.sql", spec)
    assert done.returncode == 1
    assert done.stdout in {
        "",
        "zip\n94705\nzip\n94706\n",
    }  # names are checked before anything runs, or in turn
    assert done.stderr.startswith("error: two.sql: unknown column nope\n")


@pytest.mark.slow
def test_files_and_standard_input(spec, tmp_path):
    (tmp_path / "q.sql").write_text("SELECT zip FROM demo.Crime WHERE zip = '94705'")
    assert shell(f"$FFF query -q -f {tmp_path}/q.sql -f {tmp_path}/q.sql", spec).stdout == "zip\n94705\n" * 2
    assert shell(f"$FFF query -q < {tmp_path}/q.sql", spec).stdout == "zip\n94705\n"
    assert shell(f"cat {tmp_path}/q.sql | $FFF query -q | cat", spec).stdout == "zip\n94705\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "option", "count"),
    [
        ("zip = :v", "v='94705'", None),
        ("zip = :v", "v:string=94705", None),
        ("id = :v", "v=7", 1),
        ("id <= :v", "v:bigint=7", 7),
        ("date < :v", "v:date=0001-01-01", 0),
        ("name = :v", "v=x' OR 1 = 1 --", 0),
        ("name <=> :v", "v=null", 0),
    ],
)
def test_parameters_are_typed_and_never_text(spec, condition, option, count):
    done = shell(
        f"$FFF query -q {shlex.quote(f'SELECT id, zip FROM demo.FEC WHERE {condition}')} -p {shlex.quote(option)}",
        spec,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if count is None:
        assert rows
        assert {row["zip"] for row in rows} == {"94705"}
    else:
        assert len(rows) == count


@pytest.mark.slow
def test_output_into_a_closed_stream_is_an_error_and_no_traceback(spec):
    done = shell(f"$FFF query {SCAN!r} >&-", spec)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the result")
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.slow
@pytest.mark.spark
def test_an_aggregate_in_a_pipe_and_under_cron(spec, tmp_path):
    sql = "SELECT State, count(*) AS n FROM demo.FEC GROUP BY State ORDER BY n DESC, State"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{FFF} query -q {shlex.quote(sql)} -s {spec} <&- | head -3"],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": environment()["PYTHONPATH"]},
        cwd=tmp_path,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    counted: dict[str, int] = {}
    for row in generate().fec:
        counted[row["State"]] = counted.get(row["State"], 0) + 1
    best = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:2]
    assert done.stdout == "State,n\n" + "".join(f"{state},{count}\n" for state, count in best)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.spark
def test_a_script_of_twenty_aggregates_pays_for_spark_and_for_every_page_once(spec, tmp_path):
    statements = [
        f"SELECT State, count(*) AS n FROM demo.FEC WHERE id > {number} GROUP BY State"
        for number in range(20)
    ]
    (tmp_path / "twenty.sql").write_text(";\n".join(statements))
    done = shell(f"cd {tmp_path} && $FFF query -q -f twenty.sql --report report.json", spec)
    assert (done.returncode, done.stderr) == (0, "")
    reports = json.loads((tmp_path / "report.json").read_text())
    assert [report["complete"] for report in reports] == [True] * 20
    assert reports[0]["spark"]["start_s"] > 0
    assert [report["spark"]["start_s"] for report in reports[1:]] == [0.0] * 19
    (scans,) = zip(*(report["access"] for report in reports), strict=True)
    assert sum(scan["requests"] for scan in scans) == scans[0]["pages"]
