"""The page that shows running queries, in a real browser that is driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.api.browser import BROWSER, browsing
from tests.api.serving import TOKEN, serving
from tests.api.sites import JOIN, TABLES, site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium on PATH, or its path in FFF_CHROMIUM"),
]


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
