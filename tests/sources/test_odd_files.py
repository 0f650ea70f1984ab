"""Files that a statement names, and that are not what one might think."""

from __future__ import annotations

import datetime as dt
import io
import os
import threading
import tracemalloc
import zipfile
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet
import pytest
import xlsxwriter

import fff
from fff.errors import SourceError
from fff_sources.files import excel, local
from fff_sources.files.excel import sheets_of
from fff_sources.http.columnar import read_columns, read_schema
from tests.sources.local import rows

CSV = b"zip,n\n00501,1\n94704,2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def test_what_lies_beside_data_is_not_met_by_a_pattern(folder: Path) -> None:
    (folder / "parts" / "_delta_log").mkdir(parents=True)
    for name in ("a.csv", "_b.csv", ".c.csv", "._a.csv", "_SUCCESS", "_delta_log/0.csv"):
        (folder / "parts" / name).write_bytes(f"k,v\n{name},x\n".encode())
    for pattern, names in {
        "csv.`parts/*`": ["_b.csv", "a.csv"],
        "'parts/**/*.csv'": ["_b.csv", "a.csv"],
        "'parts/.c*.csv'": [".c.csv"],
        "'parts/_delta*/*.csv'": ["_delta_log/0.csv"],
    }.items():
        assert await rows(folder, f"SELECT k FROM {pattern}") == [(name,) for name in names]


@pytest.mark.parametrize(
    ("other", "body", "said"),
    [
        ("b.ndjson", b'{"zip": "1"}', "csv .a.csv. and ndjson .b.ndjson."),
        ("b.txt", b"zip\n1", "csv .a.csv. and who knows what .b.txt."),
        ("b.csv", b"zip;n\n1;2\n", "delimiter: ',' .a.csv. and ';' .b.csv."),
    ],
)
async def test_files_of_several_forms_are_no_table(folder: Path, other: str, body: bytes, said: str) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "a.csv").write_bytes(CSV)
    (folder / "parts" / other).write_bytes(body)
    with pytest.raises(SourceError, match=said):
        await rows(folder, "SELECT * FROM 'parts/*'")
    (folder / "parts" / other).write_bytes(b"zip\n9\n")  # one column tells no delimiter
    assert len(await rows(folder, "SELECT zip FROM csv.`parts`")) == 3


def test_an_empty_file_among_others_is_told_as_a_file(folder: Path) -> None:
    for name, body in {"a": CSV, "b": b""}.items():
        (folder / f"{name}.csv").write_bytes(body)
    with fff.connect() as connection, pytest.raises(SourceError, match="the file is empty") as caught:
        connection.sql(f"SELECT zip FROM '{folder}/*.csv'")
    assert "leave it out" in (caught.value.hint or "")


@pytest.mark.parametrize(("body", "is_told"), [(b"00501,7\n94704,8\n", True), (CSV, False)])
def test_a_first_line_of_numbers_that_became_names_is_told(folder: Path, body: bytes, is_told: bool) -> None:
    (folder / "a.csv").write_bytes(body)
    with fff.connect() as connection:
        result = connection.sql(f"SELECT * FROM csv.`{folder}/a.csv`")
        assert len(result.to_arrow()) == body.count(b"\n") - 1
        assert any("all numbers" in str(note) for note in result.warnings) == is_told


def test_a_pipe_by_name_is_a_table(folder: Path) -> None:
    pipe = folder / "t.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(CSV,))
    writer.start()
    with fff.connect() as connection:
        result = connection.sql(f"SELECT zip, a.n FROM '{pipe}' a JOIN csv.`{pipe}` b USING (zip)")
        assert result.to_arrow().num_rows == 2
    writer.join()


async def test_columns_that_sql_has_no_type_for_are_told_where_there_are_no_others(folder: Path) -> None:
    pa.parquet.write_table(pa.table({"d": pa.array([1], pa.duration("s"))}), folder / "d.parquet")
    pa.parquet.write_table(pa.table({"t": pa.array([1], pa.timestamp("ns"))}), folder / "t.parquet")
    for name, said in {"d": r"no type for d \(duration", "t": "cannot hold a value"}.items():
        with pytest.raises(SourceError, match=said):
            await rows(folder, f"SELECT * FROM '{name}.parquet'")


@pytest.mark.parametrize("name", ["'t.parquet'", "f.t", "parquet.`t.parquet`"])
async def test_times_as_spark_writes_them_are_not_bound_by_nanoseconds(folder: Path, name: str) -> None:
    times = [dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.datetime(9999, 12, 31), dt.datetime(1, 1, 1), None]  # noqa: DTZ001 - without a zone
    kept = pa.table({"k": range(4), "t": pa.array(times, pa.timestamp("us"))})
    pa.parquet.write_table(kept, folder / "t.parquet", use_deprecated_int96_timestamps=True)
    spec = folder / "fff.yaml"
    spec.write_text("{version: 1, sources: {f: {type: files, tables: {t: t.parquet}}}}")
    assert await rows(folder, f"SELECT k, t FROM {name}", str(spec)) == list(enumerate(times))
    found = f"SELECT k FROM {name} WHERE t > TIMESTAMP_NTZ '2025-01-01 00:00:00'"
    assert await rows(folder, found, str(spec)) == [(1,)]
    assert read_schema((folder / "t.parquet").read_bytes()).field("t").type == pa.timestamp("us")
    held = read_columns((folder / "t.parquet").read_bytes(), ["t"])
    assert held.column("t").to_pylist() == times


