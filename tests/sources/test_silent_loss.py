"""Sources that answer as if nothing were wrong, and leave rows out: a batch of which one key is read, a page without a body."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Handler, Serve, Served

Read = Callable[..., Reader]
ROWS = {"a": 1, "b": 2, "c": 3, "d": 4}
Takes = Callable[[list[str]], list[str]]
SERVERS: dict[str, Takes] = {
    "all": lambda keys: keys,
    "last": lambda keys: keys[-1:],
    "first": lambda keys: keys[:1],
    "none": lambda keys: keys if len(keys) == 1 else [],
}


async def site(serve: Serve, takes: Takes) -> Served:
    async def handler(asked: web.Request) -> web.Response:
        keys = takes(asked.query.getall("k"))
        return web.json_response([{"k": key, "n": ROWS[key]} for key in keys if key in ROWS])

    return await serve(handler)


def reader_of(read: Read, url: str, batch: int = 4) -> Reader:
    return read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{url}"}}
            tables:
              t:
                columns: {{k: string, n: int}}
                lookups: [{{keys: [k], batch: {{size: {batch}}}, endpoint: t}}]
        """
    )


@pytest.mark.parametrize(
    ("keys", "more"), [("abcd", 0), ("axxd", 3), ("xabx", 3), ("xaxx", 3), ("xxxa", 4), ("axxx", 4)]
)
async def test_an_honest_source_is_believed_after_four_questions_at_most(
    serve: Serve, read: Read, keys: str, more: int
) -> None:
    server = await site(serve, SERVERS["all"])
    reader = reader_of(read, server.url)
    for _ in range(3):
        rows = await reader.lookup("t", *(key if key in ROWS else f"{key}{i}" for i, key in enumerate(keys)))
        assert {row["k"] for row in rows} == set(keys) & set(ROWS)
    assert len(server.asked) == 3 + more


@pytest.mark.parametrize(
    ("takes", "keys", "said"),
    [
        ("last", "abcd", "of 4 keys in one request the source reads the last one only"),
        ("last", "xxxd", "reads the last one only"),
        ("last", "abcx", "brings no rows, and one for one of them alone does"),
        ("first", "abcd", "reads the first one only"),
        ("first", "axxx", "reads the first one only"),
        ("none", "abcd", "brings no rows, and one for one of them alone does"),
    ],
)
async def test_a_source_that_reads_one_key_of_a_batch_is_found_out(
    serve: Serve, read: Read, takes: str, keys: str, said: str
) -> None:
    server = await site(serve, SERVERS[takes])
    reader = reader_of(read, server.url)
    with pytest.raises(SourceError, match=said) as told:
        await reader.lookup("t", *keys)
    assert told.value.hint is not None
    assert "batch" in told.value.hint
    asked = len(server.asked)
    with pytest.raises(SourceError, match="key"):
        await reader.lookup("t", *"bcda")
    assert len(server.asked) == asked + 1, "found out once"


async def test_a_source_that_has_nothing_is_asked_a_few_times_more_and_then_believed(
    serve: Serve, read: Read
) -> None:
    server = await site(serve, SERVERS["all"])
    reader = reader_of(read, server.url)
    for _ in range(10):
        assert await reader.lookup("t", "w", "x", "y", "z") == []
    assert len(server.asked) == 10 + 3


async def test_one_key_alone_is_no_batch(serve: Serve, read: Read) -> None:
    server = await site(serve, SERVERS["last"])
    reader = reader_of(read, server.url)
    assert await reader.lookup("t", "a") == [{"k": "a", "n": 1}]
    assert await reader.lookup("t", "x") == []
    assert len(server.asked) == 2


