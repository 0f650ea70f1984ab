"""The sources of the SteM paper (S4, Table 3), simulated for the engine and as inputs of the join modules of 2000.

What the paper does not say is set so that what it does say comes out: one lookup takes 1.09 s (82.5 lookups
in about 90 s, figure 8), and an index serves one at a time; where the scan of R is not what an experiment is
about it takes 2 s.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.moves import Move, Offer, Outcome
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies.naive import Naive
from fff.simulation.recorder import Steps
from fff.simulation.service import FixedTime, Stall, ending
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from fff_experiments.classic.eddy import ClassicEddy, Options, Trace
from fff_experiments.classic.joins import IndexJoin
from fff_experiments.classic.modules import Module, RoutedTuple
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicMoment,
    ClassicQuery,
    ClassicRelation,
    ClassicScan,
    JoinPredicate,
    Value,
)
from fff_experiments.experiment import Curve

ROWS = 1000
VALUES = 250
LOOKUP_S = 1.09
SCAN_S = 2.0
#: Room in front of each join module; enough for all of R, since what waits there or in the eddy is the same
#: in these queries.
QUEUE = ROWS
#: Runs, each with a seed of its own, whose means are held to the expectations.
SEEDS = 10
SETTING = (
    f"R has {ROWS} rows with {VALUES} values of R.a at random, its scan takes {SCAN_S:.0f} s; a lookup takes {LOOKUP_S} s, and an "
    "index serves one at a time."
)

_R = pa.schema([("key", pa.int64()), ("a", pa.int64())])
_XY = pa.schema([("x", pa.int64()), ("y", pa.int64())])


def values_of_a(seed: int) -> list[int]:
    """R.a: 1000 values out of 250, at random."""
    rng = random.Random(seed)
    return [rng.randrange(VALUES) for _ in range(ROWS)]


def scan(rows: int, seconds: float, page_rows: int) -> SimulatedScan:
    """A scan that delivers its pages evenly over so many seconds."""
    return SimulatedScan(page_rows=page_rows, latency=FixedTime(seconds * page_rows / rows))


def table_r(seed: int) -> SimulatedTable:
    """R(key, a), scanned."""
    rows = pa.record_batch([list(range(ROWS)), values_of_a(seed)], schema=_R)
    return SimulatedTable("R", rows, ("key",), (scan(ROWS, SCAN_S, 20),))


def table_xy(name: str, *columns: str, stalls: tuple[Stall, ...] = ()) -> SimulatedTable:
    """S, T or U: x = y in every row, an index on each of the columns."""
    values = list(range(VALUES))
    lookups = tuple(SimulatedLookup((column,), FixedTime(LOOKUP_S), stalls=stalls) for column in columns)
    return SimulatedTable(name, pa.record_batch([values, values], schema=_XY), ("x",), (), lookups)


class NobodyIdle:
    """Routing by back-pressure alone (S1 section 4.2): an index that has room gets tuples; those that find none wait.

    Each index has room for the lookups that may be under way at once. A move that needs no lookup always has
    room and is taken where no index has: the probe is then left to what a scan brings.
    """

    name = "nobody idle"

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """Any move; asked only where nothing is under way."""
        return rng.choice(moves)

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """An index with room, one of several at random, and as many tuples as have room there."""
        rooms = {move: offer.load(move).room for move in offer.moves}
        idle = [move for move, room in rooms.items() if room]
        if idle:
            move = rng.choice(idle)
            return move, rooms[move] or 1
        free = [move for move, room in rooms.items() if room is None]
        return (rng.choice(free), offer.size) if free else None

    def observe(self, outcome: Outcome) -> None:
        """It learns nothing."""


# --------------------------------------------------------------------------------------- join modules of 2000


def classic_r(seed: int) -> ClassicRelation:
    """R as an input: rows (key, a), there when the simulated pages are."""
    page_s = SCAN_S * 20 / ROWS
    rows = list(enumerate(values_of_a(seed)))
    return ClassicRelation("R", rows, ClassicScan(delay=page_s, interval=(SCAN_S - page_s) / ROWS))


def classic_xy(name: str, *columns: int) -> ClassicRelation:
    """S, T or U: rows (x, y), no scan."""
    indexes = tuple(ClassicIndex(column, LOOKUP_S) for column in columns)
    return ClassicRelation(name, [(value, value) for value in range(VALUES)], None, indexes)


class TimedIndexJoin(IndexJoin):
    """An index join, one lookup at a time, that notes when it returns what; lookups stand still during stalls."""

    def __init__(
        self,
        name: str,
        query: ClassicQuery,
        predicate: JoinPredicate,
        inner: int,
        *,
        stalls: Sequence[Stall] = (),
        cache: dict[Value, tuple[tuple[Value, ...], ...]] | None = None,
        caches: bool = True,
    ) -> None:
        def remote(moment: ClassicMoment) -> float:
            return ending(moment.time, LOOKUP_S, stalls) - moment.time

        relation = query.relations[inner]
        residual = [other for other in query.joins if other is not predicate]
        index = ClassicIndex(predicate.column_of(inner), remote, caches=caches)
        super().__init__(
            name,
            QUEUE,
            predicate,
            inner=inner,
            rows=relation.rows,
            index=index,
            aliases=len(query.relations),
            residual=residual,
            cache=cache,
        )
        self.match_times: list[tuple[float, int]] = []
        self._end = 0.0

    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:
        """As the index join says."""
        cost = super().cost(item, moment)
        self._end = moment.time + cost
        return cost

    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """As the index join does."""
        matches = super().process(item)
        self.match_times.append((self._end, len(matches)))
        return matches

    @property
    def probes(self) -> Steps:
        """Lookups begun over time."""
        return Steps.of((time, 1) for time in self.lookups)

    @property
    def returned(self) -> Steps:
        """Tuples returned over time."""
        return Steps.of(self.match_times)


def equal(one: tuple[int, int], other: tuple[int, int]) -> JoinPredicate:
    """`alias.column = alias.column`, by ordinals."""
    return JoinPredicate(Column(*one), Column(*other))


def run_classic(
    query: ClassicQuery,
    modules: Sequence[Module],
    scanned: Sequence[int],
    seed: int,
    policy: RoutingPolicy | None = None,
) -> Trace:
    """The eddy of 2000 over these modules, each with a server of its own."""
    eddy = ClassicEddy(
        query,
        policy or Naive(),
        random.Random(seed),
        Options(queue=QUEUE, buffer=2 * ROWS, ahead=ROWS),
        (modules, frozenset(scanned)),
    )
    return eddy.run()


def results_of(trace: Trace) -> Steps:
    """Results over time."""
    return Steps.of((time, 1) for time, _ in trace.results)


# --------------------------------------------------------------------------------------------------- findings


def curve(label: str, steps: Steps, until: float | None = None) -> Curve:
    """What is counted over time, from (0, 0) on, up to a time."""
    kept = [(t, n) for t, n in zip(steps.times, steps.totals, strict=True) if until is None or t <= until]
    if until is not None:
        kept.append((until, steps.at(until)))
    return Curve(label, (0.0, *(t for t, _ in kept)), (0, *(n for _, n in kept)), "steps")


def rises(steps: Steps, begin: float, end: float, parts: int = 10) -> int:
    """In how many of so many equal parts of a time the count rises."""
    moments = [begin + (end - begin) * part / parts for part in range(parts + 1)]
    return sum(steps.at(late) > steps.at(early) for early, late in itertools.pairwise(moments))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)
