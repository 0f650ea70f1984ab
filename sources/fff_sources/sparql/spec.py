"""What a spec may say of a SPARQL source, and what is wrong with this one."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fff.errors import SpecError
from fff.schema import arrow_type
from fff.structs import lazy_pattern
from fff_sources.adapter import SourceContext
from fff_sources.document import Key
from fff_sources.http.spec import common, spec
from fff_sources.http.spec.check import read_as
from fff_sources.sparql.select import KEYS, is_cut, prologue_of
from fff_sources.sparql.terms import iri, is_kind

_NAME = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)
_RESOURCE = lazy_pattern(r"a|<[^<>\"{}|^`\\\s]+>|([A-Za-z][\w-]*)?:[\w./-]*")
_PATH = lazy_pattern(
    r"[\w:./|^()*+?!<>#%&=~@,;\-\s]+"
)  # of properties; without braces and quotes it stays one


class SparqlColumn(spec.Spec):
    """A variable of the query. `term` says which RDF terms its values are, where all are of one kind."""

    type: str = "string"
    term: str | None = None
    predicate: str | None = None
    optional: bool = False
    description: str = ""


class Settings(spec.Spec):
    """What a table may say for itself or take from its source."""

    page_size: spec.PageSize | None = None
    batch_size: spec.BatchSize = 50


class SparqlTable(Settings, common.DiscoveredTableSpec):
    """A table: `query`, or `class` with a predicate for each column."""

    query: str | None = None
    of_class: Annotated[str | None, spec.named("class")] = None
    class_predicate: str = "a"
    columns: dict[str, Annotated[SparqlColumn, spec.short_for("type")]] | None = None
    primary_key: tuple[str, ...] = ()
    lookups: tuple[str, ...] | None = None
    order_by: tuple[str, ...] = ()


class SparqlSpec(Settings, common.SourceSpec):
    """A whole source of type `sparql`; `client.base_url` is the endpoint."""

    type: Literal["sparql"]
    method: Literal["GET", "POST"] = "POST"
    prefixes: dict[str, str] | None = None
    tables: dict[str, SparqlTable]


def read_sparql(context: SourceContext) -> tuple[SparqlSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    name, document = context.name, context.document
    declared, errors = read_as(SparqlSpec, name, document)
    if declared is None:
        return None, errors
    base: tuple[Key, ...] = ("sources", name)
    for prefix, place in (declared.prefixes or {}).items():
        if iri(place) is None or not re.fullmatch(r"([A-Za-z][\w-]*)?", prefix):
            errors.append(
                document.error((*base, "prefixes", prefix), f"{place!r} is not an IRI to abbreviate")
            )
    for table, part in declared.tables.items():
        here = (*base, "tables", table)
        errors += [document.error((*here, *path), message) for path, message in _problems(part)]
    return declared, errors


def _problems(table: SparqlTable) -> list[tuple[tuple[Key, ...], str]]:
    problems: list[tuple[tuple[Key, ...], str]] = []
    if (table.query is None) == (table.of_class is None):
        problems.append(((), "needs either a query or a class"))
    if table.query is not None and prologue_of(table.query)[1][:6].upper() != "SELECT":
        problems.append((("query",), "is not a SELECT query"))
    elif table.query is not None and KEYS in table.query and is_cut(table.query):
        problems.append(
            (("query",), f"{KEYS} cannot stand in a query with LIMIT or OFFSET: its rows would be others")
        )
    columns = table.columns or {}
    for name, column in columns.items():
        problems += [
            (("columns", name, *path), message) for path, message in _column_problems(name, column, table)
        ]
    for part, names in (
        ("primary_key", table.primary_key),
        ("lookups", table.lookups or ()),
        ("order_by", table.order_by),
    ):
        problems += [
            ((part,), f"{name!r} is not a column")
            for name in names
            if table.columns is not None and name not in columns
        ]
    if table.of_class is not None:
        problems += _class_problems(table, columns)
    return problems


def _column_problems(
    name: str, column: SparqlColumn, table: SparqlTable
) -> list[tuple[tuple[Key, ...], str]]:
    problems: list[tuple[tuple[Key, ...], str]] = []
    if not _NAME.fullmatch(name):
        problems.append(((), "is no name of a variable: letters, digits and _"))
    try:
        arrow_type(column.type)
    except ValueError as error:
        problems.append((("type",), str(error)))
    if column.term is not None and not is_kind(column.term):
        problems.append(
            (("term",), f"{column.term!r} is none of iri, literal, a language (@en), a datatype (xsd:date)")
        )
    if column.predicate is not None and table.query is not None:
        problems.append((("predicate",), "has a place only in a table with a class"))
    if column.predicate is not None and not _PATH.fullmatch(column.predicate):
        problems.append((("predicate",), f"{column.predicate!r} is no predicate"))
    return problems


def _class_problems(
    table: SparqlTable, columns: dict[str, SparqlColumn]
) -> list[tuple[tuple[Key, ...], str]]:
    problems: list[tuple[tuple[Key, ...], str]] = []
    for part, text in (("class", table.of_class or ""), ("class_predicate", table.class_predicate)):
        if not _RESOURCE.fullmatch(text):
            problems.append(((part,), f"{text!r} is no IRI: wd:Q5 or <http://…>"))
    if sum(column.predicate is None for column in columns.values()) != 1:
        problems.append((("columns",), "must have one column without a predicate: the resource itself"))
    return problems
