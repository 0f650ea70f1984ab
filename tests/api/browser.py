"""A real browser, driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("FFF_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
#: It asks nobody but the page's server.
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
)  # fmt: skip
_ENDPOINT = "DevTools listening on "


class Tab:
    """The one tab of a browser."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse) -> None:
        self._line = line
        self._numbers = itertools.count(1)

    async def call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        await self._line.send_json({"id": number, "method": method, "params": params})
        while (reply := await self._line.receive_json()).get("id") != number:
            pass
        assert "error" not in reply, reply
        return reply["result"]

    async def value(self, script: str) -> Any:
        reply = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return reply["result"].get("value")

    async def until(self, script: str, *, seconds: float = 60) -> Any:
        async with asyncio.timeout(seconds):
            while not (value := await self.value(script)):  # noqa: ASYNC110 - the page is asked
                await asyncio.sleep(0.05)
            return value


@contextlib.asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Tab]:
    """A browser without a past, and its tab."""
    assert BROWSER is not None
    process = await asyncio.create_subprocess_exec(
        BROWSER, *QUIET, f"--user-data-dir={folder}", "about:blank", stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(60):
            while _ENDPOINT not in (line := (await process.stderr.readline()).decode()):
                assert line, "the browser did not start"
        base = "http" + line.partition(_ENDPOINT + "ws")[2].partition("/devtools/")[0]
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{base}/json/list") as reply:
                [page] = [one for one in await reply.json() if one["type"] == "page"]
            async with http.ws_connect(page["webSocketDebuggerUrl"]) as line_to_it:
                yield Tab(line_to_it)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
