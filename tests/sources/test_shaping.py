"""Records that are made of what answers have: entries, elements, what is packed, what a pattern cuts out."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import io
import json
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
Rows = Callable[[str, str | bytes], Awaitable[list[dict[str, Any]]]]


def source(url: str, tables: str) -> str:
    client = f"client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}"
    return f"{{version: 1, sources: {{api: {{{client}, tables: {{{tables}}}}}}}}}"


def scanned(columns: str, endpoint: str) -> str:
    return f"t: {{columns: {{{columns}}}, scan: {{endpoint: {{path: r, {endpoint}}}}}}}"


@pytest.fixture
def rows(serve: Serve, read: Read) -> Rows:
    """Reads a table of a server that has one answer."""

    async def rows(table: str, body: str | bytes) -> list[dict[str, Any]]:
        async def handler(_: web.Request) -> web.Response:
            return web.Response(body=body.encode() if isinstance(body, str) else body)

        return await read(source((await serve(handler)).url, table)).scan("t")

    return rows


def zipped(*files: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", how) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return data.getvalue()


def damaged(how: int) -> bytes:
    """A zip file of which some packed bytes are others."""
    whole = zipped(("inside.json", bytes(range(256)) * 50), how=how)
    return whole[:45] + b"\xff" * 15 + whole[60:]


def in64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


SHAPES = [
    (
        'day: {type: date, path: "@key"}, usd: double, eur: string',
        "data_selector: rates, rows: entries",
        '{"rates": {"2024-01-02": {"usd": 1.1, "eur": 1.10}, "2024-01-03": {"usd": null}}}',
        [("2024-01-02", 1.1, "1.10"), ("2024-01-03", None, None)],
    ),
    (
        'name: {type: string, path: "@key"}, n: {type: int, path: "@value"}',
        "layout: entries",
        '{"a": 1, "b": null, "@key": 3}',
        [("a", 1), ("b", None), ("@key", 3)],
    ),
    (
        'name: {type: string, path: "@key"}, n: int',
        'data_selector: "parts[*]", rows: entries',
        '{"parts": [{"a": {"n": 1}}, {"b": {"n": 2}, "c": {"n": 3}}]}',
        [("a", 1), ("b", 2), ("c", 3)],
    ),
    (
        "order: {type: int, path: id}, sku: {type: string, path: box.items.sku}, price: {type: string, path: box.items.price}",
        "explode: box.items",
        '[{"id": 1, "box": {"items": [{"sku": "a", "price": 1.50}, {"sku": "b"}]}}, {"id": 2, "box": {"items": []}}, {"id": 3, "box": {"items": null}}, {"id": 4}, {"id": 5, "box": {"items": [{"sku": "c", "price": 2}]}}]',
        [(1, "a", "1.50"), (1, "b", None), (5, "c", "2")],
    ),
    (
        'day: {type: string, path: "@key"}, v: {type: int, path: "@value"}',
        "rows: entries, explode: '[\"@value\"]'",
        '{"x": [1, 2], "y": []}',
        [("x", 1), ("x", 2)],
    ),
    (
        "id: int, tag: {type: 'array<string>'}, who: {type: string, path: who.name}",
        "format: xml, data_selector: list.one",
        "<list><one><id>1</id><tag>a</tag></one><one><id>2</id><tag>b</tag><tag>c</tag><who><name>n</name></who></one><one><id>3</id></one></list>",
        [(1, ["a"], None), (2, ["b", "c"], "n"), (3, None, None)],
    ),
    ("id: int", "format: xml, data_selector: list.all.one", "<list><all> </all></list>", []),
    ("id: int", "format: xml, data_selector: list.all.one", '<list><all count="0"/></list>', []),
    (
        "id: int, part: {type: string, path: part.n}",
        "format: xml, data_selector: list.one, explode: part",
        "<list><one><id>1</id><part><n>a</n></part></one><one><id>2</id><part><n>b</n></part><part><n>c</n></part></one></list>",
        [(1, "a"), (2, "b"), (2, "c")],
    ),
    (
        "id: {type: int, path: url, pattern: '/people/(\\d+)/'}, url: string",
        "format: json",
        '[{"url": "https://e.org/people/12/"}, {"url": null}]',
        [(12, "https://e.org/people/12/"), (None, None)],
    ),
    (
        "id: {type: int, path: url, pattern: '\\d+$'}, url: string",
        "format: csv",
        "url,x\nhttps://e.org/7,1\n,2\n",
        [(7, "https://e.org/7"), (None, None)],
    ),
    (
        "a: {type: int, pattern: '(.+)?'}, b: int",
        "format: json",
        '[{"a": "", "b": 1}, {"a": "7", "b": 2}]',
        [(None, 1), (7, 2)],
    ),
    ("a: int", "format: csv, decode: zip", zipped(("one.csv", b"a\n1\n2\n")), [(1,), (2,)]),
    ("a: int", "format: csv, decode: zip", zipped(("d/", b""), ("d/a.csv", b"a\n1\n"), ("__MACOSX/d/._a.csv", b"x")), [(1,)]),
    ("a: int", "format: ndjson, decode: [base64, gzip]", in64(gzip.compress(b'{"a": 1}\n{"a": 2}\n', mtime=0)), [(1,), (2,)]),
    (
        "a: int",
        "data_selector: doc.rows, decode: {path: doc, steps: [json]}",
        json.dumps({"doc": json.dumps({"rows": [{"a": 1}]})}),
        [(1,)],
    ),
    (
        "id: int, a: {type: string, path: data.a}",
        "decode: {path: '[*].data', steps: [base64, json]}",
        json.dumps([{"id": 1, "data": in64('{"a": 1.50}')}, {"id": 2, "data": None}, {"id": 3}]),
        [(1, "1.50"), (2, None), (3, None)],
    ),
    (
        "id: int, t: string",
        "decode: {path: '[*].t', steps: [base64]}",
        json.dumps([{"id": 1, "t": base64.urlsafe_b64encode("äß?>".encode()).decode().rstrip("=")}]),
        [(1, "äß?>")],
    ),
    (
        "a: int",
        "format: csv, decode: {path: file.content, steps: [base64]}",
        json.dumps({"file": {"content": in64("a\n5\n")}}),
        [(5,)],
    ),
    ("a: int", "decode: json", json.dumps(json.dumps([{"a": 1}])), [(1,)]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "endpoint", "body", "expected"), SHAPES)
async def test_records_of_a_shape(
    rows: Rows, columns: str, endpoint: str, body: str | bytes, expected: list[tuple[Any, ...]]
) -> None:
    found = await rows(scanned(columns, endpoint), body)
    shown = [tuple(v.isoformat() if hasattr(v, "isoformat") else v for v in row.values()) for row in found]
    assert shown == expected


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([{"sku": "a"}, None], "null is not an object"),
        ([{"sku": "a"}, "b"], '"b" is not an object'),
        ([{"price": 1.5}, {"error": "timeout"}], "has none of the table's columns"),
        ("down", "is not an object"),
        ({"data": [{"sku": "a"}], "has_more": True}, "has none of the table's columns"),
    ],
)
async def test_an_element_that_is_none_is_a_bad_record(rows: Rows, items: object, says: str) -> None:
    columns = "id: int, sku: {type: string, path: items.sku}, price: {type: double, path: items.price}"
    body = json.dumps(
        [{"id": 1, "items": items}, {"id": 2, "items": [{"sku": "z"}, {"note": "of no column"}]}]
    )
    with pytest.raises(SourceError, match=says):
        await rows(scanned(columns, "explode: items"), body)
    left = await rows(scanned(columns, "explode: items")[:-1] + ", on_bad_record: skip}", body)
    good = (
        [one for one in items if isinstance(one, dict) and "error" not in one]
        if isinstance(items, list)
        else []
    )
    assert [row["id"] for row in left] == [1] * len(good) + [2, 2]


async def test_pages_are_counted_by_what_the_source_counts(serve: Serve, read: Read) -> None:
    parents = [{"id": n, "kids": [{"k": m} for m in range(n % 3)]} for n in range(7)]

    async def handler(request: web.Request) -> web.Response:
        start = int(request.query.get("offset", 0))
        return web.json_response({"total": 7, "items": parents[start : start + 3]})

    url = (await serve(handler)).url
    for paging in (
        "type: offset, total_path: total",
        "type: offset, page_size: 3",
        "type: offset, total_path: total, page_size: 3",
    ):
        endpoint = f"data_selector: items, explode: kids, paginator: {{{paging}}}"
        reader = read(source(url, scanned("id: int, k: {type: int, path: kids.k}", endpoint)))
        found = await reader.scan("t", window=2)
        assert sorted((row["id"], row["k"]) for row in found) == [
            (n, m) for n in range(7) for m in range(n % 3)
        ]
        assert reader.truncated == []


@pytest.mark.parametrize(
    ("columns", "endpoint", "body", "says"),
    [
        ("a: int", "rows: entries", '{"error": "quota"}', "none of the table's columns"),
        ("n: {type: string, path: '@key'}, a: int", "rows: entries", '{"error": "quota"}', "none of the table"),
        ("a: int", "rows: entries", "[[1]]", "not valid json"),
        ("a: {type: int, path: u, pattern: '/(\\d+)$'}", "format: json", '[{"u": "x/y"}]', "nothing that fits the pattern"),
        ("a: {type: int, path: u, pattern: '/(\\d+)$'}", "format: csv", "u\nx/y\n", "nothing that fits the pattern"),
        ("a: int", "decode: base64", "%%%", "it is no base64"),
        ("a: int", "decode: zip", b"PK-nothing", "it is no zip"),
        *(("a: int", "decode: zip", damaged(how), "it is no zip") for how in (8, 12, 14)),
        ("a: int", "format: csv, decode: zip", zipped(("a", b"a\n1\n"), ("b", b"a\n2\n")), "holds 2 files"),
        ("a: int", "format: csv", zipped(("a", b"a\n1\n")), "it is a zip file"),
        ("a: int", "decode: gzip", b"\x1f\x8bnothing", "damaged"),
        ("a: int", "decode: gzip", gzip.compress(b"[]", mtime=0)[:-4], "ends too early"),
        ("a: int", "decode: {path: x, steps: [json]}", '{"x": 5}', "'x' is no text"),
        ("a: int", "decode: {path: x, steps: [json]}, data_selector: x", '{"x": "{"}', "cannot be decoded"),
        ("a: int", "format: csv, decode: {path: x, steps: [base64]}", '{"y": ""}', "has no 'x'"),
        ("a: int", "decode: gzip", gzip.compress(b"[" + b" " * 2**24 + b"]", mtime=0), "expands more than"),
    ],
)  # fmt: skip
async def test_what_does_not_fit_is_told(
    rows: Rows, columns: str, endpoint: str, body: str | bytes, says: str
) -> None:
    with pytest.raises(SourceError, match=says):
        await rows(scanned(columns, endpoint), body)


async def test_csv_that_does_not_repeat_the_key(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=f"v\n{request.query['day']}\nx\n", content_type="text/csv")

    table = "t: {columns: {day: date, v: string}, lookups: [{keys: [day], endpoint: {path: r, format: csv}}]}"
    reader = read(source((await serve(handler)).url, table))
    assert reader.table("t").scans == ()
    found = await reader.lookup("t", dt.date(2024, 5, 1))
    assert [(str(row["day"]), row["v"]) for row in found] == [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01", "x"),
    ]


@pytest.mark.parametrize(
    ("columns", "endpoint", "says"),
    [
        ("a: {type: int, pattern: '('}", "", "is no regular expression"),
        ("a: {type: int, pattern: '(a)(b)'}", "", "has several groups"),
        ("a: {type: int, pattern: a}", "format: parquet", "is for texts"),
        ("a: int", "explode: x, format: csv", "explode reads JSON or XML"),
        ("a: int", "explode: 'x[0]'", "must be names"),
        ("a: int", "rows: entries, format: csv", "is of JSON answers"),
        ("a: int", "decode: bzip", "there is no 'bzip'\n  did you mean 'zip'?"),
        ("a: int", "decode: [base64, json]", "json can only come first"),
        ("a: int", "decode: {path: x, steps: [json, gzip]}", "json can only come last"),
    ],
)
def test_lint_finds_it(tmp_path: Path, columns: str, endpoint: str, says: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(source("https://e.org", scanned(columns, endpoint)), encoding="utf-8")
    assert any(says in str(error) for error in lint(file)), [str(error) for error in lint(file)]
