"""Parquet and Arrow files of this machine, of which no more is read than a statement needs.

That is its columns and, of Parquet, the row groups that its conditions leave over, by the least and the
greatest value that the file states of each.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from fff.quals import Qual, Quals
from fff.schema import MOST_DIGITS, ArrowType, distinct_names, in_nearest, nearest
from fff_sources.http.columnar import (
    ARROW_FILE,
    ARROW_STREAM,
    INT96_UNIT,
    PARQUET,
    arrow_parts,
    read_alone,
    spelled,
)
from fff_sources.http.response import infer

if TYPE_CHECKING:
    import pyarrow.parquet as papq

_ROWS = 2**16  # of a batch


class DifferentTypesError(Exception):
    """Two files have a column of types that no one type holds."""


def is_columnar(path: str) -> bool:
    """Whether a path leads to a Parquet or Arrow file that is not packed and can be read at any place. Raises OSError."""
    place = Path(path)
    if not place.is_file():
        return False
    with place.open("rb") as file:
        return file.read(len(ARROW_FILE)).startswith((PARQUET, ARROW_FILE, ARROW_STREAM))


def schema_of(path: str) -> pa.Schema:
    """The columns of a file. Raises pa.ArrowException, OSError."""
    with _opened(path) as file:
        return file[0] if isinstance(file, tuple) else file.schema_arrow


def columns_of(schemas: Mapping[str, pa.Schema]) -> tuple[dict[str, str], dict[str, ArrowType]]:
    """Names and types of the columns of several files, by their paths, in types that hold the values of all.

    A name that another file has in another case is the same. Behind them: columns of types that SQL has not.
    Raises DifferentTypesError.
    """
    kinds: dict[str, tuple[ArrowType, str]] = {}  # and where it was seen first
    for path, schema in schemas.items():
        for written, part in zip(distinct_names(schema.names), schema, strict=True):
            name = spelled(written, kinds) or written
            known, where = kinds.setdefault(name, (part.type, path))
            if (both := _wider(known, part.type)) is None:
                message = f"the column {name!r} is {known} in {where} and {part.type} in {path}"
                raise DifferentTypesError(message)
            kinds[name] = both, where
    return infer.known({name: kind for name, (kind, _) in kinds.items()})


def _wider(one: ArrowType, other: ArrowType) -> ArrowType | None:
    """A type that holds what both hold, digit for digit."""
    types = pa.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    one, other = nearest(one), nearest(other)
    if one == other:
        return one
    numbers = sorted((one, other), key=types.is_floating)
    if all(map(types.is_integer, numbers)):
        return max(numbers, key=lambda kind: kind.bit_width)
    if types.is_floating(numbers[1]) and (types.is_floating(numbers[0]) or types.is_integer(numbers[0])):
        exact = numbers[0].bit_width < 64 or types.is_floating(numbers[0])
        return pa.float64() if exact else None
    if types.is_decimal(one) and types.is_decimal(other):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return pa.decimal128(digits, scale) if digits <= MOST_DIGITS else None
    return None


class FileColumn(NamedTuple):
    """A column of a file: its name there, and the type it should have; NULL in files that lack it."""

    name: str
    kind: ArrowType


def batches_of(path: str, wanted: Sequence[FileColumn], quals: Quals) -> Iterator[pa.RecordBatch]:
    """Columns of a file, without row groups that no row which fulfils the qualifiers is in.

    Raises pa.ArrowException, OSError.
    """
    with _opened(path) as file:
        schema = file[0] if isinstance(file, tuple) else file.schema_arrow
        places = _places(schema)
        there = [places.get(one.name.lower()) for one in wanted]
        read = sorted({place for place in there if place is not None})
        if isinstance(file, tuple):
            read, parts = list(range(len(schema))), file[1]
        else:
            alone = read_alone(schema, read)
            read = list(range(len(schema))) if alone is None else read
            parts = _parquet_batches(file, alone, quals)
        names = [one.name for one in wanted]
        for part in parts:
            arrays = [
                pa.nulls(part.num_rows, kind)
                if place is None
                else in_nearest(part.column(read.index(place))).cast(kind)
                for place, (_, kind) in zip(there, wanted, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names) if arrays else _without_columns(part.num_rows)


def _places(schema: pa.Schema) -> dict[str, int]:
    """Where the columns are, by their distinct names in lower case."""
    return {name.lower(): place for place, name in enumerate(distinct_names(schema.names))}


def _without_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


@contextlib.contextmanager
def _opened(path: str) -> Iterator[papq.ParquetFile | tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """A Parquet file, or columns and rows of one of Arrow."""
    with pa.OSFile(path) as file:  # not mapped: who cuts a file that is read would end the process
        start = file.read(len(ARROW_FILE))
        file.seek(0)
        if start.startswith(PARQUET):
            import pyarrow.parquet as papq  # noqa: PLC0415 - with all its file systems it takes long to load

            # Buffered before, all row groups would be read before the first.
            yield papq.ParquetFile(file, pre_buffer=False, coerce_int96_timestamp_unit=INT96_UNIT)
        else:
            yield arrow_parts(file)


def _parquet_batches(
    file: papq.ParquetFile, names: list[str] | None, quals: Quals
) -> Iterator[pa.RecordBatch]:
    """Columns of these names (None: all) of the row groups that may matter."""
    groups = wanted_groups(file, quals)
    if names == []:  # how many rows there are stands in the footer
        for group in groups:
            yield _without_columns(file.metadata.row_group(group).num_rows)
    elif groups:
        yield from file.iter_batches(_ROWS, row_groups=groups, columns=names, use_threads=False)


def wanted_groups(file: papq.ParquetFile, quals: Quals) -> list[int]:
    """The row groups that may hold rows which fulfil all qualifiers."""
    meta, schema = file.metadata, file.schema_arrow
    paths = [meta.schema.column(leaf).path for leaf in range(meta.num_columns)]
    places = _places(schema)
    bounded = [
        (qual, paths.index(field.name))
        for qual in quals
        if (place := places.get(qual.column.lower())) is not None
        and paths.count((field := schema.field(place)).name) == 1
        and has_exact_bounds(field.type)
    ]
    return [
        group
        for group in range(meta.num_row_groups)
        if not any(_excludes(meta.row_group(group).column(place).statistics, qual) for qual, place in bounded)
    ]


def has_exact_bounds(kind: ArrowType) -> bool:
    """Whether the least and the greatest value of a column of a file tell about all of them what they do in SQL.

    Decimals and nanoseconds may be rounded on the way.
    """
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind.unit in ("ms", "us"))
    exact = types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
    return bool(types.is_signed_integer(kind) or types.is_floating(kind) or types.is_date32(kind) or exact)


def operators_for(kind: ArrowType) -> tuple[str, ...]:
    """The comparisons with values of a type that may spare something.

    SQL has NaN above all numbers, and files state it nowhere, so of floating numbers upper bounds alone.
    """
    if pa.types.is_floating(kind):
        return "<", "<="
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return ("=",)
    return "=", "<>", "<", "<=", ">", ">="


def _excludes(statistics: Any, qual: Qual) -> bool:
    if statistics is None or not statistics.has_min_max:
        return False
    try:
        return excludes(qual, statistics.min, statistics.max)
    except (OverflowError, ValueError):  # times that Python has not: behind the year 9999
        return False


def excludes(qual: Qual, least: Any, greatest: Any) -> bool:
    """Whether no value from the least to the greatest fulfils a qualifier."""
    value = qual.value
    try:
        match qual.operator:
            case "=":
                return bool(value < least or value > greatest)
            case "<>":
                return bool(least == value == greatest)
            case "<":
                return bool(least >= value)
            case "<=":
                return bool(least > value)
            case ">":
                return bool(greatest <= value)
            case ">=":
                return bool(greatest < value)
    except TypeError:  # of another type than the column has here
        pass
    return False
