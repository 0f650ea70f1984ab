"""Pages to joined Arrow rows against only downloading and decoding the same columns, over loopback HTTP.

    python -m benchmarks.pages [--rows N] [--page N] [--runs N]

Three tables of N rows, five fields a record of which two are asked for. The ratio is download / join: 1 would mean that
joining is free.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lookups import settle
from benchmarks.serving import served
from fff.federation import Federation, RunOptions
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_sources.load import load_catalog

TABLES = 3
TABLE = """
      t{number}:
        columns: {{unique2: bigint, payload: string}}
        scan:
          endpoint:
            path: t{number}
            data_selector: items
            paginator: {{type: offset, total_path: total}}
"""


def spec(url: str) -> str:
    """The source of the benchmark's server."""
    tables = "".join(TABLE.format(number=number) for number in range(TABLES))
    return f"version: 1\nsources:\n  bench:\n    client: {{base_url: {url}}}\n    tables:{tables}"


async def download(federation: Federation) -> float:
    """Seconds to read all tables to Arrow, at the same time."""

    async def read(number: int) -> int:
        (table,) = federation.catalog.find(["bench", f"t{number}"])
        adapter = federation.catalog.adapter_of(table)
        pages = adapter.scan(table, table.scans[0], ["unique2", "payload"], meter=AccessMeter(), window=8)
        return sum([len(page.rows) async for page in pages])

    started = time.perf_counter()
    await asyncio.gather(*(read(number) for number in range(TABLES)))
    return time.perf_counter() - started


async def join(federation: Federation) -> float:
    """Seconds to the last joined row."""
    sql = (
        "SELECT t0.unique2, t0.payload, t1.payload AS p1, t2.payload AS p2 FROM bench.t0 "
        "JOIN bench.t1 ON t0.unique2 = t1.unique2 JOIN bench.t2 ON t0.unique2 = t2.unique2"
    )
    started = time.perf_counter()
    execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
    async for _ in execution.batches():
        pass
    assert execution.outcome.complete
    return time.perf_counter() - started


def processor(rows: int, page: int, work: Callable[[Federation], Awaitable[float]] = join) -> float:
    """Seconds of the processor to the last row of some work, from loopback HTTP, of the second run."""

    async def spent(url: str) -> float:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "bench.yaml"
            file.write_text(spec(url), encoding="utf-8")
            client = WebClient()
            async with Federation(
                load_catalog([file], environ={}, cwd=Path(folder), client=client), client
            ) as federation:
                await work(federation)
                settle()
                started = time.process_time()
                await work(federation)
                return time.process_time() - started

    with served(rows, page) as url:
        return asyncio.run(spent(url))


async def measure(url: str, runs: int) -> tuple[float, float]:
    """Medians of download and join, in turn."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(spec(url), encoding="utf-8")
        client = WebClient()
        async with Federation(
            load_catalog([file], environ={}, cwd=Path(folder), client=client), client
        ) as federation:
            times = [(await download(federation), await join(federation)) for _ in range(runs + 1)][1:]
    return statistics.median(d for d, _ in times), statistics.median(j for _, j in times)


def main() -> None:
    """Print medians and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--page", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with served(args.rows, args.page) as url:
        only, joined = asyncio.run(measure(url, args.runs))
    print(f"{TABLES} tables of {args.rows:,} rows, pages of {args.page:,}, medians of {args.runs} runs")
    print(f"download and decode {only:.2f} s, join {joined:.2f} s, download / join {only / joined:.2f}")


if __name__ == "__main__":
    main()
