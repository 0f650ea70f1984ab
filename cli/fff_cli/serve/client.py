"""`fff query --server`: sends a statement, writes what comes; loads neither engine nor pyarrow."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from fff.display.counts import counted
from fff.errors import FFFError, UsageError
from fff_cli.options.shared import ROWS_SHOWN
from fff_cli.options.texts import sql_texts
from fff_cli.output.console import is_terminal, output_screen
from fff_cli.output.failures import note_seen, writing
from fff_cli.output.files import Target, check_report, file_target, is_folder, is_special
from fff_cli.output.streams import StandardOutput, choose_format
from fff_cli.serve.tokens import TOKEN, checked

_FRAMES = "application/vnd.fff.frames"
_ABORTED = 130
_LINE_EVERY_S = 2.0
_CONNECT_S = 10.0
_HEAD = struct.Struct(">cI")
_BROKEN = "the server's answer broke off: what was written is not the whole result"
#: What is the server's to say, by the names of the options; and what they are unless they are given.
_SERVERS = {
    **dict.fromkeys(("sources", "cache", "cache_ttl", "record", "replay", "replay_speed"), None),
    **dict.fromkeys(("checkpoint", "spark_master", "spark_remote", "memory_limit"), None),
    "warm": True,
}
#: What is done here, and only beside an engine.
_HERE = ("pager", "live", "append", "upsert", "partition_by", "refreshable")
_SENT = (*("policy", "seed", "semantics", "deadline", "max_requests"), *("prefer", "prioritize"))


class RemoteError(FFFError):
    """What a server said, or that it could not be asked, and the exit code that goes with it."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class _Ended(BaseException):
    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class _ByFile(http.client.HTTPConnection):
    """A connection to a socket file."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_CONNECT_S)
        self._path = path

    def connect(self) -> None:
        """Open it. Raises UsageError where it is another user's."""
        if self._path.stat().st_uid != os.getuid():
            raise UsageError(f"{str(self._path)!r} is another user's", hint="--server SOCKET of your own")
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def connector(server: str) -> Callable[[], http.client.HTTPConnection]:
    """What opens connections to a server by its URL or the path of its socket. Raises UsageError."""
    if "://" not in server:
        path = Path(server)
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(path.stat().st_mode):
                return lambda: _ByFile(path)
        raise UsageError(
            f"no server listens at {server!r}", hint="a URL such as http://127.0.0.1:8642, or a socket file"
        )
    try:
        url = urlsplit(server)
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or url.scheme not in ("http", "https") or url.path not in ("", "/") or url.username:
        raise UsageError("--server is no URL of a server", hint="as in http://127.0.0.1:8642")
    if url.scheme == "https":
        context = ssl.create_default_context()
        return lambda: http.client.HTTPSConnection(host, port, timeout=_CONNECT_S, context=context)
    if host != "localhost" and not host.startswith("127.") and host != "::1":
        raise UsageError(f"the token would go to {host} in the clear", hint="https://…, or a tunnel")
    return lambda: http.client.HTTPConnection(host, port, timeout=_CONNECT_S)


def run_remote(server: str, options: Mapping[str, Any]) -> int:
    """Run `fff query --server` with the options of `fff query` by their names; the exit code. Raises FFFError."""
    for name, usual in _SERVERS.items():
        if options[name] not in (usual, []):
            option = "no-warm" if name == "warm" else name.replace("_", "-")
            raise UsageError(
                f"--{option} is the server's to say", hint="leave it out, or run it here: --server ''"
            )
    here = [f"--{name.replace('_', '-')}" for name in _HERE if options[name]]
    if here or options["progress"] == "json":
        raise UsageError(
            f"{here[0] if here else '--progress json'} does not go with --server",
            hint="leave it out, or run it here: --server ''",
        )
    texts = sql_texts(options["sql"], options["files"] or ())
    if len(texts) > 1:
        raise UsageError("a server takes one statement at a time", hint="one -f")
    file = options["output_file"]
    if file is not None and is_folder(file):
        raise UsageError("a server writes no folder", hint="name a file with -O, or run it here: --server ''")
    options = {**options, "output_file": None if file is None else Path(file)}
    check_report(options["report"], options["output_file"])
    terminal, safe_csv = is_terminal(sys.stdout), options["safe_csv"]
    chosen = choose_format(options["output"], options["output_file"], terminal=terminal, safe_csv=safe_csv)
    return _RemoteRun(connector(server), options, texts[0], chosen).run()


