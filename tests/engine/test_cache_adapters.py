"""The cache under adapters that ask in query languages: coverage counts, not the words of a request."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.access.disk.policy import RowCache
from fff.federation import Federation
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.engine.site import Row, run
from tests.sources.fake_datasette import FakeDatasette
from tests.web.serving import Serve

IDS = range(101, 108)
HEAD = "version: 1\nsources:\n  web:\n    type: {type}\n    client: {{base_url: '{url}', auth: {{type: bearer, token: '${{env:TOKEN}}'}}, cache: {{ttl: 300}}}}\n"


def things(ids: set[int] | None) -> list[dict[str, Any]]:
    return [{"id": one, "name": f"n{one}"} for one in IDS if ids is None or one in ids]


@dataclass
class Wire:
    """How one kind of server is asked and answers. `asked` finds what tells the keys in a request, "" in a scan, None in others."""

    spec: str
    asked: Callable[[web.Request, Any], str | None]
    answer: Callable[[web.Request, list[dict[str, Any]]], Any]
    about: Callable[[web.Request], Any] = lambda request: None
    key: Callable[[int], str] = str


@dataclass
class Server:
    """A server of some kind, and the keys it was asked for; a scan's pages are counted."""

    wire: Wire
    keys: list[int] = field(default_factory=list)
    pages: int = 0
    requests: int = 0

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        said = self.wire.asked(request, body)
        if said is None:
            return web.json_response(self.wire.about(request))
        self.requests += 1
        found = sorted({int(text) for text in re.findall(r"\b\D?(10\d)\b", said)})
        self.keys += found
        self.pages += not found
        answer = self.wire.answer(request, things(set(found) or None))
        return web.json_response(answer)


class Datasette(FakeDatasette):
    """Datasette's own words, over the same rows."""

    def __init__(self) -> None:
        super().__init__()
        self.db.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT)")
        self.db.executemany("INSERT INTO things VALUES (:id, :name)", things(None))
        self.keys: list[int] = []
        self.pages = self.requests = 0

    async def __call__(self, request: web.Request) -> web.Response:
        if request.path.endswith("/things.json"):
            found = [
                int(text)
                for text in re.findall(
                    r"10\d", request.query.get("id__exact", request.query.get("id__in", ""))
                )
            ]
            self.keys += found
            self.pages += not found
            self.requests += 1
        return await super().__call__(request)


def socrata_view(_: web.Request) -> Any:
    columns = [
        {"id": 1, "fieldName": "id", "dataTypeName": "number"},
        {"id": 2, "fieldName": "name", "dataTypeName": "text"},
    ]
    return {"id": "aaaa-bbbb", "name": "Things", "rowIdentifierColumnId": 1, "columns": columns}


def ckan_answer(request: web.Request, rows: list[dict[str, Any]]) -> Any:
    fields = [{"id": "_id", "type": "int"}, {"id": "name", "type": "text"}]
    start, limit = int(request.query.get("offset", 0)), int(request.query["limit"])
    records = [{"_id": row["id"], "name": row["name"]} for row in rows]
    result = {
        "fields": fields,
        "records": records[start : start + limit],
        "total": len(records),
        "limit": limit,
    }
    return {"success": True, "result": result}


def sparql_answer(_: web.Request, rows: list[dict[str, Any]]) -> Any:
    found = [
        {
            "id": {"type": "uri", "value": f"http://e/{row['id']}"},
            "name": {"type": "literal", "value": row["name"]},
        }
        for row in rows
    ]
    return {"head": {"vars": ["id", "name"]}, "results": {"bindings": found}}


def sparql_keys(request: web.Request, body: str) -> str:
    del request
    return " ".join(re.findall(r"e%2F(10\d)|e/(10\d)", body) and re.findall(r"10\d", body))


def graphql_answer(_: web.Request, rows: list[dict[str, Any]]) -> Any:
    one = rows[0] if len(rows) == 1 else None
    return {"data": {"one": one} if len(rows) <= 1 else {"all": rows}}


WIRES = {
    "odata": Wire(
        "    tables: {things: {entity_set: Things, primary_key: [id], columns: {id: int, name: string}, lookups: [id], batch: {size: 2, operator: in}}}\n",
        lambda request, _: request.query.get("$filter", ""),
        lambda _, rows: {"value": rows},
    ),
    "socrata": Wire(
        "    datasets: {things: aaaa-bbbb}\n    tables: {things: {columns: {id: int}}}\n",
        lambda request, _: request.query.get("$where", "") if "/resource/" in request.path else None,
        lambda _, rows: [{"id": str(row["id"]), "name": row["name"]} for row in rows],
        socrata_view,
    ),
    "ckan": Wire(
        "    resources: {things: aaaaaaaa-0000}\n",
        lambda request, _: None if request.query["limit"] == "0" else request.query.get("filters", ""),
        ckan_answer,
        lambda request: ckan_answer(request, []),
    ),
    "sparql": Wire(
        "    tables: {things: {query: 'SELECT ?id ?name WHERE { ?id rdfs:label ?name }', columns: {id: {type: string, term: iri}, name: string}, batch_size: 2}}\n",
        sparql_keys,
        sparql_answer,
        key=lambda one: f"'http://e/{one}'",
    ),
    "graphql": Wire(
        "    tables: {things: {field: all, columns: {id: int, name: string}, lookups: [{keys: [id], field: 'one(id: $id)', types: {id: Int}}]}}\n",
        lambda _, body: json.dumps(json.loads(body).get("variables")),
        graphql_answer,
    ),
}  # fmt: skip


