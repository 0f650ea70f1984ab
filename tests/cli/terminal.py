"""Run a command on a pseudo-terminal and see what a user would see."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FAKE = (sys.executable, str(HERE / "fake_engine.py"))
REAL = (sys.executable, "-m", "fff_cli")
SILENCE_S = 120  # a command that says nothing for so long, and does not end, is stuck


def environment(**changes: str) -> dict[str, str]:
    """The environment for a command: this working copy first, no terminal settings of whoever runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "LINES", "FFF_SOURCES")
    }
    own = [str(ROOT / part) for part in ("", "cli", "sources")]
    path = os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | changes


@cache
def _server() -> subprocess.Popen[str]:
    """The fake engine, waiting for command lines; it ends with this process, when its standard input closes."""
    return subprocess.Popen(
        [*FAKE, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )


def fake(
    *arguments: str, stdin: str = "", cwd: Path = ROOT, umask: int = 0o022
) -> subprocess.CompletedProcess[str]:
    """`fff` with the engine that plays scenes, its streams no terminals."""
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        for path in streams:
            path.write_text(stdin if path.name == "in" else "", encoding="utf-8")
        wanted = {
            "arguments": arguments,
            "cwd": str(cwd),
            "umask": umask,
            "streams": [str(path) for path in streams],
        }
        server.stdin.write(json.dumps(wanted) + "\n")
        server.stdin.flush()
        ready, _, _ = select.select([server.stdout], [], [], SILENCE_S)
        assert ready, f"fff {' '.join(arguments)} has not ended after {SILENCE_S} seconds"
        code = int(server.stdout.readline())
        out, err = (path.read_text(encoding="utf-8") for path in streams[1:])
    return subprocess.CompletedProcess(arguments, code, out, err)


@contextlib.contextmanager
def ended(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    """A process that ends with the block: what fails meanwhile is told at once, and nobody waits for what is stuck."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def under_way(run: subprocess.Popen, folder: Path) -> None:
    """Wait until a run has its temporary file in that folder, without taking a processor from it."""
    while not list(folder.iterdir()):
        assert run.poll() is None
        time.sleep(0.01)


@dataclass
class Terminal:
    """A command on a terminal of a size; `read_until` drives it, `finish` waits for its end."""

    arguments: tuple[str, ...]
    columns: int = 80
    lines: int = 24
    environ: dict[str, str] = field(default_factory=environment)
    stdout_to_pipe: bool = False
    text: str = ""
    _expected: int = 0

    def __enter__(self) -> Self:
        self._master, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", self.lines, self.columns, 0, 0))
        out = subprocess.PIPE if self.stdout_to_pipe else inner
        self.process = subprocess.Popen(
            self.arguments, stdin=inner, stdout=out, stderr=inner, env=self.environ, start_new_session=True
        )
        os.close(inner)
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        os.close(self._master)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], SILENCE_S)
        assert ready, f"the command has said nothing for {SILENCE_S} seconds:\n{self.text[-4000:]}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so when the last writer is gone
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def read_until(self, wanted: str) -> None:
        """Read what the command writes until it has written this."""
        while wanted not in self.text:
            assert self._more(), f"{wanted!r} never came:\n{self.text}"

    def expect(self, wanted: str) -> str:
        """Read until this comes once more, after what the last call waited for; what came up to it, without colours
        and cursor movements."""
        while (found := self.text.find(wanted, self._expected)) < 0:
            assert self._more(), f"{wanted!r} never came:\n{self.text[self._expected :]}"
        came = self.text[self._expected : found + len(wanted)]
        self._expected = found + len(wanted)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=]", "", came)

    def type(self, keys: str) -> None:
        """Press keys; a line feed is the Enter key."""
        os.write(self._master, keys.replace("\n", "\r").encode())

    def press(self, keys: str) -> None:
        """What someone types."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Another size from now on."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def vanish(self) -> None:
        """The terminal is gone; the command, which it does not control, hears no signal."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)

    def settings(self) -> list:
        """The terminal's settings: echo and the like."""
        return termios.tcgetattr(self._master)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def interrupt_plain_prompt(self) -> None:
        """Ctrl-C while Python's own prompt waits: again when it fell between the prompt and its read, where Python sees it
        with the next key only."""
        for _ in range(10):
            self.interrupt()
            if select.select([self._master], [], [], 5)[0]:
                return

    def finish(self) -> int:
        """The exit code, once everything was read."""
        while self._more():
            pass
        return self.process.wait(60)

    def screen(self) -> list[str]:
        """What is left on the terminal: the control sequences FFF and rich use, carried out."""
        return carried_out(self.text)


def carried_out(text: str) -> list[str]:
    """A terminal's lines after cursor-up, cursor-to-column, erase-line, erase-below, carriage return and line feed; colours are left out."""
    lines, row, column, index = [""], 0, 0, 0
    while index < len(text):
        char = text[index]
        if char == "\x1b":
            end = index + 2
            while not text[end].isalpha():
                end += 1
            code, count = text[end], text[index + 2 : end]
            if code == "A":
                row = max(0, row - int(count or 1))
            elif code == "G":
                column = int(count or 1) - 1
            elif code == "K":
                lines[row] = "" if count == "2" else lines[row][:column]
            elif code == "J":
                lines[row] = lines[row][:column]
                del lines[row + 1 :]
            else:
                assert code in "mhl", f"unexpected control sequence {text[index : end + 1]!r}"
            index = end + 1
            continue
        if char == "\r":
            column = 0
        elif char == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        else:
            lines[row] = lines[row][:column].ljust(column) + char + lines[row][column + 1 :]
            column += 1
        index += 1
    return [line.rstrip() for line in lines]
