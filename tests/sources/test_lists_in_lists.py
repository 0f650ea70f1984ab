"""Records that stand in lists of a list: a source may count these or the elements around them, in totals, lengths and places."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sources.reading import Reader, Row
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
SIZE = 5
#: What of an answer tells about pages, where it stands at place `start` of so many.
AROUND: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "nothing": lambda *_: {},
    "total": lambda _, count: {"total": count},
    "offset/limit": lambda start, _: {"offset": start, "limit": SIZE},
    "offset/limit/total": lambda start, count: {"offset": start, "limit": SIZE, "total": count},
    "offset/total": lambda start, count: {"offset": start, "total_count": count},
    "offset/more": lambda start, count: {"offset": start, "has_more": start + SIZE < count},
    "page/size": lambda start, _: {"page": start // SIZE + 1, "per_page": SIZE},
    "page/size/total": lambda start, count: {"page": start // SIZE + 1, "per_page": SIZE, "total": count},
    "page/total": lambda start, count: {"page": start // SIZE + 1, "total": count},
}
#: Paginators, and what answers tell beside the records.
WAYS = [
    *(("auto", around) for around in list(AROUND)[2:]),
    ("{type: offset}", "nothing"),
    ("{type: offset, page_size: 5}", "nothing"),
    ("{type: offset, page_size: 5, total_path: total}", "total"),
    ("{type: offset, total_path: total}", "total"),
    ("{type: offset, page_size: 5, total_path: total, total: approximate}", "total"),
    ("{type: page_number}", "nothing"),
    ("{type: page_number, page_size: 5}", "nothing"),
    ("{type: page_number, page_size: 5, short_page_ends: true}", "nothing"),
    ("{type: page_number, page_size: 5, total_rows_path: total}", "total"),
    ("{type: page_number, total_rows_path: total}", "total"),
]

#: Lengths of the lists in the elements around them: even, and with empty ones.
LENGTHS = {
    "odd": [2, 1, 0, 3, 2, 2, 0, 1, 1, 4, 2, 2],
    "even": [2] * 10,
    "long": [7] * 12,
    "few": [0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 2],
    "one page": [2, 2],
    "one full page": [1, 2, 0, 3, 1],
}


def elements(lengths: list[int]) -> list[list[Row]]:
    numbers = itertools.count()
    return [[{"id": next(numbers)} for _ in range(length)] for length in lengths]


def start_of(asked: web.Request) -> int:
    return int(asked.query.get("offset", SIZE * (int(asked.query.get("page", 1)) - 1)))


async def serving(serve: Serve, page: Callable[[int], list[list[Row]]], count: int, around: str) -> Served:
    async def answer(asked: web.Request) -> web.Response:
        start = start_of(asked)
        items = [{"items": one} for one in page(start)]
        return web.json_response({"r": items, **AROUND[around](start, count)})

    return await serve(answer)


def reader_of(read: Read, served: Served, paginator: str, key: str = "") -> Reader:
    endpoint = f'{{path: t, data_selector: "r[*].items[*]", paginator: {paginator}}}'
    return read(
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{served.url}'}}, tables: {{t: {{{key}"
        f"columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}}}}}}}}}"
    )


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
async def test_pages_of_the_elements_around_records_come_whole(
    serve: Serve, read: Read, way: tuple[str, str], lengths: str, window: int
) -> None:
    every = elements(LENGTHS[lengths])
    served = await serving(serve, lambda start: every[start : start + SIZE], len(every), way[1])
    reader = reader_of(read, served, way[0])
    rows = await reader.scan("t", window=window)
    assert sorted(row["id"] for row in rows) == list(range(sum(LENGTHS[lengths])))
    assert reader.truncated == []


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("count", [23, 20, 4, 5])
@pytest.mark.parametrize("way", WAYS)
async def test_pages_of_the_records_themselves_come_whole(
    serve: Serve, read: Read, way: tuple[str, str], count: int, window: int
) -> None:
    """Each page groups its records anew."""

    def page(start: int) -> list[list[Row]]:
        rows: list[Row] = [{"id": n} for n in range(start, min(start + SIZE, count))]
        return [group for group in (rows[:1], rows[1:3], rows[3:]) if group]

    served = await serving(serve, page, count, way[1])
    reader = reader_of(read, served, way[0])
    rows = await reader.scan("t", window=window)
    assert sorted(row["id"] for row in rows) == list(range(count))
    assert reader.truncated == []
    assert len(served.asked) <= -(-count // SIZE) + 2, (
        "one to see what is counted, one to see that none follows"
    )


@pytest.mark.parametrize("paginator", ["auto", "{type: json_link, next_url_path: next}", "single_page"])
@pytest.mark.parametrize(("total", "complete"), [(3, True), (6, True), (8, False)])
async def test_a_total_that_is_neither_of_the_two_is_heard(
    serve: Serve, read: Read, paginator: str, total: int, complete: bool
) -> None:
    every = elements([2, 2, 2])

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"r": [{"items": one} for one in every], "total_count": total})

    reader = reader_of(read, await serve(answer), paginator)
    assert len(await reader.scan("t")) == 6
    assert (reader.truncated == []) == complete


@pytest.mark.parametrize("key", ["", "primary_key: [id], "])
async def test_a_single_record_that_comes_again_is_an_error_unless_a_key_tells_it(
    serve: Serve, read: Read, key: str
) -> None:
    def page(start: int) -> list[list[Row]]:
        rows: list[Row] = [{"id": n} for n in range(start, min(start + SIZE, 13))]
        return [group for group in (rows[:2], *([row] for row in rows[2:])) if group]

    reader = reader_of(read, await serving(serve, page, 13, "nothing"), "{type: offset}", key)
    if not key:
        with pytest.raises(SourceError, match="declare its page_size, or a primary_key"):
            await reader.scan("t")
        return
    assert {row["id"] for row in await reader.scan("t")} == set(range(13))


@pytest.mark.parametrize(
    "paginator",
    ["{type: offset, page_size: 5, total_path: total}", "{type: page_number, total_rows_path: total}"],
)
@pytest.mark.parametrize("lengths", [[1] * 5 + [2] * 9, [2] * 14, [1] * 10 + [0, 3, 0, 1]])
async def test_parts_of_such_a_scan_are_whole(
    serve: Serve, read: Read, paginator: str, lengths: list[int]
) -> None:
    every = elements(lengths)
    served = await serving(serve, lambda start: every[start : start + SIZE], len(every), "total")
    reader = reader_of(read, served, paginator)
    table = reader.table("t")
    adapter = reader.catalog.adapter_of(table)
    found = []
    for part in await adapter.divide(table, table.scans[0], 2, meter=reader.meter):  # type: ignore[attr-defined]
        pages = adapter.scan_part(table, table.scans[0], ["id"], part, meter=reader.meter, window=2)  # type: ignore[attr-defined]
        found += [page async for page in pages]
    assert sorted(n for page in found for n in page.rows.column("id").to_pylist()) == list(
        range(sum(lengths))
    )
    assert not any(page.truncated for page in found)


@pytest.mark.parametrize("paginator", ["auto", "single_page"])
@pytest.mark.parametrize(
    ("selector", "body"),
    [
        ("a[*].b[*].c[*]", {"total": 6, "a": [{"b": [{"c": [{"id": 0}]}, {"c": []}, {"c": []}]}] * 2}),
        ("a[*].b[*].c[*]", {"total": 3, "a": [{"b": [{"c": [{"id": 0}] * 2}, {"c": []}, {"c": []}]}]}),
        ("a.*[*]", {"pagination": {"total": 3}, "a": {"x": [{"id": 0}] * 2, "y": [{"id": 1}] * 2}}),
        ("a.*.b[*]", {"total": 3, "a": {"x": {"b": [{"id": 0}] * 2}, "y": {"b": [{"id": 1}] * 2}}}),
    ],
)
async def test_a_total_of_what_stands_between_or_in_a_map_says_nothing_of_more(
    serve: Serve, read: Read, paginator: str, selector: str, body: dict[str, Any]
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(body)

    served = await serve(answer)
    reader = read(
        f"{{version: 1, sources: {{s: {{client: {{base_url: '{served.url}'}}, tables: {{t: {{columns: {{id: int}}, "
        f'scan: {{endpoint: {{path: t, data_selector: "{selector}", paginator: {paginator}}}}}}}}}}}}}}}'
    )
    assert await reader.scan("t")
    assert reader.truncated == []


@pytest.mark.parametrize("by_records", [True, False])
async def test_pages_are_fetched_side_by_side_once_it_is_known_what_counts(
    serve: Serve, read: Read, by_records: bool
) -> None:
    every, most, running = elements([2] * 40), 0, 0
    rows = [row for element in every for row in element]
    length = 10 if by_records else 5

    async def answer(asked: web.Request) -> web.Response:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        start = start_of(asked)
        some = rows[start : start + length]
        groups = [some[place : place + 2] for place in range(0, len(some), 2)]
        page = groups if by_records else every[start : start + length]
        total = len(rows) if by_records else len(every)
        return web.json_response({"r": [{"items": one} for one in page], "total": total})

    served = await serve(answer)
    reader = reader_of(read, served, "{type: offset, total_path: total}")
    assert sorted(row["id"] for row in await reader.scan("t", window=4)) == list(range(80))
    assert reader.truncated == []
    assert (most > 1, len(served.asked)) == (True, 9 if by_records else 8)
