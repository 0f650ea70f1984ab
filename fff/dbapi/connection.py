"""Connections of PEP 249, one `fff.Connection` each, and their cursors: one statement after the other, and its rows.

Web tables are only read, so there are no transactions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias, Unpack

from fff.api.blocking import Connection
from fff.api.result import Result
from fff.dbapi import exceptions
from fff.dbapi.exceptions import (
    DataError,
    IncompleteAnswer,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    pep249_errors,
)
from fff.errors import UsageError
from fff.opening import Sources
from fff.options import ConnectOptions
from fff.schema import result_field

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
#: Name, type, then display size, internal size, precision, scale and whether NULL may be there.
Description: TypeAlias = tuple[str, str, None, None, int | None, int | None, None]

_EXPLAINED = "Cursor.result.missing tells what is missing"


def connect(*sources: Sources, **options: Unpack[ConnectOptions]) -> DatabaseConnection:
    """A connection of PEP 249; arguments are those of `fff.connect`, errors the module's own."""
    with pep249_errors():
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

    def __exit__(self, *error: object) -> None:
        self.close()


class DatabaseCursor:
    """Runs statements and gives their rows. A statement is over when `execute` returns: no error comes between rows.

    Args:
        connection: whose it is.
        federation: what runs the statements.
        partial: whether an incomplete answer is a warning, not an error.
    """

    arraysize = 1

    def __init__(self, connection: DatabaseConnection, federation: Connection, *, partial: bool) -> None:
        self.connection = connection
        self._federation: Connection | None = federation
        self._partial = partial
        self._result: Result | None = None
        self._fetched = 0

    @property
    def result(self) -> Result:
        """The result of the last statement, with `complete`, `missing` and `report`; InterfaceError before it."""
        if self._result is None:
            raise InterfaceError("there is no result: execute a statement first")
        return self._result

    @property
    def description(self) -> tuple[Description, ...] | None:
        """The columns of the result; None before a statement."""
        if self._result is None:
            return None
        return tuple(_described(field.name, field.type) for field in self._result.schema)

    @property
    def rowcount(self) -> int:
        """How many rows the result has; -1 before a statement."""
        return -1 if self._result is None else len(self._result)

    @property
    def rownumber(self) -> int | None:
        """How many rows have been fetched; None before a statement."""
        return None if self._result is None else self._fetched

    def execute(self, operation: str, parameters: Parameters | None = None) -> Self:
        """Run one statement to its end.

        Args:
            operation: one statement of Spark SQL.
            parameters: a sequence for its `?`, or a mapping for its `:name`; bound as values.

        Raises:
            ProgrammingError: the SQL or a parameter is wrong.
            NotSupportedError: valid SQL that FFF does not run.
            OperationalError: a source could not be read; or the answer is incomplete for whatever reason (a
                deadline, a ceiling of requests), unless the connection was made with
                `on_source_error="partial"`: a warning then.
            InterfaceError: the cursor is closed.
        """
        if self._federation is None:
            raise InterfaceError("the cursor is closed")
        self._result, self._fetched = None, 0
        _ = self.connection.federation
        with pep249_errors():
            sql, values = _named(operation, parameters)
            result = self._federation.sql(sql, values)
        if not result.complete:
            note = repr(result).splitlines()[-1]
            if not self._partial:
                raise OperationalError(
                    f"the answer is not complete: {note}\n"
                    '  raise the limit, or connect with on_source_error="partial" to have what there is'
                )
            # Those of the result say in sentences where its rows or numbers may be wrong.
            warnings.warn("; ".join([note, *result.warnings, _EXPLAINED]), IncompleteAnswer, stacklevel=2)
        self._result = result
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> Self:  # noqa: ARG002 - PEP 249's
        """Raises NotSupportedError: it is for statements without rows, and all here have some."""
        raise NotSupportedError(
            "executemany is for statements that write, and web tables are only read; execute them one by one"
        )

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last one."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """At most so many of the next rows, `arraysize` unless it is said.

        Raises DataError for a value that Python has not, and gives none of them then.
        """
        result = self.result
        try:
            rows = result.fetchmany(self.arraysize if size is None else size)
        except UsageError as error:
            raise DataError(str(error)) from error
        self._fetched += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self.fetchmany(len(self.result) - self._fetched)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Nothing: values say their own types."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing: values come whole."""

    def close(self) -> None:
        """Let go of the rows. May be called again."""
        self._federation = self._result = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _described(name: str, kind: Any) -> Description:
    precision = getattr(kind, "precision", None)
    return (name, result_field(name, kind).type, None, None, precision, getattr(kind, "scale", None), None)


def _named(sql: str, parameters: Parameters | None) -> tuple[str, Mapping[str, object] | None]:
    """The statement with `:name` for each `?`, and the values by those names; the values stay out of the text.

    Raises ProgrammingError for too few values or too many, QueryError for text that is no SQL.
    """
    if parameters is None or isinstance(parameters, Mapping):
        return sql, parameters
    if isinstance(parameters, str):
        raise ProgrammingError("parameters are a sequence or a mapping, not one string: write (value,)")
    from fff.sql.syntax.statement import TokenType, tokenize  # noqa: PLC0415 - loaded with the engine

    marks = [token.start for token in tokenize(sql) if token.token_type is TokenType.PLACEHOLDER]
    if len(marks) != len(parameters):
        raise ProgrammingError(f"the SQL has {len(marks)} ?, and there are {len(parameters)} values")
    prefix = "p"
    while f":{prefix}" in sql:
        prefix += "_"
    parts, at = [], 0
    for number, mark in enumerate(marks, 1):
        parts.append(f"{sql[at:mark]}:{prefix}{number} ")
        at = mark + 1
    return "".join([*parts, sql[at:]]), {
        f"{prefix}{number}": value for number, value in enumerate(parameters, 1)
    }
