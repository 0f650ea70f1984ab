"""The source `python`: looks values up by calling functions, and scans frames of the program."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Sequence

import pyarrow as pa

from fff.budget import BudgetExhausted
from fff.catalog import Keys, LookupMethod, Page, ScanMethod, Table
from fff.catalog.foreign import error_line
from fff.errors import InvariantError, SourceError, UsageError
from fff.functions.declared import PythonFunction
from fff.functions.frames import PAGE, Frame
from fff.functions.judging import ProxiedFunction
from fff.functions.threads import called, one_for_each
from fff.functions.values import array_of
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.client import WebClient

#: The source's name.
SOURCE = "python"
#: Seconds before a call is made again, for the first time; doubled each time.
RETRY_S = 0.2


class _FailedError(Exception):
    """A call that brought no value; `again`: another one may."""

    def __init__(self, reason: str, *, again: bool) -> None:
        super().__init__(reason)
        self.again = again


class PythonFunctions:
    """Functions and frames of the running program. Calls count as requests, against the budget too."""

    name = SOURCE

    def __init__(self, client: WebClient) -> None:
        self._client = client
        self._functions: dict[str, PythonFunction] = {}
        self._slots: dict[PythonFunction, asyncio.Semaphore] = {}
        self._frames: dict[str, Frame] = {}

    def add(self, function: PythonFunction) -> bool:
        """Add a function, or put it in the place of another of its name; whether there was one."""
        known = self._functions.pop(function.name.lower(), None)
        self._functions[function.name.lower()] = function
        return known is not None

    def add_frame(self, frame: Frame) -> bool:
        """Add a frame, or put it in the place of another of its name; whether there was one.

        Raises UsageError.
        """
        if frame.name.lower() in self._functions:
            raise UsageError(f"a function is called {frame.name} already", hint="give the table another name")
        known = self._frames.pop(frame.name.lower(), None)
        self._frames[frame.name.lower()] = frame
        return known is not None

    @property
    def tables(self) -> Sequence[Table]:
        """Every function and every frame, as a table."""
        functions = [self._table(function) for function in self._functions.values()]
        return functions + [frame.table(self.name) for frame in self._frames.values()]

    def _table(self, function: PythonFunction) -> Table:
        table, proxy = function.table(self.name), function.proxy
        if proxy is None:
            return table
        redact = self._client.redactor.text
        return replace(table, proxied=lambda source: ProxiedFunction(source, proxy, function.timeout, redact))

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """The rows of a frame. A function has no rows but those it is asked for."""
        del meter, window
        frame = method.endpoint
        if not isinstance(frame, Frame):
            raise InvariantError(f"{table.full_name} is a function and cannot be scanned")
        for rows in frame.rows.select(list(columns)).to_batches(max_chunksize=PAGE):
            yield Page(rows, total_rows=len(frame.rows))
            await asyncio.sleep(0)  # others have their turn

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """The value for each key."""
        del table
        function = method.endpoint
        if not isinstance(function, PythonFunction):
            raise InvariantError(f"{method.name} is not the lookup of a Python function")
        for start in range(0, len(keys), function.batch_size):
            some = keys[start : start + function.batch_size]
            values = await self._values(function, some, meter)
            known = {
                field.name: pa.array([key[index] for key in some], field.arrow)
                for index, field in enumerate(function.arguments)
            }
            known[function.value.name] = values
            yield Page(pa.RecordBatch.from_arrays([known[name] for name in columns], list(columns)))

    async def close(self) -> None:
        """Forget the slots: another event loop may use the functions next."""
        self._slots.clear()

    async def _values(self, function: PythonFunction, keys: Keys, meter: AccessMeter) -> pa.Array:
        """The values of some keys, in their order; raises SourceError when there are none to be had."""
        attempts = 0
        while True:
            attempts += 1
            try:
                return _typed(function, await self._call(function, keys, meter), len(keys))
            except _FailedError as failure:
                if not failure.again or attempts > function.retries:
                    meter.failed += 1
                    reason = self._client.redactor.text(str(failure))
                    raise SourceError(
                        reason, source=self.name, table=function.name, attempts=attempts
                    ) from failure
                meter.retries += 1
                await asyncio.sleep(RETRY_S * 2 ** (attempts - 1))

    async def _call(self, function: PythonFunction, keys: Keys, meter: AccessMeter) -> object:
        """One call. A place among those that may run at once is kept until the function has really ended."""
        slots = self._slots.setdefault(function, asyncio.Semaphore(function.max_concurrency))
        await slots.acquire()
        loop = asyncio.get_running_loop()
        try:
            meter.charge(self.name, function.name)
        except BudgetExhausted:
            slots.release()
            raise
        meter.sent(loop.time())
        ended = asyncio.ensure_future(called(function.run, keys, batched=function.batch_size > 1))
        ended.add_done_callback(lambda _: slots.release())
        try:
            # A thread cannot be stopped: it is waited for no longer, and keeps its place.
            alone = inspect.iscoroutinefunction(function.run)
            return await asyncio.wait_for(ended if alone else asyncio.shield(ended), function.timeout)
        except TimeoutError:
            if ended.done() and not ended.cancelled():
                raise _FailedError(error_line(ended.exception()), again=True) from None
            raise _FailedError(f"no value within {function.timeout:g} s", again=True) from None
        except Exception as error:
            raise _FailedError(error_line(error), again=True) from error
        finally:
            meter.request_answered(loop.time())
            if not ended.done():
                ended.add_done_callback(_forget)


def _typed(function: PythonFunction, returned: object, count: int) -> pa.Array:
    """What a function gave as a column of its declared type."""
    try:
        values = [returned] if function.batch_size == 1 else one_for_each(returned, count)
    except ValueError as error:
        raise _FailedError(str(error), again=False) from None
    try:
        return array_of(values, function.value.arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        shown = repr(values[0] if len(values) == 1 else values)
        shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
        raise _FailedError(f"gave {shown}, which is not of type {function.value.type}", again=False) from None


def _forget(ended: asyncio.Future[object]) -> None:
    """Take note of the error of a call that nobody waits for any more."""
    if not ended.cancelled():
        ended.exception()
