"""RestSource: a source described in YAML, as the engine sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fff.errors import SourceError, SpecError
from fff.schema import distinct_names
from fff.stats import AccessMeter
from fff.structs import replace
from fff_sources.adapter import SourceContext
from fff_sources.http.exchange import Exchange, form_of
from fff_sources.http.paging.factory import make_paginator
from fff_sources.http.paging.windows import count
from fff_sources.http.response import infer
from fff_sources.http.response.jsonpath import quoted
from fff_sources.http.response.records import Origin
from fff_sources.http.source import HttpSource, access_of
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.spec.functions import function_problems, planned_functions
from fff_sources.http.spec.parents import parent_problems
from fff_sources.http.spec.table_check import problems
from fff_sources.http.tables import PlannedTable, plan_table
from fff_sources.http.variants import wanted


def read_rest(context: SourceContext) -> tuple[Any, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, faults = read_as(spec.RestSpec, context.name, context.document)
    if declared is not None:
        faults += problems(context.name, declared, context.document)
        faults += function_problems(context.name, declared.functions, context.document, declared.tables)
        faults += parent_problems(context.name, declared, context.document)
    return declared, faults


class RestSource(HttpSource):
    """Tables behind a REST API.

    Columns that are not declared are inferred from a first page when they are needed.
    """

    read = staticmethod(read_rest)

    def __init__(self, declared: spec.RestSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        accounts = declared.accounts
        if accounts is not None:
            each = accounts.each.items()
            self.accounts = {name: Exchange(one.client(name, declared.client), context) for name, one in each}
        self._accounts = {} if accounts is None else {accounts.column: list(accounts.each)}
        for name in declared.tables:
            self._plan(name, None)
        functions = planned_functions(context.name, declared.functions, self.http.max_in_flight)
        self._planned |= {name: self.http.limited(planned) for name, planned in functions.items()}

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Infer the columns of those of the named tables that are declared without any.

        Raises SourceError where a first page cannot be read or has no rows.
        """
        for name in self.without_columns(names):
            self._plan(name, await self._infer(self._planned[name], meter))

    def _plan(self, name: str, columns: Mapping[str, spec.ColumnSpec] | None) -> None:
        ceiling, declared = self.http.max_in_flight, self._declared.tables[name]
        planned = plan_table(
            self.name, name, declared, max_in_flight=ceiling, columns=columns, accounts=self._accounts
        )
        self._planned[name] = self.http.limited(self._counted(planned))

    def _counted(self, planned: PlannedTable) -> PlannedTable:
        """A table whose scans in windows say how many requests that takes at least."""
        now, scans = self.http.client.clock.wall(), []
        for scan in planned.table.scans:
            windows = access_of(scan).windows
            column = None if windows is None else planned.table.column(windows.column)
            several = 1 if windows is None or column is None else count(windows, column.arrow, now)
            scans.append(replace(scan, requests=scan.requests * several))
        return replace(planned, table=replace(planned.table, scans=tuple(scans)))

    async def _infer(self, planned: PlannedTable, meter: AccessMeter) -> dict[str, spec.ColumnSpec]:
        scan = planned.table.scans[0]
        access, client = wanted(access_of(scan), ())[0], self.http.client
        reading = self._exchange(access).reading(planned, scan.name, access, (), (), meter=meter)
        response = await reading.fetch(make_paginator(access.endpoint).start())
        columns: dict[str, str] = {}
        if response.status not in reading.empty:
            name = planned.table.name
            origin = Origin(self.name, name, response.url, shown=client.shown, redact=client.redactor.text)
            with reading.body.explained(response, origin):
                columns = infer.columns_of(form_of(access.endpoint), reading.body, response)
        if not columns:
            raise SourceError(
                "the first page has no rows to infer columns from",
                source=self.name,
                table=planned.table.name,
                url=client.shown(response.url),
                hint="declare the table's columns",
            )
        named = zip(distinct_names(columns), columns.items(), strict=True)
        return {
            name: spec.ColumnSpec(type=kind, path=None if name == written else quoted(written))
            for name, (written, kind) in named
        }
