r"""What stands between quotation marks, and marks that only look like them: the value that Spark reads in `'O\'Brien'` and in `'\u00e9'`.

The rules are those of `SparkParserUtils.unescapeSQLString`, which counts in units of UTF-16: two escapes may make one
character, and a half of one that stays alone becomes `?` where Spark makes bytes of it.
"""

from __future__ import annotations

import re

from fff.structs import lazy_pattern

_ESCAPE = lazy_pattern(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))", re.DOTALL)
#: Wildcards of LIKE keep their backslash; any other character that is not listed stands for itself.
_MEANS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": r"\%", "_": r"\_"}
_HALF = lazy_pattern("[\ud800-\udfff]")
#: What word processors write in place of marks that SQL knows.
_STRAIGHT = {"'": "‘’‚‛", "' (or ` around a name)": "“”„‟«»", "-- or -": "—", "-": "–−"}  # noqa: RUF001 - those that look alike
TYPESET_FOR = {mark: meant for meant, marks in _STRAIGHT.items() for mark in marks}
TYPESET = lazy_pattern(f"[{''.join(TYPESET_FOR)}]")


def string_value(spelled: str) -> str:
    """The value of one text as it is spelled, with its quotation marks and without an `r` before them."""
    inside = spelled[1:-1]
    if "\\" not in inside:
        return inside
    read = _ESCAPE.sub(_unescaped, inside)
    if _HALF.search(read) is None:
        return read
    return _HALF.sub("?", read.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))


def _unescaped(escape: re.Match[str]) -> str:
    four, eight, octal, other = escape.groups()
    if four is not None:
        return chr(int(four, 16))
    if octal is not None:
        return chr(int(octal, 8))
    if eight is None:
        return _MEANS.get(other, other)
    above, below = divmod(int(eight, 16) - 0x10000, 0x400)
    if above < 0:
        return chr(int(eight, 16))
    return chr((0xD800 + above) & 0xFFFF) + chr(0xDC00 + below)  # what Spark makes of what is no character


def unclosed(text: str) -> int | None:
    """The offset of the quotation mark or comment in a statement that runs to its end."""
    index = 0
    while index < len(text):
        char = text[index]
        if char in "'\"`":
            start, index = index, index + 1
            while index < len(text) and text[index] != char:
                index += 2 if text[index] == "\\" and char != "`" else 1
            if index >= len(text):
                return start
        elif text.startswith("--", index):
            index = (text.find("\n", index) + 1 or len(text)) - 1
        elif text.startswith("/*", index):
            end = text.find("*/", index + 2)
            if end < 0:
                return index
            index = end + 1
        index += 1
    return None
