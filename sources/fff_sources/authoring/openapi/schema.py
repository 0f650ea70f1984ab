"""Schemas of an OpenAPI 3 document: references followed, lists found, objects turned into columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from fff_sources.authoring.draft import ColumnDraft, identifier, unique
from fff_sources.authoring.sampling.shape import stands_beside, step

_FLAT = 12  # members up to which a nested object becomes columns
_DEEP = 2  # levels of nested objects that become columns
_FOLLOWED = 32  # references one after the other
_MOST_PARTS = 10_000  # schemas that one is put together of: parts can multiply
_MEDIA = (
    "application/json", "application/hal+json", "application/vnd.api+json", "application/geo+json",
    "text/json", "*/*",
)  # fmt: skip
_LISTS = (
    "data", "results", "items", "records", "value", "values", "content", "rows", "hits", "features",
    "entries", "objects",
)  # fmt: skip
_AROUND_LISTS = ("result", "response", "message", "_embedded")
_BAGS = frozenset({"attributes", "properties"})
_NUMBERS = {"integer", "number"}
_MIXED = "x-fff-mixed"  # in a schema that was put together of several: they are of different kinds
_TYPES = {
    ("integer", "int32"): "int",
    ("integer", ""): "bigint",
    ("number", ""): "double",  # also where the format is `float`: JSON has the digits that a float has not
    ("boolean", ""): "boolean",
    ("string", "date"): "date",
    ("string", "date-time"): "timestamp",
    ("string", "byte"): "binary",
    ("string", ""): "string",
}


class Resolver:
    """A document with its references (`$ref`, within the document) followed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.unresolved: list[str] = []
        self._parts = 0

    @cached_property
    def servers(self) -> list[dict[str, Any]]:
        """Those of the document; where every GET has its own, those of the first."""
        items = [self.follow(one) for one in self.document["paths"].values()]
        each = [self.servers_of(item) for item in items if item.get("get")]
        whole = [self.follow(one) for one in self.document.get("servers") or ()]
        return each[0] if each and all(each) else whole

    def servers_of(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Those that a path, or its GET, has of its own."""
        own = self.follow(item.get("get")).get("servers") or item.get("servers") or ()
        return [self.follow(one) for one in own]

    def follow(self, node: Any) -> dict[str, Any]:
        """The object itself, whatever refers to it; empty where a reference leads nowhere or elsewhere."""
        for _ in range(_FOLLOWED):
            if not isinstance(node, dict):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            node = self._target(reference)
        return {}

    def _target(self, reference: str) -> Any:
        place: Any = self.document
        if reference.startswith("#/"):
            for part in reference[2:].split("/"):
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                place = place.get(key) if isinstance(place, dict) else None
        else:
            place = None
        if place is None and reference not in self.unresolved:
            self.unresolved.append(reference)
        return place

    def schema(self, node: Any, depth: int = 0) -> dict[str, Any]:
        """A schema with the parts of `allOf` put together, and of `oneOf` and `anyOf` the first that is not null."""
        self._parts = self._parts + 1 if depth else 0
        if depth > _FOLLOWED or self._parts > _MOST_PARTS:
            return {}
        schema = _sound(self.follow(node))
        for key in ("oneOf", "anyOf"):
            options = [self.schema(one, depth + 1) for one in schema.get(key) or ()]
            options = [one for one in options if one and kind_of(one) != "null"]
            if options and "properties" not in schema:
                kinds = {*map(kind_of, options)} - {""}  # no kind is said of what takes a null or a blank one
                several = {"type": "number"} if kinds == _NUMBERS else {_MIXED: True}
                schema = {**schema, **options[0], **(several if len(kinds) > 1 else {})}
        merged: dict[str, Any] = {}
        for part in schema.get("allOf") or ():
            inner = self.schema(part, depth + 1)
            properties = {**merged.get("properties", {}), **inner.get("properties", {})}
            merged |= inner
            if properties:
                merged["properties"] = properties
        if merged:
            properties = {**merged.get("properties", {}), **schema.get("properties", {})}
            schema = {**merged, **{key: item for key, item in schema.items() if key != "allOf"}}
            if properties:
                schema["properties"] = properties
        return schema

    def answer(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of an operation's good JSON answer; empty where it has none."""
        responses = operation.get("responses") or {}
        for status in ("200", "2XX", "2xx", "201", "203", "default"):
            content = self.follow(responses.get(status)).get("content") or {}
            for media, part in content.items():
                if media.partition(";")[0].strip().lower() in _MEDIA or "json" in media.lower():
                    return self.schema((part or {}).get("schema"))
        return {}


def _sound(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the parts that are not of the kind they must be."""
    wrong = {key for key in ("oneOf", "anyOf", "allOf") if not isinstance(schema.get(key, []), list)}
    wrong |= {"properties"} if not isinstance(schema.get("properties", {}), dict) else set()
    return {key: item for key, item in schema.items() if key not in wrong} if wrong else schema


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type of a schema; of several (OpenAPI 3.1) the first that is not null, of numbers the wider."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        kind = "number" if {*map(str, kinds)} == _NUMBERS else next(iter(kinds), "null")
    if kind is None:
        return "object" if "properties" in schema else "array" if "items" in schema else ""
    return str(kind)


def is_mixed(schema: Mapping[str, Any]) -> bool:
    """Whether a value may be of one kind or of another."""
    kind = schema.get("type")
    kinds = {str(one) for one in kind if one != "null"} if isinstance(kind, list) else set()
    return bool(schema.get(_MIXED)) or (len(kinds) > 1 and kinds != _NUMBERS)


def list_in(
    resolver: Resolver, schema: dict[str, Any], collection: str, *, of_one: bool = False
) -> tuple[str, dict[str, Any]] | None:
    """Where a list of objects is in an answer, and the schema of its records; None where there is no such list.

    `of_one`: the path ends in a parameter, so that a list may well be a part of the one thing it asks for.
    """
    if kind_of(schema) == "array":
        record = resolver.schema(schema.get("items"))
        return ("$", record) if kind_of(record) == "object" and record.get("properties") else None
    lists = list(_lists(resolver, schema, "$", 0)) or list(_lists_in_any(resolver, schema))
    wanted = [one for one in lists if one[0].rpartition(".")[2].lower() in (*_LISTS, collection.lower())]
    others = [name for name in schema.get("properties") or () if not stands_beside(name)]
    if wanted and not (of_one and len(others) > 1):
        return wanted[0]
    return lists[0] if len(lists) == 1 and len(others) <= 1 and not of_one else None


def _lists(
    resolver: Resolver, schema: dict[str, Any], path: str, depth: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in (schema.get("properties") or {}).items():
        inner = resolver.schema(part)
        here = step(path, name)
        if kind_of(inner) == "array":
            record = resolver.schema(inner.get("items"))
            if kind_of(record) == "object" and record.get("properties"):
                yield here, record
        elif kind_of(inner) == "object" and depth < 1 and name.lower() in (*_LISTS, *_AROUND_LISTS):
            yield from _lists(resolver, inner, here, depth + 1)


def _lists_in_any(resolver: Resolver, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lists of objects that are there for them, whatever these are called."""
    for name, part in (schema.get("properties") or {}).items():
        inner = resolver.schema(part)
        if not stands_beside(name) and kind_of(inner) == "object" and _holds_one_list(resolver, inner):
            yield from _lists(resolver, inner, step("$", name), 1)


def _holds_one_list(resolver: Resolver, schema: dict[str, Any]) -> bool:
    """Whether an object is there for the list in it, whatever both are called."""
    members = schema.get("properties") or {}
    kinds = [kind_of(resolver.schema(part)) for name, part in members.items() if not stands_beside(name)]
    return kinds == ["array"]


def columns_of_schema(resolver: Resolver, record: dict[str, Any]) -> list[ColumnDraft]:
    """The columns of records of a schema."""
    columns: list[ColumnDraft] = []
    _add(resolver, record, _RecordPlace(), columns)
    return columns


@dataclass(frozen=True)
class _RecordPlace:
    """Where in a record columns are made: its path, what their names begin with, and the references that led there."""

    path: str = "$"
    prefix: str = ""
    references: tuple[str, ...] = ()
    depth: int = 0


def _add(resolver: Resolver, record: dict[str, Any], place: _RecordPlace, columns: list[ColumnDraft]) -> None:
    for name, part in (record.get("properties") or {}).items():
        schema = resolver.schema(part)
        if schema.get("writeOnly"):
            continue
        here = step(place.path, name)
        members = schema.get("properties") or {}
        reference = str(part.get("$ref", "")) if isinstance(part, dict) else ""
        if (
            kind_of(schema) == "object"
            and members
            and reference not in place.references
            and not is_mixed(schema)
        ):
            bag = name in _BAGS
            if bag or (len(members) <= _FLAT and place.depth < _DEEP):
                references = (*place.references, reference) if reference else place.references
                prefix = place.prefix if bag else f"{place.prefix}{name}_"
                _add(resolver, schema, _RecordPlace(here, prefix, references, place.depth + 1), columns)
                continue
        plain = unique(identifier(place.prefix + name), (column.name for column in columns))
        kind, note = spark_type_of(resolver, schema)
        columns.append(ColumnDraft(plain, kind, None if here == plain else here, note))


def spark_type_of(resolver: Resolver, schema: dict[str, Any]) -> tuple[str, str]:
    """The Spark SQL type of a schema, and what is doubtful about it."""
    if is_mixed(schema):
        return "string", "of several kinds, as text"
    kind = kind_of(schema)
    spark_type = _TYPES.get((kind, str(schema.get("format", "")))) or _TYPES.get((kind, ""))
    if spark_type is not None:
        return spark_type, ""
    if kind == "array":
        inner = resolver.schema(schema.get("items"))
        item = (
            spark_type_of(resolver, inner)[0]
            if kind_of(inner) in ("string", "integer", "number", "boolean")
            else None
        )
        return (f"array<{item}>", "") if item else ("string", "arrays, as JSON text")
    if kind == "object":
        return "string", "objects, as JSON text"
    return "string", "the document does not tell its type"
