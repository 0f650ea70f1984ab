"""The terminals behind standard output and standard error: whether they are any, and what they can show."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from typing import IO

from fff.structs import Struct, replace

LEAST_WIDTH = 20
#: Cut long lines, pass colours on, do nothing where all fits, leave what was read on the terminal.
LESS = "-SRFX"


class Screen(Struct, frozen=True):
    """The terminal a table is drawn on: its columns and lines, whether it shows box characters and colours."""

    width: int
    unicode: bool = True
    color: bool = False
    height: int = 24
    own: bool = False  # standard output of this process, which may get another size

    def now(self) -> Screen:
        """The screen as it is by now."""
        return replace(self, width=_output_width()) if self.own else self


def _output_width() -> int:
    return max(LEAST_WIDTH, terminal_size(sys.stdout)[0])


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal; false for closed and missing ones."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def can_draw() -> bool:
    """Whether standard error can show a live view: a terminal that can move its cursor."""
    return is_terminal(sys.stderr) and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def output_screen() -> Screen | None:
    """The terminal that standard output is, or None when it is a pipe or a file."""
    if not is_terminal(sys.stdout):
        return None
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    plain = os.environ.get("TERM", "") == "dumb" or bool(os.environ.get("NO_COLOR"))
    return Screen(width=_output_width(), unicode=encoding == "utf8", color=not plain, own=True)


def error_screen() -> Screen | None:
    """The terminal that standard error is, where it can show more than plain text; else None."""
    if not can_draw():
        return None
    columns, lines = terminal_size(sys.stderr)
    return Screen(max(LEAST_WIDTH, columns), color=not os.environ.get("NO_COLOR"), height=lines)


def terminal_size(stream: IO[str]) -> tuple[int, int]:
    """Columns and lines of the terminal a stream is: COLUMNS and LINES, else its own, else 80 by 24."""
    own = os.terminal_size((0, 0))
    with contextlib.suppress(OSError, ValueError):  # no terminal, or closed: the usual size will do
        own = os.get_terminal_size(stream.fileno())
    asked = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    usual = own if all(own) else shutil.get_terminal_size()
    columns, lines = (
        int(text) if text.isdecimal() and int(text) else known
        for text, known in zip(asked, usual, strict=True)
    )
    return columns, lines


def pager(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The program that shows long texts, and its arguments: `$PAGER`, else less, else more; none where there is none.

    None either where standard output is no terminal, or one that cannot move its cursor.
    """
    if not is_terminal(sys.stdout) or environ.get("TERM", "") in ("", "dumb", "unknown"):
        return []
    if "PAGER" in environ:
        with contextlib.suppress(ValueError):  # a quotation mark without its other half
            return shlex.split(environ["PAGER"])
        return []
    return ["less", LESS] if shutil.which("less") else ["more"] if shutil.which("more") else []


def write_error(text: str) -> None:
    """To standard error, at once; lost when it is closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def tell_unwritten(error: OSError) -> int:
    """Say what cannot be written: the file that the system names, else standard output; the exit code."""
    what = "the result" if error.filename is None else repr(os.fsdecode(error.filename))
    write_error(f"error: cannot write {what}: {error.strerror}\n")
    return 2


def discard_output() -> None:
    """The reader of standard output is gone: send what may still be flushed at exit nowhere, without a word."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
