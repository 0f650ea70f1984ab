"""`fff.connect`: the same for code that blocks, in scripts, notebooks and threads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from fff.api.iterators import Batches, Stream
from fff.api.loop import LoopThread
from fff.api.opening import Source
from fff.api.result import Result
from fff.api.running import INTERVAL_S, AsyncConnection
from fff.api.settings import OnSourceError, RunKeywords, Settings
from fff.policies import DEFAULT_POLICY, Preference

if TYPE_CHECKING:
    from fff.api.parts import Part
    from fff.catalog import Table
    from fff.schema import Field


def connect(
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
) -> Connection:
    """A connection to the web tables that source specs describe. Sends nothing.

    Args:
        *sources: spec files, or folders of them. Without any: those that the command line would use, `FFF_SOURCES` or
            else `./fff.yaml`, `./sources/` and `$XDG_CONFIG_HOME/fff/`. The bundled catalog comes last.
        policy: the routing policy; this and the following may be overridden statement by statement.
        seed: of the random numbers that routing draws; fresh ones without.
        deadline: seconds after which a statement stops fetching and answers with what is there.
        max_requests: the number of requests after which it does.
        on_source_error: `"fail"`: a source that cannot be read in full raises SourceError. `"partial"`: the result then
            says what it lacks, in `Result.complete` and `Result.missing`.
        spark_master: where Spark runs, once a statement needs it.
        spark_remote: a Spark Connect server to use instead, `sc://…`.
        keep: keep what statements read of tables for those that follow, until `Connection.reset`; without it every
            statement asks the sources.
        cache: keep what sources answer on disk for later runs, and take what is kept: of every source, of none, or
            (None) of those whose spec says so.
        cache_ttl: seconds that answers on disk count as fresh, in place of what specs say; for every source.
        prefer: time against number of requests: `"fast"`, `"balanced"` or `"cheap"`.

    Raises:
        SpecError: a spec is wrong.
        UsageError: a path is not there, or an option is wrong.
    """
    settings = Settings(
        *(policy, seed, deadline, max_requests, on_source_error, spark_master, spark_remote, keep),
        cache=cache,
        cache_ttl=cache_ttl,
        prefer=prefer,
    )
    return Connection(sources, settings)


class Connection:
    """Web tables and the statements run over them.

    Its event loop runs in a thread of its own, so it works wherever blocking code does, beside a running event loop
    (Jupyter) as well. Several threads may use one connection at the same time: their statements run side by side. It
    does not outlive a fork. `close` it, or use `with`; a connection that is forgotten is closed when Python notices.
    """

    def __init__(self, sources: Sequence[Source], settings: Settings) -> None:
        inner = AsyncConnection(sources, settings)
        inner.open()
        self._inner = inner
        self._loop = LoopThread()
        self._close = weakref.finalize(self, _shut, self._loop, inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs, end Spark, close all connections. May be called again."""
        self._close()

    def sql(
        self, sql: str, params: Mapping[str, object] | None = None, **options: Unpack[RunKeywords]
    ) -> Result:
        """Run one statement to its end. KeyboardInterrupt stops it; the connection can be used further.

        Args:
            sql: one statement of Spark SQL.
            params: values of its `:name` parameters: numbers, strings, Booleans, dates, datetimes, None.
            **options: `policy`, `seed`, `deadline`, `max_requests`, `on_source_error`, as for `fff.connect`; `prioritize`,
                conditions such as `"state = 'CA'"` whose rows are fetched first.

        Raises:
            QueryError: the SQL is wrong or cannot be run.
            UsageError: a parameter or an option is wrong, or the connection is closed.
            SourceError: a source could not be read in full, unless `on_source_error="partial"`; or none at all.
        """
        return self._loop.run(self._inner.sql(sql, params, **options))

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        interval: float = INTERVAL_S,
        **options: Unpack[RunKeywords],
    ) -> Stream:
        """Run one statement when iterated over; gives a `Snapshot` every `interval` seconds, the last one at the end.

        Arguments and errors are those of `sql`; errors come out of the iteration. The result is then in
        `Stream.result`. Leaving the loop early stops the statement.
        """
        return Stream(self, self._loop, self._inner.stream(sql, params, interval=interval, **options))

    def batches(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        part: Part | None = None,
        **options: Unpack[RunKeywords],
    ) -> Batches:
        """The result as `pyarrow.RecordBatch`es, as they are found; at least one, perhaps without rows.

        Arguments and errors are those of `sql`; an error may come after rows, which are then not the whole answer.
        Leaving the loop early stops the statement. With a part, one of those that `divide` gave, it is the part's rows.
        """
        return Batches(self, self._loop, self._inner.batches(sql, params, part=part, **options))

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
        """Let SQL call a function of Python; arguments and errors are those of `AsyncConnection.register`.

        A coroutine function runs in the connection's own event loop.
        """

        async def add() -> None:
            self._inner.register(
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

        self._loop.run(add())

    def explain(self, sql: str, params: Mapping[str, object] | None = None) -> str:
        """What would run, as text; tables are not read. Raises QueryError, UsageError."""
        return self._loop.run(self._inner.explain(sql, params))

    def describe(self, sql: str, params: Mapping[str, object] | None = None) -> tuple[Field, ...]:
        """The columns a statement's result will have. Tables are not read; Spark is started only where it must say.

        Raises QueryError, UsageError.
        """
        return self._loop.run(self._inner.describe(sql, params))

    def divide(self, sql: str, params: Mapping[str, object] | None = None, *, parts: int) -> list[Part]:
        """The statement in at most so many parts, for as many readers, who may be elsewhere.

        None where it cannot be divided: only rows of one table whose pages can be asked for one by one, as the first page
        tells, come in parts. That page is fetched here, and by no reader. Raises QueryError, UsageError, SourceError.
        """
        return self._loop.run(self._inner.divide(sql, params, parts=parts))

    def reset(self) -> None:
        """Forget what statements have read of tables: the next one asks the sources again. For `keep`."""
        self._loop.run(self._inner.reset())

    def tables(self) -> list[Table]:
        """Every table with its columns and access methods, in the order of the specs; those of the bundled catalog follow.

        A table whose spec declares no columns has none until a statement has named it.
        """
        return self._inner.tables()


def _shut(loop: LoopThread, inner: AsyncConnection) -> None:
    """Close everything, from whatever thread finds that it is time."""
    loop.finish(inner.close())
    loop.stop()
