"""Record and replay: exchanges written to a folder, and answered from it without any network.

A recording is a folder: `recording.json` tells about it, `index.jsonl` holds one line an exchange, `bodies/` the bodies
of answers. docs/recording.md describes it; secrets are no part of it. Both ends are transports: nothing above
knows of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from fff.errors import UsageError
from fff.structs import replace
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.redaction import Key, Scrubber, asks_for_token, key_of, may_be_of
from fff.web.secrets import MASK, Redactor
from fff.web.transport import Network, Transport, WireError
from fff.web.types import Outgoing, RawResponse

FORMAT = 1
_ABOUT, _INDEX, _BODIES = "recording.json", "index.jsonl", "bodies"
_ENDINGS = {"json": "json", "ndjson": "ndjson", "csv": "csv", "xml": "xml", "html": "html", "plain": "txt"}
_AGAIN = "ask what was asked then, or record again"
_STAND_IN = "fff-replay-stand-in"


class RecordingTransport:
    """A transport that writes what goes through it.

    Args:
        inner: what carries the requests.
        folder: where the recording goes; made when it is not there.
        redactor: the client's, which knows the secrets.
        about: kept in `recording.json`.

    Raises:
        UsageError: the folder holds a recording, or cannot be written.
    """

    def __init__(
        self, inner: Transport, folder: Path, redactor: Redactor, about: Mapping[str, object] | None = None
    ) -> None:
        self._inner = inner
        self._folder = folder
        self._scrubber = Scrubber(redactor)
        self._began: float | None = None
        self._count = 0
        self._known: int | None = None  # what was known of secrets when the first exchange was written
        if (folder / _INDEX).exists():
            raise UsageError(
                f"{str(folder)!r} holds a recording already", hint="name another folder, or remove it first"
            )
        try:
            # Rows of others may be in it: whatever the umask, it is for its owner alone.
            for one in (folder, folder / _BODIES):
                there = one.is_dir()
                one.mkdir(parents=True, exist_ok=True)
                if not there or not any(one.iterdir()):
                    one.chmod(0o700)
        except OSError as error:
            raise UsageError(f"cannot record to {str(folder)!r}: {error.strerror}") from error
        self._write(_INDEX, "")
        self._write(_ABOUT, json.dumps({"format": FORMAT, "started": time.time(), **(about or {})}) + "\n")

    async def send(self, out: Outgoing) -> RawResponse:
        """Send, and write down what came of it."""
        clock = asyncio.get_running_loop().time
        asked = clock()
        if self._began is None:
            self._began = asked
        self._count += 1
        entry: dict[str, object] = {
            "id": self._count,
            **self._scrubber.request(out),
            "masked": self._scrubber.masked(out),
            "asked_s": round(asked - self._began, 6),
        }
        try:
            answer = await self._inner.send(out)
        except WireError as error:
            reason = self._scrubber.text(error.reason)
            entry["error"] = {"reason": reason, "again": error.again, "wait": error.wait}
            self._tell(entry)
            raise
        except asyncio.CancelledError:
            entry["error"] = {"reason": "given up when it was recorded", "again": False, "wait": None}
            self._tell(entry)
            raise
        body = self._scrubber.body(answer.body, of_token=asks_for_token(out))
        entry |= {
            "status": answer.status,
            "headers": self._scrubber.headers(answer.headers),
            "body": self._keep(body, answer.headers.get("content-type", "")),
            "bytes": len(body),
            "first_byte_s": round(asked - self._began + answer.first_byte_s, 6),
        }
        self._tell(entry)
        return answer

    async def close(self) -> None:
        """Take secrets that were learnt late out of what was written early."""
        await self._inner.close()
        if self._known is None or self._known == self._scrubber.known:
            return
        self._known = self._scrubber.known
        for file in [self._folder / _INDEX, *(self._folder / _BODIES).iterdir()]:
            before = file.read_bytes()
            if (after := self._scrubber.body(before)) != before:
                self._write(str(file.relative_to(self._folder)), after)

    def _tell(self, entry: dict[str, object]) -> None:
        assert self._began is not None
        if self._known is None:
            self._known = self._scrubber.known
        end = asyncio.get_running_loop().time() - self._began
        line = json.dumps({**entry, "end_s": round(end, 6)}, ensure_ascii=False)
        self._write(_INDEX, line + "\n", append=True)

    def _keep(self, body: bytes, kind: str) -> str | None:
        """The file that holds the body; equal bodies share one."""
        if not body:
            return None
        subtype = kind.partition(";")[0].rpartition("/")[2].rpartition("+")[2].removeprefix("x-")
        name = f"{_BODIES}/{hashlib.sha256(body).hexdigest()[:16]}.{_ENDINGS.get(subtype, 'bin')}"
        if not (self._folder / name).exists():
            self._write(name, body)
        return name

    def _write(self, name: str, data: str | bytes, *, append: bool = False) -> None:
        try:
            with _private(self._folder / name, append=append) as file:
                file.write(data.encode() if isinstance(data, str) else data)
        except OSError as error:
            raise UsageError(f"cannot write the recording {str(self._folder)!r}: {error.strerror}") from error


def _private(path: Path, *, append: bool) -> BinaryIO:
    """A file that is its owner's alone, to be written."""
    there = path.exists()
    how = os.O_APPEND if append else os.O_TRUNC
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600), "ab" if append else "wb")
    if not there:
        path.chmod(0o600)  # under any umask
    return file


