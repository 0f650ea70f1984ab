"""The terminals behind standard output and standard error: whether they are any, and what they can show."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import IO

from fff_cli.table import Screen

LEAST_WIDTH = 20


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal; false for closed and missing ones."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def can_draw(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether standard error can show a live view: a terminal that can move its cursor."""
    return is_terminal(sys.stderr) and environ.get("TERM", "") not in ("", "dumb", "unknown")


def output_screen(environ: Mapping[str, str] = os.environ) -> Screen | None:
    """The terminal that standard output is, or None when it is a pipe or a file."""
    if not is_terminal(sys.stdout):
        return None
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    plain = environ.get("TERM", "") == "dumb" or bool(environ.get("NO_COLOR"))
    return Screen(width=max(LEAST_WIDTH, terminal_size()[0]), unicode=encoding == "utf8", color=not plain)


def terminal_size() -> tuple[int, int]:
    """Columns and lines: COLUMNS and LINES, else the terminal's own, else 80 by 24."""
    size = shutil.get_terminal_size()
    return size.columns, size.lines


def discard_output() -> None:
    """The reader of standard output is gone: send what may still be flushed at exit nowhere, without a word."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
