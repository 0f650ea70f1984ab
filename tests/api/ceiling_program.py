"""Tasks of unequal work under one ceiling: a program of its own. Prints `good` where all is right.

Argument: the master.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from pyspark.sql import SparkSession

import fff
from tests.web.serving import serving_beside

TASKS, PLACES, RATE, BURST = 4, 8, 30.0, 6


@dataclass
class Town:
    """Incomes by zip. Holds answers until so many are asked for at once; may refuse for a while."""

    hold: int = 1
    refuses_from: int | None = None  # after so many requests, for a second
    at: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    flying: int = 0
    most: int = 0
    full: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        now = asyncio.get_running_loop().time()
        if self.refuses_from is not None and len(self.at) >= self.refuses_from:
            self.refused = self.refused or [now]
            if now < self.refused[0] + 1:
                self.refused.append(now)
                return web.json_response({}, status=429, headers={"Retry-After": "1"})
        self.at.append(now)
        self.flying += 1
        self.most = max(self.most, self.flying)
        if self.flying >= self.hold:
            self.full.set()
        await self.full.wait()
        await asyncio.sleep(0.01)
        self.flying -= 1
        key = request.path.split("/")[-1]
        return web.json_response([{"zip": key, "income": int(key)}])


def spec(url: str, **limit: Any) -> dict[str, Any]:
    table = {
        "columns": {"zip": "string", "income": "int"},
        "key_columns": [{"name": "zip", "require": "required", "operators": ["="]}],
        "lookups": [{"keys": ["zip"], "endpoint": "incomes/{zip}"}],
    }
    client = {"base_url": url, "rate_limit": {"max_concurrency": PLACES, **limit}}
    return {"version": 1, "sources": {"town": {"client": client, "tables": {"incomes": table}}}}


@contextmanager
def published(town: Town, **limit: Any) -> Iterator[Path]:
    with serving_beside(town.answer) as url, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fff.yaml"
        path.write_text(yaml.safe_dump(spec(url, **limit)), encoding="utf-8")
        yield path


def main(master: str) -> None:
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.log.level", "OFF").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    )
    everything = session.range(20000).selectExpr("lpad(string(id), 5, '0') AS zip", "id")
    numbered = everything.selectExpr("*", f"pmod(hash(hash(zip)), {TASKS}) AS task")

    def keys(*counts: int) -> Any:
        parts = [numbered.where(f"task = {task}").limit(count) for task, count in enumerate(counts)]
        frame = parts[0]
        for part in parts[1:]:
            frame = frame.union(part)
        return frame.drop("task").localCheckpoint(eager=True)

    def asked(town: Town, frame: Any, **limit: Any) -> None:
        with published(town, **limit) as path:
            found = fff.lookup(frame, "town.incomes", on="zip", sources=[path], partitions=TASKS)
            assert [row.id - row.income for row in found.collect()] == [0] * frame.count()

    # A task that has all the work has all places: a share of two would hang here.
    town = Town(hold=PLACES)
    asked(town, keys(60, 1, 0, 0))
    assert town.most == PLACES, town.most

    # Unequal tasks together keep the rate.
    town = Town()
    asked(town, keys(90, 20, 5, 0), fill_rate=RATE, bucket_size=BURST)
    assert len(town.at) == 115
    for place, start in enumerate(town.at):
        second = sum(1 for at in town.at[place:] if at < start + 1)
        assert second <= RATE + BURST + PLACES, second  # those in flight may come late, together
    middle = [at for at in town.at if at >= town.at[0] + 1]
    print(
        f"{town.at[-1] - town.at[0]:.1f} s; by shares it would be {90 * TASKS / RATE:.0f}; of the rate {(len(middle) - 1) / ((middle[-1] - middle[0]) * RATE):.3f} was used"
    )

    # What one task is refused nobody asks while the wait lasts.
    town = Town(refuses_from=100)
    asked(town, keys(50, 50, 50, 50))
    assert len(town.at) == 200
    assert len(town.refused) - 1 <= 2 * PLACES, len(town.refused)
    assert min(town.at[100:]) >= town.refused[0] + 1
    session.stop()
    print("good")


if __name__ == "__main__":
    main(sys.argv[1])
