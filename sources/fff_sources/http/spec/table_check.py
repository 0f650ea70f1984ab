"""What is wrong with tables although every part of them is well-formed: names, places and parameters that do not fit."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterable, Sequence

import pyarrow as pa

from fff.errors import SpecError
from fff.schema import arrow_type, is_sorted_alike
from fff_sources.document import Document, Key
from fff_sources.http.paging.windows import count
from fff_sources.http.request.keys import SEPARATE, without_separator
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.values import from_text
from fff_sources.http.response.verdicts import ENVELOPED
from fff_sources.http.spec import spec
from fff_sources.http.tables import named_params, param_of, place_of, placeholders
from fff_sources.http.templates import names as named_in
from fff_sources.http.templates import text_of

_JSON_ONLY = (spec.Cursor, spec.Keyset, spec.JsonLink)
_LIKE_JSON = frozenset({"json", "xml", "html_table", "ndjson"})


def problems(source: str, declared: spec.RestSpec, document: Document) -> list[SpecError]:
    """What is wrong with a spec although every part of it is well-formed."""
    errors: list[SpecError] = []
    for name, table in declared.tables.items():
        errors += _Check(("sources", source, "tables", name), table, document).run()
        for column, part in (table.columns or {}).items():
            same = declared.accounts is not None and column.lower() == declared.accounts.column.lower()
            if same and part.type != "string":
                message = f"holds the names of accounts, and is of type {part.type}"
                place = ("sources", source, "tables", name, "columns", column)
                errors.append(document.error(place, message, hint="accounts: {column: …} names another"))
    return errors


class _Check:
    """The checks of one table."""

    def __init__(self, base: Sequence[Key], table: spec.TableSpec, document: Document) -> None:
        self._base = tuple(base)
        self._table = table
        self._document = document
        self.problems: list[SpecError] = []

    def run(self) -> list[SpecError]:
        table = self._table
        if not table.scan and not table.lookups:
            self._add((), "has neither scan nor lookups", "say how to read it: scan: {endpoint: PATH}")
        self._columns()
        self._values()
        for part, names in (
            ("primary_key", table.primary_key),
            ("order", [name.removeprefix("-") for name in table.order or () if table.order != "none"]),
            ("key_columns", [key.name for key in table.key_columns]),
        ):
            self._known_columns((part,), names)
        self._params()
        self._changes()
        endpoints = [part.endpoint for part in table.scan] + [part.endpoint for part in table.lookups]
        if table.on_response and endpoints and all(one.format not in ENVELOPED for one in endpoints):
            self._add(
                ("on_response",),
                f"reads JSON or XML, and format is {endpoints[0].format} wherever it is read",
            )
        fixed = {key.name for key in table.key_columns if key.require == "required"}
        fixed |= self._table.values.keys()
        keyed = fixed | {key.name for key in table.key_columns if key.require == "any_of"}
        for number, scan in enumerate(table.scan):
            self._endpoint(("scan", number, "endpoint"), scan.endpoint, keyed)
            if len(either := sorted((keyed - fixed) & placeholders(scan.endpoint))) > 1:
                message = f"names {' and '.join(either)}, of which one may be known without the other"
                self._add(("scan", number, "endpoint"), message, "they are require: required")
            if scan.windows is not None:
                self._windows(("scan", number, "windows"), scan.windows)
        for number, lookup in enumerate(table.lookups):
            self._known_columns(("lookups", number, "keys"), lookup.keys)
            filled = {*lookup.keys, *self._table.values}
            self._endpoint(("lookups", number, "endpoint"), lookup.endpoint, filled)
            self._batch(number, lookup)
        return self.problems

    def _batch(self, number: int, lookup: spec.LookupSpec) -> None:
        """Joined keys need a separator, a list of keys a place in the body, and records by position one for the key."""
        batch, path = lookup.batch, ("lookups", number, "batch")
        if (wrong := without_separator(batch, lookup.endpoint, lookup.keys[-1])) is not None:
            self._add(path, wrong, SEPARATE)
        if batch is None or not batch.is_list:
            return
        key = lookup.keys[0]
        if batch.each is not None and f'"{{{key}}}"' not in json.dumps(lookup.endpoint.body):
            self._add((*path, "each"), f"stands in no body: nothing in json is '{{{key}}}' alone")
        for name in sorted(named_in(batch.each) - {key}):
            self._add((*path, "each"), f"nothing fills {{{name}}}", f"it says {{{key}}} alone")
        if batch.answers == "by_position" and lookup.endpoint.format not in ("json", "xml"):
            self._add((*path, "answers"), f"by_position is of JSON, and format is {lookup.endpoint.format}")
        column = (self._table.columns or {}).get(key)
        if column is not None and (column.pattern or len(place_of(key, column).steps) != 1):
            self._add(
                (*path, "answers"), f"{key} has no place beside the others: give it no path and no pattern"
            )
        if self._table.values:
            self._add(path, "a list of keys does not go with values", "leave out batch")

    def _add(self, path: Iterable[Key], message: str, hint: str | None = None) -> None:
        self.problems.append(self._document.error((*self._base, *path), message, hint=hint))

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

    def _values(self) -> None:
        columns = self._table.columns
        for name, values in self._table.values.items():
            if columns is None or name not in columns:
                self._add(("values", name), "is not a column", "declare it under columns, with its type")
                continue
            for value in values:
                try:
                    from_text(text_of(value), arrow_type(columns[name].type))
                except ValueError as error:
                    self._add(("values", name), f"{value!r} {error}")
            if len(set(map(text_of, values))) < len(values):
                self._add(("values", name), "names a value twice", "its rows would come twice")
        parts: list[spec.ScanSpec | spec.LookupSpec] = [*self._table.scan, *self._table.lookups]
        if self._table.values and any(part.endpoint.format == "parquet" for part in parts):
            self._add(("values",), "is for texts, and parquet has columns of its own")

    def _windows(self, path: tuple[Key, ...], windows: spec.Windows) -> None:
        columns = self._table.columns
        if columns is None or windows.column not in columns:
            close = difflib.get_close_matches(windows.column, columns or {}, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "declare it under columns, with its type"
            self._add((*path, "column"), f"{windows.column!r} is not a column", hint)
            return
        kind = arrow_type(columns[windows.column].type)
        if not (is_sorted_alike(kind) or pa.types.is_decimal(kind)):
            message = f"{windows.column} is of type {columns[windows.column].type}, which has no windows"
            self._add((*path, "column"), message, "dates, times, whole numbers and decimals have")
            return
        try:
            count(windows, kind, time.time())
        except ValueError as error:
            self._add(path, str(error))
        key = next((key for key in self._table.key_columns if key.name == windows.column), None)
        operators = {} if key is None else named_params(key)
        if not ({">", ">="} & operators.keys() and {"<", "<="} & operators.keys()):
            example = f'{{name: {windows.column}, operators: [">=", "<"], param: {{">=": from, "<": to}}}}'
            self._add(path, f"no parameters say a range of {windows.column}", f"key_columns: [{example}]")

    def _params(self) -> None:
        for number, key in enumerate(self._table.key_columns):
            if isinstance(key.param, str) and {*key.operators} - {"in"} and not named_params(key):
                example = ", ".join(f"{operator!r}: …" for operator in key.operators)
                self._add(
                    ("key_columns", number, "param"),
                    f"{key.param!r} cannot say several operators",
                    f"name a parameter for each: param: {{{example}}}",
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

    def _changes(self) -> None:
        table, changes = self._table, self._table.changes
        if changes is None:
            return
        if not table.primary_key:
            self._add(
                ("changes",),
                "needs a primary_key: a row that has changed takes the place of the one with its key",
                "say which columns tell rows apart: primary_key: [id]",
            )
        if len(table.scan) != 1 or any(key.require != "optional" for key in table.key_columns):
            self._add(
                ("changes",),
                "is of a table with one scan that needs no key",
                "leave it out: such a table is asked for again in full",
            )
        elif not (table.exhaustive and table.scan[0].exhaustive):
            self._add(("changes",), "says nothing of a table that is never complete (exhaustive: false)")
        self._known_columns(("changes", "column"), [changes.column])
        column = (table.columns or {}).get(changes.column)
        if column is None:
            if table.columns is None:
                self._add(("changes",), "needs declared columns", "declare them, with their types")
            return
        kind = arrow_type(column.type)
        is_text = kind == arrow_type("string")
        if not is_sorted_alike(kind) and not is_text:
            self._add(
                ("changes", "column"),
                f"{changes.column} is of type {column.type}, which does not tell what is newer",
                "a whole number, a date, a timestamp, or text that sorts like one",
            )
        elif is_text and changes.lookback:
            self._add(
                ("changes", "lookback"), f"nothing can be taken from text: {changes.column} is a string"
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
        names |= {table.changes.param} if table.changes is not None else set()
        names |= {param_of(table, key) for key in keys.union(*(part.keys for part in table.lookups))}
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
        counted = endpoint.counts_as
        for name in () if isinstance(counted, int) else (counted.first, counted.last):
            declared = (self._table.columns or {}).get(name)
            if name not in filled or "lookups" not in path:
                self._add((*path, "counts_as"), f"{name!r} is no key of a lookup")
            elif declared is None or declared.type != "date":
                self._add((*path, "counts_as"), f"{name!r} is no column of type date")
        params = self._sayable()
        for name in endpoint.body_paths.keys() - params:
            hint = f"parameters: {', '.join(sorted(params))}" if params else None
            self._add((*path, "body_paths", name), "is none of the parameters", hint)
        if isinstance(endpoint.paginator, _JSON_ONLY) and endpoint.format not in _LIKE_JSON - {
            "ndjson",
            "html_table",
        }:
            self._add(
                (*path, "paginator"),
                f"{endpoint.paginator.type} reads the answer's JSON, but format is {endpoint.format}",
            )
        for column, part in (self._table.columns or {}).items():
            if part.pattern is not None and endpoint.format == "parquet":
                self._add(("columns", column, "pattern"), "is for texts, and parquet has values")
        if endpoint.format in ("csv", "parquet"):
            for column, part in (self._table.columns or {}).items():
                steps = parse_path(part.path).steps if part.path is not None else ()
                if len(steps) > 1 or any(step.kind != "name" for step in steps):
                    self._add(
                        ("columns", column), f"a path into {endpoint.format} must be the name of a column"
                    )
