"""RestSource: a source described in YAML, as the engine sees it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fff.catalog import LookupMethod, Page, ScanMethod, Table
from fff.errors import InternalError, SourceError, SpecError
from fff.stats import AccessMeter
from fff.web.message import HostPolicy, Request, Response
from fff_sources.adapter import SourceContext
from fff_sources.rest import infer, spec, templates
from fff_sources.rest.arriving import Arriving, BodyChangedError
from fff_sources.rest.auth import Authenticator
from fff_sources.rest.batches import BatchTrust, Key
from fff_sources.rest.bodies import BodyFormat, BodyReader
from fff_sources.rest.check import read_rest
from fff_sources.rest.functions import function_problems, planned_functions, single_values
from fff_sources.rest.identity import Kept
from fff_sources.rest.jsonpath import parse_path
from fff_sources.rest.paginators import Ask
from fff_sources.rest.paging import make_paginator, sized
from fff_sources.rest.parts import ScanPart, is_divisible, policy_of_part
from fff_sources.rest.plan import Access, PlannedTable, plan_table
from fff_sources.rest.reading import Reading
from fff_sources.rest.records import ColumnPlan, Origin, RecordDecoder
from fff_sources.rest.requests import Requests
from fff_sources.rest.settings import (
    host_policy,
)
from fff_sources.rest.table_check import problems

_REFUSED = frozenset({400, 422, 501})  # what a parameter is answered with that a source does not take


class RestSource(Kept):
    """Tables behind a REST API. Nothing is sent and no secret looked up before the first scan or lookup."""

    def __init__(self, declared: spec.RestSpec, context: SourceContext) -> None:
        super().__init__(declared, context)
        self._client = context.client
        self._secrets = context.secrets(escape=templates.escaped)
        self._auth = Authenticator(declared.client.auth, context.secrets(), context.client, context.name)
        self._policy = host_policy(declared.client)
        self._requests = Requests(context, declared.client, self._secrets, self._policy)
        self._readers: dict[tuple[str, str, tuple[str, ...], bool], BodyReader] = {}
        self._planned = {name: self._plan(name, None) for name in declared.tables}
        self._planned |= planned_functions(context.name, declared)
        self._trusts: dict[tuple[str, str], BatchTrust] = {}

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        declared, found = read_rest(context.name, context.document)
        if declared is not None:
            found += problems(context.name, declared, context.document)
            found += function_problems(context.name, declared, context.document)
        return declared, found

    @property
    def tables(self) -> Sequence[Table]:
        """Every table; those whose columns are left to be inferred have none before `discover`."""
        return [planned.table for planned in self._planned.values()]

    async def discover(
        self, names: Collection[str] | None = None, *, meter: AccessMeter | None = None
    ) -> None:
        """Infer the columns of tables declared without any (of `names`, or all) from their first page.

        Raises SourceError where that page cannot be read or has no rows.
        """
        for name, planned in list(self._planned.items()):
            if (
                planned.spec.columns is None
                and not planned.table.columns
                and (names is None or name in names)
            ):
                columns = await self._infer(planned, meter or AccessMeter())
                self._planned[name] = self._plan(name, columns)

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of the table, page by page."""
        planned, access = self._narrowed(table), _access(method)
        began = False
        try:
            reading = self._reading(planned, method.name, access, columns, (), meter=meter)
            async with contextlib.aclosing(reading.pages(window)) as pages:
                async for page in pages:
                    began = True
                    yield page
        except SourceError as error:
            if began or planned.table.sort is None or error.status not in _REFUSED:
                raise
            meter.warn(
                f"{table.full_name}: the source refuses to sort by {planned.table.sort} (HTTP {error.status}), "
                "so all of it was read"
            )
            unsorted = self.scan(replace(table, sort=None), method, columns, meter=meter, window=window)
            async with contextlib.aclosing(unsorted) as pages:
                async for page in pages:
                    yield page

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """Every row matching one of the keys."""
        planned, access = self._narrowed(table), _access(method)

        def again(some: Sequence[Key]) -> AsyncGenerator[Page]:
            return self._reading(planned, method.name, access, access.keys, some, meter=meter).pages(1)

        for start in range(0, len(keys), method.batch_size):
            some = keys[start : start + method.batch_size]
            if access.words is not None and not (some := access.words.askable(some)):
                continue
            if _has_no_place(access, some):
                meter.warn(
                    f"{table.full_name}: an empty key cannot be put into the path; taken as having no rows"
                )
                continue
            pages = self._reading(planned, method.name, access, columns, some, meter=meter).pages(1)
            if len(some) > 1:
                trust = self._trusts.setdefault(
                    (table.name, method.name), BatchTrust(self.name, table.name, access.keys)
                )
                pages = trust.watched(pages, some, again)
            if table.function:
                pages = single_values(pages, self.name, table.name, method)
            async with contextlib.aclosing(pages):
                async for page in pages:
                    yield page

    async def divide(
        self, table: Table, method: ScanMethod, parts: int, *, meter: AccessMeter
    ) -> Sequence[object]:
        """Ranges of pages; never more parts than the host takes requests at once."""
        planned, access = self._narrowed(table), _access(method)
        if not is_divisible(access.endpoint):
            return []
        # The first page goes with a part: where requests name columns, it must have all that may be wanted of it.
        named = access.words is not None or access.endpoint.select is not None
        wanted = [column.name for column in planned.table.columns[: None if named else 1]]
        reading = self._reading(planned, method.name, access, wanted, (), meter=meter)
        return await reading.divide(min(parts, self._policy.max_concurrency))

    async def scan_part(
        self,
        table: Table,
        method: ScanMethod,
        columns: Sequence[str],
        part: object,
        *,
        meter: AccessMeter,
        window: int,
    ) -> AsyncGenerator[Page]:
        """The rows of a range of pages."""
        if not isinstance(part, ScanPart):
            raise InternalError(f"{part!r} is no part of a scan of a REST source")
        planned, access = self._narrowed(table), _access(method)
        policy = policy_of_part(self._policy, part)
        reading = self._reading(planned, method.name, access, columns, (), meter=meter, policy=policy)
        async with contextlib.aclosing(reading.part(part, window)) as pages:
            async for page in pages:
                yield page

    async def close(self) -> None:
        """Nothing of its own to release: the connections are the client's."""

    # ------------------------------------------------------------------------------------------------------ requests

    def _narrowed(self, table: Table) -> PlannedTable:
        """The table with what a statement needs of it."""
        planned = self._planned[table.name]
        narrowed = replace(planned.table, quals=table.quals, rows_wanted=table.rows_wanted, sort=table.sort)
        return replace(planned, table=narrowed)

    def _reading(
        self,
        planned: PlannedTable,
        method: str,
        access: Access,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
        policy: HostPolicy | None = None,
    ) -> Reading:
        fill = dict(zip(access.keys, keys[0], strict=True)) if len(keys) == 1 else None

        async def fetch(ask: Ask, arriving: Arriving | None = None) -> Response:
            async def make() -> Request:
                now = asyncio.get_running_loop().time()
                proof = await self._auth.credentials(self._policy, meter, now)
                request = self._requests.of(
                    planned, access, keys, ask, columns=columns, credentials=proof, memory=self._memory
                )
                if arriving is not None:
                    arriving.url = request.url
                return replace(request, policy=policy or request.policy, arrivals=arriving)

            try:
                response = await self._auth.answer(make, meter)
            except BodyChangedError as error:
                raise SourceError(str(error), source=self.name, table=planned.table.name) from None
            if access.words is not None and (failure := access.words.failure(response)) is not None:
                raise SourceError(
                    self._client.redactor.text(failure),
                    source=self.name,
                    table=planned.table.name,
                    url=self._client.shown(response.url),
                )
            return response

        return Reading(
            source=self.name,
            table=planned.table.name,
            endpoint=sized(access.endpoint, None if keys else planned.table.rows_wanted),
            body=self._reader(planned, method, access, tuple(columns), filled=fill is not None),
            fetch=fetch,
            meter=meter,
            empty=frozenset(rule.status_code for rule in planned.spec.on_status),
            shown=self._client.shown,
            redact=self._client.redactor.text,
            fill=fill,
            is_scan=not keys,
            order=_order(planned.table),
        )

    def _reader(
        self, planned: PlannedTable, method: str, access: Access, columns: tuple[str, ...], *, filled: bool
    ) -> BodyReader:
        key = (planned.table.name, method, columns, filled)
        reader = self._readers.get(key)
        if reader is None:
            plans = []
            for name in columns:
                column = planned.table.column(name)
                if column is None:
                    raise InternalError(f"{planned.table.full_name} has no column {name}")
                plans.append(ColumnPlan(column, planned.paths[column.name]))
            decoder = RecordDecoder(
                plans, planned.spec.on_bad_record, frozenset(access.keys if filled else ())
            )
            form = _form(access.endpoint)
            reader = self._readers[key] = BodyReader(form, decoder, _known_members(planned))
        return reader

    # ----------------------------------------------------------------------------------------------------- inference

    def _plan(self, name: str, columns: Mapping[str, spec.Column] | None) -> PlannedTable:
        ceiling = self.spec.client.rate_limit.max_concurrency
        return plan_table(self.name, name, self.spec.tables[name], max_in_flight=ceiling, columns=columns)

    async def _infer(self, planned: PlannedTable, meter: AccessMeter) -> dict[str, spec.Column]:
        access = _access(planned.table.scans[0])
        reading = self._reading(planned, planned.table.scans[0].name, access, (), (), meter=meter)
        response = await reading.fetch(make_paginator(access.endpoint).start())
        columns: dict[str, str] = {}
        if response.status not in reading.empty:
            client = self._client
            origin = Origin(
                self.name, planned.table.name, response.url, shown=client.shown, redact=client.redactor.text
            )
            with reading.body.explained(response, origin):
                columns = infer.columns_of(_form(access.endpoint), reading.body, response)
        if not columns:
            raise SourceError(
                "the first page has no rows to infer columns from",
                source=self.name,
                table=planned.table.name,
                url=self._client.shown(response.url),
                hint="declare the table's columns",
            )
        return {name: spec.Column(type=kind) for name, kind in columns.items()}


