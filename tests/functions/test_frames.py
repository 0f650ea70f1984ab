"""Frames of a program as tables."""

from __future__ import annotations

import datetime as dt

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fff
from fff.errors import UsageError


@pytest.fixture
def connection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with fff.connect() as found:
        yield found


def rows(connection, sql):
    result = connection.sql(sql)
    assert result.complete
    return result.to_arrow().to_pylist()


ARROW = pa.table({"zip": pa.array(["00501", None]).dictionary_encode(), "k": pa.array([1, 2], pa.uint8())})


@pytest.mark.parametrize(
    "frame",
    [ARROW, ARROW.to_pandas().astype({"k": "int16"}), ARROW.to_batches()[0], duckdb.from_arrow(ARROW)],
    ids=["arrow", "pandas", "batch", "duckdb"],
)
def test_a_frame_is_a_table(connection, frame) -> None:
    connection.register_table("leads", frame)
    assert rows(connection, "SELECT zip, k FROM Leads") == [
        {"zip": "00501", "k": 1},
        {"zip": None, "k": 2},
    ]
    assert rows(connection, "SELECT k FROM python.leads WHERE zip = '00501'") == [{"k": 1}]


#: Of each kind of column that Arrow has and SQL calls otherwise: values, and what SQL calls it.
NESTED = {
    "lists": (pa.array([["a"], None], pa.large_list(pa.large_string())), "array<string>"),
    "pairs": (pa.array([[1, 2], None], pa.list_(pa.uint8(), 2)), "array<smallint>"),
    "views": (pa.array([["a", None], []], pa.list_(pa.string_view())), "array<string>"),
    "maps": (pa.array([[("a", 1)], None], pa.map_(pa.large_string(), pa.uint16())), "map<string,int>"),
    "nothing": (pa.array([{"x": None}, None]), "struct<x:string>"),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_columns_are_in_the_types_of_sql(connection, tmp_path, kind) -> None:
    values, called = NESTED[kind]
    frame = pa.table({"k": [1, 2], "v": values})
    connection.register_table("leads", frame)
    wanted = values.to_pylist()
    assert [row["v"] for row in rows(connection, "SELECT v FROM leads")] == wanted
    pq.write_table(frame.cast(pa.schema([("k", pa.int64()), ("v", values.type)])), tmp_path / "f.parquet")
    for table in ("leads", "'f.parquet'"):
        [_, described] = rows(connection, f"DESCRIBE {table}")
        assert described["data_type"] == called
    assert [row["v"] for row in rows(connection, "SELECT v FROM 'f.parquet'")] == wanted


def test_codes_for_texts_and_runs_are_texts(connection) -> None:
    views = pa.array(["a", "b"], pa.string_view())  # as polars hands over its categoricals
    codes = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint32()), views)
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["x", None])
    whole = pa.table({"code": codes, "run": runs})
    for frame in (whole, whole.slice(1), whole.slice(0, 0)):
        connection.register_table("leads", frame)
        assert [tuple(row.values()) for row in rows(connection, "SELECT code, run FROM leads")] == (
            [("b", "x"), (None, "x"), ("a", None)][3 - len(frame) if len(frame) else 3 :]
        )


def test_a_frame_that_is_registered_again_is_another(connection) -> None:
    connection.register_table("t", pa.table({"a": [1]}))
    assert rows(connection, "SELECT * FROM t") == [{"a": 1}]
    connection.register_table("T", pd.DataFrame({"b": ["x"], "at": [pd.Timestamp("2024-01-02")]}))
    assert rows(connection, "SELECT * FROM t") == [{"b": "x", "at": dt.datetime(2024, 1, 2)}]  # noqa: DTZ001 - without a zone


def test_a_frame_joins_with_a_file(connection, tmp_path) -> None:
    (tmp_path / "zips.csv").write_text("zip,n\n00501,7\n")
    connection.register_table("leads", ARROW)
    assert rows(connection, "SELECT k, n FROM leads JOIN 'zips.csv' z USING (zip)") == [{"k": 1, "n": 7}]


@pytest.mark.parametrize(
    ("name", "frame", "said"),
    [
        ("t", 3, "is no frame"),
        ("t", pa.table({}), "no columns"),
        ("t", pa.table({"a": [1], "A": [2]}), "two columns are called 'a'"),
        ("t", pa.table({"a": pa.array([1], pa.duration("s"))}), "duration"),
        ("a b", ARROW, "cannot be called"),
    ],
)
def test_what_is_no_table(connection, name, frame, said) -> None:
    with pytest.raises(UsageError, match=said):
        connection.register_table(name, frame)


def test_a_table_is_not_called_like_a_function(connection) -> None:
    connection.register("small", lambda n: n < 2, arguments={"n": "bigint"}, returns="boolean")
    with pytest.raises(UsageError, match="a function is called small"):
        connection.register_table("small", ARROW)
