"""Files of this machine: where they are, and how they are read into what a web server would have answered."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import functools
import glob
import io
import itertools
import sys
import zipfile
from collections import Counter
from collections.abc import Generator, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

import pyarrow as pa

from fff.errors import SourceError
from fff.web.types import Response
from fff_sources.http.columnar import ARROW_FILE, ARROW_STREAM, PARQUET
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response.streaming import ZIP, Arriving, unpacked
from fff_sources.http.response.text.csv_text import marked_encoding
from fff_sources.http.shaping import NO_ZIP, packed_files

T = TypeVar("T")

#: The file that stands for standard input.
STDIN = "-"
#: Bytes that a file may have that no spec declares.
LARGEST = 4 * 2**30
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".geojson": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xlsb": "excel",
    ".xls": "excel",
    ".ods": "excel",
}
_PACKED = (".gz", ".gzip", ".zip", ".zst")
#: Of CSV, the likeliest first.
DELIMITERS = ",\t;|"
_LOOKED_AT = 2**16  # bytes from which a delimiter is told
_ROWS = 50
_STARTS = 2**20
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = (ZIP, b"PK\x05\x06")  # with something in it, and with nothing


def format_of_name(name: str) -> str | None:
    """The format that the ending of a file's name tells, however the file is packed."""
    name = name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return next((kind for ending, kind in _FORMATS.items() if name.endswith(ending)), None)


def is_local(place: str, base_url: str) -> bool:
    """Whether a place that a spec names is a path: it is no whole URL, and no host is declared that it could belong to."""
    return "://" not in place and not base_url


def expanded(place: str, folder: Path) -> list[str]:
    """The files that a path or a pattern of paths means, in order; relative ones start at a folder.

    A folder stands for the files in it and in its partitions (`year=2024/`), those of hidden names left out.
    What is not there stays as it is written.
    """
    if place == STDIN:
        return [place]
    full = folder / Path(place).expanduser()
    if full.is_dir():
        return sorted(_within(full))
    if full.exists() or not glob.has_magic(place):
        return [str(full)]
    root = Path(full.anchor)
    found = root.glob(str(full.relative_to(root)))
    return sorted(str(file) for file in found if file.is_file() and not _is_hidden(file, full.parts))


def _is_hidden(file: Path, pattern: tuple[str, ...]) -> bool:
    """Whether a file that a pattern meets lies beside the data (`._a.csv`, `_SUCCESS`, what is in `_delta_log/`).

    What the pattern itself names so does not, nor does a file `_a.csv`.
    """
    unnamed = [
        place
        for place, part in enumerate(file.parts)
        if part[0] in "._" and not any(one[0] == part[0] and fnmatch(part, one) for one in pattern)
    ]
    only_last = unnamed == [len(file.parts) - 1]
    return bool(unnamed) and not (only_last and file.name[0] == "_" and format_of_name(file.name))


def _within(folder: Path) -> Iterator[str]:
    for place in folder.iterdir():
        if place.name[0] in "._":
            continue
        if place.is_dir() and "=" in place.name:
            yield from _within(place)
        elif place.is_file():
            yield str(place)


def delimiter_of(text: bytes) -> str:
    """The delimiter that cuts the first rows of a CSV text into the most columns, equally many in each or, where rows differ, in the header and most of them; else the comma."""
    start, is_cut = decoded(text[:_LOOKED_AT]), len(text) > _LOOKED_AT
    best, most = ",", (False, 0)
    for delimiter in DELIMITERS:
        # Rows end as the reader of CSV has it, who takes no form feed for an end and goes on within quotes.
        rows = list(itertools.islice(csv.reader(io.StringIO(start, newline=""), delimiter=delimiter), _ROWS))
        if is_cut and 1 < len(rows) < _ROWS:
            rows.pop()  # of which there is more
        widths = Counter(map(len, filter(None, rows)))
        width = len(next(filter(None, rows), ()))
        rank = len(widths) == 1, width
        if width > 1 and 2 * widths[width] > widths.total() and rank > most:
            best, most = delimiter, rank
    return best


def header_line(text: bytes) -> str:
    """The first line of a CSV text."""
    return next(iter(decoded(text[:_LOOKED_AT]).lstrip("\r\n").splitlines()), "")


def decoded(body: bytes) -> str:
    """A text in the encoding that it says itself, or in UTF-8, whatever is none of it left out."""
    return body.decode(marked_encoding(body) or "utf-8", "replace").removeprefix("\ufeff")


