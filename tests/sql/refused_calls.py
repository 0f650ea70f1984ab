"""Calls that Spark itself refuses for the types of their arguments, as its own tests make many: they are no scalar calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from fff.errors import SparkError
from fff.spark import bridge
from fff.spark.session import SparkEngine
from fff.sql.syntax.statement import Node

#: Versions of a call that are tried, each with columns of other types.
_VERSIONS = 16


class Refusals:
    """Spark, asked what it refuses, over columns of some types; nothing is run."""

    def __init__(self, spark: SparkEngine, types: Mapping[str, str]) -> None:
        spark.wait()
        self._session = spark._session.spark
        columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in types.items())
        self._session.sql(f"SELECT {columns}").createOrReplaceTempView("t")
        self._known: dict[str, bool] = {}

    def __call__(self, versions: Iterable[Node]) -> bool:
        """Whether Spark takes a call in no version."""
        texts = dict.fromkeys(one.sql("spark") for one in islice(versions, _VERSIONS))
        return not any(map(self._takes, texts))

    def _takes(self, text: str) -> bool:
        if text not in self._known:
            try:
                with bridge._mapped():
                    self._known[text] = bool(self._session.sql(f"SELECT {text} FROM t").schema)
            except SparkError:
                self._known[text] = False
        return self._known[text]
