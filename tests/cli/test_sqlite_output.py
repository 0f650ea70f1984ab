"""Results as SQLite databases."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import io
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from fff_cli.output.formats import write_batches, writer
from fff_cli.output.streams import choose_format
from tests.cli.terminal import fake


def database(path: Path, *batches: pa.RecordBatch) -> sqlite3.Connection:
    out = io.BytesIO()
    to = writer("sqlite", out, None)
    to.begin(batches[0].schema)
    for batch in batches:
        write_batches(to, batch)
    to.end()
    path.write_bytes(out.getvalue())
    return sqlite3.connect(path)


def test_every_kind_of_value(tmp_path):
    batch = pa.record_batch(
        {
            "n": pa.array([2**63 - 1, None, -1], pa.int64()),
            "x": pa.array([0.1, float("nan"), float("inf")]),
            "d": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-0.01")], pa.decimal128(38, 2)),
            "b": pa.array([True, None, False]),
            "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
            "s": pa.array(["007", "", None]),
            "raw": pa.array([b"\x00\xff", None, b""]),
            "l": pa.array([["a", None], [], None]),
        }
    )
    with contextlib.closing(database(tmp_path / "r.sqlite", batch, batch.slice(0, 1))) as found:
        rows = found.execute("SELECT * FROM result").fetchall()
    assert rows == [
        (2**63 - 1, 0.1, "1.10", 1, "2024-02-29", "007", b"\x00\xff", '["a",null]'),
        (None, "nan", None, None, None, "", None, "[]"),
        (-1, float("inf"), "-0.01", 0, "0001-01-01", None, b"", None),
        (2**63 - 1, 0.1, "1.10", 1, "2024-02-29", "007", b"\x00\xff", '["a",null]'),
    ]


def test_names_that_sqlite_would_take_for_one(tmp_path):
    names = ["a", "A", "a_2", 'q"; --', "a"]
    batch = pa.RecordBatch.from_arrays([pa.array([i]) for i in range(5)], names)
    with contextlib.closing(database(tmp_path / "r.sqlite", batch)) as found:
        cursor = found.execute("SELECT * FROM result")
        assert [one[0] for one in cursor.description] == ["a", "A_1", "a_2", 'q"; --', "a_3"]
        assert cursor.fetchall() == [(0, 1, 2, 3, 4)]


@pytest.mark.parametrize("name", ["out.sqlite", "out.sqlite3", "out.db"])
def test_a_file_is_known_by_its_ending(name, tmp_path):
    assert choose_format(None, tmp_path / name, terminal=False) == "sqlite"
    done = fake("query", "rows 3", "-O", str(tmp_path / name))
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / name)) as found:
        assert found.execute("SELECT count(*) FROM result").fetchone() == (3,)
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_one_database_holds_one_result(tmp_path):
    done = fake("query", "rows 1; rows 1", "-O", str(tmp_path / "out.sqlite"))
    assert done.returncode == 2
    assert "a sqlite file holds one" in done.stderr
    assert list(tmp_path.iterdir()) == []
