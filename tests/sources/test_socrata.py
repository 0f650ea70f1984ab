from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from fff_sources.socrata.soql import comparisons, literal, name
from tests.sources.discovering import lookups, rows, types
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

VIEW = {
    "id": "erm2-nwe9",
    "name": "Service requests",
    "rowIdentifierColumnId": 11,
    "columns": [
        {"id": 10, "fieldName": ":id", "dataTypeName": "meta_data"},
        {"id": 11, "fieldName": "unique_key", "dataTypeName": "text"},
        {"id": 12, "fieldName": "created_date", "dataTypeName": "calendar_date"},
        {"id": 13, "fieldName": "group", "dataTypeName": "text"},
        {"id": 14, "fieldName": "size", "dataTypeName": "number"},
        {"id": 15, "fieldName": "open", "dataTypeName": "checkbox"},
        {"id": 16, "fieldName": "location", "dataTypeName": "point"},
        {"id": 17, "fieldName": "ward", "dataTypeName": "number"},
        {"id": -1, "fieldName": ":@computed_region_1", "dataTypeName": "number"},
    ],
}
ROWS = [
    {
        "unique_key": f"00{number}",
        "created_date": "2024-01-02T03:04:05.000",
        "group": "O'Hara" if number % 2 else "a, b",
        "size": f"{number}.50",
        "open": True,
        "location": {"type": "Point", "coordinates": [1.0, 2.0]},
        "ward": str(number),
    }
    for number in range(7)
]
SPEC = """
version: 1
sources:
  city:
    type: socrata
    client: {{base_url: "{url}", auth: {{type: api_key, name: X-App-Token, api_key: "${{env:TOKEN}}"}}, retry: {{max_attempts: 1}}}}
    datasets: {{requests: erm2-nwe9}}
    page_size: 3
    tables: {{requests: {{columns: {{ward: int}}}}}}
"""  # fmt: skip


#: Bounds on numbers that are read as double, and on times whose zone is not known, are sent a step wider.
SAID = (
    "created_date >= '2023-12-31T00:00:00' AND size <= 6.000000000000001 AND size > 1.9999999999999998 AND ward < 6"
    " AND ward <> 3"
)


async def portal(request: web.Request) -> web.Response:
    """A dataset's metadata, and its rows by offset; `$where` as far as it can be said here."""
    if request.headers.get("X-App-Token") != "tok":
        return web.json_response({"message": "Invalid app_token specified"}, status=403)
    if request.path == "/api/views/erm2-nwe9.json":
        return web.json_response(VIEW)
    assert request.path == "/resource/erm2-nwe9.json"
    assert request.query["$order"] == ":id"
    where = request.query.get("$where")
    numbered: list[dict[str, object]] = [{":id": f"row-{number}", **row} for number, row in enumerate(ROWS)]
    found = [row for row in numbered if where is None or _holds(where, row)]
    start = int(request.query["$offset"])
    fields = [one.strip("`") for one in request.query["$select"].split(",")]
    page = found[start : start + int(request.query["$limit"])]
    return web.json_response([{key: row[key] for key in fields if row[key] is not None} for row in page])


def _holds(where: str, row: dict[str, object]) -> bool:
    """Exactly the conditions that the tests expect; any other is an error."""
    return {
        "`group` = 'O''Hara'": row["group"] == "O'Hara",
        "ward in (1, 3, 9)": row["ward"] in ("1", "3"),
        "open = true": True,
        SAID: float(str(row["size"])) > 2 and int(str(row["ward"])) < 6,
    }[where]


async def city(serve: Serve, read: Callable[..., Reader]) -> tuple[Reader, Served]:
    served = await serve(portal)
    return read(SPEC.format(url=served.url), TOKEN="tok"), served


