"""What the rest of the package uses of msgspec; its only importer."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType, defstruct, field
from msgspec import DecodeError as MalformedJSON
from msgspec import ValidationError as WrongShape
from msgspec.json import Decoder, decode, encode

#: MalformedJSON includes WrongShape (sound JSON of another kind than asked for): ask for that one first.
__all__ = [
    "UNSET",
    "Decoder",
    "MalformedJSON",
    "Raw",
    "Struct",
    "UnsetType",
    "WrongShape",
    "decode",
    "defstruct",
    "encode",
    "field",
    "is_field_name",
]


def is_field_name(name: str) -> bool:
    """Whether a field of a struct can stand for members of this name: msgspec takes no quotes, backslashes and control characters."""
    return not any(char in '"\\' or char < " " for char in name)
