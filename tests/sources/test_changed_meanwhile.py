"""A source that changes while it is read, and fails before its last page: what came is in doubt as early as that shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from fff.federation import Federation
from tests.engine.duck import over_duck
from tests.engine.site import run
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
SPEC = """
    version: 1
    sources:
      api:
        client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
        tables:
          t:
            columns: {{id: int, k: int}}
            {access}
    """
ENDPOINT = "endpoint: {{path: t, params: {{{params}}}, data_selector: data, paginator: {{{paginator}}}}}"
BY_ROWS, BY_PAGES, NUMBERED = (
    "type: offset, page_size: 10, total_path: total",
    "type: page_number, page_size: 10, total_path: total",
    "type: page_number, page_size: 10, total_rows_path: total",
)


async def growing(serve: Serve, told: list[int], starts: list[int]) -> Served:
    """Pages of ten ids each, from a start on, with a total each; then an error."""
    read = asyncio.Event()  # pages may be asked for side by side

    async def handler(asked: web.Request) -> web.Response:
        number = int(asked.query.get("offset", 10 * int(asked.query.get("page", 1)) - 10)) // 10
        if number >= len(told):
            await read.wait()
            await asyncio.sleep(0.1)
            return web.Response(status=500)
        if number == len(told) - 1:
            read.set()
        start = starts[number]
        data = [{"id": place, "k": 1} for place in range(start, start + 10)]
        return web.json_response({"total": told[number], "data": data})

    return await serve(handler)


def reader_of(read: Read, served: Served, paginator: str, *, lookup: bool = False) -> Reader:
    endpoint = ENDPOINT.format(params='k: "{k}"' if lookup else "", paginator=paginator)
    access = f"lookups: [{{keys: [k], {endpoint}}}]" if lookup else f"scan: {{{endpoint}}}"
    return read(SPEC.format(url=served.url, access=access))


@pytest.mark.parametrize("lookup", [False, True])
@pytest.mark.parametrize(
    ("paginator", "told", "doubted"),
    [
        (BY_ROWS, [30, 31], True),
        (BY_ROWS, [30, 30], False),
        (NUMBERED, [30, 29], True),
        (BY_PAGES, [3, 4], True),
        (BY_PAGES, [3, 3], False),
        (f"{BY_ROWS}, total: approximate", [30, 31], False),
    ],
)
async def test_totals_that_change_before_an_error_put_what_came_in_doubt(
    serve: Serve, read: Read, paginator: str, told: list[int], *, doubted: bool, lookup: bool
) -> None:
    served = await growing(serve, told, [0, 9])
    reader = reader_of(read, served, paginator, lookup=lookup)
    federation = Federation(reader.catalog, reader.client)
    over_duck(federation)
    rows, execution = await run(federation, "SELECT id, k FROM t WHERE k = 1", on_source_error="partial")
    assert (len(rows), execution.outcome.complete) == (20, False)
    assert execution.outcome.doubts == (("rows that came twice of api.t",) if doubted else ())
    counted = "SELECT count(*) AS n FROM t WHERE k = 1"
    rows, execution = await run(federation, counted, on_source_error="partial")
    assert (rows, execution.outcome.complete) == ([(20,)], False)
    assert bool(execution.outcome.bounds) is not doubted
