"""The default policy: what it believes, when it starts over, whom it lets wait."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import PullingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies import PREFERENCES, make_policy
from fff.policies.adaptive.change_points import CountChange, LevelChange
from fff.policies.adaptive.lattice import MAX_STATES, Bills, Lattice, sober, solve
from fff.policies.adaptive.policy import MANY, TOGETHER, Adaptive
from fff.policies.adaptive.posterior import Beliefs, Draw
from fff.policies.adaptive.scarcity import Scarcity
from fff.policies.benefit import HIDDEN, Benefit, Worth
from fff.structs import replace
from tests.dataflow.blocks import Play, block, table
from tests.policies.driving import NEW, A, B, drive

LOOKUPS = block([table("a b k", scans=1), table("k v", (0,)), table("k v", (0,))], ["0.0 = 1.0", "0.1 = 2.0"])
PROBES = block([table("a b", scans=1), table("k", scans=1), table("k", scans=1)], ["0.0 = 1.0", "0.1 = 2.0"])
TO_1, TO_2 = Move(1, 0), Move(2, 0)


def test_it_finds_the_cheap_and_the_selective() -> None:
    assert drive(Adaptive(), {A: 0.5, B: 0.5}, {A: 1, B: 10}, 500)[A] > 450
    assert drive(Adaptive(), {A: 0.1, B: 0.9}, {A: 1, B: 1}, 500)[A] > 400


@pytest.mark.parametrize("what", ["costs", "selectivities"])
def test_it_re_routes_soon_after_a_flip(what: str) -> None:
    policy = Adaptive()
    same = {A: 0.5, B: 0.5}, {A: 1.0, B: 1.0}
    before, then = (
        ({A: 1.0, B: 20.0}, {A: 20.0, B: 1.0}) if what == "costs" else ({A: 0.05, B: 0.9}, {A: 0.9, B: 0.05})
    )
    for one, least in ((before, 1400), (then, 400)):
        worlds = (same[0], one) if what == "costs" else (one, same[1])
        first = drive(policy, *worlds, 1500 if one is before else 500)
        assert first[A if one is before else B] > least
    assert policy.restarts >= 1


def test_nothing_changes_no_restart() -> None:
    restarts = 0
    for seed in range(5):
        policy = Adaptive()
        drive(policy, {A: 0.3, B: 0.6}, {A: 3, B: 2}, 1000, seed)
        restarts += policy.restarts
    assert restarts == 0


def test_correlation_is_seen_where_it_shows() -> None:
    """What passes A never passes C; by itself C passes more than B does. After A, C has to come first."""
    moves = tuple(Move(predicate=number) for number in range(3))
    policy, rng = Adaptive(), random.Random(1)
    chosen = Counter[Move]()
    for number in range(600):
        passes = {moves[0]: number % 5 == 0, moves[1]: rng.random() < 0.5, moves[2]: number % 5 != 0}
        state, left = NEW, moves
        while left:
            move = left[0] if len(left) == 1 else policy.choose(state, left, rng)
            if number > 300 and state == after(NEW, moves[0]):
                chosen[move] += 1
            policy.observe(Outcome(state, move, 1, int(passes[move]), cost=1.0))
            if not passes[move]:
                break
            state, left = after(state, move), tuple(other for other in left if other != move)
    assert chosen[moves[2]] > 5 * chosen[moves[1]]


def test_an_empty_stem_proves_nothing() -> None:
    """P33."""
    told, same = Beliefs(), Beliefs()
    for _ in range(100):
        told.observe(Outcome(NEW, TO_1, 1000, 0, informed=False))
    assert told.expected(NEW, TO_1) == same.expected(NEW, TO_1)
    told.observe(Outcome(NEW, TO_1, 1000, 0))
    assert told.expected(NEW, TO_1) < 0.1


def offer(backlog: Mapping[Move, int], size: int = 100, window: int = 8) -> Offer:
    return Offer(NEW, (TO_1, TO_2), size, lambda move: Load(backlog.get(move, 0), window))


def informed(prefer: str, passes: float = 0.9, plan: BlockPlan = LOOKUPS, seconds: float = 1.0) -> Adaptive:
    """Both lookups cost a second; the first one passes nothing, the second so many."""
    policy = Adaptive(plan, prefer)  # type: ignore[arg-type]
    for number in range(200):
        for state in (NEW, after(NEW, TO_1), after(NEW, TO_2)):
            for move, rate in ((TO_1, 0.0), (TO_2, passes)):
                if not state.span >> move.alias & 1:
                    produced = int((number + 1) * rate) - int(number * rate)
                    policy.observe(Outcome(state, move, 1, produced, requests=1, cost=seconds))
    return policy


def test_a_quota_that_would_run_out_has_a_price_that_rises() -> None:
    """The first lookup removes most, and so would spend least; its host admits few requests more."""
    shares = []
    for left in (None, 5000.0, 20.0):
        policy, rng, taken = informed("balanced", 0.3), random.Random(0), Counter[Move]()

        def load(move: Move, left: float | None = left) -> Load:
            return Load(0, 8, 1, left, 60.0) if move == TO_1 else Load(0, 8)

        for _ in range(100):
            chosen = policy.take(Offer(NEW, (TO_1, TO_2), 8, load, expected=lambda: 800), rng)
            assert chosen is not None
            taken[chosen[0]] += chosen[1]
        shares.append(taken[TO_2] / taken.total())
    unknown, ample, scarce = shares
    assert ample == pytest.approx(unknown, abs=0.1), "it would not run out"
    assert scarce > 0.95 > unknown + 0.2


def test_what_waiting_is_worth() -> None:
    rng = random.Random(0)
    for prefer in PREFERENCES:
        assert informed(prefer, 1.0).take(offer({}), rng) == (TO_1, 8), "as many as there is room for"
        assert informed(prefer).take(offer({TO_1: 8, TO_2: 8}), rng) is None
        assert informed(prefer, 1.0).take(offer({TO_1: 8}), rng) is None, (
            "it would have to go to the first anyway"
        )
    assert informed("fast").take(offer({TO_1: 8}), rng) == (TO_2, 8)
    assert informed("balanced").take(offer({TO_1: 8}), rng) is None, "90 % more requests for 10 % of the time"
    assert informed("balanced", 0.4).take(offer({TO_1: 8}), rng) == (TO_2, 8), "40 % more for 60 %"
    assert informed("cheap", 0.4).take(offer({TO_1: 8}), rng) is None


def priced(
    *prices: float, ceilings: tuple[int, int] = (8, 8), limiters: tuple[int, int] = (0, 1)
) -> BlockPlan:
    """The two lookups at limiters of these ordinals."""
    tables = list(LOOKUPS.tables)
    for number, (price, ceiling, limiter) in enumerate(zip(prices, ceilings, limiters, strict=True), 1):
        lookup = replace(tables[number].lookups[0], price=price, ceiling=ceiling, limiter=limiter)
        tables[number] = replace(tables[number], lookups=(lookup,))
    return replace(LOOKUPS, tables=tuple(tables))


def test_calls_that_cost_money_are_never_given_for_time() -> None:
    rng, busy = random.Random(0), offer({TO_1: 8})
    assert informed("balanced", 0.4, priced(0.0, 0.0)).take(busy, rng) == (TO_2, 8)
    assert informed("balanced", 0.4, priced(0.0, 0.01)).take(busy, rng) is None
    assert informed("fast", 0.4, priced(0.0, 0.01)).take(busy, rng) == (TO_2, 8)


def test_where_the_engine_itself_is_what_all_wait_for_nothing_is_to_be_gained() -> None:
    """Answers of a millisecond, eight at a time: the engine takes longer to send the requests than they to be answered."""
    rng, busy = random.Random(0), offer({TO_1: 8})
    assert informed("fast", plan=priced(0.0, 0.0), seconds=1e-3).take(busy, rng) is None
    assert informed("fast", plan=priced(0.0, 0.0), seconds=1.0).take(busy, rng) == (TO_2, 8)


def test_what_shares_a_limiter_shares_its_price() -> None:
    """Answers that take a half longer are chance, or queues; five times as long they are not."""
    shared = priced(0.0, 0.0, limiters=(0, 0))
    for slower, same in ((1.5, True), (5.0, False)):
        beliefs = Adaptive(shared).beliefs
        apart = Adaptive(priced(0.0, 0.0)).beliefs
        for _ in range(50):
            for move, seconds in ((TO_1, 1.0), (TO_2, slower)):
                beliefs.observe(Outcome(NEW, move, 1, 1, cost=seconds))
                apart.observe(Outcome(NEW, move, 1, 1, cost=seconds))
        assert (beliefs.price(TO_1, 0.0) == beliefs.price(TO_2, 0.0)) is same
        assert apart.price(TO_2, 0.0) > 1.4 * apart.price(TO_1, 0.0)


def test_few_tuples_go_before_anything_is_known() -> None:
    policy, rng = Adaptive(LOOKUPS), random.Random(0)
    assert policy.take(offer({}, window=1000), rng)[1] < 10  # type: ignore[index]
    assert informed("fast").take(offer({}, window=1000), rng)[1] > 10  # type: ignore[index]
    probes = Offer(NEW, (Move(1), Move(2)), 5000, lambda _: Load())
    assert policy.take(probes, rng)[1] == 5000, "nothing is at stake"  # type: ignore[index]


def test_pieces_grow_while_no_answer_comes() -> None:
    """To decide on 1,000 tuples one by one makes nobody wiser before anything is known of any of them."""
    policy, rng, left, pieces = Adaptive(LOOKUPS), random.Random(0), 1000, 0
    while left:
        left -= policy.take(offer({}, left, window=10_000), rng)[1]  # type: ignore[index]
        pieces += 1
    assert 5 < pieces < 25


def test_a_request_is_filled() -> None:
    """It costs about the same however few keys it carries."""
    full = Offer(NEW, (TO_1, TO_2), 500, lambda _: Load(0, 1000, batch=50))
    assert Adaptive(LOOKUPS).take(full, random.Random(0))[1] == 50  # type: ignore[index]
    tight = Offer(NEW, (TO_1, TO_2), 500, lambda _: Load(970, 1000, batch=50))
    assert Adaptive(LOOKUPS).take(tight, random.Random(0))[1] == 30, "no more than there is room for"  # type: ignore[index]
    policy = Adaptive(LOOKUPS)
    policy.observe(Outcome(NEW, TO_1, 1300, 1300, 1300))
    assert policy.take(full, random.Random(0))[1] == 150, (
        "a tenth of those known, and the last request is filled, too"
    )  # type: ignore[index]


def test_what_was_observed_counts_when_it_is_asked_for() -> None:
    """Outcomes are learnt late: never after the decisions that rest on them, nor after a question."""
    policy, rng = Adaptive(LOOKUPS), random.Random(0)
    probes = Offer(NEW, (Move(1), Move(2)), 40, lambda _: Load())
    for _ in range(10):
        policy.observe(Outcome(NEW, Move(1), 40, 400))
        policy.observe(Outcome(NEW, Move(2), 40, 4))
    assert policy.take(probes, rng) == (Move(2), 40)
    policy.observe(Outcome(NEW, TO_1, 1, 1, 1, cost=1.0))
    assert policy.beliefs.measured(TO_1)
    many, one_by_one = Adaptive(LOOKUPS), Beliefs()
    for number in range(200):
        outcome = Outcome(NEW, TO_1, 1, number % 3, 1, cost=1.0)
        many.observe(outcome)
        one_by_one.observe(outcome)
    assert many.beliefs.lessons() == one_by_one.lessons()


@pytest.mark.parametrize("name", ["adaptive", "benefit"])
def test_these_pull(name: str) -> None:
    assert isinstance(make_policy(name, LOOKUPS), PullingPolicy)
    assert not isinstance(make_policy("rank", LOOKUPS), PullingPolicy)


def test_tuples_wait_inside_the_eddy_until_a_lookup_has_room() -> None:
    """Held tuples are counted, are offered again when an answer comes, and none is forgotten."""
    from fff.dataflow.plan.events import Lookup

    game = Play(LOOKUPS, make_policy("adaptive", LOOKUPS, "cheap"), 3, max_lookup_window=1)
    game.start()
    game.page(0, *[(n, n, n) for n in range(30)])
    waiting = game.eddy.router.waiting
    assert waiting.tuples > 20
    assert not waiting, "and none of them is ready to go"
    assert not game.eddy.has_work
    game.eddy.validate()
    game.end(0)
    answered = 0
    while (todo := game.told.of(Lookup)[answered:]) and game.finish is None:
        answered += len(todo)
        for lookup in todo:
            game.answer(lookup.request, *[(key[0], key[0]) for key in lookup.keys if key[0] % 3])
    assert game.finish is not None
    assert game.finish.complete
    assert sum(game.rows.values()) == 20


# ---------------------------------------------------------------------------------------------------- its parts


def test_the_lattice_is_solved_exactly() -> None:
    """A costs 1 and passes a half, B costs 3 and passes a tenth: B first is 3 + 0.1, A first 1 + 1.5."""
    costs = {A: (1.0, 0.5), B: (3.0, 0.1)}
    lattice = Lattice(None)
    lattice.offer(NEW, (A, B))
    solved = solve(lattice, NEW, (A, B), lambda _, move: costs[move])
    assert solved[NEW].moves == ((2.5, A), (3.1, B))
    assert solved[TupleState(1, 0b01)].moves == ((3.0, B),)


def test_the_bill_of_a_way_is_what_it_costs() -> None:
    lattice = Lattice(None)
    lattice.offer(NEW, (A, B))
    takes = {A: (((0, 1.0), (1, 2.0)), 0.5), B: (((2, 3.0),), 0.1)}
    bills = Bills(lattice.below(NEW), lambda _, move: takes[move])
    solved = bills.solve((1.0, 0.5, 2.0))[NEW]
    assert solved.moves == ((5.0, A), (6.2, B))
    assert solved.bill is not None
    assert solved.bill(A) == (1.0, 2.0, 1.5) == bills.cheapest((1.0, 0.5, 2.0)), (
        "half of the tuples go on to B"
    )
    assert solved.bill(B) == (0.1, 0.2, 3.0)


def test_a_lattice_too_large_is_gone_through_by_rank() -> None:
    moves = tuple(Move(predicate=number) for number in range(20))
    assert 2 ** len(moves) > MAX_STATES
    lattice = Lattice(None)
    lattice.offer(NEW, moves)
    solved = solve(lattice, NEW, moves, lambda _, move: (1.0 + (move.predicate or 0), 0.5))
    assert list(solved) == [NEW]
    assert solved[NEW].moves[0][1] == moves[0]


def test_the_plan_says_what_becomes_possible_later() -> None:
    chain = block([table("a b", scans=1), table("k l", (0,)), table("l v", (0,))], ["0.0 = 1.0", "1.1 = 2.0"])
    lattice = Lattice(chain)
    lattice.offer(NEW, (TO_1,))
    assert [state.span for state, _ in lattice.below(NEW)] == [0b111, 0b011, 0b001]


def test_accelerators_are_left_alone() -> None:
    assert sober((Move(1), Move(1, 0), TO_2)) == (Move(1), TO_2)
    assert sober((Move(1, 0), Move(1, 1))) == (Move(1, 0), Move(1, 1)), (
        "of a table without a scan they are needed"
    )


def test_a_change_of_a_share_is_found_and_dated() -> None:
    rng, stream = random.Random(5), CountChange(filters=True)
    assert all(stream.add(1, int(rng.random() < 0.2)) is None for _ in range(1000))
    found = ((number, stream.add(1, int(rng.random() < 0.8))) for number in range(1, 50))
    number, since = next((number, since) for number, since in found if since is not None)
    assert since.weight <= 2 * number, "a split that is off by a factor of two at most"
    assert since.total / since.weight > 0.5


def test_lumps_are_no_change() -> None:
    """Fan-outs of keys that have 0 or 50 matches vary more than Poisson would."""
    for seed in range(5):
        rng, stream = random.Random(seed), CountChange(filters=False)
        assert all(stream.add(1, 50 * (rng.random() < 0.1)) is None for _ in range(1000))


def test_matches_that_come_before_their_tuples_are_no_change() -> None:
    """A parked tuple's matches are reported when they come, the tuple itself when its lookup has ended."""
    stream = CountChange(filters=False)
    for _ in range(300):
        assert stream.add(0, 40) is None
        assert stream.add(100, 0) is None
    found = None
    for _ in range(30):
        assert stream.add(0, 90) is None
        found = found or stream.add(100, 0)
    assert found is not None
    assert found.total / found.weight > 0.6


