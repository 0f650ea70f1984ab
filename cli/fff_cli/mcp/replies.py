"""What the tools answer: the shapes of replies, and values as JSON has them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from fff.catalog import Table
from fff_cli.commands.source import access_names, called_as
from fff_cli.output.values import is_nested, json_text, python_value, texts

ArrowTable: TypeAlias = pa.Table
ArrowColumn: TypeAlias = pa.ChunkedArray

_EXACT_INTEGERS = 2**53  # beyond, those who read JSON numbers as doubles would round


@dataclass(frozen=True)
class TableLine:
    """One table as a search finds it."""

    table: str
    columns: list[str]
    access: list[str]
    description: str


@dataclass(frozen=True)
class TablesFound:
    """What a search found. `cut`: there are more than are listed, `found` in all."""

    tables: list[TableLine]
    found: int
    cut: bool
    unread_sources: list[str]


@dataclass(frozen=True)
class ColumnLine:
    """One column; `key`: it may be bound by `=`, a join or IN, and whether it must be (required)."""

    name: str
    type: str
    key: str


@dataclass(frozen=True)
class TableDescription:
    """A table whole. A table without a scan can only be read by key: its required keys must be bound."""

    table: str
    description: str
    columns: list[ColumnLine]
    primary_key: list[str]
    access: list[str]
    called_as: str


@dataclass(frozen=True)
class MissingPart:
    """A part of a table that the answer does not rest on, and why."""

    table: str
    predicate: str
    reason: str


@dataclass(frozen=True)
class QueryReply:
    """Rows of an answer, and whether they are the whole of it.

    `complete`: whether the answer rests on everything the sources hold; if not, `missing` and `reason`
    say what it lacks, and `bounds`, by column, what its aggregates are worth all the same ("certain",
    "at_least", "at_most", "unknown"; empty where nothing is known), `within` by how much the true ones are
    higher at most. `cut`: whether the answer has rows
    that are not in this reply, `row_count` in all; `fetch_rows(handle, next_row)` gives them. Both have
    to be right before the rows are called all there are.
    """

    complete: bool
    reason: str
    missing: list[MissingPart]
    bounds: list[str]
    within: list[int | None]
    cut: bool
    row_count: int
    first_row: int
    next_row: int | None
    handle: str
    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    requests: int
    bill: list[dict[str, Any]]
    requests_left: int | None
    seconds: float
    warnings: list[str]


@dataclass(frozen=True)
class ExplainReply:
    """How a statement would run, and the columns its result would have where the engine says without Spark."""

    plan: str


def table_line(table: Table) -> TableLine:
    """A table in brief."""
    return TableLine(
        table=table.full_name,
        columns=[column.name for column in table.columns],
        access=access_names(table),
        description=table.description,
    )


def description_of(table: Table) -> TableDescription:
    """All that the catalog knows of a table."""
    keys = {key.name.lower(): key.require for key in table.key_columns}
    return TableDescription(
        table=table.full_name,
        description=table.description,
        columns=[
            ColumnLine(name=column.name, type=column.type, key=keys.get(column.name.lower(), ""))
            for column in table.columns
        ],
        primary_key=list(table.primary_key),
        access=access_names(table),
        called_as=called_as(table) if table.function else "",
    )


def json_rows(table: ArrowTable) -> list[list[Any]]:
    """Rows as JSON has values: numbers that a double holds are numbers, all that would lose something is text."""
    columns = [_json_column(column) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _json_column(column: ArrowColumn) -> list[Any]:
    kind = column.type
    if pa.types.is_boolean(kind):
        return list(column.to_pylist())
    if pa.types.is_integer(kind):
        return [_integer(value) for value in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [_float(value) for value in column.to_pylist()]
    if is_nested(kind):
        return [json.loads(json_text(_exact(python_value(value, kind)))) for value in column.to_pylist()]
    return [text for chunk in column.chunks for text in texts(chunk).to_pylist()]


def _exact(value: object) -> object:
    """A nested value with text for each number in it that a double would lose something of."""
    match value:
        case bool():
            return value
        case int():
            return _integer(value)
        case float():
            return _float(value)
        case Decimal():
            return format(value, "f")
        case dict():
            return {_exact(key): _exact(item) for key, item in value.items()}
        case list() | tuple():
            return [_exact(item) for item in value]
        case _:
            return value


def _integer(value: int | None) -> int | str | None:
    return value if value is None or abs(value) <= _EXACT_INTEGERS else str(value)


def _float(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)
