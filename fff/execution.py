"""One run of one statement: its blocks side by side, Spark's result over their rows, the account at the end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from fff.access.session_cache import AccessStore, Lease
from fff.budget import Budget
from fff.catalog import Catalog
from fff.dataflow.plan.events import Cancel, Enough, Halt
from fff.dataflow.plan.expressions import Expr
from fff.errors import FFFError, SourceError
from fff.forecast.history import TableHistory
from fff.limits import WRITE_MILLION_S
from fff.options import RunOptions
from fff.policies.adaptive.session_memory import Memory
from fff.result.audit.report import audited, audits
from fff.result.doubts import TWICE, doubt_text, incomplete_in, lacking_in, twice_in
from fff.result.feeding import Feeding
from fff.result.report import make_report
from fff.result.row_sink import RowSink
from fff.result.snapshot import Picture, warnings_of
from fff.runtime.block_run import RunningBlock, uses_of
from fff.runtime.driver import Meters
from fff.runtime.ending import Ending
from fff.runtime.memory import MemoryGuard
from fff.schema import BOUND, WITHIN, Field, result_field
from fff.sql.analysis.priorities import nowhere, priority
from fff.sql.analysis.soundness import AnswerBounds, causes_among
from fff.sql.plan import Prepared
from fff.stats import Inquiry, MemoryStats, Missing, RunOutcome, Snapshot, SparkStats
from fff.structs import replace

if TYPE_CHECKING:
    from fff.access.semijoin_feed import KeyFeed
    from fff.result.spark_sink import SparkSink
    from fff.spark.session import SparkEngine


class Execution:
    """Runs a prepared statement once; `batches` yields the result."""

    def __init__(  # noqa: PLR0917 - what a federation has, in one place
        self,
        catalog: Catalog,
        prepared: Prepared,
        options: RunOptions,
        spark: SparkEngine | None,
        store: AccessStore | None = None,
        memory: Memory | None = None,
        budget: Budget | None = None,
        history: TableHistory | None = None,
        asked: Sequence[Inquiry] = (),
    ) -> None:
        self.prepared = prepared
        self.options = options
        self.seed = secrets.randbelow(2**31) if options.seed is None else options.seed
        self._catalog = catalog
        self._budget = budget
        self._asked = asked
        self._history = history or TableHistory()
        self._meters = Meters(budget)
        self._memory = MemoryGuard(options.memory_limit)
        self._row_sink = (
            RowSink(prepared, hold=options.hold_rows, enough=self._enough) if prepared.upper is None else None
        )
        self._spark_sink: SparkSink | None = None
        self._store = store or AccessStore()
        memory = memory or Memory()
        self._blocks = [
            RunningBlock(
                number,
                query,
                catalog,
                self._meters,
                policy=options.policy,
                prefer=options.prefer,
                seed=self.seed,
                memory=memory,
                semantics=options.semantics,
                stop_on_missing=options.on_source_error == "fail",
                deliver=self._deliver,
                room=None if self._row_sink is None else self._row_sink.room,
                unread=None if self._row_sink is None else self._row_sink.unread,
                checked=self._check_memory,
            )
            for number, query in enumerate(prepared.blocks)
        ]
        self._feeding = Feeding(self._blocks, prepared.sql)
        self._short_of_memory: str | None = None  # what to do about it
        self._lease: Lease | None = None
        self._spark = spark
        self._spark_was_up = spark is not None and spark.ready()
        self._ending = Ending(options.deadline, self._after_joins, self._is_spark_starting)
        self._cut: tuple[Missing, ...] = ()  # what was found and came into no result: there was no time
        self._late: str | None = None  # the same in words
        self._bounds: AnswerBounds | None = None  # what values of a partial answer say, where that is known
        self._within: tuple[
            int | None, ...
        ] = ()  # and by how much those of the complete answer are higher at most
        self._started = time.perf_counter()
        self._aside = 0.0  # seconds for what is no part of the run
        self._joined: float | None = None  # when the last block ended
        self._ended: float | None = None
        self._first_row_s: float | None = None
        self._phase: Literal["fetching", "aggregating", "done"] = "fetching"
        self._spark_rows = 0  # of Spark's result
        self._newest: dict[int, deque[pa.RecordBatch]] = {}  # by block: what it found last
        self._outcome: RunOutcome | None = None
        self.schema: tuple[Field, ...] | None = None if self._row_sink is None else self._row_sink.schema
        self._priorities: tuple[str, ...] = ()
        if options.prioritize:
            self.prioritize(*options.prioritize)

    @property
    def outcome(self) -> RunOutcome:
        """How the run ended; only once that is known."""
        assert self._outcome is not None, "the run has not ended"
        return self._outcome

    @property
    def settled(self) -> RunOutcome | None:
        """The outcome, once it is known: before the first batch where Spark makes the rows, else after the last one."""
        return self._outcome

    def interrupt(self) -> None:
        """Stop fetching and finish soon with what is there (first Ctrl-C)."""
        self._cancel("interrupted")
        self._ending.interrupt("interrupted")

    def prioritize(self, *texts: str) -> None:
        """See rows for which one of the conditions is true first, in place of whatever that was before; none: nothing.

        Raises QueryError for one that is not a condition over the columns of any block; nothing is changed then.
        """
        wanted: list[list[Expr]] = [[] for _ in self._blocks]
        for text in texts:
            priorities = [priority(text, block.query.plan) for block in self._blocks]
            if not any(one is not None for one in priorities):
                raise nowhere(text)
            for some, one in zip(wanted, priorities, strict=True):
                if one is not None:
                    some.append(one)
        for block, some in zip(self._blocks, wanted, strict=True):
            block.prioritize(tuple(some))
        self._priorities = texts

    def _cancel(self, reason: str) -> None:
        for block in self._blocks:
            block.driver.post(Cancel(reason))

    def _halt(self, reason: str) -> None:
        for block in self._blocks:
            block.driver.post(Halt(reason))

    def _check_memory(self) -> None:
        if self._short_of_memory is not None:
            return
        reason = self._memory.check(self._blocks, self._row_sink)
        if reason is not None:
            self._short_of_memory = self._memory.advice(self._blocks)
            self._cancel(reason)
            self._halt(reason)

    def _enough(self) -> None:
        for block in self._blocks:
            block.driver.post(Enough())

    def _after_joins(self) -> tuple[float, bool]:
        """Seconds that what comes after joining would take by now, and whether that was measured."""
        if self._row_sink is not None:
            return WRITE_MILLION_S * self._row_sink.held / 1e6, True
        return (0.0, False) if self._spark_sink is None else self._spark_sink.seconds()

    def _is_spark_starting(self) -> bool:
        return self._row_sink is None and self._spark is not None and not self._spark.ready()

    def _abort(self, error: FFFError) -> None:
        """End the run with an error: what it would bring has no use any more."""
        for block in self._blocks:
            block.driver.abort(error)

    async def batches(self) -> AsyncGenerator[pa.RecordBatch]:
        """The result, at least one batch (perhaps without rows).

        Raises:
            FFFError: there is no result; the exit code is the error's.
        """
        try:
            results = self._aggregated() if self._row_sink is None else self._rows(self._row_sink)
            # Who leaves early leaves at once: nothing of the run goes on behind the reader's back.
            async with contextlib.aclosing(results) as batches:
                async for batch in batches:
                    yield batch
        except FFFError as error:
            self._end(error)
            raise
        if self._outcome is None:
            self._end(None)

    async def _rows(self, sink: RowSink) -> AsyncGenerator[pa.RecordBatch]:
        """Rows as they are found, or all at the end when they are to be held back."""

        def dropped() -> None:
            self._cut = self._parts("not written", self._ending.reason or "stopped")

        sink.begin()
        run = asyncio.create_task(self._run_blocks())
        async with contextlib.aclosing(sink.batches(run, lambda: self._ending.passed, dropped)) as batches:
            async for batch in batches:
                yield batch

    @property
    def _rows_out(self) -> int:
        """Rows of the result, as far as there are any."""
        return self._spark_rows if self._row_sink is None else self._row_sink.rows

    def _parts(self, what: str, reason: str) -> tuple[Missing, ...]:
        """Rows of any table may lack in the result."""
        tables = [
            access.table.full_name for block in self._blocks for access in block.access if not access.fed
        ]
        return tuple(Missing(table, what, reason) for table in dict.fromkeys(tables))

    async def _aggregated(self) -> AsyncGenerator[pa.RecordBatch]:
        """The upper query over all rows of all blocks, once; until then refreshed results for display."""
        from fff.result.spark_sink import SparkSink  # noqa: PLC0415 - plain joins never pay for it

        spark, query = self._spark, self.prepared.upper
        assert spark is not None
        assert query is not None
        with SparkSink(spark, query, self._blocks, self._started, self.prepared.sql) as sink:
            self._spark_sink = sink
            if spark.ready():  # then what it refuses costs no request
                await sink.check()
            beside = asyncio.create_task(sink.beside(self._abort, refresh=self.options.refresh))
            try:
                await self._run_blocks()
                self._phase = "aggregating"
            finally:
                beside.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await beside
            table = await self._ending.in_time(sink.finish(counted=self.options.refresh))
            if table is not None and self.options.measure_filters:
                ended = time.perf_counter()
                await self._ending.in_time(sink.measure_filters())
                self._aside = time.perf_counter() - ended
            if table is None:
                final = await sink.at_once()
                table = final.table
                self._cut = self._parts("not aggregated yet", self._ending.reason or "stopped")
                self._late = f"Spark had no time to end: the result rests on {final.rows:,} of {sink.rows:,} rows found"
        self.schema = tuple(result_field(one.name, one.type) for one in table.schema)
        if not self._complete:
            table = pa.Table.from_arrays(table.columns, schema=self._bounded(table.schema))
        self._spark_rows = len(table)
        # Who reads only some of the rows learns as well what they are worth.
        self._end(None)
        for batch in table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
            yield batch

    async def _run_blocks(self) -> None:
        """Run all blocks at once, to their ends.

        Raises:
            SourceError: a source could not be read in full and that was to be the end; or none answered at all.
            FFFError: whatever else ended a block.
        """
        self._ending.begin()
        watch = asyncio.create_task(self._ending.watch(self._cancel, self._halt))
        uses = uses_of(self._catalog, self.prepared)
        self._feeding.begin()
        self._lease = lease = self._store.lease(self.prepared, uses, self._budget)
        tasks = [asyncio.create_task(self._run_block(block, lease)) for block in self._blocks]
        feeds = [feed for block in self._blocks for feed in block.feeds.values()]
        tasks += [  # those that read no block, which nothing else begins
            asyncio.create_task(self._run_query_for(feed))
            for feed in feeds
            if feed.query is not None and not feed.query.blocks
        ]
        try:
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in (watch, *tasks):
                task.cancel()
            await asyncio.gather(watch, *tasks, return_exceptions=True)
            lease.close()
            self._joined = time.perf_counter()
        self._raise_if_nothing_came()

    async def _run_block(self, block: RunningBlock, lease: Lease) -> None:
        try:
            await block.run(lease)
        finally:  # also where the first mirror's failure is to be the end: later statements take what the second gave
            for table, access in zip(block.eddy.statistics().tables, block.access, strict=True):
                if table.beyond:
                    lease.distrust(access.table)
        lease.release(block.number)
        self._feeding.ended(block)
        for other in self._blocks:
            for feed in other.feeds.values():
                feed.end(block.number, block.broken)
                if feed.query is not None and block.number in feed.query.blocks:
                    await self._run_query_for(feed)

    async def _run_query_for(self, feed: KeyFeed) -> None:
        """Run the query for the keys of a feed, if the blocks that it reads have ended."""
        if feed.query is None or not feed.query_due:
            return
        assert self._spark_sink is not None, "a statement with a query for keys has one above its blocks"
        keys = await self._ending.while_fetching(self._spark_sink.keys(feed.query))
        if keys is not None:  # else nobody may ask for them any more
            feed.answer(keys)

    def _raise_if_nothing_came(self) -> None:
        """Nothing at all is no partial result."""
        errors = [error for block in self._blocks for error in block.driver.source_errors]
        failed = any(block.finish is not None and block.finish.reason == "failed" for block in self._blocks)
        if errors and failed and not any(block.driver.has_answers for block in self._blocks):
            raise errors[0]

    def _deliver(self, block: RunningBlock, batch: pa.RecordBatch) -> None:
        """Take rows from a block: to the reader or to Spark, and to the blocks that are fed with them."""
        if self._first_row_s is None and len(batch):
            self._first_row_s = time.perf_counter() - self._started
        self._feeding.take(block, batch)
        if self._row_sink is not None:
            if not self._row_sink.reads(block.number):
                return
            batch = self._row_sink.add(block.number, batch)
        elif self._spark_sink is not None:
            self._spark_sink.add(block, batch)
        if len(batch):
            self._newest.setdefault(block.number, deque(maxlen=8)).append(batch)

    def snapshot(self) -> Snapshot:
        """A frozen picture of the run at this moment."""
        now = time.perf_counter() if self._ended is None else self._ended
        return Picture(
            prepared=self.prepared,
            blocks=self._blocks,
            lease=self._lease,
            asked=self._asked,
            current=None if self._spark_sink is None else self._spark_sink.current,
            newest=self._newest,
            phase=self._phase,
            complete=self._complete,
            result_rows=self._rows_out,
            memory=MemoryStats(self._memory.limit, self._memory.peak, self._memory.files.bytes),
        ).snapshot(
            elapsed_s=now - self._started - self._aside,
            first_row_s=self._first_row_s,
            spark=self._spark_stats(),
            policy=self.options.policy,
            prefer=self.options.prefer,
            seed=self.seed,
            priorities=self._priorities,
        )

    def _spark_stats(self) -> SparkStats:
        """What Spark did for this statement: one that found it running has not paid for its start."""
        stats = (
            SparkStats(used=self._spark is not None) if self._spark_sink is None else self._spark_sink.stats
        )
        stats = replace(stats, attached=self._spark is not None and self._spark.attached)
        return replace(stats, start_s=0.0) if self._spark_was_up else stats

    @property
    def _complete(self) -> bool:
        done = all(block.finish is not None and block.finish.complete for block in self._blocks)
        return done and not self._cut

    def _end(self, error: FFFError | None) -> None:
        self._ended = time.perf_counter()
        self._phase = "done"
        for block in self._blocks:
            block.remember()
        self._history.note(self._catalog, self._blocks)
        self._outcome = self._account(error)

    def cut_outcome(self, rows: int, reason: str) -> RunOutcome:
        """How it ends for one who has read so many rows and wants no more; what is known of these by now still holds."""
        return self._account(None, rows, reason)

    def _account(self, error: FFFError | None, rows: int | None = None, cut: str | None = None) -> RunOutcome:
        """What the result is worth; `cut`: why it has but so many rows."""
        partial = error is None and not self._complete
        complete = error is None and not partial and cut is None
        warnings = (*self.prepared.warnings, *warnings_of(self._blocks, self._meters))
        snapshot = self.snapshot()
        warnings = warnings if self._late is None else (*warnings, self._late)
        if self._short_of_memory is not None:
            warnings = (*warnings, self._short_of_memory)
        tables = {part.table for part in snapshot.missing}
        dropped = (part for part in self._cut if part.table not in tables)
        snapshot = replace(snapshot, missing=(*snapshot.missing, *dropped))
        reason = None
        if error is not None:
            exit_code, reason = error.exit_code, error.message
        elif complete:
            exit_code = 0
        elif cut is not None:
            exit_code, reason = 3, cut
        else:
            exit_code = 3
            reason = snapshot.missing[0].reason if snapshot.missing else self._ending.reason or "stopped"
            if self.options.deadline is not None and reason == self._ending.reason:
                reason = f"{reason} ({self._spent()})"
        if isinstance(error, SourceError) and not snapshot.missing:
            part = Missing(".".join(p for p in (error.source, error.table) if p), "true", error.reason)
            snapshot = replace(snapshot, missing=(part,))
        if rows is None:
            rows = 0 if error is not None else self._rows_out
        incomplete = incomplete_in(self._blocks, snapshot.missing) if partial else ()
        causes = causes_among(self.prepared.doubts, incomplete)
        twice = twice_in(self._blocks) if partial else ()
        doubtful = (*causes, *(f"{TWICE} of {table}" for table in twice))
        if doubtful:
            warnings = (*warnings, doubt_text(causes, twice, snapshot.missing, self._bounds))
        sql, seed = self.prepared.sql, self.seed
        routed = [] if self._ended is None else [audited(block) for block in self._blocks]
        return RunOutcome(
            complete=complete,
            exit_code=exit_code,
            reason=reason,
            rows=rows,
            elapsed_s=snapshot.elapsed_s,
            missing=snapshot.missing,
            warnings=warnings,
            make_report=lambda: make_report(
                sql=sql,
                snapshot=snapshot,
                complete=complete,
                exit_code=exit_code,
                reason=reason,
                rows=rows,
                warnings=warnings,
                doubts=doubtful,
                bounds=self._bounds,
                within=self._within,
                audit=audits(routed, seed, self.options.prefer),
            ),
            doubts=doubtful,
            bounds=() if self._bounds is None else self._bounds.columns,
            within=self._within,
            bounded=self._bounds is not None and self._bounds.tell_all,
        )

    def _bounded(self, schema: pa.Schema) -> pa.Schema:
        """The schema of a partial answer, its fields with what their values say of those of the complete one."""
        bounds = self.prepared.bounds
        incomplete = incomplete_in(self._blocks, (*self.snapshot().missing, *self._cut))
        if (
            bounds is None
            or len(bounds.columns) != len(schema)
            or any(meter.doubled for meter in self._meters)
            or causes_among(bounds.doubts, incomplete)
        ):
            return schema
        self._bounds = bounds
        self._within = () if self._cut else bounds.within([lacking_in(block) for block in self._blocks])
        fields = [
            one.with_metadata({BOUND: bound}) for one, bound in zip(schema, bounds.columns, strict=True)
        ]
        for place, within in enumerate(self._within):
            if within is not None:
                metadata = {**(fields[place].metadata or {}), WITHIN: str(within)}
                fields[place] = fields[place].with_metadata(metadata)
        return pa.schema(fields, schema.metadata)

    def _spent(self) -> str:
        """What took how long, of a run that has ended."""
        ended = self._ended or time.perf_counter()
        joined = self._joined or ended
        joining = sum(block.driver.joining_s for block in self._blocks)
        writing = 0.0 if self._row_sink is None else self._row_sink.writing_s
        fetching = max(0.0, joined - self._started - joining - writing)
        parts = [f"fetching {fetching:.1f} s", f"joining {joining:.1f} s"]
        if writing >= 0.05:
            parts.append(f"writing {writing:.1f} s")
        if self._spark is not None:
            parts.append(f"Spark {ended - joined:.1f} s")
        return ", ".join(parts)
