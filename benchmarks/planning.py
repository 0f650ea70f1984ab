"""What a join of many aliases costs besides its rows: planning, opening, routing one row a table, judging the run.

    python -m benchmarks.planning [--aliases N] [--runs N] [--profile SHAPE]

For each shape of join and each way that its tables are read, medians at 8, 16 and N aliases in ms, of planning alone and
of the whole run, and the exponent by which the whole grows from 8 to N aliases.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import math
import pstats
import statistics
import time
from collections.abc import Callable
from typing import Literal

import pyarrow as pa

from fff.catalog import Catalog
from fff.execution import RunOptions
from fff.federation import Federation
from fff.simulation.recorder import RunRecorder
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedSource, SimulatedTable

#: How tables are read: by a scan, by key alone (but for the first), or either way.
Access = Literal["scan", "key", "both"]


def star(aliases: int) -> str:
    """Every table joins the first on a column of its own."""
    return _select(aliases, [f"t0.c{n} = t{n}.a" for n in range(1, aliases)])


def chain(aliases: int) -> str:
    """Every table joins the one before."""
    return _select(aliases, [f"t{n - 1}.b = t{n}.a" for n in range(1, aliases)])


def clique(aliases: int) -> str:
    """Every table joins every other on a column of the two."""
    return _select(aliases, [f"t{m}.c{n} = t{n}.c{m}" for n in range(aliases) for m in range(n)])


def one_class(aliases: int) -> str:
    """Every table joins every other on the same column."""
    return _select(aliases, [f"t{m}.a = t{n}.a" for n in range(aliases) for m in range(n)])


def _select(aliases: int, conditions: list[str]) -> str:
    tables = ", ".join(f"t{n}" for n in range(aliases))
    return f"SELECT t0.a, t{aliases - 1}.b FROM {tables} WHERE {' AND '.join(conditions)}"


#: The query over so many tables, and how they are read.
SHAPES: dict[str, tuple[Callable[[int], str], Access]] = {
    "star": (star, "scan"),
    "chain": (chain, "scan"),
    "clique": (clique, "scan"),
    "one class": (one_class, "scan"),
    "star of lookups": (star, "key"),
    "chain of lookups": (chain, "key"),
    "one class of lookups": (one_class, "key"),
    "star of both": (star, "both"),
    "chain of both": (chain, "both"),
    "clique of both": (clique, "both"),
}


def tables_of(aliases: int, access: Access) -> list[SimulatedTable]:
    """Tables t0, t1 … of columns a, b, c0, c1 …, with one row each: 1 everywhere."""
    names = ["a", "b", *(f"c{n}" for n in range(aliases))]
    row = pa.record_batch({name: [1] for name in names})
    tables = []
    for number in range(aliases):
        lookups = () if access == "scan" or (access == "key" and not number) else (SimulatedLookup(("a",)),)
        scans = () if access == "key" and number else (SimulatedScan(),)
        tables.append(SimulatedTable(f"t{number}", row, ("a",), scans, lookups))
    return tables


async def run(sql: str, tables: list[SimulatedTable]) -> tuple[float, float]:
    """Seconds of planning, and of everything from the text to the end of the run."""
    catalog = Catalog()
    catalog.add(SimulatedSource(tables, RunRecorder(), seed=1))
    async with Federation(catalog) as federation:
        began = time.perf_counter()
        prepared = federation.prepare(sql)
        planned = time.perf_counter()
        rows = [len(batch) async for batch in federation.execute(prepared, RunOptions(seed=1)).batches()]
        assert sum(rows) == 1
        return planned - began, time.perf_counter() - began


def main() -> None:
    """Measure in turn, run after run, so that a slow moment hits everything alike."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aliases", type=int, default=24)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", choices=SHAPES)
    args = parser.parse_args()
    asyncio.run(run(star(3), tables_of(3, "both")))  # what is imported and made on first use
    if args.profile:
        shape, access = SHAPES[args.profile]
        profile = cProfile.Profile()
        with profile:
            asyncio.run(run(shape(args.aliases), tables_of(args.aliases, access)))
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    sizes = sorted({8, 16, args.aliases})
    print(f"{'ms, planning and all':22}" + "".join(f"{size:>14}" for size in sizes) + f"{'exponent':>10}")
    for name, (shape, access) in SHAPES.items():
        medians = []
        for size in sizes:
            times = [asyncio.run(run(shape(size), tables_of(size, access))) for _ in range(args.runs)]
            medians.append(tuple(statistics.median(column) * 1e3 for column in zip(*times, strict=True)))
        exponent = math.log(medians[-1][1] / medians[0][1]) / math.log(sizes[-1] / sizes[0])
        cells = "".join(f"{f'{planned:.0f} {whole:.0f}':>14}" for planned, whole in medians)
        print(f"{name:22}{cells}{exponent:10.2f}", flush=True)


if __name__ == "__main__":
    main()
