"""When lookups go out: full batches, batches that wait for more keys, and never for ever; and who is asked after a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fff.dataflow.lookups.methods import LookupOptions
from fff.dataflow.plan.events import (
    Finish,
    Lookup,
    LookupAnswers,
    LookupEnd,
    LookupRows,
    Prioritize,
    ScanFailed,
    ScanStalled,
    TimePassed,
    WakeAt,
)
from fff.dataflow.plan.expressions import Column, Compare, Literal
from fff.dataflow.plan.plan import Seed
from fff.structs import replace
from tests.dataflow.blocks import Play, Scripted, Told, block, table

Plays = Callable[..., Play]

F = table("zip amount", scans=1, name="F")
C = table("zip rating", (0,), batch=4, name="C")
FC_LINK = ["0.0 = 1.0"]
FC = block([F, C], FC_LINK, output="0.1 1.1")


def at(game: Play, now: float) -> Told:
    return game.feed(TimePassed(now))


def begun(play: Plays, plan=FC, **options) -> Play:
    """A game in which keys come every second and an answer takes one: the next batch may wait."""
    game = play(plan, **options)
    at(game, 100.0)
    game.start()
    at(game, 101.0)
    assert game.page(0, (1, 1)).keys == [(1,)], "the first keys go at once"
    at(game, 102.0)
    game.feed(LookupEnd(0, 0, 1.0))
    return game


def test_a_batch_that_is_not_full_waits_for_more_keys(play: Plays) -> None:
    game = begun(play)
    told = game.page(0, (2, 2), (3, 3))
    assert told.keys == []
    assert told.one(WakeAt).at == 105.0, "after one second, 2 may be waited, and as long as an answer takes"
    at(game, 103.0)
    told = game.page(0, (4, 4), (5, 5), (6, 6))
    assert told.one(Lookup).keys == ((2,), (3,), (4,), (5,))
    assert game.eddy.block.lookups[1][0].pending == 1


def test_it_waits_no_longer_than_it_said(play: Plays) -> None:
    game = begun(play)
    game.page(0, (2, 2))
    assert at(game, 104.9).keys == []
    assert at(game, 105.0).keys == [(2,)]


def test_it_waits_no_longer_once_keys_stay_away(play: Plays) -> None:
    """Long patience: the usual gap is one second, three of them are silence."""
    game = begun(play, lookups=LookupOptions(patience=1000.0))
    told = game.page(0, (2, 2))
    assert told.one(WakeAt).at == 105.0
    assert at(game, 105.0).keys == [(2,)]


def test_without_patience_nothing_waits(play: Plays) -> None:
    game = begun(play, lookups=LookupOptions(patience=0.0))
    assert game.page(0, (2, 2)).keys == [(2,)]


def test_where_requests_cost_by_the_key_nothing_is_spared_by_waiting(play: Plays) -> None:
    game = play(FC)
    at(game, 100.0)
    game.start()
    key, now = 0, 101.0
    for size in (1, 4, 2, 4, 1, 4, 3, 4) * 6:
        at(game, now)
        told = game.page(0, *[(key + more, 0) for more in range(size)])
        told += at(game, now + 100.0)
        key += size
        for lookup in told.of(Lookup):
            game.feed(LookupEnd(lookup.request, 0, 0.5 * len(lookup.keys)))
        now += 101.0
    at(game, now)
    told = game.page(0, (key, 0))
    waits = told.of(WakeAt)
    assert not waits or waits[0].at - now < 0.4 * (now - 100.0), "fixed costs are next to nothing"


def test_the_last_keys_go_when_what_brings_them_has_ended(play: Plays) -> None:
    game = begun(play)
    assert game.page(0, (2, 2)).keys == []
    assert game.end(0).keys == [(2,)]


def test_the_last_keys_go_when_what_brings_them_has_failed(play: Plays) -> None:
    game = begun(play)
    assert game.page(0, (2, 2)).keys == []
    assert game.feed(ScanFailed(0, 0, "HTTP 500")).keys == [(2,)]


def test_keys_that_the_user_wants_do_not_wait(play: Plays) -> None:
    game = begun(play)
    game.page(0, (2, 2), (3, 3))
    wish = Compare("=", Column(0, 1), Literal(3, F.columns[1].arrow))
    told = game.feed(Prioritize((wish,)))
    assert told.one(Lookup).keys == ((3,), (2,)), "and the others fill the batch"


def test_nobody_waits_for_a_scan_that_is_held_back_by_them(play: Plays, monkeypatch) -> None:
    """The scan is held because tuples are parked on the very keys that would wait for it."""
    monkeypatch.setattr("fff.dataflow.scans.HELD_TUPLES", 1)
    game = begun(play, scan_credit=1)
    told = game.page(0, (2, 2), (3, 3))
    assert told.keys == [(2,), (3,)]


def test_tuples_that_are_still_to_be_routed_fill_the_batch(play: Plays) -> None:
    """Routing one by one sends no requests for one key each, even where nothing else may bring keys."""
    game = play(FC, route_size=1)
    game.start()
    told = game.scan(0, (1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
    assert sorted(len(lookup.keys) for lookup in told.of(Lookup)) == [1, 4]


def test_lookups_of_the_same_table_bring_no_keys(play: Plays) -> None:
    """Two lookups of C, one of them with an answer under way: nothing that comes of it asks for more."""
    two = table("zip area rating", (0,), (1,), batch=4, name="C")
    game = begun(play, block([F, two], ["0.0 = 1.0"], output="0.1 1.2"))
    game.page(0, *[(key, 0) for key in range(10, 14)])
    assert game.page(0, (2, 2)).keys == []
    assert game.end(0).keys == [(2,)], "four keys are in flight, and no matter"


def test_a_chain_waits_for_lookups_before_it(play: Plays) -> None:
    """F by scan, S by lookup, T by what S brings: T's keys wait while S answers, and not longer."""
    one, last = table("zip area", (0,), name="S"), table("area x", (0,), batch=4, name="T")
    game = play(block([F, one, last], ["0.0 = 1.0", "1.1 = 2.0"], output="0.1 2.1"))
    at(game, 100.0)
    game.start()
    at(game, 101.0)
    game.scan(0, (1, 1), (2, 2), (3, 3))
    at(game, 102.0)
    assert game.answer(0, (1, 7)).one(Lookup, table=2).keys == ((7,),)
    at(game, 103.0)
    assert game.answer(1, (2, 8)).keys == [], "one more answer may come"
    at(game, 103.5)
    assert game.answer(2, (3, 9)).one(Lookup, table=2).keys == ((8,), (9,))


