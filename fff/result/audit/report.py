"""The self-audit of a run, JSON-ready: how tuples flowed over time, what routing spent, and what it might have spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fff.dataflow.plan.labels import move_name, state_name
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.flow import FlowStatistics, Hop
from fff.options import Preference
from fff.result.audit.evidence import LookupsStatistics, lookups_of
from fff.result.audit.hindsight import Spend, hindsight
from fff.runtime.block_run import RunningBlock
from fff.structs import Struct


class Audited(Struct, frozen=True):
    """What the audit of a block rests on: nothing of its rows."""

    name: str
    plan: BlockPlan
    flow: FlowStatistics
    lookups: LookupsStatistics


def audited(block: RunningBlock) -> Audited:
    """A block as it is now."""
    eddy = block.eddy
    return Audited(block.name, block.query.plan, eddy.flow(), lookups_of(eddy.statistics()))


def audits(blocks: Sequence[Audited], seed: int, prefer: Preference) -> list[dict[str, Any]]:
    """One account per block whose tuples had a choice."""
    return [audit for block in blocks if (audit := _audit(block, seed, prefer)) is not None]


def _audit(block: Audited, seed: int, prefer: Preference) -> dict[str, Any] | None:
    plan, flow = block.plan, block.flow
    judged = hindsight(plan, flow, seed, block.lookups, prefer)
    if judged is None:
        return None
    return {
        "block": block.name,
        "spent": _rounded(judged.spent, 0),
        "best_order": list(judged.order),
        "best": _rounded(judged.best, 1),
        "ties": [list(order) for order in judged.ties],
        "regret": round(judged.regret, 4),
        "regret_low": round(judged.low, 4),
        "regret_high": round(judged.high, 4),
        "over_time": _over_time(plan, flow, judged.choices),
    }


def _rounded(spend: Spend, digits: int) -> dict[str, float]:
    return {
        "requests": round(spend.requests, digits or None),
        "hops": round(spend.hops, digits or None),
        "seconds": round(spend.seconds, 6),
    }


def _over_time(
    plan: BlockPlan, flow: FlowStatistics, choices: Collection[TupleState]
) -> list[dict[str, Any]]:
    """For every state with a choice, interval by interval of about equally many hops, the share that went to each destination."""
    states = dict.fromkeys(state for interval in flow.history for state, _ in interval if state in choices)
    return [
        {
            "state": state_name(plan, state),
            "shares": [
                {move_name(plan, move): share for move, share in _shares(interval, state)}
                for interval in flow.history
            ],
        }
        for state in states
    ]


def _shares(interval: Mapping[Hop, int], state: TupleState) -> list[tuple[Move, float]]:
    taken: dict[Move, int] = defaultdict(int)
    for (other, move), tuples in interval.items():
        if other == state:
            taken[move] += tuples
    total = sum(taken.values())
    return [(move, round(tuples / total, 3)) for move, tuples in taken.items()]
