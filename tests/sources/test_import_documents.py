"""OpenAPI, Swagger, HAR and Postman, hand-made: imported, asked over a real wire; what is hostile is refused in words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.errors import FFFError, UsageError
from fff_sources.document import parse_document
from fff_sources.importing.counting import count_folder
from fff_sources.importing.documents import format_of, load_text
from fff_sources.importing.translate import Imported, import_document
from tests.web.serving import Serve

SECRET = "s3cr3t-0123456789-abcdefghij"


class Books:
    """Five books in pages of two, for those who have the key."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if SECRET not in (request.headers.get("X-Key", ""), request.query.get("api_key", "")):
            return web.json_response({}, status=401)
        books = [{"id": one, "title": f"t{one}"} for one in range(1, 6)]
        if (number := request.path.rpartition("/")[2]).isdigit():
            return web.json_response(books[int(number) - 1])
        start = (int(request.query.get("page", 1)) - 1) * 2
        return web.json_response({"books": books[start : start + 2], "meta": {"pages": 3}})


async def asked(found: Imported, sql: str, tmp_path: Path) -> tuple[list[dict[str, Any]], bool]:
    (tmp_path / "fff.yaml").write_text(found.text)
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql(sql)
        return sorted(result.to_arrow().to_pylist(), key=lambda row: row["id"]), result.complete


def read(document: Any, kind: str | None = None) -> Imported:
    return import_document(json.dumps(document), "shop.json", shown="shop.json", kind=kind)


ALL = [{"id": one, "title": f"t{one}"} for one in range(1, 6)]
BOOK = {"type": "object", "properties": {"id": {"type": "integer"}, "title": {"type": "string"}}}
LISTED = {
    "type": "object",
    "properties": {
        "meta": {"type": "object", "properties": {"pages": {"type": "integer"}}},
        "books": {"type": "array", "items": {"$ref": "#/definitions/Book"}},
    },
}


def swagger(host: str) -> dict[str, Any]:
    one = {"name": "bookId", "in": "path", "required": True, "type": "integer"}
    return {
        "swagger": "2.0",
        "info": {"title": "shop"},
        "host": host,
        "schemes": ["http"],
        "basePath": "/v1",
        "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "security": [{"key": []}],
        "definitions": {"Book": BOOK},
        "paths": {
            "/books": {
                "get": {
                    "parameters": [{"name": "page", "in": "query", "type": "integer", "default": 1}],
                    "responses": {"200": {"schema": LISTED}},
                },
                "post": {"responses": {}},
            },
            "/books/{bookId}": {
                "get": {"parameters": [one], "responses": {"200": {"schema": {"$ref": "#/definitions/Book"}}}}
            },
        },
    }


