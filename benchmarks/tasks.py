"""Tasks of a Spark cluster that look keys up side by side: throughput grows with them, up to the ceiling that is declared.

    python -m benchmarks.tasks
    python -m benchmarks.tasks enrich

`fff.lookup` with 1, 2 and 4 tasks on `local-cluster[4,1,1024]`, of a server on this machine that answers after 50 ms and takes
one request for each task at once (`max_concurrency`); then with 4 tasks where 30 requests a second are declared. Requests a
second as the server sees them, between the first and the last quarter of them. It takes two to three minutes, and needs a Java of
its own as a plain session does. The second looks 25,000 keys of 100,000 rows up where 150 a second are declared, and kills an executor amid others.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from aiohttp import web
from pyspark.sql import SparkSession

import fff
from tests.api import enriching_program
from tests.web.serving import serving_beside

MASTER, TASKS, DELAY_S = "local-cluster[4,1,1024]", (1, 2, 4), 0.05
SECONDS, CEILING = 12, 30.0


def rate(session: SparkSession, tasks: int, keys: int, **declared: float) -> float:
    """Requests a second of so many tasks, in the middle of so many keys."""
    arrived: list[float] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        arrived.append(asyncio.get_running_loop().time())
        await asyncio.sleep(DELAY_S)
        key = int(request.path.split("/")[-1])
        return web.json_response([{"k": key, "v": key}])

    with serving_beside(answer) as url, TemporaryDirectory() as folder:
        path = Path(folder) / "fff.yaml"
        table = {
            "columns": {"k": "bigint", "v": "bigint"},
            "lookups": [{"keys": ["k"], "endpoint": "one/{k}"}],
        }
        table["key_columns"] = [{"name": "k", "require": "required", "operators": ["="]}]
        client = {"base_url": url, "rate_limit": {"max_concurrency": tasks, **declared}}
        path.write_text(
            yaml.safe_dump({"version": 1, "sources": {"web": {"client": client, "tables": {"t": table}}}})
        )
        frame = session.range(keys).withColumnRenamed("id", "k")
        found = fff.lookup(frame, "web.t", on="k", sources=[path], partitions=tasks).collect()
    assert len(found) == len(arrived) == keys
    middle = arrived[keys // 4 : -keys // 4]
    return (len(middle) - 1) / (middle[-1] - middle[0])


def main(tasks: Sequence[int] = TASKS) -> None:
    """Measure, and print a line each."""
    builder = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    try:
        rate(session, max(tasks), 100)  # executors and their processes have started
        for count in tasks:
            print(
                f"{count} tasks: {rate(session, count, int(count * SECONDS / DELAY_S)):.1f} requests a second"
            )
        keys = int(SECONDS * CEILING)
        held = rate(session, max(tasks), keys, fill_rate=CEILING, bucket_size=4)
        print(f"{max(tasks)} tasks, {CEILING:g} a second declared: {held:.1f}")
    finally:
        session.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if sys.argv[1:] == ["enrich"]:
        enriching_program.main(MASTER, "150")
    else:
        main()
