"""Start and stop the demo sources as a process of their own, so that their work is not done on the engine's core."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Self

from fff.errors import UsageError
from fff_sources.demo.data import DEFAULT_SEED

STOP_SECONDS = 2.0  # how long the sources get to stop by themselves


class DemoServer:
    """The demo sources, running while the context is open. `base_url` is where.

    The process notices when its standard input closes, so it also ends when this process dies without leaving
    the context. Raises UsageError when it cannot listen on the port asked for.
    """

    def __init__(self, *, seed: int = DEFAULT_SEED, delay_scale: float = 1.0, port: int = 0) -> None:
        self._arguments = ["--seed", str(seed), "--delay-scale", str(delay_scale), "--port", str(port)]
        self._process: subprocess.Popen[bytes] | None = None
        self.base_url = ""

    def __enter__(self) -> Self:
        # A session of its own: Ctrl-C in the terminal is for the query, which may still want the sources.
        self._process = subprocess.Popen(  # noqa: S603 - our own module, numbers as arguments
            [sys.executable, "-m", "fff_sources.demo.server", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self.base_url = f"http://127.0.0.1:{self._port(self._process)}"
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def wait(self) -> int:
        """Block until the sources end, however they do; their exit code."""
        assert self._process is not None, "not started"
        return self._process.wait()

    def stop(self) -> None:
        """Stop the sources; harmless when they already have."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @staticmethod
    def _port(process: subprocess.Popen[bytes]) -> int:
        assert process.stdout is not None
        line = process.stdout.readline()
        reply = json.loads(line) if line else {"error": "they ended before saying where they listen"}
        if "error" in reply:
            raise UsageError(
                f"the demo sources did not start: {reply['error']}",
                hint="another --port, or 0 for a free one" if line else None,
            )
        return int(reply["port"])