def test_to_read_a_small_file_takes_little_memory(folder: Path) -> None:
    """Not as much as the largest file that may be read."""
    (folder / "a.json").write_bytes(b"[{}]")
    tracemalloc.start()
    try:
        assert local.LocalFiles("s", "t", local.LARGEST).read(str(folder / "a.json")) == b"[{}]"
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def sheet_of(folder: Path, *cells: str) -> str:
    """A workbook of one sheet, its cells as they stand in XML."""
    place = str(folder / "t.xlsx")
    with xlsxwriter.Workbook(place) as book:
        book.add_worksheet("one").write(0, 0, 1)
    with zipfile.ZipFile(place) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    rows_of = "".join(f"<row>{cell}</row>" for cell in cells).encode()
    parts["xl/worksheets/sheet1.xml"] = b"<worksheet><sheetData>" + rows_of + b"</sheetData></worksheet>"
    with zipfile.ZipFile(place, "w") as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return place


FAR = '<c r="A1"><v>7</v></c>', '<c r="A2"><v>8</v></c>'


@pytest.mark.parametrize(
    "far",
    [
        '<c r="XFD1048576"><v>9</v></c>',
        "<c r='XFD1048576'><v>9</v></c>",
        '<c s="1" r = "xfd1048576" ><v>9</v></c>',
    ],
)
async def test_a_cell_far_off_does_not_end_the_process(folder: Path, far: str) -> None:
    with pytest.raises(SourceError, match="spans 17,179,869,184 cells, of which 3 hold anything"):
        await rows(folder, f"SELECT * FROM '{sheet_of(folder, *FAR, far)}'")
    with pytest.raises(ValueError, match="spans"):
        sheets_of((folder / "t.xlsx").read_bytes())


async def test_an_empty_cell_far_off_is_none(folder: Path) -> None:
    far = '<c r="XFD1" s="1"/>', '<c r="A1048576" s="1"/>', '<c r="XFC1048576"></c>'
    assert await rows(folder, f"SELECT * FROM '{sheet_of(folder, *FAR, *far)}'") == [(8,)]


def open_document(*rows_of: str) -> bytes:
    """An OpenDocument sheet of such rows."""
    names = "".join(
        f' xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
        for one in ("office", "table", "text")
    )
    sheet = f'<table:table table:name="one">{"".join(rows_of)}</table:table>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body><office:spreadsheet>{sheet}"
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return out.getvalue()


def row_of(*cells: str | int, times: int = 1) -> str:
    """Texts, and numbers of empty cells."""
    empty, text = (
        "<table:table-cell table:number-columns-repeated='{}'/>",
        "<table:table-cell office:value-type='string'><text:p>{}</text:p></table:table-cell>",
    )
    inside = "".join((empty if isinstance(cell, int) else text).format(cell) for cell in cells)
    return f'<table:table-row table:number-rows-repeated="{times}">{inside}</table:table-row>'


async def test_a_cell_of_an_open_document_far_off_does_not_end_the_process(folder: Path) -> None:
    rows_before = row_of("a", "b", 1022), row_of("x", "y", 1022)
    far = row_of(1024, times=999_997), row_of("z", 200, "far")
    (folder / "t.ods").write_bytes(open_document(*rows_before, *far))
    with pytest.raises(SourceError, match="spans 202,000,000 cells, of which 6 hold anything"):
        await rows(folder, f"SELECT * FROM '{folder / 't.ods'}'")
    (folder / "t.ods").write_bytes(open_document(*rows_before, row_of(1024, times=1_048_574)))
    assert await rows(folder, f"SELECT * FROM '{folder / 't.ods'}'") == [("x", "y")]
    (folder / "t.ods").write_bytes(open_document(*rows_before, row_of(1024, times=2_000), row_of("z", "w")))
    assert await rows(folder, f"SELECT * FROM '{folder / 't.ods'}'") == [("x", "y"), ("z", "w")]


def test_the_cells_of_an_open_document_are_not_counted_where_its_columns_alone_are_alike() -> None:
    columns = '<table:table-column table:number-columns-repeated="16384"/>'
    content = open_document(columns, row_of("a", "b", 16_382), row_of("x", "y", 16_382))
    with mock.patch.object(excel, "_TABLE_OR_PART", None):
        assert len(sheets_of(content)) == 1


@pytest.mark.parametrize(("kind", "refused"), [(2, True), (1, False)])  # a number, an empty cell
def test_a_cell_of_a_binary_sheet_far_off_does_not_end_the_process(kind: int, refused: bool) -> None:
    def record(kind: int, *numbers: int) -> bytes:
        body = b"".join(number.to_bytes(4, "little") for number in numbers)
        return bytes([kind & 127 | 128, kind >> 7] if kind > 127 else [kind]) + bytes([len(body)]) + body

    sheet = record(129) + record(148, 0, 1_048_575, 0, 16_383) + record(0, 0) + record(2, 0, 0, 0)
    sheet += record(0, 1_048_575) + record(kind, 16_383, 0, 0) + record(130)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
    with pytest.raises(ValueError, match="spans 17,179,869,184 cells, of which 2" if refused else "detect"):
        sheets_of(out.getvalue())
