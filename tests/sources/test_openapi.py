"""Specs drafted from OpenAPI documents."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError, UsageError
from fff.web.client import WebClient
from fff_sources.authoring.draft import SpecDraft
from fff_sources.authoring.openapi.document import draft_from_openapi
from fff_sources.authoring.yamltext import yaml_text
from fff_sources.document import parse_document
from fff_sources.load import lint
from tests.web.serving import Serve

LIBRARY = """
openapi: 3.0.3
info: {title: Library, version: "1"}
servers: [{url: "https://{region}.books.example.org/v2", variables: {region: {default: eu}}}]
security: [{key: []}]
paths:
  /books:
    get:
      summary: All books.
      parameters:
        - {name: page, in: query, schema: {type: integer, default: 1}}
        - {$ref: "#/components/parameters/Size"}
        - {name: language, in: query, schema: {type: string}}
        - {name: api_key, in: query, schema: {type: string}}
      responses:
        "200":
          content:
            application/json:
              schema:
                type: object
                properties:
                  meta: {type: object, properties: {total: {type: integer}, pages: {type: integer}}}
                  books: {type: array, items: {$ref: "#/components/schemas/Book"}}
  /books/{bookId}:
    parameters: [{name: bookId, in: path, required: true, schema: {type: integer, format: int64}}]
    get:
      responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}}
  /books/{bookId}/loans:
    get:
      parameters:
        - {name: bookId, in: path, required: true, schema: {type: integer}}
        - {name: cursor, in: query, schema: {type: string}}
      responses:
        "200":
          content:
            application/json:
              schema:
                type: object
                properties:
                  next_cursor: {type: string, nullable: true}
                  data: {type: array, items: {type: object, properties: {id: {type: string, format: uuid}, since: {type: string, format: date-time}}}}
  /readers/{name}:
    get:
      parameters: [{name: name, in: path, required: true, schema: {type: string}}]
      responses: {"200": {content: {application/json: {schema: {type: object, properties: {data: {type: object, properties: {name: {type: string}, since: {type: string, format: date}}}}}}}}}
  /search:
    get:
      parameters: [{name: q, in: query, required: true, schema: {type: string}}]
      responses: {"200": {content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Author"}}}}}}
  /ping: {get: {responses: {"204": {description: nothing}}}}
  /orders: {post: {responses: {"200": {content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Book"}}}}}}}}
components:
  parameters: {Size: {name: per_page, in: query, schema: {type: integer, maximum: 50}}}
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Thing: {type: object, properties: {id: {type: integer}, created: {type: string, format: date-time}}}
    Book:
      allOf:
        - {$ref: "#/components/schemas/Thing"}
        - type: object
          properties:
            title: {type: [string, "null"]}
            language: {type: string}
            price: {type: number}
            copies: {type: integer, format: int32}
            tags: {type: array, items: {type: string}}
            author: {$ref: "#/components/schemas/Author"}
            similar: {type: array, items: {$ref: "#/components/schemas/Book"}}
    Author: {type: object, properties: {name: {type: string}, best: {oneOf: [{type: "null"}, {$ref: "#/components/schemas/Short"}]}, self: {$ref: "#/components/schemas/Author"}}}
    Short: {type: object, properties: {isbn: {type: string}}}
"""  # fmt: skip


async def drafted(document: str, folder: Path, **options: Any) -> tuple[SpecDraft, dict[str, Any]]:
    file = folder / "openapi.yaml"
    file.write_text(dedent(document))
    client = WebClient()
    draft = await draft_from_openapi(
        str(file), client, **{"url": None, "name": None, "headers": {}, "environ": {}} | options
    )
    await client.close()
    text = yaml_text(draft)
    spec = folder / "spec.yaml"
    spec.write_text(text)
    assert lint(spec, environ=dict.fromkeys(draft.variables, "x")) == []
    return draft, parse_document(text, "draft").data["sources"][draft.name]


async def test_lists_become_tables_and_their_siblings_lookups(tmp_path: Path) -> None:
    draft, source = await drafted(LIBRARY, tmp_path, name="lib")
    assert source["client"] == {
        "base_url": "https://eu.books.example.org/v2",
        "auth": {"type": "api_key", "name": "X-Key", "api_key": "${env:LIB_API_KEY}", "location": "header"},
    }
    assert list(source["tables"]) == ["books", "loans", "search", "reader"]
    books = source["tables"]["books"]
    assert books["scan"]["endpoint"] == {
        "path": "books",
        "data_selector": "books",
        "paginator": {
            "type": "page_number", "page_param": "page", "base_page": 1, "page_size": 50, "page_size_param": "per_page",
            "total_path": "meta.pages", "total_rows_path": "meta.total",
        },
    }  # fmt: skip
    assert books["lookups"] == [{"keys": ["id"], "endpoint": {"path": "books/{id}"}}]
    assert books["key_columns"] == [{"name": "language"}, {"name": "id"}]
    assert books["description"] == "All books"
    assert {name: part if isinstance(part, str) else part["type"] for name, part in books["columns"].items()} == {
        "id": "bigint", "created": "timestamp", "title": "string", "language": "string", "price": "double", "copies": "int",
        "tags": "array<string>", "author_name": "string", "author_best_isbn": "string", "author_self": "string", "similar": "string",
    }  # fmt: skip
    assert books["columns"]["author_best_isbn"]["path"] == "author.best.isbn"
    assert draft.unsure[0] == "base_url: region may be something else than 'eu'"


async def test_an_object_that_holds_one_list_and_what_stands_beside_it_leads_to_the_list_by_any_name(
    tmp_path: Path,
) -> None:
    island = {"type": "object", "properties": {"code": {"type": "string"}}}
    within: dict[str, Any] = {"einträge": {"type": "array", "items": island}, "total": {"type": "integer"}}
    answer: dict[str, Any] = {"properties": {"antwort": {"type": "object", "properties": within}}}
    content = {"content": {"application/json": {"schema": answer}}}
    document = {"openapi": "3.0.0", "info": {}, "servers": [{"url": "https://example.org"}]}
    paths = {"/inseln": {"get": {"responses": {"200": content}}}}
    _, source = await drafted(json.dumps({**document, "paths": paths}), tmp_path)
    assert source["tables"]["inseln"]["scan"]["endpoint"]["data_selector"] == "antwort.einträge"
    beside: dict[str, Any] = {
        "verweise": answer["properties"]["antwort"],
        "inseln": {"type": "array", "items": island},
    }
    answer["properties"] |= beside  # now there is another list
    _, source = await drafted(json.dumps({**document, "paths": paths}), tmp_path)
    assert source["tables"]["inseln"]["scan"]["endpoint"]["data_selector"] == "inseln"
    del answer["properties"]["verweise"], answer["properties"]["inseln"]
    within["name"] = {"type": "string"}  # now it is a thing that has a list
    with pytest.raises(UsageError):
        await drafted(json.dumps({**document, "paths": paths}), tmp_path)


async def test_what_the_document_leaves_open_is_told(tmp_path: Path) -> None:
    draft, _ = await drafted(LIBRARY.replace(", variables: {region: {default: eu}}", ""), tmp_path)
    assert draft.base_url == "https://region.books.example.org/v2"
    assert draft.unsure[0] == "base_url: nothing says what region is"
    answer = {
        "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "pet.yaml#/Pet"}}}}
    }
    apart = {"openapi": "3.0.0", "info": {}, "paths": {"/pets": {"get": {"responses": {"200": answer}}}}}
    with pytest.raises(UsageError) as told:
        await drafted(json.dumps(apart), tmp_path)
    assert "pet.yaml#/Pet" in told.value.render()


def listing(*parameters: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """A document of one list."""
    records = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "integer"}, **properties}},
    }
    operation = {
        "parameters": parameters,
        "responses": {"200": {"content": {"application/json": {"schema": records}}}},
    }
    return {
        "openapi": "3.1.0",
        "servers": [{"url": "https://example.org"}],
        "paths": {"/rows": {"get": operation}},
    }


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        ({"type": "number", "format": "float"}, "double"),
        ({"type": ["integer", "number", "null"]}, "double"),
        ({"type": ["integer", "string"]}, "string"),
        ({"type": ["null", "integer"]}, "bigint"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "string"),
        (
            {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "string"}]},
            "string",
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "bigint"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ({"oneOf": [{"type": "integer"}, {"enum": [""]}, {"enum": [None]}]}, "bigint"),
    ],
)
async def test_a_column_holds_all_that_the_document_lets_stand_there(
    tmp_path: Path, schema: dict[str, Any], column: str
) -> None:
    _, source = await drafted(json.dumps(listing(x=schema)), tmp_path)
    assert source["tables"]["rows"]["columns"]["x"] == column


@pytest.mark.parametrize(("lacking", "tables"), [("", ["rows"]), ("score", ["rows", "row"])])
async def test_the_get_of_one_thing_is_a_lookup_of_the_list_where_it_tells_as_much(
    tmp_path: Path, lacking: str, tables: list[str]
) -> None:
    document = listing(score={"type": "number"})
    one = {"id": {"type": "integer"}, "score": {"type": "number"}, "more": {"type": "string"}}
    schema = {"type": "object", "properties": {name: part for name, part in one.items() if name != lacking}}
    get = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]}
    document["paths"]["/rows/{id}"] = {
        "get": {**get, "responses": {"200": {"content": {"application/json": {"schema": schema}}}}}
    }
    _, source = await drafted(json.dumps(document), tmp_path)
    assert list(source["tables"]) == tables
    assert ("lookups" in source["tables"]["rows"]) == (not lacking)


@pytest.mark.parametrize(
    ("place", "column"),
    [
        ("username", None),
        ("userName", None),
        ("userId", "id"),
        ("user_id", "id"),
        ("userid", "id"),
        ("userCode", "code"),
        ("name", "name"),
    ],
)
async def test_a_path_asks_by_a_column_that_is_surely_the_same(
    tmp_path: Path, place: str, column: str | None
) -> None:
    document = listing(name={"type": "string"}, code={"type": "string"})
    rows = document["paths"].pop("/rows")
    record = rows["get"]["responses"]["200"]["content"]["application/json"]["schema"]["items"]
    get = {"parameters": [{"name": place, "in": "path", "required": True, "schema": {"type": "string"}}]}
    one = {**get, "responses": {"200": {"content": {"application/json": {"schema": record}}}}}
    document["paths"] = {"/users": rows, f"/users/{{{place}}}": {"get": one}}
    _, source = await drafted(json.dumps(document), tmp_path)
    lookups = source["tables"]["users"].get("lookups", [])
    assert [lookup["keys"] for lookup in lookups] == ([] if column is None else [[column]])


@pytest.mark.parametrize(
    ("parameter", "first"),
    [
        ({}, None),
        ({"description": "The page to return, at most 10"}, None),
        ({"schema": {"type": "integer", "default": 2}}, None),
        ({"description": "Zero-based page index (0..N)"}, 0),
        ({"description": "The page to return. Starts at 0."}, 0),
        ({"description": "Page, starting from 1; at most 10"}, 1),
        ({"description": "0-based", "schema": {"type": "integer", "minimum": 1}}, 1),
        ({"description": "The page, from 1 on (not zero-based)", "schema": {"type": "integer"}}, None),
        ({"description": "0-based", "example": 1}, 0),
        ({"example": 0, "schema": {"type": "integer", "default": 1}}, 1),
        ({"example": 0}, 0),
    ],
)
async def test_pages_begin_where_the_document_says(
    tmp_path: Path, parameter: dict[str, Any], first: int
) -> None:
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}} | parameter
    _, source = await drafted(json.dumps(listing(page)), tmp_path)
    assert source["tables"]["rows"]["scan"]["endpoint"]["paginator"].get("base_page") == first


@pytest.mark.parametrize(
    ("param", "following", "paginator"),
    [
        ("cursor", {"next": {"type": "string", "format": "uri"}}, {"type": "json_link", "next_url_path": "next"}),
        ("cursor", {"next": {"type": "string"}}, {"type": "cursor", "cursor_path": "next", "cursor_param": "cursor"}),
        ("NextToken", {"nextToken": {"type": "string"}}, {"type": "cursor", "cursor_path": "nextToken", "cursor_param": "NextToken"}),
        ("filter", {"next": {"type": "string"}}, {"type": "json_link", "next_url_path": "next"}),
    ],
)  # fmt: skip
async def test_what_follows_is_a_cursor_where_a_parameter_takes_it_and_no_url(
    tmp_path: Path, param: str, following: dict[str, Any], paginator: dict[str, Any]
) -> None:
    document = listing({"name": param, "in": "query", "schema": {"type": "string"}})
    content = document["paths"]["/rows"]["get"]["responses"]["200"]["content"]["application/json"]
    content["schema"] = {"type": "object", "properties": {"rows": content["schema"], **following}}
    marked = "\ufeff" + json.dumps(document)  # as some tools write it
    _, source = await drafted(marked, tmp_path)
    assert source["tables"]["rows"]["scan"]["endpoint"]["paginator"] == paginator


async def test_a_header_that_must_be_sent_is_written_where_its_value_is_known(tmp_path: Path) -> None:
    known = {"name": "X-Version", "in": "header", "required": True, "schema": {"enum": ["2022-06-28"]}}
    open_ = {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}}
    draft, source = await drafted(json.dumps(listing(known, open_)), tmp_path)
    assert source["tables"]["rows"]["scan"]["endpoint"]["headers"] == {"X-Version": "2022-06-28"}
    assert "rows: the header X-Tenant must be sent: write it under headers" in draft.unsure


async def test_what_is_asked_at_another_server_is_no_table_of_this_one(tmp_path: Path) -> None:
    document = listing()
    document["paths"]["/files"] = {
        **document["paths"]["/rows"],
        "servers": [{"url": "https://files.example.org"}],
    }
    document["paths"]["/here"] = {**document["paths"]["/rows"], "servers": [{"url": "https://example.org"}]}
    _, source = await drafted(json.dumps(document), tmp_path)
    assert list(source["tables"]) == ["rows", "here"]
    del document["servers"]  # then that of the document's own address, of which nothing is known here
    draft, source = await drafted(json.dumps(document), tmp_path)
    assert "base_url: the document names no host; write it, or give it as URL" in draft.unsure
    assert list(source["tables"]) == ["rows"]
    del document["paths"]["/rows"]  # then every path names its own
    _, source = await drafted(json.dumps(document), tmp_path)
    assert source["client"]["base_url"] == "https://files.example.org"
    assert list(source["tables"]) == ["files"]


@pytest.mark.parametrize("whole", ["https://example.org/v1", "https://example.org/v1/", "/v1"])
@pytest.mark.parametrize("own", ["https://example.org/v1", "https://example.org/v1/", "/v1/"])
async def test_a_server_may_be_written_in_several_ways(tmp_path: Path, whole: str, own: str) -> None:
    document = listing() | {"servers": [{"url": whole}]}
    document["paths"]["/own"] = {**document["paths"]["/rows"], "servers": [{"url": own}]}
    _, source = await drafted(json.dumps(document), tmp_path)
    assert list(source["tables"]) == ["rows", "own"]


async def test_what_a_request_needs_becomes_required_keys(tmp_path: Path) -> None:
    _, source = await drafted(LIBRARY, tmp_path, name="lib")
    loans, search, reader = (source["tables"][name] for name in ("loans", "search", "reader"))
    assert loans["key_columns"] == [{"name": "bookId", "require": "required"}]
    assert loans["columns"]["bookId"] == "bigint"
    assert loans["lookups"][0]["endpoint"] == {
        "path": "books/{bookId}/loans", "data_selector": "data",
        "paginator": {"type": "cursor", "cursor_path": "next_cursor", "cursor_param": "cursor"},
    }  # fmt: skip
    assert search["lookups"] == [{"keys": ["q"], "endpoint": {"path": "search"}}]
    assert reader["lookups"] == [
        {"keys": ["name"], "endpoint": {"path": "readers/{name}", "data_selector": "data"}}
    ]
    assert reader["columns"] == {"name": "string", "since": "date"}


PETS = """
openapi: 3.1.0
servers: [{url: "https://pets.example.org"}]
paths:
  /pets:
    get:
      parameters: [{name: PARAM, in: query, required: true, schema: {type: string}}]
      responses: {200: {content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}}}
  /pets/{petId}:
    get:
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {200: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
components: {schemas: {Pet: {type: object, properties: {id: {type: integer}, status: {type: string}}}}}
"""


async def test_what_a_list_must_be_given_is_no_demand_on_the_lookup_of_one_thing(tmp_path: Path) -> None:
    _, source = await drafted(PETS.replace("PARAM", "status"), tmp_path, name="s")
    assert list(source["tables"]) == ["pets"]
    pets = source["tables"]["pets"]
    assert pets["key_columns"] == [
        {"name": "status", "require": "any_of"},
        {"name": "id", "require": "any_of"},
    ]
    assert [one["keys"] for one in pets["lookups"]] == [["status"], ["id"]]


async def test_one_thing_that_does_not_tell_what_its_list_is_asked_by_is_a_table_of_its_own(
    tmp_path: Path,
) -> None:
    _, source = await drafted(PETS.replace("PARAM", "q"), tmp_path, name="s")
    assert source["tables"]["pets"]["key_columns"] == [{"name": "q", "require": "required"}]
    assert source["tables"]["pet"]["key_columns"] == [{"name": "id", "require": "required"}]
    assert [one["keys"] for one in source["tables"]["pet"]["lookups"]] == [["id"]]


MINIMAL = """
openapi: 3.1.0
paths: {/a: {get: {responses: {default: {content: {application/json: {schema: {type: array, items: {type: object, properties: {id: {type: integer}}}}}}}}}}}
%s
"""
SCHEMES = [
    ("{type: http, scheme: bearer}", {"type": "bearer", "token": "${env:S_TOKEN}"}),
    ("{type: http, scheme: Basic}", {"type": "http_basic", "username": "${env:S_USER}", "password": "${env:S_PASSWORD}"}),
    ("{type: apiKey, in: query, name: k}", {"type": "api_key", "name": "k", "api_key": "${env:S_API_KEY}", "location": "query"}),
    ("{type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://x/t', scopes: {}}}}", {"type": "oauth2_client_credentials", "access_token_url": "https://x/t", "client_id": "${env:S_CLIENT_ID}", "client_secret": "${env:S_CLIENT_SECRET}"}),
    ("{type: mutualTLS}", None),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SCHEMES)))
async def test_security_schemes(tmp_path: Path, number: int) -> None:
    scheme, auth = SCHEMES[number]
    _, source = await drafted(
        MINIMAL % f"components: {{securitySchemes: {{one: {scheme}}}}}", tmp_path, name="s"
    )
    assert source["client"].get("auth") == auth


async def test_what_a_servers_url_gives_away_is_not_written(tmp_path: Path) -> None:
    url = "https://zoe:geheim1@x.org/v4/?api_key=geheim2&format=json"
    draft, source = await drafted(MINIMAL % f"servers: [{{url: '{url}'}}]", tmp_path, name="s")
    client = source["client"]
    assert client["base_url"] == "https://x.org/v4"
    assert client["params"] == {"api_key": "${env:S_API_KEY}", "format": "json"}
    assert client["auth"] == {
        "type": "http_basic",
        "username": "${env:S_USER}",
        "password": "${env:S_PASSWORD}",
    }
    assert draft.variables == ["S_USER", "S_PASSWORD", "S_API_KEY"]
    assert "geheim" not in yaml_text(draft)
    assert "zoe" not in yaml_text(draft)
    assert any("holds a login" in one for one in draft.unsure)


async def test_servers(tmp_path: Path, serve: Serve) -> None:
    draft, source = await drafted(MINIMAL % "", tmp_path, name="s")
    assert "base_url: the document names no host; write it, or give it as URL" in draft.unsure
    _, source = await drafted(MINIMAL % "servers: [{url: /v3/}]", tmp_path, url="https://x.org/v4/", name="s")
    assert source["client"]["base_url"] == "https://x.org/v4"
    document = parse_document(MINIMAL % "servers: [{url: /v3/}]", "x").data

    async def handler(request: web.Request) -> web.Response:
        known = request.query.get("token") == "geheim"
        return web.json_response(text=json.dumps(document)) if known else web.Response(status=403)

    served = await serve(handler)
    client = WebClient()
    where = f"{served.url}/docs/openapi.json?token=${{env:T}}"
    options: dict[str, Any] = {"url": None, "name": None, "headers": {}}
    draft = await draft_from_openapi(where, client, **options, environ={"T": "geheim"})
    assert draft.base_url == f"{served.url}/v3"
    assert "geheim" not in yaml_text(draft)
    with pytest.raises(SourceError, match="HTTP 403"):
        await draft_from_openapi(f"{served.url}/docs/openapi.json", client, **options, environ={})
    await client.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swagger: '2.0'\npaths: {}\n", "only OpenAPI 3 is read, and this says 2.0"),
        ("a: 1\n", "it has no paths"),
        ("{", "not valid JSON"),
        ("a: [\n", "not an OpenAPI document"),
        (
            "openapi: 3.0.0\npaths: {/a: {get: {responses: {'200': {description: x}}}}}\n",
            "no GET that answers a list",
        ),
        ("openapi: 3.0.0\npaths: {/a: {get: {$ref: '#/paths/~1a/get'}}}\n", "no GET that answers a list"),
    ],
)
async def test_what_is_no_such_document(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        await drafted(text, tmp_path)


async def test_references_that_lead_out_of_the_document_are_told(tmp_path: Path) -> None:
    more = "components: {}"
    text = (MINIMAL % more).replace("{type: integer}", "{$ref: 'other.yaml#/Id'}")
    draft, source = await drafted(text, tmp_path, name="s")
    assert source["tables"]["a"]["columns"] == {"id": "string"}
    assert "references that lead out of the document were left out: other.yaml#/Id" in draft.unsure
