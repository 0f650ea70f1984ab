"""Functions of Python that SQL may call: each a table of a source called `python`, read by its arguments.

A call costs something, so it is made like a request: once for each different tuple of arguments, several at a time,
counted, tried again, given up with a reason. `declared` says what a function is, `source` calls it.
"""

from __future__ import annotations

from fff.functions.declared import PythonFunction
from fff.functions.source import SOURCE, PythonFunctions

__all__ = ["SOURCE", "PythonFunction", "PythonFunctions"]
