"""`fff.connect`: the same for code that blocks, in scripts, notebooks and threads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, Unpack

from fff.api.iterators import Batches, Stream
from fff.api.loop import LoopThread
from fff.api.notebook import show_stream
from fff.api.result import Result
from fff.api.running import INTERVAL_S, AsyncConnection
from fff.display.counts import counted
from fff.display.html import SHOWN_ROWS, html_table
from fff.opening import Sources, each_source
from fff.options import ConnectOptions, StatementOptions

if TYPE_CHECKING:
    from pathlib import Path

    from fff.api.parts import StatementPart
    from fff.catalog import Table
    from fff.functions import Proxy
    from fff.schema import Field
    from fff.web.client import WebClient


def connect(*sources: Sources, **options: Unpack[ConnectOptions]) -> Connection:
    """A connection to the web tables that source specs describe. Sends nothing.

    Args:
        *sources: spec files, or folders of them. Without any: those that the command line would use,
            `FFF_SOURCES` or else `./fff.yaml`, `./sources/` and `$XDG_CONFIG_HOME/fff/`. The bundled catalog
            comes last.
        **options: for its statements, which may override those up to `on_source_error` one by one:

            policy: the routing policy by name, `"adaptive"` unless it is said.
            prefer: time against number of requests: `"fast"`, `"balanced"` (unless it is said) or `"cheap"`.
            seed: of the random numbers that routing draws; fresh ones without. The report names the one used.
            deadline: seconds after which the answer to a statement is there, whole or not.
            max_requests: the number of requests after which it does.
            budget: the money that requests may cost, as 0.5 or '0.50 EUR'; the one that would cost more is
                not sent.
            memory_limit: bytes, or a size as '512MB', that the process may take while a statement runs; half
                of the machine's memory unless it is said. Stored rows go to files, and where that is not
                enough the answer is what is there by then.
            on_source_error: `"fail"` (unless it is said): a source that cannot be read in full raises
                SourceError. `"partial"`: the result then says what it lacks, in `Result.complete` and
                `Result.missing`.
            spark_master: where Spark runs, once a statement needs it; `local[*]` unless it is said.
            spark_remote: a Spark Connect server to use instead, `sc://…`.
            keep: keep what statements read of tables for those that follow, until `Connection.reset`; without
                it every statement asks the sources.
            cache: keep what sources answer on disk for later runs, and take what is kept: of every source, of
                none, or (None, unless it is said) of those whose spec says so.
            cache_ttl: seconds that answers on disk count as fresh, in place of what specs say; for every
                source.

    Raises:
        SpecError: a spec is wrong.
        UsageError: a path is not there, or an option is wrong.
        TypeError: there is no such option.
    """
    return Connection(sources, options)


def show(
    sql: str,
    params: Mapping[str, object] | None = None,
    *,
    sources: Sources = (),
    **options: Unpack[ConnectOptions],
) -> None:
    """Run one statement on a connection of its own and show its result; in a notebook also how it gets on.

    Arguments and errors are those of `fff.connect` and `Connection.sql`.
    """
    with connect(*each_source(sources), **options) as connection:
        connection.show(sql, params)


class Connection:
    """Web tables and the statements run over them.

    Its event loop runs in a thread of its own, so it works wherever blocking code does, beside a running
    event loop (Jupyter) as well. Several threads may use one connection at the same time: their statements
    run side by side. It does not outlive a fork. `close` it, or use `with`; a connection that is forgotten is
    closed when Python notices.
    """

    def __init__(
        self,
        sources: Sequence[Sources],
        options: ConnectOptions,
        client: WebClient | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        inner = AsyncConnection(sources, options, client, checkpoint)
        inner.open()
        self._inner = inner
        self._loop = LoopThread()
        self._close = weakref.finalize(self, _shut, self._loop, inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs, end Spark, close all connections. May be called again."""
        self._close()

    def sql(
        self, sql: str, params: Mapping[str, object] | None = None, **options: Unpack[StatementOptions]
    ) -> Result:
        """Run one statement to its end. KeyboardInterrupt stops it; the connection can be used further.

        Args:
            sql: one statement of Spark SQL.
            params: values of its `:name` parameters: numbers, strings, Booleans, dates, datetimes, None;
                scalars of numpy, pandas or Arrow stand for theirs.
            **options: `policy`, `seed`, `deadline`, `max_requests`, `budget`, `memory_limit`,
                `on_source_error`, as for `fff.connect`; `prioritize`, conditions such as `"state = 'CA'"`
                whose rows are fetched first.

        Raises:
            QueryError: the SQL is wrong or cannot be run.
            UsageError: a parameter or an option is wrong, or the connection is closed.
            SourceError: a source could not be read in full, unless `on_source_error="partial"`; or none at
                all.
        """
        return self._loop.run(self._inner.sql(sql, params, **options))

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        interval: float = INTERVAL_S,
        **options: Unpack[StatementOptions],
    ) -> Stream:
        """Run one statement when iterated over; gives a `Snapshot` every `interval` seconds, the last one at the end.

        Arguments and errors are those of `sql`; errors come out of the iteration. The result is then in
        `Stream.result`. The statement is stopped with the stream: by `close`, or when nothing holds it any
        more, as after a loop that was left.
        """
        return Stream(self, self._loop, self._inner.stream(sql, params, interval=interval, **options))

    def batches(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        part: StatementPart | None = None,
        **options: Unpack[StatementOptions],
    ) -> Batches:
        """The result as `pyarrow.RecordBatch`es, as they are found; at least one, perhaps without rows.

        Arguments and errors are those of `sql`; an error may come after rows, which are then not the whole
        answer. The statement is stopped with the batches: by `close`, or when nothing holds them any more, as
        after a loop that was left. With a part, one of those that `divide` gave, it is the part's rows.
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
        proxy: Proxy | None = None,
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
                proxy=proxy,
            )

        self._loop.run(add())

    def register_table(self, name: str, frame: object) -> None:
        """Let SQL name a frame as a table; arguments and errors are those of `AsyncConnection.register_table`."""

        async def add() -> None:
            self._inner.register_table(name, frame)

        self._loop.run(add())

    def explain(self, sql: str, params: Mapping[str, object] | None = None) -> str:
        """What would run, as text; tables are not read. Raises QueryError, UsageError."""
        return self._loop.run(self._inner.explain(sql, params))

    def describe(self, sql: str, params: Mapping[str, object] | None = None) -> tuple[Field, ...]:
        """The columns a statement's result will have.

        Tables are not read; Spark is started only where it must say.

        Raises QueryError, UsageError.
        """
        return self._loop.run(self._inner.describe(sql, params))

    def needs_spark(self, sql: str, params: Mapping[str, object] | None = None) -> bool:
        """Whether Spark runs a part of the statement; else the engine runs all of it, and starts no JVM.

        Tables are not read. Raises QueryError, UsageError.
        """
        return self._loop.run(self._inner.needs_spark(sql, params))

    def divide(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        parts: int,
        keep_duplicates: bool = False,
    ) -> list[StatementPart]:
        """The statement in at most so many parts, for as many readers, who may be elsewhere.

        None where it cannot be divided: only rows of one table whose pages can be asked for one by one, as
        the first page tells, come in parts. That page is fetched here, and by no reader. Of a table that
        declares a `primary_key` only where duplicates are kept: a row may then come with each part. Raises
        QueryError, UsageError, SourceError.
        """
        divided = self._inner.divide(sql, params, parts=parts, keep_duplicates=keep_duplicates)
        return self._loop.run(divided)

    def reset(self) -> None:
        """Forget what statements have read of tables: the next one asks the sources again. For `keep`."""
        self._loop.run(self._inner.reset())

    def tables(self) -> list[Table]:
        """Every table with its columns and access methods, in the order of the specs; those of the bundled catalog follow.

        A table whose spec declares no columns has none until a statement has named it.
        """
        return self._inner.tables()

    def own_tables(self) -> list[Table]:
        """The tables of `tables` that are not the bundled catalog's."""
        return self._inner.own_tables()

    def show(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        interval: float = INTERVAL_S,
        **options: Unpack[StatementOptions],
    ) -> None:
        """Run one statement and show its result; in a notebook also how it gets on.

        Arguments and errors: those of `sql`.
        """
        with self.stream(sql, params, interval=interval, **options) as stream:  # an error keeps hold of it
            show_stream(stream)

    def _repr_html_(self) -> str:
        """What a notebook shows: the program's own tables."""
        tables = self.own_tables()
        rows = [
            (one.full_name, ", ".join(column.name for column in one.columns), one.description)
            for one in tables[:SHOWN_ROWS]
        ]
        shown = f" ({SHOWN_ROWS:,} shown)" if len(tables) > SHOWN_ROWS else ""
        count = counted(len(tables), "table") + shown
        return html_table(
            ("table", "columns", "description"), rows, f"{count}, and those of the bundled catalog"
        )


def _shut(loop: LoopThread, inner: AsyncConnection) -> None:
    """Close everything, from whatever thread finds that it is time."""
    loop.finish(inner.close())
    loop.stop()
