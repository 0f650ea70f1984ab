"""Fifty related queries at once of `fff serve`: what they send is counted, and is hardly more than their union takes."""

from __future__ import annotations

import asyncio
import collections
import datetime as dt
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from fff.federation import Federation
from tests.api.serving import Answer, serving
from tests.engine.site import Site

COUNT, PAGE, BATCH, KEYS = 400, 20, 5, 60
FIRST = dt.date(2024, 1, 1)
ROWS = [(n, n * 7 % KEYS, (FIRST + dt.timedelta(n)).isoformat(), f"{n * 11 % 400:03}") for n in range(COUNT)]
NAMES = ("a", "k", "day", "text")


@dataclass
class Counting(Site):
    """Rows in pages, of a range or all of them, and values by key, one or several at once; counts requests."""

    sent: collections.Counter[str] = field(default_factory=collections.Counter)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.sent[request.path_qs] += 1
        kind, *keys = request.path.strip("/").split("/")
        query = request.query
        if kind != "scan":
            wanted = [int(key) for key in (keys or query["keys"].split(","))]
            # A batch that lacks keys is looked into once more, whoever asks.
            return web.json_response([{"k": key, "v": 10 * key} for key in wanted if key % 9 or not keys])
        rows = [row for row in ROWS if within(row, query)]
        at = (int(query.get("page", 1)) - 1) * PAGE
        items = [dict(zip(NAMES, row, strict=True)) for row in rows[at : at + PAGE]]
        return web.json_response({"items": items, "total": len(rows)})


def within(row: tuple[Any, ...], query: Any) -> bool:
    number, key, day, text = row
    return (
        int(query.get("least", 0)) <= number <= int(query.get("most", COUNT))
        and query.get("since", "") <= day <= query.get("until", "3")
        and int(query.get("key", key)) == key
        and text.startswith(query.get("prefix", ""))
    )


def tables() -> dict[str, dict[str, Any]]:
    paginator = {"type": "page_number", "base_page": 1, "page_param": "page", "total_rows_path": "total"}
    scan = {"endpoint": {"path": "scan", "data_selector": "items", "paginator": paginator}}
    operators = {
        "a": {"operators": [">=", "<="], "param": {">=": "least", "<=": "most"}},
        "day": {"operators": [">=", "<="], "param": {">=": "since", "<=": "until"}},
        "k": {"operators": ["="], "param": "key"},
    }
    named = [{"name": name, **rest} for name, rest in operators.items()]
    columns = {"a": "int", "k": "int", "day": "date", "text": "string"}
    by_key = {
        "columns": {"k": "int", "v": "int"},
        "key_columns": [{"name": "k", "require": "required", "operators": ["=", "in"]}],
    }
    one = {"keys": ["k"], "endpoint": "one/{k}"}
    several = {"keys": ["k"], "batch": {"size": BATCH, "separator": ","}}
    return {
        "rows": {"columns": columns, "primary_key": ["a"], "key_columns": named, "scan": scan},
        "one": by_key | {"lookups": [one]},
        "several": by_key
        | {"lookups": [several | {"endpoint": {"path": "several", "params": {"keys": "{k}"}}}]},
    }


def days(first: int, last: int) -> str:
    return " AND ".join(
        f"day {sign} DATE '{FIRST + dt.timedelta(n)}'" for sign, n in ((">=", first), ("<=", last))
    )


def keys_of(rng: random.Random, count: int) -> list[int]:
    return sorted(rng.sample(range(1, KEYS), count))


def batches(sets: Sequence[Sequence[int]]) -> int:
    return math.ceil(len(set().union(*sets)) / BATCH)


@dataclass(frozen=True)
class Shape:
    """Statements that are related, and the requests that one statement for all that they read would take."""

    statements: Sequence[str]
    union: int


def by_keys(
    table: str, requests: Callable[[Sequence[Sequence[int]]], int]
) -> Callable[[random.Random], Shape]:
    def made(rng: random.Random) -> Shape:
        sets = [keys_of(rng, rng.randint(1, 8)) for _ in range(50)]
        statements = [f"SELECT v FROM {table} WHERE k IN ({str(some)[1:-1]})" for some in sets]
        return Shape(statements, requests(sets))

    return made


def ranges(rng: random.Random) -> Shape:
    """Which overlap one another, in two places that are far apart: what is between them is nobody's."""
    starts = [rng.randint(0, 80) for _ in range(25)] + [rng.randint(250, 330) for _ in range(25)]
    both = [[start for start in starts if low <= start < low + 200] for low in (0, 200)]
    union = sum(math.ceil((max(some) - min(some) + 41) / PAGE) for some in both)
    return Shape([f"SELECT k FROM rows WHERE a BETWEEN {n} AND {n + 40}" for n in starts], union)


def open_ranges(rng: random.Random) -> Shape:
    starts = rng.sample(range(200), 50)
    union = math.ceil((COUNT - min(starts)) / PAGE)
    return Shape([f"SELECT k FROM rows WHERE a >= {n}" for n in starts], union)