async def test_a_page_without_a_body_is_no_last_page(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = asked.query.get("page")
        if asked.path == "/none":
            return web.Response(status=204)
        return web.json_response([{"k": f"k{page}", "n": 1}]) if page == "1" else web.Response(body=b"\n")

    server = await serve(handler)
    reader = read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{server.url}"}}
            table_defaults: {{columns: {{k: string, n: int}}}}
            tables:
              t: {{scan: {{endpoint: {{path: t, paginator: {{type: page_number}}}}}}}}
              lines: {{scan: {{endpoint: {{path: t, format: ndjson, params: {{page: 2}}}}}}}}
              none: {{scan: {{endpoint: none}}}}
        """
    )
    with pytest.raises(SourceError, match="the answer is empty, which is not json"):
        await reader.scan("t")
    assert await reader.scan("none") == []
    assert await reader.scan("lines") == []


async def test_a_next_page_that_the_paginator_does_not_read_is_seen(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        headers = {"Link": f'<{asked.url}?page=2>; rel="next"'} if asked.path != "/last" else {}
        return web.json_response([{"k": "a", "n": 1}], headers=headers)

    server = await serve(handler)
    reader = read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{server.url}"}}
            table_defaults: {{columns: {{k: string, n: int}}, endpoint: {{paginator: single_page}}}}
            tables:
              last: {{scan: {{endpoint: last}}}}
              scanned: {{scan: {{endpoint: scanned}}}}
              looked_up: {{lookups: [{{keys: [k], endpoint: "of/{{k}}"}}]}}
        """
    )
    await reader.scan("last")
    assert reader.truncated == []
    await reader.scan("scanned")
    await reader.lookup("looked_up", "a")
    said = "there is more than what came (Link header), which the paginator: single_page does not read"
    assert reader.truncated == [said, said]


Answers = Callable[[list[str], dict[str, int]], list[str]]


def cut_to(rows: int) -> Answers:
    """Answers of so many rows at most, in the order of the table."""
    return lambda keys, counts: [key for key in counts if key in keys for _ in range(counts[key])][:rows]


def without(place: int) -> Answers:
    """One key of several is dropped."""
    return lambda keys, counts: [
        key for at, key in enumerate(keys) for _ in range(counts.get(key, 0)) if len(keys) == 1 or at != place
    ]


def in_turn(rows: int) -> Answers:
    """The same, where rows of the keys take turns."""
    return lambda keys, counts: [
        key for turn in range(max(counts.values())) for key in keys if counts.get(key, 0) > turn
    ][:rows]


def all_but_last(keys: list[str], counts: dict[str, int]) -> list[str]:
    """Also of a request for one key."""
    return [key for key in keys[:-1] for _ in range(counts.get(key, 0))]


def all_but_first(keys: list[str], counts: dict[str, int]) -> list[str]:
    return [key for key in keys[1:] for _ in range(counts.get(key, 0))]


def never(lost: str) -> Answers:
    return lambda keys, counts: [
        key for key in keys for _ in range(counts.get(key, 0)) if len(keys) == 1 or key != lost
    ]


def up_to(size: int) -> Answers:
    return lambda keys, counts: [key for key in keys[:size] for _ in range(counts.get(key, 0))]


async def counted(
    serve: Serve, read: Read, answers: Answers, counts: dict[str, int]
) -> tuple[Served, Reader]:
    async def handler(asked: web.Request) -> web.Response:
        return web.json_response([{"k": key, "n": 1} for key in answers(asked.query.getall("k"), counts)])

    server = await serve(handler)
    return server, reader_of(read, server.url, batch=5)


TEN = "abcdefghij"


