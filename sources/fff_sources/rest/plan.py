"""From a checked spec to tables: which access methods there are, and what each is asked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

import pyarrow as pa

from fff.catalog import KeyColumn, LookupMethod, ScanMethod, Table
from fff.quals import Quals
from fff.schema import Field, is_sorted_alike
from fff.web.message import Response
from fff_sources.rest import spec, templates
from fff_sources.rest.jsonpath import JsonPath, literal_path, parse_path

_WITHOUT_NAN = frozenset({"json", "ndjson"})


@dataclass(frozen=True)
class Question:
    """What one request says, in a language that templates cannot speak. Sent as it is: nothing is filled in."""

    path: str = ""  # joined to the base URL, escaped already
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    form: Mapping[str, str] | None = None
    accept: frozenset[int] = frozenset()  # statuses of failures that the body tells more about


class Words(Protocol):
    """How an access method asks where its endpoint's texts do not say it: a query language with literals of its own."""

    def askable(self, keys: Sequence[tuple[object, ...]]) -> Sequence[tuple[object, ...]]:
        """The keys that the language can say; no row can have any other."""

    def question(
        self, columns: Sequence[str], keys: Sequence[tuple[object, ...]], asked: Mapping[str, str]
    ) -> Question:
        """The request for some columns of the rows of these keys (all rows without any). `asked` comes from the paginator."""

    def failure(self, response: Response) -> str | None:
        """What an answer says went wrong although its status says nothing of the kind."""


@runtime_checkable
class QualifiedWords(Words, Protocol):
    """Words that can say qualifiers as well."""

    def qualified(self, quals: Quals) -> Self:
        """The same words, which from now on say these on top of the keys."""


@runtime_checkable
class SortedWords(Words, Protocol):
    """Words that can ask for an order as well."""

    def sorted(self, by: str) -> Self:
        """The same words, which ask for scans sorted by a column: falling with `-` before its name."""


@dataclass(frozen=True)
class Access:
    """One access method as the source carries it out."""

    endpoint: spec.Endpoint
    keys: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)  # keys that no template names -> parameter
    batch: spec.Batch | None = None
    words: Words | None = None  # in place of the endpoint's path, parameters and body


@dataclass(frozen=True)
class PlannedTable:
    """A table for the engine, and what the adapter alone needs to know about it."""

    table: Table
    spec: spec.TableSpec
    paths: Mapping[str, JsonPath]  # column -> place in a record


def plan_table(
    source: str,
    name: str,
    declared: spec.TableSpec,
    *,
    max_in_flight: int,
    columns: Mapping[str, spec.Column] | None,
) -> PlannedTable:
    """A table with all its access methods. `columns` replaces the declared ones where they were inferred."""
    columns = declared.columns if columns is None else columns
    fields = tuple(Field.of(column, part.type) for column, part in (columns or {}).items())
    paths = {
        column: parse_path(part.path) if part.path is not None else literal_path(column)
        for column, part in (columns or {}).items()
    }
    table = Table(
        source=source,
        name=name,
        columns=fields,
        primary_key=tuple(declared.primary_key),
        key_columns=tuple(
            KeyColumn(key.name, key.require, tuple(key.operators), _sendable(declared, key, fields))
            for key in declared.key_columns
        ),
        scans=_scans(name, declared),
        lookups=_lookups(name, declared),
        max_in_flight=max_in_flight,
        description=declared.description,
        order=tuple(declared.order) if isinstance(declared.order, list) else (),
        sortable=sortable(declared, fields),
    )
    return PlannedTable(table, declared, paths)


def _sendable(
    declared: spec.TableSpec, key: spec.KeyColumn, fields: Sequence[Field]
) -> tuple[tuple[str, str | None], ...]:
    """The operators that a key column names a parameter for. A bare one is for `=`, else for the only operator."""
    named = named_params(key)
    field = next((field for field in fields if field.name == key.name), None)
    formats = {part.endpoint.format for part in declared.scan}
    formats |= {part.endpoint.format for part in declared.lookups}
    if (
        field is not None and pa.types.is_floating(field.arrow) and not formats <= _WITHOUT_NAN
    ):  # SQL has NaN above every number, where sources have it nowhere; JSON has no NaN at all
        named = {operator: param for operator, param in named.items() if operator not in (">", ">=")}
    return tuple(named.items())


