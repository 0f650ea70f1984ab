"""Modules: what tuples are given to.

Each has a finite input queue, which is all the back-pressure there is (S1 section 4.2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from fff_experiments.classic.query import ClassicMoment, Cost, JoinPredicate, Rows, SelectionPredicate


@dataclass(slots=True)
class RoutedTuple:
    """A tuple inside the eddy, with its descriptor.

    `done` has a bit for each module. Ready bits are not kept: OR-ing those of both inputs, as the paper has
    it, is wrong under ordering constraints (ledger P38), so they are derived from `span` and `done`. `order`
    is the place in the order of entering the buffer, `returned` whether a module has returned it.
    """

    rows: Rows
    span: int
    done: int = 0
    order: int = 0
    returned: bool = False


class Module(ABC):
    """An operator: a queue of `capacity` tuples, of which `concurrency` are worked on at once beside those queued."""

    def __init__(self, name: str, capacity: int, concurrency: int = 1) -> None:
        self.name = name
        self.capacity = capacity
        self.concurrency = concurrency
        self.queue: deque[RoutedTuple] = deque()  # Invariant: len(queue) <= capacity
        self.busy = 0  # Invariant: busy <= concurrency
        self.longest = 0  # the longest that the queue has been
        self.taken = 0
        self.produced = 0

    @property
    def room(self) -> bool:
        """Whether one more tuple can be put into the queue, or straight to work."""
        return len(self.queue) < self.capacity or (self.busy < self.concurrency and not self.queue)

    def put(self, item: RoutedTuple) -> None:
        """Queue a tuple."""
        assert self.room, f"{self.name} is full"
        self.queue.append(item)
        self.taken += 1

    @abstractmethod
    def takes(self, span: int) -> bool:
        """Whether tuples of this span may come, if they have not been here (the Ready bit)."""

    def spanned(self, span: int) -> bool:  # noqa: ARG002
        """Whether tuples of this span must have passed here, or an equivalent module."""
        return False

    @abstractmethod
    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:
        """Units of work it takes to process a tuple, as seen when the work begins."""

    @abstractmethod
    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """What comes of a tuple when the work on it is done."""


def price(cost: Cost, moment: ClassicMoment) -> float:
    """A cost at a moment."""
    return cost(moment) if callable(cost) else cost


class Selection(Module):
    """Returns tuples that pass its predicate and drops the others."""

    def __init__(self, predicate: SelectionPredicate, capacity: int) -> None:
        super().__init__(predicate.name, capacity)
        self.predicate = predicate

    def takes(self, span: int) -> bool:
        """Tuples that span the alias it is about."""
        return bool(span >> self.predicate.alias & 1)

    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:  # noqa: ARG002
        """That of the predicate."""
        return price(self.predicate.cost, moment)

    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """The tuple itself, or nothing."""
        row = item.rows[self.predicate.alias]
        assert row is not None
        return (item,) if self.predicate.test(row) else ()


class Join(Module):
    """What joins have in common: two aliases, and predicates that become evaluable when tuples of both meet."""

    def __init__(
        self,
        name: str,
        capacity: int,
        sides: tuple[int, int],
        residual: Sequence[JoinPredicate],
        concurrency: int = 1,
    ) -> None:
        super().__init__(name, capacity, concurrency)
        self.sides = sides
        self.residual = tuple(residual)

    def spanned(self, span: int) -> bool:
        """Tuples that span both sides have been joined on them: the predicates form a tree."""
        left, right = self.sides
        return bool(span >> left & 1 and span >> right & 1)

    def concatenated(self, one: RoutedTuple, rows: Rows, span: int, done: int) -> RoutedTuple | None:
        """`one` with what it met, unless a predicate says no. Done bits are OR-ed (S1 section 3.2)."""
        joined = tuple(
            mine if mine is not None else theirs for mine, theirs in zip(one.rows, rows, strict=True)
        )
        both = one.span | span
        for predicate in self.residual:
            reach = predicate.span
            if not reach & ~both and reach & ~one.span and reach & ~span and not predicate.holds(joined):
                return None
        return RoutedTuple(joined, both, one.done | done)
