"""The Spark that stays up between commands: shared, private, ended in time, and done without where it must be."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fff.spark.start import warm
from fff.spark.start.cds_archive import private_folder
from fff.spark.start.warm import ask, is_allowed, stop, warm_folder

_LIMIT_S = 240

USE = """
import json, os, sys
import pyarrow as pa
from fff.spark.session import SparkEngine
with SparkEngine(warm=True) as engine:
    engine.wait()
    exec(sys.argv[1])
    rows = engine.run("SELECT sum(x) AS s FROM v", "v", pa.table({"x": [1, 2]})).to_pylist()
    assert rows == [{"s": 3}], rows
    print(json.dumps({"attached": engine.attached, "pid": engine.pid, "warm": engine.warm}))
"""

#: What a process may have left in the JVM, and what another one finds of it.
LEAVE = """
spark = engine._session.spark
spark.sql("SELECT 42 AS x").createOrReplaceTempView("left_behind")
spark.conf.set("spark.sql.shuffle.partitions", "77")
spark.conf.set("spark.fff.token", "hunter2")
print(spark._jsparkSession._target_id)
"""
LOOK = """
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
spark = engine._session.spark
assert not spark.catalog.tableExists("left_behind")
assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
assert spark.conf.get("spark.fff.token", None) is None
assert spark._jvm.java.lang.System.getenv("FFF_TEST_TOKEN") is None, "the environment of whoever started it"
assert spark._jvm.java.lang.System.getenv("PATH")
try:
    JavaObject(OTHERS, spark._jvm._gateway_client).toString()
except Py4JError:
    pass
else:
    raise AssertionError("another process's session is still held")
"""
#: Its JVM is killed while it runs a query.
KILLED = """
import os, signal, threading
spark, pid = engine._session.spark, engine.pid
def kill():
    tracker = spark.sparkContext.statusTracker()
    while not tracker.getActiveJobsIds():
        pass
    os.kill(pid, signal.SIGKILL)
threading.Thread(target=kill, daemon=True).start()
told = engine.run("SELECT count(*) AS n FROM range(400000000) WHERE id % 7 = 1", "v", pa.table({"x": [1]}))
assert told.to_pylist() == [{"n": 57142857}], told.to_pylist()
assert engine.pid != pid
"""


def environment(cache: Path, **changes: str) -> dict[str, str]:
    away = ("FFF_SPARK_WARM", "CI")
    return {name: value for name, value in os.environ.items() if name not in away} | {
        "XDG_CACHE_HOME": str(cache),
        **changes,
    }


def begin(cache: Path, script: str = "", **changes: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", USE, script],
        env=environment(cache, **changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> list[str]:
    """The lines of a process that ended well and quietly."""
    out, errors = process.communicate(timeout=_LIMIT_S)
    assert (process.returncode, errors) == (0, b"")
    return out.decode().splitlines()


def use(cache: Path, script: str = "", **changes: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(ended(begin(cache, script, **changes))[-1])
    return told


def fff(cache: Path, *arguments: str, **changes: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fff_cli", *arguments],
        env=environment(cache, **changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def state(cache: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(fff(cache, "spark", "status", "-o", "json"))
    return told


def until(true: Callable[[], bool]) -> bool:
    """Whether it comes true within a generous while."""
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.05)  # another process's doing cannot be waited for otherwise
    return true()


def is_alive(pid: int) -> bool:
    """A zombie, which nobody collects in a container without an init, is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def _place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder with a Spark of its own, ended afterwards."""
    kept = private_folder(os.environ)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    mine = private_folder(os.environ)
    assert mine is not None
    for archive in kept.glob("*.jsa") if kept is not None else ():
        (mine / archive.name).symlink_to(archive)  # a start takes half the time
    yield folder
    stop()
    assert ask("tell") is None


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with _place(tmp_path, monkeypatch) as folder:
        yield folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same for many tests, with a Spark that two commands wanted at the same moment."""
    with pytest.MonkeyPatch.context() as patch, _place(tmp_path_factory.mktemp("warm"), patch) as folder:
        first, second = [
            json.loads(ended(one)[-1]) for one in [begin(folder, FFF_TEST_TOKEN="x") for _ in "12"]
        ]
        assert first["pid"] == second["pid"], "never more than one"
        assert {first["attached"], second["attached"]} == {True, False}
        yield folder


@pytest.mark.spark
@pytest.mark.slow
def test_a_second_command_attaches(cache: Path, tmp_path: Path) -> None:
    file, report = tmp_path / "f.csv", tmp_path / "report.json"
    file.write_text("k\na\nb\na\n")
    served = state(cache)["served"]
    query = f"SELECT k, count(*) AS n FROM csv.`{file}` GROUP BY k ORDER BY k"

    def run(*more: str, **changes: str) -> bool:
        out = fff(cache, "query", "-q", "-o", "csv", "--report", str(report), *more, query, **changes)
        assert out == "k,n\na,2\nb,1\n"
        attached: bool = json.loads(report.read_text())["spark"]["attached"]
        return attached

    assert run()
    assert state(cache)["served"] == served + 1
    assert not run("--no-warm")
    assert not run(CI="true")
    now = state(cache)
    assert (now["served"], now["attached"]) == (served + 1, 0)
    assert 0 < now["ends_in_s"] <= warm.IDLE_S


