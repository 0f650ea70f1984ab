"""The real engine in virtual time: right answers, exact replays, curves that tell what happened."""

from __future__ import annotations

import collections

import pyarrow as pa
import pytest

from fff.dataflow.eddy import EddyOptions
from fff.limits import STALL_S
from fff.options import RunOptions
from fff.simulation.recorder import Steps
from fff.simulation.run import run_block, run_statement
from fff.simulation.service import FixedTime, HeavyTail, LogNormal, RandomFailures, Stall, Uniform
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from tests.simulation.tables import table_r, table_s

SQL = "SELECT * FROM R, S WHERE R.a = S.x"


def bag(rows: pa.Table):
    return collections.Counter(tuple(sorted(row.items())) for row in rows.to_pylist())


ADVERSE = {
    "latency": LogNormal(0.3, 1.0),
    "concurrency": 3,
    "failures": RandomFailures(probability=0.1),
    "stalls": (Stall(2.0, 4.0),),
}


def adverse_tables(seed):
    return (
        table_r(seed=seed, latency=HeavyTail(0.05, 1.2)),
        table_s(
            scans=(
                SimulatedScan("slow", 4, Uniform(0.5, 3.0), shuffled=True, fails_after=2),
                SimulatedScan("mirror", 5, Uniform(0.1, 0.4), shuffled=True),
            ),
            lookup=ADVERSE,
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["naive", "lottery", "rank"])
@pytest.mark.parametrize("one_cpu", [False, True])
def test_one_seed_one_trace_bit_by_bit(policy, one_cpu):
    def once(seed):
        return run_block(SQL, adverse_tables(5), policy=policy, seed=seed, one_cpu=one_cpu, hop_s=0.001)

    first, again, other = once(3), once(3), once(4)
    assert len(first.recorder.trace) > 50
    assert first.recorder.trace == again.recorder.trace
    assert first.seconds == again.seconds
    assert first.rows.equals(again.rows)
    assert first.recorder.trace != other.recorder.trace
    assert bag(first.rows) == bag(other.rows)
    assert first.rows.num_rows == 60


def test_the_trace_tells_rows_apart():
    """A trace that named only kinds of events would be the same for both."""
    one = run_block(SQL, (table_r(seed=1), table_s(lookup={})), policy="fixed", seed=1)
    two = run_block(SQL, (table_r(seed=2), table_s(lookup={})), policy="fixed", seed=1)
    assert one.recorder.trace[0] == two.recorder.trace[0]
    assert one.recorder.trace != two.recorder.trace


def test_a_statement_runs_as_users_run_it_and_replays():
    def once(seed):
        return run_statement(SQL, adverse_tables(5), options=RunOptions(policy="rank", seed=seed))

    first, again = once(3), once(3)
    assert first.outcome.complete
    assert first.rows.num_rows == 60
    assert first.recorder.trace == again.recorder.trace
    assert first.rows.equals(again.rows)
    assert first.seconds == again.seconds > 0
    assert once(4).seconds != first.seconds


def test_lookups_take_their_time_one_after_another():
    run = run_block(SQL, (table_r(), table_s(lookup={"latency": FixedTime(2.0)})), policy="fixed", seed=1)
    probes = run.recorder.requests("S", "lookup[x]")
    distinct = len(set(table_r().rows.column("a").to_pylist()))
    assert probes.times == tuple(2.0 * number for number in range(distinct))
    assert probes.total == distinct
    assert run.seconds == 2.0 * distinct == run.recorder.results().end
    assert run.recorder.results().total == 60
    assert run.recorder.requests("R", "scan").total == 6
    assert all(run.eddy.by_lookup[1])
    assert not any(run.eddy.by_lookup[0])


def test_one_processor_makes_everybody_wait():
    tables = (table_r(latency=FixedTime(1.0)), table_s(lookup={"latency": FixedTime(1.0), "concurrency": 8}))
    apart = run_block(SQL, tables, policy="fixed", seed=1)
    shared = run_block(SQL, tables, policy="fixed", seed=1, one_cpu=True)
    busy = run_block(SQL, tables, policy="fixed", seed=1, one_cpu=True, hop_s=0.1)
    assert apart.seconds < 10
    requests = 6 + shared.recorder.requests("S", "lookup[x]").total
    assert shared.seconds == pytest.approx(requests)
    assert busy.seconds == pytest.approx(requests + 60 * 0.1)


def test_a_stalled_scan_starts_its_mirror():
    scans = (
        SimulatedScan("main", 5, FixedTime(1.0), stalls=(Stall(1.5, 1000.0),)),
        SimulatedScan("mirror", 5, FixedTime(1.0)),
    )
    run = run_block(SQL, (table_r(), table_s(scans=scans)), policy="fixed", seed=1)
    assert run.complete
    first = run.recorder.requests("S", "mirror").times[0]
    assert first == pytest.approx(1.0 + STALL_S)
    assert run.seconds < 30


def test_a_failed_lookup_goes_missing():
    lookup = {"latency": FixedTime(1.0), "failures": RandomFailures(start=2.5, end=3.5)}
    run = run_block(SQL, (table_r(), table_s(lookup=lookup)), policy="fixed", seed=1)
    assert not run.complete
    [missing] = run.eddy.missing
    lost = int(missing.predicate.split("=")[1])
    values = table_r().rows.column("a").to_pylist()
    assert run.rows.num_rows == 60 - values.count(lost)


def test_paper_semantics_find_the_same():
    tables = adverse_tables(5)
    parked = run_block(SQL, tables, policy="naive", seed=3)
    paper = run_block(SQL, tables, policy="naive", seed=3, options=EddyOptions(semantics="paper"))
    assert bag(parked.rows) == bag(paper.rows)


def test_partial_results_are_counted_by_what_they_span():
    tables = (
        table_r(),
        table_s(lookup={"latency": FixedTime(1.0)}),
        SimulatedTable("T", table_s().rows, ("x",), (), (SimulatedLookup(("x",), FixedTime(3.0)),)),
    )
    sql = "SELECT * FROM R, S, T WHERE R.a = S.x AND R.a = T.x"
    run = run_block(sql, tables, policy="fixed", seed=1)
    pairs, whole = run.recorder.tuples((0, 1)), run.recorder.tuples((0, 1, 2))
    assert pairs.total == whole.total == run.recorder.results().total == 60
    assert run.recorder.tuples((0, 2)).total == 0
    assert pairs.when(30) < whole.when(30)


def test_steps():
    steps = Steps.of([(1.0, 2), (1.0, 1), (4.0, 5)])
    assert steps == Steps((1.0, 4.0), (3, 8))
    assert [steps.at(time) for time in (0.9, 1.0, 3.9, 4.0, 99.0)] == [0, 3, 3, 8, 8]
    assert [steps.when(total) for total in (1, 3, 4, 8)] == [1.0, 1.0, 4.0, 4.0]
    assert (steps.total, steps.end) == (8, 4.0)
    assert (Steps((), ()).total, Steps((), ()).at(1.0)) == (0, 0)
