"""Specs drafted from sample URLs: what is guessed is checked by asking, lints, and reads the source it was drafted from."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from aiohttp import web

from fff.errors import SecretError, SourceError, UsageError
from fff.web.client import WebClient
from fff_sources.authoring.draft import SpecDraft, identifier, singular
from fff_sources.authoring.sampling.address import is_secret, looks_like_id, source_name, take_apart
from fff_sources.authoring.sampling.columns import columns_of
from fff_sources.authoring.sampling.drafting import draft_from_url
from fff_sources.authoring.sampling.shape import find_records
from fff_sources.authoring.yamltext import scalar, yaml_text
from fff_sources.document import parse_document
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

ROWS = [
    {"id": n, "name": f"n{n}", "zip": f"0{n:04d}", "seen": f"2024-01-{n % 28 + 1:02d}", "in": {"city": "x"}}
    for n in range(1, 26)
]
Answer = Callable[[dict[str, str]], Any]


def page(rows: list[Any], query: dict[str, str], size: int = 10, first: int = 1) -> list[Any]:
    number = int(query.get("page", str(first))) - first
    return rows[number * size : (number + 1) * size]


def offset(query: dict[str, str], size: int = 10) -> list[Any]:
    start = int(query.get("offset", "0"))
    return ROWS[start : start + int(query.get("limit", str(size)))]


async def drafted(
    serve: Serve, path: str, answer: Answer, **options: Any
) -> tuple[SpecDraft, dict[str, Any], list[str]]:
    """The draft of `path`, its spec as data, and what was asked."""

    async def handler(request: web.Request) -> web.Response:
        found = answer(dict(parse_qsl(request.query_string)) | {"": request.path})
        return found if isinstance(found, web.Response) else web.json_response(found)

    served = await serve(handler)
    client = WebClient()
    try:
        draft = await draft_from_url(
            served.url + path, client, name="s", environ=options.pop("environ", {}), **options
        )
    finally:
        await client.close()
    data = parse_document(yaml_text(draft), "draft").data
    return draft, data["sources"]["s"], served.paths


def endpoint(source: dict[str, Any]) -> dict[str, Any]:
    [table] = source["tables"].values()
    return table["scan"]["endpoint"] if "scan" in table else table["lookups"][0]["endpoint"]


PAGINATED: dict[str, tuple[str, Answer, dict[str, Any]]] = {
    "page and pages": ("/r?page=1", lambda q: {"page": 1, "pages": 3, "results": page(ROWS, q)}, {"type": "page_number", "page_param": "page", "base_page": 1, "total_path": "pages"}),
    "a count of the page alone": ("/r?page=1", lambda q: {"count": len(page(ROWS, q)), "has_more": int(q.get("page", 1)) < 3, "results": page(ROWS, q)}, {"type": "page_number", "page_param": "page", "base_page": 1, "has_more_path": "has_more"}),
    "a page that counts from 0": ("/r?size=10", lambda q: {"content": page(ROWS, q, first=0), "totalElements": 25}, {"type": "page_number", "page_param": "page", "base_page": 0, "page_size": 10, "page_size_param": "size", "total_rows_path": "totalElements"}),
    "offset and limit": ("/r?limit=5&offset=0", lambda q: {"meta": {"total": 25}, "items": offset(q)}, {"type": "offset", "offset_param": "offset", "page_size": 5, "page_size_param": "limit", "total_path": "meta.total"}),
    "limit alone": ("/r?limit=5", lambda q: {"count": 25, "items": offset(q)}, {"type": "offset", "offset_param": "offset", "page_size": 5, "page_size_param": "limit", "total_path": "count"}),
    "offsets from 1": ("/r?limit=5&offset=1", lambda q: {"total": 25, "items": ROWS[max(0, int(q["offset"]) - 1) :][:5]}, {"type": "offset", "offset_param": "offset", "base_offset": 1, "page_size": 5, "page_size_param": "limit", "total_path": "total"}),
    "an offset that is not the first": ("/r?limit=5&offset=1", lambda q: {"total": 25, "items": offset(q)}, {"type": "offset", "offset_param": "offset", "page_size": 5, "page_size_param": "limit", "total_path": "total"}),
    "a link in the body": ("/r", lambda q: {"results": page(ROWS, q), "links": {"next": "/r?page=2"}}, {"type": "json_link", "next_url_path": "links.next"}),
    "a link of a list": ("/r", lambda q: {"results": page(ROWS, q), "links": [{"rel": "self", "href": "/r"}, {"rel": "next", "href": "/r?page=2"}]}, {"type": "json_link", "next_url_path": "links", "rel": "next"}),
    "a cursor under another name": ("/r", lambda q: {"data": ROWS[int(q.get("after", "0")) :][:10], "paging": {"next": str(int(q.get("after", "0")) + 10)}}, {"type": "cursor", "cursor_path": "paging.next", "cursor_param": "after"}),
    "the last record's id": ("/r?limit=10", lambda q: {"object": "list", "data": ROWS[int(q.get("starting_after", "0")) :][:10], "has_more": q.get("starting_after") != "20"}, {"type": "cursor", "cursor_path": "data[-1].id", "cursor_param": "starting_after", "has_more_path": "has_more", "page_size": 10, "page_size_param": "limit"}),
    "last indexes": ("/r?per_page=10", lambda q: {"results": ROWS[int(q.get("last", "0")) :][:10], "pagination": {"last_indexes": {"last": "10"}}}, {"type": "keyset", "cursor_path": "pagination.last_indexes", "page_size": 10, "page_size_param": "per_page"}),
    "has_more": ("/r?page=1", lambda q: {"items": page(ROWS, q), "has_more": True}, {"type": "page_number", "page_param": "page", "base_page": 1, "has_more_path": "has_more"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGINATED)
async def test_paginators_are_recognised_and_tried(serve: Serve, name: str) -> None:
    path, answer, paginator = PAGINATED[name]
    draft, source, asked = await drafted(serve, path, answer)
    assert endpoint(source)["paginator"] == paginator
    assert "params" not in endpoint(source)
    assert [text for text in draft.unsure if text.startswith("paginator")] == []
    assert len(asked) <= 5


async def test_a_cursor_that_stays_the_same_is_said_to(serve: Serve) -> None:
    pages = iter([ROWS[:10], ROWS[10:20], ROWS[20:]])
    _, source, _ = await drafted(
        serve, "/r?cursor=*", lambda _: {"items": next(pages, []), "next_cursor": "same"}
    )
    assert endpoint(source)["paginator"] == {
        "type": "cursor", "cursor_path": "next_cursor", "cursor_param": "cursor", "initial": "*", "reusable": True,
    }  # fmt: skip


async def test_a_link_header_is_followed(serve: Serve) -> None:
    def answer(query: dict[str, str]) -> web.Response:
        return web.json_response(page(ROWS, query), headers={"Link": '</r?per_page=10&page=2>; rel="next"'})

    _, source, _ = await drafted(serve, "/r?per_page=10&page=3", answer)
    assert endpoint(source) == {
        "path": "r",
        "paginator": {"type": "header_link", "page_size": 10, "page_size_param": "per_page"},
    }


async def test_a_source_that_ignores_the_page_gets_no_paginator_without_a_word(serve: Serve) -> None:
    draft, source, _ = await drafted(serve, "/r", lambda _: {"total": 25, "results": ROWS[:10]})
    assert "paginator" not in endpoint(source)
    assert [text for text in draft.unsure if "25 records and holds 10" in text] != []
    draft, source, _ = await drafted(serve, "/r?page=1", lambda _: {"results": ROWS[:10]})
    assert endpoint(source)["paginator"]["type"] == "page_number"
    assert "paginator: page_number is a guess: the second page could not be had" in draft.unsure


async def test_what_was_drafted_reads_the_source(serve: Serve, tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        query = dict(request.query)
        if request.path == "/v1/things":
            return web.json_response({"total": 25, "results": offset(query)})
        row = next((row for row in ROWS if request.path == f"/v1/things/{row['id']}"), None)
        return web.json_response(row or {"error": "unknown"}, status=200 if row else 404)

    served = await serve(handler)
    client = WebClient()
    draft = await draft_from_url(f"{served.url}/v1/things?limit=10&offset=0", client, name="s", environ={})
    await client.close()
    text = yaml_text(draft)
    (tmp_path / "s.yaml").write_text(text)
    assert lint(tmp_path / "s.yaml", environ={}) == []
    reader = Reader(text, tmp_path)
    rows = await reader.scan("things")
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert rows[0]["zip"] == "00001"
    assert str(rows[0]["seen"]) == "2024-01-02"
    assert rows[0]["in_city"] == "x"
    assert [row["name"] for row in await reader.lookup("things", 7)] == ["n7"]
    assert await reader.lookup("things", 700) == []
    await reader.client.close()


async def test_one_thing_becomes_a_lookup(serve: Serve) -> None:
    _, source, _ = await drafted(serve, "/v0/item/8863.json", lambda _: {"id": 8863, "by": "x"})
    [(name, table)] = source["tables"].items()
    assert name == "item"
    assert table["key_columns"] == [{"name": "id", "require": "required"}]
    assert table["lookups"] == [{"keys": ["id"], "endpoint": {"path": "item/{id}.json"}}]
    assert source["tests"] == ["SELECT * FROM s.item WHERE id = 8863"]
    _, source, _ = await drafted(
        serve, "/works/10.1/ab", lambda _: {"status": "ok", "message": {"DOI": "10.1/AB", "n": 1}}
    )
    assert endpoint(source) == {"path": "works/{DOI}", "data_selector": "message"}


async def test_parameters_that_the_records_hold_are_keys(serve: Serve) -> None:
    rows = [{"id": "a", "state": "CA"}, {"id": "b", "state": "CA"}]
    _, source, _ = await drafted(serve, "/r?state=CA&q=rain", lambda _: {"results": rows})
    [table] = source["tables"].values()
    assert table["key_columns"] == [{"name": "state", "require": "required"}]
    assert table["lookups"][0]["endpoint"]["params"] == {"state": "{state}", "q": "rain"}
    _, source, _ = await drafted(serve, "/r?ids=a,b", lambda _: {"results": rows})
    [table] = source["tables"].values()
    assert table["lookups"] == [{"keys": ["id"], "batch": {"size": 50, "separator": ","}, "endpoint": {"path": "r", "params": {"ids": "{id}"}, "data_selector": "results"}}]  # fmt: skip
    _, source, _ = await drafted(serve, "/journals/1803-2427/works", lambda _: {"items": [{"DOI": "x"}]})
    [table] = source["tables"].values()
    assert table["key_columns"] == [{"name": "journal_id", "require": "required"}]
    assert table["lookups"][0]["endpoint"]["path"] == "journals/{journal_id}/works"


async def test_no_key_is_drafted_twice(serve: Serve) -> None:
    def answer(query: dict[str, str]) -> Any:
        return {"items": ROWS[2:3]} if "id" in query else ROWS[2]

    _, source, asked = await drafted(serve, "/r?id=3", answer)
    [table] = source["tables"].values()
    assert [key["name"] for key in table["key_columns"]] == ["id"]
    assert [one["keys"] for one in table["lookups"]] == [["id"]]
    assert len(asked) <= 5


async def test_few_requests_are_sent_however_much_there_is_to_try(serve: Serve) -> None:
    answer = {"items": ROWS[:10], "next_cursor": "c", "paging": {"next": "x", "cursor": "y"}, "total": 90}
    _, source, asked = await drafted(serve, "/r?limit=10", lambda _: answer)
    assert len(asked) == 5
    assert source["tables"]


SECRET = "geheim+1/x"


@pytest.mark.parametrize(
    "path",
    [
        "/r?api_key=geheim%2B1%2Fx&q=1",
        "/r?q=1&token=geheim%2B1%2Fx",
        "/r?X-Sig=1&subscription-key=geheim%2B1%2Fx",
    ],
)
async def test_secrets_are_sent_and_never_written(serve: Serve, path: str) -> None:
    name = path.partition("geheim")[0].replace("?", "&").rstrip("=").rpartition("&")[2]
    draft, source, asked = await drafted(
        serve, path, lambda q: {"next": f"/r?page=2&{name}={SECRET}", "results": page(ROWS, q)}
    )
    text = yaml_text(draft) + " ".join(draft.unsure)
    assert "geheim" not in text
    assert all("geheim" in one for one in asked if "page=2" not in one)
    assert source["client"]["auth"] == {"type": "api_key", "name": name, "api_key": f"${{env:{draft.variables[0]}}}", "location": "query"}  # fmt: skip


async def test_a_login_and_headers_become_auth(serve: Serve) -> None:
    got: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        got.append(request.headers.get("Authorization"))
        return web.json_response([{"a": 1}])

    served = await serve(handler)
    client = WebClient()
    url = served.url.replace("//", "//me:geheim@") + "/r"
    draft = await draft_from_url(url, client, name="s", environ={})
    assert draft.auth == {"type": "http_basic", "username": "${env:S_USER}", "password": "${env:S_PASSWORD}"}
    assert "geheim" not in yaml_text(draft)
    headers = {"Authorization": "Bearer ${env:TOKEN}", "X-Team": "blue"}
    draft = await draft_from_url(
        f"{served.url}/r", client, name="s", headers=headers, environ={"TOKEN": "geheim"}
    )
    await client.close()
    assert got[-1] == "Bearer geheim"
    assert (draft.auth, draft.headers) == ({"type": "bearer", "token": "${env:TOKEN}"}, {"X-Team": "blue"})


async def test_formats(serve: Serve) -> None:
    bodies = {
        "csv": ("text/csv", "id;when\n001;x\n"),
        "ndjson": ("application/x-ndjson", '{"a": 1}\n{"a": 2}\n'),
        "xml": ("text/xml", "<r><doc><id>1</id></doc><doc><id>2</id></doc></r>"),
        "html_table": ("text/html", "<html><table><tr><th>a</th></tr><tr><td>1</td></tr></table></html>"),
    }
    for form, (kind, text) in bodies.items():
        answer = web.Response(text=text, content_type=kind)
        _, source, _ = await drafted(
            serve, "/r", lambda _, answer=answer: web.Response(body=answer.body, headers=answer.headers)
        )
        assert endpoint(source)["format"] == form
        [table] = source["tables"].values()
        assert table["columns"], form
    assert endpoint(source)["data_selector"] == "[0]"


@pytest.mark.parametrize(
    ("text", "comment", "delimiter", "columns"),
    [
        ("# made by x\n# two\nid;name\n1;a\n", "#", ";", ["id", "name"]),
        ("# made by x\nid|name\n1|a\n", "#", "|", ["id", "name"]),
        ("#id,name\n1,a\n2,b\n", None, None, ["id", "name"]),
        ("id\tname\n1\t# no comment\n", None, "\t", ["id", "name"]),
        ("%% made by x\nid^name^n\n1^a^2\n", "%", "^", ["id", "name", "n"]),
        ("// a note, with a comma\nid:name\n1:a\n2:b\n", "/", ":", ["id", "name"]),
        ("id~name\n1~a\n2~b\n", None, "~", ["id", "name"]),
        ("id,name\n# a note between rows\n1,a\n", "#", None, ["id", "name"]),
        ("id,name\n#1,a\n#2,b\n", None, None, ["id", "name"]),
        ("when\n10:30\n11:45\n", None, None, ["when"]),
    ],
)
async def test_comments_and_delimiters_of_csv(
    serve: Serve, text: str, comment: str | None, delimiter: str | None, columns: list[str]
) -> None:
    body = text.encode()
    _, source, _ = await drafted(serve, "/r", lambda _: web.Response(body=body, content_type="text/csv"))
    assert (endpoint(source).get("comment"), endpoint(source).get("delimiter")) == (comment, delimiter)
    [table] = source["tables"].values()
    assert list(table["columns"]) == columns


async def test_a_text_in_an_old_encoding_is_drafted_with_it(serve: Serve) -> None:
    csv = "id,name\n1,café\n".encode("latin-1")
    draft, source, _ = await drafted(serve, "/r", lambda _: web.Response(body=csv, content_type="text/csv"))
    assert endpoint(source)["encoding"] == "windows-1252"
    assert any("encoding" in one for one in draft.unsure)
    told = web.Response(body=csv, headers={"Content-Type": "text/csv; charset=iso-8859-1"})
    _, source, _ = await drafted(serve, "/r", lambda _: told)
    assert "encoding" not in endpoint(source), "the answer says it"
    marked = web.Response(body=csv.decode("latin-1").encode("utf-16"), content_type="text/csv")
    _, source, _ = await drafted(serve, "/r", lambda _: marked)
    assert "encoding" not in endpoint(source), "the text says it"
    [table] = source["tables"].values()
    assert list(table["columns"]) == ["id", "name"]


@pytest.mark.parametrize(
    ("kind", "form"), [("application/gzip", "json"), ("application/octet-stream", "csv")]
)
async def test_a_packed_answer_that_does_not_say_so_is_drafted_with_it(
    serve: Serve, kind: str, form: str
) -> None:
    body = gzip.compress(b'[{"id": 1}, {"id": 2}]' if form == "json" else b"id,name\n1,a\n2,b\n")
    _, source, _ = await drafted(serve, "/r", lambda _: web.Response(body=body, content_type=kind))
    assert (endpoint(source)["decode"], endpoint(source).get("format", "json")) == ("gzip", form)
    with pytest.raises(SourceError, match=r"the answer is packed \(gzip\)"):
        await drafted(serve, "/r", lambda _: web.Response(body=body[:-9], content_type=kind))


async def test_csv_as_plain_text_may_have_lines_in_quotes(serve: Serve) -> None:
    text = 'id,name\n1,"a, b\nc"\n2,"d"\n'
    _, source, _ = await drafted(serve, "/r", lambda _: web.Response(text=text))
    assert endpoint(source)["format"] == "csv"


async def test_a_last_page_that_says_next_null_is_one_of_links(serve: Serve) -> None:
    page = {"count": 1, "next": None, "previous": None, "results": [{"id": 1}]}
    _, source, _ = await drafted(serve, "/r", lambda _: page)
    assert endpoint(source)["paginator"] == {"type": "json_link", "next_url_path": "next"}
    _, source, _ = await drafted(serve, "/r", lambda _: {"next": None, "results": [{"id": 1}]})
    assert "paginator" not in endpoint(source)


async def test_what_cannot_be_drafted_is_an_error(serve: Serve) -> None:
    with pytest.raises(SourceError, match="none of JSON"):
        await drafted(serve, "/r", lambda _: web.Response(text="hello"))
    page = web.Response(text="<html><title>Sign in</title></html>", content_type="text/html")
    with pytest.raises(SourceError, match="a page of HTML, titled 'Sign in'"):
        await drafted(serve, "/r", lambda _: page)
    with pytest.raises(SourceError, match="no records"):
        await drafted(serve, "/r", lambda _: {"results": []})
    with pytest.raises(SourceError, match="HTTP 404"):
        await drafted(serve, "/r", lambda _: web.Response(status=404))
    with pytest.raises(SecretError, match="NOPE is not set"):
        await drafted(serve, "/r?api_key=${env:NOPE}", lambda _: {})
    for url in ("ftp://x/y", "nothing", "http://"):
        with pytest.raises(UsageError, match="not an http"):
            take_apart(url)


SHAPES: list[tuple[Any, str, str, int]] = [
    ([{"a": 1}], "", "$", 1),
    ([{"page": 1}, [{"a": 1}, {"a": 2}]], "", "[1]", 2),
    ([["a", "b"], ["1", "2"]], "", "[1:]", 1),
    ({"message": {"items": [{"a": 1}], "facets": {}}}, "", "message.items", 1),
    ({"hits": {"hits": [{"a": 1}], "total": 1}, "aggregations": {"x": {"buckets": [{"k": 1}, {"k": 2}]}}}, "", "hits.hits", 1),
    ({"type": "FeatureCollection", "features": [{"a": 1}], "metadata": {"count": 1}}, "", "features", 1),
    ({"teams": [{"a": 1}]}, "teams", "teams", 1),
    ({"id": 1, "title": "x", "city": "y", "tags": [{"t": 1}, {"t": 2}]}, "", "$", 1),
    ({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": {"x": 2, "y": 2}}, "", "*", 3),
    ({"odd.name": [{"a": 1}, {"a": 2}]}, "", "['odd.name']", 2),
    ({"columns": ["a", "b"], "rows": [[1, 2], [3, 4], [5, 6]]}, "", "rows", 3),
    ({"meta": {"fields": [{"name": "a"}, {"name": "b"}]}, "data": [[1, 2]]}, "", "data", 1),
    ({"id": 1, "tags": ["x", "y"], "line": [[1, 2], [3, 4]]}, "", "$", 1),
    ({"columns": ["a", "a"], "rows": [[1, 2]]}, "", "$", 1),
    (None, "", "$", 0),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_records_are_found(number: int) -> None:
    body, collection, selector, count = SHAPES[number]
    shape = find_records(body, collection)
    assert (shape.selector, len(shape.records)) == (selector, count)


async def test_rows_that_are_arrays_have_the_names_beside_them(serve: Serve, tmp_path: Path) -> None:
    columns, rows = [{"name": "id"}, {"name": "Full name"}], [[1, "a"], [2, "b"]]

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"columns": columns, "rows": rows, "truncated": False})

    served = await serve(answer)
    client = WebClient()
    text = yaml_text(await draft_from_url(f"{served.url}/people", client, name="s", environ={}))
    await client.close()
    reader = Reader(text, tmp_path)
    assert await reader.scan("people") == [{"id": 1, "Full_name": "a"}, {"id": 2, "Full_name": "b"}]
    await reader.client.close()


def test_columns_have_the_types_that_every_value_allows() -> None:
    records = [
        {"n": 1, "x": 1, "zip": "01", "day": "2024-02-29", "at": "2024-01-01T00:00:00Z", "ok": True, "tags": ["a"], "un": None, "time": 1700000000, "big": 2**70},
        {"n": 2, "x": 1.5, "zip": "22", "day": "2024-03-01", "at": "2024-01-01T00:00:00+01:00", "ok": None, "tags": [], "un": None, "time": 1700000001, "big": 1},
    ]  # fmt: skip
    types = {column.name: column.type for column in columns_of(records)}
    assert types == {
        "n": "bigint", "x": "double", "zip": "string", "day": "date", "at": "timestamp", "ok": "boolean", "tags": "array<string>",
        "un": "string", "time": "timestamp", "big": "decimal(38,0)",
    }  # fmt: skip
    assert {column.type for column in columns_of([{"day": "2024-02-30"}, {"day": "2024-02-28"}])} == {
        "string"
    }


def test_columns_have_names_sql_takes_and_paths() -> None:
    record = {
        "container-title": "x", "a.b": 1, "2d": 2, "Name": "x", "name": "y", "rating": {"value": 1}, "attributes": {"id": 3},
        "geometry": {"type": "Point", "coordinates": [1.5, 2.5]}, "wide": {f"m{n}": n for n in range(20)} | {"id": 4},
    }  # fmt: skip
    found = {column.name: column.path for column in columns_of([record])}
    assert found == {
        "container_title": "container-title", "a_b": "['a.b']", "_2d": "2d", "Name": None, "name_2": "name", "rating_value": "rating.value",
        "id": "attributes.id", "longitude": "geometry.coordinates[0]", "latitude": "geometry.coordinates[1]", "geometry": None,
        "wide": None, "wide_id": "wide.id",
    }  # fmt: skip


def test_addresses() -> None:
    address = take_apart(
        "https://me:pw@api.example.org:8443/api/v2/users/7/posts?state=a&key=s3cret&page=2#x"
    )
    assert (address.base_url, address.path) == ("https://api.example.org:8443/api/v2", "users/7/posts")
    assert (address.params, dict(address.secrets), address.login) == ((("state", "a"), ("page", "2")), {"key": "s3cret"}, ("me", "pw"))  # fmt: skip
    assert address.collection == "posts"
    assert "s3cret" not in repr(address)
    assert [looks_like_id(text) for text in ("42", "Q42", "1803-2427", "users", "v2", "acs5", "8863.json")] == [True, True, True, False, False, False, True]  # fmt: skip
    assert [is_secret(text) for text in ("api_key", "apikey", "X-Api-Key", "access_token", "page_token", "nextToken", "state", "monkey")] == [True] * 4 + [False] * 4  # fmt: skip
    hosts = {"https://api.github.com": "github", "http://127.0.0.1:1": "local", "https://www.data.gov.uk": "uk", "https://api.census.gov/data": "census"}  # fmt: skip
    assert {host: source_name(host) for host in hosts if "uk" not in host} == {host: name for host, name in hosts.items() if "uk" not in host}  # fmt: skip
    assert [singular(text) for text in ("countries", "boxes", "works", "status", "address")] == ["country", "box", "work", "status", "address"]  # fmt: skip
    assert [identifier(text) for text in ("a-b", "1x", "page[size]", "", "__typename")] == ["a_b", "_1x", "page_size", "value", "typename"]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "no",
        "null",
        "1",
        "a: b",
        "# x",
        "{x}",
        "- x",
        "",
        " x",
        "é",
        "\u2028",
        "\x07",
        'a"b',
        "a\\b",
        "0o7",
        "~",
        "2024-01-01",
        "*a",
        "&a",
        "!x",
        "%x",
        "@x",
    ],
)
def test_every_text_stays_that_text_in_yaml(text: str) -> None:
    assert parse_document(f"k: {scalar(text)}\nl: [{scalar(text)}]\n", "x").data == {"k": text, "l": [text]}
