"""The engine's own time: 100,000 rows a table in pages of 1,000 through a star join of scans, no network.

    python -m benchmarks.engine [--rows N] [--page N] [--tables K] [--runs N] [--profile]

Prints medians and ratios: each policy against the same engine with a fixed order, and against DuckDB on one thread
joining the same data to Arrow (native tables). The only numbers that carry over to another machine are the ratios.
With --profile, where the time of one run goes, by function.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import math
import os
import pstats
import random
import statistics
import time
from collections.abc import AsyncGenerator, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from fff.catalog import Page, ScanMethod, Table
from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.plan.expressions import Column, Compare
from fff.dataflow.plan.plan import AliasPlan, BlockPlan, EqualityClass, Predicate, ScanPlan, TablePlan
from fff.limits import SCAN_WINDOW, SMALL_PAGE
from fff.policies import make_policy
from fff.runtime.driver import BlockDriver, Meters, OpenTable
from fff.schema import Field
from fff.stats import AccessMeter
from tests.engine.scan_only import ScanOnly

_ROOM = 6  # times the rows' own bytes


def star(tables: int) -> BlockPlan:
    """Every table scanned once, all equal on their first column."""
    fields = (Field.of("unique2", "bigint"), Field.of("payload", "string"))
    return BlockPlan(
        tables=tuple(TablePlan(f"bench.t{i}", fields, scans=(ScanPlan("scan"),)) for i in range(tables)),
        aliases=tuple(AliasPlan(f"t{i}", i, active=True) for i in range(tables)),
        equalities=(EqualityClass(tuple(Column(i, 0) for i in range(tables))),),
        output=(Column(0, 0), *(Column(i, 1) for i in range(tables))),
    )


def make_data(tables: int, rows: int) -> list[pa.RecordBatch]:
    """Wisconsin-style: a permuted key and a short string."""
    rng = np.random.default_rng(7)
    made = []
    for _ in range(tables):
        keys = rng.permutation(rows)
        made.append(
            pa.record_batch({"unique2": keys, "payload": [f"row {key:06d}" for key in keys.tolist()]})
        )
    return made


class ReadyPages(ScanOnly):
    """A source whose pages are all here: what is left is the engine."""

    name = "bench"

    def __init__(self, data: Sequence[pa.RecordBatch], page: int) -> None:
        self._page = page
        self.tables = tuple(
            Table("bench", f"t{number}", (), scans=(ScanMethod("scan", batch),))
            for number, batch in enumerate(data)
        )

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Slices of the rows."""
        del table, columns, meter, window
        assert isinstance(method.endpoint, pa.RecordBatch)
        for at in range(0, len(method.endpoint), self._page):
            yield Page(method.endpoint.slice(at, self._page))


