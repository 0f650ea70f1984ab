"""The upper query of a statement: Spark's result over the rows that the blocks find, at the end and on the way."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

import pyarrow as pa

from fff.dataflow.partial import PartialTuples
from fff.errors import FFFError
from fff.limits import SAMPLE_ROWS, SPARK_POLL_S
from fff.runtime.block import RunningBlock
from fff.runtime.groups import Settled
from fff.runtime.partial import PartialGroups, PartialSource
from fff.runtime.preview import Preview
from fff.spark.refresh import RefreshPacer
from fff.spark.session import SparkEngine
from fff.spark.spool import Spool
from fff.sql.planned import KeyQuery, UpperQuery
from fff.stats import SparkStats

_T = TypeVar("_T")
_Call: TypeAlias = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Current:
    """A result of the upper query: over all rows, or over those that were there when it was asked."""

    table: pa.Table
    rests_on: pa.ChunkedArray | None = None  # how many rows of the block each row rests on
    settled: tuple[bool, ...] = ()  # of its first rows
    partial: PartialGroups | None = (
        None  # groups beside these that no complete row has reached; for display alone
    )


class UpperRun:
    """Runs one upper query. Everything here happens beside fetching and never holds it up.

    Args:
        spark: the engine; may still be starting.
        query: what to run.
        blocks: whose rows it runs over.
        started: when the statement began, on `time.perf_counter`.
    """

    def __init__(
        self, spark: SparkEngine, query: UpperQuery, blocks: Sequence[RunningBlock], started: float
    ) -> None:
        self.current: Current | None = None
        self.stats = SparkStats(used=True)
        self._spark = spark
        self._query = query
        self._blocks = blocks
        self._started = started
        self._files = ExitStack()
        self._spools: dict[str, Spool] = {}
        self._keys: dict[str, asyncio.Task[pa.Table]] = {}  # rows of key queries, by view
        self._uncounted = False
        self._partial: PartialSource | None = None

    def __enter__(self) -> Self:
        for block in self._blocks:
            if block.query.view:
                schema = pa.schema([(field.name, field.arrow) for field in block.query.fields])
                self._spools[block.query.view] = self._files.enter_context(Spool(schema))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        found: pa.Table = await _in_thread(self._spark.run_over, query.sql, self._views())
        return found

    def _views(self) -> dict[str, Spool | pa.Table]:
        """What there is to read: the blocks' rows, and those of key queries that have been run."""
        done = {view: task.result() for view, task in self._keys.items() if _succeeded(task)}
        return {**self._spools, **done}

    async def beside(self, failed: Callable[[FFFError], None], *, refresh: bool) -> None:
        """What Spark does while rows are fetched: check the query, then keep its current result if that is wanted."""
        if refresh:  # before the first rows, all of which it must see
            self._partial = PartialSource.of(self._query, self._blocks)
        await self._await_spark()
        self.stats = replace(self.stats, start_s=self._spark.start_s)
        empty = {view: spool.schema.empty_table() for view, spool in self._spools.items()}
        try:
            # Types and function names are Spark's to judge: as soon as it is up, and long before the last row.
            await _in_thread(self._spark.run_over, f"DESCRIBE QUERY {self._query.sql}", empty)
        except FFFError as error:
            failed(error)
            return
        if refresh:
            await self._refresh()

    async def _await_spark(self) -> None:
        """Wait until Spark is up; until then, show what groups can be had without it."""
        pacer = RefreshPacer(self._started)
        pacer.done(time.perf_counter(), 0.0)  # it costs next to nothing
        seen = 0
        while not self._spark.ready():
            await asyncio.sleep(SPARK_POLL_S)
            source = self._partial
            preview = None if source is None else source.preview
            if source is None or preview is None or not pacer.due(time.perf_counter(), source.changes - seen):
                continue
            seen, started = source.changes, time.perf_counter()
            try:
                await self._preview(source, preview)
            except (FFFError, pa.ArrowException):
                self._partial = None  # what only adds to the display must not cost the result
            pacer.done(time.perf_counter(), time.perf_counter() - started)

    async def _preview(self, source: PartialSource, preview: Preview) -> None:
        """The groups of a simple statement over the rows so far, and over rows under way."""
        [spool] = self._spools.values()
        if not spool.in_memory:
            return
        settled, tuples = self._settled(), source.take(spool.rows)
        counted = await _in_thread(preview.run, spool.table())
        last = counted.num_columns - 1
        current = self._current(counted.remove_column(last), counted.column(last), settled)
        partial = await _in_thread(source.groups, tuples, current.table, preview.run)
        if len(current.table) or partial is not None:
            self.current = replace(current, partial=partial)

    async def _refresh(self) -> None:
        """Run the query over the rows so far, as often as costs at most a fifth of the time."""
        pacer = RefreshPacer(self._started)
        seen = changes = 0
        while True:
            rows = sum(spool.rows for spool in self._spools.values())
            inside = 0 if self._partial is None else self._partial.changes
            if not pacer.due(time.perf_counter(), rows - seen + inside - changes):
                await asyncio.sleep(SPARK_POLL_S)
                continue
            more, seen, changes, started = rows > seen, rows, inside, time.perf_counter()
            try:
                await self._renew(rows, more=more)
            except FFFError:
                return  # the final run reports it
            cost = time.perf_counter() - started
            pacer.done(time.perf_counter(), cost)
            self.stats = replace(
                self.stats,
                start_s=self._spark.start_s,
                refreshes=self.stats.refreshes + 1,
                refresh_s=self.stats.refresh_s + cost,
            )

    async def _renew(self, rows: int, *, more: bool) -> None:
        """Run the query over the rows so far, if there are `more`, and over rows under way. Raises SparkError."""
        # Asked before the rows are looked at: what is settled now has all its rows among them, and a group that is not
        # reached now may well be among them, but none that is reached is taken for partial.
        settled = self._settled()
        tuples = () if self._partial is None else self._partial.take(rows)
        current = self.current
        if more:
            current = await self._run(_in_thread, counted=True, settled=settled)
            self.current = self.current or current
        elif current is not None:
            current = self._current(current.table, current.rests_on, settled)
        partial = await self._partial_groups(tuples, None if current is None else current.table)
        if current is None and partial is not None:
            current = Current(partial.table.slice(0, 0))
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
            found: PartialGroups | None = await _in_thread(
                source.groups, tuples, complete, lambda rows: self._spark.run_over(counted, {view: rows})
            )
        except (FFFError, pa.ArrowException):
            self._partial = None  # what only adds to the display must not cost the result
            return None
        return found

    def _settled(self) -> Settled | None:
        keys = self._query.group_keys
        if keys is None or len(self._blocks) != 1:
            return None
        block = self._blocks[0]
        if block.missing:
            return None  # a group that lacks rows is no settled one
        shown = [(place, output) for place, output in enumerate(keys) if output is not None]
        open_values = block.eddy.open_values([block.query.plan.output[output] for _, output in shown])
        return None if open_values is None else Settled(tuple(place for place, _ in shown), open_values)

    async def finish(self, *, counted: bool) -> pa.Table:
        """The result over all rows; `counted`: tell also how many rows each row of it rests on."""
        await asyncio.to_thread(self._spark.wait)
        started = time.perf_counter()
        self.current = await self._run(asyncio.to_thread, counted=counted, settled=None)
        self.stats = replace(self.stats, start_s=self._spark.start_s, final_s=time.perf_counter() - started)
        return self.current.table

    async def _run(self, call: _Call, *, counted: bool, settled: Settled | None) -> Current:
        views = self._views()
        if counted and self._query.counted is not None and not self._uncounted:
            try:
                table: pa.Table = await call(self._spark.run_over, self._query.counted, views)
            except FFFError:
                self._uncounted = True  # what only adds to the display must not cost the result
            else:
                last = table.num_columns - 1
                return self._current(table.remove_column(last), table.column(last), settled)
        sql = self._query.sql
        if self._query.final is not None and len(views) == len(self._spools) + self._query.key_views:
            sql = self._query.final
        return self._current(await call(self._spark.run_over, sql, views), None, settled)

    @staticmethod
    def _current(table: pa.Table, rests_on: pa.ChunkedArray | None, settled: Settled | None) -> Current:
        return Current(table, rests_on, () if settled is None else settled.of(table.slice(0, SAMPLE_ROWS)))


def _succeeded(task: asyncio.Task[pa.Table]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _in_thread(call: Callable[..., _T], *args: Any) -> _T:
    """Run in a thread. A cancelled caller waits for the end: Spark cannot be interrupted half-way."""
    running = asyncio.ensure_future(asyncio.to_thread(call, *args))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with contextlib.suppress(FFFError):
            await running
        raise
