"""Bodies of text in UTF-8; of XML and HTML, which are read like JSON, as JSON."""

from __future__ import annotations

import codecs
from http import HTTPStatus

from fff.web.types import Response
from fff_sources.http.response.json import encode
from fff_sources.http.response.text.csv_text import charset_of, marked_encoding, uncommented

#: Formats that are read as JSON.
MARKUP = frozenset({"xml", "html_table"})
_NULL = 200  # bytes in which null may stand


def text_of(answer: Response, form: str, encoding: str | None, comment: str | None) -> bytes:
    """The body of an answer in a format, without lines of CSV that begin with the comment's mark.

    `encoding`: whatever the answer says of itself; its mark says more than its headers.
    Raises UnicodeDecodeError, MalformedMarkupError.
    """
    body = answer.body
    if is_blank(body):
        return b""
    marked = None if encoding else marked_encoding(body)
    charset = encoding or marked or charset_of(answer.headers)
    if marked == "utf-8":
        body = body[len(codecs.BOM_UTF8) :]
    elif charset is not None:
        text = body.decode(charset)
        if form == "xml":  # what the document says of its own encoding no longer holds
            return _xml(text)
        body = text.removeprefix("\ufeff").encode()
    if form == "xml":
        return _xml(body)
    if form == "html_table":
        return _html_tables(body.decode())
    return body if comment is None else uncommented(body, comment.encode())


def _xml(body: bytes | str) -> bytes:
    from fff_sources.http.response.text.markup import xml_value  # noqa: PLC0415 - few sources answer so

    return encode(xml_value(body))


def _html_tables(text: str) -> bytes:
    from fff_sources.http.response.text.html_table import html_tables  # noqa: PLC0415 - few sources answer so

    return encode(html_tables(text))


def is_blank(body: bytes) -> bool:
    """Whether there is nothing, or white space alone; found out without a copy, as bodies may be large."""
    return not body or body.isspace()


def lacks_a_body(response: Response, form: str, *, is_scan: bool) -> bool:
    """Nothing where even no rows are some bytes, or null of a scan: as an end, it would lose what follows."""
    if response.status == HTTPStatus.NO_CONTENT or form == "ndjson":
        return False
    null = is_scan and form == "json" and response.body[:_NULL].strip() == b"null"
    return is_blank(response.body) or null
