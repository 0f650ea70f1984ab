"""Spare the command line what a library would import on its own account."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not wanted here", name=fullname)
        return None


def spare_pandas() -> None:
    """Let pyarrow look for pandas now, in vain.

    The first `pa.array` of a Python list imports pandas where it is installed: half a second in the middle of
    the first page, for nothing that this program uses. pyarrow looks once; whoever asks it for pandas later
    still gets it.
    """
    if "pandas" in sys.modules:
        return
    nothing = _NoPandas()
    sys.meta_path.insert(0, nothing)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(nothing)
