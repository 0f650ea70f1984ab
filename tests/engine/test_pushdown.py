"""Whole runs with conditions that are sent to the source: the answer is the same as without sending any."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fff.access.disk.policy import RowCache
from fff.federation import RunOptions
from tests.engine.duck import over_duck
from tests.engine.filtering import (
    COLUMNS,
    FILTERS,
    FilteringSite,
    constant,
    key_columns,
    predicate,
    statement,
    stored,
)
from tests.engine.site import Row, federated, rows_of, run
from tests.web.serving import Serve

_SCAN = {
    "endpoint": {
        "path": "scan",
        "data_selector": "items",
        "paginator": {"type": "offset", "total_path": "total", "page_size": 7},
    }
}
_LOOKUP = {"keys": ["n"], "endpoint": {"path": "get/{n}", "data_selector": "items"}}


def declared(keys: list[dict[str, Any]], *, lookup: bool) -> dict[str, Any]:
    if lookup and not any(key["name"] == "n" for key in keys):
        keys = [*keys, {"name": "n"}]
    return {
        "t": {"columns": COLUMNS, "key_columns": keys, "scan": _SCAN, "lookups": [_LOOKUP] if lookup else []}
    }


async def _check(serve: Serve, folder: Path, seed: int, queries: int) -> tuple[int, int]:
    """Run some queries three ways; rows that the source sent with conditions, and without."""
    rng = random.Random(seed)
    rows = [stored(rng, number) for number in range(rng.randrange(0, 40))]
    keys, lookup = key_columns(rng), rng.random() < 0.5
    sites = [FilteringSite(rows), FilteringSite(rows, honours=False), FilteringSite(rows)]
    statements = [statement(rng) for _ in range(queries)]
    answers: list[list[list[Row]]] = []
    for site, spec in zip(sites, (keys, keys, []), strict=True):
        tables = declared(spec, lookup=lookup)
        async with federated(serve, site, folder, tables) as (federation, _):
            answers.append([(await run(federation, sql))[0] for sql in statements])
    for number, sql in enumerate(statements):
        honoured, ignored, plain = (answer[number] for answer in answers)
        assert honoured == plain, f"seed {seed}: {sql}"
        assert ignored == plain, f"seed {seed}, conditions ignored: {sql}"
    return sites[0].sent, sites[2].sent


@pytest.mark.slow
async def test_what_is_sent_changes_no_answer(serve: Serve, tmp_path: Path) -> None:
    sent = [await _check(serve, tmp_path, seed, 4) for seed in (9, 2, 5, 7)]
    assert sum(some for some, _ in sent) < 0.9 * sum(everything for _, everything in sent)


@pytest.mark.slow
async def test_what_is_sent_changes_no_answer_for_long(serve: Serve, tmp_path: Path) -> None:
    for seed in range(1000, 1050):
        await _check(serve, tmp_path, seed, 6)


async def _check_parts(serve: Serve, folder: Path, seed: int, queries: int) -> tuple[int, int]:
    """Statements one after the other, in a session and over a cache on disk; requests with these, and without."""
    rng = random.Random(f"parts {seed}")
    rows = [stored(rng, number) for number in range(rng.randrange(20, 40))]
    keys, lookup = key_columns(rng), rng.random() < 0.5
    keys += [
        {
            "name": name,
            "operators": list(ops),
            "param": {one: f"{name}.{list(FILTERS).index(one)}" for one in ops},
        }
        for name, ops in (("d", (">=", "<")), ("m", (">", "<=")), ("ts", (">=", "<=")), ("n", (">=", "<=")))
        if not any(key["name"] == name for key in keys)
    ]
    name = rng.choice(["n", "k", "m", "d", "ts", "tn"])
    statements = []
    for _ in range(queries):
        wanted = predicate(rng, "t") if rng.random() < 0.2 else "t.id >= 0"
        bounds = [f"t.{name} {rng.choice(['>', '>='])} {constant(rng, name)}", f"t.{name} {rng.choice(['<', '<='])} {constant(rng, name)}"]  # fmt: skip
        some = " AND ".join([*rng.sample(bounds, rng.choice([1, 2, 2])), wanted])
        statements.append(rng.choice([f"SELECT t.id FROM t WHERE {some}"] * 3 + [statement(rng)]))
    tables, plain = declared(keys, lookup=lookup), FilteringSite(rows)
    async with federated(serve, plain, folder, tables) as (federation, _):
        expected = [(await run(federation, sql))[0] for sql in statements]
    site = FilteringSite(rows)
    async with federated(serve, site, folder, tables, keep=True) as (federation, served):
        for sql, answer in zip(statements, expected, strict=True):
            assert (await run(federation, sql))[0] == answer, f"seed {seed}, in a session: {sql}"
        for sql, answer in zip(statements, expected, strict=True):
            cache = RowCache(folder / f"rows{seed}", ttl=300.0)
            async with federated(serve, site, folder, tables, cache=cache, base_url=served.url) as (other, _):
                assert (await run(other, sql))[0] == answer, f"seed {seed}, from disk: {sql}"
    return len(site.requests), 2 * len(plain.requests)


@pytest.mark.slow
async def test_parts_that_are_here_and_the_rest_are_the_answer(serve: Serve, tmp_path: Path) -> None:
    counts = [await _check_parts(serve, tmp_path, seed, 8) for seed in range(1)]
    assert sum(some for some, _ in counts) < 0.8 * sum(every for _, every in counts)


@pytest.mark.slow
async def test_parts_that_are_here_and_the_rest_are_the_answer_for_long(serve: Serve, tmp_path: Path) -> None:
    for seed in range(100, 140):
        await _check_parts(serve, tmp_path, seed, 8)


# ------------------------------------------------------------------- what others have read, and what earlier runs have


def ranges(*operators: str) -> list[dict[str, Any]]:
    params = {one: f"n.{list(FILTERS).index(one)}" for one in operators}
    return [{"name": "n", "operators": list(operators), "param": params}]


BOTH = ranges(">=", "<=")
ROWS = [dict.fromkeys(COLUMNS) | {"id": number, "n": number % 10} for number in range(40)]


def ids(low: int, high: int) -> list[Row]:
    return sorted(((one["id"],) for one in ROWS if low <= one["n"] <= high), key=lambda row: str(row[0]))


def sql(low: int, high: int) -> str:
    return f"SELECT id FROM t WHERE n BETWEEN {low} AND {high}"


async def test_a_session_reads_again_what_was_left_out(serve: Serve, tmp_path: Path) -> None:
    site = FilteringSite(ROWS, page=100)
    async with federated(serve, site, tmp_path, declared(BOTH, lookup=False), keep=True) as (federation, _):
        sent = []
        for low, high in ((3, 4), (3, 4), (4, 4), (2, 4), (0, 9), (5, 6)):
            before = len(site.requests)
            assert (await run(federation, sql(low, high)))[0] == ids(low, high)
            sent.append([dict(one) for one in site.requests[before:]])
    # The second and third find all they want, and so does the last; the others ask for what is not here of what they want.
    assert sent == [
        [{"n.3": "4", "n.5": "3"}],
        [],
        [],
        [{"n.3": "2", "n.5": "2"}],
        [{"n.3": "1", "n.5": "0"}, {"n.3": "9", "n.5": "5"}],
        [],
    ]


async def test_what_is_too_old_is_no_part(serve: Serve, tmp_path: Path) -> None:
    site, now = FilteringSite(ROWS, page=100), [1000.0]
    url = (await serve(site.answer)).url
    sent = []
    for low, high, passed in ((3, 5, 0), (2, 6, 200), (1, 7, 200), (1, 7, 50)):
        now[0] += passed
        cache = RowCache(tmp_path / "rows", ttl=300.0, clock=lambda: now[0])
        tables, before = declared(BOTH, lookup=False), len(site.requests)
        async with federated(serve, site, tmp_path, tables, cache=cache, base_url=url) as (federation, _):
            assert (await run(federation, sql(low, high)))[0] == ids(low, high)
        sent.append([(one["n.5"], one["n.3"]) for one in site.requests[before:]])
    # After 400 seconds 3 to 5 is too old, and 2 and 6 are not.
    assert sent == [[("3", "5")], [("2", "2"), ("6", "6")], [("1", "7")], []]


async def test_statements_that_are_expected_share_the_widest(serve: Serve, tmp_path: Path) -> None:
    site = FilteringSite(ROWS, page=100)
    async with federated(serve, site, tmp_path, declared(BOTH, lookup=False)) as (federation, _):
        prepared = [federation.prepare(sql(low, 7)) for low in (3, 1, 5)]
        federation.expect(prepared)
        for low, one in zip((3, 1, 5), prepared, strict=True):
            execution = federation.execute(one, RunOptions(seed=1))
            assert await rows_of(execution) == ids(low, 7)
    assert [dict(one) for one in site.requests] == [{"n.3": "7", "n.5": "1"}]


async def test_blocks_of_a_statement_share_what_covers_all(serve: Serve, tmp_path: Path) -> None:
    site = FilteringSite(ROWS, page=100)
    async with federated(serve, site, tmp_path, declared(BOTH, lookup=False)) as (federation, _):
        over_duck(federation)
        found, execution = await run(federation, f"{sql(2, 3)} UNION ALL {sql(3, 5)}")
    assert found == sorted(ids(2, 3) + ids(3, 5), key=lambda row: str(row[0]))
    assert [one.sends for one in execution.snapshot().access] == [("n.3=5", "n.5=2")], "the report tells"
    assert [dict(one) for one in site.requests] == [{"n.3": "5", "n.5": "2"}]


async def test_what_is_on_disk_serves_narrower_questions_and_never_wider_ones(
    serve: Serve, tmp_path: Path
) -> None:
    site = FilteringSite(ROWS, page=100)
    tables = declared(BOTH, lookup=True)

    async def requests(query: str, wanted: list[Row]) -> int:
        before = len(site.requests)
        cache = RowCache(tmp_path / "rows", ttl=300.0)
        async with federated(serve, site, tmp_path, tables, cache=cache, base_url=url) as (federation, _):
            assert (await run(federation, query))[0] == wanted
        return len(site.requests) - before

    url = (await serve(site.answer)).url
    assert await requests(sql(3, 5), ids(3, 5)) == 1
    assert await requests(sql(3, 5), ids(3, 5)) == 0, "the same is there"
    assert await requests(sql(4, 5), ids(4, 5)) == 0, "and less"
    assert await requests("SELECT id FROM t WHERE n = 4", ids(4, 4)) == 0
    assert await requests(sql(3, 6), ids(3, 6)) == 1, "more is not"
    assert site.requests[-1] == {"n.3": "6", "n.5": "6"}, "asked for is the rest"
    assert await requests(sql(1, 9), ids(1, 9)) == 2
    assert site.requests[-2:] == [{"n.3": "2", "n.5": "1"}, {"n.3": "9", "n.5": "7"}]
    assert await requests(sql(2, 8), ids(2, 8)) == 0, "of four parts"
    assert await requests("SELECT id FROM t", ids(0, 9)) == 1
    assert await requests(sql(1, 2), ids(1, 2)) == 0, "all rows hold any of them"
    lookup = "SELECT id FROM t WHERE n = 3 AND id < 20"
    assert await requests(lookup, [row for row in ids(3, 3) if row[0] < 20]) == 0


async def test_patterns_are_sent_and_checked_again(serve: Serve, tmp_path: Path) -> None:
    words = ["abc", "ABC", "axc", "abcd", "b", None, "a%c", ""]
    site = FilteringSite([dict.fromkeys(COLUMNS) | {"id": n, "s": word} for n, word in enumerate(words)])
    keys = [{"name": "s", "operators": ["like"], "param": "s.like"}]
    async with federated(serve, site, tmp_path, declared(keys, lookup=False)) as (federation, _):
        over_duck(federation)
        found = [
            (await run(federation, f"SELECT id FROM t WHERE s LIKE '{pattern}'"))[0]
            for pattern in ("a_c", "ab%", "%", "abc")
        ]
    assert found == [[(0,), (2,), (6,)], [(0,), (3,)], [(n,) for n in (0, 1, 2, 3, 4, 6, 7)], [(0,)]]
    assert [one["s.like"] for one in site.requests] == ["a%c", "ab%", "%", "abc"]
    assert site.sent < 4 * len(words)
