"""What came of the routing so far: tuples taken and produced by TupleState and move, in all and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.state import TupleState
from fff.structs import Struct

#: Intervals that the history keeps at least half of; two neighbours become one when it is full.
INTERVALS = 24
#: Tuples of the first intervals, at least; doubled whenever neighbours become one.
FIRST_INTERVAL = 32

Hop = tuple[TupleState, Move]
Key = TypeVar("Key")


class Passage(Struct, frozen=True):
    """The tuples of one state that took one move, and what it cost."""

    taken: int = 0
    produced: int = 0
    requests: int = 0  # new keys asked for

    def __add__(self, other: Passage) -> Passage:
        """Both together."""
        return Passage(
            self.taken + other.taken,
            self.produced + other.produced,
            self.requests + other.requests,
        )


class FlowStatistics(Struct, frozen=True):
    """What came of each hop, and interval by interval how many tuples took it."""

    passages: Mapping[Hop, Passage]
    history: Sequence[Mapping[Hop, int]]

    @property
    def tuples(self) -> int:
        """Hops of tuples in all."""
        return sum(passage.taken for passage in self.passages.values())

    @property
    def requests(self) -> int:
        """Keys that routing has asked for."""
        return sum(passage.requests for passage in self.passages.values())


class Intervals(Generic[Key]):
    """How often each of some things happened, interval by interval of about as many in all; `first`: how many at first."""

    def __init__(self, first: int) -> None:
        self.counts: list[Counter[Key]] = [Counter()]
        self._interval = first
        self._counted = 0  # in the last interval

    def add(self, key: Key, count: int) -> None:
        """It happened so often."""
        self.counts[-1][key] += count
        self._counted += count
        if self._counted >= self._interval:
            self._begin_interval()

    def _begin_interval(self) -> None:
        if len(self.counts) == INTERVALS:
            pairs = zip(self.counts[::2], self.counts[1::2], strict=True)
            self.counts = [first + second for first, second in pairs]
            self._interval = 2 * max(self._interval, self._counted)  # as long as what became of two
        self.counts.append(Counter())
        self._counted = 0


class Flow:
    """Counts outcomes."""

    def __init__(self) -> None:
        self._passages: dict[Hop, list[int]] = {}  # taken, produced, requests: counted with every answer
        self._over_time: Intervals[Hop] = Intervals(FIRST_INTERVAL)

    @property
    def passages(self) -> dict[Hop, Passage]:
        """What came of each hop so far."""
        return {hop: Passage(*counts) for hop, counts in self._passages.items()}

    @property
    def history(self) -> list[Counter[Hop]]:
        """Interval by interval how many tuples took each hop."""
        return self._over_time.counts

    def observe(self, outcome: Outcome) -> None:
        """Add what came of a move."""
        hop = outcome.state, outcome.move
        counts = self._passages.get(hop)
        if counts is None:
            counts = self._passages[hop] = [0, 0, 0]
        counts[0] += outcome.taken
        counts[1] += outcome.produced
        counts[2] += outcome.requests
        if outcome.taken:
            self._over_time.add(hop, outcome.taken)

    def statistics(self) -> FlowStatistics:
        """The counts at this moment, which later outcomes do not change."""
        return FlowStatistics(self.passages, tuple(map(dict, self.history)))
