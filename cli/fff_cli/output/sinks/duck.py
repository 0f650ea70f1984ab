"""Results as DuckDB databases, with the rows in a table `result`. The only importer of duckdb."""

from __future__ import annotations

import shutil
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from fff_cli.output.sinks.databases import TABLE, names_there, quoted
from fff_cli.output.sinks.temporary import make_folder, remove_folder

#: Nothing of it asks the network.
_CONFIG = {"autoinstall_known_extensions": "false"}
_UNNAMED = "unnamed"  # a column without a name, which DuckDB knows none of


class DuckdbWriter:
    """A DuckDB database, with the types that Arrow has.

    It grows in a folder of its own, which goes with the writer, and is copied out when it is whole: DuckDB
    writes to a file by its name alone.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        folder = make_folder("fff-duckdb-")
        self._folder = Path(folder)
        self._gone = weakref.finalize(self, remove_folder, folder)
        self._database: Any = None
        self._names: list[str] = []

    def begin(self, schema: pa.Schema) -> None:
        """Make the table."""
        self._database = _connected(self._folder / "result.duckdb")
        self._names = names_there([name or _UNNAMED for name in schema.names])
        self._take(schema.empty_table(), f"CREATE TABLE {TABLE} AS SELECT * FROM given")  # noqa: S608 - names of ours
        self._database.execute("BEGIN")

    def write(self, batch: pa.RecordBatch) -> None:
        """Insert rows."""
        self._take(pa.Table.from_batches([batch]), f"INSERT INTO {TABLE} SELECT * FROM given")  # noqa: S608 - names of ours

    def _take(self, rows: pa.Table, statement: str) -> None:
        self._database.register("given", rows.rename_columns(self._names))
        self._database.execute(statement)
        self._database.unregister("given")

    def end(self) -> None:
        """Write the database out."""
        self._database.execute("COMMIT")
        self._database.close()
        with (self._folder / "result.duckdb").open("rb") as whole:
            shutil.copyfileobj(whole, self._out, 1 << 20)
        self._gone()


def rows_in(file: Path) -> pa.Table:
    """The rows of a database. Raises ValueError where it is none, or has no table of that name."""
    import duckdb  # noqa: PLC0415 - an extra

    try:
        database = _connected(file, read_only=True)
        try:
            return database.sql(f"SELECT * FROM {TABLE}").to_arrow_table()  # noqa: S608 - a name of ours
        finally:
            database.close()
    except duckdb.Error as error:
        raise ValueError(str(error)) from error


def header_of(rows: pa.Table) -> list[tuple[str, str]]:
    """The columns that a result has in DuckDB, and their types there."""
    database = _connected(":memory:")
    try:
        database.register(
            "given", rows.rename_columns(names_there([name or _UNNAMED for name in rows.column_names]))
        )
        return [(name, kind) for name, kind, *_ in database.execute("DESCRIBE given").fetchall()]
    finally:
        database.close()


def header_in(file: Path) -> list[tuple[str, str]]:
    """The columns of the table in a file, and their types. Raises what `failures` says."""
    database = _connected(file, read_only=True)
    try:
        return [(name, kind) for name, kind, *_ in database.execute(f"DESCRIBE {TABLE}").fetchall()]
    finally:
        database.close()


def put_into(file: Path, fresh: Path, keys: Sequence[str]) -> tuple[int, int, int, int]:
    """Put the rows of one database into another in one transaction: rows that stay and go, keys of these, rows that come.

    Those with the same keys go. Raises what `failures` says.
    """
    database = _connected(file)
    try:
        place = str(fresh).replace("'", "''")
        database.execute(f"ATTACH '{place}' AS fresh (READ_ONLY)")
        database.execute("BEGIN")
        gone = found = 0
        if keys:
            same = " AND ".join(f"held.{quoted(key)} = coming.{quoted(key)}" for key in keys)
            met = f"SELECT count(*) FROM fresh.{TABLE} AS coming SEMI JOIN {TABLE} AS held ON {same}"  # noqa: S608 - names are quoted
            [(found,)] = database.execute(met).fetchall()
            delete = f"DELETE FROM {TABLE} AS held USING fresh.{TABLE} AS coming WHERE {same}"  # noqa: S608 - names are quoted
            [(gone,)] = database.execute(delete).fetchall()
        [(kept,)] = database.execute(f"SELECT count(*) FROM {TABLE}").fetchall()  # noqa: S608 - a name of ours
        [(added,)] = database.execute(f"INSERT INTO {TABLE} SELECT * FROM fresh.{TABLE}").fetchall()  # noqa: S608 - names of ours
        database.execute("COMMIT")
        return kept, gone, found, added
    finally:
        database.close()


def _connected(file: Path | str, *, read_only: bool = False) -> Any:
    import duckdb  # noqa: PLC0415 - an extra

    return duckdb.connect(str(file), read_only=read_only, config=_CONFIG)


def catalog_database() -> Any:
    """An empty database in memory that reaches no file and no network. Raises UsageError without DuckDB."""
    import duckdb  # noqa: PLC0415 - an extra

    config = _CONFIG | {"enable_external_access": "false", "threads": "1", "memory_limit": "256MB"}
    return duckdb.connect(":memory:", config=config)


def failures() -> type[Exception]:
    """What DuckDB raises."""
    import duckdb  # noqa: PLC0415 - an extra

    kind: type[Exception] = duckdb.Error
    return kind


def failures_so_far() -> tuple[type[Exception], ...]:
    """The same, where DuckDB has been imported."""
    return (failures(),) if "duckdb" in sys.modules else ()
