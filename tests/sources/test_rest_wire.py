"""A REST source over a real wire: what is asked, what comes back, what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SecretError, SourceError
from fff_sources.http.paging.counted import LaterPages
from fff_sources.http.paging.factory import Questions, stop_at
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response import bodies
from fff_sources.http.spec.spec import Endpoint
from tests.sources.reading import Reader
from tests.web.serving import Handler, Serve

Read = Callable[..., Reader]
ROWS = [{"id": n, "zip": f"0{n:04d}", "name": f"n{n}"} for n in range(23)]


def source(url: str, tables: str, client: str = "") -> str:
    """A spec of one source; the tables are given in flow style."""
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'{client}}}, tables: {{{tables}}}}}}}}}"
    )


COLUMNS = "columns: {id: int, zip: string}"


def offsets(*, cap: int = 100, total: int | None = None, key: str = "items") -> Handler:
    async def handler(asked: web.Request) -> web.Response:
        start, size = int(asked.query.get("offset", 0)), min(cap, int(asked.query.get("limit", cap)))
        body: dict[str, Any] = {key: ROWS[start : start + size], "offset": start}
        return web.json_response(body | ({"total": total} if total is not None else {}))

    return handler


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


ALL = [row["id"] for row in ROWS]


# -------------------------------------------------------------------------------------------------------------- scans


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("cap", [4, 10, 100])
@pytest.mark.parametrize("total", [None, 23])
async def test_a_page_cap_below_the_size_asked_for_loses_nothing(
    serve: Serve, read: Read, window: int, cap: int, total: int | None
) -> None:
    server = await serve(offsets(cap=cap, total=total))
    where = "total_path: total" if total else ""
    reader = read(
        source(
            server.url,
            f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items,"
            f" paginator: {{type: offset, page_size: 10, {where}}}}}}}}}",
        )
    )
    rows = await reader.scan("t", window=window)
    assert ids(rows) == ALL
    assert reader.meter.pages == reader.meter.requests == len(server.asked)
    if total:
        assert len(server.asked) == -(-23 // min(cap, 10))
        assert reader.meter.total_rows == 23


async def test_pages_that_come_short_are_filled_up(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query["offset"])
        size = min(int(asked.query["limit"]), 2 if start == 10 else 5)  # one page is cut further
        return web.json_response({"items": ROWS[start : start + size], "total": 23})

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items,"
            " paginator: {type: offset, page_size: 10, total_path: total}}}}",
        )
    )
    assert ids(await reader.scan("t", window=4)) == ALL


async def test_independent_pages_are_fetched_together_but_never_before_the_first_was_taken(
    serve: Serve, read: Read
) -> None:
    barrier = asyncio.Barrier(3)

    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["page"])
        if page > 1:
            await barrier.wait()  # hangs unless three are under way
        return web.json_response({"items": ROWS[(page - 1) * 4 : page * 4], "pages": 7})

    server = await serve(handler)
    spec = source(
        server.url,
        f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items,"
        " paginator: {type: page_number, total_path: pages}}}}",
    )
    reader = read(spec)
    async with asyncio.timeout(20):
        assert ids(await reader.scan("t", window=3))[:23] == ALL
    assert len(server.asked) == 7
    table = reader.table("t")
    server.asked.clear()
    pages = reader.catalog.adapter_of(table).scan(table, table.scans[0], ["id"], meter=reader.meter, window=3)
    await anext(pages)
    await pages.aclose()
    assert len(server.asked) == 1, "whoever needs one page pays for one"


@pytest.mark.parametrize(
    ("paginator", "requests"),
    [
        ("{type: page_number}", 7),  # six pages with rows, and an empty one
        (
            "{type: page_number, page_size: 4, page_size_param: n}",
            6,
        ),  # the short page, and as many rows as there are said to be
        ("{type: page_number, page_size: 9, page_size_param: n}", 7),  # the size asked for is not honoured
        ("{type: page_number, total_path: pages}", 6),
        ("{type: page_number, total_rows_path: count}", 6),
        ("{type: page_number, base_page: 0, page_param: zero}", 7),
    ],
)
@pytest.mark.parametrize("window", [1, 5])
async def test_page_numbers(serve: Serve, read: Read, paginator: str, requests: int, window: int) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["zero"]) if "zero" in asked.query else int(asked.query["page"]) - 1
        return web.json_response({"items": ROWS[page * 4 : page * 4 + 4], "pages": "6", "count": 23})

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {paginator}}}}}}}",
        )
    )
    assert ids(await reader.scan("t", window=window)) == ALL
    assert len(server.asked) == requests


async def test_max_pages_ends_with_a_truncated_answer(serve: Serve, read: Read) -> None:
    server = await serve(offsets(total=23))
    spec = source(
        server.url,
        f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items,"
        " paginator: {type: offset, page_size: 5, total_path: total, max_pages: 2}}}}",
    )
    for window in (1, 4):
        reader = read(spec)
        assert ids(await reader.scan("t", window=window)) == ALL[:10]
        assert reader.truncated == ["stopped after 2 pages (max_pages)"]
        assert reader.meter.warnings == {}


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("total", [30, 22, 5])
@pytest.mark.parametrize("more", ["", ", total: approximate"])
async def test_a_total_that_is_not_what_came_is_an_incomplete_answer(
    serve: Serve, read: Read, window: int, total: int, more: str
) -> None:
    server = await serve(offsets(cap=10, total=total))
    reader = read(
        source(
            server.url,
            f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {{type: offset, total_path: total{more}}}}}}}}}",
        )
    )
    assert ids(await reader.scan("t", window=window)) == ALL
    assert reader.truncated == ([] if more else [f"the source speaks of {total} rows and gave 23"])
    assert reader.meter.warnings == {}


@pytest.mark.parametrize("total", [10**15, 10**40])
@pytest.mark.parametrize("paginator", ["offset", "page_number, page_param: offset"])
async def test_any_total_that_is_told_costs_nothing(
    serve: Serve, read: Read, total: int, paginator: str
) -> None:
    """Questions are made as they are asked: a list of so many would take all memory there is."""
    server = await serve(offsets(cap=10, total=total))
    pages = f"{{type: {paginator}, total_path: total}}"
    table = f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {pages}}}}}}}"
    with pytest.raises(SourceError, match="100 empty pages in a row"):
        await read(source(server.url, table)).scan("t", window=4)
    assert len(server.asked) < 150


@pytest.mark.parametrize("limit", [None, 1, 2, 5, 9])
@pytest.mark.parametrize("bound", [None, 0, 30, 35, 90])
@pytest.mark.parametrize("count", [0, 1, 8])
def test_pages_that_are_known_stop_where_they_would_one_by_one(
    limit: int | None, bound: int | None, count: int
) -> None:
    paginator = {"type": "offset", "maximum_offset": bound}
    endpoint = Endpoint.model_validate({"path": "r", "paginator": paginator})
    rest = LaterPages(range(10, 10 + 10 * count, 10), lambda position: Ask(position=position))
    questions = Questions(endpoint, rest, limit, 1)
    asked, stopped = [], None
    for ask in rest:
        stopped = stop_at(endpoint, limit, ask, 1 + len(asked)) or stopped
        if stopped is None:
            asked.append(ask)
    assert len(questions) == len(asked)
    assert [questions.take() for _ in asked] == asked
    assert questions.stopped == stopped
    following = Ask(position=10 + 10 * count)
    questions.add(following, 1 + len(asked))
    stopped = stopped or stop_at(endpoint, limit, following, 1 + len(asked))
    assert [questions.take() for _ in range(len(questions))] == ([] if stopped else [following])
    assert questions.stopped == stopped


@pytest.mark.parametrize(
    ("paginator", "answer", "message"),
    [
        ("{type: cursor, cursor_path: next}", {"items": ROWS[:1], "next": "c"}, "the cursor {'cursor': 'c'} came a second time"),
        ("{type: keyset, cursor_path: last}", {"items": ROWS[:1], "last": {"a": 1, "b": "x"}}, "came a second time"),
        ("{type: json_link, next_url_path: next}", {"items": ROWS[:1], "next": "/r?p=2"}, "URL of the next page came a second"),
        ("{type: page_number}", {"items": ROWS[:12]}, "the same page came 2 times: the source seems to ignore 'page'"),
        ("{type: offset, page_size: 3}", {"items": ROWS[:3]}, "the same page came 2 times: the source seems to ignore 'offset'"),
        ("{type: page_number}", {"items": ROWS[:1]}, "the same page came 3 times: the source seems to ignore 'page'"),
        ("{type: cursor, cursor_path: next}", {"items": ROWS[:1], "next": {"after": 1}}, "the cursor 'cursor' is an object"),
        ("{type: cursor, cursor_path: next}", {"items": ROWS[:1], "next": [1, 2]}, "the cursor 'cursor' is an array"),
        ("{type: keyset, cursor_path: last}", {"items": ROWS[:1], "last": {"a": {"b": 1}}}, "the cursor 'a' is an object"),
        ("{type: json_link, next_url_path: next}", {"items": ROWS[:1], "next": {"url": "/r?p=2"}}, "is {'url': '/r?p=2'}, not a URL"),
        ("{type: offset, total_path: total}", {"items": ROWS[:3], "total": "many"}, "is 'many', not a number"),
        ("{type: json_link, next_url_path: next}", {"items": ROWS[:1], "next": "http://127.0.0.2:9/x"}, "to another host"),
        ("{type: json_link, next_url_path: next}", {"items": ROWS[:1], "next": "file:///etc/passwd"}, "to another host"),
    ],
)  # fmt: skip
async def test_sources_that_go_round_or_astray_end_with_an_error(
    serve: Serve, read: Read, paginator: str, answer: object, message: str
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(answer)

    server = await serve(handler)
    spec = source(
        server.url,
        f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {paginator}}}}}}}",
    )
    for window in (1, 4):
        with pytest.raises(SourceError) as error:
            await read(spec).scan("t", window=window)
        assert message in str(error.value)
    assert len(server.asked) <= 8


async def test_a_total_beyond_all_numbers_is_told_as_that(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text='{"total": 1e400, "items": [{"id": 1, "zip": "1"}]}')

    url = (await serve(handler)).url
    paginator = "{type: offset, total_path: total}"
    endpoint = f"{{path: r, data_selector: items, paginator: {paginator}}}"
    with pytest.raises(SourceError, match="what stands at 'total' cannot be read: Number out of range"):
        await read(source(url, f"t: {{{COLUMNS}, scan: {{endpoint: {endpoint}}}}}")).scan("t")


@pytest.mark.parametrize("nowhere", [None, "", " ", 0, 0.0, "0", -1, "-1", "null", "None", False, "false"])
async def test_a_cursor_that_says_nowhere_is_the_end(serve: Serve, read: Read, nowhere: object) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("cursor", 0))
        following = start + 2 if start + 2 < len(ROWS) else nowhere
        return web.json_response({"items": ROWS[start : start + 2], "next": following})

    server = await serve(handler)
    paginator = "{type: cursor, cursor_path: next}"
    table = f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {paginator}}}}}}}"
    assert ids(await read(source(server.url, table)).scan("t")) == [row["id"] for row in ROWS]
    assert len(server.asked) == -(-len(ROWS) // 2)


@pytest.mark.parametrize("total", [1230, "1230", "1,230", " 1230 ", "1230.0", 1230.0, "1,230+", "1000+"])
async def test_a_total_may_be_written_for_people(serve: Serve, read: Read, total: object) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query["offset"])
        items = [{"id": n, "zip": "1"} for n in range(start, min(start + 500, 1230))]
        return web.json_response({"items": items, "total": total})

    paginator = "{type: offset, page_size: 500, total_path: total}"
    table = f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: {paginator}}}}}}}"
    reader = read(source((await serve(handler)).url, table))
    assert ids(await reader.scan("t")) == list(range(1230))
    assert reader.truncated == []


async def test_cursors(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = 0 if asked.query["after"] == "*" else int(asked.query["after"])
        assert asked.query["per_page"] == "9"
        return web.json_response(
            {"items": ROWS[start : start + 9], "meta": {"next": start + 9 if start < 18 else None}}
        )

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items, paginator: "
            "{type: cursor, cursor_param: after, cursor_path: meta.next, initial: '*', page_size: 9}}}}",
        )
    )
    assert ids(await reader.scan("t", window=4)) == ALL
    assert [request.query["after"] for request in server.asked] == ["*", "9", "18"]


async def test_next_links_keep_the_credentials_on_the_host_and_lose_them_elsewhere(
    serve: Serve, read: Read
) -> None:
    async def far(asked: web.Request) -> web.Response:
        assert "X-Key" not in asked.headers
        return web.json_response(ROWS[2:3])

    async def near(asked: web.Request) -> web.Response:
        assert asked.headers["X-Key"] == "sesame"
        link = (
            '</other/path?p=2>; rel="next"'
            if asked.path == "/r"
            else f'<{there.url}/x>; title="a, b"; rel=next'
        )
        row = 0 if asked.path == "/r" else 1
        return web.json_response(ROWS[row : row + 1], headers={"Link": f'</r>; rel="first", {link}'})

    there, here = await serve(far), await serve(near)
    auth = ", auth: {type: api_key, name: X-Key, api_key: '${env:KEY}'}"
    tables = f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, paginator: header_link}}}}}}"
    reader = read(
        source(here.url, tables, auth + f", allowed_hosts: ['127.0.0.1:{there.port}']"), KEY="sesame"
    )
    assert ids(await reader.scan("t")) == [0, 1, 2]
    assert here.paths == ["/r", "/other/path?p=2"]


async def test_paths_and_links_may_hold_what_no_request_line_can(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        assert asked.path == "/Stra\u00dfen & Pl\u00e4tze/a b"
        assert "%2F" in asked.raw_path, "what is escaped stays as it is"
        following = None if "from" in asked.query else f"{asked.path}?tag=%2F&from=b \u00e9"
        assert asked.query.get("from") in (None, "b \u00e9")
        return web.json_response({"items": ROWS[:3] if following else ROWS[3:5], "next": following})

    served = await serve(handler)
    place = '"Stra\u00dfen & Pl\u00e4tze/a b?tag=%2F"'
    reader = read(
        source(served.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: {place}, data_selector: items}}}}}}")
    )
    assert ids(await reader.scan("t")) == ALL[:5]


async def test_auto_finds_the_next_link(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/hal":
            return web.json_response({"items": ROWS[:2], "links": {"next": {"href": "last"}}})
        return web.json_response({"items": ROWS[2:3], "next": None})

    server = await serve(handler)
    spec = f"t: {{{COLUMNS}, scan: {{endpoint: {{path: hal, data_selector: items, paginator: auto}}}}}}"
    assert ids(await read(source(server.url, spec)).scan("t")) == [0, 1, 2]


async def test_csv_and_ndjson(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/csv":
            text = '\ufeffname;id;zip\r\n"a;""b""\r\nc";1;00501\r\n;2;\r\n"";3;x\r\n'
            return web.Response(text=text, content_type="text/csv")
        if asked.path == "/latin":
            return web.Response(
                body="id,name\n1,Zürich\n".encode("latin-1"),
                headers={"Content-Type": "text/csv; charset=ISO-8859-1"},
            )
        return web.Response(text='{"id": 1, "zip": "00501"}\n\n{"id": "2"}\n  {"zip": 5, "id": null}')

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            "c: {columns: {id: int, zip: string, name: string}, scan: {endpoint: {path: csv, format: csv, delimiter: ';'}}},"
            "l: {columns: {name: string}, scan: {endpoint: {path: latin, format: csv}}},"
            f"n: {{{COLUMNS}, scan: {{endpoint: {{path: nd, format: ndjson}}}}}}",
        )
    )
    assert await reader.scan("c") == [
        {"id": 1, "zip": "00501", "name": 'a;"b"\r\nc'},
        {"id": 2, "zip": None, "name": None},
        {"id": 3, "zip": "x", "name": ""},
    ]
    assert await reader.scan("l") == [{"name": "Zürich"}]
    assert await reader.scan("n") == [
        {"id": 1, "zip": "00501"},
        {"id": 2, "zip": None},
        {"id": None, "zip": "5"},
    ]
    assert len(await reader.scan("c", [])) == 3, "rows are counted even when no column is asked for"
    assert len(await reader.scan("n", [])) == 3


async def test_parquet_xml_and_html(serve: Serve, read: Read) -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(
        pa.table({"id": pa.array([1, 2], pa.int64()), "zip": ["00501", None], "more": [1.5, 2.5]}), buffer
    )

    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/pq":
            return web.Response(body=buffer.getvalue())
        if asked.path == "/xml":
            return web.Response(text='<a xmlns="urn:x"><row id="1"><zip>00501</zip></row><row id="2"/></a>')
        return web.Response(
            text="<p><table><tr><th>id<th>zip</tr><tr><td>1</td><td> 00501 </td></tr><tr><td>2<td></table>"
        )

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            f"p: {{{COLUMNS}, scan: {{endpoint: {{path: pq, format: parquet}}}}}},"
            "x: {columns: {id: {type: int, path: '[\"@id\"]'}, zip: string},"
            " scan: {endpoint: {path: xml, format: xml, data_selector: a.row}}},"
            f"h: {{{COLUMNS}, scan: {{endpoint: {{path: h, format: html_table, data_selector: '[0]'}}}}}}",
        )
    )
    for name in "pxh":
        assert await reader.scan(name) == [{"id": 1, "zip": "00501"}, {"id": 2, "zip": None}], name


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ('{"items": [{"id": 1}, {"id"', "json", "the answer is not valid json (text/plain)"),
        ("<html>log in</html>", "json", "the answer is not valid json"),
        ('{"error": "quota"}', "json", "the answer has no 'items'"),
        ('{"items": 5}', "json", "record 1: 5 is not an object"),
        ('{"items": [1]}', "json", "a column that is a value by itself has path: $"),
        ('{"items": [{"id": 1}]} trailing', "json", "not valid json"),
        ('{"items": [{"id": "x\xff"}]}', "json", ""),
        ('{"id": 1}\n{"id": ', "ndjson", "line 2"),
        ("id,zip\n1,2,3\n", "csv", "not valid csv"),
        ("id,plz\n1,2\n", "csv", "has no column 'zip'; it has 'id', 'plz'"),
        ("nothing", "parquet", "not valid parquet"),
        ("<a><b></a>", "xml", "not valid xml"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "xml", "entities"),
        ("<p>no</p>", "html_table", "no table"),
    ],
)
async def test_malformed_bodies_are_one_clear_error(
    serve: Serve, read: Read, body: str, kind: str, message: str
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body.encode("latin-1"), headers={"Content-Type": "text/plain"})

    server = await serve(handler)
    selector = "" if kind in ("csv", "ndjson", "parquet") else ", data_selector: items"
    spec = source(server.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, format: {kind}{selector}}}}}}}")
    reader = read(spec)
    with pytest.raises(SourceError) as error:
        await reader.scan("t")
    assert message in str(error.value)
    assert server.url in str(error.value)
    assert len(server.asked) == 1, "a malformed answer is not asked for again"


async def test_an_answer_that_calls_itself_csv_is_told_with_the_setting_for_it(
    serve: Serve, read: Read
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="id,zip\n1,2\n", content_type="text/csv")

    server = await serve(handler)
    reader = read(source(server.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r}}}}}}"))
    with pytest.raises(SourceError, match="declare format: csv in the endpoint"):
        await reader.scan("t")


async def test_what_speaks_no_http_is_told_as_that(read: Read) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        client = ", retry: {max_attempts: 1}"
        spec = source(
            f"http://127.0.0.1:{port}", f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r}}}}}}", client
        )
        with pytest.raises(SourceError, match=r"does not speak HTTP.*\n.*check the port in base_url"):
            await read(spec).scan("t")


# ------------------------------------------------------------------------------------------------------------ lookups


def echo(rows: dict[str, list[dict[str, Any]]]) -> Handler:
    """Answers by key, in the path or as `zip` parameters."""

    async def handler(asked: web.Request) -> web.Response:
        keys = [key for text in asked.query.getall("zip", []) for key in text.split(",")]
        if not keys:
            key = asked.path.removeprefix("/c/")
            return web.json_response(rows[key][0]) if key in rows else web.Response(status=404)
        return web.json_response({"results": [row for key in keys for row in rows.get(key, [])]})

    return handler


async def test_keys_in_the_path_stay_in_their_segment(serve: Serve, read: Read) -> None:
    keys = ["a/b", "..", ".", "x?y=1#z", "50%", "é", "a b", "{id}", "${env:HOME}", "a+b"]

    async def handler(asked: web.Request) -> web.Response:
        return web.json_response({"n": asked.raw_path})

    server = await serve(handler)
    reader = read(
        source(server.url, "t: {columns: {k: string, n: string}, lookups: [{keys: [k], endpoint: 'c/{k}'}]}"),
        HOME="/leak",
    )
    found = [(await reader.lookup("t", key))[0] for key in keys]
    assert [row["k"] for row in found] == keys, "the key the answer leaves out is the key asked for"
    assert [row["n"] for row in found] == [
        "/c/a%2Fb", "/c/%2E%2E", "/c/%2E", "/c/x%3Fy%3D1%23z", "/c/50%25", "/c/%C3%A9", "/c/a%20b", "/c/%7Bid%7D",
        "/c/%24%7Benv%3AHOME%7D", "/c/a%2Bb",
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["c/{k}", "{k}/c", "c/{k}/?all=1"])
async def test_a_key_that_no_path_can_hold_is_not_sent_and_not_answered(
    serve: Serve, read: Read, path: str
) -> None:
    server = await serve(echo({}))
    reader = read(
        source(server.url, f"t: {{columns: {{k: string}}, lookups: [{{keys: [k], endpoint: '{path}'}}]}}")
    )
    assert await reader.lookup("t", "") == []
    assert server.asked == []
    assert (reader.unanswered, reader.truncated) == ([("",)], ["an empty key cannot be put into the path"])


@pytest.mark.parametrize("key", [".", ".."])
async def test_a_key_that_climbs_the_path_is_answered_by_its_rows_alone(
    serve: Serve, read: Read, key: str
) -> None:
    async def handler(request: web.Request) -> web.Response:
        answers = {"/rows": [{"n": 1}], "/others": [{"k": "c", "n": 2}], "/none": []}
        return web.json_response(
            next(rows for path, rows in answers.items() if request.path.startswith(path))
        )

    server = await serve(handler)
    for path in ("rows", "others", "none"):
        text = f"t: {{columns: {{k: string, n: int}}, lookups: [{{keys: [k], endpoint: '{path}/{{k}}'}}]}}"
        reader = read(source(server.url, text))
        rows = await reader.lookup("t", key, "x")
        assert {row["k"] for row in rows} >= ({key} if path == "rows" else set())
        assert reader.unanswered == ([] if path == "rows" else [(key,)])


@pytest.mark.parametrize(("key", "path"), [("", "/c/k.json"), ("..", "/c/k%2E%2E.json")])
async def test_such_a_key_is_sent_where_it_is_only_a_part_of_a_segment(
    serve: Serve, read: Read, key: str, path: str
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response([])

    server = await serve(handler)
    reader = read(
        source(server.url, "t: {columns: {k: string}, lookups: [{keys: [k], endpoint: 'c/k{k}.json'}]}")
    )
    assert await reader.lookup("t", key) == []
    assert (server.paths, reader.unanswered) == ([path], [])


async def test_404_means_no_rows_only_where_the_spec_says_so(serve: Serve, read: Read) -> None:
    server = await serve(echo({"1": [{"zip": "1", "n": 7}]}))
    table = "columns: {zip: string, n: int}, lookups: [{keys: [zip], endpoint: 'c/{zip}'}]"
    reader = read(
        source(
            server.url, f"t: {{{table}, on_status: [{{status_code: 404, action: empty}}]}}, u: {{{table}}}"
        )
    )
    assert await reader.lookup("t", "1") == [{"zip": "1", "n": 7}]
    assert await reader.lookup("t", "2") == []
    with pytest.raises(SourceError, match="HTTP 404"):
        await reader.lookup("u", "2")
    assert (reader.meter.requests, reader.meter.pages) == (3, 0)


@pytest.mark.parametrize(
    ("batch", "paths"),
    [
        ("{size: 3, separator: ','}", ["/c?zip=1%2C2%2C3", "/c?zip=4"]),
        ("{size: 3}", ["/c?zip=1&zip=2&zip=3", "/c?zip=4"]),
        ("{size: 10, separator: ','}", ["/c?zip=1%2C2%2C3%2C4"]),
    ],
)
@pytest.mark.parametrize("params", [", params: {zip: '{zip}'}", ""])
async def test_batches(serve: Serve, read: Read, batch: str, paths: list[str], params: str) -> None:
    rows = {key: [{"zip": key, "n": int(key)}, {"zip": key, "n": -int(key)}] for key in ("1", "2", "4")}
    server = await serve(echo(rows))
    reader = read(
        source(
            server.url,
            "t: {columns: {zip: string, n: int}, lookups: [{keys: [zip],"
            f" batch: {batch}, endpoint: {{path: c, data_selector: results{params}}}}}]}}",
        )
    )
    found = await reader.lookup("t", "1", "2", "3", "4", columns=["n"])
    assert sorted(row["n"] for row in found) == [-4, -2, -1, 1, 2, 4]
    assert server.paths == paths


@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("names_keys", [False, True])
async def test_a_key_that_contains_the_separator_travels_alone_and_only_its_rows_answer_it(
    serve: Serve, read: Read, splits: bool, names_keys: bool
) -> None:
    """Rows of the keys that it was split into are none of it, even where they do not say whose they are."""
    known = {"x", "a", "b", "a,b"}

    async def handler(asked: web.Request) -> web.Response:
        text = asked.query["zip"]
        found = [
            zip_ for zip_ in (text.split(",") if splits or text not in known else [text]) if zip_ in known
        ]
        return web.json_response([{"n": 1} | ({"zip": zip_} if names_keys else {}) for zip_ in found])

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            "t: {columns: {zip: string, n: int}, lookups: [{keys: [zip], batch: {size: 5, separator: ','}, endpoint: c}]}",
        )
    )
    rows = await reader.lookup("t", "a,b", "", "x")
    assert [request.query["zip"] for request in server.asked] == ["x", "a,b", ""]
    assert [row["zip"] for row in rows] == (["x", "a,b"] if names_keys and not splits else ["x"])
    odd = [("a,b",), ("",)]
    assert reader.unanswered == (odd if splits or not names_keys else odd[1:])
    assert all("an answer without rows proves nothing" in why for why in reader.truncated)


async def test_lookup_answers_may_have_pages_and_lack_their_key(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["page"])
        rows = [{"n": page}, {"n": str(page * 10)}, {"n": None, "zip": None}] if page < 3 else []
        return web.json_response({"results": rows})

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            "t: {columns: {zip: int, n: int}, key_columns: [{name: zip, require: required, param: postcode}],"
            " scan: {endpoint: {path: c, data_selector: results, paginator: page_number}}}",
        )
    )
    table = reader.table("t")
    assert table.scans == ()
    assert [method.name for method in table.lookups] == ["t.lookup[zip]"]
    assert await reader.lookup("t", 94704) == [
        {"zip": 94704, "n": 1}, {"zip": 94704, "n": 10}, {"zip": None, "n": None},
        {"zip": 94704, "n": 2}, {"zip": 94704, "n": 20}, {"zip": None, "n": None},
    ]  # fmt: skip
    assert server.paths[0] == "/c?postcode=94704&page=1"


async def test_posted_templates(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        return web.json_response([{"k": 5, "seen": await asked.json()}])

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            "t: {columns: {k: int, seen: string}, lookups: [{keys: [k], endpoint: "
            "{path: q, method: POST, json: {where: {k: '{k}', text: 'k={k}', all: ['{k}']}, limit: 5}}}]}",
        )
    )
    assert json.loads((await reader.lookup("t", 5))[0]["seen"]) == {
        "where": {"k": 5, "text": "k=5", "all": [5]},
        "limit": 5,
    }


async def test_answers_that_are_nothing(serve: Serve, read: Read) -> None:
    bodies = {"null": "null", "none": "", "empty": "{}", "list": "[]", "inner": '{"items": null}'}

    async def handler(asked: web.Request) -> web.Response:
        key = asked.path.removeprefix("/c/")
        return web.Response(status=204 if key == "none" else 200, text=bodies[key])

    server = await serve(handler)
    tables = "t: {columns: {k: string, n: int}, lookups: [{keys: [k], endpoint: 'c/{k}'}]}"
    tables += ", u: {columns: {k: string, n: int}, lookups: [{keys: [k], endpoint: {path: 'c/{k}', data_selector: items}}]}"
    reader = read(source(server.url, tables))
    for key in ("null", "none", "empty", "list"):
        assert await reader.lookup("t", key) == [], key
    assert await reader.lookup("u", "inner") == []
    with pytest.raises(SourceError, match="none of the table's columns"):
        await reader.lookup("t", "inner")


# -------------------------------------------------------------------------------------------------- auth and secrets


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("{type: bearer, token: '${env:T}'}", "Authorization", "Bearer s3cr{t}"),
        ("{type: http_basic, username: me, password: '${env:T}'}", "Authorization", "Basic bWU6czNjcnt0fQ=="),
        ("{type: api_key, name: X-Key, api_key: '${env:T}'}", "X-Key", "s3cr{t}"),
    ],
)
async def test_auth_headers(serve: Serve, read: Read, auth: str, header: str, value: str) -> None:
    async def handler(asked: web.Request) -> web.Response:
        return web.json_response({"error": f"no such {asked.headers[header]}"}, status=400)

    server = await serve(handler)
    spec = source(server.url, "t: {columns: {a: int}, scan: {endpoint: r}}", f", auth: {auth}")
    with pytest.raises(SourceError) as error:
        await read(spec, T="s3cr{t}").scan("t")
    assert server.asked[0].headers[header] == value
    assert "***" in str(error.value)
    assert "s3cr" not in str(error.value)
    assert "bWU6" not in str(error.value)


async def test_a_key_in_the_query_is_sent_and_never_shown(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        return web.json_response(
            [{"id": 1}], headers={"Link": '</r?page=2>; rel="next"'} if "page" not in asked.query else {}
        )

    server = await serve(handler)
    auth = ", auth: {type: api_key, name: k, api_key: 'literal secret', location: query}, params: {t: '${env:T}'}"
    reader = read(
        source(
            server.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, paginator: header_link}}}}}}", auth
        ),
        T="x&y",
    )
    assert len(await reader.scan("t")) == 2
    assert server.paths == ["/r?t=x%26y&k=literal%20secret", "/r?page=2&k=literal%20secret"]
    assert reader.client.shown(server.url + server.paths[0]) == f"{server.url}/r?t=***&k=***"


async def test_a_wait_told_in_the_body_holds_the_host(serve: Serve, read: Read) -> None:
    """As Stack Exchange tells it: with rows, or with a refusal."""
    waits = iter(
        [{"backoff": 10}, {}, {"backoff": "2.5"}, {"backoff": "soon"}, {"backoff": True}, {"backoff": -1}]
    )
    statuses = iter([200, 200, 503])

    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"items": [{"id": 1}], **next(waits)}, status=next(statuses, 200))

    server = await serve(handler)
    limits = ", rate_limit: {backoff_path: backoff}, retry: {max_attempts: 2, base_delay: 0, max_delay: 0}"
    reader = read(
        source(server.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items}}}}}}", limits)
    )
    began = []
    for _ in range(5):
        await reader.scan("t")
        began.append(round(reader.time.now, 3))
    assert began == [0, 10, 12.5, 12.5, 12.5], "before the second, and before the third was tried again"
    assert reader.meter.throttled_s == pytest.approx(12.5)
    assert reader.meter.limited_by == "throttled"


async def test_client_credentials_are_fetched_once(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/token":
            form = await asked.post()
            assert dict(form) == {
                "grant_type": "client_credentials",
                "client_id": "me",
                "client_secret": "pw",
                "scope": "a",
            }
            return web.json_response({"access_token": "tok", "expires_in": 3600})
        assert asked.headers["Authorization"] == "Bearer tok"
        return web.json_response([{"id": 1}])

    server = await serve(handler)
    auth = (
        f", auth: {{type: oauth2_client_credentials, access_token_url: '{server.url}/token', client_id: me,"
        " client_secret: '${env:PW}', access_token_request_data: {scope: a}}"
    )
    reader = read(source(server.url, f"t: {{{COLUMNS}, scan: {{endpoint: r}}}}", auth), PW="pw")
    await asyncio.gather(reader.scan("t"), reader.scan("t"), reader.scan("t"))
    assert [path for path in server.paths if path == "/token"] == ["/token"]
    assert len(server.asked) == 4


async def test_a_missing_secret_is_met_at_the_first_request_not_before(serve: Serve, read: Read) -> None:
    server = await serve(echo({}))
    for reference, problem in (
        ("env:NOPE", "variable NOPE is not set"),
        ("file:nope", "cannot be read: No such"),
    ):
        reader = read(
            source(
                server.url,
                f"t: {{{COLUMNS}, scan: {{endpoint: r}}}}",
                f", auth: {{type: bearer, token: '${{{reference}}}'}}",
            )
        )
        place = r"\.yaml:\d+: sources\.api\.client\.auth\.token: "
        with pytest.raises(SecretError, match=place + f".*{problem}") as caught:
            await reader.scan("t")
        assert caught.value.hint is not None
    assert server.asked == []


async def test_the_base_url_can_be_overridden(serve: Serve, read: Read) -> None:
    server = await serve(echo({"1": [{"id": 1}]}))
    spec = source("http://127.0.0.1:9/nowhere", f"t: {{{COLUMNS}, scan: {{endpoint: c/1}}}}")
    reader = read(spec.replace("api:", "my-api:"), FFF_MY_API_BASE_URL=server.url)
    assert ids(await reader.scan("t")) == [1]


# --------------------------------------------------------------------------------------------------- values and drift


async def test_bad_records(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(
            [{"id": 1, "zip": "a"}, {"id": "two", "zip": "b"}, "junk", {"id": 4, "zip": 5}]
        )

    server = await serve(handler)
    table = f"{COLUMNS}, scan: {{endpoint: r}}"
    reader = read(
        source(
            server.url,
            f"f: {{{table}}}, n: {{{table}, on_bad_record: null}}, s: {{{table}, on_bad_record: skip}}",
        )
    )
    with pytest.raises(SourceError) as error:
        await reader.scan("f")
    assert """api.f: column 'id' of record 2: "two" is not an int""" in str(error.value)
    assert await reader.scan("n") == [{"id": 1, "zip": "a"}, {"id": None, "zip": "b"}, {"id": 4, "zip": "5"}]
    assert reader.meter.bad_records == 2
    gone = "api.n: a record that does not fit the declared columns was left out"
    unset = "api.n: a value that does not fit its declared type was set NULL"
    assert reader.meter.warnings == {gone: 1, unset: 1}
    assert await reader.scan("s") == [{"id": 1, "zip": "a"}, {"id": 4, "zip": "5"}]
    assert reader.meter.bad_records == 4
    assert reader.meter.warnings == {gone: 1, unset: 1, gone.replace("api.n", "api.s"): 2}
    assert await reader.scan("s", ["zip"]) == [{"zip": "a"}, {"zip": "b"}, {"zip": "5"}]


async def test_dropped_records_do_not_shift_the_pages(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        rows = [{"id": n if n % 3 else "bad"} for n in range(20)]
        start = int(asked.query["offset"])
        return web.json_response({"items": rows[start : start + 6], "total": 20})

    server = await serve(handler)
    reader = read(
        source(
            server.url,
            "t: {columns: {id: int}, on_bad_record: skip, scan: {endpoint: {path: r, data_selector: items,"
            " paginator: {type: offset, total_path: total}}}}",
        )
    )
    for window in (1, 3):
        assert ids(await reader.scan("t", window=window)) == [n for n in range(20) if n % 3]
    assert reader.meter.bad_records == 14
    gone = "api.t: a record that does not fit the declared columns was left out"
    assert reader.meter.warnings == {gone: 14}, "and nothing of a page that came short"


async def test_large_bodies_come_in_blocks(serve: Serve, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_ROWS", 4000)
    rows = [{"id": n, "zip": f"{n:05d}", "pad": "x" * 200} for n in range(10_000)]

    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"items": rows})

    server = await serve(handler)
    reader = read(
        source(server.url, f"t: {{{COLUMNS}, scan: {{endpoint: {{path: r, data_selector: items}}}}}}")
    )
    table = reader.table("t")
    sizes, total = [], []
    async for page in reader.catalog.adapter_of(table).scan(
        table, table.scans[0], ["id"], meter=reader.meter, window=1
    ):
        sizes.append(page.rows.num_rows)
        total += page.rows.column(0).to_pylist()
    assert sizes == [4000, 4000, 2000]
    assert total == list(range(10_000))


async def test_columns_are_inferred_from_the_first_page(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/csv":
            return web.Response(text="zip,n\n00501,5\n")
        return web.json_response(
            {
                "items": [
                    {"zip": "00501", "n": 1, "x": None, "ok": True, "deep": {"a": 1}, "m": 1},
                    {"n": 2.5, "m": "a", "new": None},
                ]
            }
        )

    server = await serve(handler)
    tables = "t: {scan: {endpoint: {path: r, data_selector: items}}}, c: {scan: {endpoint: {path: csv, format: csv}}}"
    reader = read(source(server.url, tables))
    adapter = reader.catalog.adapters[0]
    assert reader.table("t").columns == ()
    await adapter.discover(["t", "c"], meter=reader.meter)
    found = {table.name: [(column.name, column.type) for column in table.columns] for table in adapter.tables}
    assert found == {
        "t": [("zip", "string"), ("n", "double"), ("x", "string"), ("ok", "boolean"), ("deep", "string"), ("m", "string"), ("new", "string")],
        "c": [("zip", "string"), ("n", "string")],
    }  # fmt: skip
