"""Reads one source out of a document: defaults merged, everything that is wrong reported at once.

Pydantic finds what is wrong; this module turns its findings into SpecErrors with the full key path, the line
and, for a misspelt key, the key that was probably meant.
"""

from __future__ import annotations

import copy
import difflib
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from fff.errors import SpecError
from fff_sources.document import Document, Key, KeyPath
from fff_sources.http.spec.spec import Spec, SpecInvalid

S = TypeVar("S", bound=Spec)


def read_as(model: type[S], name: str, document: Document) -> tuple[S | None, list[SpecError]]:
    """One source of a document as a model of its own, and everything that is wrong with it; the same rules for all.

    Of what is wrong the model has what was probably meant, or nothing: what else is wrong is found, too.
    """
    base: KeyPath = ("sources", name)
    raw = document.data["sources"][name]
    if not isinstance(raw, dict):
        return None, [document.error(base, "must be a mapping")]
    merged = _with_defaults(raw)
    problems: dict[tuple[KeyPath, str], SpecError] = {}
    gone: set[KeyPath] = set()
    for _ in range(_MOST_ROUNDS):
        try:
            return model.model_validate(merged), list(problems.values())
        except SpecInvalid as error:
            items = [one for one in error.errors(include_url=False) if not _follows(one, merged, gone)]
            more = _findings(items, merged, raw, base, document, model=model)
            problems |= {place: problem for place, problem in more.items() if place not in problems}
            merged = copy.deepcopy(merged)
            for item in reversed(error.errors(include_url=False)):  # of lists the last first
                gone.add(_repair(merged, _path_of(item, merged), item, model))
            if merged.get("tables") == {}:
                break
    return None, list(problems.values())


def _follows(item: Any, data: Any, gone: set[KeyPath]) -> bool:
    """Whether something is wrong because a part of it is gone that was wrong itself."""
    path = _path_of(item, data)
    whole = item["type"] in ("value_error", "union_tag_not_found")
    return path in gone or (whole and any(one[:-1] == path for one in gone if one))


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
    items: Sequence[Any], merged: Any, raw: Any, base: KeyPath, document: Document, *, model: type[Spec]
) -> dict[tuple[KeyPath, str], SpecError]:
    errors: dict[tuple[KeyPath, str], SpecError] = {}
    for item in items:
        path = _path_of(item, merged)
        hint = None
        message = _plain(item)
        if item["type"] == "extra_forbidden":
            message, hint = "unknown key", _suggestion(str(path[-1]), _keys_at(model, path[:-1], merged))
        elif item["type"] in ("union_tag_invalid", "literal_error"):
            known = _known_words(item)
            close = _close_words(item)
            hint = f"did you mean {close[0]!r}?" if close else f"one of {', '.join(known)}"
        elif misspelt := _misspelt_type(item):
            path, message, hint = (*path, misspelt), "unknown key", "did you mean 'type'?"
        elif _MUST_BE["dict"] in message and isinstance(item["input"], str) and ":" in item["input"]:
            hint = "YAML wants a space behind the colon of a name"
        elif _MUST_BE["dict"] in message and path[-2:-1] == ("columns",):
            hint = "or the name of its type: string, bigint, double, date, …"
        place = _written_place(path, raw)
        errors.setdefault((place, message), document.error((*base, *place), message, hint=hint))
    return errors


def _path_of(item: Any, data: Any) -> KeyPath:
    path = _own_path(item["loc"], data)
    return (*path, "type") if item["type"] == "union_tag_invalid" else path


def _known_words(item: Any) -> list[str]:
    """The words that a value may be one of."""
    expected = item["ctx"].get("expected_tags") or item["ctx"]["expected"]
    return [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]


def _close_words(item: Any) -> list[str]:
    word = item["ctx"].get("tag", item["input"])
    return difflib.get_close_matches(word, _known_words(item), n=1) if isinstance(word, str) else []


def _misspelt_type(item: Any) -> str | None:
    """The key that was meant to say which of several kinds a part is."""
    if item["type"] != "union_tag_not_found" or not isinstance(item["input"], dict):
        return None
    return next(iter(difflib.get_close_matches("type", map(str, item["input"]), n=1)), None)


