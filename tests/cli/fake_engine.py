"""An engine that plays scenes: what the command line sees of a run, without sources, a planner or Spark.

The first word of the SQL names the scene. Run this file to get an `fff` with that engine behind it; with `--serve` it
runs command lines it is sent, each in a process of its own that has nothing left to import.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import os
import sys
import types
from contextlib import asynccontextmanager, redirect_stdout
from decimal import Decimal
from typing import Any

import pyarrow as pa

from fff.budget import Budget
from fff.catalog import Catalog, KeyColumn, LookupMethod, ScanMethod, Table
from fff.errors import FFFError, InvariantError, QueryError, SourceError, Span
from fff.options import RunOptions
from fff.schema import Field
from fff.sql import Prepared, split_statements
from fff.stats import AccessStats, Missing, RoutingShare, RunOutcome, Snapshot, SparkStats
from fff.structs import asdict, replace

ACCESS = (
    AccessStats("demo", "FEC", "scan", (), "FEC.scan", "running", requests=7, rows=7000, total_rows=20000, in_flight=1),
    AccessStats("demo", "Demographics", "lookup", ("zip",), "Demographics.lookup[zip]", "running", requests=90,
                distinct_keys=120, pending_keys=30, rows=88, in_flight=8, retries=2, throttled=1),
)  # fmt: skip
MISSING = (Missing("demo.Crime", "zip = '99999'", "HTTP 503 after 5 attempts"),)


def outcome(**fields: Any) -> RunOutcome:
    """How a run ended; complete unless it is said."""
    values: dict[str, Any] = {
        "complete": True, "exit_code": 0, "reason": None, "rows": 0, "elapsed_s": 1.25, "missing": (), "warnings": (),
        "make_report": dict,
    }  # fmt: skip
    return RunOutcome(**(values | fields))


def snapshot(**changes: Any) -> Snapshot:
    values: dict[str, Any] = {
        "elapsed_s": 1.5, "phase": "fetching", "rows": 6500, "first_row_s": 0.4, "access": ACCESS, "stems": (),
        "routing": (RoutingShare("F", "Crime SteM", 5, 600), RoutingShare("F", "Demographics lookup", 3, 400)),
        "missing": (), "spark": SparkStats(used=True), "policy": "rank", "seed": 7,
        "columns": ("avg", "State"), "sample": tuple((100.5 + n, f"S{n}") for n in range(40)),
        "sample_is": "current groups", "sample_rows": 61,
    }  # fmt: skip
    return Snapshot(**(values | changes))


def every_type() -> pa.RecordBatch:
    tz = dt.UTC
    return pa.record_batch(
        {
            "i": pa.array([1, None], pa.int64()),
            "f": pa.array([0.1, float("nan")]),
            "d": pa.array([Decimal("12345678901234567890.10"), Decimal("-0.05")], pa.decimal128(38, 2)),
            "s": pa.array(['a,"b"\n', ""]),
            "b": pa.array([True, None]),
            "day": pa.array([dt.date(2020, 2, 29), None]),
            "at": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=tz), dt.datetime(2020, 1, 2, 3, 4, 5, 600, tzinfo=tz)],
                           pa.timestamp("us", "UTC")),
            "ntz": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=tz).replace(tzinfo=None), None], pa.timestamp("us")),
            "bin": pa.array([b"\x00\xff", None]),
            "l": pa.array([[1, None], None], pa.list_(pa.int32())),
            "m": pa.array([[("k", Decimal("1.50"))], []], pa.map_(pa.string(), pa.decimal128(5, 2))),
            "st": pa.array([{"x": dt.date(2020, 1, 1), "y": "é"}, None]),
        }
    )  # fmt: skip


def numbers(start: int, count: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "n": pa.array(range(start, start + count), pa.int64()),
            "name": [f"row {start + i}" for i in range(count)],
        }
    )


class Execution:
    schema = None

    def __init__(self, scene: str, words: list[str], options: RunOptions) -> None:
        self.scene, self.words, self.options = scene, words, options
        self.prepared = Prepared(" ".join([scene, *words]), ())
        self.stopped = asyncio.Event()
        self.rows = 0
        self.looks = 0  # snapshots taken
        self.priorities = options.prioritize

    def snapshot(self) -> Snapshot:
        self.looks += 1
        changes = getattr(self, f"look_{self.scene}", dict)()
        return snapshot(priorities=self.priorities, **changes)

    def prioritize(self, *predicates: str) -> None:
        if any("wrong" in one for one in predicates):
            raise QueryError("no column wrong")
        self.priorities = predicates

    def look_groups(self) -> dict[str, Any]:
        """More and more groups, half of them final, in another order each time."""
        known = min(200, 10 * self.looks)
        sample = [(100 / (n + 1), f"S{n:03}", n % 7 or None) for n in range(known)]
        shift = self.looks * 7 % known
        return {
            "columns": ("avg", "State", "rating"), "sample": tuple(sample[shift:] + sample[:shift]),
            "group_keys": (None, "F.State", "C.rating"), "sample_rows": known,
            "rests_on": tuple(range(known)), "settled": tuple(n % 2 == 0 for n in range(known)),
            "elapsed_s": self.looks * 0.5,
        }  # fmt: skip

    def look_throttled(self) -> dict[str, Any]:
        """A source that has said when it takes requests again."""
        return {
            "access": (
                replace(ACCESS[0], state="throttled", resumes_s=12.0, throttled=3),
                replace(ACCESS[1], state="running"),
            )
        }

    def look_failing(self) -> dict[str, Any]:
        """A source that has failed, and another that goes on."""
        missing = (Missing("demo.Crime", "true", "HTTP 503 after 5 attempts"),)
        return {
            "access": (
                *ACCESS,
                replace(ACCESS[0], table="Crime", name="Crime.scan", state="failed", failed=5),
            ),
            "missing": missing,
        }

    def look_forty(self) -> dict[str, Any]:
        """More sources than there are lines."""
        return {
            "access": tuple(
                replace(ACCESS[0], source=f"s{n}", table=f"T{n}", name=f"T{n}.scan", requests=n)
                for n in range(40)
            )
        }

    async def scene_late_partial(self):
        """A part of the result, once lines and frames have been shown."""
        await asyncio.sleep(2.5)
        async for batch in self.scene_partial():
            yield batch

    async def wait(self):
        """Nothing until the first Ctrl-C."""
        await self.stopped.wait()
        yield numbers(0, 1)

    scene_still = scene_throttled = scene_failing = scene_forty = wait

    async def scene_groups(self):
        """Groups in the live view until the first Ctrl-C; the result tells what was fetched first."""
        await self.stopped.wait()
        yield pa.record_batch({"first": pa.array(list(self.priorities), pa.string())})
        self.end(complete=False, exit_code=3, reason="interrupted", rows=len(self.priorities))

    def interrupt(self) -> None:
        self.stopped.set()

    async def batches(self):
        rows = 0
        try:
            async for batch in getattr(self, f"scene_{self.scene}")():
                rows += batch.num_rows
                yield batch
        except FFFError as error:
            self.end(complete=False, exit_code=error.exit_code, reason=error.message)
            raise
        if not hasattr(self, "outcome"):
            self.end(rows=rows)

    def end(self, **fields: Any) -> None:
        ended = outcome(**fields)
        report = {"version": 1, "sql": " ".join([self.scene, *self.words]), "rows": ended.rows, "complete": ended.complete, "exit_code": ended.exit_code,
                  "options": {name: str(value) for name, value in asdict(self.options).items()} | self.session}  # fmt: skip
        self.outcome = replace(ended, make_report=lambda: report)

    @property
    def settled(self) -> RunOutcome | None:
        return getattr(self, "outcome", None)

    def cut_outcome(self, rows: int, reason: str) -> RunOutcome:
        report = {"rows": rows, "reason": reason, "complete": False, "exit_code": 3}
        return outcome(complete=False, make_report=lambda: report)

    async def scene_rows(self):
        count = int(self.words[0])
        yield numbers(0, min(count, 1000))
        for start in range(1000, count, 1000):
            await asyncio.sleep(0)
            yield numbers(start, min(1000, count - start))

    async def scene_types(self):
        yield every_type()

    async def scene_text(self):
        yield pa.record_batch({"t": ["\x1b[31mred\x1b[0m", "ünï\u202e", None, "NULL", "tab\tbed", "漢字"]})

    async def scene_wide(self):
        yield pa.record_batch({f"column_{n}": ["value " * 5] for n in range(int(self.words[0]))})

    async def scene_twice(self):
        yield pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])

    async def scene_partial(self):
        yield numbers(0, 3)
        self.end(
            complete=False,
            exit_code=3,
            reason="a source failed",
            rows=3,
            missing=MISSING * 12,
            warnings=("2 bad records",),
        )

    async def scene_fail(self):
        yield numbers(0, 0)
        raise SourceError("HTTP 503", source="demo", table="Crime", url="http://x/y", attempts=5)

    async def scene_late(self):
        yield numbers(0, 3)
        raise SourceError("connection reset", source="demo", table="Crime")

    async def scene_bug(self):
        yield numbers(0, 0)
        raise InvariantError("illegal move")

    async def scene_wait(self):
        """Rows, then nothing until the first Ctrl-C."""
        yield numbers(0, 3)
        await self.stopped.wait()
        yield numbers(3, 2)
        self.end(complete=False, exit_code=3, reason="interrupted", rows=5)

    async def scene_stuck(self):
        """Rows, then nothing: the second Ctrl-C must end it."""
        yield numbers(0, 3)
        await asyncio.Event().wait()

    async def scene_blocked(self):
        """Rows, then a call that nothing interrupts, in a thread that does not end."""
        import threading

        yield numbers(0, 3)
        await asyncio.to_thread(threading.Event().wait)


class Adapter:
    """Tables to list and to complete; `late` learns its columns when asked."""

    name = "demo"

    def __init__(self) -> None:
        self.tables = [
            table("FEC", "id bigint, zip string, State string, contribution double", scans=(ScanMethod("FEC.scan"),)),
            table("Crime", "zip string, crimeRating string", key_columns=(KeyColumn("zip"),),
                  scans=(ScanMethod("Crime.scan"),), lookups=(LookupMethod("Crime.lookup[zip]", ("zip",)),)),
            table("late", "", scans=(ScanMethod("late.scan"),)),
        ]  # fmt: skip

    async def discover(self, names, *, meter):
        self.tables[2] = table("late", "found int", scans=(ScanMethod("late.scan"),))


def table(name: str, columns: str, **fields: Any) -> Table:
    parsed = [Field.of(*column.split()) for column in columns.split(", ") if column]
    return Table("demo", name, tuple(parsed), description=f"what {name} holds", **fields)


class Federation:
    def __init__(self) -> None:
        self.catalog = Catalog()
        self.catalog.add(Adapter())
        self.resets = 0
        self.expected = 0

    def reset(self) -> None:
        self.resets += 1

    def warm_up(self, options: RunOptions) -> None:
        pass

    def prepare(self, sql: str, params: dict[str, object]) -> Prepared:
        if "wrong" in sql:
            raise QueryError(
                "no column wrong",
                sql=sql,
                span=Span(sql.index("wrong"), sql.index("wrong") + 5),
                hint="did you mean right?",
            )
        self.params = params
        return Prepared(sql, ())

    def expect(self, statements: list[Prepared]) -> None:
        self.expected = len(statements)

    def explain(self, prepared: Prepared) -> str:
        return f"plan of {prepared.sql} with {self.params}"

    def forecast(self, _prepared: Prepared) -> Any:
        return types.SimpleNamespace(access=())

    def execute(self, prepared: Prepared, options: RunOptions, budget: Budget | None = None) -> Execution:
        scene, *words = prepared.sql.split()
        execution = Execution(scene, words, options)
        execution.session = {"limit": budget and budget.requests, "expected": self.expected}
        return execution


@asynccontextmanager
async def open_federation(sources, *, environ=None, keep=False, **_):
    yield Federation()


def prepare_all(federation: Federation, texts: Any, params: Any, _prioritize: Any = ()) -> list[Prepared]:
    return [federation.prepare(statement, params) for text in texts for statement in split_statements(text)]


async def discover_all(federation: Federation, texts: Any, budget: Budget | None = None) -> None:
    """Every table here has columns."""


async def look_into_files(federation: Federation, texts: Any) -> None:
    """No statement here names a file."""


def install() -> None:
    """Put this engine where the command line looks for one."""
    for name in ("fff.federation", "fff_cli.run.federation"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["fff_cli.run.federation"].open_federation = open_federation
    sys.modules["fff_cli.run.federation"].prepare_all = prepare_all
    sys.modules["fff_cli.run.federation"].discover_all = discover_all
    sys.modules["fff_cli.run.federation"].look_into_files = look_into_files


def serve() -> None:
    """For each line of standard input, an object, run a command line; answer with its exit code."""
    from fff_cli.commands import query  # noqa: F401 - what commands import

    with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        app.run(["explain", "rows 1"])  # and what their first use does
    for line in sys.stdin:
        wanted = json.loads(line)
        child = os.fork()
        if child == 0:
            run(wanted)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, flush=True)


def run(wanted: dict[str, Any]) -> None:
    """Be the command: `arguments` in the folder `cwd`, its three streams in files."""
    code = 1
    try:
        os.chdir(wanted["cwd"])
        os.umask(wanted["umask"])
        for descriptor, name in enumerate(wanted["streams"]):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY
            os.dup2(os.open(name, flags), descriptor)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        code = app.run(wanted["arguments"])
    finally:
        __main__._leave(code)  # as the command does: what it has put aside goes


if __name__ == "__main__":
    install()
    from fff_cli import __main__, app
    from fff_cli.run.no_pandas import spare_pandas

    spare_pandas()  # as the module does that this engine takes the place of
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        __main__.main()
