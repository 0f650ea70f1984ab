"""The process that keeps a user's Spark up between commands: `python -m fff.spark.start.keeper FOLDER`.

It owns the JVM, which ends with it however it ends, and lends it to those who connect to its socket. It holds
a lock while it lives, so that there is never another one. It ends when nobody has used the JVM for a while,
when it is told to, and as soon as nobody uses a JVM of which some process has gone without giving it back, or
which has grown too large.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from fff.errors import SparkError
from fff.spark.start.jvm import GatewayJVM, spark_conf
from fff.spark.start.warm import IDLE_S, LOCAL, configuration, is_memory_short, line
from fff.version import __version__

#: How often it looks whether the JVM is still there, in seconds.
_TICK_S = 0.5
#: How long a keeper that is about to end may still hold the lock.
_LOCK_S = 2.0
#: A JVM that nobody uses gives memory back within that time, and is ended where it keeps more than this.
_SETTLED_S = 150.0
_MOST_IDLE_BYTES = 1536 << 20


class SparkKeeper:
    """Lends a JVM through a socket until it is no longer wanted."""

    def __init__(self, door: socket.socket, path: Path, jvm: GatewayJVM, lent: dict[str, object]) -> None:
        self._door = door
        self._path = path
        self._jvm = jvm
        self._lent = lent  # what those hear that may use it
        self._idle_s = float(os.environ.get("FFF_SPARK_IDLE") or IDLE_S)
        self._served = 0
        self._since = self._last = time.monotonic()
        self._borrowed: dict[
            socket.socket, bool
        ] = {}  # by whom, and whether something of theirs is in the JVM
        self._spoilt = self._stop_requested = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(door, selectors.EVENT_READ)

    def run(self) -> list[socket.socket]:
        """Lend until the end; the connections that are still open, which close with this process."""
        while True:
            for key, _ in self._selector.select(_TICK_S):
                if key.fileobj is self._door:
                    connection = self._door.accept()[0]
                    connection.settimeout(_TICK_S)
                    self._selector.register(connection, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self._hear(key.fileobj)
            code = self._jvm.exit_code(lost=False)
            if code is not None or self._stop_requested or (not self._borrowed and self._is_over()):
                return [
                    key.fileobj
                    for key in self._selector.get_map().values()
                    if isinstance(key.fileobj, socket.socket)
                ]

    def _is_over(self) -> bool:
        """Whether it is time to end, as nobody uses the JVM."""
        idle = time.monotonic() - self._last
        return (
            self._spoilt
            or idle >= self._idle_s
            or not self._path.exists()
            or (idle >= _TICK_S and is_memory_short())
            or (idle >= _SETTLED_S and _resident(self._jvm.pid) > _MOST_IDLE_BYTES)
        )

    def _hear(self, connection: socket.socket) -> None:
        try:
            heard = connection.recv(4096)
        except OSError:
            heard = b""
        if not heard:
            self._selector.unregister(connection)
            connection.close()
            self._spoilt |= self._borrowed.get(connection, False)
            self._gone(connection)
        for one in heard.splitlines():
            with contextlib.suppress(ValueError, TypeError):
                self._do(connection, json.loads(one))

    def _do(self, connection: socket.socket, asked: dict[str, Any]) -> None:
        what = asked.get("do")
        if what == "lend" and asked.get("configuration") != self._lent["configuration"]:
            self._say(connection, {"refused": "another version or configuration"})
        elif what == "lend":
            self._served += 1
            self._borrowed[connection] = False
            self._say(connection, {**self._lent, "served": self._served})
        elif what == "use":
            self._borrowed[connection] = True
        elif what == "back":
            self._gone(connection)
        elif what == "lost":
            self._say(connection, {"ended": self._jvm.exit_code(lost=True)})
        elif what == "tell":
            self._say(connection, self._state())
        elif what == "stop":
            self._stop_requested = True

    def _gone(self, connection: socket.socket) -> None:
        if self._borrowed.pop(connection, None) is not None:
            self._last = time.monotonic()

    def _state(self) -> dict[str, object]:
        now = time.monotonic()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "jvm": self._jvm.pid,
            "up_s": round(now - self._since, 1),
            "served": self._served,
            "attached": len(self._borrowed),
            "ends_in_s": None if self._borrowed else round(max(0.0, self._last + self._idle_s - now), 1),
            "bytes": _resident(self._jvm.pid),
        }

    @staticmethod
    def _say(connection: socket.socket, message: dict[str, object]) -> None:
        with contextlib.suppress(OSError):  # it has gone meanwhile, which is heard as well
            connection.sendall(line(message))


def _resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where nobody tells."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _is_locked(lock: int) -> bool:
    """Whether this process has the lock now, which one that ends may hold for a moment."""
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_TICK_S / 10)
        else:
            return True


def main(arguments: list[str]) -> int:
    """Keep a JVM until it is no longer wanted; 1 where another keeper is at work or Spark does not start."""
    os.umask(0o077)
    folder = Path(arguments[0])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    if not _is_locked(lock):
        return 1
    path = folder / "socket"
    path.unlink(missing_ok=True)  # of a keeper that was killed
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        path.chmod(0o600)
        door.listen(64)
        jvm = None
        try:
            jvm = GatewayJVM(spark_conf(LOCAL), cluster=False, log_file=None, lasting=True)
            port, secret = jvm.boot()
            lent = {"port": port, "secret": secret, "pid": jvm.pid, "configuration": configuration()}
            connections = SparkKeeper(door, path, jvm, lent).run()
            path.unlink(missing_ok=True)
            jvm.leave_archive()
            jvm.kill()
            del connections  # only now do those who have told it to stop see that it is gone
        except (SparkError, OSError):
            return 1
        finally:
            path.unlink(missing_ok=True)
            if jvm is not None:
                jvm.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
