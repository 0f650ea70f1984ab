from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.moves import Outcome
from fff.dataflow.plan.state import TupleState
from fff.policies.lottery import Lottery
from fff.policies.naive import Naive
from fff.policies.windowed_lottery import WindowedLottery
from fff_experiments.classic.buffer import in_turn, returned_first
from fff_experiments.classic.eddy import ClassicEddy, Options, Trace
from fff_experiments.classic.preoptimizer import modules_of, spanning_tree
from fff_experiments.classic.processors import OwnServers, SharedProcessor
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicQuery,
    ClassicRelation,
    ClassicScan,
    JoinPredicate,
    SelectionPredicate,
)
from tests.experiments.classic.oracle import brute_force, random_query

POLICIES = {"naive": Naive, "lottery": Lottery, "windowed": lambda: WindowedLottery(window=5)}


def answer(trace: Trace) -> Counter:
    return Counter(rows for _, rows in trace.results)


def run(query: ClassicQuery, policy=None, seed: int = 0, **options) -> Trace:
    return ClassicEddy(query, policy or Naive(), random.Random(seed), Options(**options)).run()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("processor", [OwnServers, SharedProcessor])
def test_any_policy_gives_the_answer(policy, processor) -> None:
    rng = random.Random(policy + processor.__name__)
    rows = 0
    for number in range(60):
        query = random_query(rng)
        options = {
            "queue": rng.choice([0, 1, 4]),
            "buffer": rng.choice([1, 3, 100]),
            "lotteries": rng.choice([1.0, 1.2, float("inf")]),
            "priority": rng.choice([returned_first, in_turn]),
        }
        trace = run(query, POLICIES[policy](), number, processor=processor, **options)
        assert answer(trace) == brute_force(query), (number, options)
        rows += len(trace.results)
    assert rows > 100, "the queries have answers"


def test_any_static_plan_gives_the_answer() -> None:
    rng = random.Random(4)
    plans = 0
    for _ in range(8):
        query = random_query(rng)
        expected = brute_force(query)
        names = [module.name for module in modules_of(query, spanning_tree(query), 1)[0]]
        for order in itertools.permutations(names):
            assert answer(run(query, order=order)) == expected
            plans += 1
    assert plans > 30


def star(joins: tuple[JoinPredicate, ...], **kinds) -> ClassicQuery:
    """R, S, T with two columns each; S has an index on its first column if asked."""
    rng = random.Random(1)
    rows = [[(rng.randrange(5), rng.randrange(5)) for _ in range(30)] for _ in range(3)]
    return ClassicQuery(
        (
            ClassicRelation("R", rows[0]),
            ClassicRelation("S", rows[1], **kinds),
            ClassicRelation("T", rows[2]),
        ),
        joins,
    )


RS = JoinPredicate(Column(0, 0), Column(1, 0))
ST = JoinPredicate(Column(1, 1), Column(2, 1))
TR = JoinPredicate(Column(2, 0), Column(0, 1))


def test_results_come_while_inputs_still_arrive() -> None:
    query = ClassicQuery(
        (
            ClassicRelation("R", [(i,) for i in range(20)], ClassicScan(interval=1)),
            ClassicRelation("S", [(i,) for i in range(20)], ClassicScan(interval=1)),
        ),
        (JoinPredicate(Column(0, 0), Column(1, 0)),),
        join_cost=0.1,
    )
    times = [time for time, _ in run(query).results]
    assert times == sorted(times)
    assert times[9] < 11 < times[-1]


def test_the_edge_that_closes_a_cycle_is_residual() -> None:
    query = star((RS, ST, TR))
    assert [edge.predicate for edge in spanning_tree(query)] == [RS, ST]
    found = answer(run(query, Lottery()))
    assert found == brute_force(query)
    assert 0 < found.total() < brute_force(star((RS, ST))).total()


def test_queues_hold_no_more_than_they_may_and_scans_wait() -> None:
    query = star((RS, ST))
    for queue in (0, 1, 3):
        eddy = ClassicEddy(query, Naive(), random.Random(0), Options(queue=queue))
        eddy.run()
        assert [module.longest for module in eddy.modules] == [queue, queue]


def test_returned_tuples_first_flow_out() -> None:
    """With everything in the buffer, new tuples get in the way of returned ones unless these go first."""
    query = ClassicQuery(
        (ClassicRelation("U", [(i,) for i in range(300)]),),
        selections=tuple(SelectionPredicate(f"s{i}", 0, lambda _: True) for i in range(2)),
    )
    early = {}
    for priority in (returned_first, in_turn):
        trace = run(query, priority=priority, ahead=1000, processor=SharedProcessor)
        assert len(trace.results) == 300
        early[priority] = sum(time < trace.end / 2 for time, _ in trace.results)
    assert early[returned_first] > 140
    assert early[in_turn] < 10


