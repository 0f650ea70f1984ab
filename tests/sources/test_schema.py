"""The JSON Schema that editors use: it takes every spec there is, and refuses what is typically wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fff_sources.authoring.spec_schema import spec_schema
from fff_sources.document import parse_document, read_document
from fff_sources.load import known_types

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "sources").rglob("*.yaml"))
EXAMPLES = [
    (f"{page.name} {number}", text)
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    if page.parent.name != "adapter_template"  # of a type that is known once it is installed
    for number, text in enumerate(
        re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
    if text.lstrip("# \n").startswith(("version:", "yaml-language-server")) or "\nversion: 1" in text
]
KINDS = {
    "object": dict, "array": list, "string": str, "null": type(None), "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(json.dumps(spec_schema()))


class Validator:
    """As much of JSON Schema as the schema uses; any other word in it is a mistake of this test."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def accepts(self, value: Any, node: Any) -> bool:
        if isinstance(node, bool):
            return node
        return all(
            getattr(self, f"_{word.lstrip('$')}", self._unknown(word))(value, node[word], node)
            for word in node
        )

    def _unknown(self, word: str) -> Any:
        assert hasattr(self, f"_{word.lstrip('$')}"), f"the schema uses {word!r}"
        return None

    def _note(self, *_: Any) -> bool:
        return True

    _schema = _title = _description = _default = _defs = _then = _note

    def _ref(self, value: Any, name: str, _: Any) -> bool:
        return self.accepts(value, self.root["$defs"][name.removeprefix("#/$defs/")])

    def _type(self, value: Any, kind: Any, _: Any) -> bool:
        kinds = kind if isinstance(kind, list) else [kind]
        is_bool = isinstance(value, bool)
        return any(isinstance(value, KINDS[one]) and (not is_bool or one == "boolean") for one in kinds)

    def _const(self, value: Any, wanted: Any, _: Any) -> bool:
        return type(value) is type(wanted) and value == wanted

    def _enum(self, value: Any, wanted: Any, _: Any) -> bool:
        return value in wanted

    def _anyOf(self, value: Any, nodes: Any, _: Any) -> bool:  # noqa: N802
        return any(self.accepts(value, node) for node in nodes)

    def _allOf(self, value: Any, nodes: Any, _: Any) -> bool:  # noqa: N802
        return all(self.accepts(value, node) for node in nodes)

    def _if(self, value: Any, node: Any, whole: Any) -> bool:
        return not self.accepts(value, node) or self.accepts(value, whole["then"])

    def _required(self, value: Any, keys: Any, _: Any) -> bool:
        return not isinstance(value, dict) or all(key in value for key in keys)

    def _properties(self, value: Any, nodes: Any, _: Any) -> bool:
        return not isinstance(value, dict) or all(
            self.accepts(value[key], node) for key, node in nodes.items() if key in value
        )

    def _additionalProperties(self, value: Any, node: Any, whole: Any) -> bool:  # noqa: N802
        known = whole.get("properties", {})
        return not isinstance(value, dict) or all(
            self.accepts(item, node) for key, item in value.items() if key not in known
        )

    def _propertyNames(self, value: Any, node: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, dict) or all(re.search(node["pattern"], key) for key in value)

    def _items(self, value: Any, node: Any, _: Any) -> bool:
        return not isinstance(value, list) or all(self.accepts(item, node) for item in value)

    def _pattern(self, value: Any, pattern: str, _: Any) -> bool:
        return not isinstance(value, str) or re.search(pattern, value) is not None

    def _minimum(self, value: Any, least: Any, _: Any) -> bool:
        return not isinstance(value, int | float) or value >= least

    def _exclusiveMinimum(self, value: Any, least: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, int | float) or value > least

    def _maximum(self, value: Any, most: Any, _: Any) -> bool:
        return not isinstance(value, int | float) or value <= most

    def _exclusiveMaximum(self, value: Any, most: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, int | float) or value < most

    def _minLength(self, value: Any, least: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, str) or len(value) >= least

    def _maxLength(self, value: Any, most: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, str) or len(value) <= most

    def _minItems(self, value: Any, least: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, list) or len(value) >= least

    def _minProperties(self, value: Any, least: Any, _: Any) -> bool:  # noqa: N802
        return not isinstance(value, dict) or len(value) >= least


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return Validator(schema).accepts(value, schema)


