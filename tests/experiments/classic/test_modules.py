from __future__ import annotations

import random

import pytest

from fff.dataflow.plan.expressions import Column
from fff.errors import InfeasibleQuery
from fff.policies.naive import Naive
from fff_experiments.classic.eddy import ClassicEddy, Options
from fff_experiments.classic.joins import BlockRippleJoin, HashRippleJoin, IndexJoin
from fff_experiments.classic.modules import RoutedTuple
from fff_experiments.classic.preoptimizer import modules_of, spanning_tree
from fff_experiments.classic.processors import OwnServers, SharedProcessor
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicMoment,
    ClassicQuery,
    ClassicRelation,
    JoinPredicate,
)
from fff_experiments.classic.schedule import Schedule
from tests.experiments.classic.oracle import brute_force

START = ClassicMoment(0.0, 0)
EQUAL = JoinPredicate(Column(0, 0), Column(1, 0))
LESS = JoinPredicate(Column(0, 0), Column(1, 0), "<")


def left(*row) -> RoutedTuple:
    return RoutedTuple((row, None), 0b01)


def right(*row) -> RoutedTuple:
    return RoutedTuple((None, row), 0b10)


class TestSchedule:
    def test_in_the_order_of_time_then_of_planning(self) -> None:
        schedule, seen = Schedule(), []
        for time, name in ((2, "c"), (1, "a"), (1, "b")):
            schedule.at(time, lambda name=name: seen.append((schedule.now, name)))
        schedule.run()
        assert seen == [(1, "a"), (1, "b"), (2, "c")]


class TestProcessors:
    def finished(self, processor, jobs) -> dict[str, float]:
        schedule, ends = Schedule(), {}
        processor = processor(schedule)
        for start, name, amount in jobs:

            def begin(name=name, amount=amount) -> None:
                processor.work(amount, lambda: ends.setdefault(name, schedule.now))

            schedule.at(start, begin)
        schedule.run()
        return ends

    def test_own_servers_do_not_disturb_each_other(self) -> None:
        assert self.finished(OwnServers, [(0, "a", 4), (1, "b", 1)]) == {"a": 4, "b": 2}

    def test_a_shared_processor_gives_everybody_the_same(self) -> None:
        # a alone until 1, a and b until 3 (b has had 1), then a alone.
        assert self.finished(SharedProcessor, [(0, "a", 4), (1, "b", 1)]) == {"b": 3, "a": 5}

    def test_a_shared_processor_loses_no_time(self) -> None:
        rng = random.Random(3)
        jobs = [(rng.random(), str(i), rng.random()) for i in range(50)]
        busy = max(self.finished(SharedProcessor, jobs).values()) - min(start for start, *_ in jobs)
        assert busy == pytest.approx(sum(amount for *_, amount in jobs))


