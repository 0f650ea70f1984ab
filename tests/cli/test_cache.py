"""`fff query --cache`, `fff cache stats` and `fff cache clear`, over the demo sources."""

from __future__ import annotations

import json
import resource
import subprocess

import pytest

from fff_cli.app import run
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_sources.demo import SPEC
from tests.cli.terminal import REAL, environment

SQL = "SELECT crimeRating FROM Crime WHERE zip IN ('94705', '94700', 'nowhere')"


@pytest.fixture
def home(demo_url, tmp_path, monkeypatch):
    """A home folder, under which the cache is."""
    monkeypatch.setenv("FFF_SOURCES", str(SPEC))
    monkeypatch.setenv("FFF_DEMO_BASE_URL", demo_url)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def counted(home, capfd):
    """Run the query with some options: its rows, requests and what came from disk."""

    def counted(*options):
        code = run(["query", SQL, "-q", "-o", "csv", "--report", "report.json", *options])
        assert code == 0, capfd.readouterr().err
        (access,) = [one for one in json.loads((home / "report.json").read_text())["access"] if one["kind"] == "lookup"]  # fmt: skip
        return sorted(capfd.readouterr().out.splitlines()), access["requests"], access["cached"]

    return counted


def stats(capfd):
    assert run(["cache", "stats", "-o", "json"]) == 0
    out, err = capfd.readouterr()
    return json.loads(out), err


def test_where_nothing_can_be_kept_is_told_and_the_query_runs(home, capfd):
    (home / ".cache").write_text("no folder")
    assert run(["query", "SELECT 1 AS one", "--cache"]) == 0
    assert "warning: nothing can be kept in " in capfd.readouterr().err
    assert run(["query", "SELECT 1 AS one", "--cache", "-q"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_second_command_sends_nothing(counted, home, capfd):
    rows, *counts = counted()
    assert counts == [3, 0]
    assert not (home / ".cache/fff/rows").exists(), "the spec says nothing of a cache"
    assert counted("--cache") == (rows, 3, 0)
    assert counted("--cache") == (rows, 0, 3)
    assert counted("--cache-ttl", "60") == (rows, 0, 3)
    assert counted("--no-cache") == (rows, 3, 0)
    assert counted() == (rows, 3, 0)
    (held,), err = stats(capfd)
    assert (held["source"], held["table"], held["scans"], held["keys"], held["rows"]) == (
        "demo",
        "Crime",
        0,
        3,
        2,
    )
    assert held["bytes"] > 0
    assert err.endswith(f" of 1,073,741,824 bytes in {home}/.cache/fff/rows\n")


@pytest.mark.slow
@pytest.mark.parametrize("room", [600, *(pytest.param(room, marks=pytest.mark.slow) for room in (0, 20_000))])
def test_a_full_disk_under_the_cache_costs_nothing_but_the_cache(counted, home, room):
    """A bound on what a file may hold stands for the disk: from there on every write fails."""
    rows, *_ = counted()
    for _ in range(2):
        done = subprocess.run(
            [*REAL, "query", SQL, "--cache", "-o", "csv"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
            capture_output=True, text=True, check=False, timeout=120,
            env=environment(FFF_SOURCES=str(SPEC), PYTHONDONTWRITEBYTECODE="1"),  # half a module would stay
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == rows
        assert "Traceback" not in done.stderr
    assert counted("--cache")[0] == rows


@pytest.mark.slow
def test_clear_forgets_a_source_or_all(counted, capfd):
    counted("--cache")
    assert run(["cache", "clear", "--source", "other"]) == 2
    assert "nothing is kept of 'other', and no source is called so" in capfd.readouterr().err
    assert counted("--cache")[1:] == (0, 3)
    for options in (["--source", "demo"], []):
        assert run(["cache", "clear", *options]) == 0
        assert capfd.readouterr().err == "cleared: 3 scans and keys\n"
        assert stats(capfd)[0] == []
        assert counted("--cache")[1:] == (3, 0)


def test_without_a_home_nothing_is_kept_and_nothing_is_said(counted, monkeypatch, capfd):
    monkeypatch.delenv("HOME")
    assert [counted("--cache")[1] for _ in range(2)] == [3, 3]
    assert run(["cache", "stats"]) == run(["cache", "clear"]) == 0
    assert capfd.readouterr().err.count("nothing is kept: there is no home folder") == 2


def test_asking_for_figures_makes_nothing(home, capfd):
    assert stats(capfd)[0] == []
    assert run(["cache", "clear"]) == 0
    assert not (home / ".cache").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--no-cache", "--cache-ttl", "3"], "--no-cache and --cache-ttl exclude each other"),
        (["--cache", "--record", "tape"], "--record and --replay exclude --cache and --cache-ttl"),
        (["--cache-ttl", "inf"], "must be a number of seconds"),
    ],
)
def test_options_that_make_no_sense_together(home, capfd, options, problem):
    assert run(["query", SQL, *options]) == 2
    assert problem in capfd.readouterr().err


def test_a_wrong_bound_is_told(home, monkeypatch, capfd):
    monkeypatch.setenv("FFF_CACHE_MAX_BYTES", "1GB")
    for command in (["query", SQL], ["cache", "stats"]):
        assert run(command) == 2
        assert "FFF_CACHE_MAX_BYTES must be a number of bytes, not '1GB'" in capfd.readouterr().err


def test_a_recording_knows_no_cache(tmp_path):
    assert (
        cache_of(QueryArguments.typed(record=tmp_path))
        == cache_of(QueryArguments.typed(replay=tmp_path))
        == {"cache": False}
    )
    assert cache_of(QueryArguments.typed()) == {"cache": None, "cache_ttl": None}