@dataclass
class Asking:
    """Runs over one folder; each has a client of its own."""

    url: str
    spec: str
    folder: Path
    server: Any
    key: Callable[[int], str] = str
    column: str = "id"

    async def run(self, sql: str, token: str = "token-of-alice") -> tuple[list[Row], set[int], int]:
        """The rows, the keys that the server was asked for, and the requests for rows."""
        self.server.keys.clear()
        self.server.requests = 0
        file = self.folder / "fff.yaml"
        file.write_text(self.spec, encoding="utf-8")
        client = WebClient(rng=random.Random(1))
        catalog = load_catalog([file], environ={"TOKEN": token}, cwd=self.folder, client=client)
        cache = RowCache(self.folder / "rows")
        async with Federation(catalog, client, cache=cache) as federation:
            await catalog.list_tables()
            await catalog.discover(catalog.tables(offered=False))
            rows, execution = await run(federation, sql)
            assert execution.outcome.complete
        asked = self.server.keys
        assert len(asked) == len(set(asked)), "no key is asked for twice"
        return rows, set(asked), self.server.requests

    def among(self, *ids: int, select: str = "name") -> str:
        keys = ", ".join(self.key(one) for one in ids)
        return f"SELECT {select} FROM web.things WHERE {self.column} IN ({keys})"


@pytest.fixture(params=["datasette", *WIRES])
async def asking(request: pytest.FixtureRequest, serve: Serve, tmp_path: Path) -> Asking:
    kind = request.param
    if kind == "datasette":
        datasette = Datasette()
        served = await serve(datasette)
        return Asking(served.url, HEAD.format(type=kind, url=served.url), tmp_path, datasette)
    server = Server(WIRES[kind])
    served = await serve(server)
    text = HEAD.format(type=kind, url=served.url) + WIRES[kind].spec
    column = "_id" if kind == "ckan" else "id"
    return Asking(served.url, text, tmp_path, server, WIRES[kind].key, column)


def names(*ids: int) -> list[Row]:
    return [(f"n{one}",) for one in ids]


@pytest.mark.slow
async def test_a_related_query_asks_for_what_is_not_covered(asking: Asking) -> None:
    rows, asked, _ = await asking.run(asking.among(101, 102, 109))
    assert (rows, asked) == (names(101, 102), {101, 102, 109})
    rows, asked, requests = await asking.run(asking.among(102, 103, 109))
    assert (rows, asked, requests) == (names(102, 103), {103}, 1), "what is known to be absent is covered"
    column = asking.column
    keys = ", ".join(asking.key(one) for one in (101, 103, 104))
    joined = f"SELECT b.name FROM web.things a JOIN web.things b ON a.{column} = b.{column} WHERE a.{column} IN ({keys})"
    rows, asked, requests = await asking.run(joined)
    assert (rows, asked, requests) == (names(101, 103, 104), {104}, 1)
    assert await asking.run(asking.among(101, 103, 104)) == (names(101, 103, 104), set(), 0)


@pytest.mark.slow
async def test_another_credential_reuses_nothing(asking: Asking) -> None:
    sql = asking.among(101, 102)
    assert (await asking.run(sql))[1] == {101, 102}
    assert (await asking.run(sql, "token-of-bob"))[1] == {101, 102}
    assert (await asking.run(sql, "token-of-bob"))[1:] == (set(), 0)
    whole = f"SELECT {asking.column}, name FROM web.things"
    assert (await asking.run(whole, "token-of-bob"))[2] > 0
    assert (await asking.run(asking.among(105), "token-of-bob"))[1:] == (set(), 0)
    assert (await asking.run(asking.among(105)))[1] == {105}
    assert (await asking.run(sql))[1:] == (set(), 0)


async def test_a_whole_scan_covers_every_key(asking: Asking) -> None:
    rows, asked, requests = await asking.run(f"SELECT {asking.column}, name FROM web.things")
    assert (len(rows), asked) == (7, set())
    assert requests
    assert await asking.run(asking.among(101, 107, 109)) == (names(101, 107), set(), 0)
    assert (await asking.run("SELECT name FROM web.things"))[1:] == (set(), 0)
