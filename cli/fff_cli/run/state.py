"""Where what outlives a run is kept that is no cache: the shell's history, and what `fff watch` has seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def state_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """`$XDG_STATE_HOME/fff`, `~/.local/state/fff` without it, for its owner alone; None where it cannot be."""
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    if not os.path.isabs(state):  # noqa: PTH117 - the rule of XDG: what is not absolute does not count
        if not home:
            return None
        state = str(Path(home) / ".local" / "state")
    folder = Path(state) / "fff"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
