"""Time as the web client sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from fff.structs import Struct


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class Clock(Struct, frozen=True):
    """Steady time, wall time and waiting; tests, replays and the simulation bring their own."""

    now: Callable[[], float] = _loop_time  # steady seconds
    wall: Callable[[], float] = time.time  # seconds since the epoch, for dates in headers
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
