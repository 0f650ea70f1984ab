"""Next links that leave out what rows were asked for: what they lead to is another list, and the answer is not all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.federation import Federation, RunOptions
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
SPEC = """
    version: 1
    sources:
      api:
        client: {{base_url: "{url}"}}
        tables:
          single:
            columns: {{k: string, v: int}}
            lookups: [{{keys: [k], endpoint: {endpoint}}}]
          batch:
            columns: {{k: string, v: int}}
            lookups: [{{keys: [k], batch: {{size: 4, separator: ","}}, endpoint: {endpoint}}}]
          named:
            columns: {{k: string, v: int}}
            lookups: [{{keys: [k], endpoint: {{path: t, params: {{k: "{{k}}"}}, data_selector: data}}}}]
          narrowed:
            columns: {{k: string, v: int}}
            key_columns: [{{name: v, operators: [">="], param: {{">=": from}}}}]
            scan: {{endpoint: {endpoint}}}
          variants:
            columns: {{k: string, v: int}}
            values: {{k: [a, b, c]}}
            scan: {{endpoint: {endpoint}}}
    """
ROWS = [(key, 100 * number + place) for number, key in enumerate("abc") for place in range(25)]
STATEMENTS = {
    "SELECT k, v FROM single WHERE k = 'b'": [row for row in ROWS if row[0] == "b"],
    "SELECT k, v FROM named WHERE k = 'b'": [row for row in ROWS if row[0] == "b"],
    "SELECT k, v FROM batch WHERE k IN ('a', 'c')": [row for row in ROWS if row[0] != "b"],
    "SELECT k, v FROM narrowed WHERE v >= 105": [row for row in ROWS if row[1] >= 105],
    "SELECT k, v FROM variants": ROWS,
}


@pytest.mark.parametrize("paginator", ["auto", "json_link", "header_link"])
@pytest.mark.parametrize("way", ["forgets", "keeps", "cursor", "path"])
@pytest.mark.parametrize("sql", STATEMENTS)
async def test_a_link_that_leaves_out_what_was_asked_for_leads_elsewhere(
    serve: Serve, read: Read, sql: str, way: str, paginator: str
) -> None:
    known: dict[str, dict[str, str]] = {}  # what opaque links stand for

    async def handler(request: web.Request) -> web.Response:
        asked = dict(request.query)
        number = int(asked.pop("page", 1))
        asked |= known.get(asked.pop("cursor", request.path.partition("/pages/")[2]), {})
        keys = asked["k"].split(",") if "k" in asked else "abc"
        rows = [row for row in ROWS if row[0] in keys and row[1] >= int(asked.get("from", 0))]
        link = None
        if len(rows) > 10 * number:
            token = "".join(asked.values()) or "all"
            known[token] = asked
            kept = "".join(f"{name}={value}&" for name, value in asked.items())
            link = {
                "forgets": f"/t?page={number + 1}",
                "keeps": f"/t?{kept}page={number + 1}",
                "cursor": f"/t?cursor={token}&page={number + 1}",
                "path": f"/pages/{token}?page={number + 1}",
            }[way]
        page = [{"k": key, "v": value} for key, value in rows[10 * number - 10 : 10 * number]]
        if paginator == "header_link":
            headers = {} if link is None else {"Link": f'<{link}>; rel="next"'}
            return web.json_response({"data": page}, headers=headers)
        return web.json_response({"data": page, "next": link})

    endpoint = f"{{path: t, data_selector: data, paginator: {{type: {paginator}}}}}"
    if "named" in sql:  # where no paginator is declared
        endpoint = "{path: t, data_selector: data}"
    reader = read(SPEC.format(url=(await serve(handler)).url, endpoint=endpoint))
    async with Federation(reader.catalog, reader.client) as federation:
        execution = federation.execute(federation.prepare(sql), RunOptions(on_source_error="partial"))
        found = [tuple(row.values()) async for batch in execution.batches() for row in batch.to_pylist()]
    report = execution.outcome.report
    if way == "forgets":
        assert not report["complete"]
        assert "the link to the next page leaves out" in str(report["missing"])
        assert len(found) == len({*found}) < len(STATEMENTS[sql])
    else:
        assert sorted(found) == STATEMENTS[sql]
        assert report["complete"]
