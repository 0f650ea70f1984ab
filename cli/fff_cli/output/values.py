"""How values are written as text: one column at a time, so that large results are not formatted value by value.

Decimals exactly, never in exponents; dates and timestamps in ISO 8601, zoned ones with Z or their offset;
floating point in the fewest digits that read back the same; binary in hexadecimal; arrays, maps and structs
as JSON; lengths of time as Spark writes them.
"""

from __future__ import annotations

import datetime as dt
import json
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import BOUND, WITHIN

Column: TypeAlias = pa.Array
ArrowType: TypeAlias = pa.DataType

#: Bytes of which one is in whatever JSON text escapes: controls, of them those beyond ASCII by the byte they
#: begin with.
_JSON_SPECIAL = bytes([*range(0x20), *b'"\\\x7f\xc2'])
_JSON_ESCAPED = r'["\\\x00-\x1f\x7f-\x{9f}]'

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
    if pa.types.is_date(kind):
        return _far(column.cast(pa.string()), column)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
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
    elif pa.types.is_temporal(kind):
        written = _in_quotes(texts(column))
    else:
        written = texts(column)
        if has_any(written, _JSON_SPECIAL):
            special = pc.match_substring_regex(written, _JSON_ESCAPED)
            quote = json.encoder.encode_basestring
            escaped = _each(written.filter(special), lambda value: escape_json_controls(quote(value)))
            written = pc.replace_with_mask(_in_quotes(written), special, escaped)
        else:
            written = _in_quotes(written)
    return pc.fill_null(written, "null")


def has_any(written: Column, special: bytes) -> bool:
    """Whether any of these bytes is in any of the strings; that none is is told without a look at each string."""
    if not len(written):
        return False
    text = concatenated(written)
    return len(bytes(text).translate(None, special)) < len(text)


def concatenated(written: Column) -> memoryview | bytes:
    """The bytes of all strings of an array, which lie next to each other in its data buffer."""
    if not len(written) or written.buffers()[2] is None:
        return b""
    offsets = memoryview(written.buffers()[1]).cast("i")
    first, last = offsets[written.offset], offsets[written.offset + len(written)]
    return memoryview(written.buffers()[2])[first:last]


def _in_quotes(written: Column) -> Column:
    return pc.binary_join_element_wise('"', written, '"', "")


