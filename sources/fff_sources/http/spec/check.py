"""Reads one source out of a document: defaults merged, everything that is wrong reported at once.

Pydantic finds what is wrong; this module turns its findings into SpecErrors with the full key path, the line
and, for a misspelt key, the key that was probably meant.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from fff.errors import SpecError
from fff_sources.document import Document, Key, KeyPath
from fff_sources.http.spec.spec import Spec, SpecInvalid

S = TypeVar("S", bound=Spec)


def read_as(model: type[S], name: str, document: Document) -> tuple[S | None, list[SpecError]]:
    """One source of a document as a model of its own, and everything that is wrong with it; the same rules for all."""
    base: KeyPath = ("sources", name)
    raw = document.data["sources"][name]
    if not isinstance(raw, dict):
        return None, [document.error(base, "must be a mapping")]
    merged = _with_defaults(raw)
    try:
        return model.model_validate(merged), []
    except SpecInvalid as error:
        return None, _findings(error, merged, raw, base, document, model=model)


# --------------------------------------------------------------------------------------------------- defaults


def _with_defaults(raw: dict[str, Any]) -> dict[str, Any]:
    """The source with `table_defaults` under every table, and every table's `endpoint` under its endpoints."""
    tables, defaults = raw.get("tables"), raw.get("table_defaults") or {}
    if not isinstance(tables, dict) or not isinstance(defaults, dict):
        return raw
    return {**raw, "tables": {name: _merged_table(defaults, table) for name, table in tables.items()}}


def _merged_table(defaults: dict[str, Any], table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    if "endpoint" in table:
        table = {**table, "endpoint": _endpoint(table["endpoint"])}
    table = _under(defaults, table)
    common = _endpoint(table.get("endpoint"))
    if not isinstance(common, dict):
        return table
    for part in ("scan", "lookups"):
        entries = table.get(part)
        if isinstance(entries, dict):
            table[part] = _merged_access(common, entries)
        elif isinstance(entries, list):
            table[part] = [_merged_access(common, entry) for entry in entries]
    if "scan" not in table and not table.get("lookups") and "path" in common:
        table["scan"] = {"endpoint": common}
    return table


def _merged_access(common: dict[str, Any], entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    endpoint = _endpoint(entry.get("endpoint", {}))
    return {**entry, "endpoint": _under(common, endpoint)} if isinstance(endpoint, dict) else entry


def _endpoint(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _under(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`above` over `below`: mappings are merged, everything else of `above` wins.

    Another paginator replaces.
    """
    merged = dict(below)
    for key, value in above.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict) and key != "paginator":
            merged[key] = _under(known, value)
        else:
            merged[key] = value
    return merged


# --------------------------------------------------------------------------------------------------- findings


def _findings(
    error: SpecInvalid, merged: Any, raw: Any, base: KeyPath, document: Document, *, model: type[Spec]
) -> list[SpecError]:
    errors: dict[tuple[KeyPath, str], SpecError] = {}
    for item in error.errors(include_url=False):
        path = _own_path(item["loc"], merged)
        hint = None
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message, hint = "unknown key", _suggestion(str(path[-1]), _keys_at(model, path[:-1], merged))
        elif item["type"] == "missing":
            message = "is missing"
        elif item["type"] == "union_tag_not_found":
            message = "needs a type"
        elif item["type"] == "union_tag_invalid":
            said, known = item["ctx"]["tag"], item["ctx"]["expected_tags"].replace("'", "").split(", ")
            path = (*path, "type")
            close = difflib.get_close_matches(said, known, n=1)
            message = f"there is no {said!r}"
            hint = f"did you mean {close[0]!r}?" if close else f"one of {', '.join(known)}"
        place = _written_place(path, raw)
        errors.setdefault((place, message), document.error((*base, *place), message, hint=hint))
    return list(errors.values())


def _own_path(loc: Sequence[Key], data: Any) -> KeyPath:
    """Pydantic's location without the names of union members, which users did not write."""
    path: list[Key] = []
    for position, key in enumerate(loc):
        if isinstance(data, dict) and (key in data or position == len(loc) - 1):
            path.append(key)
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int):
            path.append(key)
            data = data[key] if key < len(data) else None
    return tuple(path)


def _written_place(path: KeyPath, raw: Any) -> KeyPath:
    """Where the part stands: in the table itself, or in the defaults it came from."""
    here = raw
    for index, key in enumerate(path):
        inside = isinstance(here, dict) and key in here
        inside = inside or (isinstance(here, list) and isinstance(key, int) and key < len(here))
        if not inside and index < len(path) and path[0] == "tables" and len(path) > 2:
            rest = [part for part in path[2:] if not isinstance(part, int)]
            for start in range(len(rest)):
                candidate: KeyPath = ("table_defaults", *rest[start:])
                if _stands(candidate, raw):
                    return candidate
                candidate = ("tables", path[1], *rest[start:])
                if len(rest[start:]) > 1 and _stands(candidate, raw):
                    return candidate
            return path
        here = here[key] if inside else None
    return path


def _stands(path: Sequence[Key], raw: Any) -> bool:
    for key in path:
        if not isinstance(raw, dict) or key not in raw:
            return False
        raw = raw[key]
    return True


def _suggestion(word: str, known: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known here: {', '.join(sorted(known))}" if known else None


def _keys_at(model: Any, path: Sequence[Key], data: Any) -> list[str]:
    """The keys a spec may have at a path."""
    for key in path:
        model = _member(_choose(model, data), key)
        if isinstance(data, dict) or (isinstance(data, list) and isinstance(key, int) and key < len(data)):
            data = data.get(key) if isinstance(data, dict) else data[int(key)]
    model = _choose(model, data)
    if isinstance(model, type) and issubclass(model, Spec):
        return [part.alias or name for name, part in model.model_fields.items()]
    return []


def _member(model: Any, key: Key) -> Any:
    if isinstance(model, type) and issubclass(model, Spec):
        for name, part in model.model_fields.items():
            if key in (name, part.alias):
                return part.annotation
        return None
    if get_origin(model) is dict:
        return get_args(model)[1]
    if get_origin(model) is list:
        return get_args(model)[0] if isinstance(key, int) else _member(_choose(get_args(model)[0], None), key)
    return None


def _choose(model: Any, data: Any) -> Any:
    """The member of a union that the data's `type` names, or the first that can hold keys."""
    while get_origin(model) is Annotated:
        model = get_args(model)[0]
    if get_origin(model) in (Union, types.UnionType):
        members = [_choose(member, data) for member in get_args(model)]
        models = [member for member in members if isinstance(member, type) and issubclass(member, Spec)]
        wanted = data.get("type") if isinstance(data, Mapping) else None
        for member in models:
            tag = member.model_fields.get("type")
            if tag is not None and wanted in get_args(tag.annotation):
                return member
        containers = [member for member in members if get_origin(member) in (dict, list)]
        return (models or containers or [None])[0]
    if get_origin(model) is list and not isinstance(data, list):
        return _choose(get_args(model)[0], data)
    return model
