"""DB-API 2 (PEP 249) over `fff.connect`, and a dialect of SQLAlchemy over it.

In: spec files, options, SQL with `?` or `:name`.
Out: connections and cursors as every tool of Python for databases knows them.

    connection    connections without transactions, for web tables are only read, and their cursors
    dialect       SQLAlchemy's `fff://` URLs; the only importer of sqlalchemy
    exceptions    the exceptions of PEP 249, and which of them each error of FFF is
    types         types as PEP 249 compares them

Parameters are values, bound as such, never pasted as text. An answer that is incomplete raises
OperationalError, whatever made it so; with `on_source_error="partial"` it is a warning instead. The words are
explained in docs/glossary.md.
"""

from __future__ import annotations

from fff.dbapi.connection import DatabaseConnection, DatabaseCursor, connect
from fff.dbapi.exceptions import (
    DatabaseError,
    DataError,
    Error,
    IncompleteAnswer,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - PEP 249 calls it so
)
from fff.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

apilevel = "2.0"
#: Threads may share the module and connections; a cursor is one thread's.
threadsafety = 2
#: A mapping in place of a sequence gives values to `:name`, as `fff.connect` has it.
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "DataError",
    "DatabaseConnection",
    "DatabaseCursor",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IncompleteAnswer",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
