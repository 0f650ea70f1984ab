"""FilesSource: files at URLs or of this machine as tables that are scanned."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import io
import os
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

from fff.catalog import Page, ScanMethod, Table
from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.types import HostPolicy, Response
from fff_sources.adapter import SourceContext
from fff_sources.files import kinds
from fff_sources.files.excel import Sheet
from fff_sources.files.local import STDIN, LocalFiles, expanded, is_local
from fff_sources.files.spec import FilesSpec, FileTable, format_of, hosts_of, read_files, urls_of
from fff_sources.http.fetch import Fetch, Reading
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response import infer
from fff_sources.http.response.jsonpath import JsonPath, literal_path
from fff_sources.http.response.records import Origin
from fff_sources.http.response.streaming import GZIP, Arriving, Incoming, cancel, unpacked
from fff_sources.http.source import HttpSource, access_of
from fff_sources.http.spec import spec
from fff_sources.http.tables import FoundTable, HttpAccess, PlannedTable, place_of


class FilesSource(HttpSource):
    """Files.

    Where the spec declares no columns, the first file is fetched for them, and kept for the scan that
    follows.
    """

    read = staticmethod(read_files)

    def __init__(self, declared: FilesSpec, context: SourceContext) -> None:
        hosts = hosts_of(declared)
        client = declared.client
        self._base = client.base_url
        # Whole URLs, of whose hosts any will do, and files of this machine, which have none.
        if not client.base_url:
            places = (url for table in declared.tables.values() for url in urls_of(table))
            whole = next((url for url in places if "://" in url), "http://localhost")
            client = client.model_copy(update={"base_url": "{0.scheme}://{0.netloc}".format(urlsplit(whole))})
        client = client.model_copy(update={"allowed_hosts": [*client.allowed_hosts, *hosts]})
        super().__init__(client, context)
        self._declared = declared
        self._plain = context.secrets(escape=partial(quote, safe=":/"))
        self._folder = context.document.folder
        self._kept: dict[str, Response] = {}  # first files, by table
        for name, table in declared.tables.items():
            declared_columns = {
                column: (part.type, place_of(column, part)) for column, part in (table.columns or {}).items()
            }
            self._have(name, table, declared_columns)

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Find the columns of tables declared without any (of `names`, or all) in their first file.

        Raises SourceError.
        """
        for name in self.without_columns(names):
            table = self._declared.tables[name]
            columns = await self._columns_of(self._planned[name], table, meter)
            self._have(
                name, table, {column: (kind, literal_path(column)) for column, kind in columns.items()}
            )

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of every file, in the order of the files; up to `window` are fetched at once."""
        planned = self._planned[table.name]
        readings = [
            (self._one(planned, method, columns, meter, url), Ask(url=url)) for url in self._urls(table.name)
        ]
        waiting = deque(readings)
        running: deque[tuple[Reading, Incoming]] = deque()
        if table.name in self._kept:
            there: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
            there.set_result(self._kept.pop(table.name))
            running.append((waiting.popleft()[0], Incoming(there)))
        try:
            while waiting or running:
                while waiting and len(running) < max(1, window):
                    reading, ask = waiting.popleft()
                    running.append((reading, reading.send(ask)))
                reading, incoming = running[0]
                async with contextlib.aclosing(reading.pages(1, incoming)) as pages:
                    async for page in pages:
                        yield page
                running.popleft()
        finally:
            await cancel([incoming.answer for _, incoming in running])

    def with_text(self, name: str, columns: Collection[str]) -> Self:
        """The source with these columns (in lower case) of a table as the text that the cells of CSV are; itself where they are."""
        table, fields = self._declared.tables[name], self._planned[name].table.columns
        other = [one for one in fields if one.name.lower() in columns and one.type != "string"]
        if not other or format_of(table) not in ("csv", "tsv", "excel"):
            return self
        changed = copy.copy(self)
        changed._planned = dict(self._planned)  # noqa: SLF001 - of the same class
        kinds = {one.name: "string" if one in other else one.type for one in fields}
        changed._have(name, table, {column: (kind, literal_path(column)) for column, kind in kinds.items()})  # noqa: SLF001
        return changed

    # ------------------------------------------------------------------------------------------------ columns

    def _have(self, name: str, table: FileTable, columns: dict[str, tuple[str, JsonPath]]) -> None:
        self.keep(
            FoundTable(
                name,
                columns,
                table.primary_key,
                HttpAccess(_endpoint(table)),
                on_bad_record=table.on_bad_record,
                description=table.description,
            )
        )

    async def _columns_of(
        self, planned: PlannedTable, table: FileTable, meter: AccessMeter
    ) -> dict[str, str]:
        name = planned.table.name
        url = self._urls(name)[0]
        reading = self._one(planned, planned.table.scans[0], (), meter, url)
        incoming, found = reading.send(Ask(url=url)), kinds.FileColumns(reading.endpoint, reading.body)
        client = self.http.client
        try:
            async with contextlib.aclosing(incoming.pieces()) as pieces:
                async for piece in pieces:
                    shown = piece.response.url
                    origin = Origin(self.name, name, shown, shown=client.shown, redact=client.redactor.text)
                    with reading.body.explained(piece.response, origin):
                        found.take(piece)
            response = await incoming.answer
        finally:
            await cancel([incoming.answer])
        sheet = reading.fetch
        columns = infer.reachable(infer.bounded(sheet.kinds)) if isinstance(sheet, Sheet) else found.columns()
        if not columns:
            piped = url == STDIN
            said = "nothing is piped in" if piped else "the file holds nothing to tell columns from"
            hint = "cat FILE | fff query …" if piped else "declare its columns"
            raise self.http.problem(said, response, name, hint)
        if missing := [key for key in table.primary_key if key not in columns]:
            raise self.http.problem(f"the file has no column {missing[0]!r}", response, name)
        if incoming.arriving is None or not incoming.arriving.dropped:
            self._kept[name] = response
        return columns

    # ----------------------------------------------------------------------------------------------- fetching

    def _urls(self, name: str) -> list[str]:
        """Whole URLs, with their secrets, and paths. Raises SourceError where a pattern meets no file."""
        base = self.http.requests.host().base_url.rstrip("/")
        urls: list[str] = []
        for place in map(self._plain.fill, urls_of(self._declared.tables[name])):
            if is_local(place, self._base):
                here = expanded(place, self._folder)
                if (standing := self._context.standing) is not None:
                    for path in here:
                        if path != STDIN:
                            standing.check_table(path, self.name, name)
                urls += here
            else:
                urls.append(place if "://" in place else f"{base}/{place.lstrip('/')}")
        if not urls:
            hint = "a pattern must meet a file"
            raise SourceError("there is no such file", source=self.name, table=name, hint=hint)
        return urls

    def fingerprint(self, table: Table) -> bytes:
        """As of any source; and files of this machine are others when they have changed.

        Raises SecretError.
        """
        marks = [super().fingerprint(table)]
        for place in self._urls(table.name):
            if place == STDIN:
                marks.append(os.urandom(16))
            elif is_local(place, self._base):
                with contextlib.suppress(OSError):
                    about = Path(place).stat()
                    marks.append(f"{place} {about.st_size} {about.st_mtime_ns} {about.st_ino}".encode())
        return hashlib.blake2b(b"\0".join(marks), digest_size=32).digest()

    def _one(
        self, planned: PlannedTable, method: ScanMethod, columns: Sequence[str], meter: AccessMeter, url: str
    ) -> Reading:
        """The reading of one file."""
        reading = self.http.reading(planned, method.name, access_of(method), columns, (), meter=meter)
        name, policy = planned.table.name, self.http.policy
        declared = self._declared.tables[name]
        sheet = format_of(declared) == "excel"
        fetch: Fetch
        if is_local(url, self._base):
            fetch = LocalFiles(self.name, name, policy.max_body, unzip=not sheet)
        else:
            fetch = _Unpacked(reading.fetch, policy, self.name, name)
        if sheet:
            fetch = Sheet(fetch, declared.sheet, policy.max_body, self.name, name)
        return replace(reading, fetch=fetch)


class _Unpacked:
    """Fetches files and unpacks those that are packed."""

    def __init__(self, fetch: Fetch, policy: HostPolicy, source: str, table: str) -> None:
        self._fetch = fetch
        self._policy = policy
        self._source = source
        self._table = table

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        """The file as it was before it was packed. Raises SourceError."""
        if arriving is not None:
            arriving.unpack(self._policy.max_body)
        response = await self._fetch(ask, arriving)
        if not response.body.startswith(GZIP):
            return response
        try:
            return replace(response, body=self._unpacked(response.body))
        except zlib.error as error:
            raise SourceError("the file is not valid gzip", source=self._source, table=self._table) from error

    def _unpacked(self, packed: bytes) -> bytes:
        """All members of a gzip file, bounded like any answer."""
        parts, size = [], 0
        for part in unpacked(io.BytesIO(packed)):
            size += len(part)
            if size > self._policy.max_body:
                raise SourceError(
                    f"the file is larger than {self._policy.max_body // 2**20} MB unpacked",
                    source=self._source,
                    table=self._table,
                    hint="allow more with client.max_body_mb in the spec",
                )
            parts.append(part)
        return b"".join(parts)


def _endpoint(table: FileTable) -> spec.Endpoint:
    form = format_of(table)
    parts: dict[str, object] = {"path": "", "data_selector": table.data_selector}
    parts["format"] = {"tsv": "csv", "excel": "csv", "arrow": "parquet"}.get(form or "", form)
    parts["delimiter"] = table.delimiter or ("\t" if form == "tsv" else ",")
    parts["paginator"] = "single_page"
    encoding = "utf-8" if form == "excel" else table.encoding
    parts |= {"comment": table.comment, "encoding": encoding, "skip_rows": table.skip_rows}
    return spec.Endpoint.model_validate(parts)
