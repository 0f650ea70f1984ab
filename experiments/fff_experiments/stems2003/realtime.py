"""S-1, S-2 and S-4 once more on this machine's clock: the engine as it is, HTTP and all, against a server on loopback.

Scaled down fifty times: a second of the paper takes 20 ms. The join modules are the plainest that can be,
over the same sources. What is checked is shape and ratios, with room for the noise of a real machine.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fff.catalog import Catalog, Table
from fff.dataflow.eddy import EddyOptions
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.opening import open_federation
from fff.simulation.recorder import RunRecorder, Steps
from fff.simulation.run import execute_block
from fff.simulation.service import FixedTime
from fff.simulation.serving import LoopbackTables, serving
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from fff.stats import AccessMeter
from fff.structs import replace
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.stems2003 import hybrids, stems
from fff_experiments.stems2003.sources import ROWS, NobodyIdle, curve, table_r, table_xy

SCALE = 0.02
#: Rows that a page of either scan of S-4 holds: fewer, larger pages than in virtual time, as each costs real
#: work.
PAGE = 20

Run = Callable[[LoopbackTables, Catalog], Awaitable[Steps]]


def _scaled(table: SimulatedTable, page_rows: int | None = None) -> SimulatedTable:
    """The same table, fifty times as fast."""

    def scan(one: SimulatedScan) -> SimulatedScan:
        assert isinstance(one.latency, FixedTime)
        rows = page_rows or one.page_rows
        return replace(
            one, latency=FixedTime(one.latency.value * SCALE * rows / one.page_rows), page_rows=rows
        )

    def lookup(one: SimulatedLookup) -> SimulatedLookup:
        assert isinstance(one.latency, FixedTime)
        return replace(one, latency=FixedTime(one.latency.value * SCALE))

    return replace(table, scans=tuple(map(scan, table.scans)), lookups=tuple(map(lookup, table.lookups)))


@dataclass(frozen=True)
class _Timed:
    """One plan: results over time, and what was asked of an access method, both in seconds of the paper."""

    results: Steps
    requests: dict[tuple[str, str], Steps]

    def share(self, moment: float) -> float:
        """Which share of the results is there after a share of the time."""
        return self.results.at(moment * self.results.end) / self.results.total


def _measure(tables: Sequence[SimulatedTable], seed: int, run: Run) -> _Timed:
    """Serve the tables, run a plan over them, and scale times back."""

    async def main(served: LoopbackTables, spec: Path) -> _Timed:
        async with open_federation([spec], cache=False) as federation:
            results = await run(served, federation.catalog)
            requests = {
                (table.name, method): served.recorder.requests(table.name, method)
                for table in tables
                for method in table.methods
            }
            # Time begins with the first request: planning is not scaled.
            began = min(steps.times[0] for steps in requests.values() if steps.times)
            scaled = {where: _paper_time(steps, began) for where, steps in requests.items()}
            return _Timed(_paper_time(results, began), scaled)

    with serving(tables, seed=seed) as served, TemporaryDirectory() as folder:
        spec = Path(folder) / "sim.yaml"
        spec.write_text(served.spec(), encoding="utf-8")
        return asyncio.run(main(served, spec))


def _paper_time(steps: Steps, began: float) -> Steps:
    return replace(steps, times=tuple((time - began) / SCALE for time in steps.times))


def _engine(sql: str, seed: int, policy: str | Callable[[BlockPlan], RoutingPolicy], **options: Any) -> Run:
    """The engine; each index is asked for two keys at once at most, so that it is never idle and nothing queues up in it."""

    async def run(served: LoopbackTables, catalog: Catalog) -> Steps:
        _ = served
        recorder = RunRecorder()
        settings = EddyOptions(max_lookup_window=2, **options)
        await execute_block(sql, catalog, recorder, policy=policy, seed=seed, options=settings)
        return recorder.results()

    return run


# --------------------------------------------------------------------------------- join modules, as they come


class _Modules:
    """Join modules over the sources of a catalog, results counted as they come."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._results: list[tuple[float, int]] = []

    @property
    def results(self) -> Steps:
        """Results over time."""
        return Steps.of(self._results)

    def _table(self, name: str) -> Table:
        [table] = self._catalog.find((name,))
        return table

    def _find(self, count: int) -> None:
        if count:
            self._results.append((asyncio.get_running_loop().time(), count))

    async def scan(self, name: str, column: str, into: asyncio.Queue[Any]) -> None:
        """Each value of a column of a table goes into a queue, then None."""
        table = self._table(name)
        pages = self._catalog.adapter_of(table).scan(
            table, table.scans[0], (column,), meter=AccessMeter(), window=1
        )
        async for page in pages:
            for value in page.rows.column(0).to_pylist():
                into.put_nowait(value)
        into.put_nowait(None)

    async def index_join(
        self, queue: asyncio.Queue[Any], name: str, column: str, cache: dict[Any, int], *, caches: bool = True
    ) -> None:
        """Ask for the matches of each value, in order, one at a time, unless they are known and that counts."""
        table = self._table(name)
        lookup = next(lookup for lookup in table.lookups if lookup.keys == (column,))
        adapter = self._catalog.adapter_of(table)
        while (value := await queue.get()) is not None:
            if value not in cache or not caches:
                pages = adapter.lookup(table, lookup, (column,), [(value,)], meter=AccessMeter())
                cache[value] = sum([len(page.rows) async for page in pages])
            self._find(cache[value])

    async def hash_join(self, one: str, other: str, column: str) -> None:
        """A symmetric hash join of two scans, on columns of one name, each a key."""
        seen: tuple[set[Any], set[Any]] = (set(), set())

        async def side(number: int, name: str) -> None:
            queue: asyncio.Queue[Any] = asyncio.Queue()
            scan = asyncio.create_task(self.scan(name, column, queue))
            while (value := await queue.get()) is not None:
                seen[number].add(value)
                self._find(int(value in seen[1 - number]))
            await scan

        await asyncio.gather(side(0, one), side(1, other))


