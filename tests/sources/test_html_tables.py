"""Tables of HTML: values stand in the columns and rows that their cells span, and nothing but rows is data."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.response.text.html_table import html_tables
from fff_sources.http.shaping import MalformedMarkupError
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
HEAD = "<tr><th>state<th>city<th>pop</tr>"


def rows(page: str) -> list[tuple[str | None, ...] | str]:
    """The first table, its records without their names."""
    return [tuple(row.values()) if isinstance(row, dict) else row for row in html_tables(page)[0]]


def names(page: str) -> list[str]:
    record = html_tables(page)[0][0]
    assert isinstance(record, dict)
    return list(record)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<tr><td rowspan=2>CA<td>LA<td>4</tr><tr><td>SF<td>1</tr>", [("CA", "LA", "4"), ("CA", "SF", "1")]),
        ("<tr><td>CA<td rowspan=2>LA<td>4</tr><tr><td>NY<td>1</tr>", [("CA", "LA", "4"), ("NY", "LA", "1")]),
        ("<tr><td>CA<td>LA<td rowspan=2>4</tr><tr><td>NY<td>B</tr>", [("CA", "LA", "4"), ("NY", "B", "4")]),
        ("<tr><td colspan=2>CA<td>4</tr>", [("CA", "CA", "4")]),
        ("<tr><td>CA<td rowspan=2 colspan=2>-</tr><tr><td>NY</tr>", [("CA", "-", "-"), ("NY", "-", "-")]),
        # 0 is to the end of the group of rows, which nothing reaches out of.
        ("<tr><td rowspan=0>CA<td>LA<td>4</tr><tr><td>SF<td>1</tr></tbody><tbody><tr><td>NY<td>B<td>1</tr>",
         [("CA", "LA", "4"), ("CA", "SF", "1"), ("NY", "B", "1")]),
        ("<tbody><tr><td rowspan=9>CA<td>LA<td>4</tr></tbody><tbody><tr><td>NY<td>B<td>1</tr></tbody>",
         [("CA", "LA", "4"), ("NY", "B", "1")]),
        # A row that has no cell of its own takes what is above it to its end, and is none.
        ("<tr><td rowspan=2>CA<td>LA<td>4</tr><tr></tr><tr><td>NY<td>B<td>1</tr>", [("CA", "LA", "4"), ("NY", "B", "1")]),
        ("<tr><td rowspan=no colspan=''>CA<td colspan=-1>LA<td colspan=0>4</tr>", [("CA", "LA", "4")]),
        ("<tr><td>CA<td><td>4</tr><tr><td>NY<td>B<td></tr>", [("CA", None, "4"), ("NY", "B", None)]),
        ("<tfoot><tr><td>all<td>-<td>5</tr></tfoot>", [("all", "-", "5")]),
    ],
)  # fmt: skip
def test_cells_that_span(body: str, expected: list[tuple[str | None, ...]]) -> None:
    assert rows(f"<table>{HEAD}{body}</table>") == expected
    assert rows(f"<table><thead>{HEAD}</thead>{body}</table>") == expected


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("<td>SF<td>1", "Expected 3 columns, got 2: SF, 1"),
        ("<td>CA<td>SF<td>1<td>2", "Expected 3 columns, got 4: CA, SF, 1, 2"),
        ("<td colspan=9>none", "Expected 3 columns, got 9: none, none, none, none, none, none, none, none, none"),
        ("<th>CA", "Expected 3 columns, got 1: CA"),
    ],
)  # fmt: skip
async def test_rows_of_another_length_are_bad_records(serve: Serve, read: Read, row: str, told: str) -> None:
    page = f"<table>{HEAD}<tr><td>NY<td>B<td>1</tr><tr>{row}</tr><tr><td>NV<td>R<td>2</tr></table>"
    assert rows(page) == [("NY", "B", "1"), told, ("NV", "R", "2")]

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=page, content_type="text/html")

    url = (await serve(handler)).url
    for rule in ("fail", "skip", "null"):
        table = f"t: {{columns: {{city: string, pop: int}}, on_bad_record: '{rule}', scan: {{endpoint: {{path: r, format: html_table, data_selector: '[0]'}}}}}}"
        reader = read(
            f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}'}}, tables: {{{table}}}}}}}}}"
        )
        if rule == "fail":
            with pytest.raises(SourceError, match=f"not valid html_table.*row 2: {told}") as error:
                await reader.scan("t")
            assert "on_bad_record: skip" in str(error.value.hint)
            continue
        assert await reader.scan("t") == [{"city": "B", "pop": 1}, {"city": "R", "pop": 2}]
        assert reader.meter.bad_records == 1
        assert any("left out" in text for text in reader.meter.warnings)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("<thead><tr><th>a<th>b<th>c</thead>", ["a", "b", "c"]),
        ("<thead><tr><td>a<td>b<td>c</thead>", ["a", "b", "c"]),
        ("<tr><td>a<td>b<td>c", ["a", "b", "c"]),
        ("<thead><tr><th rowspan=2>a<th colspan=2>x<tr><th>b<th>c</thead>", ["a", "b", "c"]),
        ("<tr><th rowspan=2>a<th colspan=2>x<tr><th>b<th>c", ["a", "b", "c"]),
        ("<tr><th colspan=3>a title<tr><th>a<th>b<th>c", ["a", "b", "c"]),
        ("<tr><th colspan=99>a title<tr><th>a<th>b<th>c", ["a", "b", "c"]),
        ("<tr><th>a<th>x<th>c<tr><th><th>b<th>", ["a", "b", "c"]),
        ("<thead><tr><th>a<th colspan=2>x</tr><tr><th>a<th>b<th>b</thead>", ["a", "x b", "x b_1"]),
        ("<thead><tr><th rowspan=2>a<th>x<th>y<tr><th>n<th>n</thead>", ["a", "x n", "y n"]),
        ("<tr><th>a<th colspan=2>b", ["a", "b", "b_1"]),
        ("<thead><tr><th><th><th></thead><tr><th>a<th>b<th>c", ["a", "b", "c"]),
    ],
)
def test_headers(header: str, expected: list[str]) -> None:
    page = f"<table>{header}<tbody><tr><td>1<td>2<td>3</tr><tr><th>4<td>5<td>6</tr></table>"
    assert names(page) == expected
    assert rows(page) == [("1", "2", "3"), ("4", "5", "6")]


@pytest.mark.parametrize(
    ("header", "again"),
    [
        ("<tr><th>a<th>b", "<tr><th>a<th>b"),
        ("<tr><td>a<td>b", "<tr><td>a<td>b"),
        ("<thead><tr><th>a<th>b</thead>", "<tr><td>a<td>b"),
        ("<thead><tr><th colspan=2>x<tr><th>a<th>b</thead>", "<tbody><tr><th colspan=2>x<tr><th>a<th>b"),
        ("<thead><tr><th>a<th>b</thead>", "</tbody><thead><tr><td>a<td>b</thead><tbody>"),
    ],
)
def test_a_header_that_is_repeated_is_no_data(header: str, again: str) -> None:
    page = f"<table>{header}<tbody><tr><td>1<td>2</tr>{again}<tr><td>3<td>4</tr>{again}</table>"
    assert rows(page) == [("1", "2"), ("3", "4")]


def test_what_looks_like_a_header_and_is_data() -> None:
    assert rows("<table><tr><th>word<tr><td>a<tr><td>word</table>") == [("a",), ("word",)]
    assert rows("<table><tr><th>a<tr><th>1<tr><th>2</table>") == [("1",), ("2",)]
    assert rows("<table><thead><tr><th>a<th>b<tr><td>1<td>2</table>") == [("1", "2")]
    assert rows("<table><tr><th colspan=2>x<tr><th>a<th>b</table>") == []
    assert rows("<table><thead><tr><th>a<th>b</thead></table>") == []


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("a<br>b", "a b"), ("a<br/>b", "a b"), ("<p>a</p><p>b</p>", "a b"), ("<ul><li>a<li>b</ul>", "a b"),
        ("<b>a</b>b&nbsp;&amp;&#39;", "ab &'"), ("a<script>x()</script>", "a"), ("<style>td {}</style>a", "a"),
        ("a<script>if (a < b) '<td>'</script>b", "ab"), ("a<!-- x -->b", "ab"), ("  a \n b ", "a b"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a b c"), ("<sup>[1]</sup>", "[1]"), ("<span> </span>", None),
    ],
)  # fmt: skip
def test_the_text_of_a_cell(cell: str, text: str | None) -> None:
    assert rows(f"<table><tr><th>a<th>b<tr><td>{cell}</td><td>2</td></tr></table>") == [(text, "2")]


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr>" + "<td rowspan=65534 colspan=1000>" + "<tr><td>" * 100_000,
        "<table>" + "<tr><td colspan=1000>" * 100_000,
        "<table><tr><td colspan=1000>" + "x" * 1_000_000,
        "<table><tr><td rowspan=0>" + "x" * 1_000_000 + "<tr><td>" * 10_000,
        "<table><tr><th>" + "x" * 1_000_000 + "<tr><td>" * 10_000,
    ],
    ids=["both", "colspan", "long across", "long down", "long name"],
)
def test_a_page_that_would_fill_the_memory_is_refused(page: str) -> None:
    began = time.process_time()
    with pytest.raises(MalformedMarkupError, match="more than 128 MB"):
        html_tables(page)
    assert time.process_time() - began < 20


def test_spans_are_bounded_as_in_browsers() -> None:
    assert rows("<table><tr><td>a<td>b<tr><td colspan=5000000>x</table>")[0] == (
        "Expected 2 columns, got 1000: " + ", ".join(["x"] * 1000)
    )
    assert rows("<table><tr><th>a<th>b<tr><td rowspan=99999999999999>x<td>1<tr><td>2</table>") == [
        ("x", "1"),
        ("x", "2"),
    ]
