"""`fff.connect_async`: statements as coroutines and asynchronous iterators of the caller's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack, cast

from fff.api.iterators import AsyncBatches, AsyncStream
from fff.api.own_spark import OwnSpark
from fff.api.parts import StatementPart, divide, over_part
from fff.api.result import Result
from fff.api.run import BackgroundRun
from fff.budget import Budget
from fff.catalog import Table
from fff.errors import SparkError, UsageError
from fff.federation import Federation, Prepared
from fff.functions import Frame, Proxy, PythonFunction
from fff.opening import Sources, open_federation
from fff.options import ConnectOptions, OpenOptions, RunOptions, StatementOptions, check_names, is_number
from fff.schema import Field, result_field, schema_of
from fff.sql.syntax.parameters.params import NoValueError
from fff.structs import replace
from fff.web.client import WebClient

#: Seconds between two snapshots of a stream, unless it is told otherwise.
INTERVAL_S = 0.25


def connect_async(*sources: Sources, **options: Unpack[ConnectOptions]) -> AsyncConnection:
    """A connection for `async with`; arguments and errors as for `fff.connect`, those of specs from `async with`."""
    return AsyncConnection(sources, options)


class AsyncConnection:
    """Web tables and the statements run over them, on one event loop.

    What a method does not say of its arguments, result and errors, `fff.Connection` says of the same one.
    Statements may run at the same time; they share connections, the ceilings of each host and one Spark. One
    with `max_requests` counts its own requests: rows that others are fetching it fetches itself, complete
    ones it shares.
    """

    def __init__(
        self,
        sources: Sequence[Sources],
        options: ConnectOptions,
        client: WebClient | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        check_names(options, ConnectOptions, "a connection")
        run: dict[str, Any] = {**options}
        opening = {name: run.pop(name) for name in OpenOptions.__annotations__ if name in run}
        self._sources = sources
        self._client = client
        self._checkpoint = checkpoint
        self._opening = cast("OpenOptions", opening)
        # A script should not take a part for the whole unasked.
        self._options = RunOptions(on_source_error="fail").overridden(run)
        self._federation: Federation | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of the first statement
        self._runs: set[BackgroundRun] = set()
        self.shared_budget: Budget | None = None  # what all statements may send together, each within its own
        self._own_spark = OwnSpark(self._options)
        self._functions: dict[str, PythonFunction] = {}
        self._frames: dict[str, Frame] = {}

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def open(self) -> None:
        """Read the specs; sends nothing. Raises UsageError, SpecError."""
        if self._federation is None:
            federation = open_federation(
                self._sources,
                client=self._client,
                checkpoint=self._checkpoint,
                options=self._options,
                **self._opening,
            )
            for function in self._functions.values():
                federation.register(function)
            for frame in self._frames.values():
                federation.register_frame(frame)
            self._federation = federation

    async def close(self) -> None:
        """Stop what runs, end Spark, close all connections. May be called again."""
        for run in list(self._runs):
            await run.stop()
        self._own_spark.stop()
        federation, self._federation, self._loop = self._federation, None, None
        if federation is not None:
            await federation.close()

    async def sql(
        self, sql: str, params: Mapping[str, object] | None = None, **options: Unpack[StatementOptions]
    ) -> Result:
        """Run one statement to its end. Raises QueryError, UsageError, SourceError."""
        async with self._run(sql, params, options) as run:
            await run.ended()
            return run.result()

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        interval: float = INTERVAL_S,
        **options: Unpack[StatementOptions],
    ) -> AsyncStream:
        """Run one statement when iterated over, for its snapshots; the result is then in `AsyncStream.result`."""
        if not is_number(interval) or not interval >= 0:
            raise UsageError(f"interval must be seconds from 0 on, not {interval!r}")
        return AsyncStream(lambda: self._run(sql, params, options, refresh=True), interval)

    def batches(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        part: StatementPart | None = None,
        **options: Unpack[StatementOptions],
    ) -> AsyncBatches:
        """The result as `pyarrow.RecordBatch`es, as they are found; with a part, that part's."""
        return AsyncBatches(lambda: self._run(sql, params, options, part=part))

    def register(
        self,
        name: str,
        function: Callable[..., object],
        *,
        arguments: Mapping[str, str],
        returns: str,
        batch_size: int = 1,
        max_concurrency: int = 8,
        timeout: float | None = 60.0,
        retries: int = 0,
        description: str = "",
        proxy: Proxy | None = None,
    ) -> None:
        """Let SQL call a function: `register("is_relevant", ask, arguments={"abstract": "string"}, returns="boolean")`.

        It is called once for each different tuple of arguments, for rows that everything cheaper has left,
        never for NULL.

        Args:
            name: what SQL calls it, in any case; `python.name` where a source has a function of that name,
                too.
            function: a coroutine function, or a plain one, which runs in a thread. A call that raises or
                takes too long is made again, then counts as a source's failure for its arguments.
            arguments: their names and types in Spark SQL, in order; values are passed by position.
            returns: the type of its value in Spark SQL. None is NULL.
            batch_size: over 1, the function takes a list for each argument, of at most so many values, and
                gives a list.
            max_concurrency: how many calls may run at once.
            timeout: seconds that one call may take; None: any time.
            retries: how often a call that failed is made again.
            description: for lists of tables.
            proxy: a cheap function that takes the place of this one, which returns boolean, where it can be
                believed.

        Raises:
            UsageError: the name is taken by SQL, or an option is wrong.
        """
        declared = PythonFunction.of(
            name,
            function,
            arguments=arguments,
            returns=returns,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
            timeout=timeout,
            retries=retries,
            description=description,
            proxy=proxy,
        )
        self.federation.register(declared)
        self._functions[name.lower()] = declared

    def register_table(self, name: str, frame: object) -> None:
        """Let SQL name a frame as a table: `register_table("leads", leads)`, then `FROM leads` (or `python.leads`).

        A table of that name that was registered before is replaced. Text that looks like a number stays text.

        Args:
            name: letters, digits and _; SQL takes it in any case.
            frame: of Arrow, pandas, polars or Spark, or a relation of DuckDB: whatever can hand over Arrow
                data. Its rows are those it has now; Arrow's own are not copied, so leave numpy memory below
                them as it is.

        Raises:
            UsageError: it is no frame, or a result that is not whole, or has a column that SQL cannot have.
        """
        lent = Frame.of(name, frame)
        self.federation.register_frame(lent)
        self._frames[name.lower()] = lent

    async def explain(self, sql: str, params: Mapping[str, object] | None = None) -> str:
        """What would run, as text; tables are not read. Raises QueryError, UsageError."""
        return self.federation.explain(await self._prepare(sql, params))

    async def reset(self) -> None:
        """Forget what statements have read of tables: the next one asks the sources again. For `keep`."""
        self.federation.reset()

    def tables(self) -> list[Table]:
        """Every table with its columns, as far as they are known, and its access methods."""
        return list(self.federation.catalog.tables())

    def own_tables(self) -> list[Table]:
        """The tables of `tables` that are not the bundled catalog's."""
        return list(self.federation.catalog.own_tables())

    async def describe(self, sql: str, params: Mapping[str, object] | None = None) -> tuple[Field, ...]:
        """The columns a statement's result will have. Raises QueryError, UsageError."""
        return await fields_of(await self._prepare(sql, params), self._own_spark)

    async def needs_spark(self, sql: str, params: Mapping[str, object] | None = None) -> bool:
        """Whether Spark runs a part of the statement. Raises QueryError, UsageError."""
        return (await self._prepare(sql, params)).upper is not None

    async def divide(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        parts: int,
        keep_duplicates: bool = False,
    ) -> list[StatementPart]:
        """The statement in at most so many parts. Raises QueryError, UsageError, SourceError."""
        prepared = await self._prepare(sql, params)
        return await divide(self.federation.catalog, prepared, parts, keep_duplicates=keep_duplicates)

    async def _prepare(self, sql: str, params: Mapping[str, object] | None) -> Prepared:
        _check(sql, params)
        federation = self._federation_here()
        await federation.discover(sql)
        return _prepared(federation, sql, params)

    def _federation_here(self) -> Federation:
        """The engine below, for this event loop, where its connections to servers are.

        Raises UsageError when the connection is closed, or belongs to another loop.
        """
        federation, loop = self.federation, asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise UsageError(
                "the connection belongs to the event loop of its first statement",
                hint="connect in each event loop; connections of fff.connect serve any thread",
            )
        return federation

    @property
    def federation(self) -> Federation:
        """The engine below; raises UsageError when the connection is closed."""
        if self._federation is None:
            raise UsageError("the connection is closed")
        return self._federation

    def _run(
        self,
        sql: str,
        params: Mapping[str, object] | None,
        options: StatementOptions,
        *,
        refresh: bool = False,
        part: StatementPart | None = None,
    ) -> _Running:
        check_names(options, StatementOptions, "a statement")
        _check(sql, params)
        chosen = replace(self._options.overridden(options), refresh=refresh)

        async def begin(stack: contextlib.AsyncExitStack) -> BackgroundRun:
            federation = self._federation_here()
            budget = Budget.of(chosen.max_requests, chosen.budget, self.shared_budget)
            await federation.discover(sql, budget)
            if part is not None:
                federation = over_part(federation, part)
            prepared = _prepared(federation, sql, params, chosen.prioritize)
            run = BackgroundRun(federation.execute(prepared, chosen, budget), self._own_spark)
            stack.push_async_callback(run.stop)
            self._runs.add(run)
            stack.callback(self._runs.discard, run)
            return run

        return _Running(begin)


