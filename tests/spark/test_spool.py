"""The spool keeps every row exactly, in memory or in files, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fff.errors import InvariantError, SparkError
from fff.spark import temp_folders
from fff.spark.spool import Spool

SCHEMA = pa.schema([("n", pa.int64()), ("odd name; (a.b)", pa.string())])


def batch(start: int, count: int) -> pa.RecordBatch:
    numbers = list(range(start, start + count))
    return pa.RecordBatch.from_pydict(
        {"n": numbers, "odd name; (a.b)": [f"v{n}" for n in numbers]}, schema=SCHEMA
    )


@pytest.fixture(autouse=True)
def private_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_few_rows_stay_in_memory(private_tmp: Path) -> None:
    with Spool(SCHEMA) as spool:
        spool.append(batch(0, 10))
        spool.append(batch(10, 0))
        assert (spool.rows, spool.in_memory, spool.files()) == (10, True, [])
        assert spool.bytes == batch(0, 10).nbytes
        assert spool.table() == pa.Table.from_batches([batch(0, 10)])
        assert not list(private_tmp.iterdir())


def test_many_rows_go_to_full_files_and_a_passing_one(private_tmp: Path) -> None:
    with Spool(SCHEMA, file_rows=100) as spool:
        for start in range(0, 250, 10):
            spool.append(batch(start, 10))
        assert [pq.read_metadata(file).num_rows for file in spool.files()] == [100, 100]
        folder = spool.files()[0].parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with spool.reading() as source:
            assert isinstance(source, list)
            assert [pq.read_metadata(file).num_rows for file in source] == [100, 100, 50]
            spool.append(batch(250, 10))  # does not disturb the reader
            assert sum(pq.read_table(file).num_rows for file in source) == 250
        assert sorted(folder.iterdir()) == sorted(spool.files())
        assert spool.table().sort_by("n") == pa.Table.from_batches([batch(0, 260)])
    assert not list(private_tmp.iterdir())


def test_wide_rows_fill_a_file_by_their_bytes() -> None:
    with Spool(SCHEMA, file_bytes=1_000) as spool:
        spool.append(batch(0, 200))
        assert not spool.in_memory
        assert spool.table().num_rows == 200


def test_two_readers_have_their_own_passing_files() -> None:
    with Spool(SCHEMA, file_rows=10) as spool:
        spool.append(batch(0, 10))
        spool.append(batch(10, 5))
        with spool.reading() as first, spool.reading() as second:
            assert first[0] == second[0]
            assert first[1] != second[1]
            assert pq.read_table(first[1]) == pq.read_table(second[1])


def test_an_empty_spool_has_its_schema() -> None:
    with Spool(SCHEMA) as spool:
        assert spool.table().schema == SCHEMA
        assert spool.table().num_rows == 0


def test_rows_without_columns_are_counted() -> None:
    with Spool(pa.schema([])) as spool:
        spool.append(batch(0, 7).select([]))
        assert spool.rows == 7


def test_other_columns_are_refused() -> None:
    with Spool(SCHEMA) as spool, pytest.raises(InvariantError, match="was given"):
        spool.append(pa.RecordBatch.from_pydict({"n": [1.5]}))
    with pytest.raises(InvariantError, match="closed"):
        spool.append(batch(0, 1))


def test_a_full_disk_is_told(private_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with Spool(SCHEMA, file_rows=10) as spool:
        spool.append(batch(0, 10))
        with pytest.raises(SparkError, match="No space left on device"):
            spool.flush()


def test_who_hands_few_rows_to_spark_loads_nothing_for_files() -> None:
    code = (
        "import sys, pyarrow as pa, fff.spark.bridge as bridge\n"
        "with bridge.Spool(pa.schema({'k': pa.int64()})) as spool:\n"
        "    assert not len(spool.table())\n"
        "assert 'pyarrow.parquet' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_folders_of_dead_processes_are_swept(private_tmp: Path) -> None:
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    left = private_tmp / f"fff-{dead}-spool-x"
    left.mkdir()
    (left / "file").touch()
    alive = private_tmp / f"fff-{os.getpid()}-spool-x"
    stranger = private_tmp / "fff-notes"
    alive.mkdir()
    stranger.mkdir()
    temp_folders.sweep()
    assert sorted(private_tmp.iterdir()) == sorted([alive, stranger])


def test_nothing_is_left_open(private_tmp: Path) -> None:
    spool = Spool(SCHEMA, file_rows=10)
    spool.append(batch(0, 25))
    spool.append(batch(25, 10))
    spool.close()
    spool.close()
    gc.collect()
    assert not list(private_tmp.iterdir())
