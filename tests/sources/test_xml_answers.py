"""XML has no lists and no records: an element that occurs once is a list of one, and its text is its own, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
IDS = "id: {type: string, path: '@id'}"


async def answered(
    serve: Serve, read: Read, body: str, columns: str, selector: str, *, more: str = ""
) -> Reader:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/xml")

    url = (await serve(handler)).url
    endpoint = f"path: r, format: xml, data_selector: '{selector}'{more}"
    table = f"t: {{columns: {{{columns}}}, scan: {{endpoint: {{{endpoint}}}}}}}"
    return read(f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{{table}}}}}}}}}")


@pytest.mark.parametrize("selector", ["r.g[*].i", "r.g[*].i[*]", "r.g[0:].i"])
@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ('<r><g><i id="1"/><i id="2"/></g><g><i id="3"/><i id="4"/></g></r>', "1234"),
        ('<r><g><i id="1"/><i id="2"/></g></r>', "12"),
        ('<r><g><i id="1"/></g></r>', "1"),
        ('<r><g><i id="1"/></g><g><i id="2"/></g></r>', "12"),
        ('<r><g/><g><i id="1"/><i id="2"/></g></r>', "12"),
        ('<r><g n="x"><i id="1"/><i id="2"/></g></r>', "12"),
        ("<r><g/></r>", ""),
        ("<r/>", ""),
    ],
)
async def test_an_element_that_occurs_once_is_a_list_of_one(
    serve: Serve, read: Read, selector: str, body: str, ids: str
) -> None:
    reader = await answered(serve, read, body, IDS, selector)
    assert await reader.scan("t") == [{"id": one} for one in ids]


@pytest.mark.parametrize("selector", ["r.i[0]", "r.i[-1]", "r.i[0:]", "r.i", "r.*"])
async def test_other_ways_to_say_where_one_is(serve: Serve, read: Read, selector: str) -> None:
    reader = await answered(serve, read, '<r><i id="1"/></r>', IDS, selector)
    assert await reader.scan("t") == [{"id": "1"}]


async def test_there_is_no_second_of_one(serve: Serve, read: Read) -> None:
    columns = f"{IDS}, second: {{type: string, path: 'n[1]'}}, behind: {{type: string, path: 'n[1:]'}}"
    reader = await answered(serve, read, '<r><i id="1"><n>a</n></i></r>', columns, "r.i")
    assert await reader.scan("t") == [{"id": "1", "second": None, "behind": None}]


@pytest.mark.parametrize(
    ("path", "kind", "values"),
    [
        ("a.n[0]", "string", ["x", "z"]),
        ("a.n[-1]", "string", ["y", "z"]),
        ("a.n", "array<string>", [["x", "y"], ["z"]]),
        ("b[0].m", "string", ["v", "w"]),
        ("b[0].m[0].#text", "string", ["v", "w"]),
        ("b[0].m", "array<string>", [["v"], ["w"]]),
    ],
)
async def test_one_of_several_or_one_alone(
    serve: Serve, read: Read, path: str, kind: str, values: list[object]
) -> None:
    body = (
        '<r><i id="1"><a><n>x</n><n>y</n></a><b><m>v</m></b><b><m>u</m></b></i>'
        '<i id="2"><a><n>z</n></a><b><m>w</m></b></i></r>'
    )
    reader = await answered(serve, read, body, f"v: {{type: {kind}, path: '{path}'}}", "r.i")
    assert [row["v"] for row in await reader.scan("t")] == values


@pytest.mark.parametrize("other", ['<name lang="en">a</name>', "<name>a<!-- remark --></name>"])
async def test_text_beside_attributes_or_alone(serve: Serve, read: Read, other: str) -> None:
    body = f'<r><i id="1">{other}</i><i id="2"><name>b</name></i><i id="3"><name/></i><i id="4"/></r>'
    reader = await answered(serve, read, body, f"{IDS}, name: {{type: string, path: 'name.#text'}}", "r.i")
    rows = await reader.scan("t")
    assert [row["name"] for row in rows] == ["a", "b", None, None]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]


async def test_records_that_are_texts(serve: Serve, read: Read) -> None:
    columns = f"{IDS}, text: {{type: string, path: '#text'}}"
    reader = await answered(serve, read, '<r><i>a</i><i id="2">b</i></r>', columns, "r.i")
    assert await reader.scan("t") == [{"id": None, "text": "a"}, {"id": "2", "text": "b"}]


async def test_no_text_of_mixed_content_is_lost(serve: Serve, read: Read) -> None:
    body = "<r>\n <i><name>alpha <b>beta</b> gamma <b/>\n delta</name>\n <none>\n  <b>x</b>\n </none></i></r>"
    columns = "name: {type: string, path: 'name.#text'}, none: {type: string, path: 'none.#text'}"
    reader = await answered(serve, read, body, columns, "r.i")
    assert await reader.scan("t") == [{"name": "alpha  gamma \n delta", "none": None}]


async def test_what_an_answer_says_of_itself_once(serve: Serve, read: Read) -> None:
    rule = ", on_response: [{path: 'r.error[*].code', equals: none, action: empty}]"
    reader = await answered(serve, read, "<r><error><code>none</code></error></r>", IDS, "r.i", more=rule)
    assert await reader.scan("t") == []


async def test_a_cursor_in_the_first_of_one(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query.get("after", 1))
        more = f'<next n="{page + 1}"/>' if page < 3 else ""
        return web.Response(text=f'<r>{more}<i id="{page}"/></r>', content_type="application/xml")

    paginator = "paginator: {type: cursor, cursor_path: 'r.next[0].@n', cursor_param: after}"
    endpoint = f"path: r, format: xml, data_selector: r.i, {paginator}"
    table = f"t: {{columns: {{{IDS}}}, scan: {{endpoint: {{{endpoint}}}}}}}"
    url = (await serve(handler)).url
    reader = read(f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{{table}}}}}}}}}")
    assert await reader.scan("t") == [{"id": "1"}, {"id": "2"}, {"id": "3"}]
