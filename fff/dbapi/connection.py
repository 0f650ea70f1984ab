"""Connections of PEP 249: one `fff.Connection` each.

Web tables are only read, so there are no transactions.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self, Unpack

from fff.api.blocking import Connection
from fff.dbapi import exceptions
from fff.dbapi.cursor import DatabaseCursor
from fff.dbapi.exceptions import InterfaceError, told
from fff.opening import Source
from fff.options import ConnectOptions


def connect(*sources: Source, **options: Unpack[ConnectOptions]) -> DatabaseConnection:
    """A connection of PEP 249; arguments are those of `fff.connect`, errors the module's own."""
    with told():
        federation = Connection(sources, options)
    return DatabaseConnection(federation, partial=options.get("on_source_error") == "partial")


class DatabaseConnection:
    """A connection as PEP 249 has it.

    Args:
        federation: what runs its statements; closed with it.
        partial: whether an incomplete answer is a warning, not an error.
    """

    Warning = exceptions.Warning
    Error = exceptions.Error
    InterfaceError = exceptions.InterfaceError
    DatabaseError = exceptions.DatabaseError
    DataError = exceptions.DataError
    OperationalError = exceptions.OperationalError
    IntegrityError = exceptions.IntegrityError
    InternalError = exceptions.InternalError
    ProgrammingError = exceptions.ProgrammingError
    NotSupportedError = exceptions.NotSupportedError

    def __init__(self, federation: Connection, *, partial: bool) -> None:
        self._federation: Connection | None = federation
        self.partial = partial

    @property
    def federation(self) -> Connection:
        """The connection below; raises InterfaceError when this one is closed."""
        if self._federation is None:
            raise InterfaceError("the connection is closed")
        return self._federation

    def cursor(self) -> DatabaseCursor:
        """A cursor; raises InterfaceError when the connection is closed."""
        return DatabaseCursor(self, self.federation, partial=self.partial)

    def commit(self) -> None:
        """Nothing: there is nothing to keep."""
        _ = self.federation

    def rollback(self) -> None:
        """Nothing: there is nothing to undo."""
        _ = self.federation

    def close(self) -> None:
        """Stop what runs and close the connection below. May be called again."""
        federation, self._federation = self._federation, None
        if federation is not None:
            federation.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