def escape_json_controls(text: str) -> str:
    """JSON text without DEL and C1 controls, which JSON allows bare and terminals obey."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(f"\\u{ord(char):04x}" if "\x7f" <= char <= "\x9f" else char for char in text)


def json_printable(text: str) -> str:
    """JSON text of the same meaning without a character that a terminal would obey, direction overrides among them."""
    if text.isprintable():
        return text
    return "".join(char if char == "\n" or not _obeyed(char) else _json_escaped(char) for char in text)


def _json_escaped(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


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


def folded(text: str, columns: int) -> str:
    """A line broken between words where it is wider than the terminal, what follows indented by four more than it."""
    if width(text) <= columns:
        return text
    margin = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.fill(
        text, columns, subsequent_indent=margin, break_on_hyphens=False, break_long_words=False
    )


def width(text: str) -> int:
    """Columns a text takes on a terminal: wide characters two, combining ones none, emoji of several characters two."""
    if text.isascii():
        return len(text)
    return sum(_cells(part) for part in _graphemes(text))


def fit(text: str, room: int) -> str:
    """Text in at most `room` columns, the cut marked by an ellipsis."""
    if width(text) <= room:
        return text
    kept, used = [], 1
    for part in text if text.isascii() else _graphemes(text):
        used += _cells(part)
        if used > room:
            break
        kept.append(part)
    return "".join(kept) + "…" if room > 0 else ""


def pad(text: str, room: int, *, right: bool = False) -> str:
    """Text cut or filled to exactly `room` columns; flush right for numbers."""
    text = fit(text, room)
    space = " " * (room - width(text))
    return space + text if right else text + space


def _graphemes(text: str) -> Iterator[str]:
    """What a person takes for one character each, be it one or several to Unicode."""
    import wcwidth  # noqa: PLC0415 - its tables are loaded where something beyond ASCII is shown

    parts: Iterator[str] = wcwidth.iter_graphemes(text)
    return parts


def _cells(grapheme: str) -> int:
    """Columns of a grapheme. What a terminal would obey is escaped before it is shown, and counts as one."""
    if grapheme.isascii():
        return len(grapheme)
    import wcwidth  # noqa: PLC0415 - see `_graphemes`

    cells: int = wcwidth.wcswidth(grapheme)
    return cells if cells >= 0 else len(grapheme)


def _obeyed(char: str) -> bool:
    return not char.isprintable() and unicodedata.category(char) != "Zs"


def _escaped(char: str) -> str:
    if not _obeyed(char):
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
    whole = pc.and_(pc.equal(column, pc.floor(column)), pc.is_finite(column))
    if not pc.any(whole).as_py():
        return written
    whole = pc.and_not(whole, pc.match_substring(written, "e"))
    return pc.if_else(whole, pc.binary_join_element_wise(written, ".0", ""), written)


def _decimal_texts(column: Column) -> Column:
    written = column.cast(pa.string())
    if pc.any(pc.match_substring(written, "E")).as_py():  # Arrow writes small ones as 1E-7
        return _each(column, lambda value: format(value, "f"))
    return written


def _timestamp_texts(column: Column) -> Column:
    kind = column.type
    if kind.tz not in (None, "UTC"):
        written = column.cast(pa.string())
        written = pc.replace_substring_regex(written, r"\.0+(Z|[+-]|$)", r"\1")
        written = pc.replace_substring_regex(written, r"([+-]\d\d)(\d\d)$", r"\1:\2")
        return pc.replace_substring(written, " ", "T", max_replacements=1)
    # Without its zone: Arrow takes fifteen times as long to write one.
    column = column.cast(pa.timestamp(kind.unit))
    seconds = column.cast(pa.timestamp("s"), safe=False)
    whole = pc.equal(seconds.cast(column.type, safe=False), column)
    if pc.all(whole).as_py():
        written = seconds.cast(pa.string())
    else:
        written = column.cast(pa.string())
        if pc.any(whole).as_py():
            written = pc.if_else(whole, seconds.cast(pa.string()), written)
    written = _far(written, column.cast(pa.timestamp("us"), safe=False))
    written = pc.replace_substring(written, " ", "T", max_replacements=1)
    return written if kind.tz is None else pc.binary_join_element_wise(written, "Z", "")


def _far(written: Column, column: Column) -> Column:
    """Texts of dates or moments, those of years that Arrow does not write (beyond 32767) as Spark writes them."""
    if not pc.any(far := pc.match_substring(written, "out of range")).as_py():
        return written
    from fff.dataflow.kernels.texts import write_date, write_moment  # noqa: PLC0415 - hardly ever needed

    days = pa.types.is_date32(column.type)
    counts = column.filter(far).view(pa.int32() if days else pa.int64())
    return pc.replace_with_mask(written, far, _each(counts, write_date if days else write_moment))


def bound_marks(schema: pa.Schema, *, unicode: bool) -> tuple[str, ...]:
    """What stands before the values of each column of a partial answer: what they say of the whole one.

    Where they are known from above too: what stands behind, and how much higher that is, as `…7`.
    """
    at_least, at_most, to = ("≥ ", "≤ ", "…") if unicode else (">= ", "<= ", "..")
    marks = {b"at_least": at_least, b"at_most": at_most, b"unknown": "? "}
    metadata = [one.metadata or {} for one in schema]
    return tuple(
        f"{to}{one[WITHIN].decode()}" if WITHIN in one else marks.get(one.get(BOUND, b""), "")
        for one in metadata
    )


def bounded(written: pa.Array, mark: str) -> pa.Array:
    """Values as text with such a mark; of a NULL nothing is known then."""
    if not mark:
        return written
    if (to := mark.rstrip("0123456789")) != mark:
        above = pc.add(written.cast(pa.int64()), int(mark[len(to) :])).cast(pa.string())
        return pc.fill_null(pc.binary_join_element_wise(written, above, to), "?")
    return pc.fill_null(pc.binary_join_element_wise(mark, written, ""), "?")
