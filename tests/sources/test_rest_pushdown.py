"""What REST requests say beside keys: conditions, members, page sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from aiohttp import web

from fff.errors import InfeasibleQuery
from fff.federation import Federation, RunOptions
from fff_sources.load import lint
from tests.engine.duck import over_duck
from tests.engine.site import rows_of, run
from tests.sources.discovering import rows
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
CRIMES = [
    {"id": n, "zip": f"9{n % 4:04d}", "year": 2015 + n % 10, "rate": n / 4, "place": {"city": f"c{n % 3}"}}
    for n in range(40)
]
SPEC = """
version: 1
sources:
  gov:
    client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
    tables:
      crime:
        columns: {{id: int, zip: string, year: int, rate: double, city: {{type: string, path: place.city}}}}
        key_columns:
          - {{name: zip, operators: ["=", in]}}
          - {{name: year, operators: ["=", ">=", "<="], param: {{">=": year_min, "<=": year_max}}}}
          - {{name: rate, operators: [">"], param: rate_above}}
          - {{name: city, operators: ["=", like], param: {{like: city_like}}}}
        scan: {{endpoint: {{path: crime, params: {{lang: en{null}}}, data_selector: items, paginator: {paginator}{more}}}}}
        lookups: [{{keys: [zip], endpoint: {{path: "zip/{{zip}}", data_selector: items{more}}}}}]
