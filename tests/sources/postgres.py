"""A PostgreSQL server of a test's own, reached by a socket in a folder; skipped visibly where there is none."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

USER, PASSWORD = "fff", "pass+w:rd%1"
WRITTEN = "pass%2Bw%3Ard%251"  # the password as URIs have it


@dataclass
class PostgresServer:
    """The server: where it is, and what it has written to its log."""

    folder: Path

    @property
    def uri(self) -> str:
        return f"postgresql://{USER}:{WRITTEN}@/postgres?host={self.folder}"

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


def unprivileged() -> list[str]:
    """What a command starts with to run as somebody whom the server takes: root it does not."""
    if os.getuid() != 0:
        return []
    try:
        someone = next(pwd.getpwnam(name) for name in ("postgres", "nobody"))
    except KeyError:
        pytest.skip("PostgreSQL refuses to run as root, and there is nobody else")
    if shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL refuses to run as root, and setpriv is not there")
    return ["setpriv", f"--reuid={someone.pw_uid}", f"--regid={someone.pw_gid}", "--clear-groups"]


def program(name: str) -> str:
    """A program of PostgreSQL, which distributions keep off the path."""
    places = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    known = next((place for place in reversed(places) if place), None)
    if known is None:
        pytest.skip(f"no {name}: PostgreSQL is not installed")
    return known


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A new server that lets nobody in without a password, and logs all statements."""
    initdb, postgres = program("initdb"), program("postgres")
    first = unprivileged()
    # The folders of pytest are root's alone, and sockets must have short names.
    folder = Path(tempfile.mkdtemp(prefix="fff-pg-"))
    try:
        if first:
            shutil.chown(folder, int(first[1].partition("=")[2]), int(first[2].partition("=")[2]))
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        data = str(folder / "data")
        made = [initdb, "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={folder}/password"]
        made += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run([*first, *made], check=True, capture_output=True, timeout=60)
        options = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off"}
        options |= {"log_statement": "all", "log_parameter_max_length": 2000}
        command = [*first, postgres, "-D", data, *(f"-c{name}={value}" for name, value in options.items())]
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while "ready to accept connections" not in PostgresServer(folder).log():
                assert running.poll() is None, PostgresServer(folder).log()
                assert time.monotonic() < deadline, PostgresServer(folder).log()
                time.sleep(0.02)
            yield PostgresServer(folder)
        finally:
            running.terminate()
            try:
                running.wait(30)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
