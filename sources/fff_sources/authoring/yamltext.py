"""A draft as commented YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import ColumnDraft, LookupDraft, SpecDraft, TableDraft

_PLAIN = lazy_pattern(r"[A-Za-z_][\w./-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_WIDTH = 110
_NOTE_AT = 44  # column where comments stand, where there is room

#: The line by which editors find the schema that `fff source schema` prints.
MODELINE = "# yaml-language-server: $schema=fff.schema.json"


def yaml_text(*drafts: SpecDraft) -> str:
    """The drafts as one spec file, with a comment wherever somebody should look."""
    first = drafts[0]
    lines = [MODELINE, f"# Drafted by `{first.command}` from {_comment(first.origin)}"]
    unsure = [text for draft in drafts for text in draft.unsure]
    if unsure:
        lines.append("# To look at:")
        lines += [f"#  - {_comment(text)}" for text in unsure]
    lines += ["version: 1", "sources:"]
    for draft in drafts:
        lines += _source(draft)
    return "\n".join(lines) + "\n"


def _source(draft: SpecDraft) -> Iterator[str]:
    yield from (f"  {scalar(draft.name)}:", "    client:", *_client(draft), "    tables:")
    for table in draft.tables:
        yield from (f"      {line}" if line else "" for line in _table(table))
    tests = [(table.name, table.test) for table in draft.tables if table.test is not None]
    if tests:
        yield "    tests:"
        statements = [" ".join(("SELECT * FROM", f"{draft.name}.{name}", rest)) for name, rest in tests]
        yield from (f"      - {scalar(statement)}" for statement in statements)


def scalar(value: Any) -> str:
    """One value, quoted where YAML would take it for something else."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        quoted = json.dumps(value, ensure_ascii=False)
        return "".join(char if char.isprintable() else _escaped(char) for char in quoted)
    return json.dumps(value)


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _client(draft: SpecDraft) -> Iterator[str]:
    yield f"      base_url: {scalar(draft.base_url)}"
    for key, value in (("auth", draft.auth), ("headers", draft.headers), ("params", draft.params)):
        if value:
            yield f"      {key}: {flow(value)}"
    if draft.rate_limit:
        yield f"      rate_limit: {flow(draft.rate_limit)}"


def _table(table: TableDraft) -> Iterator[str]:
    yield from (f"# {_comment(text)}" for text in table.remarks)
    yield f"{scalar(table.name)}:"
    if table.description:
        yield f"  description: {scalar(table.description)}"
    if table.unfinished:
        yield f"  unfinished: {scalar(table.unfinished)}"
    if not table.exhaustive:
        yield "  exhaustive: false"
    if table.primary_key and table.key_is_declared:
        yield f"  primary_key: {flow(table.primary_key)}"
    elif table.primary_key:
        yield f"  # primary_key: {flow(table.primary_key)}  # unique in the sample; rows of one key are then taken for one"
    if table.columns:
        yield "  columns:"
        yield from (f"    {line}" for line in map(_column, table.columns))
    if table.key_columns:
        yield "  key_columns:"
        yield from (f"    - {flow(key)}" for key in table.key_columns)
    if table.values:
        yield f"  values: {flow(table.values)}"
    if table.scan is not None:
        if table.scan_note:
            yield f"  # {_comment(table.scan_note)}"
        yield "  scan:"
        yield "    endpoint:" if not isinstance(table.scan, str) else f"    endpoint: {scalar(table.scan)}"
        yield from (f"      {line}" for line in _block(table.scan))
    if table.lookups:
        yield "  lookups:"
        for lookup in table.lookups:
            yield from (f"    {line}" for line in _lookup(lookup))
    if table.empty_statuses:
        yield f"  on_status: {flow([{'status_code': code, 'action': 'empty'} for code in table.empty_statuses])}"


def _block(mapping: Mapping[str, Any]) -> Iterator[str]:
    """A mapping of a few keys, one a line."""
    for key, value in mapping.items():
        yield f"{scalar(key)}: {flow(value)}"


def _column(column: ColumnDraft) -> str:
    kind = column.type if "," not in column.type and "<" not in column.type else scalar(column.type)
    value = flow({"type": column.type, "path": column.path}) if column.path is not None else kind
    return _noted(f"{scalar(column.name)}: {value}", column.note)


def _lookup(lookup: LookupDraft) -> Iterator[str]:
    head = {"keys": list(lookup.keys)} | ({"batch": lookup.batch} if lookup.batch else {})
    one = flow(head | {"endpoint": lookup.endpoint})
    if lookup.note:
        yield f"# {_comment(lookup.note)}"
    if len(one) <= _WIDTH:
        yield f"- {one}"
        return
    first, *others = _block(head)
    yield f"- {first}"
    yield from (f"  {line}" for line in others)
    yield "  endpoint:"
    yield from (f"    {line}" for line in _block(lookup.endpoint))


def _noted(line: str, note: str) -> str:
    return f"{line:<{_NOTE_AT}}  # {_comment(note)}" if note else line


def _comment(text: str) -> str:
    """Text for a comment: one line, printable."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