#: What values must be, by what Pydantic calls it where they are not.
_MUST_BE = {
    "dict": "a mapping (name: value)",
    "model": "a mapping (name: value)",
    "list": "a list",
    "tuple": "a list",
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}
_LENGTHS = {"too_short": ("min_length", "at least"), "too_long": ("max_length", "at most")}


def _plain(item: Any) -> str:
    """What is wrong, in plain words."""
    kind, value = item["type"], item["input"]
    if kind == "missing":
        return "is missing"
    if kind == "union_tag_not_found":
        return "needs a type"
    if kind in ("union_tag_invalid", "literal_error"):
        return f"there is no {item['ctx'].get('tag', value)!r}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"must be {words} {item['ctx'][name]}"
    if kind.removeprefix("string_") in _LENGTHS:
        name, words = _LENGTHS[kind.removeprefix("string_")]
        noun = "character" if kind.startswith("string_") else "part"
        count = item["ctx"][name]
        return f"must have {words} {count} {noun}{'' if count == 1 else 's'}"
    if kind == "string_pattern_mismatch":
        return f"does not fit the pattern {item['ctx']['pattern']}"
    name, _, how = kind.partition("_")
    wanted = _MUST_BE.get(name)
    if wanted is None or how not in ("type", "parsing", "from_float", "attributes_type"):
        return str(item["msg"]).removeprefix("Value error, ")
    return f"must be {wanted}, not {_kind_of(value)}"


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value}"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping" if isinstance(value, Mapping) else type(value).__name__


# ---------------------------------------------------------------------------------------------------- repairs

#: How often a spec is read again without what was wrong with it.
_MOST_ROUNDS = 12
#: Parts of a table that its others are held against: without one of them nothing can be said of the others.
_HELD_AGAINST = frozenset({"columns", "key_columns", "keys", "params", "json", "body", "path", "values"})


def _repair(data: Any, path: KeyPath, item: Any, model: type[Spec]) -> KeyPath:
    """Put in the place of what is wrong what was probably meant; else take it away, or the table it is in.

    The path of what is away.
    """
    here = data
    for key in path[:-1]:
        inside = isinstance(here, dict) and key in here
        inside = inside or (isinstance(here, list) and isinstance(key, int) and key < len(here))
        if not inside:
            return path  # it went with something else
        here = here[key]
    if isinstance(here, str):  # which is short for a mapping
        return _repair(data, path[:-1], item, model)
    last = path[-1] if path else None
    if item["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(last), _keys_at(model, path[:-1], data), n=1)
        value = here.pop(last, None)
        if close and close[0] not in here:
            here[close[0]] = value
            return ()
    elif item["type"] in ("union_tag_invalid", "literal_error") and (close := _close_words(item)):
        here[last] = close[0]
        return ()
    elif (misspelt := _misspelt_type(item)) and isinstance(part := here[last], dict):
        if misspelt in part:  # several tables may share their defaults
            part["type"] = part.pop(misspelt)
        return ()
    elif "columns" in path[:-1] and isinstance(here, dict) and item["type"] == "value_error":
        here[last] = "string"  # whatever type was meant
        return ()
    at_table = len(path) > 2 and path[0] == "tables"
    if at_table and (item["type"] == "missing" or _HELD_AGAINST & {str(key) for key in path[2:]}):
        data["tables"].pop(path[1], None)
        return path[:2]
    if isinstance(here, dict):
        here.pop(last, None)
    elif isinstance(here, list) and isinstance(last, int) and last < len(here):
        del here[last]
    return path


def _own_path(loc: Sequence[Key], data: Any) -> KeyPath:
    """Pydantic's location without the names of union members, which users did not write."""
    path: list[Key] = []
    is_member = False
    for position, key in enumerate(loc):
        # One may have a key of its own name, which is behind it.
        is_member = not is_member and isinstance(data, dict) and data.get("type") == key
        if is_member and key in data and (position == len(loc) - 1 or isinstance(data[key], dict | list)):
            is_member = False
        if isinstance(data, dict) and not is_member and (key in data or position == len(loc) - 1):
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
