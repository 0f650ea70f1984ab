"""Paths into JSON, `$.store.books[0]['title']`, as `get_json_object` of Spark follows them, hence as Hive did.

What is found is written again: texts bare, everything else as Java writes it, without blanks.
"""

from __future__ import annotations

import json
import math
import re
from typing import Literal

from fff.dataflow.kernels.written.doubles import write_double
from fff.structs import lazy_pattern

#: A name, a place in an array, or None for each element.
Step = str | int | None
#: How the values at the end of a path are put down: a text without quotes, with them, or what is in arrays as well.
Style = Literal["raw", "quoted", "flat"]

_STEP = lazy_pattern(r"\.([^.\[]+)|\['([^']+)'\]|\[([0-9]+)\]|(\[\*\])")
_ESCAPED = lazy_pattern(r"\\(?:u(00..)|.)")
#: Characters that are two in Java or half of one, and the latter.
_WIDE, _HALF = lazy_pattern("[\ud800-\udfff\U00010000-\U0010ffff]"), lazy_pattern("[\ud800-\udfff]")


class JsonObject(list[tuple[str, object]]):
    """The keys and values of a JSON object, in their order; a key may occur more than once."""


class Whole(str):
    """A whole number, as it is written."""

    __slots__ = ()


def path_steps(path: str) -> list[Step] | None:
    """The steps of a path; None of what is no path."""
    if not path.startswith("$"):
        return None
    steps: list[Step] = []
    place = 1
    while place < len(path):
        match = _STEP.match(path, place)
        if match is None:
            return None
        name, quoted, index, _each = match.groups()
        steps.append(int(index) if index else name or quoted)
        place = match.end()
    return steps


class _Output(list[str]):
    """Values that are put down one behind the other; `escapes` characters that are two in Java, as a stream of bytes does there."""

    def __init__(self, *, escapes: bool) -> None:
        self.escapes = escapes

    def put(self, value: object) -> None:
        """Put down JSON as Java's generators write it, however deep it is."""
        parts: list[str] = []
        left: list[object] = [value]
        while left:
            one = left.pop()
            if isinstance(one, _Mark):
                parts.append(one)
            elif isinstance(one, list):
                opens, closes = "{}" if isinstance(one, JsonObject) else "[]"
                parts.append(opens)
                left.append(_Mark(closes))
                for place in reversed(range(len(one))):
                    if isinstance(one, JsonObject):
                        key, each = one[place]
                        left += (each, _Mark(":"), key)
                    else:
                        left.append(one[place])
                    if place:
                        left.append(_Mark(","))
            else:
                parts.append(_scalar(one, escapes=self.escapes))
        self.append("".join(parts))


def at_path(value: object, steps: list[Step]) -> str | None:
    """What a path leads to in a JSON value, written as a text; None where it leads nowhere, or to half a character."""
    output = _Output(escapes=True)
    if not _follow(value, steps, "raw", output):
        return None
    written = " ".join(output)  # of a key that occurs twice both may have left something
    return None if _HALF.search(written) else written


def _follow(value: object, steps: list[Step], style: Style, output: _Output) -> bool:
    """Put down what the steps lead to; whether they lead anywhere."""
    if not steps:
        return _put_down(value, style, output)
    step, *further = steps
    if isinstance(value, JsonObject):
        return isinstance(step, str) and any(
            _follow(each, further, style, output) for key, each in value if key == step and each is not None
        )
    if not isinstance(value, list) or isinstance(step, str):
        return False
    twice = further[:1] == [None]
    if step is not None:
        return step < len(value) and _follow(value[step], further, "quoted" if twice else style, output)
    inner = _Output(escapes=output.escapes and (twice or style == "quoted"))
    below: Style = "flat" if twice or style == "flat" else "quoted"
    found = [_follow(each, further[twice:], below, inner) for each in value]
    if twice or style == "quoted" or sum(found) > 1:
        output.append(f"[{','.join(inner)}]")
    elif any(found):
        output.append(",".join(inner))
    return any(found)


def _put_down(value: object, style: Style, output: _Output) -> bool:
    """Put down a value that a path ends at; of arrays that are flattened, what is in them, if anything is."""
    if style == "flat" and _is_array(value):
        before, left = len(output), [value]
        while left:
            one = left.pop()
            if isinstance(one, list) and _is_array(one):
                left += reversed(one)
            else:
                output.put(one)
        return len(output) > before
    if style == "raw" and isinstance(value, str) and not isinstance(value, Whole):
        output.append(value)
    else:
        output.put(value)
    return True


def _is_array(value: object) -> bool:
    return isinstance(value, list) and not isinstance(value, JsonObject)


class _Mark(str):
    """What stands between values."""

    __slots__ = ()


def _scalar(value: object, *, escapes: bool) -> str:
    if isinstance(value, Whole):
        return "0" if value == "-0" else str(value)
    if isinstance(value, float):
        return write_double(value) if math.isfinite(value) else f'"{write_double(value)}"'
    written = json.dumps(value, ensure_ascii=False)
    if "\\u" in written:
        written = _ESCAPED.sub(lambda one: f"\\u{one[1].upper()}" if one[1] else one[0], written)
    return _WIDE.sub(_units, written) if escapes else written


def _units(wide: re.Match[str]) -> str:
    """A character as the numbers of its halves in Java."""
    halves = wide[0].encode("utf-16-be", "surrogatepass").hex("/", 2).upper()
    return "".join(f"\\u{half}" for half in halves.split("/"))