def test_looking_at_less_finds_the_same_changes() -> None:
    """A stream that is not looked into, as no split can fit better than all observations apart do, hides none."""
    for seed in range(20):
        rng = random.Random(seed)
        stream, full = CountChange(filters=False), CountChange(filters=False)
        full._closest = float("inf")  # always looked into
        for number in range(400):
            taken = rng.randrange(1, 50)
            produced = sum(rng.random() < (0.3 if number < 250 else 0.5) for _ in range(taken))
            found = stream.add(taken, produced)
            assert found == full.add(taken, produced)
            if found is not None:
                break
        assert found is not None


def test_a_change_of_level_is_found() -> None:
    rng, stream = random.Random(5), LevelChange()
    assert all(stream.add(rng.gauss(0, 1)) is None for _ in range(1000))
    assert any(stream.add(rng.gauss(3, 1)) for _ in range(30))


# ------------------------------------------------------------------------------------------------------ benefit


def test_benefit_uses_an_index_beside_a_scan_while_it_is_idle() -> None:
    """S4 section 4.5: the join is a hybrid of index join and hash join."""
    policy, rng = Benefit(), random.Random(1)
    probe, index = Move(1), Move(1, 0)

    def taken(backlog: int, *, urgent: bool = False) -> Counter[Move]:
        def load(move: Move) -> Load:
            return Load(backlog, 4) if move == index else Load()

        return Counter(
            policy.take(Offer(NEW, (probe, index), 50, load, urgent), rng)[0]  # type: ignore[index]
            for _ in range(100)
        )

    for _ in range(50):
        policy.observe(Outcome(NEW, probe, 10, 5))
        policy.observe(Outcome(NEW, index, 1, 0, cost=1.0))
    assert taken(0)[index] > 90
    assert taken(4)[probe] > 90
    assert policy.take(Offer(NEW, (probe, index), 50, lambda _: Load(1, 4)), rng) is not None


