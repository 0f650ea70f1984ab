"""What answers in the place of CSV has no columns: a login page, an error written as JSON, a line of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.response.text.others import in_place_of_lines
from tests.sources.discovering import types
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
PAGE = "<!DOCTYPE html>\n<html>\n<head><title>Log in, please</title></head>\n<body>\nWho are you?\n</body>\n</html>\n"
PAGE_TOLD = "it is a page of HTML, titled 'Log in, please'"
LINE = "one line without a delimiter, which may be a message: 'Not authorized'"
#: What comes in the place of CSV, what it calls itself, and what is told of it.
OTHERS = [
    (PAGE, "text/html", PAGE_TOLD),
    (PAGE, "text/csv", PAGE_TOLD),
    ("\ufeff" + PAGE, "application/octet-stream", PAGE_TOLD),
    ("<html><body>Login</body></html>", "text/html", "it is a page of HTML"),
    ('{"error":"not found"}', "application/json", 'it is JSON, which begins {"error"'),
    ('{"error":"not found"}\n', "text/csv", "it is JSON"),
    ('{\n  "error": "not found"\n}', "text/csv", "it is JSON"),
    ('[\n  {"id": 1},\n  {"id": 2}\n]', "text/csv", "it is JSON"),
    ('{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n', "text/csv", "it is JSON"),
    ("[1, 2, 3]", "text/csv", "it is JSON"),
    ("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "text/csv", "it is XML"),
    ("Not authorized\n", "text/plain", LINE),
    ("Not authorized", "text/csv", LINE),
]  # fmt: skip
#: CSV that looks like something else.
SOUND = ["[id],[name]\n1,a\n", "<TICKER>,<PER>\nX,D\n", "{id},{name}\n1,a\n", "word\na\n", "a,b\n", "a<html>,b\n1,2\n"]  # fmt: skip


async def reader_of(
    serve: Serve, read: Read, text: str, kind: str, source: str, *, columns: str = ""
) -> Reader:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=text.encode(), content_type=kind)

    url = (await serve(handler)).url
    head, table = "", "scan: {endpoint: {path: a, format: csv}}"
    if source == "files":
        head, table = "type: files, ", "url: a.csv, on_bad_record: skip"
    return read(
        f"{{version: 1, sources: {{api: {{{head}client: {{base_url: '{url}'}}, tables: {{t: {{{columns}{table}}}}}}}}}}}"
    )


@pytest.mark.parametrize("source", ["files", "rest"])
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: f"{other[0][:12]}-{other[1]}")
async def test_what_is_no_csv_has_no_columns(
    serve: Serve, read: Read, source: str, other: tuple[str, str, str]
) -> None:
    text, kind, told = other
    reader = await reader_of(serve, read, text, kind, source)
    with pytest.raises(SourceError) as caught:
        await types(reader, "api.t")
    assert told in str(caught.value)
    assert caught.value.hint
    if told != LINE:
        reader = await reader_of(serve, read, text, kind, source, columns="columns: {id: int}, ")
        with pytest.raises(SourceError) as caught:
            await reader.scan("t")
        assert told in str(caught.value)


@pytest.mark.parametrize("source", ["files", "rest"])
@pytest.mark.parametrize("text", SOUND)
async def test_csv_that_looks_like_something_else(serve: Serve, read: Read, source: str, text: str) -> None:
    assert in_place_of_lines(text.encode()) is None
    reader = await reader_of(serve, read, text, "text/csv", source)
    header, _, row = text.strip().partition("\n")
    assert list(await types(reader, "api.t")) == header.split(",")
    rows = await reader.scan("t")
    assert [",".join(map(str, one.values())) for one in rows] == ([row] if row else [])


async def test_a_name_alone_may_be_declared_or_of_this_machine(
    serve: Serve, read: Read, tmp_path: Path
) -> None:
    reader = await reader_of(serve, read, "word\n", "text/csv", "files", columns="columns: {word: string}, ")
    assert await reader.scan("t") == []
    (tmp_path / "a.csv").write_text("zip\n", encoding="utf-8")
    reader = read("{version: 1, sources: {f: {type: files, tables: {t: {path: a.csv}}}}}")
    assert await types(reader, "f.t") == {"zip": "string"}
    assert await reader.scan("t") == []
