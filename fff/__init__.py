"""FFF, Federated Facts and Figures: SQL over web sources, executed by an eddy.

    SQL text --> syntax, binder, analysis, calls, planner                    1  fff.sql
                                 |  blocks + what Spark runs above them
                                 v
              EDDY <-- constraints (correctness) <-- policy (speed)          2  fff.dataflow, fff.policies
              | ^
  instructions| |events
              v |
             runtime (asyncio)                                               4  fff.runtime
                 ^
                 | pages: shared with others > kept on disk > first rows     3  fff.access
                 |
    web <-> client <-> source                                                   fff.web, fff_sources
                                 |
             rows, or Spark above the blocks; partial groups, report         5  fff.result, fff.spark
                                 |
             Python, or the terminal                                            fff.api, fff_cli

    catalog/    what sources offer, and the two calls by which the engine reads them
    federation  the stages put together for many statements; `opening` makes one from spec files
    execution   one run of one statement
    forecast/   what a statement will ask of its sources, before it is run
    options     how statements may be run; `budget` counts their requests and their money
    quals       conditions that requests may carry
    schema, stats, structs, errors, limits, version    what all parts share
    dbapi/      DB-API 2 and SQLAlchemy over `fff.connect`
    display/    values as text and HTML
    frames/     frames of Spark and others beside web tables: `fff.lookup`, `fff.sql`
    functions/  functions of Python that SQL may call: tables too, looked up by their arguments
    simulation/ the real engine in virtual time

`dataflow` and `policies` are pure: events in, instructions out, no I/O and no clock, so that a seed replays
a run. Imports point one way: fff_cli -> fff_sources -> fff, and inside fff from the end of a query's path to
its beginning. docs/architecture.md follows one query through the files; docs/glossary.md explains the words.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fff.version import __version__

if TYPE_CHECKING:
    from fff import sql
    from fff.api import (
        AsyncBatches,
        AsyncConnection,
        AsyncStream,
        Batches,
        Connection,
        Result,
        Stream,
        connect,
        connect_async,
        show,
    )
    from fff.errors import (
        FFFError,
        InfeasibleQuery,
        QueryError,
        SecretError,
        SourceError,
        SparkError,
        SpecError,
        UnsupportedSQL,
        UsageError,
    )
    from fff.frames.ceiling import ceiling
    from fff.frames.lookup import lookup
    from fff.frames.spark_data_source import spark_data_source
    from fff.frames.stages import read
    from fff.functions.cascade import Proxy
    from fff.stats import Missing, Snapshot

__all__ = [
    "AsyncBatches",
    "AsyncConnection",
    "AsyncStream",
    "Batches",
    "Connection",
    "FFFError",
    "InfeasibleQuery",
    "Missing",
    "Proxy",
    "QueryError",
    "Result",
    "SecretError",
    "Snapshot",
    "SourceError",
    "SparkError",
    "SpecError",
    "Stream",
    "UnsupportedSQL",
    "UsageError",
    "__version__",
    "ceiling",
    "connect",
    "connect_async",
    "lookup",
    "read",
    "show",
    "spark_data_source",
    "sql",
]

#: Where public names are, most of them in `fff.api`; they are imported on first use, so that `import fff`
#: costs nothing.
_HOMES = {
    "ceiling": "fff.frames.ceiling",
    "lookup": "fff.frames.lookup",
    "read": "fff.frames.stages",
    "spark_data_source": "fff.frames.spark_data_source",
    "Missing": "fff.stats",
    "Proxy": "fff.functions.cascade",
    "Snapshot": "fff.stats",
}
_ERRORS = ("Error", "Query", "SQL")  # what the names of `fff.errors` end in


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'fff' has no attribute {name!r}")
    home = _HOMES.get(name, "fff.errors" if name.endswith(_ERRORS) else "fff.api")
    value: object
    if name == "sql":  # the package of that name, which can be called
        value = importlib.import_module("fff.sql")
    else:
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
