"""This user's Spark that stays up between commands: attached to, or else started.

A keeper (`fff.spark.start.keeper`) owns its JVM and lends it through a socket in a folder of this user alone.
Whoever holds a connection to the socket uses the JVM, and a process that ends, however it ends, holds none.
What the gateway of the JVM wants to hear goes through that socket and is kept in no file. Where no Spark is
lent (CI, FFF_SPARK_WARM=off, little memory, another version or configuration, no folder) a command starts one
for itself alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fff.errors import SparkError
from fff.spark.start.cds_archive import private_folder
from fff.spark.start.java import find_java
from fff.spark.start.jvm import START_TIMEOUT_S, spark_conf, spark_jars
from fff.structs import lazy_pattern
from fff.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Where the Spark that stays runs; another master is another Spark.
LOCAL = "local[*]"
#: Seconds without anybody after which it ends, unless FFF_SPARK_IDLE says another number.
IDLE_S = 600.0
_POLL_S = 0.02
#: A keeper that found another one at work ends; so long that other one may take until it listens.
_GRACE_S = 3.0
#: How long a keeper may take to say how it is, or to end.
_ANSWER_S = 5.0
_END_S = 30.0
#: How a JVM ended whose keeper cannot say it any more.
_KILLED = -9
#: With less free memory than this no Spark stays up; where nobody tells what is free, half of all counts.
_FREE_BYTES = 2 << 30
#: What a keeper's environment holds of that of the command which started it: nothing that could be a secret.
_KNOWN = lazy_pattern(
    r"PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TMPDIR|TEMP|TMP|JAVA_HOME|JAVA_TOOL_OPTIONS|XDG_CACHE_HOME|PYTHONPATH|FFF_SPARK_\w+"
)


class NotLentError(SparkError):
    """There is no Spark that stays, or not for this command."""


def is_allowed(env: Mapping[str, str] | None = None) -> bool:
    """Whether commands may leave a Spark behind and use it: not in CI, and not where FFF_SPARK_WARM is off."""
    env = os.environ if env is None else env
    in_ci = env.get("CI", "").lower() not in {"", "0", "false"}
    return env.get("FFF_SPARK_WARM") != "off" and not in_ci


def is_memory_short() -> bool:
    """Whether this machine, or what confines this process, has too little memory for a JVM that nobody uses."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2]
    with contextlib.suppress(OSError, StopIteration, ValueError):
        meminfo = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits = [int(next(line for line in meminfo if line.startswith("MemAvailable")).split()[1]) << 10]
    with contextlib.suppress(OSError, ValueError):  # no such file, or it says "max"
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits) < _FREE_BYTES


def warm_folder(env: Mapping[str, str] | None = None) -> Path | None:
    """The folder of the socket and the lock, which only this user can look into; None without one."""
    base = private_folder(os.environ if env is None else env)
    if base is None:
        return None
    folder = base / "warm"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    return folder if state.st_uid == os.getuid() and state.st_mode & 0o077 == 0 else None


def configuration() -> str:
    """What a keeper and a command must have in common. Raises SparkError."""
    java, jars = find_java(), spark_jars()
    parts: list[object] = [__version__, java.binary.resolve(), java.version, jars, jars.stat().st_mtime_ns]
    parts += [sorted(spark_conf(LOCAL).items()), tempfile.gettempdir(), os.environ.get("JAVA_TOOL_OPTIONS")]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def ask(what: str, wait_s: float = _ANSWER_S) -> dict[str, Any] | None:
    """What this user's keeper says to `tell` or `stop`; None without a keeper, empty where it is too busy starting."""
    folder = warm_folder()
    connection = None if folder is None else _connected(folder)
    if connection is None:
        return None
    with connection:
        connection.settimeout(wait_s)
        try:
            return _answer(connection, {"do": what})
        except TimeoutError:
            return {}


def stop() -> bool:
    """End this user's Spark that stays, whoever uses it; whether there was one."""
    return ask("stop", _END_S) is not None


class WarmJVM:
    """The JVM that this user's keeper lends; a keeper is started where there is none."""

    def __init__(self) -> None:
        self.pid = 0  # of the JVM
        self.was_up = False  # somebody has used it before
        self._stopped = threading.Event()
        self._connection: socket.socket | None = None

    def boot(self) -> tuple[int, str]:
        """The port its gateway listens on, and the secret it wants to hear. Raises SparkError where none is lent."""
        folder = warm_folder()
        if folder is None:
            raise NotLentError("there is no private folder for a Spark that stays")
        wanted = {"do": "lend", "configuration": configuration()}
        keeper: subprocess.Popen[bytes] | None = None
        ended = deadline = time.monotonic() + START_TIMEOUT_S
        try:
            while time.monotonic() < min(deadline, ended + _GRACE_S) and not self._stopped.is_set():
                self._connection = _connected(folder)
                lent = {} if self._connection is None else _answer(self._connection, wanted)
                if "port" in lent:
                    self.pid, self.was_up = lent["pid"], lent["served"] > 1
                    return lent["port"], lent["secret"]
                if "refused" in lent:
                    break
                if keeper is None:
                    if is_memory_short():
                        break
                    keeper = _start_keeper(folder)
                elif ended == deadline and keeper.poll() is not None:
                    ended = time.monotonic()
                self._stopped.wait(_POLL_S)
        finally:
            if keeper is not None:
                keeper.returncode = 0  # ours no longer: nobody waits for it, and it is no leak
        raise NotLentError("no Spark is lent")

    def use(self) -> None:
        """From now on the JVM holds things of this process, which `give_back` says are gone."""
        self._say({"do": "use"})

    def give_back(self) -> None:
        """Nothing of this process is in the JVM any more: others may go on with it."""
        self._say({"do": "back"})

    def exit_code(self, *, lost: bool) -> int | None:
        """How the JVM ended, None when it runs on; `lost`: the connection to it is."""
        if self._connection is None or not lost:
            return None
        self._connection.settimeout(_ANSWER_S)
        with contextlib.suppress(TimeoutError):
            code: int | None = _answer(self._connection, {"do": "lost"}).get("ended", _KILLED)
            return code
        return None

    def kill(self) -> None:
        """Use the JVM no longer. May be called at any time, from any thread, more than once."""
        self._stopped.set()
        if self._connection is not None:
            with contextlib.suppress(OSError):  # it is gone already
                self._connection.shutdown(socket.SHUT_RDWR)  # wakes who waits for an answer
            self._connection.close()

    def _say(self, what: dict[str, str]) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):  # the keeper is gone, and its JVM with it
                self._connection.sendall(line(what))


def line(message: Mapping[str, object]) -> bytes:
    """One message, as both sides write it."""
    return json.dumps(message).encode() + b"\n"


def _connected(folder: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(folder / "socket"))
    except OSError:
        connection.close()
        return None
    return connection


def _answer(connection: socket.socket, asked: Mapping[str, str]) -> dict[str, Any]:
    """What the keeper says; nothing where it ends. Raises TimeoutError."""
    heard = b""
    try:
        connection.sendall(line(asked))
        while not heard.endswith(b"\n"):
            more = connection.recv(4096)
            if not more:
                return {}
            heard += more
    except TimeoutError:
        raise
    except OSError:
        return {}
    answer: dict[str, Any] = json.loads(heard.splitlines()[-1])
    return answer


def _start_keeper(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-m", "fff.spark.start.keeper", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if _KNOWN.fullmatch(name)},
        start_new_session=True,
        cwd=folder,
    )
