"""Results in files read back, so that they can be compared with others of the same format."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from fff.errors import UsageError
from fff.schema import distinct_names
from fff_cli.output.sinks.databases import TABLE
from fff_sources.http.columnar import arrow_parts
from fff_sources.http.response.text.csv_text import header_of, read_cells


def read_back(file: Path, form: str) -> pa.Table:
    """The rows of a file: with their types where the format has types, else as texts. Raises UsageError."""
    try:
        match form:
            case "csv":
                return _separated(file, ",")
            case "tsv":
                return _separated(file, "\t")
            case "parquet":
                import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

                return pq.ParquetFile(file).read()
            case "arrow":
                with pa.OSFile(str(file)) as data:
                    schema, parts = arrow_parts(data)
                    return pa.Table.from_batches(parts, schema)
            case "sqlite":
                return _database(file)
            case "duckdb":
                from fff_cli.output.sinks.duck import rows_in  # noqa: PLC0415 - an extra

                return rows_in(file)
            case _:
                text = file.read_text(encoding="utf-8")
                # Not where else Python ends lines: such characters stand in values.
                lines = text.removesuffix("\n").split("\n") if text else []
                if form == "ndjson":
                    return _objects([json.loads(line, parse_float=Decimal) for line in lines])
                return _objects(json.loads(text, parse_float=Decimal))
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror or error}") from error
    except (ValueError, TypeError, AttributeError, pa.ArrowException, sqlite3.Error) as error:
        raise UsageError(
            f"{str(file)!r} is no result as {form}: {error}", hint="name another file, or remove this one"
        ) from error


def retyped(rows: pa.RecordBatch, kinds: Sequence[pa.DataType]) -> pa.RecordBatch:
    """Rows of a file with what it had as text in the types of the result; the last columns are the result's.

    A column that does not fit, as that of an older result, stays text; so do dates and the like, which are
    text in every format that tells changes.
    """
    first = rows.num_columns - len(kinds)
    columns = [*rows.columns[:first], *map(_retyped, rows.columns[first:], kinds)]
    return pa.RecordBatch.from_arrays(columns, rows.schema.names)


def _retyped(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_string(texts.type):
        return texts
    is_of = pa.types
    with contextlib.suppress(pa.ArrowException, ValueError, TypeError):
        if (
            is_of.is_integer(kind)
            or is_of.is_floating(kind)
            or is_of.is_decimal(kind)
            or is_of.is_boolean(kind)
        ):
            return texts.cast(kind)
        if is_of.is_nested(kind):
            values = [None if text is None else json.loads(text) for text in texts.to_pylist()]
            return pa.array(values, kind)
    return texts


def _separated(file: Path, separator: str) -> pa.Table:
    """As a statement reads it: an empty cell is NULL, one of two quotes the empty text, and what is no CSV an error."""
    text = file.read_bytes()
    names = header_of(text, separator)
    return read_cells(text, separator, names, names).rename_columns(distinct_names(names, str))


def _database(file: Path) -> pa.Table:
    with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
        cursor = database.execute(f"SELECT * FROM {TABLE}")  # noqa: S608 - a name of ours
        names = [one[0] for one in cursor.description]
        return _table(names, cursor.fetchall())


def first_line(line: bytes | str) -> pa.Table:
    """One object of NDJSON as a row. Raises ValueError where it is none."""
    return _objects([json.loads(line, parse_float=Decimal)])


def _objects(rows: list[dict[str, Any]]) -> pa.Table:
    """Values by name. Raises ValueError for what are no objects, and where one has other names than the first."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("its rows are no objects")
    names = list(rows[0]) if rows else []
    other = next((number for number, row in enumerate(rows, 1) if row.keys() != rows[0].keys()), None)
    if other is not None:
        raise ValueError(f"row {other} has other columns than the first")
    return _table(names, ([row[name] for name in names] for row in rows))


def _table(names: list[str], rows: Iterable[Iterable[object]]) -> pa.Table:
    """Values as texts; they are compared with such as were written alike."""
    columns = list(zip(*([_text(value) for value in row] for row in rows), strict=True))
    columns = columns or [()] * len(names)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=distinct_names(names, str))


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    return value.hex() if isinstance(value, bytes) else json.dumps(value, default=str, ensure_ascii=False)
