"""One ceiling for all tasks of a Spark session: who leases requests to them listens on the driver's host.

`fff.web.gate.leases` decides; here are sockets, lines of JSON, and the proof that a task is one of ours:
it knows the token, which does not go over the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import secrets
import socket
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fff.api.loop import LoopThread
from fff.errors import UsageError
from fff.web.gate.leased import LeaseLine, LeaseWire
from fff.web.gate.leases import Message, SharedCeiling

#: Where somebody leases already: `host:port`, and what proves that one belongs to it.
ADDRESS, TOKEN = "FFF_CEILING", "FFF_CEILING_TOKEN"
_GREETING_S = 5.0  # seconds until who is there has answered
#: A machine that is gone says nothing: seconds of silence before it is asked, between questions, how many.
_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}

_log = logging.getLogger("fff")


@dataclass(frozen=True)
class CeilingAddress:
    """Where tasks lease their requests. Can be pickled."""

    host: str
    port: int
    token: bytes = field(repr=False)

    @classmethod
    def of(cls, address: str, token: str) -> CeilingAddress:
        """From `host:port` and what proves who asks. Raises UsageError."""
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        if not host or not port.isdecimal() or not token:
            raise UsageError(
                f"no host, port and token of a ceiling: {address!r}",
                hint=f"set {ADDRESS}=host:port and {TOKEN}",
            )
        return cls(host.strip("[]"), int(port), token.encode())

    @property
    def options(self) -> dict[str, str]:
        """As options of `spark.read.format("fff")`; Spark shows none whose name has `token` in it."""
        return {"ceiling": f"{self.host}:{self.port}", "ceiling_token": self.token.decode()}

    def line(self, job: str, task: int, tasks: int) -> LeaseLine:
        """The leases of a task, by its number, of a job of so many."""
        who = [job, task, tasks]

        async def connect(receive: Callable[[Message], None], ended: Callable[[], None]) -> LeaseWire:
            async with asyncio.timeout(_GREETING_S):
                reader, writer = await asyncio.open_connection(self.host, self.port)
                try:
                    nonce = json.loads(await reader.readline())
                    _write(writer, [_proof(self.token, nonce, who), *who])
                    if (await reader.readline()).strip() != json.dumps(
                        _proof(self.token, nonce, "welcome")
                    ).encode():
                        raise ValueError("its token is another one")
                except BaseException:
                    writer.close()
                    raise
            _keep_alive(writer)
            return _TaskWire(reader, writer, receive, ended)

        return LeaseLine(connect, tasks, self.token)


def ceiling_of(spark: Any) -> CeilingAddress | None:
    """Where the tasks of a session lease requests: as the environment says, else here, listening from now on.

    None for a session of Spark Connect, whose tasks do not reach this process, and where nothing can listen.
    It ends with the session. Raises UsageError.
    """
    if os.environ.get(ADDRESS):
        return CeilingAddress.of(os.environ[ADDRESS], os.environ.get(TOKEN, ""))
    context = getattr(spark, "sparkContext", None)
    return None if context is None else _SERVICES.of(context)


def ceiling(spark: Any) -> dict[str, str]:
    """Options for `spark.read.format("fff")` with which its tasks keep one ceiling with all of the session.

    `fff.lookup` and `fff.read` need none. Without any where nobody can lease: tasks have static shares then.
    Raises UsageError.
    """
    known = ceiling_of(spark)
    return {} if known is None else known.options


class CeilingService:
    """Listens, from its making until `stop`. Raises OSError.

    Args:
        host, port: where to listen; 0: any port that is free.
        token: what tasks prove to know.
    """

    def __init__(self, host: str, port: int = 0, token: bytes | None = None) -> None:
        self.token = token or secrets.token_hex(16).encode()
        self._ceiling = SharedCeiling()
        self._loop = LoopThread()
        try:
            self._server = self._loop.run(_listening(self._serve, host, port))
        except OSError:
            self._loop.stop()
            raise
        self.port: int = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Tasks that still run go on with static shares. May be called again."""
        self._loop.finish(self._end())
        self._loop.stop()

    async def _end(self) -> None:
        self._server.close()
        self._ceiling.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError), contextlib.closing(writer):
            _keep_alive(writer)
            nonce = secrets.token_hex(16)
            _write(writer, nonce)
            async with asyncio.timeout(_GREETING_S):
                proof, *who = json.loads(await reader.readline())
            if not hmac.compare_digest(proof, _proof(self.token, nonce, who)):
                return
            _write(writer, _proof(self.token, nonce, "welcome"))
            job, task, tasks = who
            leasing = self._ceiling.enter(job, task, tasks, lambda message: _write(writer, message))
            try:
                while line := await reader.readline():
                    leasing.receive(json.loads(line))
            finally:
                leasing.leave()


class _TaskWire:
    """A task's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, receive: Callable[[Message], None], ended: Callable[[], None]) -> None:  # fmt: skip
        self._writer = writer
        self._listening = asyncio.create_task(self._listen(reader, receive, ended))

    def send(self, message: Message) -> None:
        _write(self._writer, message)

    async def close(self) -> None:
        with contextlib.suppress(OSError):
            await self._writer.drain()
        self._listening.cancel()
        self._writer.close()

    @staticmethod
    async def _listen(reader: asyncio.StreamReader, receive: Callable[[Message], None], ended: Callable[[], None]) -> None:  # fmt: skip
        try:
            with contextlib.suppress(OSError, ValueError):
                while line := await reader.readline():
                    receive(json.loads(line))
        finally:
            ended()


class _Services:
    """Those of this process's sessions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakKeyDictionary[Any, CeilingAddress] = weakref.WeakKeyDictionary()

    def of(self, context: Any) -> CeilingAddress | None:
        """That of a Spark context; None where nothing can listen."""
        with self._lock:
            if context in self._known:
                return self._known[context]
            local = context.master == "local" or context.master.startswith("local[")
            host = "127.0.0.1" if local else context.getConf().get("spark.driver.host", "127.0.0.1")
            bound = host if local else context.getConf().get("spark.driver.bindAddress", host)
            try:
                service = CeilingService(bound)
            except OSError as error:
                _log.warning("tasks have static shares of the ceiling: cannot listen at %s: %s", bound, error)
                return None
            weakref.finalize(context, service.stop)
            self._known[context] = CeilingAddress(host, service.port, service.token)
            return self._known[context]


_SERVICES = _Services()


async def _listening(serve: Any, host: str, port: int) -> asyncio.Server:
    return await asyncio.start_server(serve, host, port)


def _proof(token: bytes, nonce: object, message: object) -> str:
    return hmac.new(token, json.dumps([nonce, message]).encode(), "sha256").hexdigest()


def _write(writer: asyncio.StreamWriter, message: object) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(message).encode() + b"\n")


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        if hasattr(socket, name):  # not everywhere
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def main(address: str) -> None:
    """Lease requests at `host:port` to whoever knows the token, until the process is ended.

    Raises UsageError, OSError.
    """
    known = CeilingAddress.of(address, os.environ.get(TOKEN, ""))
    CeilingService(known.host, known.port, known.token)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
