"""Results as DuckDB databases."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from fff.errors import UsageError
from fff_cli.app import run as fff
from fff_cli.output import streams
from fff_cli.output.formats import write_batches, writer
from fff_cli.output.sinks import duck
from fff_cli.output.streams import choose_format

MOMENT = dt.datetime(2024, 2, 29, 8, 0, 0, 5, tzinfo=dt.UTC)
BATCH = pa.record_batch(
    {
        "n": pa.array([2**63 - 1, None, -1], pa.int64()),
        "x": pa.array([0.1, float("inf"), None]),
        "d": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-0.01")], pa.decimal128(38, 2)),
        "b": pa.array([True, None, False]),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
        "at": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", tz="UTC")),
        "s": pa.array(["007", "", None]),
        "raw": pa.array([b"\x00\xff", None, b""]),
        "l": pa.array([["a", None], [], None]),
        "o": pa.array([{"k": 1}, None, {"k": None}]),
        "nothing": pa.nulls(3),
        "N": pa.array([1, 2, 3]),
    }
)


def test_every_kind_of_value_keeps_its_type(tmp_path: Path, aside: Path) -> None:
    out = io.BytesIO()
    to = writer("duckdb", out, None)
    to.begin(BATCH.schema)
    write_batches(to, BATCH)
    write_batches(to, BATCH.slice(0, 1))
    to.end()
    assert list(aside.iterdir()) == []
    (tmp_path / "x.duckdb").write_bytes(out.getvalue())
    rows = duck.rows_in(tmp_path / "x.duckdb")
    whole = pa.Table.from_batches([BATCH, BATCH.slice(0, 1)])
    assert rows.schema.names == [*whole.schema.names[:-1], "N_1"], "its names differ in more than case"
    for number, column in enumerate(whole.columns[:-2]):
        assert rows.column(number).to_pylist() == column.to_pylist()
    assert rows.schema.field("d").type == pa.decimal128(38, 2)
    with duckdb.connect(tmp_path / "x.duckdb", read_only=True) as database:
        kinds = [kind for _, kind, *_ in database.execute("DESCRIBE result").fetchall()]
    assert kinds[:6] == ["BIGINT", "DOUBLE", "DECIMAL(38,2)", "BOOLEAN", "DATE", "TIMESTAMP WITH TIME ZONE"]


def test_a_run_that_fails_leaves_nothing(aside: Path) -> None:
    to = writer("duckdb", io.BytesIO(), None)
    to.begin(BATCH.schema)
    write_batches(to, BATCH)
    assert list(aside.iterdir()) != []
    del to
    assert list(aside.iterdir()) == []


def test_a_file_by_its_ending_and_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("in.csv").write_text("id,name\n1,one\n2,two\n")
    assert fff(["query", "SELECT id, name FROM 'in.csv'", "-O", "x.duckdb", "--refreshable"]) == 0
    Path("in.csv").write_text("id,name\n1,one\n2,TWO\n")
    assert fff(["refresh", "x.duckdb", "--key", "id"]) == 0
    assert "x.duckdb: ~1, 2 rows" in capfd.readouterr().err
    assert duck.rows_in(Path("x.duckdb")).to_pylist() == [{"id": 1, "name": "one"}, {"id": 2, "name": "TWO"}]
    assert fff(["query", "SELECT id FROM 'in.csv'", "-O", "x.duckdb", "--append"]) == 2


def test_without_the_package_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="duckdb is not installed") as error:
        choose_format(None, Path("x.duckdb"), terminal=False)
    assert error.value.hint == "pip install 'fff[duckdb]'"
    with pytest.raises(UsageError, match="not for terminals"):
        choose_format("duckdb", None, terminal=True)
