"""A site that counts what it is asked, the spec that reads it, and what comes of it."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import random
import subprocess
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path

import yaml
from aiohttp import web

from tests.web.serving import serving_beside

R = [(number, f"k{number % 60}") for number in range(180)]
PAGE, BATCH, AT_ONCE = 10, 7, 4
SQL = "SELECT r.id, s.y, b.z FROM r JOIN s ON r.x = s.x LEFT JOIN b ON r.x = b.x"
EXPECTED = sorted(f"{id_},{int(x[1:]) * 10},{x.upper()}" for id_, x in R)


class Watched:
    """A site that counts what it is asked, part by part, and may end whoever asks at the n-th request."""

    def __init__(self) -> None:
        self.pages: collections.Counter[str] = collections.Counter()
        self.keys: collections.Counter[str] = collections.Counter()
        self.batched: collections.Counter[str] = collections.Counter()
        self.asked = 0
        self.ends_at: int | None = None
        self.asking: subprocess.Popen[str] | BaseProcess | None = None
        self.starting = threading.Lock()  # held until it is known who asks

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked += 1
        if self.asked == self.ends_at:
            with self.starting:
                if self.asking is not None:
                    self.asking.kill()
        await asyncio.sleep(0.003 * random.random())
        query = request.query
        if request.path == "/r":
            first = int(query.get("offset", 0))
            self.pages[str(first)] += 1
            items = [{"id": id_, "x": x} for id_, x in R[first : first + PAGE]]
            return web.json_response({"items": items, "total": len(R)})
        if request.path == "/s":
            self.keys[query["x"]] += 1
            return web.json_response([{"x": query["x"], "y": int(query["x"][1:]) * 10}])
        asked = query["x"].split(",")
        self.batched.update(asked)
        return web.json_response([{"x": x, "z": x.upper()} for x in asked])

    @property
    def again(self) -> tuple[int, int, int]:
        """Pages, single keys and keys of batches that were asked for more than once."""
        return tuple(
            sum(count - 1 for count in one.values()) for one in (self.pages, self.keys, self.batched)
        )  # type: ignore[return-value]

    def serving(self) -> contextlib.AbstractContextManager[str]:
        """The URL; the site is gone afterwards."""
        return serving_beside(self.answer)


def spec(url: str, folder: Path) -> None:
    paged = {
        "path": "r",
        "data_selector": "items",
        "paginator": {"type": "offset", "offset_param": "offset", "total_path": "total"},
    }
    tables = {
        "r": {"columns": {"id": "int", "x": "string"}, "scan": {"endpoint": paged}},
        "s": {
            "columns": {"x": "string", "y": "int"},
            "key_columns": [{"name": "x", "require": "any_of", "operators": ["="]}],
            "lookups": [{"keys": ["x"], "endpoint": {"path": "s?x={x}"}}],
        },
        "b": {
            "columns": {"x": "string", "z": "string"},
            "key_columns": [{"name": "x", "require": "any_of", "operators": ["="]}],
            "lookups": [
                {"keys": ["x"], "endpoint": {"path": "b?x={x}"}, "batch": {"size": BATCH, "separator": ","}}
            ],
        },
    }
    client = {"base_url": url, "rate_limit": {"max_concurrency": AT_ONCE}}
    text = yaml.safe_dump({"version": 1, "sources": {"web": {"client": client, "tables": tables}}})
    (folder / "fff.yaml").write_text(text, encoding="utf-8")


def result(folder: Path) -> list[str]:
    return sorted((folder / "out.csv").read_text(encoding="utf-8").splitlines()[1:])


def within_what_was_in_flight(site: Watched, kills: int) -> bool:
    pages, keys, batched = site.again
    return pages + keys + batched / BATCH <= AT_ONCE * kills  # all have one ceiling; a batch is one request
