"""JSON as Spark's parser takes it: with texts in either quotes, and whatever stands behind the first value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.kernels.values import Kernel, Value, as_array, over_unique
from fff.schema import ArrowType

_ESCAPE = r"\\(?:[\"\\/bfnrt']|u[0-9a-fA-F]{4})"
_TEXT = rf"\"(?:[^\"\\]|{_ESCAPE})*+\"|'(?:[^'\\]|{_ESCAPE})*+'"
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_TOKEN = re.compile(rf"[ \t\r\n]*+(?:([\[\]{{}},:])|({_TEXT})|({_NUMBER}|true|false|null)(?![A-Za-z0-9_.$]))")
_ESCAPED = re.compile(r"\\(?:u(....)|(.))", re.DOTALL)
_MEANS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
#: Of no more levels, and of numbers of no more digits, does the parser read.
_DEEPEST, _LONGEST = 1000, 1000


def parts(text: str) -> tuple[str, list[str]] | None:
    """The bracket that a text begins with, and the keys or the number of values in it; None where it is no such JSON."""
    place, stack, keys, count = 0, "", [], 0
    expected = "value"
    while True:
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        place = match.end()
        mark, quoted, plain = match.groups()
        if expected in {"value", "value or end"} and (quoted or plain or mark in ("[", "{")):
            if plain and len(plain) > _LONGEST:
                return None
            if not stack and not mark:
                return None
            count += len(stack) == 1
            if mark:
                stack += mark
                if len(stack) > _DEEPEST:
                    return None
                expected = "value or end" if mark == "[" else "key or end"
                continue
        elif expected in {"key", "key or end"} and quoted:
            if len(stack) == 1:
                keys.append(_read(quoted))
            expected = "colon"
            continue
        elif expected == "colon" and mark == ":":
            expected = "value"
            continue
        elif expected == "more" and mark == ",":
            expected = "value" if stack[-1] == "[" else "key"
            continue
        elif mark and mark in "]}" and expected in {"more", "value or end" if mark == "]" else "key or end"}:
            if stack[-1] != ("[" if mark == "]" else "{"):
                return None
            first, stack = stack[0], stack[:-1]
            if not stack:
                return first, keys if first == "{" else [""] * count
        else:
            return None
        expected = "more"


def _read(quoted: str) -> str:
    """A text without its quotes and escapes; halves of characters become question marks, as in Java."""
    bare = _ESCAPED.sub(
        lambda one: chr(int(one[1], 16)) if one[1] else _MEANS.get(one[2], one[2]), quoted[1:-1]
    )
    return (
        bare.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")
        if "\\u" in quoted
        else bare
    )


def _length(text: str) -> int | None:
    outline = parts(text)
    return len(outline[1]) if outline is not None and outline[0] == "[" else None


def _keys(text: str) -> list[str] | None:
    outline = parts(text)
    return outline[1] if outline is not None and outline[0] == "{" else None


def _of_text(change: Callable[[str], object]) -> Kernel:
    """A kernel that asks Python about each different text."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        return over_unique(
            as_array(args[0]),
            lambda one: pa.array([None if each is None else change(each) for each in one.to_pylist()], kind),
        )

    return kernel


JSON_TEXTS: dict[str, Kernel] = {"json_array_length": _of_text(_length), "json_object_keys": _of_text(_keys)}