def _access(method: ScanMethod | LookupMethod) -> Access:
    if not isinstance(method.endpoint, Access):
        raise InternalError(f"{method.name} is not an access method of a REST source")
    return method.endpoint


def _order(table: Table) -> str | None:
    """What a scan comes ordered by: as it was asked to, else as it is declared."""
    return table.sort or (table.order[0] if table.order else None)


def _form(endpoint: spec.Endpoint) -> BodyFormat:
    selector = parse_path(endpoint.data_selector)
    return BodyFormat(
        endpoint.format,
        selector,
        endpoint.delimiter,
        columnar=endpoint.layout == "columns",
        headed=endpoint.layout == "header",
        comment=endpoint.comment,
        encoding=endpoint.encoding,
        may_lack=endpoint.absent == "empty",
    )


def _known_members(planned: PlannedTable) -> frozenset[str]:
    """Members that tell a record of the table from any other object; empty where paths do not start at one."""
    tops = [path.steps[0] for path in planned.paths.values() if path.steps]
    if len(tops) < len(planned.paths) or any(step.kind != "name" for step in tops):
        return frozenset()
    return frozenset(step.name for step in tops)


def _has_no_place(access: Access, keys: Sequence[tuple[object, ...]]) -> bool:
    """Whether a key is empty and would have to be a path segment, where the collection itself would answer."""
    named = templates.names(access.endpoint.path or "")
    return any(
        name in named and templates.text_of(key[position]) == ""
        for key in keys
        for position, name in enumerate(access.keys)
    )
