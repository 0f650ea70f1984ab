"""Scans of one table race (S4 section 3.2): who reads on is the policy's affair, the answer is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from fff.dataflow.lookups.access import ScanState
from fff.dataflow.plan.events import (
    Cancel,
    FetchPages,
    Finish,
    Lookup,
    ScanEnd,
    ScanFailed,
    ScanRows,
    ScanStalled,
    Start,
    StopScan,
    TimePassed,
)
from fff.dataflow.plan.plan import BlockPlan, Seed
from fff.structs import replace
from tests.dataflow.blocks import Play, Scripted, Together, block, table

Plays = Callable[..., Play]

MIRRORS = block([table("k v", scans=2, name="M")], output="0.0 0.1")
KEYED = block([table("k v", scans=2, key=(0,), name="M")], output="0.0 0.1")


@pytest.mark.parametrize("plan", [MIRRORS, KEYED])
def test_rows_of_both_are_taken_once_and_the_first_end_is_that_of_the_table(
    play: Plays, plan: BlockPlan
) -> None:
    game = play(plan, Together())
    assert list(game.start()) == [FetchPages(0, 0, 2)]
    begun = game.page(0, (1, 1), (2, 2), index=0, total=3).of(FetchPages)
    assert FetchPages(0, 1, 1) in begun, "once there is a number of rows to hold the other against"
    assert FetchPages(0, 1, 2) in game.page(0, (3, 3), (2, 2), index=1, total=3).of(FetchPages)
    game.page(0, (1, 1), index=1)
    assert game.rows == Counter([(1, 1), (2, 2), (3, 3)])
    told = game.end(0, index=1)
    assert told.one(StopScan) == StopScan(0, 0)
    assert told.one(Finish).complete
    first, second = game.eddy.statistics().tables[0].scans
    assert (first.state, first.rows, first.duplicates) == (ScanState.STOPPED, 2, 0)
    assert (second.state, second.rows, second.duplicates) == (ScanState.COMPLETE, 3, 2)


def test_who_is_left_out_pauses_and_goes_on_where_it_stands(play: Plays) -> None:
    policy = Together({0: 2, 1: 1})
    game = play(KEYED, policy)
    assert list(game.start()) == [FetchPages(0, 0, 2)]
    assert FetchPages(0, 1, 1) in game.page(0, (1, 1), total=3).of(FetchPages)
    policy.ahead = {0: 2}
    assert not game.page(0, (1, 1), index=1, total=3).of(FetchPages), "its next page is not asked for"
    assert [scan.paused for scan in game.eddy.statistics().tables[0].scans] == [False, True]
    policy.ahead = {1: 2}
    assert game.page(0, (2, 2), index=0).of(FetchPages) == [FetchPages(0, 1, 2)]
    assert not game.page(0, (3, 3), index=0).of(FetchPages), "what had been granted still came"
    game.page(0, (2, 2), index=1)
    game.page(0, (3, 3), index=1)
    assert game.end(0, index=1).one(Finish).complete
    assert game.rows == Counter([(1, 1), (2, 2), (3, 3)])


@pytest.mark.parametrize("event", [ScanFailed(0, 0, "HTTP 500"), ScanStalled(0, 0)])
def test_who_pauses_goes_on_when_the_reader_fails_or_stalls(play: Plays, event: Any) -> None:
    policy = Together({0: 2, 1: 1})
    game = play(KEYED, policy)
    game.start()
    policy.ahead = {0: 2}
    game.page(0, (1, 1), index=1)
    assert game.feed(event).of(FetchPages) == [FetchPages(0, 1, 2)]
    assert game.missing == set()
    assert game.end(0, index=1).one(Finish).complete


@pytest.mark.parametrize("ahead", [{}, {0: 0, 1: 0}, {0: -1}])
def test_somebody_always_reads_on(play: Plays, ahead: dict[int, int]) -> None:
    game = play(KEYED, Together(ahead))
    assert list(game.start()) == [FetchPages(0, 0, 2)]
    assert game.page(0, (1, 1)).of(FetchPages) == [FetchPages(0, 0, 1)]


def test_nobody_is_further_ahead_than_scans_may_be(play: Plays) -> None:
    game = play(KEYED, Together({0: 9, 1: 9}), scan_credit=3)
    assert list(game.start()) == [FetchPages(0, 0, 3)]
    game.page(0, (1, 1), total=9)
    assert FetchPages(0, 1, 3) in game.page(0, (1, 1), index=1, total=9).of(FetchPages)


def test_who_does_not_say_how_many_rows_there_are_is_not_raced(play: Plays) -> None:
    """Nobody could tell a mirror that lacks rows."""
    game = play(KEYED, Together())
    game.start()
    assert not [one for one in game.page(0, (1, 1)).of(FetchPages) if one.index == 1]
    game = play(KEYED, Together())
    game.start()
    game.page(0, (1, 1), total=2)
    assert not [one for one in game.page(0, (1, 1), index=1).of(FetchPages) if one.index == 1]
    assert game.end(0, index=1).of(Finish) == [], "one of two rows: the first goes on"
    game.page(0, (2, 2))
    assert game.end(0).one(Finish).complete
    assert len(game.rows) == 2


def test_without_a_policy_of_races_the_next_begins_where_one_fails_or_stalls(play: Plays) -> None:
    game = play(KEYED, Scripted())
    assert list(game.start()) == [FetchPages(0, 0, 2)]
    assert list(game.feed(ScanStalled(0, 0))) == [FetchPages(0, 1, 2)]
    game.page(0, (1, 1), index=0)
    assert game.told.of(FetchPages, index=0, count=1), "and the first runs on"


def test_a_rival_that_fails_calls_nobody_while_the_reader_is_well(play: Plays) -> None:
    three = block([table("k v", scans=3, key=(0,), name="M")], output="0.0 0.1")
    game = play(three, Together({0: 2, 1: 2}))
    game.start()
    game.page(0, (1, 1), total=3)
    assert not game.feed(ScanFailed(0, 1, "HTTP 500")).of(FetchPages)
    assert not game.feed(ScanStalled(0, 2)).of(FetchPages)
    assert game.feed(ScanFailed(0, 0, "HTTP 500")).of(FetchPages) == [FetchPages(0, 2, 2)]
    assert game.feed(ScanFailed(0, 2, "HTTP 500")).one(Finish) == Finish(complete=False, reason="failed")
    assert game.missing == {("M", "true")}


def test_a_stalled_reader_beside_a_rival_is_not_read_by_keys(play: Plays) -> None:
    plan = block([table("a", scans=1), table("k v", (0,), scans=2, key=(0,), name="M")], ["0.0 = 1.0"])
    game = play(plan, Together())
    game.start()
    game.page(0, (1,))
    assert not game.feed(ScanStalled(1, 0)).of(Lookup), "the other brings its row"
    assert game.feed(ScanStalled(1, 1)).of(Lookup), "nobody does"
    game.answer(game.told.one(Lookup).request, (1, 1))
    game.end(0)
    game.end(1, index=1)


def _limited() -> BlockPlan:
    return replace(MIRRORS, limit=5)


def _uncompared() -> BlockPlan:
    [only] = MIRRORS.tables
    return replace(MIRRORS, tables=(replace(only, identity="position"),))


def _pinned() -> BlockPlan:
    return block([table("k v", (0,), scans=2, key=(0,))], seeds={0: Seed(0, ((1,), (2,), (3,)))})


@pytest.mark.parametrize("plan", [_limited(), _uncompared(), _pinned(), block([table("k", scans=1)])])
def test_what_is_not_raced(play: Plays, plan: BlockPlan) -> None:
    """LIMIT, rows that nothing compares, constants that may take fewer requests, a scan that has no rival."""
    policy = Together()
    game = play(plan, policy)
    assert len(game.start().of(FetchPages)) == 1
    assert not policy.races
    game.feed(Cancel("enough"))


def test_scans_that_say_different_totals_are_not_raced(play: Plays) -> None:
    """A mirror that lacks rows may be through first: the table is then the first one's, as if there were no other."""
    game = play(KEYED, Together())
    game.start()
    game.page(0, (1, 1), total=3)
    assert not game.page(0, (1, 1), index=1, total=2).of(FetchPages)
    game.page(0, (2, 2))
    game.page(0, (3, 3))
    assert game.end(0).one(Finish).complete
    assert len(game.rows) == 3


