"""The eddy's buffer: a priority queue with a pluggable scheme, from which a module gets the first tuple that is Ready for it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TypeAlias

from fff.dataflow.plan.state import TupleState
from fff_experiments.classic.modules import RoutedTuple

#: Smaller goes first.
Priority: TypeAlias = Callable[[RoutedTuple], int]


def returned_first(item: RoutedTuple) -> int:
    """The paper's scheme: what a module has returned goes before what is new, so that tuples flow out (S1 section 4)."""
    return 0 if item.returned else 1


def in_turn(item: RoutedTuple) -> int:  # noqa: ARG001
    """No preference: in the order of entering the buffer. The eddy clogs with new tuples."""
    return 0


class Buffer:
    """Waiting tuples. Those of one TupleState are Ready for the same modules, so they are kept by it."""

    def __init__(self, priority: Priority) -> None:
        self._priority = priority
        self._waiting: dict[TupleState, list[tuple[int, int, RoutedTuple]]] = {}
        self._entered = 0
        self.size = 0
        self.largest = 0

    def push(self, item: RoutedTuple) -> None:
        """Add a tuple behind those of the same priority."""
        item.order = self._entered
        self._entered += 1
        entry = (self._priority(item), item.order, item)
        heapq.heappush(self._waiting.setdefault(TupleState(item.span, item.done), []), entry)
        self.size += 1
        self.largest = max(self.largest, self.size)

    def first(self, passed: set[TupleState]) -> TupleState | None:
        """The state of the first tuple, those of the states in `passed` apart."""
        ready = None
        best = (0, 0)
        for state, heap in self._waiting.items():
            if heap and state not in passed and (ready is None or heap[0][:2] < best):
                ready, best = state, heap[0][:2]
        return ready

    def pop(self, state: TupleState) -> RoutedTuple:
        """Take out the first tuple of a state."""
        self.size -= 1
        return heapq.heappop(self._waiting[state])[2]
