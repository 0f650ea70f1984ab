"""What code of others raises, adapters and functions of the program: in one line, and what of it is not its own doing."""

from __future__ import annotations

import asyncio
import threading

from fff.errors import FFFError


def error_line(error: BaseException | None) -> str:
    """An exception in one line."""
    text = "; ".join(filter(None, (error.message, error.hint))) if isinstance(error, FFFError) else str(error)
    return " ".join(f"{type(error).__name__}: {text}".split()).removesuffix(":")


def is_told_to_end(error: BaseException) -> bool:
    """Whether an exception that met a task is not of what it ran: the task was told to end, or the program was.

    `CancelledError` and `SystemExit` that foreign code raises by itself mean nothing to anybody else, and
    would leave whoever waits for it without an answer for ever.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True  # no loop runs: what was left of the task is thrown away
    if isinstance(error, asyncio.CancelledError):
        return task is None or task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt | SystemExit):  # where signals arrive they may be anybody's
        return threading.current_thread() is threading.main_thread()
    return False
