"""DuckDB in the place of Spark: upper queries of plain SQL without starting a JVM."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from fff.errors import SparkError
from fff.federation import Federation
from fff.spark.spool import Spool

_NULLS = "nulls_first_on_asc_last_on_desc"  # as in Spark


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One DuckDB for all tests: to start one takes twenty times as long as to ask it. Ask a cursor of it."""
    one = duckdb.connect(":memory:", config={"threads": 1, "default_null_order": _NULLS})
    one.execute("CREATE MACRO every(x) AS bool_and(x)")
    return one


def answer(sql: str, tables: Mapping[str, pa.Table]) -> list[tuple[Any, ...]]:
    """The rows of a statement over tables of the schema `web`, by their names there."""
    with database().cursor() as connection:
        connection.execute("DROP SCHEMA IF EXISTS web CASCADE")
        connection.execute("CREATE SCHEMA web")
        connection.execute("CREATE MACRO web.odd(number) AS number % 2 = 1")
        for (
            name,
            rows,
        ) in tables.items():  # all rows at once: DuckDB takes a millisecond for each that comes alone
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE web.{name} AS SELECT * FROM rows")
        return connection.execute(sql).fetchall()


class DuckSpark:
    """What the engine uses of `SparkEngine`; it is up from the beginning unless `up` is cleared."""

    start_s = 0.0
    attached = False

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.up = threading.Event()
        self.up.set()

    def ready(self) -> bool:
        return self.up.is_set()

    def wait(self) -> None:
        assert self.up.wait(60), "it never started"

    def run_over(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        self.asked.append(sql)
        with database().cursor() as connection:
            for name, data in views.items():
                connection.register(name, data if isinstance(data, pa.Table) else data.table())
            try:
                return connection.sql(sql.replace("`", '"')).to_arrow_table()
            except duckdb.Error as error:
                raise SparkError(str(error)) from error

    def check(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        return self.run_over(f"DESCRIBE {sql}", views, stop)


def over_duck(federation: Federation) -> DuckSpark:
    """Let the federation take DuckDB for Spark."""
    duck = DuckSpark()
    federation._start_spark = lambda options: duck  # type: ignore[method-assign,assignment,return-value]
    return duck
