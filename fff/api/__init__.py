"""FFF as a Python library: `fff.connect`, `fff.connect_async` and what they give back.

In: spec files, options, SQL.
Out: results, batches and snapshots, for blocking and for asynchronous code.

    blocking           `fff.connect`: the same for code that blocks, in scripts, notebooks and threads.
    iterators          Statements that are iterated over
    loop               An event loop in a thread of its own
    notebook           A statement shown while it runs
    own_spark          FFF's own Spark beside the runs of statements.
    parts              One statement read by several readers
    result             What a statement gave: rows as an Arrow table
    run                One statement under way.
    running            `fff.connect_async`: statements as coroutines and asynchronous iterators of the

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff.api.blocking import Connection, connect, show
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
    "show",
]
