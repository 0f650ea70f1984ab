"""A folder put in the place of another one, with no moment in between, where the system can."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

from fff_cli.output.files import OLD, TEMPORARY, claimed

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def put_in_place(new: Path, target: Path) -> None:
    """Give a folder the name of another one, which goes, or is back where that fails. Raises OSError."""
    if not target.exists():
        new.rename(target)
        return
    if not _exchanged(new, target):
        _in_steps(new, target)
    shutil.rmtree(new, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders have each other's names, at once; False where the system or the disk does not."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, TypeError, AttributeError):
        return False
    failed: int = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return not failed


def _in_steps(new: Path, target: Path) -> None:
    """The same one after the other. Of a process that is killed meanwhile `sweep` puts back what was there."""
    old = new.with_name(new.name.removesuffix(TEMPORARY) + OLD)
    lock = locked(target)
    try:
        target.rename(old)
        try:
            new.rename(target)
        except OSError:
            old.rename(target)
            raise
        old.rename(new)  # nobody is to put it back once it begins to go
    finally:
        if lock is not None:
            os.close(lock)


def locked(folder: Path) -> int | None:
    """A folder opened and marked as in use; None where folders cannot be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    claimed(handle)
    return handle
