"""Where the shell's history lives: a file only its owner can read, or nowhere when there is no place for one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fff_cli.run.state import state_folder


def history_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The history's file, made if need be: `$XDG_STATE_HOME/fff/history`; None when it cannot be written."""
    folder = state_folder(environ)
    if folder is None:
        return None
    try:
        os.close(os.open(folder / "history", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    except OSError:  # the shell works without: arrow keys then reach back to its start
        return None
    return folder / "history"
