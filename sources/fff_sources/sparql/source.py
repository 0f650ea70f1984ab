"""SparqlSource: SELECT queries as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fff.errors import SourceError
from fff.schema import arrow_type
from fff.stats import AccessMeter
from fff.structs import Struct
from fff.structs import field as member
from fff.web.types import Response
from fff_sources.adapter import SourceContext
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.response.jsonpath import JsonPath, Step
from fff_sources.http.response.values import from_text
from fff_sources.http.source import HttpSource
from fff_sources.http.tables import DiscoveredTable, HttpAccess
from fff_sources.sparql import terms
from fff_sources.sparql.query import SparqlWords
from fff_sources.sparql.spec import SparqlColumn, SparqlSpec, SparqlTable, read_sparql

_SAMPLE = 100  # rows that tell the types of columns
_WHOLE = frozenset({
    "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
    "nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort",
    "unsignedByte",
})  # fmt: skip
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
    value: str = ""


class _Head(Struct):
    vars: list[str] = member(default_factory=list)


class _Bindings(Struct):
    bindings: list[dict[str, _Term]]


class _Results(Struct):
    head: _Head
    results: _Bindings


class SparqlSource(HttpSource):
    """A SPARQL 1.1 endpoint.

    Queries whose columns are not declared are asked for a few rows when they are needed.
    """

    read = staticmethod(read_sparql)

    def __init__(self, declared: SparqlSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        for name, table in declared.tables.items():
            self.keep(
                DiscoveredTable(name) if table.columns is None else self._table(name, table, table.columns)
            )

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """The columns of queries that declare none: the variables of an answer, with the types of its first rows."""
        for name in self.without_columns(names):
            declared = self._declared.tables[name]
            words = self._words(declared, {})
            question = words.sent(words.sample(_SAMPLE))
            post = self._declared.method == "POST"
            response = await self.http.ask(question, table=name, meter=meter, post=post)
            if (failure := words.failure(response)) is not None:
                raise self.http.problem(failure, response, name)
            self.keep(self._table(name, declared, self._columns(name, declared, response)))

    def _columns(self, table: str, declared: SparqlTable, response: Response) -> dict[str, SparqlColumn]:
        try:
            answer = decode(response.body, type=_Results)
        except MalformedJSON:
            raise self.http.problem("the answer is not SPARQL results in JSON", response, table) from None
        columns = {}
        for name in answer.head.vars:
            terms_of = [row[name] for row in answer.results.bindings if name in row]
            kinds = {_type_of(term, is_strict=declared.on_bad_record == "fail") for term in terms_of}
            columns[name] = SparqlColumn(type=kinds.pop() if len(kinds) == 1 else "string")
        if not columns:
            raise self.http.problem("the query has no variables", response, table)
        return columns

    def _table(self, name: str, table: SparqlTable, columns: Mapping[str, SparqlColumn]) -> DiscoveredTable:
        for wanted in (*table.primary_key, *(table.lookups or ()), *table.order_by):
            if wanted not in columns:
                raise SourceError(f"the query has no variable {wanted!r}", source=self.name, table=name)
        size = table.page_size if "page_size" in table.model_fields_set else self._declared.page_size
        batch = table if "batch_size" in table.model_fields_set else self._declared
        paginator: dict[str, object] = {"type": "single_page"}
        if size is not None:
            paginator = {"type": "offset", "page_size": size}
        scan = self._access(self._words(table, columns), paginator)
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
            lookups.append((self._access(words, {"type": "single_page"}), batch.batch_size))
        return DiscoveredTable(
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

    def _access(self, words: SparqlWords, paginator: dict[str, object]) -> HttpAccess:
        method = self._declared.method
        return HttpAccess.worded(
            words, paginator, words.keys, method=method, data_selector="results.bindings"
        )


def _place(column: str) -> JsonPath:
    """Where in a binding a variable's value is; nothing is there where it is unbound."""
    return JsonPath(f"{column}.value", (Step("name", column), Step("name", "value")))


def _has_terms(column: SparqlColumn) -> bool:
    """Whether rows can be asked for by values of a column: by terms of a declared kind, as texts, as exact numbers."""
    return column.term is not None or column.type.lower() == "string" or terms.is_number(column.type.lower())


def _type_of(term: _Term, *, is_strict: bool) -> str:
    """The type by the datatype; text for a date that is none, such as one with a zone, where that would be an error."""
    if term.datatype is None or not term.datatype.startswith(terms.XSD):
        return "string"
    kind = _TYPES.get(term.datatype.removeprefix(terms.XSD), "string")
    if kind == "date" and is_strict:
        try:
            from_text(term.value, arrow_type(kind))
        except ValueError:
            return "string"
    return kind
