"""Files of this machine as tables: named by a spec, or by the statement itself."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import xlsxwriter

import fff
from fff.errors import QueryError, SourceError
from fff_sources.files import local
from tests.engine.site import run
from tests.sampling import every
from tests.sources.local import federation, rows

CSV = b"zip,n\n00501,1\n94704,2\n"
ROWS = [("00501", 1), ("94704", 2)]


def zipped(body: bytes, how: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        archive.writestr("inside.csv", body)
    return out.getvalue()


def damaged(how: int) -> bytes:
    """A zip file of which some packed bytes are others."""
    whole = zipped(CSV * 100, how)
    return whole[:45] + b"\xff" * 15 + whole[60:]


def columnar(write: object, **options: object) -> bytes:
    out = io.BytesIO()
    table = pa.table(
        {"zip": pa.array(["00501", "94704"]).dictionary_encode(), "n": pa.array([1, 2], pa.uint32())}
    )
    write(table, out, **options)  # type: ignore[operator]
    return out.getvalue()


def spreadsheet(*sheets: list[list[object]]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"default_date_format": "yyyy-mm-dd hh:mm:ss"}) as book:
        days = book.add_format({"num_format": "yyyy-mm-dd"})
        for rows in sheets:
            sheet = book.add_worksheet()
            for number, row in enumerate(rows):
                for place, cell in enumerate(row):
                    if type(cell) is dt.date:
                        sheet.write_datetime(number, place, cell, days)
                    elif cell is not None:
                        sheet.write(number, place, cell)
    return out.getvalue()


SHEET = [["zip", "n"], ["00501", 1], ["94704", 2]]

FILES = {
    "t.xlsx": spreadsheet(SHEET),
    "a.csv": CSV,
    "semicolons.csv": CSV.replace(b",", b";"),
    "tabs.tsv": CSV.replace(b",", b"\t"),
    "packed.csv.gz": gzip.compress(CSV),
    "packed.csv.zip": zipped(CSV),
    "packed.csv.zst": pa.compress(CSV, codec="zstd", asbytes=True),
    "list.json": b'[{"zip": "00501", "n": 1}, {"zip": "94704", "n": 2}]',
    "lines.ndjson": b'{"zip": "00501", "n": 1}\n{"zip": "94704", "n": 2}\n',
    "lines.json": b'{"zip": "00501", "n": 1}\n{"zip": "94704", "n": 2}\n',
    "t.parquet": columnar(pyarrow.parquet.write_table),
    "t.feather": columnar(pyarrow.feather.write_feather),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, body in FILES.items():
        (tmp_path / name).write_bytes(body)
    return tmp_path


@pytest.mark.parametrize("name", every(2, FILES))
async def test_a_file_is_a_table_by_its_name(folder: Path, name: str) -> None:
    form = {"gz": "csv", "xlsx": "excel", "zip": "csv", "zst": "csv", "feather": "arrow"}.get(
        name.rsplit(".", 1)[1]
    )
    form = form or name.rsplit(".", 1)[1]
    assert await rows(folder, f"SELECT zip, n FROM {form}.`{name}`") == ROWS
    if name != "lines.json":  # which its ending calls a document
        assert await rows(folder, f"SELECT zip, n FROM '{name}'") == ROWS
    assert await rows(folder, f"SELECT x.n FROM {form}.`{folder / name}` x WHERE x.zip LIKE '94%'") == [(2,)]


MIDNIGHT, NOON = dt.datetime.fromisoformat("2024-02-29"), dt.datetime.fromisoformat("2024-02-29T12:00:01")
HARD_SHEET: list[list[object]] = [
    [],
    [None, "id", "x", "ok", "day", "at", "text", "mixed", None, "ID"],
    [],
    [None, 1, 1, True, dt.date(2024, 2, 29), dt.date(2024, 2, 29), 'a\n"b", ;', 7, "unnamed"],
    [None, 2, 0.5, None, None, NOON, None, "7a", None],
]


async def test_cells_of_a_spreadsheet_have_types_and_empty_ones_are_null(tmp_path: Path) -> None:
    (tmp_path / "hard.xlsx").write_bytes(spreadsheet(SHEET, HARD_SHEET, []))
    (tmp_path / "fff.yaml").write_text("""
