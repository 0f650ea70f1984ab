"""Results to bytes against DuckDB's COPY on one thread: integer, string, double, timestamp with zone, Boolean.

    python -m benchmarks.writing [--rows N]

Seconds of processor; everything goes to the null device.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from fff_cli.output.formats import write_batches, writer

#: The format DuckDB writes beside each of ours; a table is text, as its CSV is.
BESIDE = {"csv": "csv", "ndjson": "json", "table": "csv", "parquet": "parquet"}


def made(rows: int) -> pa.Table:
    """Five columns."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "i": rng.integers(0, 10**9, rows),
            "s": [f"name {number % 9973} text" for number in range(rows)],
            "d": rng.random(rows) * 100,
            "t": pa.array(rng.integers(10**15, 2 * 10**15, rows)).cast(pa.timestamp("us", "UTC")),
            "b": rng.random(rows) < 0.5,
        }
    )


def by_fff(form: str, table: pa.Table, batch: int = 65_536) -> float:
    """Seconds of processor."""
    with Path(os.devnull).open("wb") as out:
        started = time.process_time()
        to = writer(form, out, None)
        to.begin(table.schema)
        for part in table.to_batches(max_chunksize=batch):
            write_batches(to, part)
        to.end()
        return time.process_time() - started


def by_duckdb(form: str, table: pa.Table) -> float:
    """Seconds of processor, from a native table."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; SET timezone = 'UTC'")
        connection.register("given", table)
        connection.execute("CREATE TABLE made AS SELECT * FROM given")
        started = time.process_time()
        connection.execute(f"COPY made TO '{os.devnull}' (FORMAT {BESIDE[form]})")
        return time.process_time() - started


def main() -> None:
    """Print ratios, the best of three each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    table = made(parser.parse_args().rows)
    for form in BESIDE:
        ours, theirs = (min(write(form, table) for _ in range(3)) for write in (by_fff, by_duckdb))
        print(f"{form:8}{ours:8.3f} s {theirs:8.3f} s {ours / theirs:6.2f}")


if __name__ == "__main__":
    main()
