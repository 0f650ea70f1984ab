"""What results are called, and standard output as they come; loaded also where no result is made, so without pyarrow."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast

from fff.errors import UsageError
from fff.version import how_to_install

FORMATS = (
    "table", "csv", "tsv", "json", "ndjson", "markdown", "line", "parquet", "arrow", "sqlite", "duckdb",
    "xlsx",
)  # fmt: skip
#: Those whose results can be read back, and compared with others.
COMPARED = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "sqlite", "duckdb")
BINARY_FORMATS = frozenset({"parquet", "arrow", "sqlite", "duckdb", "xlsx"})
#: Formats of libraries that need not be there: the library, what is said without it, its extra.
_EXTRAS = {
    "duckdb": ("duckdb", "duckdb is not installed", "duckdb"),
    "xlsx": ("xlsxwriter", "writing spreadsheets needs xlsxwriter", "excel"),
}
ENDINGS = {
    ".txt": "table",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".md": "markdown",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
    ".xlsx": "xlsx",
}


def choose_format(asked: str | None, file: Path | None, *, terminal: bool, safe_csv: bool = False) -> str:
    """The format asked for, else by the file's ending, else by where the output goes; raises UsageError."""
    if asked is not None:
        if asked not in FORMATS:
            raise UsageError(f"unknown output format {asked!r}", hint=f"one of {', '.join(FORMATS)}")
    elif file is not None:
        if file.is_dir():
            raise UsageError(
                f"cannot write {str(file)!r}: it is a folder",
                hint=f"name a file in it, or -O {file}/ for a folder of Parquet files",
            )
        if file.suffix.lower() not in ENDINGS:
            raise UsageError(
                f"cannot tell the format from the ending of {str(file)!r}",
                hint=f"say it with -o, or end the name in one of {' '.join(ENDINGS)}",
            )
        asked = ENDINGS[file.suffix.lower()]
    else:
        asked = "table" if terminal else "csv"
    if asked in BINARY_FORMATS and file is None and terminal:
        raise UsageError(f"{asked} is not for terminals", hint="redirect it, or name a file with -O")
    if safe_csv and asked not in ("csv", "tsv", "table"):  # a terminal's default
        raise UsageError(f"--safe-csv is for CSV and TSV, and this is {asked}", hint="leave it out")
    check_installed(asked)
    return asked


def check_installed(form: str) -> None:
    """Raise UsageError where a format's library is not there: before anything is asked."""
    if form in _EXTRAS:
        library, problem, extra = _EXTRAS[form]
        if find_spec(library) is None:
            raise UsageError(problem, hint=how_to_install(extra))


class HeldBytes(io.RawIOBase):
    """Bytes kept until they are taken; it counts on, since Parquet and Arrow writers ask where they are."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any, /) -> int:
        """Keep a copy."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        """How many bytes there have been."""
        return self._position

    def take(self) -> bytes:
        """What has come since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class StandardOutput:
    """Standard output. `before_write` runs before anything is written: the live view makes room."""

    def __init__(self, before_write: Callable[[], None] = lambda: None) -> None:
        self._held = HeldBytes()
        self.out: BinaryIO = cast("BinaryIO", self._held)
        self._before_write = before_write

    def flush(self) -> None:
        """Write everything at once, so that a batch appears as a whole."""
        if data := self._held.take():
            self._before_write()
            if sys.stdout is None:
                raise OSError(errno.EBADF, "standard output is closed")
            _write_all(sys.stdout.buffer, data)
            sys.stdout.buffer.flush()

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Flush the rest."""
        del aside, whole  # it was seen as it came
        self.flush()
        return None

    def drop(self) -> None:
        """What was not flushed is forgotten."""
        self._held.take()


def _write_all(out: BinaryIO, data: bytes) -> None:
    """Write to the last byte: unbuffered (PYTHONUNBUFFERED), a Ctrl-C or any other signal cuts a long write short."""
    left = memoryview(data)
    while left:
        written: int | None = out.write(left)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        left = left[written:]
