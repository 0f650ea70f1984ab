"""Values of parameters that come as text, from a command line or from options: text to typed value."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from fff.errors import UsageError

_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d*)")
_DECIMAL = re.compile(r"[+-]?(?:0|[1-9]\d*)?\.\d+")
_DOUBLE = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def inferred(text: str) -> object:
    """The value a text means when no type is said."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2] if quoted[1] is None else quoted[1].replace("''", "'")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if _DOUBLE.fullmatch(text):
        return float(text)
    return text


def typed(what: str, kind: str, text: str) -> object:
    """The value of a text as the named type; raises UsageError, which begins with `what`, when it is not one."""
    convert = _TYPES.get(kind.lower())
    if convert is None:
        raise UsageError(f"{what}: unknown type {kind!r}", hint=f"one of {' '.join(_TYPES)}")
    if text.lower() == "null" and convert is not str:
        return None
    try:
        return convert(text)
    except (ValueError, InvalidOperation) as error:
        name = f"{'an' if kind.lower() == 'int' else 'a'} {kind.lower()}"
        hint = f"one is written {_WRITTEN[kind.lower()]}"
        raise UsageError(f"{what}: {text!r} is not {name}", hint=hint) from error


def boolean_of(text: str) -> bool:
    """`true` or `false`, in any case; raises ValueError."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _timestamp(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


_WRITTEN = {
    **dict.fromkeys(("int", "bigint"), "42 or -1"),
    **dict.fromkeys(("double", "decimal"), "0.50 or 1e-3"),
    "boolean": "true or false",
    "date": "2020-02-29",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "2020-02-29T08:00"),
}
_TYPES: dict[str, Callable[[str], object]] = {
    "string": str,
    "int": int,
    "bigint": int,
    "double": float,
    "decimal": Decimal,
    "boolean": boolean_of,
    "date": dt.date.fromisoformat,
    "timestamp": _timestamp,
    "timestamp_ntz": dt.datetime.fromisoformat,
}