@pytest.mark.parametrize(
    ("answers", "counts", "keys", "size"),
    [
        pytest.param(up_to(3), dict.fromkeys(TEN, 1), TEN, 3, id="three of five are read"),
        pytest.param(up_to(3), dict.fromkeys(TEN, 2), TEN, 3, id="three of five, two rows each"),
        pytest.param(up_to(4), dict.fromkeys(TEN, 1), "axcxexgxix", 2, id="four of five, half of them there"),
        pytest.param(cut_to(3), dict.fromkeys(TEN, 1), TEN, 3, id="a cap of three rows"),
        pytest.param(cut_to(3), dict.fromkeys(TEN, 2), TEN, 1, id="a cap of three rows, two a key"),
        pytest.param(cut_to(9), dict.fromkeys(TEN, 2), TEN, 4, id="the last key is cut"),
        pytest.param(cut_to(20), dict.fromkeys("abcde", 6), "abcde", 3, id="a round cap"),
        pytest.param(
            cut_to(7), {"a": 1, "b": 1, "c": 1, "d": 1, "e": 9, "f": 9}, "abcdef", 1, id="as before"
        ),
        pytest.param(in_turn(6), dict.fromkeys(TEN, 2), TEN, 3, id="a cap, and rows in turn"),
        pytest.param(all_but_last, dict.fromkeys(TEN, 1), TEN, 4, id="never the last"),
        pytest.param(all_but_first, dict.fromkeys(TEN, 1), TEN, 4, id="never the first"),
        *(pytest.param(without(at), dict.fromkeys(TEN, 1), TEN, 4, id=f"not the {at}th") for at in range(5)),
        *(pytest.param(never(key), dict.fromkeys("abcd", 1), "abxcd", 3, id=f"never {key}") for key in "d"),
    ],
)
async def test_a_source_that_answers_a_part_of_a_batch_is_found_out(
    serve: Serve, read: Read, *, answers: Answers, counts: dict[str, int], keys: str, size: int
) -> None:
    server, reader = await counted(serve, read, answers, counts)

    async def both_ways() -> None:
        await reader.lookup("t", *keys)
        await reader.lookup("t", *keys[::-1])

    with pytest.raises(SourceError, match="for some of them alone brings more of those") as told:
        await both_ways()
    assert f"batch.size: {size} " in str(told.value.hint) or (
        size == 1 and "leave batch out" in str(told.value.hint)
    )
    assert len(server.asked) <= 7


async def test_keys_are_asked_for_again_when_their_share_without_rows_jumps(serve: Serve, read: Read) -> None:
    """Later the source begins to read two keys of a request only."""
    late = False
    honest, dishonest = up_to(9), up_to(2)

    def answers(keys: list[str], counts: dict[str, int]) -> list[str]:
        return (dishonest if late else honest)(keys, counts)

    server, reader = await counted(serve, read, answers, {str(key): 1 for key in range(1000) if key % 10})
    for start in range(0, 500, 5):
        await reader.lookup("t", *map(str, range(start, start + 5)))
    asked = len(server.asked)
    assert asked <= 100 + 3, "an honest source pays for very little"
    late = True
    with pytest.raises(SourceError, match="alone brings more"):
        await reader.lookup("t", *map(str, range(500, 505)))
    assert len(server.asked) <= asked + 3


