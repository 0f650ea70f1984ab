"""Which parameters and path segments of a sample are keys, and whether the things of a list can be asked for one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, unquote

from fff.errors import SourceError
from fff.structs import replace
from fff_sources.authoring.draft import ColumnDraft, LookupDraft, TableDraft, identifier, singular, unique
from fff_sources.authoring.sampling.address import looks_like_id, without_ending
from fff_sources.authoring.sampling.form import Content, read_content
from fff_sources.authoring.sampling.sample import Sample
from fff_sources.authoring.sampling.shape import Shape, find_records
from fff_sources.http.response.json import encode
from fff_sources.http.response.jsonpath import literal_path, parse_path
from fff_sources.http.response.jsonpath import value as value_at
from fff_sources.http.templates import escaped, text_of

_ID_NAMES = ("id", "_id", "key", "code", "uuid", "guid", "doi", "name", "slug", "number", "login")
_SEPARATORS = ",;|"
_BATCH = 50  # keys a request, where a sample asked for several
_CELL = 10_000  # characters of a record looked at


async def fill_in_keys(table: TableDraft, sample: Sample, content: Content, shape: Shape) -> None:
    """Turn what looks like a key in the sample's URL into key columns and lookups; try the path of a single thing."""
    cells = _Cells(table.columns, shape.records)
    keys = _path_keys(table, sample, cells, single=shape.single)
    in_params = _param_keys(table, sample, cells, shape)
    if keys or in_params:
        _as_lookup(table, keys, in_params, single=shape.single)
    table.primary_key = cells.unique_key() if not shape.single else ()
    if not keys and not shape.single and content.format == "json":
        await _try_one(table, sample, cells)


class _Cells:
    """The sample's values, by column."""

    def __init__(self, columns: Sequence[ColumnDraft], records: Sequence[Any]) -> None:
        self.columns = list(columns)
        self._raw = [encode(record) for record in records[:_CELL]]

    def of(self, column: ColumnDraft) -> list[Any]:
        path = parse_path(column.path) if column.path is not None else literal_path(column.name)
        return [value_at(raw, path) for raw in self._raw]

    def texts(self, column: ColumnDraft) -> list[str]:
        """Its plain values, as requests would carry them."""
        plain = [
            value
            for value in self.of(column)
            if isinstance(value, str | int | float) and not isinstance(value, bool)
        ]
        return [text_of(value) for value in plain] if len(plain) == len(self._raw) else []

    def likely(self) -> Iterator[ColumnDraft]:
        """Columns that ids are in, likely ones first."""
        order = {name: rank for rank, name in enumerate(_ID_NAMES)}
        rest = len(order)
        yield from sorted(self.columns, key=lambda column: order.get(column.name.lower(), rest))

    def holding(self, text: str) -> ColumnDraft | None:
        """The column that holds this in every record."""
        for column in self.likely():
            texts = self.texts(column)
            if texts and all(one.lower() == text.lower() for one in texts):
                return column
        return None

    def first_id(self) -> ColumnDraft | None:
        """The column that names a record: by its own name, or because it comes first and differs in every record."""
        for column in self.likely():
            named = column.name.lower() in _ID_NAMES
            texts = self.texts(column) if named or column is self.columns[0] else []
            if texts and len({*texts}) == len(texts) and (named or column.type in ("string", "bigint")):
                return column
        return None

    def unique_key(self) -> tuple[str, ...]:
        """A column that is named like an id and is another one in every record."""
        if len(self._raw) < 2:
            return ()
        for column in self.columns:
            if column.name.lower() in ("id", "_id", "key", "uuid", "guid", "doi"):
                texts = self.texts(column)
                if texts and len({*texts}) == len(texts):
                    return (column.name,)
        return ()


def _path_keys(table: TableDraft, sample: Sample, cells: _Cells, *, single: bool) -> dict[str, str]:
    """Path segments that look like ids, as key columns: column -> the sample's value.

    The path gets their names.
    """
    assert table.scan is not None
    raw = sample.address.path.split("/")
    end = len(raw) - (not raw[-1])
    segments = [escaped(part) for part in raw]
    keys: dict[str, str] = {}
    stop = _thing_key(keys, segments, raw[:end], cells) if single else end
    for index in range(1, stop):
        before = raw[index - 1]
        last = single and index == end - 1
        if not looks_like_id(unquote(raw[index])) or not (last or _is_plural(before)):
            continue
        text, ending = without_ending(raw[index])
        name = _key_name(table, cells, singular(identifier(before, "item")), unquote(text))
        keys[name] = unquote(text)
        segments[index] = f"{{{name}}}{escaped(ending)}"
    if single and keys:
        named = [part for part in segments if part and "{" not in part]
        table.name = identifier(named[-1], "things").lower() if named else table.name
    table.scan["path"] = "/".join(segments)
    return keys


def _thing_key(keys: dict[str, str], segments: list[str], raw: Sequence[str], cells: _Cells) -> int:
    """The key of a single record at the end of its path, where the record holds it; where in the path it begins."""
    end = len(raw)
    for count in (2, 1):  # DOIs have a slash
        text, ending = without_ending("/".join(raw[end - count :]))
        if end >= count and (column := cells.holding(unquote(text))) is not None:
            keys[column.name] = unquote(text)
            segments[end - count : end] = [f"{{{column.name}}}{escaped(ending)}"]
            return end - count
    return end


