"""The self-audit: what came of the routing, the best static order in hindsight, and an interval that holds."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from fff.dataflow.plan.moves import Move, Outcome, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.flow import FIRST_INTERVAL, INTERVALS, Flow
from fff.dataflow.statistics import LookupStatistics
from fff.result.audit.evidence import RoutingEvidence
from fff.result.audit.hindsight import Hindsight, hindsight
from tests.dataflow.blocks import block, compare, table

FILTERS = block(
    [table("a b c d", scans=1)],
    [],
    predicates=[compare(f"0.{column}", ">=", 0, module=True) for column in range(4)],
)
#: R scanned; S and T answer lookups by one key of R each.
STAR = block([table("a b", scans=1), table("k", (0,)), table("k", (0,))], ["0.0 = 1.0", "0.1 = 2.0"])


def route(plan: BlockPlan, passes: dict[Move, float], rng: random.Random, tuples: int, keys: int) -> Flow:
    """A naive eddy over independent modules: each tuple goes anywhere it may, one at a time."""
    flow, constraints = Flow(), Constraints(plan)
    asked: dict[Move, set[int]] = {}
    for _ in range(tuples):
        state = TupleState(1)
        while not constraints.finished(state):
            move = rng.choice(constraints.legal(state))
            fresh = 0
            if move.lookup is not None:
                key, seen = rng.randrange(keys), asked.setdefault(move, set())
                fresh = int(key not in seen)
                seen.add(key)
            kept = rng.random() < passes[move]
            flow.observe(Outcome(state, move, 1, int(kept), fresh))
            if not kept:
                break
            state = after(state, move)
    return flow


def judged(plan: BlockPlan, flow: Flow, seed: int = 1) -> Hindsight:
    found = hindsight(plan, flow.statistics(), seed)
    assert found is not None
    return found


def chain(shares: list[float], tuples: int) -> float:
    """Hops that filters of these pass rates take in this order."""
    hops, left = 0.0, float(tuples)
    for share in shares:
        hops += left
        left *= share
    return hops


def test_the_best_order_of_filters_is_found_and_its_spend() -> None:
    shares = [0.9, 0.2, 0.6, 0.4]
    passes = {Move(predicate=number): share for number, share in enumerate(shares)}
    found = judged(FILTERS, route(FILTERS, passes, random.Random(3), 4000, 1))
    names = [predicate.text or f"predicate {number}" for number, predicate in enumerate(FILTERS.predicates)]
    assert [name for name in found.order if name in names] == [names[number] for number in (1, 3, 2, 0)]
    best = chain(sorted(shares), 4000)
    assert found.best.hops == pytest.approx(best, rel=0.05)
    assert found.best.requests == found.spent.requests == 0
    assert found.regret == pytest.approx(found.spent.hops / best - 1, abs=0.06)
    assert found.low < found.regret < found.high


def test_rows_of_answers_that_broke_off_are_accounted_for() -> None:
    flow = Flow()
    first, second = Move(1, 0), Move(2, 0)
    start = TupleState(1)
    flow.observe(Outcome(start, first, 5, 5, 5))
    flow.observe(
        Outcome(start, second, 0, 2, 1)
    )  # rows came, then the connection broke: it is no tuple's answer
    flow.observe(Outcome(after(start, first), second, 5, 5, 5))
    flow.observe(Outcome(after(start, second), first, 2, 2, 2))
    assert judged(STAR, flow).spent.requests == 13


def test_the_copies_of_a_row_say_no_more_than_the_row() -> None:
    """S makes 20 tuples of a row, and ten such rows found nothing in T: of 110 rows 50 did, and not of 300 tuples."""
    flow, start, to_s, to_t = Flow(), TupleState(1), Move(1, 0), Move(2, 0)
    flow.observe(Outcome(start, to_t, 100, 50, 100))
    flow.observe(Outcome(start, to_s, 20, 200, 20))
    flow.observe(Outcome(after(start, to_s), to_t, 200, 0, 10))
    flow.observe(Outcome(after(start, to_t), to_s, 50, 500, 50))
    answers = {
        (1, 0): told(70, issued=70, met=35, seconds=0.1),
        (2, 0): told(110, issued=110, met=50, seconds=0.1),
    }
    evidence = RoutingEvidence(
        STAR,
        Constraints.of(STAR),
        flow.statistics(),
        answers,
        prefer="balanced",
        rng=np.random.default_rng(1),
    )
    assert evidence.pooled(to_t) == pytest.approx(51 / 111, rel=0.02)
    rows = evidence.rows(start, (after(start, to_t), to_s), np.array([50.0]))
    assert rows == pytest.approx([50.0], rel=0.02), "T has one row for a key"


@pytest.mark.parametrize("keys", [200, 10**9])
def test_requests_count_distinct_keys(keys: int) -> None:
    passes = {Move(1, 0): 0.1, Move(2, 0): 0.9}
    found = judged(STAR, route(STAR, passes, random.Random(5), 3000, keys))
    selective, other = STAR.aliases[1].name, STAR.aliases[2].name
    assert found.order.index(selective) < found.order.index(other)
    first = keys * (1 - (1 - 1 / keys) ** 3000) if keys < 10**6 else 3000
    second = keys * (1 - (1 - 1 / keys) ** 300) if keys < 10**6 else 300
    assert found.best.requests == pytest.approx(first + second, rel=0.06)
    assert found.spent.requests > found.best.requests


def test_nothing_to_choose_is_nothing_to_regret() -> None:
    plan = block([table("a", scans=1), table("k", (0,))], ["0.0 = 1.0"])
    routed = route(plan, {Move(1, 0): 0.5}, random.Random(1), 100, 50)
    assert hindsight(plan, routed.statistics(), 1) is None
    assert hindsight(STAR, Flow().statistics(), 1) is None


@pytest.mark.parametrize("classes", [1, 3])
def test_the_interval_encloses_the_true_regret(classes: int) -> None:
    """Literature C3.12: in at least 85 % of runs; what every order costs on these tuples is known here.

    Filters are correlated where tuples have classes.
    """
    inside, runs = 0, 25
    orders = list(itertools.permutations(range(4)))
    for seed in range(runs):
        rng = random.Random(seed)
        shares = [[rng.uniform(0.05, 0.95) for _ in range(4)] for _ in range(classes)]
        tuples = [[rng.random() < share for share in rng.choice(shares)] for _ in range(200)]
        flow = Flow()
        for one in tuples:
            done = 0
            for number in rng.choice(orders):
                kept = one[number]
                flow.observe(Outcome(TupleState(1, done), Move(predicate=number), 1, int(kept)))
                done |= 1 << number
                if not kept:
                    break
        least = min(
            sum(1 + next((at for at in range(3) if not one[order[at]]), 3) for one in tuples)
            for order in orders
        )
        found = judged(FILTERS, flow, seed)
        inside += found.low <= flow.statistics().tuples / least - 1 <= found.high
    assert inside >= 0.85 * runs


def told(asked: int, *, issued: int, met: int, seconds: float) -> LookupStatistics:
    """Of a lookup whose requests have all been answered."""
    return LookupStatistics(
        name="lookup",
        columns=(0,),
        issued=issued,
        hedged=0,
        under_way=0,
        asked=asked,
        pending=0,
        failed=0,
        rows=met,
        duplicates=0,
        strays=0,
        stalled=False,
        met=met,
        answered=issued,
        served_s=issued * seconds,
    )


def test_seconds_decide_and_not_requests() -> None:
    """S lets fewer pass and takes ten times as long as T: T first."""
    passes = {Move(1, 0): 0.4, Move(2, 0): 0.5}
    flow = route(STAR, passes, random.Random(5), 2000, 10**9).statistics()
    asked = {
        move.alias: sum(p.requests for (_, m), p in flow.passages.items() if m == move) for move in passes
    }
    lookups = {
        (alias, 0): told(many, issued=many, met=many // 2, seconds=10.0 if alias == 1 else 1.0)
        for alias, many in asked.items()
    }
    by_requests, by_seconds = hindsight(STAR, flow, 1), hindsight(STAR, flow, 1, lookups)
    assert by_requests is not None
    assert by_seconds is not None
    first, second = STAR.aliases[1].name, STAR.aliases[2].name
    assert by_requests.order.index(first) < by_requests.order.index(second)
    assert by_seconds.order.index(second) < by_seconds.order.index(first)
    assert by_seconds.best.seconds == pytest.approx(2000 * 1.0 + 1000 * 10.0, rel=0.06)
    spent = 10.0 * asked[1] + asked[2]
    assert by_seconds.spent.seconds == pytest.approx(spent, rel=0.01)
    assert by_seconds.regret == pytest.approx(spent / 12_000 - 1, abs=0.08)


def test_tuples_that_a_join_has_multiplied_ask_for_one_key() -> None:
    """Every second row finds 20 in S; each asks T for its own key, once, whichever way it goes."""
    rng, flow = random.Random(3), Flow()
    start, rows = TupleState(1), 1000
    for _ in range(rows):
        some, passes = 20 * (rng.random() < 0.5), rng.random() < 0.8
        if rng.random() < 0.5:
            flow.observe(Outcome(start, Move(1, 0), 1, some, 1))
            if some:
                flow.observe(Outcome(TupleState(0b11), Move(2, 0), some, some * passes, 1))
        else:
            flow.observe(Outcome(start, Move(2, 0), 1, int(passes), 1))
            if passes:
                flow.observe(Outcome(TupleState(0b101), Move(1, 0), 1, some, 1))
    found = flow.statistics()
    keys = {
        alias: sum(p.requests for (_, m), p in found.passages.items() if m.alias == alias) for alias in (1, 2)
    }
    lookups = {
        (1, 0): told(keys[1], issued=keys[1], met=keys[1] // 2, seconds=1.0),
        (2, 0): told(keys[2], issued=keys[2], met=int(0.8 * keys[2]), seconds=1.0),
    }
    judgement = hindsight(STAR, found, 1, lookups)
    assert judgement is not None
    assert judgement.order.index(STAR.aliases[1].name) < judgement.order.index(STAR.aliases[2].name)
    assert judgement.best.requests == pytest.approx(rows + rows / 2, rel=0.06)


def test_orders_that_cost_the_same_are_ties() -> None:
    passes = {Move(predicate=number): 0.5 for number in range(4)}
    found = judged(FILTERS, route(FILTERS, passes, random.Random(2), 60, 1))
    assert found.ties
    assert found.order not in found.ties
    clear = {Move(predicate=number): share for number, share in enumerate([0.3, 0.5, 0.7, 0.95])}
    assert not judged(FILTERS, route(FILTERS, clear, random.Random(2), 4000, 1)).ties


def test_the_same_seed_judges_alike() -> None:
    passes = {Move(predicate=number): 0.5 for number in range(4)}
    flow = route(FILTERS, passes, random.Random(2), 200, 1)
    assert judged(FILTERS, flow, 7) == judged(FILTERS, flow, 7)


def test_many_modules_do_not_take_every_order() -> None:
    plan = block(
        [table("a b c d e f g h i", scans=1)],
        [],
        predicates=[compare(f"0.{column}", ">=", 0, module=True) for column in range(9)],
    )
    shares = [0.1 * (number + 1) for number in range(9)]
    random.Random(1).shuffle(shares)
    passes = {Move(predicate=number): share for number, share in enumerate(shares)}
    flow = route(plan, passes, random.Random(4), 3000, 1)
    assert judged(plan, flow).best.hops == pytest.approx(chain(sorted(shares), 3000), rel=0.05)


def test_history_stays_small_and_loses_nothing() -> None:
    flow = Flow()
    for number in range(5000):
        flow.observe(Outcome(TupleState(1), Move(number % 3), 7, 3))
    assert len(flow.history) <= INTERVALS
    assert sum(sum(interval.values()) for interval in flow.history) == flow.statistics().tuples == 35_000
    sizes = [sum(interval.values()) for interval in flow.history[:-1]]
    assert min(sizes) >= FIRST_INTERVAL
    assert max(sizes) <= 4 * min(sizes), "intervals of about the same length"
