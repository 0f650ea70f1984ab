"""What a program lends to SQL: functions, each a table read by its arguments, and frames, in a source called `python`.

In: declared functions, and frames.
Out: a source adapter.

    cascade   A cheap proxy in the place of a dear function, with a bound on its errors
    declared  What is declared of a Python function: arguments, value, and how it may be called.
    frames    Frames of the running program as tables
    judging   A function whose source is asked for the verdicts that its proxy leaves
    source    The source `python`: looks values up by calling functions.
    threads   Calls that block, each in a thread of its own
    values    Values of Python as Arrow has them, none changed on the way

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff.functions.cascade import Proxy
from fff.functions.declared import PythonFunction
from fff.functions.frames import Frame
from fff.functions.source import SOURCE, PythonFunctions

__all__ = ["SOURCE", "Frame", "Proxy", "PythonFunction", "PythonFunctions"]
