"""The stages put together: a statement prepared, executed by an eddy, finished by Spark where it must be.

async with Federation(catalog, client) as federation:
    execution = federation.execute(federation.prepare("SELECT ..."), RunOptions())
    async for batch in execution.batches():
        ...
    execution.outcome
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Self

from fff.access.session_cache import AccessStore
from fff.budget import Budget
from fff.catalog import Cacheable, Catalog, Naming, Table
from fff.errors import QueryError, UsageError
from fff.execution import Execution
from fff.forecast.history import TableHistory
from fff.options import RunOptions
from fff.policies import check_policy
from fff.policies.adaptive.session_memory import Memory
from fff.runtime.block_run import uses_of
from fff.sql.plan import Prepared
from fff.sql.planner.explain import explain
from fff.sql.planner.prepare import compared_with_text, prepare, table_names
from fff.sql.scalars.java import running_on
from fff.stats import Inquiry, RunOutcome
from fff.web.client import WebClient

if TYPE_CHECKING:
    from fff.access.disk.policy import RowCache
    from fff.forecast.estimate import Forecast
    from fff.functions import Frame, PythonFunction, PythonFunctions
    from fff.spark.session import SparkEngine

__all__ = ["Execution", "Federation", "Prepared", "RunOptions", "RunOutcome"]


class Federation:
    """A catalog with a web client and, once needed, one Spark session; runs statements over them.

    Args:
        catalog: the tables.
        client: what their sources send with.
        keep: keep what statements have read of tables for those that follow, until `reset`: at most
            `fff.limits.SESSION_BYTES`. Tables are then read with all their columns, since nobody knows what the next
            statement will want of them. Where the statements are known beforehand `expect` does better.
        max_age: seconds after which what was kept so is read anew, or fewer where a spec has a `cache.ttl`.
        cache: what is kept on disk between runs; closed with the federation.
        history: what earlier runs found of tables; saved with the federation's end.
    """

    def __init__(
        self,
        catalog: Catalog,
        client: WebClient | None = None,
        *,
        keep: bool = False,
        max_age: float | None = None,
        cache: RowCache | None = None,
        history: TableHistory | None = None,
        java: Callable[[], int | None] = lambda: None,
    ) -> None:
        self.catalog = catalog
        self._client = client
        self._spark: SparkEngine | None = None
        self._functions: PythonFunctions | None = None
        self._cache = cache
        self._history = history or TableHistory()
        self._java = java
        redact = str if client is None else client.redactor.text
        self._store = AccessStore(keep=keep, disk=cache, max_age=max_age, redact=redact)
        self._memory = Memory()  # what statements taught about routing, for those that follow
        self._asked: dict[str, list[Inquiry]] = {}  # for statements that have not run yet

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
                hint="`fff source list` asks; to explain it without asking, declare its tables: in the spec",
            )
        for table in self._undiscovered(sql):
            raise QueryError(
                f"the columns of {table.full_name} are not declared, and nothing has been asked yet to learn them",
                hint=f"`fff source show {table.full_name}` asks for them; declare them under columns: in the spec",
            )
        with running_on(self._java):
            return prepare(sql, self.catalog, params or {}, prioritize)

    def register(self, function: PythonFunction) -> None:
        """Let SQL call a function of this program; it takes the place of one of its name.

        Raises UsageError where a source of the specs is called like the functions' own.
        """
        self._lend(lambda lent: lent.add(function))

    def register_frame(self, frame: Frame) -> None:
        """Let SQL name a frame of this program as a table; it takes the place of one of its name. Raises UsageError."""
        self._lend(lambda lent: lent.add_frame(frame))

    def _lend(self, add: Callable[[PythonFunctions], bool]) -> None:
        """Add something to the source of what this program lends; `add` tells whether it replaces something."""
        if self._functions is None:
            from fff.functions import SOURCE, PythonFunctions  # noqa: PLC0415 - few programs lend anything

            if any(known.name.lower() == SOURCE for known in self.catalog.adapters):
                raise UsageError(
                    f"a source is called {SOURCE}, as what a program lends is", hint="rename it in its spec"
                )
            self._functions = PythonFunctions(self._client or WebClient())
        replaced = add(self._functions)
        self.catalog.add(self._functions)
        if replaced:
            self._store.reset()  # what the other one gave

    async def discover(self, sql: str, budget: Budget | None = None) -> None:
        """Learn the tables and the columns that a statement names, where the spec declares none; `budget` pays.

        Raises QueryError, or SourceError where a source cannot be asked. Statements over declared tables send nothing.
        """
        if self._cache is not None:
            self._cache.attend(self.catalog.adapters)
        asked: list[Inquiry] = []
        if self.catalog.unlisted():
            asked += await self.catalog.list_tables(table_names(sql, own=False), budget)
        asked += await self.catalog.discover(self._undiscovered(sql), budget)
        if asked:
            self._asked.setdefault(sql, []).extend(asked)
        self._read_keys_as_text(sql)

    def _asked_for(self, sql: str, budget: Budget | None) -> list[Inquiry]:
        """What `discover` has asked for a statement since that ran last, and this budget has paid for."""
        return [one for one in self._asked.pop(sql, ()) if one.meter.budget is budget]

    async def look_into_files(self, sql: str) -> None:
        """Learn the columns of the files that a statement names, and of databases that are files; sends nothing.

        Raises QueryError, SourceError.
        """
        for source in self.catalog.unlisted(table_names(sql, own=False)):
            if _is_here(source):
                await self.catalog.list_source(source)
        await self.catalog.discover(
            table for table in self._undiscovered(sql) if _is_here(self.catalog.adapter_of(table))
        )
        self._read_keys_as_text(sql)

    def _read_keys_as_text(self, sql: str) -> None:
        """Have cells of files as text where the statement compares them with text."""
        named = any(isinstance(adapter, Naming) and adapter.tables for adapter in self.catalog.adapters)
        if named and self.catalog.read_as_text(compared_with_text(sql, self.catalog)):
            self._store.reset()  # rows that were kept have the types of before

    def _unlisted(self, sql: str) -> list[str]:
        """Sources named outright whose tables are not known."""
        if not self.catalog.unlisted():
            return []
        names = [name for name in table_names(sql) if len(name) > 1]
        return [source.name for source in self.catalog.unlisted(names)]

    def _undiscovered(self, sql: str) -> list[Table]:
        meanings = [self.catalog.find(name) for name in table_names(sql, own=False)]
        known = [tables[0] for tables in meanings if len(tables) == 1]
        return [table for table in known if not table.columns and not table.unfinished]

    def explain(self, prepared: Prepared) -> str:
        """What would run, as text, and what that will ask of the sources; sends no request."""
        from fff.forecast.words import forecast_lines  # noqa: PLC0415 - most statements are run without one

        return "\n".join([explain(prepared), *forecast_lines(self.forecast(prepared))])

    def forecast(self, prepared: Prepared) -> Forecast:
        """What a statement will ask of its sources, as far as that is known; sends no request."""
        from fff.forecast.estimate import forecast  # noqa: PLC0415 - as above

        kept = self._cache is not None and self._cache.every
        return forecast(prepared, self.catalog, self._history, kept=kept, held=self._store.held)

    def expect(self, statements: Sequence[Prepared]) -> None:
        """These will be executed, in this order or another: what one reads of a table is kept while others want it."""
        for prepared in statements:
            self._store.expect(prepared, uses_of(self.catalog, prepared))

    def gathered(self, prepared: Prepared) -> AbstractAsyncContextManager[None]:
        """Execute a statement inside of this where many ask: what those of one moment share is asked for once."""
        return self._store.gathered(prepared, uses_of(self.catalog, prepared))

    async def read_anew(self, load: Callable[[WebClient], Catalog]) -> None:
        """Take the tables that `load` gives in place of those before; Spark, connections and the cache on disk stay.

        What was read of tables is forgotten: they may mean something else now. Where `load` raises, all is as it was.
        """
        assert self._client is not None, "who reads specs has a client"
        catalog = load(self._client)
        before, self.catalog = self.catalog, catalog
        if self._functions is not None:
            catalog.add(self._functions)
        self._store.reset()
        for adapter in before.adapters:
            if adapter is not self._functions:
                await adapter.close()

    @property
    def cache(self) -> RowCache | None:
        """What is kept on disk."""
        return self._cache

    def use_cache(self, cache: RowCache | None) -> None:
        """What is read from now on is kept on disk there, or nowhere; what was read is forgotten, the cache before closed."""
        if self._cache is not None:
            self._cache.close()
        for adapter in self.catalog.adapters:
            if isinstance(adapter, Cacheable):
                adapter.remember(None)
        self._cache = self._store.disk = cache
        self._store.reset()  # tables that are held ask as they did

    def reset(self, *, changes: bool = False) -> None:
        """Forget what was read: the next statement asks the sources again.

        `changes`: of tables that can tell what has changed, and are on disk, it asks for that alone. Rows that are gone
        are then not missed.
        """
        self._store.reset()
        if self._cache is not None:
            self._cache.refresh(changes=changes)

    def execute(
        self, prepared: Prepared, options: RunOptions | None = None, budget: Budget | None = None
    ) -> Execution:
        """Make ready to run; `Execution.batches` runs it.

        `budget` pays for the requests, in place of one of its own with `RunOptions.max_requests` and `budget`: so several
        statements can have one together. Raises UsageError for an unknown policy or a budget in another currency than what
        sources charge, QueryError for a priority that says nothing about the statement.
        """
        options = options or RunOptions()
        check_policy(options.policy)  # also where nothing is to be routed
        budget = budget or Budget.of(options.max_requests, options.budget)
        if budget is not None:
            budget.check({price.currency for price in prepared.prices})
        spark = self._start_spark(options) if prepared.upper is not None else None
        return Execution(
            self.catalog,
            prepared,
            options,
            spark,
            self._store,
            self._memory,
            budget,
            self._history,
            self._asked_for(prepared.sql, budget),
        )

    def _start_spark(self, options: RunOptions) -> SparkEngine:
        """Start Spark in the background, the moment a plan needs it; one session serves all statements."""
        if self._spark is None:
            from fff.spark.session import SparkEngine  # noqa: PLC0415 - plain joins never pay for it

            self._spark = SparkEngine(
                master=options.spark_master,
                remote=options.spark_remote,
                log_file=options.spark_log,
                warm=options.warm,
            )
            self._spark.start(warm_up=not options.refresh)  # the first refresh warms up as well
        return self._spark

    def warm_up(self, options: RunOptions) -> None:
        """Let Spark start in the background before a statement needs it, where it is one that stays up between commands."""
        from fff.spark.start.warm import is_allowed, is_memory_short  # noqa: PLC0415 - plain joins never pay for it

        elsewhere = options.spark_master or options.spark_remote or options.spark_log
        if options.warm and not elsewhere and is_allowed() and not is_memory_short():
            self._start_spark(options)

    async def close(self) -> None:
        """Stop Spark without waiting for it, and close the connections."""
        if self._spark is not None:
            self._spark.stop()
            self._spark = None
        for adapter in self.catalog.adapters:
            await adapter.close()
        if self._cache is not None:
            self._cache.close()
        self._history.save()
        if self._client is not None:
            await self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _is_here(adapter: object) -> bool:
    """Whether a source is read from files of this machine, so that nobody else is asked."""
    return isinstance(adapter, Naming) or bool(getattr(adapter, "is_local", False))
