"""FFF's own Spark beside the runs of statements."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fff.api.result import ArrowTable
from fff.errors import UsageError
from fff.options import RunOptions

if TYPE_CHECKING:
    from fff.spark.session import SparkEngine


class OwnSpark:
    """FFF's own Spark for what is not part of a run: data frames that outlive it, types before it.

    Methods may be called from any thread.
    """

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._engine: SparkEngine | None = None
        self._stopped = False

    def frame(self, table: ArrowTable) -> Any:
        """A Spark DataFrame of the rows. Raises SparkError, and UsageError when stopped."""
        return self._running().frame(table)

    def run_over(self, sql: str, views: Mapping[str, ArrowTable]) -> ArrowTable:
        """The result of the SQL over the named tables. Raises SparkError, and UsageError when stopped."""
        return self._running().run_over(sql, views)

    def _running(self) -> SparkEngine:
        from fff.spark.session import SparkEngine  # noqa: PLC0415 - most connections never need it

        with self._lock:
            if self._stopped:
                raise UsageError("the connection is closed", hint="give to_spark a session of your own")
            if self._engine is None:
                options = self._options
                self._engine = SparkEngine(master=options.spark_master, remote=options.spark_remote)
            return self._engine

    def stop(self) -> None:
        """End it; its data frames are of no use any more."""
        self._stopped = True
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.stop()
