"""Reading a body: decompression under caps on size and ratio. The only importer of brotli."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli

#: Bodies up to this size may have any ratio: short repetitive answers compress extremely well.
GRACE = 2**20

_STEP = 2**18  # decompressed bytes taken at once, so that a bomb is met before it fills memory
ACCEPT_ENCODING = "gzip, deflate, br"


class BodyError(Exception):
    """The body breaks a cap or its own encoding; the message says which."""


class BodyReader:
    """Collects chunks as they come over the wire; `finish` returns the whole decompressed body."""

    def __init__(
        self, encoding: str, *, max_body: int, max_ratio: int, heard: Callable[[bytes], None] | None = None
    ) -> None:
        self._encoding = encoding.strip().lower()
        self._max_body = max_body
        self._max_ratio = max_ratio
        self._parts: list[bytes] = []
        self._heard = heard  # called with every decompressed part
        self._size = 0
        self._wire = 0
        self._unpacker: _Unpacker | None = None
        if self._encoding in ("gzip", "x-gzip"):
            self._unpacker = _Inflate(31)
        elif self._encoding == "br":
            self._unpacker = _Brotli()
        elif self._encoding not in ("", "identity", "deflate"):
            raise BodyError(f"the answer is encoded as {encoding!r}, which was not asked for")

    def feed(self, chunk: bytes) -> None:
        """Take a chunk; raises BodyError the moment a cap is passed."""
        if not chunk:
            return
        self._wire += len(chunk)
        if self._wire > self._max_body:  # also what expands to nothing takes time
            raise BodyError(f"the answer is larger than {self._max_body:,} bytes")
        if self._encoding == "deflate" and self._unpacker is None:
            # Servers disagree whether "deflate" has the zlib header; its first byte tells.
            self._unpacker = _Inflate(15 if chunk[0] & 0x0F == 8 else -15)
        if self._unpacker is None:
            self._keep(chunk)
            return
        try:
            for data in self._unpacker.unpack(chunk):
                self._keep(data)
        except (zlib.error, brotli.error) as error:
            raise BodyError(f"the {self._encoding} body is damaged") from error

    def finish(self) -> bytes:
        """The whole body; raises BodyError where compressed data ends too early."""
        if self._unpacker is not None and self._wire and not self._unpacker.ended:
            raise BodyError(f"the {self._encoding} body ends too early")
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max_body:
            raise BodyError(f"the answer is larger than {self._max_body:,} bytes")
        if self._size > GRACE and self._size > self._max_ratio * self._wire:
            raise BodyError(f"the answer expands more than {self._max_ratio} times when decompressed")
        self._parts.append(data)
        if self._heard is not None:
            self._heard(data)


class _Unpacker(Protocol):
    """Undoes one encoding."""

    @property
    def ended(self) -> bool:
        """Whether what was packed is there to its end."""

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk brings, `_STEP` bytes or little more at once; raises zlib.error or brotli.error."""


class _Inflate:
    """gzip and deflate."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)

    @property
    def ended(self) -> bool:
        return self._inflate.eof

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            data = self._inflate.decompress(chunk, _STEP)
            yield data
            chunk = self._inflate.unconsumed_tail
            if self._inflate.eof:
                chunk = self._inflate.unused_data
                if chunk:  # gzip files may be concatenated
                    self._inflate = zlib.decompressobj(self._window)
            if not chunk and len(data) < _STEP:
                return


class _Brotli:
    """br."""

    def __init__(self) -> None:
        self._brotli = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._brotli.is_finished())

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        data = self._brotli.process(chunk, output_buffer_limit=_STEP)
        yield data
        # Output may wait inside although more input would be taken.
        while not self.ended and (len(data) >= _STEP or not self._brotli.can_accept_more_data()):
            data = self._brotli.process(b"", output_buffer_limit=_STEP)
            yield data
