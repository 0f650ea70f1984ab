"""The example of the reference as a whole: it loads, and every line of it does what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
SPEC = """\
version: 1
sources:
  gov:                                        # source name
    client:
      base_url: BASE/v1
      headers: {Accept: application/json}
      auth: {type: bearer, token: "${env:GOV_TOKEN}"}
      rate_limit: {max_concurrency: 8, fill_rate: 10, bucket_size: 20,
                   remaining_header: X-RateLimit-Remaining,
                   reset_header: X-RateLimit-Reset, extra_statuses: [403]}
      retry: {max_attempts: 5, max_delay: 30}
      timeout: {connect: 10, read: 30}
      cache: {ttl: 300}
    table_defaults: {endpoint: {params: {per_page: 100}}}
    tables:
      crime:
        primary_key: [zip]                    # optional; enables de-duplication by key
        columns:
          zip: string
          crimeRating: {type: string, path: rating.value}
          year: int
        key_columns:
          - {name: zip, require: optional, operators: ["=", "in"]}
          - {name: year, require: optional, operators: ["=", ">=", "<="], param: {">=": year_min, "<=": year_max}}
        scan:
          endpoint:
            path: crime
            data_selector: results
            paginator: {type: page_number, page_param: page, base_page: 1, total_path: meta.pages}
        lookups:
          - {keys: [zip], endpoint: {path: "crime/{zip}", data_selector: "$"}}
          - {keys: [zip], batch: {size: 50, separator: ","}, endpoint: {path: crime, params: {zips: "{zip}"}, data_selector: results}}
        on_status: [{status_code: 404, action: empty}]
        order: none                           # declared order of the scan, if any
    tests: ["SELECT * FROM gov.crime WHERE zip = '94704'"]
"""


def record(zip_code: str) -> dict[str, Any]:
    return {"zip": zip_code, "rating": {"value": f"r{zip_code}"}, "year": 2020}


def row(zip_code: str) -> dict[str, Any]:
    return {"zip": zip_code, "crimeRating": f"r{zip_code}", "year": 2020}


async def test_the_example_does_what_it_says(serve: Serve, read: Read) -> None:
    refused = False

    async def handler(asked: web.Request) -> web.Response:
        nonlocal refused
        assert asked.headers["Authorization"] == "Bearer t0ken"
        assert asked.headers["Accept"] == "application/json"
        assert asked.query["per_page"] == "100"
        if not refused:
            refused = True
            reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"}
            return web.Response(status=403, headers=reset)
        if asked.path.startswith("/v1/crime/"):
            found = asked.path.rpartition("/")[2]
            return web.json_response(record(found)) if found == "94704" else web.Response(status=404)
        if "zips" in asked.query:
            return web.json_response({"results": [record(one) for one in asked.query["zips"].split(",")]})
        page = int(asked.query.get("page", 1))
        return web.json_response({"results": [record(f"0000{page}")], "meta": {"pages": 3}})

    server = await serve(handler)
    reader = read(SPEC.replace("BASE", server.url), GOV_TOKEN="t0ken")
    table = reader.table("crime")
    assert [scan.name for scan in table.scans] == ["crime.scan"]
    assert [(one.keys, one.batch_size) for one in table.lookups] == [
        (("zip",), 1),
        (("zip",), 50),
        (("year",), 1),
    ]
    assert table.max_in_flight == 8
    assert await reader.scan("crime", window=4) == [row("00001"), row("00002"), row("00003")]
    assert 7.0 in reader.time.slept, "the server's own reset is obeyed on its declared status"
    assert await reader.lookup("crime", "94704") == [row("94704")]
    assert await reader.lookup("crime", "00000") == []
    assert await reader.lookup("crime", "1", "2", "3", number=1) == [row("1"), row("2"), row("3")]
    assert server.asked[-1].query["zips"] == "1,2,3"
    await reader.lookup("crime", 2020, number=2)
    assert server.asked[-1].query["year"] == "2020"
    assert not reader.meter.warnings


ROWS = [{"id": n} for n in range(23)]


def paged(paginator: str, url: str) -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{t: {{columns: {{id: int}},"
        f" scan: {{endpoint: {{path: r, data_selector: items, paginator: {paginator}}}}}}}}}}}}}}}"
    )


@pytest.mark.parametrize("window", every(2, [1, 4]))
@pytest.mark.parametrize(
    ("paginator", "count"),
    [
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, offset: 0}", 23),
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, maximum_offset: 10}", 10),
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, maximum_offset: 10, total_path: total}", 10),
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, total_path: low}", 23),
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, total_path: high}", 23),
        ("{type: offset, limit: 5, limit_param: n, offset_param: at, has_more_path: more}", 23),
        ("{type: page_number, limit: 5, limit_param: n, maximum_page: 3}", 10),
        ("{type: page_number, limit: 5, limit_param: n, total_rows_path: low}", 23),
        ("{type: page_number, limit: 5, limit_param: n, total_rows_path: high}", 23),
        ("{type: page_number, limit: 5, limit_param: n, has_more_path: more}", 23),
        ("{type: page_number, limit: 5, limit_param: n, total_rows_path: total, max_pages: 2}", 10),
        ("{type: cursor, cursor_param: after}", 23),
        ("{type: json_response, next_url_path: after}", 23),
        ("{type: header_link, links_next_key: onward}", 23),
    ],
)  # fmt: skip
async def test_paginators_in_words_of_dlt(
    serve: Serve, read: Read, window: int, paginator: str, count: int
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        size = int(asked.query.get("n", 5))
        start = int(
            asked.query.get("at", asked.query.get("after", (int(asked.query.get("page", 1)) - 1) * size))
        )
        more = start + size < len(ROWS)
        body = {"items": ROWS[start : start + size], "total": 23, "low": 22, "high": 60, "more": more}
        headers = {}
        if more:
            body |= {"cursors": {"next": start + size}, "after": f"/r?after={start + size}"}
            headers["Link"] = f'</r?after={start + size}>; rel="onward"'
        return web.json_response(body, headers=headers)

    server = await serve(handler)
    reader = read(paged(paginator, server.url))
    assert sorted(row["id"] for row in await reader.scan("t", window=window)) == list(range(count))
    wrong = "low" in paginator or "high" in paginator
    assert bool(reader.truncated) is (count < 23 or wrong), (
        "what was left out is told, and a total that is not reached"
    )
    if "more" in paginator:
        assert len(server.asked) == 5, "no page is asked for once there are no more"


async def test_an_empty_page_amid_others_is_an_error(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query["offset"])
        return web.json_response({"items": [] if start == 10 else ROWS[start : start + 5], "total": 23})

    server = await serve(handler)
    reader = read(paged("{type: offset, page_size: 5, total_path: total}", server.url))
    with pytest.raises(SourceError, match="offset=10 is empty although later ones are not"):
        await reader.scan("t", window=4)
