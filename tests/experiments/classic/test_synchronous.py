"""The synchronous eddy finds what a join by brute force finds, in whatever order it routes, and learns the order by itself."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from fff.dataflow.plan.expressions import Column
from fff_experiments.classic.query import ClassicQuery, ClassicRelation, JoinPredicate, SelectionPredicate
from fff_experiments.classic.synchronous import SynchronousEddy, index_of


def brute_force(query: ClassicQuery) -> Counter[tuple]:
    rows = itertools.product(*(relation.rows for relation in query.relations))
    return Counter(
        one
        for one in rows
        if all(predicate.holds(one) for predicate in query.joins)
        and all(selection.test(one[selection.alias]) for selection in query.selections)
    )


def found(eddy: SynchronousEddy) -> Counter[tuple]:
    return Counter(tuple(row) for row in eddy)


def random_query(rng: random.Random) -> ClassicQuery:
    """A tree of joins over two to four relations with duplicates and NULLs, some of them with selections."""
    aliases = rng.randint(1, 4)
    values = [0, 1, 2, 3, None]
    relations = tuple(
        ClassicRelation(
            f"t{n}",
            [tuple(rng.choices(values, [3, 3, 3, 3, 1], k=2)) for _ in range(rng.randint(0, 7))],
        )
        for n in range(aliases)
    )
    joins = tuple(
        JoinPredicate(Column(rng.randrange(alias), rng.randrange(2)), Column(alias, rng.randrange(2)))
        for alias in range(1, aliases)
    )
    selections = tuple(
        SelectionPredicate(f"s{n}", rng.randrange(aliases), lambda row, n=n: row[n % 2] != n)
        for n in range(rng.randint(0, 3))
    )
    return ClassicQuery(relations, joins, selections)


@pytest.mark.parametrize("reoptimize", [1, 2, 7, 1000])
def test_it_finds_what_brute_force_finds(reoptimize) -> None:
    rng = random.Random(reoptimize)
    some = 0
    for _ in range(150):
        query = random_query(rng)
        ticks = itertools.count()
        eddy = SynchronousEddy(query, reoptimize, clock=lambda ticks=ticks: next(ticks) * rng.random())
        results = found(eddy)
        assert results == brute_force(query)
        some += len(results)
    assert some > 100


def test_an_index_is_asked_where_there_is_one() -> None:
    rng = random.Random(5)
    for _ in range(60):
        query = random_query(rng)
        if len(query.relations) < 2:
            continue
        inner = len(query.relations) - 1  # the last one, which nobody else joins on
        column = query.joins[-1].column_of(inner)
        eddy = SynchronousEddy(query, 3, {inner: index_of(query, inner, column)})
        assert found(eddy) == brute_force(query)


class Clock:
    """Goes on when an operator works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def selections(
    passing: tuple[float, float], costs: tuple[float, float]
) -> tuple[ClassicQuery, Clock, Counter[int]]:
    clock, asked, rng = Clock(), Counter[int](), random.Random(1)
    rows = [(rng.random(), rng.random()) for _ in range(1000)]

    def selection(n: int) -> SelectionPredicate:
        def test(row) -> bool:
            asked[n] += 1
            clock.now += costs[n]
            return row[n] < passing[n]

        return SelectionPredicate(f"s{n}", 0, test)

    return ClassicQuery((ClassicRelation("t", rows),), selections=(selection(0), selection(1))), clock, asked


@pytest.mark.parametrize(
    ("passing", "costs", "first"),
    [
        ((0.9, 0.1), (1.0, 1.0), 1),
        ((0.5, 0.5), (9.0, 1.0), 1),
        ((0.1, 0.5), (9.0, 1.0), 1),
        ((0.1, 0.9), (2.0, 1.0), 0),
    ],
)
def test_it_orders_by_rank_with_measured_costs(passing, costs, first) -> None:
    query, clock, asked = selections(passing, costs)
    eddy = SynchronousEddy(query, 10, clock=clock)
    assert sum(1 for _ in eddy) == sum(
        all(a < p for a, p in zip(row, passing, strict=True)) for row in query.relations[0].rows
    )
    assert eddy.order(1)[0] == first
    assert asked[first] >= 800, "but for those before it was seen at all"
    assert asked[1 - first] < 1000 * passing[first] + 200


def test_it_decides_only_every_so_many_tuples() -> None:
    query, clock, asked = selections((0.9, 0.1), (1.0, 1.0))
    assert 0 < sum(1 for _ in SynchronousEddy(query, 500, clock=clock)) < 200
    assert asked[0] >= 500, "the order it began with is kept for 500 tuples"


def test_a_signature_with_an_empty_array_is_a_result() -> None:
    query = ClassicQuery(
        (ClassicRelation("a", [(1, 2)]), ClassicRelation("b", [(2, 3)])),
        (JoinPredicate(Column(0, 1), Column(1, 0)),),
    )
    eddy = SynchronousEddy(query, 1)
    assert eddy.order(0b01) == eddy.order(0b10) == [0]
    assert eddy.order(0b111) == []
    results = iter(eddy)
    assert next(results) == [(1, 2), (2, 3)]
    assert next(results, None) is None
