"""Calls that block, each in a thread of its own that does not keep the program from ending."""

from __future__ import annotations

import asyncio
import contextvars
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
            failure = RuntimeError(told_in_a_line(error))
        except BaseException as error:  # noqa: BLE001 - whatever a user's function does, it is told of
            failure = error if isinstance(error, Exception) else RuntimeError(told_in_a_line(error))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, name="fff-call", daemon=True).start()
    return ended


def told_in_a_line(error: BaseException | None) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
