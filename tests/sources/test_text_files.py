"""Files of text: their encodings and delimiters, headers that differ, empty lines, cells that a type would change."""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from aiohttp import web

import fff
from fff.errors import SourceError
from fff.web.types import Response
from fff_sources.files import kinds, local
from fff_sources.http.response import infer, streaming
from fff_sources.http.response.json import Raw
from fff_sources.http.response.text import cell_types
from fff_sources.http.response.text.csv_text import charset_of
from tests.sources.arriving import dribbling
from tests.sources.discovering import types
from tests.sources.local import rows
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, body in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(body)


def web_files(url: str, bodies: list[str], more: str = "") -> str:
    return (
        f"{{version: 1, sources: {{f: {{type: files, client: {{base_url: '{url}'}}, "
        f"tables: {{t: {{urls: [{', '.join(bodies)}]{more}}}}}}}}}}}"
    )


async def site(serve: Serve, files: dict[str, bytes], kind: str = "text/csv") -> str:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=files[request.path[1:]], headers={"Content-Type": kind})

    return (await serve(handler)).url


# ----------------------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("first", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("second", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_each_file_is_in_the_encoding_that_it_says(
    tmp_path: Path, form: str, first: str, second: str
) -> None:
    texts = ("a,b\n1,é\n", "a,b\n2,y\n3,z\n")
    if form == "ndjson":
        texts = ('{"a": 1, "b": "é"}\n', '{"a": 2, "b": "y"}\n{"a": 3, "b": "z"}\n')
    write(tmp_path, {f"1.{form}": texts[0].encode(first), f"2.{form}": texts[1].encode(second)})
    assert await rows(tmp_path, f"SELECT * FROM '*.{form}'") == [(1, "é"), (2, "y"), (3, "z")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("form", ["csv", "json", "ndjson", "xml"])
async def test_a_mark_says_more_than_the_header_of_an_answer(
    serve: Serve, read: Read, monkeypatch: pytest.MonkeyPatch, form: str, encoding: str
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 100)
    found = [{"n": n, "word": f"é{n}"} for n in range(60)]
    text = {
        "csv": "n,word\n" + "".join(f"{row['n']},{row['word']}\n" for row in found),
        "json": json.dumps(found, ensure_ascii=False),
        "ndjson": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found),
        "xml": "".join(["<r>", *(f"<i><n>{n}</n><word>é{n}</word></i>" for n in range(60)), "</r>"]),
    }[form]
    body = (codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b"") + text.encode(encoding)
    parts = [body[at : at + 70] for at in range(0, len(body), 70)]
    selector = "data_selector: r.i" if form == "xml" else "data_selector: $"
    for kind in ("text/plain; charset=ISO-8859-1", "text/plain"):
        url = (await serve(dribbling(parts, {"Content-Type": kind}))).url
        spec = (
            f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}'}}, tables: {{t: {{"
            f"columns: {{n: int, word: string}}, scan: {{endpoint: {{path: r, format: {form}, {selector}}}}}}}}}}}}}}}"
        )
        assert await read(spec).scan("t") == found


@pytest.mark.parametrize(
    "charset", ["base64", "rot13", "punycode", "idna", "undefined", "unicode_escape", "klingon"]
)
def test_what_is_no_encoding_of_text_is_none_of_an_answer(charset: str) -> None:
    assert charset_of({"content-type": f"text/csv; charset={charset}"}) is None


_SAID = {
    "csv": "id,word\n1,Zoë €\n",
    "ndjson": '{"id": 1, "word": "Zoë €"}\n',
    "json": '[{"id": 1, "word": "Zoë €"}]',
    "xml": '<?xml version="1.0" encoding="OWN"?><r><i><id>1</id><word>Zoë €</word></i></r>',
    "html_table": '<meta charset="OWN"><table><tr><th>id<th>word<tr><td>1<td>Zoë €</table>',
}