class _RemoteRun:
    """One statement on its way."""

    def __init__(
        self,
        connect: Callable[[], http.client.HTTPConnection],
        options: Mapping[str, Any],
        sql: str,
        chosen: str,
    ) -> None:
        self._connect = connect
        self._options = options
        self._file: Path | None = options["output_file"]
        self._sql = sql
        self._lines = options["progress"] == "on" or (
            options["progress"] == "auto"
            and options["live"] is None
            and not options["quiet"]
            and is_terminal(sys.stderr)
        )
        self._body = self._asked(sql, chosen)
        self._query: str | None = None  # the id by which it can be stopped
        self._asked_to_stop = False
        self._seen = False  # whether somebody may have seen rows
        token = os.environ.get(TOKEN, "").strip()
        self._headers = {"Authorization": f"Bearer {checked(token, TOKEN)}"} if token else {}

    def _asked(self, sql: str, chosen: str) -> bytes:
        options, screen = self._options, output_screen() if self._file is None else None
        on_error = options["on_source_error"]
        appears_whole = self._file is not None and not is_special(self._file)
        asked: dict[str, Any] = {name: options[name] for name in _SENT if options[name] is not None}
        asked |= {
            "sql": sql,
            "params": options["params"] or [],
            "on_source_error": on_error or ("partial" if is_terminal(sys.stdout) else "fail"),
            "hold_rows": on_error == "fail" and not appears_whole,
            "report": options["report"] is not None,
            "interval": _LINE_EVERY_S,
            "output": {
                "format": chosen,
                "screen": None if screen is None else [screen.width, screen.unicode, screen.color],
                "rows": options["rows"] or ROWS_SHOWN,
                "more": "--rows all, or -O FILE",
                "safe_csv": options["safe_csv"],
                "progress": self._lines,
            },
        }
        if options["budget"] is not None:
            asked["budget"] = str(options["budget"])
        return json.dumps(asked).encode()

    def run(self) -> int:
        """Ask, write and tell; the exit code."""
        target = file_target(self._file) if self._file is not None else StandardOutput()
        try:
            with self._signals():
                end = self._answer(target)
                with writing():
                    aside = not end["complete"] and self._options["on_source_error"] != "partial"
                    note = target.keep(aside=aside, whole=end["complete"])
        except _Ended as ended:
            self._say("aborted")
            self._report(None, RemoteError("aborted", ended.exit_code))
            return ended.exit_code
        except RemoteError as error:
            self._report(None, error)
            raise
        finally:
            target.drop()
        if not self._options["quiet"]:
            more = [*end["accounts"], end["policy"]] if self._options["verbose"] else []
            for line in (*end["closing"], *more, *([note] if note else [])):
                self._say(line)
        self._report(end, None)  # which may fail, and takes nothing back of what was said
        return int(end["exit_code"])

    def _answer(self, target: Target) -> dict[str, Any]:
        """Write the result; what the last part says. Raises RemoteError."""
        connection = self._connect()
        with contextlib.closing(connection):
            with _unanswered():
                headers = {**self._headers, "Accept": _FRAMES, "Content-Type": "application/json"}
                connection.request("POST", "/v1/query", self._body, headers)
                assert connection.sock is not None, "it is connected"
                connection.sock.settimeout(None)  # a query may be silent for long
                reply = connection.getresponse()
                if reply.status != http.client.OK:
                    raise _refused(reply)
            self._query = reply.getheader("X-FFF-Query")
            for kind, data in _frames(reply):
                if kind == b"r":
                    with writing():
                        target.out.write(data)
                        target.flush()
                    self._seen = self._file is None or is_special(self._file)
                elif kind == b"s":
                    self._tell(json.loads(data))
                elif kind == b"e":
                    end: dict[str, Any] = json.loads(data)
                    return end
                elif kind == b"x":
                    told = json.loads(data)
                    error = RemoteError(told["text"], told["exit_code"])
                    if self._seen:
                        note_seen(error, "the rows")
                    raise error
        raise RemoteError(_BROKEN, 4)

    def _tell(self, progress: Mapping[str, Any]) -> None:
        self._say(
            f"{progress['elapsed_s']:.1f} s, {progress['phase']}: {counted(progress['rows'], 'row')}, "
            f"{counted(progress['requests'], 'request')}, {progress['in_flight']} in flight"
        )

    @staticmethod
    def _say(text: str) -> None:
        shown = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(shown + "\n")
            sys.stderr.flush()

    def _report(self, end: Mapping[str, Any] | None, error: RemoteError | None) -> None:
        if self._options["report"] is None:
            return
        from fff_cli.run.reports import Reports, bare  # noqa: PLC0415 - loads more than other runs need

        reports = Reports(self._options["report"])
        if end is not None:
            reports.add(end["report"])
            reports.write()
        elif error is not None:
            account = bare(self._sql, error.render(), error.exit_code)
            reports.add(account | {"rows": None} if self._seen else account)  # the server alone counts them
            reports.write_beside(lambda unwritten: self._say(f"error: {unwritten.render()}"))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """The first Ctrl-C has the server stop fetching, the second ends this process; others end it at once."""

        def heard(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGINT and self._query is not None and not self._asked_to_stop:
                self._asked_to_stop = True
                if not self._options["quiet"]:
                    self._say("stopping with what is there; Ctrl-C again aborts")
                self._stop()
                return
            raise _Ended(_ABORTED if number == signal.SIGINT else 128 + number)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self) -> None:
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            contextlib.closing(self._connect()) as other,
        ):
            other.request("DELETE", f"/v1/queries/{self._query}", headers=self._headers)
            other.getresponse().read()