def _index_join(
    column: str, name: str, key: str, seconds: float | None = None, *, caches: bool = True
) -> Run:
    """R's column against one index; given up after so many seconds of the paper."""

    async def run(served: LoopbackTables, catalog: Catalog) -> Steps:
        _ = served
        modules, queue = _Modules(catalog), asyncio.Queue[Any]()
        join = modules.index_join(queue, name, key, {}, caches=caches)
        work = asyncio.gather(modules.scan("R", column, queue), join)
        with suppress(TimeoutError):
            await asyncio.wait_for(work, None if seconds is None else seconds * SCALE)
        return modules.results

    return run


def _two_index_joins(seed: int, *, shared: bool, caches: bool = True) -> Run:
    """R.a against both indexes of S: the first rows at random, the others against that on y."""

    async def run(served: LoopbackTables, catalog: Catalog) -> Steps:
        _ = served
        modules, rng = _Modules(catalog), random.Random(seed)
        values, by_x, by_y = asyncio.Queue[Any](), asyncio.Queue[Any](), asyncio.Queue[Any]()

        async def divide() -> None:
            number = 0
            while (value := await values.get()) is not None:
                learning = number < stems.LEARNING
                (rng.choice((by_x, by_y)) if learning else by_y).put_nowait(value)
                number += 1
            by_x.put_nowait(None)
            by_y.put_nowait(None)

        cache: dict[Any, int] = {}
        other: dict[Any, int] = cache if shared else {}
        await asyncio.gather(
            modules.scan("R", "a", values),
            divide(),
            modules.index_join(by_x, "S", "x", cache, caches=caches),
            modules.index_join(by_y, "S", "y", other, caches=caches),
        )
        return modules.results

    return run


async def _hash_join(served: LoopbackTables, catalog: Catalog) -> Steps:
    _ = served
    modules = _Modules(catalog)
    await modules.hash_join("R", "W", "key")
    return modules.results


# ------------------------------------------------------------------------------------------------ experiments


