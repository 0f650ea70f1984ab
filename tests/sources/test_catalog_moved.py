"""`FFF_<SOURCE>_BASE_URL` moves all of a bundled source: each of its tables is asked, and nobody else hears of it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from fff.catalog import Table
from fff.errors import FFFError
from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.document import read_document
from fff_sources.load import BUNDLED, load_catalog
from tests.catalog.pages import secrets
from tests.web.serving import Serve

NAMES = sorted(file.stem for file in BUNDLED.glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_all_requests_go_where_the_source_has_moved(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async def nothing(asked: web.Request) -> web.Response:
        return web.json_response({"message": "nothing here"}, status=404)

    here, elsewhere = await serve(nothing), await serve(nothing)
    for variable in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, elsewhere.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    environ = dict.fromkeys(secrets(name), "s3cret")
    environ |= {f"FFF_{one.upper()}_BASE_URL": f"{here.url}/{one}" for one in NAMES}
    catalog = load_catalog([], environ=environ, cwd=Path(__file__).parent, client=WebClient())
    declared = read_document(BUNDLED / f"{name}.yaml").data["sources"][name]["tables"]
    for table in catalog.source(name).tables:
        values = declared[table.name].get("values", {})
        for method in (*table.scans, *table.lookups):
            bound = [f"`{key}` = {literal(table, key, values)}" for key in getattr(method, "keys", ())]
            sql = f"SELECT * FROM {table.full_name} WHERE {' AND '.join(bound) or 'true'}"
            before = len(here.asked)
            await ask(sql, environ)
            assert elsewhere.asked == [], f"{sql}: {elsewhere.asked[0].url}"
            asked = [request.path for request in here.asked[before:]]
            assert asked, sql
            assert all(path.startswith(f"/{name}") for path in asked), (sql, asked)


def literal(table: Table, key: str, values: Mapping[str, Sequence[object]]) -> str:
    """A value that a key may have."""
    if key in values:
        return f"'{values[key][0]}'"
    kind = table.column(key).type
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return f"{kind} '2024-01-02'"
    return "'x'" if kind == "string" else "1"


async def ask(sql: str, environ: Mapping[str, str]) -> None:
    client = WebClient()
    catalog = load_catalog([], environ=environ, cwd=Path(__file__).parent, client=client)
    async with Federation(catalog, client) as federation:
        with contextlib.suppress(FFFError):
            await federation.discover(sql)
            execution = federation.execute(federation.prepare(sql), RunOptions(max_requests=2))
            async for _ in execution.batches():
                pass
