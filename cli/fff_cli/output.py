"""The result formats, and where their bytes go: standard output as they come, or a file that appears when it is whole."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from fff.errors import UsageError
from fff_cli.table import Screen, TableWriter
from fff_cli.values import is_number, json_text, json_texts, line_printable, printable, texts

FORMATS = ("table", "csv", "tsv", "json", "ndjson", "markdown", "parquet", "arrow")
BINARY_FORMATS = frozenset({"parquet", "arrow"})
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
}
ROWS_AT_ONCE = 65_536  # rows turned into text in one go: bounds memory, and keeps Arrow strings below 2 GB
_ELSEWHERE = "name a file in a folder that is there and may be written to"


class Writer(Protocol):
    """A result format. `begin` once with the header, `write` for each batch, `end` once unless the run failed."""

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows."""

    def end(self) -> None:
        """Write what is left."""


class SeparatedWriter:
    """CSV after RFC 4180 with line feeds, or the same with tabs: NULL is empty, the empty string is `""`."""

    def __init__(self, out: BinaryIO, separator: str = ",", *, safe: bool = False) -> None:
        self._out = out
        self._separator = separator
        self._special = f'["\r\n{separator}]'
        self._safe = safe

    def begin(self, schema: pa.Schema) -> None:
        """Write the header line."""
        names = self._quoted(pa.array(schema.names, pa.string())).to_pylist()
        self._out.write((self._separator.join(names) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        columns = [self._column(column) for column in batch.columns]
        row = pc.binary_join_element_wise(
            *columns, self._separator, null_handling="replace", null_replacement=""
        )
        self._out.write(_concatenated(pc.binary_join_element_wise(row, "", "\n")))

    def end(self) -> None:
        """Nothing is left."""

    def _column(self, column: pa.Array) -> pa.Array:
        written = texts(column)
        kind = column.type
        if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            return written
        return self._quoted(written)

    def _quoted(self, written: pa.Array) -> pa.Array:
        if self._safe:  # a terminal obeys control characters; a pipe gets the data as it is
            written = pa.array(
                [None if text is None else line_printable(text) for text in written.to_pylist()], pa.string()
            )
        special = pc.or_(pc.match_substring_regex(written, self._special), pc.equal(written, ""))
        if not pc.any(special).as_py():
            return written
        doubled = pc.replace_substring(written, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), written)


class NdjsonWriter:
    """One JSON object a line."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._labels: list[str] = []

    def begin(self, schema: pa.Schema) -> None:
        """Take the header; the first line comes with the first row."""
        names = unique(schema.names)
        self._labels = [
            ("{" if index == 0 else ",") + json_text(name) + ":" for index, name in enumerate(names)
        ]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        self._out.write(_concatenated(pc.binary_join_element_wise(self.objects(batch), "", "\n")))

    def objects(self, batch: pa.RecordBatch) -> pa.Array:
        """Each row as a JSON object."""
        parts: list[object] = []
        for label, column in zip(self._labels, batch.columns, strict=True):
            parts += [label, json_texts(column)]
        return pc.binary_join_element_wise(*parts, "}", "")

    def end(self) -> None:
        """Nothing is left."""


class JsonWriter:
    """One JSON array of objects."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._rows = NdjsonWriter(out)
        self._lead = "[\n"

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self._rows.begin(schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        if batch.num_rows:
            text = ",\n".join(self._rows.objects(batch).to_pylist())
            self._out.write((self._lead + text).encode())
            self._lead = ",\n"

    def end(self) -> None:
        """Close the array."""
        self._out.write(b"[]\n" if self._lead == "[\n" else b"\n]\n")


class MarkdownWriter:
    """A table in GitHub's Markdown."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def begin(self, schema: pa.Schema) -> None:
        """Write the header."""
        names = " | ".join(_markdown_cell(name) for name in schema.names)
        rule = " | ".join("---:" if is_number(kind) else "---" for kind in schema.types)
        self._out.write(f"| {names} |\n| {rule} |\n".encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        columns = [[_markdown_cell(text) for text in texts(column).to_pylist()] for column in batch.columns]
        lines = ("| " + " | ".join(cells) + " |\n" for cells in zip(*columns, strict=True))
        self._out.write("".join(lines).encode())

    def end(self) -> None:
        """Nothing is left."""


class ArrowWriter:
    """An Arrow IPC stream."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._stream: Any = None

    def begin(self, schema: pa.Schema) -> None:
        """Write the schema message."""
        self._stream = pa.ipc.new_stream(self._out, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a record batch message."""
        assert self._stream is not None
        self._stream.write_batch(batch)

    def end(self) -> None:
        """Write the end of the stream."""
        assert self._stream is not None
        self._stream.close()


class ParquetWriter:
    """A Parquet file; column names are made unique, which Parquet readers ask for."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._file: Any = None
        self._schema: pa.Schema = pa.schema([])

    def begin(self, schema: pa.Schema) -> None:
        """Open the file."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

        fields = [field.with_name(name) for field, name in zip(schema, unique(schema.names), strict=True)]
        self._schema = pa.schema(fields)
        self._file = pq.ParquetWriter(self._out, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a row group."""
        assert self._file is not None
        if batch.num_rows:
            self._file.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))

    def end(self) -> None:
        """Write the footer."""
        assert self._file is not None
        self._file.close()


def writer(name: str, out: BinaryIO, screen: Screen | None) -> Writer:
    """The writer of a format; `screen` describes the terminal that `out` is, None when it is none."""
    match name:
        case "table":
            return TableWriter(out, screen)
        case "csv":
            return SeparatedWriter(out, ",", safe=screen is not None)
        case "tsv":
            return SeparatedWriter(out, "\t", safe=screen is not None)
        case "json":
            return JsonWriter(out)
        case "ndjson":
            return NdjsonWriter(out)
        case "markdown":
            return MarkdownWriter(out)
        case "parquet":
            return ParquetWriter(out)
        case "arrow":
            return ArrowWriter(out)
        case _:
            raise UsageError(f"unknown output format {name!r}", hint=f"one of {', '.join(FORMATS)}")


def write_batches(to: Writer, batch: pa.RecordBatch) -> None:
    """Hand a batch over in pieces of a bounded number of rows."""
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        to.write(batch.slice(start, ROWS_AT_ONCE))


def choose_format(asked: str | None, file: Path | None, *, terminal: bool) -> str:
    """The format asked for, else by the file's ending, else by where the output goes; raises UsageError."""
    if asked is not None:
        if asked not in FORMATS:
            raise UsageError(f"unknown output format {asked!r}", hint=f"one of {', '.join(FORMATS)}")
    elif file is not None:
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
    return asked


class Target(Protocol):
    """Where result bytes go."""

    out: BinaryIO

    def flush(self) -> None:
        """Send on what was written."""

    def keep(self) -> None:
        """The result may be seen: it is complete, or labelled partial."""

    def drop(self) -> None:
        """There is no result: leave nothing behind."""


class _Held(io.RawIOBase):
    """Bytes kept until they are taken; it counts on, since Parquet and Arrow writers ask where they are."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class StandardOutput:
    """Standard output. `before_write` runs before anything is written: the live view makes room."""

    def __init__(self, before_write: Callable[[], None] = lambda: None) -> None:
        self._held = _Held()
        self.out: BinaryIO = cast("BinaryIO", self._held)
        self._before_write = before_write

    def flush(self) -> None:
        """Write everything at once, so that a batch appears as a whole."""
        if data := self._held.take():
            self._before_write()
            if sys.stdout is None:
                raise OSError(errno.EBADF, "standard output is closed")
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def keep(self) -> None:
        """Flush the rest."""
        self.flush()

    def drop(self) -> None:
        """What was not flushed is forgotten."""
        self._held.take()


class CannotWrite(UsageError):  # noqa: N818 - reads as the sentence users see
    """The result cannot be written: a full disk, a closed output."""


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn a failure to write into CannotWrite; a closed pipe stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(f"cannot write the result: {error.strerror or error}") from error


def emit(text: str) -> None:
    """Write text that is the result of a command (a plan, a table of tables) to standard output."""
    target = StandardOutput()
    target.out.write(text.encode("utf-8", "replace"))
    with writing():
        target.flush()


class NewFile:
    """A file written under a temporary name in its own folder, and renamed once the result may be seen."""

    def __init__(self, path: Path) -> None:
        self._path = Path(os.path.realpath(path))  # a link keeps pointing where it did
        if self._path.is_dir():
            raise UsageError(f"cannot write {str(path)!r}: it is a folder", hint=_ELSEWHERE)
        try:
            handle, name = tempfile.mkstemp(
                prefix=f".{self._path.name}.", suffix=".tmp", dir=self._path.parent
            )
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error.strerror}", hint=_ELSEWHERE) from error
        self._temporary = Path(name)
        self.out: BinaryIO = os.fdopen(handle, "wb")

    def flush(self) -> None:
        """Nobody sees the file yet."""

    def keep(self) -> None:
        """Rename it into place, with the permissions a new file has (an old one keeps its own)."""
        self.out.close()
        if self._path.exists():
            mode = self._path.stat().st_mode & 0o7777
        else:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        self._temporary.chmod(mode)
        self._temporary.replace(self._path)

    def drop(self) -> None:
        """Delete it."""
        with contextlib.suppress(OSError):  # a full disk fails the flush of close; the file goes all the same
            self.out.close()
        self._temporary.unlink(missing_ok=True)


class SpecialFile:
    """A device, a named pipe or an open file (/dev/stdout) given with -O: written as it is, since it cannot be renamed over."""

    def __init__(self, path: Path) -> None:
        try:
            number = _open_file(path)
            # An open file goes on where it is: opening it by its name would empty what others write to.
            self.out: BinaryIO = path.open("wb") if number is None else os.fdopen(os.dup(number), "wb")
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error.strerror}", hint=_ELSEWHERE) from error

    def flush(self) -> None:
        """Send on what was written."""
        self.out.flush()

    def keep(self) -> None:
        """Close it."""
        self.out.close()

    def drop(self) -> None:
        """Close it."""
        with contextlib.suppress(OSError):  # already told by whoever failed to write
            self.out.close()


class PartOfFile:
    """One of several results in one file, which is kept or dropped as a whole by whoever opened it."""

    def __init__(self, file: Target) -> None:
        self._file = file
        self.out: BinaryIO = file.out

    def flush(self) -> None:
        """Send on what was written, where it is seen before the end."""
        self._file.flush()

    def keep(self) -> None:
        """The others decide as well."""

    def drop(self) -> None:
        """The others decide as well."""


def file_target(path: Path) -> Target:
    """Where `-O path` writes; raises UsageError when that cannot be."""
    special = path.exists() and not path.is_file() and not path.is_dir()
    return SpecialFile(path) if special or _open_file(path) is not None else NewFile(path)


def _open_file(path: Path) -> int | None:
    """The number of the open file of this process that a path names, if it names one."""
    match path.parts:
        case ("/", "dev", "stdout"):
            return 1
        case ("/", "dev", "stderr"):
            return 2
        case ("/", "dev", "fd", number) | ("/", "proc", "self", "fd", number) if number.isdecimal():
            return int(number)
        case _:
            return None


def unique(names: list[str]) -> list[str]:
    """Names with repeated ones numbered: a, a_1, a_2."""
    taken, result = set(names), []
    seen: set[str] = set()
    for name in names:
        chosen, number = name, 0
        while chosen in seen or (number and chosen in taken):
            number += 1
            chosen = f"{name}_{number}"
        seen.add(chosen)
        result.append(chosen)
    return result


def _concatenated(lines: pa.Array) -> memoryview | bytes:
    """The bytes of all strings of an array, which lie next to each other in its data buffer."""
    if not len(lines):
        return b""
    offsets = memoryview(lines.buffers()[1]).cast("i")
    first, last = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return memoryview(lines.buffers()[2])[first:last]


def _markdown_cell(text: str | None) -> str:
    if text is None:
        return "NULL"
    return printable(text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "\0")).replace(
        "\\x00", "<br>"
    )
