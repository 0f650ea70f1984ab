"""From a checked spec to tables: which access methods there are, and what each is asked with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

import pyarrow as pa

from fff.catalog import KeyColumn, LookupMethod, ScanMethod, Table
from fff.errors import SpecError
from fff.quals import Quals
from fff.schema import Field, arrow_type, is_sorted_alike
from fff.web.message import Response
from fff_sources.document import Document, Key
from fff_sources.rest import spec, templates
from fff_sources.rest.jsonpath import JsonPath, literal_path, parse_path

_JSON_ONLY = (spec.Cursor, spec.Keyset, spec.JsonLink)
_LIKE_JSON = frozenset({"json", "xml", "html_table", "ndjson"})
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
    params = {key: _param(declared, key) for key in keys if key not in named}
    return Access(endpoint, keys, params, batch)


def _param(declared: spec.TableSpec, key: str) -> str:
    """The parameter that carries a key: as its key column says, else of the column's own name."""
    for column in declared.key_columns:
        if column.name == key and column.param is not None:
            return column.param if isinstance(column.param, str) else column.param.get("=", key)
    return key


def placeholders(endpoint: spec.Endpoint) -> set[str]:
    """The columns an endpoint's texts name."""
    return templates.names([endpoint.path or "", endpoint.params, endpoint.headers, endpoint.body])


# ------------------------------------------------------------------------------------------------------------ checks


def problems(source: str, declared: spec.RestSpec, document: Document) -> list[SpecError]:
    """What is wrong with a spec although every part of it is well-formed."""
    found: list[SpecError] = []
    for name, table in declared.tables.items():
        found += _Check(("sources", source, "tables", name), table, document).run()
    return found


class _Check:
    """The checks of one table."""

    def __init__(self, base: Sequence[Key], table: spec.TableSpec, document: Document) -> None:
        self._base = tuple(base)
        self._table = table
        self._document = document
        self.found: list[SpecError] = []

    def run(self) -> list[SpecError]:
        table = self._table
        if not table.scan and not table.lookups:
            self._add((), "has neither scan nor lookups", "say how to read it: scan: {endpoint: PATH}")
        self._columns()
        for part, names in (
            ("primary_key", table.primary_key),
            ("order", [name.removeprefix("-") for name in table.order or () if table.order != "none"]),
            ("key_columns", [key.name for key in table.key_columns]),
        ):
            self._known_columns((part,), names)
        self._params()
        fixed = {key.name for key in table.key_columns if key.require == "required"}
        keyed = fixed | {key.name for key in table.key_columns if key.require == "any_of"}
        for number, scan in enumerate(table.scan):
            self._endpoint(("scan", number, "endpoint"), scan.endpoint, keyed)
        for number, lookup in enumerate(table.lookups):
            self._known_columns(("lookups", number, "keys"), lookup.keys)
            self._endpoint(("lookups", number, "endpoint"), lookup.endpoint, set(lookup.keys))
        return self.found

    def _add(self, path: Iterable[Key], message: str, hint: str | None = None) -> None:
        self.found.append(self._document.error((*self._base, *path), message, hint=hint))

    def _columns(self) -> None:
        if self._table.columns is None:
            if any(key.require != "optional" for key in self._table.key_columns) or not self._table.scan:
                self._add((), "has no columns, and no first page to learn them from", "declare its columns")
            return
        if not self._table.columns:
            self._add(("columns",), "is empty", "leave it out to have the columns inferred")
        seen: dict[str, str] = {}
        for column in self._table.columns:
            other = seen.setdefault(column.lower(), column)
            if other != column:
                self._add(
                    ("columns", column),
                    f"differs from {other!r} only in case",
                    "column names are case-insensitive",
                )

    def _params(self) -> None:
        for number, key in enumerate(self._table.key_columns):
            if isinstance(key.param, str) and {*key.operators} - {"in"} and not named_params(key):
                said = ", ".join(f"{operator!r}: …" for operator in key.operators)
                self._add(
                    ("key_columns", number, "param"),
                    f"{key.param!r} cannot say several operators",
                    f"name a parameter for each: param: {{{said}}}",
                )
            if not isinstance(key.param, dict):
                continue
            for operator, param in key.param.items():
                if operator not in key.operators:
                    hint = f"operators: {' '.join(key.operators)}"
                    self._add(("key_columns", number, "param", operator), "is none of the operators", hint)
                elif list(key.param.values()).count(param) > 1:
                    self._add(
                        ("key_columns", number, "param", operator), f"{param!r} would say several operators"
                    )

    def _known_columns(self, path: Iterable[Key], names: Iterable[str]) -> None:
        columns = self._table.columns
        if columns is None:
            return
        for name in names:
            if name not in columns:
                close = difflib.get_close_matches(name, columns, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"columns: {', '.join(columns)}"
                self._add(path, f"{name!r} is not a column", hint)

    def _sayable(self) -> set[str]:
        """The parameters by which requests for the table may say keys, conditions, members and orders."""
        table = self._table
        names = {param for key in table.key_columns for param in named_params(key).values() if param}
        keys = {key.name for key in table.key_columns if {*key.operators} & {"=", "in"}}
        names |= {_param(table, key) for key in keys.union(*(part.keys for part in table.lookups))}
        endpoints = [part.endpoint for part in table.scan] + [part.endpoint for part in table.lookups]
        for select, sort in ((one.select, one.sort) for one in endpoints):
            names |= {select.param} if select is not None else set()
            names |= {sort.param, sort.direction_param or sort.param} if sort is not None else set()
        return names

    def _sort(self, path: tuple[Key, ...], sort: spec.Sort | None) -> None:
        columns = self._table.columns
        if sort is None or columns is None:
            return
        self._known_columns((*path, "columns"), sort.columns)
        for name in sort.columns:
            if name in columns and not is_sorted_alike(arrow_type(columns[name].type)):
                self._add(
                    (*path, "columns"),
                    f"{name} is of type {columns[name].type}, which sources may sort in other orders than SQL",
                    "whole numbers, dates and times can be sorted by the source",
                )

    def _endpoint(self, path: tuple[Key, ...], endpoint: spec.Endpoint, filled: set[str]) -> None:
        if endpoint.path is None:
            self._add((*path, "path"), "is missing")
        for name in sorted(placeholders(endpoint) - filled):
            hint = f"declare {name} among the keys, or as a required key column" if name else None
            self._add(path, f"nothing fills {{{name}}}", hint)
        self._sort((*path, "sort"), endpoint.sort)
        said = self._sayable()
        for name in endpoint.body_paths.keys() - said:
            hint = f"parameters: {', '.join(sorted(said))}" if said else None
            self._add((*path, "body_paths", name), "is none of the parameters", hint)
        if isinstance(endpoint.paginator, _JSON_ONLY) and endpoint.format not in _LIKE_JSON - {
            "ndjson",
            "html_table",
        }:
            self._add(
                (*path, "paginator"),
                f"{endpoint.paginator.type} reads the answer's JSON, but format is {endpoint.format}",
            )
        if endpoint.format in ("csv", "parquet"):
            for column, part in (self._table.columns or {}).items():
                steps = parse_path(part.path).steps if part.path is not None else ()
                if len(steps) > 1 or any(step.kind != "name" for step in steps):
                    self._add(
                        ("columns", column), f"a path into {endpoint.format} must be the name of a column"
                    )
