"""Results as Excel workbooks, read back by a library of somebody else's and by ours."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import io
from pathlib import Path

import pyarrow as pa
import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook

from fff.errors import UsageError
from fff_cli.app import run as fff
from fff_cli.output import streams
from fff_cli.output.failures import CannotWrite
from fff_cli.output.formats import write_batches, writer
from fff_cli.output.sinks import spreadsheets
from fff_cli.output.streams import choose_format

MOMENT = dt.datetime(2024, 2, 29, 8, 0, 0, 5000, tzinfo=dt.UTC)
BATCH = pa.record_batch(
    {
        "n": pa.array([2**63 - 1, None, -999_999_999_999_999], pa.int64()),
        "x": pa.array([0.1, float("inf"), float("nan")]),
        "d": pa.array(
            [decimal.Decimal("1.10"), None, decimal.Decimal("12345678901234.25")], pa.decimal128(38, 2)
        ),
        "b": pa.array([True, None, False]),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
        "at": pa.array([MOMENT, None, MOMENT.replace(microsecond=5)], pa.timestamp("us", tz="UTC")),
        "s": pa.array(["007", '=HYPERLINK("http://x")', "http://x.example"]),
        "t": pa.array(["\x01_x0041_ \n ", "", None]),
        "raw": pa.array([b"\x00\xff", None, b""]),
        "l": pa.array([["a", None], [], None]),
    }
)
CELLS = [
    ["n", "x", "d", "b", "day", "at", "s", "t", "raw", "l"],
    [
        "9223372036854775807",
        0.1,
        1.1,
        True,
        dt.date(2024, 2, 29),
        MOMENT.replace(tzinfo=None),
        "007",
        "\x01_x0041_ \n ",
        "00ff",
        '["a",null]',
    ],
    ["", "inf", "", "", "", "", '=HYPERLINK("http://x")', "", "", "[]"],
    [
        -999_999_999_999_999,
        "nan",
        "12345678901234.25",
        False,
        "0001-01-01",
        "2024-02-29T08:00:00.000005Z",
        "http://x.example",
        "",
        "",
        "",
    ],
]


def test_what_a_cell_keeps_is_a_value_and_the_rest_is_text(aside: Path) -> None:
    out = io.BytesIO()
    to = writer("xlsx", out, None)
    to.begin(BATCH.schema)
    write_batches(to, BATCH)
    to.end()
    assert list(aside.iterdir()) == []
    book = CalamineWorkbook.from_filelike(io.BytesIO(out.getvalue()))
    assert book.sheet_names == ["result"]
    assert book.get_sheet_by_index(0).to_python() == CELLS


def test_doubles_are_numbers_that_read_back_the_same() -> None:
    doubles = [
        0.1,
        1e300,
        -2.5,
        1 / 3,
        0.1 + 0.2,
        1.7976931348623157e308,
        100 / 3,
        5e-324,
        -0.0,
        123456789.12345678,
    ]
    out = io.BytesIO()
    to = writer("xlsx", out, None)
    batch = pa.record_batch({"x": pa.array(doubles)})
    to.begin(batch.schema)
    to.write(batch)
    to.end()
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(out.getvalue())).get_sheet_by_index(0)
    cells = [row[0] for row in sheet.to_python()[1:]]
    assert cells == doubles


def test_dates_that_python_has_not_are_texts() -> None:
    days = pa.array([2_932_897, 10**8], pa.date32())
    out = io.BytesIO()
    to = writer("xlsx", out, None)
    to.begin(pa.schema([("d", days.type)]))
    to.write(pa.record_batch({"d": days}))
    to.end()
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(out.getvalue())).get_sheet_by_index(0)
    assert sheet.to_python() == [["d"], ["10000-01-01"], ["+275760-09-13"]]


def test_a_run_that_fails_leaves_nothing(aside: Path) -> None:
    to = writer("xlsx", io.BytesIO(), None)
    to.begin(BATCH.schema)
    write_batches(to, BATCH)
    assert list(aside.iterdir()) != []
    del to
    gc.collect()
    assert list(aside.iterdir()) == []


def test_what_a_sheet_cannot_hold_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    to = writer("xlsx", io.BytesIO(), None)
    to.begin(pa.schema({"s": pa.string()}))
    with pytest.raises(CannotWrite, match="32,767 characters"):
        to.write(pa.record_batch({"s": ["x" * 32_768]}))
    monkeypatch.setattr(spreadsheets, "_ROWS", 3)
    to.write(pa.record_batch({"s": ["a", "b"]}))
    with pytest.raises(CannotWrite, match="has 3 rows"):
        to.write(pa.record_batch({"s": ["c"]}))
    with pytest.raises(CannotWrite, match="16,384 columns"):
        writer("xlsx", io.BytesIO(), None).begin(pa.schema([(f"c{n}", pa.int64()) for n in range(16_385)]))


def test_a_file_there_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("zip,day,n\n00501,2024-02-29,1\n94704,2024-03-01,\n")
    assert fff(["query", "SELECT * FROM 'in.csv'", "-O", "x.xlsx", "-q"]) == 0
    assert fff(["query", "SELECT * FROM excel.`x.xlsx`", "-o", "csv", "-q"]) == 0
    assert capfd.readouterr().out == Path("in.csv").read_text()
    before = Path("x.xlsx").read_bytes()
    assert fff(["query", "SELECT * FROM 'in.csv'", "-O", "x.xlsx", "--refreshable"]) == 2
    assert Path("x.xlsx").read_bytes() == before
    assert capfd.readouterr().err.count("as xlsx") == 1


def test_without_the_package_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="needs xlsxwriter") as error:
        choose_format(None, Path("x.xlsx"), terminal=False)
    assert error.value.hint == "pip install 'fff[excel]'"
    with pytest.raises(UsageError, match="not for terminals"):
        choose_format("xlsx", None, terminal=True)


def cells(file: str) -> list[list[object]]:
    return [[cell or None for cell in row] for row in CalamineWorkbook.from_path(file).get_sheet_by_index(0).to_python()]  # fmt: skip


ROW = "SELECT {} AS id, {} AS amount, DATE '2024-02-29' AS day, TIMESTAMP_NTZ '2024-02-29 08:00:00' AS at, {} AS text"


@pytest.mark.spark
def test_rows_are_added_to_a_workbook_and_cells_keep_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    moment = dt.datetime.fromisoformat("2024-02-29T08:00:00")
    days = [moment.date(), moment]
    one = ROW.format(1, "12345678901234567.25", "'007'")
    assert fff(["query", f"{one} UNION ALL {ROW.format(2, '1.10', 'NULL')}", "-O", "x.xlsx", "--append"]) == 0
    assert fff(["query", ROW.format(3, "0.5", "'=1+1'"), "-O", "x.xlsx", "--append"]) == 0
    held = [[1, "12345678901234567.25", *days, "007"], [2, 1.1, *days, None], [3, 0.5, *days, "=1+1"]]
    assert cells("x.xlsx")[1:] == held
    capfd.readouterr()
    assert fff(["query", ROW.format(2, "2.25", "'two'"), "-O", "x.xlsx", "--upsert", "id"]) == 0
    assert "'x.xlsx': 0 added, 1 replaced, 3 rows" in capfd.readouterr().err
    assert cells("x.xlsx")[1:] == [held[0], held[2], [2, 2.25, *days, "two"]]


def test_what_rows_are_not_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with xlsxwriter.Workbook("two.xlsx") as book:
        for name in ("result", "notes"):
            book.add_worksheet(name).write_row(0, 0, ["id"])
    Path("text.xlsx").write_text("id")
    before = Path("two.xlsx").read_bytes()
    assert fff(["query", "SELECT 1 AS id", "-O", "two.xlsx", "--append"]) == 2
    assert "has the sheets 'result', 'notes'" in capfd.readouterr().err
    assert Path("two.xlsx").read_bytes() == before
    assert fff(["query", "SELECT 1 AS id", "-O", "text.xlsx", "--append"]) == 2
    assert "no result as xlsx" in capfd.readouterr().err
    assert fff(["query", "SELECT 1 AS id", "-O", "x.xlsx"]) == 0
    assert fff(["query", "SELECT 1 AS key", "-O", "x.xlsx", "--append"]) == 2
    assert "has id" in capfd.readouterr().err
    assert fff(["query", "SELECT 1 AS id UNION ALL SELECT 1", "-O", "x.xlsx", "--upsert", "id"]) == 2
    assert "two rows of the result have id = 1" in capfd.readouterr().err
