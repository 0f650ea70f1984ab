"""Bodies that arrive in pieces."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Sequence

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
