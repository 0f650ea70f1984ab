"""`fff demo` and `fff demo --serve` as processes."""

from __future__ import annotations

import csv
import io
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fff_sources.demo import spec_text
from fff_sources.demo.data import generate
from tests.cli.terminal import REAL, Terminal, environment
from tests.demo.expected import expected, groups


@pytest.mark.slow
def test_the_served_spec_answers_queries_and_everything_ends_with_ctrl_c(tmp_path):
    arguments = [*REAL, "demo", "--serve"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as serving:
        told = [serving.stderr.readline().decode() for _ in range(3)]
        assert "until Ctrl-C" in told[1]
        spec = Path(told[1].rsplit(" is in ", 1)[1].strip().rstrip(":"))
        served = spec.read_text()
        assert served == spec_text(served.split("base_url: ")[1].split()[0])
        done = subprocess.run(
            [*REAL, "query", "-q", "-s", str(spec), "SELECT zip, crimeRating FROM Crime WHERE zip = '94705'"],
            capture_output=True, text=True, timeout=60, check=False, env=environment(), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        rating = next(row["crimeRating"] for row in generate().crime if row["zip"] == "94705")
        assert done.stdout == f"zip,crimeRating\n94705,{rating}\n"
        serving.send_signal(signal.SIGINT)
        out, err = serving.communicate(timeout=60)
    assert (serving.returncode, out.decode(), err) == (0, served, b"")
    assert not spec.parent.exists()


@pytest.mark.slow
def test_a_port_that_is_taken_is_told():
    with subprocess.Popen(
        [*REAL, "demo", "--serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as serving:
        port = (
            serving.stderr.readline() and serving.stderr.readline().decode().split("127.0.0.1:")[1].split()[0]
        )
        second = subprocess.run(
            [*REAL, "demo", "--serve", "--port", port],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment(),
        )
        serving.terminate()
        assert serving.wait(60) == 0
        serving.communicate()
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr == (
        f"error: the demo sources did not start: cannot listen on port {port}: Address already in use\n"
        "  another --port, or 0 for a free one\n"
    )


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_prints_what_duckdb_finds():
    done = subprocess.run(
        [*REAL, "demo"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    header, *rows = csv.reader(io.StringIO(done.stdout))
    assert header == ["avg(contribution)", "avg(householdIncome)", "State", "crimeRating"]
    assert groups(rows) == expected()
    first, last = done.stderr.splitlines()
    assert first.startswith("Three slow web sources start on this machine")
    assert last.startswith(f"{len(rows)} rows in ")
    assert last.endswith("complete")


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_on_a_terminal_shows_the_live_view_and_then_the_table():
    with Terminal((*REAL, "demo"), columns=100, lines=30) as terminal:
        terminal.read_until("Demographics.lookup[zip]")
        assert terminal.finish() == 0
        shown = [line for line in terminal.screen() if line]
        assert "newest rows so far" in terminal.text or "groups so far" in terminal.text
        assert shown[0].startswith("Three slow web sources")
        start = next(number for number, line in enumerate(shown) if line.startswith("┌"))
        assert start <= 2
        end = next(number for number, line in enumerate(shown) if line.startswith("└"))
        assert any(" requests, complete" in line for line in shown[end:])
        assert shown[-2].startswith("Crime.scan"), "what each access method did"
        assert shown[-1].startswith("  Spark: "), "and what Spark took"


@pytest.mark.slow
def test_the_first_ctrl_c_gives_the_partial_result_and_the_second_ends_the_sources_too():
    with Terminal((*REAL, "demo"), columns=100, lines=30) as terminal:
        terminal.read_until("Demographics.lookup[zip]")
        [server] = children(terminal.process.pid)
        terminal.interrupt()
        terminal.read_until("stopping")
        terminal.interrupt()
        assert terminal.finish() == 130
        assert "aborted" in terminal.screen()
    assert ended(server)


def ended(process: int) -> bool:
    """Whether a process is gone, or will be in a moment: it ends by itself once its parent has."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # nobody has asked yet how it ended
            return True
        time.sleep(0.01)
    return False


def children(parent: int) -> set[int]:
    """The demo servers a process has started."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words, stat = (entry / "cmdline").read_bytes().split(b"\0"), (entry / "stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            if b"fff_sources.demo.server" in words and int(stat.rpartition(")")[2].split()[1]) == parent:
                found.add(int(entry.name))
    return found