# -------------------------------------------------------------------------------------------------------- failures

#: W is scanned, and two lookups take its keys.
W = table("zip rating", (0,), (0,), scans=1, name="W")
FW = block([F, W], ["0.0 = 1.0"], output="0.1 1.1")


def request_of(game: Play, index: int) -> int:
    return game.told.one(Lookup, table=1, index=index).request


def test_a_key_that_fails_while_a_scan_is_made_up_for_is_asked_of_a_rival(play: Plays) -> None:
    """P18, P21 for an active alias: nobody is parked, the key itself is passed on."""
    game = play(FW)
    game.start()
    game.scan(0, (1, 10))
    game.feed(ScanFailed(1, 0, "HTTP 500"))
    told = game.fail(request_of(game, 0), "HTTP 502")
    assert told.one(Lookup, index=1).keys == ((1,),)
    assert game.missing == set()
    told = game.answer(request_of(game, 1), (1, 100), (1, 100))
    assert told.one(Finish).complete
    assert game.rows == Counter({(10, 100): 2})


def test_a_key_that_has_failed_before_the_scan_is_asked_of_a_rival_when_the_scan_fails(play: Plays) -> None:
    game = play(FW)
    game.start()
    game.scan(0, (1, 10))
    game.feed(ScanStalled(1, 0))
    told = game.fail(request_of(game, 0))
    assert told.one(Lookup, index=1).keys == ((1,),), "the scan has stalled: keys are what there is"
    game.fail(request_of(game, 1), "HTTP 503")
    assert game.missing == set(), "the scan may still bring it"
    game.feed(ScanFailed(1, 0, "HTTP 500"))
    assert game.missing == {("W", "zip = 1")}
    assert game.finish == Finish(complete=False, reason="failed")


def test_a_constant_that_one_lookup_cannot_answer_is_asked_of_a_rival(play: Plays) -> None:
    plan = block([table("zip rating", (0,), (0,), name="C")], seeds={0: Seed(0, ((1,), (2,)))})
    game = play(plan)
    game.start()
    assert game.fail(0).one(Lookup, index=1).keys == ((1,),)
    game.answer(1, (2, 20))
    assert game.answer(2, (1, 10)).one(Finish).complete
    assert game.rows == Counter([(1, 10), (2, 20)])


def test_keys_of_rivals_with_columns_in_another_order_are_the_same(play: Plays) -> None:
    plan = block([table("zip area rating", (0, 1), (1, 0), name="C")], seeds={0: Seed(0, ((1, 5),))})
    game = play(plan)
    game.start()
    assert game.fail(0).one(Lookup, index=1).keys == ((5, 1),)
    assert game.answer(1, (1, 5, 10)).one(Finish).complete


