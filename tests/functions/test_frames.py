"""Frames of a program as tables."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
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


LATE = dt.datetime.fromisoformat("2024-01-02T05:00")
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
    "windows": (pa.ListViewArray.from_arrays([2, 0], [1, 2], pa.array(["a", "b", "c"])), "array<string>"),
    "wide windows": (
        pa.array([{"x": [1]}, None], pa.struct([("x", pa.large_list_view(pa.int64()))])),
        "struct<x:array<bigint>>",
    ),
    "marks": (pa.array([[1, None], None], pa.list_(pa.decimal32(5, 2))), "array<decimal(5,2)>"),
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


#: Of each kind of value that SQL has under another name: values, what SQL calls them, and what they are there.
NAMED = {
    "uuid": (
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([None, bytes(range(16)), b"\xff" * 16], pa.binary(16))
        )[1:],
        ["00010203-0405-0607-0809-0a0b0c0d0e0f", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    ),
    "no uuid": (pa.ExtensionArray.from_storage(pa.uuid(), pa.nulls(2, pa.binary(16))), [None, None]),
    "json": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None])), ['{"a":1}', None]),
    "time": (pa.array([dt.time(1, 2, 3), None]), ["01:02:03.000000", None]),
}


@pytest.mark.parametrize("kind", NAMED)
def test_values_with_names_of_their_own_are_texts(connection, tmp_path, kind) -> None:
    values, wanted = NAMED[kind]
    frame = pa.table({"k": [1, 2], "v": values})
    connection.register_table("leads", frame)
    pq.write_table(frame, tmp_path / "f.parquet")
    for table in ("leads", "'f.parquet'"):
        assert [row["v"] for row in rows(connection, f"SELECT v FROM {table}")] == wanted
        assert (
            rows(connection, f"SELECT k FROM {table} WHERE v = '{wanted[0]}'")
            == [{"k": 1}][: wanted[0] is not None]
        )


def test_lengths_of_time(connection, tmp_path) -> None:
    lengths = [dt.timedelta(seconds=5.5), None, dt.timedelta(days=-3)]
    frame = pa.table({"v": lengths, "at": [dt.datetime(2024, 1, 5, tzinfo=dt.UTC)] * 3})
    connection.register_table("leads", frame)
    assert [row["v"] for row in rows(connection, "SELECT v FROM leads")] == lengths
    assert rows(connection, "SELECT at + v AS then FROM leads WHERE v < INTERVAL '1' SECOND") == [
        {"then": dt.datetime(2024, 1, 2, tzinfo=dt.UTC)}
    ]
    connection.register_table("coarse", pa.table({"v": pa.array([1], pa.duration("s"))}))
    assert rows(connection, "SELECT v FROM coarse") == [{"v": dt.timedelta(seconds=1)}]


def test_a_column_of_a_file_that_sql_has_no_type_for_is_told(connection, tmp_path) -> None:
    wide = pa.array([1], pa.decimal256(50, 0))
    pq.write_table(
        pa.table({"k": [1], "v": pa.array([1], pa.duration("s")), "w": wide}), tmp_path / "f.parquet"
    )
    result = connection.sql("SELECT * FROM 'f.parquet'")
    assert result.to_arrow().to_pylist() == [{"k": 1}]
    assert [str(one) for one in result.warnings if "left out" in str(one)] == [
        "local.f.parquet: the column v is left out: SQL has no type for duration[s]",
        "local.f.parquet: the column w is left out: SQL has no type for decimal256(50, 0)",
    ]


def test_frames_of_polars(connection) -> None:
    polars = pytest.importorskip("polars")
    connection.register_table("leads", polars.LazyFrame({"k": [1, 2]}).filter(polars.col("k") > 1))
    assert rows(connection, "SELECT k FROM leads") == [{"k": 2}]
    with pytest.raises(UsageError, match=r"t\.o: objects of Python"):
        connection.register_table(
            "t", polars.DataFrame({"o": polars.Series([object()], dtype=polars.Object)})
        )


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
        ("t", pa.table({"a": pa.array([1], pa.duration("ns"))}), r"t\.a: .*would lose data"),
        ("t", pa.table({"a": pa.array([1], pa.decimal256(50, 0))}), r"t\.a: no Spark SQL type"),
        (
            "t",
            pd.DataFrame({"a": pd.period_range("2020-01", periods=1, freq="M")}),
            r"t\.a: no Spark SQL type",
        ),
        ("t", pd.Series([1]), "to_frame"),
        ("t", pd.DataFrame({"a": [1, 2**70]}, dtype=object), "is no frame that can be read"),
        ("t", pd.DataFrame({"a": [1 + 2j]}), "is no frame that can be read"),
        ("t", [{"a": 1}], "is no frame"),
        (
            "t",
            pd.DataFrame({"a": [dt.date(2024, 1, 1), LATE]}, dtype=object),
            r"t\.a: .* would become",
        ),
        ("t", {"b": [1], "a": [[dt.date(2024, 1, 1), LATE]]}, r"t\.a: .* would become"),
        (
            "t",
            {"a": [LATE, dt.datetime(2024, 1, 2, tzinfo=dt.UTC)]},
            r"t\.a: .* would become",
        ),
        ("t", {"a": [pd.Timestamp(1)]}, r"t\.a: .* would become"),
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


@pytest.mark.parametrize("frame", [pd.DataFrame, dict])
def test_a_frame_that_is_written_to_stays_as_it_was_registered(connection, frame) -> None:
    numbers = np.array([1.0, 2.0])
    connection.register_table("t", frame({"v": numbers, "k": ["a", "b"]}))
    whole = pd.DataFrame({"v": [1.0, 2.0], "k": ["a", "b"]})
    connection.register_table("u", whole)
    numbers[0], whole.loc[0, "v"], whole.loc[0, "k"] = 7.0, 7.0, "z"
    for table in ("t", "u"):
        assert rows(connection, f"SELECT v, k FROM {table}") == [{"v": 1.0, "k": "a"}, {"v": 2.0, "k": "b"}]


def test_dates_that_python_has_not(connection) -> None:
    days = pa.array([2_932_897, None, -735_000, 10**8], pa.date32())
    frame = pa.table({"k": [1, 2, 3, 4], "day": days, "many": pa.array([[10**8]] * 4, pa.list_(pa.date32()))})
    connection.register_table("t", frame)
    result = connection.sql("SELECT * FROM t WHERE day > DATE '2024-01-01'")
    assert result.complete
    assert result.to_arrow().column("day").cast(pa.int32()).to_pylist() == [2_932_897, 10**8]
    assert "10000-01-01" in repr(result)
    assert "10000-01-01" in result._repr_html_()
    with pytest.raises(UsageError, match="Python has no value"):
        list(result)
    with pytest.raises(UsageError, match="Python has no value") as caught:
        result.to_pandas()
    assert "to_pandas(date_as_object=False) has it" in (caught.value.hint or "")
