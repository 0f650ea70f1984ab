from __future__ import annotations

import datetime as dt
import gzip
import io
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from aiohttp import web
from pyarrow import feather

from fff.errors import SourceError
from fff_sources.files import kinds
from fff_sources.http import columnar
from fff_sources.load import lint
from tests.sources.discovering import rows, types
from tests.sources.reading import Reader
from tests.web.serving import Handler, Serve

CRIME = b"zip,n,rate,day,at,local,ok,mixed,empty\n"
CRIME_ROWS = b"94704,1,0.5,2024-02-29,2024-01-02T03:04:05Z,2024-01-02 03:04:05,true,1,\n94705,,2,2024-03-01,2024-01-02T03:04:05+02:00,2024-01-02 03:04:06.5,false,a,\n"


def parquet_of(**columns: Any) -> bytes:
    out = io.BytesIO()
    papq.write_table(pa.table(columns), out)
    return out.getvalue()


FILES: Mapping[str, bytes] = {
    "/crime.csv": CRIME + CRIME_ROWS,
    "/zips.csv.gz": gzip.compress(b"zip,n\n00501,1\n") + gzip.compress(b"94704,2\n"),
    "/2023.tsv": b"a\tb\nx y\t1\n",
    "/2024.tsv": b"b\ta\n2\tz\n",
    "/list.json": b'{"items": [{"a": 1, "b": [1]}, {"a": 2.5}]}',
    "/lines.ndjson": b'{"a": 1}\n{"a": null, "b": "x"}\n',
    "/table.parquet": parquet_of(
        x=pa.array(["a", "b"]).dictionary_encode(),
        n=pa.array([1, 2], pa.uint32()),
        at=pa.array([dt.datetime.fromisoformat("2024-01-02")] * 2, pa.timestamp("ms")),
    ),
    "/semi": b"a;b\n1;2\n",
    "/behind.csv.gz": gzip.compress(b"zip,n\n00501,1\n") + b"94704,2\n",
    "/broken.csv.gz": gzip.compress(b"zip,n\n00501,1\n")[:-12],
    "/bomb.csv.gz": gzip.compress(b"zip,n\n" + b"1,1\n" * 400_000),
    "/nothing.csv": b"",
}


def host(files: Mapping[str, bytes] = FILES) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        if request.path not in files:
            return web.Response(status=404)
        return web.Response(body=files[request.path], content_type="application/octet-stream")

    return handler


def spec(tables: str, client: str = "") -> str:
    return f"{{version: 1, sources: {{f: {{type: files, {client} tables: {{{tables}}}}}}}}}"


def client(url: str, more: str = "") -> str:
    return f"client: {{base_url: '{url}', retry: {{max_attempts: 1}}{more}}},"


