"""What is asked for where a scanned table at the far end decides: what a semi-join reduction would leave, and no more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fff.dataflow.eddy import EddyOptions
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies import make_policy
from fff.runtime.block_run import LOOKUPS
from fff.simulation.run import run_block
from fff.simulation.service import FixedTime
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from tests.sampling import every

ROWS, VALUES = 300, 100
RNG = np.random.default_rng(3)
KEPT = {name: RNG.choice(VALUES, number, replace=False) for name, number in (("S", 10), ("T", 20))}
R = {name: RNG.integers(0, VALUES, ROWS) for name in "st"} | {"m": RNG.integers(0, 150, ROWS)}
M = RNG.integers(0, VALUES, 150)


def scanned(name: str, columns: dict[str, object], seconds: float = 0.01) -> SimulatedTable:
    scan = SimulatedScan(page_rows=50, latency=FixedTime(seconds))
    return SimulatedTable(name, pa.record_batch(columns), (), (scan,))


def looked_up(name: str, **columns: object) -> SimulatedTable:
    held = pa.record_batch({"x": np.arange(ROWS)} | columns)
    return SimulatedTable(name, held, ("x",), (), (SimulatedLookup(("x",), FixedTime(0.05), 8),))


FIRST = "SELECT R.k FROM R JOIN A ON R.k = A.x"
BY_S = np.isin(R["s"], KEPT["S"])
SHAPES = {
    "star": (f"{FIRST} JOIN S ON R.s = S.y", int(BY_S.sum())),
    "tree": (
        f"{FIRST} JOIN S ON R.s = S.y JOIN T ON R.t = T.y",
        int((BY_S & np.isin(R["t"], KEPT["T"])).sum()),
    ),
    "chain": (f"{FIRST} JOIN M ON R.m = M.m JOIN S ON M.s = S.y", int(np.isin(M[R["m"]], KEPT["S"]).sum())),
    "chain of lookups": (f"{FIRST} JOIN B ON A.b = B.x JOIN S ON R.s = S.y", 2 * int(BY_S.sum())),
}


@pytest.mark.parametrize("seconds", every(2, [0.01, 0.3]))
@pytest.mark.parametrize("prefer", ["balanced", "cheap"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_key_is_asked_for_that_a_scan_rules_out(shape: str, prefer: str, seconds: float) -> None:
    sql, least = SHAPES[shape]
    named = {
        "R": scanned("R", {"k": np.arange(ROWS)} | R),
        "M": scanned("M", {"m": np.arange(len(M)), "s": M}),
        "A": looked_up("A", b=np.arange(ROWS)[::-1].copy()),
        "B": looked_up("B"),
    } | {name: scanned(name, {"y": kept}, seconds) for name, kept in KEPT.items()}
    tables = [table for name, table in named.items() if f" {name} " in sql]
    options = EddyOptions(lookups=LOOKUPS[prefer])  # type: ignore[index]

    def policy(plan: BlockPlan) -> RoutingPolicy:
        return make_policy("adaptive", plan, prefer)  # type: ignore[arg-type]

    run = run_block(sql, tables, policy=policy, seed=1, options=options)
    assert run.complete
    asked = sum(lookup.asked for table in run.eddy.statistics().tables for lookup in table.lookups)
    assert least <= asked <= 1.05 * least
