"""Slow lookups are raced by rivals of the same keys, stalled ones relieved; the answer stays what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fff.dataflow.lookups.methods import LookupOptions
from fff.dataflow.plan.events import (
    Cancel,
    CancelLookup,
    Finish,
    Lookup,
    LookupEnd,
    LookupFailed,
    LookupRows,
    ScanEnd,
    ScanFailed,
    ScanRows,
    TimePassed,
    WakeAt,
)
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import LookupPlan
from fff.structs import replace
from tests.dataflow.blocks import Play, Scripted, Told, block, table

Plays = Callable[..., Play]

F = table("zip amount", scans=1, name="F")
C = table("zip rating", (0,), (0,), name="C")
FC = block([F, C], ["0.0 = 1.0"], output="0.1 1.1")


def at(game: Play, now: float) -> Told:
    return Told([*game.feed(TimePassed(now)), *game.settle()])


def over(game: Play, request: int, seconds: float) -> Told:
    return Told([*game.feed(LookupEnd(request, 0, seconds)), *game.settle()])


def learned(play: Plays, plan=FC, count: int = 40, policy="fixed", **options) -> Play:
    """A game at time 1000 in which one lookup has answered `count` keys: one in ten after 9 s, the others after 1 s."""
    game = play(plan, policy, **options)
    at(game, 0.0)
    game.start()
    for key in range(count):
        at(game, 10.0 * key)
        request = game.page(0, (key, key)).one(Lookup).request
        at(game, 10.0 * key + 9.5)
        told = over(game, request, 9.0 if key % 10 == 0 else 1.0)
        assert not told.of(Lookup), "nothing is raced"
    at(game, 1000.0)
    return game


def slow(play: Plays, **options) -> tuple[Play, int]:
    """A request that has been raced 10 s after it was sent: the game, and the number of the racer."""
    game = learned(play, **options)
    told = game.page(0, (500, 50))
    assert told.one(Lookup, index=0).request == 40
    assert told.one(WakeAt).at == 1010.0, "no request has taken more than 9 s, and most take 1 s"
    assert not at(game, 1009.9).of(Lookup)
    return game, at(game, 1010.0).one(Lookup, index=1, keys=((500,),)).request


def test_the_racer_that_ends_first_covers_the_key(play: Plays) -> None:
    game, racer = slow(play)
    game.rows_for(40, (500, 1))
    assert game.rows == Counter([(50, 1)])
    told = game.answer(racer, (500, 1), (500, 1), (500, 2))
    assert told.one(CancelLookup).request == 40
    assert game.rows == Counter({(50, 1): 2, (50, 2): 1}), "the row that both brought is one"
    game.feed(LookupRows(40, game.batch(1, [(500, 9)])))
    game.feed(LookupEnd(40, 1))
    assert game.end(0).one(Finish).complete
    assert game.rows.total() == 3, "what the loser still says is not heard"
    rival = game.eddy.statistics().tables[1].lookups[1]
    assert (rival.hedged, rival.duplicates) == (1, 1)


def test_the_one_that_was_asked_first_may_end_first(play: Plays) -> None:
    game, racer = slow(play)
    game.rows_for(racer, (500, 1))
    told = game.answer(40, (500, 1))
    assert told.one(CancelLookup).request == racer
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter([(50, 1)])


def test_rows_of_a_racer_are_no_eot(play: Plays) -> None:
    game, racer = slow(play)
    told = game.rows_for(racer, (500, 1))
    assert not told.of(CancelLookup)
    assert game.eddy.router.parked_tuples() == 1
    game.page(0, (500, 51))
    assert game.eddy.router.parked_tuples() == 2, "who comes now waits as well"
    game.answer(40, (500, 1), (500, 2))
    assert game.rows == Counter([(50, 1), (51, 1), (50, 2), (51, 2)])


def test_whoever_fails_the_other_goes_on(play: Plays) -> None:
    for first in (0, 1):
        game, racer = slow(play)
        requests = (40, racer) if first == 0 else (racer, 40)
        told = game.fail(requests[0], truncated=True)
        assert not told.of(Lookup)
        assert game.missing == set()
        game.answer(requests[1], (500, 1))
        assert game.end(0).one(Finish).complete
        assert game.rows == Counter([(50, 1)])


def test_a_key_is_missing_when_both_have_failed(play: Plays) -> None:
    game, racer = slow(play)
    game.fail(racer, "HTTP 502")
    game.feed(LookupFailed(40, "HTTP 500"))
    assert game.missing == {("C", "zip = 500")}
    assert game.end(0).one(Finish) == Finish(complete=False, reason="failed")


def test_both_are_cancelled_with_the_run(play: Plays) -> None:
    game, racer = slow(play)
    told = game.feed(Cancel("interrupted"))
    assert {item.request for item in told.of(CancelLookup)} == {40, racer}
    assert not game.finish.complete
    assert ("C", "zip = 500") in game.missing


def test_nothing_is_raced_before_enough_answers(play: Plays) -> None:
    game = learned(play, count=19)
    game.page(0, (500, 50))
    assert not at(game, 5000.0).of(Lookup)


def test_races_take_a_twentieth_of_the_requests_at_most(play: Plays) -> None:
    game = learned(play)
    game.page(0, *[(key, key) for key in range(500, 516)])  # the window is full
    raced = at(game, 1010.0).of(Lookup)
    raced += at(game, 9000.0).of(Lookup)
    assert len(raced) == 56 // 20
    assert [item.keys for item in raced] == [game.asked[40 + n].keys for n in range(2)], "the oldest first"


def test_a_method_that_takes_always_as_long_is_raced_only_when_overdue(play: Plays) -> None:
    game = play(FC)
    at(game, 0.0)
    game.start()
    for key in range(40):
        at(game, 10.0 * key)
        request = game.page(0, (key, key)).one(Lookup).request
        at(game, 10.0 * key + 1.0)
        over(game, request, 1.0 + 0.001 * (key % 7))
    at(game, 1000.0)
    game.page(0, (500, 50))
    assert not at(game, 1001.9).of(Lookup), "what takes longer than most takes hardly any longer"
    assert at(game, 1002.1).one(Lookup).index == 1


def test_answers_from_a_cache_make_no_other_look_slow(play: Plays) -> None:
    game = play(FC)
    at(game, 0.0)
    game.start()
    for key in range(40):
        request = game.page(0, (key, key)).one(Lookup).request
        over(game, request, 0.001)
    game.page(0, (500, 50))
    assert not at(game, 0.09).of(Lookup)
    assert not game.eddy.statistics().tables[1].lookups[0].stalled
    assert at(game, 0.11).one(Lookup).index == 1


def test_where_slow_requests_take_much_longer_they_are_raced_beyond_the_quantile(play: Plays) -> None:
    game = play(FC)
    at(game, 0.0)
    game.start()
    for key in range(40):
        at(game, 100.0 * key)
        request = game.page(0, (key, key)).one(Lookup).request
        over(game, request, 90.0 if key % 20 == 7 else 2.0)
    at(game, 5000.0)
    game.page(0, (500, 50))
    assert not at(game, 5001.9).of(Lookup)
    assert at(game, 5002.0).one(Lookup).index == 1


def test_keys_that_a_rival_has_answered_are_not_raced(play: Plays) -> None:
    """Whoever covers a key covers it for its rivals: nothing is left to race for."""
    game = learned(play, policy=Scripted(Move(1, 0)))
    game.eddy.router.policy.prefer = (Move(1, 1),)
    game.page(0, (500, 50))
    game.eddy.router.policy.prefer = (Move(1, 0),)
    first, second = game.told.one(Lookup, index=1).request, game.page(0, (501, 51)).one(Lookup).request
    assert game.page(0, (500, 52)).one(Lookup, index=0).keys == ((500,),), "two policies, two lookups"
    told = game.answer(first, (500, 1))
    assert len(told.of(CancelLookup)) == 1
    assert game.rows == Counter([(50, 1), (52, 1)])
    game.answer(second, (501, 1))
    assert game.end(0).one(Finish).complete


def test_a_batch_is_raced_by_as_many_requests_as_the_rival_needs(play: Plays) -> None:
    """Keys of two columns, in another order there, one at a time: only with room for all of them."""
    plan = block(
        [F, table("zip rating", (0, 1), (1, 0), name="C", batch=2)], ["0.0 = 1.0", "0.1 = 1.1"], output="0.1"
    )
    game = learned(play, plan, lookups=LookupOptions(patience=0.0, hedge_share=1.0))
    game.page(0, (500, 50), (501, 51))
    assert set(at(game, 1010.0).one(Lookup, index=1).keys) == {(50, 500), (51, 501)}
    assert game.answer(41, (500, 50), (501, 51)).one(CancelLookup).request == 40
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter([(50,), (51,)])


def stalled(play: Plays) -> tuple[Play, list[int]]:
    """The first lookup has a full window and has answered nothing for long; two keys wait for it, given as well."""
    narrow = block([F, table("zip rating", (0,), (0,), window=2, name="C")], ["0.0 = 1.0"], output="0.1 1.1")
    game = learned(play, narrow, lookups=LookupOptions(hedge_share=0.0))
    sent = {lookup.keys for lookup in game.page(0, *[(500 + n, 50 + n) for n in range(4)]).of(Lookup)}
    assert len(sent) == 2
    assert not at(game, 1009.9).of(Lookup), "the longest took 9 s, one takes 1 s"
    return game, [key for key in range(500, 504) if ((key,),) not in sent]


def answer(game: Play, request: int) -> Told:
    [[key]] = game.asked[request].keys
    return game.answer(request, (key, key - 500), (key, key - 500))


def test_keys_that_wait_for_a_stalled_lookup_go_to_its_rival(play: Plays) -> None:
    game, waiting = stalled(play)
    told = at(game, 1010.0)
    assert sorted(item.keys for item in told.of(Lookup, index=1)) == [((key,),) for key in waiting]
    assert not told.of(Lookup, index=0)
    assert answer(game, 42).of(Lookup) == []
    assert game.page(0, (504, 54)).one(Lookup).index == 1, "and so do later ones"
    answer(game, 40)
    assert game.page(0, (505, 55)).one(Lookup).index == 0, "until it is heard again"
    for request in (41, 43, 44, 45):
        answer(game, request)
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter({(50 + n, n): 2 for n in range(6)})
    assert game.eddy.statistics().tables[1].lookups[1].hedged == 0, "nothing was asked twice"
    assert Counter(game.told.keys).most_common(1)[0][1] == 1


def test_what_the_rival_cannot_answer_comes_back(play: Plays) -> None:
    """The tuples have been parked on the first lookup before: they must not be served twice."""
    game, _ = stalled(play)
    at(game, 1010.0)
    lost = game.asked[42].keys
    answer(game, 43)
    game.fail(42)
    assert game.missing == set()
    told = answer(game, 40)
    assert told.one(Lookup, index=0).keys == lost
    answer(game, 41)
    answer(game, 44)
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter({(50 + n, n): 2 for n in range(4)})


def test_a_rival_that_takes_fewer_keys_at_once_does_not_relieve(play: Plays) -> None:
    """It would need more requests than are spared."""
    by_two = table("zip rating", (0,), (0,), window=1, name="C", batch=2)
    single = LookupPlan("C.single", (0,), 1, 1)
    plan = block([F, replace(by_two, lookups=(by_two.lookups[0], single))], ["0.0 = 1.0"], output="0.1 1.1")
    game = learned(play, plan, lookups=LookupOptions(patience=0.0, hedge_share=0.0))
    game.page(0, (500, 50), (501, 51), (502, 52), (503, 53))
    assert not at(game, 5000.0).of(Lookup)
    assert game.eddy.statistics().tables[1].lookups[0].stalled


def test_what_the_rival_has_answered_already_leaves_nothing_to_wait_for(play: Plays) -> None:
    """The last key is moved to a rival that has answered it: nothing more will happen, so the run is over."""
    plan = block([F, table("zip rating", (0,), (0,), scans=1, name="C")], ["0.0 = 1.0"], output="0.1 1.1")
    game = play(plan, Scripted(Move(1, 0)), lookups=LookupOptions(hedge_share=0.5))
    at(game, 0.0)
    game.start()
    game.feed(ScanFailed(1, 0, "HTTP 503"))
    for key in range(40):
        at(game, 10.0 * key)
        request = game.page(0, (key, key)).one(Lookup, index=0).request
        at(game, 10.0 * key + 1.0)
        over(game, request, 1.0)
    game.page(0, (500, 50))
    game.answer(at(game, 1000.0).one(Lookup, index=1).request, (500, 1))
    assert game.eddy.statistics().tables[1].lookups[0].stalled, (
        "it lost the race, and has not been heard since"
    )
    game.eddy.router.policy.prefer = (Move(1, 1),)
    game.answer(game.page(0, (600, 60)).one(Lookup, index=1).request, (600, 2))
    game.eddy.router.policy.prefer = (Move(1, 0),)
    game.feed(ScanRows(0, 0, game.batch(0, [(600, 61)])))
    game.feed(ScanEnd(0, 0, 43))
    told = game.settle()
    assert not told.of(Lookup)
    assert told.one(Finish).complete
    assert game.rows == Counter([(50, 1), (60, 2), (61, 2)])


def test_money_is_not_given_for_time(play: Plays) -> None:
    dear = replace(C, lookups=(C.lookups[0], replace(C.lookups[1], price=0.002)))
    plan = block([F, dear], ["0.0 = 1.0"], output="0.1 1.1")
    for options, raced in ((LookupOptions(), 0), (LookupOptions(spends=True), 1)):
        game = learned(play, plan, lookups=options)
        game.page(0, (500, 50))
        assert len(at(game, 1010.0).of(Lookup)) == raced
        game.answer(40, (500, 1))
        assert game.end(0).one(Finish).complete
