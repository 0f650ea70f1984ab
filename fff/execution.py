"""One run of one statement: its blocks side by side, Spark's result over their rows, the account at the end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from fff.catalog import Catalog
from fff.dataflow.events import Cancel
from fff.dataflow.expressions import Expr
from fff.errors import FFFError, InternalError, QueryError, SourceError
from fff.policies import DEFAULT_POLICY, Preference
from fff.policies.meanings import Memory
from fff.report import make_report
from fff.runtime.audit import audits
from fff.runtime.block import RunningBlock, uses_of
from fff.runtime.doubts import doubts
from fff.runtime.driver import Meters
from fff.runtime.picture import Picture, warnings_of
from fff.runtime.sharing import AccessStore, Lease
from fff.schema import Field, result_field
from fff.sql import Prepared
from fff.sql.priorities import priority
from fff.stats import Missing, Snapshot, SparkStats

if TYPE_CHECKING:
    from fff.runtime.upper import UpperRun
    from fff.spark.session import SparkEngine


@dataclass(frozen=True)
class RunOptions:
    """How to run a statement. Nothing here changes a complete answer.

    `prefer`: time against requests. `hold_rows`: keep rows back until the answer is complete. `refresh`: keep a current result of the upper query for
    `Execution.snapshot`. `max_requests` counts from the start of this run, over all blocks; a bound that
    `Federation.limit_requests` has set holds as well. `prioritize`: predicates whose rows are fetched first.
    """

    policy: str = DEFAULT_POLICY
    prefer: Preference = "balanced"
    seed: int | None = None
    semantics: Literal["parked", "paper"] = "parked"
    on_source_error: Literal["fail", "partial"] = "partial"
    hold_rows: bool = False
    deadline_s: float | None = None
    max_requests: int | None = None
    spark_master: str = "local[*]"
    spark_remote: str | None = None
    refresh: bool = False
    spark_log: Path | None = None
    prioritize: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `exit_code` and `report` are those of the contract.

    `doubts`: what in the statement may have made rows of a partial answer wrong, as LEFT JOIN; where there is nothing,
    each row of a partial answer is one of the complete answer.
    """

    complete: bool
    exit_code: int
    reason: str | None
    rows: int
    elapsed_s: float
    missing: tuple[Missing, ...]
    warnings: tuple[str, ...]
    report: dict[str, Any]
    doubts: tuple[str, ...] = ()


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
    ) -> None:
        self.prepared = prepared
        self.options = options
        self.seed = secrets.randbelow(2**31) if options.seed is None else options.seed
        self._catalog = catalog
        self._meters = Meters()
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
            )
            for number, query in enumerate(prepared.blocks)
        ]
        self._lease: Lease | None = None
        self._spark = spark
        self._spark_was_up = spark is not None and spark.ready()
        self._upper: UpperRun | None = None
        self._ready: deque[pa.RecordBatch] = deque()
        self._more = asyncio.Event()
        self._skip = prepared.offset if prepared.upper is None else 0
        self._started = time.perf_counter()
        self._ended: float | None = None
        self._first_row_s: float | None = None
        self._phase: Literal["fetching", "aggregating", "done"] = "fetching"
        self._result_rows = 0
        self._newest: dict[int, deque[pa.RecordBatch]] = {}  # by block: what it found last
        self._outcome: Outcome | None = None
        self.schema: tuple[Field, ...] | None = self._plain_schema()
        self._priorities: tuple[str, ...] = ()
        if options.prioritize:
            self.prioritize(*options.prioritize)

    @property
    def outcome(self) -> Outcome:
        """How the run ended; only after `batches` has ended."""
        assert self._outcome is not None, "the run has not ended"
        return self._outcome

    def interrupt(self) -> None:
        """Stop fetching and finish with what is there (first Ctrl-C)."""
        self._cancel("interrupted")

    def prioritize(self, *texts: str) -> None:
        """See rows for which one of the conditions is true first, in place of whatever that was before; none: nothing.

        Raises QueryError for one that is not a condition over the columns of any block; nothing is changed then.
        """
        wanted: list[list[Expr]] = [[] for _ in self._blocks]
        for text in texts:
            found = [priority(text, block.query.plan) for block in self._blocks]
            if not any(one is not None for one in found):
                raise QueryError(
                    f"no part of the query has all the columns of {text!r}",
                    hint="a priority compares columns of the tables that are fetched",
                )
            for some, one in zip(wanted, found, strict=True):
                if one is not None:
                    some.append(one)
        for block, some in zip(self._blocks, wanted, strict=True):
            block.prioritize(tuple(some))
        self._priorities = texts

    def _cancel(self, reason: str) -> None:
        for block in self._blocks:
            block.driver.post(Cancel(reason))

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
            found = self._rows() if self._spark is None else self._aggregated(self._spark)
            # Who leaves early leaves at once: nothing of the run goes on behind the reader's back.
            async with contextlib.aclosing(found) as batches:
                async for batch in batches:
                    yield batch
        except FFFError as error:
            self._end(error)
            raise
        self._end(None)

    async def _rows(self) -> AsyncGenerator[pa.RecordBatch]:
        """Rows as they are found, or all at the end when they are to be held back."""
        run = asyncio.create_task(self._run_blocks())
        run.add_done_callback(lambda _: self._more.set())
        yielded = False
        try:
            while True:
                if not self.options.hold_rows or run.done():
                    if run.done() and self.options.hold_rows:
                        run.result()
                    while self._ready:
                        yielded = True
                        yield self._ready.popleft()
                if run.done():
                    break
                await self._more.wait()
                self._more.clear()
            await run
        finally:
            run.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await run
        if not yielded:
            yield self._empty()

    async def _aggregated(self, spark: SparkEngine) -> AsyncGenerator[pa.RecordBatch]:
        """The upper query over all rows of all blocks, once; until then refreshed results for display."""
        from fff.runtime.upper import UpperRun  # noqa: PLC0415 - plain joins never pay for it

        query = self.prepared.upper
        assert query is not None
        with UpperRun(spark, query, self._blocks, self._started) as upper:
            self._upper = upper
            beside = asyncio.create_task(upper.beside(self._abort, refresh=self.options.refresh))
            try:
                await self._run_blocks()
                self._phase = "aggregating"
            finally:
                beside.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await beside
            table = await upper.finish(counted=self.options.refresh)
        self.schema = tuple(result_field(one.name, one.type) for one in table.schema)
        batches = table.combine_chunks().to_batches() or [self._batch_of(table.schema)]
        for batch in batches:
            self._result_rows += len(batch)
            yield batch

    async def _run_blocks(self) -> None:
        """Run all blocks at once, to their ends.

        Raises:
            SourceError: a source could not be read in full and that was to be the end; or none answered at all.
            FFFError: whatever else ended a block.
        """
        deadline = self.options.deadline_s
        alarm = None
        if deadline is not None:
            late = f"the deadline of {deadline:g} s passed"
            alarm = asyncio.get_running_loop().call_later(deadline, self._cancel, late)
        self._lease = lease = self._store.lease(self.prepared, uses_of(self._catalog, self.prepared))
        tasks = [asyncio.create_task(self._run_block(block, lease)) for block in self._blocks]
        try:
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            if alarm is not None:
                alarm.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            lease.close()
        self._check_answered()

    async def _run_block(self, block: RunningBlock, lease: Lease) -> None:
        await block.run(lease)
        lease.release(block.number)
        for other in self._blocks:
            for feed in other.feeds.values():
                feed.end(block.number, block.broken)
                if feed.query is not None and feed.query_due:
                    assert self._upper is not None, (
                        "a statement with a query for keys has one above its blocks"
                    )
                    feed.answer(await self._upper.keys(feed.query))

    def _check_answered(self) -> None:
        """Nothing at all is no partial result."""
        errors = [error for block in self._blocks for error in block.driver.source_errors]
        failed = any(block.finish is not None and block.finish.reason == "failed" for block in self._blocks)
        if errors and failed and not any(block.driver.answered for block in self._blocks):
            raise errors[0]

    def _deliver(self, block: RunningBlock, batch: pa.RecordBatch) -> None:
        """Take rows from a block: to the reader or to Spark, and to the blocks that are fed with them."""
        if self._first_row_s is None and len(batch):
            self._first_row_s = time.perf_counter() - self._started
        for other in self._blocks:
            for number, feed in other.feeds.items():
                for source in _sources(other, number, block.number):
                    feed.add([batch.column(column) for column in source])
        if self._upper is not None:
            self._upper.add(block, batch)
            self._newest.setdefault(block.number, deque(maxlen=8)).append(batch)
            return
        if self._skip:
            skipped = min(self._skip, len(batch))
            self._skip -= skipped
            batch = batch.slice(skipped)
        result = self.prepared.result
        assert result is not None
        if len(batch):
            batch = pa.RecordBatch.from_arrays(
                [batch.column(column.index) for column in result], names=[column.name for column in result]
            )
            self._result_rows += len(batch)
            self._newest.setdefault(block.number, deque(maxlen=8)).append(batch)
            self._ready.append(batch)
            self._more.set()

    def _plain_schema(self) -> tuple[Field, ...] | None:
        if self.prepared.result is None:
            return None
        plan = self.prepared.only_block.plan
        fields = [plan.field_of(plan.output[column.index]) for column in self.prepared.result]
        return tuple(
            Field(column.name, field.type, field.arrow)
            for column, field in zip(self.prepared.result, fields, strict=True)
        )

    def _empty(self) -> pa.RecordBatch:
        assert self.schema is not None
        return self._batch_of(pa.schema([(field.name, field.arrow) for field in self.schema]))

    @staticmethod
    def _batch_of(schema: pa.Schema) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)

    def snapshot(self) -> Snapshot:
        """A frozen picture of the run at this moment."""
        now = time.perf_counter() if self._ended is None else self._ended
        return Picture(
            prepared=self.prepared,
            blocks=self._blocks,
            lease=self._lease,
            current=None if self._upper is None else self._upper.current,
            newest=self._newest,
            phase=self._phase,
            complete=self._complete,
            result_rows=self._result_rows,
        ).snapshot(
            elapsed_s=now - self._started,
            first_row_s=self._first_row_s,
            spark=self._spark_stats(),
            policy=self.options.policy,
            prefer=self.options.prefer,
            seed=self.seed,
            priorities=self._priorities,
        )

    def _spark_stats(self) -> SparkStats:
        """What Spark did for this statement: one that found it running has not paid for its start."""
        stats = SparkStats(used=self._spark is not None) if self._upper is None else self._upper.stats
        return replace(stats, start_s=0.0) if self._spark_was_up else stats

    @property
    def _complete(self) -> bool:
        return all(block.finish is not None and block.finish.complete for block in self._blocks)

    def _end(self, error: FFFError | None) -> None:
        self._ended = time.perf_counter()
        self._phase = "done"
        for block in self._blocks:
            block.remember()
        complete = error is None and self._complete
        snapshot, warnings = self.snapshot(), warnings_of(self._blocks, self._meters)
        reason = None
        if error is not None:
            exit_code, reason = error.exit_code, error.message
        elif complete:
            exit_code = 0
        else:
            exit_code = 3
            reason = snapshot.missing[0].reason if snapshot.missing else "stopped"
        if isinstance(error, SourceError) and not snapshot.missing:
            part = Missing(".".join(p for p in (error.source, error.table) if p), "true", error.reason)
            snapshot = replace(snapshot, missing=(part,))
        rows = 0 if error is not None else self._result_rows
        doubtful = () if complete or error is not None else self._doubts(snapshot.missing)
        if doubtful:
            warnings = (*warnings, _doubt_text(doubtful, snapshot.missing))
        self._outcome = Outcome(
            complete=complete,
            exit_code=exit_code,
            reason=reason,
            rows=rows,
            elapsed_s=snapshot.elapsed_s,
            missing=snapshot.missing,
            warnings=warnings,
            report=make_report(
                sql=self.prepared.sql,
                snapshot=snapshot,
                complete=complete,
                exit_code=exit_code,
                reason=reason,
                rows=rows,
                warnings=warnings,
                doubts=doubtful,
                audit=audits(self._blocks, self.seed),
            ),
            doubts=doubtful,
        )

    def _doubts(self, missing: Sequence[Missing]) -> tuple[str, ...]:
        """What in the statement may have made rows wrong, given what was not read."""
        incomplete = {part.table for part in missing}
        for block in self._blocks:
            if block.stopped:  # then also what it would have asked other tables for
                incomplete |= {access.table.full_name for access in block.access if not access.fed}
        return doubts(self.prepared.sql, incomplete)


def _doubt_text(doubtful: Sequence[str], missing: Sequence[Missing]) -> str:
    tables = list(dict.fromkeys(part.table for part in missing))
    which = " and ".join(tables) if tables else "what was asked for"
    were = "were" if len(tables) > 1 else "was"
    return f"rows may be wrong, not only missing: {which} {were} not read in full, and the query has {', '.join(doubtful)}"


def _sources(fed: RunningBlock, table: int, block: int) -> Sequence[tuple[int, ...]]:
    """The output columns of a block that are keys of a table that is fed."""
    for feed in fed.query.feeds:
        if feed.table == table:
            return [source.columns for source in feed.sources if source.block == block]
    raise InternalError(f"nothing feeds table {table} of {fed.query.view}")
