"""Lookups and stalled scans on the real runtime in virtual time: requests spared, tails cut, stalls got round."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import pyarrow as pa
import pytest

from fff.dataflow.eddy import EddyOptions
from fff.dataflow.lookups.methods import LookupOptions
from fff.limits import STALL_S
from fff.options import RunOptions
from fff.policies import Preference
from fff.simulation.run import BlockRun, run_block, run_statement
from fff.simulation.service import FixedTime, HeavyTail, Latency, LogNormal, Phases, Stall, Uniform
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable

SQL = "SELECT R.key, S.y FROM R, S WHERE R.a = S.x"
BATCH = 50


def numbers(name: str, rows: int, columns: tuple[str, str], values: int | None = None) -> pa.RecordBatch:
    rng = random.Random(name)
    second = range(rows) if values is None else [rng.randrange(values) for _ in range(rows)]
    return pa.record_batch({columns[0]: list(range(rows)), columns[1]: list(second)})


@dataclass(frozen=True)
class Web:
    """Pages of R, one after another, feed lookups of S."""

    rows: int
    page: int
    gap: Latency
    answer: Latency
    values: int | None = None
    concurrency: int = 8

    @property
    def keys(self) -> int:
        return len(set(numbers("R", self.rows, ("key", "a"), self.values).column("a").to_pylist()))

    def run(self, batch: int, patience: float) -> BlockRun:
        tables = (
            SimulatedTable(
                "R",
                numbers("R", self.rows, ("key", "a"), self.values),
                ("key",),
                (SimulatedScan("scan", self.page, self.gap),),
            ),
            SimulatedTable(
                "S",
                numbers("S", self.values or self.rows, ("x", "y")),
                ("x",),
                (),
                (SimulatedLookup(("x",), self.answer, self.concurrency, batch),),
            ),
        )
        options = EddyOptions(lookups=LookupOptions(patience))
        run = run_block(SQL, tables, policy="fixed", seed=1, options=options)
        assert run.complete
        assert run.rows.num_rows == self.rows
        return run


#: Pages that bring more keys than a batch holds, fewer, and some that have been asked for; quick and slow lookups.
WEBS = {
    "large pages": Web(1400, 70, FixedTime(0.5), FixedTime(0.2)),
    "small pages": Web(1000, 20, FixedTime(0.5), FixedTime(0.2)),
    "fewer and fewer new keys": Web(4000, 100, FixedTime(0.2), FixedTime(0.2), values=1000),
    "slow lookups": Web(1000, 20, FixedTime(0.05), FixedTime(2.0), concurrency=4),
    "irregular": Web(1200, 20, Uniform(0.05, 0.6), LogNormal(0.2, 0.5)),
    "heavy tails": Web(1200, 20, HeavyTail(0.1, 1.5), Uniform(0.1, 0.3)),
}


def of_lookups(run: BlockRun) -> int:
    return run.recorder.requests("S", "lookup[x]").total


@pytest.mark.slow
@pytest.mark.parametrize("name", WEBS)
def test_batches_fill_without_holding_anything_up(name: str) -> None:
    """Literature C3.1: requests near the least there can be, first result and completion as if nothing had waited."""
    web = WEBS[name]
    single, eager, learned = web.run(1, 0.0), web.run(BATCH, 0.0), web.run(BATCH, 1.0)
    least = math.ceil(web.keys / BATCH)
    assert of_lookups(single) == web.keys
    assert of_lookups(learned) <= max(1.05 * least, least + 2), (
        "the first keys go at once, the next wait little"
    )
    assert of_lookups(learned) < of_lookups(eager), "there was something to spare"
    assert learned.recorder.results().when(1) <= 1.2 * max(
        run.recorder.results().when(1) for run in (single, eager)
    )
    assert learned.seconds <= 1.02 * eager.seconds
    half = web.rows / 2
    assert learned.recorder.results().when(half) <= 1.15 * eager.recorder.results().when(half)


def test_a_few_small_pages_fill_a_batch() -> None:
    web = Web(60, 4, FixedTime(0.5), FixedTime(0.2))
    eager, learned = web.run(10, 0.0), web.run(10, 1.0)
    assert of_lookups(eager) == 15
    assert of_lookups(learned) <= 7
    assert learned.seconds == eager.seconds
    assert learned.recorder.results().when(1) == eager.recorder.results().when(1)


def test_waiting_a_fixed_time_would_hold_the_first_result_up() -> None:
    """What the flush is learned for: the same requests could be had by waiting, but not at the same time."""
    web = Web(60, 4, FixedTime(0.5), FixedTime(0.2))
    learned = web.run(10, 1.0)
    assert learned.recorder.results().when(1) == pytest.approx(0.7)
    assert learned.recorder.results().when(60) == pytest.approx(15 * 0.5 + 0.2)


# ----------------------------------------------------------------------------------------------------------- races


def mirrored(
    answer: Latency,
    share: float,
    *,
    keys: int = 1000,
    stalls: tuple[Stall, ...] = (),
    rival: Latency | None = None,
) -> BlockRun:
    """Two rows of R every 50 ms, each looked up in S, by two methods with the same keys."""
    first = SimulatedLookup(("x",), answer, 8, stalls=stalls)
    second = SimulatedLookup(("x",), rival or answer, 8, called="mirror")
    tables = (
        SimulatedTable(
            "R", numbers("R", keys, ("key", "a")), ("key",), (SimulatedScan("scan", 2, FixedTime(0.05)),)
        ),
        SimulatedTable("S", numbers("S", keys, ("x", "y")), ("x",), (), (first, second)),
    )
    options = EddyOptions(lookups=LookupOptions(hedge_share=share))
    run = run_block(SQL, tables, policy="fixed", seed=3, options=options)
    assert run.complete
    assert sorted(run.rows.column("key").to_pylist()) == list(range(keys)), "each row once"
    return run


def waits(run: BlockRun) -> list[float]:
    """Seconds between the page that brought a row and its result, ascending."""
    return sorted(
        at - 0.05 * (key // 2 + 1) for at, batch in run.batches for key in batch.column("key").to_pylist()
    )


def extra(run: BlockRun) -> float:
    """Requests that raced others, over all others."""
    sent = [run.recorder.requests("S", name).total for name in ("lookup[x]", "mirror")]
    return (sum(sent) - run.rows.num_rows) / run.rows.num_rows


@pytest.mark.slow
@pytest.mark.parametrize("answer", [HeavyTail(0.02, 1.1), HeavyTail(0.03, 1.5), LogNormal(0.05, 1.0)])
def test_races_cut_the_tail_of_lookups(answer: Latency) -> None:
    """Literature C3.2."""
    alone, raced = mirrored(answer, 0.0), mirrored(answer, 0.05)
    assert extra(alone) == 0
    assert 0 < extra(raced) <= 0.05
    p99 = len(waits(alone)) * 99 // 100
    assert waits(raced)[p99] <= 0.75 * waits(alone)[p99]
    assert waits(raced)[-1] <= 0.5 * waits(alone)[-1]


def test_steady_lookups_are_not_raced() -> None:
    assert extra(mirrored(Uniform(0.03, 0.08), 0.05, keys=80)) == 0


@pytest.mark.slow
def test_a_lookup_that_stalls_for_ever_holds_nothing_up() -> None:
    run = mirrored(FixedTime(0.1), 0.05, keys=400, stalls=(Stall(5.0, 1e6),))
    assert extra(run) <= 0.05
    assert run.seconds <= 1.1 * mirrored(FixedTime(0.1), 0.0, keys=400).seconds


@pytest.mark.parametrize(("prefer", "races"), [("fast", True), ("balanced", True), ("cheap", False)])
def test_the_report_counts_races_and_cheap_runs_have_none(prefer: Preference, races: bool) -> None:
    """One request in thirty takes 5 s where others take 0.05; the mirror is never slow."""
    first = SimulatedLookup(
        ("x",), Phases(((0.0, FixedTime(0.05)), (1.5, FixedTime(5.0)), (1.55, FixedTime(0.05)))), 8
    )
    second = SimulatedLookup(("x",), FixedTime(0.05), 8, called="mirror")
    tables = (
        SimulatedTable(
            "R", numbers("R", 80, ("key", "a")), ("key",), (SimulatedScan("scan", 2, FixedTime(0.05)),)
        ),
        SimulatedTable("S", numbers("S", 80, ("x", "y")), ("x",), (), (first, second)),
    )
    run = run_statement(SQL, tables, options=RunOptions(policy="fixed", seed=1, prefer=prefer))
    assert run.outcome.complete
    assert run.rows.num_rows == 80
    hedged = {one["name"]: one["hedged"] for one in run.outcome.report["access"] if one["kind"] == "lookup"}
    assert hedged["lookup[x]"] == 0
    assert bool(hedged["mirror"]) is races
    assert (run.seconds < 4.0) is races


# ---------------------------------------------------------------------------------------------------- stalled scans


def scanned(stall: Stall, *, pages: int = 60) -> BlockRun:
    """A table with two mirrors, the first of which stalls; joined with nothing."""
    scans = (
        SimulatedScan("main", 10, FixedTime(0.5), stalls=(stall,)),
        SimulatedScan("mirror", 10, FixedTime(0.5)),
    )
    table = SimulatedTable("R", numbers("R", 10 * pages, ("key", "a")), ("key",), scans)
    run = run_block("SELECT key FROM R", (table,), policy="fixed", seed=1)
    assert run.complete
    assert sorted(run.rows.column("key").to_pylist()) == list(range(10 * pages))
    return run


def test_a_stall_is_noticed_as_soon_as_pages_are_late() -> None:
    run = scanned(Stall(4.1, 1e6))
    begun = run.recorder.requests("R", "mirror").times[0]
    assert begun == pytest.approx(4.0 + 4 * 0.5), "four times the usual gap after the last page, not STALL_S"
    assert begun - 4.0 < STALL_S
    assert run.seconds == pytest.approx(begun + 60 * 0.5)


def test_a_scan_that_stalls_at_once_costs_next_to_nothing() -> None:
    """Literature C3.3, where there is little to be read again: within a tenth of the mirror alone."""
    alone = 400 * 0.5
    assert scanned(Stall(3.1, 1e6), pages=400).seconds <= 1.1 * alone


def test_a_scan_that_comes_alive_again_may_win() -> None:
    run = scanned(Stall(20.1, 4.0))
    assert run.recorder.requests("R", "mirror").total > 0
    assert run.seconds == pytest.approx(30.0 + 4.0), "it goes on where it was; the mirror is stopped"
    assert run.recorder.requests("R", "mirror").total < 60