@pytest.mark.parametrize("seed", every(4, range(8)))
async def test_honest_batches_cost_a_few_requests_more_at_most(serve: Serve, read: Read, seed: int) -> None:
    rng = random.Random(seed)
    counts = {
        str(key): rng.choice([1, 1, 2, 7][: seed // 2 + 1])
        for key in range(500)
        if rng.random() < 0.1 * seed + 0.2
    }
    server, reader = await counted(serve, read, up_to(5), counts)
    for _turn in range(60):
        keys = [str(rng.randrange(500)) for _ in range(5)]
        rows = await reader.lookup("t", *dict.fromkeys(keys))
        assert len(rows) == sum(counts.get(key, 0) for key in set(keys))
    assert len(server.asked) <= 60 + 9


async def test_a_question_that_cannot_be_asked_again_changes_nothing(serve: Serve, read: Read) -> None:
    """A key that is not there may be an error when it is asked for alone."""

    async def handler(asked: web.Request) -> web.Response:
        keys = asked.query.getall("k")
        rows = [{"k": key, "n": ROWS[key]} for key in keys if key in ROWS]
        return web.json_response(rows, status=200 if rows else 404)

    reader = reader_of(read, (await serve(handler)).url)
    assert {row["k"] for row in await reader.lookup("t", "a", "x", "y", "d")} == {"a", "d"}


PAGED = """
version: 1
sources:
  web:
    client: {{base_url: "{url}"}}
    tables:
      t:
        {key}columns: {{k: string, n: int}}
        scan: {{endpoint: {{path: t, paginator: {{{paginator}}}}}}}
"""
PAGE_NUMBERS, OFFSETS = "type: page_number, page_size: 10", "type: offset, page_size: 10"


def records(start: int, end: int) -> list[dict[str, object]]:
    return [{"k": f"k{number}", "n": number} for number in range(start, end)]


@pytest.mark.parametrize("behind", [404, 422, "empty"])
@pytest.mark.parametrize("count", [4, 10, 20, 23])
@pytest.mark.parametrize("paginator", ["type: page_number", PAGE_NUMBERS, "type: offset"])
async def test_nothing_need_be_behind_a_page_that_says_that_it_is_the_last(
    serve: Serve, read: Read, paginator: str, count: int, behind: str | int
) -> None:
    """As those of Django REST do, behind which a page is refused."""

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 10 * int(asked.query.get("page", 1)) - 10))
        if start >= count and isinstance(behind, int):
            return web.json_response({"detail": "Invalid page."}, status=behind)
        more = f"/t?page={start // 10 + 2}" if start + 10 < count else None
        page = records(start, min(start + 10, count))
        return web.json_response({"count": count, "next": more, "previous": None, "r": page})

    server = await serve(handler)
    reader = read(
        PAGED.format(url=server.url, paginator=paginator, key="").replace(
            "path: t,", "path: t, data_selector: r,"
        )
    )
    assert [row["n"] for row in await reader.scan("t")] == list(range(count))
    assert reader.truncated == []
    assert len(server.asked) <= -(-count // 10) + 1


async def test_a_page_that_is_refused_behind_one_that_does_not_say_so_is_an_error(
    serve: Serve, read: Read
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.query["page"] == "2":
            return web.json_response({"detail": "gone"}, status=404)
        return web.json_response({"count": 23, "next": "/t?page=2", "r": records(0, 10)})

    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    with pytest.raises(SourceError, match="HTTP 404"):
        await read(paged.format(url=(await serve(handler)).url, paginator="type: page_number", key="")).scan(
            "t"
        )


@pytest.mark.parametrize("around", [{"total_count": 5}, {"totalCount": 5}, {"count": 5}, {"has_more": False}])
@pytest.mark.parametrize("paginator", ["type: page_number", "type: offset"])
async def test_a_first_page_that_comes_again_is_no_end_whatever_it_says(
    serve: Serve, read: Read, paginator: str, around: dict[str, object]
) -> None:
    """A source that goes by another parameter, and counts the records of each page."""

    async def handler(asked: web.Request) -> web.Response:
        start = 5 * int(asked.query.get("p", 0))
        return web.json_response({"r": records(start, start + 5), **around})

    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=(await serve(handler)).url, paginator=paginator, key=""))
    with pytest.raises(SourceError, match="the source seems to ignore"):
        await reader.scan("t")


async def test_a_count_that_grows_with_the_pages_states_no_end(serve: Serve, read: Read) -> None:
    async def handler(asked: web.Request) -> web.Response:
        page = int(asked.query["page"])
        if page == 3:
            return web.json_response({}, status=404)
        return web.json_response({"r": records(5 * page - 5, 5 * page), "total_count": 5 * page})

    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=(await serve(handler)).url, paginator="type: page_number", key=""))
    with pytest.raises(SourceError, match="HTTP 404"):
        await reader.scan("t")


async def test_pages_that_were_not_asked_for_are_missing_whatever_a_page_says_of_itself(
    serve: Serve, read: Read
) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"r": records(0, 5), "total_count": 5})

    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    url = (await serve(handler)).url
    reader = read(paged.format(url=url, paginator="type: page_number, max_pages: 1", key=""))
    assert len(await reader.scan("t")) == 5
    assert reader.truncated == ["stopped after 1 pages (max_pages)"]


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("hidden", [(13, 14), (3, 13), (27, 28, 29, 31)])
@pytest.mark.parametrize(
    "paginator",
    [(OFFSETS, ""), ("type: auto", "offset limit total")],
)
async def test_places_that_count_what_is_hidden_bring_no_row_twice_where_a_key_tells_it(
    serve: Serve, read: Read, paginator: tuple[str, str], hidden: tuple[int, ...], window: int
) -> None:
    """A source that cuts its pages first, and then hides rows, begins the next page before the end of the one before."""

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        end = min(start + int(asked.query.get("limit", 10)), 41)
        page = [row for row in records(start, end) if row["n"] not in hidden]
        told = {"offset": start, "limit": 10, "total": 41}
        return web.json_response({"r": page, **{name: told[name] for name in paginator[1].split()}})

    server = await serve(handler)
    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=server.url, paginator=paginator[0], key="primary_key: [k]\n        "))
    assert {row["n"] for row in await reader.scan("t", window=window)} == {*range(41)} - {*hidden}


