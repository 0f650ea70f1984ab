"""Columns and types out of what a file holds.

The whole file is looked at, so that a type holds for all of its rows. Where a text would lose something as a
value (a leading zero, a digit that a double has not), it stays text.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import nearest, spark_type
from fff_sources.http.columnar import read_schema
from fff_sources.http.response import infer
from fff_sources.http.response.csv_text import header_of, read_cells

#: Tried in this order; a column has the first type whose pattern all its values match.
_PATTERNS = {
    "bigint": r"^-?(?:0|[1-9]\d{0,17})$",
    "double": r"^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?$",
    "boolean": r"^(?:true|false|True|False|TRUE|FALSE)$",
    "date": r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$",
    "timestamp": r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)$",
    "timestamp_ntz": r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?$",
}
_CASTS = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # what a pattern alone does not prove


def csv_columns(text: bytes, delimiter: str) -> dict[str, str]:
    """The columns of a CSV text. Raises pa.ArrowException for one that is none."""
    names = list(infer.bounded(dict.fromkeys(header_of(text, delimiter))))
    table = read_cells(text, delimiter, names, names)
    return infer.reachable(
        {name: _kind(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    )


def parquet_columns(body: bytes) -> dict[str, str]:
    """The columns of a Parquet or Arrow file that are of a type FFF has, or can make of theirs without loss."""
    columns = {}
    for part in read_schema(body):
        with contextlib.suppress(ValueError):
            columns[part.name] = spark_type(nearest(part.type))
    return infer.reachable(infer.bounded(columns))


def _kind(column: Any) -> str:
    """The type of a column of texts."""
    values = column.drop_null()
    if len(values) == 0:
        return "string"
    for kind, pattern in _PATTERNS.items():
        if pc.all(pc.match_substring_regex(values, pattern)).as_py() and _holds(values, kind):
            return kind
    return "string"


def _holds(values: Any, kind: str) -> bool:
    """Whether there are such dates: not a 31st of February."""
    if kind not in _CASTS:
        return True
    try:
        pc.cast(values, _CASTS[kind])
    except pa.ArrowInvalid:
        return False
    return True
