"""The demo web sources: slow on purpose, and the same delays for the same seed.

    GET /fec?page=N          contributions, 1,000 a page, with the number of pages
    GET /demographics/{zip}  one zip; 404 when unknown
    GET /crime/{zip}         one zip; 404 when unknown
    GET /crime?after=ZIP     crime ratings in zip order, with a cursor
    GET /_stats              what was asked so far: requests, distinct paths, most in flight

Run as `python -m fff_sources.demo.server`; prints one JSON line with its port, and stops when standard input
closes, so it never outlives whoever started it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from aiohttp import web

from fff_sources.demo.data import DEFAULT_SEED, DemoData, Row, generate

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

FEC_PAGE = 1_000
CRIME_PAGE = 25
#: Seconds a source takes to answer, before jitter: mean of each endpoint.
DELAYS = {"fec": 0.22, "demographics": 0.12, "crime": 0.06, "crime scan": 0.30}
JITTER = 0.3  # share of the mean, either way


@dataclass
class Stats:
    """What the sources were asked, for tests and the curious."""

    requests: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    max_in_flight: int = 0

    def as_json(self) -> dict[str, object]:
        """The counters as JSON values."""
        return {
            "requests": dict(self.requests),
            "distinct": len(self.paths),
            "repeated": {path: count for path, count in self.paths.items() if count > 1},
            "max_in_flight": self.max_in_flight,
        }


class DemoSources:
    """The three sources over generated rows. `delay_scale` stretches every delay; 0 answers at once."""

    def __init__(self, data: DemoData, *, seed: int = DEFAULT_SEED, delay_scale: float = 1.0) -> None:
        self.seed = seed
        self.delay_scale = delay_scale
        self.stats = Stats()
        self._fec = data.fec
        self._demographics = {row["zip"]: row for row in data.demographics}
        self._crime: dict[str, Row] = {
            row["zip"]: {
                "zip": row["zip"],
                "rating": {"value": row["crimeRating"]},
                "incidents": row["incidents"],
            }
            for row in data.crime
        }
        self._crime_zips = sorted(self._crime)

    def application(self) -> web.Application:
        """The web application."""
        app = web.Application()
        app.router.add_get("/fec", self._served("fec", self._fec_page))
        app.router.add_get("/demographics/{zip}", self._served("demographics", _by_zip(self._demographics)))
        app.router.add_get("/crime/{zip}", self._served("crime", _by_zip(self._crime)))
        app.router.add_get("/crime", self._served("crime scan", self._crime_page))
        app.router.add_get("/_stats", self._stats)
        return app

    def _served(self, endpoint: str, answer: Callable[[web.Request], web.Response]) -> Handler:
        """Count, wait as long as this source takes, answer."""

        async def handler(request: web.Request) -> web.StreamResponse:
            stats = self.stats
            stats.requests[endpoint] += 1
            stats.paths[request.path_qs] += 1
            stats.in_flight += 1
            stats.max_in_flight = max(stats.max_in_flight, stats.in_flight)
            try:
                await asyncio.sleep(self._delay(endpoint, request.path_qs))
                return answer(request)
            finally:
                stats.in_flight -= 1

        return handler

    def _delay(self, endpoint: str, path: str) -> float:
        jitter = random.Random(f"{self.seed} {path}").uniform(-JITTER, JITTER)
        return self.delay_scale * DELAYS[endpoint] * (1 + jitter)

    def _fec_page(self, request: web.Request) -> web.Response:
        page = _number(request, "page", 1)
        pages = -(-len(self._fec) // FEC_PAGE)
        rows = self._fec[(page - 1) * FEC_PAGE : page * FEC_PAGE]
        return web.json_response({"page": page, "pages": pages, "total": len(self._fec), "results": rows})

    def _crime_page(self, request: web.Request) -> web.Response:
        start = bisect_right(self._crime_zips, request.query.get("after", ""))
        zips = self._crime_zips[start : start + CRIME_PAGE]
        last = start + CRIME_PAGE >= len(self._crime_zips)
        cursor = None if last or not zips else zips[-1]
        rows = [self._crime[code] for code in zips]
        return web.json_response({"results": rows, "next": cursor, "total": len(self._crime)})

    async def _stats(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response(self.stats.as_json())


def _by_zip(rows: Mapping[str, Row]) -> Callable[[web.Request], web.Response]:
    def answer(request: web.Request) -> web.Response:
        row = rows.get(request.match_info["zip"])
        return web.json_response(row or {"error": "unknown zip"}, status=404 if row is None else 200)

    return answer


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isdecimal() or int(text) < 1:
        raise web.HTTPBadRequest(text=json.dumps({"error": f"{name} must be a positive number"}))
    return int(text)


async def serve(sources: DemoSources, *, port: int = 0) -> None:
    """Serve on loopback until standard input closes; the first line on standard output tells the port."""
    runner = web.AppRunner(sources.application(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        bound = runner.addresses[0][1]
        _reply(port=bound)
        await _stdin_closed()
    finally:
        await runner.cleanup()


def _reply(**fields: object) -> None:
    """Tell who started the sources; nobody listens where that was stopped meanwhile, and standard input has ended."""
    try:
        print(json.dumps(fields), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is flushed at exit


async def _stdin_closed() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(1024):
            pass
    finally:
        transport.close()


def main() -> None:
    """Entry point of the server process."""
    parser = argparse.ArgumentParser(prog="python -m fff_sources.demo.server")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-scale", type=float, default=1.0)
    arguments = parser.parse_args()
    sources = DemoSources(generate(arguments.seed), seed=arguments.seed, delay_scale=arguments.delay_scale)
    try:
        asyncio.run(serve(sources, port=arguments.port))
    except OSError as error:
        why = (
            os.strerror(error.errno) if error.errno else str(error)
        )  # asyncio's own words name the address again
        _reply(error=f"cannot listen on port {arguments.port}: {why}")
        sys.exit(2)


if __name__ == "__main__":
    main()
