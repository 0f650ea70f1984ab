"""Private temporary folders that do not stay behind, even when a process was killed before it could clean up."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "fff-"


def make_scratch(kind: str) -> Path:
    """A new folder only this user can read (mode 700), named after this process; raises OSError.

    Folders of processes that no longer exist are removed on the way.
    """
    sweep()
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{kind}-"))


def remove_scratch(folder: Path) -> None:
    """Remove the folder and all in it. What cannot be removed now is left to a later process's sweep."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove this user's scratch folders whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and _is_ours(folder) and not _is_alive(int(pid)):
            remove_scratch(folder)


def _is_ours(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except FileNotFoundError:  # another process swept it first
        return False
    return status.st_uid == os.getuid() and not folder.is_symlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
