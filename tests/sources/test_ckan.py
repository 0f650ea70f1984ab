from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import QueryError, SourceError
from fff_sources.ckan.search import is_exact
from fff_sources.load import lint
from tests.sources.discovering import lookups, rows, types
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

PAID, OPEN = "aaaaaaaa-0000", "bbbbbbbb-1111"
FIELDS = {"_id": "int", "name": "text", "big": "int8", "sum": "numeric", "ok": "bool", "at": "timestamp", "more, or less": "json"}  # fmt: skip
ROWS = [
    {"_id": n, "name": f"n{n % 3}", "big": n, "sum": n / 4, "ok": n > 3, "at": "2024-01-02T03:04:05", "more, or less": {"a": n}}
    for n in range(1, 8)
]  # fmt: skip
RESOURCES = [
    {"id": PAID, "name": "Paid 2024", "datastore_active": True},
    {"id": OPEN, "name": "paid-2024", "datastore_active": True},
    {"id": "cccccccc-2222", "name": "Notes", "datastore_active": False},
    {"id": "dddddddd-3333", "name": "More notes"},
]
SPEC = """
version: 1
sources:
  town:
    type: ckan
    client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
    page_size: 3
    {more}
"""
CAP = 2  # rows a page has at most, whatever is asked


async def portal(request: web.Request) -> web.Response:
    """`package_show` and `datastore_search`, in the shape of CKAN's answers."""
    action = request.path.removeprefix("/api/3/action/")
    if action == "package_show" and request.query["id"] == "payments":
        return _answer(action, {"name": "payments", "resources": RESOURCES})
    if action != "datastore_search" or request.query["resource_id"] not in (PAID, OPEN):
        error = {"success": False, "error": {"message": "Not found", "__type": "Not Found Error"}}
        return web.json_response(error, status=404)
    filters = json.loads(request.query.get("filters", "{}"))
    found = [
        row
        for row in ROWS
        if all(row[key] in (value if isinstance(value, list) else [value]) for key, value in filters.items())
    ]
    start, limit = int(request.query.get("offset", 0)), min(CAP, int(request.query["limit"]))
    fields = request.query["fields"].split(",") if "fields" in request.query else list(FIELDS)
    records = [{key: row[key] for key in fields} for row in found[start : start + limit]]
    described = [{"id": key, "type": FIELDS[key]} for key in fields]
    return _answer(action, {"fields": described, "records": records, "total": len(found), "limit": limit})


def _answer(action: str, result: object) -> web.Response:
    shown = {"help": f"http://x/api/3/action/help_show?name={action}", "success": True, "result": result}
    return web.json_response(shown)


async def town(
    serve: Serve, read: Callable[..., Reader], more: str = f"resources: {{paid: {PAID}}}"
) -> tuple[Reader, Served]:
    served = await serve(portal)
    return read(SPEC.format(url=served.url, more=more)), served


