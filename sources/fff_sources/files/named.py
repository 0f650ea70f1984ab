"""Files of this machine that a statement names: csv.`companies.csv`, 'companies.csv', stdin."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fff.catalog import Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import InvariantError, SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.structs import lazy_pattern
from fff.web.client import WebClient
from fff_sources.adapter import SourceContext
from fff_sources.document import Document
from fff_sources.files.local import (
    DELIMITERS,
    LARGEST,
    STDIN,
    LocalFiles,
    delimiter_of,
    expanded,
    form_of,
    format_of_name,
    header_line,
)

if TYPE_CHECKING:
    from fff_sources.files.source import FilesSource

#: The source of files that are named without a format.
FILES = "local"
#: The sources, beside it, whose tables are files of a format: what stands before the name.
FORMATS = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "excel")
#: The table of what is piped in.
STANDARD_INPUT = "stdin"
_NUMBER = lazy_pattern(r"[-+]?[\d.]+(_\d+)?")
_SQLITE = b"SQLite format 3\0"  # how its files begin


class NamedFiles:
    """A source that has a table for every file.

    Implements `fff.catalog.Naming`, which learns of a file by its name.

    Args:
        name: the source's name: a format, or `FILES`, where the endings of names tell the formats.
        cwd: where relative paths start.
    """

    def __init__(self, name: str, *, cwd: Path, environ: Mapping[str, str], client: WebClient) -> None:
        self.name = name
        self._cwd = cwd
        self._environ = environ
        self._client = client
        self._places: dict[str, str] = {}  # of tables
        self._with_header: set[str] = set()  # the tables whose first line has the names of columns
        self._uncut: dict[str, str] = {}  # what is to be said of tables of one column that may have several
        # Of tables that have been looked into, as they are read by now.
        self._files: dict[str, FilesSource] = {}
        self._by_columns: dict[tuple[str, tuple[Field, ...]], FilesSource] = {}  # and as they were

    @property
    def tables(self) -> Sequence[Table]:
        """The files that were named so far; those that nobody has looked into have no columns."""
        return [
            self._files[name].tables[0] if name in self._files else Table(self.name, name, ())
            for name in self._places
        ]

    def named(self, name: str) -> Table | None:
        """The table of a file, where there is one: standard input, or a path or pattern that meets a file.

        Names of files differ in case, those of tables do not: the second of two such files is called
        otherwise.
        """
        place = STDIN if name.lower() == STANDARD_INPUT and self.name == FILES else name
        known = next((table for table, here in self._places.items() if here == place), None)
        if known is None:
            if not (_is_piped() if place == STDIN else self._is_file(place)):
                return None
            known = name
            while known.lower() in {table.lower() for table in self._places}:
                known += "'"
            self._places[known] = place
        return next(table for table in self.tables if table.name == known)

    def absent(self, name: str) -> str | None:
        """That there is no such file, of a name behind a format, or like that of a file or of one that is there."""
        if name.lower() == STANDARD_INPUT and self.name == FILES:
            return "nothing is piped in"
        if "://" in name:
            return f"an address is no table; fff source init {name} drafts a spec that has one"
        path, close = self._cwd / name, []
        if self.name == FILES and path.is_file():
            with contextlib.suppress(OSError), path.open("rb") as file:
                if file.read(len(_SQLITE)) == _SQLITE:
                    return f"it is a SQLite database, which a spec reads: type: adbc, driver: sqlite, uri: {name}"
            return f"nothing tells what kind of file it is; say it: csv.`{name}`"
        with contextlib.suppress(OSError):
            files = [one.name for one in path.parent.iterdir() if format_of_name(one.name)]
            close = difflib.get_close_matches(path.name, files, cutoff=0.7)
        if self.name == FILES and not close and format_of_name(name) is None and "/" not in name:
            return None
        meant = [str(Path(name).with_name(one)) for one in close]
        suggestion = f"; did you mean {' or '.join(meant)}?" if meant else ""
        return f"there is no such file (relative paths start at {self._cwd}){suggestion}"

    def _is_file(self, place: str) -> bool:
        if not place or place.lower().endswith((".yaml", ".yml")):  # a spec, which -s takes
            return False
        try:
            files = expanded(place, self._cwd)
        except (OSError, ValueError):  # no name that a file can have
            return False
        is_recognized = self.name != FILES or any(format_of_name(file) for file in files)
        return is_recognized and any(Path(file).is_file() or Path(file).is_fifo() for file in files)

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Look into files for their columns. Raises SourceError."""
        for name in names:
            if name not in self._files:
                source = await asyncio.to_thread(self._source, name)
                await source.discover([name], meter=meter)
                self._keep(name, source)

    def read_as_text(self, table: Table, columns: Collection[str]) -> bool:
        """Only the cells of CSV, and of spreadsheets read into it, are text before they are anything else.

        What is being read goes on as it is.
        """
        source = self._files.get(table.name)
        if source is None or (again := source.with_text(table.name, columns)) is source:
            return False
        self._keep(table.name, again)
        return True

    def _keep(self, name: str, source: FilesSource) -> None:
        self._files[name] = source
        self._by_columns[name, source.tables[0].columns] = source

    def _source(self, name: str) -> FilesSource:
        from fff_sources.files.source import FilesSource  # noqa: PLC0415 - few statements name a file
        from fff_sources.files.spec import FilesSpec, FileTable  # noqa: PLC0415 - as above

        place = self._places[name]
        files = expanded(place, self._cwd)
        form = self.name if self.name != FILES else self._one_format(name, files)
        declared = FileTable(path=place)
        if form in (None, "csv", "tsv", "json", "ndjson"):
            start = LocalFiles(self.name, name, LARGEST).start(files[0])
            if form in (None, "json"):
                form = _form_told(start, form)
            if form == "csv":
                declared = declared.model_copy(update={"delimiter": self._delimiter(name, files, start)})
        declared = declared.model_copy(update={"format": form})
        if form in ("csv", "tsv", "excel"):
            self._with_header.add(name)
        spec = FilesSpec(type="files", tables={name: declared})
        limits = spec.client.model_copy(update={"max_body_mb": LARGEST / 2**20})
        document = Document(str(self._cwd / "fff.yaml"), {"sources": {self.name: {"type": "files"}}})
        context = SourceContext(self.name, document, self._environ, self._cwd, self._client)
        return FilesSource(spec.model_copy(update={"client": limits}), context)

    def _one_format(self, name: str, files: Sequence[str]) -> str | None:
        """The format that the endings of the files' names tell. Raises SourceError where there are several."""
        told = {format_of_name(file): Path(file).name for file in files}
        if len(told) > 1:
            shown = " and ".join(f"{kind or 'who knows what'} ({file})" for kind, file in told.items())
            hint = "name those of one kind by a pattern, as 'dir/*.csv', or say what all are, as csv.`dir/*`"
            raise SourceError(
                f"the files are not of one format: {shown}", source=self.name, table=name, hint=hint
            )
        return next(iter(told))

    def _delimiter(self, name: str, files: Sequence[str], start: bytes) -> str:
        """The delimiter of files of which the first begins so. Raises SourceError where each of two has its own."""
        told: dict[str, str] = {}
        for file in files:
            if file != files[0]:
                start = LocalFiles(self.name, name, LARGEST).start(file)
            delimiter, header = delimiter_of(start), header_line(start)
            if delimiter in header:
                told.setdefault(delimiter, Path(file).name)
            elif other := next((one for one in DELIMITERS if one in header), None):
                self._uncut[name] = (
                    f"{Path(file).name} was read as one column: its first line has {other!r}, by which most of its rows "
                    "have another number of cells; where that is its delimiter, a spec can say so (delimiter)"
                )
        if len(told) > 1:
            shown = " and ".join(f"{delimiter!r} ({file})" for delimiter, file in told.items())
            hint = "read each by itself, and UNION ALL them"
            raise SourceError(
                f"the files differ in their delimiter: {shown}", source=self.name, table=name, hint=hint
            )
        return next(iter(told), ",")

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of a file."""
        source = self._by_columns[table.name, table.columns]
        if table.name in self._with_header and all(_NUMBER.fullmatch(one.name) for one in table.columns):
            names = ", ".join(one.name for one in table.columns)
            meter.warn(
                f"{table.full_name}: its first line was taken for the names of columns, and is all numbers ({names}): "
                "if that is a row, put a line of names before it"
            )
        if (uncut := self._uncut.get(table.name)) is not None:
            meter.warn(f"{table.full_name}: {uncut}")
        async with contextlib.aclosing(
            source.scan(table, method, columns, meter=meter, window=window)
        ) as pages:
            async for page in pages:
                yield page

    def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncIterator[Page]:
        """Files have no index."""
        del method, columns, keys, meter
        raise InvariantError(f"{table.full_name} is a file and has no lookup")

    async def close(self) -> None:
        """Nothing is open."""


def _is_piped() -> bool:
    """Whether something comes in that nobody types."""
    return sys.stdin is not None and not sys.stdin.isatty()


def _form_told(start: bytes, named: str | None) -> str:
    """The form of a text that begins so; a document may be lines of JSON, whatever it is called."""
    told = form_of(start)
    if told == "ndjson" and not _lines(start):
        told = "json"
    return told if named is None or told == "ndjson" else named


def _lines(text: bytes) -> bool:
    """Whether a text that begins with an object is several of them, one a line."""
    first, _, rest = text.lstrip().partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip()[:1] in (b"{", b"")