def _check(sql: object, params: object) -> None:
    """Raise UsageError for what is no statement, or no values of parameters."""
    if not isinstance(sql, str):
        raise UsageError(f"the SQL must be a string, not {type(sql).__name__}")
    if params is not None and not isinstance(params, Mapping):
        raise UsageError(
            f"values of parameters are a mapping by their names, not {type(params).__name__}",
            hint="write :name in the SQL and {'name': …} behind it; fff.dbapi takes ? and a list",
        )


def _prepared(
    federation: Federation, sql: str, params: Mapping[str, object] | None, prioritize: Sequence[str] = ()
) -> Prepared:
    try:
        return federation.prepare(sql, params, prioritize)
    except NoValueError as error:
        error.advise_program()
        raise


class _Running:
    """A statement runs while the context is open.

    No generator: a loop that ends closes all asynchronous generators at once, the inner with the outer ones.
    """

    def __init__(self, begin: Callable[[contextlib.AsyncExitStack], Awaitable[BackgroundRun]]) -> None:
        self._begin = begin
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> BackgroundRun:
        async with self._stack:
            run = await self._begin(self._stack)
            self._stack = self._stack.pop_all()
        return run

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()


async def fields_of(prepared: Prepared, spark: OwnSpark) -> tuple[Field, ...]:
    """The columns that a statement's result will have; Spark is started only where it must say. Raises QueryError."""
    if prepared.result is not None:
        return prepared.result.fields
    upper = prepared.upper
    assert upper is not None, "what the engine does not answer is Spark's"
    views = {block.view: schema_of(block.fields).empty_table() for block in prepared.blocks}
    text = f"SELECT * FROM ({upper.sql}\n) LIMIT 0"  # noqa: S608 - the statement itself, as its user wrote it
    try:
        table = await asyncio.to_thread(spark.run_over, text, views)
    except SparkError as error:
        raise upper.words.told(error, prepared.sql) from error.__cause__
    return tuple(result_field(one.name, one.type) for one in table.schema)
