"""What a statement's sources have answered, on disk before anybody acts on it: a killed run goes on where it was.

A folder holds one such run: `journal` the answers, `key` what signs them, `rows` what is known by key (see `store`).
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import io
import json
import mmap
import os
import threading
import zlib
from collections import defaultdict, deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fff.access.disk.folder import made, private, secret_key
from fff.errors import UsageError
from fff.stats import AccessMeter
from fff.structs import Struct, lazy_pattern, replace
from fff.web.addresses import full_url
from fff.web.client import WebClient, is_answer
from fff.web.gate.breaker import Breaker
from fff.web.gate.limiter import HostLimiter
from fff.web.transport import Transport
from fff.web.types import Credentials, Request, Response, ResponseMemory

if TYPE_CHECKING:
    from fff.web.gate.leased import LeaseLine

_NAME = "journal"
_MAC, _SIZE = 16, 8
_FRONT = bytes(3)  # of the size of every record
_LEVEL = 1  # of packing: time is what is short
_HEAD = b"{}x"  # what is beside a body begins and ends with, and how the packed body begins
_ZEROS = lazy_pattern(rb"\0*")  # many, where a power cut has left them


class _Place(Struct, frozen=True):
    """Where an answer stands in the file."""

    begin: int
    size: int


class Journal:
    """Answers in one file, each signed and written before `keep` returns.

    Equal requests have their answers in the order they came. What is damaged, as a power cut leaves the last answer, is none.

    Args:
        folder: made for its owner alone.
        durable: answers outlive a power cut, for the price of waiting for the disk, and not the process alone.

    Raises:
        UsageError: the folder cannot be used, or another process writes to it.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._durable = durable
        self._folder = folder
        self._known: dict[bytes, deque[_Place]] = defaultdict(deque)
        try:
            if not made(folder):
                raise UsageError(f"{str(folder)!r} is open to others", hint="name a folder of your own")
            self._key = secret_key(folder)
            path = folder / _NAME
            if not path.exists():
                private(path).close()
                _settle(folder)
            self._file = _locked(path)
            self._end = self._read()
        except BlockingIOError:
            raise UsageError(f"another run uses {str(folder)!r}", hint="let it end first") from None
        except OSError as error:
            raise UsageError(f"cannot use {str(folder)!r}: {error.strerror}") from error
        self._pending: deque[bytes] = deque()  # never replaced: threads append to it at any time
        self._writing = threading.Lock()

    def name(self, req: Request) -> bytes:
        """What tells a request from others, whoever asks included; without the folder's key it tells nothing."""
        url = full_url(replace(req, credentials=Credentials()))
        headers = sorted((name.lower(), text) for name, text in req.headers.items())
        form = None if req.form is None else dict(req.form)
        parts = [req.method, url, headers, req.json, form, req.credentials.identity]
        return self._mac(json.dumps(parts, sort_keys=True, default=str).encode())

    def take(self, name: bytes) -> tuple[Mapping[str, object], bytes] | None:
        """The next answer to the request of that name: what stands beside its body, and that."""
        while self._known[name]:
            place = self._known[name].popleft()
            answer = _unpacked(os.pread(self._file.fileno(), place.size, place.begin))
            if answer is not None:
                return answer
        return None

    async def keep(self, name: bytes, beside: Mapping[str, object], body: bytes) -> None:
        """Write an answer down. Those that come together are on the disk together. Raises UsageError."""
        if self._durable:
            await asyncio.to_thread(self._write, name, beside, body)
        else:
            self._write(name, beside, body)

    def note(self, name: bytes, text: bytes) -> None:
        """Write a note down, with the next answer at the latest: `take` finds it as it finds answers."""
        self._pending.append(self._record(name, {}, text))

    def named(self, what: bytes) -> bytes:
        """A name for notes, which tells nothing without the folder's key."""
        return self._mac(b"note" + what)

    def close(self) -> None:
        """Let another run have the folder."""
        self._file.close()

    def _record(self, name: bytes, beside: Mapping[str, object], body: bytes) -> bytes:
        head = json.dumps(beside).encode()
        payload = name + len(head).to_bytes(_SIZE, "big") + head + zlib.compress(body, _LEVEL)
        return len(payload).to_bytes(_SIZE, "big") + self._mac(payload) + payload

    def _write(self, name: bytes, beside: Mapping[str, object], body: bytes) -> None:
        self._pending.append(self._record(name, beside, body))
        with self._writing:
            data = b"".join(self._pending.popleft() for _ in range(len(self._pending)))
            if data:  # else whoever wrote before has written this, too
                self._put(data)
                self._end += len(data)

    def _put(self, data: bytes) -> None:
        """All of it, behind what is there. Raises UsageError."""
        written = 0
        try:
            while written < len(data):  # a disk that gets full takes a part without a word
                written += os.pwrite(self._file.fileno(), data[written:], self._end + written)
            if self._durable:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise UsageError(
                f"cannot write the checkpoint {str(self._folder)!r}: {error.strerror or error}",
                hint="make room: what is in it by now can be gone on with",
            ) from error

    def _read(self) -> int:
        """Find what there is; where the last sound record ends, where the next one is to be written.

        What is damaged costs no more than itself: behind it the next record that is signed counts.
        """
        at = end = 0
        size = os.fstat(self._file.fileno()).st_size
        if not size:
            return 0
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            while 0 <= at <= size - _SIZE - _MAC:
                begin = at + _SIZE + _MAC
                length = int.from_bytes(view[at : at + _SIZE], "big")
                if _is_like_one(view[begin:], length) and (
                    self._mac(view[begin : begin + length]) == view[begin - _MAC : begin]
                ):
                    self._known[data[begin : begin + _MAC]].append(_Place(begin, length))
                    at = end = begin + length
                else:
                    zeros = _ZEROS.match(data, at)
                    assert zeros is not None, "there may be none"
                    at = data.find(_FRONT, max(at + 1, zeros.end() - _SIZE))
        if end:
            os.ftruncate(self._file.fileno(), end)
        else:
            self._put_aside()
        return end

    def _put_aside(self) -> None:
        """Begin anew where nothing fits the folder's key, which may be the one that is damaged."""
        path = self._folder / _NAME
        path.replace(path.with_name(f"{_NAME}.broken"))
        private(path).close()
        _settle(self._folder)
        self._file.close()
        self._file = _locked(path)

    def _mac(self, data: bytes | memoryview) -> bytes:
        return hashlib.blake2b(data, key=self._key, digest_size=_MAC).digest()


