"""Random sources, faults and ways to run, for whole statements on the real runtime in virtual time.

One seed decides everything. Three tables of small numbers behind random access methods: scans and their mirrors, lookups and
their rivals; latencies of many kinds, stalls, failures, truncated answers, and rows that nobody asked for.
"""

from __future__ import annotations

import asyncio
import collections
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from fff.catalog import Catalog, LookupMethod, Page, ScanMethod, Table
from fff.dataflow.lookups.methods import LookupOptions
from fff.errors import InfeasibleQuery, SourceError
from fff.federation import Federation
from fff.options import RunOptions
from fff.policies import POLICIES, PREFERENCES
from fff.runtime import block_run
from fff.simulation.loop import run
from fff.simulation.recorder import RunRecorder
from fff.simulation.service import FixedTime, HeavyTail, Latency, LogNormal, RandomFailures, Stall, Uniform
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedSource, SimulatedTable
from fff.stats import AccessMeter, RunOutcome
from tests.engine.duck import over_duck
from tests.engine.joins import oracle
from tests.engine.site import Row, Site

#: Of one block, and the more is read the more rows there are.
JOINS = (
    "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a",
    "SELECT r.a, s.b, t.b FROM web.r, web.s, web.t WHERE r.b = s.a AND s.b = t.a",
    "SELECT r.a, s.b, t.b FROM web.r, web.s, web.t WHERE r.b = s.a AND r.a = t.a",
    "SELECT x.a, y.b, s.b FROM web.r x, web.r y, web.s WHERE x.b = y.a AND x.a = s.a",
    "SELECT s.a, t.b FROM web.s JOIN web.t ON s.b = t.a WHERE s.a IN (1, 2, 3)",
    "SELECT r.a, s.b, t.b FROM web.r, web.s, web.t WHERE r.b = s.a AND r.b = t.a AND s.b <= t.b",
)
#: Of several blocks, which share tables and feed each other.
SHAPES = (
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON r.b = s.a",
    "SELECT r.a, s.b, t.b FROM web.r LEFT JOIN web.s ON r.b = s.a LEFT JOIN web.t ON s.b = t.a",
    "SELECT a, b FROM web.r x WHERE EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b AND s.b > x.a)",
    "SELECT a FROM web.r x WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b)",
    "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a UNION ALL SELECT t.b, s.b FROM web.t JOIN web.s ON t.a = s.a",
    "SELECT r.a FROM web.r JOIN web.s ON r.b = s.a EXCEPT SELECT t.b FROM web.t JOIN web.s ON t.b = s.a",
    "SELECT q.n, s.b FROM (SELECT b, count(*) AS n FROM web.r GROUP BY b) q JOIN web.s ON s.a = q.b",
)