class LocalFiles:
    """Reads files of this machine as answers. Nothing is sent and nothing counts as a request.

    Args:
        source, table: for errors.
        max_body: bytes, after unpacking.
        unzip: whether a zip file stands for the file in it; spreadsheets are zip files themselves.
    """

    def __init__(self, source: str, table: str, max_body: int, *, unzip: bool = True) -> None:
        self._source = source
        self._table = table
        self._max_body = max_body
        self._unzip = unzip

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        """The file that a question names by its path; of lines whoever listens gets most before. Raises SourceError."""
        path = ask.url
        assert path is not None
        if arriving is None or not _is_there_again(path):
            return Response(200, {}, await asyncio.to_thread(self.read, path), path)
        arriving.begin({})
        arriving.url = path
        with contextlib.closing(self._parts(path)) as parts:
            while part := await next_of(parts, b""):
                arriving.take(part)
                await arriving.room()
        return Response(200, {}, arriving.remainder(), path)

    def read(self, path: str) -> bytes:
        """A file's bytes, of a packed file what is in there. Raises SourceError."""
        body = io.BytesIO()  # which gives what it has grown to without a copy
        body.writelines(self._parts(path))
        return body.getvalue()

    def start(self, path: str) -> bytes:
        """How a file begins, unpacked, the first line as a whole but for an array of JSON. Raises SourceError.

        A header may be long, and only behind its first line is an object told from lines of them.
        """
        start = io.BytesIO()
        with contextlib.closing(self._parts(path)) as parts:
            while start.tell() < _STARTS and (part := next(parts, b"")):
                start.write(part)
            begin = start.getvalue()
            if b"\n" in begin or form_of(begin) == "json":
                return begin
            for part in parts:
                start.write(part)
                if b"\n" in part:
                    break
        return start.getvalue()

    def _parts(self, path: str) -> Generator[bytes]:
        """What `read` gives, little by little."""
        with self._opened(path) as file:
            yield from self._checked(path, file)

    def _checked(self, path: str, file: BinaryIO) -> Iterator[bytes]:
        size = 0
        for part in filter(None, unpacked(file)):
            size += len(part)
            self._check_size(path, size)
            yield part

    def _check_size(self, path: str, size: int) -> None:
        if size > self._max_body:
            most = f"{self._max_body // 2**20:,} MB"
            raise self._error(
                f"{path}: the file is larger than {most}", "client.max_body_mb in a spec allows more"
            )

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        """A file, or the one that is packed in a zip or zstd file."""
        try:
            is_pipe = not _is_there_again(path) or path == STDIN
            with (
                io.BytesIO(_piped(path)) if is_pipe else Path(path).open("rb") as raw,
                contextlib.ExitStack() as stack,
            ):
                file: Any = raw
                start = file.read(len(_ZSTD))
                file.seek(0)
                if start == _ZSTD:
                    file = pa.CompressedInputStream(file, "zstd")
                elif self._unzip and start in _ZIP:
                    file = self._unzipped(stack.enter_context(zipfile.ZipFile(file)))
                yield stack.enter_context(file)
        except OSError as error:
            raise self._error(f"{path}: {error.strerror or error}", "name a file that can be read") from error
        except (*NO_ZIP, pa.ArrowException) as error:
            raise self._error(f"{path}: cannot be unpacked: {error}", "is the file whole?") from error

    def _unzipped(self, archive: zipfile.ZipFile) -> IO[bytes]:
        names = packed_files(archive)
        if len(names) != 1:
            message = f"{archive.filename or STDIN}: a zip file with {len(names)} files in it"
            raise self._error(
                message, "unpack it: a folder of files is a table; or pack the one that is meant alone"
            )
        return archive.open(names[0])

    def _error(self, message: str, hint: str) -> SourceError:
        return SourceError(message, source=self._source, table=self._table, hint=hint)


async def next_of(parts: Iterator[T], end: T) -> T:
    """The next of what a thread reads, or `end`."""
    step = asyncio.ensure_future(asyncio.to_thread(next, parts, end))
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:  # the thread goes on, and nobody may close what it reads
        await asyncio.gather(step, return_exceptions=True)
        raise


def _is_there_again(path: str) -> bool:
    """Whether it can be read more than once, as a pipe cannot."""
    return path == STDIN or Path(path).is_file()


@functools.cache
def _piped(path: str) -> bytes:
    """What a pipe brings, and a byte more than a file may have; it can be read but once, and several may want it."""
    if path != STDIN:
        with Path(path).open("rb") as pipe:
            return pipe.read(LARGEST + 1)
    return b"" if sys.stdin is None else sys.stdin.buffer.read(LARGEST + 1)


def form_of(body: bytes) -> str:
    """What a text without a name is: parquet, arrow, json, ndjson, or else csv."""
    if body.startswith((PARQUET, ARROW_FILE, ARROW_STREAM)):
        return "parquet"
    start = decoded(body.lstrip()[:_LOOKED_AT]).lstrip()[:1]
    if start == "[":
        return "json"
    return "ndjson" if start == "{" else "csv"
