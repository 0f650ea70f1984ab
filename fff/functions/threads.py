"""Calls that block, each in a thread of its own that does not keep the program from ending."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from fff.catalog.foreign import error_line, is_told_to_end


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

    With the one key's values, or, `batched`, with lists of those of all keys. Whatever it raises is an
    `Exception`, unless the task is told to end.
    """
    arguments = list(map(list, zip(*keys, strict=True))) if batched else keys[0]

    def finished(*given: object) -> object:
        return _made(run(*given)) if batched else run(*given)

    try:
        value = run(*arguments) if inspect.iscoroutinefunction(run) else await in_thread(finished, arguments)
        if inspect.isawaitable(value):
            value = await value
        return _made(value) if batched else value
    except Exception:
        raise
    except BaseException as error:
        if is_told_to_end(error):
            raise
        raise RuntimeError(error_line(error)) from error


def _made(values: object) -> object:
    """What a batch gave, where it is made as one asks for it: that may raise, and take its time, as the function may."""
    if isinstance(values, list | set | frozenset | Mapping | str | bytes) or inspect.isawaitable(values):
        return values
    return list(values) if isinstance(values, Iterable) else values


def one_for_each(returned: object, count: int) -> list[object]:
    """The values that a batch gave, in the order of its calls; raises ValueError where that cannot be told."""
    if not isinstance(returned, list):
        raise ValueError(f"gave {type(returned).__name__}, not a list of values")  # noqa: TRY004 - a value of others
    if len(returned) != count:
        raise ValueError(f"gave {len(returned)} values for {count} calls")
    return returned