@pytest.mark.parametrize("plan", [MIRRORS, KEYED])
def test_a_mirror_that_lacks_rows_of_another_ends_nothing(play: Plays, plan: BlockPlan) -> None:
    """With a key and without; a row that only came first from the other is none of them."""

    def begun() -> Play:
        game = play(plan, Together())
        game.start()
        game.page(0, (1, 1), (2, 2), (3, 3), index=0, total=2)
        game.page(0, (2, 2), index=1, total=2)
        return game

    both = begun()
    both.page(0, (4, 4), index=1)
    assert not both.end(0, index=1).of(Finish)
    assert both.eddy.statistics().tables[0].beyond == 2
    assert not both.end(0, index=0).one(Finish).complete
    assert ["lacks 1 rows" in part.reason for part in both.eddy.missing] == [True]
    assert len(both.rows) == 4, "what came was out"

    one = begun()
    assert not one.end(0, index=1).of(Finish)
    assert one.end(0, index=0).one(Finish).complete, "the other has all"

    agreed = play(plan, Together())
    agreed.start()
    agreed.page(0, (1, 1), (2, 2), index=0, total=3)
    agreed.page(0, (2, 2), (1, 1), index=1, total=3)
    agreed.page(0, (3, 3), index=1)
    assert agreed.end(0, index=1).one(Finish).complete


def test_the_policy_is_told_how_fast_and_how_far_each_is(play: Plays) -> None:
    policy = Together()
    game = play(KEYED, policy)
    game.feed(TimePassed(10.0))
    game.feed(Start())
    game.feed(TimePassed(14.0))
    game.feed(ScanRows(0, 0, game.batch(0, [(1, 1)]), total=8, seconds=3.0))
    game.feed(ScanRows(0, 0, game.batch(0, [(2, 2), (3, 3), (4, 4)]), seconds=1.0))
    game.feed(ScanRows(0, 1, game.batch(0, [(1, 1)]), total=8, seconds=0.5))
    game.settle()
    race = policy.races[-1]
    assert (race.total, race.elapsed) == (8, 4.0)
    first, second = race.scans
    assert (first.pages, first.rows, first.since) == (2, 4, 1)
    assert (first.first_s, first.mean_s, first.usual_s) == (3.0, 2.0, 2.0)
    assert (second.pages, second.since, second.first_s) == (1, 0, 0.5)
    for _ in range(8):
        game.feed(ScanRows(0, 0, game.batch(0, []), seconds=9.0))
    first, second = policy.races[-1].scans
    assert (first.usual_s, first.late) == (9.0, 8), "the last ones count"
    assert (second.since, second.usual_s) == (8, 0.5)
    game.feed(ScanRows(0, 0, game.batch(0, []), seconds=9.0))
    game.feed(ScanRows(0, 1, game.batch(0, []), seconds=2.5))
    second = policy.races[-1].scans[1]
    assert (second.mean_s, second.usual_s, second.late) == (1.5, 2.5, 1), "what is long past does not"
    game.feed(ScanEnd(0, 0, 4))
