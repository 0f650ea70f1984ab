"""The stages put together: a statement prepared, executed by an eddy, finished by Spark where it must be.

async with Federation(catalog, client) as federation:
    execution = federation.execute(federation.prepare("SELECT ..."), RunOptions())
    async for batch in execution.batches():
        ...
    execution.outcome
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fff.catalog import Catalog, Table
from fff.errors import QueryError, UsageError
from fff.execution import Execution, Outcome, RunOptions
from fff.functions import SOURCE, PythonFunction, PythonFunctions
from fff.policies.meanings import Memory
from fff.runtime.block import uses_of
from fff.runtime.sharing import AccessStore
from fff.sql.explain import explain
from fff.sql.planned import Prepared
from fff.sql.prepare import prepare, table_names
from fff.web.client import WebClient

if TYPE_CHECKING:
    from fff.cache.keeping import RowCache
    from fff.spark.session import SparkEngine

__all__ = ["Execution", "Federation", "Outcome", "Prepared", "RunOptions"]


class Federation:
    """A catalog with a web client and, once needed, one Spark session; runs statements over them.

    Args:
        catalog: the tables.
        client: what their sources send with.
        keep: keep what statements have read of tables for those that follow, until `reset`: at most
            `fff.limits.SESSION_BYTES`. Tables are then read with all their columns, since nobody knows what the next
            statement will want of them. Where the statements are known beforehand `expect` does better.
        cache: what is kept on disk between runs; closed with the federation.
    """

    def __init__(
        self,
        catalog: Catalog,
        client: WebClient | None = None,
        *,
        keep: bool = False,
        cache: RowCache | None = None,
    ) -> None:
        self.catalog = catalog
        self._client = client
        self._spark: SparkEngine | None = None
        self._functions: PythonFunctions | None = None
        self._cache = cache
        self._store = AccessStore(keep=keep, disk=cache)
        self._memory = Memory()  # what statements taught about routing, for those that follow
        self._limit = None if client is None else client.max_requests  # on the count of the client

    def prepare(
        self, sql: str, params: Mapping[str, object] | None = None, prioritize: Sequence[str] = ()
    ) -> Prepared:
        """Check one statement against the catalog; nothing is fetched. Raises QueryError or UsageError.

        A table whose columns are not declared can be used after `discover`. What `prioritize` names will be fetched, too,
        so that `RunOptions.prioritize` can use it.
        """
        for source in self._unlisted(sql):
            raise QueryError(
                f"which tables {source} has is not declared, and nothing has been asked yet to learn it",
                hint="`fff source list` asks",
            )
        for table in self._undiscovered(sql):
            raise QueryError(
                f"the columns of {table.full_name} are not declared, and nothing has been asked yet to learn them",
                hint=f"`fff source show {table.full_name}` asks for them; declare them under columns: in the spec",
            )
        return prepare(sql, self.catalog, params or {}, prioritize)

    def register(self, function: PythonFunction) -> None:
        """Let SQL call a function of this program; it takes the place of one of its name.

        Raises UsageError where a source of the specs is called like the functions' own.
        """
        if self._functions is None:
            if any(known.name.lower() == SOURCE for known in self.catalog.adapters):
                raise UsageError(
                    f"a source is called {SOURCE}, as functions of Python are", hint="rename it in its spec"
                )
            self._functions = PythonFunctions(self._client or WebClient())
        replaced = self._functions.add(function)
        self.catalog.add(self._functions)
        if replaced:
            self._store.reset()  # what the other one gave

    async def discover(self, sql: str) -> None:
        """Learn the tables and the columns that a statement names, where the spec declares none.

        Raises QueryError, or SourceError where a source cannot be asked. Statements over declared tables send nothing.
        """
        if self._cache is not None:
            self._cache.attend(self.catalog.adapters)
        if self.catalog.unlisted():
            await self.catalog.list_tables(table_names(sql, own=False))
        await self.catalog.discover(self._undiscovered(sql))

    def _unlisted(self, sql: str) -> list[str]:
        """Sources named outright whose tables are not known."""
        if not self.catalog.unlisted():
            return []
        names = [name for name in table_names(sql) if len(name) > 1]
        return [source.name for source in self.catalog.unlisted(names)]

    def _undiscovered(self, sql: str) -> list[Table]:
        if all(table.columns for table in self.catalog.tables(offered=False)):
            return []  # sources that are only offered declare all columns
        found = [self.catalog.find(name) for name in table_names(sql)]
        return [table for tables in found if len(tables) == 1 for table in tables if not table.columns]

    def explain(self, prepared: Prepared) -> str:
        """What would run, as text; sends no request."""
        return explain(prepared)

    def expect(self, statements: Sequence[Prepared]) -> None:
        """These will be executed, in this order or another: what one reads of a table is kept while others want it."""
        for prepared in statements:
            self._store.expect(prepared, uses_of(self.catalog, prepared))

    def reset(self) -> None:
        """Forget what was read: the next statement asks the sources again."""
        self._store.reset()
        if self._cache is not None:
            self._cache.refresh()

    def limit_requests(self, count: int | None) -> None:
        """From now on send at most so many requests, over all statements, for finding out columns too; None: no bound."""
        if self._client is not None:
            self._limit = None if count is None else self._client.requests_sent + count
            self._client.max_requests = self._limit

    def execute(self, prepared: Prepared, options: RunOptions | None = None) -> Execution:
        """Make ready to run; `Execution.batches` runs it.

        Raises UsageError for an unknown policy, QueryError for a priority that says nothing about the statement.
        """
        options = options or RunOptions()
        spark = self._start_spark(options) if prepared.upper is not None else None
        if self._client is not None:
            bounds = [] if self._limit is None else [self._limit]
            if options.max_requests is not None:
                bounds.append(self._client.requests_sent + options.max_requests)
            self._client.max_requests = min(bounds, default=None)
        return Execution(self.catalog, prepared, options, spark, self._store, self._memory)

    def _start_spark(self, options: RunOptions) -> SparkEngine:
        """Start Spark in the background, the moment a plan needs it; one session serves all statements."""
        if self._spark is None:
            from fff.spark.session import SparkEngine  # noqa: PLC0415 - plain joins never pay for it

            self._spark = SparkEngine(
                master=options.spark_master, remote=options.spark_remote, log_file=options.spark_log
            )
            self._spark.start(warm_up=not options.refresh)  # the first refresh warms up as well
        return self._spark

    async def close(self) -> None:
        """Stop Spark without waiting for it, and close the connections."""
        if self._spark is not None:
            self._spark.stop()
            self._spark = None
        for adapter in self.catalog.adapters:
            await adapter.close()
        if self._cache is not None:
            self._cache.close()
        if self._client is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
