"""Columns from a first page, for tables declared without any."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable

import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from fff.schema import spark_type
from fff.web.message import Response
from fff_sources.rest.bodies import BodyFormat, BodyReader
from fff_sources.rest.fastjson import MalformedJSON, Raw, decode
from fff_sources.rest.jsonpath import kind_of


def columns_of(form: BodyFormat, body: BodyReader, response: Response) -> dict[str, str]:
    """Column names and Spark SQL types, in the order the source writes them; empty where there are no records.

    Call it under `body.explained`. Of names that differ only in case, queries could reach but the first; so it alone is one.

    Text stays text, whatever it looks like: zip codes keep their zeros. Objects and arrays become their JSON text.
    """
    if not response.body.strip():
        return {}
    if form.name == "parquet":
        return _parquet_columns(response.body)
    if form.name == "csv":
        return dict.fromkeys(_csv_header(body.text(response), form.delimiter), "string")
    kinds: dict[str, set[str]] = {}
    for records in body.arrays(response):
        for record in decode(records, type=list[Raw]):
            try:
                members = decode(record, type=dict[str, Raw])
            except MalformedJSON:
                continue
            for name, value in members.items():
                kinds.setdefault(name, set()).add(_kind(value))
    first: dict[str, str] = {}
    for name in kinds:
        first.setdefault(name.lower(), name)
    return {name: _common(kinds[name] - {"null"}) for name in first.values()}


def _kind(value: Raw) -> str:
    opening = kind_of(value)
    if opening == "n":
        return "null"
    if opening in "tf":
        return "boolean"
    if opening in '"{[':
        return "string"
    number = decode(value)
    return "bigint" if isinstance(number, int) and -(2**63) <= number < 2**63 else "double"


def _common(kinds: Iterable[str]) -> str:
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    return "double" if found == {"bigint", "double"} else "string"


def _parquet_columns(body: bytes) -> dict[str, str]:
    """Columns whose types FFF has; the others stay out."""
    found = {}
    for part in papq.read_schema(io.BytesIO(body)):
        with contextlib.suppress(ValueError):
            found[part.name] = spark_type(part.type)
    return found


def _csv_header(body: bytes, delimiter: str) -> list[str]:
    options = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    return list(pacsv.open_csv(io.BytesIO(body), parse_options=options).schema.names)
