"""`fff.connect_async`: statements as coroutines and asynchronous iterators of the caller's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import pyarrow as pa

from fff.api.iterators import AsyncBatches, AsyncStream
from fff.api.opening import Source, open_federation
from fff.api.own_spark import OwnSpark
from fff.api.parts import Part, divide, over_part
from fff.api.result import Result
from fff.api.run import Run
from fff.api.settings import OnSourceError, RunKeywords, Settings
from fff.catalog import Table
from fff.engine import Federation, Prepared
from fff.errors import UsageError
from fff.functions import PythonFunction
from fff.policies import DEFAULT_POLICY, Preference
from fff.schema import Field, result_field

#: Seconds between two snapshots of a stream, unless it is told otherwise.
INTERVAL_S = 0.25


def connect_async(
    *sources: Source,
    policy: str = DEFAULT_POLICY,
    seed: int | None = None,
    deadline: float | None = None,
    max_requests: int | None = None,
    on_source_error: OnSourceError = "fail",
    spark_master: str = "local[*]",
    spark_remote: str | None = None,
    keep: bool = False,
    cache: bool | None = None,
    cache_ttl: float | None = None,
    prefer: Preference = "balanced",
) -> AsyncConnection:
    """A connection for `async with`; arguments and errors as for `fff.connect`, the errors from `async with`."""
    settings = Settings(
        *(policy, seed, deadline, max_requests, on_source_error, spark_master, spark_remote, keep),
        cache=cache,
        cache_ttl=cache_ttl,
        prefer=prefer,
    )
    return AsyncConnection(sources, settings)


class AsyncConnection:
    """Web tables and the statements run over them, on one event loop.

    Statements may run at the same time; they share connections, the ceilings of each host and one Spark. One with
    `max_requests` has a web client of its own, so that only its own requests count.
    """

    def __init__(self, sources: Sequence[Source], settings: Settings) -> None:
        self._sources = sources
        self._settings = settings
        self._federation: Federation | None = None
        self._runs: set[Run] = set()
        self._own_spark = OwnSpark(settings)
        self._functions: dict[str, PythonFunction] = {}

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def open(self) -> None:
        """Read the specs; sends nothing. Raises UsageError, SpecError."""
        if self._federation is None:
            self._federation = self._opened(keep=self._settings.keep)

    def _opened(self, *, keep: bool) -> Federation:
        settings = self._settings
        federation = open_federation(
            self._sources, keep=keep, cache=settings.cache, cache_ttl=settings.cache_ttl
        )
        for function in self._functions.values():
            federation.register(function)
        return federation

    async def close(self) -> None:
        """Stop what runs, end Spark, close all connections. May be called again."""
        for run in list(self._runs):
            await run.stop()
        self._own_spark.stop()
        federation, self._federation = self._federation, None
        if federation is not None:
            await federation.close()

    async def sql(
        self, sql: str, params: Mapping[str, object] | None = None, **options: Unpack[RunKeywords]
    ) -> Result:
        """Run one statement to its end.

        Args:
            sql: one statement of Spark SQL.
            params: values of its `:name` parameters: numbers, strings, Booleans, dates, datetimes, None.
            **options: see `RunKeywords`.

        Raises:
            QueryError: the SQL is wrong or cannot be run.
            UsageError: a parameter or an option is wrong, or the connection is closed.
            SourceError: a source could not be read in full, unless `on_source_error="partial"`; or none at all.
        """
        async with self._run(sql, params, options) as run:
            await run.ended()
            return run.result()

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        interval: float = INTERVAL_S,
        **options: Unpack[RunKeywords],
    ) -> AsyncStream:
        """Run one statement when iterated over; gives a `Snapshot` every `interval` seconds, the last one at the end.

        Arguments and errors are those of `sql`; errors come out of the iteration. The result is then in
        `AsyncStream.result`. Leaving the loop early stops the statement.
        """
        return AsyncStream(lambda: self._run(sql, params, options, refresh=True), interval)

    def batches(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        part: Part | None = None,
        **options: Unpack[RunKeywords],
    ) -> AsyncBatches:
        """The result as `pyarrow.RecordBatch`es, as they are found; at least one, perhaps without rows.

        Arguments and errors are those of `sql`; an error may come after rows, which are then not the whole answer.
        Leaving the loop early stops the statement. With a part, one of those that `divide` gave, it is the part's rows.
        """
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
    ) -> None:
        """Let SQL call a function: `register("is_relevant", ask, arguments={"abstract": "string"}, returns="boolean")`.

        It is called once for each different tuple of arguments, for rows that everything cheaper has left, never for NULL.

        Args:
            name: what SQL calls it, in any case; `python.name` where a source has a function of that name, too.
            function: a coroutine function, or a plain one, which runs in a thread. A call that raises or takes too long is
                made again, then counts as a source's failure for its arguments.
            arguments: their names and types in Spark SQL, in order; values are passed by position.
            returns: the type of its value in Spark SQL. None is NULL.
            batch_size: over 1, the function takes a list for each argument, of at most so many values, and gives a list.
            max_concurrency: how many calls may run at once.
            timeout: seconds that one call may take; None: any time.
            retries: how often a call that failed is made again.
            description: for lists of tables.

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
        )
        self.federation.register(declared)
        self._functions[name.lower()] = declared

    async def explain(self, sql: str, params: Mapping[str, object] | None = None) -> str:
        """What would run, as text; tables are not read. Raises QueryError, UsageError."""
        return self.federation.explain(await self._prepare(sql, params))

    async def reset(self) -> None:
        """Forget what statements have read of tables: the next one asks the sources again. For `keep`."""
        self.federation.reset()

    def tables(self) -> list[Table]:
        """Every table with its columns and access methods, in the order of the specs; those of the bundled catalog follow.

        A table whose spec declares no columns has none until a statement has named it.
        """
        return list(self.federation.catalog.tables())

    async def describe(self, sql: str, params: Mapping[str, object] | None = None) -> tuple[Field, ...]:
        """The columns a statement's result will have. Tables are not read; Spark is started only where it must say.

        Raises QueryError, UsageError.
        """
        prepared = await self._prepare(sql, params)
        if prepared.upper is None:
            return fields_of(prepared)
        views = {
            block.view: pa.schema([(field.name, field.arrow) for field in block.fields]).empty_table()
            for block in prepared.blocks
        }
        text = f"SELECT * FROM ({prepared.upper.sql}\n) LIMIT 0"  # noqa: S608 - the statement itself, as its user wrote it
        table = await asyncio.to_thread(self._own_spark.run_over, text, views)
        return tuple(result_field(one.name, one.type) for one in table.schema)

    async def divide(self, sql: str, params: Mapping[str, object] | None = None, *, parts: int) -> list[Part]:
        """The statement in at most so many parts, for as many readers, who may be elsewhere.

        None where it cannot be divided: only rows of one table whose pages can be asked for one by one, as the first page
        tells, come in parts. That page is fetched here, and by no reader. Raises QueryError, UsageError, SourceError.
        """
        return await divide(self.federation.catalog, await self._prepare(sql, params), parts)

    async def _prepare(self, sql: str, params: Mapping[str, object] | None) -> Prepared:
        await self.federation.discover(sql)
        return self.federation.prepare(sql, params)

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
        options: Mapping[str, Any],
        *,
        refresh: bool = False,
        part: Part | None = None,
    ) -> _Running:
        settings = self._settings.overridden(options)

        async def begin(stack: contextlib.AsyncExitStack) -> Run:
            federation = self.federation
            if settings.max_requests is not None:
                federation = await stack.enter_async_context(self._opened(keep=False))
            await federation.discover(sql)
            if part is not None:
                federation = over_part(federation, part)
            prepared = federation.prepare(sql, params, settings.prioritize)
            run = Run(federation.execute(prepared, settings.run_options(refresh=refresh)), self._own_spark)
            stack.push_async_callback(run.stop)
            self._runs.add(run)
            stack.callback(self._runs.discard, run)
            return run

        return _Running(begin)


class _Running:
    """A statement runs while the context is open.

    No generator: a loop that ends closes all asynchronous generators at once, the inner with the outer ones.
    """

    def __init__(self, begin: Callable[[contextlib.AsyncExitStack], Awaitable[Run]]) -> None:
        self._begin = begin
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Run:
        async with self._stack:
            run = await self._begin(self._stack)
            self._stack = self._stack.pop_all()
        return run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()


def fields_of(prepared: Prepared) -> tuple[Field, ...]:
    """The columns of the result where the engine answers alone."""
    assert prepared.result is not None, "Spark knows the others"
    plan = prepared.only_block.plan
    found = ((column.name, plan.field_of(plan.output[column.index])) for column in prepared.result)
    return tuple(Field(name, field.type, field.arrow) for name, field in found)
