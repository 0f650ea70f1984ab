"""Tuples that a join has multiplied have one key in common: who counts one for each never asks that table first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fff.dataflow.eddy import EddyOptions
from fff.dataflow.plan.moves import Load, Move
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies import make_policy
from fff.policies.adaptive.shared_keys import SharedKeys
from fff.runtime.block_run import LOOKUPS
from fff.simulation.run import BlockRun, run_block
from fff.simulation.service import FixedTime
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable

ROWS, COPIES = 200, 20
KEYS = np.arange(ROWS)
SQL = "SELECT R.k FROM R JOIN A ON R.k = A.x JOIN B ON R.b = B.x"
CHAIN = "SELECT R.k FROM R JOIN A ON R.k = A.x JOIN C ON A.v = C.x"


def looked_up(name: str, keys: np.ndarray, seconds: float) -> SimulatedTable:
    held = pa.record_batch({"x": keys, "v": np.arange(len(keys))})
    return SimulatedTable(name, held, (), (), (SimulatedLookup(("x",), FixedTime(seconds), 4, host=name),))


def run(sql: str, *, policy: str = "adaptive") -> BlockRun:
    scan = SimulatedScan(page_rows=100, latency=FixedTime(0.01))
    tables = [
        SimulatedTable("R", pa.record_batch({"k": KEYS, "b": KEYS[::-1].copy()}), ("k",), (scan,)),
        looked_up("A", np.repeat(KEYS[::4], COPIES), 0.05),
        looked_up("B", KEYS[KEYS % 10 > 0], 0.5),
        looked_up("C", np.arange(ROWS * COPIES), 0.05),
    ]

    def make(plan: BlockPlan) -> RoutingPolicy:
        return make_policy(policy, plan, "balanced")

    named = [table for table in tables if f" {table.name} " in sql]
    found = run_block(sql, named, policy=make, seed=1, options=EddyOptions(lookups=LOOKUPS["balanced"]))
    assert found.complete
    return found


def asked(found: BlockRun) -> list[int]:
    return [lookup.asked for table in found.eddy.statistics().tables for lookup in table.lookups]


def test_a_table_that_multiplies_and_spares_others_is_asked_first() -> None:
    """A quarter of R has rows in A; that each has 20 makes B no dearer."""
    few, least = asked(run(SQL)), asked(run(SQL, policy="fixed:R,A,B"))
    assert least == [ROWS, ROWS // 4]
    assert few[1] <= 1.3 * least[1]


@pytest.mark.parametrize(
    ("sql", "alias", "shared"),
    [
        pytest.param(SQL, 2, COPIES, id="the key is of R"),
        pytest.param(CHAIN, 2, 1.0, id="the key is of A"),
    ],
)
def test_who_asks_by_what_was_multiplied_has_keys_of_its_own(sql: str, alias: int, shared: float) -> None:
    keys = SharedKeys(run(sql).eddy.block.plan)
    assert keys(TupleState(0b11), Move(alias, 0)) == 1.0
    keys.learn(Move(1, 0), Load(copies=COPIES))
    assert keys(TupleState(0b11), Move(alias, 0)) == shared
    assert keys(TupleState(0b01), Move(alias, 0)) == 1.0


def test_without_a_plan_nothing_is_shared() -> None:
    keys = SharedKeys(None)
    keys.learn(Move(1, 0), Load(copies=COPIES))
    assert keys(TupleState(0b11), Move(2, 0)) == 1.0