class Replay:
    """A transport that answers from a recording, and never from anywhere else.

    Requests are told apart by method, URL, body and headers, without secrets and whatever the order of
    parameters; values with the names of secrets by digests, where the recording has these. Equal ones get their answers in the order recorded, and then the last one again.

    Args:
        folder: the recording.
        redactor: the client's.
        clock: waits the recorded time before an answer.

    Raises:
        UsageError: there is no recording, or it cannot be read.
    """

    def __init__(self, folder: Path, redactor: Redactor, clock: Clock) -> None:
        self._folder = folder
        self._scrubber = Scrubber(redactor)
        self._clock = clock
        self._answers: dict[Key, list[dict[str, Any]]] = {}
        self._replays: dict[tuple[Key, frozenset[tuple[str, str]]], int] = {}
        for entry in read_index(folder):
            self._answers.setdefault(key_of(entry), []).append(entry)

    async def send(self, out: Outgoing) -> RawResponse:
        """The recorded answer; raises WireError for a recorded failure and for what was not recorded."""
        request = self._scrubber.request(out)
        key = key_of(request)
        alike = self._answers.get(key) or self._answers.get(
            (*key[:4], ()), []
        )  # some recordings keep no headers
        masked = self._scrubber.masked(out)
        known = [one for one in alike if one.get("masked") == masked]
        known = known or [one for one in alike if may_be_of(one.get("masked", masked), masked)]
        if not known:
            names = ", ".join(name.rstrip(":") for name, digest in masked.items() if digest != MASK)
            raise WireError(
                f"the recording {self._folder.name!r} has no answer to {request['method']} {request['url']}",
                again=False,
                hint=f"recorded is another value of {names}; {_AGAIN}"
                if alike and names
                else self._nearest(key),
            )
        asked = key, frozenset(masked.items())
        replayed = self._replays.get(asked, 0)
        self._replays[asked] = replayed + 1
        entry = known[min(replayed, len(known) - 1)]
        await self._clock.sleep(max(0.0, entry.get("end_s", 0.0) - entry.get("asked_s", 0.0)))
        if (error := entry.get("error")) is not None:
            raise WireError(error["reason"], again=error["again"], wait=error["wait"])
        first = max(0.0, entry.get("first_byte_s", 0.0) - entry.get("asked_s", 0.0))
        return RawResponse(entry["status"], entry.get("headers") or {}, self._body(entry), first)

    async def close(self) -> None:
        """Nothing to release."""

    def _body(self, entry: Mapping[str, Any]) -> bytes:
        name: str | None = entry.get("body")
        if name is None:
            return b""
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise UsageError(f"the recording {str(self._folder)!r} lacks {name}: {error.strerror}") from error

    def _nearest(self, key: Key) -> str:
        for known, entries in self._answers.items():
            if known[1] == key[1]:
                return f"recorded is {known[0]} {entries[0]['url']}; {_AGAIN}"
        return "ask what was asked when it was recorded, or record again"


def read_index(folder: Path) -> list[dict[str, Any]]:
    """The exchanges of a recording in the order they were asked; raises UsageError."""
    try:
        lines = (folder / _INDEX).read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines if line.strip()]
    except OSError as error:
        raise UsageError(f"{str(folder)!r} holds no recording: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{_INDEX} of {str(folder)!r} is damaged: {error}") from error
    if not all(isinstance(entry, dict) and {"method", "url"} <= entry.keys() for entry in entries):
        raise UsageError(f"{_INDEX} of {str(folder)!r} is damaged: a line is no exchange")
    return sorted(entries, key=lambda entry: entry.get("id", 0))


def about(folder: Path) -> dict[str, Any]:
    """What `recording.json` tells; empty where there is none. Raises UsageError for a later format."""
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{_ABOUT} of {str(folder)!r} cannot be read: {error}") from error
    if not isinstance(about, dict) or about.get("format", FORMAT) != FORMAT:
        raise UsageError(f"{str(folder)!r} is not a recording of format {FORMAT}")
    return about


def recording_client(folder: Path, about: Mapping[str, object] | None = None, **options: Any) -> WebClient:
    """A client that writes every exchange to a folder; `about` goes to `recording.json`. Raises UsageError."""
    redactor = Redactor()
    return WebClient(
        redactor=redactor, transport=RecordingTransport(Network(), folder, redactor, about), **options
    )


def replaying_client(folder: Path, speed: float = 1.0, **options: Any) -> WebClient:
    """A client that answers from a recording, `speed` times as fast as it was recorded; 0 waits for nothing.

    Secrets need not be there. Raises UsageError.
    """
    redactor = Redactor()
    redactor.add(_STAND_IN)
    redactor.stand_in = _STAND_IN
    clock = _clock(speed, about(folder).get("started", time.time()))
    return WebClient(redactor=redactor, transport=Replay(folder, redactor, clock), clock=clock, **options)


def _clock(speed: float, wall: float) -> Clock:
    """Time that runs `speed` times as fast, from the moment of the recording; at 0, whoever waits moves it."""
    skipped = 0.0
    began: float | None = None

    def now() -> float:
        nonlocal began
        real = asyncio.get_running_loop().time()
        began = real if began is None else began
        return skipped + (real - began) * (speed or 1.0)

    async def sleep(seconds: float) -> None:
        nonlocal skipped
        if speed:
            await asyncio.sleep(seconds / speed)
        else:
            await asyncio.sleep(0)
            skipped += seconds

    return replace(Clock(), now=now, wall=lambda: wall + now(), sleep=sleep)
