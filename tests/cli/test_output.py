"""Result formats to the byte, and tables to the column."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import random
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fff.errors import UsageError
from fff_cli.output import FORMATS, choose_format, unique, write_batches, writer
from fff_cli.table import Screen, layout
from fff_cli.values import cell, fit, printable, width
from tests.cli.fake_engine import every_type

STAMP = "2020-01-02T03:04:05.000600Z"


def written(form: str, *batches: pa.RecordBatch, screen: Screen | None = None) -> bytes:
    out = io.BytesIO()
    to = writer(form, out, screen)
    to.begin(batches[0].schema)
    for batch in batches:
        write_batches(to, batch)
    to.end()
    return out.getvalue()


def test_csv_of_every_type():
    assert written("csv", every_type()).decode() == (
        "i,f,d,s,b,day,at,ntz,bin,l,m,st\n"
        '1,0.1,12345678901234567890.10,"a,""b""\n",true,2020-02-29,2020-01-02T03:04:05Z,2020-01-02T03:04:05,00ff,'
        '"[1,null]","{""k"":1.50}","{""x"":""2020-01-01"",""y"":""é""}"\n'
        f',nan,-0.05,"",,,{STAMP},,,,{{}},\n'
    )


def test_tsv_quotes_tabs_and_not_commas():
    batch = pa.record_batch({"a,b": ["x,y", "x\ty", None, ""], "c": [1, 2, 3, 4]})
    assert written("tsv", batch) == b'a,b\tc\nx,y\t1\n"x\ty"\t2\n\t3\n""\t4\n'


def test_json_and_ndjson_of_every_type():
    lines = written("ndjson", every_type()).decode().splitlines()
    first, second = (json.loads(line, parse_float=Decimal) for line in lines)
    assert first == {
        "i": 1, "f": Decimal("0.1"), "d": Decimal("12345678901234567890.10"), "s": 'a,"b"\n', "b": True, "day": "2020-02-29",
        "at": "2020-01-02T03:04:05Z", "ntz": "2020-01-02T03:04:05", "bin": "00ff", "l": [1, None], "m": {"k": Decimal("1.50")},
        "st": {"x": "2020-01-01", "y": "é"},
    }  # fmt: skip
    assert '"f":NaN' in lines[1]
    assert (second["s"], second["st"], second["l"], second["m"]) == ("", None, None, {})
    assert json.loads(written("json", every_type()), parse_float=Decimal)[0] == first


def test_json_is_an_array_however_many_batches_there_are():
    one, none = pa.record_batch({"n": [1]}), pa.record_batch({"n": pa.array([], pa.int64())})
    assert written("json", none) == b"[]\n"
    assert written("json", one, none, one) == b'[\n{"n":1},\n{"n":1}\n]\n'


def test_floats_read_back_the_same_and_infinities_are_named():
    values = [0.1, 1.0, -0.0, 1e300, 5e-324, 123456789.125, 1 / 3, math.inf, -math.inf]
    batch = pa.record_batch({"f": values})
    assert written("csv", batch).decode().split()[1:] == [
        "0.1", "1.0", "-0.0", "1e+300", "5e-324", "123456789.125", repr(1 / 3), "inf", "-inf",
    ]  # fmt: skip
    assert [json.loads(line)["f"] for line in written("ndjson", batch).splitlines()] == values


def test_small_decimals_have_no_exponent():
    batch = pa.record_batch({"d": pa.array([Decimal("0.0000001"), Decimal(0), None], pa.decimal128(20, 7))})
    assert written("csv", batch) == b"d\n0.0000001\n0.0000000\n\n"


def test_timestamps_carry_their_offset():
    batch = pa.record_batch(
        {"at": pa.array([0], pa.timestamp("us", "Asia/Kolkata")), "s": pa.array([0], pa.timestamp("s"))}
    )
    assert written("csv", batch) == b"at,s\n1970-01-01T05:30:00+05:30,1970-01-01T00:00:00\n"


def test_lengths_of_time_are_written_as_spark_writes_them():
    spans = [
        dt.timedelta(days=1, hours=2),
        -dt.timedelta(days=1, minutes=3, seconds=4.5),
        dt.timedelta(microseconds=1),
        None,
    ]
    batch = pa.record_batch(
        {
            "d": pa.array(spans, pa.duration("us")),
            "t": pa.array([dt.time(10, 0, 0, 500000)] * 4, pa.time64("ns")),
        }
    )
    expected = ["1 02:00:00", "-1 00:03:04.5", "0 00:00:00.000001"]
    assert list(csv.reader(io.StringIO(written("csv", batch).decode())))[1:] == [
        *([f"INTERVAL '{text}' DAY TO SECOND", "10:00:00.500000"] for text in expected),
        ["", "10:00:00.500000"],
    ]
    assert [json.loads(line)["d"] for line in written("ndjson", batch).splitlines()][-1] is None


def test_markdown_keeps_its_table_together():
    batch = pa.record_batch({"a|b": ["x|y", "two\nlines", None], "n": [1, 2, 3]})
    assert written("markdown", batch).decode().splitlines() == [
        "| a\\|b | n |", "| --- | ---: |", "| x\\|y | 1 |", "| two<br>lines | 2 |", "| NULL | 3 |",
    ]  # fmt: skip


def test_binary_formats_read_back_equal(tmp_path):
    batch = every_type()
    assert pa.ipc.open_stream(written("arrow", batch, batch)).read_all().num_rows == 4
    assert pa.ipc.open_stream(written("arrow", batch)).read_all().to_batches()[0].schema == batch.schema
    assert (
        pq.read_table(io.BytesIO(written("parquet", batch))).column("d").to_pylist()
        == batch.column("d").to_pylist()
    )


def test_repeated_column_names_are_numbered_where_names_are_keys():
    assert unique(["a", "b", "a", "a_1", "a"]) == ["a", "b", "a_2", "a_1", "a_3"]
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert written("ndjson", twice) == b'{"a":1,"a_1":2}\n'
    assert written("csv", twice) == b"a,a\n1,2\n"
    assert pq.read_table(io.BytesIO(written("parquet", twice))).to_pylist() == [{"a": 1, "a_1": 2}]


def test_any_text_survives_csv_and_json(tmp_path):
    rng = random.Random(11)
    alphabet = 'ab,"\n\r\t;\\ é漢\x7f\x80\u2028\x1b'
    rows = ["".join(rng.choices(alphabet, k=rng.randrange(6))) for _ in range(300)]
    batch = pa.record_batch({"id": list(range(300)), "t": rows})
    pieces = [batch.slice(start, 7) for start in range(0, 300, 7)]  # slices: buffers with offsets
    read = list(csv.reader(io.StringIO(written("csv", *pieces).decode(), newline="")))
    assert [row[1] for row in read[1:]] == rows
    assert [json.loads(line)["t"] for line in written("ndjson", *pieces).split(b"\n")[:-1]] == rows
    file = tmp_path / "rows.csv"
    file.write_bytes(written("csv", pa.record_batch({"a": ["", None, "x"], "b": [1, 2, 3]})))
    read_csv = f"read_csv('{file}', header = true, allow_quoted_nulls = false)"
    nulls = duckdb.execute(f"SELECT a IS NULL FROM {read_csv} ORDER BY b").fetchall()
    assert nulls == [(False,), (True,), (False,)]


def test_many_rows_go_through_in_pieces():
    count = 200_000
    batch = pa.record_batch({"n": pa.array(range(count), pa.int64())})
    assert written("csv", batch) == b"n\n" + b"".join(b"%d\n" % n for n in range(count))


# --------------------------------------------------------------------------------------------------------------- tables


def test_a_table_in_a_pipe_is_plain_and_cut_nowhere():
    batch = pa.record_batch({"name": ["x" * 300, None, "NULL"], "n": [1, -20, None]})
    lines = written("table", batch).decode().splitlines()
    assert lines[0] == " name".ljust(301) + " |    n"
    assert lines[1] == "-" * 302 + "+------"
    assert lines[2] == " " + "x" * 300 + " |    1"
    assert lines[3] == " NULL".ljust(301) + " |  -20"
    assert lines[4] == " 'NULL'".ljust(301) + " | NULL"


def test_rows_after_the_measured_ones_stream_unclipped_in_a_pipe_and_clipped_on_a_screen():
    many = pa.record_batch({"t": ["ab"] * 1000})
    late = pa.record_batch({"t": ["abcdefgh"]})
    assert written("table", many, late).decode().splitlines()[-1] == " abcdefgh"
    assert written("table", many, late, screen=Screen(80)).decode().splitlines()[-2] == "│ a… │"


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("count", [1, 3, 12, 60])
def test_a_table_on_a_screen_never_exceeds_it(columns, count):
    batch = pa.record_batch({f"column {n}": ["漢字" * (n % 9), "é\u0301", "word " * n] for n in range(count)})
    lines = written("table", batch, screen=Screen(columns)).decode().splitlines()
    assert len({width(line) for line in lines}) == 1
    assert width(lines[0]) <= columns


def test_layouts_shrink_wide_columns_first_and_then_leave_columns_out():
    assert layout([3, 50, 5], None).widths == (3, 50, 5)
    assert layout([3, 50, 5], 40).widths == (3, 22, 5)
    assert layout([50] * 20, 40).cut


def test_colour_marks_null_only_where_colour_is():
    batch = pa.record_batch({"t": ["x", None]})
    assert b"\x1b[2mNULL" in written("table", batch, screen=Screen(80, color=True))
    assert b"\x1b" not in written("table", batch, screen=Screen(80))


def test_control_characters_are_shown_not_obeyed():
    assert printable("a\x1b[31m\n\t\u202e\x9b é漢") == "a\\x1b[31m\\n\\t\\u202e\\x9b é漢"
    assert cell(b"\x00") == "00"
    assert cell({"a": [Decimal("1.0"), None]}) == '{"a":[1.0,null]}'
    assert fit("漢字漢字", 5) == "漢字…"


def test_formats_are_chosen_by_option_then_ending_then_terminal():
    assert choose_format(None, None, terminal=True) == "table"
    assert choose_format(None, None, terminal=False) == "csv"
    assert choose_format(None, Path("x.JSONL"), terminal=True) == "ndjson"
    assert choose_format("arrow", Path("x.csv"), terminal=True) == "arrow"
    assert {choose_format(name, None, terminal=False) for name in FORMATS} == set(FORMATS)
    with pytest.raises(UsageError, match="parquet is not for terminals"):
        choose_format("parquet", None, terminal=True)
