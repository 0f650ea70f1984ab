"""Columns and their types: Spark SQL type names on the outside, Arrow types inside."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.structs import Struct, lazy_pattern

#: pyarrow ships no types; these names say what is meant without pretending to check it.
ArrowType: TypeAlias = pa.DataType

_SIMPLE: dict[str, ArrowType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}

_SPAN = "interval day to second"
#: What Spark computes although no source's column is of it: NULL without a type, lengths of time, a time of day.
_COMPUTED: dict[str, ArrowType] = {
    "void": pa.null(),
    _SPAN: pa.duration("us"),
    "interval year to month": pa.month_day_nano_interval(),
    "time": pa.time64("ns"),
}

#: Types that Arrow has under names of their own.
_EXTENSIONS: dict[str, ArrowType] = {
    "arrow.bool8": pa.bool_(),
    "arrow.json": pa.string(),
    "arrow.uuid": pa.string(),
}

#: Of a decimal.
MOST_DIGITS = 38
_DECIMAL = lazy_pattern(r"^(?:decimal|dec|numeric)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$")
#: What other systems call some types.
_ELSEWHERE = {"varchar": "string", "text": "string", "str": "string", "json": "string", "uuid": "string"}
_ELSEWHERE |= {"datetime": "timestamp", "number": "double", "float64": "double", "int64": "bigint"}
_TEXT = lazy_pattern(r"^(?:varchar|char)\(\s*\d+\s*\)$")


class Field(Struct, frozen=True):
    """A column as queries see it: its name, its Spark SQL type, and the Arrow type that carries it."""

    name: str
    type: str
    arrow: ArrowType

    @classmethod
    def of(cls, name: str, type_name: str) -> Field:
        """A field from a Spark SQL type name; raises ValueError for a type FFF does not know."""
        return cls(name, type_name.strip().lower(), arrow_type(type_name))


#: The key of a field's metadata that says what its values say of those of the complete answer, in a partial one.
BOUND = b"fff.bound"
#: And of a field whose values are lower bounds, by how much those of the complete answer are higher at most.
WITHIN = b"fff.within"


def arrow_type(type_name: str) -> ArrowType:
    """The Arrow type carrying a Spark SQL type; raises ValueError with the unknown name."""
    name = type_name.strip()
    lower = name.lower()
    if lower in _SIMPLE:
        return _SIMPLE[lower]
    if match := _DECIMAL.match(lower):
        precision, scale = int(match[1] or 10), int(match[2] or 0)
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise ValueError(
                f"decimal precision must be 1 to 38 and scale at most the precision, not {type_name}"
            )
        return pa.decimal128(precision, scale)
    if _TEXT.match(lower):
        return pa.string()
    if lower.startswith("array<") and lower.endswith(">"):
        return pa.list_(arrow_type(name[6:-1]))
    if lower.startswith("map<") and lower.endswith(">"):
        key, value = _split_top(name[4:-1])
        return pa.map_(arrow_type(key), arrow_type(value))
    if lower.startswith("struct<") and lower.endswith(">"):
        members = [part.split(":", 1) for part in _split_top(name[7:-1])]
        return pa.struct([pa.field(member.strip(), arrow_type(kind)) for member, kind in members])
    close = difflib.get_close_matches(lower, (*_SIMPLE, "decimal(10,2)"), n=1)
    near = _ELSEWHERE.get(lower) or (close[0] if close else None)
    known = f"did you mean {near!r}?" if near else "types are those of Spark SQL, as string, bigint, double"
    raise ValueError(f"unknown type {type_name!r}; {known}")


def frame_field(name: str, arrow: ArrowType) -> Field:
    """A column of a frame, which may hold lengths of time, too; raises ValueError for types that SQL has not."""
    return Field(name, _name_in(_SIMPLE | {_SPAN: _COMPUTED[_SPAN]}, arrow), arrow)


def spark_type(arrow: ArrowType) -> str:
    """The Spark SQL name of an Arrow type that carries a column of a source; raises ValueError for others."""
    return _name_in(_SIMPLE, arrow)


def nearest(arrow: ArrowType) -> ArrowType:
    """The type that FFF has which holds every value of an Arrow type; that type itself where there is none."""
    types = pa.types
    if isinstance(arrow, pa.BaseExtensionType):
        return _EXTENSIONS.get(arrow.extension_name, arrow)
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return nearest(arrow.value_type)
    if types.is_map(arrow):
        return pa.map_(nearest(arrow.key_type), nearest(arrow.item_type))
    if _is_list(arrow):
        return pa.list_(arrow.value_field.with_type(nearest(arrow.value_type)))
    if types.is_struct(arrow):
        return pa.struct([member.with_type(nearest(member.type)) for member in arrow])
    if types.is_large_string(arrow) or types.is_string_view(arrow):
        return pa.string()
    if types.is_large_binary(arrow) or types.is_fixed_size_binary(arrow) or types.is_binary_view(arrow):
        return pa.binary()
    if types.is_timestamp(arrow):
        return pa.timestamp("us", tz="UTC" if arrow.tz is not None else None)
    if types.is_date(arrow):
        return pa.date32()
    if types.is_decimal(arrow):
        digits, scale = arrow.precision - min(arrow.scale, 0), max(arrow.scale, 0)
        return pa.decimal128(digits, scale) if digits <= MOST_DIGITS else arrow
    if types.is_duration(arrow):
        return pa.duration("us")
    if types.is_time(arrow):  # Spark has no column of its own TIME yet; as text it sorts alike
        return pa.string()
    if types.is_unsigned_integer(arrow):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wider.get(arrow.bit_width, pa.decimal128(20, 0))
    if types.is_null(arrow):
        return pa.string()
    return pa.float32() if types.is_float16(arrow) else arrow


def in_nearest(rows: pa.Array) -> pa.Array:
    """Rows in the type that `nearest` says. Raises ArrowException where a value would be another one."""
    return _plain(rows).cast(nearest(rows.type))


def _plain(rows: pa.Array) -> pa.Array:
    """Rows without what Arrow cannot cast, or not rightly: named types, codes of views of text, runs, lists that are views."""
    kind, types = rows.type, pa.types
    if isinstance(rows, pa.ExtensionArray):
        return _uuids(rows.storage) if kind.extension_name == "arrow.uuid" else rows.storage
    if types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(rows))
    if types.is_dictionary(kind):
        return in_nearest(rows.dictionary).take(rows.indices)
    if types.is_struct(kind):
        if not kind.num_fields:
            return rows
        members = [_plain(member) for member in rows.flatten()]
        return pa.StructArray.from_arrays(members, [member.name for member in kind], mask=rows.is_null())
    if _is_list(kind):
        lengths = pc.fill_null(pc.list_value_length(rows), 0).cast(pa.int64())
        ends = pa.concat_arrays([pa.array([0]), pc.cumulative_sum(lengths)]).cast(pa.int32())
        return pa.ListArray.from_arrays(ends, _plain(pc.list_flatten(rows)), mask=rows.is_null())
    return rows


def _uuids(rows: pa.Array) -> pa.Array:
    """Sixteen bytes as UUIDs are written, all at once."""
    there = rows.drop_null()
    raw = there.buffers()[1].to_pybytes()[there.offset * 16 :][: len(there) * 16] if len(there) else b""
    digits = np.frombuffer(raw.hex().encode(), np.uint8).reshape(-1, 32)
    written = np.insert(digits, [8, 12, 16, 20], ord("-"), axis=1)
    texts = pa.Array.from_buffers(pa.binary(36), len(there), [None, pa.py_buffer(written.tobytes())])
    places = pc.cumulative_sum(rows.is_valid().cast(pa.int64()))
    known = pc.if_else(rows.is_valid(), pc.subtract(places, 1), pa.scalar(None, pa.int64()))
    return texts.cast(pa.binary()).cast(pa.string()).take(known)


def _is_list(arrow: ArrowType) -> bool:
    types = pa.types
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)
    return types.is_large_list_view(arrow) or any(kind(arrow) for kind in kinds)


def result_field(name: str, arrow: ArrowType) -> Field:
    """A column of a result as Spark computed it, which may be of a type that no source's column has."""
    return Field(name, _name_in(_SIMPLE | _COMPUTED, arrow), arrow)