def test_answers_of_one_turn_teach_what_they_teach_one_by_one(play: Plays) -> None:
    """Batches of several keys, keys that many wait for, strays, an answer in two parts and one without rows."""
    keys = [(1, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6), (4, 7), (5, 8), (6, 9)]
    rows = {0: [[(1, 10), (3, 30)], [(9, 0), (1, 11)]], 1: [[(5, 50)]]}
    taught = []
    for together in (False, True):
        policy = Scripted()
        game = play(
            block([F, table("zip rating", (0,), batch=3, name="C")], FC_LINK, output="0.1 1.1"), policy
        )
        game.start()
        assert len(game.scan(0, *keys).of(Lookup)) == 2
        parts = [LookupRows(number, game.batch(1, part)) for number in (0, 1) for part in rows[number]]
        ends = [LookupEnd(number, sum(map(len, rows[number])), 0.5 + number) for number in (0, 1)]
        for event in [LookupAnswers(tuple(parts), tuple(ends))] if together else [*parts, *ends]:
            game.feed(event)
        game.settle()
        assert game.finish == Finish(complete=True, reason="done")
        module = game.eddy.block.lookups[1][0]
        books = module.answered, module.served_s, module.met, module.strays, module.rows
        learnt = [(one.taken, one.cost) for one in policy.outcomes if one.cost]
        taught.append((game.rows, books, learnt))
    assert taught[0] == taught[1]
    assert taught[0][2] == [(4, 0.5), (5, 1.5)], "every tuple has its share of the seconds"


def test_under_limit_no_more_keys_are_under_way_than_rows_are_wanted_where_time_is_not_paid_for(
    play: Plays,
) -> None:
    single = table("zip rating", (0,), name="C")
    dear = replace(single, lookups=(replace(single.lookups[0], price=0.002),))
    rows = [(zip_, zip_) for zip_ in range(9)]
    for asked, options, at_once in (
        (single, LookupOptions(), 9),
        (single, LookupOptions(saves=True), 3),
        (dear, LookupOptions(), 3),
        (dear, LookupOptions(spends=True), 9),
    ):
        game = play(block([F, asked], FC_LINK, output="0.1 1.1", limit=3), lookups=options)
        game.start()
        assert len(game.page(0, *rows).of(Lookup)) == at_once
        if at_once == 3:
            assert not game.answer(0, (0, 1)).of(Lookup), "two are wanted, and two are under way"
            assert not game.answer(1, (1, 1)).of(Lookup)
            assert game.answer(2, (2, 1)).one(Finish).complete


def test_under_limit_more_keys_are_asked_for_the_fewer_have_rows(play: Plays) -> None:
    game = play(
        block([F, table("zip rating", (0,), name="C")], FC_LINK, output="0.1 1.1", limit=2),
        lookups=LookupOptions(saves=True),
    )
    game.start()
    module = game.eddy.block.lookups[1][0]
    game.page(0, *((zip_, zip_) for zip_ in range(60)))
    asked = [len(module.requests)]
    for answered in range(12):
        game.answer(answered)
        asked.append(len(module.requests))
    assert asked[0] == 2
    assert asked[-1] == 14, "of 12 keys and the two that were believed to have rows two had any"


def test_under_limit_a_batch_is_as_full_as_ever(play: Plays) -> None:
    game = play(
        block([F, C], FC_LINK, output="0.1 1.1", limit=3),
        lookups=LookupOptions(saves=True),
    )
    game.start()
    told = game.page(0, *((zip_, zip_) for zip_ in range(9)))
    assert told.one(Lookup).keys == ((0,), (1,), (2,), (3,))
    assert game.answer(0, (2, 1)).one(Lookup).keys == ((4,), (5,), (6,), (7,))
    assert game.answer(1, (4, 1), (5, 1)).one(Finish).complete


def test_under_limit_others_are_asked_where_a_request_hangs(play: Plays) -> None:
    game = play(
        block([F, table("zip rating", (0,), name="C")], FC_LINK, output="0.1 1.1", limit=2),
        lookups=LookupOptions(saves=True),
    )
    at(game, 100.0)
    game.start()
    game.page(0, *((zip_, zip_) for zip_ in range(9)))
    at(game, 101.0)
    game.feed(LookupRows(0, game.batch(1, [(0, 1)])))
    told = game.feed(LookupEnd(0, 1, 1.0))
    told = game.settle() if not told.of(WakeAt) else told
    assert told.one(WakeAt).at == 102.0
    assert at(game, 102.0).one(Lookup).keys == ((2,),)
