"""`fff serve` for tests: as a process that a user would start, or in this one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from fff_cli.run.federation import open_federation
from fff_cli.serve.queries import Queries, ServeLimits
from fff_cli.serve.web import WebDoor

TOKEN = "0123456789abcdef-token"
COMMAND = (sys.executable, "-m", "fff_cli")


PROTOCOL = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@dataclass
class Answer:
    """What came of a statement."""

    status: int
    headers: Mapping[str, str]
    data: bytes
    whole: bool = True  # whether the transfer came to its end

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.data.splitlines()]

    @property
    def events(self) -> list[tuple[str, Any]]:
        found = []
        for one in self.data.decode().split("\n\n")[:-1]:
            name, data = one.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        return found


@dataclass
class Caller:
    """A client of a server."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str] = field(default_factory=lambda: {"Authorization": f"Bearer {TOKEN}"})

    async def query(self, sql: str, accept: str = "application/json", **members: Any) -> Answer:
        headers = self.headers | {"Accept": accept}
        reply = await self.http.post(f"{self.url}/v1/query", json={"sql": sql, **members}, headers=headers)
        async with reply:
            data, whole = b"", True
            try:
                async for piece in reply.content.iter_any():
                    data += piece
            except aiohttp.ClientPayloadError:
                whole = False
            return Answer(reply.status, reply.headers, data, whole)

    async def call(self, method: str, path: str, **more: Any) -> Answer:
        headers = self.headers | more.pop("headers", {})
        async with self.http.request(method, self.url + path, headers=headers, **more) as reply:
            return Answer(reply.status, reply.headers, await reply.read())


@contextlib.asynccontextmanager
async def serving(
    spec: Path,
    limits: ServeLimits | None = None,
    *,
    tokens: Mapping[str, str] | None = None,
    max_age: float = 60.0,
    spark: Callable[[Any], object] | None = None,
) -> AsyncIterator[Caller]:
    """A server in this process; `spark` gives its federation what stands in the place of Spark."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        federation = open_federation([spec], keep=True, max_age=max_age, cache=False, local_files=False)
        async with federation:
            if spark is not None:
                spark(federation)
            door = WebDoor(Queries(federation, limits or ServeLimits()), tokens or {"": TOKEN})
            async with door.listening(bound, None), aiohttp.ClientSession() as http:
                yield Caller(http, f"http://127.0.0.1:{bound.getsockname()[1]}")


@dataclass
class ServerProcess:
    """A server as a process: what it said first, and where it is."""

    process: subprocess.Popen[str]
    url: str
    said: str

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextlib.contextmanager
def started(
    spec: Path, *arguments: str, token: str | None = TOKEN, only: str = "web"
) -> Iterator[ServerProcess]:
    """`fff serve`, ready."""
    environ = {name: value for name, value in os.environ.items() if name != "FFF_SERVE_TOKEN"}
    environ |= {} if token is None else {"FFF_SERVE_TOKEN": token}
    where = () if "--socket" in arguments else ("--port", "0")
    command = [*COMMAND, "serve", "-s", str(spec), "--only", only, "--no-cache", *where, *arguments]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            found = re.search(r"served at (\S+)", first)
            assert found is not None, first + process.stderr.read()
            said = first + (process.stderr.readline() if token or "--socket" not in arguments else "")
            yield ServerProcess(process, found[1], said)
        finally:
            process.kill()
            process.stderr.close()


def has_ipv6() -> bool:
    """Whether this machine can listen on IPv6's loopback."""
    try:
        with socket.socket(socket.AF_INET6) as bound:
            bound.bind(("::1", 0))
    except OSError:
        return False
    return True


def command(*arguments: str, cwd: Path, token: str | None = TOKEN) -> subprocess.CompletedProcess[str]:
    """`fff` with these arguments."""
    environ = dict(os.environ) | ({} if token is None else {"FFF_SERVE_TOKEN": token})
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def calls(sql: str) -> list[dict[str, Any]]:
    """What an agent says to have a query run."""
    several = (
        ("initialize", PROTOCOL),
        ("notifications/initialized", {}),
        ("tools/call", {"name": "query", "arguments": {"sql": sql}}),
    )
    return [
        {"jsonrpc": "2.0", "method": method, "params": params} | ({} if "/init" in method else {"id": number})
        for number, (method, params) in enumerate(several)
    ]
