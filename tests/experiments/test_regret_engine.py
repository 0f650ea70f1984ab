"""The regret that the harness measures is also that of the real engine: lookups with latencies, several at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from fff.simulation.run import run_block
from fff.simulation.service import LogNormal
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable

TUPLES, LOOKUPS, WORLDS = 150, 3, 8


def instance(seed: int) -> tuple[str, list[SimulatedTable], list[float]]:
    """F and three lookups that drop tuples, correlated in three classes, with costs log-uniform 1 to 100."""
    rng = np.random.default_rng(seed)
    costs = np.exp(rng.uniform(0, math.log(100), LOOKUPS)) / 50
    latent = rng.choice(3, TUPLES, p=rng.dirichlet(np.ones(3)))
    passes = rng.random((TUPLES, LOOKUPS)) < rng.uniform(0.02, 0.98, (3, LOOKUPS))[latent]
    keys = [rng.permutation(TUPLES) for _ in range(LOOKUPS)]
    rows = pa.record_batch({"k": np.arange(TUPLES)} | {f"k{n}": column for n, column in enumerate(keys)})
    tables = [SimulatedTable("F", rows, ("k",), (SimulatedScan(page_rows=50),))]
    for number, column in enumerate(keys):
        found = column[passes[:, number]]
        matches = pa.record_batch({"x": found, "v": np.arange(len(found))})
        lookup = SimulatedLookup(("x",), LogNormal(float(costs[number]), 0.3), 4)
        tables.append(SimulatedTable(f"D{number}", matches, (), (), (lookup,)))
    joins = "".join(f" JOIN D{n} ON F.k{n} = D{n}.x" for n in range(LOOKUPS))
    return f"SELECT F.k FROM F{joins}", tables, costs.tolist()


def spent(sql: str, tables: list[SimulatedTable], costs: list[float], policy: str) -> tuple[float, float]:
    """Seconds of service asked for, at the median latency, and seconds until the end."""
    run = run_block(sql, tables, policy=policy, seed=1)
    assert run.complete
    asked = [run.eddy.block.lookups[number + 1][0].asked for number in range(LOOKUPS)]
    return sum(cost * count for cost, count in zip(costs, asked, strict=True)), run.seconds


@pytest.mark.slow
def test_the_default_is_near_the_best_static_order_and_rank_is_not() -> None:
    ours, theirs, times = [], [], []
    for seed in range(WORLDS):
        world = instance(seed)
        orders = (
            ",".join(["F", *order]) for order in itertools.permutations(f"D{n}" for n in range(LOOKUPS))
        )
        static = [spent(*world, f"fixed:{order}") for order in orders]
        best, soonest = min(cost for cost, _ in static), min(seconds for _, seconds in static)
        cost, seconds = spent(*world, "adaptive")
        ours.append(cost / best - 1)
        times.append(seconds / soonest - 1)
        theirs.append(spent(*world, "rank")[0] / best - 1)
    assert np.mean(ours) < 0.3, ours
    assert np.mean(ours) < np.mean(theirs) / 2, (ours, theirs)
    assert np.mean(times) < 0.1, times
