"""The self-audit of a run, JSON-ready: how tuples flowed over time, what routing spent, and what it might have spent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from fff.dataflow.flow import Hop
from fff.dataflow.hindsight import hindsight
from fff.dataflow.moves import Move
from fff.dataflow.naming import move_name, state_name
from fff.dataflow.state import TupleState
from fff.runtime.block import RunningBlock


def audits(blocks: Sequence[RunningBlock], seed: int) -> list[dict[str, Any]]:
    """One account per block whose tuples had a choice."""
    return [found for block in blocks if (found := _audit(block, seed)) is not None]


def _audit(block: RunningBlock, seed: int) -> dict[str, Any] | None:
    plan = block.query.plan
    found = hindsight(plan, block.eddy.router.flow, seed)
    if found is None:
        return None
    return {
        "block": block.query.view or str(block.number),
        "spent": {"requests": round(found.spent.requests), "hops": round(found.spent.hops)},
        "best_order": list(found.order),
        "best": {"requests": round(found.best.requests, 1), "hops": round(found.best.hops, 1)},
        "regret": round(found.regret, 4),
        "regret_low": round(found.low, 4),
        "regret_high": round(found.high, 4),
        "over_time": _over_time(block),
    }


def _over_time(block: RunningBlock) -> list[dict[str, Any]]:
    """For every state with a choice, interval by interval of about equally many hops, the share that went to each destination."""
    constraints, plan = block.eddy.block.constraints, block.query.plan
    history = block.eddy.router.flow.history
    states = dict.fromkeys(
        state for interval in history for state, _ in interval if len(constraints.legal(state)) > 1
    )
    return [
        {
            "state": state_name(plan, state),
            "shares": [
                {move_name(plan, move): share for move, share in _shares(interval, state)}
                for interval in history
            ],
        }
        for state in states
    ]


def _shares(interval: Counter[Hop], state: TupleState) -> list[tuple[Move, float]]:
    taken: dict[Move, int] = defaultdict(int)
    for (other, move), tuples in interval.items():
        if other == state:
            taken[move] += tuples
    total = sum(taken.values())
    return [(move, round(tuples / total, 3)) for move, tuples in taken.items()]
