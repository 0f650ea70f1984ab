"""Bodies that arrive in pieces."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from tests.web.serving import Handler


def dribbling(parts: Sequence[bytes], headers: dict[str, str] | None = None) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers=headers or {})
        await answer.prepare(request)
        for part in parts:
            await answer.write(part)
            await asyncio.sleep(0)
        return answer

    return handler


def cut(body: bytes, rng: random.Random) -> list[bytes]:
    places = sorted({0, len(body), *(rng.randrange(len(body) + 1) for _ in range(12))})
    return [body[a:b] for a, b in itertools.pairwise(places)]


def csv_of(count: int, rng: random.Random) -> tuple[bytes, list[dict[str, Any]]]:
    """A file, and the rows in it; cells hold quotes, commas and ends of lines."""
    cells = ["plain", '"a, b"', '"two\nlines"', '"says ""no"""', "", '"#\n#"', "Zürich"]
    values = ["plain", "a, b", "two\nlines", 'says "no"', None, "#\n#", "Zürich"]
    chosen = [rng.randrange(len(cells)) for _ in range(count)]
    before = rng.choice(["", "\ufeff"]) + rng.choice(["", "\n"]) + '# "first\n\n'
    text = before + "n,word\n" + "".join(f"{n},{cells[at]}\n" for n, at in enumerate(chosen))
    return text.encode(), [{"n": n, "word": values[at]} for n, at in enumerate(chosen)]
