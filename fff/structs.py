"""What modules that every statement loads are made of: the base of value classes, `replace`, and `lazy_pattern`.

A `Struct` of msgspec is made in hundredths of the time that a dataclass takes: three hundred of those were a
fifth of what the first request of `fff query` waited for. Its objects are made in a tenth of the time, too.
`class Name(Struct, frozen=True)` means what `@dataclass(frozen=True, slots=True)` does; with `dict=True` its
objects have room for cached properties (`cached_property` is that of functools, without the lock that it took
before Python 3.12). What fields must leave out of `repr` or comparing stays a dataclass.
"""

import dataclasses
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs, to_builtins
from msgspec.structs import asdict, astuple

__all__ = [
    "Struct",
    "asdict",
    "astuple",
    "cached_property",
    "field",
    "lazy_pattern",
    "replace",
    "to_builtins",
]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - as functools has it
        """What is made when it is first asked for."""

        def __init__(self, make: Callable[[Any], Any]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, _owner: type, name: str) -> None:
            self._name = name

        def __get__(self, holder: Any, _owner: type) -> Any:
            if holder is None:
                return self
            made = holder.__dict__[self._name] = self._make(holder)
            return made


if TYPE_CHECKING:
    from dataclasses import replace  # checkers know its arguments by name, of structs as well
else:

    def replace(value: Any, /, **changes: object) -> Any:
        """A struct or the object of a dataclass, with other values of some fields."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


if TYPE_CHECKING:
    lazy_pattern = re.compile
else:

    class lazy_pattern:  # noqa: N801 - in the place of `re.compile`
        """A regular expression that is compiled when something other than its text is first asked for.

        A statement needs few of hundreds: to compile all was a quarter of what loading our modules took. The
        functions of `re` do not take it for one of theirs.
        """

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self.pattern = text
            self._flags = flags

        def __getattr__(self, name: str) -> Any:
            # `re` remembers what it compiled; who asks again finds the method, and does not come this way.
            made = self.__dict__[name] = getattr(re.compile(self.pattern, self._flags), name)
            return made

        def __reduce__(self) -> tuple[Any, ...]:
            return re.compile, (self.pattern, self._flags)
