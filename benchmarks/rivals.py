"""The same questions asked of other tools, in the same minute.

    python -m benchmarks.rivals [--rows N] [--keys N]

- In memory: three tables joined to Arrow, beside Polars on one thread, and beside PostgreSQL counting the same join of
  tables that it holds (not sent to a client, no parallel workers).
- Over HTTP: the rows of a list, a page of 100 after 20 ms, joined with what an API tells of each of its keys after 20 ms,
  beside Shillelagh (SQLite over adapters: a request when SQLite asks for a row), and beside dlt, which loads list and keys
  into DuckDB, where they are joined; it may ask for as many keys at once as FFF.

What is not installed is left out, and that is said. `make bench` installs Shillelagh and dlt; PostgreSQL is found on PATH or
where Debian has it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from benchmarks import engine
from benchmarks.lookups import SPEC
from benchmarks.serving import served
from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.sources.postgres import postgres_server, program, unprivileged

#: Seconds that the API takes for an answer, how many it is asked for at once, and rows of a page of the list.
DELAY_S, AT_ONCE, PAGE = 0.02, 32, 100


def is_missing(*modules: str) -> str | None:
    """What is not installed of some Python packages."""
    gone = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"{', '.join(gone)} not installed" if gone else None


def has_no_postgres() -> str | None:
    """Why there is no PostgreSQL to measure."""
    try:
        program("initdb"), program("postgres"), unprivileged()
    except pytest.skip.Exception as skipped:
        return str(skipped)
    return None


# --------------------------------------------------------------------------------------------------------- in memory


def in_a_process(code: str, *arguments: str, **environment: str) -> list[float]:
    """The numbers that a program of its own prints: what it imports and sets is for it alone."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


_POLARS = """
import json, sys, time
import polars as pl
from benchmarks.engine import make_data
tables = [pl.from_arrow(batch) for batch in make_data(3, int(sys.argv[1]))]
def joined():
    found = tables[0]
    for number, other in enumerate(tables[1:]):
        found = found.join(other.rename({"payload": f"payload{number}"}), on="unique2")
    return found.to_arrow()
assert len(joined()) == len(tables[0])
began = time.process_time()
joined()
print(json.dumps([time.process_time() - began]))
"""


def polars(rows: int) -> float:
    """Seconds of processor for Polars to join three tables, from its own to Arrow, the second time."""
    return in_a_process(_POLARS, str(rows), POLARS_MAX_THREADS="1")[0]


