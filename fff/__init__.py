"""FFF, Federated Facts and Figures: SQL over web sources, executed by an eddy.

    SQL text --> parse --> query --> block + upper query                     fff.sql
                                       |
                   catalog ----------> plan: access modules, SteMs,          fff.catalog, fff.dataflow.plan
                                       |     selection modules, legal moves
    web <-> client <-> source --rows--> EDDY <-- constraints                 fff.dataflow (correctness)
            fff.web    fff_sources     | ^  <-- policy                       fff.policies (speed)
                           instructions| |events
                                       v |
                                     runtime (asyncio)                       fff.runtime
                                       |
                                result batches (Arrow) --> Spark             fff.spark (upper query)
                                       |                     |
                                  statistics (frozen) -------+--> terminal   fff.stats, fff_cli

Functions that SQL calls, of Python programs (fff.functions) or of sources, are tables too, looked up by their arguments.
Between runtime and sources stands, where it is asked for, what earlier runs have kept on disk: fff.cache. In
fff.simulation sources and clock are simulated, so that fff.experiments can measure what the papers did, beside fff.classic.

`dataflow` and `policies` are pure: events in, instructions out, no I/O and no clock, so that a seed replays a run.
`engine` puts the stages together; `api` is what Python programs use of it: `fff.connect`. Imports point one way:
fff_cli -> fff_sources -> fff.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from fff.spark.datasource import spark_data_source
    from fff.stats import Missing, Snapshot

__version__ = "0.1.0"

__all__ = [
    "AsyncBatches",
    "AsyncConnection",
    "AsyncStream",
    "Batches",
    "Connection",
    "FFFError",
    "InfeasibleQuery",
    "Missing",
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
    "connect",
    "connect_async",
    "spark_data_source",
]

#: Where each public name is; they are imported on first use, so that `import fff` costs nothing.
_HOMES = {
    "fff.api": (
        "AsyncBatches",
        "AsyncConnection",
        "AsyncStream",
        "Batches",
        "Connection",
        "Result",
        "Stream",
        "connect",
        "connect_async",
    ),
    "fff.errors": (
        "FFFError",
        "InfeasibleQuery",
        "QueryError",
        "SecretError",
        "SourceError",
        "SparkError",
        "SpecError",
        "UnsupportedSQL",
        "UsageError",
    ),
    "fff.spark.datasource": ("spark_data_source",),
    "fff.stats": ("Missing", "Snapshot"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            found: object = getattr(importlib.import_module(home), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'fff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
