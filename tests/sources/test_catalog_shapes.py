"""What specs of public APIs need beyond rows and plain cursors: columns, a cursor for all pages, keys one may have."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError, SpecError
from tests.sources.reading import Reader
from tests.web.serving import Handler, Serve

Read = Callable[..., Reader]

COLUMNS = """
version: 1
sources:
  s:
    client: {{base_url: {url}}}
    tables:
      t: {{columns: {{day: date, warmest: double, place: string}}, scan: {{endpoint: {{path: t, data_selector: {at}, layout: columns}}}}}}
"""


def answering(body: object) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(body)

    return handler


async def test_an_object_of_arrays_is_a_table_of_their_places(serve: Serve, read: Read) -> None:
    daily = {"day": ["2024-01-01", "2024-01-02"], "warmest": [3, None], "place": "Oslo"}
    served = await serve(answering({"daily": daily}))
    rows = await read(COLUMNS.format(url=served.url, at="daily")).scan("t")
    assert [(str(row["day"]), row["warmest"], row["place"]) for row in rows] == [
        ("2024-01-01", 3.0, "Oslo"),
        ("2024-01-02", None, "Oslo"),
    ]


async def test_several_objects_of_arrays_follow_one_another(serve: Serve, read: Read) -> None:
    places = [{"daily": {"day": ["2024-01-01"], "place": [name]}} for name in ("Oslo", "Rome")]
    served = await serve(answering(places))
    rows = await read(COLUMNS.format(url=served.url, at="'[*].daily'")).scan("t")
    assert [(row["place"], row["warmest"]) for row in rows] == [("Oslo", None), ("Rome", None)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"day": ["2024-01-01"], "warmest": [1, 2]}, "arrays of 1 and of 2 values"),
        ([["2024-01-01"], [1]], "not valid json"),
    ],
)
async def test_what_is_no_table_of_columns_is_an_error(
    serve: Serve, read: Read, body: object, said: str
) -> None:
    served = await serve(answering(body))
    with pytest.raises(SourceError, match=said):
        await read(COLUMNS.format(url=served.url, at="$")).scan("t")


async def test_columns_without_rows(serve: Serve, read: Read) -> None:
    served = await serve(answering({"day": [], "warmest": []}))
    assert await read(COLUMNS.format(url=served.url, at="$")).scan("t") == []


def test_columns_are_of_json(read: Read) -> None:
    with pytest.raises(SpecError, match="layout: columns is of JSON"):
        read(
            COLUMNS.format(url="http://x", at="$").replace("layout: columns", "layout: columns, format: csv")
        )


CURSOR = """
version: 1
sources:
  s:
    client: {{base_url: {url}}}
    tables:
      t:
        columns: {{id: int}}
        scan:
          endpoint:
            path: t
            data_selector: items
            paginator: {{type: cursor, cursor_path: next, initial: "*", reusable: true{total}}}
"""


def one_cursor(pages: list[list[int]]) -> Handler:
    """Crossref's way: the first page gives a cursor, which stays the same while the pages move on."""
    left = list(pages)

    async def handler(asked: web.Request) -> web.Response:
        assert asked.query["cursor"] == ("*" if len(left) == len(pages) else "same")
        items = left.pop(0) if left else []
        total = sum(map(len, pages))
        return web.json_response({"items": [{"id": one} for one in items], "next": "same", "total": total})

    return handler


@pytest.mark.parametrize(("total", "requests"), [("", 4), (", total_path: total", 3)])
async def test_a_cursor_for_all_pages(serve: Serve, read: Read, total: str, requests: int) -> None:
    served = await serve(one_cursor([[1, 2], [3, 4], [5]]))
    rows = await read(CURSOR.format(url=served.url, total=total)).scan("t")
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
    assert len(served.asked) == requests


async def test_a_cursor_for_all_pages_that_do_not_move_on(serve: Serve, read: Read) -> None:
    served = await serve(answering({"items": [{"id": one} for one in range(20)], "next": "same"}))
    with pytest.raises(SourceError, match="the same page came 2 times"):
        await read(CURSOR.format(url=served.url, total="")).scan("t")
    assert len(served.asked) == 2


OPTIONAL = """
version: 1
sources:
  s:
    client:
      base_url: {url}
      headers: {{Authorization: "Bearer ${{env:TOKEN?}}", User-Agent: "mine ${{env:PLACE?}}"}}
      params: {{key: "${{env:KEY?}}", kept: "1"}}
    tables:
      t: {{columns: {{id: int}}, scan: {{endpoint: {{path: t, params: {{mail: "${{env:MAIL?}}"}}}}}}}}
"""


async def test_what_names_a_secret_one_may_have_is_left_out_without_it(serve: Serve, read: Read) -> None:
    served = await serve(answering([{"id": 1}]))
    await read(OPTIONAL.format(url=served.url)).scan("t")
    (asked,) = served.asked
    assert dict(asked.query) == {"kept": "1"}
    assert "Authorization" not in asked.headers
    assert not asked.headers["User-Agent"].startswith("mine")


async def test_and_sent_with_it(serve: Serve, read: Read) -> None:
    served = await serve(answering([{"id": 1}]))
    reader = read(OPTIONAL.format(url=served.url), TOKEN="abcdef", KEY="ghijkl", MAIL="me@x", PLACE="here")
    await reader.scan("t")
    (asked,) = served.asked
    assert dict(asked.query) == {"key": "ghijkl", "kept": "1", "mail": "me@x"}
    assert asked.headers["Authorization"] == "Bearer abcdef"
    assert asked.headers["User-Agent"] == "mine here"
    assert reader.client.redactor.text("abcdef ghijkl") == "*** ***"


ABSENT = """
version: 1
sources:
  s:
    client: {{base_url: {url}}}
    tables:
      t: {{columns: {{id: int}}, scan: {{endpoint: {{path: t, data_selector: results, absent: {absent}}}}}}}
"""


async def test_an_absent_place_may_mean_no_rows(serve: Serve, read: Read) -> None:
    served = await serve(answering({"took": 3}))
    assert await read(ABSENT.format(url=served.url, absent="empty")).scan("t") == []
    with pytest.raises(SourceError, match="has no 'results'"):
        await read(ABSENT.format(url=served.url, absent="error")).scan("t")


async def test_an_absent_place_of_what_is_no_json_is_an_error_still(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="<html>log in</html>")

    served = await serve(handler)
    with pytest.raises(SourceError, match="not valid json"):
        await read(ABSENT.format(url=served.url, absent="empty")).scan("t")


async def test_keys_with_zeros_before_them(serve: Serve, read: Read) -> None:
    served = await serve(answering({"id": 7}))
    reader = read(f"""
    version: 1
    sources:
      s:
        client: {{base_url: {served.url}}}
        tables:
          t:
            columns: {{id: int, asked: int}}
            lookups: [{{keys: [asked], endpoint: {{path: "CIK{{asked:010}}.json", params: {{plain: "{{asked}}", wide: "{{asked:03}}"}}}}}}]
    """)
    assert await reader.lookup("t", 320193) == [{"id": 7, "asked": 320193}]
    assert served.paths == ["/CIK0000320193.json?plain=320193&wide=320193"]