def hiding(hidden: Collection[int], rows: int, told: int | None, cap: int = 10, **around: int) -> Handler:
    """A source that cuts its pages of ten first, and then hides rows."""

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        end = min(start + min(cap, int(asked.query.get("limit", 10))), rows)
        page = [row for row in records(start, end) if row["n"] not in hidden]
        around.update({"offset": start} if around else {})
        return web.json_response({"r": page} | around | ({} if told is None else {"total": told}))

    return handler


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("at", [(41, (3, 13)), (41, (0, 9, 25, 26, 31)), (10, (4, 5)), (35, (8, 19, 29))])
async def test_places_that_count_what_is_hidden_are_known_by_the_rows_that_come_again(
    serve: Serve, read: Read, at: tuple[int, tuple[int, ...]], told: bool, window: int
) -> None:
    rows, hidden = at
    server = await serve(hiding(hidden, rows, rows - len(hidden) if told else None))
    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    paginator = f"{OFFSETS}, total_path: total" if told else OFFSETS
    for key in ("", "primary_key: [k]\n        "):
        reader = read(paged.format(url=server.url, paginator=paginator, key=key))
        assert [row["n"] for row in await reader.scan("t", window=window)] == sorted(
            {*range(rows)} - {*hidden}
        )
        assert (reader.truncated, reader.meter.doubts) == ([], 0)


async def test_they_are_known_so_where_the_answers_say_how_pages_follow(serve: Serve, read: Read) -> None:
    for hidden in ((3, 13), (9, 25), (27, 28, 29, 31)):
        server = await serve(hiding(hidden, 41, None, limit=10))
        paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
        for paginator in ("type: auto", OFFSETS):
            reader = read(paged.format(url=server.url, paginator=paginator, key=""))
            assert [row["n"] for row in await reader.scan("t")] == sorted({*range(41)} - {*hidden})
            assert reader.truncated == []


async def test_hidden_rows_amid_pages_that_are_fetched_together_are_an_error(
    serve: Serve, read: Read
) -> None:
    server = await serve(hiding((23, 24), 41, 41))
    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=server.url, paginator=f"{OFFSETS}, total_path: total", key=""))
    with pytest.raises(SourceError, match="hides rows that have places"):
        await reader.scan("t", window=4)


async def test_hidden_rows_on_pages_that_are_cut_shorter_too_are_an_error(serve: Serve, read: Read) -> None:
    server = await serve(hiding((1, 2), 41, None, cap=6))
    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=server.url, paginator=OFFSETS, key=""))
    with pytest.raises(SourceError, match="declare its page_size"):
        await reader.scan("t")


