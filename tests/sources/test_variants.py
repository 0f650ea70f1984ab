"""Tables that are asked for once for each value or account, and answers that are never complete, over a real wire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.errors import SourceError
from fff.quals import Qual
from fff.structs import replace
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
REGIONS = {"eu": [1, 2, 3], "us": [4, 5], "ap": []}
VALUES = "columns: {region: string, id: int}, values: {region: [eu, us, ap]}"


class Regions:
    """Rows by region, in pages of two; remembers what was asked."""

    def __init__(self, serve: Serve) -> None:
        self.serve = serve
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        ids = REGIONS[request.query.get("region") or request.path.split("/")[1]]
        if "id" in request.query:
            ids = [one for one in ids if str(one) in request.query["id"].split(",")]
        start = int(request.query.get("offset", 0))
        # Its own word for the region is not the one that was asked for.
        rows = [{"id": one, "region": "R"} for one in ids[start : start + 2]]
        return web.json_response({"rows": rows, "total": len(ids)})

    async def spec(self, table: str, more: str = "") -> str:
        url = (await self.serve(self.answer)).url
        return f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}{more}, tables: {{t: {{{table}}}}}}}}}}}"


ENDPOINT = "data_selector: rows, paginator: {type: offset, total_path: total}"
ALL = [{"region": region, "id": one} for region, ids in REGIONS.items() for one in ids]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


@pytest.mark.parametrize("window", [1, 2, 8])
async def test_a_list_of_values_is_one_table(serve: Serve, read: Read, window: int) -> None:
    regions = Regions(serve)
    reader = read(await regions.spec(f"{VALUES}, scan: {{endpoint: {{path: list, {ENDPOINT}}}}}"))
    assert in_order(await reader.scan("t", window=window)) == ALL
    assert len(regions.asked) == 4  # pages: two, one and one
    assert all("region=" in one for one in regions.asked)
    assert reader.truncated == []
    assert not reader.meter.warnings


async def test_a_source_that_does_not_look_at_the_value_is_told_of(serve: Serve, read: Read) -> None:
    async def answer(request: web.Request) -> web.Response:
        rows = [{"id": 1}, {"id": 2}] if request.query["region"] != "ap" else []
        return web.json_response({"rows": rows, "region": request.query["region"]})

    url = (await serve(answer)).url
    reader = read(
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{{VALUES}, "
        "scan: {endpoint: {path: list, data_selector: rows}}}}}}}"
    )
    assert len(await reader.scan("t")) == 4
    assert any("for two values of region the very same records came" in one for one in reader.meter.warnings)


@pytest.mark.parametrize("looks", [True, False])
async def test_lookups_of_a_source_that_does_not_look_at_the_value_are_told_of(
    serve: Serve, read: Read, looks: bool
) -> None:
    async def answer(request: web.Request) -> web.Response:
        number = int(request.query["id"])
        where = request.query["region"] if looks and number > 2 else ""
        return web.json_response([{"id": number, "name": f"{number}{where}"}])

    url = (await serve(answer)).url
    reader = read(
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{columns: {{region: string, "
        "id: int, name: string}, values: {region: [eu, us]}, lookups: [{keys: [id], endpoint: {path: one}}]}}}}}"
    )
    for number in range(1, 6):
        assert len(await reader.lookup("t", number)) == 2
    told = any("for two values of region the very same records came" in one for one in reader.meter.warnings)
    assert told is not looks  # two of five keys that are alike may be chance


@pytest.mark.parametrize("paginator", ["single_page", "auto"])
@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
async def test_a_source_that_looks_at_the_value_is_not_warned_of(
    serve: Serve, read: Read, form: str, paginator: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        number = len(request.query["region"] + "x") * ord(request.query["region"][0])
        texts = {"csv": f"id\n{number}\n", "ndjson": f'{{"id": {number}}}\n', "json": f'[{{"id": {number}}}]'}
        return web.Response(text=texts[form])

    url = (await serve(answer)).url
    endpoint = f"{{path: list, format: {form}, paginator: {paginator}}}"
    reader = read(
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{{VALUES}, "
        f"scan: {{endpoint: {endpoint}}}}}}}}}}}}}"
    )
    assert len(await reader.scan("t")) == 3
    assert not reader.meter.warnings


async def test_conditions_choose_what_is_asked(serve: Serve, tmp_path: Path) -> None:
    regions = Regions(serve)
    table = f"{VALUES}, scan: {{endpoint: {{path: '{{region}}/list', {ENDPOINT}}}}}, lookups: [{{keys: [id], endpoint: {{path: '{{region}}/one', data_selector: rows}}}}]"
    (tmp_path / "fff.yaml").write_text(await regions.spec(table), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        for sql, found, asked in (
            ("SELECT * FROM t WHERE region = 'us'", ALL[3:], 1),
            ("SELECT * FROM t WHERE region IN ('us', 'ap', 'xx')", ALL[3:], 2),
            ("SELECT * FROM t WHERE region = 'xx'", [], 0),
            ("SELECT * FROM t WHERE region = 'us' AND id = 4", ALL[3:4], 1),
            ("SELECT * FROM t WHERE id = 4", ALL[3:4], 3),
            ("SELECT t.* FROM t JOIN (VALUES ('us'), ('xx')) v(r) ON t.region = v.r", ALL[3:], 4),
            ("SELECT * FROM t", ALL, 4),
        ):
            regions.asked.clear()
            result = await federation.sql(sql)
            assert result.complete, sql
            assert in_order(result.to_arrow().to_pylist()) == found, sql
            assert len(regions.asked) == asked, (sql, regions.asked)


async def test_a_scan_asks_for_values_that_conditions_leave(serve: Serve, read: Read) -> None:
    regions = Regions(serve)
    reader = read(await regions.spec(f"{VALUES}, scan: {{endpoint: {{path: list, {ENDPOINT}}}}}"))
    table = replace(reader.table("t"), quals=(Qual("region", "=", "us"),))
    adapter = reader.catalog.adapter_of(table)
    pages = adapter.scan(table, table.scans[0], ["id"], meter=reader.meter, window=4)
    assert [row["id"] async for page in pages for row in page.rows.to_pylist()] == [4, 5]
    assert len(regions.asked) == 1
    nobody = replace(table, quals=(Qual("region", "=", "xx"),))
    assert [
        page async for page in adapter.scan(nobody, table.scans[0], ["id"], meter=reader.meter, window=4)
    ] == []


async def test_lookups_ask_every_value_or_the_one_that_is_known(serve: Serve, read: Read) -> None:
    regions = Regions(serve)
    reader = read(
        await regions.spec(
            f"{VALUES}, lookups: [{{keys: [id], batch: {{size: 10, separator: ','}}, endpoint: {{path: one, data_selector: rows}}}}]"
        )
    )
    assert [lookup.keys for lookup in reader.table("t").lookups] == [("id",), ("id", "region")]
    assert in_order(await reader.lookup("t", 2, 4)) == [{"region": "eu", "id": 2}, {"region": "us", "id": 4}]
    assert {one.partition("?")[2] for one in regions.asked} >= {
        f"id=2%2C4&region={region}" for region in REGIONS
    }
    regions.asked.clear()
    assert await reader.lookup("t", (4, "us"), (4, "eu"), (4, "xx"), number=1) == [{"region": "us", "id": 4}]
    assert sorted(regions.asked) == ["/one?id=4&region=eu", "/one?id=4&region=us"]  # nobody knows xx


async def test_accounts_are_asked_each_with_its_own_credentials(serve: Serve, read: Read) -> None:
    seen: list[tuple[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        who = request.headers["Authorization"].removeprefix("Bearer ")
        seen.append((who, request.query["team"]))
        found = len(who) if request.query.get("id", str(len(who))) == str(len(who)) else None
        return web.json_response([{"id": found}] if found else [])

    url = (await serve(answer)).url
    reader = read(
        f"""
        version: 1
        sources:
          crm:
            client: {{base_url: '{url}', params: {{team: all}}}}
            accounts:
              column: tenant
              each:
                acme: {{auth: {{type: bearer, token: '${{env:ACME}}'}}}}
                globex: {{auth: {{type: bearer, token: '${{env:GLOBEX}}'}}, params: {{team: west}}}}
            tables:
              people: {{columns: {{id: int}}, scan: {{endpoint: people}}, lookups: [{{keys: [id], endpoint: people}}]}}
              guessed: {{scan: {{endpoint: people}}}}
        """,
        ACME="acme-secret",
        GLOBEX="globex-long-secret",
    )
    rows = [{"tenant": "acme", "id": 11}, {"tenant": "globex", "id": 18}]
    assert in_order(await reader.scan("people", window=2)) == rows
    assert sorted(seen) == [("acme-secret", "all"), ("globex-long-secret", "west")]
    assert in_order(await reader.lookup("people", 11, 18)) == rows
    seen.clear()
    keys = [lookup.keys for lookup in reader.table("people").lookups]
    assert await reader.lookup("people", ("globex",), number=keys.index(("tenant",))) == rows[1:]
    assert seen == [("globex-long-secret", "west")]
    await reader.catalog.discover([reader.table("guessed")])
    assert [column.name for column in reader.table("guessed").columns] == ["tenant", "id"]


async def test_what_one_value_lacks_makes_all_incomplete(serve: Serve, read: Read) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.query["region"] == "us":
            raise web.HTTPForbidden
        return web.json_response({"rows": [{"id": 1}], "total": 1})

    url = (await serve(answer)).url
    spec = f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{{VALUES}, scan: {{endpoint: {{path: r, {ENDPOINT}}}}}}}}}}}}}}}"
    with pytest.raises(SourceError, match="403"):
        await read(spec).scan("t", window=3)


@pytest.mark.slow
async def test_a_ranking_search_is_never_complete(serve: Serve, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response([{"q": request.query.get("q", "x"), "id": 1}])

    url = (await serve(answer)).url
    file = tmp_path / "fff.yaml"
    file.write_text(
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{found: {{exhaustive: false, columns: {{q: string, id: int}},"
        " scan: {endpoint: all}, lookups: [{keys: [q], endpoint: search}]}}}}}",
        encoding="utf-8",
    )
    async with fff.connect_async(file, on_source_error="partial") as federation:
        for sql in ("SELECT * FROM found", "SELECT * FROM found WHERE q = 'a'", "SELECT count(*) FROM found"):
            result = await federation.sql(sql)
            assert not result.complete, sql
            assert "best matches alone" in str(result.report["missing"]), sql
        assert "never complete" in await federation.explain("SELECT * FROM found")


def test_an_account_may_be_one_that_a_person_logs_in_to(tmp_path: Path) -> None:
    auth = "{type: oauth2, access_token_url: 'https://e.org/t', client_id: a, authorization_url: 'https://e.org/a'}"
    file = tmp_path / "s.yaml"
    file.write_text(
        f"{{version: 1, sources: {{api: {{client: {{base_url: 'https://e.org'}}, accounts: {{each: {{a: {{auth: {auth}}}}}}}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: r}}}}}}}}}}}}"
    )
    assert lint(file) == []


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("columns: {id: int}, values: {region: [eu]}", "is not a column"),
        ("columns: {id: int}, values: {id: [1, x]}", "'x' is not an int"),
        ("columns: {id: int}, values: {id: []}", "at least 1 part"),
        ("columns: {id: int}, values: {id: [1, '1']}", "names a value twice"),
        ("columns: {id: int}, values: {id: [1]}, endpoint: {format: parquet}", "parquet has columns"),
    ],
)
def test_lint_finds_it(tmp_path: Path, table: str, says: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        f"{{version: 1, sources: {{api: {{client: {{base_url: 'https://e.org'}}, tables: {{t: {{{table}, scan: {{endpoint: r}}}}}}}}}}}}"
    )
    assert any(says in str(error) for error in lint(file)), [str(error) for error in lint(file)]


@pytest.mark.parametrize(
    ("sql", "forecast"),
    [
        ("SELECT * FROM t", "api.t.scan: at least 6 requests"),
        ("SELECT * FROM t LIMIT 2", "api.t.scan: at least 1 request"),
        ("SELECT * FROM t WHERE region = 'eu'", "at least 1 request"),
        ("SELECT * FROM t WHERE id = 4", "api.t.lookup[id]: 6 requests"),
        ("SELECT * FROM t WHERE id IN (4, 5)", "api.t.lookup[id]: 12 requests"),
        ("SELECT * FROM t WHERE id = 4 AND region = 'eu'", "api.t.lookup[id]: 1 to 6 requests"),
        ("SELECT * FROM made", "api.made.scan: at least 9 requests"),
        ("SELECT * FROM made WHERE id = 3", "api.made.lookup[id]: at least 9 requests"),
    ],
)
def test_explain_counts_what_is_asked_apart(tmp_path: Path, sql: str, forecast: str) -> None:
    job = "job: {submit: {j: id}, poll: 'j/{j}', done: state, fetch: 'j/{j}/rows'}"
    lookup = "lookups: [{keys: [id], endpoint: {path: one"
    text = f"""
version: 1
sources:
  api:
    client: {{base_url: 'http://127.0.0.1:9'}}
    accounts: {{column: who, each: {{a: {{}}, b: {{}}}}}}
    tables:
      t: {{primary_key: [id], {VALUES}, scan: {{endpoint: list}}, {lookup}}}}}]}}
  more:
    client: {{base_url: 'http://127.0.0.1:9'}}
    tables:
      made: {{primary_key: [id], {VALUES}, scan: {{endpoint: {{path: list, {job}}}}}, {lookup}, {job}}}}}]}}
"""
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    with fff.connect(tmp_path / "fff.yaml") as federation:
        assert forecast.replace("api.made", "more.made") in federation.explain(sql), federation.explain(sql)
