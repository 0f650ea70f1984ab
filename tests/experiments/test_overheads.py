"""The overheads' experiments count right and compare the same work; their ratios are for a quiet machine to judge."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from fff.policies import make_policy
from fff_experiments.broken import TupleByTuple
from fff_experiments.classic.synchronous import SynchronousEddy
from fff_experiments.experiment import TrialRequest
from fff_experiments.overheads2003 import engine, overheads
from fff_experiments.overheads2003.engine import CoreRun, ratios, selections, star, table_of
from fff_experiments.overheads2003.overheads import star_query
from fff_experiments.overheads2003.plans import count, gathered, hash_joins, index_joins, symmetric_hash_joins
from tests.sampling import every


def tables(count_: int, rows: int = 200) -> list[list[tuple[int, int]]]:
    """Some keys are missing on each side, some twice."""
    rng = random.Random(3)
    return [[(rng.randrange(rows), n) for n in range(rows)] for _ in range(count_)]


def unique(count_: int) -> list[list[tuple[int, int]]]:
    rng = random.Random(4)
    return [[(key, n) for n, key in enumerate(rng.sample(range(300), 200))] for _ in range(count_)]


@pytest.mark.parametrize("number", [3, 5])
def test_plans_by_hand_find_what_the_eddy_finds(number) -> None:
    some = tables(number)
    eddy = Counter(tuple(row) for row in SynchronousEddy(star_query(some), 10))
    assert Counter(symmetric_hash_joins(some)) == eddy
    assert eddy.total() > 0
    keyed = unique(number)
    expected = Counter(tuple(row) for row in SynchronousEddy(star_query(keyed), 10))
    assert Counter(hash_joins(keyed)) == expected
    assert expected.total() > 0
    assert Counter(index_joins(keyed, [{row[0]: row for row in table} for table in keyed[1:]])) == expected
    assert gathered(expected) == count(expected.elements())


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("policy", ["fixed", "rank", "adaptive"])
def test_every_plan_finds_every_row(indexed, policy) -> None:
    rng = np.random.default_rng(1)
    plan = star(3, indexed=indexed)
    data = [table_of(rng, np.arange(300)) for _ in range(3)]
    assert CoreRun(plan, make_policy(policy, plan), 50, select_all=True).run(data, 100) == 300


def steps(policy: str, tables: int, route_size: int) -> Counter[str]:
    """How often the eddy of an index-only plan over 2,000 rows is given which event."""
    plan, seen = star(tables, indexed=True), Counter[str]()
    join = CoreRun(plan, make_policy(policy, plan), route_size, select_all=False)
    handle = join._eddy.handle

    def counted(event):
        seen[type(event).__name__] += 1
        return handle(event)

    join._eddy.handle = counted
    assert join.run([table_of(np.random.default_rng(1), np.arange(2000))] * tables) == 2000
    return seen


@pytest.mark.parametrize("tables", [3, 5])
@pytest.mark.parametrize("route_size", every(2, [100, 1000]))
def test_the_default_takes_about_as_many_steps_as_a_static_plan(tables, route_size, monkeypatch) -> None:
    """Seconds are for a quiet machine to judge, steps are not."""
    ticks = itertools.count()
    clock = SimpleNamespace(process_time=lambda: next(ticks) * 1e-4)  # a request takes that long
    monkeypatch.setattr(engine, "time", clock)
    ours, static = steps("adaptive", tables, route_size), steps("fixed", tables, route_size)
    assert ours["LookupEnd"] <= 1.1 * static["LookupEnd"]
    batches_of_100 = 20 * (tables - 1)
    assert ours["Route"] <= 1.1 * batches_of_100


def test_ratios_are_to_the_first() -> None:
    def work(amount):
        return lambda: sum(range(amount))

    one, more = ratios([work(50_000), work(500_000)], 3)
    assert one == 1.0
    assert more > 3


def test_selections_in_the_core_drop_what_fails() -> None:
    plan = selections((2, 3))
    table = pa.record_batch({"c0": [n % 4 for n in range(120)], "c1": [n % 6 for n in range(120)]})
    for policy in ("fixed", "rank", "adaptive"):
        assert CoreRun(plan, make_policy(policy, plan), 50, select_all=True).run([table], 40) == sum(
            n % 4 < 2 and n % 6 < 3 for n in range(120)
        )


def test_the_control_decides_for_every_tuple_of_the_same_batches(monkeypatch) -> None:
    """Batches of one tuple would cost a static plan as much, which decides nothing: the control has to be about deciding."""
    sizes, decisions = [], Counter[str]()

    class Watched(CoreRun):
        def __init__(self, plan, policy, route_size, *, select_all) -> None:
            sizes.append(route_size)
            choose = policy.choose

            def counted(state, moves, rng):
                decisions[policy.name] += 1
                return choose(state, moves, rng)

            policy.choose = counted
            super().__init__(plan, policy, route_size, select_all=select_all)

    class Counted(TupleByTuple):
        def __init__(self, policy) -> None:
            super().__init__(policy)
            choose = policy.choose

            def counted(state, moves, rng):
                decisions[f"{policy.name}, each tuple"] += 1
                return choose(state, moves, rng)

            policy.choose = counted

    monkeypatch.setattr(engine, "CoreRun", Watched)
    monkeypatch.setattr(engine, "TupleByTuple", Counted)
    table = pa.record_batch({"c0": [0] * 3000, "c1": [0] * 3000, "c2": [0] * 3000})
    ratios_of = engine.compare(selections((2, 3, 4)), [table], 1, "tuple by tuple")
    assert set(sizes) == {engine.BATCH}
    assert decisions["fixed"] <= 2 * 3
    assert decisions["rank, each tuple"] >= 2 * 2 * 3000
    assert decisions["adaptive, each tuple"] >= 2 * 3000
    assert len(ratios_of) == 3


@pytest.mark.slow
def test_deciding_for_every_tuple_costs_and_is_noticed() -> None:
    """The negative control: what is claimed of E(X) does not hold of E(1)."""
    for run, place in ((overheads.run_selections, 0), (overheads.run_index_joins, 0)):
        assert not run(TrialRequest(1, 0.05, "tuple by tuple"), repeats=5).checks[place].passed