def _q1(trial: TrialRequest) -> Findings:
    seed, one = trial.seed, _index_join("a", "S", "x")
    tables = (_scaled(table_r(seed)), _scaled(table_xy("S", "x")))
    engine = _engine("SELECT * FROM R, S WHERE R.a = S.x", seed, "fixed")
    judged = {"index join": one, "no cache": _index_join("a", "S", "x", caches=False)}
    stem = _measure(tables, seed, judged.get(trial.control, engine))
    join = _measure(tables, seed, one)
    probes = [one.requests["S", "lookup[x]"] for one in (stem, join)]
    ratio = stem.results.end / join.results.end
    apart = max(
        abs(probes[0].at(time) - probes[1].at(time * join.results.end / stem.results.end))
        for time in (stem.results.end * step / 50 for step in range(51))
    )
    # After half of the probes, not of the time: a machine that has other things to do changes nothing about
    # that.
    half_stem, half_join = (
        one.results.at(asked.when(asked.total / 2)) / one.results.total
        for one, asked in zip((stem, join), probes, strict=True)
    )
    return Findings(
        columns=("", "index join", "SteMs"),
        rows=(
            *((f"{m:.0%} of the time", 100 * join.share(m), 100 * stem.share(m)) for m in stems.MOMENTS),
            ("seconds of the paper in all", join.results.end, stem.results.end),
            ("probes", probes[1].total, probes[0].total),
        ),
        panels=(
            Panel(
                "(i) results over time",
                "time [1/50 s]",
                "result tuples",
                (curve("with SteMs", stem.results), curve("index join", join.results)),
            ),
            Panel(
                "(ii) probes into the index on S",
                "time [1/50 s]",
                "probes",
                (curve("with SteMs", probes[0]), curve("index join", probes[1])),
            ),
        ),
        checks=(
            Check(
                "as many probes",
                "the same number in both",
                f"{probes[0].total} and {probes[1].total}",
                passed=probes[0].total == probes[1].total,
            ),
            Check(
                "probes over time are alike",
                "at the same share of the time within 15 % of all probes",
                f"at most {apart} of {probes[0].total} apart",
                passed=apart <= 0.15 * probes[0].total,
            ),
            Check(
                "the index join is parabolic, SteMs are almost linear: results after half of the probes",
                "17 % and 57 % (± 8 points)",
                f"{half_join:.0%} and {half_stem:.0%}",
                passed=abs(half_join - 0.17) <= 0.08 and abs(half_stem - 0.57) <= 0.08,
            ),
            Check(
                "SteMs take no longer",
                # The index join leaves the index idle while an answer travels; the eddy has the next probe
                # waiting there.
                "SteM / index join between 0.5 and 1.25",
                f"{ratio:.2f}",
                passed=0.5 <= ratio <= 1.25,
                shows="that the engine's own work fits in: a quarter is left for it, and virtual time (S-1) says 1.00",
            ),
        ),
    )


def _q2(trial: TrialRequest) -> Findings:
    seed = trial.seed
    tables = (_scaled(table_r(seed)), _scaled(table_xy("S", "x", "y")))
    sql = "SELECT * FROM R, S WHERE R.a = S.x AND R.a = S.y"
    engine = _engine(sql, seed, lambda _: stems.LearnThenOne(), route_size=1)
    judged = {
        "index joins": _two_index_joins(seed, shared=False),
        "shared cache": _two_index_joins(seed, shared=True),
        "no cache": _two_index_joins(seed, shared=False, caches=False),
    }
    plans = {
        "SteMs": _measure(tables, seed, judged.get(trial.control, engine)),
        "index joins": _measure(tables, seed, _two_index_joins(seed, shared=False)),
        "index joins, shared cache": _measure(tables, seed, _two_index_joins(seed, shared=True)),
    }
    stem, join, shared = plans.values()
    asked = [plan.requests["S", "lookup[y]"] for plan in (stem, join, shared)]
    halves = [
        plan.results.at(probes.when(probes.total / 2))
        for plan, probes in zip((stem, join, shared), asked, strict=True)
    ]
    ratio, shared_ratio = asked[0].total / asked[1].total, asked[2].total / asked[0].total
    seconds = stem.results.end / join.results.end
    return Findings(
        columns=(
            "plan",
            "seconds of the paper",
            "probes on x",
            "probes on y",
            "results after half of those on y",
        ),
        rows=tuple(
            (name, plan.results.end, plan.requests["S", "lookup[x]"].total, probes.total, half)
            for (name, plan), probes, half in zip(plans.items(), asked, halves, strict=True)
        ),
        panels=(
            Panel(
                "Q2: results over time",
                "time [1/50 s]",
                "result tuples",
                tuple(curve(name, plan.results) for name, plan in plans.items()),
            ),
        ),
        checks=(
            Check(
                "SteMs ask less: one cache",
                "probes on y, which decide when all is done: SteM / index joins = 0.73 ± 0.06",
                f"{ratio:.2f}",
                passed=abs(ratio - 0.73) <= 0.06,
            ),
            Check(
                "SteMs take no longer",
                "at most 1.25 of the time of index joins (0.73 in virtual time; the eddy also works on this machine)",
                f"{seconds:.2f} of it",
                passed=seconds <= 1.25,
                shows="that the engine's own work fits in; who asks less is said by the number of probes",
            ),
            Check(
                "index joins with a shared cache ask as little",
                "probes on y: shared cache / SteM = 1.00 ± 0.08",
                f"{shared_ratio:.2f}",
                passed=abs(shared_ratio - 1) <= 0.08,
            ),
            Check(
                "a shared cache still blocks at the head of the line",
                "after half of the probes on y fewer than three quarters of the SteMs' results",
                f"{halves[2]} and {halves[0]}",
                passed=halves[2] < 0.75 * halves[0],
            ),
        ),
    )