class TestJoins:
    def test_hash_ripple_holds_what_it_was_given(self) -> None:
        join = HashRippleJoin("RS", 1, EQUAL, 1.0)
        assert join.process(left(1, "a")) == []
        assert not join.process(left(None, "n"))
        assert [found.rows for found in join.process(right(1, "x"))] == [((1, "a"), (1, "x"))]
        assert [found.rows for found in join.process(left(1, "b"))] == [((1, "b"), (1, "x"))]
        assert not join.process(right(None, "n"))

    def test_hash_ripple_ors_done_bits(self) -> None:
        join = HashRippleJoin("RS", 1, EQUAL, 1.0)
        join.process(RoutedTuple(((1,), None), 0b01, done=0b0100))
        assert [found.done for found in join.process(RoutedTuple((None, (1,)), 0b10, done=0b1000))] == [
            0b1100
        ]

    def test_block_ripple_sweeps_blocks_and_keeps_nobody_waiting(self) -> None:
        join = BlockRippleJoin("RS", 10, (0, 1), cost=1.0, block=3, predicates=(LESS,))
        join.put(left(0))  # as if more were to come
        assert join.process(right(1)) == []
        assert join.process(right(2)) == []
        assert join.process(left(1)) == []
        join.queue.clear()
        found = join.process(left(0))
        assert sorted(one.rows for one in found) == [((0,), (1,)), ((0,), (2,)), ((1,), (2,))]
        assert join.cost(left(5), START) == 1 + 2 / 3

    def test_block_ripple_is_done_at_any_block_size(self) -> None:
        rng = random.Random(0)
        relations = tuple(ClassicRelation(name, [(rng.randrange(20),) for _ in range(20)]) for name in "RS")
        query = ClassicQuery(relations, (LESS,))
        expected = brute_force(query)
        for block in (1, 2, 7, 100):
            join = BlockRippleJoin("RS", 5, (0, 1), cost=1.0, block=block, predicates=query.joins)
            eddy = ClassicEddy(query, Naive(), random.Random(0), Options(), ([join], frozenset({0, 1})))
            assert sorted(rows for _, rows in eddy.run().results) == sorted(expected.elements())

    def test_index_joins_may_share_a_cache(self) -> None:
        cache = {}
        index = ClassicIndex(0, remote=5.0, cached=1.0)
        joins = [
            IndexJoin("RS", 1, EQUAL, inner=1, rows=[(1, "x")], index=index, aliases=2, cache=cache)
            for _ in range(2)
        ]
        assert joins[0].cost(left(1), START) == 5.0
        joins[0].process(left(1))
        assert joins[1].cost(left(1), START) == 1.0
        assert [found.rows for found in joins[1].process(left(1))] == [((1,), (1, "x"))]
        assert joins[0].cost(left(None), START) == 1.0
        assert (len(joins[0].lookups), len(joins[1].lookups)) == (1, 0)

    def test_competing_index_joins_are_alternatives(self) -> None:
        """Two indexes of one relation: each tuple goes to one of them, and the answer is the same."""
        rng = random.Random(6)
        rows = [(i, i) for i in range(10)]
        joins = (EQUAL, JoinPredicate(Column(0, 0), Column(1, 1)))
        query = ClassicQuery(
            (
                ClassicRelation("R", [(rng.randrange(12),) for _ in range(60)]),
                ClassicRelation("S", rows, None),
            ),
            joins,
        )
        modules = [
            IndexJoin(
                f"S{column}",
                1,
                joins[column],
                inner=1,
                rows=rows,
                index=ClassicIndex(column),
                aliases=2,
                residual=joins,
            )
            for column in (0, 1)
        ]
        eddy = ClassicEddy(query, Naive(), random.Random(1), Options(), (modules, frozenset({0})))
        trace = eddy.run()
        assert sorted(r for _, r in trace.results) == sorted(brute_force(query).elements())
        assert all(module.taken > 10 for module in modules)
        assert sum(module.taken for module in modules) == 60


class TestPreoptimizer:
    def algorithms(self, query: ClassicQuery) -> list[str]:
        modules, _ = modules_of(query, spanning_tree(query), 1)
        return [f"{type(module).__name__} {module.name}" for module in modules]

    def test_an_index_where_there_is_one_else_hash_else_block(self) -> None:
        rows = [(1, 1)]
        query = ClassicQuery(
            (
                ClassicRelation("R", rows),
                ClassicRelation("S", rows),
                ClassicRelation("T", rows, None, (ClassicIndex(1),)),
                ClassicRelation("U", rows),
            ),
            (
                JoinPredicate(Column(0, 0), Column(3, 0), ">"),
                JoinPredicate(Column(0, 0), Column(1, 0)),
                JoinPredicate(Column(1, 1), Column(2, 1)),
            ),
        )
        assert self.algorithms(query) == ["IndexJoin ST", "HashRippleJoin RS", "BlockRippleJoin RU"]

    def test_tiny_tables_are_multiplied_first(self) -> None:
        rows = [(1, 1)]
        query = ClassicQuery(
            (
                ClassicRelation("F", rows),
                ClassicRelation("D", rows, tiny=True),
                ClassicRelation("E", rows, tiny=True),
            ),
            (JoinPredicate(Column(0, 0), Column(1, 0)), JoinPredicate(Column(0, 1), Column(2, 0))),
        )
        assert self.algorithms(query) == ["BlockRippleJoin DE", "HashRippleJoin FD"]

    def test_what_is_not_connected_is_multiplied_too(self) -> None:
        query = ClassicQuery((ClassicRelation("R", [(1,)]), ClassicRelation("S", [(2,)])))
        assert self.algorithms(query) == ["BlockRippleJoin RS"]

    def test_a_chain_of_indexes_is_followed_from_its_scan(self) -> None:
        rows, index = [(1, 1)], (ClassicIndex(0),)
        query = ClassicQuery(
            (
                ClassicRelation("S", rows, None, index),
                ClassicRelation("R", rows, None, index),
                ClassicRelation("Q", rows),
            ),
            (JoinPredicate(Column(1, 1), Column(0, 0)), JoinPredicate(Column(2, 1), Column(1, 0))),
        )
        assert self.algorithms(query) == ["IndexJoin QR", "IndexJoin RS"]

    def test_an_index_that_nothing_binds_is_an_error(self) -> None:
        query = ClassicQuery(
            (ClassicRelation("R", [(1, 1)]), ClassicRelation("S", [(1, 1)], None, (ClassicIndex(1),))),
            (JoinPredicate(Column(0, 0), Column(1, 0)),),
        )
        with pytest.raises(InfeasibleQuery, match="S"):
            spanning_tree(query)
