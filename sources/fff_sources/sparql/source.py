"""SparqlSource: SELECT queries as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fff.errors import SourceError, SpecError
from fff.stats import AccessMeter
from fff.web.message import Response
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.fastjson import MalformedJSON, Struct, decode
from fff_sources.rest.fastjson import field as member
from fff_sources.rest.jsonpath import JsonPath, Step
from fff_sources.rest.plan import Access
from fff_sources.rest.worded import Draft, WordedSource
from fff_sources.sparql import terms
from fff_sources.sparql.query import SparqlWords
from fff_sources.sparql.spec import SparqlColumn, SparqlSpec, SparqlTable, read_sparql

_SAMPLE = 100  # rows that tell the types of columns
_WHOLE = frozenset(
    [
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    ]
)
_TYPES = {
    "decimal": "decimal(38,18)",
    "double": "double",
    "float": "double",
    "boolean": "boolean",
    "date": "date",
    "dateTime": "timestamp",
} | dict.fromkeys(_WHOLE, "bigint")


class _Term(Struct):
    type: str
    datatype: str | None = None


class _Head(Struct):
    vars: list[str] = member(default_factory=list)


class _Bindings(Struct):
    bindings: list[dict[str, _Term]]


class _Results(Struct):
    head: _Head
    results: _Bindings


class SparqlSource(WordedSource):
    """A SPARQL 1.1 endpoint. Queries whose columns are not declared are asked for a few rows when they are needed."""

    def __init__(self, declared: SparqlSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        for name, table in declared.tables.items():
            self.keep(Draft(name) if table.columns is None else self._draft(name, table, table.columns))

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        return read_sparql(context.name, context.document)

    async def discover(
        self, names: Collection[str] | None = None, *, meter: AccessMeter | None = None
    ) -> None:
        """The columns of queries that declare none: the variables of an answer, with the types of its first rows."""
        for table in list(self.tables):
            if table.columns or (names is not None and table.name not in names):
                continue
            declared = self._declared.tables[table.name]
            words = self._words(declared, {})
            question = words.sent(words.sample(_SAMPLE))
            method = self._declared.method
            response = await self.ask(question, method=method, table=table.name, meter=meter or AccessMeter())
            if (failure := words.failure(response)) is not None:
                raise self.problem(failure, response, table.name)
            self.keep(self._draft(table.name, declared, self._columns(table.name, response)))

    def _columns(self, table: str, response: Response) -> dict[str, SparqlColumn]:
        try:
            answer = decode(response.body, type=_Results)
        except MalformedJSON:
            raise self.problem("the answer is not SPARQL results in JSON", response, table) from None
        found = {}
        for name in answer.head.vars:
            kinds = {_type_of(row[name]) for row in answer.results.bindings if name in row}
            found[name] = SparqlColumn(type=kinds.pop() if len(kinds) == 1 else "string")
        if not found:
            raise self.problem("the query has no variables", response, table)
        return found

    def _draft(self, name: str, table: SparqlTable, columns: Mapping[str, SparqlColumn]) -> Draft:
        for wanted in (*table.primary_key, *(table.lookups or ()), *table.order_by):
            if wanted not in columns:
                raise SourceError(f"the query has no variable {wanted!r}", source=self.name, table=name)
        size = table.page_size if "page_size" in table.model_fields_set else self._declared.page_size
        batch = table if "batch_size" in table.model_fields_set else self._declared
        paginator: dict[str, object] = {"type": "single_page"}
        if size is not None:
            paginator = {"type": "offset", "page_size": size}
        scan = Access(self._endpoint(paginator), words=self._words(table, columns))
        keys = [key for key, column in columns.items() if _has_terms(column)]
        lookups = []
        for key in keys if table.lookups is None else table.lookups:
            if not _has_terms(columns[key]):
                raise SourceError(
                    f"{key!r} cannot be looked up: a {columns[key].type} has no one term",
                    source=self.name,
                    table=name,
                    hint="declare its term",
                )
            words = self._words(table, columns, (key,))
            lookups.append(
                (Access(self._endpoint({"type": "single_page"}), (key,), words=words), batch.batch_size)
            )
        return Draft(
            name,
            {column: (part.type, _place(column)) for column, part in columns.items()},
            table.primary_key,
            scan,
            tuple(lookups),
            table.on_bad_record,
            table.description,
        )

    def _words(
        self, table: SparqlTable, columns: Mapping[str, SparqlColumn], keys: tuple[str, ...] = ()
    ) -> SparqlWords:
        source = self._declared
        return SparqlWords(table, columns, source.prefixes or {}, source.method, keys, table.order_by or None)

    def _endpoint(self, paginator: dict[str, object]) -> spec.Endpoint:
        return spec.Endpoint.model_validate(
            {
                "path": "",
                "method": self._declared.method,
                "data_selector": "results.bindings",
                "paginator": paginator,
            }
        )


def _place(column: str) -> JsonPath:
    """Where in a binding a variable's value is; nothing is there where it is unbound."""
    return JsonPath(f"{column}.value", (Step("name", column), Step("name", "value")))


def _has_terms(column: SparqlColumn) -> bool:
    """Whether rows can be asked for by values of a column: by terms of a declared kind, as texts, as exact numbers."""
    return column.term is not None or column.type.lower() == "string" or terms.is_number(column.type.lower())


def _type_of(term: _Term) -> str:
    if term.datatype is None or not term.datatype.startswith(terms.XSD):
        return "string"
    return _TYPES.get(term.datatype.removeprefix(terms.XSD), "string")
