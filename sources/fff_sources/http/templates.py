"""`{column}` in a spec's texts, filled with the values asked for: escaped as values, never pasted as text.

`{column:010}` is the value in at least 10 places, with zeros before it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fff.structs import lazy_pattern

#: `${env:NAME}` is a secret, not a column.
_PART = lazy_pattern(r"\{\{|\}\}|(?<!\$)\{([^{}]*?)(?::0(\d{1,2}))?\}")


def names(template: object) -> set[str]:
    """The columns a template names, in every string inside it."""
    if isinstance(template, str):
        return {match[1] for match in _PART.finditer(template) if match[1] is not None}
    if isinstance(template, Mapping):
        return set().union(*(names(item) for item in template.values()), set())
    if isinstance(template, list | tuple):
        return set().union(*(names(item) for item in template), set())
    return set()


def amid_text(template: object, name: str) -> bool:
    """Whether a column is but a part of a string in a template."""
    if isinstance(template, str):
        return name in names(template) and template != f"{{{name}}}"
    if isinstance(template, Mapping):
        return any(amid_text(item, name) for item in template.values())
    return isinstance(template, list | tuple) and any(amid_text(item, name) for item in template)


def fill_text(template: str, values: Mapping[str, str]) -> str:
    """The template with its columns replaced.

    Values are used as they are: whoever puts them into a URL escapes them.
    """
    return _fill(template, values)


def fill_json(template: object, values: Mapping[str, Any]) -> object:
    """A JSON body. A string that is nothing but `{column}` becomes the value itself, with its JSON type."""
    if isinstance(template, str):
        whole = _PART.fullmatch(template)
        if whole is not None and whole[1] is not None and whole[2] is None:
            return json_value(values[whole[1]])
        return _fill(template, {name: text_of(item) for name, item in values.items()})
    if isinstance(template, Mapping):
        return {key: fill_json(item, values) for key, item in template.items()}
    if isinstance(template, list | tuple):
        return [fill_json(item, values) for item in template]
    return template


def escaped(text: str) -> str:
    """Text that a template shows as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def segment(text: str) -> str:
    """A value as one URL path segment, or a part of it."""
    if text in (".", ".."):  # these would climb the path; percent-escaped they are names
        return text.replace(".", "%2E")
    return text if text.isalnum() and text.isascii() else quote(text, safe="")


def pieces(template: str) -> tuple[str | tuple[str, int], ...]:
    """A template as its texts, and its columns with the places that their values take at least."""
    parts: list[str | tuple[str, int]] = []
    at = 0
    for match in _PART.finditer(template):
        parts.append(template[at : match.start()])
        parts.append(match[0][0] if match[1] is None else (match[1], int(match[2] or 0)))
        at = match.end()
    return (*parts, template[at:])


def text_of(value: object) -> str:
    """A key value as requests carry it: ISO dates, UTC times with Z, plain decimals, lower-case truth values."""
    match value:
        case bool():
            return "true" if value else "false"
        case dt.datetime():
            if value.tzinfo is None:
                return value.isoformat()
            return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"
        case dt.date():
            return value.isoformat()
        case decimal.Decimal():
            return f"{value:f}"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return str(value)


def json_value(value: object) -> object:
    """A value as JSON has it: one with a JSON type of its own keeps it; every other becomes text."""
    return value if isinstance(value, bool | int | float | str | list) or value is None else text_of(value)


def _fill(template: str, values: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else values[match[1]].zfill(int(match[2] or 0))

    return _PART.sub(replace, template)
