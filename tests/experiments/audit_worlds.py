"""What the engine says of its own routing (the self-audit) against what every static order really costs.

Rows of R are looked up in three tables that each let a share of them pass, under ten conditions. The truth is had by running
every static order on the same rows: its requests, at the seconds that the servers really take, and its hops. What is
judged is the interval of the regret and the order that is called the best, as `fff explain --analyze` tells them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fff.dataflow.eddy import EddyOptions
from fff.options import Preference
from fff.policies import make_policy
from fff.policies.adaptive.posterior import PROBE_S
from fff.result.audit.evidence import lookups_of
from fff.result.audit.hindsight import hindsight
from fff.runtime.block_run import LOOKUPS
from fff.simulation.run import BlockRun, run_block
from fff.simulation.service import FixedTime, LogNormal
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable

Condition = Literal[
    "equal latency",
    "20 ms to 1 s",
    "batches of 20",
    "40 distinct keys",
    "correlated",
    "fan-out 20",
    "30 rows",
    "content-dependent",
    "one shared host",
    "worst order",
]
CONDITIONS: tuple[Condition, ...] = (
    "equal latency",
    "20 ms to 1 s",
    "batches of 20",
    "40 distinct keys",
    "correlated",
    "fan-out 20",
    "30 rows",
    "content-dependent",
    "one shared host",
    "worst order",
)
_TABLES = 3
ORDERS = tuple(itertools.permutations(range(_TABLES)))


def static(order: Sequence[int]) -> str:
    """The policy that follows an order of the tables."""
    return "fixed:" + ",".join(["R", *(f"T{number}" for number in order)])


@dataclass(frozen=True)
class AuditWorld:
    """`keys[row, table]`: what a row looks up; `passes[key, table]`: whether it is there; answers take `seconds[table]`."""

    condition: Condition
    keys: npt.NDArray[np.int64]
    passes: npt.NDArray[np.bool_]
    seconds: tuple[float, ...]

    @property
    def tables(self) -> list[SimulatedTable]:
        """R and the tables it is looked up in."""
        names = {f"k{number}": self.keys[:, number] for number in range(_TABLES)}
        rows = pa.record_batch({"k": np.arange(len(self.keys))} | names)
        found = [SimulatedTable("R", rows, ("k",), (SimulatedScan(page_rows=100, latency=FixedTime(0.01)),))]
        batch = 20 if self.condition == "batches of 20" else 1
        host = "host" if self.condition == "one shared host" else ""
        for number, seconds in enumerate(self.seconds):
            here = np.flatnonzero(self.passes[:, number])
            here = np.repeat(here, self.copies(number))
            lookup = SimulatedLookup(("x",), LogNormal(seconds, 0.1), 4, batch, host=host)
            held = pa.record_batch({"x": here, "v": np.arange(len(here))})
            found.append(SimulatedTable(f"T{number}", held, (), (), (lookup,)))
        return found

    def run(self, policy: str, seed: int, prefer: Preference = "balanced") -> BlockRun:
        """In virtual time."""
        joins = (f"JOIN T{number} ON R.k{number} = T{number}.x" for number in range(_TABLES))
        run = run_block(
            " ".join(["SELECT R.k FROM R", *joins]),
            self.tables,
            policy=lambda plan: make_policy(policy, plan, prefer),
            seed=seed,
            options=EddyOptions(lookups=LOOKUPS[prefer]),
        )
        assert run.complete
        return run

    def requests(self, run: BlockRun) -> int:
        """How many a run took."""
        return sum(table.lookups[0].issued for table in run.eddy.statistics().tables[1:])

    def cost(self, run: BlockRun) -> float:
        """Seconds of service that a run took: a request takes what its server usually takes."""
        lookups = [table.lookups[0].issued for table in run.eddy.statistics().tables[1:]]
        return self._seconds(run.eddy.flow().tuples, lookups)

    def _seconds(self, hops: int, requests: Sequence[int]) -> float:
        return hops * PROBE_S + float(np.dot(requests, self.seconds))

    def fixed(self, order: Sequence[int], seed: int) -> float:
        """What a static order costs. How full requests are is known once it has run, everything else beforehand."""
        if self.condition == "batches of 20":
            return self.cost(self.run(static(order), seed))
        hops, requests = 0, [0] * _TABLES
        rows, many = np.arange(len(self.keys)), 1
        for table in order:
            hops += len(rows) * many
            keys = self.keys[rows, table]
            requests[table] = len(np.unique(keys))
            rows = rows[self.passes[keys, table]]
            many *= self.copies(table)
        return self._seconds(hops, requests)

    def copies(self, table: int) -> int:
        """Rows that a key has, if it has any."""
        return 20 if self.condition == "fan-out 20" and not table else 1


def draw(condition: Condition, rows: int, seed: int) -> AuditWorld:
    """The world of a seed. Answers take 100 ms, or 20 ms to 1 s where they may differ."""
    rng = np.random.default_rng(seed)
    many = 30 if condition == "30 rows" else rows
    values = 40 if condition == "40 distinct keys" else many
    keys = np.stack([rng.permutation(values) for _ in range(_TABLES)], axis=1)
    if values < many:
        keys = rng.integers(0, values, (many, _TABLES))
    classes = {"correlated": 3, "content-dependent": 2}.get(condition, 1)
    rates = rng.uniform(0.05, 0.95, (classes, _TABLES))
    if condition == "content-dependent":
        rates[1] = 1 - rates[0]  # what lets many of the one kind pass lets few of the other
    kind = rng.choice(classes, many, p=rng.dirichlet(np.ones(classes)))
    row_passes = rng.random((many, _TABLES)) < rates[kind]
    passes = np.zeros((values, _TABLES), np.bool_)
    for table in range(_TABLES):
        passes[keys[:, table], table] = row_passes[:, table]
    alike = condition in ("equal latency", "one shared host")
    seconds = np.exp(rng.uniform(math.log(0.02), math.log(1.0), _TABLES))
    return AuditWorld(condition, keys, passes, (0.1,) * _TABLES if alike else tuple(seconds.tolist()))


@dataclass(frozen=True)
class Audited:
    """What the audit says of a run, and what is true."""

    low: float
    regret: float
    high: float
    true: float
    dearer: float  # the order called the best, over the best
    tied: bool  # whether that or one of its ties is the best
    ties: int

    @property
    def inside(self) -> bool:
        """Whether the truth is in the interval; to a tenth of a percent."""
        return self.low - 1e-3 <= self.true <= self.high + 1e-3


def audited(condition: Condition, rows: int, world_seed: int, seed: int) -> Audited:
    """A run, its audit, and every static order."""
    world = draw(condition, rows, world_seed)
    costs = {order: world.fixed(order, seed) for order in ORDERS}
    worst = max(costs, key=lambda order: costs[order])
    run = world.run(static(worst) if condition == "worst order" else "adaptive", seed)
    told = hindsight(run.eddy.block.plan, run.eddy.flow(), seed, lookups_of(run.eddy.statistics()))
    assert told is not None
    best = min(costs.values())
    called, *ties = (_order(names) for names in (told.order, *told.ties))
    return Audited(
        told.low,
        told.regret,
        told.high,
        world.cost(run) / best - 1,
        costs[called] / best - 1,
        any(costs[order] <= 1.001 * best for order in (called, *ties)),
        len(ties),
    )


def _order(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(name.removeprefix("T")) for name in names if name != "R")
