"""Folders that writers need beside their file: each goes with its writer, and all at once where a run has no time to unwind."""

from __future__ import annotations

import shutil
import tempfile

_FOLDERS: set[str] = set()


def make_folder(prefix: str) -> str:
    """A new temporary folder."""
    folder = tempfile.mkdtemp(prefix=prefix)
    _FOLDERS.add(folder)
    return folder


def remove_folder(folder: str) -> None:
    """It is not needed any more."""
    shutil.rmtree(folder, ignore_errors=True)
    _FOLDERS.discard(folder)


def remove_folders() -> None:
    """Those of all writers: the process ends."""
    for folder in tuple(_FOLDERS):
        remove_folder(folder)
