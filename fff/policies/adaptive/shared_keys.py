"""How many tuples ask by one row: what a join has multiplied asks other tables for no more keys than before.

A lookup asks for each key once. Where rows of R are looked up in A, which has 20 rows for a key, and then
in B by a column of R, the 20 tuples of a row have one key of B between them. Whoever counts a key for each
of them never asks A first, however many rows that would spare B.
"""

from __future__ import annotations

import math

from fff.dataflow.plan.moves import Load, Move
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing.constraints import Constraints, PinnedKey


class SharedKeys:
    """Of the tuples of a state, how many have a key of a lookup in common, by the copies that other tables made of them."""

    def __init__(self, plan: BlockPlan | None) -> None:
        self._constraints = None if plan is None else Constraints.of(plan)
        self._copies: dict[int, float] = {}  # rows for a key that has any, where more than one, by alias
        self._origins: dict[tuple[int, Move], int] = {}

    def learn(self, move: Move, load: Load) -> None:
        """What the answers of a lookup have brought so far."""
        if load.copies > self._copies.get(move.alias, 1.0):
            self._copies[move.alias] = load.copies

    def __call__(self, state: TupleState, move: Move) -> float:
        """How many tuples of the state have a key in common; at least 1."""
        if self._constraints is None or move.lookup is None or not self._copies:
            return 1.0
        key = state.span, move
        if key not in self._origins:
            self._origins[key] = self._origin(state.span, move.alias, self._constraints)
        made = (self._copies.get(alias, 1.0) for alias in bits(state.span & ~self._origins[key]))
        return math.prod(made)

    def _origin(self, span: int, alias: int, constraints: Constraints) -> int:
        """The tables that the key of an alias comes from, with those that these were found by."""
        origin = 0
        for binding in constraints.bindings(span, alias):
            for source in binding.sources:
                if not isinstance(source, PinnedKey) and not origin >> source[0] & 1:
                    origin |= 1 << source[0]
                    origin |= self._origin(span & ~(1 << source[0]), source[0], constraints)
        return origin
