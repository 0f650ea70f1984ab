"""One value of an answer as a value of a declared column type.

The exact rules, for JSON and CSV alike: text stays text (a number becomes its JSON text, so leading zeros and
trailing digits survive), numbers may come as text, times with a zone become UTC, and what does not fit is a
ValueError.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import math
import re
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType, spark_type
from fff.structs import lazy_pattern
from fff_sources.http.response.json import MalformedJSON, Raw, decode
from fff_sources.http.response.jsonpath import kind_of

Array: TypeAlias = pa.Array

_NUMBER = lazy_pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_FLOAT_WORDS = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"})
_FLOAT_WIDTH, _BEYOND_FLOAT = 32, 2.0**128 - 2.0**103  # bits of a float; from here on it would be infinite
_MILLISECONDS = 100_000_000_000  # a numeric time above this counts milliseconds, below it seconds
_EXACT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
_UTC = dt.UTC
#: What Arrow raises for values that do not fit a type.
ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, ValueError)


def from_json(raw: Raw | bytes, kind: ArrowType) -> Any:
    """A JSON text as a Python value that Arrow takes for `kind`; None for null.

    Raises ValueError where it does not fit.
    """
    opening = kind_of(raw)
    if opening in ("n", ""):
        return None
    if opening in "{[":
        return _from_container(raw, kind, opening)
    if pa.types.is_nested(kind):
        raise ValueError(f"is not {_name(kind)}")
    if opening == '"':
        return from_text(_string(raw), kind)
    text = bytes(raw).decode().strip()
    if opening in "tf" and not (pa.types.is_boolean(kind) or pa.types.is_string(kind)):
        raise ValueError(f"is not {_name(kind)}")
    if pa.types.is_timestamp(kind):
        return _epoch(text, kind)
    if pa.types.is_date(kind):
        raise ValueError(f"is not {_name(kind)}")
    return from_text(text, kind)


def from_text(text: str, kind: ArrowType) -> Any:
    """The same for the text of a JSON string or of a CSV cell."""
    if pa.types.is_string(kind):
        return text
    word = text.strip()
    try:
        if pa.types.is_integer(kind):
            return _integer(word, kind)
        if pa.types.is_floating(kind):
            return _floating(word, kind)
        if pa.types.is_decimal(kind):
            return _decimal(word, kind)
        if pa.types.is_boolean(kind):
            return _boolean(word)
        if pa.types.is_date(kind):
            return _date(word)
        if pa.types.is_timestamp(kind):
            return _timestamp(dt.datetime.fromisoformat(word), kind)
        if pa.types.is_binary(kind):
            return base64.b64decode(word, validate=True)
        if pa.types.is_nested(kind):  # a cell of a text format may hold JSON
            return from_json(word.encode(), kind)
    except (ValueError, ArithmeticError, OverflowError, binascii.Error, MalformedJSON) as error:
        raise ValueError(f"is not {_name(kind)}") from error
    raise ValueError(f"cannot be read as {_name(kind)}")


def shown(value: Raw | bytes | str, most: int = 60) -> str:
    """A value as an error message shows it: short, on one line, without control characters."""
    text = value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= most else text[:most] + "…"


def _name(kind: ArrowType) -> str:
    name = spark_type(kind)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _string(raw: Raw | bytes) -> str:
    return decode(raw, type=str)


def _from_container(raw: Raw | bytes, kind: ArrowType, opening: str) -> Any:
    if pa.types.is_string(kind):
        return bytes(raw).decode()  # objects and arrays in a text column are shown as JSON
    if opening == "[" and pa.types.is_list(kind):
        return [from_json(item, kind.value_type) for item in decode(raw, type=list[Raw])]
    if opening == "{" and (pa.types.is_struct(kind) or pa.types.is_map(kind)):
        members = decode(raw, type=dict[str, Raw])
        if pa.types.is_map(kind):
            return [
                (from_text(key, kind.key_type), from_json(item, kind.item_type))
                for key, item in members.items()
            ]
        return {
            part.name: from_json(members[part.name], part.type) if part.name in members else None
            for part in kind
        }
    raise ValueError(f"is not {_name(kind)}")


def _number(text: str) -> decimal.Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("not a number")
    return decimal.Decimal(text)


def _integer(text: str, kind: ArrowType) -> int:
    number = _number(text)
    if number and number.adjusted() > 20:  # longer than any integer type; int() of it could be huge
        raise ValueError("out of range")
    if number != number.to_integral_value():
        raise ValueError("not whole")
    value, bound = int(number), 1 << (kind.bit_width - 1)
    if not -bound <= value < bound:
        raise ValueError("out of range")
    return value


def _floating(text: str, kind: ArrowType) -> float:
    if text.lower() in _FLOAT_WORDS:
        return float(text)
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("not a number")
    if abs(number := float(text)) >= (_BEYOND_FLOAT if kind.bit_width == _FLOAT_WIDTH else math.inf):
        raise ValueError("out of range")
    return number


def _decimal(text: str, kind: ArrowType) -> decimal.Decimal:
    """Digits past the scale are rounded half up, as a cast does; digits before the point must fit."""
    number = _number(text).quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_EXACT)
    if number and number.adjusted() >= kind.precision - kind.scale:
        raise ValueError("out of range")
    return number


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise ValueError("not a truth value")


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return dt.datetime.fromisoformat(text).date()


def _timestamp(moment: dt.datetime, kind: ArrowType) -> dt.datetime:
    if kind.tz is None:
        return moment.replace(tzinfo=None)
    return moment.replace(tzinfo=_UTC) if moment.tzinfo is None else moment.astimezone(_UTC)


def _epoch(text: str, kind: ArrowType) -> dt.datetime:
    try:
        number = _number(text)
        micros = int(number * (1000 if abs(number) >= _MILLISECONDS else 1_000_000))
        moment = dt.datetime(1970, 1, 1, tzinfo=_UTC) + dt.timedelta(microseconds=micros)
    except (ValueError, OverflowError, ArithmeticError) as error:
        raise ValueError(f"is not {_name(kind)}") from error
    return _timestamp(moment, kind)


def comes_as_text(kind: ArrowType) -> bool:
    """Whether values of a type come as texts that are to be read."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def cast_texts(texts: Array, kind: ArrowType) -> Array | None:
    """An array of texts as an array of `kind`; None where Arrow's reading could differ from ours."""
    if pa.types.is_binary(kind) or pa.types.is_nested(kind):
        return None  # base64 and JSON
    if pa.types.is_integer(kind) and _may_be_hexadecimal(texts):
        return None  # Arrow reads it
    try:
        array = texts.cast(kind)
    except ARROW_ERRORS:
        if not pa.types.is_timestamp(kind) or kind.tz is None:
            return None
    else:
        return None if is_beyond(array, texts) else array
    try:  # times without a zone are UTC
        return pc.assume_timezone(texts.cast(pa.timestamp("us")), "UTC")
    except ARROW_ERRORS:
        return None


