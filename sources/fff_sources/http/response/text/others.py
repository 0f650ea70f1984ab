"""What answers in the place of a text: pages of HTML, most of all, and errors written as JSON."""

from __future__ import annotations

import codecs
import re

from fff.structs import lazy_pattern
from fff_sources.http.response.json import MalformedJSON, decode

_HTML = lazy_pattern(
    rb"\s*(?:(?:<!--.*?-->|<\?xml[^>]*>)\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_JSON = lazy_pattern(rb'\s*(?:\{\s*(?:"[^"\n]*"\s*:|\}|\Z|\n)|\[\s*(?:\{\s*["}]|\]|\Z|\n))')
_LOOKED_AT = 2**16  # bytes


def begins_like_html(body: bytes) -> bool:
    """Whether a body is a page of HTML, whatever it calls itself."""
    return _HTML.match(body[:_LOOKED_AT].removeprefix(codecs.BOM_UTF8)) is not None


def is_xml(body: bytes) -> bool:
    """Whether a body says that it is XML."""
    return body[:_LOOKED_AT].removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<?xml")


def is_json(text: bytes) -> bool:
    """Whether a text that should be no JSON is an object or an array, or begins like no line of anything else."""
    start = text[:_LOOKED_AT].removeprefix(codecs.BOM_UTF8)
    if start.lstrip()[:1] not in (b"{", b"["):
        return False
    if _JSON.match(start) is not None:
        return True
    try:  # names of columns may stand in brackets
        decode(text)
    except (MalformedJSON, UnicodeDecodeError, RecursionError):
        return False
    return True


def in_place_of_lines(text: bytes) -> str | None:
    """What a text is that should be CSV, and is none; None where it may be."""
    first = text.lstrip()[:1] if text[:1].isspace() else text[:1]
    if first == b"<":
        if begins_like_html(text):
            return "it is HTML, perhaps a login or error page"
        return "it is XML" if is_xml(text) else None
    return "it is JSON" if first in (b"{", b"[") and is_json(text) else None