def _name_in(simple: Mapping[str, ArrowType], arrow: ArrowType) -> str:
    if pa.types.is_decimal(arrow):
        if arrow.precision > 38 or not 0 <= arrow.scale <= arrow.precision:
            raise ValueError(f"no Spark SQL type for {arrow}")
        return f"decimal({arrow.precision},{arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz is not None else "timestamp_ntz"
    if pa.types.is_map(arrow):
        return f"map<{_name_in(simple, arrow.key_type)},{_name_in(simple, arrow.item_type)}>"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return f"array<{_name_in(simple, arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return (
            "struct<" + ",".join(f"{member.name}:{_name_in(simple, member.type)}" for member in arrow) + ">"
        )
    for name, known in simple.items():
        if known == arrow:
            return {"byte": "tinyint", "short": "smallint", "integer": "int"}.get(name, name)
    raise ValueError(f"no Spark SQL type for {arrow}")


def _split_top(text: str) -> list[str]:
    """Split at the commas that stand outside angle and round brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def is_sorted_alike(kind: pa.DataType) -> bool:
    """Whether sources sort values of a type as Spark does: whole numbers, dates and times, of which there is one order."""
    return bool(pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def comparison_kind(arrow: ArrowType) -> Hashable | None:
    """What two columns must have in common to be compared by the engine; None if it compares none of them.

    Values of one kind compare as equal without conversion: the planner equates columns of one kind only, and the core
    numbers their values in one domain.
    """
    if pa.types.is_integer(arrow):
        return "integer"
    if pa.types.is_timestamp(arrow):
        return ("timestamp", arrow.tz is None)
    if pa.types.is_decimal(arrow):
        return ("decimal", arrow.precision, arrow.scale)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow):
        return "string"
    if pa.types.is_float32(arrow) or pa.types.is_float64(arrow):
        return str(arrow)
    if pa.types.is_boolean(arrow) or pa.types.is_date32(arrow):
        return str(arrow)
    return None


def schema_of(fields: Iterable[Field]) -> pa.Schema:
    """Columns as Arrow has them."""
    return pa.schema([(field.name, field.arrow) for field in fields])


def distinct_names(names: Iterable[str], fold: Callable[[str], str] = str.lower) -> list[str]:
    """Names that can be told apart: the second of two `id`, or of `id` and `ID`, has a number behind it.

    It is a number that makes none of the others. Where case counts, `fold` is `str`.
    """
    written = list(names)
    taken, given = set(map(fold, written)), set[str]()
    distinct = []
    for name in written:
        chosen, number = name, 0
        while fold(chosen) in given or (number and fold(chosen) in taken):
            number += 1
            chosen = f"{name}_{number}"
        given.add(fold(chosen))
        distinct.append(chosen)
    return distinct


def shown_values(column: pa.Array) -> list[object]:
    """What a column has, for people to look at: Python has no dates beyond the year 9999 or before the first."""
    try:
        values: list[object] = column.to_pylist()
    except (OverflowError, ValueError):
        if len(column) > 1:
            return [value for place in range(len(column)) for value in shown_values(column.slice(place, 1))]
        return ["…" if pa.types.is_nested(column.type) else column.cast(pa.string())[0].as_py()]
    return values
