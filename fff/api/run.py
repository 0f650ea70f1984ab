"""One statement under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

from fff.api.own_spark import OwnSpark
from fff.api.result import RecordBatch, Result
from fff.errors import UsageError
from fff.federation import Execution
from fff.limits import AHEAD_BATCHES


class BackgroundRun:
    """A task reads its batches, whoever wants them looks on; while nobody does, few batches are read."""

    def __init__(self, execution: Execution, own_spark: OwnSpark) -> None:
        self.execution = execution
        self._own_spark = own_spark
        self._batches: deque[RecordBatch] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._ahead = 0  # batches that have come since somebody last looked on, or that nobody has taken
        self._lookers = 0  # who look on, and want all that comes
        self._task = asyncio.create_task(self._read(), name="fff-statement")

    async def _read(self) -> None:
        try:
            async with contextlib.aclosing(self.execution.batches()) as batches:
                async for batch in batches:
                    self._batches.append(batch)
                    self._ahead += 1
                    self._news.set()
                    while self._ahead >= AHEAD_BATCHES and not self._lookers:
                        self._room.clear()
                        await self._room.wait()
        finally:
            self._news.set()

    async def ended(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - a look, not a limit
        """Whether the run is over, after waiting for it at most so long. Raises its error."""
        self._lookers += 1
        self._room.set()
        try:
            await asyncio.wait([self._task], timeout=timeout)
        finally:
            self._lookers -= 1
            self._ahead = 0
        if self._task.cancelled():
            raise UsageError("the connection was closed while the statement ran")
        if not self._task.done():
            return False
        self._task.result()
        return True

    async def more(self) -> bool:
        """Wait for a batch; False when there is none any more.

        Raises the run's error, after the last batch.
        """
        while not self._batches:
            if self._task.done():
                return not await self.ended()
            await self._news.wait()
            self._news.clear()
        return True

    def take(self) -> RecordBatch:
        """The next batch, after `more`."""
        self._ahead -= 1
        self._room.set()
        return self._batches.popleft()

    def result(self) -> Result:
        """The result of a run that is over."""
        schema = self._batches[0].schema
        partial = self.execution.options.on_source_error == "partial"
        return Result(schema, self._batches, self.execution.outcome, self._own_spark.frame, partial=partial)

    async def stop(self) -> None:
        """End it, whatever it is doing; harmless when it is over.

        Its error, if any, was or will be asked for.
        """
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()
