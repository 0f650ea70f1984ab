"""One client over PostgreSQL's protocol: what it asks, in the order it asks, simply or in prepared statements.

Rows that are not the whole answer end as an error, since no driver looks at notices: nothing incomplete is
taken for complete. A session that says `SET fff.partial = on` gets them as an answer, and a warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from fff.errors import FFFError, QueryError, UsageError
from fff.structs import replace
from fff_cli.postgres import wire
from fff_cli.postgres.commands import (
    CloseCursor,
    CursorCommand,
    DeclareCursor,
    ExecuteStatement,
    FetchRows,
    PreparedCommand,
    copy_command,
    cursor_command,
    prepared_command,
    session_word,
)
from fff_cli.postgres.copying import CopyForm
from fff_cli.postgres.dialect import (
    Translated,
    asks_the_catalog,
    parameter_name,
    statements,
    translated,
    words,
)
from fff_cli.postgres.error_codes import CodedError, code_of, remarks_on
from fff_cli.postgres.parameters import filled, sample
from fff_cli.postgres.portals import (
    ROWS_AT_ONCE,
    Answering,
    BoundStatement,
    DoorServices,
    SentAhead,
    SessionPortals,
)
from fff_cli.postgres.settings import REPORTED, SETTINGS, SessionSettings, started_with
from fff_cli.postgres.values import TEXT, as_described, cells, wire_type
from fff_cli.postgres.wire import Body, ProtocolError, Remark
from fff_cli.serve.hints import advised
from fff_cli.serve.queries import AskedQuery, ServedQuery, asked_query

Batch: TypeAlias = pa.RecordBatch
Schema: TypeAlias = pa.Schema

_UNTAKEN_S = 60.0  # that a client may take nothing of its answer
_WAITING = 64  # messages that a client may send ahead


class PostgresSession:
    """A client that has said who it is: whose token it has, and its connection."""

    def __init__(
        self,
        host: DoorServices,
        client: str,
        settings: Mapping[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._host, self._queries, self._client = host, host.queries, client
        self._reader, self._writer = reader, writer
        self._settings, self._wanted = SessionSettings(), settings
        self._state = b"I"
        self._portals = SessionPortals()
        self._running: ServedQuery | None = None
        self._together = False  # several statements of one message, which are a transaction
        self._skipping = False  # to the next Sync, after an error in between
        self.process, self.secret = secrets.randbelow(1 << 31), secrets.randbelow(1 << 31)

    def cancel(self) -> None:
        """Stop the query under way, if any: it ends as an error."""
        if self._running is not None:
            self._running.stop()

    async def run(self) -> None:
        """Answer until the client goes; then end what it had under way."""
        try:
            for name, value in started_with(self._wanted):
                self._settings.put(name, value, self._queries.limits)
        except UsageError as error:
            self._send(Remark("22023", error.message, error.hint, severity="FATAL").encoded())
            return
        self._send(*(wire.setting(name, SETTINGS[name]) for name in REPORTED))
        self._send(wire.cancel_key(self.process, self.secret), wire.ready(self._state))
        await self._flushed()
        messages: asyncio.Queue[tuple[bytes, Body]] = asyncio.Queue(_WAITING)
        hearing = asyncio.create_task(self._hear(messages))
        answering = asyncio.create_task(self._answer_all(messages))
        try:
            await asyncio.wait((hearing, answering), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (hearing, answering):
                task.cancel()
            ends = await asyncio.gather(hearing, answering, return_exceptions=True)
            await self._portals.end()
        wrong = next((end for end in ends if isinstance(end, ProtocolError)), None)
        if wrong is not None:
            self._send(Remark("08P01", str(wrong), severity="FATAL").encoded())
            await self._flushed()

    async def _hear(self, messages: asyncio.Queue[tuple[bytes, Body]]) -> None:
        """Read ahead, so that a client that goes away is noticed while it is being answered."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await messages.put(await wire.read_message(self._reader))

    async def _answer_all(self, messages: asyncio.Queue[tuple[bytes, Body]]) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            while True:
                letter, body = await messages.get()
                if letter == b"X":
                    return
                if self._skipping and letter != b"S":
                    continue
                await self._answer(letter, body)

    async def _answer(self, letter: bytes, body: Body) -> None:
        answers: dict[bytes, Callable[[Body], Awaitable[None]]] = {
            b"Q": self._query, b"P": self._parse, b"B": self._bind, b"D": self._describe,
            b"E": self._execute, b"C": self._close, b"S": self._sync, b"H": self._flush,
        }  # fmt: skip
        if letter not in answers:
            raise ProtocolError(f"message {letter!r} is not understood")
        try:
            await answers[letter](body)
        except FFFError as error:
            self._refuse(error)
        except (ValueError, ArithmeticError) as error:
            self._refuse(UsageError(f"the value of a parameter cannot be read: {error}"))
        except (ProtocolError, ConnectionError, TimeoutError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug: the client gets no traceback
            self._refuse(self._host.internal(error))
        if letter == b"Q":
            self._skipping = False
            await self._rest()
        elif self._skipping:
            await self._flushed()

    def _refuse(self, error: FFFError) -> None:
        advised(error)
        position = error.span.start + 1 if isinstance(error, QueryError) and error.span is not None else None
        message = error.message if isinstance(error, QueryError) else str(error).partition("\n")[0]
        self._send(Remark(code_of(error), message, error.hint, position).encoded())
        if self._state == b"T":
            self._state = b"E"
        self._skipping = True

    # Simple and extended queries

    async def _query(self, body: Body) -> None:
        texts = statements(body.text())
        if not texts:
            self._send(wire.EMPTY)
        self._together = len(texts) > 1
        for sql in texts:
            portal = self._bound(sql, {}, ())
            try:
                portal.answer = self._answering(portal.sql, {})
                schema = await portal.answer.schema()
                if schema is not None and portal.copy is None:
                    self._send(wire.columns(self._described(schema, portal)))
                await self._rows(portal, portal.answer, 0)
            finally:
                await portal.end()

    async def _parse(self, body: Body) -> None:
        name, sql = body.text(), body.text()
        kinds = [body.int32() for _ in range(body.int16())]
        texts = statements(sql)
        if len(texts) > 1:
            raise UsageError("one statement at a time can be prepared")
        self._portals.prepared[name] = SentAhead(texts[0] if texts else "", kinds)
        self._send(wire.PARSED)

    async def _bind(self, body: Body) -> None:
        name, statement = body.text(), body.text()
        prepared = self._portals.known(statement)
        forms = body.int16s()
        values = [body.value() for _ in range(body.int16())]
        if len(values) < prepared.parameters:
            raise UsageError(f"{prepared.parameters} values are needed, not {len(values)}")
        binary = [one == 1 for one in (forms if len(forms) > 1 else (forms or [0]) * len(values))]
        await prepared.learn(self._host.parameter_types)
        portal = self._bound(prepared.sql, prepared.params(values, binary), body.int16s())
        portal.elements = prepared.elements()
        portal.described = prepared.schema
        await self._portals.open(name, portal)
        self._send(wire.BOUND)

    @staticmethod
    def _bound(sql: str, params: Mapping[str, object], formats: Sequence[int]) -> BoundStatement:
        copied = copy_command(sql)
        if copied is None:
            return BoundStatement(sql, params, formats=formats)
        return BoundStatement(copied.sql, params, copy=copied.form)

    async def _describe(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        if kind == b"S":
            prepared = self._portals.known(name)
            await prepared.learn(self._host.parameter_types)
            kinds = [prepared.kind(at) for at in range(1, prepared.parameters + 1)]
            self._send(wire.parameters([kind or TEXT for kind in kinds]))
            schema = prepared.schema = await self._columns_ahead(prepared)
            portal = BoundStatement(prepared.sql)
        else:
            portal = self._portals.opened(name)
            portal.answer = portal.answer or self._answering(portal.sql, portal.params, portal.elements)
            schema = None if portal.copy else portal.described or await portal.answer.schema()
        self._send(wire.NO_ROWS if schema is None else wire.columns(self._described(schema, portal)))

    async def _columns_ahead(self, prepared: SentAhead) -> Schema | None:
        """The columns of a statement whose values are not known yet, but such as they will be."""
        sql = prepared.sql
        if not sql or session_word(sql) is not None or copy_command(sql) is not None:
            return None
        kept = prepared_command(sql)
        if kept is not None:
            known = self._portals.known(kept.name) if isinstance(kept, ExecuteStatement) else None
            return None if known is None else await self._columns_ahead(known)
        command = cursor_command(sql)
        if command is not None:
            shown = isinstance(command, FetchRows) and command.word == "FETCH"
            return await self._portals.cursor(str(command.name)).schema() if shown else None
        if self._settings.shown(sql) is None and not asks_the_catalog(sql):
            kinds = enumerate(map(prepared.kind, range(1, prepared.parameters + 1)), 1)
            text = translated(sql, {parameter_name(at): sample(kind) for at, kind in kinds})
            return await self._host.columns_of(text.sql, text.params)
        answer = self._answering(sql, {})
        try:
            return await answer.schema()
        finally:
            await answer.close()

    async def _execute(self, body: Body) -> None:
        name, most = body.text(), body.int32()
        portal = self._portals.opened(name)
        if not portal.sql:
            self._send(wire.EMPTY)
            return
        portal.answer = portal.answer or self._answering(portal.sql, portal.params, portal.elements)
        if await self._rows(portal, portal.answer, most):
            await portal.end()

    async def _close(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        if kind == b"S":
            self._portals.prepared.pop(name, None)
        else:
            await self._portals.drop(name)
        self._send(wire.CLOSED)

    async def _sync(self, body: Body) -> None:
        del body
        self._skipping = False
        await self._rest()

    async def _rest(self) -> None:
        """Nothing is under way; what belongs to a transaction ends with it."""
        self._running, self._together = None, False
        if self._state == b"I":
            await self._portals.end(held=False)
        self._send(wire.ready(self._state))
        await self._flushed()

    async def _flush(self, body: Body) -> None:
        del body
        await self._flushed()

    # Answers

    def _described(self, schema: Schema, portal: BoundStatement) -> list[tuple[str, int, int, int]]:
        kinds = [wire_type(one.type) for one in schema]
        return [
            (one.name, kind.oid, kind.size, int(portal.binary(at)))
            for at, (one, kind) in enumerate(zip(schema, kinds, strict=True))
        ]

    async def _rows(self, portal: BoundStatement, answer: Answering, most: int) -> bool:
        """Send rows, `most` of them if not 0; whether those were all."""
        if portal.copy is not None:
            await self._copied(portal.copy, answer)
            return True
        left = most
        while True:
            part = await answer.take(min(left, ROWS_AT_ONCE) if most else 0)
            if isinstance(part, str):
                self._send(wire.done(part))
                return True
            part = as_described(part, portal.described)
            columns = [cells(column, portal.binary(at)) for at, column in enumerate(part.columns)]
            self._send(wire.rows(columns, len(part)))
            await self._flushed()
            left -= len(part)
            if most and left <= 0:
                self._send(wire.SUSPENDED)
                return False

    async def _copied(self, form: CopyForm, answer: Answering) -> None:
        """Send rows as COPY does, a message each; what is not whole ends as an error in the middle."""
        schema = await answer.schema()
        if schema is None:
            raise UsageError("only a query can be copied", hint="COPY (SELECT …) TO STDOUT")
        self._send(wire.copied_out(len(schema), binary=form.binary))
        front = form.front(schema)
        while not isinstance(part := await answer.take(0), str):
            if len(part):
                self._send(wire.copied(form.rows(part, front)))
                front = b""
                await self._flushed()
        self._send(
            wire.copied([front + form.trailer]), wire.COPIED, wire.done(part.replace("SELECT", "COPY"))
        )

    def _answering(
        self, sql: str, params: Mapping[str, object], elements: Mapping[str, str] | None = None
    ) -> Answering:
        return Answering(self._parts(sql, params, elements or {}))

    async def _parts(
        self, sql: str, params: Mapping[str, object], elements: Mapping[str, str]
    ) -> AsyncGenerator[Batch | str]:
        word = session_word(sql)
        if self._state == b"E" and word not in ("ROLLBACK", "COMMIT"):
            raise CodedError("25P02", "the transaction has failed: end it first, by ROLLBACK")
        if word is not None:
            done = self._obey(sql, word)
            if word in ("DISCARD", "DISCARD ALL"):
                await self._portals.close_cursor(None)
            yield done
            return
        shown = self._settings.shown(sql)
        if shown is not None:
            yield shown
            yield "SHOW"
            return
        command = cursor_command(sql)
        if command is not None:
            async for part in self._on_cursor(command, params, elements):
                yield part
            return
        kept = prepared_command(sql)
        if kept is not None:
            async for part in self._on_prepared(kept):
                yield part
            return
        if asks_the_catalog(sql):
            table = (await self._host.catalog(filled(sql, params), self._portals.listed())).combine_chunks()
            for batch in table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
                yield batch
            yield f"SELECT {len(table)}"
            return
        async for part in self._asked(translated(sql, params, elements)):
            yield part

    async def _asked(self, text: Translated) -> AsyncGenerator[Batch | str]:
        rows, said = 0, list[str]()
        try:
            asked = self._question(text)
            async with self._queries.begun(self._client, asked, connection=self._writer) as query:
                self._running = query
                try:
                    async with contextlib.aclosing(query.events(snapshots=False)) as events:
                        async for event in events:
                            assert isinstance(event, pa.RecordBatch), "no snapshots were asked for"
                            # A portal or a cursor may be read in part, and one number may be all of it.
                            if not rows and (settled := query.settled()) is not None:
                                self._judge(query, settled, said)
                            rows += len(event)
                            yield event
                            self._running = query  # another cursor's may have been, meanwhile
                finally:
                    self._running = None
                self._judge(query, query.end(), said)
        except QueryError as error:
            if error.span is not None:
                start = text.place(error.span.start)
                error.span = replace(error.span, start=start, end=max(start + 1, text.place(error.span.end)))
            raise
        yield f"SELECT {rows}"

    # Cursors, and statements that are kept under a name

    async def _on_prepared(self, command: PreparedCommand) -> AsyncGenerator[Batch | str]:
        if not isinstance(command, ExecuteStatement):
            prepared = self._portals.new(command)
            await prepared.learn(self._host.parameter_types)
            await self._columns_ahead(prepared)  # what is wrong with it is told now
            self._portals.prepared[command.name] = prepared
            yield "PREPARE"
            return
        prepared, given = self._portals.known(command.name), len(command.values)
        count = max(prepared.parameters, len(prepared.kinds))
        if given != count:
            raise CodedError("42601", f"statement {command.name!r} has {count} parameters, not {given}")
        await prepared.learn(self._host.parameter_types)
        params = prepared.params(command.values, [False] * given)
        try:
            async for part in self._parts(prepared.sql, params, prepared.elements()):
                yield part
        except QueryError as error:
            error.span = None  # its place is in another statement
            raise

    async def _on_cursor(
        self, command: CursorCommand, params: Mapping[str, object], elements: Mapping[str, str]
    ) -> AsyncGenerator[Batch | str]:
        match command:
            case DeclareCursor():
                if self._state == b"I" and not command.held and not self._together:
                    raise CodedError(
                        "25P01", "a cursor is of a transaction: BEGIN, or DECLARE … CURSOR WITH HOLD FOR"
                    )
                if session_word(command.sql) is not None:
                    raise UsageError("a cursor is of a query")
                yield await self._portals.declare(command, self._answering(command.sql, params, elements))
            case CloseCursor(name):
                await self._portals.close_cursor(name)
                yield "CLOSE CURSOR"
            case FetchRows():
                async for part in self._portals.fetched(command):
                    yield part

    def _question(self, text: Translated) -> AskedQuery:
        asked = asked_query({"sql": text.sql} | self._settings.of_queries(), self._queries.limits)
        return replace(asked, params=text.params)

    def _judge(self, query: ServedQuery, end: Mapping[str, Any], said: list[str]) -> None:
        """Raise where the rows are not all there are and the session wants none such; else say what was not `said`."""
        remarks = remarks_on(end, parts=self._settings.takes_parts, cancelled=query.stopped)
        new = [text for text in remarks if text not in said]
        said += new
        self._send(*(Remark("01000", text, severity="WARNING").encoded() for text in new))

    # What sessions say to a database

    def _obey(self, sql: str, word: str) -> str:
        match word:
            case "BEGIN":
                if self._state == b"I":
                    self._state = b"T"
                    self._settings.begun()
            case "COMMIT" | "ROLLBACK":
                return self._ended(sql, word)
            case "SET":
                if (warning := self._settings.change(sql, self._queries.limits)) is not None:
                    self._send(Remark("01000", warning, severity="WARNING").encoded())
            case "RESET":
                self._settings.reset(sql)
            case "DISCARD" | "DISCARD ALL":
                self._settings.reset()
                self._portals.prepared.clear()
            case "DEALLOCATE":
                self._portals.forget(sql)
        return word

    def _ended(self, sql: str, word: str) -> str:
        """The end of a transaction, or of a part of it."""
        if "to" in words(sql):
            if self._state == b"I":
                raise CodedError("25P01", "there is no transaction to roll back a part of")
            self._state = b"T"
            return word
        word = "ROLLBACK" if self._state == b"E" else word
        self._settings.ended(well=word == "COMMIT")
        self._state = b"I"
        return word

    def _send(self, *messages: bytes) -> None:
        self._writer.write(b"".join(messages))

    async def _flushed(self) -> None:
        async with asyncio.timeout(_UNTAKEN_S):
            await self._writer.drain()
