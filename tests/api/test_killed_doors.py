"""A door whose process is killed, or told to go, amid a query leaves nothing that is in anybody's way."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from typing import IO

import pytest

from tests.api.serving import COMMAND, TOKEN
from tests.api.sites import JOIN, TABLES, site

PROTOCOL = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def ask_web(process: subprocess.Popen[str]) -> None:
    """A query by HTTP that nobody waits for."""
    assert process.stderr is not None
    url = process.stderr.readline().partition("served at ")[2].split()[0]
    body = json.dumps({"sql": JOIN}).encode()
    request = urllib.request.Request(f"{url}/v1/query", body, {"Authorization": f"Bearer {TOKEN}"})

    def ask() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):  # it was killed
            urllib.request.urlopen(request, timeout=60).read()

    threading.Thread(target=ask, daemon=True).start()


def ask_agent(process: subprocess.Popen[str]) -> None:
    """A query by an agent."""
    to: IO[str] | None = process.stdin
    assert to is not None
    for number, (method, params) in enumerate(
        (
            ("initialize", PROTOCOL),
            ("notifications/initialized", {}),
            ("tools/call", {"name": "query", "arguments": {"sql": JOIN}}),
        )
    ):
        call = {"jsonrpc": "2.0", "method": method, "params": params}
        to.write(json.dumps(call if "/init" in method else call | {"id": number}) + "\n")
        to.flush()


DOORS = {
    "serve": (("serve", "--port", "0"), ask_web),
    "postgres": (("serve", "--port", "0", "--postgres-port", "0"), ask_web),
    "mcp": (("mcp",), ask_agent),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["told", "killed"])
@pytest.mark.parametrize("door", DOORS)
def test_a_door_that_is_killed_leaves_nothing(publish, tmp_path: Path, door: str, number: int) -> None:
    if door == "mcp":
        pytest.importorskip("mcp")
    if door == "postgres":
        pytest.importorskip("duckdb")
    one = site()
    one.faults[("s", "3")] = "hang"
    spec = publish(one, TABLES)
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    environ = dict(os.environ) | {
        "XDG_CACHE_HOME": str(cache),
        "TMPDIR": str(temporary),
        "FFF_SERVE_TOKEN": TOKEN,
    }
    arguments, ask = DOORS[door]
    with subprocess.Popen(
        [*COMMAND, *arguments, "-s", str(spec), "--only", "web"],
        env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            ask(process)
            until = time.monotonic() + 60
            while not one.hanging.is_set():
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            process.send_signal(number)
            process.wait(60)
        finally:
            process.kill()
    assert list(temporary.iterdir()) == []
    one.faults.clear()
    rows = cache / "fff" / "rows"
    rows.mkdir(parents=True, exist_ok=True)
    (rows / "half.part").write_bytes(b"half of an answer")  # as if it was writing
    for path in cache.rglob("*.part"):
        os.utime(path, (0, 0))  # when nobody can be writing any more
    for _ in range(2):  # what is in the cache is whole, and nobody holds it
        done = subprocess.run(
            [*COMMAND, "query", "-s", str(spec), "--cache", "-o", "json", JOIN],
            env=environ, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)) == 45
    assert list(cache.rglob("*.part")) == []
    assert list(temporary.iterdir()) == []
