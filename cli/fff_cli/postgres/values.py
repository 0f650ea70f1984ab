"""Values as PostgreSQL's protocol has them: Arrow's columns written."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType
from fff_cli.output.values import has_any, is_nested, texts
from fff_cli.postgres.error_codes import CodedError

Array: TypeAlias = pa.Array
Batch: TypeAlias = pa.RecordBatch
Schema: TypeAlias = pa.Schema
_DAY_ZERO = dt.date(2000, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
_MICROS_ZERO = _DAY_ZERO * 86_400_000_000
_NULL = struct.pack(">i", -1)
BOOL, BYTEA, INT8, INT2, INT4, TEXT, JSON, FLOAT4, FLOAT8 = 16, 17, 20, 21, 23, 25, 114, 700, 701
DATE, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID = 1082, 1114, 1184, 1186, 1700, 2950


@dataclass(frozen=True)
class WireType:
    """A type of PostgreSQL: its number, the bytes of a value (-1: any), how values are written in both formats."""

    oid: int
    size: int
    written: Callable[[Array], Array]  # as texts
    packed: Callable[[Array], list[bytes | None]] | None = None  # None: as the text


def wire_type(kind: ArrowType) -> WireType:
    """The type that clients are told of. What PostgreSQL has no type for is told as JSON or text."""
    for fits, wire in _TYPES:
        if fits(kind):
            return wire
    return _ANY_NESTED if is_nested(kind) else _ANY


def as_described(rows: Batch, schema: Schema | None) -> Batch:
    """Rows in the types that a client was told of before their values were known. Raises CodedError where they do not fit."""
    if schema is None or len(schema) != rows.num_columns:
        return rows
    columns = [
        column if wire_type(one.type).oid == wire_type(column.type).oid else _cast(column, one.type)
        for one, column in zip(schema, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def check_texts(rows: Batch) -> None:
    """Raise CodedError where a text has the character NUL: PostgreSQL's have none, and clients in C end there."""
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if wire_type(column.type).oid == TEXT and has_any(texts(column), b"\0"):
            raise CodedError(
                "22021",
                f"a text of column {name} has the character NUL, which PostgreSQL's texts cannot have",
                hint=f"replace({name}, chr(0), '') leaves it out, CAST({name} AS binary) gives the bytes",
            )


def _cast(column: Array, kind: ArrowType) -> Array:
    if wire_type(kind).oid == TEXT:
        return texts(column)
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CodedError(
            "0A000",
            f"values of type {column.type} do not fit what was described as {kind} before they were known",
            hint="cast the parameter in the SQL: $1::bigint",
        ) from error


def cells(column: Array, binary: bool) -> list[bytes]:
    """The values of a column with their lengths in front."""
    wire = wire_type(column.type)
    if binary and wire.packed is not None:
        values = wire.packed(column)
    else:
        values = wire.written(column).cast(pa.binary()).to_pylist()
    pack = struct.Struct(">i").pack
    return [_NULL if value is None else pack(len(value)) + value for value in values]


def _packed(form: str, ready: Callable[[Array], Array]) -> Callable[[Array], list[bytes | None]]:
    pack = struct.Struct(form).pack
    return lambda column: [None if value is None else pack(value) for value in ready(column).to_pylist()]


def _as(kind: ArrowType, less: int = 0) -> Callable[[Array], Array]:
    return lambda column: pc.subtract(column.cast(kind), pa.scalar(less, kind)) if less else column.cast(kind)


def _micros(column: Array) -> Array:
    return _as(pa.int64(), _MICROS_ZERO)(column.cast(pa.timestamp("us", column.type.tz)))


def _booleans(column: Array) -> Array:
    return pc.if_else(column, "t", "f")


def _floats(column: Array) -> Array:
    written = texts(column)
    for ours, theirs in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
        written = pc.if_else(pc.equal(written, ours), theirs, written)
    return written


def _bytes(column: Array) -> Array:
    return pa.array([None if one is None else "\\x" + one.hex() for one in column.to_pylist()], pa.string())


def _moments(column: Array) -> Array:
    """As PostgreSQL writes them in ISO style, those with a zone in UTC."""
    zone = column.type.tz
    written = pc.replace_substring(texts(column.cast(pa.timestamp("us", zone and "UTC"))), "T", " ")
    return pc.replace_substring(written, "Z", "+00") if zone else written


def _numerics(column: Array) -> list[bytes | None]:
    return [None if one is None else _numeric(one) for one in column.to_pylist()]


def _numeric(value: Decimal) -> bytes:
    """Digits in groups of four, the first group's weight, the sign, and how many digits stand behind the point."""
    sign, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    whole = "".join(map(str, digits)) + "0" * max(int(exponent), 0)
    whole = whole.rjust(scale + 1, "0")
    before, behind = whole[: len(whole) - scale], whole[len(whole) - scale :]
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    behind = behind.ljust(-(-len(behind) // 4) * 4, "0")
    groups = [int((before + behind)[at : at + 4]) for at in range(0, len(before) + len(behind), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    return struct.pack(
        f">hhHh{len(groups)}h", len(groups), weight if groups else 0, 0x4000 * sign, scale, *groups
    )


_ANY, _ANY_NESTED = WireType(TEXT, -1, texts), WireType(JSON, -1, texts)
_TYPES: Sequence[tuple[Callable[[ArrowType], bool], WireType]] = (
    (pa.types.is_boolean, WireType(BOOL, 1, _booleans, _packed(">?", lambda column: column))),
    (pa.types.is_int8, WireType(INT2, 2, texts, _packed(">h", _as(pa.int16())))),
    (pa.types.is_int16, WireType(INT2, 2, texts, _packed(">h", _as(pa.int16())))),
    (pa.types.is_int32, WireType(INT4, 4, texts, _packed(">i", _as(pa.int32())))),
    (pa.types.is_int64, WireType(INT8, 8, texts, _packed(">q", _as(pa.int64())))),
    (pa.types.is_float32, WireType(FLOAT4, 4, _floats, _packed(">f", _as(pa.float32())))),
    (pa.types.is_float64, WireType(FLOAT8, 8, _floats, _packed(">d", _as(pa.float64())))),
    (pa.types.is_decimal, WireType(NUMERIC, -1, texts, _numerics)),
    (pa.types.is_binary, WireType(BYTEA, -1, _bytes, lambda column: list(column.to_pylist()))),
    (pa.types.is_date32, WireType(DATE, 4, texts, _packed(">i", _as(pa.int32(), _DAY_ZERO)))),
    (
        lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
        WireType(TIMESTAMP, 8, _moments, _packed(">q", _micros)),
    ),
    (pa.types.is_timestamp, WireType(TIMESTAMPTZ, 8, _moments, _packed(">q", _micros))),
)
