"""What O1 to O3 run on the real engine: selections and star joins in the core, fed by hand.

Here a batch takes one decision. How often is decided is varied at one size of batches; what small batches
cost is told apart, for a static plan.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.plan.events import (
    Emit,
    Event,
    Instruction,
    Lookup,
    LookupEnd,
    LookupRows,
    Route,
    ScanEnd,
    ScanRows,
    Start,
)
from fff.dataflow.plan.expressions import Column, Compare, Literal
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    LookupPlan,
    Predicate,
    ScanPlan,
    TablePlan,
)
from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies import make_policy
from fff.policies.rank import Rank
from fff.schema import Field
from fff.structs import replace
from fff_experiments.broken import TupleByTuple

BATCH = 1000
#: Tuples between decisions at that size of batches: each batch, and every tenth.
DECIDING = (BATCH, 10 * BATCH)
#: What the default policy may cost where there is nothing to save, over the static plan. Ours: the paper's
#: policy orders by rank.
DEFAULT_MOST = 1.15


_Make = Callable[[BlockPlan], RoutingPolicy]


def ratios(runs: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Times relative to the first run: medians over rounds in which each runs once, so that a slow moment hits all alike.

    Each round begins with another run, and with no garbage of the one before: the last would else find memory
    as the others left it, whoever it is.
    """
    seconds_of_runs: list[list[float]] = [[] for _ in runs]
    gc.collect()
    gc.freeze()  # collecting would read all tables each time
    for turn in range(repeats):
        times = [0.0] * len(runs)
        for place in range(len(runs)):
            at = (place + turn) % len(runs)
            gc.collect()
            gc.disable()  # when garbage is collected depends on what ran before
            began = time.process_time()
            runs[at]()
            times[at] = time.process_time() - began
            gc.enable()
        for values, seconds in zip(seconds_of_runs, times, strict=True):
            values.append(seconds / times[0])
    gc.unfreeze()
    return [statistics.median(values) for values in seconds_of_runs]


def star(tables: int, *, indexed: bool) -> BlockPlan:
    """All tables equal on unique2; indexed: all but the first are looked up."""
    fields = (Field.of("unique2", "bigint"), Field.of("four", "bigint"))
    return BlockPlan(
        tables=tuple(
            TablePlan(f"w.t{number}", fields, lookups=(LookupPlan("unique2", (0,), 100),))
            if indexed and number
            else TablePlan(f"w.t{number}", fields, scans=(ScanPlan("scan"),))
            for number in range(tables)
        ),
        aliases=tuple(AliasPlan(f"t{n}", n, active=not (indexed and n)) for n in range(tables)),
        equalities=(EqualityClass(tuple(Column(n, 0) for n in range(tables))),),
        output=tuple(Column(n, 1) for n in range(tables)),
    )


def table_of(rng: np.random.Generator, keys: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.RecordBatch:
    """A table of these keys in random order."""
    shuffled = rng.permutation(keys)
    return pa.record_batch({"unique2": shuffled, "four": shuffled % 4})


class CoreRun:
    """One run in the real core, fed by hand; `select_all` gathers the rows, else they are counted."""

    def __init__(self, plan: BlockPlan, policy: RoutingPolicy, route_size: int, *, select_all: bool) -> None:
        self._plan = plan
        self._eddy = Eddy(plan, policy, random.Random(1), EddyOptions(route_size=route_size))
        self._select_all = select_all
        self._lookups: list[Lookup] = []
        self.rows = 0

    def run(self, tables: Sequence[pa.RecordBatch], page: int = 1000) -> int:
        """Rows found. The first table is scanned; others too, unless the plan looks them up."""
        self._feed(Start())
        scanned = [number for number, table in enumerate(self._plan.tables) if table.scans]
        for at in range(0, len(tables[0]), page):
            for number in scanned:
                self._feed(ScanRows(number, 0, tables[number].slice(at, page)))
                self._settle()
        for number in scanned:
            self._feed(ScanEnd(number, 0, len(tables[number])))
        self._settle()
        assert self._eddy.finished
        return self.rows

    def _settle(self) -> None:
        """Route and answer lookups until nothing is left to do."""
        while self._eddy.has_work or self._lookups:
            while self._eddy.has_work:
                self._feed(Route())
            lookups, self._lookups = self._lookups, []
            for lookup in lookups:
                began = time.process_time()
                keys = np.array([key[0] for key in lookup.keys], np.int64)
                self._feed(LookupRows(lookup.request, pa.record_batch({"unique2": keys, "four": keys % 4})))
                self._feed(LookupEnd(lookup.request, len(keys), time.process_time() - began))

    def _feed(self, event: Event) -> None:
        instructions: list[Instruction] = self._eddy.handle(event)
        for instruction in instructions:
            if isinstance(instruction, Emit):
                self.rows += len(instruction.batch)
                if self._select_all:
                    self._eddy.gather(instruction.batch)
            elif isinstance(instruction, Lookup):
                self._lookups.append(instruction)


def selections(bounds: Sequence[int]) -> BlockPlan:
    """One table, each column below a bound; each comparison a selection module."""
    fields = tuple(Field.of(f"c{place}", "bigint") for place in range(len(bounds)))
    predicates = tuple(
        Predicate(Compare("<", Column(0, place), Literal(bound, pa.int64())), module=True)
        for place, bound in enumerate(bounds)
    )
    table = TablePlan("w.tenk1", fields, scans=(ScanPlan("scan"),))
    return BlockPlan((table,), (AliasPlan("tenk1", 0, active=True),), predicates=predicates)


def _run(
    plan: BlockPlan,
    tables: Sequence[pa.RecordBatch],
    policy: _Make,
    size: int,
    *,
    select_all: bool,
) -> Callable[[], int]:
    def run() -> int:
        own = replace(
            plan
        )  # as a statement has: what is derived from a plan is shared by all that have the same one
        return CoreRun(own, policy(own), size, select_all=select_all).run(tables)

    return run


def compare(
    plan: BlockPlan, tables: Sequence[pa.RecordBatch], repeats: int, control: str, *, select_all: bool = False
) -> list[float]:
    """Times over the static plan's, in batches of one size: by rank, for each frequency of deciding; the default policy.

    Under the control "tuple by tuple" all of them decide for each tuple of these batches.
    """
    makers: list[_Make] = [
        *(lambda _, every=1 if control else every: Rank(every) for every in DECIDING),
        partial(make_policy, "adaptive"),
    ]
    if control:
        makers = [_tuple_by_tuple(make) for make in makers]
    static: _Make = partial(make_policy, "fixed")
    runs = [_run(plan, tables, make, BATCH, select_all=select_all) for make in (static, *makers)]
    return ratios(runs, 1 if control else repeats)[1:]


def _tuple_by_tuple(make: _Make) -> _Make:
    return lambda own: TupleByTuple(make(own))


def by_batch_size(
    plan: BlockPlan, tables: Sequence[pa.RecordBatch], sizes: Sequence[int], repeats: int
) -> list[float]:
    """Times of the static plan with batches of these sizes, over those with batches of `BATCH`."""
    runs = [
        _run(plan, tables, partial(make_policy, "fixed"), size, select_all=False) for size in (BATCH, *sizes)
    ]
    return ratios(runs, repeats)[1:]
