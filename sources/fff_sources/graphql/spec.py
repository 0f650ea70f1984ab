"""What a spec may say of a GraphQL source, and what is wrong with this one."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from fff.errors import SpecError
from fff_sources.adapter import SourceContext
from fff_sources.document import Key
from fff_sources.graphql import fields
from fff_sources.http.response.jsonpath import literal_path, parse_path
from fff_sources.http.spec import common, spec
from fff_sources.http.spec.check import read_as

#: A mistake: where in the table, and what.
Problem: TypeAlias = tuple[tuple[Key, ...], str]


class GraphQLColumn(spec.ColumnSpec):
    """A scalar field of a record, or (`select`) whatever selection brings the place that `path` names."""

    select: str | None = None


class Relay(spec.Spec):
    """A connection: `edges { node }` and `pageInfo { hasNextPage endCursor }`."""

    type: Literal["relay"]
    page_size: spec.PageSize = 100
    max_pages: spec.PageSize | None = None
    first: str = "first"
    after: str = "after"
    nodes: Literal["edges", "nodes"] = "edges"
    total_path: str | None = None


PaginatorSpec = Annotated[
    Relay | spec.PageNumber | spec.Offset | spec.Cursor | spec.SinglePage, spec.discriminated_by("type")
]


class GraphQLLookup(spec.Spec):
    """Rows by the values of keys: variables of their names in `field`."""

    keys: tuple[str, ...]
    field: str
    types: dict[str, str] | None = None
    batch_size: spec.BatchSize = 1
    paginator: Annotated[PaginatorSpec, spec.short_for("type")] | None = None


class GraphQLTable(common.DiscoveredTableSpec):
    """A field that is a list or a connection."""

    field: str | None = None
    types: dict[str, str] | None = None
    columns: dict[str, Annotated[GraphQLColumn, spec.short_for("type")]] | None = None
    primary_key: tuple[str, ...] = ()
    paginator: Annotated[PaginatorSpec, spec.short_for("type")] | None = None
    lookups: tuple[GraphQLLookup, ...] = ()


class GraphQLSpec(common.SourceSpec):
    """A whole source of type `graphql`; `client.base_url` is the endpoint."""

    type: Literal["graphql"]
    introspection: bool = True
    tables: dict[str, GraphQLTable] | None = None


def read_graphql(context: SourceContext) -> tuple[GraphQLSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    name, document = context.name, context.document
    declared, errors = read_as(GraphQLSpec, name, document)
    if declared is None:
        return None, errors
    base: tuple[Key, ...] = ("sources", name)
    if not declared.introspection and not declared.tables:
        errors.append(document.error((*base, "tables"), "is missing, and introspection is off"))
    for table, part in (declared.tables or {}).items():
        here = (*base, "tables", table)
        errors += [document.error((*here, *path), message) for path, message in _problems(part)]
        if part.columns is None and (not declared.introspection or part.field is None):
            errors.append(
                document.error(here, "has no columns, and no field to learn them from by introspection")
            )
    return declared, errors


def _problems(table: GraphQLTable) -> list[Problem]:
    problems: list[Problem] = []
    columns = table.columns or {}
    if table.field is None and not table.lookups:
        problems.append(((), "has neither a field nor lookups"))
    if table.field is not None:
        problems += _field_problems(("field",), table.field, table.paginator, set())
    for name, column in columns.items():
        path = literal_path(name) if column.path is None else parse_path(column.path)
        odd = [step.name for step in path.steps if step.kind == "name" and not fields.is_name(step.name)]
        if column.select is None and (odd or not path.steps):
            problems.append(
                (("columns", name), f"{odd[0] if odd else path.text!r} is no field; its path must name one")
            )
    known: list[tuple[tuple[Key, ...], str]] = [(("primary_key",), key) for key in table.primary_key]
    for number, lookup in enumerate(table.lookups):
        here = ("lookups", number)
        known += [((*here, "keys"), key) for key in lookup.keys]
        if not lookup.keys:
            problems.append(((*here, "keys"), "must name a column"))
        if lookup.batch_size > 1 and len(lookup.keys) > 1:
            problems.append(((*here, "batch_size"), "must be 1 for several keys"))
        for place, message in _field_problems(("field",), lookup.field, lookup.paginator, set(lookup.keys)):
            problems.append(((*here, *place), message))
    problems += [
        (place, f"{key!r} is not a column")
        for place, key in known
        if table.columns is not None and key not in columns
    ]
    return problems


def _field_problems(
    path: tuple[Key, ...], text: str, paginator: PaginatorSpec | None, keys: set[str]
) -> list[Problem]:
    try:
        way = fields.parse(text)
        variables = set[str]().union(*(one.variables for one in way))
    except ValueError as error:
        return [(path, str(error))]
    problems: list[Problem] = [(path, f"does not name ${key}") for key in sorted(keys - variables)]
    paging = set(paging_variables(paginator))
    match paginator:
        case (
            Relay(after=place)
            | spec.PageNumber(page_param=place)
            | spec.Offset(offset_param=place)
            | spec.Cursor(cursor_param=place)
        ) if way[-1].given.get(place, place) != place:
            problems.append((path, f"says {place} itself, which the paginator asks for pages with"))
    problems += [(path, f"nothing gives ${name} a value") for name in sorted(variables - keys - paging)]
    return problems


def paging_variables(paginator: PaginatorSpec | None) -> dict[str, str]:
    """The arguments of a field that pages are asked for with, and their types."""
    match paginator:
        case Relay() as p:
            return {p.first: "Int", p.after: "String"}
        case spec.PageNumber() as p:
            size = {p.page_size_param or "perPage": "Int"} if p.page_size is not None else {}
            return {p.page_param: "Int", **size}
        case spec.Offset() as p:
            size = {} if p.page_size is None or p.page_size_param is None else {p.page_size_param: "Int"}
            return {p.offset_param: "Int", **size}
        case spec.Cursor() as p:
            size = {p.page_size_param or "first": "Int"} if p.page_size is not None else {}
            return {p.cursor_param: "String", **size}
        case _:
            return {}
