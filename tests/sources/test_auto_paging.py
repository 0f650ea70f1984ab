"""`paginator: auto`: what can be followed is followed; what cannot is never taken for the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.federation import Federation
from fff_sources.http.paging.envelope import looks_like_url, mentions_more, told_more
from fff_sources.http.paging.surroundings import Counts
from fff_sources.http.response.jsonpath import parse_path
from tests.engine.site import run
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
Body = Callable[[web.Request], dict[str, Any]]
ROWS = [{"id": n} for n in range(57)]
ONE = Counts(1, 1)
ALL = list(range(57))
AUTO_OF_THREE = "{type: auto, max_pages: 3}"


def spec(served: Served, more: str = "", paginator: str = "auto") -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{served.url}'}}, tables: {{t: {{"
        f"columns: {{id: int}}, scan: {{endpoint: {{path: r, data_selector: data, paginator: {paginator}{more}}}}},"
        f" lookups: [{{keys: [id], endpoint: {{path: 'of/{{id}}', data_selector: data}}}}]}}}}}}}}}}"
    )


def handler(body: Body) -> Callable[[web.Request], Any]:
    async def answer(asked: web.Request) -> web.Response:
        return web.json_response(body(asked))

    return answer


def page(start: int, size: int = 10) -> list[dict[str, int]]:
    return ROWS[start : start + size]


def by(param: str, place: Callable[[str | None], dict[str, Any]]) -> Body:
    """Pages chained by a cursor, which is a position here."""

    def body(asked: web.Request) -> dict[str, Any]:
        start = int(asked.query.get(param, 0))
        following = str(start + 10) if start + 10 < len(ROWS) else None
        return {"data": page(start), **place(following)}

    return body


def numbered(param: str, base: int, **words: Any) -> Body:
    def body(asked: web.Request) -> dict[str, Any]:
        number = int(asked.query.get(param, base))
        more = {"has_more": (number - base + 1) * 10 < len(ROWS)} if words.get("has_more") else {}
        return {"data": page((number - base) * 10), "meta": words | {param: number} | more}

    return body


def offset(asked: web.Request) -> dict[str, Any]:
    start = int(asked.query.get("offset", 0))
    return {"data": page(start), "offset": start, "limit": 10, "total": len(ROWS)}


FOLLOWED = {
    "cursors.next": by("cursor", lambda one: {"cursors": {"next": one}}),
    "next_cursor": by("cursor", lambda one: {"has_more": one is not None, "next_cursor": one}),
    "an empty cursor ends": by("cursor", lambda one: {"response_metadata": {"next_cursor": one or ""}}),
    "nextPageToken": by("pageToken", lambda one: {"nextPageToken": one} if one else {}),
    "next_page_token": by("page_token", lambda one: {"meta": {"next_page_token": one}}),
    "continuationToken": by("continuationToken", lambda one: {"continuationToken": one, "isTruncated": one is not None}),
    "pages": numbered("page", 1, total_pages=6),
    "pages from zero": numbered("page", 0, pages=6, count=10),
    "records by page": numbered("page", 1, per_page=10, total=57),
    "pages while there are more": numbered("page", 1, has_more=True),
    "offset": offset,
    "link": lambda asked: by("p", lambda one: {"links": {"next": f"{asked.path}?p={one}" if one else None}})(asked),
    "odata": by("p", lambda one: {"@odata.nextLink": f"?p={one}"} if one else {}),
    "query alone": by("p", lambda one: {"next": f"?p={one}" if one else None, "count": 57}),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
async def test_what_is_evident_is_followed(serve: Serve, read: Read, name: str) -> None:
    served = await serve(handler(FOLLOWED[name]))
    for window in (1, 4):
        reader = read(spec(served))
        assert [row["id"] for row in await reader.scan("t", window=window)] == ALL
        assert not reader.truncated
        assert not reader.meter.warnings
    assert len(served.asked) == 12


MORE = {
    "has_more": {"has_more": True},
    "total": {"total": 57},
    "count": {"count": 57},
    "odata": {"@odata.count": 57},
    "next page without its number": {"next_page": 2},
    "a cursor nobody knows the parameter of": {"next": "b2Zmc2V0/MTA="},
    "a token": {"meta": {"next_token": "abc"}},
    "Relay": {"pageInfo": {"hasNextPage": True, "endCursor": "x"}},
    "not last": {"isLast": False, "startAt": 40},
    "not the end, as a number": {"endOfRecords": 0, "offset": 40},
    "a page that is not the first": {"page": 7, "pages": 9, "total": 87},
}


@pytest.mark.parametrize("name", MORE)
async def test_what_cannot_be_followed_is_a_part_and_says_so(serve: Serve, read: Read, name: str) -> None:
    served = await serve(handler(lambda _: {"data": page(0), **MORE[name]}))
    reader = read(spec(served))
    assert len(await reader.scan("t")) == 10
    assert len(served.asked) == 1
    [reason] = reader.truncated
    assert reason.startswith("there is more than what came (")
    assert "declare the paginator" in reason


async def test_such_an_answer_is_not_complete_but_serves_a_limit(serve: Serve, read: Read) -> None:
    served = await serve(handler(lambda _: {"data": page(0), "has_more": True}))
    reader = read(spec(served))
    federation = Federation(reader.catalog, reader.client)
    rows, execution = await run(federation, "SELECT id FROM t")
    assert (len(rows), execution.outcome.complete) == (10, False)
    assert "there is more" in execution.outcome.missing[0].reason
    rows, execution = await run(federation, "SELECT id FROM t LIMIT 4")
    assert (len(rows), execution.outcome.complete) == (4, True)


WHOLE = {
    "nothing": {},
    "as many": {"total": 10, "count": 10, "page": 1, "total_pages": 1},
    "an end that is told": {"has_more": False, "next_cursor": "x", "next": None},
    "the last": {"isLast": True, "nextPageToken": ""},
    "no rows left": {"count": 3},
    "cursors of this page": {"paging": {"cursors": {"after": "x", "before": "y"}}},
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("paginator", ["auto", "single_page"])
async def test_whole_answers_are_believed(serve: Serve, read: Read, name: str, paginator: str) -> None:
    served = await serve(handler(lambda _: {"data": page(0), **WHOLE[name]}))
    reader = read(spec(served, paginator=paginator))
    assert len(await reader.scan("t")) == 10
    assert len(served.asked) == 1
    assert not reader.truncated
    assert not reader.meter.warnings


IGNORED: dict[str, Body] = {
    "cursor": lambda asked: {"data": page(0), "next_cursor": f"x{len(asked.query_string)}{id(asked)}"},
    "same cursor": lambda _: {"data": page(0), "next_cursor": "x"},
    "page": lambda _: {"data": page(0), "page": 1, "total_pages": 6},
    "offset": lambda asked: {"data": page(len(asked.query)), "offset": 0, "total": 57},
}


@pytest.mark.parametrize("name", IGNORED)
async def test_a_parameter_that_is_not_understood_is_noticed(serve: Serve, read: Read, name: str) -> None:
    served = await serve(handler(IGNORED[name]))
    with pytest.raises(SourceError, match="declare the paginator") as error:
        await read(spec(served)).scan("t")
    assert "ignore" in str(error.value)
    assert len(served.asked) == 2


async def test_an_empty_page_that_is_the_last_ends_whatever_url_it_has(serve: Serve, read: Read) -> None:
    def body(asked: web.Request) -> dict[str, Any]:
        start = int(asked.query.get("from", 0))
        return {
            "data": page(start),
            "end_of_stream": start + 10 >= len(ROWS),
            "next_page": f"/r?from={start + 10}",
        }

    served = await serve(handler(body))
    reader = read(spec(served))
    assert [row["id"] for row in await reader.scan("t")] == ALL
    assert reader.truncated == []
    assert len(served.asked) == 7


async def test_new_cursors_without_rows_come_to_an_end(serve: Serve, read: Read) -> None:
    served = await serve(handler(lambda asked: {"data": [], "next_cursor": f"x{asked.query_string}"[:120]}))
    with pytest.raises(SourceError, match=r"empty pages in a row|a second time"):
        await read(spec(served)).scan("t")


@pytest.mark.parametrize("total", [60, 50])
async def test_a_total_that_is_not_what_pages_bring_is_an_incomplete_answer(
    serve: Serve, read: Read, total: int
) -> None:
    body = by("p", lambda one: {"next": f"?p={one}" if one else None, "total_count": total})
    served = await serve(handler(body))
    reader = read(spec(served))
    assert len(await reader.scan("t")) == 57
    assert reader.truncated == [f"the source speaks of {total} rows and gave 57"]
    reader = read(spec(served, paginator="{type: auto, total: approximate}"))
    assert len(await reader.scan("t")) == 57
    assert reader.truncated == []


@pytest.mark.parametrize("place", ["page", "offset"])
@pytest.mark.parametrize(
    "words", [{"total": 5, "approximate": True}, {"total": {"value": 5, "relation": "gte"}}]
)
async def test_an_estimate_that_is_too_small_ends_nothing(
    serve: Serve, read: Read, place: str, words: dict[str, Any]
) -> None:
    def body(asked: web.Request) -> dict[str, Any]:
        number = int(asked.query.get(place, place == "page"))
        return {"data": page(10 * number - 10 if place == "page" else number), place: number, **words}

    reader = read(spec(await serve(handler(body))))
    assert [row["id"] for row in await reader.scan("t")] == ALL
    assert reader.truncated == []


async def test_a_posted_question_is_not_given_parameters(serve: Serve, read: Read) -> None:
    served = await serve(handler(lambda _: {"data": page(0), "next_cursor": "x"}))
    reader = read(spec(served, more=", method: POST, json: {}"))
    assert len(await reader.scan("t")) == 10
    assert reader.truncated


@pytest.mark.parametrize(
    "words",
    [
        {"has_more": True},
        {"next": "https://api.example/r?page=2"},
        {"nextPageToken": "x"},
        {"meta": {"total": 57}},
        {"total": 57, "limit": 10},
        {"total_count": 57},
        {"exceededTransferLimit": True},
    ],
)
@pytest.mark.parametrize(
    "paginator", ["single_page", "{type: cursor, cursor_path: elsewhere}", "{type: json_link, next_url_path: elsewhere}", "header_link"]
)  # fmt: skip
async def test_what_a_paginator_does_not_read_is_seen(
    serve: Serve, read: Read, words: dict[str, Any], paginator: str
) -> None:
    served = await serve(handler(lambda _: {"data": page(0), **words}))
    reader = read(spec(served, paginator=paginator))
    assert len(await reader.scan("t")) == 10
    [reason] = reader.truncated
    assert "there is more than what came (" in reason
    assert paginator.split(",", maxsplit=1)[0].removeprefix("{type: ") in reason
    if paginator == "single_page":
        lookups = spec(served).replace("'of/{id}'", "'of/{id}', paginator: single_page")
        reader = read(lookups)
        assert len(await reader.lookup("t", 3)) == 10
        assert len(reader.truncated) == 1
    assert not reader.meter.warnings


@pytest.mark.parametrize(
    "paginator", ["auto", "single_page", "header_link", "{type: json_link, next_url_path: elsewhere}"]
)
@pytest.mark.parametrize(("last", "whole"), [("6", False), ("1", True), ("x", True), ("", True)])
async def test_a_link_to_the_last_page_alone_tells_that_there_are_more(
    serve: Serve, read: Read, paginator: str, last: str, *, whole: bool
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"data": page(0)}, headers={"Link": f'</r?page={last}>; rel="last"'})

    reader = read(spec(await serve(answer), paginator=paginator))
    assert len(await reader.scan("t")) == 10
    assert bool(reader.truncated) is not whole


@pytest.mark.parametrize("words", [{"total": 57}, {"count": 57}, {"pages": 57}, {"data": []}])
async def test_of_a_single_page_a_number_alone_may_be_anything(
    serve: Serve, read: Read, words: dict[str, Any]
) -> None:
    served = await serve(handler(lambda _: {"data": page(0), **words}))
    reader = read(spec(served, paginator="single_page"))
    await reader.scan("t")
    assert not reader.truncated


def test_a_record_is_data() -> None:
    body = b'{"next": "https://h/2", "has_more": true, "total_count": 9}'
    assert told_more(body, parse_path("$")).sign(ONE) is None
    assert told_more(b'{"data": ' + body + b"}", parse_path("data")).sign(ONE) is None
    assert told_more(b'{"a": ' + body + b"}", parse_path("a.rows")).sign(ONE) == "'has_more'"
    assert told_more(b'{"x": ' + body + b"}", parse_path("*")).sign(ONE) is None


def test_elasticsearch() -> None:
    body = b'{"hits": {"total": {"value": 57, "relation": "eq"}, "hits": [{}]}}'
    assert told_more(body, parse_path("hits.hits")).hint(ONE) == "1 of 57 by 'total'"


def test_words_are_looked_for_at_both_ends() -> None:
    rows = b'"data": [' + b"1," * 9000 + b"1]"
    assert mentions_more(b'{"has_more": true, ' + rows + b"}")
    assert mentions_more(b"{" + rows + b', "total_count": 5}')
    assert not mentions_more(b"{" + rows + b', "some_total": 5}')


@pytest.mark.parametrize(
    ("text", "is_url"),
    [
        ("https://h/x", True),
        ("/x?page=2", True),
        ("?page=2", True),
        ("items?cursor=x", True),
        ("../x", True),
        ("b2Zmc2V0/MTA=", False),
        ("10", False),
        ("abc", False),
    ],
)
def test_urls_are_told_from_cursors(text: str, is_url: bool) -> None:
    assert looks_like_url(text) is is_url


@pytest.mark.parametrize("words", [{"page": 1, "per_page": 10}, {"offset": 0, "limit": 10}])
@pytest.mark.parametrize("rows", [10, 24, 30])
async def test_no_page_is_the_last_by_its_length(
    serve: Serve, read: Read, words: dict[str, int], rows: int
) -> None:
    name, first = next(iter(words.items()))

    def body(asked: web.Request) -> dict[str, Any]:
        place = int(asked.query.get(name, first))
        start = place if name == "offset" else 10 * place - 10
        return {"data": ROWS[start:rows][:10], "meta": words | {name: place}}

    served = await serve(handler(body))
    reader = read(spec(served))
    assert [row["id"] for row in await reader.scan("t")] == ALL[:rows]
    assert reader.truncated == []
    assert len(served.asked) == -(-rows // 10) + 1


@pytest.mark.parametrize("behind", ["empty", 404, 422, "the last again", "the first again", "max_pages"])
async def test_a_page_shorter_than_it_might_be_is_the_last_where_none_follows(
    serve: Serve, read: Read, behind: str | int
) -> None:
    """The source hides some rows after it has cut its pages, or has shorter ones than it was asked for."""
    shown = [[row for row in page(start) if row["id"] not in (3, 13, 14)] for start in (0, 10, 20)]
    shown[2] = shown[2][:7]

    async def answer(asked: web.Request) -> web.Response:
        number = int(asked.query.get("page", 1))
        if number > 3 and isinstance(behind, int):
            return web.json_response({}, status=behind)
        place = {"the last again": 3, "the first again": 1}.get(str(behind), number)
        number = place if number > 3 else number
        data = shown[number - 1] if number <= 3 else []
        return web.json_response({"page": number, "per_page": 10, "data": data})

    served = await serve(answer)
    reader = read(spec(served, paginator=AUTO_OF_THREE if behind == "max_pages" else "auto"))
    assert await reader.scan("t") == [row for rows in shown for row in rows]
    assert reader.truncated == []
    assert len(served.asked) == (3 if behind == "max_pages" else 4)


async def test_a_short_page_that_says_of_more_is_not_asked_behind(serve: Serve, read: Read) -> None:
    served = await serve(
        handler(lambda _: {"page": 1, "per_page": 10, "shown": "Showing 1 to 7 of 37", "data": page(0, 7)})
    )
    reader = read(spec(served))
    assert len(await reader.scan("t")) == 7
    assert ["Showing 1 to 7 of 37" in said for said in reader.truncated] == [True]
    assert len(served.asked) == 1


async def test_a_refusal_by_a_status_that_means_no_rows_is_an_end_for_auto_too(
    serve: Serve, read: Read
) -> None:
    async def answer(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        return web.json_response(
            {"offset": start, "limit": 10, "data": page(start, 6) if start < 12 else []},
            status=200 if start < 12 else 404,
        )

    reader = read(
        spec(await serve(answer)).replace(
            "columns:", "on_status: [{status_code: 404, action: empty}], columns:"
        )
    )
    assert [row["id"] for row in await reader.scan("t")] == ALL[:12]
    assert reader.truncated == []