def postgres(rows: int) -> float:
    """Seconds of processor for PostgreSQL to count the join of three tables that it holds, the second time."""
    with postgres_server() as server, psycopg.connect(server.uri, autocommit=True) as connection:
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute("SET work_mem = '256MB'")
        for number, batch in enumerate(engine.make_data(3, rows)):
            connection.execute(f"CREATE TABLE t{number} (unique2 bigint, payload text)")
            with connection.cursor().copy(f"COPY t{number} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)
            connection.execute(f"ANALYZE t{number}")
        (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone()  # type: ignore[misc]
        sql = "SELECT count(*) FROM t0 JOIN t1 USING (unique2) JOIN t2 USING (unique2)"
        assert connection.execute(sql).fetchone() == (rows,)
        before = _of_process(pid)
        for _ in range(_TIMES):
            connection.execute(sql)
        return (_of_process(pid) - before) / _TIMES


#: Counts of which one is the mean: the system tells of a process's time by hundredths of a second.
_TIMES = 10


def _of_process(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --------------------------------------------------------------------------------------------------------- over HTTP


def ours(url: str, rows: int) -> float:
    """Seconds of the clock for FFF to join the list with what each key has."""

    async def run() -> float:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "bench.yaml"
            file.write_text(SPEC.format(url=url, ceiling=AT_ONCE), encoding="utf-8")
            client = WebClient()
            catalog = load_catalog([file], environ={}, cwd=Path(folder), client=client)
            async with Federation(catalog, client) as federation:
                began = time.perf_counter()
                sql = "SELECT k.unique2, k.payload FROM bench.t0 JOIN bench.k ON k.unique2 = t0.unique2"
                execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
                assert sum([len(batch) async for batch in execution.batches()]) == rows
                return time.perf_counter() - began

    return asyncio.run(run())


_SHILLELAGH = """
import json, sys, time
import requests
from shillelagh.adapters.base import Adapter
from shillelagh.adapters.registry import registry
from shillelagh.backends.apsw.db import connect
from shillelagh.fields import Integer, String
from shillelagh.filters import Equal

url, rows = sys.argv[1], int(sys.argv[2])
session = requests.Session()

class Listed(Adapter):
    safe = True
    supports_limit = supports_offset = False
    @staticmethod
    def supports(uri, fast=True, **kwargs):
        return uri.endswith("/t0")
    @staticmethod
    def parse_uri(uri):
        return (uri,)
    def __init__(self, uri):
        super().__init__()
        self.uri = uri
    def get_columns(self):
        return {"unique2": Integer()}
    def get_data(self, bounds, order, **kwargs):
        offset = 0
        while True:
            answer = session.get(f"{self.uri}?offset={offset}").json()
            for number, item in enumerate(answer["items"]):
                yield {"rowid": offset + number, "unique2": item["unique2"]}
            offset += len(answer["items"])
            if offset >= answer["total"]:
                return

class ByKey(Listed):
    @staticmethod
    def supports(uri, fast=True, **kwargs):
        return uri.endswith("/k")
    def get_columns(self):
        return {"unique2": Integer(filters=[Equal], exact=True), "payload": String()}
    def get_data(self, bounds, order, **kwargs):
        key = bounds["unique2"].value
        for number, item in enumerate(session.get(f"{self.uri}/{key}").json()):
            yield {"rowid": number, **item}

registry.add("listed", Listed)
registry.add("bykey", ByKey)
cursor = connect(":memory:", adapters=["listed", "bykey"]).cursor()
began = time.perf_counter()
found = cursor.execute(
    f'SELECT k.unique2, k.payload FROM "{url}/t0" AS t CROSS JOIN "{url}/k" AS k ON k.unique2 = t.unique2'
).fetchall()
seconds = time.perf_counter() - began
assert len(found) == rows, len(found)
print(json.dumps([seconds]))
"""

_DLT = """
import json, sys, time
import dlt
from dlt.sources.helpers import requests

url, rows, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]

@dlt.resource(name="t0", write_disposition="replace")
def listed():
    offset = 0
    while True:
        answer = requests.get(f"{url}/t0?offset={offset}").json()
        yield answer["items"]
        offset += len(answer["items"])
        if offset >= answer["total"]:
            return

@dlt.transformer(data_from=listed, name="k", write_disposition="replace")
def by_key(items):
    @dlt.defer
    def one(key):
        return requests.get(f"{url}/k/{key}").json()
    for item in items:
        yield one(item["unique2"])

began = time.perf_counter()
pipeline = dlt.pipeline("bench", destination=dlt.destinations.duckdb(f"{folder}/loaded.duckdb"), dataset_name="bench", pipelines_dir=folder)
pipeline.run([listed(), by_key])
with pipeline.sql_client() as client:
    found = client.execute_sql("SELECT k.unique2, k.payload FROM bench.t0 JOIN bench.k ON k.unique2 = t0.unique2")
seconds = time.perf_counter() - began
assert len(found) == rows, len(found)
print(json.dumps([seconds]))
"""


def shillelagh(url: str, rows: int) -> float:
    """Seconds of the clock for Shillelagh to do the same."""
    return in_a_process(_SHILLELAGH, url, str(rows))[0]


def dlt(url: str, rows: int) -> float:
    """Seconds of the clock for dlt to load the list and what each key has, and for DuckDB to join them."""
    settings = {
        "EXTRACT__WORKERS": str(AT_ONCE),
        "EXTRACT__MAX_PARALLEL_ITEMS": str(AT_ONCE),
        "RUNTIME__DLTHUB_TELEMETRY": "false",
        "RUNTIME__LOG_LEVEL": "ERROR",
    }
    with TemporaryDirectory() as folder:
        return in_a_process(_DLT, url, str(rows), folder, **settings)[0]


def by_the_clock(rival: Callable[[str, int], float], rows: int) -> tuple[float, float]:
    """Seconds of FFF and of another tool for a list of so many rows and as many keys."""
    with served(rows, PAGE, DELAY_S) as url:
        return ours(url, rows), rival(url, rows)


def main() -> None:
    """Print what there is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="of each table in memory")
    parser.add_argument("--keys", type=int, default=500, help="rows of the list, with a key each")
    args = parser.parse_args()

    data = engine.make_data(3, args.rows)
    _, memory = (engine.join("adaptive", data, 10_000) for _ in range(2))  # the first one warms up
    print(f"three tables of {args.rows:,} rows in memory, ms of processor: FFF {memory * 1e3:.0f}")
    for name, missing, seconds in (
        ("Polars", is_missing("polars"), polars),
        ("PostgreSQL", has_no_postgres(), postgres),
    ):
        print(f"  {name}: {missing or f'{seconds(args.rows) * 1e3:.0f}'}")
    print(f"a list of {args.keys:,} rows and as many keys over HTTP, seconds of the clock")
    for name, missing, rival in (
        ("Shillelagh", is_missing("shillelagh"), shillelagh),
        ("dlt", is_missing("dlt"), dlt),
    ):
        if missing:
            print(f"  {name}: {missing}")
            continue
        mine, theirs = by_the_clock(rival, args.keys)
        print(f"  {name} {theirs:.2f}, FFF {mine:.2f}: {mine / theirs:.2f}")


if __name__ == "__main__":
    main()
