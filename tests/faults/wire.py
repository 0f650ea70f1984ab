"""A loopback server that writes bytes: whatever can go wrong between a socket and a record is put on the wire as it is."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

Then = Literal["keep", "close", "reset", "stall"]


@dataclass(frozen=True)
class Asked:
    """One request: `target` is its path and query as they came."""

    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    def first(self, name: str, otherwise: str) -> str:
        return self.query.get(name, [otherwise])[0]


@dataclass
class Reply:
    """One answer. `sent` stands for what is written in place of the body, `raw` in place of everything; then `then`."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    sent: bytes | None = None
    raw: bytes | None = None
    then: Then = "keep"

    def head(self) -> bytes:
        headers = {"Content-Length": str(len(self.body))} | self.headers
        if self.status == 204 or "Transfer-Encoding" in headers or headers["Content-Length"] == "":
            headers.pop("Content-Length")
        lines = [f"HTTP/1.1 {self.status} Status", *(f"{name}: {text}" for name, text in headers.items())]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    def bytes(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return self.head() + (self.body if self.sent is None else self.sent)


def chunked(body: bytes, *, end: bytes = b"0\r\n\r\n", size: int = 700) -> bytes:
    """A body in chunks, with another end than it should have where that is given."""
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


Site = Callable[[Asked], Reply]


class Server:
    """Sites by the first part of the path. One process has one of it, for all cells."""

    def __init__(self) -> None:
        self.sites: dict[str, Site] = {}
        self.url = ""
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await self._exchange(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection lives on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): text.strip() for name, _, text in (line.partition(":") for line in head[1:] if line)
        }
        await reader.readexactly(int(headers.get("content-length", "0")))
        target = head[0].split(" ")[1]
        site = self.sites.get(target.split("/")[1].split("?")[0])
        reply = site(Asked(target, headers)) if site is not None else Reply(status=404)
        writer.write(reply.bytes())
        await writer.drain()
        if reply.then == "stall":
            await reader.read()  # until the other side gives up
        elif reply.then == "reset":
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return reply.then == "keep"


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[Server]:
    """A running server."""
    server = Server()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
