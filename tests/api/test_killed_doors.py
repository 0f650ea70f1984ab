"""A door whose process is killed, or told to go, amid a query leaves nothing that is in anybody's way."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fff.spark.temp_folders import sweep
from tests.api.serving import COMMAND, TOKEN, calls
from tests.api.sites import JOIN, TABLES, site

GROUPED = "SELECT s.b, count(*) FROM web.r JOIN web.s ON r.b = s.a GROUP BY s.b"


Process = subprocess.Popen[str]


def nobody_waits_for(ask: Callable[[], object]) -> None:
    """The server is killed before it answers."""

    def until_it_is_killed() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, psycopg.Error):
            ask()

    threading.Thread(target=until_it_is_killed, daemon=True).start()


def post(url: str, body: Any, **headers: str) -> tuple[Any, str]:
    """The headers of an answer, and its text."""
    every = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), every)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.headers, reply.read().decode()


def told(process: Process, words: str) -> str:
    """What the server says behind these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line.partition(words)[2].split()[0]
    pytest.fail(f"it never said {words!r}")


def ask_web(process: Process, sql: str) -> None:
    """A query by HTTP."""
    url = told(process, "served at ")
    nobody_waits_for(lambda: post(f"{url}/v1/query", {"sql": sql}))


def ask_postgres(process: Process, sql: str) -> None:
    """A query by a client of PostgreSQL."""
    port = told(process, "postgresql://").rpartition(":")[2].partition("/")[0]
    url = f"postgresql://me:{TOKEN}@127.0.0.1:{port}/fff"

    def ask() -> None:
        with psycopg.connect(url, autocommit=True) as client:
            client.execute(sql)

    nobody_waits_for(ask)


def ask_agent_over_http(process: Process, sql: str) -> None:
    """A query by an agent that came by HTTP."""
    url, accept = told(process, "served at "), {"Accept": "application/json, text/event-stream"}
    begin, *rest = calls(sql)
    headers, _ = post(url, begin, **accept)
    session = accept | {"Mcp-Session-Id": headers["Mcp-Session-Id"]}

    def ask() -> None:
        for call in rest:
            post(url, call, **session)

    nobody_waits_for(ask)


def ask_agent(process: Process, sql: str) -> None:
    """A query by an agent."""
    assert process.stdin is not None
    for call in calls(sql):
        process.stdin.write(json.dumps(call) + "\n")
        process.stdin.flush()


DOORS: dict[str, tuple[tuple[str, ...], Callable[[Process, str], None]]] = {
    "serve": (("serve", "--port", "0"), ask_web),
    "postgres": (("serve", "--port", "0", "--postgres-port", "0"), ask_postgres),
    "mcp": (("mcp",), ask_agent),
    "mcp over http": (("mcp", "--http", "0"), ask_agent_over_http),
    "serve, with Spark": (("serve", "--port", "0"), ask_web),
}


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def running() -> str:
    """The command lines of all processes."""
    return subprocess.run(["ps", "axww", "-o", "args="], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["told", "killed"])
@pytest.mark.parametrize(
    "door", [pytest.param(name, marks=[pytest.mark.spark] * ("Spark" in name)) for name in DOORS]
)
def test_a_door_that_is_killed_leaves_nothing(publish, tmp_path: Path, door: str, number: int) -> None:
    if "mcp" in door:
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
        "FFF_MCP_TOKEN": TOKEN,
    }
    arguments, ask = DOORS[door]
    with subprocess.Popen(
        [*COMMAND, *arguments, "-s", str(spec), "--only", "web"],
        env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            ask(process, GROUPED if "Spark" in door else JOIN)
            until(one.hanging.is_set)
            if "Spark" in door:
                until(lambda: any(temporary.iterdir()))  # it has started
            assert process.poll() is None
            process.send_signal(number)
            process.wait(60)
        finally:
            process.kill()
    until(lambda: str(temporary) not in running())  # a JVM outlives the server by a moment
    if number == signal.SIGKILL:
        # If its JVM was not there yet to clean up, the next process that needs one does.
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(tempfile, "tempdir", str(temporary))
            sweep()
    assert not list(temporary.iterdir())
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
