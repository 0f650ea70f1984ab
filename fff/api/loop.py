"""An event loop in a thread of its own, so that blocking code can use what is asynchronous, wherever it runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from fff.errors import UsageError

_T = TypeVar("_T")


def run_apart(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Its outcome, by a thread of its own: this one may be a notebook's, which has a loop that runs."""
    loop = LoopThread()
    try:
        return loop.run(coroutine)
    finally:
        loop.stop()


class LoopThread:
    """Runs coroutines for other threads until it is stopped. Methods may be called from any thread.

    The thread is a daemon: a program that ends without closing its connections is not held up.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False  # what was submitted before it became True is run, what comes after is refused
        self._over = False  # and that has been run
        self._tidying: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="fff-loop", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """The outcome of the coroutine.

        An exception that meets the waiting thread, such as KeyboardInterrupt, cancels the coroutine and is
        raised when that has come to its end. Raises UsageError when the loop is stopped, or would wait for
        itself.
        """
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise UsageError(
                "a coroutine function that the connection runs cannot wait for that connection",
                hint="use fff.connect_async there, or make it a plain function, which runs in a thread",
            )
        outcome: Future[_T] = Future()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            task = self._loop.create_task(coroutine)
            task.add_done_callback(lambda task: _settle(task, outcome))
            tasks.append(task)

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # the interrupt came before `start` was handed over
                coroutine.close()
                outcome.set_exception(UsageError("the statement was interrupted before it began"))

        try:
            self._submit(start)
            return outcome.result()
        except UsageError:
            if not tasks:
                coroutine.close()
            raise
        except BaseException:
            if not outcome.done():
                self._loop.call_soon_threadsafe(cancel)  # after `start`, whether that has run or not
                wait([outcome])
            raise

    def finish(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run what tidies up: without waiting where this thread is the loop's own, not at all when it is stopped."""
        if threading.current_thread() is self._thread:
            task = self._loop.create_task(coroutine)
            self._tidying.add(task)
            task.add_done_callback(self._tidying.discard)
        elif self.stopped:
            coroutine.close()
        else:
            with contextlib.suppress(UsageError):  # stopped this moment, which has tidied up as well
                self.run(coroutine)

    @property
    def stopped(self) -> bool:
        """Whether it takes no more work."""
        return self._stopped or os.getpid() != self._process

    def stop(self) -> None:
        """Cancel what runs and end the thread. May be called again."""
        if os.getpid() != self._process:
            return  # the thread is in the process that was forked
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self._loop.call_soon_threadsafe(self._end)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _submit(self, call: Callable[[], None]) -> None:
        if os.getpid() != self._process:
            raise UsageError(
                "a connection does not outlive a fork", hint="connect in the process that uses it"
            )
        with self._lock:
            if self._stopped:
                raise UsageError("the connection is closed")
            self._loop.call_soon_threadsafe(call)

    def _end(self) -> None:
        self._over = True
        self._loop.stop()

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        # An executor of its own: the loop's default one is ended by starting a thread, which an ending
        # program refuses.
        executor = ThreadPoolExecutor(thread_name_prefix="fff-loop-work")
        loop.set_default_executor(executor)
        try:
            # Who runs here may call sys.exit(), or stop the loop, which is everybody's.
            while not self._over:
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            loop.run_until_complete(_all_of(self._tidying))
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(_all_of(left))
            loop.run_until_complete(loop.shutdown_asyncgens())
            executor.shutdown(cancel_futures=True)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _settle(task: asyncio.Task[_T], outcome: Future[_T]) -> None:
    if task.cancelled():
        outcome.set_exception(UsageError("the connection was closed while the statement ran"))
    elif (error := task.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())


async def _all_of(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Wait until they are over, however they end: those who wanted to know have asked."""
    await asyncio.gather(*tasks, return_exceptions=True)
