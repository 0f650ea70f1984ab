"""Text behind a closing quote is no part of a cell: such rows are told, or left out and counted, and no other row is lost with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.response.text import csv_quotes
from fff_sources.http.response.text.csv_quotes import FaultyRow, enclose_cells, faulty_rows
from tests.sources.discovering import types
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
COLUMNS = "columns: {id: int, name: string}"
MANY = 60_000  # rows of more than a megabyte, which is read in pieces


def cell_by_cell(text: str) -> list[FaultyRow]:
    """The same as `faulty_rows`, read one character after another."""
    faulty, number, at = [], 0, 0
    while at < len(text):
        start, wrong, more = at, False, True
        while more:
            if text[at : at + 1] == '"':
                at += 1
                while at < len(text) and (text[at] != '"' or text[at : at + 2] == '""'):
                    at += 2 if text[at] == '"' else 1
                at = min(at + 1, len(text))
                wrong |= at < len(text) and text[at] not in ",\r\n"
            while at < len(text) and text[at] not in ",\r\n":
                at += 1
            more = text[at : at + 1] == ","
            at += more
        at = min(len(text), at + (2 if text[at : at + 2] == "\r\n" else 1))
        number += bool(text[start:at].strip("\r\n"))
        faulty += [FaultyRow(number, start, at)] if wrong else []
    return faulty


@pytest.mark.parametrize("seed", range(8))
def test_faults_are_those_of_reading_cell_by_cell(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_quotes, "_BLOCK", 64 if seed % 2 else 128)
    rng = random.Random(seed)
    for _ in range(400):
        text = "".join(rng.choice('ab,\n"" \r') for _ in range(rng.randrange(rng.choice([8, 64, 400]))))
        faulty = cell_by_cell(text)
        assert faulty_rows(text.encode(), ",") == faulty, text
        if enclose_cells(text.encode(), ","):
            assert faulty == [], text


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 2**17 - 1, 2**17, 2**17 + 1, 2**18])
def test_quotes_around_cells_at_the_ends_of_blocks(size: int) -> None:
    for text in (b'"' + b"x" * size + b'",y\n"z"', b"x" * size + b',"a ""b"" c"\n', b"x" * size + b'\n""'):
        assert enclose_cells(text, ",")
        assert not enclose_cells(text + b'x"', ",")
        assert not enclose_cells(text + b'\n"a"b\n', ",")


STRAY = 'id,name\n1,"a\n2,b"c\n3,d\n'
#: CSV, what it means without the rows that are none, how many these are, and how the first is told of.
FAULTS = [
    (STRAY, [(3, "d")], 1, 'Row #2: text behind a closing quote: 1,"a 2,b"c'),
    ('id,name\n1,a\n2,"Big" Jim\n3,"c"\n', [(1, "a"), (3, "c")], 1, 'Row #3: text behind a closing quote: 2,"Big" Jim'),
    ('id,name\n1,""x\n2,b\n"3"x,c', [(2, "b")], 2, "Row #2"),
    ('id,name\n1,"a,"b\n2,b\n', [(2, "b")], 1, "Row #2"),
    ('id,name\r\n1,"a" \r\n2,b\r\n', [(2, "b")], 1, "Row #2"),
]  # fmt: skip
FINE = [
    ('id,name\n1,6" disk\n2,"a ""b"" c"\n3,"x,\ny"\n4,""\n', [(1, '6" disk'), (2, 'a "b" c'), (3, "x,\ny"), (4, "")]),
    ('id,name\n1,Jim "Big"\n2,"a,"\n', [(1, 'Jim "Big"'), (2, "a,")]),
]  # fmt: skip


def streamed(text: str) -> str:
    """The same behind so many rows that it comes in pieces."""
    head, rest = text.split("\n", 1)
    return f"{head}\n" + "".join(f'{n},"name of {n}"\n' for n in range(10, MANY)) + rest


async def reader_of(serve: Serve, read: Read, text: str, kind: str, rule: str) -> Reader:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/csv")

    url = (await serve(handler)).url
    what = f"{COLUMNS}, on_bad_record: '{rule}'"
    source = f"client: {{base_url: '{url}'}}, tables: {{t: {{{what}, scan: {{endpoint: {{path: a, format: csv}}}}}}}}"
    if kind == "files":
        source = f"type: files, client: {{base_url: '{url}'}}, tables: {{t: {{url: a.csv, {what}}}}}"
    return read(f"{{version: 1, sources: {{api: {{{source}}}}}}}")


@pytest.mark.parametrize("rule", ["fail", "skip", "null"])
@pytest.mark.parametrize("kind", ["rest", "files"])
@pytest.mark.parametrize("in_pieces", [False, True])
async def test_text_behind_a_closing_quote(
    serve: Serve, read: Read, kind: str, rule: str, in_pieces: bool
) -> None:
    for text, rows, bad, told in FAULTS[:2] if in_pieces else FAULTS:
        reader = await reader_of(serve, read, streamed(text) if in_pieces else text, kind, rule)
        if rule == "fail":
            with pytest.raises(
                SourceError, match="text behind a closing quote" if in_pieces else told
            ) as caught:
                await reader.scan("t")
            assert "on_bad_record: skip" in str(caught.value.hint)
            continue
        got = [tuple(row.values()) for row in await reader.scan("t")]
        assert [row for row in got if row[0] < 10] == rows
        assert len(got) == len(rows) + (MANY - 10 if in_pieces else 0)
        assert reader.meter.bad_records == bad
        assert "api.t: a row with text behind a closing quote was left out" in reader.meter.warnings


@pytest.mark.parametrize("kind", ["rest", "files"])
async def test_quotes_that_are_text(serve: Serve, read: Read, kind: str) -> None:
    for text, rows in FINE:
        for written in (text, streamed(text)):
            reader = await reader_of(serve, read, written, kind, "fail")
            got = [tuple(row.values()) for row in await reader.scan("t")]
            assert [row for row in got if row[0] < 10] == rows


async def test_columns_of_a_file_are_told_from_its_rows(read: Read, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,name\n1,a\n2,"b" c\n"3" z,c\n', encoding="utf-8")
    source = (
        "{{version: 1, sources: {{f: {{type: files, tables: {{t: {{path: a.csv, on_bad_record: {}}}}}}}}}}}"
    )
    with pytest.raises(SourceError, match="Row #3: text behind a closing quote"):
        await types(read(source.format("fail")), "f.t")
    reader = read(source.format("skip"))
    assert await types(reader, "f.t") == {"id": "bigint", "name": "string"}
    assert await reader.scan("t") == [{"id": 1, "name": "a"}]


async def test_a_header_is_never_left_out(serve: Serve, read: Read) -> None:
    reader = await reader_of(serve, read, 'id,"name"\n1,a\n', "rest", "skip")
    assert await reader.scan("t") == [{"id": 1, "name": "a"}]
    reader = await reader_of(serve, read, 'id,name,"x"y\n1,a,b\n', "rest", "skip")
    with pytest.raises(SourceError, match="Row #1: text behind a closing quote"):
        await reader.scan("t")
