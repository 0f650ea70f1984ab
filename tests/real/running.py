"""Servers as processes, and the command line as a process over them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.cli.terminal import REAL, environment

START_TIMEOUT = 60.0  # seconds
RUN_TIMEOUT = 120.0  # seconds


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get(url: str) -> Any:
    """The JSON at a URL."""
    with urlopen(url, timeout=30) as answer:
        return json.loads(answer.read())


def get_text(url: str) -> str:
    with urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@contextlib.contextmanager
def process(command: Sequence[str], url: str, log: Path) -> Iterator[str]:
    """A server's process while it is needed, from its first answer (whatever its status) on."""
    with log.open("wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while not _answers(url):
                ended = running.poll() is not None
                assert not ended, f"{command[0]} ended: {log.read_text()[-1000:]}"
                assert time.monotonic() < deadline, f"{command[0]} does not answer: {log.read_text()[-1000:]}"
                time.sleep(0.05)
            yield url
        finally:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def _answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()
    except HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def tool(script: Path, log: Path, *options: str) -> Iterator[str]:
    """A server of ../shared/tools."""
    port = free_port()
    command = [sys.executable, str(script), "--port", str(port), *options]
    with process(command, f"http://127.0.0.1:{port}/_stats", log):
        yield f"http://127.0.0.1:{port}"


def executable(name: str, variable: str, accepted: str | None = None) -> str:
    """The path of a server's program, or a visible skip. `accepted` begins the version it must have."""
    found = os.environ.get(variable) or shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not on PATH and {variable} does not name it")
    if accepted is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60, check=False)
        if not said.stdout.strip().startswith(accepted):
            pytest.skip(
                f"{found} is version {said.stdout.strip()}, not {accepted}; {variable} may name another"
            )
    return found


def python_with(package: str, variable: str, folder: Path) -> str:
    """A Python that has a package: the one a variable names, or a new environment; a visible skip where none can be had."""
    named = os.environ.get(variable)
    if named:
        return named
    python = folder / "venv" / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=RUN_TIMEOUT)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
        subprocess.run(command, check=True, timeout=RUN_TIMEOUT, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{variable} is not set, and {package} cannot be installed: {type(error).__name__}")
    return str(python)


@dataclass
class Ran:
    """What a run of the command line left."""

    code: int
    out: str
    err: str
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The CSV on standard output without its header, sorted."""
        return sorted(tuple(row) for row in list(csv.reader(io.StringIO(self.out)))[1:])

    def access(self, name: str) -> dict[str, Any]:
        """An access method's part of the report."""
        (found,) = (entry for entry in self.report["access"] if entry["name"] == name)
        return dict(found)


@dataclass
class CommandLine:
    """`fff` over the spec file of a folder."""

    folder: Path

    def spec(self, text: str, **texts: str) -> None:
        """Write the spec; `<name>` in it stands for a text."""
        for name, value in texts.items():
            text = text.replace(f"<{name}>", value)
        (self.folder / "fff.yaml").write_text(text, encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [*REAL, *arguments]

    def environment(self, **changes: str) -> dict[str, str]:
        # Named, the spec is the word of whoever runs the command, who may let it use secrets.
        return environment(XDG_CONFIG_HOME=str(self.folder), FFF_SOURCES="fff.yaml", **changes)

    def run(self, *arguments: str, **environ: str) -> Ran:
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT,
            check=False,
            cwd=self.folder,
            env=self.environment(**environ),
            stdin=subprocess.DEVNULL,
        )
        assert "Traceback" not in done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def query(self, sql: str, *options: str, **environ: str) -> Ran:
        """Run a statement; the report is read, too."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        ran = self.run("query", sql, "--report", str(report), *options, **environ)
        if report.exists():
            ran.report = json.loads(report.read_text())
        return ran

    def rows(self, sql: str, *options: str, **environ: str) -> Ran:
        """Run a statement whose answer must be complete and raise no warning."""
        ran = self.query(sql, *options, **environ)
        assert (ran.code, ran.report.get("complete")) == (0, True), ran.err
        assert ran.report["warnings"] == []
        return ran
