"""Statements that a session has sent ahead, and what each answers: its portals, cursors among them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa

from fff.errors import FFFError, UsageError
from fff.schema import ArrowType
from fff_cli.postgres.catalog import OwnRows, type_name
from fff_cli.postgres.commands import (
    DeclareCursor,
    FetchRows,
    PrepareStatement,
    copy_command,
    cursor_command,
    session_word,
)
from fff_cli.postgres.copying import CopyForm
from fff_cli.postgres.dialect import asks_the_catalog, parameter_name, parameters_in, pieces, words
from fff_cli.postgres.error_codes import CodedError
from fff_cli.postgres.parameters import guessed, kinds_told, parameter, spark_type
from fff_cli.postgres.values import check_texts
from fff_cli.serve.queries import Queries

Batch: TypeAlias = pa.RecordBatch
Schema: TypeAlias = pa.Schema
ArrowTable: TypeAlias = pa.Table

ROWS_AT_ONCE = 2_000


class DoorServices(Protocol):
    """What stands behind every session."""

    queries: Queries

    async def catalog(self, sql: str, own: OwnRows) -> ArrowTable:
        """The rows of a statement about PostgreSQL's own tables."""

    async def columns_of(self, sql: str, params: Mapping[str, object]) -> Schema:
        """The columns that a statement's result will have; no table is read."""

    async def parameter_types(self, sql: str) -> Mapping[int, ArrowType]:
        """The types that values of `$1` and the like should have, where the statement tells."""

    def internal(self, error: BaseException) -> FFFError:
        """What a client hears of a bug."""


@dataclass
class SentAhead:
    """A statement that was sent ahead, and the types of its parameters.

    `kinds`: as its client said them, from the first on, 0 for any. `told`: of the others, by what they are
    compared with, None while nobody has asked. `schema`: its columns as they were described.
    """

    sql: str
    kinds: Sequence[int] = ()
    told: Mapping[int, int] | None = None
    schema: Schema | None = None
    from_sql: bool = False  # by PREPARE

    def said(self, number: int) -> int:
        """The type that the client says a parameter to have, from 1; 0 where it does not."""
        return self.kinds[number - 1] if number <= len(self.kinds) else 0

    def kind(self, number: int) -> int:
        """The type of a parameter, from 1; 0 where nothing tells it."""
        return self.said(number) or (self.told or {}).get(number, 0)

    @property
    def parameters(self) -> int:
        """How many it has. Those of what it keeps under a name are not its own."""
        return 0 if words(self.sql)[:1] == ["prepare"] else parameters_in(self.sql)

    async def learn(self, types: Callable[[str], Awaitable[Mapping[int, ArrowType]]]) -> None:
        """What the parameters are, of those whose client has not said it; `types` knows Spark's SQL."""
        if self.told is not None or all(self.said(at) for at in range(1, self.parameters + 1)):
            return
        copied, command = copy_command(self.sql), cursor_command(self.sql)
        sql = copied.sql if copied else command.sql if isinstance(command, DeclareCursor) else self.sql
        asks = session_word(sql) is None and not asks_the_catalog(sql)
        self.told = await kinds_told(sql, types if asks else None)

    def params(self, values: Sequence[bytes | None], binary: Sequence[bool]) -> dict[str, object]:
        """The values of the parameters, by what they are called in Spark's SQL, once their types are known."""
        return {
            parameter_name(at): (parameter if self.said(at) else guessed)(
                value, self.kind(at), binary[at - 1]
            )
            for at, value in enumerate(values, 1)
            if at <= self.parameters
        }

    def elements(self) -> dict[str, str]:
        """What the elements of those that are arrays are called there."""
        return {parameter_name(at): spark_type(self.kind(at)) for at in range(1, self.parameters + 1)}


@dataclass
class BoundStatement:
    """A statement with the values of its parameters, to be run or under way.

    `elements`: what the elements of arrays among them are called in Spark's SQL. `described`: the columns
    that its client was told of. `copy`: how its rows are copied out, where they are. `cursor`: it was
    declared. `held`: a cursor that outlives its transaction.
    """

    sql: str
    params: Mapping[str, object] = field(default_factory=dict)
    elements: Mapping[str, str] = field(default_factory=dict)
    described: Schema | None = None
    formats: Sequence[int] = ()
    answer: Answering | None = None
    copy: CopyForm | None = None
    held: bool = False
    cursor: bool = False

    async def end(self) -> None:
        """End what is under way."""
        if self.answer is not None:
            answer, self.answer = self.answer, None
            await answer.close()

    def binary(self, at: int) -> bool:
        """Whether a column is wanted in binary."""
        if len(self.formats) > 1:
            return at < len(self.formats) and self.formats[at] == 1
        return bool(self.formats) and self.formats[0] == 1


