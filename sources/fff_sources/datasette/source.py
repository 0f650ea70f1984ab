"""DatasetteSource: the tables and views of one database, or of all databases of an instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fff.errors import SourceError, SpecError
from fff.stats import AccessMeter
from fff.structs import replace
from fff_sources.adapter import SourceContext
from fff_sources.datasette.asking import TablePage, affinity, comparisons, is_exact, spark_type, tilde
from fff_sources.http.portal import WHOLE_NUMBERS, Portal, PortalColumn, PortalSpec
from fff_sources.http.source import HttpSource
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.tables import DiscoveredTable, HttpAccess, Question

_OWN = frozenset({"_memory", "_internal"})  # databases of Datasette itself
_COLUMNS = 'select name, type, pk, "notnull" as filled from pragma_table_info(:t)'
_REFUSED = frozenset({400, 403, 404})

_EXPECTS = "client.base_url must be the root of a Datasette, and database the name of one of its databases"


class DatasetteSpec(PortalSpec):
    """A whole source of type `datasette`. `database` is the one to read, where the instance has several."""

    type: Literal["datasette"]
    database: str | None = None
    hidden: bool = False
    batch_size: spec.BatchSize = 100


@dataclass(frozen=True)
class _ServerTable:
    """A table or view on the server."""

    database: str
    name: str

    @property
    def path(self) -> str:
        """Of its rows."""
        return f"{self.database}/{tilde(self.name)}.json".lstrip("/")


def read_datasette(context: SourceContext) -> tuple[DatasetteSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    return read_as(DatasetteSpec, context.name, context.document)


class DatasetteSource(HttpSource):
    """A Datasette.

    Which tables there are is asked when a statement names one, and then for that one's columns.
    """

    model = DatasetteSpec  # for editors
    read = staticmethod(read_datasette)

    def __init__(self, declared: DatasetteSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        self._portal = Portal(self.http, declared, _EXPECTS)
        self._places: dict[str, _ServerTable] = {}  # by the name of the table
        self._listed = False

    @property
    def listed(self) -> bool:
        """Whether the tables are known."""
        return self._listed

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Ask for the databases, unless the spec names one, and for the tables of each."""
        databases = await self._databases(meter)
        for database in databases:
            listing = await self._portal.ask(Question(f"{tilde(database)}.json"), self._shown, meter=meter)
            for name in listing:
                place = _ServerTable(tilde(database), name)
                self._places[name if len(databases) == 1 else f"{database}_{name}"] = place
        self.keep(*self._portal.named(dict.fromkeys(self._places, "")))
        self._listed = True

    async def _discovered(self, name: str, meter: AccessMeter) -> DiscoveredTable:
        """A table as SQLite describes it."""
        place = self._places[name]
        described = await self._described(place, name, meter)
        columns = self._portal.columns(name, [column for column, _ in described])
        first = next(iter(columns))
        doubles = (one for one in columns.values() if one.type == "double")
        page = TablePage(
            place.path, first, (), tuple(one.name for one in doubles if affinity(one.kind) == "NUMERIC")
        )
        size = self._declared.batch_size
        lookups = [
            (_access(replace(page, keys=(column.name,))), size)
            for column in columns.values()
            if is_exact(column.kind, column.type)
        ]
        key = _key([part for part in described if part[0].name in columns])
        parts = [columns[name] for name in key]
        # Of a double the text may be that of another one.
        if len(key) > 1 and all(is_exact(one.kind, one.type) and one.type != "double" for one in parts):
            lookups.append((_access(replace(page, keys=key)), 1))
        scan = _access(page)
        return self._portal.table(
            name,
            columns,
            primary_key=key,
            scan=scan,
            lookups=tuple(lookups),
            sendable={one.name: comparisons(one.kind, one.type) for one in columns.values()},
            sortable=[
                column.name
                for column in columns.values()
                if column.type in WHOLE_NUMBERS and is_exact(column.kind, column.type)
            ],
        )

    async def _databases(self, meter: AccessMeter) -> Sequence[str]:
        if self._declared.database is not None:
            return [self._declared.database]
        return await self._portal.ask(Question("-/databases.json"), _databases, meter=meter)

    def _shown(self, answer: Any) -> list[str]:
        """The tables that are not hidden, and the views, of a database's page."""
        tables = [
            part["name"]
            for part in answer["tables"]
            if self._declared.hidden or not part.get("hidden", False)
        ]
        return tables + [part["name"] for part in answer.get("views", [])]

    async def _described(
        self, place: _ServerTable, name: str, meter: AccessMeter
    ) -> list[tuple[PortalColumn, tuple[int, bool]]]:
        """The columns, and for each its place in the primary key (0: none) and whether it is never NULL."""
        params = (("sql", _COLUMNS), ("t", place.name), ("_shape", "objects"))
        question = Question(f"{place.database}.json", params)
        try:
            answer = await self._portal.ask(question, dict, meter=meter, table=name)
        except SourceError as error:
            if error.status not in _REFUSED:
                raise
            # An instance may refuse SQL of one's own. Its pages tell the names, and text holds whatever the
            # types are.
            question = Question(place.path, (("_shape", "objects"), ("_size", "1"), ("_extra", "columns")))
            answer = {"rows": await self._portal.ask(question, _named, meter=meter, table=name)}
        rows = answer["rows"]
        if answer.get("truncated"):
            raise SourceError("has too many columns to describe", source=self.name, table=name)
        return [
            (
                PortalColumn(row["name"], row["type"], spark_type(row["type"])),
                (row["pk"], bool(row["filled"])),
            )
            for row in rows
        ]


def _databases(answer: Any) -> list[str]:
    """The names on the page of databases: a list, or in later versions an object that holds it."""
    listed = answer["databases"] if isinstance(answer, dict) else answer
    return [part.get("route") or part["name"] for part in listed if part["name"] not in _OWN]


def _named(answer: Any) -> list[dict[str, Any]]:
    """Columns without types, as SQL would tell them."""
    names = answer.get("columns") or list(answer["rows"][0])
    return [{"name": name, "type": "", "pk": 0, "filled": 0} for name in names]


def _key(described: Sequence[tuple[PortalColumn, tuple[int, bool]]]) -> tuple[str, ...]:
    """The primary key, unless it may be NULL: SQLite lets any but an INTEGER one, where NOT NULL does not stand."""
    parts = sorted(
        ((place, filled, column) for column, (place, filled) in described if place), key=lambda part: part[0]
    )
    is_rowid = len(parts) == 1 and parts[0][2].kind.upper() == "INTEGER"
    if is_rowid or all(filled for _, filled, _ in parts):
        return tuple(column.name for _, _, column in parts)
    return ()


def _access(page: TablePage) -> HttpAccess:
    paging = {
        "type": "cursor",
        "cursor_path": "next",
        "cursor_param": "_next",
        "total_path": "filtered_table_rows_count",
    }
    return HttpAccess.worded(page, paging, page.keys, data_selector="rows")