async def test_columns_come_from_an_empty_search(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await town(serve, read)
    assert [table.full_name for table in reader.catalog.tables(offered=False)] == ["town.paid"]
    assert await types(reader, "town.paid") == {
        "_id": "int", "name": "string", "big": "bigint", "sum": "double", "ok": "boolean", "at": "timestamp_ntz",
        "more, or less": "string",
    }  # fmt: skip
    assert [(request.path, request.query["limit"]) for request in served.asked] == [
        ("/api/3/action/datastore_search", "0")
    ]
    assert reader.table("paid").primary_key == ("_id",)
    assert lookups(reader, "town.paid") == {("_id",), ("name",), ("big",), ("ok",)}


async def test_a_scan_goes_to_the_total_although_pages_are_cut(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    reader, served = await town(serve, read)
    await types(reader, "town.paid")
    found = await reader.scan("paid", ["_id", "sum"])
    assert found == [{"_id": row["_id"], "sum": row["sum"]} for row in ROWS]
    asked = served.asked[1:]
    assert [request.query["offset"] for request in asked] == ["0", "2", "4", "6"]
    assert {(request.query["fields"], request.query["sort"]) for request in asked} == {("_id,sum", "_id")}
    whole = await reader.scan("paid")
    assert whole[0]["more, or less"] == '{"a": 1}'
    assert "fields" not in served.asked[-1].query, "its name would be taken for two"


async def test_lookups_filter_by_typed_values(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await town(serve, read)
    assert await rows(reader, "SELECT _id FROM town.paid WHERE name = 'n0'") == [(3,), (6,)]
    assert json.loads(served.asked[-1].query["filters"]) == {"name": "n0"}
    assert len(served.asked) == 2, "the total says that there is no more"
    assert await rows(reader, "SELECT _id FROM paid WHERE big IN (2, 7, 99)") == [(2,), (7,)]
    assert sorted(json.loads(served.asked[-1].query["filters"])["big"]) == [2, 7, 99]


async def test_a_dataset_tells_its_resources(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await town(serve, read, "datasets: [payments]")
    assert served.asked == []
    with pytest.raises(QueryError, match="unknown table"):
        await rows(reader, "SELECT * FROM town.paid")
    assert [table.name for table in reader.catalog.tables() if table.source == "town"] == [
        "paid_2024_aaaaaaaa", "paid_2024_bbbbbbbb",
    ]  # fmt: skip
    assert await rows(reader, "SELECT name FROM town.paid_2024_bbbbbbbb WHERE _id = 4") == [("n1",)]
    assert [request.path.rpartition("/")[2] for request in served.asked] == [
        "package_show", "datastore_search", "datastore_search",
    ]  # fmt: skip


async def test_a_named_resource_of_a_listed_dataset_keeps_its_name(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    reader, _ = await town(serve, read, f"datasets: [payments]\n    resources: {{mine: {PAID}}}")
    await reader.catalog.list_tables()
    assert [table.name for table in reader.catalog.tables(offered=False)] == ["mine", "paid_2024"]


@pytest.mark.parametrize(("more", "said"), [("datasets: [nix]", "404"), ("resources: {paid: nix}", "404")])
async def test_what_the_portal_has_not(
    serve: Serve, read: Callable[..., Reader], more: str, said: str
) -> None:
    reader, _ = await town(serve, read, more)
    with pytest.raises(SourceError, match=said):
        await rows(reader, "SELECT * FROM town.paid")


async def test_recorded_datasets_without_a_datastore(
    shared_folder: Path, serve: Serve, read: Callable[..., Reader]
) -> None:
    recorded = (shared_folder / "recorded/bodies/ckan/2a24f75099.json").read_bytes()

    async def legado(request: web.Request) -> web.Response:
        return web.Response(body=recorded, content_type="application/json")

    served = await serve(legado)
    reader = read(SPEC.format(url=served.url, more="datasets: [bolsa-familia-pagamentos]"))
    await reader.catalog.list_tables()
    assert served.paths == ["/api/3/action/package_show?id=bolsa-familia-pagamentos"]
    assert list(reader.catalog.tables(offered=False)) == [], "none of its files is in the DataStore"
    assert reader.catalog.unlisted() == []


def test_a_source_must_name_something(tmp_path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(SPEC.format(url="https://x.example", more="dataset: payments"))
    first, second = (e.message for e in lint(file, environ={}, cwd=tmp_path))
    assert "sources.town.datasets: must be a list, not text" in first
    assert "sources.town.dataset: unknown key" in second
    file.write_text(SPEC.format(url="https://x.example", more="tests: []"))
    assert ["names no tables" in e.message for e in lint(file, environ={}, cwd=tmp_path)] == [True]


def test_which_types_can_be_asked_for() -> None:
    asked = [("text", "string"), ("int4", "int"), ("numeric", "bigint"), ("int8", "int"), ("date", "date")]
    assert all(is_exact(*one) for one in asked)
    never = [
        ("numeric", "double"),
        ("citext", "string"),
        ("int4", "bigint"),
        ("text", "int"),
        ("json", "string"),
    ]
    assert not any(is_exact(*one) for one in never)


async def test_equalities_are_filters_together(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await town(serve, read)
    assert await rows(reader, "SELECT _id FROM paid WHERE name = 'n1' AND ok = true AND big > 1") == [
        (4,),
        (7,),
    ]
    assert json.loads(served.asked[-1].query["filters"]) == {"name": "n1", "ok": True}
