"""SocrataSource: the datasets of a portal as tables."""

from __future__ import annotations

from typing import Any, Literal

from fff.errors import SpecError
from fff.stats import AccessMeter
from fff.structs import lazy_pattern
from fff_sources.adapter import SourceContext
from fff_sources.http.portal import Portal, PortalColumn, PortalSpec, strangers
from fff_sources.http.source import HttpSource
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.tables import DiscoveredTable, HttpAccess, Question
from fff_sources.socrata.soql import Soql, comparisons, is_exact, is_sortable, spark_type

_ID = lazy_pattern(r"[a-z0-9]{4}-[a-z0-9]{4}")

_EXPECTS = "client.base_url must be a Socrata portal, such as https://data.cityofnewyork.us"


class SocrataSpec(PortalSpec):
    """A whole source of type `socrata`. `datasets` names them: table -> the id in the dataset's address."""

    type: Literal["socrata"]
    datasets: dict[str, str]
    page_size: spec.PageSize = 10_000
    batch_size: spec.BatchSize = 100


def read_socrata(context: SourceContext) -> tuple[SocrataSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, problems = read_as(SocrataSpec, context.name, context.document)
    if declared is not None:
        problems += strangers(context, declared.datasets)
        problems += [
            context.document.error(
                ("sources", context.name, "datasets", name),
                f"{ident!r} is no id of a dataset",
                hint="it is the last part of the dataset's address, such as erm2-nwe9",
            )
            for name, ident in declared.datasets.items()
            if not _ID.fullmatch(ident)
        ]
    return declared, problems


class SocrataSource(HttpSource):
    """A Socrata portal. A dataset's columns are asked for when a statement names it."""

    model = SocrataSpec  # for editors
    read = staticmethod(read_socrata)

    def __init__(self, declared: SocrataSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        self._portal = Portal(self.http, declared, _EXPECTS)
        self.keep(*self._portal.named(dict.fromkeys(declared.datasets, "")))

    async def _discovered(self, name: str, meter: AccessMeter) -> DiscoveredTable:
        """A dataset as its metadata describes it."""
        ident = self._declared.datasets[name]
        view = await self._portal.ask(Question(f"api/views/{ident}.json"), _View, meter=meter, table=name)
        columns = self._portal.columns(name, view.columns)
        path, key = f"resource/{ident}.json", tuple(key for key in view.key if key in columns)
        size = self._declared.batch_size
        lookups = tuple(
            (self._access(Soql(path, key, (column.name,))), size)
            for column in columns.values()
            if is_exact(column.kind, column.type)
        )
        scan = self._access(Soql(path, key))
        return self._portal.table(
            name,
            columns,
            view.title,
            primary_key=key,
            scan=scan,
            lookups=lookups,
            sendable={one.name: comparisons(one.kind, one.type) for one in columns.values()},
            sortable=[column.name for column in columns.values() if is_sortable(column.kind, column.type)],
        )

    def _access(self, words: Soql) -> HttpAccess:
        """Pages by offset. Socrata never sends less than asked for, so a short page is the last."""
        paging = {
            "type": "offset",
            "offset_param": "$offset",
            "page_size_param": "$limit",
            "page_size": self._declared.page_size,
            "short_page_ends": True,
        }
        return HttpAccess.worded(words, paging, words.keys)


class _View:
    """What `/api/views/ID.json` tells. Names that begin with a colon are the system's own."""

    def __init__(self, answer: Any) -> None:
        own = [column for column in answer["columns"] if not column["fieldName"].startswith(":")]
        self.columns = [
            PortalColumn(column["fieldName"], column["dataTypeName"], spark_type(column["dataTypeName"]))
            for column in own
        ]
        ident = answer.get("rowIdentifierColumnId")
        self.key = [column["fieldName"] for column in own if ident is not None and column.get("id") == ident]
        self.title = str(answer.get("name") or "")
