"""Calls that block, each in a thread of its own that does not keep the program from ending."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Sequence


def in_thread(run: Callable[..., object], arguments: Sequence[object]) -> asyncio.Future[object]:
    """A call in a thread that does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: object, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(value)
        else:
            ended.set_exception(error)

    def work() -> None:
        value: object = None
        failure: BaseException | None = None
        try:
            value = context.run(run, *arguments)
        except StopIteration as error:  # no future takes it
            failure = RuntimeError(error_line(error))
        except BaseException as error:  # noqa: BLE001 - whatever a user's function does, it is told of
            failure = error if isinstance(error, Exception) else RuntimeError(error_line(error))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, name="fff-call", daemon=True).start()
    return ended


async def called(run: Callable[..., object], keys: Sequence[Sequence[object]], *, batched: bool) -> object:
    """Call a user's function: a coroutine function in the event loop, any other in a thread of its own.

    With the one key's values, or, `batched`, with lists of those of all keys.
    """
    arguments = list(map(list, zip(*keys, strict=True))) if batched else keys[0]
    value = run(*arguments) if inspect.iscoroutinefunction(run) else await in_thread(run, arguments)
    return await value if inspect.isawaitable(value) else value


def error_line(error: BaseException | None) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
