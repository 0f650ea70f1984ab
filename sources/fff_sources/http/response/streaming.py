"""Large bodies of lines (CSV, NDJSON) handed on piece by piece while they still arrive.

A connection may break and the request be sent again: what was handed on cannot be taken back, so the second
answer must begin with the same bytes, and goes on behind them.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import math
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Collection, Iterator, Mapping
from typing import BinaryIO, Protocol

from fff.errors import SourceError
from fff.structs import Struct
from fff.web.types import Response
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response.text.csv_quotes import enclose_cells
from fff_sources.http.response.text.csv_text import (
    charset_of,
    head_of,
    marked_encoding,
    newlines,
    uncommented,
)

#: What gzip files begin with, and zip files that have something in them.
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
#: Formats made of lines.
LINES = frozenset({"csv", "ndjson"})
#: Bytes that are read together; a body that is not longer is read as a whole.
PIECE = 2**20
_BEHIND = "something is behind what is packed"
_NO_SUCH_PAGE = frozenset({400, 404, 410, 416, 422})
#: Encodings, beside UTF-8, in which a line ends with the byte that ends one in ASCII.
_LINEAR = ("iso8859", "cp125", "koi8")


class BodyChangedError(Exception):
    """The second answer does not begin like the first."""


class Piece(Struct, frozen=True):
    """Some whole lines of a body, as an answer of their own.

    `line` is how many stand before them; of CSV, whose records are told by their place, how many pieces do,
    the header for one. `lines`: how many they are, where they were counted. `sound`: quotes stand around
    whole cells of it.
    """

    response: Response
    line: int
    lines: int | None = None
    sound: bool = False


class Arriving:
    """The body of one answer, while it comes. Implements `fff.web.types.Arrivals`.

    Args:
        delimiter: of CSV, where lines may be broken inside of quotes and the first one names the columns of
            all; None: of other lines.
        comment: lines of CSV that begin so are no header.
        skip_rows: so many rows after the header are in no piece.
        encoding: whatever the answer says of itself.
    """

    def __init__(
        self,
        delimiter: str | None = None,
        *,
        comment: str | None = None,
        skip_rows: int = 0,
        encoding: str | None = None,
    ) -> None:
        self._csv = delimiter is not None
        self._delimiter = delimiter or ""
        self._comment = None if comment is None else comment.encode()
        self._skip_rows = skip_rows
        self._encoding = encoding
        self._headers: Mapping[str, str] = {}
        self._linear = False
        self._waiting: deque[bytes] = deque()  # as it came: it is copied once, into the piece
        self._waits = 0  # bytes of that
        self._enough = 0  # bytes that must wait before it is worth looking for the end of a line again
        self._header = b""
        self._head = b""  # with the rows after it that are in no piece
        self._line = 0
        self._handed = 0  # bytes in pieces, and of the header
        self._received = 0
        self._digest = 0  # against accident, not malice: whoever wrote the first answer wrote the second
        self._skip = 0  # bytes that are to come once more
        self._again = 0
        self._unpacked: _Inflating | None = None
        self._limit = math.inf
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self.url = ""  # as it may be shown in errors
        self.pieces = 0
        self.dropped = False  # whether the answer holds only what is in no piece

    def unpack(self, limit: int) -> None:
        """The body may be a gzip file; of one that is larger than so many bytes nothing more is heard."""
        self._limit, self._unpacked = limit, _Inflating()

    def begin(self, headers: Mapping[str, str]) -> None:
        """An answer begins, perhaps for another time."""
        if self._unpacked is not None:
            self._unpacked = _Inflating()
        self._headers = headers
        self._skip, self._again = self._received, 0
        self._linear = _is_linear(self._encoding or charset_of(headers))

    def take(self, data: bytes) -> None:
        """More of the body. Raises BodyChangedError."""
        with contextlib.suppress(zlib.error):  # whoever reads the whole tells what is wrong
            for part in [data] if self._unpacked is None else self._unpacked.take(data):
                if self._received <= self._limit:
                    self._take(part)

    def _take(self, data: bytes) -> None:
        if self._skip:
            again, data = data[: self._skip], data[self._skip :]
            self._again = zlib.crc32(again, self._again)
            self._skip -= len(again)
            if not self._skip and self._again != self._digest:
                raise BodyChangedError("the body was another when it was asked for again")
        self._digest = zlib.crc32(data, self._digest)
        self._received += len(data)
        if data:
            self._waiting.append(data)
        self._waits += len(data)
        if self._waits >= PIECE:
            self._news.set()

    def check(self, response: Response) -> None:
        """Raises BodyChangedError where an answer has not even what was handed on: it took the place of one that broke off."""
        least = self._handed if self._unpacked is None else 1
        if self.pieces and (self._skip or len(response.body) < least):
            raise BodyChangedError("the body was another, and shorter, when it was asked for again")

    async def whole_pieces(self, answer: asyncio.Future[Response]) -> AsyncGenerator[Piece]:
        """What can be read before the answer has ended; what is left over is in `rest`."""
        answer.add_done_callback(self._over)
        while True:
            if self._linear and self._waits >= max(PIECE, self._enough):
                piece = self._cut()
                # Twice as many: so what is looked at in all grows no faster than the body, however long a
                # line is.
                self._enough = 0 if piece is not None else 2 * self._waits
                self._room.set()
                if piece is not None:
                    yield piece
                    await asyncio.sleep(0)
            elif answer.done():
                return
            else:
                self._news.clear()
                await self._news.wait()

    async def room(self) -> None:
        """Comes back when more should come: what waits is no piece yet, or will be in none."""
        while self._linear and self._waits >= max(PIECE, self._enough):
            self._room.clear()
            await self._room.wait()

    def remainder(self) -> bytes:
        """A body to answer with where nobody has kept the whole: what `rest` needs of it."""
        self.dropped, self._handed = self.pieces > 0, len(self._header)
        body = b"".join((self._header if self.pieces else self._head, *self._waiting))
        self._waiting.clear()
        self._waits = 0
        return body

    def rest(self, response: Response) -> Piece:
        """What of the whole body was in no piece yet."""
        if not self.pieces:
            return Piece(response, 0)
        return self._piece(memoryview(response.body)[self._handed :], response.url)

    def _over(self, answer: asyncio.Future[Response]) -> None:
        del answer
        self._news.set()

    def _cut(self) -> Piece | None:
        """The whole lines at the beginning of what waits; None where there is none."""
        if not self._handed and self._encoding is None:
            data = self._first(self._waits)
            mark = marked_encoding(data)
            if mark not in (None, "utf-8"):
                self._linear = False
                return None
            if mark is not None and not self._csv:
                # Each piece must begin with the mark, as pieces of CSV do with the header that has it.
                self._header = self._head = codecs.BOM_UTF8
                self._let_go(data, len(self._header), 0)
        if self._csv and not self._header:
            data = self._first(self._waits)
            head = head_of(data, self._comment, self._skip_rows)
            if head is None:
                return None
            self._header, self._head = data[: head[0]], data[: head[1]]
            self._let_go(data, head[1], 1)
            if not self._waits:
                return None
        for size in (4 * PIECE, self._waits):
            data = self._first(size)
            if self._csv and not self._encloses_cells(data):
                self._linear = False  # where records end is for the reader of the whole to say
                return None
            end = last_row_end(data, self._comment) if self._csv else data.rfind(b"\n") + 1
            if end:
                part = data if end == len(data) else memoryview(data)[:end]
                lines = None if self._csv else newlines(data, end)
                piece = self._piece(part, self.url, lines, sound=self._csv)
                self._let_go(data, end, lines or 1)
                self.pieces += 1
                return piece
        return None

    def _first(self, size: int) -> bytes:
        """So many bytes of what waits, or a little more; up to the end of a line where the last part has one."""
        parts, rest = [], b""
        while self._waiting and size > 0:
            parts.append(self._waiting.popleft())
            size -= len(parts[-1])
        end = parts[-1].rfind(b"\n") + 1
        if end:
            parts[-1], rest = parts[-1][:end], parts[-1][end:]
        data = b"".join(parts)
        self._waiting.extendleft(part for part in (rest, data) if part)
        return data

    def _encloses_cells(self, data: bytes) -> bool:
        """Whether quotes stand around whole cells and nowhere else."""
        if b'"' not in data:
            return True
        text = data if self._comment is None else uncommented(data, self._comment)
        return enclose_cells(text, self._delimiter)

    def _let_go(self, data: bytes, count: int, lines: int) -> None:
        """So many bytes of `data`, the first that waits, are in pieces, and count as so many lines."""
        self._line += lines
        self._handed += count
        self._waits -= count
        self._waiting[0] = data[count:]
        if not self._waiting[0]:
            self._waiting.popleft()

    def _piece(
        self, part: bytes | memoryview, url: str, lines: int | None = None, *, sound: bool = False
    ) -> Piece:
        body = part if isinstance(part, bytes) and not self._header else b"".join((self._header, part))
        return Piece(Response(200, self._headers, body, url), self._line, lines, sound)


def unpacked(file: BinaryIO) -> Iterator[bytes]:
    """What a gzip file holds, and of any other what it is. Raises zlib.error."""
    inflating = _Inflating()
    for part in iter(lambda: file.read(PIECE), b""):
        yield from inflating.take(part)
    yield inflating.end()


class _Inflating:
    """Unpacks gzip files of any number of members, which zeros may follow; passes on what is none."""

    def __init__(self) -> None:
        self._begin = b""  # of a file or a member
        self._plain: bool | None = None
        self._inflate: zlib._Decompress | None = None

    def take(self, data: bytes) -> Iterator[bytes]:
        """What more of a file brings. Raises zlib.error."""
        part = b""
        while data or len(part) >= PIECE:
            if self._inflate is None and not self._plain:
                data, self._begin = self._begin + data, b""
                if self._plain is not None:
                    data = data.lstrip(b"\0")
                if data.startswith(GZIP):
                    self._plain, self._inflate = False, zlib.decompressobj(wbits=31)
                elif len(data) < len(GZIP):
                    self._begin = data
                    return
                elif self._plain is not None:
                    raise zlib.error(_BEHIND)
                else:
                    self._plain = True
            if self._inflate is None:
                yield data
                return
            part = self._inflate.decompress(data, PIECE)
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._inflate = None
            yield part

    def end(self) -> bytes:
        """The rest of a file of which nothing more comes. Raises zlib.error where more should."""
        if self._inflate is not None:
            raise zlib.error("it ends too early")
        if self._begin and self._plain is not None:
            raise zlib.error(_BEHIND)
        return self._begin


def _is_linear(encoding: str | None) -> bool:
    name = "utf-8" if encoding is None else codecs.lookup(encoding).name
    return name in ("utf-8", "ascii") or name.startswith(_LINEAR)


def last_row_end(data: bytes, comment: bytes | None) -> int:
    """Where the last whole row or comment ends; 0 where none does. Quotes in comments open nothing."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    if comment is None:
        end, inside = len(data), data.count(b'"') % 2
        while (before := data.rfind(b"\n", 0, end) + 1) and (
            inside := inside ^ data.count(b'"', before, end) % 2
        ):
            end = before - 1
        return before
    last, inside_quotes, at = 0, False, 0
    for line in data.splitlines(keepends=True):
        at += len(line)
        if inside_quotes or not line.removeprefix(codecs.BOM_UTF8).startswith(comment):
            inside_quotes ^= line.count(b'"') % 2 == 1
        if not inside_quotes and line.endswith(b"\n"):
            last = at
    return last


