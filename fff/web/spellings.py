"""How a secret may look when somebody repeats it: escaped for JSON, a URL, HTML or XML, in another encoding, in other case.

`spellings` lists the usual ones, of the whole secret. `pattern` finds any mixture, character by character,
for secrets in
which some character has several: what escapes one character may leave the next as it is.
"""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from html.entities import codepoint2name
from urllib.parse import quote, quote_plus

from fff.structs import lazy_pattern

#: Characters from which on a secret is hidden in other case, too; shorter ones may be words.
CASELESS = 8
_ENCODINGS = ("utf-8", "latin-1", "cp1252")
#: Characters that are left as they are in URLs: by RFC 3986, Python's `quote`, JavaScript's `encodeURIComponent` and `encodeURI`.
_LEFT = ("", "/", "!'()*", ";,/?:@&=+$#!'()*")
#: Characters that nobody escapes.
_PLAIN = lazy_pattern(r"[A-Za-z0-9]*")
_NAMED = {chr(number): name for number, name in codepoint2name.items()} | {"'": "apos"}


def spellings(secret: str) -> set[str]:
    """The usual spellings of a whole secret."""
    forms = {secret, unicodedata.normalize("NFC", secret), unicodedata.normalize("NFD", secret)}
    if len(secret) >= CASELESS:
        forms |= {secret.lower(), secret.upper()}
    for text in list(forms):
        escaped = json.dumps(text)[1:-1]
        forms |= {
            quote(text, safe="", errors="replace"),
            quote(text, errors="replace"),
            quote_plus(text, errors="replace"),
            escaped,
            _upper(r"\\u[0-9a-f]{4}", escaped),
            json.dumps(text, ensure_ascii=False)[1:-1],
            escaped.replace("/", "\\/"),
            html.escape(text),
            "".join(_entity(char, "#{:d}") for char in text),
            "".join(_entity(char, "#x{:x}") for char in text),
            repr(text)[1:-1],
            ascii(text)[1:-1],
            *_encoded(text),
            *_spelled_out(text),
        }
    forms |= set(_packed_as_a_part(secret))
    forms |= {_lower_percents(form) for form in forms}
    return {form for form in forms if form.strip("\ufffd")}


def _encoded(text: str) -> Iterator[str]:
    """As it looks in or through other encodings, and in base64."""
    for name in _ENCODINGS:
        try:
            data = text.encode(name)
        except UnicodeEncodeError:
            continue
        yield data.decode("latin-1")  # what is read as Latin-1, whatever it is
        yield data.decode("cp1252", "replace")
        yield data.decode("utf-8", "surrogateescape")
        yield data.decode("utf-8", "replace")
        yield repr(data)[2:-1]
        yield quote(data, safe="")
        yield quote_plus(data)
        if len(data) >= CASELESS:
            yield data.hex()
            yield data.hex().upper()
        for pack in (base64.b64encode, base64.urlsafe_b64encode):
            packed = pack(data).decode()
            yield packed
            yield packed.rstrip("=")
            if len(data) >= CASELESS:
                yield from _amid(data, pack)


def _packed_as_a_part(secret: str) -> Iterator[str]:
    """Within something that is packed in base64 after the secret was escaped, packed, or written as Windows does.

    A token for the next page is often the URL or the JSON of the request; a header is kept packed whose value was packed.
    """
    escaped = json.dumps(secret)[1:-1]
    texts = {escaped, escaped.replace("/", "\\/"), quote_plus(secret, errors="replace")}
    texts |= {quote(secret, safe=left, errors="replace") for left in _LEFT}
    parts = {text.encode() for text in texts - {secret}}
    parts |= {piece.encode() for piece in _amid(secret.encode(errors="replace"), base64.b64encode)}
    parts.add(secret.encode("utf-16-le", "replace"))
    for data in parts:
        for pack in (base64.b64encode, base64.urlsafe_b64encode):
            if len(data) >= CASELESS:
                yield from _amid(data, pack)


def _spelled_out(text: str) -> Iterator[str]:
    """With each character escaped, those as well that nobody has to escape; and its bytes one by one."""
    data, units = text.encode(errors="replace"), text.encode("utf-16-be", errors="replace")
    pairs = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    for form, numbers in (
        *(("%{:02X}", data), ("\\x{:02x}", data), ("\\u{:04x}", pairs)),
        *(("&#{:d};", map(ord, text)), ("&#x{:x};", map(ord, text))),
    ):
        written = "".join(form.format(number) for number in numbers)
        yield from {written, re.sub(r"(?<=[x%u])[0-9a-f]+", lambda digits: digits[0].upper(), written)}
    for between in ":- " if len(data) >= CASELESS else "":
        yield from (data.hex(between), data.hex(between).upper())


