"""A static plan run through the eddy (ledger B4): predicates first, then aliases in one given order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.errors import UsageError


class Fixed:
    """Always the first legal alias of the order; never an accelerating lookup."""

    name = "fixed"

    def __init__(self, plan: BlockPlan, order: Sequence[str] | None = None) -> None:
        names = [alias.name for alias in plan.aliases]
        wanted = list(order or names)
        if sorted(name.lower() for name in wanted) != sorted(name.lower() for name in names):
            raise UsageError(f"the fixed order {','.join(wanted)} must name each of {', '.join(names)} once")
        lower = [name.lower() for name in wanted]
        self._place = [lower.index(name.lower()) for name in names]

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """The move to the earliest alias; a predicate before any alias."""
        return min(moves, key=self._order)

    def _order(self, move: Move) -> tuple[int, int]:
        if move.predicate is not None:
            return -1, move.predicate
        return self._place[move.alias], -1 if move.lookup is None else move.lookup

    def observe(self, outcome: Outcome) -> None:
        """A static plan learns nothing."""