def test_bundled_specs_are_taken(schema: dict[str, Any]) -> None:
    assert [file.name for file in SPECS if not accepts(schema, read_document(file).data)] == []


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_examples_of_the_docs_are_taken(schema: dict[str, Any], name: str, text: str) -> None:
    assert accepts(schema, parse_document(text, name).data)


def test_there_are_specs_and_examples() -> None:
    assert len(SPECS) > 1
    assert len(EXAMPLES) > 4


GOOD = """
version: 1
sources:
  s:
    client: {base_url: "https://x", headers: {A: 1}, params: {v: 2, w: [a, 3], x: null}, auth: {type: bearer, token: t}}
    table_defaults: {endpoint: {params: {per_page: 100}}}
    tables:
      t:
        primary_key: id
        columns: {id: int, x: {type: string, path: a.b}, y: {path: c}}
        key_columns: [id, {name: x, operators: ["=", in]}]
        endpoint: {data_selector: rows}
        scan: {endpoint: t}
        lookups: [{keys: [id], endpoint: "t/{id}"}, {keys: [x]}]
        on_status: [{status_code: 404, action: empty}]
      u: {scan: [{endpoint: {path: u, paginator: auto}}, {endpoint: {path: v, paginator: {type: offset, limit: 10, limit_param: n}}}]}
      w: {scan: {endpoint: {path: w, json: {any: [1]}, method: POST, paginator: {type: json_response, next_url_path: n}}}}
    tests: [SELECT 1]
"""
MISTAKES = [
    ("version: 1", "version: 2"), ("version: 1", "version: '1'"), ("version: 1\n", ""), ("sources:", "source:"), ("  s:\n", "  s t:\n"),
    ("base_url:", "baseurl:"), ("type: bearer, token: t", "type: bearer"), ("type: bearer", "type: beerer"), ("tables:\n", "tabels:\n"),
    ("columns: {id: int", "colums: {id: int"), ("type: string, path: a.b", "type: string, pth: a.b"), ("name: x, ", ""),
    ('"=", in', '"=", between'), ("scan: {endpoint: t}", "scan: {endpont: t}"), ("keys: [id], ", ""), ("status_code: 404", "status_code: 9"),
    ("action: empty", "action: fail"), ("method: POST", "method: PUT"), ("type: offset", "type: offfset"), ("limit: 10", "limit: 0"),
    ("tests: [SELECT 1]", "tests: SELECT 1"), ("limit_param: n", "offset_path: n"), ("client:", "type: nosuch\n    client:"),
]  # fmt: skip


def test_all_the_ways_to_write_a_spec_are_taken(schema: dict[str, Any]) -> None:
    assert accepts(schema, parse_document(GOOD, "good").data)


@pytest.mark.parametrize(("right", "wrong"), MISTAKES, ids=[wrong for _, wrong in MISTAKES])
def test_mistakes_are_refused(schema: dict[str, Any], right: str, wrong: str) -> None:
    assert right in GOOD
    assert not accepts(schema, parse_document(GOOD.replace(right, wrong, 1), "wrong").data)


def test_every_type_has_its_part(schema: dict[str, Any]) -> None:
    assert set(known_types()) <= set(schema["$defs"])
    assert {f"{portal}.PortalTable" for portal in ("ckan", "datasette", "socrata")} <= set(schema["$defs"])
    assert (
        schema["properties"]["sources"]["additionalProperties"]["properties"]["type"]["enum"] == known_types()
    )
    assert "`page=1`" in schema["$defs"]["rest.PageNumber"]["description"]