class Incoming(Struct, frozen=True):
    """An answer under way, and its body as far as it is there."""

    answer: asyncio.Future[Response]
    arriving: Arriving | None = None

    async def pieces(self) -> AsyncGenerator[Piece]:
        """The whole body in pieces, of which there is at least one."""
        if self.arriving is not None:
            async with contextlib.aclosing(self.arriving.whole_pieces(self.answer)) as pieces:
                async for piece in pieces:
                    yield piece
        response = await self.answer
        yield Piece(response, 0) if self.arriving is None else self.arriving.rest(response)


async def cancel(tasks: Collection[asyncio.Future[Response]]) -> None:
    """End requests that are under way."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Fetch(Protocol):
    """Sends one question of a reading."""

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        """The answer, whose body `arriving` hears of before; raises SourceError."""


async def unless_absent(answer: Awaitable[Response], ask: Ask) -> Response | str | None:
    """An answer; None where the source refuses it as a page behind the last, and that ends the reading.

    Where it cannot be had of a source which has all but said that there is none: what is not known for that.

    Raises SourceError.
    """
    try:
        return await answer
    except SourceError as error:
        if (ask.confirms or ask.may_lack) and error.status in _NO_SUCH_PAGE:
            return None
        if ask.doubts and error.status is not None:
            return f"all may have come, or one page of more: the next one is HTTP {error.status}"
        raise