@pytest.mark.parametrize("window", [1, 4])
async def test_pages_of_any_length_without_a_row_twice_are_no_doubt(
    serve: Serve, read: Read, window: int
) -> None:
    """A source that sends as many rows as fit counts them; and rows that are alike may stand at both ends of a border."""

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        return web.json_response([{"k": "x", "n": n // 9} for n in range(start, min(start + 4, 41))])

    server = await serve(handler)
    reader = read(PAGED.format(url=server.url, paginator=OFFSETS, key=""))
    assert [row["n"] for row in await reader.scan("t", window=window)] == [n // 9 for n in range(41)]
    assert reader.truncated == []


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize(
    ("paginator", "told"),
    [
        (OFFSETS, ""),
        ("type: offset", ""),
        (f"{OFFSETS}, total_path: total", "total"),
        ("type: auto", "offset limit total"),
    ],
)
async def test_rows_that_are_alike_may_stand_at_both_sides_of_any_border(
    serve: Serve, read: Read, paginator: str, told: str, window: int
) -> None:
    """Of a source that counts rows, and sends as many as fit."""
    values = [1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 10, 11, 12, 12, 13]

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        size = min(3 if start else 5, int(asked.query.get("limit", 5)))
        around = {name: {"offset": start, "limit": 5, "total": len(values)}[name] for name in told.split()}
        return web.json_response({"r": [{"n": n} for n in values[start : start + size]], **around})

    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=(await serve(handler)).url, paginator=paginator, key=""))
    assert sorted(row["n"] for row in await reader.scan("t", window=window)) == values
    assert reader.truncated == []


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("more", ["", ", total_path: total", ", max_pages: 6"])
async def test_a_row_that_is_alike_behind_a_page_one_row_short_is_no_hidden_one(
    serve: Serve, read: Read, more: str, window: int
) -> None:
    """Of a source that sends no more than nine: from a tenth place on all goes on as it would behind a hidden one."""
    values = [*range(9), 8, *range(9, 40)]

    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        page = [{"n": n} for n in values[start : start + 9]]
        return web.json_response({"r": page, "total": len(values)})

    server = await serve(handler)
    paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
    reader = read(paged.format(url=server.url, paginator=OFFSETS + more, key=""))
    assert sorted(row["n"] for row in await reader.scan("t", window=window)) == values
    assert (reader.truncated, reader.meter.doubts) == ([], 0)
    assert len(server.asked) == (7 if "total" in more else 8)


async def test_a_source_that_hides_rows_may_refuse_what_is_behind_its_last_page(
    serve: Serve, read: Read
) -> None:
    for hidden in ((3, 13), (27, 38), (30, 31)):
        shown = hiding(hidden, 39, None)

        async def handler(asked: web.Request, shown: Handler = shown) -> web.StreamResponse:
            last = int(asked.query.get("offset", 0)) >= 40
            return web.json_response({}, status=404) if last else await shown(asked)

        paged = PAGED.replace("path: t,", "path: t, data_selector: r,")
        reader = read(paged.format(url=(await serve(handler)).url, paginator=OFFSETS, key=""))
        assert [row["n"] for row in await reader.scan("t")] == sorted({*range(39)} - {*hidden})


@pytest.mark.parametrize("behind", ["empty", 404, 400, "the last again", "the first again"])
@pytest.mark.parametrize("key", ["", "primary_key: [k], "])
@pytest.mark.parametrize("left", [1, 4])
async def test_pages_that_are_filtered_after_they_were_cut_lose_no_rows(
    serve: Serve, read: Read, behind: str | int, key: str, left: int
) -> None:
    """Rows 13, 14 and 27 are hidden from whoever asks, so that two pages amid others are short."""
    pages = [records(start, min(start + 10, 40 + left)) for start in range(0, 40 + left, 10)]
    shown = [[row for row in page if row["n"] not in (13, 14, 27)] for page in pages]

    async def handler(asked: web.Request) -> web.Response:
        number = int(asked.query["page"]) - 1
        if number < len(shown):
            return web.json_response(shown[number])
        if isinstance(behind, int):
            return web.json_response({"detail": "Invalid page."}, status=behind)
        return web.json_response(
            {"empty": [], "the last again": shown[-1], "the first again": shown[0]}[behind]
        )

    server = await serve(handler)
    reader = read(
        PAGED.format(url=server.url, paginator=PAGE_NUMBERS, key=key and "primary_key: [k]\n        ")
    )
    for window in (1, 4):
        assert await reader.scan("t", window=window) == [row for page in shown for row in page]
    assert reader.truncated == []
    assert len(server.asked) == 2 * (len(shown) + 1)


@pytest.mark.parametrize("status", [401, 500])
async def test_a_page_that_cannot_be_had_does_not_confirm_an_end(
    serve: Serve, read: Read, status: int
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query["offset"])
        return web.json_response(records(start, 14)[:10], status=200 if start < 14 else status)

    reader = read(PAGED.format(url=(await serve(handler)).url, paginator=OFFSETS, key=""))
    with pytest.raises(SourceError, match=str(status)):
        await reader.scan("t")


@pytest.mark.parametrize(
    ("paginator", "around", "requests"),
    [
        (OFFSETS, {}, 3),
        (f"{OFFSETS}, short_page_ends: true", {}, 2),
        (f"{PAGE_NUMBERS}, short_page_ends: true", {}, 2),
        (f"{OFFSETS}, max_pages: 2", {}, 2),
        (f"{OFFSETS}, maximum_offset: 14", {}, 2),
        (OFFSETS, {"has_more": False}, 2),
        (OFFSETS, {"total_count": 14}, 2),
    ],
)
async def test_nobody_is_asked_for_what_confirms_a_known_end(
    serve: Serve, read: Read, paginator: str, around: dict[str, object], requests: int
) -> None:
    async def handler(asked: web.Request) -> web.Response:
        start = int(asked.query["offset"]) if "offset" in asked.query else 10 * int(asked.query["page"]) - 10
        if "has_more" in around:
            around["has_more"] = start < 4
        return web.json_response({"data": records(start, 14)[:10], **around})

    server = await serve(handler)
    text = PAGED.replace("path: t,", "path: t, data_selector: data,")
    reader = read(text.format(url=server.url, paginator=paginator, key=""))
    assert len(await reader.scan("t")) == 14
    assert reader.truncated == []
    assert len(server.asked) == requests


@pytest.mark.parametrize(
    ("paginator", "around"),
    [
        (f"{OFFSETS}, total_path: count", lambda rows, more: {"count": len(rows), "has_more": more}),
        (f"{OFFSETS}, total_path: count", lambda rows, more: {"count": len(rows), "next": "/t?p=2" if more else None}),
        (f"{PAGE_NUMBERS}, total_rows_path: count", lambda rows, more: {"count": len(rows), "isLastPage": not more}),
        ("type: page_number, page_size: 100, short_page_ends: true", lambda _, more: {"hasMore": more}),
        ("type: offset, page_size: 100, short_page_ends: true", lambda _, more: {"nextPage": 2 if more else None}),
        ("type: cursor, cursor_path: after, total_path: count", lambda rows, more: {"count": len(rows), "after": rows[-1]["n"] if more else None}),
    ],
)  # fmt: skip
async def test_a_number_of_the_page_alone_and_a_capped_page_are_no_end(
    serve: Serve,
    read: Read,
    paginator: str,
    around: Callable[[list[dict[str, object]], bool], dict[str, object]],
) -> None:
    """Where the answer says that more follows: also where it always does, an empty page is the end."""
    for always in (False, True):

        async def handler(asked: web.Request, always: bool = always) -> web.Response:
            start = 10 * int(asked.query.get("page", 1)) - 10
            start = int(asked.query.get("offset", asked.query.get("cursor", start - 1)) or 0) + (
                "offset" not in asked.query
            )
            rows = records(start, 24)[:10]
            return web.json_response(
                {"data": rows, **around(rows, start + 10 < 24 or (always and bool(rows)))}
            )

        server = await serve(handler)
        text = PAGED.replace("path: t,", "path: t, data_selector: data,")
        reader = read(text.format(url=server.url, paginator=paginator, key=""))
        assert await reader.scan("t") == records(0, 24)
        assert reader.truncated == []


async def test_a_cut_answer_is_found_out_where_a_key_has_no_rows_as_well(serve: Serve, read: Read) -> None:
    for keys, counts, most in (("abz", {"a": 18, "b": 18}, 25), ("abcyz", dict.fromkeys("abc", 18), 50)):
        _, reader = await counted(serve, read, cut_to(most), counts)
        with pytest.raises(SourceError, match="for some of them alone brings more of those"):
            await reader.lookup("t", *keys)


@pytest.mark.parametrize("no", ["N", "no", "f", "false ", "0", 0, 0.0, [], "off", "None"])
async def test_what_says_no_is_no_end(serve: Serve, read: Read, no: object) -> None:
    async def handler(asked: web.Request) -> web.Response:
        number = int(asked.query["page"])
        last = {"last": "Y" if number == 3 else no, "more": no if number == 3 else "Y"}
        return web.json_response({"data": records(10 * number - 10, 24)[:10], **last})

    server = await serve(handler)
    text = PAGED.replace("path: t,", "path: t, data_selector: data,")
    for flag in ("end_path: last", "has_more_path: more"):
        reader = read(text.format(url=server.url, paginator=f"{PAGE_NUMBERS}, {flag}", key=""))
        assert await reader.scan("t") == records(0, 24)
        assert reader.truncated == []
        assert len(server.asked) == 3
        server.asked.clear()
