"""A loopback server for the benchmarks, in a process of its own: pages of a table, lookups with a delay."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator

from aiohttp import web


def pages(rows: int, page: int) -> list[bytes]:
    """The pages of one table, encoded once: serving costs as little as can be."""
    found = []
    for at in range(0, rows, page):
        items = [
            {
                "unique2": (key * 7919) % rows,
                "payload": f"row {key:06d}",
                "a": key,
                "b": key / 7,
                "c": f"more {key % 97}",
            }
            for key in range(at, min(at + page, rows))
        ]
        found.append(json.dumps({"items": items, "total": rows}).encode())
    return found


def make_app(rows: int, page: int, delay_s: float) -> web.Application:
    """`/t?offset=` pages, `/k/KEY` one row after the delay."""
    bodies = pages(rows, page)

    async def scan(request: web.Request) -> web.Response:
        body = bodies[int(request.query.get("offset", 0)) // page]
        return web.Response(body=body, content_type="application/json")

    async def lookup(request: web.Request) -> web.Response:
        await asyncio.sleep(delay_s)
        key = int(request.match_info["key"])
        return web.json_response([{"unique2": key, "payload": f"found {key}"}])

    app = web.Application()
    app.add_routes([web.get("/{table:t[0-9]}", scan), web.get("/k/{key}", lookup)])
    return app


@contextlib.contextmanager
def served(rows: int, page: int, delay_s: float = 0.0) -> Iterator[str]:
    """The base URL of a server that ends with the `with`."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(rows), str(page), str(delay_s)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def _main(rows: int, page: int, delay_s: float) -> None:
    runner = web.AppRunner(make_app(rows, page, delay_s), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
