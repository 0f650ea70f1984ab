"""Lines of standard input as they come, read so that nobody waits for the next one who is to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator

from fff.errors import UsageError


async def lines_of_standard_input() -> AsyncIterator[str]:
    """Each line, to the end of standard input, which is empty for all that is started here. Raises UsageError.

    A daemon reads it: no signal and no end of the loop wakes who waits for a client that says nothing.
    """
    if sys.stdin is None:
        raise UsageError("standard input is closed", hint="agents ask there, or at --http PORT")
    source = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes]()

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            with contextlib.suppress(OSError):
                for line in source:
                    loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, b"")

    threading.Thread(target=read, name="fff-stdin", daemon=True).start()
    while line := await queue.get():
        yield line.decode("utf-8", "replace")
