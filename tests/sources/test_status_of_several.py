"""A status, or a word, in place of the rows of several keys: whether it speaks for all of them or for one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection

import pytest
from aiohttp import web

from fff.catalog import Prompt
from fff.errors import SourceError
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
Refuses = Callable[[Collection[str], Collection[str]], bool]

STATUS = "on_status: [{status_code: 404, action: empty}]"
WORD = "on_response: [{path: error, action: empty}]"


def any_unknown(keys: Collection[str], known: Collection[str]) -> bool:
    """One unknown key, and there is no answer to the others either."""
    return not set(keys) <= set(known)


def all_unknown(keys: Collection[str], known: Collection[str]) -> bool:
    return not set(keys) & set(known)


async def over(
    serve: Serve, read: Read, refuses: Refuses, known: Collection[str], *, size: int = 50, how: str = STATUS
) -> tuple[Served, Reader]:
    """A source that has one row of each key that it knows, and refuses requests."""

    async def handler(asked: web.Request) -> web.Response:
        keys = asked.query["k"].split(",")
        if refuses(keys, known):
            return web.json_response({"error": "not found"}, status=404 if how == STATUS else 200)
        return web.json_response({"rows": [{"k": key, "n": 1} for key in keys if key in known]})

    server = await serve(handler)
    endpoint = "{path: t, data_selector: rows}"
    return server, read(
        f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{server.url}"}}
            tables:
              t:
                columns: {{k: string, n: int}}
                {how}
                lookups: [{{keys: [k], batch: {{size: {size}, separator: ","}}, endpoint: {endpoint}}}]
        """
    )


@pytest.mark.parametrize("how", [STATUS, WORD])
@pytest.mark.parametrize("seed", range(8))
async def test_no_row_is_lost_where_one_unknown_key_makes_a_request_fail(
    serve: Serve, read: Read, seed: int, how: str
) -> None:
    rng = random.Random(seed)
    keys = [f"k{number}" for number in range(60)]
    known = {key for key in keys if rng.random() < rng.choice((0.1, 0.5, 0.95))}
    rng.shuffle(keys)
    _, reader = await over(serve, read, any_unknown, known, size=20, how=how)
    rows = await reader.lookup("t", *keys)
    assert (sorted(row["k"] for row in rows), reader.truncated) == (sorted(known), [])


async def test_a_few_unknown_keys_among_many_cost_a_few_requests(serve: Serve, read: Read) -> None:
    keys = [f"k{number}" for number in range(64)]
    server, reader = await over(serve, read, any_unknown, {*keys} - {"k40"}, size=64)
    for _ in range(2):
        server.asked.clear()
        assert len(await reader.lookup("t", *keys)) == 63
        assert len(server.asked) <= 18


async def test_a_status_is_believed_of_all_keys_from_a_source_that_answers_each(
    serve: Serve, read: Read
) -> None:
    """Which a request finds out, with a key that has rows beside those that got the status; again ever more seldom."""
    server, reader = await over(serve, read, all_unknown, {"a", "b", "c"}, size=4)
    assert len(await reader.lookup("t", "a", "b", "c")) == 3
    server.asked.clear()
    for start in range(10):
        assert await reader.lookup("t", *(f"x{start}-{number}" for number in range(4))) == []
    assert len(server.asked) == 10 + 2 * 4


async def test_a_batch_with_rows_of_some_of_its_keys_says_as_much(serve: Serve, read: Read) -> None:
    server, reader = await over(serve, read, all_unknown, {"a", "b", "c"}, size=4)
    assert len(await reader.lookup("t", "a", "x", "b")) == 2
    server.asked.clear()
    for start in range(10):
        assert await reader.lookup("t", *(f"x{start}-{number}" for number in range(4))) == []
    assert len(server.asked) == 10 + 2 * 4


async def test_keys_are_asked_for_one_by_one_while_none_is_known(serve: Serve, read: Read) -> None:
    server, reader = await over(serve, read, any_unknown, {"d"}, size=4)
    assert await reader.lookup("t", "w", "x", "y", "z") == []
    assert [asked.query["k"] for asked in server.asked] == ["w,x,y,z", "w", "x", "y", "z"]
    assert [row["k"] for row in await reader.lookup("t", "x", "y", "d", "z")] == ["d"]


