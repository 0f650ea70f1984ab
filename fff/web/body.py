"""Reading a body: decompression under caps on size and ratio."""

from __future__ import annotations

import zlib

#: Bodies up to this size may have any ratio: short repetitive answers compress extremely well.
GRACE = 2**20

_STEP = 2**18  # decompressed bytes taken at once, so that a bomb is met before it fills memory
_WINDOW = {"gzip": 31, "x-gzip": 31}
ACCEPT_ENCODING = "gzip, deflate"


class BodyError(Exception):
    """The body breaks a cap or its own encoding; the message says which."""


class BodyReader:
    """Collects chunks as they come over the wire; `finish` returns the whole decompressed body."""

    def __init__(self, encoding: str, *, max_body: int, max_ratio: int) -> None:
        self._encoding = encoding.strip().lower()
        self._max_body = max_body
        self._max_ratio = max_ratio
        self._parts: list[bytes] = []
        self._size = 0
        self._wire = 0
        self._inflate = None
        if self._encoding in _WINDOW:
            self._inflate = zlib.decompressobj(_WINDOW[self._encoding])
        elif self._encoding not in ("", "identity", "deflate"):
            raise BodyError(f"the answer is encoded as {encoding!r}, which was not asked for")

    def feed(self, chunk: bytes) -> None:
        """Take a chunk; raises BodyError the moment a cap is passed."""
        if not chunk:
            return
        self._wire += len(chunk)
        if self._wire > self._max_body:  # also what expands to nothing takes time
            raise BodyError(f"the answer is larger than {self._max_body:,} bytes")
        if self._encoding == "deflate" and self._inflate is None:
            # Servers disagree whether "deflate" has the zlib header; its first byte tells.
            self._inflate = zlib.decompressobj(15 if chunk[0] & 0x0F == 8 else -15)
        if self._inflate is None:
            self._keep(chunk)
            return
        try:
            self._decompress(chunk)
        except zlib.error as error:
            raise BodyError(f"the {self._encoding} body is damaged") from error

    def finish(self) -> bytes:
        """The whole body; raises BodyError where compressed data ends too early."""
        if self._inflate is not None and self._wire and not self._inflate.eof:
            raise BodyError(f"the {self._encoding} body ends too early")
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _decompress(self, chunk: bytes) -> None:
        while True:
            assert self._inflate is not None
            data = self._inflate.decompress(chunk, _STEP)
            self._keep(data)
            chunk = self._inflate.unconsumed_tail
            if self._inflate.eof:
                chunk = self._inflate.unused_data
                if chunk:  # gzip files may be concatenated
                    self._inflate = zlib.decompressobj(_WINDOW.get(self._encoding, 15))
            if not chunk and len(data) < _STEP:
                return

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._max_body:
            raise BodyError(f"the answer is larger than {self._max_body:,} bytes")
        if self._size > GRACE and self._size > self._max_ratio * self._wire:
            raise BodyError(f"the answer expands more than {self._max_ratio} times when decompressed")
        self._parts.append(data)
