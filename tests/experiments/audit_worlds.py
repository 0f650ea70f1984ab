"""What the engine says of its own routing (the self-audit) against what every static order really costs.

Rows of R are looked up in three tables that each let a share of them pass, under ten conditions. The truth is had by running
every static order on the same rows: its requests, at the seconds that the servers really take, and its hops. What is
judged is the interval of the regret and the order that is called the best, as `fff explain --analyze` tells them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fff.result.audit.evidence import lookups_of
from fff.result.audit.hindsight import hindsight
from fff_experiments.regret.engine import EngineWorld, Kind, draw, static
from fff_experiments.regret.runs import named

#: By condition, the kind of world.
CONDITIONS: dict[str, Kind] = {
    "equal latency": "equal latency",
    "20 ms to 1 s": "20 ms to 1 s",
    "batches of 20": "batches of 20",
    "40 distinct keys": "40 distinct keys",
    "correlated": "correlated",
    "fan-out 20": "fan-out 20",
    "30 rows": "20 ms to 1 s",
    "content-dependent": "content-dependent",
    "one shared host": "one shared host",
    "worst order": "20 ms to 1 s",
}


def world_of(condition: str, rows: int, seed: int) -> EngineWorld:
    """What a seed stands for under a condition."""
    return draw(CONDITIONS[condition], 30 if condition == "30 rows" else rows, seed)


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


def audited(condition: str, rows: int, world_seed: int, seed: int) -> Audited:
    """A run, its audit, and every static order."""
    world = world_of(condition, rows, world_seed)
    costs = {order: world.fixed(order, seed) for order in world.orders}
    worst = max(costs, key=lambda order: costs[order])
    run = world.run(static(worst) if condition == "worst order" else named("adaptive"), seed)
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