"""


async def answer(request: web.Request) -> web.Response:
    """Filters by year, counts pages by offset, and sends the members asked for."""
    found = CRIMES
    if request.path.startswith("/zip/"):
        found = [one for one in found if one["zip"] == request.path[5:]]
    low, high = (int(request.query.get(name, other)) for name, other in (("year_min", 0), ("year_max", 9999)))
    found = [one for one in found if low <= one["year"] <= high]  # type: ignore[operator]
    start = int(request.query.get("offset", 0))
    page = found[start : start + int(request.query.get("limit", 1000))]
    if "fields" in request.query:
        names = [name for text in request.query.getall("fields") for name in text.split(",")]
        page = [{name: one[name] for name in names} for one in page]
    return web.json_response({"items": page, "total": len(found)})


def spec(served: Served, *, more: str = "", null: str = "", paginator: str = "single_page") -> str:
    return SPEC.format(url=served.url, more=more, null=null, paginator=paginator)


def said(served: Served) -> list[dict[str, str]]:
    return [dict(request.query) for request in served.asked]


async def test_ranges_are_parameters_of_scans(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    reader = read(spec(served))
    found = await rows(reader, "SELECT id FROM crime WHERE year > 2018 AND year <= 2020 AND rate > 1")
    assert sorted(found) == [(n,) for n in range(5, 40) if n % 10 in (4, 5)]
    assert said(served) == [
        {"lang": "en", "rate_above": "0.9999999999999999", "year_min": "2018", "year_max": "2020"}
    ]


async def test_and_of_lookups_and_a_key_says_it_all_of_its_column(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    reader = read(spec(served))
    sql = "SELECT id FROM crime WHERE zip = '90001' AND year BETWEEN 2020 AND 2021"
    assert sorted(await rows(reader, sql)) == [(5,), (25,)]
    assert [(request.path, dict(request.query)) for request in served.asked] == [
        ("/zip/90001", {"year_min": "2020", "year_max": "2021"})
    ]


async def test_an_equality_that_no_parameter_is_named_for_is_said_as_a_range(
    serve: Serve, read: Read
) -> None:
    served = await serve(answer)
    assert (
        len(await rows(read(spec(served)), "SELECT id FROM crime WHERE zip = '90002' AND year = 2017")) == 2
    )
    assert said(served) == [{"year_min": "2017", "year_max": "2017"}]


async def test_an_endpoint_may_refuse_a_parameter(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    sql = "SELECT id FROM crime WHERE year BETWEEN 2020 AND 2021"
    assert len(await rows(read(spec(served, null=", year_min: null")), sql)) == 8
    assert said(served) == [{"lang": "en", "year_max": "2021"}]


async def test_pages_that_follow_say_the_same(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    reader = read(spec(served, paginator="{type: offset, page_size: 3, total_path: total}"))
    assert len(await rows(reader, "SELECT id FROM crime WHERE year >= 2023")) == 8
    assert [(one["year_min"], one["offset"]) for one in said(served)] == [
        ("2023", "0"),
        ("2023", "3"),
        ("2023", "6"),
    ]


async def test_not_a_number_is_above_every_number_and_not_looked_for_where_it_may_stand(read: Read) -> None:
    plain = SPEC.replace("{{type: string, path: place.city}}", "string")
    reader = read(plain.format(url="http://h", more=", format: csv", null="", paginator="single_page"))
    [rate] = [key for key in reader.table("crime").key_columns if key.name == "rate"]
    assert (rate.operators, rate.sendable) == ((">",), ())


@pytest.mark.parametrize(
    ("key", "sendable"),
    [
        ("{name: year, operators: ['>='], param: y}", ((">=", "y"),)),
        ("{name: year, operators: ['>='], param: {'>=': y}}", ((">=", "y"),)),
        ("{name: year, operators: ['!='], param: y}", (("<>", "y"),)),
        ("{name: year, operators: ['=', '>='], param: y}", (("=", "y"),)),
        ("{name: year, operators: ['=', in]}", ()),  # a parameter that may be no more than the key's own name
        ("{name: year, operators: ['>=']}", ()),
    ],
)
def test_which_parameter_says_what(read: Read, key: str, sendable: object) -> None:
    table = f"{{columns: {{id: int, year: int}}, scan: {{endpoint: t}}, key_columns: [{key}]}}"
    reader = read(
        f"{{version: 1, sources: {{s: {{client: {{base_url: 'http://h'}}, tables: {{t: {table}}}}}}}}}"
    )
    assert reader.table("t").key_columns[0].sendable == sendable


def test_parameters_for_nothing_are_found(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        "version: 1\nsources:\n  s:\n    client: {base_url: 'http://h'}\n    tables:\n      t:\n"
        "        columns: {id: int, year: int}\n        scan: {endpoint: t}\n        key_columns:\n"
        "          - {name: year, operators: ['>=', '<='], param: {'>': a, '<=': b, '>=': b}}\n",
        encoding="utf-8",
    )
    found = [error.render() for error in lint(file, environ={})]
    assert len(found) == 3
    assert "is none of the operators" in found[0]
    assert "'b' would say several operators" in found[1]


def mistakes(tmp_path: Path, table: str) -> str:
    file = tmp_path / "fff.yaml"
    text = f"{{columns: {{id: int, year: int}}, {table}}}"
    file.write_text(
        f"{{version: 1, sources: {{s: {{client: {{base_url: 'http://h'}}, tables: {{t: {text}}}}}}}}}",
        encoding="utf-8",
    )
    return "\n".join(error.render() for error in lint(file, environ={}))


def test_a_parameter_that_cannot_say_what_it_is_declared_for_is_found(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path, "scan: {endpoint: t}, key_columns: [{name: year, operators: ['>', '>='], param: y}]"
    )
    assert "'y' cannot say several operators" in found
    assert "param: {'>': …, '>=': …}" in found


# ------------------------------------------------------------------------------------------------------------- bodies

POSTED = """
version: 1
sources:
  gov:
    client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
    tables:
      crime:
        columns: {{id: int, zip: string, year: int, city: {{type: string, path: place.city}}}}
        key_columns:
          - {{name: id, operators: ["=", in]}}
          - {{name: year, operators: [">=", "<="], param: {{">=": year_min, "<=": year_max}}}}
        endpoint:
          method: POST
          json: {{query: {{kind: crime}}}}
          data_selector: items
          select: {{param: fields, separator: null}}
          sort: {{param: order, columns: [id]}}
          body_paths: {{id: query.id, year_min: query.year.gte, year_max: query.year.lte, fields: fields, order: sort.by}}
          paginator: {{type: offset, page_size: 30, offset_body_path: page.from, limit_body_path: page.size, total_path: total}}
        scan: {{endpoint: search}}
        lookups: [{{keys: [id], endpoint: search}}]
