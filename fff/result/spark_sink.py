"""The upper query of a statement: Spark's result over the rows that the blocks find, at the end and on the way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self, TypeVar

import pyarrow as pa

from fff.dataflow.partial import PartialTuples
from fff.errors import FFFError, SparkError
from fff.limits import SAMPLE_ROWS, SPARK_END_S, SPARK_MILLION_S, SPARK_POLL_S, SPARK_RUN_S, SPARK_START_S
from fff.result.partial.final_groups import Settled
from fff.result.partial.groups import PartialGroups, PartialSource
from fff.result.partial.preview import Preview
from fff.runtime.block_run import RunningBlock
from fff.schema import Field, schema_of
from fff.spark.refresh_pacer import RefreshPacer
from fff.spark.session import SparkEngine
from fff.spark.spool import Spool
from fff.sql.plan import KeyQuery, UpperQuery
from fff.stats import FilterCost, SparkStats, WastedKeys
from fff.structs import Struct, replace

_T = TypeVar("_T")

#: Rows from which on the seconds of a refresh tell what a row costs: those over fewer are spent on starting
#: it.
_TELLING_ROWS = 500_000
#: A query whose groups show without Spark is run there again once there are so many times the rows.
_AGAIN = 4


class Current(Struct, frozen=True):
    """A result of the upper query: over all rows, or over those that were there when it was asked."""

    table: pa.Table
    rows: int  # of the blocks that it rests on
    rests_on: pa.ChunkedArray | None = None  # how many rows of the block each row rests on
    settled: tuple[bool, ...] = ()  # of its first rows
    partial: PartialGroups | None = (
        None  # groups beside these that no complete row has reached; for display alone
    )


class SparkSink:
    """Runs one upper query. Everything here happens beside fetching and never holds it up.

    Args:
        spark: the engine; may still be starting.
        query: what to run.
        blocks: whose rows it runs over.
        started: when the statement began, on `time.perf_counter`.
        sql: the statement, which errors point into.
    """

    def __init__(
        self, spark: SparkEngine, query: UpperQuery, blocks: Sequence[RunningBlock], started: float, sql: str
    ) -> None:
        self.current: Current | None = None
        self.stats = SparkStats(used=True)
        self._spark = spark
        self._query = query
        self._blocks = blocks
        self._started = started
        self._sql = sql
        self._files = ExitStack()
        self._spools: dict[str, Spool] = {}
        self._keys: dict[str, asyncio.Task[pa.Table]] = {}  # rows of key queries, by view
        self._uncounted = False
        self._partial: PartialSource | None = None
        self._schema: pa.Schema | None = None  # of the result, as far as Spark was asked for it
        self._checked = False
        self._measured: tuple[float, int] | None = None  # seconds of the last refresh, and rows it was over

    def __enter__(self) -> Self:
        for block in self._blocks:
            if block.query.view:
                schema = schema_of(block.query.fields)
                self._spools[block.query.view] = self._files.enter_context(Spool(schema))
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def add(self, block: RunningBlock, batch: pa.RecordBatch) -> None:
        """Rows that a block has found."""
        if block.query.view:
            self._spools[block.query.view].append(batch)
        if self._partial is not None:
            self._partial.add(batch)

    async def keys(self, query: KeyQuery) -> pa.Table:
        """The rows of a query for keys, run once; the blocks it reads have ended. Raises SparkError."""
        if query.view not in self._keys:
            self._keys[query.view] = asyncio.create_task(self._find_keys(query))
        return await self._keys[query.view]

    async def _find_keys(self, query: KeyQuery) -> pa.Table:
        await asyncio.to_thread(self._spark.wait)
        return await self._ask(self._spark.run_over, query.sql, self._views())

    @contextlib.contextmanager
    def _in_own_words(self) -> Iterator[None]:
        """What Spark says is told in the words of the statement."""
        try:
            yield
        except SparkError as error:
            raise self._query.words.told(error, self._sql) from error.__cause__

    def _views(self) -> dict[str, Spool | pa.Table]:
        """What there is to read: the blocks' rows, and those of key queries that have been run."""
        done = {view: task.result() for view, task in self._keys.items() if _succeeded(task)}
        return {**self._spools, **done}

    async def beside(self, failed: Callable[[FFFError], None], *, refresh: bool) -> None:
        """What is done while rows are fetched: check the query, and keep its current result if that is wanted."""
        if refresh:  # before the first rows, all of which it must see
            self._partial = PartialSource.of(self._query, self._blocks)
        await asyncio.gather(self._previews(), self._with_spark(failed, refresh=refresh))

    async def _with_spark(self, failed: Callable[[FFFError], None], *, refresh: bool) -> None:
        while not self._spark.ready():  # noqa: ASYNC110 - which a thread finds out
            await asyncio.sleep(SPARK_POLL_S)
        try:
            await self.check()
        except FFFError as error:
            failed(error)
            return
        if refresh:
            pacer = RefreshPacer(self._started)
            with contextlib.suppress(FFFError):  # the final run reports it
                await self._keep_warm(pacer)
                await self._refresh(pacer)

    async def check(self) -> None:
        """Let Spark, which is up, judge the query, once: types and names of functions are its to judge. Raises SparkError."""
        if self._checked:
            return
        self._checked = True
        self.stats = replace(self.stats, start_s=self._spark.start_s)
        empty = {view: spool.schema.empty_table() for view, spool in self._spools.items()}
        self._schema = _described(await self._ask(self._spark.check, self._query.sql, empty))

    async def _previews(self) -> None:
        """Show what groups can be had without Spark, as long as there are such."""
        pacer = RefreshPacer(self._started)
        pacer.done(time.perf_counter(), 0.0)  # it costs next to nothing
        seen = 0
        while (source := self._partial) is not None and (preview := source.preview) is not None:
            await asyncio.sleep(SPARK_POLL_S)
            if not pacer.due(time.perf_counter(), source.changes - seen):
                continue
            seen, started = source.changes, time.perf_counter()
            try:
                await self._preview(source, preview)
            except (FFFError, pa.ArrowException):
                source.preview = None  # what only adds to the display must not cost the result
            pacer.done(time.perf_counter(), time.perf_counter() - started)

    async def _preview(self, source: PartialSource, preview: Preview) -> None:
        """The groups over the rows so far, and over rows under way."""
        settled, fresh = self._settled(), source.fresh()
        tuples = source.take(preview.rows + len(fresh))
        await _in_thread(preview.add, fresh)
        counted = await _in_thread(preview.result)
        if not preview.rows:
            counted = counted.slice(0, 0)
        last = counted.num_columns - 1
        table = counted.remove_column(last)
        if self._schema is not None:  # where only Spark knows what it calls a column
            table = table.rename_columns(self._schema.names)
        current = self._current(table, preview.rows, counted.column(last), settled)
        partial = await _in_thread(source.groups, tuples, current.table, preview.run)
        if len(current.table) or partial is not None:
            self.current = replace(current, partial=partial)

    async def _preview_once(self) -> None:
        source = self._partial
        if source is not None and source.preview is not None:
            with contextlib.suppress(FFFError, pa.ArrowException):
                await self._preview(source, source.preview)

    async def _keep_warm(self, pacer: RefreshPacer) -> None:
        """While groups show without Spark, run the query now and then, to be ready when the last row comes, and to know what a row costs.

        Raises SparkError.
        """
        seen = 0
        while self._previewed:
            rows = self.rows
            if rows >= _AGAIN * seen and pacer.due(time.perf_counter(), rows - seen):
                seen = rows
                await self._timed(pacer, self._run(counted=True, settled=None), rows, tells=True)
            else:
                await asyncio.sleep(SPARK_POLL_S)

    async def _refresh(self, pacer: RefreshPacer) -> None:
        """Run the query over the rows so far, as often as costs at most a fifth of the time. Raises SparkError."""
        seen = changes = 0
        while True:
            rows = self.rows
            inside = 0 if self._partial is None else self._partial.changes
            if pacer.due(time.perf_counter(), rows - seen + inside - changes):
                more, seen, changes = rows > seen, rows, inside
                await self._timed(pacer, self._renew(rows, more=more), rows, tells=more)
            else:
                await asyncio.sleep(SPARK_POLL_S)

    async def _timed(
        self, pacer: RefreshPacer, run: Coroutine[Any, Any, object], rows: int, *, tells: bool
    ) -> None:
        """Count a run of the query over so many rows beside fetching; `tells`: what it takes tells what rows cost."""
        started = time.perf_counter()
        await run
        cost = time.perf_counter() - started
        if tells or self._measured is None:
            self._measured = cost, rows
        pacer.done(time.perf_counter(), cost)
        self.stats = replace(
            self.stats,
            start_s=self._spark.start_s,
            refreshes=self.stats.refreshes + 1,
            refresh_s=self.stats.refresh_s + cost,
        )

    @property
    def _previewed(self) -> bool:
        return self._partial is not None and self._partial.preview is not None

    async def _renew(self, rows: int, *, more: bool) -> None:
        """Run the query over the rows so far, if there are `more`, and over rows under way.

        Raises SparkError.
        """
        # Asked before the rows are looked at: what is settled now has all its rows among them, and a group
        # that is not reached now may well be among them, but none that is reached is taken for partial.
        settled = self._settled()
        tuples = () if self._partial is None else self._partial.take(rows)
        current = self.current
        if more:
            current = await self._run(counted=True, settled=settled)
            self.current = self.current or current
        elif current is not None:
            current = self._current(current.table, current.rows, current.rests_on, settled)
        partial = await self._partial_groups(tuples, None if current is None else current.table)
        if current is None and partial is not None:
            current = Current(partial.table.slice(0, 0), 0)
        self.current = None if current is None else replace(current, partial=partial)

    async def _partial_groups(
        self, tuples: Sequence[PartialTuples], complete: pa.Table | None
    ) -> PartialGroups | None:
        source = self._partial
        if source is None or not tuples:
            return None
        [view], counted = self._spools, self._query.counted
        assert counted is not None, "partial groups are counted"
        try:
            groups: PartialGroups | None = await _in_thread(
                source.groups, tuples, complete, lambda rows: self._spark.run_over(counted, {view: rows})
            )
        except (FFFError, pa.ArrowException):
            self._partial = None  # what only adds to the display must not cost the result
            return None
        return groups

    def _settled(self) -> Settled | None:
        keys = self._query.group_keys
        if keys is None or len(self._blocks) != 1:
            return None
        block = self._blocks[0]
        if block.missing or not block.query.plan.inner:
            return None  # a group that lacks rows is no settled one; of outer joins it cannot be told
        shown = [(place, output) for place, output in enumerate(keys) if output is not None]
        open_values = block.eddy.open_values([block.query.plan.output[output] for _, output in shown])
        return None if open_values is None else Settled(tuple(place for place, _ in shown), open_values)

    async def finish(self, *, counted: bool) -> pa.Table:
        """The result over all rows; `counted`: tell also how many rows each row of it rests on."""
        began = time.perf_counter()
        if counted and not self._spark.ready():  # the groups over all rows show until it is
            await self._preview_once()
        await asyncio.to_thread(self._spark.wait)
        started = time.perf_counter()
        self.current = await self._run(counted=counted, settled=None)
        ended = time.perf_counter()
        self.stats = replace(
            self.stats, start_s=self._spark.start_s, final_s=ended - started, waited_s=ended - began
        )
        return self.current.table

    async def measure_filters(self) -> None:
        """Count what each condition cost that was left to Spark; what Spark cannot count stays untold."""
        for one in self._query.filters:
            began = time.perf_counter()
            with contextlib.suppress(FFFError):  # what only adds to the account must not cost the result
                counted = await self._ask(self._spark.run_over, one.counts, self._views())
                rows, kept, *keys = (column[0].as_py() for column in counted.columns)
                known = [WastedKeys(name, count) for name, count in zip(one.lookups, keys, strict=True)]
                unknown = [WastedKeys(name, None) for name in one.unknown]
                seconds = round(time.perf_counter() - began, 6)
                cost = FilterCost(one.text, rows, rows - kept, seconds, (*known, *unknown))
                self.stats = replace(self.stats, filters=(*self.stats.filters, cost))

    @property
    def rows(self) -> int:
        """Rows that the blocks have found so far."""
        return sum(spool.rows for spool in self._spools.values())

    def seconds(self) -> tuple[float, bool]:
        """What `finish` would take by now, at least what as many rows take anywhere; whether a refresh was measured."""
        cost, rows = self._measured or (SPARK_RUN_S, 0)
        million = max(SPARK_MILLION_S, cost * 1e6 / rows if rows >= _TELLING_ROWS else 0.0)
        if not self._spark.ready():
            cost += max(0.0, SPARK_START_S - (time.perf_counter() - self._started))
        return cost + million * (self.rows - rows) / 1e6, self._measured is not None

    async def at_once(self) -> Current:
        """The best there is without asking Spark anything more: the newest result, or one that needs no Spark, or no row."""
        if self.current is None:
            self._partial = self._partial or self._with_rows_so_far()
            await self._preview_once()
        if self.current is None:
            names = [name or f"_c{at}" for at, name in enumerate(self._query.names)]
            schema = self._schema or pa.schema([(name, pa.null()) for name in names])
            self.current = Current(schema.empty_table(), 0)
        return self.current

    def _with_rows_so_far(self) -> PartialSource | None:
        source = PartialSource.of(self._query, self._blocks)
        if source is not None and source.preview is not None:
            [spool] = self._spools.values()
            if not spool.in_memory:
                source.preview = None
            for batch in spool.table().to_batches() if spool.in_memory else ():
                source.add(batch)
        return source

    async def _run(self, *, counted: bool, settled: Settled | None) -> Current:
        views, rows = self._views(), self.rows
        if counted and self._query.counted is not None and not self._uncounted:
            try:
                table = await self._ask(self._spark.run_over, self._query.counted, views)
            except FFFError:
                self._uncounted = True  # what only adds to the display must not cost the result
            else:
                last = table.num_columns - 1
                return self._current(table.remove_column(last), rows, table.column(last), settled)
        sql = self._query.sql
        if self._query.final is not None and len(views) == len(self._spools) + self._query.key_views:
            sql = self._query.final
        return self._current(await self._ask(self._spark.run_over, sql, views), rows, None, settled)

    async def _ask(
        self, call: Callable[..., pa.Table], sql: str, views: Mapping[str, Spool | pa.Table]
    ) -> pa.Table:
        """Let Spark do it. Who gives up waiting stops the query, which is given a moment to end."""
        stop = threading.Event()
        running = asyncio.ensure_future(asyncio.to_thread(call, sql, views, stop))
        try:
            with self._in_own_words():
                return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait({running}, timeout=SPARK_END_S)
            raise

    @staticmethod
    def _current(
        table: pa.Table, rows: int, rests_on: pa.ChunkedArray | None, settled: Settled | None
    ) -> Current:
        known = () if settled is None else settled.of(table.slice(0, SAMPLE_ROWS))
        return Current(table, rows, rests_on, known)


def _described(rows: pa.Table) -> pa.Schema | None:
    """The schema that DESCRIBE QUERY tells; None where it has types that FFF has no name for."""
    names, types = rows.column(0).to_pylist(), rows.column(1).to_pylist()
    try:
        fields = [Field.of(name, kind) for name, kind in zip(names, types, strict=True)]
    except ValueError:
        return None
    return schema_of(fields)


def _succeeded(task: asyncio.Task[pa.Table]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _in_thread(call: Callable[..., _T], *args: Any) -> _T:
    """Run in a thread. A cancelled caller waits for the end, which is near."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *args))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with contextlib.suppress(FFFError):
            await running
        raise