class JournaledClient(WebClient):
    """A client that asks nothing twice whose answer is in the journal, and writes down what it is answered.

    What comes from there is no request: neither limits nor budgets count it; meters count it as `cached`.
    """

    def __init__(
        self,
        journal: Journal,
        transport: Transport | None = None,
        *,
        share: int = 1,
        leases: LeaseLine | None = None,
    ) -> None:
        super().__init__(transport=transport, share=share, leases=leases)
        self.journal = journal

    async def _send(
        self, req: Request, limiter: HostLimiter, meter: AccessMeter, breaker: Breaker
    ) -> Response:
        answer = None if req.memory is None else self.journal.take(self.journal.name(req))
        if answer is None:
            return await super()._send(req, limiter, meter, breaker)
        meter.cached += 1
        return self._again(req, *answer)

    async def _renewed(self, req: Request, memory: ResponseMemory, meter: AccessMeter) -> Response:
        # Within the turn that the host has given: what is not on the disk yet counts as in flight.
        response = await super()._renewed(req, memory, meter)
        if not is_answer(req, response):  # a token, say, is never kept
            return response
        moved = None if response.url == full_url(req) else response.url
        # Cookies, which nobody sends back, may stand for a session.
        headers = {name: text for name, text in response.headers.items() if name.lower() != "set-cookie"}
        beside = {"status": response.status, "headers": headers, "url": moved}
        text = json.dumps(beside, ensure_ascii=False).encode()
        if not self.redactor.in_data(response.body) and not self.redactor.in_data(text):
            await self.journal.keep(self.journal.name(req), beside, response.body)
        return response

    def _again(self, req: Request, beside: Mapping[str, object], body: bytes) -> Response:
        status, headers, url = beside["status"], beside["headers"], beside["url"]
        assert isinstance(status, int)
        assert isinstance(headers, dict)
        if req.arrivals is not None:
            req.arrivals.begin(headers)
            req.arrivals.take(body)
        return self._judged(req, Response(status, headers, body, str(url or full_url(req))))

    async def close(self) -> None:
        """See `WebClient.close`."""
        await super().close()
        self.journal.close()


def _is_like_one(data: memoryview, length: int) -> bool:
    """Whether a record may be so long, by a few of its bytes: all of it is read only where it is likely to be one."""
    head = _MAC + _SIZE
    if not head < length <= len(data):
        return False
    behind = head + int.from_bytes(data[_MAC:head], "big")
    return behind < length and data[head] == _HEAD[0] and bytes(data[behind - 1 : behind + 1]) == _HEAD[1:]


def _unpacked(payload: bytes) -> tuple[Mapping[str, object], bytes] | None:
    head = _MAC + _SIZE
    size = int.from_bytes(payload[_MAC:head], "big")
    try:
        return json.loads(payload[head : head + size]), zlib.decompress(payload[head + size :])
    except (ValueError, zlib.error):
        return None  # signed as it is, hence only what somebody changed since the file was read


def is_used(folder: Path) -> bool:
    """Whether a process writes to the journal of a folder. Raises OSError, but where there is none."""
    try:
        _locked(folder / _NAME).close()
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def is_empty(folder: Path) -> bool:
    """Whether the journal of a folder is there, and has no answer."""
    try:
        return not (folder / _NAME).stat().st_size
    except OSError:
        return False


def _locked(path: Path) -> io.FileIO:
    """The file, for this process alone. Raises BlockingIOError where another has it, OSError."""
    file = path.open("r+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _settle(folder: Path) -> None:
    """See to it that a new name in a folder outlives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
