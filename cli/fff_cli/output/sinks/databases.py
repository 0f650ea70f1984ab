"""Results as a database in a file: SQLite, with the rows in a table `result`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import distinct_names
from fff_cli.output.values import texts

TABLE = "result"  # where the rows are


class SqliteWriter:
    """A SQLite database.

    It grows in a temporary file of SQLite's own, which goes with the connection, and is written out when it
    is whole. What SQLite has no type for is text, as CSV has it: decimals with all their digits, times,
    nested values as JSON, NaN.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._database: sqlite3.Connection | None = None
        self._insert = ""

    def begin(self, schema: pa.Schema) -> None:
        """Make the table."""
        self._database = sqlite3.connect("", isolation_level=None)
        names = names_there(schema.names)
        kinds = (kind_of(field.type) for field in schema)
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(names, kinds, strict=True))
        self._database.execute(f"CREATE TABLE {TABLE} ({columns})")
        self._insert = f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - no text of anybody's
        self._database.execute("BEGIN")

    def write(self, batch: pa.RecordBatch) -> None:
        """Insert rows."""
        assert self._database is not None
        columns = [_values(column) for column in batch.columns]
        self._database.executemany(self._insert, zip(*columns, strict=True))

    def end(self) -> None:
        """Write the database out."""
        assert self._database is not None
        with contextlib.closing(self._database):
            self._database.execute("COMMIT")
            self._out.write(self._database.serialize())


def kind_of(kind: Any) -> str:
    """The type of a column in SQLite."""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    return "BLOB" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "TEXT"


def affinity(declared: str) -> str | None:
    """The one of SQLite's types by which it takes values into a column of a declared one; None: as they come."""
    words = {"INT": "INTEGER", "CHAR": "TEXT", "CLOB": "TEXT", "TEXT": "TEXT", "BLOB": "BLOB"}
    words |= dict.fromkeys(("REAL", "FLOA", "DOUB"), "REAL")
    return (
        next((kind for word, kind in words.items() if word in declared.upper()), declared and "NUMERIC")
        or None
    )


def _values(column: Any) -> list[object]:
    kind = kind_of(column.type)
    if kind == "TEXT":
        column = texts(column)
    elif pa.types.is_boolean(column.type):
        column = pc.cast(column, pa.int8())
    values: list[object] = column.to_pylist()
    if kind == "REAL":  # SQLite takes NaN for NULL
        return ["nan" if value != value else value for value in values]  # noqa: PLR0124 - NaN alone is so
    return values


def names_there(names: Iterable[str]) -> list[str]:
    """The names as a database can have them: told apart also where they differ in case alone."""
    return distinct_names(name.replace("\0", "\\x00") for name in names)  # which ends a statement of SQLite


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"{}"'.format(name.replace('"', '""'))
