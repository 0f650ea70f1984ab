"""What the rest of the package uses of msgspec to read and write JSON; structs themselves are those of `fff.structs`."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec import UNSET, Raw, UnsetType, defstruct
from msgspec import DecodeError as MalformedJSON
from msgspec import ValidationError as WrongShape
from msgspec.json import Decoder, decode, encode

#: MalformedJSON includes WrongShape (sound JSON of another kind than asked for): ask for that one first.
__all__ = [
    "UNSET",
    "Decoder",
    "MalformedJSON",
    "Raw",
    "UnsetType",
    "WrongShape",
    "array_of",
    "decode",
    "decode_exact",
    "defstruct",
    "encode",
    "is_field_name",
    "join",
]


_EXACT = 1e15  # floats below this are written with all their digits


def _number(text: str) -> float | Decimal:
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError("Number out of range")
    if abs(number) < _EXACT and (not number or Decimal(repr(number)) == Decimal(text)):
        return number
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else exact


_exact = Decoder(float_hook=_number)


def decode_exact(raw: Raw | bytes) -> object:
    """A JSON value to be sent back: a number that no float holds keeps its digits, as an int or a Decimal."""
    return _exact.decode(raw)


def is_field_name(name: str) -> bool:
    """Whether a field of a struct can stand for members of this name: msgspec takes no quotes, backslashes and control characters."""
    return not any(char in '"\\' or char < " " for char in name)


def join(raws: Iterable[Raw | bytes]) -> bytes:
    """Raw JSON values as one JSON array."""
    return b"[" + b",".join(map(bytes, raws)) + b"]"


def array_of(lines: Raw | bytes) -> bytes:
    """Lines of JSON as one JSON array; none where a line is broken."""
    return b"".join((b"[", bytes(lines).replace(b"\n", b","), b"]"))
