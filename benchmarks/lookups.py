"""Lookups against the ideal number of rounds, and against a bare loop of the same client library.

    python -m benchmarks.lookups [--keys N] [--delay-ms N] [--runs N]

The time between the first and the last lookup, over rounds x delay, at 1, 8 and 32 requests in flight; and the processor's
milliseconds for a lookup, beside those of the bare loop.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks.serving import served
from fff.access.disk.policy import RowCache
from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.load import load_catalog

SPEC = """
version: 1
sources:
  bench:
    client: {{base_url: {url}, rate_limit: {{max_concurrency: {ceiling}}}}}
    tables:
      t0:
        columns: {{unique2: bigint}}
        scan: {{endpoint: {{path: t0, data_selector: items, paginator: {{type: offset, total_path: total}}}}}}
      k:
        columns: {{unique2: bigint, payload: string}}
        key_columns: [{{name: unique2, require: required}}]
        lookups: [{{keys: [unique2], endpoint: {{path: "k/{{unique2}}"}}}}]
"""


async def ours(url: str, ceiling: int, *, kept: bool = False) -> tuple[float, float]:
    """Seconds of the whole run, of the clock and of the processor: one page, then all its keys.

    `kept`: the answers are kept on disk.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(SPEC.format(url=url, ceiling=ceiling), encoding="utf-8")
        client = WebClient()
        cache = RowCache(Path(folder) / "cache", every=True) if kept else None
        async with Federation(
            load_catalog([file], environ={}, cwd=Path(folder), client=client), client, cache=cache
        ) as federation:
            sql = "SELECT k.payload FROM bench.t0 JOIN bench.k ON k.unique2 = t0.unique2"
            execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
            started, worked = time.perf_counter(), time.process_time()
            async for _ in execution.batches():
                pass
            return time.perf_counter() - started, time.process_time() - worked


async def bare(url: str, ceiling: int, keys: int) -> tuple[float, float]:
    """Seconds of the same requests without any engine, of the clock and of the processor."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        left = iter(range(keys))

        async def work() -> None:
            for key in left:
                async with session.get(f"{url}/k/{key}") as response:
                    await response.json()

        started, worked = time.perf_counter(), time.process_time()
        async with session.get(f"{url}/t0?offset=0") as response:
            await response.json()
        await asyncio.gather(*(work() for _ in range(ceiling)))
        return time.perf_counter() - started, time.process_time() - worked


def settle() -> None:
    """Spare the collector what was imported, as the command line does: else some run or other goes through all of it."""
    gc.collect()
    gc.freeze()


def processor(keys: int, *, kept: bool) -> tuple[float, float]:
    """Seconds of the processor for lookups of 5 ms, 32 in flight, and for as many of the bare loop.

    `kept`: of lookups whose answers are kept on disk, and of lookups whose answers are not.
    """
    with served(keys, keys, 0.005) as url:
        asyncio.run(bare(url, 32, keys))  # else whoever asks first waits for a server that is cold
        settle()
        _, worked = asyncio.run(ours(url, 32, kept=kept))
        _, beside = asyncio.run(ours(url, 32) if kept else bare(url, 32, keys))
    return worked, beside


def main() -> None:
    """Print a line per ceiling."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=256)
    parser.add_argument("--delay-ms", type=float, default=50)
    parser.add_argument("--runs", type=int, default=2, help="of which the best counts")
    args = parser.parse_args()
    print(f"{args.keys} keys of one page, {args.delay_ms:g} ms each")
    print(
        f"{'in flight':>10}{'ideal s':>9}{'ours s':>9}{'/ideal':>8}{'/bare':>8}{'cpu ms/key':>12}{'/bare':>8}"
    )
    with served(args.keys, args.keys, args.delay_ms / 1000) as url:
        for ceiling in (1, 8, 32):
            ideal = -(-args.keys // ceiling) * args.delay_ms / 1000
            runs = [
                (asyncio.run(bare(url, ceiling, args.keys)), asyncio.run(ours(url, ceiling)))
                for _ in range(args.runs)
            ]
            (alone, least), (took, worked) = (
                tuple(map(min, zip(*side, strict=True))) for side in zip(*runs, strict=True)
            )
            print(
                f"{ceiling:10}{ideal:9.2f}{took:9.2f}{took / ideal:8.2f}{took / alone:8.2f}"
                f"{1000 * worked / args.keys:12.3f}{worked / least:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
