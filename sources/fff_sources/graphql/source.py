"""GraphQLSource: lists and connections of an endpoint as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fff.errors import SourceError
from fff.schema import distinct_names
from fff.stats import AccessMeter
from fff.structs import replace
from fff_sources.adapter import SourceContext
from fff_sources.graphql import fields
from fff_sources.graphql.fields import SelectedField
from fff_sources.graphql.schema import INTROSPECTION, SIZES, ListedField, Schema
from fff_sources.graphql.spec import (
    GraphQLColumn,
    GraphQLLookup,
    GraphQLSpec,
    GraphQLTable,
    PaginatorSpec,
    Relay,
    paging_variables,
    read_graphql,
)
from fff_sources.graphql.words import (
    ONE_PAGE,
    ColumnSelection,
    GraphQLWords,
    base_of,
    default_type,
    failure_of,
)
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import JsonPath, Step, parse_path
from fff_sources.http.source import HttpSource
from fff_sources.http.spec import spec
from fff_sources.http.tables import DiscoveredTable, HttpAccess, Question, place_of

_PLAIN = frozenset({"Int", "Float", "Boolean"})


class GraphQLSource(HttpSource):
    """A GraphQL endpoint.

    It is asked for its schema once, when a table without declared columns is needed.
    """

    read = staticmethod(read_graphql)

    def __init__(self, declared: GraphQLSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._declared = declared
        self._schema: Schema | None = None
        for name, table in (declared.tables or {}).items():
            self.keep(
                DiscoveredTable(name) if table.columns is None else self._table(name, table, table.columns)
            )

    @property
    def listed(self) -> bool:
        """Whether the tables are known: where the spec names some, it names all."""
        return bool(self._declared.tables) or self._schema is not None

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Every field of the query type that is a list or a connection and needs no arguments."""
        if not self.listed:
            for name, listed in (await self._introspected(meter)).tables().items():
                table = GraphQLTable(field=name, paginator=_relay(listed))
                self.keep(self._table(name, table, _columns(listed)))

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """The columns of declared tables that have none yet: the scalar fields of their records."""
        for name in self.without_columns(names):
            table = (self._declared.tables or {})[name]
            schema = await self._introspected(meter)
            described = schema.at(fields.parse(table.field or ""))
            if described is None or not described.columns:
                raise SourceError(
                    f"the schema has no field {table.field!r} with scalar fields below it",
                    source=self.name,
                    table=name,
                    hint="declare the columns of the table",
                )
            is_told = "paginator" in table.model_fields_set
            if not is_told:
                table = table.model_copy(update={"paginator": self._paginator(name, table, described)})
            paging = () if is_told or described.is_paged else described.paging
            self.keep(self._table(name, table, _columns(described), paging))

    def _paginator(self, name: str, table: GraphQLTable, described: ListedField) -> Relay | None:
        """How a declared table is paged that does not say so: a page that looks like all of it would be no error."""
        last = fields.parse(table.field or "")[-1]
        left = [argument for argument in described.paging if argument not in last.given]
        if left and not described.is_paged and last.numbers.keys().isdisjoint(SIZES):
            raise SourceError(
                f"{table.field!r} has arguments for pages ({', '.join(left)}), and nothing says how to use them",
                source=self.name,
                table=name,
                hint=f"declare its paginator, which is {ONE_PAGE}",
            )
        return _relay(described)

    async def _introspected(self, meter: AccessMeter) -> Schema:
        if self._schema is None:
            question = Question(headers={"Accept": "application/json"}, json={"query": INTROSPECTION})
            response = await self.http.ask(question, meter=meter, post=True)
            hint = "declare the tables and their columns"
            if (failure := failure_of(response)) is not None:
                raise self.http.problem(f"introspection: {failure}", response, hint=hint)
            try:
                self._schema = Schema(response.body)
            except MalformedJSON:
                raise self.http.problem(
                    "introspection: the answer holds no schema", response, hint=hint
                ) from None
        return self._schema

    # ------------------------------------------------------------------------------------------------- tables

    def _table(
        self,
        name: str,
        table: GraphQLTable,
        columns: Mapping[str, GraphQLColumn],
        paging: Collection[str] = (),
    ) -> DiscoveredTable:
        """`paging`: arguments for pages that nobody has said how to use."""
        parts = {
            column: ColumnSelection(place_of(column, part), part.select) for column, part in columns.items()
        }
        kinds = {column: part.type for column, part in columns.items()}
        scan = None
        if table.field is not None:
            way = fields.parse(table.field)
            left = paging and set(paging) - way[-1].given.keys()
            sizes = [(way[-1].numbers[one], one) for one in SIZES if one in way[-1].numbers] if left else []
            scan = _access(
                way,
                parts,
                table.paginator,
                declared=table.types or {},
                schema=self._schema,
                size=min(sizes, default=None),
            )
        lookups = []
        for lookup in table.lookups:
            for key in lookup.keys:
                if key not in columns:
                    raise SourceError(f"{key!r} is no field of its records", source=self.name, table=name)
            lookups.append((_lookup(lookup, table, parts, kinds, self._schema), lookup.batch_size))
        return DiscoveredTable(
            name,
            {column: (kinds[column], part.path) for column, part in parts.items()},
            table.primary_key,
            scan,
            tuple(lookups),
            table.on_bad_record,
            table.description,
        )