async def test_types_are_those_that_hold_for_the_whole_file(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    served = await serve(host())
    reader = read(spec(f"crime: '{served.url}/crime.csv'"))
    assert served.asked == []
    assert await types(reader, "f.crime") == {
        "zip": "bigint", "n": "bigint", "rate": "double", "day": "date", "at": "timestamp", "local": "timestamp_ntz",
        "ok": "boolean", "mixed": "string", "empty": "string",
    }  # fmt: skip
    found = await reader.scan("crime")
    assert served.paths == ["/crime.csv"], "what was fetched for the columns is not fetched again"
    assert found[1] == {
        "zip": 94705, "n": None, "rate": 2.0, "day": dt.date(2024, 3, 1), "ok": False, "mixed": "a", "empty": None,
        "at": dt.datetime(2024, 1, 2, 1, 4, 5, tzinfo=dt.UTC), "local": dt.datetime.fromisoformat("2024-01-02T03:04:06.5"),
    }  # fmt: skip
    assert await reader.scan("crime", ["n"]) == [{"n": 1}, {"n": None}]
    assert served.paths == ["/crime.csv"] * 2, "but by every further scan"


async def test_a_packed_file_of_several_members(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(host())
    reader = read(spec("zips: zips.csv.gz", client(served.url)))
    assert await types(reader, "f.zips") == {"zip": "string", "n": "bigint"}
    assert await rows(reader, "SELECT n FROM f.zips WHERE zip = '00501'") == [(1,)]


async def test_several_files_are_one_table(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(host())
    tables = "listed: {urls: [2023.tsv, 2024.tsv]}, filled: {url: '{year}.tsv', values: {year: [2024, 2023]}}"
    reader = read(spec(tables, client(served.url)))
    assert await types(reader, "f.listed") == {"a": "string", "b": "bigint"}
    assert await reader.scan("listed", window=4) == [{"a": "x y", "b": 1}, {"a": "z", "b": 2}]
    assert sorted(served.paths) == ["/2023.tsv", "/2024.tsv"]
    assert await types(reader, "f.filled") == {"b": "bigint", "a": "string"}
    assert await reader.scan("filled", ["a"]) == [{"a": "z"}, {"a": "x y"}]


@pytest.mark.parametrize(
    ("table", "kinds", "found"),
    [
        (
            "{url: list.json, data_selector: items}",
            {"a": "double", "b": "string"},
            [(1.0, "[1]"), (2.5, None)],
        ),
        ("lines.ndjson", {"a": "bigint", "b": "string"}, [(1, None), (None, "x")]),
        (
            "table.parquet",
            {"x": "string", "n": "bigint", "at": "timestamp_ntz"},
            [
                ("a", 1, dt.datetime.fromisoformat("2024-01-02")),
                ("b", 2, dt.datetime.fromisoformat("2024-01-02")),
            ],
        ),
        ("{url: semi, format: csv, delimiter: ;}", {"a": "bigint", "b": "bigint"}, [(1, 2)]),
    ],
)
async def test_formats(
    serve: Serve, read: Callable[..., Reader], table: str, kinds: dict[str, str], found: list[object]
) -> None:
    reader = read(spec(f"t: {table}", client((await serve(host())).url)))
    assert await types(reader, "f.t") == kinds
    assert [tuple(row.values()) for row in await reader.scan("t")] == found


async def test_declared_columns_ask_nothing_and_may_be_renamed(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    served = await serve(host())
    columns = "{code: {type: string, path: zip}, n: int}"
    reader = read(spec(f"crime: {{url: crime.csv, columns: {columns}}}", client(served.url)))
    assert await types(reader, "f.crime") == {"code": "string", "n": "int"}
    assert served.asked == []
    assert await rows(reader, "SELECT code FROM crime WHERE n = 1") == [("94704",)]


async def test_credentials_stay_with_the_declared_host(serve: Serve, read: Callable[..., Reader]) -> None:
    here, there = await serve(host()), await serve(host())
    tables = f"t: {{urls: ['2023.tsv', '{there.url}/2024.tsv']}}"
    auth = ", auth: {type: bearer, token: '${env:TOKEN}'}"
    reader = read(spec(tables, client(here.url, auth)), TOKEN="very-secret")
    assert await types(reader, "f.t") == {"a": "string", "b": "bigint"}
    assert len(await reader.scan("t")) == 2
    assert [request.headers.get("Authorization") for request in here.asked] == ["Bearer very-secret"]
    assert [request.headers.get("Authorization") for request in there.asked] == [None]


async def test_a_secret_in_a_url(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(host())
    tables = "t: {url: '{year}.tsv?key=${env:KEY}', values: {year: [2023, 1999]}}"
    reader = read(spec(tables, client(served.url)), KEY="very secret {1}")
    assert await types(reader, "f.t") == {"a": "string", "b": "bigint"}
    assert served.asked[0].query["key"] == "very secret {1}"
    with pytest.raises(SourceError, match="404") as caught:
        await reader.scan("t")
    assert "very" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("broken.csv.gz", "not valid gzip"),
        ("behind.csv.gz", "not valid gzip: something is behind what is packed"),
        ("bomb.csv.gz", "larger than 1 MB unpacked"),
        ("nothing.csv", "nothing to tell columns from"),
        ("missing.csv", "404"),
        ("list.json", "infer|nothing to tell|no"),
        ("{url: crime.csv, format: parquet}", "not valid parquet"),
        ("{url: crime.csv, primary_key: [nix]}", "no column 'nix'"),
    ],
)
async def test_what_cannot_be_read(serve: Serve, read: Callable[..., Reader], file: str, said: str) -> None:
    if file == "list.json":
        file = "{url: list.json, data_selector: nowhere}"
    reader = read(spec(f"t: {file}", client((await serve(host())).url, ", max_body_mb: 1")))
    with pytest.raises(SourceError, match=said):
        await types(reader, "f.t")


async def test_a_later_file_that_does_not_fit(serve: Serve, read: Callable[..., Reader]) -> None:
    files = {"/a.csv": b"n\n1\n", "/b.csv": b"n\nx\n"}
    tables = "t: {urls: [a.csv, b.csv]}, u: {urls: [a.csv, b.csv], on_bad_record: 'null'}"
    reader = read(spec(tables, client((await serve(host(files))).url)))
    await types(reader, "f.t")
    with pytest.raises(SourceError, match="'x'"):
        await reader.scan("t")
    await types(reader, "f.u")
    assert await reader.scan("u") == [{"n": 1}, {"n": None}]
    assert reader.meter.bad_records >= 1


async def test_ragged_rows_are_left_out_and_counted_where_bad_records_may_be(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    url = (await serve(host({"/a.csv": b'n,word\n1,a\n2,b,c\n3\n4,"d\n"\n'}))).url
    for rule, counted in (("skip", 2), ("'null'", 2)):
        reader = read(spec(f"t: {{url: a.csv, on_bad_record: {rule}}}", client(url)))
        assert await types(reader, "f.t") == {"n": "bigint", "word": "string"}
        assert await reader.scan("t") == [{"n": 1, "word": "a"}, {"n": 4, "word": "d\n"}]
        assert reader.meter.bad_records == counted
        [warning] = [text for text in reader.meter.warnings if "cells" in text]
        assert warning == "f.t: a row with more or fewer cells than the header was left out"
    reader = read(spec("t: {url: a.csv, columns: {n: int, word: string}}", client(url)))
    with pytest.raises(SourceError, match="Expected 2 columns, got 3") as caught:
        await reader.scan("t")
    assert "on_bad_record: skip" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("t: {}", "needs one of url, urls, path and paths"),
        ("t: {url: 'https://a.example/x.csv', urls: [b.csv]}", "needs one of url, urls, path and paths"),
        ("t: {url: 'https://a.example/x.csv', path: b.csv}", "needs one of url, urls, path and paths"),
        ("t: {path: b}", "does not tell the format"),
        ("t: 'https://a.example/x'", "does not tell the format"),
        ("t: {url: 'https://a.example/{y}.csv', values: {z: [1]}}", "must stand both"),
        ("t: {urls: ['https://a.example/x.csv'], values: {z: [1]}}", "values are for a url"),
        ("t: {url: 'https://a.example/{y}.csv', values: {y: []}}", "values give 0 files"),
        ("t: {url: 'https://a.example/x.json', delimiter: ;}", "of csv alone"),
        ("t: {url: 'https://a.example/x.csv', columns: {a: int}, primary_key: [b]}", "'b' is not a column"),
        ("t: {url: 'https://a.example/x.csv', colums: {a: int}}", "unknown key"),
        ("", "names no files"),
    ],
)
def test_wrong_specs(tmp_path, tables: str, said: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(spec(tables))
    [error] = lint(file, environ={}, cwd=tmp_path)
    assert said in error.message
    assert "sources.f.tables" in error.message


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ("00501 94704", "string"), ("1 -2 0", "bigint"), ("12345678901234567890 1", "string"), ("1 2.50", "double"),
        ("1e5 2", "double"), ("0.12345678901234567", "string"), ("2024-02-30", "string"), ("2024-02-28", "date"),
        ("true False", "boolean"), ("1 true", "string"), ("2024-01-01T25:00:00", "string"), ("2024-01-01T25:00:00Z", "string"), ("2024-01-01T23:00:00+0200", "timestamp"), ("N/A 1", "string"),
        ("+1", "string"), ("-", "string"),
    ],
)  # fmt: skip
def test_types_of_texts(cells: str, kind: str) -> None:
    text = "\n".join(["c,d", *(f"{cell},x" for cell in cells.split())]) + "\n"
    found = kinds.CsvColumns(",")
    found.take(text.encode())
    assert found.columns()["c"] == kind
    found.take(b"c,d\n,x\n")  # nothing is of any type
    assert found.columns()["c"] == kind


def test_columns_of_a_file_that_expand_beyond_reason_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million rows of one value take a few hundred bytes: of such a file no more is unpacked than may be."""
    same = pa.repeat(pa.scalar(7), 1_000_000)
    for write in (papq.write_table, feather.write_feather):
        out = io.BytesIO()
        write(pa.table({"a": same}), out)
        monkeypatch.setattr(columnar, "_MOST", 2**30)
        assert columnar.read_columns(out.getvalue(), ["a"]).num_rows == 1_000_000
        monkeypatch.setattr(columnar, "_MOST", 2**20)
        with pytest.raises(pa.ArrowInvalid, match="its columns take more than"):
            columnar.read_columns(out.getvalue(), ["a"])


async def test_a_column_that_a_later_file_of_the_web_lacks_is_told_and_one_in_another_case_is_not(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    files = {"/1.parquet": parquet_of(a=[1], b=["x"]), "/2.parquet": parquet_of(A=[2.5], c=[True])}
    tables = "t: {urls: [1.parquet, 2.parquet]}, u: {urls: [1.parquet, 2.parquet], columns: {a: double}}"
    reader = read(spec(tables, client((await serve(host(files))).url)))
    assert await reader.scan("u") == [{"a": 1.0}, {"a": 2.5}]
    await reader.catalog.discover(reader.catalog.find(["f", "t"]))
    with pytest.raises(SourceError, match=r"no column 'b'; it has 'A', 'c'") as caught:
        await reader.scan("t", ["b"])
    assert "2.parquet" in str(caught.value)


async def test_columns_of_the_web_that_are_left_out_are_told(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    tag, span = pa.array(["x"]).dictionary_encode(), pa.array([1], pa.duration("s"))
    ids = pa.array([bytes(16)], pa.uuid())
    files = {"/t.parquet": parquet_of(id=ids, tag=tag, span=span)}
    reader = read(spec("t: t.parquet", client((await serve(host(files))).url)))
    await reader.catalog.discover(reader.catalog.find(["f", "t"]))
    assert await reader.scan("t") == [{"id": "00000000-0000-0000-0000-000000000000", "tag": "x"}]
    assert any("span is left out" in warning for warning in reader.meter.warnings)
