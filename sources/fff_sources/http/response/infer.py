"""Columns from a first page, for tables declared without any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from fff.limits import INFERRED_COLUMNS
from fff.schema import ArrowType, distinct_names, nearest, spark_type
from fff.web.types import Response
from fff_sources.http.columnar import read_schema
from fff_sources.http.diagnosis import BareLineError, TooManyColumnsError
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.json import MalformedJSON, Raw, decode
from fff_sources.http.response.jsonpath import kind_of
from fff_sources.http.response.text.csv_text import header_of, is_bare_line

T = TypeVar("T")

_HELD = 2**53  # up to which a double holds every whole number
_LONG = "bigint beyond what a double holds"


def columns_of(form: BodyFormat, body: BodyDecoder, response: Response) -> dict[str, str]:
    """Column names and Spark SQL types, in the order the source writes them; empty where there are no records.

    Raises TooManyColumnsError, BareLineError.

    Call it under `body.explained`.

    Text stays text, whatever it looks like: zip codes keep their zeros. Objects and arrays become their JSON
    text.
    """
    if not response.body.strip():
        return {}
    if form.name == "parquet":
        schema = read_schema(response.body)
        return known(dict(zip(distinct_names(schema.names), schema.types, strict=True)))[0]
    if form.name == "csv":
        text = body.text(response)
        columns = bounded(dict.fromkeys(header_of(text, form.delimiter), "string"))
        if is_bare_line(text, form.delimiter):
            raise BareLineError(*columns)
        return columns
    kinds: dict[str, set[str]] = {}
    note_members(kinds, body, response)
    return types_of(kinds)


def note_members(kinds: dict[str, set[str]], body: BodyDecoder, response: Response, line: int = 0) -> None:
    """Add the members of an answer's records, or of a part's behind so many lines, and what they are.

    Raises TooManyColumnsError.
    """
    for records in body.arrays(body.open(response), line):
        for record in decode(records, type=list[Raw]):
            try:
                members = decode(record, type=dict[str, Raw])
            except MalformedJSON:
                continue
            for name, value in members.items():
                kinds.setdefault(name, set()).add(_kind(value))
            bounded(kinds)


def types_of(kinds: Mapping[str, set[str]]) -> dict[str, str]:
    """Columns and types that hold all that members are."""
    return {name: _common(seen - {"null"}) for name, seen in kinds.items()}


def bounded(columns: dict[str, T]) -> dict[str, T]:
    """The columns. Raises TooManyColumnsError."""
    if len(columns) > INFERRED_COLUMNS:
        raise TooManyColumnsError(f"the answer has more than {INFERRED_COLUMNS:,} columns")
    return columns


def _kind(value: Raw) -> str:
    opening = kind_of(value)
    if opening == "n":
        return "null"
    if opening in "tf":
        return "boolean"
    if opening in '"{[':
        return "string"
    try:
        number = decode(value)
    except MalformedJSON:  # no double is so large
        return "string"
    if not isinstance(number, int):
        return "double"
    if abs(number) <= _HELD:
        return "bigint"
    return _LONG if -(2**63) <= number < 2**63 else "string"


def _common(kinds: Iterable[str]) -> str:
    types = set(kinds)
    if types and types <= {"bigint", _LONG}:
        return "bigint"
    if len(types) == 1:
        return types.pop()
    return "double" if types == {"bigint", "double"} else "string"


def known(columns: Mapping[str, ArrowType]) -> tuple[dict[str, str], dict[str, ArrowType]]:
    """Columns of Parquet or Arrow in the types that hold their values; behind them those that SQL has no type for.

    Raises TooManyColumnsError.
    """
    named, unknown = dict[str, str](), dict[str, ArrowType]()
    for name, kind in columns.items():
        try:
            named[name] = spark_type(nearest(kind))
        except ValueError:
            unknown[name] = kind
    return bounded(named), unknown
