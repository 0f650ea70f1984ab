"""Two simulated tables: R to scan, S to scan or to look up."""

from __future__ import annotations

import random

import pyarrow as pa

from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable


def table_r(rows=60, values=15, seed=1, **scan):
    rng = random.Random(seed)
    batch = pa.record_batch(
        {"key": list(range(rows)), "a": [rng.randrange(values) for _ in range(rows)]},
        schema=pa.schema([("key", pa.int64()), ("a", pa.int64())]),
    )
    return SimulatedTable("R", batch, ("key",), (SimulatedScan(**({"page_rows": 10} | scan)),))


def table_s(values=15, *, scans=(), lookup=None):
    batch = pa.record_batch(
        {"x": list(range(values)), "y": list(range(values))},
        schema=pa.schema([("x", pa.int64()), ("y", pa.int64())]),
    )
    lookups = () if lookup is None else (SimulatedLookup(("x",), **lookup),)
    return SimulatedTable("S", batch, ("x",), tuple(scans), lookups)
