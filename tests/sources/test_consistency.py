"""Pages that come again, are empty amid others, or contradict each other, under every paginator."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

from fff.access.key_index import Moved
from fff.errors import SourceError
from fff.web.types import Credentials
from fff_sources.http.paging.consistency import NOT_EXHAUSTIVE, Gaps, Repeats, Totals
from fff_sources.http.paging.counted import ScanPart
from fff_sources.http.paging.paginators import Ask, PaginationError, Told
from fff_sources.http.paging.surroundings import Counts
from fff_sources.rest import RestSource
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
COUNT, SIZE = 70, 10
LAST = COUNT // SIZE
#: What the pages of a reading are called by, in requests, under each paginator; every answer has all of it.
PAGINATORS = {
    "page_number": "{type: page_number, page_param: p, base_page: 0}",
    "page_number by pages": "{type: page_number, page_param: p, base_page: 0, total_path: pages}",
    "page_number by rows": "{type: page_number, page_param: p, base_page: 0, total_rows_path: rows}",
    "offset": "{type: offset, offset_param: o}",
    "offset by rows": "{type: offset, offset_param: o, total_path: rows}",
    "cursor": "{type: cursor, cursor_path: cursor, cursor_param: p}",
    "reusable cursor": "{type: cursor, cursor_path: cursor, cursor_param: p, reusable: true}",
    "keyset": "{type: keyset, cursors: {p: cursor}}",
    "json_link": "{type: json_link, next_url_path: link}",
    "header_link": "header_link",
    "auto": "auto",
}
COUNTED = ("page_number by pages", "page_number by rows", "offset by rows")
ENDLESS = [name for name in PAGINATORS if name not in COUNTED]

Rows = list[dict[str, Any]]
#: The records of a page, by its number and the number of the request.
Source = Callable[[int, int], Rows]


def whole(number: int, _: int) -> Rows:
    return [{"id": n, "name": f"n{n}"} for n in range(COUNT)][number * SIZE : (number + 1) * SIZE]


async def serving(
    serve: Serve,
    source: Source,
    *,
    last: int = LAST,
    rows: int = COUNT,
    pages: Callable[[int], int] = lambda _: LAST,
) -> Served:
    """A source that tells everything, in envelopes that differ every time."""
    count = 0

    async def answer(asked: web.Request) -> web.Response:
        nonlocal count
        count += 1
        number = int(asked.query.get("p", int(asked.query.get("o", 0)) // SIZE))
        body: dict[str, Any] = {
            "data": source(number, count),
            "request_id": f"r{count}",
            "rows": rows,
            "pages": pages(count),
        }
        headers = {}
        if number + 1 < last:
            body |= {"cursor": number + 1, "link": f"/r?p={number + 1}"}
            headers["Link"] = f'</r?p={number + 1}>; rel="next"'
        return web.json_response(body, headers=headers)

    return await serve(answer)


def spec(served: Served, paginator: str, more: str = "") -> str:
    return (
        f"{{version: 1, sources: {{api: {{client: {{base_url: '{served.url}'}}, tables: {{t: {{columns: {{id: int, name: string}}{more},"
        f" scan: {{endpoint: {{path: r, data_selector: data, paginator: {paginator}}}}}}}}}}}}}}}"
    )


@pytest.mark.parametrize(
    ("length", "said", "warned"),
    [(10_000, {}, 1), (9_999, {}, 0), (10_000, {"approximate": True}, 0)],
)
async def test_a_total_as_far_as_search_servers_count_is_warned_of(
    serve: Serve, read: Read, length: int, said: dict[str, bool], warned: int
) -> None:
    async def answer(asked: web.Request) -> web.Response:
        start = int(asked.query["o"])
        data = [{"id": n, "name": ""} for n in range(start, min(start + 5_000, length))]
        return web.json_response({"data": data, "rows": length, **said})

    reader = read(
        spec(await serve(answer), "{type: offset, offset_param: o, page_size: 5000, total_path: rows}")
    )
    assert len(await reader.scan("t", window=4)) == length
    assert sum("exactly 10,000 rows" in text for text in reader.meter.warnings) == warned


@pytest.mark.parametrize("name", PAGINATORS)
@pytest.mark.parametrize("window", every(2, [4, 1]))
async def test_an_honest_source_is_read(serve: Serve, read: Read, name: str, window: int) -> None:
    served = await serving(serve, whole)
    reader = read(spec(served, PAGINATORS[name]))
    assert sorted(row["id"] for row in await reader.scan("t", window=window)) == list(range(COUNT))
    assert reader.truncated == []
    assert not reader.meter.warnings


@pytest.mark.parametrize("name", ["page_number", "offset", "cursor", "keyset", "json_link", "header_link"])
@pytest.mark.parametrize(
    ("told", "sign"),
    [
        ({"total": COUNT}, "40 of 70 by 'total'"),
        ({"meta": {"total_count": COUNT}}, "40 of 70 by 'total_count'"),
        ({"pageCount": LAST}, "5 of 7 by 'pageCount'"),
    ],
)
@pytest.mark.parametrize("more", ["", ", total: approximate"])
async def test_a_total_that_only_pages_with_records_tell_is_remembered(
    serve: Serve, read: Read, *, name: str, told: dict[str, Any], sign: str, more: str
) -> None:
    """A window over the first rows: what is behind it is an empty page, which says nothing at all."""

    async def answer(asked: web.Request) -> web.Response:
        number = int(asked.query.get("p", int(asked.query.get("o", 0)) // SIZE))
        if number > 3:
            return web.json_response({"data": []})
        link = f"/r?p={number + 1}"
        body = {"data": whole(number, 0), "cursor": number + 1, "link": link, **told}
        return web.json_response(body, headers={"Link": f'<{link}>; rel="next"'})

    declared = "{type: header_link}" if name == "header_link" else PAGINATORS[name]
    reader = read(spec(await serve(answer), f"{declared[:-1]}{more}}}"))
    assert len(await reader.scan("t")) == 40
    assert bool(reader.truncated) is not bool(more)
    assert all(sign in reason for reason in reader.truncated)


@pytest.mark.parametrize("name", PAGINATORS)
@pytest.mark.parametrize("window", every(2, [4, 1]))
@pytest.mark.parametrize("rows", [2, SIZE])
async def test_a_page_that_comes_again_is_an_error(
    serve: Serve, read: Read, name: str, window: int, rows: int
) -> None:
    """Page 4 is page 3 once more: ten rows twice, and ten lost."""
    served = await serving(
        serve, lambda number, _: whole(3 if number == 4 else number, 0)[:rows], rows=7 * rows
    )
    with pytest.raises(SourceError, match="the same page came 2 times"):
        await read(spec(served, PAGINATORS[name])).scan("t", window=window)


@pytest.mark.parametrize("name", PAGINATORS)
async def test_records_that_come_again_with_a_fresh_member(serve: Serve, read: Read, name: str) -> None:
    """The page is ignored, and every record says when it was fetched, which the table does not declare."""
    served = await serving(
        serve, lambda _, asked: [{**row, "at": f"{asked}.{row['id']}"} for row in whole(0, 0)]
    )
    with pytest.raises(SourceError, match="a page before had the same 10 records"):
        await read(spec(served, PAGINATORS[name])).scan("t", ["name"])
    assert len(served.asked) == 2


@pytest.mark.parametrize("declared", ["{name: string}", "{id: int, name: string}"])
async def test_records_that_may_well_be_alike_are_no_repetition(
    serve: Serve, read: Read, declared: str
) -> None:
    """Hours of days, which the table does not declare; and pages that hold a few kinds of rows."""

    def days(number: int, _: int) -> Rows:
        kinds = 10 if declared == "{name: string}" else 4
        return [{"id": n % kinds, "name": f"n{n % kinds}", "day": number} for n in range(SIZE)]

    served = await serving(serve, days)
    reader = read(spec(served, PAGINATORS["cursor"]).replace("{id: int, name: string}", declared))
    assert len(await reader.scan("t")) == COUNT
    assert reader.truncated == []


COUNTING = {name: PAGINATORS[name] for name in ("page_number by rows", "offset by rows")}
COUNTING["cursor by rows"] = PAGINATORS["cursor"].replace("}", ", total_path: rows}")


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("window", every(2, [4, 1]))
@pytest.mark.parametrize("key", every(2, ["id", "id, name"]))
async def test_a_row_twice_in_place_of_another(
    serve: Serve, read: Read, name: str, window: int, key: str
) -> None:
    """As many rows came as there are said to be, and one of them is the last one of the page before."""

    def moved(number: int, _: int) -> Rows:
        rows = whole(number, 0)
        return [*whole(number - 1, 0)[-1:], *rows[1:]] if number == 3 else rows

    keyed = f", primary_key: [{key}]"
    served = await serving(serve, moved)
    reader = read(spec(served, COUNTING[name], keyed))
    assert len(await reader.scan("t", window=window)) == COUNT
    [reason] = reader.truncated
    assert "1 row was on two pages, so that 69 came of the 70" in reason
    for paginator, more in (
        (COUNTING[name], ""),
        (COUNTING[name].replace("}", ", total: approximate}"), keyed),
    ):
        reader = read(spec(served, paginator, more))
        assert len(await reader.scan("t", window=window)) == COUNT
        assert reader.truncated == [], "nothing tells a row from its like, or the total is none"
    reader = read(spec(await serving(serve, whole), COUNTING[name], keyed))
    await reader.scan("t", window=window)
    assert reader.truncated == []


def test_rows_that_did_not_move() -> None:
    """Twice on one page, without a key, or of one key and different."""
    moved = Moved(["id"])

    def page(ids: list[int | None], name: str) -> pa.RecordBatch:
        return pa.record_batch(
            {"id": pa.array(ids, pa.int64()), "name": [name] * len(ids), "tags": [[name]] * len(ids)}
        )

    for ids, name in (([1, 1, None], "a"), ([None, 2], "a"), ([], "a"), ([3], "a"), ([1, 2, 3], "b")):
        moved.note(page(list(ids), name))
    assert moved.count() == 0
    moved.note(page([1, 2], "a"))
    assert moved.count() == 2


@pytest.mark.parametrize("name", ENDLESS)
async def test_the_same_records_for_ever_come_to_an_end(serve: Serve, read: Read, name: str) -> None:
    served = await serving(serve, lambda *_: whole(0, 0), last=10**9)
    with pytest.raises(SourceError, match="the same page came 2 times"):
        await read(spec(served, PAGINATORS[name])).scan("t")
    assert len(served.asked) == 2


@pytest.mark.parametrize("name", ENDLESS)
async def test_the_same_records_in_another_order_come_to_an_end(serve: Serve, read: Read, name: str) -> None:
    def shuffled(_: int, count: int) -> Rows:
        rows = whole(0, 0)
        return rows[count % SIZE :] + rows[: count % SIZE]

    served = await serving(serve, shuffled, last=10**9)
    with pytest.raises(SourceError, match="all 10 records of a page came before"):
        await read(spec(served, PAGINATORS[name])).scan("t")
    assert len(served.asked) == 2


@pytest.mark.parametrize("name", ENDLESS)
async def test_the_same_keys_for_ever_come_to_an_end(serve: Serve, read: Read, name: str) -> None:
    served = await serving(
        serve, lambda _, count: [row | {"name": f"asked {count}"} for row in whole(0, 0)[:3]], last=10**9
    )
    with pytest.raises(SourceError, match="all 3 records of a page came before"):
        await read(spec(served, PAGINATORS[name], ", primary_key: id")).scan("t")
    assert len(served.asked) == 2


@pytest.mark.parametrize("name", every(2, ["cursor", "json_link", "keyset", "header_link", "auto"]))
async def test_few_records_for_ever_come_to_an_end(serve: Serve, read: Read, name: str) -> None:
    """Rows without a key may be alike, so that a page without a new one is none by itself; a hundred are."""
    rows = whole(0, 0)[:4]

    def some(_: int, count: int) -> Rows:
        return [rows[(count >> place) % 4] for place in range(0, 12, 2)]

    served = await serving(serve, some, last=10**9)
    with pytest.raises(SourceError, match=r"the same page came|100 pages in a row without a new record"):
        await read(spec(served, PAGINATORS[name])).scan("t")
    assert len(served.asked) < 300


@pytest.mark.parametrize("name", every(2, ["cursor", "json_link", "keyset", "header_link", "auto"]))
@pytest.mark.parametrize(("last", "handed_on"), [(2, 11), (10**9, 7)])
async def test_a_page_without_a_new_record_waits_for_the_end(
    serve: Serve, read: Read, name: str, last: int, handed_on: int
) -> None:
    """Where the end comes, its rows are equal ones; where a source goes round, copies that stand in no partial answer."""
    served = await serving(
        serve, lambda number, _: whole(0, 0)[3 * number : 7] if number < 2 else [], last=last
    )
    reader = read(spec(served, PAGINATORS[name]))
    table = reader.table("t")
    rows, gone_round = 0, False
    try:
        adapter = reader.catalog.adapter_of(table)
        pages = adapter.scan(table, table.scans[0], ["id"], meter=reader.meter, window=1)
        async with contextlib.aclosing(pages):
            async for page in pages:
                rows += len(page.rows)
    except SourceError:
        gone_round = True
    assert (rows, gone_round) == (handed_on, last > 2)


@pytest.mark.parametrize("name", PAGINATORS)
@pytest.mark.parametrize("window", every(2, [4, 1]))
async def test_rows_that_are_alike_are_no_repetition(
    serve: Serve, read: Read, name: str, window: int
) -> None:
    """Two records on two pages, and two whole pages of one record."""

    def alike(number: int, _: int) -> Rows:
        if number in (2, 3):
            return [{"id": 1, "name": "same"}] * SIZE
        return [{"id": 0, "name": "zero"}, {"id": 1, "name": "one"}, *whole(number, 0)[2:]]

    served = await serving(serve, lambda number, count: alike(number, count) if number < LAST else [])
    reader = read(spec(served, PAGINATORS[name]))
    assert len(await reader.scan("t", window=window)) == COUNT
    assert reader.truncated == []


@pytest.mark.parametrize("name", PAGINATORS)
@pytest.mark.parametrize("window", every(2, [1, 4]))
async def test_an_empty_page_amid_others_is_seen(serve: Serve, read: Read, name: str, window: int) -> None:
    served = await serving(serve, lambda number, _: [] if number == 3 else whole(number, 0))
    reader = read(spec(served, PAGINATORS[name]))
    if name in ("page_number", "page_number by rows", "offset", "offset by rows", "reusable cursor") and (
        window == 1 or name not in COUNTED
    ):
        # The empty page is the end, and the numbers in the answers before it say that it is none.
        assert len(await reader.scan("t", window=window)) == 30
        assert reader.truncated
        return
    with pytest.raises(SourceError, match="is empty although later ones are not"):
        await reader.scan("t", window=window)


async def test_empty_pages_may_be_declared(serve: Serve, read: Read) -> None:
    served = await serving(serve, lambda number, _: [] if number in (3, 4) else whole(number, 0))
    reader = read(spec(served, "{type: json_link, next_url_path: link, empty_pages: skip}"))
    assert len(await reader.scan("t")) == COUNT - 2 * SIZE
    assert reader.truncated == []


@pytest.mark.parametrize("name", every(2, ["cursor", "json_link", "keyset", "header_link", "auto"]))
async def test_empty_pages_for_ever_come_to_an_end(serve: Serve, read: Read, name: str) -> None:
    served = await serving(serve, lambda *_: [], last=10**9)
    with pytest.raises(SourceError, match="100 empty pages in a row"):
        await read(spec(served, PAGINATORS[name])).scan("t")
    assert len(served.asked) < 110


@pytest.mark.parametrize("window", [1, 3, 20])
async def test_pages_that_grow_in_number_are_followed(serve: Serve, read: Read, window: int) -> None:
    served = await serving(serve, whole, pages=lambda count: 4 if count < 3 else LAST)
    reader = read(spec(served, PAGINATORS["page_number by pages"]))
    assert sorted(row["id"] for row in await reader.scan("t", window=window)) == list(range(COUNT))
    assert reader.truncated == []
    assert len(served.asked) == LAST


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("name", ["page_number by rows", "offset by rows", "cursor"])
async def test_a_total_that_changes_is_a_source_that_changed(
    serve: Serve, read: Read, window: int, name: str
) -> None:
    totals = iter([60, *[COUNT] * 20])

    async def answer(asked: web.Request) -> web.Response:
        number = int(asked.query.get("p", int(asked.query.get("o", 0)) // SIZE))
        following = {"cursor": number + 1} if number + 1 < LAST else {}
        return web.json_response({"data": whole(number, 0), "rows": next(totals), **following})

    served = await serve(answer)
    paginator = PAGINATORS[name].replace("cursor_param: p", "cursor_param: p, total_path: rows")
    reader = read(spec(served, paginator))
    assert len(await reader.scan("t", window=window)) == COUNT
    assert reader.truncated == ["the source changed while it was read: it spoke of 60 rows, then of 70"]
    assert reader.moved
    totals = iter([60, *[COUNT] * 20])
    search = read(spec(served, paginator, ", exhaustive: false"))  # its totals are estimates
    assert len(await search.scan("t", window=window)) == COUNT
    assert search.truncated == [NOT_EXHAUSTIVE]
    assert not search.moved


async def test_a_part_that_holds_less_than_its_share_is_incomplete(serve: Serve, read: Read) -> None:
    served = await serving(serve, lambda number, _: whole(number, 0) if number < 5 else [])
    reader = read(spec(served, PAGINATORS["offset by rows"]))
    table = reader.table("t")
    adapter = reader.catalog.adapter_of(table)
    parts = await adapter.divide(table, table.scans[0], 2, meter=reader.meter)  # type: ignore[attr-defined]
    assert all(isinstance(part, ScanPart) for part in parts)
    found = []
    for part in parts:
        pages = adapter.scan_part(table, table.scans[0], ["id"], part, meter=reader.meter, window=2)  # type: ignore[attr-defined]
        found.append([page async for page in pages])
    assert [sum(len(page.rows) for page in pages) for pages in found] == [30, 20]
    assert [any(page.truncated for page in pages) for pages in found] == [False, True]


async def test_next_pages_in_the_clear_are_refused_where_answers_are_encrypted(read: Read) -> None:
    reader = read(
        "{version: 1, sources: {api: {client: {base_url: 'https://api.example/v1', allowed_hosts: [cdn.example]},"
        " tables: {t: {columns: {id: int}, scan: {endpoint: r}}}}}}"
    )
    source = reader.catalog.adapter_of(reader.table("t"))
    assert isinstance(source, RestSource)
    planned = source._planned["t"]
    access = planned.table.scans[0].endpoint

    def request(url: str, origin: str | None) -> str:
        ask = Ask(url=url, origin=origin)
        made = source.http.requests.of(
            planned, access, (), ask, columns=["id"], credentials=Credentials(), memory=None
        )
        return made.url

    here = "https://api.example/v1/r"
    for url in ("http://cdn.example/r?p=2", "http://api.example:8080/r?p=2"):
        with pytest.raises(SourceError, match="from https to http"):
            request(url, here)
    assert request("https://cdn.example/r?p=2", here) == "https://cdn.example/r?p=2"
    assert request("http://api.example/r?p=2", here) == "https://api.example/r?p=2", (
        "asked for as the first was"
    )
    assert request("http://cdn.example/f.csv", None) == "http://cdn.example/f.csv", "which the spec names"


# ------------------------------------------------------------------------------------------------- the judges alone


def counts(records: int) -> Counts:
    return Counts(records, records)


def test_totals() -> None:
    totals = Totals()
    assert totals.complaint(counts(5), 1) is None
    totals.note(Told(10), counts(5))
    totals.note(Told(10), counts(5))
    assert totals.complaint(counts(10), 2) is None
    assert totals.complaint(counts(9), 2) == "the source speaks of 10 rows and gave 9"
    totals.note(Told(8), counts(5))
    assert "it spoke of 10 rows, then of 8" in str(totals.complaint(counts(10), 3))
    totals.note(Told(8, exact=False), counts(5))
    assert totals.complaint(counts(1), 4) is None


def test_a_number_that_is_the_length_of_each_page_is_no_total() -> None:
    totals = Totals()
    for length in (10, 10, 7):
        totals.note(Told(length, declared=False), counts(length))
    assert totals.complaint(counts(27), 3) is None


def test_pages_that_become_fewer() -> None:
    totals = Totals()
    for pages in (5, 7, 4):
        totals.note(Told(None, pages), counts(10))
    assert "5 pages, then of 4" in str(totals.complaint(counts(50), 5))


def test_gaps_are_seen_in_any_order() -> None:
    gaps = Gaps()
    gaps.check(0, 5, "offset")
    gaps.check(20, 0, "offset")
    gaps.check(10, 5, "offset")
    with pytest.raises(PaginationError, match="offset=20 is empty"):
        gaps.check(30, 5, "offset")


def test_what_is_remembered_of_records_is_bounded() -> None:
    class Numbered:
        def __init__(self, page: int) -> None:
            self.page = page

        def mark(self) -> int:
            return self.page

        def marks(self) -> list[int]:
            return list(range(self.page * 1000, self.page * 1000 + 1000))

        def declared(self, least: int = 2) -> list[int]:
            return []

    repeats = Repeats()
    for page in range(4_000):
        repeats.check(Numbered(page), page, 1000, list, "x", bounded=False)  # type: ignore[arg-type]
    assert 0 < len(repeats._new) + len(repeats._old) <= 210_000


@pytest.mark.parametrize("window", [1, 4])
async def test_a_number_of_pages_that_the_first_answer_alone_tells_is_counted_to(
    serve: Serve, read: Read, window: int
) -> None:
    async def answer(asked: web.Request) -> web.Response:
        number = int(asked.query.get("p", 0))
        return web.json_response({"data": whole(number, 0), **({} if number else {"pages": LAST})})

    reader = read(spec(await serve(answer), PAGINATORS["page_number by pages"]))
    assert sorted(row["id"] for row in await reader.scan("t", window=window)) == list(range(COUNT))
    assert reader.truncated == []
