"""Routing policies: their numbers move, their choices follow, and whatever they do is legal and repeatable."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.errors import UsageError
from fff.policies import DEFAULT_POLICY, POLICIES, make_policy
from fff.policies.fixed import Fixed
from fff.policies.lottery import FLOOR, Lottery
from fff.policies.rank import EXPLORE, REOPTIMIZE, TRIAL, Rank
from fff.policies.windowed_lottery import WindowedLottery
from tests.dataflow.blocks import Play, block, compare, table

STATE = TupleState(0b1)
S, T, U = Move(1), Move(2), Move(3, 0)
MOVES = (S, T, U)
STAR = block(
    [table("a b c", scans=1), table("k v", scans=1), table("k v", (0,), scans=1), table("k v", (0,))],
    ["0.0 = 1.0", "0.1 = 2.0", "0.2 = 3.0"],
    predicates=[compare("0.0", ">=", 0, module=True)],
)


def shares(
    policy: RoutingPolicy, moves: Sequence[Move] = MOVES, draws: int = 2000, seed: int = 1
) -> Counter[Move]:
    rng = random.Random(seed)
    return Counter(policy.choose(STATE, moves, rng) for _ in range(draws))


def learn(policy: RoutingPolicy, move: Move, taken: int, produced: int, **more: object) -> None:
    policy.observe(Outcome(STATE, move, taken, produced, **more))  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------- by name


def test_every_name_makes_its_policy() -> None:
    assert DEFAULT_POLICY in POLICIES
    assert [make_policy(name, STAR).name for name in POLICIES] == list(POLICIES)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "best",
        "naive:a",
        "lottery:",
        "Rank",
        "rank:b,a",
        "rank:0",
        "lottery:x",
        "windowed-lottery:0",
        "windowed-lottery:x",
    ],
)
def test_other_names_are_refused_with_the_list(name: str) -> None:
    if name == "lottery:":
        assert make_policy(name, STAR).name == "lottery", "nothing after the colon is nothing"
        return
    with pytest.raises(UsageError) as caught:
        make_policy(name, STAR)
    assert all(known in caught.value.render() for known in POLICIES)


# ------------------------------------------------------------------------------------------------------ fixed


def test_fixed_follows_its_order() -> None:
    rng = random.Random(0)
    assert make_policy("fixed:d, C,a,B", STAR).choose(STATE, MOVES, rng) == U
    assert make_policy("fixed:a,c,b,d", STAR).choose(STATE, MOVES, rng) == T
    assert make_policy("fixed", STAR).choose(STATE, MOVES, rng) == S, "that of FROM"
    assert Fixed(STAR).choose(STATE, (U, T), rng) == T


def test_fixed_takes_predicates_first_and_scans_before_accelerators() -> None:
    rng = random.Random(0)
    policy = make_policy("fixed:d,c,b,a", STAR)
    predicates = (Move(predicate=4), Move(predicate=2))
    assert policy.choose(STATE, (*MOVES, *predicates), rng) == predicates[1]
    assert policy.choose(STATE, (Move(2, 0), Move(2), S), rng) == Move(2)


@pytest.mark.parametrize("order", ["a", "a,b,c", "a,b,c,e", "a,b,c,d,d", "a,,b,c,d"])
def test_fixed_must_name_each_alias_once(order: str) -> None:
    with pytest.raises(UsageError, match="must name each of a, b, c, d once"):
        make_policy(f"fixed:{order}", STAR)


# ------------------------------------------------------------------------------------------------------ naive


def test_naive_is_uniform_and_learns_nothing() -> None:
    policy = make_policy("naive", STAR)
    before = shares(policy, draws=3000)
    assert all(900 < before[move] < 1100 for move in MOVES)
    learn(policy, S, 10_000, 0)
    assert shares(policy, draws=3000) == before


# ---------------------------------------------------------------------------------------------------- lottery


def test_tickets_are_taken_less_produced() -> None:
    """R2."""
    policy = Lottery()
    learn(policy, S, 10, 3)
    learn(policy, S, 5, 5)
    assert policy.tickets[S] == FLOOR + 7
    learn(policy, S, 0, 4)
    assert policy.tickets[S] == FLOOR + 3, "matches that come late are paid for when they come"


def test_tickets_never_fall_below_the_floor() -> None:
    """P32: a fan-out above one must not end exploration."""
    policy = Lottery()
    learn(policy, S, 10, 1000)
    assert policy.tickets[S] == FLOOR
    learn(policy, S, 10, 0)
    assert policy.tickets[S] == FLOOR + 10, "and debts are not carried along"


def test_the_lottery_prefers_the_selective_and_still_explores() -> None:
    policy = Lottery()
    assert min(shares(policy).values()) > 500, "nothing known: evenly"
    learn(policy, S, 100, 10)
    won = shares(policy)
    assert won[S] > 0.9 * 2000
    assert won[T] + won[U] > 0
    learn(policy, S, 100, 300)
    learn(policy, T, 100, 10)
    assert shares(policy)[T] > 0.9 * 2000, "it changes its mind"


def test_a_window_draws_with_what_the_last_one_earned() -> None:
    """R3."""
    policy = WindowedLottery(100)
    learn(policy, S, 90, 0)
    assert min(shares(policy).values()) > 500, "in the first window nothing is banked"
    learn(policy, T, 10, 10)
    assert policy.banked == {S: 90.0, T: 0.0}
    assert policy.escrow == {}
    assert shares(policy)[S] > 0.9 * 2000
    learn(policy, T, 100, 0)
    assert shares(policy)[T] > 0.9 * 2000, "S has not proved itself anew: its merits are forgotten"


def test_the_window_can_be_named() -> None:
    policy = make_policy("windowed-lottery:7", STAR)
    learn(policy, S, 7, 0)
    assert isinstance(policy, WindowedLottery)
    assert policy.banked == {S: 7.0}


# ------------------------------------------------------------------------------------------------------- rank


def feed_back(policy: Rank, fan_out: dict[Move, float], rounds: int, rng: random.Random) -> Counter[Move]:
    """Route batches, tell what came of them; the share of each move."""
    routed: Counter[Move] = Counter()
    for _ in range(rounds):
        move = policy.choose(STATE, tuple(fan_out), rng)
        routed[move] += 1
        learn(policy, move, REOPTIMIZE, int(REOPTIMIZE * fan_out[move]))
    return routed


def test_rank_finds_the_selective_probe() -> None:
    policy, rng = Rank(), random.Random(2)
    feed_back(policy, {S: 1.0, T: 0.1}, 1000, rng)
    routed = feed_back(policy, {S: 1.0, T: 0.1}, 1000, rng)
    assert routed[T] > 0.95 * 1000
    assert routed[S] > 0, "exploration goes on (R7)"


def test_rank_re_routes_when_selectivities_flip() -> None:
    policy, rng = Rank(), random.Random(3)
    assert feed_back(policy, {S: 0.1, T: 1.5}, 300, rng)[S] > 200
    feed_back(policy, {S: 1.5, T: 0.1}, 1500, rng)
    assert feed_back(policy, {S: 1.5, T: 0.1}, 300, rng)[T] > 0.9 * 300


def test_rank_decides_once_in_so_many_tuples() -> None:
    policy, rng = Rank(), random.Random(0)
    learn(policy, S, TRIAL, TRIAL)
    learn(policy, T, TRIAL, 0)
    chosen = Counter(policy.choose(STATE, (S, T), rng) for _ in range(500))
    assert chosen[T] >= 500 * (1 - 3 * EXPLORE)
    learn(policy, T, REOPTIMIZE // 2, 5 * REOPTIMIZE)
    assert shares(policy, (S, T), 500)[T] > 400, "not yet"
    learn(policy, T, REOPTIMIZE // 2, 5 * REOPTIMIZE)
    assert shares(policy, (S, T), 500)[S] > 400


def test_rank_weighs_requests() -> None:
    policy = Rank()
    learn(policy, U, 100, 20, requests=100)
    learn(policy, S, 100, 60)
    assert policy._rank(STATE, S) > policy._rank(STATE, U), "a request costs many probes"
    cached = Rank()
    learn(cached, U, 100, 20, requests=0)
    learn(cached, S, 100, 60)
    assert cached._rank(STATE, U) > cached._rank(STATE, S)


def test_rank_leaves_lookups_beside_a_scan_alone() -> None:
    assert set(shares(Rank(), (S, Move(1, 0), T))) <= {S, T}


def test_estimates_are_by_state() -> None:
    policy, other = Rank(), TupleState(0b11)
    learn(policy, S, 100, 0)
    assert policy._rank(other, S) > (0.0, 0.0), "what is known of a move counts where it was not tried"
    policy.observe(Outcome(other, S, 100, 100))
    assert policy._rank(STATE, S) > (0.0, 0.0)
    assert policy._rank(other, S) < policy._rank(STATE, S)
    assert policy._estimates[other, S].mean(0.5) > 0.9


def test_how_often_rank_decides_can_be_named() -> None:
    policy, rng = make_policy("rank:10", STAR), random.Random(0)
    for move, produced in ((S, TRIAL), (T, 0)):
        learn(policy, move, TRIAL, produced)
    policy.choose(STATE, (S, T), rng)
    learn(policy, T, 10, 500)
    assert shares(policy, (S, T), 200)[S] > 180


def test_rank_orders_by_measured_costs() -> None:
    """The paper instruments its operators: of two that remove as much, the one that takes less time comes first."""
    policy = Rank()
    for move, seconds in ((S, 5.0), (T, 0.5)):
        policy.observe(Outcome(STATE, move, 100, 50, cost=seconds))
    assert shares(policy, (S, T), 100)[T] > 90
    cheap = Rank()
    for move, produced, seconds in ((S, 10, 5.0), (T, 80, 0.5)):
        cheap.observe(Outcome(STATE, move, 100, produced, cost=seconds))
    assert shares(cheap, (S, T), 100)[T] > 90, "twice as much for a tenth"
    for move in (S, T):
        cheap.observe(Outcome(STATE, move, 0, 0, requests=100))
    assert shares(cheap, (S, T), 100)[T] > 90, (
        "what was measured counts, not what requests are guessed to take"
    )


def test_tickets_can_be_divided_by_costs() -> None:
    """Ledger P32: without back-pressure tickets know no cost."""
    policy, blind = make_policy("lottery:costs", STAR), make_policy("lottery", STAR)
    assert shares(policy) == shares(blind), "nothing is measured yet"
    for one in (policy, blind):
        for move, seconds in ((S, 9.0), (T, 1.0)):
            one.observe(Outcome(STATE, move, 100, 50, cost=seconds))
    assert 800 < shares(blind)[T] < 1200
    assert 1700 < shares(policy)[T] < 1900, "nine to one"
    unknown = shares(policy, (S, U), 2000)
    assert unknown[U] > 0, "what was never measured is taken to be as dear as the others"


def test_rank_tries_every_probe_before_it_believes_any() -> None:
    for other, winner in ((T, T), (U, S)):  # a lookup costs too much to be tried for nothing
        policy = Rank()
        learn(policy, S, 100, 1)
        assert shares(policy, (S, other), 100)[winner] > 90


def test_an_unanswered_lookup_is_not_selective() -> None:
    """P33: tuples that park count when their lookup has ended."""
    policy = Rank()
    learn(policy, S, 100, 50)
    learn(policy, U, 0, 0, requests=1, informed=False)
    assert policy._rank(STATE, S) > policy._rank(STATE, U)


@pytest.mark.parametrize("name", ["lottery", "windowed-lottery:500", "rank", "benefit", "adaptive"])
def test_an_empty_stem_proves_nothing(name: str) -> None:
    """P33: the join with a source that has not sent a row yet is not selective."""
    policy, same = make_policy(name, STAR), make_policy(name, STAR)
    for _ in range(100):
        learn(policy, S, 1000, 0, informed=False)
    assert shares(policy) == shares(same)


# -------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize(
    "name", ["fixed", "fixed:d,b,c,a", "naive", "lottery", "windowed-lottery:20", "rank"]
)
class TestEvery:
    def play(self, name: str, seed: int) -> Play:
        """A run in which all there is to choose comes up, small batches so that it comes up often."""
        rng = random.Random(99)
        game = Play(STAR, name, seed, route_size=3)
        game.start()
        data = {
            1: [(n, n) for n in range(6)],
            2: [(n % 4, n) for n in range(8)],
            3: [(n, 10 * n) for n in range(5)],
        }
        for _ in range(6):
            game.page(0, *[tuple(rng.randrange(6) for _ in range(3)) for _ in range(4)])
        for number in (1, 2):
            game.scan(number, *data[number])
        game.end(0)
        from fff.dataflow.plan.events import Lookup

        for lookup in game.told.of(Lookup):
            if game.eddy.lookups.asked(lookup.request):
                rows = [row for row in data[lookup.table] if (row[0],) in lookup.keys]
                game.answer(lookup.request, *rows)
        assert game.finish is not None
        assert game.finish.complete
        return game

    def test_same_seed_same_run(self, name: str) -> None:
        first, second = self.play(name, 5), self.play(name, 5)
        assert [type(item) for item in first.told] == [type(item) for item in second.told]
        assert first.eddy.router.routing == second.eddy.router.routing
        assert list(first.ids) == list(second.ids), "in the same order"

    def test_the_rows_do_not_depend_on_it(self, name: str) -> None:
        reference = self.play("fixed", 0)
        assert sum(reference.rows.values()) > 20
        for seed in range(3):
            assert self.play(name, seed).rows == reference.rows

    def test_it_chooses_among_the_legal(self, name: str) -> None:
        policy, rng = make_policy(name, STAR), random.Random(7)
        known: dict[tuple[Move, ...], int] = {}
        for round_ in range(300):
            moves = tuple(rng.sample([*MOVES, Move(2, 0), Move(predicate=0)], 2 + round_ % 4))
            state = TupleState(1, known.setdefault(moves, len(known)))  # a state always has the same moves
            move = policy.choose(state, moves, rng)
            assert move in moves
            policy.observe(Outcome(state, move, rng.randrange(200), rng.randrange(400), rng.randrange(9)))


def test_seeds_differ() -> None:
    for name in ("naive", "lottery"):
        policies = [make_policy(name, STAR) for _ in range(2)]
        rngs = [random.Random(seed) for seed in range(2)]
        first, second = (
            [policy.choose(STATE, MOVES, rng) for _ in range(50)]
            for policy, rng in zip(policies, rngs, strict=True)
        )
        assert first != second
