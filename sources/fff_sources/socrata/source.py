"""SocrataSource: the datasets of a portal as tables."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from fff.errors import SpecError
from fff.stats import AccessMeter
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.found import FoundColumn, FoundSource, FoundSpec
from fff_sources.rest.plan import Access, Question
from fff_sources.rest.worded import Draft
from fff_sources.socrata.soql import Soql, comparisons, is_exact, is_sortable, spark_type

_ID = re.compile(r"[a-z0-9]{4}-[a-z0-9]{4}")


class SocrataSpec(FoundSpec):
    """A whole source of type `socrata`. `datasets` names them: table -> the id in the dataset's address."""

    type: Literal["socrata"]
    datasets: dict[str, str]
    page_size: spec.PageSize = 10_000
    batch_size: spec.BatchSize = 100


class SocrataSource(FoundSource):
    """A Socrata portal. A dataset's columns are asked for when a statement names it."""

    model: ClassVar[type[FoundSpec]] = SocrataSpec

    def __init__(self, declared: SocrataSpec, context: SourceContext) -> None:
        super().__init__(declared, context)
        self._declared = declared
        self.name_tables(dict.fromkeys(declared.datasets, ""))

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        declared, found = super().read(context)
        if declared is not None:
            found += cls.strangers(context, declared.datasets)
            found += [
                context.document.error(
                    ("sources", context.name, "datasets", name),
                    f"{ident!r} is no id of a dataset",
                    hint="it is the last part of the dataset's address, such as erm2-nwe9",
                )
                for name, ident in declared.datasets.items()
                if not _ID.fullmatch(ident)
            ]
        return declared, found

    async def find_columns(self, name: str, meter: AccessMeter) -> Draft:
        """A dataset as its metadata describes it."""
        ident = self._declared.datasets[name]
        view = await self.told(Question(f"api/views/{ident}.json"), _View, meter=meter, table=name)
        columns = self.settled(name, view.columns)
        path, first = f"resource/{ident}.json", next(iter(columns))
        size = self._declared.batch_size
        lookups = tuple(
            (Access(self._endpoint(), (column.name,), words=Soql(path, first, (column.name,))), size)
            for column in columns.values()
            if is_exact(column.kind, column.type)
        )
        scan = Access(self._endpoint(), words=Soql(path, first))
        key = tuple(key for key in view.key if key in columns)
        said = {column.name: comparisons(column.kind, column.type) for column in columns.values()}
        sendable = {name: operators for name, operators in said.items() if operators}
        return self.draft(
            name,
            columns,
            view.title,
            primary_key=key,
            scan=scan,
            lookups=lookups,
            sendable=sendable,
            sortable=[column.name for column in columns.values() if is_sortable(column.kind, column.type)],
        )

    def _endpoint(self) -> spec.Endpoint:
        """Pages by offset. Socrata never sends less than asked for, so a short page is the last."""
        paging = {
            "type": "offset",
            "offset_param": "$offset",
            "page_size_param": "$limit",
            "page_size": self._declared.page_size,
            "short_page_ends": True,
        }
        return spec.Endpoint.model_validate({"path": "", "paginator": paging})

    def expects(self) -> str:
        """What `base_url` must be; a hint."""
        return "client.base_url must be a Socrata portal, such as https://data.cityofnewyork.us"


class _View:
    """What `/api/views/ID.json` tells. Names that begin with a colon are the system's own."""

    def __init__(self, answer: Any) -> None:
        own = [column for column in answer["columns"] if not column["fieldName"].startswith(":")]
        self.columns = [
            FoundColumn(column["fieldName"], column["dataTypeName"], spark_type(column["dataTypeName"]))
            for column in own
        ]
        ident = answer.get("rowIdentifierColumnId")
        self.key = [column["fieldName"] for column in own if ident is not None and column.get("id") == ident]
        self.title = str(answer.get("name") or "")
