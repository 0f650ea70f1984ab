"""FFF as a Python library: `fff.connect`, `fff.connect_async` and what they give back.

    connect ── blocking: Connection, a loop in a thread ──► running: AsyncConnection ──► fff.engine
                                                               │
    connect_async ─────────────────────────────────────────────┘        result: Result

`settings` are the options of a connection and of its statements, `opening` finds the catalog, `run` is one statement
under way, `iterators` give it out piece by piece, `loop` is the thread, `own_spark` serves data frames, and `parts`
divides a table's scan among several readers (used by the Spark data source).
"""

from __future__ import annotations

from fff.api.blocking import Connection, connect
from fff.api.iterators import AsyncBatches, AsyncStream, Batches, Stream
from fff.api.result import Result
from fff.api.running import AsyncConnection, connect_async

__all__ = [
    "AsyncBatches",
    "AsyncConnection",
    "AsyncStream",
    "Batches",
    "Connection",
    "Result",
    "Stream",
    "connect",
    "connect_async",
]
