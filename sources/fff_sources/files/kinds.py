"""Columns and types out of what a file holds.

The whole file is looked at, so that a type holds for all of its rows. Where a text would lose something as a value (a
leading zero, a digit that a double has not), it stays text.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from fff.schema import spark_type

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
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names = pacsv.open_csv(io.BytesIO(text), parse_options=parse).schema.names
    table = pacsv.read_csv(
        io.BytesIO(text),
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=parse,
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    found = zip(names, table.columns, strict=True)
    return _first({name: _kind(column) for name, column in found})


def parquet_columns(body: bytes) -> dict[str, str]:
    """The columns of a Parquet file that are of a type FFF has, or can make of theirs without loss."""
    found = {}
    for part in papq.read_schema(io.BytesIO(body)):
        with contextlib.suppress(ValueError):
            found[part.name] = spark_type(_near(part.type))
    return _first(found)


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


def _near(kind: Any) -> Any:
    """The type of ours that holds every value of an Arrow type; that type itself where there is none."""
    types = pa.types
    if types.is_dictionary(kind):
        return _near(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz is not None else None)
    if types.is_date(kind):
        return pa.date32()
    if types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wider.get(kind.bit_width, pa.decimal128(20, 0))
    return pa.float32() if types.is_float16(kind) else kind


def _first(columns: dict[str, str]) -> dict[str, str]:
    """Of names that differ only in case queries could reach but the first; so it alone is a column."""
    first: dict[str, str] = {}
    for name in columns:
        first.setdefault(name.lower(), name)
    return {name: columns[name] for name in first.values()}
