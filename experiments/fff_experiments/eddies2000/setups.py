"""What the experiments of the eddies paper share: their tables, their plans, and a run of one plan (S1 sections 4.1 and 4.4).

The tables are a tenth of the paper's, or less: what is claimed are ratios, and these do not depend on the
size.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import permutations

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies.lottery import Lottery
from fff.policies.naive import Naive
from fff.policies.windowed_lottery import WindowedLottery
from fff.structs import Struct, replace
from fff_experiments.broken import Inverted
from fff_experiments.classic.eddy import ClassicEddy, Options, Trace
from fff_experiments.classic.joins import IndexJoin
from fff_experiments.classic.modules import Module
from fff_experiments.classic.preoptimizer import modules_of, spanning_tree
from fff_experiments.classic.processors import OwnServers, SharedProcessor
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicQuery,
    ClassicRelation,
    ClassicScan,
    Cost,
    JoinPredicate,
    Row,
    SelectionPredicate,
)
from fff_experiments.experiment import Curve

#: Lotteries that the eddy's thread holds for each tuple finished, where it shares the processor. The paper
#: does not say: it is fitted to E1 to E6, and E11 tells in which window they hold.
LOTTERIES = 1.2

NAIVE, INVERTED, EVEN, PESSIMAL = "naive", "inverted", "even", "pessimal"
#: What negative controls put in the place of an eddy.
CONTROLS = {
    NAIVE: "the naive eddy in place of the lottery: back-pressure, no tickets",
    INVERTED: "a lottery that prefers whoever has the fewest tickets",
    EVEN: "an even draw whose winner is waited for, in place of both eddies: no tickets, no back-pressure",
    PESSIMAL: "the worst static order in place of both eddies",
}


def controls(*names: str) -> dict[str, str]:
    """Some of them."""
    return {name: CONTROLS[name] for name in names}


class PlanRun(Struct, frozen=True):
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


def _run(query: ClassicQuery, policy: RoutingPolicy, seed: int, options: Options) -> PlanRun:
    eddy = ClassicEddy(query, policy, random.Random(seed), options)
    return PlanRun(eddy.run(), tuple(eddy.modules))


def static(query: ClassicQuery, *order: str, remote: bool = False) -> PlanRun:
    """A static plan. `remote`: modules are servers of their own, else threads on one processor."""
    return _run(query, Naive(), 0, Options(order=order, processor=OwnServers if remote else SharedProcessor))


def naive(query: ClassicQuery, seed: int) -> PlanRun:
    """The naive eddy, on one processor."""
    return _run(query, Naive(), seed, Options(processor=SharedProcessor))


def lottery(
    query: ClassicQuery, seed: int, policy: RoutingPolicy | None = None, held: float = LOTTERIES
) -> PlanRun:
    """An eddy that draws, on one processor; `held`: lotteries for each tuple finished."""
    return _run(query, policy or Lottery(), seed, Options(processor=SharedProcessor, lotteries=held))


class Eddies(Struct, frozen=True):
    """The eddies that an experiment is about, or what a negative control puts in their place.

    `servers`: modules are servers of their own, else threads on one processor.
    """

    control: str = ""
    servers: bool = False
    held: float = LOTTERIES

    def naive(self, query: ClassicQuery, seed: int) -> PlanRun:
        """The naive eddy."""
        if self.control == EVEN:
            return self._even(query, seed)
        return _pessimal(query, self.servers) if self.control == PESSIMAL else naive(query, seed)

    def lottery(self, query: ClassicQuery, seed: int, window: int | None = None) -> PlanRun:
        """The eddy with tickets; `window`: of the windowed lottery, in tuples."""
        policy: RoutingPolicy = Lottery() if window is None else WindowedLottery(window)
        match self.control:
            case "naive":
                policy = Naive()
            case "inverted":
                policy = Inverted(policy)
            case "even":
                return self._even(query, seed)
            case "pessimal":
                return _pessimal(query, self.servers)
        if self.servers:
            return _run(query, policy, seed, Options())
        return naive(query, seed) if self.control == NAIVE else lottery(query, seed, policy, self.held)

    def _even(self, query: ClassicQuery, seed: int) -> PlanRun:
        processor = OwnServers if self.servers else SharedProcessor
        return _run(query, Naive(), seed, Options(processor=processor, lotteries=1.0))


def _pessimal(query: ClassicQuery, servers: bool) -> PlanRun:
    names = [module.name for module in modules_of(query, spanning_tree(query), 1)[0]]
    runs = [static(query, *order, remote=servers) for order in permutations(names)]
    return max(runs, key=lambda run: run.time)


def spread(count: int, rng: random.Random) -> list[float]:
    """`count` values in [0, 1) in random order, so even that any share p of them is below p."""
    values = [(place + 0.5) / count for place in range(count)]
    rng.shuffle(values)
    return values


def two_selections(
    count: int, costs: tuple[Cost, Cost], passing: tuple[float, float], seed: int
) -> ClassicQuery:
    """SELECT * FROM U WHERE s1() AND s2(): costs and selectivities of both."""
    rng = random.Random(seed)
    rows: list[Row] = list(zip(spread(count, rng), spread(count, rng), strict=True))
    return ClassicQuery(
        (ClassicRelation("U", rows),),
        selections=(
            SelectionPredicate("s1", 0, lambda row: _number(row, 0) < passing[0], costs[0]),
            SelectionPredicate("s2", 0, lambda row: _number(row, 1) < passing[1], costs[1]),
        ),
    )


def _number(row: Row, column: int) -> float:
    value = row[column]
    assert isinstance(value, float)
    return value


class Chain(Struct, frozen=True):
    """R, S, T of SELECT * FROM R, S, T WHERE R.a = S.a AND S.b = T.b, by how many rows each value finds.

    `r`, `t`: rows of R and T. `values_a`: how many values S.a has; R's run from `first_a` on, each as often
    as the others. `values_b`, `t_values`: how many values S.b and T.b have. `index`: cost of a lookup in T,
    which then has no scan.
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

    def scaled(self, scale: float) -> Chain:
        """The same with fewer rows of S, and delays in proportion: what finds what is as it was."""
        return replace(
            self,
            s=max(100, round(scale * self.s)),
            delay_r=scale * self.delay_r,
            delay_s=scale * self.delay_s,
        )

    def query(self, seed: int, scale: float = 1.0) -> ClassicQuery:
        """The query over these rows. A ripple join takes one unit for a tuple."""
        r, s, t = self.scaled(scale).rows(seed)
        asked = () if self.index is None else (ClassicIndex(0, self.index, caches=False),)
        return ClassicQuery(
            (
                ClassicRelation("R", r, ClassicScan(self.delay_r)),
                ClassicRelation("S", s, ClassicScan(self.delay_s)),
                ClassicRelation("T", t, None if asked else ClassicScan(), asked),
            ),
            (JoinPredicate(Column(0, 0), Column(1, 0)), JoinPredicate(Column(1, 1), Column(2, 0))),
        )


def two_indexes(count: int, matching: float, costs: tuple[Cost, Cost], seed: int) -> ClassicQuery:
    """A scanned relation F joined with A and B, which can only be asked: each has a match for a share of F's tuples."""
    rng = random.Random(seed)
    rows: list[Row] = [
        (int(one >= matching), int(other >= matching))
        for one, other in zip(spread(count, rng), spread(count, rng), strict=True)
    ]
    only: list[Row] = [(0,)]
    one, other = (ClassicIndex(0, cost, caches=False) for cost in costs)
    return ClassicQuery(
        (
            ClassicRelation("F", rows),
            ClassicRelation("A", only, None, (one,)),
            ClassicRelation("B", only, None, (other,)),
        ),
        (JoinPredicate(Column(0, 0), Column(1, 0)), JoinPredicate(Column(0, 1), Column(2, 0))),
    )


def lookups(run: PlanRun, name: str) -> int:
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