async def test_columns_come_from_the_metadata(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await city(serve, read)
    assert [table.full_name for table in reader.catalog.tables(offered=False)] == ["city.requests"]
    assert served.asked == []
    assert await types(reader, "city.requests") == {
        "unique_key": "string", "created_date": "timestamp_ntz", "group": "string", "size": "double",
        "open": "boolean", "location": "string", "ward": "int",
    }  # fmt: skip
    assert served.paths == ["/api/views/erm2-nwe9.json"]
    table = reader.table("requests")
    assert (table.primary_key, table.description) == (("unique_key",), "Service requests")
    assert lookups(reader, "city.requests") == {("unique_key",), ("group",), ("open",), ("ward",)}


async def test_a_scan_ends_with_a_short_page(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await city(serve, read)
    await types(reader, "city.requests")
    found = await reader.scan("requests", ["unique_key", "size", "location"])
    assert [row["unique_key"] for row in found] == [row["unique_key"] for row in ROWS]
    assert found[1]["size"] == 1.5
    assert found[0]["location"] == '{"type": "Point", "coordinates": [1.0, 2.0]}'
    assert [request.query["$offset"] for request in served.asked[1:]] == ["0", "3", "6"]
    assert {request.query["$select"] for request in served.asked[1:]} == {"unique_key,size,location"}


async def test_pages_that_are_alike_in_what_is_needed_are_other_pages(
    serve: Serve, read: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROWS", ROWS[:3] * 20)
    reader, served = await city(serve, read)
    await types(reader, "city.requests")
    assert await reader.scan("requests", ["ward"]) == [{"ward": number % 3} for number in range(60)]
    assert {request.query["$select"] for request in served.asked[1:]} == {":id,ward"}
    assert await reader.scan("requests", []) == [{}] * 60
    assert served.asked[-1].query["$select"] == ":id"
    monkeypatch.setitem(globals(), "ROWS", [{**row, "ward": None} for row in ROWS])
    assert await reader.scan("requests", ["ward"]) == [{"ward": None}] * 60


async def test_lookups_say_values_as_literals(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await city(serve, read)
    await types(reader, "city.requests")
    keys = [method.keys for method in reader.table("requests").lookups]
    found = await reader.lookup(
        "requests", "O'Hara", columns=["unique_key", "group"], number=keys.index(("group",))
    )
    assert [row["unique_key"] for row in found] == ["001", "003", "005"]
    assert [request.query["$offset"] for request in served.asked[1:]] == ["0", "3"], "three rows fill a page"
    before = len(served.asked)
    assert await rows(reader, "SELECT unique_key FROM requests WHERE ward IN (1, 3, 9)") == [
        ("001",),
        ("003",),
    ]
    assert len(served.asked) == before + 1


async def test_a_missing_token_is_named(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(portal)
    reader = read(SPEC.format(url=served.url), TOKEN="wrong-token")
    with pytest.raises(SourceError, match="403") as caught:
        await types(reader, "city.requests")
    assert "wrong-token" not in str(caught.value)


def test_a_wrong_id_and_a_table_that_is_none(tmp_path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        SPEC.format(url="https://x.example")
        .replace("erm2-nwe9", "erm2")
        .replace("tables: {requests", "tables: {request")
    )
    found = [error.message for error in lint(file, environ={"TOKEN": "x"}, cwd=tmp_path)]
    assert len(found) == 2
    assert "sources.city.datasets.requests: 'erm2' is no id" in found[0]
    assert "sources.city.tables.request: is no table of the source" in found[1]


def test_literals_cannot_be_left() -> None:
    assert literal("' OR 1=1 --") == "''' OR 1=1 --'"
    assert literal("\\'") == "'\\'''"
    assert [literal(True), literal(-5), literal("")] == ["true", "-5", "''"]
    assert [name("ward"), name("group"), name("2nd")] == ["ward", "`group`", "`2nd`"]


async def test_conditions_are_a_part_of_where(serve: Serve, read: Callable[..., Reader]) -> None:
    reader, served = await city(serve, read)
    sql = (
        "SELECT unique_key FROM requests WHERE size > 2 AND size <= 6 AND ward < 6 AND ward <> 3"
        " AND created_date >= TIMESTAMP_NTZ '2024-01-01 00:00:00' AND unique_key > '0'"
    )
    assert await rows(reader, sql) == [("002",), ("004",), ("005",)]
    assert served.asked[-1].query["$where"] == SAID


def test_what_soql_compares_as_we_do() -> None:
    assert comparisons("number", "bigint") == ("=", "<>", "<", "<=", ">", ">=")
    assert comparisons("number", "string") == ()
    assert comparisons("calendar_date", "date") == ("<", "<=", ">", ">=")
    assert comparisons("calendar_date", "timestamp") == ()
    assert comparisons("text", "string") == ("=", "like")
    assert comparisons("point", "string") == ()
    assert literal(1e-7) == "0.0000001"
