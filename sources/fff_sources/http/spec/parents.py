"""What is wrong with where keys are from: tables and columns that are not there, types that differ, circles."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from fff.errors import SpecError
from fff.schema import arrow_type
from fff_sources.document import Document, Key
from fff_sources.http.spec import spec


def parent_problems(source: str, declared: spec.RestSpec, document: Document) -> list[SpecError]:
    """What is wrong with every `from` of a source, as far as its spec file tells."""
    problems: list[SpecError] = []

    def add(table: str, number: int, message: str, hint: str, *key: Key) -> None:
        path = ("sources", source, "tables", table, "key_columns", number, "from", *key)
        problems.append(document.error(path, message, hint=hint))

    for name, table in declared.tables.items():
        keys = [
            (number, key, key.parent)
            for number, key in enumerate(table.key_columns)
            if key.parent is not None
        ]
        for number, key, parent in keys:
            if problem := _unused(table, key):
                add(name, number, *problem)
                continue
            if parent.table != keys[0][2].table:
                rule = "keys of one table are from one parent"
                add(name, number, f"is of another table than that of {keys[0][1].name}", rule, "table")
                continue
            other = _columns(source, declared, document, parent.table)
            if isinstance(other, str):
                add(name, number, f"{parent.table!r} is not a table", other, "table")
            elif other is not None and parent.column not in other:
                message = f"{parent.column!r} is not a column of {parent.table}"
                add(name, number, message, _close(parent.column, other), "column")
            elif other is not None and table.columns is not None and key.name in table.columns:
                mine, theirs = table.columns[key.name].type, other[parent.column]
                if theirs is not None and arrow_type(mine) != arrow_type(theirs):
                    message = f"is of type {theirs}, and {key.name} of type {mine}"
                    add(name, number, message, "declare the same type for both")
        if keys and (circle := _circle(name, declared, source)):
            add(name, keys[0][0], f"is a circle: {' comes from '.join(circle)}", "one of them needs a scan")
    return problems


def _unused(table: spec.TableSpec, key: spec.KeyColumnSpec) -> tuple[str, str] | None:
    """Why a statement never needs it."""
    looked_up = any(key.name in lookup.keys for lookup in table.lookups)
    if not looked_up and not (table.scan and "=" in key.operators):
        return "is of a key by which nothing is looked up", "have a lookup with it among its keys"
    if table.scan and all(one.require == "optional" for one in table.key_columns):
        return "is never used: the table has a scan", "leave it out, or say require: required"
    return None


def _columns(
    source: str, declared: spec.RestSpec, document: Document, wanted: str
) -> Mapping[str, str | None] | str | None:
    """The columns of a table and their types; a hint where there is no such table; None where that is not told here."""
    other, _, name = wanted.rpartition(".")
    if other in ("", source):
        if name not in declared.tables:
            return _close(name, declared.tables)
        columns = declared.tables[name].columns
        return None if columns is None else {one: part.type for one, part in columns.items()}
    raw = document.data["sources"].get(other)
    tables = raw.get("tables") if isinstance(raw, dict) and raw.get("type", "rest") == "rest" else None
    if not isinstance(tables, dict):
        return None  # it may be of another file, or find its tables by itself
    if name not in tables:
        return _close(name, tables)
    columns = tables[name].get("columns") if isinstance(tables[name], dict) else None
    return {one: _type(part) for one, part in columns.items()} if isinstance(columns, dict) else None


def _type(part: object) -> str | None:
    kind = part.get("type") if isinstance(part, dict) else part
    try:
        return kind if isinstance(kind, str) and arrow_type(kind) else None
    except ValueError:
        return None  # told of where it stands


def _circle(name: str, declared: spec.RestSpec, source: str) -> list[str]:
    """The tables that a table's keys come from, where it is itself among them."""
    way = [name]
    while True:
        table = declared.tables.get(way[-1])
        parent = next((key.parent for key in table.key_columns if key.parent), None) if table else None
        if parent is None:
            return []
        way.append(parent.table.removeprefix(f"{source}."))
        if way[-1] == name:
            return way
        if way[-1] in way[:-1]:
            return []  # told of those that are in it


def _close(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known)}"