def test_benefit_waits_where_every_lookup_is_full_unless_the_user_wants_it_first() -> None:
    """S4 section 4.4: who stands in line before a source that stalls cannot go elsewhere meanwhile."""
    policy, rng = Benefit(LOOKUPS), random.Random(1)

    def offered(full: set[Move], *, urgent: bool = False) -> tuple[Move, int] | None:
        return policy.take(
            Offer(NEW, (TO_1, TO_2), 50, lambda move: Load(4 if move in full else 0, 4), urgent), rng
        )

    assert {offered({TO_1}) for _ in range(300)} == {(TO_2, 4), (TO_2, 1)}
    assert {offered({TO_1, TO_2}) for _ in range(300)} == {None}
    assert offered({TO_1, TO_2}, urgent=True) is not None


def test_benefit_values_what_can_be_shown() -> None:
    """The share of the result's columns, equal ones included; half of it where a key of the result is lacking."""
    tables = [table("a b", scans=1, key=(0,)), table("k v", (0,), key=(0,)), table("k v w", (0,), key=(0,))]
    worth = Worth(block(tables, ["0.0 = 1.0", "0.1 = 2.0"], output="0.0 0.1 1.1 2.0 2.1"))
    assert worth(0b001) == pytest.approx(4 / 6), "a, b, and b again; the row itself"
    assert worth(0b011) == worth(0b101) == pytest.approx(5 / 6)
    assert worth(0b111) == 1.0
    keyed = Worth(block(tables, ["0.0 = 1.0", "0.1 = 2.1"], output="0.0 2.0"))
    assert keyed(0b001) == keyed(0b011) == pytest.approx(2 / 3 * HIDDEN)
    policy, rng = Benefit(replace(LOOKUPS, output=LOOKUPS.output[:3] + LOOKUPS.output[5:])), random.Random(1)
    taken = Counter(policy.choose(NEW, (TO_1, TO_2), rng) for _ in range(200))
    assert taken[TO_2] > 180, "only the second table has columns of the result"