def _amid(data: bytes, pack: Callable[[bytes], bytes]) -> Iterator[str]:
    """What of it base64 writes alike whatever stands before and behind, as the user does before a password."""
    for before in range(3):
        packed = pack(bytes(before) + data).decode().rstrip("=")
        whole = len(packed) - (
            (before + len(data)) % 3 > 0
        )  # else the last digit holds bits of what is behind
        yield packed[(0, 2, 3)[before] : whole]


def _entity(char: str, form: str) -> str:
    return char if char.isalnum() and char.isascii() else "&" + form.format(ord(char)) + ";"


def _upper(escape: str, text: str) -> str:
    return re.sub(escape, lambda match: match[0][:2] + match[0][2:].upper(), text)


def _lower_percents(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def pattern(secret: str) -> re.Pattern[str] | None:
    """Finds every mixture of spellings; None where no character has more than one, or where it would find words."""
    if _PLAIN.fullmatch(secret):
        return re.compile(re.escape(secret), re.IGNORECASE) if len(secret) >= CASELESS else None
    caseless = len(secret) >= CASELESS
    return re.compile("".join(_any(char, caseless=caseless) for char in secret))


def _any(char: str, *, caseless: bool) -> str:
    cases = {char, char.lower(), char.upper()} if caseless else {char}
    parts = [part for case in sorted(cases) for part in _one(case) if caseless or part != "\ufffd"]
    apart = unicodedata.normalize("NFD", char)
    if apart != char:
        parts.append("".join(_any(part, caseless=caseless) for part in apart))
    return f"(?:{'|'.join(dict.fromkeys(parts))})"


def _one(text: str) -> Iterator[str]:
    """What a character (two, where its other case has two) may be written as, as regular expressions."""
    yield re.escape(text)
    if len(text) != 1:
        return
    if not text.isascii() or not text.isalnum():
        yield from _escapes(text)
        for name in _ENCODINGS:
            try:
                data = text.encode(name)
            except UnicodeEncodeError:
                continue
            yield "".join(rf"%(?:25)*{_hexed(f'{byte:02x}')}" for byte in data)
            yield "".join(rf"\\+x{_hexed(f'{byte:02x}')}" for byte in data)
            yield "".join(rf"={_hexed(f'{byte:02x}')}" for byte in data)
            yield from map(_read_as, dict.fromkeys(_misread(data)))
    if text == " ":
        yield r"\+|&(?:amp;)*nbsp;"
    if text in "\"'/\\":
        yield rf"\\+{re.escape(text)}"
    if text in "\n\r\t\b\f":
        yield rf"\\+{json.dumps(text)[2:-1]}"


def _escapes(char: str) -> Iterator[str]:
    """As its number or its name, however often it was escaped, and with or without the zeros."""
    number, units = ord(char), char.encode("utf-16-be", "surrogatepass")
    yield "".join(rf"\\+u{_hex(units[at : at + 2])}" for at in range(0, len(units), 2))
    yield rf"\\+(?:U0*|u\{{0*|x\{{?0*){_hexed(f'{number:x}')}\}}?"
    yield rf"&(?:amp;)*#0*{number};?"
    yield rf"&(?:amp;)*#[xX]0*{_hexed(f'{number:x}')};?"
    if char in _NAMED:
        yield rf"&(?:amp;)*{_NAMED[char]};?"


def _read_as(text: str) -> str:
    """What somebody took a character for, who may have escaped it then."""
    if not text.strip("\ufffd"):
        return re.escape(text)
    return "".join(f"(?:{'|'.join([re.escape(char), *_escapes(char), *_percents(char)])})" for char in text)


def _percents(char: str) -> Iterator[str]:
    yield "".join(rf"%(?:25)*{_hexed(f'{byte:02x}')}" for byte in char.encode("utf-8", "surrogatepass"))


def _misread(data: bytes) -> Iterator[str]:
    yield data.decode("latin-1")
    yield data.decode("cp1252", "replace")
    yield data.decode("utf-8", "surrogateescape")
    yield data.decode("utf-8", "replace")


def _hex(data: bytes) -> str:
    return _hexed(data.hex())


def _hexed(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
