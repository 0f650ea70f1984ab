"""What the experiments of the eddies paper share: their tables, their plans, and a run of one plan (S1 sections 4.1 and 4.4).

The tables are a tenth of the paper's, or less: what is claimed are ratios, and these do not depend on the size.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fff.classic.eddy import ClassicEddy, Options, Trace
from fff.classic.joins import IndexJoin
from fff.classic.modules import Module
from fff.classic.processors import OwnServers, SharedProcessor
from fff.classic.query import Cost, Index, JoinPredicate, Query, Relation, Row, Scan, SelectionPredicate
from fff.dataflow.expressions import Column
from fff.dataflow.policy import RoutingPolicy
from fff.experiments.experiment import Curve
from fff.policies.lottery import Lottery
from fff.policies.naive import Naive

#: Lotteries that the eddy's thread holds for each tuple finished, where it shares the processor. The paper does not say.
#: At 1.0 lotteries lose to back-pressure where costs differ (E1), at 2.0 back-pressure wins over tickets (E2).
LOTTERIES = 1.2


@dataclass(frozen=True)
class Run:
    """One plan, run to its end."""

    trace: Trace
    modules: tuple[Module, ...]

    @property
    def time(self) -> float:
        """When it was done, in cost units."""
        return self.trace.end

    @property
    def times(self) -> list[float]:
        """When each result was found."""
        return [time for time, _ in self.trace.results]

    def number(self, name: str) -> int:
        """The number of a module."""
        return [module.name for module in self.modules].index(name)

    def taken(self, name: str) -> int:
        """How many tuples a module was given."""
        return self.modules[self.number(name)].taken

    def share(self, name: str, alias: int) -> float:
        """How many of an alias's tuples went to a module first, of those that had a choice."""
        return self.trace.share(self.number(name), 1 << alias)


def _run(query: Query, policy: RoutingPolicy, seed: int, options: Options) -> Run:
    eddy = ClassicEddy(query, policy, random.Random(seed), options)
    return Run(eddy.run(), tuple(eddy.modules))


def static(query: Query, *order: str, remote: bool = False) -> Run:
    """A static plan. `remote`: modules are servers of their own, else threads on one processor."""
    return _run(query, Naive(), 0, Options(order=order, processor=OwnServers if remote else SharedProcessor))


def naive(query: Query, seed: int) -> Run:
    """The naive eddy, on one processor."""
    return _run(query, Naive(), seed, Options(processor=SharedProcessor))


def lottery(query: Query, seed: int, policy: RoutingPolicy | None = None) -> Run:
    """An eddy that draws, on one processor."""
    return _run(query, policy or Lottery(), seed, Options(processor=SharedProcessor, lotteries=LOTTERIES))


def remote(query: Query, seed: int, policy: RoutingPolicy) -> Run:
    """An eddy among servers of their own."""
    return _run(query, policy, seed, Options())


def spread(count: int, rng: random.Random) -> list[float]:
    """`count` values in [0, 1) in random order, so even that any share p of them is below p."""
    values = [(place + 0.5) / count for place in range(count)]
    rng.shuffle(values)
    return values


def two_selections(count: int, costs: tuple[Cost, Cost], passing: tuple[float, float], seed: int) -> Query:
    """SELECT * FROM U WHERE s1() AND s2(): costs and selectivities of both."""
    rng = random.Random(seed)
    rows: list[Row] = list(zip(spread(count, rng), spread(count, rng), strict=True))
    return Query(
        (Relation("U", rows),),
        selections=(
            SelectionPredicate("s1", 0, lambda row: _number(row, 0) < passing[0], costs[0]),
            SelectionPredicate("s2", 0, lambda row: _number(row, 1) < passing[1], costs[1]),
        ),
    )


def _number(row: Row, column: int) -> float:
    value = row[column]
    assert isinstance(value, float)
    return value


@dataclass(frozen=True)
class Chain:
    """R, S, T of SELECT * FROM R, S, T WHERE R.a = S.a AND S.b = T.b, by how many rows each value finds.

    `r`, `t`: rows of R and T. `values_a`: how many values S.a has; R's run from `first_a` on, each as often as the others.
    `values_b`, `t_values`: how many values S.b and T.b have. `index`: cost of a lookup in T, which then has no scan.
    """

    r: int
    t: int
    values_a: int
    values_b: int
    t_values: int
    r_values: int
    first_a: int = 0
    s: int = 8000
    index: Cost | None = None
    delay_r: float = 0.0
    delay_s: float = 0.0

    def rows(self, seed: int) -> tuple[list[Row], list[Row], list[Row]]:
        """The rows of R, S and T, in random order."""
        rng = random.Random(seed)
        r: list[Row] = [(self.first_a + place % self.r_values,) for place in range(self.r)]
        s: list[Row] = [(rng.randrange(self.values_a), rng.randrange(self.values_b)) for _ in range(self.s)]
        t: list[Row] = [(place % self.t_values,) for place in range(self.t)]
        rng.shuffle(r)
        rng.shuffle(t)
        return r, s, t

    def query(self, seed: int) -> Query:
        """The query over these rows. A ripple join takes one unit for a tuple."""
        r, s, t = self.rows(seed)
        asked = () if self.index is None else (Index(0, self.index, caches=False),)
        return Query(
            (
                Relation("R", r, Scan(self.delay_r)),
                Relation("S", s, Scan(self.delay_s)),
                Relation("T", t, None if asked else Scan(), asked),
            ),
            (JoinPredicate(Column(0, 0), Column(1, 0)), JoinPredicate(Column(1, 1), Column(2, 0))),
        )


def two_indexes(count: int, matching: float, costs: tuple[Cost, Cost], seed: int) -> Query:
    """A scanned relation F joined with A and B, which can only be asked: each has a match for a share of F's tuples."""
    rng = random.Random(seed)
    rows: list[Row] = [
        (int(one >= matching), int(other >= matching))
        for one, other in zip(spread(count, rng), spread(count, rng), strict=True)
    ]
    only: list[Row] = [(0,)]
    one, other = (Index(0, cost, caches=False) for cost in costs)
    return Query(
        (Relation("F", rows), Relation("A", only, None, (one,)), Relation("B", only, None, (other,))),
        (JoinPredicate(Column(0, 0), Column(1, 0)), JoinPredicate(Column(0, 1), Column(2, 0))),
    )


def lookups(run: Run, name: str) -> int:
    """How many lookups an index join has made."""
    module = run.modules[run.number(name)]
    assert isinstance(module, IndexJoin)
    return len(module.lookups)


def percent(share: float) -> str:
    """A share for people to read."""
    return f"{100 * share:.1f} %"


def bars(values: Mapping[str, float]) -> tuple[Curve, ...]:
    """One mark for each plan, side by side: the paper's bar charts."""
    return tuple(
        Curve(name, [place], [value], "points") for place, (name, value) in enumerate(values.items(), start=1)
    )


def progress(name: str, times: Sequence[float]) -> Curve:
    """Results over time: `times` are those of each result, in order."""
    step = max(1, len(times) // 150)
    kept = [*range(0, len(times), step), len(times) - 1] if times else []
    return Curve(name, [times[place] for place in kept], [place + 1 for place in kept])