@contextlib.contextmanager
def _unanswered() -> Iterator[None]:
    """What goes wrong before a server has said anything, in words."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        text = f"the server's certificate is refused: {error.verify_message}"
        hint = "one that no authority has signed is named in SSL_CERT_FILE"
        raise RemoteError(f"{text}\n  {hint}", 4) from error
    except ssl.SSLError as error:
        text = f"there is no TLS with the server: {error.reason}"
        raise RemoteError(f"{text}\n  --server http://… where it speaks in the clear", 4) from error
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError) as error:
        text = "the server gave no answer in HTTP"
        raise RemoteError(f"{text}\n  --server https://… where it speaks TLS", 4) from error
    except OSError as error:
        text = f"cannot reach the server: {error.strerror or error}"
        raise RemoteError(f"{text}\n  fff serve starts one", 4) from error


def _refused(reply: http.client.HTTPResponse) -> RemoteError:
    try:
        error = json.loads(reply.read())
        text, code = str(error["text"]), int(error["exit_code"])
    except (ValueError, TypeError, LookupError):
        return RemoteError(f"no server of fff answers there (HTTP {reply.status})", 4)
    if reply.status == http.client.UNAUTHORIZED:
        return RemoteError(f"the server refuses: no valid token\n  {TOKEN} must have it", 4)
    return RemoteError(text, code)


def _frames(reply: http.client.HTTPResponse) -> Iterator[tuple[bytes, bytes]]:
    """The parts of an answer. Raises RemoteError where it breaks off."""
    while True:
        try:
            head = reply.read(_HEAD.size)
            if not head:
                return
            if len(head) < _HEAD.size:
                raise http.client.IncompleteRead(head)
            kind, length = _HEAD.unpack(head)
            data = reply.read(length) if length else b""
            if len(data) < length:
                raise http.client.IncompleteRead(data)
        except (http.client.HTTPException, OSError) as error:
            raise RemoteError(_BROKEN, 4) from error
        yield kind, data
