"""What past runs taught: right from the first tuple on, dropped where it is wrong, known by what moves mean."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from fff.dataflow.plan.expressions import Column, Compare, Literal
from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    LookupPlan,
    Predicate,
    ScanPlan,
    TablePlan,
)
from fff.dataflow.plan.state import TupleState
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.posterior import Beliefs
from fff.policies.adaptive.prior import CALLS, TUPLES, Lesson, Level, Past
from fff.policies.adaptive.session_memory import REMEMBERED, Memory, _put
from fff.schema import Field
from fff.structs import replace
from tests.policies.driving import NEW, A, B, drive

CHEAP_A = {A: 0.5, B: 0.5}, {A: 1.0, B: 30.0}
CHEAP_B = {A: 0.5, B: 0.5}, {A: 30.0, B: 1.0}


def taught(world: tuple[dict[Move, float], dict[Move, float]], tuples: int = 400) -> Past:
    policy = Adaptive()
    drive(policy, *world, tuples)
    return policy.beliefs.lessons()


def test_the_first_tuple_goes_right() -> None:
    for world, best in ((CHEAP_A, A), (CHEAP_B, B)):
        past = taught(world)
        firsts = [Adaptive(past=past).choose(NEW, (A, B), random.Random(seed)) for seed in range(20)]
        assert firsts == [best] * 20
    cold = {Adaptive().choose(NEW, (A, B), random.Random(seed)) for seed in range(20)}
    assert cold == {A, B}, "or the test above shows nothing"


def test_it_counts_for_few_tuples_however_long_the_past_was() -> None:
    told = taught(CHEAP_A, 2000).discounted()
    assert max(lesson.fan_out[0] for lesson in told.here.values()) == TUPLES
    assert max(level.count for level in told.costs.values()) == CALLS
    long, short = taught(CHEAP_A, 2000).costs[A], told.costs[A]
    assert short.total / short.count == pytest.approx(long.total / long.count)


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_past_is_found_out_within_a_few_tuples(seed: int) -> None:
    policy = Adaptive(past=taught(CHEAP_A))
    assert drive(policy, *CHEAP_B, 100, seed)[B] >= 90
    assert policy.restarts >= 1


def test_a_past_that_is_right_is_not_found_out() -> None:
    past = taught(CHEAP_A)
    for seed in range(10):
        policy = Adaptive(past=past)
        drive(policy, *CHEAP_A, 300, seed)
        assert policy.restarts == 0


def test_wrong_selectivities_are_found_out_where_costs_are_right() -> None:
    costs = {A: 1.0, B: 1.0}
    policy = Adaptive(past=taught(({A: 0.05, B: 0.9}, costs)))
    assert drive(policy, {A: 0.9, B: 0.05}, costs, 200)[B] > 170


def test_nothing_is_left_of_a_past_that_is_dropped() -> None:
    """Beliefs after the drop are those of a run that was never told anything."""
    beliefs, cold = Beliefs(past=taught(CHEAP_A)), Beliefs()
    for beginning in (B, A):
        outcome = Outcome(NEW, beginning, 3, 1, cost=3 * CHEAP_B[1][beginning])
        dropped = beliefs.observe(outcome)
        cold.observe(outcome)
        assert dropped == (beginning == B)
    assert beliefs.costs.keys() == cold.costs.keys()
    for move in (A, B):
        assert beliefs.anywhere[move].lesson() == cold.anywhere[move].lesson()
        assert beliefs.expected(NEW, move) == cold.expected(NEW, move)
        assert beliefs.price(move, 0.0) == cold.price(move, 0.0)


def test_a_lookup_that_brings_other_matches_than_it_used_to() -> None:
    lookup = Move(1, 0)
    past = Past({(NEW, lookup): Lesson((100.0, 10.0), (100.0, 50.0), (100.0, 50.0))}, {}, {})
    beliefs = Beliefs(past=past)
    same = Beliefs(past=past)
    assert any(beliefs.observe(Outcome(NEW, lookup, 1, 3, requests=1)) for _ in range(5))
    assert not any(same.observe(Outcome(NEW, lookup, 10, 1, requests=1)) for _ in range(5))


def a_plan(
    *, first: str = "web.s", value: int = 5, inline: bool = False, flipped: bool = False, lookup: str = "by_k"
) -> BlockPlan:
    """r scanned, s and t looked up by columns of r, one predicate over r; `flipped`: other ordinals for the same."""
    source = TablePlan("web.r", (Field.of("a", "bigint"), Field.of("b", "bigint")), scans=(ScanPlan("scan"),))
    tables = [
        TablePlan(
            name, (Field.of("k", "bigint"), Field.of("v", "bigint")), lookups=(LookupPlan(lookup, (0,)),)
        )
        for name in (first, "web.t")
    ]
    equalities = [EqualityClass((Column(0, n), Column(n + 1, 0))) for n in range(2)]
    over = 1 if inline else 0
    predicate = Predicate(
        Compare(">", Column(over, 1), Literal(value, pa.int64())), "text", module=not inline
    )
    if flipped:
        tables.reverse()
        equalities = [EqualityClass((Column(0, 1 - n), Column(n + 1, 0))) for n in range(2)]
    aliases = tuple(AliasPlan(name, number, active=number == 0) for number, name in enumerate("xyz"))
    return BlockPlan((source, *tables), aliases, tuple(equalities), (predicate,))


FIRST, SECOND, FILTER = Move(1, 0), Move(2, 0), Move(predicate=0)
LESSON, LEVEL = Lesson((10.0, 5.0)), Level(4.0, 2.0, 1.5)


def remembered(*moves: Move) -> Memory:
    memory = Memory()
    past = Past(
        {(NEW, move): LESSON for move in moves}, dict.fromkeys(moves, LESSON), dict.fromkeys(moves, LEVEL)
    )
    memory.keep(a_plan(), None, past)
    return memory


def test_ordinals_and_aliases_do_not_matter() -> None:
    memory = remembered(FIRST, FILTER)
    assert Memory().recall(a_plan()) is None
    plan = a_plan(flipped=True)
    plan = replace(plan, aliases=tuple(replace(alias, name=alias.name * 2) for alias in plan.aliases))
    for same, looked_up in ((a_plan(), FIRST), (plan, SECOND)):
        past = memory.recall(same)
        assert past is not None
        assert past.here == {(NEW, looked_up): LESSON, (NEW, FILTER): LESSON}
        assert past.anywhere == {looked_up: LESSON, FILTER: LESSON}
        assert past.costs == {looked_up: LEVEL, FILTER: LEVEL}


def test_another_table_access_method_or_constant_is_another_move() -> None:
    assert remembered(FIRST).recall(a_plan(first="web.u")) is None
    assert remembered(FIRST).recall(a_plan(lookup="by_v")) is None
    assert remembered(FILTER).recall(a_plan(value=6)) is None


def test_another_condition_changes_fan_outs_and_not_costs() -> None:
    past = remembered(FIRST).recall(a_plan(inline=True))
    assert past is not None
    assert past.costs == {FIRST: LEVEL}
    assert not past.here
    assert not past.anywhere


def test_states_are_told_apart_by_what_they_have_passed() -> None:
    memory, passed = Memory(), TupleState(1, 1)
    memory.keep(a_plan(), None, Past({(passed, FIRST): LESSON}, {}, {}))
    past = memory.recall(a_plan())
    assert past is not None
    assert past.here == {(passed, FIRST): LESSON}


def test_what_proved_wrong_is_not_told_again() -> None:
    memory = remembered(FIRST, SECOND)
    recalled = memory.recall(a_plan())
    memory.keep(a_plan(), recalled, Past({}, {}, {FIRST: LEVEL}))
    past = memory.recall(a_plan())
    assert past is not None
    assert past.costs == {FIRST: LEVEL}


def test_the_oldest_gives_way_once_there_is_too_much() -> None:
    known: dict[object, Lesson] = {}
    for name in range(REMEMBERED):
        _put(known, name, LESSON)
    _put(known, 0, LESSON)
    _put(known, "new", LESSON)
    assert len(known) == REMEMBERED
    assert 1 not in known
    assert {0, "new"} <= known.keys()


def test_times_prove_nothing_where_only_requests_count() -> None:
    lookup = Move(1, 0)
    past = Past({}, {}, {lookup: Level(8.0, 0.0, 0.0)})
    slow = Outcome(NEW, lookup, 1, 1, requests=1, cost=50.0)
    assert Beliefs(past=past).observe(slow)
    assert not Beliefs(past=past, by_request=True).observe(slow)


def test_matches_that_come_before_their_tuples_are_reported_prove_nothing() -> None:
    lookup = Move(1, 0)
    beliefs = Beliefs(past=Past({(NEW, lookup): Lesson((100.0, 100.0))}, {}, {}))
    assert not any(beliefs.observe(Outcome(NEW, lookup, 0, 10)) for _ in range(3))
    assert not beliefs.observe(Outcome(NEW, lookup, 30, 0))