version: 1
sources:
  here:
    type: files
    tables:
      hard: {path: hard.xlsx, sheet: Sheet2}
      other: {path: hard.xlsx, sheet: Sheet9}
      empty: {path: hard.xlsx, sheet: Sheet3}
      told: {path: hard.xlsx, columns: {zip: string, n: string}}
""")
    found = await rows(tmp_path, "SELECT * FROM hard", str(tmp_path / "fff.yaml"))
    assert found == [
        (1, 1.0, True, dt.date(2024, 2, 29), MIDNIGHT, 'a\n"b", ;', "7", "unnamed", None),
        (2, 0.5, None, None, NOON, None, "7a", None, None),
    ]
    assert await rows(tmp_path, "SELECT * FROM told", str(tmp_path / "fff.yaml")) == [
        ("00501", "1"),
        ("94704", "2"),
    ]
    for table, said in (("other", "no sheet 'Sheet9'"), ("empty", "holds nothing to tell columns from")):
        with pytest.raises(SourceError, match=said):
            await rows(tmp_path, f"SELECT * FROM {table}", str(tmp_path / "fff.yaml"))


async def test_a_row_of_null_between_others_is_a_row_of_a_spreadsheet(tmp_path: Path) -> None:
    cells: list[list[object]] = [[], ["id", "a"], [1, "a"], [None, None], [3, "c"]]
    (tmp_path / "t.xlsx").write_bytes(spreadsheet(cells))
    assert await rows(tmp_path, "SELECT * FROM 't.xlsx'") == [(None, None), (1, "a"), (3, "c")]
    (tmp_path / "t.xlsx").write_bytes(spreadsheet([["id"], [1], [None], [3]]))
    assert await rows(tmp_path, "SELECT count(*), count(id) FROM 't.xlsx'") == [(3, 2)]


@pytest.mark.parametrize("names", [["id"], ["id", "a"]])
async def test_empty_rows_below_the_names_and_very_many_between_others_are_none_of_a_spreadsheet(
    tmp_path: Path, names: list[object]
) -> None:
    empty: list[list[object]] = [[]] * 1_000
    cells: list[list[object]] = [names, [], [], [1], *empty, [2], *empty, [], [3]]
    (tmp_path / "t.xlsx").write_bytes(spreadsheet(cells))
    found = [row[0] for row in await rows(tmp_path, "SELECT id FROM 't.xlsx'")]
    assert (len(found), found[1_000:]) == (1_003, [1, 2, 3])


async def test_numbers_of_a_spreadsheet_are_text_where_they_are_joined_with_text(folder: Path) -> None:
    (folder / "keys.xlsx").write_bytes(spreadsheet([["k", "n"], [1, 1], [2.5, 2]]))
    (folder / "texts.ndjson").write_bytes(
        b'{"k": "1", "v": 10}\n{"k": "2.5", "v": 20}\n{"k": "1.0", "v": 3}\n'
    )
    sql = "SELECT n, v FROM 'keys.xlsx' JOIN 'texts.ndjson' USING (k)"
    assert await rows(folder, sql) == [(1, 10), (2, 20)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"PK\x03\x04 and no more", "no spreadsheet that can be read"),
        (b"id,n", "no spreadsheet that can be read"),
        (zipped(b"x" * (2 << 20), zipfile.ZIP_DEFLATED), "larger than 1 MB unpacked"),
    ],
)
async def test_what_is_no_spreadsheet_is_an_error(tmp_path: Path, body: bytes, said: str) -> None:
    (tmp_path / "bad.xlsx").write_bytes(body)
    (tmp_path / "fff.yaml").write_text(
        "version: 1\nsources: {here: {type: files, client: {max_body_mb: 1}, tables: {bad: bad.xlsx}}}\n"
    )
    with pytest.raises(SourceError, match=said):
        await rows(tmp_path, "SELECT * FROM bad", str(tmp_path / "fff.yaml"))


async def test_lines_may_be_called_json(folder: Path) -> None:
    assert await rows(folder, "SELECT zip, n FROM 'lines.json'") == ROWS


async def test_patterns_and_folders_stand_for_their_files(folder: Path) -> None:
    (folder / "parts").mkdir()
    for number in range(3):
        (folder / "parts" / f"{number}.csv").write_bytes(f"k,v\n{number},x\n".encode())
    (folder / "parts" / "_SUCCESS").write_bytes(b"")
    expected = [(0, "x"), (1, "x"), (2, "x")]
    assert await rows(folder, "SELECT * FROM csv.`parts/*.csv`") == expected
    assert await rows(folder, "SELECT * FROM csv.`parts`") == expected
    assert await rows(folder, "SELECT * FROM 'parts/[01].csv'") == expected[:2]


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("a.csv", b"id,id,\n1,2,3\n", [(1, 2, 3)]),  # each of which has a name of its own
        ("b.csv", b'"id","i\nd","id"\n1,2,3\n', [(1, 2, 3)]),
        ("c.csv", "id;n\n1;Z\u00fcrich\n".encode("utf-16"), [(1, "Z\u00fcrich")]),
        ("d.ndjson", b'{"v": 9223372036854775809}\n{"v": 1}\n', [("1",), ("9223372036854775809",)]),
    ],
)
async def test_nothing_of_an_odd_file_is_lost(
    tmp_path: Path, name: str, body: bytes, expected: list[tuple[object, ...]]
) -> None:
    (tmp_path / name).write_bytes(body)
    assert await rows(tmp_path, f"SELECT * FROM '{name}'") == expected


async def test_what_macs_put_into_zip_files_is_no_data(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.csv.zip", "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("__MACOSX/._a.csv", b"\0")
    assert await rows(tmp_path, "SELECT * FROM 'a.csv.zip'") == ROWS


async def test_files_whose_names_differ_in_case_are_two_tables(folder: Path) -> None:
    (folder / "A.csv").write_bytes(b"zip,n\nx,3\n")
    sql = "SELECT one.n, other.n AS m FROM 'a.csv' one JOIN 'A.csv' other ON one.n < other.n"
    assert await rows(folder, sql) == [(1, 3), (2, 3)]


async def test_files_join_with_one_another_and_once_more_with_themselves(folder: Path) -> None:
    sql = "SELECT a.n, t.n AS m, b.n AS l FROM 'a.csv' a JOIN 't.parquet' t USING (zip) JOIN 'a.csv' b USING (zip)"
    assert await rows(folder, sql) == [(1, 1, 1), (2, 2, 2)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n, v FROM 'keys.csv' JOIN 'texts.ndjson' USING (k)",
        "SELECT n, v FROM 'keys.csv' NATURAL JOIN 'texts.ndjson'",
        "SELECT f.n, t.v FROM 'texts.ndjson' t JOIN csv.`keys.csv` f ON t.k = (f.k)",
    ],
)
async def test_cells_that_are_joined_with_text_are_text(folder: Path, sql: str) -> None:
    (folder / "keys.csv").write_bytes(b"k,n\n1,1\n02,2\n3,3\n")
    (folder / "texts.ndjson").write_bytes(b'{"k": "1", "v": 10}\n{"k": "02", "v": 20}\n{"k": "2", "v": 21}\n')
    plain = b"k,n\n1,1\n2,2\n3,3\n"
    assert await rows(folder, sql) == [(1, 10), (2, 20)]
    (folder / "keys.csv").write_bytes(plain)  # a column of numbers, until somebody asks for texts
    assert await rows(folder, sql) == [(1, 10), (2, 21)]


async def test_what_was_read_as_numbers_is_read_anew_as_text(folder: Path) -> None:
    (folder / "keys.csv").write_bytes(b"k,n\n1,1\n2,2\n")
    (folder / "texts.ndjson").write_bytes(b'{"k": "1", "v": 10}\n')
    async with federation(folder) as found:
        for sql, wanted in (
            ("SELECT k FROM 'keys.csv'", [(1,), (2,)]),
            ("SELECT k FROM 'keys.csv' JOIN 'texts.ndjson' USING (k)", [("1",)]),
            ("SELECT k FROM 'keys.csv'", [("1",), ("2",)]),
        ):
            await found.discover(sql)
            assert sorted((await run(found, sql))[0]) == wanted


async def test_numbers_stay_numbers_beside_numbers(folder: Path) -> None:
    (folder / "keys.csv").write_bytes(b"k,n\n1,1\n2,2\n")
    (folder / "numbers.ndjson").write_bytes(b'{"k": 1, "name": "1"}\n')
    assert await rows(folder, "SELECT f.k FROM 'keys.csv' f JOIN 'numbers.ndjson' USING (k)") == [(1,)]


@pytest.mark.parametrize("name", ["'keys.csv'", "csv.`keys.csv`", '"keys.csv"'])
@pytest.mark.parametrize("command", ["DESCRIBE {}", "DESC TABLE EXTENDED {};", "SHOW COLUMNS IN {}"])
async def test_a_file_is_described_by_its_name(folder: Path, command: str, name: str) -> None:
    (folder / "keys.csv").write_bytes(b"k,n\n1,a\n")
    described = await rows(folder, command.format(name))
    assert [row[:2] for row in described] == (
        [("k",), ("n",)] if command.startswith("SHOW") else [("k", "bigint"), ("n", "string")]
    )
    [(plan,)] = await rows(folder, f"EXPLAIN SELECT n FROM {name} WHERE k = '1'")
    assert "keys.csv" in plan


@pytest.mark.parametrize(
    "name",
    [
        "csv.`nowhere.csv`",
        "'nowhere.csv'",
        "parquet.`*.nothing`",
        "'none.csv'",
        "csv.`none.csv`",
    ],
)
async def test_a_file_that_is_not_there_is_told_with_its_place(folder: Path, name: str) -> None:
    sql = f"SELECT * FROM {name}"
    with pytest.raises(QueryError, match="unknown table") as caught:
        await rows(folder, sql)
    assert caught.value.span is not None
    assert sql[caught.value.span.start : caught.value.span.end] == name
    assert "there is no such file" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("'leeds.csv'", "did you mean leads.csv?"),
        ("'leads.cvs'", "did you mean leads.csv?"),
        ("leads.csv", "a file's name stands in quotation marks: FROM 'leads.csv'"),
    ],
)
async def test_a_misspelt_file_is_suggested(folder: Path, name: str, said: str) -> None:
    (folder / "leads.csv").write_bytes(CSV)
    with pytest.raises(QueryError, match="unknown table") as caught:
        await rows(folder, f"SELECT * FROM {name}")
    assert said in str(caught.value.hint)


@pytest.mark.parametrize(
    "sql", ["SELECT nme FROM 'leads.csv'", "SELECT count(*) FROM 'leads.csv' WHERE nme = 'a' GROUP BY name"]
)
async def test_a_column_is_suggested_as_it_can_be_typed(folder: Path, sql: str) -> None:
    (folder / "leads.csv").write_bytes(b"zip,name\n1,a\n")
    with pytest.raises(QueryError, match="unknown column nme") as caught:
        await rows(folder, sql)
    assert caught.value.hint == "did you mean `leads.csv`.name?"


async def test_what_looks_like_no_file_is_none(folder: Path) -> None:
    """In the second statement of a session, too, when all formats have been looked through."""
    (folder / "nowhere").write_bytes(CSV)
    async with federation(folder) as found:
        for name in ("nowhere", "''", "nowhere"):
            with pytest.raises(QueryError, match="unknown table") as caught:
                found.prepare(f"SELECT * FROM {name}")
            assert "no such file" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("x.csv.gz", gzip.compress(CSV, mtime=0)[:-9], "x.csv.gz"),
        ("x.csv.gz", gzip.compress(CSV, mtime=0) + b"1", "behind what is packed"),
        ("x.csv.zip", b"PK\x03\x04 and no more", "cannot be unpacked"),
        ("x.csv.zip", b"PK\x05\x06" + bytes(18), "a zip file with 0 files in it"),
        *(("x.csv.zip", damaged(how), "cannot be unpacked|Invalid data") for how in (8, 12, 14)),
        ("x.parquet", b"PAR1 and no more", "not valid parquet"),
        ("empty.csv", b"", "nothing to tell columns from"),
        *(
            ("x.ndjson", b'{"a": 1}\n{"a": %s}\n' % number, "NaN or Infinity")
            for number in (b"NaN", b"-Infinity")
        ),
        ("x.json", b'[{"a": 1}, {"a": [1,Infinity]}]', "NaN or Infinity, which JSON has not"),
        (
            "x.csv",
            b"a,b\ncaf\xe9,1\n",
            "the file is not valid csv: it is not in UTF-8.*\n.* in a spec of `type: files`: encoding",
        ),
    ],
)
async def test_a_broken_file_is_one_clear_error(folder: Path, name: str, body: bytes, said: str) -> None:
    (folder / name).write_bytes(body)
    with pytest.raises(SourceError, match=said):
        await rows(folder, f"SELECT * FROM '{name}'")


async def test_a_spec_names_files_from_its_own_folder_on(folder: Path) -> None:
    inner = folder / "specs"
    inner.mkdir()
    (inner / "fff.yaml").write_text(
        "version: 1\nsources:\n  mine:\n    type: files\n    tables:\n"
        "      short: ../a.csv\n      long: {path: ../t.parquet}\n      several: {paths: [../a.csv, ../packed.csv.gz]}\n"
    )
    assert await rows(
        folder, "SELECT s.n, l.n AS m FROM short s JOIN long l USING (zip)", "specs/fff.yaml"
    ) == [
        (1, 1),
        (2, 2),
    ]
    assert await rows(folder, "SELECT zip, n FROM several", "specs/fff.yaml") == sorted(ROWS * 2)


async def test_a_source_of_a_spec_that_is_called_like_a_format_keeps_its_name(folder: Path) -> None:
    (folder / "fff.yaml").write_text(
        "version: 1\nsources:\n  csv:\n    type: files\n    tables: {mine: a.csv}\n"
    )
    assert await rows(folder, "SELECT zip, n FROM csv.mine") == ROWS
    with pytest.raises(QueryError, match="unknown table"):
        await rows(folder, "SELECT * FROM csv.`a.csv`")
    assert await rows(folder, "SELECT zip, n FROM 'a.csv'") == ROWS


async def test_a_changed_file_is_another_for_the_cache(folder: Path) -> None:
    (folder / "fff.yaml").write_text("version: 1\nsources:\n  m: {type: files, tables: {t: a.csv}}\n")
    found = federation(folder)
    [table] = found.catalog.find(["m", "t"])
    source = found.catalog.adapter_of(table)
    before = source.fingerprint(table)  # type: ignore[attr-defined]
    assert source.fingerprint(table) == before  # type: ignore[attr-defined]
    (folder / "a.csv").write_bytes(CSV + b"1,3\n")
    assert source.fingerprint(table) != before  # type: ignore[attr-defined]
    await found.close()


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        (b"a,b\n1,2\n", ","),
        (b"a;b\n1,5;2\n", ";"),
        (b"a\tb\n1,2\t3\n", "\t"),
        (b"a|b\n1|2\n", "|"),
        (b"one\n1\n2\n", ","),
        (b'a,b\n"x;y;z",2\n', ","),
        (b"", ","),
    ],
)
def test_delimiters(text: bytes, delimiter: str) -> None:
    assert local.delimiter_of(text) == delimiter


def test_statements_can_be_kept_from_naming_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "fff.yaml").write_text("version: 1\nsources:\n  here: {type: files, tables: {a: a.csv}}\n")
    with fff.connect(local_files=False) as connection:
        for name in (
            "csv.`a.csv`",
            "'a.csv'",
            "local.`a.csv`",
            "stdin",
            "parquet.`t.parquet`",
            "text.`a.csv`",
        ):
            with pytest.raises(QueryError):
                connection.sql(f"SELECT * FROM {name}")
        assert len(connection.sql("SELECT zip FROM here.a")) == 2, "which the spec names"


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("read_csv('a.csv')", "a file is a table: FROM 'a.csv'"),
        ("READ_PARQUET('a.parquet') AS p", "a file is a table: FROM 'a.parquet'"),
        ("(SELECT * FROM read_json_auto('a.json'))", "a file is a table: FROM 'a.json'"),
        ("read_xlsx(x)", "a file is a table: FROM 'FILE'"),
        ("sqlite_scan('a.db', 't')", "a database is a source of type adbc in a spec"),
        ("'a.db'", "it is a SQLite database, which a spec reads: type: adbc, driver: sqlite, uri: a.db"),
    ],
)
async def test_who_reads_as_elsewhere_is_told_how_it_is_done_here(folder: Path, read: str, said: str) -> None:
    (folder / "a.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    with pytest.raises(QueryError) as told:
        await rows(folder, f"SELECT * FROM {read}")
    assert told.value.hint == said