def test_the_buffer_is_bounded_by_holding_scans_back() -> None:
    query = ClassicQuery(
        (ClassicRelation("U", [(i,) for i in range(300)]),),
        selections=tuple(SelectionPredicate(f"s{i}", 0, lambda _: True, 1 + 8 * i) for i in range(2)),
    )
    for buffer in (1, 5, 50):
        trace = run(query, buffer=buffer, order=("s0", "s1"))
        assert buffer <= trace.largest_buffer <= buffer + 2, (
            "s0 may have two tuples under way when it is full"
        )


def test_one_processor_is_shared_and_servers_are_not() -> None:
    selections = tuple(SelectionPredicate(f"s{i}", 0, lambda _: True, 1.0) for i in range(2))
    query = ClassicQuery((ClassicRelation("U", [(i,) for i in range(100)]),), selections=selections)
    assert run(query, processor=SharedProcessor).end == pytest.approx(200)
    assert run(query, processor=OwnServers).end == pytest.approx(100, rel=0.03)


def test_one_seed_one_run() -> None:
    query = star((RS, ST, TR))
    for policy in POLICIES.values():
        for processor in (OwnServers, SharedProcessor):
            one, same = (run(query, policy(), 5, processor=processor) for _ in range(2))
            assert one == same
    assert run(query, Naive(), 5).routed != run(query, Naive(), 6).routed


def test_tickets_are_credited_when_given_and_debited_when_returned() -> None:
    class Ledger(Naive):
        def __init__(self) -> None:
            self.seen: list[Outcome] = []

        def observe(self, outcome: Outcome) -> None:
            self.seen.append(outcome)

    ledger = Ledger()
    query = ClassicQuery(
        (ClassicRelation("U", [(i,) for i in range(10)]),),
        selections=(SelectionPredicate("odd", 0, lambda row: row[0] % 2 == 1),),
    )
    run(query, ledger)
    assert sum(outcome.taken for outcome in ledger.seen) == 10
    assert sum(outcome.produced for outcome in ledger.seen) == 5
    assert {outcome.state for outcome in ledger.seen} == {TupleState(1)}


def test_the_lottery_prefers_the_module_that_drops() -> None:
    rng = random.Random(2)
    rows = [(rng.random(),) for _ in range(2000)]
    query = ClassicQuery(
        (ClassicRelation("U", rows),),
        selections=(
            SelectionPredicate("strict", 0, lambda row: row[0] < 0.1),
            SelectionPredicate("lax", 0, lambda row: row[0] < 0.9),
        ),
    )
    lottery = run(query, Lottery(), lotteries=1.2, processor=SharedProcessor).share(0, span=1)
    assert lottery > 0.6 > run(query, Naive(), processor=SharedProcessor).share(0, span=1)


def test_costs_may_change_with_time_and_with_what_was_read() -> None:
    rows = [(i,) for i in range(10)]
    late = SelectionPredicate("late", 0, lambda _: True, lambda moment: 1.0 if moment.time < 5 else 3.0)
    assert run(ClassicQuery((ClassicRelation("U", rows),), selections=(late,))).end == 5 + 5 * 3
    far = SelectionPredicate("far", 0, lambda _: True, lambda moment: 1.0 if moment.read <= 5 else 3.0)
    assert run(ClassicQuery((ClassicRelation("U", rows),), selections=(far,)), queue=0).end == 5 + 5 * 3


def test_bushy_plans_come_about() -> None:
    """Composites of both sides meet: two pairs joined by themselves, and then with each other (C6)."""
    rows = [[(i % 3, i % 2) for i in range(6)] for _ in range(4)]
    joins = tuple(JoinPredicate(Column(a, 0), Column(a + 1, 0)) for a in range(3))
    query = ClassicQuery(tuple(ClassicRelation("RSTU"[a], rows[a]) for a in range(4)), joins)
    seen = set()

    class Outside(Naive):
        def choose(self, state, moves, rng):
            seen.add(state.span)
            return min(moves, key=lambda move: move.predicate == 1)  # the middle join last

        def observe(self, outcome):
            seen.add(outcome.state.span)

    assert answer(run(query, Outside(), lotteries=1.0)) == brute_force(query)
    assert {0b0011, 0b1100} <= seen
    assert not {0b0110, 0b0111, 0b1110} & seen


def test_index_asks_again_only_without_a_cache() -> None:
    outer = ClassicRelation("R", [(i % 4,) for i in range(20)])
    for caches, lookups, end in ((True, 4, 4 * 2.0 + 16 * 0.5), (False, 20, 40.0)):
        inner = ClassicRelation(
            "S", [(i,) for i in range(3)], None, (ClassicIndex(0, remote=2.0, cached=0.5, caches=caches),)
        )
        query = ClassicQuery((outer, inner), (JoinPredicate(Column(0, 0), Column(1, 0)),))
        eddy = ClassicEddy(query, Naive(), random.Random(0))
        trace = eddy.run()
        assert answer(trace) == brute_force(query)
        assert len(eddy.modules[0].lookups) == lookups
        assert trace.end == end
