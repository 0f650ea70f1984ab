"""What answers say of more that did not come: on a short page behind which there is nothing, and in numbers of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
OFFSETS, PAGE_NUMBERS = "type: offset, page_size: 10", "type: page_number, page_size: 10"
SPEC = """
    version: 1
    sources:
      api:
        client: {{base_url: "{url}"}}
        tables:
          t:
            on_status: [{{status_code: 404, action: empty}}]
            columns: {{id: int}}
            scan: {{endpoint: {{path: t, data_selector: data, {more}}}}}
            lookups: [{{keys: [id], endpoint: {{path: t, params: {{of: "{{id}}"}}, data_selector: data, {more}}}}}]
    """

SAID: dict[str, dict[str, object]] = {
    "'has_more'": {"has_more": True},
    "25 of 50 by 'total_count'": {"total_count": 50},
    "'truncated'": {"truncated": True},
    "the answer says note: only the first 25 are shown": {"note": "only the first 25 are shown"},
    "": {},
}


def rows(start: int, end: int) -> list[dict[str, int]]:
    return [{"id": n} for n in range(start, end)]


def start_of(asked: web.Request) -> int:
    return int(asked.query.get("offset", 10 * int(asked.query.get("page", 1)) - 10))


def reader_of(read: Read, served: Served, paginator: str) -> Reader:
    return read(SPEC.format(url=served.url, more=f"paginator: {{{paginator}}}"))


def by_page(body: Callable[[int], Any]) -> Callable[[web.Request], Any]:
    """Answers by the place of their first record; a number is a status."""

    async def handler(asked: web.Request) -> web.Response:
        answer = body(start_of(asked))
        return web.Response(status=answer) if isinstance(answer, int) else web.json_response(answer)

    return handler


@pytest.mark.parametrize("behind", [422, 404, "the last again", "max_pages"])
@pytest.mark.parametrize("paginator", [OFFSETS, PAGE_NUMBERS])
@pytest.mark.parametrize("said", SAID)
async def test_what_a_short_page_says_of_more_is_heard_where_nothing_follows(
    serve: Serve, read: Read, behind: object, paginator: str, said: str
) -> None:
    def body(start: int) -> object:
        if start >= 25 and isinstance(behind, int):
            return behind
        return {"data": rows(min(start, 20), min(start + 10, 25)), **SAID[said]}

    stops = ", max_pages: 3" if behind == "max_pages" else ""
    reader = reader_of(read, await serve(by_page(body)), paginator + stops)
    assert await reader.scan("t") == rows(0, 25)
    assert len(reader.truncated) == bool(said)
    if said:
        assert ("max_pages" if stops else said) in reader.truncated[0]
    reader.truncated.clear()
    assert await reader.lookup("t", 1) is not None
    assert len(reader.truncated) == bool(said)


@pytest.mark.parametrize("name", ["more_topics_url", "moreItemsUrl", "more_results_url"])
async def test_a_url_of_more_beside_the_list_is_a_further_page_and_one_of_information_is_none(
    serve: Serve, read: Read, name: str
) -> None:
    beside = {"more_info_url": "/about"}
    served = await serve(by_page(lambda _: {"data": rows(0, 5), **beside}))
    reader = read(SPEC.format(url=served.url, more="paginator: {type: auto}"))
    assert await reader.scan("t") == rows(0, 5)
    assert reader.truncated == []
    beside[name] = "/t?page=2"
    assert await reader.scan("t") == rows(0, 5)
    assert reader.truncated[0].startswith(f"there is more than what came ('{name}')")


async def test_where_the_spec_says_so_that_is_heard_as_well(serve: Serve, read: Read) -> None:
    served = await serve(
        by_page(
            lambda start: {"data": rows(start, min(start + 10, 25)), "going": True} if start < 25 else 400
        )
    )
    reader = reader_of(read, served, f"{OFFSETS}, has_more_path: going")
    assert await reader.scan("t") == rows(0, 25)
    assert reader.truncated == ["there is more than what came ('going'), and the next page brings nothing"]


async def test_a_short_page_with_more_behind_it_owes_nothing(serve: Serve, read: Read) -> None:
    def body(start: int) -> object:
        page = [row for row in rows(start, min(start + 10, 37)) if row["id"] not in (13, 14)]
        return {"data": page, "has_more": start < 20} if start < 37 else 400

    reader = reader_of(read, await serve(by_page(body)), PAGE_NUMBERS)
    assert len(await reader.scan("t")) == 35
    assert reader.truncated == []


@pytest.mark.parametrize(
    ("first", "later", "last", "sign"),
    [
        ({"count": 10, "total_count": 50}, {"count": 10}, {"count": 0}, "20 of 50 by 'total_count'"),
        ({"total": 50}, {"total": 50}, {"total": 0}, "20 of 50 by 'total'"),
        ({"pages": 5}, {}, {"pages": 0}, "3 of 5 by 'pages'"),
        ({"total": 21}, {"total": 20}, {"total": 20}, None),  # it shrank meanwhile
        ({"pages": 4}, {"pages": 3}, {"pages": 3}, None),
        ({"count": 10}, {"count": 10}, {"count": 0}, None),
    ],
)
async def test_a_number_of_the_last_page_alone_does_not_silence_what_the_first_told(
    serve: Serve, read: Read, *, first: object, later: object, last: object, sign: str | None
) -> None:
    def body(start: int) -> object:
        around = {0: first, 10: later}.get(start, last)
        assert isinstance(around, dict)
        return {"data": rows(start, min(start + 10, 20)), **around}

    reader = reader_of(read, await serve(by_page(body)), PAGE_NUMBERS)
    assert await reader.scan("t") == rows(0, 20)
    assert [sign in said for said in reader.truncated if sign is not None] == [True] * (sign is not None)
    assert len(reader.truncated) == (sign is not None)


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize(
    ("number", "word"),
    [(300, "total_count"), (150, "total_count"), (300, "count"), (300, "total"), (150, "total")],
)
async def test_a_number_of_pages_says_nothing_of_their_lengths(
    serve: Serve, read: Read, window: int, *, number: int, word: str, placed: bool
) -> None:
    """The source has pages of 50 at most, and counts those of a hundred it was asked for.

    A plain word is the number of all records where the place of the page stands beside it.
    """

    async def handler(asked: web.Request) -> web.Response:
        start = 50 * int(asked.query["page"]) - 50
        data = rows(start, min(start + 50, number))
        place = {"page": int(asked.query["page"]), "per_page": 100} if placed else {}
        return web.json_response({"pages": 3, word: number, "data": data, **place})

    served = await serve(handler)
    reader = reader_of(read, served, "type: page_number, page_size: 100, total_path: pages")
    assert len(await reader.scan("t", window=window)) == 150
    assert len(reader.truncated) == (number == 300 and (placed or word == "total_count"))


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("place", [0, 10, 20, 30])
async def test_a_note_of_the_last_page_is_heard_where_pages_are_read_side_by_side(
    serve: Serve, read: Read, window: int, place: int
) -> None:
    """That of a page before is heard no more than where they are read one after another."""

    def body(start: int) -> object:
        note = {"note": "only the first 40 results are shown"} if start == place else {}
        return {"total": 40, "data": rows(start, start + 10), **note}

    reader = reader_of(read, await serve(by_page(body)), f"{OFFSETS}, total_path: total")
    received = await reader.scan("t", window=window)
    assert sorted(row["id"] for row in received) == list(range(40))
    said = "the answer says note: only the first 40 results are shown"
    assert reader.truncated == [said] * (place == 30)


@pytest.mark.parametrize(
    ("well", "later", "said"),
    [
        ({"code": 0, "msg": "ok"}, {"code": 1003, "msg": "system busy"}, "code: 1003 .system busy"),
        ({"ret": 1}, {"ret": -5}, "ret: -5"),
        ({"meta": {"status": "A"}}, {"meta": {"status": "B7"}}, "status: B7"),
        ({"status": "OK"}, {"status": "ZERO_RESULTS"}, None),
        ({"code": 200}, {"code": 204}, None),
        ({"code": 0}, {"code": 7, "msg": "no more data"}, None),
        ({"code": 0}, {"code": 0}, None),
        ({"code": 0}, {}, None),
        ({"status": "running"}, {"status": "done"}, None),
        ({"code": 0}, {"code": 7, "message": "No users found"}, None),
        ({}, {"code": "TOKEN_EXPIRED"}, "code: TOKEN_EXPIRED"),
        ({}, {"detail": "Your session has expired"}, "detail: Your session has expired"),
        ({}, {"message": "Please log in again"}, "message: Please log in again"),
        ({"message": "OK"}, {"message": "Please sign in"}, "message: Please sign in"),
        ({}, {"reason": "authentication required"}, "reason: authentication required"),
        ({}, {"msg": "timeout"}, "msg: timeout"),
        ({}, {"notice": "Please log mistakes with us"}, None),
        ({}, {"status": "ready", "state": "idle", "meta": {"status": 1}}, None),
        ({}, {"note": "Data of the registry, CC-BY", "notice": "Free until 2027."}, None),
        ({"message": "page 1"}, {"message": "page 3"}, None),
        ({"message": "Showing 1-10 of 20"}, {"message": "Showing 0 of 20"}, None),
        ({"message": "2 users retrieved"}, {"message": "No users"}, None),
        ({}, {"message": "You have reached the end of the list"}, None),
        ({}, {"message": "Request completed successfully"}, None),
        ({}, {"message": "There are no orders."}, None),
        ({}, {"message": "OK, 0 hits"}, None),
        ({}, {"message": "Your search did not match any documents"}, None),
        ({}, {"message": "Offset exceeds total"}, None),
        ({}, {"message": "keine weiteren Ergebnisse"}, None),
        ({}, {"detail": "Page 3 does not exist"}, None),
    ],
)
async def test_another_code_beside_no_records_than_beside_some_or_a_refusal_is_a_fault(
    serve: Serve, read: Read, *, well: dict[str, object], later: dict[str, object], said: str | None
) -> None:
    """Codes whatever they mean: sources have their own. Other remarks, and what usually stands at an end, are none."""
    served = await serve(
        by_page(
            lambda start: {"data": rows(start, start + 10), **well} if start < 20 else {"data": [], **later}
        )
    )
    reader = reader_of(read, served, PAGE_NUMBERS)
    if said is None:
        assert await reader.scan("t") == rows(0, 20)
        assert reader.truncated == []
    else:
        with pytest.raises(SourceError, match=f"the answer says {said}"):
            await reader.scan("t")


async def test_states_that_differ_beside_records_are_no_codes(serve: Serve, read: Read) -> None:
    def body(start: int) -> object:
        return {"data": rows(start, min(start + 10, 20)), "state": f"S{start}"}

    reader = reader_of(read, await serve(by_page(body)), PAGE_NUMBERS)
    assert await reader.scan("t") == rows(0, 20)


@pytest.mark.parametrize("state", ["partial", "PARTIAL_SUCCESS", "incomplete", "Partially completed"])
async def test_a_state_of_a_part_is_heard(serve: Serve, read: Read, state: str) -> None:
    served = await serve(by_page(lambda _: {"status": state, "data": rows(0, 10)}))
    reader = reader_of(read, served, "type: single_page")
    assert await reader.scan("t") == rows(0, 10)
    assert reader.truncated == [f"the answer says status: {state}"]


OWN_NUMBERS = {
    "offset": f"paginator: {{{OFFSETS}, total_path: count}}",
    "page_number": f"paginator: {{{PAGE_NUMBERS}, total_rows_path: count}}",
    "auto": "paginator: auto",
}


@pytest.mark.parametrize("length", [57, 60, 10, 7])
@pytest.mark.parametrize("paginator", OWN_NUMBERS)
async def test_a_number_of_the_page_alone_does_not_end_one_that_is_full(
    serve: Serve, read: Read, paginator: str, length: int
) -> None:
    def body(start: int) -> object:
        page = rows(start, min(start + 10, length))
        return {"data": page, "count": len(page), "limit": 10, "offset": start}

    served = await serve(by_page(body))
    reader = read(SPEC.format(url=served.url, more=OWN_NUMBERS[paginator]))
    assert await reader.scan("t") == rows(0, length)
    assert reader.truncated == []


@pytest.mark.parametrize("name", ["count", "total", "total_count"])
@pytest.mark.parametrize("behind", [404, 400, "nothing", "the last again"])
@pytest.mark.parametrize("paginator", OWN_NUMBERS)
async def test_a_number_of_all_records_that_fill_one_page_is_believed(
    serve: Serve, read: Read, paginator: str, behind: object, name: str
) -> None:
    def body(start: int) -> object:
        if start and isinstance(behind, int):
            return behind
        data = rows(0, 10) if not start or behind == "the last again" else []
        return {"data": data, name: 10, "limit": 10, "offset": start}

    served = await serve(by_page(body))
    reader = read(SPEC.format(url=served.url, more=OWN_NUMBERS[paginator].replace(": count", f": {name}")))
    assert await reader.scan("t") == rows(0, 10)
    assert reader.truncated == []
    assert len(served.asked) == 1 + (name == "count")


@pytest.mark.parametrize("behind", [403, 500])
@pytest.mark.parametrize("paginator", OWN_NUMBERS)
async def test_where_a_source_fails_behind_what_may_be_all_its_rows_are_good(
    serve: Serve, read: Read, paginator: str, behind: int
) -> None:
    served = await serve(
        by_page(
            lambda start: behind if start else {"data": rows(0, 10), "count": 10, "limit": 10, "offset": 0}
        )
    )
    reader = read(SPEC.format(url=served.url, more=OWN_NUMBERS[paginator]))
    assert await reader.scan("t") == rows(0, 10)
    assert reader.truncated == [f"all may have come, or one page of more: the next one is HTTP {behind}"]


@pytest.mark.parametrize("paginator", OWN_NUMBERS)
async def test_a_page_that_comes_again_with_another_time_in_its_records_is_the_end(
    serve: Serve, read: Read, paginator: str
) -> None:
    served = await serve(
        by_page(
            lambda _: {
                "data": [row | {"age": len(served.asked)} for row in rows(0, 10)],
                "count": 10,
                "limit": 10,
                "offset": 0,
            }
        )
    )
    reader = read(SPEC.format(url=served.url, more=OWN_NUMBERS[paginator]))
    assert await reader.scan("t") == rows(0, 10)
    assert reader.truncated == []


@pytest.mark.parametrize("paginator", OWN_NUMBERS)
async def test_where_rows_may_well_be_alike_a_number_of_one_page_is_believed(
    serve: Serve, read: Read, paginator: str
) -> None:
    served = await serve(by_page(lambda _: {"data": rows(0, 10), "count": 10, "limit": 10, "offset": 0}))
    reader = read(SPEC.format(url=served.url, more=OWN_NUMBERS[paginator] + ", select: {param: fields}"))
    assert await reader.scan("t") == rows(0, 10)
    assert len(served.asked) == 1


@pytest.mark.parametrize(("name", "asked"), [("total", 1), ("total_count", 1), ("count", 2)])
async def test_a_limit_that_is_the_length_of_the_page_does_not_doubt_a_total(
    serve: Serve, read: Read, name: str, asked: int
) -> None:
    served = await serve(
        by_page(lambda start: {"data": rows(start, 7), name: 7, "limit": 7, "offset": start})
    )
    assert await read(SPEC.format(url=served.url, more="paginator: auto")).scan("t") == rows(0, 7)
    assert len(served.asked) == asked
