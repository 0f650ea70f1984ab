"""FilesSource: files at URLs as tables that are scanned."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

from fff.catalog import Page, ScanMethod, Table
from fff.errors import SourceError, SpecError
from fff.stats import AccessMeter
from fff.web.message import HostPolicy, Response
from fff_sources.adapter import SourceContext
from fff_sources.files import kinds
from fff_sources.files.spec import FilesSpec, FileTable, format_of, hosts_of, read_files, urls_of
from fff_sources.rest import infer, spec
from fff_sources.rest.arriving import GZIP, Arriving
from fff_sources.rest.bodies import BodyFormat
from fff_sources.rest.jsonpath import JsonPath, literal_path, parse_path
from fff_sources.rest.paginators import Ask
from fff_sources.rest.plan import Access, PlannedTable
from fff_sources.rest.reading import Fetch, Incoming, Reading, cancel
from fff_sources.rest.records import Origin
from fff_sources.rest.worded import Draft, WordedSource

_STEP = 2**20  # bytes unpacked at a time


class FilesSource(WordedSource):
    """Files. Where the spec declares no columns, the first file is fetched for them, and kept for the scan that follows."""

    def __init__(self, declared: FilesSpec, context: SourceContext) -> None:
        hosts = hosts_of(declared)
        client = declared.client
        if not client.base_url:  # only whole URLs; any of their hosts will do
            whole = next(url for table in declared.tables.values() for url in urls_of(table))
            client = client.model_copy(update={"base_url": "{0.scheme}://{0.netloc}".format(urlsplit(whole))})
        client = client.model_copy(update={"allowed_hosts": [*client.allowed_hosts, *hosts]})
        super().__init__(client, context)
        self._declared = declared
        self._plain = context.secrets(escape=_in_url)
        self._kept: dict[str, Response] = {}  # first files, by table
        for name, table in declared.tables.items():
            declared_columns = {
                column: (part.type, literal_path(column) if part.path is None else parse_path(part.path))
                for column, part in (table.columns or {}).items()
            }
            self._have(name, table, declared_columns)

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        return read_files(context.name, context.document)

    async def discover(
        self, names: Collection[str] | None = None, *, meter: AccessMeter | None = None
    ) -> None:
        """Find the columns of tables declared without any (of `names`, or all) in their first file. Raises SourceError."""
        for name, table in self._declared.tables.items():
            planned = self._planned[name]
            if planned.table.columns or (names is not None and name not in names):
                continue
            found = await self._columns_of(planned, table, meter or AccessMeter())
            self._have(name, table, {column: (kind, literal_path(column)) for column, kind in found.items()})

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of every file, in the order of the files; up to `window` are fetched at once."""
        planned = self._planned[table.name]
        readings = [
            (self._one(planned, method, columns, meter), Ask(url=url)) for url in self._urls(table.name)
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

    # ------------------------------------------------------------------------------------------------------- columns

    def _have(self, name: str, table: FileTable, columns: dict[str, tuple[str, JsonPath]]) -> None:
        self.keep(
            Draft(
                name,
                columns,
                table.primary_key,
                Access(_endpoint(table)),
                on_bad_record=table.on_bad_record,
                description=table.description,
            )
        )

    async def _columns_of(
        self, planned: PlannedTable, table: FileTable, meter: AccessMeter
    ) -> dict[str, str]:
        name = planned.table.name
        reading = self._one(planned, planned.table.scans[0], (), meter)
        response = await reading.fetch(Ask(url=self._urls(name)[0]))
        client = self._client
        origin = Origin(self.name, name, response.url, shown=client.shown, redact=client.redactor.text)
        with reading.body.explained(response, origin):
            columns = _columns(reading, response)
        if not columns:
            raise self.problem(
                "the file holds nothing to tell columns from", response, name, "declare its columns"
            )
        if missing := [key for key in table.primary_key if key not in columns]:
            raise self.problem(f"the file has no column {missing[0]!r}", response, name)
        self._kept[name] = response
        return columns

    # -------------------------------------------------------------------------------------------------------- fetching

    def _urls(self, name: str) -> list[str]:
        """Whole URLs, with their secrets."""
        base = self._requests.host().base_url.rstrip("/")
        plain = map(self._plain.fill, urls_of(self._declared.tables[name]))
        return [url if "://" in url else f"{base}/{url.lstrip('/')}" for url in plain]

    def _one(
        self, planned: PlannedTable, method: ScanMethod, columns: Sequence[str], meter: AccessMeter
    ) -> Reading:
        """The reading of one file."""
        assert isinstance(method.endpoint, Access)
        reading = self._reading(planned, method.name, method.endpoint, columns, (), meter=meter)
        return replace(reading, fetch=_Unpacked(reading.fetch, self._policy, self.name, planned.table.name))


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
        while packed.startswith(GZIP):
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                part = member.decompress(packed, _STEP)
                packed = member.unconsumed_tail
                if not part and not packed and not member.eof:
                    raise zlib.error("it ends too early")
                size += len(part)
                if size > self._policy.max_body:
                    raise SourceError(
                        f"the file is larger than {self._policy.max_body // 2**20} MB unpacked",
                        source=self._source,
                        table=self._table,
                        hint="allow more with client.max_body_mb in the spec",
                    )
                parts.append(part)
            packed = member.unused_data
        return b"".join(parts)


def _in_url(secret: str) -> str:
    """A secret as a part of a URL: a host, some of its path, or a parameter."""
    return quote(secret, safe=":/")


def _endpoint(table: FileTable) -> spec.Endpoint:
    form = format_of(table)
    parts: dict[str, object] = {"path": "", "data_selector": table.data_selector}
    parts["format"] = "csv" if form == "tsv" else form
    parts["delimiter"] = table.delimiter or ("\t" if form == "tsv" else ",")
    parts |= {"comment": table.comment, "encoding": table.encoding}
    return spec.Endpoint.model_validate(parts)


def _columns(reading: Reading, response: Response) -> dict[str, str]:
    """Names and types of a file's columns."""
    if not response.body.strip():
        return {}
    form = reading.endpoint.format
    if form == "csv":
        return kinds.csv_columns(reading.body.text(response), reading.endpoint.delimiter)
    if form == "parquet":
        return kinds.parquet_columns(response.body)
    selector = parse_path(reading.endpoint.data_selector)
    return infer.columns_of(BodyFormat(form, selector), reading.body, response)
