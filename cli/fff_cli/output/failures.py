"""What a result ends with that cannot be written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fff.errors import FFFError, UsageError


class CannotWrite(UsageError):  # noqa: N818 - reads as the sentence users see
    """The result cannot be written: a full disk, a closed output."""


def note_seen(error: FFFError, what: str) -> None:
    """Have an error say that rows went out before it: whoever reads them would take them for the answer."""
    error.add_note(f"{what} written before that are not the whole answer")


@contextlib.contextmanager
def writing(what: str = "the result") -> Iterator[None]:
    """Turn a failure to write into CannotWrite; a closed pipe stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(f"cannot write {what}: {error.strerror or error}") from error
