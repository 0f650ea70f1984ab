"""One query that takes an hour: what it holds does not grow with it. In virtual time; tests/api/test_long_runs.py has the real."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from dataclasses import dataclass

import pytest

from fff.federation import Federation, RunOptions
from fff.simulation.service import FixedTime
from fff.web.client import WebClient
from tests.faults.wire import Asked, Reply
from tests.soak.network import HOST, Loop, Network
from tests.soak.play import catalog_of, clock_of, in_virtual_time
from tests.soak.weather import Storm, Weather

HOUR = 3600.0
PAGE, KEYS = 20, 200
WEB = {
    "client": {
        "base_url": f"http://{HOST}",
        "rate_limit": {"max_concurrency": 2},
        "retry": {"max_attempts": 6, "base_delay": 0.5},
    },
    "tables": {
        "r": {
            "columns": {"a": "int", "b": "int"},
            "scan": {
                "endpoint": {
                    "path": "r",
                    "data_selector": "items",
                    "paginator": {"type": "page_number", "page_param": "page", "total_path": "pages"},
                }
            },
        },
        "s": {
            "columns": {"a": "int", "c": "string"},
            "key_columns": [{"name": "a", "require": "any_of", "operators": ["="]}],
            "lookups": [{"keys": ["a"], "endpoint": {"path": "s/{a}"}}],
        },
    },
}


@dataclass(frozen=True)
class Held:
    """What there is at a moment of virtual time."""

    time: float
    objects: int
    tasks: int
    connections: int


def answer(asked: Asked) -> Reply:
    """A page, of as many as fill more than the hour, or what a key has."""
    headers = {"Content-Type": "application/json"}
    if asked.path.startswith("/s/"):
        key = int(asked.path.removeprefix("/s/"))
        return Reply(json.dumps([{"a": key, "c": f"name of {key}"}]).encode(), headers=headers)
    page = int(asked.first("page", "1"))
    items = [{"a": a, "b": a * 7 % KEYS} for a in range((page - 1) * PAGE, page * PAGE)]
    return Reply(json.dumps({"items": items, "pages": 10**5}).encode(), headers=headers)


async def held_in_an_hour(loop: Loop, network: Network, sql: str) -> tuple[list[Held], int]:
    """Looks at ten moments of a query's first hour, and the rows that came by then."""
    client = WebClient(rng=random.Random(1), clock=clock_of(loop))
    looks, rows = [], 0
    async with Federation(catalog_of({"version": 1, "sources": {"web": WEB}}, client), client) as federation:
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        async for batch in execution.batches():
            rows += len(batch)
            if loop.time() < HOUR * (len(looks) + 1) / 10:
                continue
            network.exchanges.clear()  # the network's own memory
            network.log.clear()
            gc.collect()
            tasks = [one for one in asyncio.all_tasks() if not one.done()]
            looks.append(Held(loop.time(), len(gc.get_objects()), len(tasks), len(network.links)))
            if len(looks) == 10:
                execution.interrupt()
    return looks, rows


@pytest.mark.slow
def test_an_hour_of_a_join_holds_what_its_first_minutes_did() -> None:
    """Requests of a second, one in fifty of which goes wrong: 6,000 of them."""
    storms = tuple(Storm(kind, 0.004) for kind in ("reset", "500", "429", "closed", "cut"))
    network = Network(Weather(random.Random(1), FixedTime(1.0), storms=storms), answer)
    loop = Loop(network)
    with in_virtual_time(loop), asyncio.Runner(loop_factory=lambda: loop) as runner:
        sql = "SELECT r.a, s.c FROM web.r JOIN web.s ON r.b = s.a"
        looks, rows = runner.run(held_in_an_hour(loop, network, sql))
    print(*looks, sep="\n")
    assert looks[-1].time >= HOUR
    assert rows > 50_000
    assert sum(network.weather.struck.values()) > 50
    early, late = looks[1], looks[-1]
    assert late.tasks <= max(one.tasks for one in looks[:4]) + 2
    assert late.connections <= 2
    # Keys that were looked up, and a mark of each page, stay; a row's worth would be hundreds of thousands.
    assert late.objects - early.objects < 5_000, looks
