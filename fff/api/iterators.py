"""Statements that are iterated over: snapshots or batches, in a loop that may be left early."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Generic, Self, TypeAlias, TypeVar

from fff.api.loop import LoopThread
from fff.api.result import Ended, RecordBatch, Result
from fff.api.run import BackgroundRun
from fff.errors import UsageError
from fff.federation import Execution, RunOutcome
from fff.stats import Snapshot

_T = TypeVar("_T")

Begin: TypeAlias = Callable[[], AbstractAsyncContextManager[BackgroundRun]]


class _Once(Ended):
    """What an iteration leaves behind."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._begun = False
        self._outcome: RunOutcome | None = None

    def _start(self) -> AbstractAsyncContextManager[BackgroundRun]:
        if self._begun:
            raise UsageError("a statement is iterated over once", hint="ask for it again")
        self._begun = True
        return self._begin()

    @property
    def over(self) -> bool:
        """Whether the statement has come to its end."""
        return self._outcome is not None

    @property
    def outcome(self) -> RunOutcome:
        """How the statement ended; raises UsageError before it has."""
        if self._outcome is None:
            raise UsageError("the statement has not come to its end")
        return self._outcome


class AsyncStream(_Once):
    """Partial results of one statement while it runs.

    `async for` runs it and gives snapshots; `result` comes after.
    """

    def __init__(self, begin: Begin, interval: float) -> None:
        super().__init__(begin)
        self._interval = interval
        self._result: Result | None = None
        self._execution: Execution | None = None

    async def __aiter__(self) -> AsyncGenerator[Snapshot]:
        async with self._start() as run:
            self._execution = run.execution
            while not await run.ended(self._interval):
                yield run.execution.snapshot()
            self._result = run.result()
            self._outcome = run.execution.outcome
            yield run.execution.snapshot()

    @property
    def requests(self) -> int:
        """How many requests the statement has sent, however it ended."""
        access = () if self._execution is None else self._execution.snapshot().access
        return sum(one.requests for one in access)

    @property
    def result(self) -> Result:
        """The result, once the last snapshot has come; raises UsageError before."""
        if self._result is None:
            raise UsageError("the statement has not come to its end")
        return self._result


class AsyncBatches(_Once):
    """The rows of one statement as they are found. `async for` runs it; how it ended is known after."""

    _execution: Execution | None = None

    @property
    def settled(self) -> RunOutcome | None:
        """How the statement ends, as soon as it is known: from the first batch on where Spark makes the rows."""
        return None if self._execution is None else self._execution.settled

    async def __aiter__(self) -> AsyncGenerator[RecordBatch]:
        async with self._start() as run:
            self._execution = run.execution
            while await run.more():
                yield run.take()
            self._outcome = run.execution.outcome


class _Steps(Iterator[_T], Generic[_T]):
    """An asynchronous iteration taken step by step by code that blocks, in one loop or several.

    The statement ends with the last step, with `close`, or when this is forgotten, as after a loop that it
    was made for.

    Args:
        owner: what is not to be forgotten, and closed, before its iteration.
    """

    def __init__(self, owner: object, loop: LoopThread, statement: _Once, source: AsyncGenerator[_T]) -> None:
        self._owner = owner
        self._statement = statement
        self._steps = _stepped(loop, source)

    def __next__(self) -> _T:
        item = next(self._steps, None)
        if item is not None:
            return item
        if not self._statement.over:
            raise UsageError("the statement was stopped before its end", hint="ask for it again")
        raise StopIteration

    def __iter__(self) -> Self:
        return self

    def close(self) -> None:
        """Stop the statement, unless it has ended."""
        self._steps.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Stream(_Steps[Snapshot]):
    """Partial results of one statement while it runs.

    A `for` loop runs it and gives snapshots; `result` comes after.
    """

    def __init__(self, owner: object, loop: LoopThread, inner: AsyncStream) -> None:
        super().__init__(owner, loop, inner, aiter(inner))
        self._inner = inner

    @property
    def result(self) -> Result:
        """The result, once the last snapshot has come; raises UsageError before."""
        return self._inner.result


class Batches(_Steps[RecordBatch], Ended):
    """The rows of one statement as they are found. A `for` loop runs it; how it ended is known after."""

    def __init__(self, owner: object, loop: LoopThread, inner: AsyncBatches) -> None:
        super().__init__(owner, loop, inner, aiter(inner))
        self._inner = inner

    @property
    def outcome(self) -> RunOutcome:
        """How the statement ended; raises UsageError before it has."""
        return self._inner.outcome

    @property
    def settled(self) -> RunOutcome | None:
        """How the statement ends, as soon as it is known: from the first batch on where Spark makes the rows."""
        return self._inner.settled


def _stepped(loop: LoopThread, source: AsyncGenerator[_T]) -> Generator[_T]:
    try:
        while (item := loop.run(_next(source))) is not None:
            yield item
    finally:
        loop.finish(_end(source))


async def _next(source: AsyncGenerator[_T]) -> _T | None:
    return await anext(source, None)


async def _end(source: AsyncGenerator[_T]) -> None:
    await source.aclose()
