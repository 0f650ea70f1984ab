"""A task of Spark and its attempts: which one this is, what it asks with, and what an attempt before it has stored."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fff.access.disk.journal import Journal, JournaledClient, is_used
from fff.errors import UsageError
from fff.frames.ceiling import CeilingAddress
from fff.web.client import WebClient

_PREFIX = "fff-task-"
_OLD_S = 3_600.0  # seconds after which nobody comes again for what a job has left that was ended
#: How often Spark tries a task unless it is told otherwise.
_ATTEMPTS = 4


def new_job() -> str:
    """The name of a job, which nobody guesses: folders in a place open to all are called by it."""
    return uuid.uuid4().hex


@dataclass(frozen=True)
class TaskAttempt:
    """An attempt at one of so many tasks.

    Attributes:
        client: what it asks with: with leases, or a static share where there are none.
        folder: where what it is answered is stored; None where that cannot be.
    """

    client: WebClient
    folder: Path | None


@contextlib.contextmanager
def attempt(job: str, tasks: int, ceiling: CeilingAddress | None) -> Iterator[TaskAttempt]:
    """An attempt at the task that Spark runs in this process, one of so many of a job.

    What it has stored is there for the next attempt on this machine until one has come to its end, or the
    last one has failed, and the job with it. The only attempt that there will be stores nothing: Spark ends
    this process, without a word to it, as soon as nobody wants more rows.
    """
    from fff.spark.bridge import TaskContext  # noqa: PLC0415 - slow, and not of use elsewhere

    context = TaskContext.get()
    stage, task = ("plan", 0) if context is None else (context.stageId(), context.partitionId())
    number, attempts = 1, _ATTEMPTS
    if context is not None:
        number, attempts = context.attemptNumber() + 1, attempts_of(context.getLocalProperty)
    leases = None if ceiling is None else ceiling.line(f"{job}.{stage}", task, tasks)
    _sweep()
    if attempts == 1:
        yield TaskAttempt(WebClient(share=tasks, leases=leases), None)
        return
    folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{job}.{stage}.{task}"
    try:
        journal = Journal(folder, durable=False)
    except UsageError:  # another attempt is under way
        yield TaskAttempt(WebClient(share=tasks, leases=leases), None)
        return
    try:
        yield TaskAttempt(JournaledClient(journal, share=tasks, leases=leases), folder)
    except Exception:
        journal.close()
        if number >= attempts:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # nobody wants more rows
        raise
    shutil.rmtree(folder, ignore_errors=True)


def attempts_of(setting: Callable[[str], str | None]) -> int:
    """How often a task is tried before its job fails: on one machine once, unless its master says so."""
    master = setting("spark.master") or ""
    if master == "local" or master.startswith("local["):
        _, _, failures = master.rstrip("]").partition(",")
        return int(failures or 1)
    return int(setting("spark.task.maxFailures") or _ATTEMPTS)


def _sweep() -> None:
    """Remove what jobs have left that were ended."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            state = folder.lstat()
            if state.st_uid == os.getuid() and state.st_mtime < time.time() - _OLD_S and not is_used(folder):
                shutil.rmtree(folder, ignore_errors=True)