def _is_plural(segment: str) -> bool:
    return singular(segment) != segment and not looks_like_id(segment)


def _key_name(table: TableDraft, cells: _Cells, thing: str, text: str) -> str:
    """The column that a path segment's key is in: one that is named after the thing, else a new one."""
    for column in cells.likely():
        if thing.lower() in column.name.lower() and (texts := cells.texts(column)) and {*texts} == {text}:
            return column.name
    name = unique(f"{thing}_id", (one.name for one in table.columns))
    note = "not in the records: it is filled with the key asked for"
    table.columns.insert(0, ColumnDraft(name, "string", note=note))
    return name


def _param_keys(
    table: TableDraft, sample: Sample, cells: _Cells, shape: Shape
) -> dict[str, tuple[str, str, bool]]:
    """Parameters whose value the records hold: column -> (parameter, value, whether it holds several)."""
    assert table.scan is not None
    candidates: dict[str, tuple[str, str, bool]] = {}
    params = dict(table.scan.get("params", {}))
    for name, value in sample.address.params:
        if name not in params or not value or isinstance(params[name], list) or not shape.records:
            continue
        column, several = _column_for(name, value, cells)
        if column is None or column.name in candidates:
            continue
        candidates[column.name] = (name, value, several)
        del params[name]
    if params:
        table.scan["params"] = params
    else:
        table.scan.pop("params", None)
    return candidates


def _column_for(name: str, value: str, cells: _Cells) -> tuple[ColumnDraft | None, bool]:
    parts = re.split(f"[{re.escape(_SEPARATORS)}]", value)
    named = [column for column in cells.columns if _same(column.name, name)]
    for column in [*named, *cells.likely()]:
        texts = cells.texts(column)
        if len(parts) > 1 and len({*texts}) > 1 and {*texts} <= {*parts}:
            return column, True
        telling = column in named or (column.name.lower() in _ID_NAMES and len(value) > 1)
        if texts and telling and all(text.lower() == value.lower() for text in texts):
            return column, False
    return None, False


def _same(column: str, param: str) -> bool:
    return identifier(column).lower().replace("_", "") == identifier(param).lower().replace("_", "")


def _as_lookup(
    table: TableDraft, keys: dict[str, str], in_params: dict[str, tuple[str, str, bool]], *, single: bool
) -> None:
    """The sample was asked with keys: they are what a request needs."""
    assert table.scan is not None
    names = (*keys, *in_params)
    for name in names:
        key: dict[str, Any] = {"name": name, "require": "required"}
        if name in in_params and in_params[name][0] != name:
            key["param"] = in_params[name][0]
        if name in in_params and in_params[name][2]:
            key["operators"] = ["=", "in"]
        table.key_columns.append(key)
    endpoint, batch = dict(table.scan), None
    for name, (param, value, several) in in_params.items():
        endpoint["params"] = {param: f"{{{name}}}", **endpoint.get("params", {})}
        if several and len(names) == 1:
            separator = next(mark for mark in _SEPARATORS if mark in value)
            batch = {"size": _BATCH, "separator": separator}
    note = "one request carried several keys; how many it may carry is not known" if batch else ""
    table.lookups.append(LookupDraft(names, endpoint, batch, note))
    table.scan = None
    if single or keys:
        table.empty_statuses = (404,)
    values = {
        **keys,
        **{
            name: re.split(f"[{_SEPARATORS}]", value)[0] if several else value
            for name, (_, value, several) in in_params.items()
        },
    }
    types = {column.name: column.type for column in table.columns}
    table.test = "WHERE " + " AND ".join(
        f"{name} = {literal(value, types[name])}" for name, value in values.items()
    )


async def _try_one(table: TableDraft, sample: Sample, cells: _Cells) -> None:
    """Ask for the first thing of a list by its id, under the list's own path; a lookup where that is how it works."""
    assert table.scan is None or isinstance(table.scan, dict)
    endpoint = table.scan or {}
    key = cells.first_id()
    if key is None or not sample.address.segments or looks_like_id(sample.address.segments[-1]):
        return
    if any(one["name"] == key.name for one in table.key_columns):
        return  # the sample was asked by it
    text = cells.texts(key)[0]
    stem, ending = without_ending(sample.address.path.rstrip("/"))
    try:
        response = await sample.ask(path=f"{stem}/{quote(text, safe='')}{ending}")
        content = read_content(response, sample.client)
    except SourceError:
        return  # there is no such path, which is all we wanted to know
    shape = find_records(content.value, last_is_id=True)
    if content.format != "json" or not shape.single or not shape.records:
        return
    looked_up = _Cells([replace(key)], shape.records)
    if looked_up.texts(key) != [text]:
        return
    one: dict[str, Any] = {"path": f"{escaped(stem)}/{{{key.name}}}{escaped(ending)}"}
    if shape.selector != "$":
        one["data_selector"] = shape.selector
    table.key_columns.append({"name": key.name})
    table.lookups.append(LookupDraft((key.name,), one))
    table.empty_statuses = (404,)
    if "params" in endpoint:
        sample.unsure.append(f"lookups: asking by {key.name} was tried without the parameters of the sample")


def literal(value: str, kind: str) -> str:
    """A value as SQL writes it."""
    if kind in ("bigint", "int", "double") and re.fullmatch(r"-?\d+(\.\d+)?", value):
        return value
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"
