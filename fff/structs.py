"""The base of value classes that every statement loads, and `replace`.

A `Struct` of msgspec is made in hundredths of the time that a dataclass takes: three hundred of those were a
fifth of what the first request of `fff query` waited for. Its objects are made in a tenth of the time, too.
`class Name(Struct, frozen=True)` means what `@dataclass(frozen=True, slots=True)` does; with `dict=True` its
objects have room for cached properties. What fields must leave out of `repr` or comparing stays a dataclass.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs, to_builtins
from msgspec.structs import asdict, astuple

__all__ = ["Struct", "asdict", "astuple", "field", "replace", "to_builtins"]

if TYPE_CHECKING:
    from dataclasses import replace  # checkers know its arguments by name, of structs as well
else:

    def replace(value: Any, /, **changes: object) -> Any:
        """A struct or the object of a dataclass, with other values of some fields."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)
