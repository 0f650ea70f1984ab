"""JSON as Spark's parser takes it: with texts in either quotes, and whatever stands behind the first value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.kernels.values import Kernel, Value, as_array, over_unique
from fff.dataflow.kernels.written.json_paths import JsonObject, Whole, at_path, path_steps
from fff.schema import ArrowType
from fff.structs import lazy_pattern

_ESCAPE = r"\\(?:[\"\\/bfnrt']|u[0-9a-fA-F]{4})"
_TEXT = rf"\"(?:[^\"\\]|{_ESCAPE})*+\"|'(?:[^'\\]|{_ESCAPE})*+'"
#: Its parts may be given back, as Python 3.11 forgets what it matched of one in `(…)?+`; `_TOKEN` takes none cut short.
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_TOKEN = lazy_pattern(
    rf"[ \t\r\n]*+(?:([\[\]{{}},:])|({_TEXT})|({_NUMBER}|true|false|null)(?![A-Za-z0-9_.$]))"
)
_ESCAPED = lazy_pattern(r"\\(?:u(....)|(.))", re.DOTALL)
_MEANS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
#: Of no more levels, and of numbers of no more digits, does the parser read.
_DEEPEST, _LONGEST = 1000, 1000
#: Up to so many brackets no count of levels is needed.
_SHALLOW = 500


class NoJsonError(ValueError):
    """A text does not begin with a JSON value."""


def _number(text: str) -> object:
    if len(text) > _LONGEST and sum(map(str.isdigit, text.removeprefix("-").removeprefix("0."))) > _LONGEST:
        raise NoJsonError
    return Whole(text) if text.lstrip("-").isdigit() else float(text)


def _refuse(_text: str) -> object:
    raise NoJsonError


_STRICT = json.JSONDecoder(
    object_pairs_hook=JsonObject, parse_int=_number, parse_float=_number, parse_constant=_refuse
)


def read(text: str) -> object:
    """The value that a text begins with: JsonObject, a list, a text, a Whole, a float, a truth or None.

    Raises:
        NoJsonError: there is none.
    """
    bare = text.lstrip(" \t\r\n")
    if bare.startswith(("{", "[")) and bare.count("[") + bare.count("{") < _SHALLOW:
        try:
            return _STRICT.raw_decode(bare)[0]
        except ValueError:
            pass  # with texts in single quotes or with tabs in them it may be one all the same
    return _read_slowly(bare)


def _read_slowly(text: str) -> object:
    place = 0
    root: list[object] = []
    #: What is open, innermost last, and the key that the next value is for.
    stack: list[list[object]] = [root]
    keys: list[str | None] = [None]
    expected = "value"
    while True:
        match = _TOKEN.match(text, place)
        if match is None:
            raise NoJsonError
        place = match.end()
        mark, quoted, plain = match.groups()
        inner = stack[-1]
        if expected in {"value", "value or end"} and (quoted or plain or mark in ("[", "{")):
            value: object
            if mark:
                value = [] if mark == "[" else JsonObject()
            elif quoted:
                value = _bare(quoted)
            else:
                value = _WORDS[plain] if plain in _WORDS else _number(plain)
            inner.append((keys[-1], value) if isinstance(inner, JsonObject) else value)
            if isinstance(value, list):
                stack.append(value)
                keys.append(None)
                if len(stack) > _DEEPEST + 1:
                    raise NoJsonError
                expected = "value or end" if mark == "[" else "key or end"
                continue
        elif expected in {"key", "key or end"} and quoted:
            keys[-1] = _bare(quoted)
            expected = "colon"
            continue
        elif expected == "colon" and mark == ":":
            expected = "value"
            continue
        elif expected == "more" and mark == ",":
            expected = "key" if isinstance(inner, JsonObject) else "value"
            continue
        elif mark and mark in "]}" and expected in {"more", "value or end" if mark == "]" else "key or end"}:
            if isinstance(inner, JsonObject) != (mark == "}"):
                raise NoJsonError
            stack.pop()
            keys.pop()
        else:
            raise NoJsonError
        if len(stack) == 1:
            if plain and plain not in _WORDS and text[place : place + 1] not in {"", " ", "\t", "\r", "\n"}:
                raise NoJsonError
            return root[0]
        expected = "more"


def _bare(quoted: str) -> str:
    """A text without its quotes and escapes."""
    bare = _ESCAPED.sub(
        lambda one: chr(int(one[1], 16)) if one[1] else _MEANS.get(one[2], one[2]), quoted[1:-1]
    )
    return (
        bare.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if "\\u" in quoted else bare
    )


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) and not isinstance(value, JsonObject) else None


def _keys(value: object) -> list[str] | None:
    """The keys of an object, in which halves of characters become question marks, as in Java."""
    keys = [key for key, _value in value] if isinstance(value, JsonObject) else None
    return keys and [key.encode("utf-8", "replace").decode() for key in keys]


def _of_each(texts: Value, answer: Callable[[object], object], kind: ArrowType) -> Value:
    """What Python answers of the JSON in each different text, NULL where there is none."""

    def of_text(text: str | None) -> object:
        try:
            return None if text is None else answer(read(text))
        except NoJsonError:
            return None

    return over_unique(
        as_array(texts), lambda one: pa.array([of_text(each) for each in one.to_pylist()], kind)
    )


def _of_value(answer: Callable[[object], object]) -> Kernel:
    return lambda args, kind: _of_each(args[0], answer, kind)


def _at_path(args: Sequence[Value], kind: ArrowType) -> Value:
    path = args[1].as_py()
    steps = None if path is None else path_steps(path)
    return _of_each(args[0], lambda value: None if steps is None else at_path(value, steps), kind)


JSON_TEXTS: dict[str, Kernel] = {
    "json_array_length": _of_value(_length),
    "json_object_keys": _of_value(_keys),
    "get_json_object": _at_path,
}
