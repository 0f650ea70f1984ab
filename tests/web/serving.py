"""A loopback server made of one function, and a clock that does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from fff.web.clock import Clock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
WALL = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@dataclass
class Served:
    """A running server and what it was asked."""

    url: str
    port: int
    asked: list[web.Request] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [request.raw_path for request in self.asked]


class FakeTime:
    """Steady time that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.now, wall=lambda: WALL + self.now, sleep=self.sleep)


Serve = Callable[[Handler], Awaitable[Served]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts servers; all are stopped when the test ends."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(handler: Handler) -> Served:
            served = Served("", 0)

            async def noting(request: web.Request) -> web.StreamResponse:
                served.asked.append(request)
                return await handler(request)

            runner = web.ServerRunner(web.Server(noting), shutdown_timeout=0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            served.port = runner.addresses[0][1]
            served.url = f"http://127.0.0.1:{served.port}"
            return served

        yield start


@contextlib.contextmanager
def serving_beside(answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> Iterator[str]:
    """The URL of a server in a thread of its own, for tests that block; it is gone afterwards."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        server = web.ServerRunner(web.Server(answer, loop=loop), shutdown_timeout=0)
        loop.run_until_complete(server.setup())
        loop.run_until_complete(web.TCPSite(server, "127.0.0.1", 0).start())
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.addresses[0][1]}"
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.run_until_complete(server.cleanup())