class FaultySource(SimulatedSource):
    """Answers some lookups in part only, some with rows nobody asked for; notes the keys that it is asked for."""

    def __init__(
        self, tables: Sequence[SimulatedTable], recorder: RunRecorder, *, seed: int, cut: float, more: float
    ):
        super().__init__(tables, recorder, seed=seed, name="web")
        self.keys: collections.Counter[object] = collections.Counter()
        self.doubtful: collections.Counter[object] = (
            collections.Counter()
        )  # without rows, beside rows of others
        self.harmed: set[str] = set()  # tables of which something failed
        self._rng = random.Random(f"faults {seed}")
        self._rows = {table.name: table.rows for table in tables}
        self._cut, self._more = cut, more

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        try:
            async for page in super().scan(table, method, columns, meter=meter, window=window):
                yield page
        except SourceError:
            self.harmed.add(table.name)
            raise

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        self.keys.update((table.name, method.name, key) for key in keys)
        cut = self._rng.random() < self._cut
        try:
            async for page in super().lookup(table, method, columns, keys, meter=meter):
                rows = page.rows
                if self._rng.random() < self._more:
                    strays = self._strays(table, method, columns, keys)
                    if len(strays) and not len(rows):
                        self.harmed.add(table.name)  # nothing but strays may stand in the place of an answer
                    elif len(strays):
                        lacking = set(keys).difference(_keys(rows, method))
                        self.doubtful.update((table.name, method.name, key) for key in lacking)
                    rows = pa.concat_batches([rows, strays])
                if len(rows) > 1:
                    yield Page(rows.slice(0, 1))
                    await asyncio.sleep(self._rng.choice([0.0, 0.3]))
                    rows = rows.slice(1)
                if cut:
                    self.harmed.add(table.name)
                    yield Page(rows.slice(0, len(rows) // 2), "at most so many")
                    return
                yield Page(rows)
        except SourceError:
            self.harmed.add(table.name)
            raise

    def _strays(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Sequence[tuple[object, ...]]
    ) -> pa.RecordBatch:
        rows = self._rows[table.name]
        places = [place for place, key in enumerate(_keys(rows, method)) if key not in keys]
        return rows.select(list(columns)).take(pa.array(places[:2], pa.int64()))


def _keys(rows: pa.RecordBatch, method: LookupMethod) -> list[Row]:
    return list(zip(*(rows.column(name).to_pylist() for name in method.keys), strict=True))


@dataclass(frozen=True)
class Weather:
    """A site and everything about one run over it."""

    sql: str
    site: Site
    tables: tuple[SimulatedTable, ...]
    options: RunOptions
    eager: LookupOptions | None  # in place of those that `prefer` stands for
    cut: float
    more: float
    keep: bool
    faults: bool

    def source(self, recorder: RunRecorder) -> FaultySource:
        assert self.options.seed is not None
        return FaultySource(self.tables, recorder, seed=self.options.seed, cut=self.cut, more=self.more)


@dataclass(frozen=True)
class Run:
    """What came of a statement; of each time it was run, in one session."""

    rows: tuple[list[Row], ...]
    outcomes: tuple[RunOutcome, ...]
    source: FaultySource
    hedged: int
    trace: list[str]


def weather(seed: int, statements: Sequence[str], *, faults: bool) -> Weather:
    """What a seed stands for."""
    rng = random.Random(f"weather {seed} {faults}")
    size = rng.choice([6, 6, 12, 40])
    site = Site(
        {name: (("a", "b"), [_row(rng, size) for _ in range(rng.randrange(0, 2 * size))]) for name in "rst"}
    )
    broken = rng.choice(["scans", "lookups", "both"]) if faults else ""
    tables = tuple(_table(name, site, rng, broken) for name in "rst")
    eager = LookupOptions(
        patience=rng.choice([0.0, 1.0, 4.0]),
        hedge_after=rng.choice([0, 1, 3]),
        hedge_quantile=rng.choice([0.5, 0.95]),
        hedge_share=rng.choice([0.1, 0.5, 1.0]),
        slow_s=rng.choice([0.0, 0.05, 0.5]),
    )
    options = RunOptions(
        policy=rng.choice([*POLICIES, "adaptive", "windowed-lottery:5"]),
        prefer=rng.choice(PREFERENCES),
        seed=seed,
        semantics=rng.choice(["parked", "parked", "paper"]),
        deadline=rng.choice([None, 0.5, 5.0]) if faults else None,
    )
    return Weather(
        sql=rng.choice(statements),
        site=site,
        tables=tables,
        options=options,
        eager=eager if rng.random() < 0.7 else None,
        cut=rng.choice([0.0, 0.3]) if broken in ("lookups", "both") else 0.0,
        more=rng.choice([0.0, 0.0, 0.3]),
        keep=rng.random() < 0.3,
        faults=faults,
    )


def _row(rng: random.Random, values: int) -> tuple[int | None, int | None]:
    return tuple(None if rng.random() < 0.08 else rng.randrange(values) for _ in range(2))  # type: ignore[return-value]


def _table(name: str, site: Site, rng: random.Random, broken: str) -> SimulatedTable:
    _, rows = site.tables[name]
    kind = "scan" if name == "r" else rng.choice(["scan", "lookups", "lookups", "both", "both"])
    batch = pa.record_batch(
        {"a": [row[0] for row in rows], "b": [row[1] for row in rows]},
        schema=pa.schema([("a", pa.int32()), ("b", pa.int32())]),
    )
    scans = [_scan(f"scan{number}", rng, broken) for number in range(rng.choice([1, 1, 2]))]
    lookups = [_lookup(("a",), f"by a {number}", rng, broken) for number in range(rng.choice([1, 2, 2, 3]))]
    lookups += [_lookup(("b",), "by b", rng, broken)] if rng.random() < 0.3 else []
    lookups += [_lookup(("b", "a"), "by both", rng, broken)] if rng.random() < 0.2 else []
    return SimulatedTable(
        name,
        batch,
        (),
        tuple(scans) if kind in ("scan", "both") else (),
        tuple(lookups) if kind in ("lookups", "both") else (),
    )


def _scan(name: str, rng: random.Random, broken: str) -> SimulatedScan:
    fails = broken in ("scans", "both") and rng.random() < 0.5
    return SimulatedScan(
        name,
        rng.choice([1, 3, 10]),
        _latency(rng),
        _stalls(rng),
        fails_after=rng.randrange(4) if fails else None,
        shuffled=rng.random() < 0.5,
    )


def _lookup(keys: tuple[str, ...], name: str, rng: random.Random, broken: str) -> SimulatedLookup:
    fails = broken in ("lookups", "both") and rng.random() < 0.6
    return SimulatedLookup(
        keys,
        _latency(rng),
        rng.choice([1, 2, 8]),
        rng.choice([1, 1, 2, 5]),
        _stalls(rng),
        RandomFailures(rng.choice([0.0, 0.2, 1.0])) if fails else RandomFailures(),
        name,
    )


def _latency(rng: random.Random) -> Latency:
    kinds: list[Callable[[], Latency]] = [
        lambda: FixedTime(rng.choice([0.0, 0.01, 0.2, 1.0])),
        lambda: Uniform(0.0, rng.choice([0.1, 2.0])),
        lambda: LogNormal(rng.choice([0.05, 0.5]), 1.0),
        lambda: HeavyTail(rng.choice([0.01, 0.1]), 1.1),
    ]
    return rng.choice(kinds)()


def _stalls(rng: random.Random) -> tuple[Stall, ...]:
    return (Stall(rng.uniform(0.0, 3.0), rng.choice([1.0, 30.0, 300.0])),) if rng.random() < 0.3 else ()


@contextmanager
def _conditions(chosen: Weather) -> Iterator[None]:
    async def at_once(call: Callable[..., Any], *arguments: Any) -> Any:
        return call(*arguments)

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(asyncio, "to_thread", at_once)  # nothing waits for a thread in virtual time
        if chosen.eager is not None:
            patching.setattr(block_run, "LOOKUPS", dict.fromkeys(PREFERENCES, chosen.eager))
        yield


def go(chosen: Weather) -> Run | None:
    """Run the statement, twice in a session that keeps what it has read; None where nothing binds a table."""

    async def main() -> Run | None:
        recorder = RunRecorder()
        catalog = Catalog()
        source = chosen.source(recorder)
        catalog.add(source)
        async with Federation(catalog, keep=chosen.keep) as federation:
            over_duck(federation)
            found, outcomes, hedged = [], [], 0
            for _ in range(1 + chosen.keep):
                try:
                    prepared = federation.prepare(chosen.sql)
                except InfeasibleQuery:
                    return None
                execution = federation.execute(prepared, chosen.options)
                try:
                    rows = [row async for batch in execution.batches() for row in _rows(batch)]
                except SourceError:  # nothing at all was answered
                    rows = []
                found.append(rows)
                outcomes.append(execution.outcome)
                for one in execution._blocks:
                    one.eddy.validate()
                    hedged += sum(m.hedged for table in one.eddy.statistics().tables for m in table.lookups)
            return Run(tuple(found), tuple(outcomes), source, hedged, recorder.trace)

    with _conditions(chosen):
        return run(main)


def _rows(batch: pa.RecordBatch) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def check(chosen: Weather) -> Run | None:
    """Run it and compare with DuckDB: complete answers are the answer, and those of joins are never more than it."""
    found = go(chosen)
    if found is None:
        return None
    expected = collections.Counter(oracle(chosen.site, chosen.sql))
    for rows, outcome in zip(map(collections.Counter, found.rows), found.outcomes, strict=True):
        extra, lost = rows - expected, expected - rows
        assert outcome.complete == (not outcome.missing), outcome.missing
        assert outcome.complete == (outcome.exit_code == 0)
        if outcome.complete or chosen.sql in JOINS:
            assert not extra, f"{extra} too much, {lost} too little"
        if outcome.complete:
            assert not lost, f"{lost} too little"
        late = chosen.options.deadline is not None
        assert outcome.complete or late or found.source.harmed, f"nothing went wrong: {outcome.missing}"
    if chosen.sql in JOINS and not chosen.keep:
        twice = found.source.keys - found.source.doubtful - collections.Counter(set(found.source.keys))
        assert not twice, "a key is asked for once per method, and again where its answer is in doubt"
    return found
