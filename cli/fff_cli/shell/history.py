"""Where the shell's history lives: a file only its owner can read, or nowhere when there is no place for one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def history_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The history's file, made if need be: `$XDG_STATE_HOME/fff/history`; None when it cannot be written."""
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    if not os.path.isabs(state):  # noqa: PTH117 - the rule of XDG: what is not absolute does not count
        if not home:
            return None
        state = str(Path(home) / ".local" / "state")
    path = Path(state) / "fff" / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    except OSError:  # the shell works without: arrow keys then reach back to its start
        return None
    return path
