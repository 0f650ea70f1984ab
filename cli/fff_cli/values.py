"""How values are written as text: one column at a time, so that large results are not formatted value by value.

Decimals exactly, never in exponents; dates and timestamps in ISO 8601, zoned ones with Z or their offset; floating
point in the fewest digits that read back the same; binary in hexadecimal; arrays, maps and structs as JSON; lengths of
time as Spark writes them.
"""

from __future__ import annotations

import datetime as dt
import json
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = pa.Array
ArrowType: TypeAlias = pa.DataType

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_number(kind: ArrowType) -> bool:
    """Whether a type is written as a bare number (and set flush right in tables)."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_nested(kind: ArrowType) -> bool:
    """Whether a type holds other values."""
    return bool(pa.types.is_nested(kind))


def texts(column: Column) -> Column:
    """A column as strings, NULL staying NULL."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _float_texts(column)
    if pa.types.is_decimal(kind):
        return _decimal_texts(column)
    if pa.types.is_timestamp(kind):
        return _timestamp_texts(column)
    if (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_null(kind)
    ):
        return column.cast(pa.string())
    if is_nested(kind):
        return _each(column, lambda value: json_text(python_value(value, kind)))
    return _each(column, lambda value: str(_plain(value)))


def json_texts(column: Column) -> Column:
    """A column as JSON values, NULL as `null`. NaN and infinities are written bare, as DuckDB writes them."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        written = texts(column)
    elif pa.types.is_floating(kind):
        written = texts(column)
        for bare, name in (("nan", "NaN"), ("inf", "Infinity"), ("-inf", "-Infinity")):
            written = pc.if_else(pc.equal(written, bare), name, written)
    elif is_nested(kind):
        written = texts(column)
    else:
        quote = json.encoder.encode_basestring
        written = _each(texts(column), lambda value: escape_json_controls(quote(value)))
    return pc.fill_null(written, "null")


def escape_json_controls(text: str) -> str:
    """JSON text without DEL and C1 controls, which JSON allows bare and terminals obey."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(f"\\u{ord(char):04x}" if "\x7f" <= char <= "\x9f" else char for char in text)


def json_text(value: object) -> str:
    """One value as compact JSON; decimals as numbers in full."""
    match value:
        case None | bool() | int() | str():
            return escape_json_controls(json.dumps(value, ensure_ascii=False))
        case float():
            return json.dumps(value)
        case Decimal():
            return format(value, "f")
        case dict():
            items = (f"{json_text(str(_plain(key)))}:{json_text(item)}" for key, item in value.items())
            return "{" + ",".join(items) + "}"
        case list() | tuple():
            return "[" + ",".join(json_text(item) for item in value) + "]"
        case _:
            return json_text(str(_plain(value)))


def python_value(value: Any, kind: ArrowType) -> object:
    """A nested value as dicts and lists: pyarrow gives maps as lists of pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: python_value(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: python_value(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [python_value(item, kind.value_type) for item in value]
    return value


def cell(value: object) -> str:
    """One Python value as a table shows it (samples of the live view)."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case Decimal():
            return format(value, "f")
        case dict() | list() | tuple():
            return printable(json_text(value))
        case _:
            return printable(str(_plain(value)))


def printable(text: str) -> str:
    """Text without characters a terminal would obey: controls, escapes and direction overrides, shown as escapes."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) for char in text)


def line_printable(text: str) -> str:
    """As `printable`, but line ends and tabs stay: for messages, and for CSV on a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _escaped(char) for char in text)


def width(text: str) -> int:
    """Columns a text takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def fit(text: str, room: int) -> str:
    """Text in at most `room` columns, the cut marked by an ellipsis."""
    if width(text) <= room:
        return text
    kept, used = [], 1
    for char in text:
        used += _char_width(char)
        if used > room:
            break
        kept.append(char)
    return "".join(kept) + "…" if room > 0 else ""


def pad(text: str, room: int, *, right: bool = False) -> str:
    """Text cut or filled to exactly `room` columns; flush right for numbers."""
    text = fit(text, room)
    space = " " * (room - width(text))
    return space + text if right else text + space


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _escaped(char: str) -> str:
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    code = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _plain(value: object) -> object:
    match value:
        case bytes():
            return value.hex()
        case dt.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return _interval(value)
        case _:
            return value


def _interval(value: dt.timedelta) -> str:
    """A length of time as Spark writes it, without zeros at its end."""
    sign = "-" if value < dt.timedelta(0) else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    return f"INTERVAL '{sign}{value.days} {minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}' DAY TO SECOND"


def _each(column: Column, write: Callable[[Any], str]) -> Column:
    return pa.array([None if value is None else write(value) for value in column.to_pylist()], pa.string())


def _float_texts(column: Column) -> Column:
    written = column.cast(pa.string())
    whole = pc.match_substring_regex(written, r"^-?\d+$")
    return pc.if_else(whole, pc.binary_join_element_wise(written, ".0", ""), written)


def _decimal_texts(column: Column) -> Column:
    written = column.cast(pa.string())
    if pc.any(pc.match_substring(written, "E")).as_py():  # Arrow writes small ones as 1E-7
        return _each(column, lambda value: format(value, "f"))
    return written


def _timestamp_texts(column: Column) -> Column:
    written = column.cast(pa.string())
    written = pc.replace_substring_regex(written, r"\.0+(Z|[+-]|$)", r"\1")
    written = pc.replace_substring_regex(written, r"([+-]\d\d)(\d\d)$", r"\1:\2")
    return pc.replace_substring(written, " ", "T", max_replacements=1)