"""


async def posted(request: web.Request) -> web.Response:
    asked = await request.json()
    year, number = asked["query"].get("year", {}), asked["query"].get("id")
    found = [one for one in CRIMES if year.get("gte", 0) <= one["year"] <= year.get("lte", 9999)]  # type: ignore[operator]
    found = [one for one in found if number in (None, one["id"])]
    if asked.get("sort", {}).get("by") == "-id":
        found = found[::-1]
    start = asked["page"]["from"]
    page = found[start : start + asked["page"]["size"]]
    return web.json_response(
        {"items": [{name: one[name] for name in asked["fields"]} for one in page], "total": len(found)}
    )


@pytest.mark.parametrize(
    ("sql", "bodies"),
    [
        (
            "SELECT id, city FROM crime WHERE year > 2018 AND year <= 2020",
            [{"query": {"kind": "crime", "year": {"gte": 2018, "lte": 2020}}, "fields": ["id", "year", "place"],
              "page": {"from": 0, "size": 30}}],
        ),
        (
            "SELECT id FROM crime",
            [{"query": {"kind": "crime"}, "fields": ["id"], "page": {"from": start, "size": 30}} for start in (0, 30)],
        ),
        (
            "SELECT year FROM crime WHERE id = 7 AND year >= 2000",
            [{"query": {"kind": "crime", "id": 7, "year": {"gte": 2000}}, "fields": ["id", "year"],
              "page": {"from": 0, "size": 30}}],
        ),
        (
            "SELECT id FROM crime ORDER BY id DESC LIMIT 2",
            [{"query": {"kind": "crime"}, "fields": ["id"], "sort": {"by": "-id"}, "page": {"from": 0, "size": 30}}],
        ),
    ],
)  # fmt: skip
async def test_bodies_say_conditions_members_keys_and_orders(
    serve: Serve, read: Read, sql: str, bodies: list[object]
) -> None:
    said = []

    async def noted(request: web.Request) -> web.Response:
        said.append(await request.json())
        return await posted(request)

    served = await serve(noted)
    reader = read(POSTED.format(url=served.url))
    federation = Federation(reader.catalog, reader.client)
    over_duck(federation)
    found, execution = await run(federation, sql)
    assert execution.outcome.complete
    assert said == bodies
    assert all(not request.query for request in served.asked), "nothing of it stands in the URL as well"
    with duckdb.connect() as connection:
        rows = [{**one, "city": one["place"]["city"]} for one in CRIMES]  # type: ignore[index]
        crime = pa.Table.from_pylist(rows)
        assert crime.num_rows == 40
        assert sorted(found) == sorted(connection.sql(sql).fetchall())


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("body_paths: {year: q.year}", "body_paths: only a POST has a body"),
        ("method: POST, body_paths: {yaer: q.year}", "is none of the parameters"),
        ("method: POST, json: [1], body_paths: {year: q.year}", "json must be a mapping"),
        ("method: POST, select: f, body_paths: {year: q, f: q}", "cannot hold two values"),
        ("method: POST, select: f, body_paths: {year: q.x, f: q}", "inside another"),
        ("method: POST, body_paths: {year: 'q[0]'}", "names with dots"),
        ("method: POST, body_paths: {year: q.year}", ""),
    ],
)
def test_places_that_cannot_be_filled_are_found(tmp_path: Path, endpoint: str, message: str) -> None:
    found = mistakes(tmp_path, f"key_columns: [year], scan: {{endpoint: {{path: t, {endpoint}}}}}")
    assert message in found
    assert bool(found) is bool(message)


# ------------------------------------------------------------------------------------------------------ required ones

REQUIRED = """
version: 1
sources:
  gov:
    client: {{base_url: "{url}"}}
    tables:
      crime:
        columns: {{id: int, zip: string, year: int}}
        key_columns:
          - {{name: year, require: {require}, operators: [">=", "<="], param: {{">=": year_min, "<=": year_max}}}}
          - {{name: zip, require: {other}, operators: ["="]}}
        scan: {{endpoint: {{path: crime, data_selector: items}}}}
        lookups: [{{keys: [zip], endpoint: {{path: "zip/{{zip}}", data_selector: items}}}}]