def _q4(trial: TrialRequest) -> Findings:
    seed = trial.seed
    tables = tuple(_scaled(table, PAGE) for table in hybrids.tables(seed))
    sql = "SELECT R.key, R.a FROM R, W WHERE R.key = W.key"
    until = 200.0
    judged = {
        "hash join": _engine(sql, seed, "fixed"),
        "index join": _index_join("key", "W", "key", 3 * until),
    }
    eddy = _measure(tables, seed, judged.get(trial.control, _engine(sql, seed, lambda _: NobodyIdle())))
    join = _measure(tables, seed, _index_join("key", "W", "key", until))
    hybrid, index = eddy.results, join.results
    hashed = _measure(tables, seed, _hash_join).results
    # The time of the tenth probe is ten seconds of the paper, however fast the machine is.
    early = [
        one.results.at(asked.when(10)) if (asked := one.requests["W", "lookup[key]"]).total >= 10 else 0
        for one in (eddy, join)
    ]
    return Findings(
        columns=("seconds of the paper", "index join", "hash join", "hybrid"),
        rows=(
            *(
                (time, index.at(time), hashed.at(time), hybrid.at(time))
                for time in (5.0, 10.0, 20.0, 30.0, 59.0, 100.0, until)
            ),
            ("all results", "", hashed.end, hybrid.end),
        ),
        panels=(
            Panel(
                "Q4: results over time",
                "time [1/50 s]",
                "result tuples",
                (
                    curve("hybrid (SteMs)", hybrid, until),
                    curve("index join", index, until),
                    curve("hash join", hashed, until),
                ),
            ),
        ),
        checks=(
            Check(
                "the hybrid follows the index join early",
                "at least 0.8 of its results at the tenth probe of the index, which is after 10 s of the paper",
                f"{early[0]} and {early[1]}",
                passed=early[0] >= 0.8 * early[1],
            ),
            Check(
                "the hybrid takes about as long as the hash join",
                "completion at most 1.15 of the hash join's",
                f"{hybrid.end / hashed.end:.2f}",
                passed=hybrid.end <= 1.15 * hashed.end,
            ),
            Check(
                "the hash join overtakes the index join and wins by far",
                "twice as many results after 200 s (of the paper)",
                f"{hashed.at(until)} and {index.at(until)}",
                passed=hashed.at(until) >= 2 * index.at(until),
                shows="that the joins to compare with are the paper's; no SteM is in it",
            ),
            Check(
                "all results are found",
                f"{ROWS} with the hybrid and with the hash join",
                f"{hybrid.total} and {hashed.total}",
                passed=hybrid.total == hashed.total == ROWS,
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-1rt",
        "S-1 in real time over HTTP",
        "SteMs 2003, section 4.2, figure 8 (i) and (ii)",
        "real time",
        "As S-1.",
        _q1,
        {
            "index join": "the index join in place of the SteMs",
            "no cache": "an index join that remembers no answer in place of the SteMs",
        },
    ),
    Experiment(
        "S-2rt",
        "S-2 in real time over HTTP",
        "SteMs 2003, section 4.3, figure 8 (iii)",
        "real time",
        "As S-2.",
        _q2,
        {
            "index joins": "index joins with caches of their own in place of the SteMs",
            "shared cache": "index joins with a shared cache in place of the SteMs",
            "no cache": "index joins that remember no answer in place of the SteMs",
        },
    ),
    Experiment(
        "S-4rt",
        "S-4 in real time over HTTP",
        "SteMs 2003, section 4.5, figure 12",
        "real time",
        "As S-4.",
        _q4,
        {
            "hash join": "SteMs that only wait for the scan, in place of the hybrid",
            "index join": "the index join in place of the hybrid",
        },
    ),
)
