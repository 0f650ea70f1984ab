"""Spark as processes: silent, gone with their parent, leaving nothing, and started by whatever Java there is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # a JVM each

_LIMIT_S = 120

QUERY = """
import pyarrow as pa
from fff.errors import SparkError
from fff.spark.session import SparkEngine
from fff.spark.spool import Spool

schema = pa.schema([("k", pa.int64())])
with SparkEngine() as engine, Spool(schema, file_rows=10) as spool:
    for _ in range(3):
        spool.append(pa.RecordBatch.from_pydict({"k": list(range(9))}, schema=schema))
    assert engine.run("SELECT k % 2 AS k, count(*) AS n FROM v GROUP BY 1 ORDER BY 1", "v", spool).to_pylist() == [
        {"k": 0, "n": 15}, {"k": 1, "n": 12}]
    for wrong in ("SELECT nope FROM v", "SELECT 1 / (k - k) FROM v", "SELECT FROM WHERE"):
        try:
            engine.run(wrong, "v", spool)
        except SparkError:
            pass
        else:
            raise AssertionError(wrong)
"""

WAITING = """
import sys
from fff.spark.session import SparkEngine
engine = SparkEngine()
engine.wait()
print(engine.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Folders of a process's own: where it runs, and its temporary files."""
    folders = {name: tmp_path / name for name in ("cwd", "tmp")}
    for folder in folders.values():
        folder.mkdir()
    yield folders
    assert not list(folders["cwd"].iterdir()), "left files where it ran"


def environment(place: Mapping[str, Path], **changes: str | None) -> dict[str, str]:
    wanted = {**os.environ, "TMPDIR": str(place["tmp"]), **changes}
    return {name: value for name, value in wanted.items() if value is not None}


def run(script: str, place: Mapping[str, Path], **changes: str | None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=place["cwd"],
        env=environment(place, **changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_LIMIT_S,
        check=False,
    )


def assert_silent(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@contextlib.contextmanager
def waiting(
    place: Mapping[str, Path], **changes: str | None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process with a JVM, and that JVM's process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        cwd=place["cwd"],
        env=environment(place, **changes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        jvm = int(process.stdout.readline())
        assert alive(jvm)
        yield process, jvm
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(
            f"/proc/{pid}/stat"
        )  # a zombie nobody collects, as in a container without an init, is gone
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def gone(pid: int) -> bool:
    """Whether the process ends within a generous while."""
    until = time.monotonic() + 30
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)  # another process's end cannot be waited for otherwise
    return not alive(pid)


def test_nothing_reaches_the_terminal_and_nothing_stays(place: dict[str, Path]) -> None:
    assert_silent(run(QUERY, place, JAVA_TOOL_OPTIONS="-Dsome=thing"))
    assert not list(place["tmp"].iterdir())


def test_no_java_on_path_and_no_home(place: dict[str, Path]) -> None:
    assert_silent(run(QUERY, place, PATH=str(place["cwd"]), JAVA_HOME=None, HOME=None, XDG_CACHE_HOME=None))


def test_pandas_is_not_needed(place: dict[str, Path]) -> None:
    script = """
import importlib.abc, sys
class NoPandas(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, NoPandas())
"""
    assert_silent(run(script + QUERY, place))


def test_a_user_of_another_spark_is_not_disturbed(place: dict[str, Path]) -> None:
    foreign = {
        "SPARK_HOME": "/nowhere",
        "SPARK_REMOTE": "sc://nowhere",
        "SPARK_CONF_DIR": "/nowhere",
        "PYSPARK_SUBMIT_ARGS": "no",
    }
    assert_silent(run(QUERY, place, **foreign))


def test_the_jvm_goes_with_a_killed_parent(place: dict[str, Path]) -> None:
    with waiting(place) as (process, jvm):
        assert os.getsid(jvm) != os.getsid(process.pid), "the terminal's Ctrl-C would reach the JVM"
        process.send_signal(signal.SIGKILL)
        assert gone(jvm)


def test_two_processes_run_beside_each_other(place: dict[str, Path]) -> None:
    with waiting(place) as (first, one), waiting(place) as (second, two):
        assert one != two
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.close()  # ends it, without stopping its engine
        assert gone(one)
        assert gone(two)


def test_a_dying_jvm_is_an_error_with_a_hint(place: dict[str, Path]) -> None:
    script = """
import os, signal
import pyarrow as pa
from fff.errors import SparkError
from fff.spark.session import SparkEngine
with SparkEngine() as engine:
    engine.wait()
    os.kill(engine.pid, signal.SIGKILL)
    try:
        engine.run("SELECT * FROM v", "v", pa.table({"x": [1]}))
    except SparkError as error:
        assert "ended with code -9" in str(error), str(error)
    else:
        raise AssertionError("a dead JVM answered")
with SparkEngine() as engine:
    assert engine.run("SELECT x FROM v", "v", pa.table({"x": [1]})).to_pylist() == [{"x": 1}]
"""
    assert_silent(run(script, place))
    assert not list(place["tmp"].iterdir())


def test_stopping_while_starting_ends_the_jvm(place: dict[str, Path]) -> None:
    script = """
import threading
from fff.errors import SparkError
from fff.spark import session
engine = session.SparkEngine()
engine.start()
while session._SHARED.jvm is None or session._SHARED.jvm._process is None:
    threading.Event().wait(0.005)
process = session._SHARED.jvm._process
engine.stop()
assert process.returncode is not None
try:
    engine.wait()
except SparkError as error:
    assert "stopped" in str(error)
else:
    raise AssertionError("a stopped engine was ready")
"""
    assert_silent(run(script, place))
    assert not list(place["tmp"].iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["garbage", "cut", "empty"])
def test_a_damaged_archive_does_not_break_the_start(
    place: dict[str, Path], tmp_path: Path, damage: str
) -> None:
    cache = tmp_path / "cache"
    script = """
import sys
from pathlib import Path
from fff.spark.start.cds_archive import archive_for
from fff.spark.start.java import find_java
from fff.spark.start.jvm import spark_jars
archive = archive_for(find_java(), spark_jars())
damage = {"garbage": b"not an archive" * 1000, "cut": bytes.fromhex("a20bacf000000000") + bytes(5000), "empty": b""}
archive.file.write_bytes(damage[DAMAGE])
""".replace("DAMAGE", repr(damage))
    assert_silent(run(script + QUERY, place, XDG_CACHE_HOME=str(cache)))


@pytest.mark.slow
def test_an_unwritable_cache_is_done_without(place: dict[str, Path]) -> None:
    (place["tmp"] / "file").touch()
    assert_silent(run(QUERY, place, XDG_CACHE_HOME=str(place["tmp"] / "file")))
    (place["tmp"] / "file").unlink()


@pytest.mark.slow
def test_the_first_start_records_what_the_archive_is_made_of(place: dict[str, Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert_silent(run(QUERY, place, XDG_CACHE_HOME=str(cache), FFF_SPARK_ARCHIVE=None))
    assert [path.suffix for path in (cache / "fff" / "spark").iterdir()] == [".classes"]


@pytest.mark.slow
def test_an_archive_is_made_and_used(place: dict[str, Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    made = subprocess.run(
        [sys.executable, "-m", "fff.spark.start"],
        cwd=place["cwd"],
        env=environment(place, XDG_CACHE_HOME=str(cache), FFF_SPARK_ARCHIVE=None),
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, b"", b"")
    with waiting(place, XDG_CACHE_HOME=str(cache)) as (_, jvm):
        if Path("/proc").is_dir():
            assert str(cache) in Path(f"/proc/{jvm}/maps").read_text()
    assert_silent(run(QUERY, place, XDG_CACHE_HOME=str(cache)))
