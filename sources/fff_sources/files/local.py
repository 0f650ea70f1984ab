"""Files of this machine: where they are, and how they are read into what a web server would have answered."""

from __future__ import annotations

import asyncio
import csv
import functools
import glob
import gzip
import io
import sys
import zipfile
from pathlib import Path

import pyarrow as pa

from fff.errors import SourceError
from fff.web.types import Response
from fff_sources.http.columnar import ARROW_FILE, PARQUET
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response.streaming import GZIP, Arriving

#: The file that stands for standard input.
STDIN = "-"
#: Bytes that a file may have that no spec declares.
LARGEST = 4 * 2**30
_DELIMITERS = ",\t;|"
_LOOKED_AT = 2**16  # bytes from which a delimiter is told
_LINES = 50
_STARTS = 2**20
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"


def is_local(place: str, base_url: str) -> bool:
    """Whether a place that a spec names is a path: it is no whole URL, and no host is declared that it could belong to."""
    return "://" not in place and not base_url


def expanded(place: str, folder: Path) -> list[str]:
    """The files that a path or a pattern of paths means, in order; relative ones start at a folder.

    A folder stands for the files in it, those of hidden names left out. What is not there stays as it is
    written.
    """
    if place == STDIN:
        return [place]
    full = folder / Path(place).expanduser()
    if full.is_dir():
        return sorted(str(file) for file in full.iterdir() if file.is_file() and file.name[0] not in "._")
    if full.exists() or not glob.has_magic(place):
        return [str(full)]
    root = Path(full.anchor)
    return sorted(str(file) for file in root.glob(str(full.relative_to(root))) if file.is_file())


def delimiter_of(text: bytes) -> str:
    """The delimiter that cuts the first lines of a CSV text into the most columns, equally many in each; else the comma."""
    lines = text[:_LOOKED_AT].decode("utf-8", "replace").splitlines()
    lines = lines[: max(1, min(_LINES, len(lines) - (len(text) > _LOOKED_AT)))]
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        widths = {len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    return best


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
        """The file that a question names by its path. Raises SourceError."""
        del arriving  # the file is here as a whole
        assert ask.url is not None
        body = await asyncio.to_thread(self.read, ask.url)
        return Response(200, {}, body, ask.url)

    def read(self, path: str) -> bytes:
        """A file's bytes, of a zip or zstd file what is packed in there. Raises SourceError."""
        try:
            if path == STDIN:
                body = _standard_input()
            else:
                with Path(path).open("rb") as file:
                    body = file.read(self._max_body + 1)
            if body.startswith(_ZSTD):
                body = pa.CompressedInputStream(pa.BufferReader(body), "zstd").read(self._max_body + 1)
            elif self._unzip and body.startswith(_ZIP):
                body = self._unzipped(body)
        except OSError as error:
            raise self._error(f"{path}: {error.strerror or error}", "name a file that can be read") from error
        except (zipfile.BadZipFile, pa.ArrowException) as error:
            raise self._error(f"{path}: cannot be unpacked", "is the file whole?") from error
        if len(body) > self._max_body:
            size = f"{self._max_body // 2**20:,} MB"
            raise self._error(
                f"{path}: the file is larger than {size}", "client.max_body_mb in a spec allows more"
            )
        return body

    def start(self, path: str) -> bytes:
        """How a file begins, unpacked. Raises SourceError."""
        if path == STDIN:
            body = self.read(path)
            return (
                gzip.GzipFile(fileobj=io.BytesIO(body)).read(_STARTS)
                if body.startswith(GZIP)
                else body[:_STARTS]
            )
        try:
            with Path(path).open("rb") as file:
                head = file.read(_STARTS)
            if head.startswith(GZIP):
                with gzip.open(path) as packed:
                    return packed.read(_STARTS)
        except (OSError, EOFError) as error:
            raise self._error(f"{path}: {error}", "name a file that can be read") from error
        return self.read(path)[:_STARTS] if head.startswith((_ZSTD, _ZIP)) else head

    def _unzipped(self, packed: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise self._error(
                    f"a zip file with {len(names)} files in it", "pack the one that is meant alone"
                )
            with archive.open(names[0]) as member:
                return member.read(self._max_body + 1)

    def _error(self, message: str, hint: str) -> SourceError:
        return SourceError(message, source=self._source, table=self._table, hint=hint)


@functools.cache
def _standard_input() -> bytes:
    """What is piped in, and a byte more than a file may have; it can be read but once, and several tables may want it."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read(LARGEST + 1)


def form_of(body: bytes) -> str:
    """What a text without a name is: parquet, arrow, json, ndjson, or else csv."""
    if body.startswith((PARQUET, ARROW_FILE)):
        return "parquet"
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"[":
        return "json"
    return "ndjson" if start == b"{" else "csv"
