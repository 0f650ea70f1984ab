"""The shapes in which sources write their pages and records, and the traps among them, over a real wire."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
ROWS = [{"id": n, "name": f"n{n}"} for n in range(7)]
TABLE = "columns: {id: int, name: string}"


def source(url: str, tables: str, client: str = "") -> str:
    return f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', retry: {{max_attempts: 1}}{client}}}, tables: {{{tables}}}}}}}}}"


def scanned(endpoint: str, table: str = TABLE) -> str:
    return f"t: {{{table}, scan: {{endpoint: {{path: r, {endpoint}}}}}}}"


async def serving(serve: Serve, body: str | bytes, content_type: str = "application/json") -> str:
    async def handler(_: web.Request) -> web.Response:
        data = body.encode() if isinstance(body, str) else body
        return web.Response(body=data, content_type=content_type)

    return (await serve(handler)).url


# ---------------------------------------------------------------------------------------------- what is asked in bodies


async def test_cursors_pages_and_offsets_in_posted_bodies(serve: Serve, read: Read) -> None:
    bodies: list[Any] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.json()
        bodies.append(body)
        assert not request.query
        asked = body["page"]
        start = asked.get("after") or asked.get("offset") or 3 * (asked.get("number", 1) - 1)
        page = ROWS[start : start + 3]
        return web.json_response({"items": page, "next": start + 3 if start + 3 < len(ROWS) else None})

    url = (await serve(handler)).url
    fixed = "method: POST, data_selector: items, json: {where: {kind: x}, page: {size: 3}}"
    for paging, asked in (
        ("{type: cursor, cursor_path: next, cursor_body_path: page.after}", [{}, {"after": 3}, {"after": 6}]),
        ("{type: page_number, page_body_path: page.number}", [{"number": n} for n in (1, 2, 3, 4)]),
        (
            "{type: offset, page_size: 3, offset_body_path: page.offset, limit_body_path: page.size}",
            [{"offset": n} for n in (0, 3, 6, 7)],
        ),
    ):
        bodies.clear()
        reader = read(source(url, scanned(f"{fixed}, paginator: {paging}")))
        assert await reader.scan("t") == ROWS
        assert bodies == [{"where": {"kind": "x"}, "page": {"size": 3} | one} for one in asked]


# ------------------------------------------------------------------------------------------------------ what comes back


@pytest.mark.parametrize(
    ("form", "body", "rows"),
    [
        (
            ("layout: header", TABLE),
            '[["name", "id", "more"], ["n0", "0", null], ["n1", 1, {}]]',
            [{"id": 0, "name": "n0"}, {"id": 1, "name": "n1"}],
        ),
        (("layout: header", TABLE), "[]", []),
        (("layout: header, data_selector: data", TABLE), '{"data": [["id", "name"]]}', []),
        (
            ("data_selector: '*'", TABLE),
            '{"a": {"id": 1, "name": "x"}, "b": {"id": 2}}',
            [{"id": 1, "name": "x"}, {"id": 2, "name": None}],
        ),
        (("data_selector: '*'", TABLE), "{}", []),
        (("data_selector: ids", "columns: {id: {type: int, path: $}}"), '{"ids": [5, 6]}', [{"id": 5}, {"id": 6}]),
        (("data_selector: count", "columns: {n: {type: bigint, path: $}}"), '{"count": 17}', [{"n": 17}]),
        (("data_selector: $", "columns: {word: {type: string, path: $}}"), '"just this"', [{"word": "just this"}]),
    ],
)  # fmt: skip
async def test_shapes_of_json(
    serve: Serve, read: Read, form: tuple[str, str], body: str, rows: list[dict[str, Any]]
) -> None:
    assert await read(source(await serving(serve, body), scanned(*form))).scan("t") == rows


@pytest.mark.parametrize(
    ("selector", "inner", "bad"),
    [
        ("r[*].node", '{"id": 1}', 1),
        ("r[1:].node", '{"id": 1}', 1),
        ("r[*].x", '{"id": 1}', 0),  # none for one of several keys
        ("r[*].x[*]", '[{"id": 1}]', 0),  # a list that is not there has nothing in it
        ("r", '{"id": 1}', 2),
    ],
)
async def test_null_in_the_place_of_what_holds_a_record_is_a_bad_one(
    serve: Serve, read: Read, selector: str, inner: str, bad: int
) -> None:
    name = "node" if "node" in selector else "x"
    body = f'{{"r": [{{}}, {{"{name}": {inner}}}, null, {{"{name}": {inner}}}]}}'
    if selector == "r":
        body = f'{{"r": [null, {inner}, null, {inner}]}}'
    url, where = await serving(serve, body), f"data_selector: '{selector}'"
    table = "columns: {id: int}, on_bad_record: skip"
    reader = read(source(url, scanned(where, table)))
    assert await reader.scan("t") == [{"id": 1}, {"id": 1}]
    assert reader.meter.bad_records == bad
    if bad:
        with pytest.raises(SourceError, match="null is not an object"):
            await read(source(url, scanned(where, "columns: {id: int}"))).scan("t")


@pytest.mark.parametrize(
    ("selector", "body"),
    [
        ("d.*.x", '{"d": {"a": {"x": {"id": 1}}, "b": null, "c": {}}}'),
        ("d.*.x", '{"d": [{"x": {"id": 1}}, {}]}'),
    ],
)
async def test_null_in_the_place_of_a_member_of_a_map_holds_no_record(
    serve: Serve, read: Read, selector: str, body: str
) -> None:
    url = await serving(serve, body)
    table = scanned(f"data_selector: '{selector}'", "columns: {id: int}")
    assert await read(source(url, table)).scan("t") == [{"id": 1}]


async def test_a_header_names_the_columns_where_none_are_declared(serve: Serve, read: Read) -> None:
    url = await serving(serve, '[["zip", "n"], ["00501", 3]]')
    reader = read(source(url, "t: {scan: {endpoint: {path: r, layout: header}}}"))
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    assert [(one.name, one.type) for one in reader.table("t").columns] == [("zip", "string"), ("n", "bigint")]
    assert await reader.scan("t") == [{"zip": "00501", "n": 3}]


async def test_a_row_that_does_not_fit_its_header(serve: Serve, read: Read) -> None:
    url = await serving(serve, '[["id", "name"], [1]]')
    with pytest.raises(SourceError, match="a row of 1 values under a header of 2"):
        await read(source(url, scanned("layout: header"))).scan("t")


async def test_csv_with_comments_in_an_encoding_it_does_not_tell(serve: Serve, read: Read) -> None:
    text = '# made by hand\nid|name\n# more\n1|"Zürich\n# no comment"\n2|é\n#'
    url = await serving(serve, text.encode("utf-16"), "text/csv")
    reader = read(source(url, scanned("format: csv, delimiter: '|', comment: '#', encoding: utf-16")))
    assert await reader.scan("t") == [{"id": 1, "name": "Zürich\n# no comment"}, {"id": 2, "name": "é"}]


async def test_a_declared_encoding_is_believed_before_the_answer(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        body = '[{"id": 1, "name": "é"}]'.encode("latin-1")
        return web.Response(body=body, headers={"Content-Type": "application/json; charset=utf-8"})

    url = (await serve(handler)).url
    assert await read(source(url, scanned("encoding: latin-1"))).scan("t") == [{"id": 1, "name": "é"}]
    with pytest.raises(SourceError, match="not valid json"):
        await read(source(url, scanned("format: json"))).scan("t")


async def test_files_with_comments_and_encodings(serve: Serve, read: Read) -> None:
    packed = gzip.compress("% 2024\nname;n\nZoë;1\n".encode("cp1252"))
    url = await serving(serve, packed, "application/octet-stream")
    reader = read(
        f"{{version: 1, sources: {{api: {{type: files, client: {{base_url: '{url}'}}, tables: {{t: {{url: x.csv.gz, "
        "delimiter: ';', comment: '%', encoding: cp1252}}}}}"
    )
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    assert await reader.scan("t") == [{"name": "Zoë", "n": 1}]


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("encoding: klingon", "unknown encoding 'klingon'"),
        ("format: parquet, encoding: utf-8", "encoding is of text, which parquet is not"),
        ("comment: '#'", "comment is of CSV answers"),
        ("format: csv, layout: header", "layout: header is of JSON answers"),
        ("paginator: {type: cursor, cursor_body_path: a}", "in the body of a POST alone"),
        ("method: POST, paginator: {type: cursor, cursor_body_path: 'a[*]'}", "must be names with dots"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, endpoint: str, message: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(source("http://h", scanned(endpoint)), encoding="utf-8")
    assert any(message in error.render() for error in lint(file, environ={}))


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("fail", "column 'id' of record 6: \"no\" is not an int"),
        ("null", [*range(5), None, 6]),
        ("skip", [*range(5), 6]),
    ],
)
async def test_drift_between_pages_is_met_where_it_begins(
    serve: Serve, read: Read, rule: str, outcome: Any
) -> None:
    """The second page has other members, an object where a text was, and a value that is no number."""

    async def handler(request: web.Request) -> web.Response:
        if request.query["offset"] == "0":
            return web.json_response(ROWS[:4])
        page: list[Any] = [{"name": {"first": "x"}, "id": 4, "new": 1}, {"id": "no"}, {"id": 6.0}]
        return web.json_response(page if request.query["offset"] == "4" else [])

    url = (await serve(handler)).url
    table = f"{TABLE}, on_bad_record: '{rule}'"
    reader = read(source(url, scanned("paginator: {type: offset}", table)))
    if rule == "fail":
        with pytest.raises(SourceError) as error:
            await reader.scan("t")
        assert outcome in str(error.value)
        return
    found = await reader.scan("t")
    assert [one["id"] for one in found] == outcome
    assert found[4]["name"] == '{"first": "x"}'
    assert reader.meter.bad_records == 1


@pytest.mark.parametrize(("late", "told"), [({"id": 1, "label": "x"}, 1), ({"id": 1, "name": None}, 0)])
async def test_a_member_that_vanishes_is_told_of(
    serve: Serve, read: Read, late: dict[str, Any], told: int
) -> None:
    async def handler(request: web.Request) -> web.Response:
        start = int(request.query["offset"])
        return web.json_response(
            [{"id": start + n, "name": "x"} for n in range(12)] if not start else [late] * 11
        )

    async def ending(request: web.Request) -> web.Response:
        return web.json_response([]) if request.query["offset"] == "23" else await handler(request)

    reader = read(source((await serve(ending)).url, scanned("paginator: {type: offset}")))
    assert [one["name"] for one in await reader.scan("t")] == ["x"] * 12 + [None] * 11
    assert [text for text in reader.meter.warnings if "no record of a page has 'name'" in text] == [
        "api.t: no record of a page has 'name', which pages before it had; it is taken as NULL there"
    ] * told
    assert reader.meter.doubts == told, "what is doubtful is not kept for later runs"


# ---------------------------------------------------------------------------------------------------------------- traps


@pytest.mark.slow
async def test_a_packed_answer_that_bursts(serve: Serve, read: Read) -> None:
    bomb = gzip.compress(b"[" + b" " * 2**26)

    async def handler(_: web.Request) -> web.Response:
        return web.Response(
            body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}
        )

    server = await serve(handler)
    with pytest.raises(SourceError, match="expands more than"):
        await read(source(server.url, scanned("format: json"))).scan("t")
    assert len(server.asked) == 1


async def test_an_endless_body(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await answer.write(b" " * 2**16)
        return answer

    server = await serve(handler)
    with pytest.raises(SourceError, match=r"larger than 1,048,576 bytes"):
        await read(source(server.url, scanned("format: json"), ", max_body_mb: 1")).scan("t")
    assert len(server.asked) == 1


async def test_a_redirect_to_another_host_gets_neither_key_nor_request(serve: Serve, read: Read) -> None:
    async def far(_: web.Request) -> web.Response:
        return web.json_response(ROWS)

    async def near(request: web.Request) -> web.Response:
        assert request.headers["X-Key"] == "sesame"
        raise web.HTTPFound(f"http://localhost:{there.port}/r?key=sesame")

    there, here = await serve(far), await serve(near)
    auth = ", auth: {type: api_key, name: X-Key, api_key: '${env:KEY}'}"
    with pytest.raises(SourceError, match="refused a redirect to another host") as error:
        await read(source(here.url, scanned("format: json"), auth), KEY="sesame").scan("t")
    assert there.asked == []
    assert "sesame" not in error.value.render()


async def test_keyset_values_that_stand_in_the_last_record(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        after = int(request.query.get("after", "-1"))
        page = [row for row in ROWS if row["id"] > after][:3]  # type: ignore[operator]
        return web.Response(text=json.dumps({"items": page, "last": page[-1]["id"] if page else None}))

    server = await serve(handler)
    reader = read(
        source(server.url, scanned("data_selector: items, paginator: {type: keyset, cursors: {after: last}}"))
    )
    assert await reader.scan("t") == ROWS
    assert server.paths == ["/r", "/r?after=2", "/r?after=5", "/r?after=6"]