def is_beyond(array: Array, texts: Array) -> bool:
    """Whether a number, and no word, became infinite."""
    if not pa.types.is_floating(array.type):
        return False
    numbers = texts.filter(pc.is_inf(array))
    beyond: bool = pc.any(pc.match_substring_regex(numbers, r"\d")).as_py()
    return bool(beyond)


def _may_be_hexadecimal(texts: Array) -> bool:
    characters = texts.buffers()[2]  # of all of them at once, in no time, and perhaps of others
    data = b"" if characters is None else characters.to_pybytes()
    has_x: bool = (b"x" in data or b"X" in data) and pc.any(pc.match_substring_regex(texts, "[xX]")).as_py()
    return has_x


def cut_by(pattern: re.Pattern[str], cells: Array) -> tuple[Array, dict[int, str]]:
    """What a pattern cuts out of texts, and what is to be said of those in which nothing fits it.

    A group that has no part in what fits is NULL.
    """
    texts = cells.to_pylist()
    matches = [None if text is None else pattern.search(text) for text in texts]
    cut = [None if one is None else one[pattern.groups] for one in matches]
    missed = (row for row, text in enumerate(texts) if text is not None and matches[row] is None)
    says = f"has nothing that fits the pattern {pattern.pattern!r}"
    return pa.array(cut, pa.string()), {row: f"{shown(texts[row])!r} {says}" for row in missed}