@pytest.mark.slow
@pytest.mark.spark
def test_nothing_of_a_command_is_seen_by_the_next(cache: Path) -> None:
    lines = ended(begin(cache, LEAVE))
    assert use(cache, LOOK.replace("OTHERS", repr(lines[0])))["pid"] == json.loads(lines[1])["pid"]


@pytest.mark.spark
@pytest.mark.slow
def test_two_commands_at_once(cache: Path) -> None:
    told = [ended(one) for one in [begin(cache, LEAVE) for _ in "123"]]
    assert len({json.loads(lines[1])["pid"] for lines in told}) == 1
    assert len({lines[0] for lines in told}) == 3, "a session each"


@pytest.mark.slow
@pytest.mark.spark
def test_files_are_this_users_alone(cache: Path) -> None:
    folder = warm_folder({"XDG_CACHE_HOME": str(cache)})
    assert folder is not None
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {"warm": 0o700, "lock": 0o600, "socket": 0o600}
    jvm = Path(f"/proc/{state(cache)['jvm']}/cmdline").read_bytes()
    assert b"secret" not in jvm.lower()


@pytest.mark.slow
@pytest.mark.spark
def test_a_shell_starts_it_at_the_prompt(cache: Path) -> None:
    served = state(cache)["served"]
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        [sys.executable, "-m", "fff_cli", "shell"],
        env=environment(cache, TERM="dumb"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    try:
        assert until(lambda: state(cache)["served"] == served + 1)
        os.write(ours, b"\\q\n")
        shell.wait(timeout=60)
    finally:
        shell.kill()
        shell.wait()
        os.close(theirs)
        os.close(ours)
    assert until(lambda: state(cache)["attached"] == 0)


@pytest.mark.spark
@pytest.mark.slow
def test_it_ends_when_nobody_comes(place: Path) -> None:
    jvm = use(place, FFF_SPARK_IDLE="3")["pid"]
    assert until(lambda: not is_alive(jvm))
    assert until(lambda: state(place) == {"up": False})
    assert use(place)["pid"] != jvm


@pytest.mark.spark
@pytest.mark.slow
def test_it_ends_when_it_is_told_to(place: Path) -> None:
    jvm = use(place)["pid"]
    keeper = state(place)["pid"]
    fff(place, "spark", "stop")
    assert not is_alive(jvm)
    assert until(lambda: not is_alive(keeper))
    assert all("no Spark is up" in fff(place, "spark", "status", *how) for how in ((), ("-o", "text")))


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_whose_jvm_is_killed_is_run_afresh(place: Path) -> None:
    use(place)
    told = use(place, KILLED)
    assert told["warm"] is False
    assert use(place)["pid"] != told["pid"], "and the next command has one that stays"


@pytest.mark.spark
@pytest.mark.slow
def test_a_killed_keeper_is_replaced(place: Path) -> None:
    jvm = use(place)["pid"]
    os.kill(state(place)["pid"], signal.SIGKILL)
    assert until(lambda: not is_alive(jvm)), "a JVM without its keeper stays"
    assert use(place)["warm"]
    assert state(place)["served"] == 1


@pytest.mark.spark
@pytest.mark.slow
def test_a_command_that_is_killed_spoils_it(place: Path) -> None:
    process = begin(place, "print(engine.pid, flush=True)\nimport time; time.sleep(600)")
    assert process.stdout is not None
    jvm = int(process.stdout.readline())
    assert state(place)["attached"] == 1
    process.kill()
    process.communicate()
    assert until(lambda: not is_alive(jvm)), "what it was at may go on in there"


@pytest.mark.spark
@pytest.mark.slow
def test_another_configuration_is_not_used(place: Path) -> None:
    jvm = use(place)["pid"]
    assert use(place, JAVA_TOOL_OPTIONS="-Dsome=thing")["pid"] != jvm
    assert state(place)["jvm"] == jvm


@pytest.mark.parametrize(
    ("env", "allowed"),
    [
        ({}, True),
        ({"CI": "false"}, True),
        ({"CI": "true"}, False),
        ({"CI": "woodpecker"}, False),
        ({"FFF_SPARK_WARM": "off"}, False),
    ],
)
def test_where_it_is_left_out(env: Mapping[str, str], allowed: bool) -> None:
    assert is_allowed(env) is allowed


def test_a_folder_that_others_can_look_into_is_none(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = warm_folder(env)
    assert folder is not None
    folder.chmod(0o755)
    assert warm_folder(env) is None
    assert warm_folder({}) is None


def test_little_memory_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(warm, "is_memory_short", lambda: True)
    monkeypatch.setattr(warm, "_start_keeper", lambda _: pytest.fail("it was started"))
    with pytest.raises(warm.NotLentError):
        warm.WarmJVM().boot()
