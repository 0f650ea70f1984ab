"""Texts and bytes: character sets, Base64, hexadecimal digits, escapes of addresses."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, failing
from fff.schema import ArrowType
from fff.structs import lazy_pattern

#: What Spark calls character sets, and what Python does; those of Java write UTF-16 with a mark and big end first.
CHARSETS = {
    "us-ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-8": "utf-8",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf-16": "utf-16-be",
    "utf-32": "utf-32-be",
}
_MARKS = {"utf-16": (b"\xfe\xff", b"\xff\xfe"), "utf-32": (b"\x00\x00\xfe\xff", b"\xff\xfe\x00\x00")}
_LITTLE = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_HEXADECIMAL = lazy_pattern("[0-9A-Fa-f]{2}")
_BLANKS = b" \t\r\n"
_DIGITS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def encoded(text: str, charset: str) -> bytes | None:
    """A text in a character set; None where it has other characters."""
    try:
        encoded = text.encode(CHARSETS[charset])
    except UnicodeEncodeError:
        return None
    return _MARKS["utf-16"][0] + encoded if charset == "utf-16" and encoded else encoded


def decoded(data: bytes, charset: str) -> str | None:
    """The text of bytes in a character set; None where they are none."""
    name = CHARSETS[charset]
    if charset in _MARKS:
        big, little = _MARKS[charset]
        if data.startswith(little):
            name, data = _LITTLE[charset], data[len(little) :]
        elif data.startswith(big):
            data = data[len(big) :]
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        return None


def from_base64(text: str) -> bytes | None:
    """Bytes of Base64 with or without padding, blanks between its digits or not."""
    data = text.encode()
    if re.search(rb"=[ \t\r\n]", data):
        return None
    digits = bytes(one for one in data if one not in _BLANKS)
    core = digits.rstrip(b"=")
    padding = len(digits) - len(core)
    if not _DIGITS.issuperset(core) or padding > 2 or len(core) % 4 == 1 or (padding and len(digits) % 4):
        return None
    try:
        return base64.b64decode(core + b"=" * (-len(core) % 4))
    except binascii.Error:
        return None


def from_hex(text: str) -> bytes | None:
    """Bytes of hexadecimal digits, of which the first may be alone."""
    if not text.isascii() or not (text.isalnum() or not text):
        return None
    try:
        return bytes.fromhex("0" * (len(text) % 2) + text)
    except ValueError:
        return None


def to_bytes(text: str, form: str) -> bytes | None:
    """Bytes of a text in one of the forms of `to_binary`."""
    if form == "hex":
        return from_hex(text)
    return from_base64(text) if form == "base64" else text.encode()


def unescaped(text: str) -> str | None:
    """A text of which some bytes are written as `%41`, and blanks as `+`; None where Java finds that wrong."""
    decoded, place = bytearray(), 0
    while place < len(text):
        letter = text[place]
        if letter != "%":
            decoded += b" " if letter == "+" else letter.encode()
            place += 1
            continue
        digits = _HEXADECIMAL.match(text, place + 1)  # of ASCII, without a sign, as in newer Java
        if digits is None:
            return None
        decoded.append(int(digits[0], 16))
        place += 3
    return decoded.decode("utf-8", "replace")


def _each(change: Callable[..., object], tell: Callable[..., str] | None) -> Kernel:
    """A kernel that asks Python about each different value; where it gives nothing that fails, if that is told."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        values, known = as_array(args[0]), [arg.as_py() for arg in args[1:]]
        if None in known:
            return pa.nulls(len(values), kind)
        coded = values.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        changed = [None if one is None else change(one, *known) for one in texts]
        result = pa.array(changed, kind).take(coded.indices)
        if tell is None:
            return result
        lost = [one is not None and each is None for one, each in zip(texts, changed, strict=True)]
        rows = pa.array(lost, pa.bool_()).take(coded.indices).fill_null(fill_value=False)
        return failing(result, rows, lambda row: tell(values[row].as_py(), *known))

    return kernel


def _malformed(name: str) -> Callable[..., str]:
    return lambda _, charset: (
        f"[MALFORMED_CHARACTER_CODING] Invalid value found when performing `{name}` with {charset}"
    )


def _no_bytes(text: str, form: str) -> str:
    return (
        f"[CONVERSION_INVALID_INPUT] The value '{text}' ('{form.upper()}') cannot be converted to \"BINARY\" because it is "
        "malformed. Correct the value as per the syntax, or change its format. Use `try_to_binary` to tolerate malformed "
        "input and return NULL instead."
    )


CODES: dict[str, Kernel] = {
    "encode": _each(encoded, _malformed("encode")),
    "decode": _each(decoded, _malformed("decode")),
    "to_binary": _each(to_bytes, _no_bytes),
    "try_to_binary": _each(to_bytes, None),
    "url_decode": _each(
        unescaped,
        lambda text: (
            f"[CANNOT_DECODE_URL] The provided URL cannot be decoded: {text}. Please ensure that the URL is properly "
            "formatted and try again."
        ),
    ),
    "try_url_decode": _each(unescaped, None),
}
