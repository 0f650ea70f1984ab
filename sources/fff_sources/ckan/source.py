"""CkanSource: the resources of a portal's DataStore as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fff.errors import SpecError
from fff.stats import AccessMeter
from fff_sources.adapter import SourceContext
from fff_sources.ckan.search import ROW_NUMBER, Search, is_exact, is_sortable, spark_type
from fff_sources.http.exchange import together
from fff_sources.http.portal import Portal, PortalColumn, PortalSpec, strangers, unique_names
from fff_sources.http.source import HttpSource
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.tables import DiscoveredTable, HttpAccess, Question

_EXPECTS = "client.base_url must be a CKAN portal, and the resource must be in its DataStore"


class CkanSpec(PortalSpec):
    """A whole source of type `ckan`.

    `resources` names some (table -> resource id); `datasets` have all theirs listed.
    """

    type: Literal["ckan"]
    resources: dict[str, str] | None = None
    datasets: tuple[str, ...] = ()
    page_size: spec.PageSize = 10_000
    batch_size: spec.BatchSize = 100


def read_ckan(context: SourceContext) -> tuple[CkanSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, problems = read_as(CkanSpec, context.name, context.document)
    if declared is not None and not declared.datasets:
        problems += strangers(context, declared.resources or {})
        if not declared.resources and not problems:
            problems.append(
                context.document.error(
                    ("sources", context.name),
                    "names no tables",
                    hint="add resources: {TABLE: RESOURCE_ID}, or datasets: [NAME]",
                )
            )
    return declared, problems


class CkanSource(HttpSource):
    """A CKAN portal.

    Datasets are asked for their resources, and resources for their columns, when a statement needs them.
    """

    model = CkanSpec  # for editors
    read = staticmethod(read_ckan)

    def __init__(self, declared: CkanSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        self._portal = Portal(self.http, declared, _EXPECTS)
        self._resources: dict[str, str] = dict(declared.resources or {})  # table -> resource id
        self._listed = not declared.datasets
        self.keep(*self._portal.named(dict.fromkeys(self._resources, "")))

    @property
    def listed(self) -> bool:
        """Whether the resources of all datasets are known."""
        return self._listed

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Ask for the datasets: one request each."""
        listings = await together(self._resources_of(name, meter) for name in self._declared.datasets)
        titles = {ident: title for resources in listings for ident, title in resources.items()}
        known = set(self._resources.values())
        names = unique_names([(ident, title) for ident, title in titles.items() if ident not in known])
        fresh = {name: ident for ident, name in names.items() if name not in self._resources}
        self._resources |= fresh
        self.keep(*self._portal.named({name: titles[ident] for name, ident in fresh.items()}))
        self._listed = True

    async def _resources_of(self, dataset: str, meter: AccessMeter) -> Mapping[str, str]:
        """The resources of a dataset that are in the DataStore: id -> title."""
        question = Question("api/3/action/package_show", (("id", dataset),))
        return await self._portal.ask(question, _datastore_resources, meter=meter)

    async def _discovered(self, name: str, meter: AccessMeter) -> DiscoveredTable:
        """A resource as the answer to a search for nothing describes it."""
        resource = self._resources[name]
        question = Question("api/3/action/datastore_search", (("resource_id", resource), ("limit", "0")))
        columns = self._portal.columns(
            name, await self._portal.ask(question, _fields, meter=meter, table=name)
        )
        numbered = ROW_NUMBER in columns
        lookups = tuple(
            (self._access(Search(resource, columns, (column.name,), numbered)), self._declared.batch_size)
            for column in columns.values()
            if is_exact(column.kind, column.type)
        )
        scan = self._access(Search(resource, columns, (), numbered))
        key = (ROW_NUMBER,) if numbered else ()
        equal = dict.fromkeys((access.keys[0] for access, _ in lookups), ("=",))
        return self._portal.table(
            name,
            columns,
            primary_key=key,
            scan=scan,
            lookups=lookups,
            sendable=equal,
            sortable=[
                one.name for one in columns.values() if numbered and is_sortable(one.name, one.kind, one.type)
            ],
        )

    def _access(self, search: Search) -> HttpAccess:
        paging = {"type": "offset", "page_size": self._declared.page_size, "total_path": "result.total"}
        return HttpAccess.worded(search, paging, search.keys, data_selector="result.records")


def _datastore_resources(answer: Any) -> dict[str, str]:
    return {
        str(part["id"]): str(part.get("name") or "")
        for part in answer["result"]["resources"]
        if part.get("datastore_active") in (True, "true", "True")
    }


def _fields(answer: Any) -> list[PortalColumn]:
    return [
        PortalColumn(str(part["id"]), str(part["type"]), spark_type(str(part["type"])))
        for part in answer["result"]["fields"]
    ]