def _lookup(
    lookup: GraphQLLookup,
    table: GraphQLTable,
    parts: Mapping[str, ColumnSelection],
    kinds: Mapping[str, str],
    schema: Schema | None,
) -> HttpAccess:
    return _access(
        fields.parse(lookup.field),
        parts,
        lookup.paginator,
        declared={**(table.types or {}), **(lookup.types or {})},
        schema=schema,
        keys={key: kinds[key] for key in lookup.keys},
        batch=lookup.batch_size > 1,
    )


def _access(
    way: tuple[SelectedField, ...],
    parts: Mapping[str, ColumnSelection],
    paginator: PaginatorSpec | None,
    *,
    declared: Mapping[str, str],
    schema: Schema | None,
    keys: Mapping[str, str] | None = None,
    batch: bool = False,
    size: tuple[int, str] | None = None,
) -> HttpAccess:
    """`declared`: types of variables that the spec names; `keys`: column -> Spark SQL type, none for a scan.

    `size`: how many records come at most, and the argument that says so.
    """
    keys = keys or {}
    paging = paging_variables(paginator)
    named = set[str]().union(*(one.variables for one in way))
    last = way[-1]
    own = [name for name in paging if name in last.given and last.given[name] != name]  # how long pages are
    way = (*way[:-1], last.with_arguments(name for name in paging if name not in {*named, *own}))
    within, beside, at_root, following = _paging(way, paginator)
    for name in own:
        following |= {"page_size": last.numbers.get(name), "page_size_param": None}
    usual = {key: default_type(kind, batch=batch) for key, kind in keys.items()}
    found = {} if schema is None else schema.variables(way)
    # Another kind of number than the column's cannot say all of its values.
    known = {
        name: kind
        for name, kind in found.items()
        if name in paging or base_of(kind) not in _PLAIN or base_of(kind) == base_of(usual[name])
    }
    types = {**paging, **usual, **known, **declared}
    long = [
        key
        for key, kind in keys.items()
        if key not in declared and kind.lower() in ("bigint", "long") and base_of(types[key]) == "Int"
    ]
    doubt = (
        f"{long[0]} is asked for as {types[long[0]]}, which has 32 bits: name its type in types"
        if long
        else None
    )
    words = GraphQLWords(way, parts, within, beside, at_root, types, tuple(keys), batch, size)
    # Where a key has no rows, an object on the way to them may be null.
    absent = "empty" if keys else "error"
    records = place(way, within).text
    access = HttpAccess.worded(
        words, following, tuple(keys), method="POST", data_selector=records, absent=absent
    )
    return replace(access, unsayable=doubt)


def place(way: tuple[SelectedField, ...], within: tuple[str, ...]) -> JsonPath:
    """Where the records are: the list itself, or what is inside each of the edges."""
    steps: list[Step] = []
    for number, name in enumerate(within):
        steps.append(Step("name", name))
        if number == 0 and len(within) > 1:
            steps.append(Step("every"))
    return fields.place(way, steps)


def _paging(
    way: tuple[SelectedField, ...], paginator: PaginatorSpec | None
) -> tuple[tuple[str, ...], fields.Selection, str, Any]:
    """What is between the last field and a record, what else is selected, and the paginator of the machinery."""
    if paginator is None or isinstance(paginator, spec.SinglePage):
        return (), {}, "", {"type": "single_page"}
    beside: fields.Selection = {}
    at_root: list[str] = []

    def selected(text: str | None) -> str | None:
        """A place the paginator reads: below the field where it begins with a dot, else from the top of the data."""
        if text is None:
            return None
        path = parse_path(text.removeprefix("."))
        if text.startswith("."):
            beside.update(_merged(beside, fields.selection([path])))
            return fields.place(way, path.steps).text
        at_root.append(fields.written(fields.selection([path])))
        return fields.place((), path.steps).text

    if isinstance(paginator, Relay):
        within = ("nodes",) if paginator.nodes == "nodes" else ("edges", "node")
        following: dict[str, object] = {
            "type": "cursor",
            "cursor_param": paginator.after,
            "cursor_path": selected(".pageInfo.endCursor"),
            "has_more_path": selected(".pageInfo.hasNextPage"),
            "page_size": paginator.page_size,
            "page_size_param": paginator.first,
            "max_pages": paginator.max_pages,
            "total_path": selected(paginator.total_path),
        }
        return within, beside, " ".join(at_root), following
    following = paginator.model_dump(exclude_unset=True)
    for name in ("total_path", "total_rows_path", "has_more_path", "cursor_path"):
        if isinstance(following.get(name), str):
            following[name] = selected(str(following[name]))
    if isinstance(paginator, spec.PageNumber) and paginator.page_size is not None:
        following["page_size_param"] = paginator.page_size_param or "perPage"
    if isinstance(paginator, spec.Cursor) and paginator.page_size is not None:
        following["page_size_param"] = paginator.page_size_param or "first"
    return (), beside, " ".join(at_root), following


def _merged(one: fields.Selection, other: fields.Selection) -> fields.Selection:
    merged = dict(one)
    for name, below in other.items():
        merged[name] = _merged(merged[name], below) if name in merged else below
    return merged


def _relay(listed: ListedField) -> Relay | None:
    return Relay(type="relay") if listed.is_paged else None


def _columns(listed: ListedField) -> dict[str, GraphQLColumn]:
    named = zip(distinct_names(listed.columns), listed.columns.items(), strict=True)
    return {name: GraphQLColumn(type=kind, path=written) for name, (written, kind) in named}
