"""What an answer that cannot be read is instead: a page of HTML, text in another encoding, half an answer."""

from __future__ import annotations

import json
import re
from itertools import islice

import pyarrow as pa

from fff.errors import SourceError
from fff.structs import lazy_pattern
from fff.web.types import Response
from fff_sources.http.columnar import ARROW_FILE, ARROW_STREAM
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.members import arrays_in
from fff_sources.http.response.records import Origin
from fff_sources.http.response.streaming import GZIP, ZIP
from fff_sources.http.response.text.csv_text import BEHIND_A_QUOTE, marked_encoding
from fff_sources.http.response.text.others import begins_like_html, is_json, is_xml
from fff_sources.http.response.values import shown
from fff_sources.http.shaping import MalformedMarkupError, OtherNumberError

_TITLE = lazy_pattern(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_LOOKED_AT = 2**16  # bytes
#: Formats as answers call them.
_NAMED = {
    **dict.fromkeys(("text/csv", "application/csv", "text/tab-separated-values"), "csv"),
    **dict.fromkeys(("application/x-ndjson", "application/ndjson", "application/jsonl"), "ndjson"),
    **dict.fromkeys(("application/xml", "text/xml"), "xml"),
    "application/json": "json",
}
#: The escape of half a surrogate pair, or of a whole one.
_HALF = lazy_pattern(rb"\\u[dD][89a-fA-F]")
#: Numbers that some write and JSON has not.
_NO_NUMBER = lazy_pattern(rb"[:\[,]\s*-?(?:NaN|Infinity)\b")
_TITLE_WIDTH = 80  # characters
_SHOWN = 200  # characters of an answer that are shown
_MOST_MEMBERS = 12
_LARGEST = 2**20  # bytes of an answer whose members are told


class TooManyColumnsError(Exception):
    """An answer has more columns than a table may have that nothing declares."""


#: In what the readers of CSV and of tables say of a row that can be left out.
_OF_A_ROW = (" columns, got ", BEHIND_A_QUOTE)


class BareLineError(Exception):
    """CSV whose columns nobody declares is one name and no row; its argument is the name."""

    @property
    def told(self) -> tuple[str, str]:
        """What is wrong, and what to do."""
        text = shown(self.args[0])
        message = f"the answer is one line without a delimiter, which may be a message: {text.strip()!r}"
        return message, "where it is the only column of a table without rows, declare it under columns"


class NoRecordsError(Exception):
    """The answer is JSON, but holds no records where they should be."""


class Explained:
    """Turns everything that reading a body can end with into a SourceError. No generator: every answer goes through it."""

    def __init__(self, form: str, encoding: str | None, answer: Response, origin: Origin) -> None:
        self._form, self._encoding = form, encoding
        self._answer = answer
        self._origin = origin

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None and (explained := self._explained(error)) is not None:
            raise explained from None  # the cause would show the answer as it came, secrets and all

    def _explained(self, error: BaseException) -> SourceError | None:
        name, origin, body = self._form, self._origin, self._answer.body
        if name == "parquet" and body.startswith((ARROW_FILE, ARROW_STREAM)):
            name = "arrow"
        match error:
            case MalformedJSON() | UnicodeDecodeError() | pa.ArrowException() | MalformedMarkupError():
                kind = self._answer.headers.get("content-type", "no content type").split(";", maxsplit=1)[0]
                local = "://" not in self._answer.url
                problem, hint = diagnosis(body, name, self._encoding, str(error), local=local)
                if problem is None and any(words in str(error) for words in _OF_A_ROW):
                    hint = (
                        "correct the row, or leave such rows out, counted: on_bad_record: skip on the table"
                    )
                text, named = origin.redact(problem or _short(error)), _NAMED.get(kind.strip().lower())
                if hint is None and named not in (None, name):
                    hint = f"declare format: {named} in the endpoint, as the answer calls itself"
                what = (
                    f"the file is not valid {name}" if local else f"the answer is not valid {name} ({kind})"
                )
                return origin.error(f"{what}: {text}", hint)
            case NoRecordsError():
                text = shown(origin.redact(body[:_LOOKED_AT].decode("utf-8", "replace")), _SHOWN)
                members = origin.redact(members_told(body))
                hint = f"data_selector must name the place of the records in the answer, which {members}begins {text}"
                return origin.error(str(error), hint)
            case BareLineError():
                return origin.error(*error.told)
            case OtherNumberError():
                return origin.error(str(error), "leave out answers: by_position, or make batch.size smaller")
            case TooManyColumnsError():
                hint = (
                    "declare those that are needed under columns; where the names are data, data_selector: '*' "
                    "takes each value for a record"
                )
                return origin.error(str(error), hint)
            case RecursionError():  # its context would be a thousand lines
                return origin.error(f"the answer is not readable {name}: nested too deeply")
        return None


def diagnosis(
    body: bytes, form: str, encoding: str | None, error: str, *, local: bool = False
) -> tuple[str | None, str | None]:
    """What is wrong with a body, and what to do; nothing where only its reader knows.

    `error` is what that one says; `local`: the body is a file, and has no endpoint.
    """
    place = "in a spec of `type: files`" if local else "of the answer in the endpoint"
    head = body[:_LOOKED_AT]
    if begins_like_html(body) and form != "html_table":
        titled = _TITLE.search(head)
        from html import unescape  # noqa: PLC0415 - loads all names of characters

        title = " ".join(unescape(titled[1].decode("utf-8", "replace")).split()) if titled else ""
        title = "".join(char if char.isprintable() else " " for char in title)[:_TITLE_WIDTH]
        return (
            "it is a page of HTML" + (f", titled {title!r}" if title else ""),
            "a wrong path, a login or a guard against robots answers so: look at the address in a browser",
        )
    if body.startswith(GZIP):
        return "it is compressed, and does not say so", "declare it in the endpoint: decode: gzip"
    if body.startswith(ZIP) and form != "parquet":
        return "it is a zip file", "declare it in the endpoint, of a source of `type: rest`: decode: zip"
    named = marked_encoding(body) or "utf-8"
    if form in ("json", "ndjson", "csv") and encoding is None and not _is_in(body, named):
        return (
            f"it is not in {named.upper()}",
            f"declare the encoding {place}: encoding: latin-1 (or windows-1252, utf-16, …)",
        )
    if form == "csv" and is_json(body):
        return (
            f"it is JSON, which begins {shown(head.decode('utf-8', 'replace'))}",
            f"an error may be told so; where it is what the source answers, declare format: json {place}",
        )
    if (form == "json" and head.lstrip().startswith(b"<")) or (form == "csv" and is_xml(body)):
        return "it is XML", "where that is what the source answers, declare format: xml in the endpoint"
    if form in ("json", "ndjson") and _NO_NUMBER.search(body) and _is_read_by_python(body, form):
        return (
            "it has NaN or Infinity, which JSON has not",
            "write null or a text in their place where it is made, or Parquet, which has them",
        )
    halves = _HALF.search(body) and ("truncated" in error or "surrogate" in error)
    if form in ("json", "ndjson") and halves and _is_read_by_python(body, form):
        return (
            "a text in it has half a surrogate pair (such as \\ud800), which is no character",
            "the source cuts its texts in the middle of a character: nothing but the source can mend it",
        )
    if form == "json" and "truncated" in error:
        return (
            f"it ends in the middle, after {len(body):,} bytes",
            "the server, or something on the way, cut it: try again, or ask for smaller pages",
        )
    return None, None


def members_told(body: bytes) -> str:
    """The members that a small answer has at its top, as a piece of a sentence; nothing where it has none."""
    if len(body) > _LARGEST:
        return ""
    try:
        top = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if isinstance(top, list):
        return "is an array itself (data_selector: $) and "
    if not isinstance(top, dict) or not top:
        return ""
    lists = list(islice(arrays_in(top), 2))
    names = ", ".join(repr(name) for name in islice(top, _MOST_MEMBERS))
    more = ", …" if len(top) > _MOST_MEMBERS else ""
    members = f"has {names}{more}"
    if not lists:
        return f"{members} (no array: data_selector: $ takes it for one record) and "
    return f"{members} (an array: {lists[0]!r}) and " if len(lists) == 1 else f"{members} and "


def _is_read_by_python(body: bytes, form: str) -> bool:
    """Whether JSON is sound but for what Python's reader lets pass: texts with half of a character, NaN and Infinity."""
    try:
        for line in [body] if form == "json" else filter(bytes.strip, body.split(b"\n")):
            json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_in(body: bytes, encoding: str) -> bool:
    try:
        body.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 120 else text[:120] + "…"