async def test_swagger_2_is_read_in_the_words_of_openapi_3(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = Books()
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    found = read(swagger((await serve(books.answer)).url.removeprefix("http://")))
    assert await asked(found, "SELECT id, title FROM shop.books", tmp_path) == (ALL, True)
    books.asked.clear()
    assert await asked(found, "SELECT id, title FROM shop.books WHERE id = 4", tmp_path) == ([ALL[3]], True)
    assert books.asked == ["/v1/books/4"]
    assert found.report.left_out == {"POST /books": "only what is read by GET is a table"}
    outcomes = {(one.field, one.outcome) for one in found.report.notes if one.table == "books"}
    assert {
        ("columns.id", "translated"),
        ("paging", "approximated"),
        ("path books", "translated"),
    } <= outcomes


def test_a_get_that_is_no_table_is_left_out_with_the_reason() -> None:
    document = swagger("shop.example.org")
    document["paths"]["/report"] = {"get": {"produces": ["text/csv"], "responses": {"200": {}}}}
    document["paths"]["/old"] = {"get": document["paths"]["/books"]["get"] | {"deprecated": True}}
    found = read(document).report.left_out
    assert set(found) == {"POST /books", "GET /report", "GET /old"}
    assert found["GET /old"] == "the document calls it deprecated"


def test_a_size_without_a_page_makes_the_table_say_that_it_may_miss_rows() -> None:
    document = swagger("shop.example.org")
    document["paths"]["/books"]["get"]["parameters"] = [{"name": "limit", "in": "query", "type": "integer"}]
    found = read(document)
    assert "exhaustive: false" in found.text
    assert found.report.may_miss_rows("books")


@pytest.mark.parametrize(
    ("parameter", "may_miss"),
    [
        ({"name": "title", "type": "string", "default": "open"}, True),
        ({"name": "title", "type": "boolean", "default": False}, True),
        ({"name": "title", "type": "string", "default": "all"}, False),
        ({"name": "title", "type": "string"}, False),
        ({"name": "sort", "type": "string", "default": "title"}, False),
    ],
)
def test_a_parameter_by_whose_default_rows_are_left_out_makes_the_table_say_so(
    parameter: dict[str, Any], may_miss: bool
) -> None:
    document = swagger("shop.example.org")
    document["paths"]["/books"]["get"]["parameters"].append({**parameter, "in": "query"})
    assert bool(read(document).report.may_miss_rows("books")) == may_miss


def test_pages_that_may_begin_at_0_make_the_table_say_that_it_may_miss_rows() -> None:
    document = swagger("shop.example.org")
    parameter = document["paths"]["/books"]["get"]["parameters"][0]
    assert not read(document).report.may_miss_rows("books")
    del parameter["default"]
    assert read(document).report.may_miss_rows("books")
    for pages, may_miss in (((2,), True), ((1, 2), False), ((0,), False)):
        found = har(*(entry(f"https://shop.example.org/books?page={page}", ALL) for page in pages))
        assert bool(found.report.may_miss_rows("GET books")) == may_miss


def test_a_get_of_another_server_is_left_out_with_its_address() -> None:
    schema = {"type": "array", "items": BOOK}
    get = {"responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
    files = {"get": get, "servers": [{"url": "https://ann:hunter2@files.example.org?key=hunter2"}]}
    document = {
        "openapi": "3.0.0",
        "servers": [{"url": "https://shop.example.org"}],
        "paths": {"/books": {"get": get}, "/files": files},
    }
    reason = read(document).report.left_out["GET /files"]
    assert reason == "it is asked at another server: https://files.example.org"


def entry(url: str, value: Any, **headers: str) -> dict[str, Any]:
    sent = [{"name": name.replace("_", "-"), "value": text} for name, text in headers.items()]
    content = {"mimeType": "application/json", "text": json.dumps(value)}
    return {
        "request": {"method": "GET", "url": url, "headers": sent},
        "response": {"status": 200, "content": content},
    }


async def test_a_har_file_is_drafted_from_its_answers_without_its_secrets(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = (await serve(Books().answer)).url
    monkeypatch.setenv("SHOP_X_KEY", SECRET)
    page = {"books": ALL[:2], "meta": {"pages": 3}}
    entries = [
        entry(
            f"{url}/v1/books?page=1&sig={SECRET}", page, X_Key=SECRET, Cookie=f"sid={SECRET}", X_Mine=SECRET
        ),
        entry(f"{url}/v1/books/4", ALL[3], X_Key=SECRET),
    ]
    found = read({"log": {"entries": entries}})
    whole = found.text + json.dumps(found.report.as_json()) + "".join(found.report.lines())
    assert SECRET not in whole
    assert "sid=" not in whole
    monkeypatch.setenv("SHOP_SIG", "x")
    assert await asked(found, "SELECT id, title FROM shop.books", tmp_path) == (ALL, True)
    assert await asked(found, "SELECT id, title FROM shop.book WHERE id = 4", tmp_path) == ([ALL[3]], True)
    told = {(one.field, one.outcome) for one in found.report.notes if not one.table}
    assert {("cookies", "dropped"), ("header X-Key", "approximated"), ("header x-mine", "dropped")} <= told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", f"Bearer {SECRET}"),
        ("Authorization", "Basic " + "YW5uOnMzY3IzdC0wMTIzNDU2Nzg5"),
        ("X-Api-Key", SECRET),
        ("X-Session-Token", SECRET),
    ],
)
def test_no_login_of_a_har_file_reaches_the_spec(name: str, value: str) -> None:
    found = read(
        {
            "log": {
                "entries": [
                    entry("https://a.example.org/things", [{"id": 1}], **{name.replace("-", "_"): value})
                ]
            }
        }
    )
    assert value.rpartition(" ")[2] not in found.text + json.dumps(found.report.as_json())
    assert "${env:SHOP_" in found.text


async def test_a_postman_collection_is_read_with_its_variables(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = (await serve(Books().answer)).url
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    kept = [{"code": 200, "body": json.dumps({"books": ALL[:2], "meta": {"pages": 3}})}]
    one = [{"code": 200, "body": json.dumps(ALL[0])}]
    collection = {
        "info": {
            "name": "shop",
            "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
        },
        "auth": {
            "type": "apikey",
            "apikey": [{"key": "key", "value": "X-Key"}, {"key": "value", "value": SECRET}],
        },
        "variable": [{"key": "baseUrl", "value": f"{url}/v1"}],
        "item": [
            {
                "name": "folder",
                "item": [
                    {
                        "name": "All",
                        "request": {"method": "GET", "url": {"raw": "{{baseUrl}}/books?page=1"}},
                        "response": kept,
                    },
                    {
                        "name": "One",
                        "request": {"method": "GET", "url": "{{baseUrl}}/books/:id"},
                        "response": one,
                    },
                    {"name": "New", "request": {"method": "POST", "url": "{{baseUrl}}/books"}},
                ],
            }
        ],
    }
    found = read(collection)
    assert SECRET not in found.text + json.dumps(found.report.as_json())
    assert await asked(found, "SELECT id, title FROM shop.books", tmp_path) == (ALL, True)
    assert await asked(found, "SELECT id, title FROM shop.book WHERE id = 4", tmp_path) == ([ALL[3]], True)
    assert found.report.left_out == {"POST New": "only what is read by GET is a table"}


def har(*entries: dict[str, Any]) -> Imported:
    return read({"log": {"entries": list(entries)}})


def table_of(found: Imported, name: str) -> dict[str, Any]:
    [source] = parse_document(found.text, "draft").data["sources"].values()
    table: dict[str, Any] = source["tables"][name]
    return table


def told(found: Imported) -> str:
    return json.dumps(found.report.as_json())


def test_parameters_that_only_sound_like_paging_are_sent_as_they_were() -> None:
    url = (
        "https://a.example/rates?from=2020-01-01&to=2020-02-01&after=2020-01-01T00:00:00Z&p=eur&n=all&page=1"
    )
    found = har(entry(url, {"items": [{"id": 1}, {"id": 2}]}))
    endpoint = table_of(found, "rates")["scan"]["endpoint"]
    assert endpoint["params"] == {
        "from": "2020-01-01", "to": "2020-02-01", "after": "2020-01-01T00:00:00Z", "p": "eur", "n": "all",
    }  # fmt: skip
    assert endpoint["paginator"] == {"type": "page_number", "page_param": "page", "base_page": 1}
    years = har(entry("https://a.example/rates?start=2020&end=2021&min=1&max=9", [{"id": 1}]))
    endpoint = table_of(years, "rates")["scan"]["endpoint"]
    assert {name: str(value) for name, value in endpoint["params"].items()} == {
        "start": "2020", "end": "2021", "min": "1", "max": "9",
    }  # fmt: skip
    assert "exhaustive" not in years.text


def test_one_parameter_turns_pages_and_their_size_is_kept() -> None:
    found = har(
        entry("https://a.example/r?page=1&per_page=50&offset=7&limit=9", [{"id": 1}, {"id": 2}]),
        entry("https://a.example/r?page=0&per_page=50&offset=7&limit=9", [{"id": 0}]),
    )
    endpoint = table_of(found, "r")["scan"]["endpoint"]
    assert endpoint["paginator"] == {
        "type": "page_number", "page_param": "page", "base_page": 0, "page_size": 50, "page_size_param": "per_page",
    }  # fmt: skip
    assert list(endpoint["params"]) == ["offset", "limit"]
    assert "of 50 as per_page says" in told(found)


def test_what_turned_pages_and_is_left_out_is_told() -> None:
    found = har(entry("https://a.example/r?offset=40&limit=20&q=x", [{"id": 1}]))
    assert table_of(found, "r")["scan"]["endpoint"]["params"] == {"q": "x"}
    assert "offset and limit turned pages" in told(found)
    assert "exhaustive: false" in found.text


def test_columns_are_of_all_answers_of_a_path() -> None:
    url = "https://a.example/rates?page="
    found = har(
        entry(url + "1", {"items": [{"id": 1, "n": None}, {"id": 2, "n": 1}]}),
        entry(url + "2", {"items": [{"id": 3, "n": "a", "extra": 7}]}),
        entry(url + "3", {"items": []}),
        entry(url + "4", {"other": [{"strange": 1}, {"strange": 2}]}),
    )
    assert table_of(found, "rates")["columns"] == {"id": "bigint", "n": "string", "extra": "bigint"}
    assert "an answer with records at other instead of items is not looked at" in told(found)


def test_an_answer_that_is_no_list_has_no_columns_of_a_list() -> None:
    url = "https://a.example/rates?page="
    rates = [{"id": 1}, {"id": 2}]
    found = har(entry(url + "1", rates), entry(url + "2", {"errors": [{"code": 1}]}), entry(url + "3", []))
    assert table_of(found, "rates")["columns"] == {"id": "bigint"}
    assert "an answer that is no list is not looked at" in told(found)
    things = har(entry("https://a.example/one", {"a": 1}), entry("https://a.example/one", {"b": 2}))
    assert table_of(things, "one")["columns"] == {"a": "bigint", "b": "bigint"}


def test_columns_are_of_all_answers_that_a_collection_keeps() -> None:
    kept = [{"code": 200, "body": json.dumps([{"id": 1} | more])} for more in ({}, {"extra": "x"})]
    collection = {
        "info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
        "item": [{"name": "All", "request": "https://a.example/rates?page={{page}}", "response": kept}],
    }
    table = table_of(read(collection), "rates")
    assert table["columns"] == {"id": "bigint", "extra": "string"}
    assert table["scan"]["endpoint"]["paginator"]["page_param"] == "page"


# ---------------------------------------------------------------------------------------------------- hostile


def test_what_is_of_no_format_is_refused_and_the_formats_are_told() -> None:
    for text in ("[1, 2]", '{"a": 1}', "a: [", "just words", "\x00", ""):
        with pytest.raises(UsageError):
            import_document(text, "x", shown="x")
    with pytest.raises(UsageError) as error:
        import_document('{"a": 1}', "x", shown="x")
    assert "known: airbyte, coral, dlt, har, openapi, postman" in str(error.value.render())


def test_bombs_are_refused() -> None:
    anchors = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    for text in (anchors, '{"a":' * 5_000 + "1" + "}" * 5_000, '{"a":' * 300 + "1" + "}" * 300):
        with pytest.raises(UsageError):
            load_text(text, "bomb")


def test_references_in_circles_and_parts_that_multiply_end() -> None:
    document = swagger("shop.example.org")
    circle = {f"L{n}": {"allOf": [{"$ref": f"#/definitions/L{n + 1}"}] * 2} for n in range(40)}
    document["definitions"] |= circle | {"L40": {"$ref": "#/definitions/L40"}}
    document["definitions"]["Book"]["properties"]["deep"] = {"$ref": "#/definitions/L0"}
    assert "deep" in read(document).text
    parts = {f"p{n}": {"$ref": f"#/definitions/p{n + 1}"} for n in range(100)} | {
        "p100": {"$ref": "#/definitions/p0"}
    }
    with pytest.raises(UsageError, match="nothing in it can be translated"):
        read({"type": "DeclarativeSource", "definitions": parts, "streams": [{"$ref": "#/definitions/p0"}]})


WORDS = [
    "type", "streams", "retriever", "requester", "DeclarativeSource", "SimpleRetriever", "HttpRequester", "url_base", "path",
    "https://a.example.org/{{ config['x'] }}", "{{ response.a }}", "{% x %}", "$ref", "#/streams/0", "#/definitions/a",
    "paginator", "DefaultPaginator", "pagination_strategy", "CursorPagination", "cursor_value", "page_token_option",
    "record_selector", "extractor", "field_path", "schema_loader", "schema", "properties", "authenticator", "primary_key",
    "partition_router", "SubstreamPartitionRouter", "parent_stream_configs", "values", "ListPartitionRouter", "transformations",
    "openapi", "3.0.0", "swagger", "2.0", "paths", "/a/{b}", "get", "responses", "200", "content", "application/json", "array",
    "items", "object", "parameters", "name", "in", "query", "allOf", "servers", "url", "log", "entries", "request", "response",
    "headers", "value", "method", "GET", "item", "info", "variable", "raw", "{{baseUrl}}/x", "status", "text", "[{}]", "", "\u0000",
]  # fmt: skip


def anything(dice: random.Random, depth: int) -> Any:
    kind = dice.random()
    if depth == 0 or kind < 0.25:
        return dice.choice([*WORDS, None, True, 0, -1, 1.5, 10**30])
    if kind < 0.45:
        return [anything(dice, depth - 1) for _ in range(dice.randrange(4))]
    return {dice.choice(WORDS): anything(dice, depth - 1) for _ in range(dice.randrange(6))}


STREAM: dict[str, Any] = {
    "name": "a",
    "primary_key": "id",
    "schema_loader": {"type": "InlineSchemaLoader", "schema": {"properties": {"id": {"type": "integer"}}}},
    "retriever": {
        "type": "SimpleRetriever",
        "requester": {"url_base": "https://a.example.org", "path": "a", "authenticator": {"type": "NoAuth"}},
        "record_selector": {"extractor": {"type": "DpathExtractor", "field_path": ["rows"]}},
        "paginator": {
            "type": "DefaultPaginator",
            "pagination_strategy": {"type": "CursorPagination", "cursor_value": "{{ response.next }}"},
            "page_token_option": {"type": "RequestPath"},
        },
        "partition_router": [{"type": "ListPartitionRouter", "values": ["x"], "cursor_field": "v"}],
    },
}
STREAM["retriever"]["requester"]["request_parameters"] = {"v": "{{ stream_slice.v }}"}
FRAMES: dict[str, Any] = {
    "airbyte": {"type": "DeclarativeSource", "streams": [STREAM, {**STREAM, "name": "b"}]},
    "openapi": swagger("shop.example.org"),
    "har": {"log": {"entries": [entry("https://a.example.org/x?page=1", [{"id": 1}])]}},
    "postman": {"info": {}, "item": [{"name": "a", "request": {"url": {"raw": "https://a.example.org/x"}}}]},
}


def mutated(dice: random.Random, node: Any, depth: int = 0) -> Any:
    """The document with some of its parts put in the place of others, or of anything."""
    if dice.random() < 0.08 and depth:
        return anything(dice, 4)
    if isinstance(node, dict):
        changed = {key: mutated(dice, item, depth + 1) for key, item in node.items()}
        if dice.random() < 0.3:
            changed[dice.choice(WORDS)] = anything(dice, 4)
        return changed
    return [mutated(dice, item, depth + 1) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize("kind", list(FRAMES))
def test_random_documents_end_in_a_spec_or_in_one_of_our_errors(kind: str) -> None:
    imported = 0
    for seed in range(60):
        document = mutated(random.Random(f"{kind}{seed}"), FRAMES[kind])
        try:
            found = import_document(json.dumps(document), "fuzz", shown="fuzz", kind=kind)
        except FFFError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {document}") from error
        imported += 1
        assert found.report.written
    assert imported > 5


def test_a_folder_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(swagger("shop.example.org")))
    (tmp_path / "b.har").write_text(json.dumps(FRAMES["har"]))
    (tmp_path / "c.yaml").write_text("a: [")
    lines = list(count_folder(tmp_path, None))
    assert lines[:2] == ["openapi", "        1  documents"]
    assert "        2  tables" in lines
    assert "        1  tables translated and linted" in lines
    assert lines[-2:] == ["unreadable", "        1  documents"]
    assert format_of({"paths": {}, "openapi": "3"}) == "openapi"
