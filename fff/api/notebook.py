"""A statement shown while it runs: in a notebook its snapshots, each in place of the one before, then its result."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from fff.api.iterators import Stream


def show_stream(stream: Stream) -> None:
    """Run a statement to its end; show snapshots, and at the end the result."""
    notebook = _notebook()
    if notebook is None:
        for _ in stream:
            pass
        sys.stdout.write(f"{stream.result!r}\n")
        return
    place = None
    for snapshot in stream:
        if place is None:
            place = notebook.display(snapshot, display_id=True)
        elif snapshot.phase != "done":
            place.update(snapshot)
    assert place is not None, "a stream ends with a snapshot"
    place.update(stream.result)


def _notebook() -> Any:
    """What displays things in a notebook; None where this is none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return import_module("IPython.display") if getattr(shell, "kernel", None) is not None else None