def sortable(declared: spec.TableSpec, fields: Sequence[Field]) -> tuple[str, ...]:
    """What the scan can be asked to be sorted by, where there is one, so that it matters which rows come first."""
    sort = declared.scan[0].endpoint.sort if len(declared.scan) == 1 else None
    if sort is None:
        return ()
    names = [field.name for field in fields if field.name in sort.columns and is_sorted_alike(field.arrow)]
    ways = (("", sort.ascending), ("-", sort.descending))
    return tuple(f"{mark}{name}" for name in names for mark, text in ways if text is not None)


def named_params(key: spec.KeyColumn) -> dict[str, str | None]:
    """The parameters of a key column by operator, `<>` for `!=`."""
    operators = [operator for operator in key.operators if operator != "in"]
    if isinstance(key.param, dict):
        named = {operator: param for operator, param in key.param.items() if operator != "in"}
    elif key.param is not None and ("=" in operators or len(operators) == 1):
        named = {"=" if "=" in operators else operators[0]: key.param}
    else:
        named = {}
    return {"<>" if operator == "!=" else operator: param for operator, param in named.items()}


def _scans(name: str, declared: spec.TableSpec) -> tuple[ScanMethod, ...]:
    """The scans; none where the source demands keys that only lookups can tell it."""
    in_range = {key.name for key in declared.key_columns if {*named_params(key)} - {"="}}
    for wanted, enough in (("required", all), ("any_of", any)):
        demanded = [key.name in in_range for key in declared.key_columns if key.require == wanted]
        if demanded and not enough(demanded):
            return ()
    return tuple(
        ScanMethod(f"{name}.scan" if number == 1 else f"{name}.scan[{number}]", Access(scan.endpoint))
        for number, scan in enumerate(declared.scan, 1)
        if not placeholders(scan.endpoint)
    )


def _lookups(name: str, declared: spec.TableSpec) -> tuple[LookupMethod, ...]:
    accesses = [_access(declared, tuple(part.keys), part.endpoint, part.batch) for part in declared.lookups]
    accesses += _derived(declared, {frozenset(access.keys) for access in accesses})
    methods: list[LookupMethod] = []
    names: dict[str, int] = {}
    for access in accesses:
        size = access.batch.size if access.batch is not None else 1
        method = f"{name}.lookup[{','.join(access.keys)}]" + (f"x{size}" if size > 1 else "")
        names[method] = names.get(method, 0) + 1
        if names[method] > 1:
            method = f"{method}#{names[method]}"
        methods.append(LookupMethod(method, access.keys, size, access))
    return tuple(methods)


def _derived(declared: spec.TableSpec, known: set[frozenset[str]]) -> list[Access]:
    """Lookups that follow from key columns: the scan's endpoint, with the key sent along."""
    if not declared.scan:
        return []
    endpoint = declared.scan[0].endpoint
    required = [
        key.name
        for key in declared.key_columns
        if key.require == "required" and not ("=" not in key.operators and named_params(key))
    ]
    wanted: list[tuple[str, ...]] = [tuple(required)] if required else []
    for key in declared.key_columns:
        if key.require == "required" or (key.require == "optional" and required) or "=" not in key.operators:
            continue
        wanted.append((key.name,))
    return [_access(declared, keys, endpoint, None) for keys in wanted if frozenset(keys) not in known]


def _access(
    declared: spec.TableSpec, keys: tuple[str, ...], endpoint: spec.Endpoint, batch: spec.Batch | None
) -> Access:
    named = placeholders(endpoint)
    params = {key: param_of(declared, key) for key in keys if key not in named}
    return Access(endpoint, keys, params, batch)


def param_of(declared: spec.TableSpec, key: str) -> str:
    """The parameter that carries a key: as its key column says, else of the column's own name."""
    for column in declared.key_columns:
        if column.name == key and column.param is not None:
            return column.param if isinstance(column.param, str) else column.param.get("=", key)
    return key


def placeholders(endpoint: spec.Endpoint) -> set[str]:
    """The columns an endpoint's texts name."""
    return templates.names([endpoint.path or "", endpoint.params, endpoint.headers, endpoint.body])
