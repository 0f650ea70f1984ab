"""A join of three tables within a memory limit and without: what that costs in time, and what it holds.

    python -m benchmarks.memory [--rows N] [--limit MB] [--of plain|probing|parquet]

Each row meets one of each other table; pages of 10,000 rows are made as they are asked for, so that nothing but the run
holds any. Each run is a process of its own; `anonymous` is the most that it had beyond what its imports take. `plain` is
a scan of one table in place of the join, `parquet` one of two numbers that is written to a file, and `probing` a join
with a table that has a hundredth of the rows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence

import numpy as np
import pyarrow as pa

from fff.catalog import Catalog, LookupMethod, Page, ScanMethod, Table
from fff.errors import InvariantError
from fff.federation import Federation
from fff.options import RunOptions
from fff.runtime.memory import taken
from fff.schema import Field
from fff.stats import AccessMeter
from fff_cli.output.formats import write_batches, writer

JOIN = "SELECT a.i, a.text, b.text, c.text FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y"
PLAIN = "SELECT i, x, text FROM a"
PROBING = "SELECT a.i, a.text, few.text FROM a JOIN few ON a.x = few.i"
PARQUET = "SELECT i, x FROM a"
_STATEMENTS = {"join": JOIN, "plain": PLAIN, "probing": PROBING, "parquet": PARQUET}
_LIMITED = {
    True: (500_000, 256_000_000),
    False: (1_000_000, 256_000_000),
}  # rows, and bytes: too few to hold them
_PAGE = 10_000
_STEPS = {"i": 1, "x": 48_271, "y": 69_621}  # a step that shares no factor with the rows (3, too) visits all


class Made:
    """Tables `a`, `b` and `c`, of numbers in three orders and a text of 40 bytes; `few` has a hundredth of their rows."""

    name = "made"

    def __init__(self, rows: int) -> None:
        self.rows = rows

    @property
    def tables(self) -> Sequence[Table]:
        """Their columns."""
        columns = (*(Field.of(name, "bigint") for name in _STEPS), Field.of("text", "string"))
        return [Table(self.name, name, columns, scans=(ScanMethod("scan"),)) for name in (*"abc", "few")]

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row; each table begins somewhere else."""
        _ = method, meter, window
        shift = max(0, "abc".find(table.name)) * self.rows // 3
        rows = self.rows // 100 if table.name == "few" else self.rows
        for start in range(0, rows, _PAGE):
            at = np.arange(start, min(start + _PAGE, rows)) + shift
            made = {name: pa.array(at * step % self.rows) for name, step in _STEPS.items()}
            if "text" in columns:
                made["text"] = pa.array([f"{table.name} {number:038d}" for number in at.tolist()])
            yield Page(pa.record_batch({name: made[name] for name in columns}))

    def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """There is none."""
        del columns, keys, meter
        raise InvariantError(f"{table.full_name} has no lookup {method.name}")

    async def close(self) -> None:
        """Nothing is open."""


async def run(sql: str, rows: int, limit: int | None) -> dict[str, float]:
    """One run: seconds of processor, bytes held at most, and written."""
    catalog = Catalog()
    catalog.add(Made(rows))
    before, peak, found = taken(), 0, 0
    with tempfile.TemporaryFile() as out:
        to = writer("parquet", out, None) if sql == PARQUET else None
        async with Federation(catalog) as federation:
            execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, memory_limit=limit))
            began, started = time.process_time(), time.perf_counter()
            async for batch in execution.batches():
                if to is not None:
                    if not found:
                        to.begin(batch.schema)
                    write_batches(to, batch)
                found += len(batch)
                peak = max(peak, taken() - before)
            if to is not None:
                to.end()
            seconds, passed = time.process_time() - began, time.perf_counter() - started
    assert found == (rows // 100 if sql == PROBING else rows), (found, execution.outcome.reason)
    return {
        "seconds": seconds,
        "passed": passed,
        "anonymous": peak,
        "written": execution.outcome.report["memory"]["to_disk"],
    }


def within(short: bool) -> tuple[float, float]:
    """Seconds of the join within a limit that sends most of it to files, and without one."""
    rows, limit = _LIMITED[short]
    limited, free = apart(JOIN, rows, limit, 0)
    return limited["seconds"], free["seconds"]


def held(short: bool) -> tuple[float, float]:
    """Bytes that the join holds within that limit, and the limit."""
    rows, limit = _LIMITED[short]
    return apart(JOIN, rows, limit)[0]["anonymous"], limit


def held_by_scan(short: bool) -> tuple[float, float]:
    """Bytes that a scan to a Parquet file holds, ten times as many rows and as many."""
    rows = 100_000 if short else 1_000_000
    return apart(PARQUET, 10 * rows, 0)[0]["anonymous"], apart(PARQUET, rows, 0)[0]["anonymous"]


def apart(sql: str, rows: int, *limits: int) -> list[dict[str, float]]:
    """Runs one after the other in a process of their own; a limit of 0 is none."""
    command = [sys.executable, "-m", "benchmarks.memory", "--run", sql, "--rows", str(rows)]
    told = subprocess.run(
        [*command, "--bytes", *map(str, limits)], capture_output=True, check=True, text=True
    )
    found: list[dict[str, float]] = json.loads(told.stdout)
    return found


def main() -> None:
    """Print both runs and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--limit", type=int, default=512, help="in MB")
    parser.add_argument("--of", choices=_STATEMENTS, default="join")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--bytes", type=int, nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps([asyncio.run(run(given.run, given.rows, limit or None)) for limit in given.bytes]))
        return
    sql = _STATEMENTS[given.of]
    runs = [apart(sql, given.rows, limit)[0] for limit in (given.limit * 1_000_000, 0)]
    for name, one in zip((f"{given.limit} MB", "no limit"), runs, strict=True):
        print(
            f"{name:10}{one['seconds']:8.2f} s of processor {one['passed']:8.2f} s {one['anonymous'] / 1e6:8.0f} MB held {one['written'] / 1e6:8.0f} MB written"
        )
    print(f"{'ratio':10}{runs[0]['seconds'] / runs[1]['seconds']:8.2f}")


if __name__ == "__main__":
    main()
