"""What paginators can be told of odd sources: flags at the end, fixed lengths, lists of links, lone tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
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
        ("type: offset, offset_param: start, page_size: 3, page_size_param: null", lambda *_: {}, 3),
        ("type: page_number, page_size: 3, page_size_param: null", lambda *_: {}, 3),
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
