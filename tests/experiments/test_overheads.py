"""The overheads' experiments count right and compare the same work; their ratios are for a quiet machine to judge."""

from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from fff.experiments import overheads2003
from fff.experiments.overheads2003 import SynchronousEddy, _hash_join, _Join, _star, _table, by_hand, ratios
from fff.policies import make_policy


@pytest.mark.parametrize("every", [1, 3, 10, 1000])
def test_the_synchronous_eddy_counts_what_the_loop_counts(every) -> None:
    rows = [(n % 2, n % 4, n % 10) for n in range(500)]
    predicates = [lambda row: row[0] < 1, lambda row: row[1] < 3, lambda row: row[2] < 5]
    assert SynchronousEddy(predicates, every).count(rows) == by_hand(rows, predicates) > 0


def test_it_learns_to_ask_the_selective_first() -> None:
    asked = [0, 0]

    def passes(row) -> bool:
        asked[0] += 1
        return True

    def drops(row) -> bool:
        asked[1] += 1
        return False

    SynchronousEddy([passes, drops], 10).count([(0, 0, 0)] * 100)
    assert asked == [10, 100]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("policy", ["fixed", "rank", "adaptive"])
def test_every_plan_finds_every_row(indexed, policy) -> None:
    rng = np.random.default_rng(1)
    plan = _star(3, indexed=indexed)
    data = [_table(rng, np.arange(300)) for _ in range(3)]
    assert _Join(plan, make_policy(policy, plan), 50, select_all=True).run(data, 100) == 300
    assert _hash_join(data) == 300


def steps(policy: str, tables: int, route_size: int) -> Counter[str]:
    """How often the eddy of an index-only plan over 2,000 rows is given which event."""
    plan, seen = _star(tables, indexed=True), Counter[str]()
    join = _Join(plan, make_policy(policy, plan), route_size, select_all=False)
    handle = join._eddy.handle

    def counted(event):
        seen[type(event).__name__] += 1
        return handle(event)

    join._eddy.handle = counted
    assert join.run([_table(np.random.default_rng(1), np.arange(2000))] * tables) == 2000
    return seen


@pytest.mark.parametrize("tables", [3, 5])
@pytest.mark.parametrize("route_size", [100, 1000])
def test_the_default_takes_about_as_many_steps_as_a_static_plan(tables, route_size, monkeypatch) -> None:
    """Seconds are for a quiet machine to judge, steps are not."""
    ticks = itertools.count()
    clock = SimpleNamespace(process_time=lambda: next(ticks) * 1e-4)  # a request takes that long
    monkeypatch.setattr(overheads2003, "time", clock)
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


@pytest.mark.slow
def test_they_run() -> None:
    selections = overheads2003.run_selections(1, rows=1000, repeats=1)
    assert [row[0] for row in selections.rows] == ["No-Delay", "Delay-0", "Delay-10", "Delay-100"]
    joins = overheads2003.run_hash_joins(1, rows=1000, repeats=1)
    assert joins.checks[-1].passed, "deciding for every tuple is expensive"
    assert len(overheads2003.run_index_joins(1, rows=2000, repeats=1).rows) == 12