@pytest.mark.parametrize("claimed", ["ISO-8859-1", "latin1", "windows-1252", "iso-8859-15", "own", None])
@pytest.mark.parametrize("written", ["utf-8", "cp1252"])
@pytest.mark.parametrize("form", _SAID)
async def test_an_encoding_that_servers_name_by_default_is_believed_where_the_text_is_in_it(
    serve: Serve, read: Read, form: str, written: str, claimed: str | None
) -> None:
    own = "ISO-8859-1" if claimed == "own" else "UTF-8"
    body = _SAID[form].replace("OWN", own).encode(written)
    said = f"; charset={claimed}" if claimed not in (None, "own") else ""
    url = await site(serve, {"r": body}, f"text/plain{said}")
    places = {"xml": ", data_selector: r.i", "html_table": ", data_selector: '[0]'"}
    reader = read(
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}'}}, tables: {{t: {{columns: {{id: int, word: string}}, "
        f"scan: {{endpoint: {{path: r, format: {form}{places.get(form, '')}}}}}}}}}}}}}}}"
    )
    if written == "cp1252" and not said and (claimed is None or form not in places):
        with pytest.raises(SourceError):
            await reader.scan("t")
        return
    euro = "\x80" if written == "cp1252" and claimed == "iso-8859-15" else "€"
    assert await reader.scan("t") == [{"id": 1, "word": f"Zoë {euro}"}]


@pytest.mark.parametrize("said", ["; charset=utf-8", ""])
@pytest.mark.parametrize("own", ["windows-1251", "shift_jis", "iso-2022-jp"])
async def test_a_page_that_is_in_utf_8_is_read_so_whatever_its_meta_says(
    serve: Serve, read: Read, own: str, said: str
) -> None:
    body = _SAID["html_table"].replace("OWN", own).encode()
    url = await site(serve, {"r": body}, f"text/html{said}")
    reader = read(
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}'}}, tables: {{t: {{columns: {{id: int, word: string}}, "
        f"scan: {{endpoint: {{path: r, format: html_table, data_selector: '[0]'}}}}}}}}}}}}}}"
    )
    assert await reader.scan("t") == [{"id": 1, "word": "Zoë €"}]


async def test_a_text_cut_in_the_encoding_that_it_says_is_told_as_that(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "a,b\n1,x\n".encode("utf-16")[:-1]})
    with pytest.raises(SourceError, match="it is not in UTF-16"):
        await rows(tmp_path, "SELECT * FROM 'a.csv'")


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_pieces_go_on_where_a_part_ends_with_the_header(form: str) -> None:
    arriving = streaming.Arriving("," if form == "csv" else None)
    arriving.begin({})
    head = b"a," + b"b" * (2**20 - 3) + b"\n" if form == "csv" else codecs.BOM_UTF8
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    lines = [b"1,2\n" if form == "csv" else b"[1]\n"] * 2**19

    async def receive() -> None:
        for part in (head, b"".join(lines)):
            arriving.take(part)
            for _ in range(9):
                await asyncio.sleep(0)
        answer.set_result(Response(200, {}, head + b"".join(lines), "u"))

    receiving = asyncio.create_task(receive())
    pieces = [piece async for piece in arriving.whole_pieces(answer)]
    await receiving
    pieces.append(arriving.rest(answer.result()))
    assert b"".join(piece.response.body.removeprefix(head) for piece in pieces) == b"".join(lines)
    assert all(piece.response.body.startswith(head) for piece in pieces)


# ----------------------------------------------------------------------------------------------- delimiters


@pytest.mark.parametrize(
    "text",
    [
        "a;b;c\n" + "1;x;2\n" * 48 + '1;"multi\nline";3\n' + "3;y;4\n" * 10,
        "a;b;c\n" + "1;x;2\n" * 9_000 + '1;"multi\nline";3\n',
        "a;b;c\n1;x\x0by;2\n2;z;4\n",
        "a;b;c\n1;x\x85\u2028y;2\n2;z;4\n",
        "a;b;c\n1;2;3\n4;5\n",
        "\n\na;b;c\r1;2;3\r",
    ],
)
@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_the_delimiter_is_what_cuts_the_header_and_most_rows_alike(text: str, delimiter: str) -> None:
    assert local.delimiter_of(text.replace(";", delimiter).encode()) == delimiter


async def test_rows_of_another_width_than_the_header_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": b"a;b;c\n1;2;3\n4;5\n"})
    with pytest.raises(SourceError, match="Expected 3 columns, got 2"):
        await rows(tmp_path, "SELECT * FROM 'a.csv'")


@pytest.mark.parametrize(("body", "is_told"), [(b"a;b\n1\n2\n", True), (b"a\nx;y\n", False)])
def test_one_column_whose_name_looks_like_several_is_warned_of(
    tmp_path: Path, body: bytes, is_told: bool
) -> None:
    write(tmp_path, {"a.csv": body})
    with fff.connect() as connection:
        result = connection.sql(f"SELECT * FROM csv.`{tmp_path}/a.csv`")
        assert result.to_arrow().num_columns == 1
        assert any("read as one column" in str(note) for note in result.warnings) == is_told


# ------------------------------------------------------------------------------------------ names of columns


