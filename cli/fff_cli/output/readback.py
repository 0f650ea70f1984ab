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

#: The formats that can be read back.
COMPARED = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "sqlite", "duckdb")

_BLOCK = 1 << 30  # bytes of a text that are parsed at once: no row is cut by it


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
                with pa.OSFile(str(file)) as data, pa.ipc.open_stream(data) as stream:
                    return stream.read_all()
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
    """An empty cell is NULL, one of two quotes the empty text: as it was written."""
    import pyarrow.csv as separated  # noqa: PLC0415 - nobody else pays for it

    parse = separated.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=False)
    read = separated.ReadOptions(block_size=min(max(1 << 20, file.stat().st_size + 1), _BLOCK))
    first = separated.open_csv(file, read_options=read, parse_options=parse).schema.names
    convert = separated.ConvertOptions(
        column_types=dict.fromkeys(first, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    rows = separated.read_csv(file, read_options=read, parse_options=parse, convert_options=convert)
    return rows.rename_columns(distinct_names(rows.schema.names, str))


def _database(file: Path) -> pa.Table:
    with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
        cursor = database.execute(f"SELECT * FROM {TABLE}")  # noqa: S608 - a name of ours
        names = [one[0] for one in cursor.description]
        return _table(names, cursor.fetchall())


def first_line(line: bytes | str) -> pa.Table:
    """One object of NDJSON as a row. Raises ValueError where it is none."""
    return _objects([json.loads(line, parse_float=Decimal)])


def _objects(rows: list[dict[str, Any]]) -> pa.Table:
    """Values by name. Raises ValueError where a row has other names than the first."""
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
