"""Bodies of text in UTF-8; of XML and HTML, which are read like JSON, as JSON."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from http import HTTPStatus

from fff.structs import lazy_pattern
from fff.web.types import Response
from fff_sources.http.response.json import encode
from fff_sources.http.response.text.csv_text import charset_of, marked_encoding, uncommented

#: Formats that are read as JSON.
MARKUP = frozenset({"xml", "html_table"})
_NULL = 200  # bytes in which null may stand
#: Encodings that servers name whatever they send, as their programs do where nobody said another.
_BY_DEFAULT = frozenset({"iso8859-1", "cp1252", "iso8859-15"})
#: What a document says of its own encoding, near its beginning.
_OWN = {
    "xml": lazy_pattern(rb"""\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)"""),
    "html_table": lazy_pattern(rb"""(?is).{0,4096}?<meta[^>]{0,300}?\bcharset\s*=\s*["']?\s*([\w.:-]+)"""),
}
#: Whoever names ISO 8859-1 and has characters that it has not means Windows-1252, as browsers take it.
_MEANT = {code: text for code in range(0x80, 0xA0) if (text := bytes([code]).decode("cp1252", "ignore"))}
_CONTROLS = lazy_pattern("[\x80-\x9f]")


def text_of(answer: Response, form: str, encoding: str | None, comment: str | None) -> bytes:
    """The body of an answer in a format, without lines of CSV that begin with the comment's mark.

    `encoding`: whatever the answer says of itself; its mark says more than its headers, these more than it.
    Raises UnicodeDecodeError, MalformedMarkupError.
    """
    body = answer.body
    if is_blank(body):
        return b""
    marked = None if encoding else marked_encoding(body)
    charset = encoding or marked or _claimed(body, form, answer.headers)
    if marked == "utf-8":
        body = body[len(codecs.BOM_UTF8) :]
    elif charset is not None:
        text = _decoded(body, charset)
        if form == "xml":  # what the document says of its own encoding no longer holds
            return _xml(text)
        body = text.removeprefix("\ufeff").encode()
    if form == "xml":
        return _xml(body)
    if form == "html_table":
        return _html_tables(body.decode())
    return body if comment is None else uncommented(body, comment.encode())


def _claimed(body: bytes, form: str, headers: Mapping[str, str]) -> str | None:
    """The encoding that an answer says by its header, or by itself; None where there is nothing to be done about it."""
    charset, own = charset_of(headers), None
    if charset is None and form in _OWN and (own := _OWN[form].match(body)) is not None:
        charset = charset_of({"content-type": f"; charset={own[1].decode()}"})
        charset = None if charset is not None and charset.startswith("utf") else charset
    # A document may have been written anew since it said so.
    if (charset in _BY_DEFAULT or (charset is not None and own is not None)) and not body.isascii():
        try:
            body.decode()  # by chance no text of another encoding is in UTF-8
        except UnicodeDecodeError:
            return charset
        return "utf-8"
    return charset


def _decoded(body: bytes, charset: str) -> str:
    text = body.decode(charset)
    if codecs.lookup(charset).name == "iso8859-1" and _CONTROLS.search(text) is not None:
        return text.translate(_MEANT)
    return text


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
