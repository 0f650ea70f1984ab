"""The page that shows running queries, in a real browser that is driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.api.serving import TOKEN, serving
from tests.api.sites import JOIN, TABLES, site

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("FFF_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium on PATH, or its path in FFF_CHROMIUM"),
]
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

    async def until(self, script: str) -> Any:
        async with asyncio.timeout(60):
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


async def test_the_page_shows_queries_and_stops_them(publish, tmp_path):
    one = site()
    one.faults[("s", "3")] = "hang"
    sql = JOIN.replace(" FROM", """, "<img src=x onerror='document.title=1'>" AS hostile FROM""")
    async with serving(publish(one, TABLES)) as client, browsing(tmp_path / "profile") as tab:
        await tab.call("Page.enable")
        await tab.call("Page.navigate", url=client.url + "/")
        await tab.until("!document.getElementById('login').hidden")
        await tab.value(
            f"document.getElementById('token').value = {json.dumps(TOKEN)};"
            "document.querySelector('#login button').click()"
        )
        await tab.until("document.body.innerText.includes('no query of yours is under way')")
        assert await tab.value("document.getElementById('login').hidden")
        running = asyncio.create_task(client.query(sql))
        assert await tab.until("document.querySelector('#queries td')?.textContent") == sql
        cells = "[...document.querySelectorAll('#queries td')].map((one) => one.textContent)"
        _, phase, *_ = await tab.until(f"{cells}[6]?.includes('r.scan') && Number({cells}[4]) && {cells}")
        assert phase == "fetching"
        assert await tab.value("document.title") == "fff serve"
        assert not await tab.value("document.querySelector('#queries img')")
        await tab.value("document.querySelector('#queries button').click()")
        answer = (await asyncio.wait_for(running, 60)).json
        assert answer["complete"] is False
        assert answer["reason"].startswith("interrupted")
        await tab.until("document.body.innerText.includes('no query of yours is under way')")
        await tab.call("Page.navigate", url=f"{client.url}/#{TOKEN}")
        await tab.call("Page.reload")
        await tab.until("document.body.innerText.includes('no query of yours is under way')")
        assert TOKEN not in await tab.value("location.href"), "the token does not stay in the address"
        # Nothing but the page itself runs there, and nothing leaves it.
        refused = (
            "fetch('http://127.0.0.1:9/').then(() => 0, () => 1).then((n) => document.title = 'refused' + n)"
        )
        await tab.value(refused)
        await tab.until("document.title === 'refused1'")