class Answering:
    """What one statement answers: first its columns (None: none), then rows, then the word for what was done."""

    def __init__(self, parts: AsyncGenerator[Batch | str]) -> None:
        self._parts = parts
        self._next: Batch | str | None = None
        self._schema: Schema | None = None

    async def schema(self) -> Schema | None:
        """The columns."""
        if self._schema is None and self._next is None:
            self._next = await anext(self._parts)
            self._schema = None if isinstance(self._next, str) else self._next.schema
        return self._schema

    async def take(self, most: int) -> Batch | str:
        """Some rows, or the last word, again and again. Raises CodedError for what the protocol cannot say."""
        part = self._next if self._next is not None else await anext(self._parts)
        self._next = None
        if isinstance(part, str):
            self._next = part
            return part
        self._schema = part.schema
        most = most or ROWS_AT_ONCE
        if len(part) > most:
            part, self._next = part.slice(0, most), part.slice(most)
        check_texts(part)
        return part

    async def close(self) -> None:
        """End what is under way."""
        await self._parts.aclose()


class SessionPortals:
    """What a session has sent ahead and has open, by name: statements, portals, and the cursors that it has declared."""

    def __init__(self) -> None:
        self.prepared: dict[str, SentAhead] = {}
        self._open: dict[str, BoundStatement] = {}

    def known(self, name: str) -> SentAhead:
        """The statement of that name. Raises CodedError."""
        if name not in self.prepared:
            raise CodedError("26000", f"no statement {name!r} is prepared")
        return self.prepared[name]

    def new(self, command: PrepareStatement) -> SentAhead:
        """What a PREPARE is to keep. Raises CodedError where there is one of its name, QueryError where it is no query."""
        if command.name in self.prepared:
            raise CodedError("42P05", f"a statement {command.name!r} is prepared already")
        others = ("prepare", "execute", "declare", "fetch", "move", "close", "copy")
        if session_word(command.sql) is not None or (words(command.sql) or others)[0] in others:
            raise CodedError("42601", "only a query can be prepared")
        return SentAhead(command.sql, command.kinds, from_sql=True)

    def forget(self, sql: str) -> None:
        """DEALLOCATE of one, or of all. Raises CodedError."""
        named = [one.text for one in pieces(sql)[1:] if one.text.lower() not in ("prepare", ";")]
        name = named[0] if named else "all"
        name = name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
        if name == "all":
            self.prepared.clear()
        else:
            self.known(name)
            del self.prepared[name]

    def listed(self) -> OwnRows:
        """What the catalog tells of them: the rows of `pg_prepared_statements` and `pg_cursors`."""
        prepared = [
            {
                "name": name, "statement": one.sql, "from_sql": one.from_sql,
                "parameter_types": [type_name(one.kind(at)) for at in range(1, max(one.parameters, len(one.kinds)) + 1)],
            }
            for name, one in self.prepared.items()
            if name
        ]  # fmt: skip
        cursors = [
            {"name": name, "statement": one.sql, "is_holdable": one.held, "is_binary": False, "is_scrollable": False}
            for name, one in self._open.items()
            if one.cursor
        ]  # fmt: skip
        return {"pg_prepared_statements": prepared, "pg_cursors": cursors}

    def opened(self, name: str) -> BoundStatement:
        """The portal of that name. Raises UsageError."""
        if name not in self._open:
            raise UsageError(f"no portal {name!r} is open")
        return self._open[name]

    async def open(self, name: str, portal: BoundStatement) -> None:
        """Open one, in the place of another of its name."""
        await self.drop(name)
        self._open[name] = portal

    async def drop(self, name: str) -> None:
        """Close it, if it is there."""
        portal = self._open.pop(name, None)
        if portal is not None:
            await portal.end()

    async def end(self, *, held: bool = True) -> None:
        """Close all, those of cursors that outlive transactions among them if `held`."""
        for name in [name for name, portal in self._open.items() if held or not portal.held]:
            await self.drop(name)

    async def declare(self, command: DeclareCursor, answer: Answering) -> str:
        """Open a cursor; what is done, in a word. Its query begins: what is wrong with it is told now.

        Raises CodedError where there is one of its name, and what the query raises.
        """
        if command.name in self._open:
            raise CodedError("42P03", f"cursor {command.name!r} is open already")
        if await answer.schema() is None:
            await answer.close()
            raise UsageError("a cursor is of a query")
        self._open[command.name] = BoundStatement(command.sql, answer=answer, held=command.held, cursor=True)
        return "DECLARE CURSOR"

    def cursor(self, name: str) -> Answering:
        """What a cursor answers. Raises CodedError."""
        portal = self._open.get(name)
        if portal is None or portal.answer is None:
            raise CodedError("34000", f"no cursor {name!r} is open")
        return portal.answer

    async def close_cursor(self, name: str | None) -> None:
        """Close a cursor, or all. Raises CodedError."""
        if name is None:
            for one in [one for one, portal in self._open.items() if portal.cursor]:
                await self.drop(one)
        else:
            self.cursor(name)
            await self.drop(name)

    async def fetched(self, command: FetchRows) -> AsyncGenerator[Batch | str]:
        """A cursor's next rows; to tell its columns takes none of them. Raises CodedError."""
        cursor, shown, rows = self.cursor(command.name), command.word == "FETCH", 0
        schema = await cursor.schema()
        if shown and schema is not None:
            yield pa.RecordBatch.from_pylist([], schema)
        while command.count is None or rows < command.count:
            left = ROWS_AT_ONCE if command.count is None else min(command.count - rows, ROWS_AT_ONCE)
            try:
                part = await cursor.take(left)
            except FFFError:
                await self.drop(command.name)
                raise
            if isinstance(part, str):
                break
            rows += len(part)
            if shown:
                yield part
        yield command.tag(rows)
