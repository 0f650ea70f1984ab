"""Servers that are tools beside the checkout, each a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path


@contextlib.asynccontextmanager
async def running(script: Path, *options: str) -> AsyncIterator[str]:
    """The URL of a tool's server once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, str(script), "--port", str(port), *options)
    url = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(OSError):
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                await asyncio.sleep(0.05)
        yield url
    finally:
        process.terminate()
        await process.wait()
