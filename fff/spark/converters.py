"""What py4j makes of Python's values."""

from __future__ import annotations

from typing import Any


class OnlyFor:
    """A converter of py4j for values of one library, asked for those alone: pyspark's for numpy first imports pandas."""

    def __init__(self, converter: Any, library: str) -> None:
        self._converter, self._library = converter, library

    def can_convert(self, value: Any) -> bool:
        """Whether it is for this value."""
        return type(value).__module__ == self._library and bool(self._converter.can_convert(value))

    def convert(self, value: Any, client: Any) -> Any:
        """The value as Java has it."""
        return self._converter.convert(value, client)
