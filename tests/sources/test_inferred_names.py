"""Tables without declared columns: names that no struct, path or terminal takes as they are, and too many of them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from aiohttp import web
from python_calamine import CalamineWorkbook

from fff.errors import SourceError
from fff.federation import Federation, RunOptions
from fff.limits import INFERRED_COLUMNS
from fff_cli.output.formats import write_batches, writer
from fff_cli.output.sinks.duck import rows_in
from fff_cli.output.streams import FORMATS
from fff_cli.output.table import Screen
from fff_sources.authoring.sampling.shape import step
from fff_sources.http.response.jsonpath import Step, parse_path, quoted
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
NAMES = [
    "plain", 'a"b', "back\\slash", "tab\tname", "line\nname", "esc\x1b[31mred", "nul\x00x", "", "Case", "case", "`tick`",
    "bidi\u202eabc", "a.b", "it's", "q\"q'q", "$x", "*", "[0]", " blank ", "{y}", "x]y", "c1\x9b31m",
]  # fmt: skip
COLUMNS = [name if name != "case" else "case_1" for name in NAMES]  # SQL tells no case
ROWS = [{name: f"{row} of {number}" for number, name in enumerate(NAMES)} for row in range(3)]


async def served(serve: Serve, rows: list[dict[str, str]]) -> str:
    async def handler(request: web.Request) -> web.Response:
        if request.path.startswith("/json"):
            return web.json_response(rows)
        if request.path.startswith("/lines"):
            return web.Response(text="\n".join(map(json.dumps, rows)))
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return web.Response(text=text.getvalue(), content_type="text/csv")

    return (await serve(handler)).url


def source(url: str) -> str:
    return f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{url}"}}
            tables:
              objects: {{scan: {{endpoint: json}}}}
              lines: {{scan: {{endpoint: {{path: lines, format: ndjson}}}}}}
              cells: {{scan: {{endpoint: {{path: csv, format: csv}}}}}}
          files:
            type: files
            client: {{base_url: "{url}"}}
            tables: {{file: {{url: csv.csv}}, records: {{url: json.json}}}}
        """


@pytest.mark.parametrize("table", ["objects", "lines", "cells", "file", "records"])
async def test_any_name_is_a_column(serve: Serve, read: Read, table: str) -> None:
    reader = read(source(await served(serve, ROWS)))
    await reader.catalog.discover([one for one in reader.catalog.tables(offered=False) if one.name == table])
    assert [column.name for column in reader.table(table).columns] == COLUMNS
    assert await reader.scan(table) == [dict(zip(COLUMNS, row.values(), strict=True)) for row in ROWS]
    assert await reader.scan(table, ["case_1"]) == [{"case_1": row["case"]} for row in ROWS]
    assert await reader.scan(table, ['a"b']) == [{'a"b': row['a"b']} for row in ROWS]
    assert not reader.meter.warnings


async def test_strangers_are_told_by_such_names_too(serve: Serve, read: Read) -> None:
    url = await served(serve, [{'a"b': "1"}, {'a"c': "2"}])
    table = 'columns: {only: {type: string, path: "[\'a\\"b\']"}}, scan: {endpoint: json}'
    spec = f"{{version: 1, sources: {{web: {{client: {{base_url: '{url}'}}, tables: {{t: {{{table}}}}}}}}}}}"
    for columns in (["only"], []):
        with pytest.raises(SourceError, match=r"record 2: .* has none of the table's columns"):
            await read(spec).scan("t", columns)


@pytest.mark.parametrize("table", ["objects", "lines", "cells", "file", "records"])
async def test_keys_that_are_data_are_not_taken_for_columns(serve: Serve, read: Read, table: str) -> None:
    reader = read(source(await served(serve, [{f"k{n}": "1" for n in range(INFERRED_COLUMNS + 1)}])))
    tables = [one for one in reader.catalog.tables(offered=False) if one.name == table]
    with pytest.raises(SourceError, match="more than 2,000 columns") as error:
        await reader.catalog.discover(tables)
    assert "declare" in error.value.render()


@pytest.mark.parametrize("name", NAMES)
def test_a_path_can_be_written_to_any_name(name: str) -> None:
    assert parse_path(quoted(name)).steps == (Step("name", name),)
    assert parse_path(step("a", name)).steps == (Step("name", "a"), Step("name", name))
    assert parse_path(step("$", name)).steps == (Step("name", name),)


@pytest.mark.parametrize("form", every(3, FORMATS))
async def test_every_format_writes_them(serve: Serve, read: Read, tmp_path: Path, form: str) -> None:
    reader = read(source(await served(serve, ROWS)))
    await reader.catalog.discover([reader.table("objects")])
    out = io.BytesIO()
    async with Federation(reader.catalog, reader.client) as federation:
        execution = federation.execute(federation.prepare("SELECT * FROM web.objects"), RunOptions(seed=1))
        batches = [batch async for batch in execution.batches()]
        to = writer(form, out, Screen(width=400) if form in ("table", "markdown") else None)
        to.begin(batches[0].schema)
        for batch in batches:
            write_batches(to, batch)
        to.end()
    data = out.getvalue()
    expected = [dict(zip(COLUMNS, row.values(), strict=True)) for row in ROWS]
    if form == "parquet":
        assert pa.parquet.read_table(io.BytesIO(data)).to_pylist() == expected
    elif form == "arrow":
        assert pa.ipc.open_stream(data).read_all().to_pylist() == expected
    elif form in ("csv", "tsv"):
        rows = csv.DictReader(
            io.StringIO(data.decode(), newline=""), delimiter="," if form == "csv" else "\t"
        )
        assert list(rows) == expected
    elif form == "sqlite":
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(data)
            cursor = database.execute("SELECT * FROM result")
            names = [column[0] for column in cursor.description]
            assert names == [name.replace("\0", "\\x00") for name in COLUMNS]
            assert [dict(zip(COLUMNS, row, strict=True)) for row in cursor] == expected
    elif form == "xlsx":
        cells = CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0).to_python()
        assert cells == [COLUMNS, *(list(row.values()) for row in expected)]
    elif form == "duckdb":
        (tmp_path / "x").write_bytes(data)
        names = [name.replace("\0", "\\x00") or "unnamed" for name in COLUMNS]
        assert (
            rows_in(tmp_path / "x").rename_columns(dict(zip(names, COLUMNS, strict=True))).to_pylist()
            == expected
        )
    elif form == "json":
        assert json.loads(data) == expected
    elif form == "ndjson":
        assert [json.loads(line) for line in data.splitlines()] == expected
    else:
        assert not [char for char in data.decode() if char != "\n" and not char.isprintable()], form
        assert b"esc\\x1b[31mred" in data
