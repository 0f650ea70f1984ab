"""Values of parameters: those that come as text, from a command line or from options, and those of other libraries."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa

from fff.errors import UsageError
from fff.schema import MOST_DIGITS
from fff.structs import lazy_pattern

_INTEGER = lazy_pattern(r"[+-]?(?:0|[1-9]\d*)")
_DECIMAL = lazy_pattern(r"[+-]?(?:0|[1-9]\d*)?\.\d+")
_DOUBLE = lazy_pattern(r"[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_WHOLE = lazy_pattern(r"[+-]?\d+", re.ASCII)
_NUMBER = lazy_pattern(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NOT_ZERO = lazy_pattern(r"[+-]?[0.]*[1-9]")
_BEYOND_NUMBERS = lazy_pattern(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_QUOTED = lazy_pattern(r"'((?:[^']|'')*)'|\"([^\"]*)\"")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


class BigInt(int):
    """A whole number of SQL's type bigint, however small it is: without it one that fits is an int."""


def plain(name: str, value: object) -> object:
    """The Python value of a scalar of numpy, pandas or Arrow, which neither SQL's literals nor the engine know.

    Raises UsageError: it is finer than SQL's types.
    """
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    kind = type(value)
    if kind.__module__.startswith("pandas.") and kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.datetime64):
        micros = value.astype("datetime64[us]")
        if micros != value and not np.isnat(value):
            raise _too_fine(name, value)
        return (
            micros.item()
            if np.datetime_data(value)[0] not in "YMWD"
            else value.astype("datetime64[D]").item()
        )
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dt.datetime) and hasattr(value, "to_pydatetime"):  # a Timestamp of pandas
        if getattr(value, "nanosecond", 0):
            raise _too_fine(name, value)
        return value.to_pydatetime()
    if isinstance(value, int) and not isinstance(value, bool | BigInt):
        return int(value)  # members of IntEnum are whole numbers, too
    return value


def _too_fine(name: str, value: object) -> UsageError:
    return UsageError(f"parameter {name} is {value}: SQL has microseconds", hint="round it")


def inferred(what: str, text: str) -> object:
    """The value a text means when no type is said; raises UsageError, which begins with `what`, for a number that none has."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2] if quoted[1] is None else quoted[1].replace("''", "'")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    numbers = {"decimal": _DECIMAL, "double": _DOUBLE}
    kind = next((kind for kind, pattern in numbers.items() if pattern.fullmatch(text)), None)
    try:
        if _INTEGER.fullmatch(text):
            typed(what, "decimal", text)  # Python's have no end
            return int(text)
        return text if kind is None else typed(what, kind, text)
    except UsageError as error:
        raise UsageError(error.message, hint=f"{error.hint}; NAME:string=… is a text") from None


def typed(what: str, kind: str, text: str) -> object:
    """The value of a text as the named type; raises UsageError, which begins with `what`, when it is not one."""
    convert = _TYPES.get(kind.lower())
    if convert is None:
        raise UsageError(f"{what}: unknown type {kind!r}", hint=f"one of {' '.join(_TYPES)}")
    if text.lower() == "null" and convert is not str:
        return None
    try:
        return convert(text)
    except (ValueError, OverflowError) as error:
        name = f"{'an' if kind.lower() == 'int' else 'a'} {kind.lower()}"
        hint = f"one is written {_WRITTEN[kind.lower()]}"
        raise UsageError(f"{what}: {text!r} is not {name}", hint=hint) from error


def boolean_of(text: str) -> bool:
    """`true` or `false`, in any case; raises ValueError."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _int(text: str) -> int:
    return _whole(text, 32)


def _bigint(text: str) -> int:
    return BigInt(_whole(text, 64))


def _whole(text: str, bits: int) -> int:
    """Digits alone: Python would take 1_000, and numbers of any size. Raises ValueError."""
    value = int(text) if _WHOLE.fullmatch(text) else None
    if value is None or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(text)
    return value


def _double(text: str) -> float:
    value = float(text)
    if _BEYOND_NUMBERS.fullmatch(text):
        return value
    lost = not value and _NOT_ZERO.match(text) is not None
    if not _NUMBER.fullmatch(text) or not math.isfinite(value) or lost:
        raise ValueError(text)
    return value


def _decimal(text: str) -> Decimal:
    """A number that Spark's widest decimal holds: neither NaN nor one of more digits. Raises ValueError."""
    if not _NUMBER.fullmatch(text) or not fits(value := Decimal(text)):
        raise ValueError(text)
    return value


def fits(value: Decimal) -> bool:
    """Whether SQL's widest decimal holds a number."""
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and max(len(digits) + max(exponent, 0), -exponent) <= MOST_DIGITS


def _timestamp(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    return moment.astimezone(dt.UTC) if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _timestamp_ntz(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError(text)
    return moment


_WRITTEN = {
    **dict.fromkeys(("int", "bigint"), "42 or -1"),
    "double": "0.50 or 1e-3, from 4.9e-324 to 1.8e308",
    "decimal": f"0.50 or 1e-3, with {MOST_DIGITS} digits at most",
    "boolean": "true or false",
    "date": "2020-02-29",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "2020-02-29T08:00"),
}
_TYPES: dict[str, Callable[[str], object]] = {
    "string": str,
    "int": _int,
    "bigint": _bigint,
    "double": _double,
    "decimal": _decimal,
    "boolean": boolean_of,
    "date": dt.date.fromisoformat,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
}
