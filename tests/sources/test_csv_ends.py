"""CSV: where its rows begin and where it ends."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.response import streaming
from fff_sources.http.response.text.csv_text import head_of, header_of, read_cells, without_rows
from fff_sources.load import lint
from tests.sources.arriving import cut, dribbling
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]


def source(url: str, more: str = "", columns: str = "{n: int, word: string}") -> str:
    endpoint = f"{{path: r, format: csv{more}}}"
    return (
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}, tables: {{t: "
        f"{{columns: {columns}, endpoint: {endpoint}, scan: {{}}, lookups: [{{keys: [n]}}]}}}}}}}}}}"
    )


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    "tail",
    ['7,"cut off', '7,"cut off\n8,x\n', '7,"cut ""off""\n', '7,"', '7,5" pipe\n8,"x', '"7', '"7\n8,x\n'],
)
async def test_a_body_that_ends_inside_of_quotes(
    serve: Serve, read: Read, tail: str, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 100 if small else 2**20)
    body = "n,word\n" + "".join(f'{n},"a ""b""\nc"\n' for n in range(40)) + tail
    server = await serve(dribbling(cut(body.encode(), random.Random(1))))
    for outcome in (read(source(server.url)).scan("t"), read(source(server.url)).lookup("t", 1)):
        with pytest.raises(SourceError, match="not valid csv"):
            await outcome


def test_every_end_inside_of_quotes_is_noticed_and_no_other() -> None:
    rng = random.Random(5)
    words = ["plain", "a, b", "two\nlines", 'says "no"', "", '"', "\n", "5 pipe"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["n", "word"])
    for n in range(30):
        writer.writerow([n, rng.choice(words)])
    body = text.getvalue().encode()
    whole = 0
    for end in range(len(b'"n","word"\n'), len(body)):
        part = body[:end]
        rows = list(csv.reader(io.StringIO(part.decode()), strict=False))
        inside = part.count(b'"') % 2 == 1
        try:
            table = read_cells(part, ",", ["n", "word"], ["n", "word"])
        except pa.ArrowInvalid:
            assert inside or len(rows[-1]) != 2
        else:
            assert not inside
            assert table.num_rows == len(rows) - 1
            whole += 1
        try:
            read_cells(part, ",", ["n", "word"], ["n", "word"], left_out=Counter())
        except pa.ArrowInvalid:
            assert inside
        else:
            assert not inside
    assert whole >= 30


def test_cells_as_arrow_reads_them() -> None:
    text = b'a,b\n1,\n"",x\n5" p,"y\nz"\n'
    assert read_cells(text, ",", ["a", "b"], ["b", "a"]).to_pylist() == [
        {"b": None, "a": "1"}, {"b": "x", "a": ""}, {"b": "y\nz", "a": '5" p'},
    ]  # fmt: skip
    assert read_cells(text, ",", ["a", "b"], []).num_rows == 3
    assert read_cells(b"a,b\n", ",", ["a", "b"], ["a"]).num_rows == 0
    assert read_cells(b"a,b", ",", ["a", "b"], ["a"]).num_rows == 0
    assert read_cells(b"a\r\n1\r\n", ",", ["a"], ["a"]).to_pylist() == [{"a": "1"}]
    with pytest.raises(pa.ArrowInvalid, match="Expected 2 columns, got 3"):
        read_cells(b"a,b\n1,2,3\n", ",", ["a", "b"], ["a"])
    assert header_of(b'\n"x\ny",b\n1,"' + b"z" * 2**21 + b'"\n', ",") == ["x\ny", "b"]
    long = b"z" * 2**21
    assert read_cells(b'a,b\n1,"' + long + b'"\n2,x\n', ",", ["a", "b"], ["b"]).to_pylist() == [
        {"b": long.decode()}, {"b": "x"},
    ]  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- skip_rows


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("skipped", [1, 3])
async def test_rows_after_the_header_that_are_no_data(
    serve: Serve, read: Read, small: bool, skipped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 100 if small else 2**20)
    first = ["5s\t15s", '"a\nb"\tx', "# no comment\tmore"][:skipped]
    data = "".join(f"{n}\tw{n}\n" for n in range(206))
    body = '# "USGS\n\nn\tword\n# more\n' + "\n".join(first).replace("# no", '"# no"') + "\n" + data
    server = await serve(dribbling(cut(body.encode(), random.Random(skipped))))
    more = f", delimiter: \"\\t\", comment: '#', skip_rows: {skipped}"
    for rows in (
        await read(source(server.url, more)).scan("t"),
        await read(source(server.url, more)).lookup("t", 1),
    ):
        assert rows == [{"n": n, "word": f"w{n}"} for n in range(206)]


@pytest.mark.parametrize(("types", "doubts"), [(True, 0), (False, 2)])
async def test_rows_that_later_pages_may_not_have_to_be_left_out_are_told(
    serve: Serve, read: Read, types: bool, doubts: int
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["page"])
        rows = "".join(f"{n},w{n}\n" for n in range(3 * page, 3 * page + 3)) if page < 4 else ""
        return web.Response(text="n,word\n" + "5s,15s\n" * (types or page in (1, 4)) + rows)

    more = ", skip_rows: 1, paginator: {type: page_number}"
    reader = read(source((await serve(handler)).url, more))
    rows = await reader.scan("t")
    assert (len(rows), reader.meter.doubts) == (9 - doubts, doubts)


async def test_rows_that_cannot_be_data_may_be_others_on_each_page(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["page"])
        rows = "".join(f"{n},w{n}\n" for n in range(3 * page, 3 * page + 3)) if page < 4 else ""
        return web.Response(text=f'n,word\n"at 12:0{page}, UTC",\nrows from {3 * page} on\n{rows}')

    reader = read(source((await serve(handler)).url, ", skip_rows: 2, paginator: {type: page_number}"))
    assert (len(await reader.scan("t")), reader.meter.doubts) == (9, 0)


async def test_files_and_inferred_tables_skip_them_too(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="n,word\n5s,15s\n1,x\n2,y\n")

    url = (await serve(handler)).url
    spec = f"{{version: 1, sources: {{s: {{type: files, client: {{base_url: '{url}'}}, tables: {{t: {{url: x.csv, skip_rows: 1}}}}}}}}}}"
    reader = read(spec)
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    assert await reader.scan("t") == [{"n": 1, "word": "x"}, {"n": 2, "word": "y"}]
    spec = f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}'}}, tables: {{t: {{scan: {{endpoint: {{path: x, format: csv, skip_rows: 1}}}}}}}}}}}}}}"
    reader = read(spec)
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    assert await reader.scan("t") == [{"n": "1", "word": "x"}, {"n": "2", "word": "y"}]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
async def test_a_row_of_types_is_no_data_though_it_would_fit(serve: Serve, read: Read, ends: str) -> None:
    lines = ["# USGS", "agency_cd\tsite_no", "5s\t15S", "USGS\t0150", "5s\tx"]

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=ends.join(lines) + ends)

    columns = "columns: {agency_cd: string, site_no: string}"
    form = "format: csv, delimiter: \"\\t\", comment: '#'"
    url = (await serve(handler)).url
    spec = f"{{version: 1, sources: {{s: {{client: {{base_url: '{url}'}}, tables: {{t: {{{columns}, scan: {{endpoint: {{path: x, {form}}}}}}}}}}}}}}}"
    with pytest.raises(SourceError, match="types of columns") as error:
        await read(spec).scan("t", ["site_no"])
    assert "skip_rows: 1" in error.value.render()
    declared = spec.replace("comment: '#'", "comment: '#', skip_rows: 1")
    assert [row["site_no"] for row in await read(declared).scan("t")] == ["0150", "x"]


def test_where_the_head_of_a_text_ends() -> None:
    assert without_rows(b"a\n1\n2\n", 1) == b"a\n2\n"
    assert without_rows(b"a\n1\n2\n", 2) == b"a\n"
    assert without_rows(b"a\n1\n", 5) == b"a\n"
    assert without_rows(b"a", 1) == b"a"
    assert without_rows(b'\n"a\nb"\n\n"1\n2"\n3\n', 1) == b'\n"a\nb"\n3\n'
    assert head_of(b"#x\na\n1", b"#", 1) is None
    assert head_of(b'#"x\na\n1\n', b"#", 1) == (6, 8)


@pytest.mark.parametrize(
    ("more", "message"),
    [(", skip_rows: -1", "at least 0"), (", skip_rows: 1001", "at most 1000"), (", skip_rows: x", "whole number")],
)  # fmt: skip
def test_what_skip_rows_cannot_be(tmp_path: Path, more: str, message: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(source("http://h", more), encoding="utf-8")
    assert any(message in error.render() for error in lint(file, environ={}))
    file.write_text(source("http://h", ", skip_rows: 1").replace("csv", "json"), encoding="utf-8")
    assert any("skip_rows is of CSV answers" in error.render() for error in lint(file, environ={}))


# -------------------------------------------------------------------------------------------------------- long cells


@pytest.mark.parametrize("comment", [None, "#"])
async def test_what_is_looked_at_grows_as_the_body_does(
    serve: Serve, read: Read, comment: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0
    whole = streaming.last_row_end

    def counted(data: bytes, mark: bytes | None) -> int:
        nonlocal seen
        seen += len(data)
        return whole(data, mark)

    monkeypatch.setattr(streaming, "PIECE", 500)
    monkeypatch.setattr(streaming, "last_row_end", counted)
    more = "" if comment is None else f", comment: '{comment}'"
    for size in (50_000, 400_000):
        body = b'n,word\n1,x\n2,"' + b"y, \n" * (size // 4) + b'"\n3,z\n'
        parts = [body[at : at + 700] for at in range(0, len(body), 700)]
        server = await serve(dribbling(parts))
        seen = 0
        rows = await read(source(server.url, more)).scan("t")
        assert [(row["n"], len(row["word"])) for row in rows] == [(1, 1), (2, size), (3, 1)]
        assert seen < 8 * len(body)