def test_benefit_prefers_what_brings_more_per_second() -> None:
    policy, rng = Benefit(), random.Random(1)
    for _ in range(50):
        policy.observe(Outcome(NEW, Move(1), 10, 2))
        policy.observe(Outcome(NEW, Move(2), 10, 30))
    assert Counter(policy.choose(NEW, (Move(1), Move(2)), rng) for _ in range(200))[Move(2)] > 180


def test_free_probes_of_big_batches_are_learnt_several_at_a_time_and_none_is_lost() -> None:
    """Else learning costs more than what it is about; what costs something is learnt at once."""
    policy = Adaptive(LOOKUPS)
    policy.observe(Outcome(NEW, TO_2, 1, 1, cost=1.0))
    probe, dear = Move(1), Move(predicate=0)

    def learnt(move: Move) -> float:
        counts = policy.beliefs.here(NEW, move)
        return 0.0 if counts is None else counts.fan_out.taken

    seen = []
    for _ in range(10 * TOGETHER):
        policy.observe(Outcome(NEW, probe, MANY, MANY // 2))
        seen.append(learnt(probe))
    assert sorted(set(seen)) == [
        MANY * count for count in (1, 2, 4, *range(TOGETHER, 10 * TOGETHER + 1, TOGETHER))
    ]
    assert learnt(probe) == 10 * TOGETHER * MANY
    for count in range(1, 4 * TOGETHER):
        policy.observe(Outcome(NEW, dear, MANY, 1, cost=1.0))
        policy.observe(Outcome(NEW, probe, 1, 0))
        assert learnt(dear) == count * MANY
        assert learnt(probe) == 10 * TOGETHER * MANY + count


def test_where_only_stems_are_probed_the_last_tuples_count_most() -> None:
    """They fill. And no dice are thrown: one knowledge, one decision."""
    policy, moves, rng = Adaptive(PROBES), (Move(1), Move(2)), random.Random(1)

    def taken(tuples: int) -> Move:
        move, size = policy.take(Offer(NEW, moves, tuples, lambda _: Load()), rng) or (Move(), 0)
        assert size == tuples
        return move

    assert taken(1000) == Move(1), "nothing is known: the first"
    for _ in range(64):
        policy.observe(Outcome(NEW, Move(1), 1000, 100))
        policy.observe(Outcome(NEW, Move(2), 1000, 500))
    assert taken(100_000) == Move(1)
    for _ in range(64):
        policy.observe(Outcome(NEW, Move(1), 1000, 1000))
    assert taken(1000) == Move(1), "for as many tuples as it had been decided for"
    assert taken(200_000) == Move(2), "over all tuples the first would be about as good"
    assert policy.beliefs.expected(NEW, Move(1)) > 0.9
    assert rng.getstate() == random.Random(1).getstate()


def test_the_second_batch_goes_by_what_the_first_has_met() -> None:
    """A few outcomes before any, of rows that met nothing as nothing was there, keep nobody from learning."""
    policy, rng = Adaptive(PROBES), random.Random(1)
    for _ in range(8):
        policy.observe(Outcome(TupleState(0b10), Move(0), 1000, 0, informed=False))
    offer = Offer(NEW, (Move(1), Move(2)), 4096, lambda _: Load())
    assert policy.take(offer, rng) == (Move(1), 4096)
    policy.observe(Outcome(NEW, Move(1), 4096, 50 * 4096))
    assert policy.take(offer, rng) == (Move(2), 4096)


def test_of_probes_about_as_good_one_of_which_nothing_is_known_comes_first() -> None:
    """Nothing may be there yet: tuples that meet nothing are through, and wait for nobody."""
    policy, rng = Adaptive(PROBES), random.Random(1)
    offer = Offer(NEW, (Move(1), Move(2)), 100, lambda _: Load())
    policy.observe(Outcome(NEW, Move(1), 100, 100))
    policy.observe(Outcome(NEW, Move(2), 100, 0, informed=False))
    assert policy.take(offer, rng) == (Move(2), 100)
    policy.observe(Outcome(NEW, Move(2), 100, 100))
    assert policy.take(offer, rng) == (Move(1), 100), "now both are known"


def draws(policy: Adaptive, monkeypatch: pytest.MonkeyPatch) -> list[Draw]:
    """One for each time that it solves anew."""
    drawn: list[Draw] = []
    draw = policy.beliefs.draw

    def noted(rng: random.Random) -> Draw:
        drawn.append(draw(rng))
        return drawn[-1]

    monkeypatch.setattr(policy.beliefs, "draw", noted)
    return drawn


@pytest.mark.parametrize(
    ("batch", "tried", "alike"), [(1, None, True), (1, TO_1, False), (5, None, False), (1, TO_2, False)]
)
def test_lookups_of_which_nothing_is_known_are_taken_by_chance(
    monkeypatch: pytest.MonkeyPatch, batch: int, tried: Move | None, alike: bool
) -> None:
    """Those that have room. Where one of them is known, or the plan tells them apart, the lattice is solved."""
    tables = (*LOOKUPS.tables[:2], table("k v", (0,), batch=batch))
    policy = Adaptive(replace(LOOKUPS, tables=tables))
    if tried is not None:
        policy.observe(Outcome(NEW, tried, 1, 1, cost=1.0))
    drawn = draws(policy, monkeypatch)
    for backlog, open_to in (({}, {TO_1, TO_2}), ({TO_1: 8}, {TO_2}), ({TO_1: 8, TO_2: 8}, {None})):
        taken = {(policy.take(offer(backlog), random.Random(seed)) or (None,))[0] for seed in range(50)}
        assert not alike or taken == open_to
    assert (not drawn) == alike


@pytest.mark.parametrize("scarce", [TO_1, TO_2])
def test_a_lookup_whose_quota_runs_out_is_not_taken_by_chance(
    monkeypatch: pytest.MonkeyPatch, scarce: Move
) -> None:
    policy = Adaptive(LOOKUPS)
    drawn = draws(policy, monkeypatch)
    loads = {move: Load(0, 8, left=5.0 if move == scarce else None, each_s=60.0) for move in (TO_1, TO_2)}
    policy.take(Offer(NEW, (TO_1, TO_2), 1, loads.__getitem__), random.Random(1))
    assert drawn


@pytest.mark.parametrize(("seconds", "least", "most"), [(1e-9, 3, 10), (1.0, 64, 64)])
def test_what_costs_less_than_a_probe_is_decided_on_for_as_many_tuples_again(
    monkeypatch: pytest.MonkeyPatch, seconds: float, least: int, most: int
) -> None:
    policy = informed("balanced", seconds=seconds)
    drawn = draws(policy, monkeypatch)
    for _ in range(64):
        assert policy.take(offer({}, size=1000, window=1000), random.Random(1))
    assert least <= len(drawn) <= most


def test_what_is_found_out_about_later_is_in_no_earlier_bill() -> None:
    scarcity = Scarcity(None, "balanced")
    scarcity.place(A, Load(0, 1))
    scarcity.learn(NEW, (1.0, 0.0, 1.0), lambda _: (1.0, 0.0, 1.0), 1, {})
    place, _ = scarcity.place(B, Load(0, 1))
    assert not scarcity.knows(NEW)
    assert scarcity.fair((1.0, 0.0, 1.0), (1.0, 0.0, 0.5), place)
