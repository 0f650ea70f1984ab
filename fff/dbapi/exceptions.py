"""The exceptions of PEP 249, and which of them each error of FFF is."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from fff.errors import FFFError, SourceError, SparkError, UnsupportedSQL


class Warning(Exception):  # noqa: A001, N818 - PEP 249 calls it so
    """Raised by nothing here; PEP 249 wants it."""


class Error(Exception):
    """Base of all others."""


class InterfaceError(Error):
    """A connection or cursor that is closed, or has no rows to fetch."""


class DatabaseError(Error):
    """Spark refused or failed the statement."""


class DataError(DatabaseError):
    """A value of a row that Python has not, such as a date after the year 9999."""


class OperationalError(DatabaseError):
    """A source could not be read, or the answer is incomplete."""


class IntegrityError(DatabaseError):
    """Raised by nothing here; PEP 249 wants it."""


class InternalError(DatabaseError):
    """Raised by nothing here; PEP 249 wants it."""


class ProgrammingError(DatabaseError):
    """The SQL, a parameter, an option or a spec is wrong."""


class NotSupportedError(DatabaseError):
    """Valid SQL that FFF does not run, or a part of PEP 249 that reading cannot have."""


class IncompleteAnswer(builtins.UserWarning):
    """The rows are part of the answer: `Cursor.result` tells what it lacks."""


# Each is seen, not the first of a line of code alone, as Python has it: the next answer there is another one.
# Last of the filters: what a user says of these warnings, or of all, goes before.
warnings.simplefilter("always", IncompleteAnswer, append=True)


@contextmanager
def pep249_errors() -> Iterator[None]:
    """Errors of FFF come out as those of PEP 249, with the same words; what was raised is their cause."""
    try:
        yield
    except FFFError as error:
        raise _kind(error)(str(error)) from error


def _kind(error: FFFError) -> type[Error]:
    if isinstance(error, SourceError):
        return OperationalError
    if isinstance(error, UnsupportedSQL):
        return NotSupportedError
    if isinstance(error, SparkError):
        return DatabaseError
    return ProgrammingError
