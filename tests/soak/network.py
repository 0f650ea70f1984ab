"""The network in memory: an event loop in virtual time whose connections lead to a scripted server, byte by byte.

aiohttp, and all of FFF above it, runs as it does on a real network: it resolves a name, connects a socket, writes a request and
is given bytes. Below there is no system: the loop answers in its place.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fff.simulation.loop import VirtualLoop
from tests.faults.wire import Asked, Reply
from tests.soak.weather import Fate, Weather

HOST = "web.example"
#: Of the documentation of networks, but no private one: names that lead there are trusted.
ADDRESS = "93.184.215.14"


@dataclass
class Exchange:
    """One request as it was seen on the wire, in virtual seconds."""

    target: str
    sent: float
    arrived: float | None = None
    ended: float | None = None  # the last byte that its head tells of was given out, or the connection closed
    status: int | None = None
    whole: bool = False  # all of the answer was handed over
    asked_to_wait: float | None = None  # by Retry-After


@dataclass
class Network:
    """The far side of all connections: what was asked when, and how many connections there are."""

    weather: Weather
    site: Callable[[Asked], Reply]
    exchanges: list[Exchange] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    links: set[Link] = field(default_factory=set)
    delivered: int = 0  # bytes
    unread: int = 0  # requests that came over a connection which was being closed behind the answer before

    def note(self, text: str) -> None:
        """A line of the log, with the time."""
        self.log.append(f"{asyncio.get_running_loop().time():.6f} {text}")


class Loop(VirtualLoop):
    """An event loop whose every connection leads to one simulated host."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:  # type: ignore[override]
        """The address of the one host that there is."""
        await asyncio.sleep(self._network.weather.resolving())
        if host not in (HOST, ADDRESS) or self._network.weather.strikes("no name"):
            self._network.note(f"no name {host}")
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, int(port)))]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """As the other side lets us."""
        await asyncio.sleep(self._network.weather.on_the_way())
        if self._network.weather.strikes("refused"):
            self._network.note("refused")
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        if self._network.weather.strikes("no way in"):
            self._network.note("no way in")
            await asyncio.get_running_loop().create_future()

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], *_: Any, sock: socket.socket, **__: Any
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """A connection in memory in the place of one over the socket, which is let go."""
        sock.close()
        protocol = protocol_factory()
        link = Link(self, protocol, self._network)
        protocol.connection_made(link)
        return link, protocol


class Link(asyncio.Transport):
    """One connection: the transport that the client writes to, and the server at its end."""

    def __init__(self, loop: Loop, protocol: asyncio.Protocol, network: Network) -> None:
        super().__init__()
        self._loop, self._protocol, self._network = loop, protocol, network
        self._asked = b""
        self._closing = False
        self._gone = False  # the server has closed its side; the client may not know yet
        self._reading = asyncio.Event()
        self._reading.set()
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        network.links.add(self)

    # ------------------------------------------------------------------------------------------- the client's side

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (ADDRESS, 80) if name == "peername" else default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol  # type: ignore[assignment]

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading.is_set()

    def pause_reading(self) -> None:
        self._reading.clear()

    def resume_reading(self) -> None:
        self._reading.set()

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def write(self, data: Any) -> None:
        if self._closing:
            return
        self._asked += bytes(data)
        head, split, rest = self._asked.partition(b"\r\n\r\n")
        if not split or self._exchange is not None:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines[1:])
        }
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self._asked = rest[length:]
        asked = Asked(lines[0].split(" ")[1], headers)
        self._exchange = Exchange(asked.target, self._loop.time())
        self._network.exchanges.append(self._exchange)
        self._network.note(f"asks {asked.target}")
        if self._idle is not None:
            self._idle.cancel()
        self._task = self._loop.create_task(self._serve(asked, self._exchange))

    def close(self) -> None:
        self._end(None)

    def abort(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        """Both sides are done with it."""
        if self._closing:
            return
        self._closing = True
        self._network.links.discard(self)
        self._network.unread += bool(self._asked)
        self._over()
        if self._idle is not None:
            self._idle.cancel()
        if self._task is not None and self._task is not asyncio.current_task(self._loop):
            self._task.cancel()
        self._loop.call_soon(self._protocol.connection_lost, error)

    def _over(self) -> None:
        self._ended()
        self._exchange = None

    def _ended(self) -> None:
        if self._exchange is not None and self._exchange.ended is None:
            self._exchange.ended = self._loop.time()

    # ------------------------------------------------------------------------------------------- the server's side

    async def _serve(self, asked: Asked, exchange: Exchange) -> None:
        weather, note = self._network.weather, self._network.note
        await asyncio.sleep(weather.on_the_way())
        if self._gone:  # it crossed the end of the connection
            note(f"crossed {asked.target}")
            self._end(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
            return
        exchange.arrived = self._loop.time()
        fate = weather.fate(asked, exchange.arrived)
        leave = weather.entered(fate)
        try:
            await asyncio.sleep(weather.thinking())
        finally:
            leave()
        # What never reaches the site was not done: a source is asked by the requests that it answers.
        reply = fate.instead if fate.instead is not None else fate.change(self._network.site(asked))
        await asyncio.sleep(weather.on_the_way())
        exchange.status = None if reply.raw is not None else reply.status
        if await self._give(reply.bytes(), fate, _told(reply)):
            exchange.asked_to_wait = weather.told_to_wait(reply)
        note(f"{reply.status} {reply.then} {fate.name} {asked.target}")
        if reply.then in ("reset", "close") and not self._network.weather.strikes_at_once():
            await asyncio.sleep(0.001)  # what came has been read by then
        match reply.then:
            case "stall":
                if not self._closing:
                    await self._loop.create_future()
            case "reset":
                self._end(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))
            case "close":
                self._close_by_server()
            case _:
                exchange.whole = True
                self._over()
                if (idle := weather.idle()) is not None:
                    self._idle = self._loop.call_later(idle, self._tired)

    async def _give(self, data: bytes, fate: Fate, told: int | None) -> bool:
        """The bytes, in pieces; whether the client, which may have gone, was given all of the head.

        For the client the answer is over with the bytes that it was `told` of, whatever the server goes on to send.
        """
        given = b""
        for piece, pause in self._network.weather.pieces(data, fate):
            if self._closing:  # by the client, at what had come
                continue
            if pause:
                await asyncio.sleep(pause)
            await self._reading.wait()
            self._network.delivered += len(piece)
            given += piece
            if told is not None and len(given) >= told:
                self._ended()
            self._protocol.data_received(piece)
        return b"\r\n\r\n" in given

    def _tired(self) -> None:
        """The server closes a connection that nothing came over; that takes its time to be known."""
        self._gone = True
        self._idle = self._loop.call_later(self._network.weather.on_the_way(), self._close_by_server)

    def _close_by_server(self) -> None:
        if not self._closing:
            self._protocol.eof_received()
            self._end(None)


def _told(reply: Reply) -> int | None:
    """How many bytes the head of an answer says that there are, itself among them; None where it does not say."""
    length = reply.headers.get("Content-Length", "")
    if reply.raw is not None or not length.isdecimal():
        return None
    return len(reply.head()) + int(length)