@pytest.mark.parametrize(
    ("one", "other", "sql", "found"),
    [
        ("A\n1\n", "a,A\n3,4\n", "SELECT * FROM", [(1, None), (4, 3)]),
        ("A\n1\n", "a,A\n3,4\n", "SELECT a_1 FROM", [(None,), (3,)]),
        ("id,id\n1,2\n", "id,ID\n3,4\n", "SELECT * FROM", [(1, 2, None), (3, None, 4)]),
        ("id\n1\n", "ID,Id\n3,4\n", "SELECT * FROM", [(1, None), (3, 4)]),
        ("id\n1\n", "ID,Id\n3,4\n", "SELECT Id_1 FROM", [(None,), (4,)]),
        ("id,n\n1,2\n", "N,ID\n4,3\n", "SELECT * FROM", [(1, 2), (3, 4)]),
    ],
)
async def test_a_column_of_a_file_is_one_column_of_the_table(
    tmp_path: Path, one: str, other: str, sql: str, found: list[tuple[object, ...]]
) -> None:
    write(tmp_path, {"1.csv": one.encode(), "2.csv": other.encode()})
    assert await rows(tmp_path, f"{sql} '*.csv'") == found


async def test_columns_named_alike_are_joined_with_text(tmp_path: Path) -> None:
    write(tmp_path, {"t.csv": b"id,ID\n1,2\n3,4\n", "keys.csv": b"k,n\n02,x\n4,y\n"})
    assert await rows(tmp_path, "SELECT * FROM 't.csv' t JOIN 'keys.csv' k ON t.ID_1 = k.k") == [
        (3, "4", "4", "y")
    ]


# ------------------------------------------------------------------------------------------------ empty lines


async def test_an_empty_line_of_one_column_is_null_and_of_several_is_none(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.csv": b"\n\na\n\n1\n\n", "b.csv": b'a\r\n\r\n"1"\r\n\r\n2', "c.csv": b"a,b\n\n1,2\n\n"},
    )
    assert await rows(tmp_path, "SELECT * FROM 'a.csv'") == [(None,), (None,), (1,)]
    assert await rows(tmp_path, "SELECT * FROM 'b.csv'") == [(None,), (None,), (1,), (2,)]
    assert await rows(tmp_path, "SELECT * FROM 'c.csv'") == [(1, 2)]


async def test_empty_lines_of_pieces_are_null_as_those_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 50)
    write(tmp_path, {"a.csv": b"\na\n" + b"\n7\n\n" * 100 + b"8"})
    found = [one for (one,) in await rows_in_order(tmp_path, "SELECT a FROM 'a.csv'")]
    assert found == [None, 7, None] * 100 + [8]


async def rows_in_order(folder: Path, sql: str) -> list[tuple[object, ...]]:
    def read() -> list[tuple[object, ...]]:
        with fff.connect() as connection:
            return [tuple(row) for row in connection.sql(sql.replace("'a.csv'", f"csv.`{folder}/a.csv`"))]

    return await asyncio.to_thread(read)


# -------------------------------------------------------------------------------------------- types of cells


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("0.30000000000000004 1", "double"), ("1e100 -5E-324", "double"), ("1e+16 100000000000000000000", "double"), ("0.10 1.50E2 -0.0", "double"), ("0.1000000000000000 1", "double"),
        ("NaN 1", "double"), ("nan 1.5", "double"), ("Infinity -Infinity 1", "double"), ("inf -inf 1", "double"), ("Inf -Inf 1", "double"),
        ("NAN 1", "string"), ("nano 1", "string"), ("infinite 1", "string"), ("1e400 1", "string"), ("1e-400 1", "string"), ("1e", "string"),
        ("123456789012345.123456789 1", "string"), ("0.30000000000000005 1.5", "string"), ("9007199254740993 0.5", "string"), ("9007199254740992 0.5", "double"),
        ("9223372036854775807 -9223372036854775808", "bigint"), ("9223372036854775808 1", "string"), ("1000000000000000001 2", "bigint"),
    ],
)  # fmt: skip
def test_a_number_is_one_where_it_keeps_its_digits(cells: str, kind: str) -> None:
    found = kinds.CsvColumns(",")
    found.take("\n".join(["c,d", *(f"{cell},x" for cell in cells.split()), ""]).encode())
    assert found.columns()["c"] == kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["9007199254740993", "0.5"], "string"),
        (["-9007199254740993", "0.5"], "string"),
        (["9007199254740992", "0.5"], "double"),
        (["9007199254740993", "1"], "bigint"),
        (["9007199254740993", "null"], "bigint"),
        (["9007199254740993", '"x"'], "string"),
        (["1e400", "0.5"], "string"),
    ],
)
def test_numbers_of_json_keep_their_digits(values: list[str], kind: str) -> None:
    found = {"a": {infer._kind(Raw(value.encode())) for value in values}}
    assert infer.types_of(found) == {"a": kind}


