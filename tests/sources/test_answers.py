"""Answers with a good status that are none, or not all: by their status, their body, or what a spec says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
ROWS = [{"id": n, "name": f"n{n}"} for n in range(3)]


def source(
    url: str, endpoint: str = "data_selector: items", table: str = "", client: str = "", batch: str = ""
) -> str:
    host = f"{{base_url: '{url}', retry: {{max_attempts: 3, base_delay: 0.01}}{client}}}"
    return (
        f"{{version: 1, sources: {{api: {{client: {host}, tables: {{t: {{columns: {{id: int, name: string}}{table}, "
        f"endpoint: {{path: r, {endpoint}}}, scan: {{}}, lookups: [{{keys: [id]{batch}}}]}}}}}}}}}}"
    )


async def read_both(reader: Reader) -> list[list[dict[str, Any]] | str]:
    """What a scan, a lookup and a lookup of several keys bring, or why not."""
    found: list[list[dict[str, Any]] | str] = []
    for keys in ((), (1,), (1, 2)):
        try:
            found.append(await (reader.lookup("t", *keys) if keys else reader.scan("t")))
        except SourceError as error:
            found.append(error.render())
    return found


# ------------------------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", [202, 205, 206])
async def test_a_status_that_brings_no_answer(serve: Serve, read: Read, status: int) -> None:
    async def handler(_: web.Request) -> web.Response:
        if status == 205:
            return web.Response(status=status)
        return web.json_response({"items": ROWS}, status=status)

    server = await serve(handler)
    for outcome in await read_both(read(source(server.url, batch=", batch: {size: 2}"))):
        assert ("the answer is empty" if status == 205 else f"HTTP {status}") in outcome
    assert len(server.asked) == 3, "asking again does not help"


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_rows_of_a_part_are_not_handed_on_before_its_status_is_known(
    serve: Serve, read: Read, form: str
) -> None:
    body = b"id,name\n" + b"1,x\n" * 600_000 if form == "csv" else b'{"id": 1, "name": "x"}\n' * 150_000

    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body, status=206)

    reader = read(source((await serve(handler)).url, f"format: {form}"))
    table = reader.table("t")
    pages = reader.catalog.adapter_of(table).scan(table, table.scans[0], ["id"], meter=reader.meter, window=1)
    with pytest.raises(SourceError, match="HTTP 206"):
        await anext(pages)


async def test_a_part_that_was_asked_for_and_a_status_that_is_declared(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        status = 206 if "Range" in request.headers else 202
        return web.json_response({"items": ROWS}, status=status)

    url = (await serve(handler)).url
    ranged = read(source(url, "data_selector: items, headers: {Range: 'items=0-2'}"))
    assert await ranged.scan("t") == ROWS
    assert await read(source(url, table=", on_status: [{status_code: 202, action: empty}]")).scan("t") == []


@pytest.mark.parametrize(("rows", "status", "wrong"), [(0, 404, True), (3, 404, False), (0, 204, False)])
async def test_a_scan_that_a_status_alone_answers_is_warned_of(
    serve: Serve, read: Read, rows: int, *, status: int, wrong: bool
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if rows and asked.query["page"] == "1":
            return web.json_response({"items": ROWS[:rows]})
        return web.Response(status=status)

    pages = "data_selector: items, paginator: {type: page_number, page_size: 3}"
    url = (await serve(handler)).url
    reader = read(source(url, pages, f", on_status: [{{status_code: {status}, action: empty}}]"))
    assert await reader.scan("t") == ROWS[:rows]
    assert any("HTTP 404 alone" in warning for warning in reader.meter.warnings) == wrong


@pytest.mark.parametrize(("ready_after", "asked"), [(2, 3), (99, 3)])
async def test_an_answer_to_come_is_asked_for_again_as_told(
    serve: Serve, read: Read, ready_after: int, asked: int
) -> None:
    async def handler(_: web.Request) -> web.Response:
        if len(server.asked) <= ready_after:
            return web.json_response({"items": []}, status=202, headers={"Retry-After": "7"})
        return web.json_response({"items": ROWS})

    server = await serve(handler)
    reader = read(source(server.url))
    if ready_after == 2:
        assert await reader.scan("t") == ROWS
    else:
        with pytest.raises(SourceError, match="HTTP 202 after 3 attempts"):
            await reader.scan("t")
    assert len(server.asked) == asked
    assert reader.time.now >= 14


async def test_a_wait_above_what_is_allowed_ends_it(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({}, status=202, headers={"Retry-After": "86400"})

    server = await serve(handler)
    with pytest.raises(SourceError, match="HTTP 202"):
        await read(source(server.url)).scan("t")
    assert len(server.asked) == 1


async def test_null_is_no_answer_of_a_scan_and_no_row_of_a_lookup(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"null\n", content_type="application/json")

    url = (await serve(handler)).url
    scan, *lookups = await read_both(read(source(url, "data_selector: $")))
    assert "the answer is null" in scan
    assert lookups == [[]] * len(lookups)
    assert (await read_both(read(source(url, "data_selector: $, absent: empty"))))[0] == []


@pytest.mark.parametrize("form", ["json", "csv", "xml", "html_table", "parquet"])
async def test_no_body_is_no_answer_of_lookups_either(serve: Serve, read: Read, form: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b" \n")

    url = (await serve(handler)).url
    for outcome in await read_both(read(source(url, f"format: {form}", batch=", batch: {size: 2}"))):
        assert f"the answer is empty, which is not {form}" in outcome
    assert await read_both(read(source(url, f"format: {form}, absent: empty"))) == [[], [], []]


# --------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    "beside",
    every(
        3,
        [
            {"error": "quota of the day"},
            {"errors": [{"message": "quota of the day"}]},
            {"error": {"code": 17, "message": "quota of the day"}},
            {"success": False, "message": "quota of the day"},
            {"ok": False, "detail": "quota of the day"},
            {"status": "error", "message": "quota of the day"},
            {"status": 429, "message": "quota of the day"},
            {"Error_Message": "quota of the day"},
            {"meta": {"errorMessage": "quota of the day"}},
            {"status": {"error_code": 1008, "error_message": "quota of the day"}},
            {"Error Message": "quota of the day"},
            {"isError": True, "message": "quota of the day"},
            {"has_errors": 1, "message": "quota of the day"},
            {"errcode": 40001, "errmsg": "quota of the day"},
            {"err": "quota of the day"},
            {"failure": {"text": "quota of the day"}},
            {"success": 0, "message": "quota of the day"},
            {"cod": "401", "message": "quota of the day"},
            {"resultCode": "ERROR", "message": "quota of the day"},
            {"status": "OVER_QUERY_LIMIT", "message": "quota of the day"},
            {"state": "throttled", "message": "quota of the day"},
            {"status": "REQUEST_DENIED", "message": "quota of the day"},
            {"message": "rate limit exceeded: quota of the day"},
            {"detail": "Access denied, quota of the day"},
            {"issue": [{"severity": "error", "diagnostics": "quota of the day"}]},
            {"code": "TOKEN_EXPIRED", "message": "quota of the day"},
            {"status": "not authenticated", "message": "quota of the day"},
            {"message": "The access token has expired: quota of the day"},
            {"detail": "Please sign in for the quota of the day"},
            {"reason": "login required, quota of the day"},
            {"msg": "request timeout: quota of the day"},
        ],
    ),
    ids=str,
)
@pytest.mark.parametrize("items", [[], None, ...])
async def test_what_went_wrong_beside_no_records(
    serve: Serve, read: Read, beside: dict[str, Any], items: Any
) -> None:
    body = beside if items is ... else {"items": items, **beside}

    async def handler(_: web.Request) -> web.Response:
        return web.json_response(body)

    url = (await serve(handler)).url
    more = "data_selector: items" + (", absent: empty" if items is ... else "")
    for outcome in await read_both(read(source(url, more, batch=", batch: {size: 2}"))):
        assert "quota of the day" in outcome
        assert "on_response" in outcome


@pytest.mark.parametrize(
    "beside",
    [
        {"error": None, "errors": [], "success": True, "status": "ok", "code": 200},
        {"error": "", "error_code": 0, "error_message": "", "message": "no items", "timed_out": False},
        {
            "error": {"code": 0, "message": "OK"},
            "stat": "success",
            "partial": False,
            "_shards": {"failed": 0},
        },
        {"errors": 0, "status": {"error": "none"}, "truncated": 0, "complete": True},
        {"status": "no errors", "state": "unlimited_access", "isError": False, "errcode": 0, "errmsg": "ok"},
        {
            "message": "Nothing found. Try again with other words; the rate limit is 10 a second",
            "title": "Access denied",
        },
        {"message": "This offer has expired", "detail": "for members that log in; sign in on our site"},
        {
            "warnings": [],
            "notes": "Results are limited to 10 rows per page. Recent data may be incomplete. Nothing was not truncated, no more results are available",
        },
        {
            "issue": [{"severity": "information"}],
            "responseCode": "OK",
            "success": 1,
            "rateLimitExceeded": False,
        },
    ],
    ids=str,
)
@pytest.mark.parametrize("items", [[], ROWS])
async def test_words_that_say_that_all_is_well(
    serve: Serve, read: Read, beside: dict[str, Any], items: list[Any]
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({**beside, "items": items})

    reader = read(source((await serve(handler)).url))
    assert await reader.scan("t") == items
    assert reader.truncated == []


@pytest.mark.parametrize(
    "beside",
    every(
        3,
        [
            {"incomplete_results": True},
            {"timed_out": True},
            {"partial": True},
            {"isPartial": "true"},
            {"_shards": {"total": 5, "failed": 2}},
            {"truncated": True},
            {"exceededTransferLimit": True},
            {"meta": {"limitExceeded": 1}},
            {"complete": False},
            {"responseHeader": {"partialResults": True}},
            {"UnprocessedKeys": {"t": [1]}},
            {"error": "one shard is down"},
            {"success": False},
            {"partialSuccess": True},
            {"data_truncated": True},
            {"maxResultsExceeded": True},
            {"rowLimitExceeded": "true"},
            {"failed_shards": 2},
            {"hasIncompleteResults": True},
            {"warnings": ["only the first 10 rows are shown"]},
            {"warnings": [{"code": 7, "message": "Result set truncated"}]},
            {"message": "Results limited to 1,000 rows"},
            {"note": "partial results"},
            {"notice": "More results are available: refine the query"},
        ],
    ),
    ids=str,
)
@pytest.mark.parametrize("paginator", ["single_page", "offset", "json_link"])
async def test_a_part_is_told_of_beside_records(
    serve: Serve, read: Read, beside: dict[str, Any], paginator: str
) -> None:
    async def handler(request: web.Request) -> web.Response:
        last = request.query.get("offset", "0") != "0"
        return web.json_response({"items": [] if last else ROWS, **({} if last else beside)})

    url = (await serve(handler)).url
    reader = read(source(url, f"data_selector: items, paginator: {{type: {paginator}}}"))
    follows = paginator == "offset" and beside.keys() & {
        "truncated", "exceededTransferLimit", "warnings", "message", "note", "notice",
    }  # fmt: skip
    for read_all in (reader.scan("t"), reader.lookup("t", 1)):
        reader.truncated.clear()
        assert await read_all == ROWS
        assert bool(reader.truncated) != bool(follows), (
            "what such words say of a page is no loss where the next one comes"
        )
        # Words that speak of a next page as well are told of as such.
        assert all("the answer says" in text or "there is more" in text for text in reader.truncated)


@pytest.mark.parametrize(
    ("field", "text", "is_part"),
    [
        ("X-Partial-Results", "true", True),
        ("X-Incomplete-Results", "1", True),
        ("Warning", '199 - "Partial results"', True),
        ("X-SQL-State", "S1TAT", True),
        ("X-SQL-Message", "Returning incomplete results, query interrupted by result timeout.", True),
        ("X-SPARQL-MaxRows", "3", True),
        ("X-SQL-State", "00000", False),
        ("X-SQL-Message", "done", False),
        ("X-Partial-Results", "false", False),
        ("Warning", '110 - "Response is stale"', False),
    ],
)
async def test_a_part_is_told_of_in_the_header(
    serve: Serve, read: Read, field: str, text: str, *, is_part: bool
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"items": ROWS}, headers={field: text})

    reader = read(source((await serve(handler)).url))
    assert await reader.scan("t") == ROWS
    assert bool(reader.truncated) is is_part


async def test_pages_fetched_side_by_side_tell_of_parts_too(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        page = int(request.query["page"])
        return web.json_response({"items": ROWS[page - 1 : page], "pages": 3, "timed_out": page == 3})

    url = (await serve(handler)).url
    reader = read(source(url, "data_selector: items, paginator: {type: page_number, total_path: pages}"))
    assert sorted(row["id"] for row in await reader.scan("t", window=4)) == [0, 1, 2]
    assert len(reader.truncated) == 1


async def test_words_in_records_are_data(serve: Serve, read: Read) -> None:
    rows = [{"id": 1, "name": "x", "error": "bad luck", "truncated": True, "success": False}]

    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"items": rows} if request.path == "/r" else rows[0])

    url = (await serve(handler)).url
    reader = read(source(url))
    assert await reader.scan("t") == [{"id": 1, "name": "x"}]
    assert await read(source(f"{url}/one", "data_selector: $")).lookup("t", 1) == [{"id": 1, "name": "x"}]
    assert reader.truncated == []


async def test_secrets_that_a_source_repeats_are_not_shown_not_even_in_part(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"items": [], "error": "x" * 190 + " sesame-open-42"})

    url = (await serve(handler)).url
    auth = ", auth: {type: bearer, token: '${env:KEY}'}"
    with pytest.raises(SourceError) as error:
        await read(source(url, client=auth), KEY="sesame-open-42").scan("t")
    assert "sesame" not in error.value.render()
    rule = ", on_response: [{path: error, action: fail}]"
    with pytest.raises(SourceError) as error:
        await read(source(url, table=rule, client=auth), KEY="sesame-open-42").scan("t")
    assert "sesame" not in error.value.render()


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("<OAI-PMH><error code='noRecordsMatch'>none</error></OAI-PMH>", []),
        ("<OAI-PMH><error code='badResumptionToken'>it is old</error></OAI-PMH>", "it is old"),
        ("<error>it is down</error>", "it is down"),
        (
            "<OAI-PMH><ListRecords><record><id>1</id></record></ListRecords></OAI-PMH>",
            [{"id": 1, "name": None}],
        ),
    ],
)
async def test_errors_in_xml(serve: Serve, read: Read, body: str, outcome: Any) -> None:
    async def handler(request: web.Request) -> web.Response:
        asked = "".join(request.query.values())
        text = body if not asked or "1" in asked else body.replace("<record><id>1</id></record>", "")
        return web.Response(text=text, content_type="text/xml")

    url = (await serve(handler)).url
    found = await read_both(
        read(
            source(url, "format: xml, data_selector: OAI-PMH.ListRecords.record", batch=", batch: {size: 2}")
        )
    )
    for one in found:
        assert (
            outcome in one
            if isinstance(outcome, str)
            else [row["name"] for row in one] == [None] * len(outcome)
        )


# --------------------------------------------------------------------------------------------------------- on_response


@pytest.mark.parametrize("place", ["table", "endpoint"])
@pytest.mark.parametrize(
    ("rules", "body", "outcome"),
    [
        ("{path: state, equals: gone, action: empty}", {"state": "gone"}, []),
        ("{path: state, equals: gone, action: fail}", {"state": "gone", "items": ROWS}, "state: gone"),
        ("{path: notes, action: fail}", {"notes": ["a b"], "items": ROWS}, 'notes: ["a b"]'),
        ("{path: notes, action: fail}", {"notes": [], "items": ROWS}, ROWS),
        ("{path: n, equals: 1, action: fail}", {"n": True, "items": ROWS}, ROWS),
        ("{path: n, equals: 1, action: fail}", {"n": "1", "items": ROWS}, ROWS),
        ("{path: n, equals: 1, action: fail}", {"n": 1.0, "items": ROWS}, "n: 1.0"),
        ("{path: n, equals: null, action: fail}", {"n": None, "items": ROWS}, "n: null"),
        ("{path: n, equals: null, action: fail}", {"items": ROWS}, ROWS),
        ("{path: n, equals: {a: [1]}, action: fail}", {"n": {"a": [1]}, "items": ROWS}, "the answer says n"),
        ("{path: 'items[*].id', equals: 2, action: fail}", {"items": ROWS}, "items[*].id: 2"),
        ("{path: error, action: accept}", {"error": "as always", "items": []}, []),
        ("{path: a, action: empty}, {path: b, action: fail}", {"a": 1, "b": 2}, []),
        ("{path: b, action: fail}, {path: a, action: empty}", {"a": 1, "b": 2}, "b: 2"),
    ],
)  # fmt: skip
async def test_what_a_spec_says_of_answers(
    serve: Serve, read: Read, *, place: str, rules: str, body: dict[str, Any], outcome: Any
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(body)

    server = await serve(handler)
    more = f", on_response: [{rules}]"
    endpoint = "data_selector: items"
    spec = source(
        server.url,
        endpoint + more if place == "endpoint" else endpoint,
        more if place == "table" else "",
        batch=", batch: {size: 2}",
    )
    for found in await read_both(read(spec)):
        assert found == outcome if isinstance(outcome, list) else outcome in found
    alone = 2 * (outcome == [])  # what says nothing of each of several keys makes them asked for one by one
    assert len(server.asked) <= 3 + alone, "none of these is tried again"


@pytest.mark.parametrize("action", ["retry", "slow_down"])
@pytest.mark.parametrize("better", [True, False])
async def test_answers_that_are_to_be_tried_again(
    serve: Serve, read: Read, action: str, better: bool
) -> None:
    async def handler(_: web.Request) -> web.Response:
        if better and len(server.asked) == 3:
            return web.json_response({"items": ROWS})
        return web.json_response({"items": [], "code": "BUSY"}, headers={"ETag": '"1"', "Retry-After": "4"})

    server = await serve(handler)
    reader = read(
        source(server.url, table=f", on_response: [{{path: code, equals: BUSY, action: {action}}}]")
    )
    if better:
        assert await reader.scan("t") == ROWS
    else:
        with pytest.raises(SourceError, match="the answer says code: BUSY after 3 attempts"):
            await reader.scan("t")
    assert len(server.asked) == 3
    assert reader.meter.retries == 2
    assert reader.meter.throttled == (0 if action == "retry" else 2 if better else 3)
    assert reader.time.now >= 8, "the wait that was told"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (", on_response: [{path: 'a[', action: fail}]", "cannot be read as a path"),
        (", on_response: [{path: a, action: ignore}]", "action"),
        (", on_response: [{path: a, action: fail, contains: x}]", "contains: unknown key"),
        (", on_response: [{action: fail}]", "path: is missing"),
    ],
)
def test_rules_that_cannot_be_read(tmp_path: Path, part: str, message: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(source("http://h", table=part), encoding="utf-8")
    assert any(message in error.render() for error in lint(file, environ={}))


@pytest.mark.parametrize(
    ("endpoint", "table"),
    [("format: csv, on_response: [{path: a, action: fail}]", ""), ("format: csv", ", on_response: [{path: a, action: fail}]")],
)  # fmt: skip
def test_rules_that_nothing_could_follow(tmp_path: Path, endpoint: str, table: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(source("http://h", endpoint, table), encoding="utf-8")
    assert any("reads JSON or XML" in error.render() for error in lint(file, environ={}))
