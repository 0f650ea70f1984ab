"""What is no record of a table is not made one, and what no record has is told of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.members import Members, has_member
from fff_sources.http.response.records import Origin, RecordDecoder
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
COLUMNS = "columns: {id: int, name: string, middle: {type: string, path: names.middle}}"
WHOLE = {"id": 1, "name": "x", "names": {"middle": "m"}}


def source(url: str, endpoint: str = "", table: str = COLUMNS) -> str:
    tables = f"t: {{{table}, endpoint: {{path: r{endpoint}}}, scan: {{}}, lookups: [{{keys: [id]}}]}}"
    return f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}, tables: {{{tables}}}}}}}}}"


async def served(serve: Serve, body: str, kind: str = "application/json") -> str:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type=kind)

    return (await serve(handler)).url


@pytest.mark.parametrize("columns", every(4, [["id", "name"], ["name"], [], ["middle"]]), ids=str)
@pytest.mark.parametrize("stranger", [{"error": "quota"}, {}, {"Id": 1, "names2": {}}], ids=str)
@pytest.mark.parametrize("form", ["list", "ndjson", "careful", "header"])
async def test_a_stranger_among_records(
    serve: Serve, read: Read, columns: list[str], stranger: dict[str, Any], form: str
) -> None:
    known = {**WHOLE, "id": "1"} if form == "careful" else WHOLE
    rows = [known, known, stranger, known]
    endpoint = ""
    if form == "ndjson":
        body, endpoint = "\n".join(map(json.dumps, rows)), ", format: ndjson"
    elif form == "header":
        body, endpoint = json.dumps([["error"], ["quota"]]), ", layout: header"
    else:
        body = json.dumps(rows)
    url = await served(serve, body)
    for keys in ((), (1,)):
        for rule in ("fail", "null", "skip"):
            reader = read(source(url, endpoint, f"{COLUMNS}, on_bad_record: '{rule}'"))
            got = reader.lookup("t", *keys, columns=columns) if keys else reader.scan("t", columns)
            if rule == "fail" or form == "header":
                with pytest.raises(SourceError, match="has none of the table's columns") as error:
                    await got
                assert "api.t" in str(error.value)
                if form != "header":
                    assert "record 3" in str(error.value)
                    assert all(name in str(error.value) for name in list(stranger)[:1])
            else:
                assert len(await got) == 3
                assert reader.meter.bad_records == 1
                assert any("left out" in text for text in reader.meter.warnings)


@pytest.mark.parametrize("columns", [["id", "name"], ["name"], ["id"], ["middle", "id"]], ids=str)
@pytest.mark.parametrize("form", ["list", "careful", "apart"])
@pytest.mark.parametrize(
    ("beside", "is_record"),
    [
        ({"error": "not found"}, False),
        ({"errors": [{"message": "quota"}]}, False),
        ({"notfound": True}, False),
        ({"found": False}, False),
        ({"error": None}, True),
        ({"found": True}, True),
        ({}, True),
        ({"name": None, "error": "it has none"}, True),
    ],
    ids=str,
)
async def test_a_key_and_an_error_are_no_record_of_a_lookup(
    serve: Serve, read: Read, columns: list[str], form: str, *, beside: dict[str, Any], is_record: bool
) -> None:
    known = {**WHOLE, "id": "1"} if form == "careful" else WHOLE
    other = {"id": 2, **beside}
    batch = ", endpoint: {path: r}, lookups: [{keys: [id], batch: {size: 5}}]"
    url = await served(serve, json.dumps([other] if form == "apart" else [known, other]))
    spec = (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}, "
        f"tables: {{t: {{{COLUMNS}{batch}, on_bad_record: RULE}}}}}}}}}}"
    )
    keys = (2,) if form == "apart" else (1, 2)
    for rule in ("fail", "skip"):
        got = read(spec.replace("RULE", rule)).lookup("t", *keys, columns=columns)
        if is_record or rule == "skip":
            assert len(await got) == len(keys) - (not is_record)
        else:
            with pytest.raises(SourceError, match="has an error in their place beside the key"):
                await got


@pytest.mark.parametrize(
    ("body", "endpoint", "kind"),
    [
        ('{"error": "quota"}', "", "application/json"),
        ('{"error": "quota"}', ", layout: columns", "application/json"),
        ('{"a": {"error": "quota"}}', ", data_selector: '*'", "application/json"),
        ("<l><i><error>quota</error></i></l>", ", format: xml, data_selector: l.i", "text/xml"),
        ("<table><tr><th>error</th></tr><tr><td>quota</td></tr></table>", ", format: html_table, data_selector: '[0]'", "text/html"),
    ],
)  # fmt: skip
async def test_strangers_in_other_shapes(
    serve: Serve, read: Read, body: str, endpoint: str, kind: str
) -> None:
    url = await served(serve, body, kind)
    for columns in (None, [], ["name"]):
        with pytest.raises(SourceError, match="has none of the table's columns") as error:
            await read(source(url, endpoint)).scan("t", columns)
        assert "quota" in error.value.render()
        with pytest.raises(SourceError, match="has none of the table's columns"):
            await read(source(url, endpoint)).lookup("t", 1, columns=columns)


async def test_an_answer_taken_for_a_record_is_told_with_the_place_of_the_records(
    serve: Serve, read: Read
) -> None:
    url = await served(serve, '{"data": {"items": [{"id": 1}]}, "n": 1}')
    with pytest.raises(
        SourceError, match=r"\(an array: 'data.items'\) has none of the table's columns"
    ) as error:
        await read(source(url)).scan("t")
    assert (
        error.value.hint
        == "have data_selector name where the records are, or set on_bad_record: null or skip on the table"
    )


async def test_what_a_record_need_not_have(serve: Serve, read: Read) -> None:
    people = [{"id": n, "name": "x"} for n in range(40)] + [{"name": None}, {"names": {}}]
    reader = read(source(await served(serve, json.dumps(people))))
    assert await reader.scan("t", ["middle"]) == [{"middle": None}] * 42
    assert [row["name"] for row in await reader.scan("t")] == ["x"] * 40 + [None, None]
    assert reader.meter.bad_records == 0
    raw = "columns: {raw: {type: string, path: $}, id: int}"
    reader = read(source(await served(serve, '[{"error": "quota"}]'), table=raw))
    assert await reader.scan("t") == [{"raw": '{"error": "quota"}', "id": None}], "a path that begins nowhere"
    assert await read(source(await served(serve, "{}"))).lookup("t", 1) == [], (
        "an object without members is none"
    )


async def test_members_that_were_not_asked_for_may_be_missing(serve: Serve, read: Read) -> None:
    url = await served(serve, '[{"name": "x"}, {}]')
    reader = read(source(url, ", select: fields"))
    assert [row["name"] for row in await reader.scan("t", ["name"])] == ["x", None]
    with pytest.raises(SourceError, match="has none of the table's columns"):
        await read(source(await served(serve, '[{"error": 1}]'), ", select: fields")).scan("t", ["name"])


def test_few_records_are_looked_at_twice() -> None:
    plans = [ColumnPlan(Field.of("name", "string"), parse_path("name"))]
    looked_at: list[int] = []

    class Counting(Members):
        def strangers(self, records: Any, suspects: Any) -> list[int]:
            looked_at.append(len(suspects))
            return super().strangers(records, suspects)

    decoder = RecordDecoder(plans, "skip", members=Counting(["id", "name"]))
    body = json.dumps([{"id": n} for n in range(1000)] + [{"x": 1}, {"name": "y"}]).encode()
    batch, count = decoder.decode(body, meter=AccessMeter(), origin=Origin("s", "t", "u"))
    assert (batch.num_rows, count) == (1001, 1002)
    assert looked_at[0] == 1, "one member of all records tells nearly all of them"
    looked_at.clear()
    decoder.decode(
        json.dumps([{"name": "y"}] * 50).encode(), meter=AccessMeter(), origin=Origin("s", "t", "u")
    )
    assert looked_at == []


# -------------------------------------------------------------------------------------------------- what no record has


@pytest.mark.parametrize(
    ("columns", "rows", "missed"),
    [
        ("{id: int, nmae: string}", [{"id": 1, "name": "x"}] * 2, ["nmae"]),
        ("{id: int, v: {type: int, path: a.b}}", [{"id": 1, "a": {"c": 1}, "b": 2}] * 3, ["a.b"]),
        ("{id: int, v: {type: int, path: 'a[0].b'}}", [{"id": 1, "a": []}] * 3, ["a[0].b"]),
        ("{id: int, v: int, w: int}", [{"id": 1}] * 2, ["v", "w"]),
        ("{id: int, v: int}", [{"id": 1, "v": None}] * 2, []),
        ("{id: int, v: int}", [{"id": 1}] * 20 + [{"id": 1, "v": None}], []),
        ("{id: int, v: int}", [{"id": 1}], []),
        ("{id: int, v: int}", [], []),
    ],
)
@pytest.mark.parametrize("form", ["json", "ndjson"])
async def test_a_path_that_no_record_has_is_told_of(
    serve: Serve, read: Read, *, columns: str, rows: list[dict[str, Any]], missed: list[str], form: str
) -> None:
    body = json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows))
    reader = read(source(await served(serve, body), f", format: {form}", f"columns: {columns}"))
    await reader.scan("t")
    said = [text for text in reader.meter.warnings if "NULL throughout" in text]
    assert [text.split("'")[1] for text in said] == missed
    assert all(text.startswith("api.t: no record has") for text in said)
    untold = read(source(await served(serve, body), f", format: {form}", f"columns: {columns}"))
    await untold.scan("t", ["id"])
    assert not untold.meter.warnings, "nobody asked for the others"


async def test_a_member_of_a_later_page_takes_it_back(serve: Serve, read: Read) -> None:
    async def handler(request: web.Request) -> web.Response:
        page = int(request.query["page"])
        row = {"id": page, **({"name": "x"} if page == 3 else {})}
        return web.json_response([row] * 2 if page <= last else [])

    last = 2
    url = (await serve(handler)).url
    paged = ", paginator: {type: page_number}"
    reader = read(source(url, paged, "columns: {id: int, name: string}"))
    await reader.scan("t")
    assert len(reader.meter.warnings) == 1
    last = 3
    reader = read(source(url, paged, "columns: {id: int, name: string}"))
    await reader.scan("t")
    assert not reader.meter.warnings


async def test_what_the_answer_names_beside_its_records_may_be_missing_from_all(
    serve: Serve, read: Read
) -> None:
    body = {"head": {"vars": ["id", "end"]}, "rows": [{"id": 1}, {"id": 2}]}
    columns = "columns: {id: int, end: string, until: string}"
    reader = read(source(await served(serve, json.dumps(body)), ", data_selector: rows", columns))
    await reader.scan("t")
    assert [text.split("'")[1] for text in reader.meter.warnings] == ["until"]


async def test_lookups_tell_of_it_together_and_not_of_what_they_fill_in(serve: Serve, read: Read) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"name": "x"})

    reader = read(source((await serve(handler)).url, table="columns: {id: int, name: string, nick: string}"))
    await reader.lookup("t", 1)
    assert not reader.meter.warnings, "one may well have none"
    await reader.lookup("t", 2)
    assert [text.split("'")[1] for text in reader.meter.warnings] == ["nick"]


def test_what_has_a_member() -> None:
    body = b'[{"a": {"b": null}}, {"c\\u0022": [1, {"d": 2}]}]'
    for path, there in (
        ("a", 1),
        ("a.b", 1),
        ("a.c", 0),
        ("b", 0),
        ("['c\"']", 1),
        ("['c\"'][1].d", 1),
        ("['c\"'][2]", 0),
    ):
        assert has_member(body, parse_path(path)) == bool(there), path
    assert has_member(b"[[1, 2]]", parse_path("[1]"))
    assert not has_member(b"[[1, 2]]", parse_path("a"))
    assert has_member(b'[{"a": {"@x": "1"}}]', parse_path("a['#text']")), "an element without a text"
