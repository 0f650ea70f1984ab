"""What a process holds while it runs statements for long: each of these is a program of its own, which prints its samples as JSON.

    python -m tests.api.long_runs statements 2000   # by Spark, one after the other, in one session
    python -m tests.api.long_runs joins 50          # so many times 200 joins at once
    python -m tests.api.long_runs paced 900         # one statement, for so many seconds

Temporary files are looked for in TMPDIR, which should be the program's own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

import fff
from fff.runtime.memory import taken

#: Joins that run at once.
AT_ONCE = 200
#: Rows of a page, and how many different keys they have.
PAGE, KEYS = 100, 50
#: Seconds after which Spark lets go of threads that had nothing to do for a minute.
REST = 65.0
#: How often a program looks at what it holds.
SAMPLES = 10

Sample = dict[str, float]


# ------------------------------------------------------------------------------------------------ what is held


def held() -> Sample:
    """What this process holds now: megabytes, and numbers of everything else."""
    gc.collect()
    files = sum(len(names) for _, _, names in os.walk(tempfile.gettempdir()))
    sample = {
        "memory_mb": taken() / 1e6,
        "objects": len(gc.get_objects()),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "tasks": sum(type(one) is asyncio.Task and not one.done() for one in gc.get_objects()),
        "files": files,
    }
    return sample | _of_java()


def _of_java() -> Sample:
    """Of the JVM, if there is one, after it has collected what nobody refers to."""
    if "pyspark" not in sys.modules:
        return {}
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return {}
    java: Any = context._jvm.java
    java.lang.System.gc()
    factory = java.lang.management.ManagementFactory
    code = sum(
        pool.getUsage().getUsed() for pool in factory.getMemoryPoolMXBeans() if "Code" in pool.getName()
    )
    return {
        "java_heap_mb": factory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6,
        "java_classes": factory.getClassLoadingMXBean().getLoadedClassCount(),
        "java_code_mb": code / 1e6,
        "java_threads": factory.getThreadMXBean().getThreadCount(),
    }


# ------------------------------------------------------------------------------------------------ what is asked


async def serve() -> None:
    """`r` in pages, a second apart from each other if `pause` says so and without an end, and `s` by its keys."""

    async def pages(request: web.Request) -> web.Response:
        number = int(request.query.get("page", 1))
        await asyncio.sleep(float(request.query.get("pause", 0)))
        rows = [{"a": a, "b": a * 7 % KEYS} for a in range((number - 1) * PAGE, number * PAGE)]
        return web.json_response({"items": rows, "pages": int(request.query["last"])})

    async def by_key(request: web.Request) -> web.Response:
        key = int(request.match_info["key"])
        return web.json_response([{"a": key, "c": f"name of {key}"}])

    app = web.Application()
    app.router.add_get("/r", pages)
    app.router.add_get("/s/{key}", by_key)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def serving(last: int, pause: float = 0.0) -> Iterator[Path]:
    """A server in another process, and the file that tells of it."""
    command = [sys.executable, "-m", "tests.api.long_runs", "serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline())
        pages = {
            "path": "r",
            "params": {"last": last, "pause": pause},
            "data_selector": "items",
            "paginator": {"type": "page_number", "page_param": "page", "base_page": 1, "total_path": "pages"},
        }
        tables = {
            "r": {"columns": {"a": "int", "b": "int"}, "scan": {"endpoint": pages}},
            "s": {
                "columns": {"a": "int", "c": "string"},
                "key_columns": [{"name": "a", "require": "any_of", "operators": ["="]}],
                "lookups": [{"keys": ["a"], "endpoint": {"path": "s/{a}"}}],
            },
        }
        client = {"base_url": f"http://127.0.0.1:{port}"}
        file = Path(folder) / "long.yaml"
        file.write_text(
            yaml.safe_dump({"version": 1, "sources": {"web": {"client": client, "tables": tables}}})
        )
        try:
            yield file
        finally:
            server.kill()


# ------------------------------------------------------------------------------------------------ the programs


def statements(count: int) -> list[Sample]:
    """Statements of Spark, all of them different, every fifth of which fails, in one session."""
    samples = []
    with serving(2) as file, fff.connect(file, cache=False) as connection:
        for number in range(count):
            if number % (count // SAMPLES) == 0:
                samples.append({"done": number} | held())
            if number % 5 < 4:
                connection.sql(_statement(number)).rows()
            else:
                with suppress(fff.QueryError):
                    connection.sql(_statement(number)).rows()
                    raise AssertionError("it divides by zero")
        time.sleep(REST)
        samples.append({"done": count} | held())
    return samples


def _statement(number: int) -> str:
    return (
        f"SELECT b, count(*) AS n, sum(a + {number}) AS t FROM web.r GROUP BY b",
        f"SELECT a, rank() OVER (PARTITION BY b ORDER BY a + {number}) AS place FROM web.r",
        f"SELECT s.c, max(r.a) AS most FROM web.r JOIN web.s ON r.b = s.a WHERE r.a > {number % 90} GROUP BY s.c",
        f"SELECT b, collect_list(a * {number}) AS l FROM web.r GROUP BY b ORDER BY b LIMIT 3",
        f"SELECT b, sum({number} / (a - a)) AS t FROM web.r GROUP BY b",
    )[number % 5]


def joins(rounds: int) -> list[Sample]:
    """So many times 200 joins at once."""

    async def main(file: Path) -> list[Sample]:
        samples = []
        async with fff.connect_async(file, cache=False) as connection:
            for number in range(rounds):
                if number % max(1, rounds // SAMPLES) == 0:
                    samples.append({"done": number} | held())
                many = (
                    f"SELECT r.a, s.c FROM web.r JOIN web.s ON r.b = s.a WHERE r.a % 20 = {one % 20}"
                    for one in range(AT_ONCE)
                )
                results = await asyncio.gather(*map(connection.sql, many))
                assert all(one.complete and len(one) == PAGE // 20 for one in results)
            samples.append({"done": rounds} | held())
        return samples

    with serving(1) as file:
        return asyncio.run(main(file))


def paced(seconds: int) -> list[Sample]:
    """One join whose pages come for so long; its rows are looked at and let go."""
    samples, began = [], time.monotonic()
    with serving(10**6, pause=0.02) as file, fff.connect(file, cache=False) as connection:
        rows = 0
        sql = "SELECT r.a, s.c FROM web.r JOIN web.s ON r.b = s.a"
        for batch in connection.batches(sql):
            rows += len(batch)
            if time.monotonic() - began >= (len(samples) + 1) * seconds / SAMPLES:
                samples.append({"done": rows} | held())
                if len(samples) == SAMPLES:
                    break
    return samples


if __name__ == "__main__":
    what, *size = sys.argv[1:]
    if what == "serve":
        with suppress(KeyboardInterrupt):
            asyncio.run(serve())
    else:
        for sample in {"statements": statements, "joins": joins, "paced": paced}[what](int(size[0])):
            print(json.dumps(sample))
