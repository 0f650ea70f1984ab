"""The eddy's own buffer: batches waiting to be routed, prioritised ones first, then the furthest-travelled (S1 section 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from fff.dataflow.plan.batch import TupleBatch, merge
from fff.dataflow.plan.state import TupleState
from fff.limits import ROUTED_AT_FIRST, ROUTED_MOST, ROUTED_SHARE

#: Fuzzing: which of n waiting batches is routed next.
Pick = Callable[[int], int]
_ByState = dict[TupleState, deque[TupleBatch]]


class WaitingTuples:
    """Batches by TupleState, first in, first out. Small arrivals of one state leave together, large ones in parts.

    A batch has its price, and takes one decision: parts are of `route_size`, or else the larger the more has been routed, so
    that no decision is about much beside what it rests on.
    """

    def __init__(self, route_size: int | None, pick: Pick | None = None) -> None:
        self._route_size = ROUTED_AT_FIRST if route_size is None else route_size
        self._grows = route_size is None
        self._routed = 0  # tuples that were handed out and have gone
        self._pick = pick
        self._waiting: _ByState = {}
        self._urgent: _ByState = {}  # what the user wants first (R8)
        self._held: list[tuple[TupleBatch, bool]] = []  # until a lookup has ended
        self.tuples = 0  # Invariant: tuples == sum of the lengths of all waiting batches, held ones included

    def __bool__(self) -> bool:
        return bool(self._waiting or self._urgent)

    def push(self, batch: TupleBatch, *, urgent: bool = False, back: bool = False) -> None:
        """Add a batch that is not empty; `back`: what was handed out and has not gone stands before the others again."""
        line = (self._urgent if urgent else self._waiting).setdefault(batch.state, deque())
        (line.appendleft if back else line.append)(batch)
        self.tuples += len(batch)
        self._routed -= len(batch) * back

    def pop(self) -> tuple[TupleBatch, bool]:
        """The next batch to route, and whether it is an urgent one."""
        if self._pick:
            batch, urgent = self._picked(self._pick)
        else:
            urgent = bool(self._urgent)
            batch = self._furthest(self._urgent if urgent else self._waiting)
        self.tuples -= len(batch)
        if self._grows:
            self._route_size = max(self._route_size, min(int(ROUTED_SHARE * self._routed), ROUTED_MOST))
        self._routed += len(batch)
        if len(batch) > self._route_size:
            batch, rest = batch.split(self._route_size)
            self.push(rest, urgent=urgent, back=True)
        return batch, urgent

    def hold(self, batch: TupleBatch, *, urgent: bool = False) -> None:
        """Keep a batch aside until `resume`."""
        self._held.append((batch, urgent))
        self.tuples += len(batch)

    def resume(self) -> None:
        """What was kept aside is waiting again."""
        held, self._held = self._held, []
        for batch, urgent in reversed(held):
            self.tuples -= len(batch)
            self.push(batch, urgent=urgent, back=True)

    def clear(self) -> None:
        """Drop everything."""
        self._waiting.clear()
        self._urgent.clear()
        self._held.clear()
        self.tuples = 0

    def batches(self) -> Iterator[TupleBatch]:
        """Everything that waits, urgent batches first."""
        for waiting in (self._urgent, self._waiting):
            for batches in waiting.values():
                yield from batches
        yield from (batch for batch, _ in self._held)

    def counted(self) -> int:
        """The tuples waiting, counted anew; for validation."""
        return sum(len(batch) for batch in self.batches())

    def _furthest(self, waiting: _ByState) -> TupleBatch:
        state = max(waiting, key=lambda state: state.weight)
        batches = waiting[state]
        taken: list[TupleBatch] = []
        size = 0
        while batches and (not taken or size + len(batches[0]) <= self._route_size):
            taken.append(batches.popleft())
            size += len(taken[-1])
        if not batches:
            del waiting[state]
        return merge(taken)

    def _picked(self, pick: Pick) -> tuple[TupleBatch, bool]:
        places = [
            (waiting, state, index)
            for waiting in (self._urgent, self._waiting)
            for state, batches in waiting.items()
            for index in range(len(batches))
        ]
        waiting, state, index = places[pick(len(places))]
        batch = waiting[state][index]
        del waiting[state][index]
        if not waiting[state]:
            del waiting[state]
        return batch, waiting is self._urgent
