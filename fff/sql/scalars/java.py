"""What depends on the Java that runs Spark: the digits of numbers with a point, which Java 19 and later write otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SHORTEST_FROM = 19
#: Asks for the version, which takes reading a file; without an answer nothing is said of digits.
_version: ContextVar[Callable[[], int | None]] = ContextVar("_version", default=lambda: None)


@contextmanager
def running_on(version: Callable[[], int | None]) -> Iterator[None]:
    """Plan for a Spark on the Java of this version; None where nobody knows."""
    token = _version.set(version)
    try:
        yield
    finally:
        _version.reset(token)


def writes_shortest() -> bool:
    """Whether a float is written as the fewest digits that only it has, as the engine writes it."""
    version = _version.get()()
    return version is not None and version >= _SHORTEST_FROM
