"""Result formats to the byte, and tables to the column."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import random
import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fff.errors import UsageError
from fff.schema import BOUND, WITHIN, distinct_names
from fff_cli.output import console, formats, table, values
from fff_cli.output.formats import emit, write_batches, writer
from fff_cli.output.streams import FORMATS, choose_format
from fff_cli.output.table import Screen, layout, told_apart
from fff_cli.output.values import cell, fit, pad, printable, texts, width
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


def test_safe_csv_holds_no_formula():
    texts = [
        "=1+1",
        "+1",
        "-1",
        "@a",
        "\tx",
        "\r=x",
        "  =x",
        "＝x",  # noqa: RUF001
        "a=1",
        "1-2",
        "",
        None,
        '=HYPERLINK("u")',
    ]
    batch = pa.record_batch({"=n": pa.array(texts, pa.string()), "i": pa.array([-1] * len(texts))})
    out = io.BytesIO()
    to = writer("csv", out, None, text_cells=True)
    to.begin(batch.schema)
    write_batches(to, batch)
    to.end()
    rows = list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))
    assert [row[0] for row in rows] == [
        "'=n",
        *(f"'{text}" for text in texts[:8]),
        "a=1",
        "1-2",
        "",
        "",
        f"'{texts[-1]}",
    ]
    assert {row[1] for row in rows[1:]} == {"-1"}
    assert b"\n=1+1," in written("csv", batch), "as the source has it, unless asked for"


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


def test_years_that_arrow_does_not_write():
    days = pa.array([10**8, None, 1, -(10**8)], pa.date32())
    assert texts(days).to_pylist() == ["+275760-09-13", None, "1970-01-02", "-271821-04-20"]
    moments = pa.array([9 * 10**18, None, 1], pa.timestamp("us"))
    assert texts(moments).to_pylist() == ["+287168-08-24T16:00:00", None, "1970-01-01T00:00:00.000001"]
    assert texts(moments.cast(pa.timestamp("us", "UTC")))[0].as_py() == "+287168-08-24T16:00:00Z"


def of_every_second(kind):
    """Timestamps with and without fractions, before and after 1970, far off, NULL."""
    rng = random.Random(4)
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    far = 9 * 10**9 if kind.unit == "ns" else 6 * 10**10
    seconds = [rng.randrange(-far, far) for _ in range(200)]
    parts = [rng.choice([0, 0, ticks // 2, rng.randrange(ticks)]) for _ in seconds]
    values = [second * ticks + part for second, part in zip(seconds, parts, strict=True)]
    return pa.array([None, 0, -1, *values], pa.int64()).cast(kind)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_a_column_are_written_alike_whatever_stands_beside_them(unit, zone):
    """A column of whole seconds takes another way than one of fractions, and one of both."""
    column = of_every_second(pa.timestamp(unit, zone))
    together = texts(column)
    assert together.to_pylist() == [texts(column[at : at + 1])[0].as_py() for at in range(len(column))]
    assert (together.cast(pa.timestamp(unit)) if zone is None else together.cast(column.type)).equals(column)
    assert not any(text[-2:] == ".0" or " " in text for text in together.drop_null().to_pylist())


@pytest.mark.parametrize("form", ["csv", "ndjson", "table"])
def test_what_needs_no_escape_is_not_looked_at_one_by_one(form, monkeypatch):
    """A call for every value takes ten times as long as all else."""

    def each(*_):
        raise AssertionError("one by one")

    monkeypatch.setattr(values, "_each", each)
    monkeypatch.setattr(table.TableWriter, "_line", each)
    batch = pa.record_batch(
        {
            "s": ["plain", "text", None],
            "n": [1.0, 2.5, 3e30],
            "t": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        }
    )
    assert written(form, batch).count(b"\n") == {"csv": 4, "ndjson": 3, "table": 5}[form]


def test_parquet_row_groups_are_large_however_small_the_batches(monkeypatch):
    """Every reader pays for each of them."""
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x" * 50] * 3})

    def groups():
        out = io.BytesIO()
        to = writer("parquet", out, None)
        to.begin(batch.schema)
        for _ in range(100):
            to.write(batch)
        to.end()
        file = pq.ParquetFile(out)
        assert file.read().num_rows == 300
        return [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)]

    assert groups() == [300]
    monkeypatch.setattr(formats, "GROUP_ROWS", 100)
    assert groups() == [102, 102, 96]
    monkeypatch.setattr(formats, "GROUP_BYTES", 50 * batch.nbytes)
    monkeypatch.setattr(formats, "GROUP_ROWS", 10**6)
    assert groups() == [150, 150]


def test_parquet_numbers_no_values_that_do_not_repeat():
    """A dictionary of them is larger than they are."""
    rows = 40_000
    columns = {
        "id": pa.array(range(rows)),
        "far": pa.array([n % (rows // 2) for n in range(rows)]),
        "sorted": pa.array([n // 2 for n in range(rows)]),
        "word": pa.array([f"{n % 100}" for n in range(rows)]),
        "a.b": pa.array(range(rows)).cast(pa.float64()),
        "twice": pa.array([n if n // 3_000 % 2 else n + 3_000 for n in range(rows)]),
        "text": pa.array([f"{n}" for n in range(rows)]),
        "none": pa.nulls(rows),
    }

    def numbered(table):
        out = io.BytesIO()
        to = writer("parquet", out, None)
        to.begin(table.schema)
        for batch in table.to_batches(max_chunksize=7_000):
            to.write(batch)
        to.end()
        assert pq.ParquetFile(out).read().equals(table)
        group = pq.ParquetFile(out).metadata.row_group(0)
        return {
            group.column(at).path_in_schema
            for at in range(group.num_columns)
            if "RLE_DICTIONARY" in group.column(at).encodings
        }

    assert numbered(pa.table(columns)) == columns.keys() - {"id", "a.b"}
    assert numbered(pa.table(columns).slice(0, 9_000)) == columns.keys()  # too few to tell
    nested = {"id": columns["id"], "l": pa.array([[n % 3] for n in range(rows)])}
    assert numbered(pa.table(nested)) == {"id", "l.list.element"}
    with pytest.raises(pa.ArrowNotImplementedError):
        writer("parquet", io.BytesIO(), None).begin(pa.schema({"i": pa.month_day_nano_interval()}))


@pytest.mark.parametrize("screen", [None, Screen(40), Screen(23, unicode=False), Screen(80, color=True)])
def test_a_table_is_the_same_drawn_column_by_column_and_row_by_row(screen, monkeypatch):
    rng = random.Random(8)
    text = [rng.choice([None, "", "NULL", " ", "a b", "x" * rng.randrange(30)]) for _ in range(60)]
    batch = pa.record_batch(
        {"text": text, "n": [rng.choice([None, 1.5, -7.0]) for _ in text], "yes": [True, None] * 30}
    )
    drawn = written("table", batch, screen=screen)
    monkeypatch.setattr(table, "_ascii", lambda shown: False)
    assert written("table", batch, screen=screen) == drawn


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


#: Everything that no terminal should get, in a value and in a name.
OBEYED = (
    "".join(map(chr, [*range(9), 11, 12, *range(14, 32), *range(127, 160)]))
    + "\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\ufeff\U000e0041"
)


@pytest.mark.parametrize(
    "form", [form for form in FORMATS if form not in ("parquet", "arrow", "sqlite", "duckdb", "xlsx")]
)
def test_a_terminal_gets_nothing_that_it_would_obey(form):
    batch = pa.record_batch(
        {
            f"a{OBEYED}": [f"x{OBEYED}y", "ünï 漢\u3000", None],
            "l": [[OBEYED], None, []],
            "m": [{OBEYED: OBEYED}] * 3,
        }
    )
    shown = written(form, batch, screen=Screen(10_000)).decode()
    assert not set(OBEYED) & set(shown)
    assert "ünï" in shown
    if form in ("json", "ndjson"):
        lines = shown.strip("[]\n").splitlines()
        rows = [json.loads(line.rstrip(",")) for line in lines]
        plain = written(form, batch).decode().strip("[]\n")
        assert rows == [json.loads(line.rstrip(",")) for line in plain.split("\n")]
        assert rows[0][f"a{OBEYED}"] == f"x{OBEYED}y"


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "ndjson", "markdown"])
def test_a_file_gets_the_characters_as_they_are(form):
    batch = pa.record_batch({"a": ["x\u202e\u2066y\u200f"]})
    assert "x\u202e\u2066y\u200f" in written(form, batch).decode()


def test_markdown_keeps_its_table_together():
    batch = pa.record_batch({"a|b": ["x|y", "two\nlines", None], "n": [1, 2, 3]})
    assert written("markdown", batch).decode().splitlines() == [
        "| a\\|b | n |", "| --- | ---: |", "| x\\|y | 1 |", "| two<br>lines | 2 |", "| NULL | 3 |",
    ]  # fmt: skip


def test_a_line_for_each_value():
    batch = pa.record_batch({"zip": ["94705", None], "बड़ा": [1, 2], "t": ["a\nb", "NULL"]})
    text = "  zip = 94705\n  बड़ा = 1\n    t = a\\nb\n\n  zip = NULL\n  बड़ा = 2\n    t = 'NULL'\n"
    text = (
        text.replace("  zip", "zip")
        .replace("  बड़ा", " " * (3 - width("बड़ा")) + "बड़ा")
        .replace("    t", "  t")
    )
    assert written("line", batch).decode() == text
    assert written("line", batch.slice(0, 1), batch.slice(1)).decode() == text


def test_a_table_on_a_screen_says_which_columns_and_how_many_rows_it_does_not_show():
    batch = pa.record_batch({f"column_{n}": ["value " * 5] * 50 for n in range(9)})
    out = io.BytesIO()
    to = writer("table", out, Screen(40), rows=7, more="--rows all, or -O FILE")
    to.begin(batch.schema)
    to.write(batch.slice(0, 5))
    to.write(batch.slice(5))
    to.end()
    lines = out.getvalue().decode().splitlines()
    assert len([line for line in lines if "value" in line or "v…" in line or "val…" in line]) == 7
    assert lines[-3] == "6 columns not shown (-o line shows all)…"
    assert lines[-2:] == ["50 rows (7 shown; --rows all, or -O", "FILE)"], "no word is cut"
    assert all(width(line) <= 40 for line in lines)
    assert "not shown" not in written("table", batch).decode()


def test_binary_formats_read_back_equal(tmp_path):
    batch = every_type()
    assert pa.ipc.open_stream(written("arrow", batch, batch)).read_all().num_rows == 4
    assert pa.ipc.open_stream(written("arrow", batch)).read_all().to_batches()[0].schema == batch.schema
    assert (
        pq.read_table(io.BytesIO(written("parquet", batch))).column("d").to_pylist()
        == batch.column("d").to_pylist()
    )


def test_repeated_column_names_are_numbered_where_names_are_keys():
    assert distinct_names(["a", "b", "a", "a_1", "a"], str) == ["a", "b", "a_2", "a_1", "a_3"]
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
    assert len({width(line) for line in lines if line[0] in "┌│├└"}) == 1
    assert all(width(line) <= columns for line in lines)


def test_layouts_shrink_wide_columns_first_and_then_leave_columns_out():
    assert layout([3, 50, 5], None).widths == (3, 50, 5)
    assert layout([3, 50, 5], 40).widths == (3, 22, 5)
    assert layout([50] * 20, 40).cut


def test_a_table_fits_the_terminal_as_it_is_when_the_table_is_written(monkeypatch):
    batch, out = pa.record_batch({"name": ["x" * 60] * 3}), io.BytesIO()
    to = writer("table", out, Screen(80, own=True), rows=2, more="--rows all, or -O FILE")
    to.begin(batch.schema)
    monkeypatch.setattr(console, "terminal_size", lambda _: (24, 15))  # made smaller while the query ran
    to.write(batch)
    to.end()
    lines = out.getvalue().decode().splitlines()
    assert width(lines[0]) == 24
    assert max(map(width, lines)) == 24


def test_titles_that_begin_alike_are_not_cut_alike():
    """Columns leave instead: ten times `col…` says nothing."""
    batch = pa.record_batch({f"column_{at}": [at] for at in range(60)} | {"other": ["x" * 60]})
    header = written("table", batch, screen=Screen(80)).decode().splitlines()[1]
    assert re.findall(r"[^ │]+", header) == [*(f"column_{at}" for at in range(6)), "…"]
    assert told_apart(["contribution", "crimeRating", "x", "x", "ab" * 30, "ab" * 29 + "c"]) == [
        3,
        3,
        1,
        1,
        24,
        24,
    ]
    texts = pa.record_batch({"billing_city": ["a" * 30], "billing_code": ["b" * 30], "name": ["c" * 30]})
    header = written("table", texts, screen=Screen(50)).decode().splitlines()[1]
    assert re.findall(r"[^ │]+", header) == ["billing_city", "billing_code", "name"]


def test_texts_give_way_and_columns_leave_before_a_number_is_cut():
    assert layout([9, 50, 9], 40, [9, 0, 9]).widths == (9, 12, 9)
    hidden = layout([9] * 6, 40, [9] * 6)
    assert hidden.cut
    assert set(hidden.widths) == {9}
    assert layout([30, 9], 40, [9, 9]).widths == (24, 9)  # a long name gives way, its values do not
    assert layout([60], 20, [60]).widths == (16,)


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


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("नमस्ते", 4),
        ("👍🏽", 2),
        ("👩‍👩‍👧", 2),
        ("日本", 4),
        ("e\u0301", 1),
        ("é", 1),
        ("plain", 5),
        ("ไทย", 3),
        ("", 0),
    ],
)
def test_texts_of_every_script_take_the_columns_that_terminals_give_them(text: str, columns: int) -> None:
    assert width(text) == columns
    assert width(pad(text, 9)) == 9
    assert width(fit(text * 4, 5)) <= 5
    assert not fit(text * 4, 5).startswith("\u0301")


class Cut(io.RawIOBase):
    """An unbuffered output whose writes signals cut short."""

    def __init__(self) -> None:
        super().__init__()
        self.got = b""

    def write(self, data, /) -> int:
        piece = bytes(data)[:7]
        self.got += piece
        return len(piece)


def test_writes_that_are_cut_short_are_gone_on_with(monkeypatch):
    out = Cut()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=out))
    emit("a line that is longer than one write\n" * 3)
    assert out.got.decode() == "a line that is longer than one write\n" * 3


def test_an_output_that_takes_nothing_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=SimpleNamespace(write=lambda _data: None)))
    with pytest.raises(UsageError, match="cannot write the result"):
        emit("a line\n")


def test_numbers_that_are_bounds_are_marked_where_people_read_them():
    fields = [("k", "certain"), ("n", "at_least"), ("low", "at_most"), ("mean", "unknown")]
    schema = pa.schema([pa.field(name, pa.int64(), metadata={BOUND: bound}) for name, bound in fields])
    batch = pa.RecordBatch.from_pylist([{"k": 1, "n": 41, "low": None, "mean": 3}], schema)
    assert written("table", batch).decode().split("\n")[2] == " 1 | >= 41 |   ? |  ? 3"
    assert written("markdown", batch).decode().split("\n")[2] == "| 1 | ≥ 41 | ? | ? 3 |"
    assert written("line", batch).decode().split("\n")[1:3] == ["   n = >= 41", " low = ?"]
    assert written("csv", batch).decode() == "k,n,low,mean\n1,41,,3\n"


def test_numbers_that_are_known_from_both_sides_show_how_far_they_reach():
    told = {BOUND: b"at_least", WITHIN: b"7"}
    schema = pa.schema(
        [pa.field("n", pa.int64(), metadata=told), pa.field("s", pa.decimal128(38, 0), metadata=told)]
    )
    batch = pa.RecordBatch.from_pylist([{"n": 41, "s": None}, {"n": 0, "s": 3}], schema)
    assert written("table", batch).decode().split("\n")[2:4] == [" 41..48 |     ?", "   0..7 | 3..10"]
    assert written("markdown", batch).decode().split("\n")[2] == "| 41…48 | ? |"