async def test_numbers_of_json_are_read_with_all_their_digits(tmp_path: Path) -> None:
    write(
        tmp_path, {"a.json": b'[{"a": 9007199254740993, "b": 1e400}, {"a": 0.5, "b": 1}, {"a": 1, "b": 2.5}]'}
    )
    found = [("0.5", "1"), ("1", "2.5"), ("9007199254740993", "1e400")]
    assert await rows(tmp_path, "SELECT a, b FROM 'a.json'") == found


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [
        ("94704", "00501", "bigint"),
        ("1.5", "12345678901234567.891", "double"),
        ("true", "yes", "boolean"),
        ("2024-02-29", "2024-02-29T10:00:00Z", "date"),
        ("2024-02-29 10:00:00", "2024-02-29 10:00:00.1234567", "timestamp_ntz"),
    ],
)
async def test_a_later_cell_that_would_lose_something_is_a_bad_record(
    serve: Serve, read: Read, first: str, later: str, kind: str
) -> None:
    url = await site(
        serve, {"1.csv": f"c,n\n{first},1\n".encode(), "2.csv": f"c,n\n,2\n{later},3\n{first},4\n".encode()}
    )
    reader = read(web_files(url, ["1.csv", "2.csv"]))
    assert (await types(reader, "f.t"))["c"] == kind
    with pytest.raises(SourceError, match=f"record 2: '{later}' loses something as a {kind}") as caught:
        await reader.scan("t")
    assert "declare" in (caught.value.hint or "")
    reader = read(web_files(url, ["1.csv", "2.csv"], ", on_bad_record: 'null'"))
    await types(reader, "f.t")
    found = await reader.scan("t")
    assert [row["n"] for row in found] == [1, 2, 3, 4]
    assert [row["c"] is None for row in found] == [False, True, True, False]
    assert found[3]["c"] == found[0]["c"]
    reader = read(web_files(url, ["1.csv", "2.csv"], ", columns: {c: string, n: int}"))
    assert [row["c"] for row in await reader.scan("t")] == [first, None, later, first]


@pytest.mark.parametrize(
    ("kind", "cells", "strange"),
    [
        (pa.float64(), ["1.5", None, "0.30000000000000005", "x", "1e400", "-Infinity", "1e-400", "0.10"], [2, 3, 4, 6]),
        (pa.int64(), ["1", "9223372036854775808", None, "007", "9223372036854775807"], [1, 3]),
        (pa.date32(), ["2024-02-29", "2023-02-29", None, "2024-02-30", "today"], [1, 3, 4]),
        (pa.bool_(), ["true", "yes", None], [1]),
    ],
)  # fmt: skip
def test_the_cells_that_a_type_would_change_are_found_one_by_one(
    kind: pa.DataType, cells: list[str | None], strange: list[int]
) -> None:
    assert cell_types.strangers(pa.array(cells), kind) == strange
    assert cell_types.strangers(pa.array([*cells, *cells]), kind) == [
        *strange,
        *(len(cells) + row for row in strange),
    ]


@pytest.mark.parametrize(
    ("kind", "text", "lossy"),
    [(pa.float64(), "1.5", "0.30000000000000005"), (pa.date32(), "2024-02-29", "2023-02-29")],
)
def test_one_lossy_cell_among_many_has_few_of_them_read_again(
    monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, text: str, lossy: str
) -> None:
    hold, held = cell_types._hold, []

    def noted(values: pa.Array, kind: str) -> bool:
        held.append(len(values))
        return hold(values, kind)

    monkeypatch.setattr(cell_types, "_hold", noted)
    assert cell_types.strangers(pa.array([text] * 999 + [lossy]), kind) == [999]
    assert len(held) <= 24


async def test_a_file_that_has_changed_since_loses_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": b"zip\n94704\n"})
    reader = Reader(
        "{version: 1, sources: {f: {type: files, tables: {t: a.csv}}}}",
        tmp_path,
    )
    assert await types(reader, "f.t") == {"zip": "bigint"}
    assert await reader.scan("t") == [{"zip": 94704}]
    write(tmp_path, {"a.csv": b"zip\n00501\n"})
    with pytest.raises(SourceError, match="'00501' loses something"):
        await reader.scan("t")
