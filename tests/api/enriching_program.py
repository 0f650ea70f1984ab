"""Rows enriched by a fourth as many keys on a cluster, and an executor that is killed: a program of its own.

Arguments: the master, where `standalone` starts one with a worker for four executors; the declared rate and
the number of keys, if they shall be others.
Prints what was measured, and `good` where all is right.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import DataFrame, SparkSession

import fff
from tests.api.ceiling_program import PLACES, Town, published

KEYS, TASKS, RATE, FLYING = 25_000, 4, 250, 32
KILLED_AT = 1_000  # requests, of as many keys as make it twice as many


@dataclass
class Counted(Town):
    """Counts requests by key, and tells when there have been so many."""

    keys: collections.Counter[str] = field(default_factory=collections.Counter)
    at_most: int = 0
    reached: threading.Event = field(default_factory=threading.Event)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.keys[request.path] += 1
        if len(self.at) == self.at_most:
            self.reached.set()
        return await super().answer(request)


def busiest_second(at: Sequence[float]) -> int:
    """The most requests that came within a second, wherever it begins."""
    most, begin = 0, 0
    for end, now in enumerate(at):
        while at[begin] <= now - 1:
            begin += 1
        most = max(most, end - begin + 1)
    return most


def frame(session: SparkSession, rows: int, keys: int) -> DataFrame:
    return session.range(rows).selectExpr("id", f"lpad(string(id % {keys}), 5, '0') AS zip")


def enrich(session: SparkSession, spec: Path, rows: int, keys: int, tasks: int = TASKS) -> None:
    """Look the keys up. Raises AssertionError where a row is not right."""
    found = fff.lookup(frame(session, rows, keys), "town.incomes", on="zip", sources=[spec], partitions=tasks)
    [counted] = found.selectExpr("count(*) AS n", f"count_if(income = id % {keys}) AS right").collect()
    assert tuple(counted) == (rows, rows), counted


def keeps_the_rate(session: SparkSession, rate: int, keys: int, most: int, **declared: int) -> None:
    """So many keys of four times as many rows, at a rate that is declared so; `most` within any second."""
    town = Counted()
    with published(town, max_concurrency=FLYING, **declared) as spec:
        enrich(session, spec, 4 * keys, keys)
    assert len(town.keys) == town.keys.total() == keys, town.keys.most_common(3)
    took = town.at[-1] - town.at[0]
    used = keys / (took * rate)
    busiest = busiest_second(town.at)
    late = os.getloadavg()[0] > 2 * (os.cpu_count() or 1)
    print(f"{keys} requests by {declared} in {took:.1f} s: {used:.3f} of {rate} a second, {busiest} in the busiest; load {os.getloadavg()[0]:.0f}", flush=True)  # fmt: skip
    assert busiest <= most
    assert used >= 0.95 or late, "others leave this machine no time"


def executors(session: SparkSession) -> list[int]:
    """Their processes: each is the parent of what Python's workers of it are forked by."""

    def above(_: object) -> Iterator[int]:
        time.sleep(0.5)  # so that each executor has one of the tasks
        said = subprocess.run(["ps", "-o", "ppid=", "-p", str(os.getppid())], capture_output=True, check=True)
        yield int(said.stdout)

    return sorted(set(session.sparkContext.parallelize(range(TASKS), TASKS).mapPartitions(above).collect()))


def survives_a_kill(session: SparkSession, folder: Path) -> None:
    town = Counted(at_most=KILLED_AT)
    victim = executors(session)[0]

    def kill() -> None:
        town.reached.wait()
        os.kill(victim, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    with published(town) as spec:
        enrich(session, spec, 4 * KILLED_AT, 2 * KILLED_AT)
    again = town.keys.total() - len(town.keys)
    print(f"an executor was killed: {again} of {town.keys.total()} requests were repeated, {PLACES} were in flight at most", flush=True)  # fmt: skip
    assert len(town.keys) == 2 * KILLED_AT
    assert victim not in executors(session)
    assert again <= PLACES
    assert not list(folder.glob("fff-task-*")), "tasks that have come to their ends leave nothing"


@contextlib.contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The URL of a cluster of one master and one worker, which starts executors."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    start = [str(Path(_find_spark_home()) / "bin" / "spark-class")]
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = [*start, "org.apache.spark.deploy.master.Master", *place, "--port", str(port)]
    worker = [*start, "org.apache.spark.deploy.worker.Worker", *place, "-c", str(TASKS), "-m", "5g", "-d", str(folder), url]  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(master, **quiet) as one, subprocess.Popen(worker, **quiet) as other:
        try:
            yield url
        finally:
            other.terminate()
            one.terminate()


@contextlib.contextmanager
def session_on(master: str, folder: Path) -> Iterator[SparkSession]:
    """A session whose executors have a core each and keep their files in a folder."""
    with contextlib.ExitStack() as stack:
        if master == "standalone":
            master = stack.enter_context(standalone(folder))
        settings = {
            "spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": str(TASKS),
            "spark.executor.cores": "1", "spark.executor.memory": "1g", "spark.executorEnv.TMPDIR": str(folder),
            "spark.scheduler.minRegisteredResourcesRatio": "1", "spark.cores.max": str(TASKS),
        }  # fmt: skip
        session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
        stack.callback(session.stop)
        yield session


def main(master: str, rate: str = str(RATE), keys: str = str(KEYS)) -> None:
    with tempfile.TemporaryDirectory() as folder, session_on(master, Path(folder)) as session:
        each, burst = int(rate), 2 * TASKS
        keeps_the_rate(session, each, int(keys), each, limit=each, per=1)
        # Of a bucket those in flight may come late, together.
        most = each + burst + FLYING
        keeps_the_rate(session, each, min(int(keys), 4_000), most, fill_rate=each, bucket_size=burst)
        survives_a_kill(session, Path(folder))
    print("good")


if __name__ == "__main__":
    main(*sys.argv[1:])
