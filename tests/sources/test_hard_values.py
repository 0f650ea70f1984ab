"""Keys that try to be something else, documents that try to be too much, and every type over the wire."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
KEYS = ["a/b", "a?b=c", "a#b", "50%", "%2F", "a&b=c", "a=b", "a+b", "a b", "ü€🙂", "it's \"q\"", "a\nb\r\tc", "..", ".", "../../x", "{zip}", "${env:X}", "a\\b", "k" * 3000]  # fmt: skip


def spec(url: str, table: str) -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}/v1'}}, tables: {{t: {{{table}}}}}}}}}}}"
    )


async def test_keys_arrive_as_they_are(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        assert asked.raw_path.startswith("/v1/p/")
        key = asked.query.get("q", asked.path.removeprefix("/v1/p/") if "q" not in asked.query else "")
        return web.json_response([{"zip": key}])

    server = await serve(handler)
    reader = read(
        spec(
            server.url,
            "columns: {zip: string}, lookups: [{keys: [zip], endpoint: 'p/{zip}'},"
            " {keys: [zip], endpoint: {path: p/x, params: {q: '{zip}'}}}]",
        )
    )
    for key in KEYS:
        for number in (0, 1):
            assert await reader.lookup("t", key, number=number) == [{"zip": key}], (key, number)
    assert await reader.lookup("t", "", number=1) == [{"zip": ""}]


@pytest.mark.parametrize(
    ("form", "body", "message"),
    [
        ("json", "[" * 50_000 + "]" * 50_000, "nested too deeply|not valid json|is not an object"),
        ("json", '[{"a":' * 50_000, "nested too deeply|not valid json"),
        ("xml", "<a>" * 5_000 + "</a>" * 5_000, "nested too deeply|not valid xml|'b'"),
        ("xml", " " * 2000 + '<!DOCTYPE l [<!ENTITY a "b">]><l>&a;</l>', "not valid xml|declares entities"),
        (
            "xml",
            '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE l [<!ENTITY a "b">]><l>&a;</l>',
            "entities",
        ),
        ("json", '[{"id": ' + "9" * 6000 + "}]", "is not an int|not valid json"),
    ],
)
async def test_documents_that_are_too_much(
    serve: Serve, read: Read, form: str, body: str, message: str
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body.encode("utf-16" if "UTF-16" in body else "utf-8"))

    server = await serve(handler)
    selector = ", data_selector: b" if form == "xml" else ""
    reader = read(
        spec(server.url, f"columns: {{id: int}}, scan: {{endpoint: {{path: r, format: {form}{selector}}}}}")
    )
    with pytest.raises(SourceError, match=message):
        await reader.scan("t")


UTC = dt.UTC
#: type, what the source writes, what it means (or None: a bad value)
VALUES: list[tuple[str, Any, Any]] = [
    ("boolean", True, True), ("boolean", "false", False), ("boolean", "maybe", None),
    ("tinyint", -128, -128), ("tinyint", 128, None), ("smallint", 32768, None), ("int", "42", 42), ("int", 1.0, 1), ("int", 1.5, None),
    ("int", 2**31, None), ("bigint", 2**63 - 1, 2**63 - 1), ("bigint", 2**63, None), ("float", 0.5, 0.5), ("double", "1e3", 1000.0),
    ("double", "x", None), ("decimal(5,2)", "123.455", Decimal("123.46")), ("decimal(5,2)", 1000, None), ("decimal(5,2)", "NaN", None),
    ("decimal(38,0)", "9" * 38, Decimal("9" * 38)), ("string", 1, "1"), ("string", "00501", "00501"), ("binary", "aGk=", b"hi"), ("binary", "!", None),
    ("date", "2024-02-29", dt.date(2024, 2, 29)), ("date", "2023-02-29", None),
    ("timestamp", "2024-01-01T12:00:00+02:00", dt.datetime(2024, 1, 1, 10, tzinfo=UTC)),
    ("timestamp", "2024-01-01 12:00:00", dt.datetime(2024, 1, 1, 12, tzinfo=UTC)), ("timestamp", "noon", None),
    ("timestamp_ntz", "2024-01-01T12:00:00+02:00", dt.datetime(2024, 1, 1, 12)),  # noqa: DTZ001
    ("timestamp_ntz", "2024-01-01T12:00:00", dt.datetime(2024, 1, 1, 12)),  # noqa: DTZ001
    ("array<int>", [1, None], [1, None]), ("array<int>", [1.5], None), ("array<int>", {}, None),
    ("struct<a:int,b:string>", {"a": 1}, {"a": 1, "b": None}), ("map<string,int>", {"k": 1}, [("k", 1)]), ("map<string,int>", [], None),
]  # fmt: skip


def written(form: str, records: list[dict[str, Any]]) -> str:
    if form == "json":
        return json.dumps(records)
    if form == "ndjson":
        return "\n".join(map(json.dumps, records))

    def cell(value: Any) -> str:
        if value is None:
            return ""
        text = value if isinstance(value, str) else json.dumps(value)
        return '"' + text.replace('"', '""') + '"'

    return "\n".join(["v,n", *(f"{cell(record['v'])},{record['n']}" for record in records)])


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
@pytest.mark.parametrize("case", every(6, VALUES), ids=lambda case: f"{case[0]}-{case[1]!s:.20}")
async def test_every_type_in_every_format(
    serve: Serve, read: Read, form: str, case: tuple[str, Any, Any]
) -> None:
    kind, value, meaning = case
    body = written(form, [{"v": None, "n": 0}, {"v": value, "n": 1}, {"v": None, "n": 2}])

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body)

    server = await serve(handler)
    for on_bad in ("fail", "null", "skip"):
        reader = read(
            spec(
                server.url,
                f"columns: {{v: '{kind}', n: int}}, on_bad_record: '{on_bad}', scan: {{endpoint: {{path: r, format: {form}}}}}",
            )
        )
        if meaning is None and on_bad == "fail":
            with pytest.raises(
                SourceError, match=r"api\.t: column 'v' of record 2: .* is not an? "
            ) as caught:
                await reader.scan("t")
            assert kind.partition("<")[0] in str(caught.value) or "is not an int" in str(caught.value)
            continue
        rows = [(row["n"], row["v"]) for row in await reader.scan("t")]
        middle = [] if meaning is None and on_bad == "skip" else [(1, meaning)]
        assert rows == [(0, None), *middle, (2, None)]
        assert reader.meter.bad_records == (meaning is None)


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ("9007199254740993.0", 2**53 + 1),
        ("-9007199254740993.00", -(2**53) - 1),
        ("9.007199254740993e15", 2**53 + 1),
        ("1234567890123456789E0", 1234567890123456789),
        ("123456789012345e4", 1234567890123450000),
        ('"9007199254740993.0"', 2**53 + 1),
        ('"9.007199254740993E+15"', 2**53 + 1),
        ('"9007199254740993"', 2**53 + 1),
    ],
)
async def test_whole_numbers_that_no_double_holds(
    serve: Serve, read: Read, form: str, written: str, meaning: int
) -> None:
    rows = ['{"v": 1.0}', f'{{"v": {written}}}', '{"v": null}', '{"v": "2"}']
    body = {
        "json": f"[{','.join(rows)}]",
        "ndjson": "\n".join(rows),
        "csv": f"v,n\n1.0,\n{written},\n,\n2,\n",
    }[form]

    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body)

    url = (await serve(handler)).url
    for kind in ("bigint", "decimal(20,0)"):
        reader = read(spec(url, f"columns: {{v: '{kind}'}}, scan: {{endpoint: {{path: r, format: {form}}}}}"))
        assert [row["v"] for row in await reader.scan("t")] == [1, meaning, None, 2]
