"""What paginators can be told of odd sources: flags at the end, fixed lengths, lists of links, lone tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.structs import replace
from fff_sources.http.paging.links import link_next, of_relation
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
ROWS = [{"id": n} for n in range(7)]


def spec(url: str, paginator: str, more: str = "") -> str:
    endpoint = (
        f"{{path: r, data_selector: rows, params: {{q: x, kind: all}}, paginator: {{{paginator}}}{more}}}"
    )
    client = f"client: {{base_url: '{url}', params: {{key: k}}, retry: {{max_attempts: 1}}}}"
    return f"{{version: 1, sources: {{api: {{{client}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}}}}}}}}}"


class Pages:
    """Three rows a page, from where `start` says, with more beside them."""

    def __init__(self, beside: Callable[[int, str], dict[str, Any]]) -> None:
        self.beside = beside
        self.asked: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.asked.append(asked)
        start = int(asked.get("start") or asked.get("token") or 3 * (int(asked.get("page", 1)) - 1))
        page = {"rows": ROWS[start : start + 3]}
        return web.json_response(page | self.beside(start + 3, str(request.url.origin())))


@pytest.mark.parametrize(
    ("paginator", "beside", "requests"),
    [
        ("type: offset, offset_param: start, end_path: endOfRecords", lambda n, _: {"endOfRecords": n >= 7}, 3),
        ("type: page_number, end_path: meta.last", lambda n, _: {"meta": {"last": n >= 7}}, 3),
        ("type: cursor, cursor_path: next, cursor_param: token, end_path: last", lambda n, _: {"next": n, "last": n > 6}, 3),
        *(
            (
                "type: cursor, cursor_path: next, cursor_param: token",
                lambda n, _, end=end: {"next": str(n) if n < 7 else end},
                3,
            )
            for end in (" ", "\n\t", "0", 0)
        ),
        (
            "type: json_link, next_url_path: more",
            lambda n, url: {"more": f"{url}/r?start={n}" if n < 7 else " \n"},
            3,
        ),
        ("type: auto", lambda n, url: {"next": f"{url}/r?start={n}" if n < 7 else " "}, 3),
        ("type: offset, offset_param: start, page_size: 3, page_size_param: null", lambda *_: {}, 4),
        ("type: page_number, page_size: 3, page_size_param: null, short_page_ends: true", lambda *_: {}, 3),
        (
            "type: json_link, next_url_path: links, rel: next",
            lambda n, url: {"links": [{"rel": "self", "href": "x"}, *([{"rel": ["Next"], "href": f"{url}/r?start={n}"}] if n < 7 else [])]},
            3,
        ),
        (
            "type: json_link, next_url_path: link, rel: next",
            lambda n, url: {"link": {"relation": "next" if n < 7 else "self", "url": f"{url}/r?start={n}"}},
            3,
        ),
    ],
)  # fmt: skip
async def test_all_pages_come(
    serve: Serve, read: Read, paginator: str, beside: Callable[[int, str], dict[str, Any]], requests: int
) -> None:
    pages = Pages(beside)
    reader = read(spec((await serve(pages.answer)).url, paginator))
    assert await reader.scan("t") == ROWS
    assert reader.truncated == []
    assert len(pages.asked) == requests
    assert not any(name in asked for asked in pages.asked for name in ("limit", "per_page"))


async def test_a_fixed_length_is_not_made_smaller(serve: Serve, read: Read) -> None:
    """For the sake of a LIMIT: a page of three would look like the last one."""
    pages = Pages(lambda *_: {})
    reader = read(
        spec(
            (await serve(pages.answer)).url,
            "type: offset, offset_param: start, page_size: 3, page_size_param: null",
        )
    )
    table = replace(reader.table("t"), rows_wanted=2)
    adapter = reader.catalog.adapter_of(table)
    found = adapter.scan(table, table.scans[0], ["id"], meter=reader.meter, window=1)
    assert [row async for page in found for row in page.rows.to_pylist()] == ROWS


@pytest.mark.parametrize(
    ("keeps", "kept"), [("[]", {}), ("[kind]", {"kind": "all"}), ("[key]", {"key": "k"})]
)
async def test_a_token_travels_alone(serve: Serve, read: Read, keeps: str, kept: dict[str, str]) -> None:
    pages = Pages(lambda n, _: {"next": n} if n < 7 else {})
    paginator = f"type: cursor, cursor_path: next, cursor_param: token, page_size: 3, keeps: {keeps}"
    reader = read(spec((await serve(pages.answer)).url, paginator))
    assert await reader.scan("t") == ROWS
    assert pages.asked[0] == {"key": "k", "q": "x", "kind": "all", "per_page": "3"}
    assert pages.asked[1:] == [{"token": "3", **kept}, {"token": "6", **kept}]


async def test_a_flag_that_is_missing_is_an_error(serve: Serve, read: Read) -> None:
    pages = Pages(lambda *_: {})
    reader = read(
        spec((await serve(pages.answer)).url, "type: offset, offset_param: start, end_path: endOfRecords")
    )
    with pytest.raises(SourceError, match="the answer has no 'endOfRecords'"):
        await reader.scan("t")


async def test_an_end_that_is_denied_is_no_end(serve: Serve, read: Read) -> None:
    pages = Pages(lambda *_: {"last": False})
    reader = read(spec((await serve(pages.answer)).url, "type: cursor, cursor_path: next, end_path: last"))
    with pytest.raises(SourceError, match="the answer says that there is more"):
        await reader.scan("t")


def test_one_flag_will_do(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(spec("https://e.org", "type: offset, end_path: a, has_more_path: b"))
    assert any("one will do" in str(error) for error in lint(file))


LAST = "type: cursor, cursor_path: 'rows[-1].id', cursor_param: after, page_size: 3, page_size_param: limit"


class After:
    """Three rows a page, from the one behind the last that came; `wrong` is what other pages are, by what they are asked for."""

    def __init__(self, wrong: dict[str, Any] | None = None, *, flag: bool = True) -> None:
        self.wrong = wrong or {}
        self.flag = flag
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "")
        self.asked.append(after)
        start = int(after) + 1 if after else 0
        page: dict[str, Any] = {"rows": ROWS[start : start + 3]}
        if self.flag:
            page["has_more"] = start + 3 < len(ROWS)
        return web.json_response(self.wrong.get(after, page))


@pytest.mark.parametrize("flag", [True, False])
async def test_the_last_record_is_the_cursor(serve: Serve, read: Read, flag: bool) -> None:
    """Without a flag, pages go on to an empty one."""
    pages = After(flag=flag)
    reader = read(spec((await serve(pages.answer)).url, LAST + ", has_more_path: has_more" * flag))
    assert await reader.scan("t") == ROWS
    assert reader.truncated == []
    assert pages.asked == ["", "2", "5", *([] if flag else ["6"])]


async def test_the_last_record_of_a_bare_array_is_the_cursor(serve: Serve, read: Read) -> None:
    async def answer(request: web.Request) -> web.Response:
        start = int(request.query.get("after", -1)) + 1
        return web.json_response(ROWS[start : start + 3])

    paginator = LAST.replace("rows[-1]", "[-1]")
    reader = read(spec((await serve(answer)).url, paginator).replace("data_selector: rows, ", ""))
    assert await reader.scan("t") == ROWS
    assert reader.truncated == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"2": {"rows": [], "has_more": True}}, "the answer says that there is more"),
        ({"2": {"rows": ROWS[:3], "has_more": True}}, "a second time"),
        ({"2": {"rows": [{"id": 4}, {"id": 2}], "has_more": True}}, "the cursor {'after': '2'} came a second time"),
        ({"2": {"rows": ROWS[3:6]}}, "the answer has no 'has_more'"),
        ({"2": {"rows": [{"id": 3}, {"id": None}], "has_more": True}}, "the answer says that there is more"),
        ({"2": {"rows": ROWS[3:6], "has_more": "true"}, "5": {"rows": [], "has_more": "true"}}, "there is more"),
    ],
)  # fmt: skip
async def test_a_last_record_that_leads_nowhere_is_an_error(
    serve: Serve, read: Read, wrong: dict[str, Any], why: str
) -> None:
    pages = After(wrong)
    reader = read(spec((await serve(pages.answer)).url, f"{LAST}, has_more_path: has_more"))
    with pytest.raises(SourceError) as raised:
        await reader.scan("t")
    assert why in str(raised.value)
    assert len(pages.asked) <= 3


@pytest.mark.parametrize("kind", [LAST, "type: keyset, cursors: {after: 'rows[-1].id', limit: 'rows[0].n'}"])
async def test_a_last_record_without_the_cursor_is_no_end(serve: Serve, read: Read, kind: str) -> None:
    first = [{"id": 0, "n": 3}, {"id": 1}, {"id": 2}]
    pages = After({"": {"rows": first}, "2": {"rows": [{"id": 3}, {"id": 4}, {"id": None}]}}, flag=False)
    reader = read(spec((await serve(pages.answer)).url, kind))
    assert [row["id"] for row in await reader.scan("t")] == [0, 1, 2, 3, 4, None]
    assert [
        "has nothing there, so the next page cannot be asked for" in told for told in reader.truncated
    ] == [True]


def links(start: int, results: str | None, url: str = "http://{host}/r?start={start}") -> str:
    """What Sentry writes: a next link always, and in it whether it leads to anything."""
    told = "" if results is None else f'; results="{results}"'
    before = f'<http://{{host}}/r?start=0>; rel="previous"; results="{"false" if start == 3 else "true"}"'
    return f'{before}, <{url.replace("{start}", str(start))}>; rel="next"{told}; cursor="0:{start}:0"'


class Linked:
    """Three rows a page; what the Link header says of the next one is for `says` to tell."""

    def __init__(self, says: Callable[[int], str | None]) -> None:
        self.says = says
        self.asked = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        start = int(request.query.get("start", 0))
        said = self.says(start + 3)
        headers = {} if said is None else {"Link": said.replace("{host}", request.host)}
        return web.json_response({"rows": ROWS[start : start + 3]}, headers=headers)


FLAGGED = "type: header_link, has_more_param: results"


@pytest.mark.parametrize("yes", ["true", "True", "1"])
async def test_a_link_may_say_that_it_leads_nowhere(serve: Serve, read: Read, yes: str) -> None:
    pages = Linked(lambda n: links(n, yes if n < 7 else "false"))
    reader = read(spec((await serve(pages.answer)).url, FLAGGED))
    assert await reader.scan("t") == ROWS
    assert reader.truncated == []
    assert pages.asked == 3


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (lambda n: links(n, "true" if n < 6 else None), "no next link that says 'results'"),
        (lambda n: links(n, "true") if n < 6 else None, "no next link that says 'results'"),
        (lambda n: links(n, "true", "http://{host}/r?start=3"), "came a second time"),
        (lambda n: links(n, "true"), "100 empty pages in a row"),
    ],
)
async def test_links_that_do_not_end_as_they_should_are_an_error(
    serve: Serve, read: Read, says: Callable[[int], str | None], why: str
) -> None:
    pages = Linked(says)
    reader = read(spec((await serve(pages.answer)).url, FLAGGED))
    with pytest.raises(SourceError) as raised:
        await reader.scan("t")
    assert why in str(raised.value)
    assert pages.asked < 150


@pytest.mark.parametrize(
    "paginator", [FLAGGED, "type: header_link", LAST, "type: json_link, next_url_path: more", "type: auto"]
)
async def test_a_status_that_means_no_rows_does_not_where_a_page_leads(
    serve: Serve, read: Read, paginator: str
) -> None:
    """It would be a silent end: a page that is called for is there."""
    status = 404

    async def answer(request: web.Request) -> web.Response:
        if status == 200 and not request.query.keys() & {"start", "after"}:
            more = f"http://{request.host}/r?start=3"
            plain = {"type: header_link", "type: auto", FLAGGED}
            headers = {"Link": links(3, "true").replace("{host}", request.host)} if paginator in plain else {}
            return web.json_response({"rows": ROWS[:3], "more": more}, headers=headers)
        return web.json_response({"detail": "not found"}, status=404)

    url = (await serve(answer)).url
    empty = spec(url, paginator).replace(
        "tables: {t: {", "tables: {t: {on_status: [{status_code: 404, action: empty}], "
    )
    reader = read(empty)
    assert await reader.scan("t") == []
    assert reader.truncated == []
    status = 200
    with pytest.raises(SourceError, match="HTTP 404 where the page before leads to"):
        await read(empty).scan("t")


async def test_a_keyset_goes_on_by_the_values_that_a_record_has(serve: Serve, read: Read) -> None:
    """A column that pages are sorted by may be NULL, empty or false in a record, which is no end."""
    odd: dict[int, object] = {2: None, 3: "", 4: False, 5: None, 6: None}

    async def answer(request: web.Request) -> web.Response:
        start = int(request.query.get("k", -1)) + 1
        last = {"k": start, "v": odd.get(start, "x")} if start < 6 else None
        return web.json_response({"rows": ROWS[start : start + 1], "last": last})

    served = await serve(answer)
    reader = read(spec(served.url, "type: keyset, cursors: {k: last.k, v: last.v}"))
    assert await reader.scan("t") == ROWS
    assert reader.truncated == []
    assert [(one.query.get("k"), one.query.get("v")) for one in served.asked[1:]] == [
        ("0", "x"), ("1", "x"), ("2", None), ("3", ""), ("4", "false"), ("5", None)
    ]  # fmt: skip


@pytest.mark.parametrize("pages", [1, 2])
async def test_a_keyset_of_which_one_value_is_always_there_ends_with_the_other(
    serve: Serve, read: Read, pages: int
) -> None:
    async def answer(request: web.Request) -> web.Response:
        start = int(request.query.get("after", 0))
        more = start + 3 if start == 0 and pages == 2 else None
        return web.json_response({"rows": ROWS[start : start + 3], "session": "s", "more": more})

    served = await serve(answer)
    reader = read(spec(served.url, "type: keyset, cursors: {session: session, after: more}"))
    assert await reader.scan("t") == ROWS[: 3 * pages]
    assert reader.truncated == []
    assert len(served.asked) == 2


@pytest.mark.parametrize(
    ("first", "sent"),
    [
        ("1700000000.000000120", "1700000000.000000120"),
        ("1700000000000000005.0", "1700000000000000005"),
        ("1e30", "1" + 30 * "0"),
        ("2.0", "2"),
        ("0.1", "0.1"),
    ],
)
@pytest.mark.parametrize(
    "paginator", ["type: cursor, cursor_path: next_cursor, cursor_param: cursor", "type: auto"]
)
async def test_a_cursor_that_is_a_number_keeps_its_digits(
    serve: Serve, read: Read, paginator: str, first: str, sent: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        row, cursor = (1, "null") if "cursor" in request.query else (0, first)
        text = f'{{"rows": [{{"id": {row}}}], "next_cursor": {cursor}}}'
        return web.Response(text=text, content_type="application/json")

    served = await serve(answer)
    reader = read(spec(served.url, paginator))
    assert await reader.scan("t") == ROWS[:2]
    assert served.asked[1].query["cursor"] == sent


RELATION = "http://www.iana.org/assignments/relation/"


@pytest.mark.parametrize("paginator", ["type: header_link", "type: auto"])
@pytest.mark.parametrize(
    "rel", [f'"{RELATION}next"', f'"prefetch {RELATION}Next"', f'"{RELATION}next/archive"']
)
async def test_a_relation_may_be_written_as_its_uri(
    serve: Serve, read: Read, paginator: str, rel: str
) -> None:
    pages = Linked(
        lambda n: f'</r?start=0>; rel="{RELATION}first", </r?start={n}>; rel={rel}' if n < 7 else None
    )
    reader = read(spec((await serve(pages.answer)).url, paginator))
    assert await reader.scan("t") == (ROWS if "archive" not in rel else ROWS[:3])
    assert reader.truncated == []


@pytest.mark.parametrize("paginator", ["type: header_link", "type: auto"])
@pytest.mark.parametrize(
    "rel", ["https://api.example.com/rels/queue/next", "http://schema.org/next", "prefetch/next"]
)
async def test_a_relation_of_other_meaning_that_ends_in_next_is_not_followed(
    serve: Serve, read: Read, paginator: str, rel: str
) -> None:
    served = await serve(Linked(lambda _: f'</queue/next>; rel="{rel}"').answer)
    reader = read(spec(served.url, paginator))
    assert await reader.scan("t") == ROWS[:3]
    assert (len(served.asked), reader.truncated) == (1, [])


def test_a_relation_by_its_name_goes_before_one_by_a_uri() -> None:
    links: list[object] = [{"rel": f"{RELATION}next"}, {"rel": ["self", "next"]}]
    assert of_relation(links, "next") is links[1]
    assert of_relation(links[:1], "next") is links[0]
    assert of_relation([{"rel": "http://x.example/rels/next"}], "next") is None
    assert link_next(f'</a>; rel="{RELATION}next", </b>; rel=next') == "/b"


@pytest.mark.parametrize(
    ("count", "name", "requests"),
    [(7, "ts", 3), (2, "ts", 2), (2, "limit", 1), (6, "size", 2)],
)
async def test_a_keyset_without_all_values_ends_with_a_short_page_or_where_only_a_length_is_left(
    serve: Serve, read: Read, count: int, name: str, requests: int
) -> None:
    async def answer(request: web.Request) -> web.Response:
        start = int(request.query.get("after", "0" if "ts" not in request.query else str(count)))
        last = {"id": start + 3 if start + 3 < count else None, name: f"x{start}" if name == "ts" else 3}
        return web.json_response({"rows": ROWS[start : min(start + 3, count)], "last": last})

    served = await serve(answer)
    reader = read(spec(served.url, f"type: keyset, cursors: {{after: last.id, {name}: last.{name}}}"))
    assert await reader.scan("t") == ROWS[:count]
    assert reader.truncated == []
    assert len(served.asked) == requests
