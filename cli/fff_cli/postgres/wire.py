"""Messages of PostgreSQL's protocol, version 3: those of clients read, ours written (its manual, "Message Formats")."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: What a client may say at once, in bytes: SQL and the values of its parameters.
_MESSAGE_BYTES = 1024 * 1024
_STARTUP_BYTES = 10_000  # as PostgreSQL has it
_CANCEL, _TLS, _GSS, _VERSION = 80877102, 80877103, 80877104, 3 << 16


class ProtocolError(Exception):
    """A client does not speak the protocol, or says too much at once."""


@dataclass(frozen=True)
class Startup:
    """What a client says first: `settings` such as user and database, a wish for TLS, or which query to cancel."""

    kind: str  # start | tls | gss | cancel
    settings: Mapping[str, str] = field(default_factory=dict)
    process: int = 0
    secret: int = 0


class Body:
    """What a message holds, read from its front. Raises ProtocolError where it ends too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        part = self._data[self._at : self._at + size]
        if size < 0 or len(part) < size:
            raise ProtocolError("a message ends too soon")
        self._at += size
        return part

    def int16(self) -> int:
        """A whole number of two bytes."""
        return int(struct.unpack(">h", self.take(2))[0])

    def int32(self) -> int:
        """A whole number of four bytes."""
        return int(struct.unpack(">i", self.take(4))[0])

    def text(self) -> str:
        """A text that ends with a zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text has no end")
        part, self._at = self._data[self._at : end], end + 1
        try:
            return part.decode()
        except UnicodeDecodeError as error:
            raise ProtocolError("a text is not UTF-8") from error

    def value(self) -> bytes | None:
        """A value with its length in front; None for NULL."""
        size = self.int32()
        return None if size == -1 else self.take(size)

    def int16s(self) -> list[int]:
        """Numbers of two bytes, with how many there are in front."""
        return [self.int16() for _ in range(self.int16())]

    def ended(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._data)


async def read_startup(reader: asyncio.StreamReader) -> Startup:
    """What a client says first. Raises ProtocolError, IncompleteReadError."""
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    if not 8 <= size <= _STARTUP_BYTES:
        raise ProtocolError("this is not PostgreSQL's protocol")
    body = Body(await reader.readexactly(size - 4))
    code = body.int32()
    if code == _CANCEL:
        return Startup("cancel", process=body.int32(), secret=body.int32())
    if code in (_TLS, _GSS):
        return Startup("tls" if code == _TLS else "gss")
    if code >> 16 != _VERSION >> 16:
        raise ProtocolError(
            f"version {code >> 16}.{code & 0xFFFF} of the protocol is not spoken here, but 3.0"
        )
    settings: dict[str, str] = {}
    while not body.ended() and (name := body.text()):
        settings[name] = body.text()
    return Startup("start", settings)


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, Body]:
    """The next message: its letter and what it holds. Raises ProtocolError, IncompleteReadError."""
    letter, size = struct.unpack(">ci", await reader.readexactly(5))
    if not 4 <= size <= _MESSAGE_BYTES:
        raise ProtocolError(f"a message of {size:,} bytes, where {_MESSAGE_BYTES:,} are the most")
    return letter, Body(await reader.readexactly(size - 4))


def _message(letter: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return letter + struct.pack(">i", len(body) + 4) + body


def _zero(text: str) -> bytes:
    return text.replace("\0", "").encode() + b"\0"


PASSWORD_WANTED = _message(b"R", struct.pack(">i", 3))
WELCOME = _message(b"R", struct.pack(">i", 0))
PARSED, BOUND, CLOSED = _message(b"1"), _message(b"2"), _message(b"3")
NO_ROWS, SUSPENDED, EMPTY = _message(b"n"), _message(b"s"), _message(b"I")
COPIED = _message(b"c")


def setting(name: str, value: str) -> bytes:
    """A setting of the session, as clients are told of it."""
    return _message(b"S", _zero(name), _zero(value))


def cancel_key(process: int, secret: int) -> bytes:
    """What a client says to cancel a query of this session."""
    return _message(b"K", struct.pack(">ii", process, secret))


def ready(state: bytes) -> bytes:
    """The next statement may come. `state`: I outside a transaction, T inside, E inside one that has failed."""
    return _message(b"Z", state)


def done(tag: str) -> bytes:
    """A statement has ended well."""
    return _message(b"C", _zero(tag))


def parameters(kinds: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return _message(b"t", struct.pack(f">h{len(kinds)}I", len(kinds), *kinds))


def columns(described: Sequence[tuple[str, int, int, int]]) -> bytes:
    """The columns of a result: name, type, its size in bytes (-1: any) and the format, 0 for text."""
    parts = [
        _zero(name) + struct.pack(">IhIhih", 0, 0, kind, size, -1, form)
        for name, kind, size, form in described
    ]
    return _message(b"T", struct.pack(">h", len(parts)), *parts)


def rows(cells: Sequence[Sequence[bytes]], count: int) -> bytes:
    """Rows, from the cells of each column, which `values` has written with their lengths."""
    head = struct.pack(">h", len(cells))
    if not cells:
        return (b"D" + struct.pack(">i", 6) + head) * count
    bodies = map(b"".join, zip(*cells, strict=True))
    return b"".join([b"D" + struct.pack(">i", len(body) + 6) + head + body for body in bodies])


def copied_out(columns: int, *, binary: bool) -> bytes:
    """Rows of so many columns follow as COPY writes them."""
    form = int(binary)
    return _message(b"H", struct.pack(f">bh{columns}h", form, columns, *[form] * columns))


def copied(pieces: Sequence[bytes]) -> bytes:
    """Rows as COPY has written them, or what stands around them."""
    return b"".join([b"d" + struct.pack(">i", len(piece) + 4) + piece for piece in pieces if piece])


@dataclass(frozen=True)
class Remark:
    """What a client is told in words: an error, or a notice beside an answer. `position`: from 1, of the SQL."""

    code: str
    message: str
    hint: str | None = None
    position: int | None = None
    severity: str = "ERROR"

    def encoded(self) -> bytes:
        """The message."""
        fields = {"S": self.severity, "V": self.severity, "C": self.code, "M": self.message, "H": self.hint}
        if self.position is not None:
            fields["P"] = str(self.position)
        parts = [name.encode() + _zero(text) for name, text in fields.items() if text]
        return _message(b"E" if self.severity in ("ERROR", "FATAL") else b"N", *parts, b"\0")
