"""AdbcSource: the tables and views of a database as tables."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import KeyColumn, Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import SourceError, SpecError
from fff.schema import Field, arrow_type, distinct_names
from fff.stats import AccessMeter
from fff.version import how_to_install
from fff_sources.adapter import SourceContext
from fff_sources.adbc.asking import DatabaseQuery, statement
from fff_sources.adbc.columns import DatabaseTable, Dialect
from fff_sources.adbc.connection import (
    PACKAGES,
    AdbcConnection,
    AdbcError,
    DriverMissingError,
    connect,
    library,
)
from fff_sources.adbc.postgresql import PostgresDialect
from fff_sources.adbc.spec import AdbcSpec, AdbcTable, read_adbc
from fff_sources.adbc.sqlite import SqliteDialect
from fff_sources.http.spec.settings import missing_secrets

#: What to do about what was refused.
_REFUSED = {
    "login": "see whether the user and the password in `uri` are right, and whether the server lets them in from here",
    "reading": "the user of `uri` may not read it: GRANT SELECT on it, or name columns that may be read",
}
_DIALECTS: dict[str, Dialect] = {"sqlite": SqliteDialect(), "postgresql": PostgresDialect()}
#: Keys of several columns in one request: each is a condition of its own in SQLite.
_MOST_JOINT = 200
#: Seconds that connections may take to end.
_PATIENCE_S = 1.0


class AdbcSource:
    """A database. Implements `SourceAdapter`, `Discovering` and `Listing`; every query counts as a request.

    Lookups keep connections for those that follow; a scan that is read to its end does, too.
    """

    model = AdbcSpec  # for editors

    def __init__(self, declared: AdbcSpec, context: SourceContext) -> None:
        self.name = context.name
        self._declared = declared
        self._context = context
        self._dialect = _DIALECTS[declared.driver]
        self._found: dict[str, DatabaseTable] = {}
        self._tables: dict[str, Table] = {}
        self._places: dict[str, AdbcTable] = {}
        self._idle: list[AdbcConnection] = []
        self._ending: list[threading.Thread] = []
        self._listed = declared.tables is not None
        for name, table in (declared.tables or {}).items():
            self._name(name, table)

    @classmethod
    def from_spec(cls, context: SourceContext) -> Self:
        """The source of a document; raises SpecError for the first thing that is wrong with it."""
        declared, problems = read_adbc(context)
        if declared is None or problems:
            raise problems[0]
        return cls(declared, context)

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong with the source, missing secrets and drivers included."""
        declared, problems = read_adbc(context)
        if declared is None:
            return problems
        try:
            library(declared.driver)
        except DriverMissingError:
            reason, hint = _not_installed(declared.driver)
            place = ("sources", context.name, "driver")
            problems.append(context.document.error(place, reason, hint=hint))
        return problems + missing_secrets(context)

    # ------------------------------------------------------------------------------------------------- tables

    @property
    def tables(self) -> Sequence[Table]:
        """Every table that is known; those that nobody has asked about yet have no columns."""
        return list(self._tables.values())

    @property
    def listed(self) -> bool:
        """Whether the tables are known: where the spec names some, it names all."""
        return self._listed

    @property
    def is_local(self) -> bool:
        """Whether the database is a file of this machine."""
        return self._declared.driver == "sqlite"

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Ask for the names of all tables and views."""
        sql, values = self._dialect.listing(self._declared.namespace)
        for row in await self._all_rows(sql, values, meter):
            if row["name"].lower() not in {name.lower() for name in self._places}:
                self._name(row["name"], AdbcTable())
        self._listed = True

    def _name(self, name: str, table: AdbcTable) -> None:
        self._places[name] = table
        self._tables[name] = Table(self.name, name, (), description=table.description)

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Ask for the columns of those of the named tables that have none yet.

        Raises SourceError, SecretError.
        """
        for name in names:
            if name in self._tables and not self._tables[name].columns:
                await self._describe(name, meter)

    async def _describe(self, name: str, meter: AccessMeter) -> None:
        declared = self._places[name]
        place, types = declared.table or name, declared.columns or {}
        namespace = declared.namespace or self._declared.namespace
        sql, values = self._dialect.describing(place, namespace)
        rows = await self._all_rows(sql, values, meter, name)
        if not rows:
            raise SourceError(
                f"the database has no table {place!r} with columns",
                source=self.name,
                table=name,
                hint="`table:` in the spec names it, `schema:` where it is",
            )
        for row, called in zip(rows, distinct_names(row["name"] for row in rows), strict=True):
            row["called"] = called
        described = self._dialect.described(place, namespace, rows, types)
        if unknown := [column for column in types if column not in described.columns]:
            raise SourceError(
                f"the spec gives a type to {unknown[0]!r}, which is no column",
                source=self.name,
                table=name,
                hint=f"columns: {', '.join(described.columns)}",
            )
        self._found[name] = described
        self._tables[name] = self._table(name, described)

    def _table(self, name: str, described: DatabaseTable) -> Table:
        """A table with every way to reach its rows."""
        columns = described.columns.values()
        size, joint = self._declared.batch_size, min(self._declared.batch_size, _MOST_JOINT)
        keys: list[tuple[tuple[str, ...], int]] = [
            ((column.name,), size) for column in columns if column.compared
        ]
        if len(described.key) > 1 and all(described.columns[part].compared for part in described.key):
            keys.append((described.key, joint))
        return Table(
            source=self.name,
            name=name,
            columns=tuple(Field.of(column.name, column.type) for column in columns),
            primary_key=described.key,
            key_columns=tuple(
                KeyColumn(
                    column.name,
                    operators=tuple(dict.fromkeys(("=", "in", *column.operators))),
                    sendable=tuple((operator, None) for operator in ("in", *column.operators)),
                    exact=True,
                    exact_like=self._dialect.exact_like,
                )
                for column in columns
                if column.compared
            ),
            scans=(ScanMethod(f"{name}.scan"),),
            lookups=tuple(
                LookupMethod(f"{name}.lookup[{','.join(names)}]x{most}", names, most) for names, most in keys
            ),
            max_in_flight=self._declared.max_concurrency,
            description=self._places[name].description,
            sortable=tuple(
                by
                for column in columns
                if column.order and not column.name.endswith(" nulls first")
                for by in (column.name, f"-{column.name}")
            ),
            sorts_exactly=True,
        )

    # ----------------------------------------------------------------------------------------- access methods

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of the table that a statement can use, as the database brings them."""
        del method, window
        asked = statement(self._dialect, self._found[table.name], table, columns)
        assert asked is not None, "only keys can be such as no row has"
        async with aclosing(self._pages(table, asked, columns, meter, stream=True)) as pages:
            async for rows in pages:
                yield Page(rows, order=table.sort)

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row having one of the keys."""
        for start in range(0, len(keys), method.batch_size):
            some = keys[start : start + method.batch_size]
            asked = statement(
                self._dialect, self._found[table.name], table, columns, names=method.keys, keys=some
            )
            if asked is None:  # the database has no such values
                continue
            async with aclosing(self._pages(table, asked, columns, meter, stream=False)) as pages:
                async for rows in pages:
                    yield Page(rows)

    async def _pages(
        self, table: Table, asked: DatabaseQuery, columns: Sequence[str], meter: AccessMeter, *, stream: bool
    ) -> AsyncGenerator[pa.RecordBatch]:
        """The answer in the types of the columns."""
        skip = asked.skip
        batches = self._batches(asked.sql, asked.values, meter, table.name, stream=stream)
        async with aclosing(batches) as opened:
            async for batch in opened:
                rows, skip = batch.slice(skip), max(0, skip - len(batch))
                if len(rows):
                    meter.pages += 1
                    yield await asyncio.to_thread(self._typed, table, asked, columns, rows)

    def _typed(
        self, table: Table, asked: DatabaseQuery, columns: Sequence[str], rows: pa.RecordBatch
    ) -> pa.RecordBatch:
        """Rows as they are declared; raises SourceError for a value that is none of its column's type."""
        hint = "declare the column as string: tables: {TABLE: {columns: {NAME: string}}}"
        wrong = rows.column(rows.num_columns - 1)
        if place := pc.max(wrong).as_py():
            column = asked.columns[place - 1]
            message = f"a value of {column.name!r} is no {column.type}"
            if column.type == "string":  # of SQLite, which has any value in any column
                message = f"a value of {column.name!r} is a BLOB, in a column of texts"
                hint = "declare the column as binary: tables: {TABLE: {columns: {NAME: binary}}}"
            raise SourceError(message, source=self.name, table=table.name, hint=hint)
        arrays = []
        for place, column in enumerate(asked.columns):
            array = rows.column(place)
            try:
                if isinstance(array, pa.ExtensionArray):
                    array = array.storage
                array = array.cast(arrow_type(column.type))
                array.validate(full=True)
            except pa.ArrowException as error:
                message = f"a value of {column.name!r} is no {column.type}: {' '.join(str(error).split())}"
                message = self._context.client.redactor.text(message)
                raise SourceError(message, source=self.name, table=table.name, hint=hint) from None
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, list(columns))

    async def close(self) -> None:
        """End all connections, and wait a moment for those that are still ending."""
        self._ending += [self._idle.pop().abandon() for _ in list(self._idle)]
        ending, self._ending = self._ending, []
        for thread in ending:
            await asyncio.to_thread(thread.join, _PATIENCE_S)

    # ------------------------------------------------------------------------------------------------ asking

    async def _all_rows(
        self, sql: str, values: Sequence[pa.Array], meter: AccessMeter, table: str | None = None
    ) -> list[dict[str, Any]]:
        """A small answer."""
        batches = self._batches(sql, values, meter, table, stream=False)
        async with aclosing(batches) as opened:
            return [row async for batch in opened for row in batch.to_pylist()]

    async def _batches(
        self, sql: str, values: Sequence[pa.Array], meter: AccessMeter, table: str | None, *, stream: bool
    ) -> AsyncGenerator[pa.RecordBatch]:
        """The rows of a query. A connection that was idle and turns out to be lost gives way to a new one."""
        while True:
            used = bool(self._idle)
            try:
                async with aclosing(self._once(sql, values, meter, table, stream=stream)) as rows:
                    async for batch in rows:
                        used = False
                        yield batch
            except DriverMissingError:
                message, hint = _not_installed(self._declared.driver)
                raise SourceError(message, source=self.name, table=table, hint=hint) from None
            except AdbcError as error:
                if used and error.lost:
                    meter.retries += 1
                    continue
                meter.failed += 1
                message = f"the database says: {self._context.client.redactor.text(str(error))}"
                hint = _REFUSED.get(
                    error.refused or "",
                    "see whether it is there, and whether `uri` and `tables` in the spec are right",
                )
                raise SourceError(message, source=self.name, table=table, hint=hint) from None
            return

    async def _once(
        self, sql: str, values: Sequence[pa.Array], meter: AccessMeter, table: str | None, *, stream: bool
    ) -> AsyncGenerator[pa.RecordBatch]:
        uri = self._uri(table)
        meter.charge(self.name, table)
        loop = asyncio.get_running_loop()
        meter.sent(loop.time())
        connection: AdbcConnection | None = None
        rows: Iterator[pa.RecordBatch] | None = None
        whole = False
        try:
            connection = (
                self._idle.pop()
                if self._idle
                else await connect(self._declared.driver, uri, self._dialect.greeting)
            )
            rows = connection.read(sql, values, stream=stream)
            while (batch := await connection.run(lambda: next(rows, None))) is not None:
                meter.bytes += batch.nbytes
                yield batch
            whole = True
        finally:
            meter.request_answered(loop.time())
            if connection is not None and whole:
                self._idle.append(connection)
            elif connection is not None:
                self._ending.append(connection.abandon(rows))

    def _uri(self, table: str | None) -> str:
        """What the driver takes, secrets filled in and a password in it known as one.

        Raises SecretError, SourceError, also where nobody has trusted the spec: servers know the user by more
        than the address, as by `PGPASSWORD` or the name.
        """
        uri = self._context.secrets().fill(self._declared.uri)
        if self._declared.driver != "sqlite":
            self._context.check_login()
        else:
            if self._context.standing is not None:
                self._context.standing.check_table(uri, self.name, table or "")
            path = self._context.document.folder / Path(uri).expanduser()
            if not path.is_file():
                shown = self._context.client.redactor.text(str(path))
                hint = "`uri` is the path of a SQLite file, from the folder of the spec on"
                raise SourceError(f"{shown}: there is no such file", source=self.name, table=table, hint=hint)
            return f"file:{quote(str(path.absolute()))}?mode=ro"
        for password in _passwords(uri):
            self._context.client.redactor.add(password)
        return uri


def _not_installed(driver: str) -> tuple[str, str]:
    package = PACKAGES[driver].replace("_", "-")
    return f"driver: {driver} needs {package}, which is not installed", how_to_install(driver)


def _passwords(uri: str) -> list[str]:
    """The passwords in what PostgreSQL takes for the address of a database: a URI, or `name=value` pairs."""
    scheme, mark, rest = uri.partition("://")
    if not mark or not scheme.isalnum():
        pairs = (part.partition("=") for part in uri.split())
        return [value.strip("'") for name, _, value in pairs if name == "password"]
    user = rest.partition("/")[0].rpartition("@")[0]
    password = user.partition(":")[2]
    queried = [
        value for name, value in parse_qsl(rest.partition("?")[2]) if name in ("password", "sslpassword")
    ]
    return [one for one in (password, unquote(password), *queried) if one]