@pytest.mark.parametrize("how", [STATUS, WORD])
async def test_a_status_is_believed_after_a_hundred_keys_that_have_no_rows_alone(
    serve: Serve, read: Read, how: str
) -> None:
    """And one key of a batch is asked for alone now and then: here of the first, second, fourth and eighth."""
    server, reader = await over(serve, read, all_unknown, {"a"}, size=50, how=how)
    assert await reader.lookup("t", *(f"x{number}" for number in range(600))) == []
    assert (len(server.asked), reader.truncated) == (12 + 100 + 4, [])


async def test_a_key_with_rows_among_those_that_a_status_was_believed_of_is_an_error(
    serve: Serve, read: Read
) -> None:
    known: set[str] = set()
    _, reader = await over(serve, read, any_unknown, known, size=50)
    assert await reader.lookup("t", *(f"x{number}" for number in range(100))) == []
    known |= {f"k{number}" for number in range(49)}
    with pytest.raises(SourceError, match="answered by a status, and one of them has rows"):
        await reader.lookup("t", *known, "x0")


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("before", [(), ("a", "x", "b"), ("v", "w", "x")])
async def test_no_row_is_lost_beside_a_key_that_is_none_where_others_are_left_out(
    serve: Serve, read: Read, before: tuple[str, ...], place: int
) -> None:
    """As a source has it that looks for all keys of a form, and refuses what has another."""

    def any_odd(keys: Collection[str], known: Collection[str]) -> bool:
        return "?" in keys or not set(keys) & set(known)

    _, reader = await over(serve, read, any_odd, {"a", "b", "c", "d"}, size=4)
    assert len(await reader.lookup("t", "d", "x")) == 1
    if before:
        assert len(await reader.lookup("t", *before)) == len({*before} & {"a", "b"})
    keys = ["a", "y", "c"]
    keys.insert(place, "?")
    assert sorted(row["k"] for row in await reader.lookup("t", *keys)) == ["a", "c"]


async def test_what_another_batch_shows_meanwhile_is_not_believed_of_this_one(
    serve: Serve, read: Read
) -> None:
    def any_odd(keys: Collection[str], _: Collection[str]) -> bool:
        return "?" in keys

    _, reader = await over(serve, read, any_odd, {"a", "b", "c", "d"}, size=4)
    found = await asyncio.gather(
        *(
            reader.lookup("t", *keys)
            for keys in (("?", "a", "b", "c"), ("d", "x"), ("y", "?", "z"), ("v", "d"))
        )
    )
    assert sorted(row["k"] for rows in found for row in rows) == ["a", "b", "c", "d", "d"]


@pytest.mark.parametrize("place", range(4))
async def test_a_key_that_is_none_among_unknown_ones_is_found_wherever_it_stands(
    serve: Serve, read: Read, place: int
) -> None:
    def any_odd(keys: Collection[str], _: Collection[str]) -> bool:
        return "?" in keys

    _, reader = await over(serve, read, any_odd, {"a", "b", "c", "d"}, size=4)
    assert len(await reader.lookup("t", "d", "x")) == 1
    keys = ["x", "y", "z"]
    keys.insert(place, "?")
    assert await reader.lookup("t", *keys) == []
    assert await reader.lookup("t", "x", "y", "z", "?") == []
    assert sorted(row["k"] for row in await reader.lookup("t", "a", "?", "b", "c")) == ["a", "b", "c"]


@pytest.mark.parametrize("prompt", [False, True])
async def test_a_key_that_was_asked_for_alone_tells_whom_a_status_speaks_for(
    serve: Serve, read: Read, *, prompt: bool
) -> None:
    server, reader = await over(serve, read, all_unknown, {"a"}, size=50)
    if prompt:
        (table,) = reader.catalog.find(["t"])
        source = reader.catalog.adapter_of(table)
        assert isinstance(source, Prompt)
        await source.answer(table, table.lookups[0], ["k", "n"], [("a",)], meter=reader.meter)
    else:
        assert len(await reader.lookup("t", "a")) == 1
    assert await reader.lookup("t", *(f"x{number}" for number in range(100))) == []
    assert len(server.asked) == 1 + 2 + 2 * 2


async def test_no_row_is_lost_beside_an_unknown_key_once_another_has_rows_alone(
    serve: Serve, read: Read
) -> None:
    known = {f"k{number}" for number in range(9)}
    _, reader = await over(serve, read, any_unknown, known, size=50)
    assert await reader.lookup("t", *(f"x{number}" for number in range(100))) == []
    assert len(await reader.lookup("t", "k0")) == 1
    assert len(await reader.lookup("t", "x0", *sorted(known)[1:])) == 8
