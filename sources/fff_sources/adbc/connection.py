"""One connection to a database: the only module that knows the drivers."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import pyarrow as pa

from fff.functions.threads import in_thread

T = TypeVar("T")

#: The packages of drivers, each an extra of ours of the driver's name.
PACKAGES = {"sqlite": "adbc_driver_sqlite", "postgresql": "adbc_driver_postgresql"}
#: Rows of one batch, of the first one, and of those that follow.
_FIRST, _MORE = 1_000, 20_000


class DriverMissingError(Exception):
    """The driver is not installed."""


_LOGIN_REFUSED = ("authentication failed", "no password supplied", "no pg_hba.conf entry")


class AdbcError(Exception):
    """What a database or its driver says; `lost`: the connection, not the statement, may be to blame.

    `refused` is what was not allowed: "login", or "reading".
    """

    def __init__(self, message: str, *, lost: bool, refused: str | None = None) -> None:
        super().__init__(message)
        self.lost = lost
        self.refused = refused


class AdbcConnection:
    """A connection, used by one reader at a time. All but `abandon` blocks, and is for threads: `run` calls it in one.

    Args:
        driver: `sqlite` or `postgresql`.
        uri: what the driver takes; nothing of it is in errors but what the driver says of it.
        greeting: statements that go first.
    """

    def __init__(self, driver: str, uri: str, greeting: Sequence[str]) -> None:
        self._busy = threading.Lock()
        self._cursor: Any = None  # what is being read
        self._streams = driver == "postgresql"
        with _translated():
            self._connection = library(driver).connect(uri, autocommit=True)
            for statement in greeting:
                self._send(statement)

    def read(self, sql: str, values: Sequence[pa.Array], *, stream: bool) -> Iterator[pa.RecordBatch]:
        """The rows of a query, as they arrive; where only cursors let them, and `stream` is asked for, with one."""
        with _translated():
            if not (stream and self._streams):
                yield from self._batches(sql, values)
                return
            self._send("BEGIN READ ONLY")
            self._send(f"DECLARE fff NO SCROLL CURSOR FOR {sql}", values)
            size, rows = _FIRST, 0
            while True:
                for batch in self._batches(f"FETCH FORWARD {size} FROM fff", ()):
                    rows += len(batch)
                    yield batch
                if rows < size:
                    break
                size, rows = _MORE, 0
            self._send("COMMIT")

    def _send(self, sql: str, values: Sequence[pa.Array] = ()) -> None:
        for _ in self._batches(sql, values):
            pass

    def _batches(self, sql: str, values: Sequence[pa.Array]) -> Iterator[pa.RecordBatch]:
        self._cursor = cursor = self._connection.cursor()
        with cursor:
            if self._streams:  # by COPY it can send neither what has parameters nor what a cursor brings
                cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            else:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_MORE)})
            parameters = pa.record_batch(list(values), [str(one) for one in range(len(values))])
            cursor.execute(sql, parameters if values else None)
            with cursor.fetch_record_batch() as reader:
                yield from reader

    async def run(self, work: Callable[[], T]) -> T:
        """Do something with the connection in a thread.

        Whoever no longer waits for it must abandon the connection.
        """

        def alone() -> T:
            with self._busy:
                return work()

        ended = in_thread(alone, ())
        ended.add_done_callback(lambda one: one.cancelled() or one.exception())  # told to whoever still waits
        return cast("T", await asyncio.shield(ended))

    def close(self) -> None:
        """End it. What goes wrong then is of no interest."""
        with self._busy, contextlib.suppress(Exception):
            self._connection.close()

    def abandon(self, rows: Iterator[pa.RecordBatch] | None = None) -> threading.Thread:
        """Stop what is being read and close the connection as soon as that has stopped; the thread that does so."""

        def end() -> None:
            with contextlib.suppress(Exception):
                self._cursor.adbc_cancel()
            if rows is not None:
                with self._busy, contextlib.suppress(Exception):
                    cast("Any", rows).close()
            self.close()

        thread = threading.Thread(target=end, name="fff-close", daemon=True)
        thread.start()
        return thread


async def connect(driver: str, uri: str, greeting: Sequence[str]) -> AdbcConnection:
    """A connection, made in a thread. Raises DriverMissingError, AdbcError."""
    made = in_thread(AdbcConnection, (driver, uri, greeting))
    try:
        return cast("AdbcConnection", await asyncio.shield(made))
    except asyncio.CancelledError:
        made.add_done_callback(_close)
        raise


def _close(made: asyncio.Future[object]) -> None:
    """Close a connection that came too late."""
    if not made.cancelled() and made.exception() is None:
        cast("AdbcConnection", made.result()).abandon()


def library(driver: str) -> Any:
    """The driver's module; raises DriverMissingError."""
    try:
        return importlib.import_module(f"{PACKAGES[driver]}.dbapi")
    except ImportError:
        raise DriverMissingError(driver) from None


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What drivers raise, as AdbcError."""
    try:
        yield
    except (GeneratorExit, DriverMissingError):
        raise
    except Exception as error:  # noqa: BLE001 - what a driver raises is not told in advance
        state = getattr(error, "sqlstate", None)
        # A class of SQL states says that the statement is wrong; without one, or in class 08 or 57, it is the
        # connection.
        message = " ".join(str(error).split())
        # What libpq says of a login has no state of its own.
        is_login = any(one in message for one in _LOGIN_REFUSED)
        refused = "login" if is_login else "reading" if state == "42501" else None
        raise AdbcError(message, lost=state is None or state[:2] in ("08", "57"), refused=refused) from None