"""


async def test_a_required_range(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    reader = read(REQUIRED.format(url=served.url, require="required", other="optional"))
    assert len(await rows(reader, "SELECT id FROM crime WHERE year > 2022")) == 8
    with pytest.raises(InfeasibleQuery, match="condition on year"):
        await rows(reader, "SELECT id FROM crime WHERE id > 7")
    assert len(await rows(reader, "SELECT id FROM crime WHERE zip = '90001' AND year > 2022")) == 2
    assert [(one.path, dict(one.query)) for one in served.asked] == [
        ("/crime", {"year_min": "2022"}),
        ("/zip/90001", {"year_min": "2022"}),
    ]


async def test_any_of_a_key_and_a_range(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    reader = read(REQUIRED.format(url=served.url, require="any_of", other="any_of"))
    assert len(await rows(reader, "SELECT id FROM crime WHERE year > 2022")) == 8
    assert len(await rows(reader, "SELECT id FROM crime WHERE zip = '90001'")) == 10
    assert [(one.path, dict(one.query)) for one in served.asked] == [
        ("/crime", {"year_min": "2022"}),
        ("/zip/90001", {}),
    ]


# ------------------------------------------------------------------------------------------------------------ members


@pytest.mark.parametrize(
    ("select", "fields"),
    [
        ("fields", ["id,place"]),
        ("{param: fields}", ["id,place"]),
        ("{param: fields, separator: ',', always: [zip]}", ["zip,id,place"]),
        ("{param: fields, separator: null}", ["id", "place"]),
        ("null", []),
    ],
)
async def test_only_the_members_needed_are_asked_for(
    serve: Serve, read: Read, select: str, fields: list[str]
) -> None:
    served = await serve(answer)
    reader = read(spec(served, more=f", select: {select}"))
    assert await rows(reader, "SELECT city FROM crime WHERE id = 7") == [("c1",)]
    assert [request.query.getall("fields", []) for request in served.asked] == [fields]


async def test_a_lookup_asks_for_its_key_as_well(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    assert await rows(read(spec(served, more=", select: fields")), "SELECT id FROM crime WHERE zip = '90003'")
    assert said(served) == [{"fields": "id,zip"}]


async def test_a_scan_in_parts_has_all_members_in_its_first_page(serve: Serve, read: Read) -> None:
    served = await serve(answer)
    paging = "{type: offset, page_size: 9, total_path: total}"
    reader = read(spec(served, more=", select: fields", paginator=paging))
    table = reader.table("crime")
    adapter: Any = reader.catalog.adapter_of(table)
    parts = await adapter.divide(table, table.scans[0], 2, meter=reader.meter)
    found = []
    for part in parts:
        pages = adapter.scan_part(table, table.scans[0], ["city"], part, meter=reader.meter, window=1)
        found += [city async for page in pages for city in page.rows.column(0).to_pylist()]
    assert len(parts) == 2
    assert sorted(found) == sorted(one["place"]["city"] for one in CRIMES)  # type: ignore[index]


# --------------------------------------------------------------------------------------------------------- page sizes


@pytest.mark.parametrize(
    ("sql", "sizes"),
    [
        ("SELECT id FROM crime LIMIT 4", ["4"]),
        ("SELECT id FROM crime LIMIT 3 OFFSET 2", ["5"]),
        ("SELECT id FROM crime LIMIT 30", ["10", "10", "10"]),
        ("SELECT id FROM crime LIMIT 0", []),
        ("SELECT id FROM crime WHERE id >= 0 LIMIT 4", ["10"]),  # who knows how many rows fulfil it
    ],
)
@pytest.mark.parametrize("kind", ["offset", "page_number"])
async def test_a_limit_makes_pages_smaller(
    serve: Serve, read: Read, sql: str, sizes: list[str], kind: str
) -> None:
    served = await serve(answer if kind == "offset" else numbered)
    reader = read(spec(served, paginator=f"{{type: {kind}, page_size: 10, page_size_param: limit}}"))
    federation = Federation(reader.catalog, reader.client)
    execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
    found = await rows_of(execution)
    assert len(found) == {"4": 4, "3 OFFSET 2": 3, "30": 30, "0": 0}[sql.rpartition("LIMIT ")[2]]
    assert [one["limit"] for one in said(served)] == sizes


async def numbered(request: web.Request) -> web.Response:
    size = int(request.query["limit"])
    start = (int(request.query["page"]) - 1) * size
    return web.Response(
        text=json.dumps({"items": CRIMES[start : start + size]}), content_type="application/json"
    )
