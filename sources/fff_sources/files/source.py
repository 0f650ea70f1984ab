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
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlsplit

import pyarrow as pa

from fff.catalog import Page, ScanMethod, Table
from fff.errors import SourceError
from fff.quals import Quals
from fff.schema import ArrowType, Field, arrow_type, distinct_names
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.types import HostPolicy, Response
from fff_sources.adapter import SourceContext
from fff_sources.files import columnar, kinds
from fff_sources.files.excel import Sheet
from fff_sources.files.local import STDIN, LocalFiles, expanded, is_local, next_of
from fff_sources.files.partitions import may_hold, partition_of, typed, types_of, with_values
from fff_sources.files.spec import FilesSpec, FileTable, format_of, hosts_of, read_files, urls_of
from fff_sources.http.columnar import spelled
from fff_sources.http.diagnosis import BareLineError
from fff_sources.http.fetch import Reading
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response import infer
from fff_sources.http.response.jsonpath import JsonPath, literal_path
from fff_sources.http.response.records import Origin
from fff_sources.http.response.streaming import GZIP, Arriving, Fetch, Incoming, cancel, unpacked
from fff_sources.http.source import HttpSource, access_of
from fff_sources.http.spec import spec
from fff_sources.http.tables import DiscoveredTable, HttpAccess, PlannedTable, place_of


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
        # The marks of files whose every cell was looked at, by table.
        self._looked_at: dict[str, list[bytes]] = {}
        self._unknown: dict[str, dict[str, ArrowType]] = {}  # columns that stay out, by table
        for name, table in declared.tables.items():
            declared_columns = {
                column: (part.type, place_of(column, part)) for column, part in (table.columns or {}).items()
            }
            self._have(name, table, declared_columns)

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Find the columns of tables declared without any (of `names`, or all) in their files.

        Raises SourceError.
        """
        for name in self.without_columns(names):
            table = self._declared.tables[name]
            folders = types_of([texts for _, texts in self._folders(name)])
            if all(is_local(url, self._base) for url in self._urls(name)):
                self._looked_at[name] = self._marks(name)
            found = await self._columns_of(self._planned[name], table, meter)
            columns = {one: kind for one, kind in found.items() if spelled(one, folders) is None} | folders
            places = zip(distinct_names(columns), columns.items(), strict=True)
            self._have(
                name,
                table,
                {column: (kind, literal_path(there)) for column, (there, kind) in places},
                folders,
            )

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of every file, in the order of the files; up to `window` are fetched at once.

        What the name of a folder says holds for its files, whatever they say themselves (as in Spark).
        """
        planned = self._planned[table.name]
        for name, kind in self._unknown.get(table.name, {}).items():
            meter.warn(f"{table.full_name}: the column {name} is left out: SQL has no type for {kind}")
        if planned.found and self._looked_at.get(table.name) == self._marks(table.name):
            planned = replace(planned, found=False, readers={}, readings={})
        every = self._values_of(planned.table)
        wanted = [one for one in every if may_hold(one[1], table.quals)]
        fields = [field for column in columns if (field := planned.table.column(column)) is not None]
        if await self._schemas(table.name, [url for url, _ in wanted]):
            async with contextlib.aclosing(
                self._columnar(planned, table.quals, fields, meter, wanted)
            ) as pages:
                async for page in pages:
                    yield page
            return
        # Of several files whose columns nobody declares, one may lack what another has.
        undeclared = self._declared.tables[table.name].columns is None and len(every) > 1
        absent = (
            dict.fromkeys(columns)
            if undeclared and all(is_local(url, self._base) for url, _ in wanted)
            else {}
        )
        waiting: deque[tuple[Reading, Ask, dict[str, object]]] = deque()
        for url, said in wanted:
            inside = [one.name for one in fields if one.name not in said]
            reading = self._one(planned, method, inside, meter, url, absent=absent)
            waiting.append((reading, Ask(url=url), said))
        running: deque[tuple[Reading, Incoming, dict[str, object]]] = deque()
        if table.name in self._kept and wanted:
            there: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
            there.set_result(self._kept.pop(table.name))
            reading, _, said = waiting.popleft()
            running.append((reading, Incoming(there), said))
        try:
            while waiting or running:
                while waiting and len(running) < max(1, window):
                    reading, ask, said = waiting.popleft()
                    running.append((reading, reading.send(ask), said))
                reading, incoming, said = running[0]
                async with contextlib.aclosing(reading.pages(1, incoming)) as pages:
                    async for page in pages:
                        yield replace(page, rows=with_values(page.rows, fields, said)) if said else page
                running.popleft()
        finally:
            await cancel([incoming.answer for _, incoming, _ in running])

    def with_text(self, name: str, columns: Collection[str]) -> Self:
        """The source with these columns (in lower case) of a table as the text that the cells of CSV are; itself where they are."""
        table, fields = self._declared.tables[name], self._planned[name].table.columns
        text = format_of(table) in ("csv", "tsv", "excel")
        folders = types_of([texts for _, texts in self._folders(name)])
        other = [
            one
            for one in fields
            if one.name.lower() in columns and one.type != "string" and (text or one.name in folders)
        ]
        if not other:
            return self
        changed = copy.copy(self)
        changed._planned = dict(self._planned)  # noqa: SLF001 - of the same class
        kinds = {one.name: "string" if one in other else one.type for one in fields}
        paths = self._planned[name].paths
        places = {column: (kind, paths[column]) for column, kind in kinds.items()}
        changed._have(name, table, places, folders)  # noqa: SLF001
        return changed

    # ------------------------------------------------------------------------------------------------ columns

    def _have(
        self,
        name: str,
        table: FileTable,
        columns: dict[str, tuple[str, JsonPath]],
        folders: Collection[str] = (),
    ) -> None:
        pushed = columns if self._may_be_columnar(table) else folders
        self.keep(
            DiscoveredTable(
                name,
                columns,
                table.primary_key,
                HttpAccess(_endpoint(table)),
                on_bad_record=table.on_bad_record,
                description=table.description,
                sendable={
                    column: columnar.operators_for(arrow_type(columns[column][0])) for column in pushed
                },
                # Another file, or the same one later, may have cells of another kind.
                found=table.columns is None and format_of(table) in ("csv", "tsv"),
            )
        )

    async def _columns_of(
        self, planned: PlannedTable, table: FileTable, meter: AccessMeter
    ) -> dict[str, str]:
        """What the first file has; all of them, where they are of this machine."""
        name = planned.table.name
        urls = self._urls(name)
        if schemas := await self._schemas(name, urls):
            with self._explaining(name):
                return self._without_unknown(name, *columnar.columns_of(schemas))
        several = len(urls) > 1 and all(is_local(url, self._base) for url in urls)
        leaves_out = table.on_bad_record != "fail"
        file_columns, sheets = kinds.FileColumns(_endpoint(table), leaves_out=leaves_out), []
        for url in urls if several else urls[:1]:
            reading = self._one(planned, planned.table.scans[0], (), meter, url)
            response = await self._look_into(file_columns, reading, url, name, keep=not several)
            if isinstance(reading.fetch, Sheet):
                sheets.append(infer.bounded(reading.fetch.kinds))
        with self._explaining(name):
            columns = kinds.common(sheets) if sheets else file_columns.columns()
        columns = self._without_unknown(name, columns, file_columns.unknown)
        if file_columns.is_bare_line and not sheets and "://" in response.url:  # nobody wrote it on purpose
            text, hint = BareLineError(*columns).told
            raise self.http.problem(text, response, name, hint)
        if not columns:
            piped = urls[0] == STDIN and not response.body.strip()
            text = "nothing is piped in" if piped else "the file holds nothing to tell columns from"
            hint = "cat FILE | fff query …" if piped else "declare its columns"
            raise self.http.problem(text, response, name, hint)
        if missing := [key for key in table.primary_key if key not in columns]:
            raise self.http.problem(f"the file has no column {missing[0]!r}", response, name)
        return columns

    def _without_unknown(
        self, name: str, columns: dict[str, str], unknown: dict[str, ArrowType]
    ) -> dict[str, str]:
        """The columns; a scan tells of those that SQL has no type for. Raises SourceError where there are no others."""
        self._unknown[name] = unknown
        if unknown and not columns:
            text = "SQL has no type for " + ", ".join(f"{one} ({kind})" for one, kind in unknown.items())
            raise SourceError(text, source=self.name, table=name, hint="no other column is in the file")
        return columns

    async def _look_into(
        self, file_columns: kinds.FileColumns, reading: Reading, url: str, name: str, *, keep: bool
    ) -> Response:
        """Note the columns of a file."""
        incoming = reading.send(Ask(url=url))
        client = self.http.client
        try:
            async with contextlib.aclosing(incoming.pieces()) as pieces:
                async for piece in pieces:
                    shown = piece.response.url
                    origin = Origin(self.name, name, shown, shown=client.shown, redact=client.redactor.text)
                    with reading.body.explained(piece.response, origin):
                        file_columns.take(piece, reading.body)
            response = await incoming.answer
        finally:
            await cancel([incoming.answer])
        if keep and (incoming.arriving is None or not incoming.arriving.dropped):
            self._kept[name] = response
        return response

    # ---------------------------------------------------------------------------------------- of this machine

    async def _schemas(self, name: str, urls: Sequence[str]) -> dict[str, pa.Schema]:
        """What Parquet and Arrow files have that can be read in part; empty where one of them cannot. Raises SourceError."""
        if not self._may_be_columnar(self._declared.tables[name]):
            return {}

        def read() -> dict[str, pa.Schema]:
            return (
                {url: columnar.schema_of(url) for url in urls} if all(map(columnar.is_columnar, urls)) else {}
            )

        with self._explaining(name):
            return await asyncio.to_thread(read)

    def _may_be_columnar(self, table: FileTable) -> bool:
        here = all(is_local(place, self._base) and place != STDIN for place in urls_of(table))
        return format_of(table) in ("parquet", "arrow") and here

    @contextlib.contextmanager
    def _explaining(self, name: str) -> Iterator[None]:
        """Errors of reading columns as those of the source."""
        try:
            yield
        except (OSError, pa.ArrowException, columnar.DifferentTypesError) as error:
            form = format_of(self._declared.tables[name])
            text = f"not valid {form}: {self._context.client.redactor.text(' '.join(str(error).split()))}"
            hint = "look into the file; `columns` of a spec of `type: files` say which types they should have"
            if isinstance(error, columnar.DifferentTypesError):
                text = str(error)
            elif "would lose data" in str(error):
                text = f"SQL's type cannot hold a value: {' '.join(str(error).split())}"
                hint = "leave the column out of the statement, or cast it where the file is made"
            raise SourceError(text, source=self.name, table=name, hint=hint) from None

    def _folders(self, name: str) -> list[tuple[str, dict[str, str | None]]]:
        """What the names of folders say of each file of this machine."""
        inside = str(self._folder)
        return [
            (url, partition_of(url, inside) if is_local(url, self._base) else {}) for url in self._urls(name)
        ]

    def _values_of(self, table: Table) -> list[tuple[str, dict[str, object]]]:
        """The same in the types of the columns. Raises SourceError."""
        try:
            return [(url, typed(texts, table.columns)) for url, texts in self._folders(table.name)]
        except ValueError as error:
            text = f"the name of a folder: {error}"
            raise SourceError(text, source=self.name, table=table.name, hint="declare another type") from None

    async def _columnar(
        self,
        planned: PlannedTable,
        quals: Quals,
        fields: Sequence[Field],
        meter: AccessMeter,
        wanted: Sequence[tuple[str, Mapping[str, object]]],
    ) -> AsyncGenerator[Page]:
        """The columns of all files, one after another."""
        name = planned.table.name
        places = {column: planned.paths[column].steps[0].name for column in planned.paths}
        for url, said in wanted:
            inside = [one for one in fields if one.name not in said]
            parts = [columnar.FileColumn(places[one.name], one.arrow) for one in inside]
            asked = tuple(
                replace(one, column=places[one.column])
                for one in quals
                if one.column in places and one.column not in said
            )
            rows = columnar.batches_of(url, parts, asked)
            while (batch := await self._batch(name, rows)) is not None:
                meter.bytes += batch.nbytes
                batch = batch.rename_columns([one.name for one in inside])
                yield Page(with_values(batch, fields, said))

    async def _batch(self, name: str, rows: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        with self._explaining(name):
            return await next_of(rows, None)

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
        marks = [super().fingerprint(table), *self._marks(table.name)]
        marks += [os.urandom(16) for place in self._urls(table.name) if place == STDIN]
        return hashlib.blake2b(b"\0".join(marks), digest_size=32).digest()

    def _marks(self, name: str) -> list[bytes]:
        """What tells the files of this machine from what they may become; standard input stays as it is."""
        marks = []
        for place in self._urls(name):
            if place != STDIN and is_local(place, self._base):
                with contextlib.suppress(OSError):
                    about = Path(place).stat()
                    marks.append(f"{place} {about.st_size} {about.st_mtime_ns} {about.st_ino}".encode())
        return marks

    def _one(
        self,
        planned: PlannedTable,
        method: ScanMethod,
        columns: Sequence[str],
        meter: AccessMeter,
        url: str,
        *,
        absent: Mapping[str, object] | None = None,
    ) -> Reading:
        """The reading of one file; `absent` are columns that it may lack."""
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
        return replace(reading, fetch=fetch, fill=dict(absent or {}))


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
            text = f"the file is not valid gzip: {error}"
            raise SourceError(text, source=self._source, table=self._table) from error

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