def make_room(data: Sequence[pa.RecordBatch]) -> None:
    """Have the memory here that joining takes, by anybody: a host gives a virtual machine what it has not used lately bit by
    bit, in several times what it takes to join.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    size = min(_ROOM * sum(batch.nbytes for batch in data), os.sysconf("SC_PHYS_PAGES") * page // 4)
    np.empty(size, np.uint8)[::page] = 1


def join(
    policy: str,
    data: list[pa.RecordBatch],
    page: int,
    route_size: int | None = None,
    plan: BlockPlan | None = None,
) -> float:
    """Seconds of processor from the first page to the last joined Arrow row, by the star if by no other plan.

    Through the driver, as in a run: what is here together is taken in together.
    """
    plan = plan or star(len(data))
    options = EddyOptions(route_size=route_size, scan_credit=SCAN_WINDOW, scan_rows=SMALL_PAGE)
    eddy = Eddy(plan, make_policy(policy, plan), random.Random(1), options)
    source, meters, found = ReadyPages(data, page), Meters(), []
    access = [
        OpenTable(table, source, tuple(field.name for field in planned.columns), table.scans, (), meters)
        for table, planned in zip(source.tables, plan.tables, strict=True)
    ]
    driver = BlockDriver(eddy, access, lambda batch: found.append(len(batch)))
    make_room(data)
    started = time.process_time()
    finish = asyncio.run(driver.run())
    seconds = time.process_time() - started
    assert finish.complete
    rows = len(data[0])
    assert sum(found) == rows, f"{sum(found)} rows instead of {rows}"
    return seconds


def pairs(rows: int) -> tuple[BlockPlan, list[pa.RecordBatch]]:
    """Two tables equal on two columns, neither of which is selective by itself."""
    fields = tuple(
        Field.of(name, kind) for name, kind in (("a", "bigint"), ("b", "bigint"), ("payload", "string"))
    )
    plan = BlockPlan(
        tables=tuple(TablePlan(f"bench.t{i}", fields, scans=(ScanPlan("scan"),)) for i in range(2)),
        aliases=tuple(AliasPlan(f"t{i}", i, active=True) for i in range(2)),
        equalities=tuple(EqualityClass((Column(0, column), Column(1, column))) for column in (0, 1)),
        output=(Column(0, 0), Column(0, 1), Column(0, 2), Column(1, 2)),
    )
    side = math.isqrt(rows)
    data = []
    for batch in make_data(2, side * side):
        keys = batch.column("unique2").to_numpy()
        data.append(
            pa.record_batch({"a": keys // side, "b": keys % side, "payload": batch.column("payload")})
        )
    return plan, data


def ranges(rows: int) -> tuple[BlockPlan, list[pa.RecordBatch]]:
    """Two tables, one with a key and one with bounds for it; as many results as there are rows."""
    bound = Field.of("lo", "bigint"), Field.of("hi", "bigint"), Field.of("payload", "string")
    fields = ((Field.of("k", "bigint"), Field.of("payload", "string")), bound)
    plan = BlockPlan(
        tables=tuple(TablePlan(f"bench.t{i}", fields[i], scans=(ScanPlan("scan"),)) for i in range(2)),
        aliases=tuple(AliasPlan(f"t{i}", i, active=True) for i in range(2)),
        equalities=(),
        predicates=(
            Predicate(Compare(">=", Column(0, 0), Column(1, 0))),
            Predicate(Compare("<=", Column(0, 0), Column(1, 1))),
        ),
        output=(Column(0, 0), Column(0, 1), Column(1, 2)),
    )
    points, lows = make_data(2, rows)
    keys, low = points.column("unique2").to_numpy(), lows.column("unique2").to_numpy()
    return plan, [
        pa.record_batch({"k": 4 * keys + 1, "payload": points.column("payload")}),
        pa.record_batch({"lo": 4 * low, "hi": 4 * low + 3, "payload": lows.column("payload")}),
    ]


def duck(data: list[pa.RecordBatch]) -> float:
    """Seconds of processor for DuckDB to join the same rows, from native tables to Arrow."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for number, batch in enumerate(data):
            connection.register("batch", pa.table(batch))
            connection.execute(f"CREATE TABLE t{number} AS SELECT * FROM batch")
            connection.unregister("batch")
        joins = " ".join(f"JOIN t{n} ON t{n}.unique2 = t0.unique2" for n in range(1, len(data)))
        columns = ", ".join(["t0.unique2", *(f"t{n}.payload" for n in range(len(data)))])
        make_room(data)
        started = time.process_time()
        table = connection.sql(f"SELECT {columns} FROM t0 {joins}").to_arrow_table()
        seconds = time.process_time() - started
        assert len(table) == len(data[0])
        return seconds


def main() -> None:
    """Measure in turn, run after run, so that a slow moment hits everything alike."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--page", type=int, default=1_000)
    parser.add_argument("--route-size", type=int)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    data = make_data(args.tables, args.rows)
    if args.profile:
        profile = cProfile.Profile()
        profile.runcall(join, "rank", data, args.page, args.route_size)
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        return
    times: dict[str, list[float]] = {
        "fixed": [],
        "adaptive": [],
        "rank": [],
        "lottery": [],
        "naive": [],
        "DuckDB": [],
    }
    for _ in range(args.runs):
        for name, seconds in times.items():
            seconds.append(duck(data) if name == "DuckDB" else join(name, data, args.page, args.route_size))
    fixed = statistics.median(times["fixed"])
    print(f"{args.tables} tables of {args.rows:,} rows, pages of {args.page:,}, medians of {args.runs} runs")
    print(f"{'':10}{'ms':>8}{'ns/row':>9}{'/fixed':>9}{'/DuckDB':>9}")
    for name, seconds in times.items():
        median = statistics.median(seconds)
        per_row = median / args.tables / args.rows * 1e9
        against = median / statistics.median(times["DuckDB"])
        print(f"{name:10}{median * 1e3:8.0f}{per_row:9.0f}{median / fixed:9.2f}{against:9.2f}")


if __name__ == "__main__":
    main()
