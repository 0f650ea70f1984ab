"""Where PostgreSQL's clients connect: who they are, TLS if there is any, and a session for each."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import ssl
import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

import pyarrow as pa

from fff.api.own_spark import OwnSpark
from fff.api.running import fields_of
from fff.errors import FFFError
from fff.options import RunOptions
from fff.schema import ArrowType, schema_of
from fff.sql import parameter_types
from fff_cli.postgres import wire
from fff_cli.postgres.catalog import OwnRows, ServerCatalog
from fff_cli.postgres.dialect import named_number
from fff_cli.postgres.error_codes import CodedError
from fff_cli.postgres.session import PostgresSession
from fff_cli.postgres.settings import SETTINGS
from fff_cli.postgres.wire import ProtocolError, Remark, Startup
from fff_cli.serve.queries import Queries

Schema: TypeAlias = pa.Schema
ArrowTable: TypeAlias = pa.Table

_SESSIONS = 200  # at once
_GREETING_S = 30.0  # that a client may take to say who it is


class PostgresDoor:
    """Answers PostgreSQL's clients over the queries of a server.

    Args:
        queries: what runs the statements.
        tokens: of each client, by its name; they are the passwords. Empty: whoever gets here may ask.
        tls: for clients that ask for it.
        verbose: tell bugs with their place on standard error.
    """

    def __init__(
        self,
        queries: Queries,
        tokens: Mapping[str, str],
        tls: ssl.SSLContext | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        self.queries = queries
        self._tokens = {name: token.encode() for name, token in tokens.items()}
        self._tls = tls
        self._verbose = verbose
        self._catalog = ServerCatalog(list(SETTINGS.items()))
        self._catalog_use = asyncio.Lock()
        self._spark = OwnSpark(RunOptions())
        self._sessions: dict[tuple[int, int], PostgresSession] = {}
        self._clients: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self, bound: socket.socket) -> AsyncIterator[None]:
        """Answers at a bound socket until left; sessions end then."""
        server = await asyncio.start_server(self._came, sock=bound)
        try:
            yield
        finally:
            server.close()
            for task in list(self._clients):
                task.cancel()
            await asyncio.gather(*self._clients, return_exceptions=True)
            await server.wait_closed()
            await asyncio.to_thread(self._spark.stop)

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "connections are answered in tasks"
        self._clients.add(task)
        try:
            await self._served(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client is gone
        except ProtocolError as error:
            writer.write(Remark("08P01", str(error), severity="FATAL").encoded())
        except asyncio.CancelledError:
            writer.write(Remark("57P01", "the server is being stopped", severity="FATAL").encoded())
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                await writer.wait_closed()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_GREETING_S):
            startup = await self._greeted(reader, writer)
            if startup.kind == "cancel":
                session = self._sessions.get((startup.process, startup.secret))
                if session is not None:
                    session.cancel()
                return
            client = await self._admitted(reader, writer)
        if client is None:
            return
        session = PostgresSession(self, client, startup.settings, reader, writer)
        self._sessions[session.process, session.secret] = session
        try:
            await session.run()
        finally:
            del self._sessions[session.process, session.secret]

    async def _greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Startup:
        """What a client wants first of all, behind TLS if it asks for that and there is some."""
        secure = False
        while (startup := await wire.read_startup(reader)).kind in ("tls", "gss"):
            if startup.kind == "tls" and self._tls is not None and not secure:
                writer.write(b"S")
                await writer.start_tls(self._tls)
                secure = True
            else:
                writer.write(b"N")
                await writer.drain()
        if self._tls is not None and not secure and startup.kind == "start":
            raise ProtocolError("this server speaks TLS alone: sslmode=require")
        return startup

    async def _admitted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        """The name of the client whose token was given as the password; None where it was none."""
        if len(self._sessions) >= _SESSIONS:
            writer.write(
                Remark("53300", f"{_SESSIONS} clients are here, which is all", severity="FATAL").encoded()
            )
            return None
        client: str | None = None if self._tokens else ""
        if self._tokens:
            writer.write(wire.PASSWORD_WANTED)
            letter, body = await wire.read_message(reader)
            password = body.text().encode() if letter == b"p" else b""
            for name, token in self._tokens.items():  # all of them, whichever it is
                if hmac.compare_digest(password, token):
                    client = name
        if client is None:
            remark = Remark("28P01", "no valid token", "the password is the server's token", severity="FATAL")
            writer.write(remark.encoded())
            return None
        writer.write(wire.WELCOME)
        return client

    async def catalog(self, sql: str, own: OwnRows) -> ArrowTable:
        """What the catalog answers to a session with such rows of its own. Raises QueryError."""
        async with self._catalog_use:  # DuckDB's answers take milliseconds
            tables = list(self.queries.federation.catalog.tables())
            return await asyncio.to_thread(self._catalog.answer, sql, tables, own)

    async def columns_of(self, sql: str, params: Mapping[str, object]) -> Schema:
        """The columns of a result. Raises QueryError, SourceError."""
        federation = self.queries.federation
        await federation.discover(sql, None)
        fields = await fields_of(federation.prepare(sql, params), self._spark)
        return schema_of(fields)

    async def parameter_types(self, sql: str) -> Mapping[int, ArrowType]:
        """The types that values of `$1` and the like should have, where the statement tells. Raises QueryError, SourceError."""
        federation = self.queries.federation
        await federation.discover(sql, None)
        return {named_number(name): kind for name, kind in parameter_types(sql, federation.catalog).items()}

    def internal(self, error: BaseException) -> FFFError:
        """What a client hears of a bug."""
        if self._verbose:
            traceback.print_exception(error, file=sys.stderr)
        return CodedError("XX000", f"internal error: {type(error).__name__}")
