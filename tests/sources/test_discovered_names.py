"""Services whose columns differ in case alone: each is a column of its own, and asked for by its own name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from aiohttp import web

from tests.sources.discovering import rows, types
from tests.sources.reading import Reader
from tests.web.serving import Serve

DATA = [{"Id": 1, "id": 10}, {"Id": 2, "id": 20}]
METADATA = """<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="s" xmlns="http://docs.oasis-open.org/odata/ns/edm"><EntityType Name="Thing"><Key><PropertyRef Name="Id"/></Key>
<Property Name="Id" Type="Edm.Int32"/><Property Name="id" Type="Edm.Int32"/></EntityType>
<EntityContainer Name="All"><EntitySet Name="things" EntityType="s.Thing"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>"""
NUMBER = {"kind": "SCALAR", "name": "Int", "ofType": None}
SCHEMA = {
    "Query": {"things": {"kind": "LIST", "name": None, "ofType": {"kind": "OBJECT", "name": "Thing", "ofType": None}}},
    "Thing": {"Id": NUMBER, "id": NUMBER},
}  # fmt: skip


async def ckan(request: web.Request) -> web.Response:
    fields = request.query["fields"].split(",") if "fields" in request.query else ["Id", "id"]
    kept = json.loads(request.query.get("filters", "{}"))
    chosen = [row for row in DATA if all(row[name] == value for name, value in kept.items())]
    records = [{name: row[name] for name in fields} for row in chosen]
    if request.query["limit"] == "0":
        records = []
    described = [{"id": name, "type": "int4"} for name in fields]
    return web.json_response(
        {"success": True, "result": {"fields": described, "records": records, "total": len(chosen)}}
    )


async def odata(request: web.Request) -> web.Response:
    if request.path.endswith("$metadata"):
        return web.Response(text=METADATA, content_type="application/xml")
    asked = re.fullmatch(r"id (?:eq|ge|le) (\d+)(?: and id .*)?", request.query.get("$filter", "id ge 0"))
    assert asked, request.query
    names = request.query["$select"].split(",")
    kept = [row for row in DATA if "eq" not in request.query.get("$filter", "") or row["id"] == int(asked[1])]
    return web.json_response({"value": [{name: row[name] for name in names} for row in kept]})


async def graphql(request: web.Request) -> web.Response:
    query = (await request.json())["query"]
    if "__schema" in query:
        kinds = [
            {
                "name": name,
                "kind": "OBJECT",
                "fields": [{"name": one, "args": [], "type": kind} for one, kind in parts.items()],
            }
            for name, parts in SCHEMA.items()
        ]
        return web.json_response({"data": {"__schema": {"queryType": {"name": "Query"}, "types": kinds}}})
    names = [name for name in ("Id", "id") if re.search(rf"\b{name}\b", query)]
    return web.json_response({"data": {"things": [{name: row[name] for name in names} for row in DATA]}})


SERVICES = {
    "ckan": (ckan, "resources: {things: aaaaaaaa-0000}"),
    "odata": (odata, ""),
    "graphql": (graphql, ""),
}


@pytest.mark.parametrize("kind", SERVICES)
async def test_columns_that_differ_in_case_alone(
    serve: Serve, read: Callable[..., Reader], kind: str
) -> None:
    answer, more = SERVICES[kind]
    served = await serve(answer)
    reader = read(
        f'{{version: 1, sources: {{web: {{type: {kind}, client: {{base_url: "{served.url}"}}, {more}}}}}}}'
    )
    assert await types(reader, "web.things") == {"Id": "int", "id_1": "int"}
    assert await rows(reader, "SELECT Id, id_1 FROM web.things") == [(1, 10), (2, 20)]
    assert await rows(reader, "SELECT id_1 FROM web.things WHERE id_1 = 20") == [(20,)]
