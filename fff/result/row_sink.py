"""Rows as the result: what the engine makes of those that blocks find, on their way out through one bounded queue."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable

import pyarrow as pa

from fff.dataflow.arrays import Spill
from fff.limits import LATE_ROWS, READY_BATCHES, READY_ROWS
from fff.result.projection import UnionRows
from fff.schema import schema_of
from fff.sql.plan import Prepared


class RowSink:
    """Takes rows of blocks and hands out the result's: the values of the select lists, cut to what the statement takes.

    A reader that does not keep up holds the sources back: `room` is clear while as many batches wait as may.

    Args:
        prepared: a statement without anything that Spark must do.
        hold: keep rows back until the run has ended, in which case any number of them waits.
        enough: told when the result has every row that it takes.
    """

    def __init__(self, prepared: Prepared, *, hold: bool, enough: Callable[[], None]) -> None:
        assert prepared.result is not None, "a statement that is Spark's to finish"
        self.schema = prepared.result.fields
        self._union = UnionRows(prepared.result, prepared.sql)
        self._enough = enough
        self.room = asyncio.Event()  # set while the reader keeps up
        self.room.set()
        self.rows = 0  # of the result: handed out, or waiting
        self.writing_s = 0.0  # seconds that whoever takes the rows took for them
        self._hold = hold
        self._waiting: deque[pa.RecordBatch] = deque()
        self._outside = 0  # of those held back: batches that have left memory
        self._more = asyncio.Event()

    @property
    def held(self) -> int:
        """Rows kept back until the run has ended."""
        return sum(map(len, self._waiting)) if self._hold else 0

    def unread(self) -> bool:
        """Whether rows wait for their reader."""
        return bool(self._waiting) and not self._hold

    def spill(self, spill: Spill) -> None:
        """Rows that are held back leave memory."""
        batches = list(self._waiting)[self._outside :] if self._hold else []
        if not batches or sum(batch.nbytes for batch in batches) < max(1, spill.least):
            return
        columns = spill.store(pa.Table.from_batches(batches).columns)
        for _ in batches:
            self._waiting.pop()
        schema = batches[0].schema
        self._waiting.extend(
            pa.RecordBatch.from_arrays(list(parts), schema=schema) for parts in zip(*columns, strict=True)
        )
        self._outside = len(self._waiting)

    def add(self, block: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take rows of a block; gives those of the result among them.

        Raises QueryError where a value cannot be had.
        """
        return self._take(self._union.of(block, batch))

    def reads(self, block: int) -> bool:
        """Whether rows of a block are to become rows of the result."""
        return self._union.reads(block)

    def _take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if len(batch):
            self.rows += len(batch)
            self._waiting.extend(batch.slice(start, LATE_ROWS) for start in range(0, len(batch), LATE_ROWS))
            if not self._hold and self._is_full():
                self.room.clear()
            self._more.set()
        if self._union.full:
            self._enough()
        return batch

    def _is_full(self) -> bool:
        """Whether as much waits as may."""
        return len(self._waiting) >= READY_BATCHES or sum(map(len, self._waiting)) >= READY_ROWS

    def begin(self) -> list[pa.RecordBatch]:
        """Take the rows that no table makes; gives those of the result.

        Raises QueryError where a value cannot be had.
        """
        if self._union.full:
            self._enough()
        return [self._take(rows) for rows in self._union.alone()]

    async def batches(
        self, run: asyncio.Task[None], is_late: Callable[[], bool], dropped: Callable[[], None]
    ) -> AsyncGenerator[pa.RecordBatch]:
        """The rows of a run as they are found, or all at its end where they are held back; at least one batch.

        Args:
            run: what finds the rows; cancelled when the reader leaves.
            is_late: whether the answer is due: rows that would be handed out long after that are dropped.
            dropped: told when that happens.
        """
        run.add_done_callback(lambda _: self._more.set())
        began = False
        try:
            while True:
                if self._hold and run.done():
                    run.result()
                while self._waiting and (run.done() or not self._hold):
                    if not self._hold and is_late() and self._drop_late():
                        dropped()
                    began, taken = True, time.perf_counter()
                    batch = self._waiting.popleft()
                    if not self._is_full():
                        self.room.set()
                    yield batch
                    self.writing_s += time.perf_counter() - taken
                if run.done():
                    break
                await self._more.wait()
                self._more.clear()
            await run
        finally:
            run.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await run
        if not began:
            schema = schema_of(self.schema)
            yield pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)

    def _drop_late(self) -> bool:
        """Leave no more rows waiting than can be handed out in a moment; whether there were more."""
        waiting = sum(map(len, self._waiting))
        if waiting <= LATE_ROWS:
            return False
        while waiting > LATE_ROWS:
            gone = len(self._waiting.pop())
            waiting -= gone
            self.rows -= gone
        return True