def dates(rng: random.Random) -> Shape:
    starts = [rng.randint(0, 200) for _ in range(50)]
    union = math.ceil((max(starts) + 100 - min(starts)) / PAGE)
    return Shape([f"SELECT k FROM rows WHERE {days(n, n + 99)}" for n in starts], union)


def scans(rng: random.Random) -> Shape:
    """Conditions that the source is not told."""
    conditions = [f"text LIKE '%{rng.randint(0, 9)}'" if n % 2 else f"a + k > {n}" for n in range(50)]
    return Shape([f"SELECT a FROM rows WHERE {one}" for one in conditions], COUNT // PAGE)


def values(rng: random.Random) -> Shape:
    """Which the source is told, one at a time."""
    wanted = [rng.randint(0, 9) for _ in range(50)]
    return Shape([f"SELECT a FROM rows WHERE k = {n}" for n in wanted], len(set(wanted)))


def joins(table: str) -> Callable[[random.Random], Shape]:
    def made(rng: random.Random) -> Shape:
        starts = [rng.randint(0, 200) for _ in range(50)]
        keys = {row[1] for row in ROWS[min(starts) :]}
        lookups = len(keys) if table == "one" else math.ceil(len(keys) / BATCH)
        union = math.ceil((COUNT - min(starts)) / PAGE) + lookups
        sql = f"SELECT r.a, o.v FROM rows r JOIN {table} o ON o.k = r.k WHERE r.a >= "
        return Shape([f"{sql}{n}" for n in starts], union)

    return made


def everything(rng: random.Random) -> Shape:
    some = by_keys("one", lambda sets: len(set().union(*sets)))(rng).statements[:15]
    more = joins("one")(rng).statements[:20] + scans(rng).statements[:15]
    return Shape([*some, *more], COUNT // PAGE + KEYS)


SHAPES = {
    "keys": by_keys("one", lambda sets: len(set().union(*sets))),
    "keys in batches": by_keys("several", batches),
    "ranges": ranges,
    "open ranges": open_ranges,
    "dates": dates,
    "scans": scans,
    "values": values,
    "joins": joins("one"),
    "joins in batches": joins("several"),
    "everything": everything,
}


async def sent_at_once(publish: Any, shape: Shape) -> tuple[int, list[Answer]]:
    site = Counting({})
    async with serving(publish(site, tables())) as client:
        answers = await asyncio.gather(*(client.query(sql) for sql in shape.statements))
    return site.sent.total(), answers


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", SHAPES)
async def test_fifty_at_once_send_hardly_more_than_their_union(publish, shape: str, seed: int):
    rng = random.Random(f"{shape} {seed}")
    related = SHAPES[shape](rng)
    assert len(related.statements) == 50
    sent, answers = await sent_at_once(publish, related)
    assert all(answer.json["complete"] for answer in answers)
    for at in rng.sample(range(50), 3):
        _, [alone] = await sent_at_once(publish, Shape([related.statements[at]], 0))
        assert sorted(answers[at].json["rows"]) == sorted(alone.json["rows"])
    assert sent <= 1.1 * related.union, related


async def test_who_is_in_haste_or_pays_alone_waits_for_nobody(publish, monkeypatch):
    waited: list[str] = []
    gathered = Federation.gathered

    def noted(self, prepared):
        waited.append(prepared.sql)
        return gathered(self, prepared)

    monkeypatch.setattr(Federation, "gathered", noted)
    sql = "SELECT k FROM rows WHERE a < 5"
    async with serving(publish(Counting({}), tables())) as client:
        for more in ({"deadline": 5}, {"max_requests": 9}, {"deadline": 60}):
            assert (await client.query(sql, **more)).json["complete"]
    assert len(waited) == 1


@pytest.mark.parametrize("fault", [400, 500, "record"])
async def test_what_a_batch_of_two_clients_fails_for_is_told_to_nobody_but_who_asked(
    publish, fault: int | str
):
    @dataclass
    class Faulty(Counting):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            if "13" in request.query["keys"].split(","):
                self.sent[request.path_qs] += 1
                if fault == "record":
                    return web.json_response([{"k": "no number", "v": request.query["keys"]}])
                return web.json_response({"message": f"no {request.query['keys']}"}, status=fault)
            return await super().answer(request)

    site = Faulty({})
    client = {"retry": {"max_attempts": 1}}
    async with serving(publish(site, tables(), **client)) as caller:
        right, wrong = await asyncio.gather(
            *(
                caller.query(f"SELECT k, v FROM several WHERE k IN {keys}")
                for keys in ("(11, 12)", "(13, 14)")
            )
        )
    joint = [asked for asked in site.sent if all(key in asked for key in ("11", "12", "13", "14"))]
    assert len(joint) == 1, site.sent
    assert right.json.get("complete"), right.data
    assert sorted(right.json["rows"]) == [[11, 110], [12, 120]]
    told = wrong.data.decode()
    assert "several?keys=13%2C14)" in told
    assert not any(key in told for key in ("11%2C", "12%2C", "11,", "12,")), told
