"""A JSON Schema of spec files, for editors: made from the models that check specs, so that the two cannot drift apart.

It is a little more lenient than they are, never stricter: paths, types and what hangs together are left to
`lint`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from fff_sources.http.spec import paging, spec
from fff_sources.load import VERSION, known_types

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Texts that YAML may read as something else.
_TEXT: dict[str, Any] = {"type": ["string", "number", "boolean"]}
#: Of these parts a bare text stands for the mapping with one key.
_SHORT = ("Endpoint", "ColumnSpec", "AdbcTable", "Packed")
#: Lists of which a single item may stand alone.
_ONE_OR_MORE = frozenset({"primary_key", "scan", "order"})
#: Keys that `table_defaults` or the table's `endpoint` may supply.
_SUPPLIED = {"ScanSpec": {"endpoint"}, "LookupSpec": {"endpoint"}, "ColumnSpec": {"type"}}


@runtime_checkable
class _Modelled(Protocol):
    """An adapter that says which model checks its part of a spec."""

    model: Any


def spec_schema() -> dict[str, Any]:
    """The schema: `version`, and under `sources` one shape for each known `type`."""
    definitions: dict[str, Any] = {}
    branches: list[dict[str, Any]] = []
    for kind in known_types():
        branches.append({"if": _is_type(kind), "then": {"$ref": f"#/$defs/{kind}"}})
        definitions |= _definitions(kind)
    source = {
        "type": "object",
        "description": "A source; `type` says which adapter reads it.",
        "properties": {"type": {"enum": known_types(), "default": "rest"}},
        "allOf": branches,
    }
    return {
        "$schema": DIALECT,
        "title": "FFF source spec",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "sources"],
        "properties": {
            "version": {"const": VERSION, "description": "of the format"},
            "sources": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"pattern": "^[A-Za-z0-9_-]+$"},
                "additionalProperties": source,
            },
        },
        "$defs": definitions,
    }


def _is_type(kind: str) -> dict[str, Any]:
    condition = {"properties": {"type": {"const": kind}}}
    # The one that `type` may be left out for.
    return condition if kind == "rest" else {**condition, "required": ["type"]}


def _definitions(kind: str) -> dict[str, Any]:
    """The schema of one type of source and its parts, their names made unique by the type's."""
    model = spec.RestSpec if kind == "rest" else _model(kind)
    if model is None:
        return {kind: {"type": "object"}}
    whole: dict[str, Any] = model.model_json_schema()
    parts = whole.pop("$defs", {})
    for name, part in {**parts, "": whole}.items():
        _relax(name, part)
    named = {f"{kind}.{name}": part for name, part in parts.items()} | {kind: whole}
    return {name: _walked(part, lambda node: _reference(node, kind)) for name, part in named.items()}


def _model(kind: str) -> Any:
    """The model of an adapter that tells one; the parts of any other are left to `lint`."""
    for entry in importlib.metadata.entry_points(group="fff.sources", name=kind):
        try:
            adapter = entry.load()
        except (ImportError, AttributeError):
            # What is not wholly installed says nothing of its specs; using it says what is missing.
            return None
        if isinstance(adapter, _Modelled) and hasattr(adapter.model, "model_json_schema"):
            return adapter.model
    return None


def _relax(name: str, part: dict[str, Any]) -> None:
    """What the models take in other words too, before they check it."""
    properties = part.get("properties", {})
    part["required"] = [key for key in part.get("required", ()) if key not in _SUPPLIED.get(name, ())]
    part.pop("title", None)
    for key, inner in properties.items():
        inner.pop("title", None)
        if key in _ONE_OR_MORE and (items := _items(inner)) is not None:
            properties[key] = {"anyOf": [inner, items]}
    if "page_size_param" in properties:
        for theirs, ours in paging.SYNONYMS.items():
            properties[theirs] = properties[ours]
        if "base_offset" in properties:
            properties["offset"] = properties["base_offset"]
    if "layout" in properties:
        properties["rows"] = properties["layout"]
        properties["decode"]["anyOf"].append({"type": "array"})
    if properties.get("type", {}).get("const") == "json_link":
        properties["type"] = {"enum": ["json_link", "json_response"]}


def _items(inner: Mapping[str, Any]) -> Any:
    if "items" in inner:
        return inner["items"]
    return next((one["items"] for one in inner.get("anyOf", ()) if "items" in one), None)


def _walked(node: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The node with every mapping inside changed, inner ones first."""
    if isinstance(node, list):
        return [_walked(item, change) for item in node]
    if isinstance(node, dict):
        return change({key: _walked(item, change) for key, item in node.items()})
    return node


def _reference(node: dict[str, Any], kind: str) -> dict[str, Any]:
    """One mapping of the schema as this schema has it: references renamed, shorthands allowed, texts as YAML has them."""
    node.pop("discriminator", None)
    if isinstance(node.get("$ref"), str):
        name = node["$ref"].rpartition("/")[2]
        target = {**node, "$ref": f"#/$defs/{kind}.{name}"}
        return {"anyOf": [{"type": "string"}, target]} if name.endswith(_SHORT) else target
    if "oneOf" in node:  # told apart by `type`: editors explain the branch that matches better under anyOf
        members = node.pop("oneOf")
        is_auth = any(str(member.get("$ref", "")).endswith("Bearer") for member in members)
        words = [] if is_auth else [{"type": "string"}]
        node["anyOf"] = [*words, *members]
    for key in ("additionalProperties", "items"):
        if node.get(key) == {"type": "string"}:
            node[key] = dict(_TEXT)
    if "anyOf" in node and _of_texts(node["anyOf"]):
        node["anyOf"] = [dict(_TEXT) if one == {"type": "string"} else one for one in node["anyOf"]]
    return node


def _of_texts(options: list[dict[str, Any]]) -> bool:
    """Whether a union is of texts and nothing structured."""
    return {"type": "string"} in options and all(
        "$ref" not in one and one.get("type") != "object" for one in options
    )
