"""The eddy, event by event: what goes in, which instructions come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from fff.dataflow import scans as scans_module
from fff.dataflow.plan.events import (
    Cancel,
    CancelLookup,
    Emit,
    FetchPages,
    Finish,
    Lookup,
    LookupEnd,
    LookupRows,
    ScanEnd,
    ScanFailed,
    ScanRows,
    ScanStalled,
    Start,
    StopScan,
)
from fff.dataflow.plan.expressions import Literal
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import Predicate, Seed
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing import router as router_module
from fff.dataflow.store.domains import Domain
from tests.dataflow.blocks import Play, Scripted, Together, block, compare, table

Plays = Callable[..., Play]

#: F(zip, amount) by scan; C(zip, rating) by lookup on zip.
F = table("zip amount", scans=1, name="F")
C = table("zip rating", (0,), name="C")
FC = block([F, C], ["0.0 = 1.0"], output="0.1 1.1")


def test_start_opens_scans_and_nothing_else(play: Plays) -> None:
    game = play(FC, scan_credit=3)
    told = game.start()
    assert list(told) == [FetchPages(0, 0, 3)]
    assert not game.eddy.has_work


def test_a_lookup_for_each_distinct_key(play: Plays) -> None:
    game = play(FC)
    game.start()
    told = game.page(0, (1, 10), (2, 20), (1, 11), (3, 30))
    assert sorted(told.keys) == [(1,), (2,), (3,)]
    assert len(told.of(Lookup, table=1, index=0)) == 3
    told = game.page(0, (3, 31), (2, 21), (None, 99))
    assert told.keys == [], "in flight: the tuples join the requests under way"
    assert game.eddy.router.parked_tuples() == 6


def request_of(game: Play, *key: object) -> int:
    """The number of the request that asked for a key."""
    return next(item.request for item in game.told.of(Lookup) if key in item.keys)


def test_answers_wake_who_waits_and_eot_lets_them_go(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.scan(0, (1, 10), (2, 20), (1, 11))
    one, two = request_of(game, 1), request_of(game, 2)
    game.rows_for(one, (1, 100))
    assert game.rows == Counter([(10, 100), (11, 100)])
    game.rows_for(one, (1, 101))
    assert game.rows == Counter([(10, 100), (11, 100), (10, 101), (11, 101)]), (
        "all matches, not only the first"
    )
    assert game.eddy.statistics().tables[1].stem.hits == 4, (
        "matches that come after their prober parked count too"
    )
    game.eot(one, 2)
    assert game.eddy.router.parked_tuples() == 1
    assert game.finish is None
    told = game.eot(two, 0)
    assert told.one(Finish) == Finish(complete=True, reason="done")
    assert game.missing == set()


def test_a_covered_key_is_answered_from_the_stem(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10), (2, 20))
    game.answer(request_of(game, 1), (1, 100))
    game.answer(request_of(game, 2))
    told = game.page(0, (1, 11), (2, 21))
    assert told.keys == [], "EOT covers, also the key without a single row"
    assert game.rows == Counter([(10, 100), (11, 100)])
    assert game.eddy.router.parked_tuples() == 0
    assert game.end(0).one(Finish).complete


def test_keys_travel_in_batches_with_one_eot_each(play: Plays) -> None:
    plan = block([F, table("zip rating", (0,), batch=2, window=1)], ["0.0 = 1.0"], output="0.1 1.1")
    game = play(plan)
    game.start()
    told = game.scan(0, (1, 10), (2, 20), (3, 30))
    first = told.one(Lookup)
    assert len(first.keys) == 2
    told = game.answer(first.request, (first.keys[0][0], 100))
    second = told.one(Lookup)
    assert sorted(first.keys + second.keys) == [(1,), (2,), (3,)]
    assert game.eddy.statistics().tables[1].stem.covered == 2
    assert game.answer(second.request, (second.keys[0][0], 300)).one(Finish).complete
    assert sum(game.rows.values()) == 2


def test_rows_nobody_asked_for_are_counted_and_change_nothing(play: Plays) -> None:
    """P25."""
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.answer(request_of(game, 1), (1, 100), (2, 666), (None, 666))
    assert game.eddy.statistics().tables[1].lookups[0].strays == 2
    assert len(game.eddy.block.stems[1]) == 1
    told = game.page(0, (2, 20))
    assert told.keys == [(2,)], "a stray covers nothing"
    game.answer(request_of(game, 2), (2, 200))
    game.end(0)
    assert game.rows == Counter([(10, 100), (20, 200)])


def test_eot_must_count_what_came(play: Plays) -> None:
    """I5."""
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.rows_for(0, (1, 100))
    with pytest.raises(AssertionError, match="counts 2 rows, 1 came"):
        game.eddy.handle(LookupEnd(0, 2))
    with pytest.raises(AssertionError, match="counts 0 rows, 1 came"):
        game.eddy.handle(ScanEnd(0, 0, 0))


def test_null_keys_are_never_asked_for(play: Plays) -> None:
    """P23."""
    game = play(FC)
    game.start()
    assert game.scan(0, (None, 10), (None, 20)).one(Finish) == Finish(complete=True, reason="done")
    assert game.told.keys == []


# ------------------------------------------------------------------------------------------------- failures


def test_failure_of_the_only_lookup_is_listed(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.scan(0, (1, 10), (2, 20))
    game.answer(request_of(game, 1), (1, 100))
    told = game.fail(request_of(game, 2), "HTTP 503 after 5 attempts")
    assert told.one(Finish) == Finish(complete=False, reason="failed")
    assert game.missing == {("C", "zip = 2")}
    assert game.rows == Counter([(10, 100)])


def test_a_truncated_answer_is_used_but_never_covers(play: Plays) -> None:
    """P16."""
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.rows_for(0, (1, 100))
    game.fail(0, "only the first 100 matches", truncated=True)
    game.page(0, (1, 11))
    assert game.end(0).one(Finish).complete is False
    assert game.rows == Counter([(10, 100), (11, 100)])
    assert game.missing == {("C", "zip = 1")}
    assert game.told.keys == [(1,)]


TWO_WAYS = block(
    [table("zip area", scans=1, name="F"), table("zip area", (0,), (1,), name="C")],
    ["0.0 = 1.0", "0.1 = 1.1"],
    output="0.0 1.1",
)


def test_failure_goes_to_another_lookup(play: Plays) -> None:
    """P18; rows of the failed answer and of the good one are the same rows."""
    game = play(TWO_WAYS)
    game.start()
    game.scan(0, (1, 7))
    first = game.told.one(Lookup, index=0)
    game.rows_for(first.request, (1, 7))
    assert game.rows == Counter([(1, 7)])
    second = game.fail(first.request).one(Lookup, index=1)
    assert second.keys == ((7,),)
    told = game.answer(second.request, (1, 7), (1, 7), (2, 7))
    assert told.one(Finish).complete
    assert game.rows == Counter({(1, 7): 2}), "the copy the failed answer did not bring, and no other"
    assert game.eddy.statistics().tables[1].lookups[1].duplicates == 1


def test_a_later_tuple_goes_straight_to_the_lookup_that_works(play: Plays) -> None:
    game = play(TWO_WAYS)
    game.start()
    game.page(0, (1, 7))
    game.fail(0)
    game.answer(1, (1, 7))
    told = game.page(0, (1, 8))
    assert told.one(Lookup, index=1).keys == ((8,),)
    game.answer(2, (1, 8))
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter([(1, 7), (1, 8)])


def test_when_every_lookup_fails_the_key_is_missing(play: Plays) -> None:
    game = play(TWO_WAYS)
    game.start()
    game.scan(0, (1, 7))
    game.fail(0, "HTTP 500")
    told = game.fail(1, "HTTP 502")
    assert told.one(Finish) == Finish(complete=False, reason="failed")
    assert ("C", "area = 7") in game.missing


#: W is scanned, and could be read by key as well.
W = table("zip rating", (0,), scans=1, name="W")
FW = block([F, W], ["0.0 = 1.0"], output="0.1 1.1")


def test_a_failed_scan_is_recovered_by_keys(play: Plays) -> None:
    """P21: keys of probers consumed before the failure are asked for, and those of later ones."""
    game = play(FW)
    game.start()
    game.page(0, (1, 10), (2, 20))
    game.page(1, (1, 100))
    assert game.told.keys == [], "while the scan is well nothing is looked up"
    told = game.feed(ScanFailed(1, 0, "HTTP 500"))
    assert sorted(told.keys) == [(1,), (2,)]
    game.answer(request_of(game, 1), (1, 100), (1, 101))
    told = game.page(0, (3, 30))
    assert told.keys == [(3,)]
    game.answer(request_of(game, 2))
    game.answer(request_of(game, 3), (3, 300))
    assert game.end(0).one(Finish) == Finish(complete=True, reason="done")
    assert game.rows == Counter([(10, 100), (10, 101), (30, 300)])


def test_a_failed_scan_that_keys_cannot_replace_is_missing(play: Plays) -> None:
    game = play(FW)
    game.start()
    game.scan(1, (1, 100))
    game.page(0, (1, 10))
    told = game.feed(ScanFailed(0, 0, "HTTP 500"))
    assert told.one(Finish) == Finish(complete=False, reason="failed")
    assert game.missing == {("F", "true")}
    assert game.rows == Counter([(10, 100)])


def test_a_key_that_fails_during_recovery_is_missing(play: Plays) -> None:
    game = play(FW)
    game.start()
    game.scan(0, (1, 10), (2, 20))
    game.feed(ScanFailed(1, 0, "HTTP 500"))
    game.answer(request_of(game, 1), (1, 100))
    told = game.fail(request_of(game, 2))
    assert told.one(Finish) == Finish(complete=False, reason="failed")
    assert game.missing == {("W", "zip = 2")}


def test_an_accelerator_that_failed_matters_only_if_the_scan_does(play: Plays) -> None:
    for scan_fails in (False, True):
        game = play(FW, Scripted(Move(1, 0)))
        game.start()
        assert game.scan(0, (1, 10)).keys == [(1,)]
        game.fail(0)
        assert game.missing == set()
        if scan_fails:
            game.feed(ScanFailed(1, 0, "HTTP 500"))
            assert game.missing == {("W", "zip = 1")}
            assert game.finish == Finish(complete=False, reason="failed")
        else:
            game.scan(1, (1, 100))
            assert game.finish == Finish(complete=True, reason="done")
            assert game.rows == Counter([(10, 100)])


MIRRORED = block([table("zip", scans=2, name="M")], output="0.0")


def test_mirrors_start_on_failure_or_stall_only(play: Plays) -> None:
    game = play(MIRRORED)
    assert list(game.start()) == [FetchPages(0, 0, 2)]
    assert list(game.feed(ScanStalled(0, 0))) == [FetchPages(0, 1, 2)]
    assert list(game.feed(ScanStalled(0, 0))) == [], "told once"
    other = play(MIRRORED)
    other.start()
    assert list(other.feed(ScanFailed(0, 0, "HTTP 500"))) == [FetchPages(0, 1, 2)]
    assert other.missing == set()


def test_the_first_eot_stops_the_other_mirror(play: Plays) -> None:
    game = play(MIRRORED, Together())
    game.start()
    game.page(0, (1,), (2,), (2,), index=0, total=4)
    game.page(0, (2,), (3,), index=1, total=4)
    assert game.rows == Counter([(1,), (2,), (2,), (3,)])
    told = game.page(0, (2,), (1,), index=1)
    assert sum(game.rows.values()) == 4, "the second copy from the other mirror is the second copy"
    told = game.end(0, index=1)
    assert told.one(StopScan) == StopScan(0, 0)
    assert told.one(Finish).complete
    assert list(game.feed(ScanRows(0, 0, game.batch(0, [(9,)])))) == [], "late events change nothing"


def test_a_failed_mirror_leaves_nothing_missing_while_the_other_runs(play: Plays) -> None:
    game = play(MIRRORED, Together())
    game.start()
    game.page(0, (1,), total=2)
    game.feed(ScanFailed(0, 1, "HTTP 500"))
    assert game.missing == set()
    assert game.scan(0, (2,)).one(Finish).complete
    both = play(MIRRORED, Together())
    both.start()
    both.page(0, (1,), total=2)
    both.feed(ScanFailed(0, 1, "HTTP 500"))
    assert both.feed(ScanFailed(0, 0, "HTTP 502")).one(Finish) == Finish(complete=False, reason="failed")
    assert both.missing == {("M", "true")}


def test_a_stalled_scan_without_mirror_is_read_by_keys(play: Plays) -> None:
    game = play(FW)
    game.start()
    game.scan(0, (1, 10), (2, 20))
    told = game.feed(ScanStalled(1, 0))
    assert sorted(told.keys) == [(1,), (2,)]
    game.answer(request_of(game, 1), (1, 100))
    told = game.scan(1, (1, 100), (2, 200))
    assert told.one(CancelLookup).request == request_of(game, 2), "the scan's EOT covers it"
    assert told.one(Finish).complete
    assert game.rows == Counter([(10, 100), (20, 200)])


def test_the_end_of_a_scan_cancels_the_lookups_it_covers(play: Plays) -> None:
    game = play(FW, Scripted(Move(1, 0)))
    game.start()
    game.scan(0, (1, 10))
    told = game.scan(1, (1, 100))
    assert told.one(CancelLookup).request == 0
    assert told.one(Finish).complete
    assert list(game.feed(LookupRows(0, game.batch(1, [(1, 100)])))) == []
    assert game.rows == Counter([(10, 100)])


# ------------------------------------------------------------------------------------------- stopping early


def test_limit_stops_everything(play: Plays) -> None:
    plan = block([F, C], ["0.0 = 1.0"], output="0.1 1.1", limit=3)
    game = play(plan)
    game.start()
    game.page(0, (1, 10), (1, 11), (2, 20))
    told = game.rows_for(request_of(game, 1), (1, 100), (1, 101))
    assert sum(game.rows.values()) == 3, "exactly"
    assert told.one(StopScan) == StopScan(0, 0)
    assert {item.request for item in told.of(CancelLookup)} == {0, 1}
    assert told.one(Finish) == Finish(complete=True, reason="limit")
    assert isinstance(told[-1], Finish)
    assert not game.eddy.has_work
    assert list(game.feed(LookupEnd(0, 2))) == []


def test_limit_asks_for_nothing_more_in_the_step_that_reaches_it(play: Plays) -> None:
    narrow = table("zip rating", (0,), window=1, name="C")
    game = play(block([F, narrow], ["0.0 = 1.0"], output="0.1 1.1", limit=1), scan_credit=1)
    game.start()
    told = game.feed(ScanRows(0, 0, game.batch(0, [(1, 10)])))
    assert not told.of(FetchPages), "what is inside may be all that is wanted"
    game.settle()
    told = game.rows_for(0, (1, 100))
    assert told.of(Finish)
    assert not told.of(Lookup) + told.of(FetchPages)
    scanned = play(block([F], output="0.1", limit=1), scan_credit=1)
    scanned.start()
    told = scanned.feed(ScanRows(0, 0, scanned.batch(0, [(1, 10), (2, 20)])))
    assert told.of(Finish, reason="limit")
    assert not told.of(FetchPages), "no page is asked for that will not be read"


def test_a_scan_goes_on_under_limit_when_what_is_inside_is_not_enough(play: Plays) -> None:
    game = play(
        block([F, table("zip rating", (0,), window=2, name="C")], ["0.0 = 1.0"], output="0.1 1.1", limit=2)
    )
    assert game.start().one(FetchPages) == FetchPages(0, 0, 1), "one page, not two"
    told = game.feed(ScanRows(0, 0, game.batch(0, [(1, 10)])))
    assert told.one(FetchPages) == FetchPages(0, 0, 1), "one tuple cannot make two rows, as far as is known"
    game.settle()
    told = game.feed(ScanRows(0, 0, game.batch(0, [(2, 20)])))
    assert not told.of(FetchPages)
    game.settle()
    told = game.eot(0, 0)
    assert told.one(FetchPages) == FetchPages(0, 0, 1), "the first has found nothing"


def test_limit_zero_fetches_nothing(play: Plays) -> None:
    game = play(block([F, C], ["0.0 = 1.0"], limit=0, seeds={}))
    assert list(game.start()) == [Finish(complete=True, reason="limit")]


def test_limit_above_the_result_is_no_limit(play: Plays) -> None:
    game = play(block([F], output="0.1", limit=5))
    game.start()
    assert game.scan(0, (1, 10)).one(Finish) == Finish(complete=True, reason="done")


def test_an_empty_table_ends_the_query(play: Plays) -> None:
    """P28b: an inner join with nothing is nothing, whatever else has failed."""
    plan = block([F, table("zip x", scans=1, name="E"), C], ["0.0 = 1.0 = 2.0"])
    game = play(plan, Scripted(Move(2, 0)))
    game.start()
    game.page(0, (1, 10))
    game.fail(0)
    game.page(0, (2, 20))
    assert game.missing == {("C", "zip = 1")}
    told = game.end(1)
    assert told.one(StopScan) == StopScan(0, 0)
    assert told.one(CancelLookup).request == 1
    assert told.one(Finish) == Finish(complete=True, reason="done")
    assert game.missing == set()


def test_a_table_no_row_of_which_passes_is_empty_too(play: Plays) -> None:
    plan = block([F, table("zip x", scans=1)], ["0.0 = 1.0"], predicates=[compare("1.1", ">", 100)])
    game = play(plan)
    game.start()
    told = game.scan(1, (1, 5), (2, 100))
    assert told.one(Finish).complete
    assert told.one(StopScan) == StopScan(0, 0)


def test_a_false_condition_ends_the_query_at_the_first_eot(play: Plays) -> None:
    game = play(block([F], predicates=[Predicate(Literal(None, pa.bool_()))]))
    game.start()
    assert game.scan(0, (1, 5)).one(Finish).complete
    assert game.rows == Counter()


def test_cancel_prints_what_is_there(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10), (2, 20), (3, 30))
    game.answer(request_of(game, 1), (1, 100))
    game.rows_for(request_of(game, 2), (2, 200))
    told = game.feed(Cancel("the deadline of 5 s passed"))
    assert told.one(StopScan) == StopScan(0, 0)
    assert {item.request for item in told.of(CancelLookup)} == {request_of(game, 2), request_of(game, 3)}
    assert told.one(Finish) == Finish(complete=False, reason="cancelled")
    assert game.rows == Counter([(10, 100), (20, 200)])
    assert game.missing == {("F", "true"), ("C", "zip = 2"), ("C", "zip = 3")}
    assert {part.reason for part in game.eddy.missing} == {"the deadline of 5 s passed"}


def test_after_cancel_tuples_inside_still_travel_but_ask_for_nothing(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.answer(0, (1, 100))
    game.feed(ScanRows(0, 0, game.batch(0, [(1, 11), (2, 20)])))
    assert game.feed(Cancel("interrupted")).of(Finish) == []
    assert game.settle().one(Finish).reason == "cancelled"
    assert game.rows == Counter([(10, 100), (11, 100)])
    assert game.told.keys == [(1,)]
    assert ("C", "zip = 2") in game.missing


def test_cancel_twice_and_cancel_when_all_is_there(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.feed(Cancel("interrupted"))
    assert list(game.feed(Cancel("again"))) == []
    whole = play(block([F], output="0.1"), route_size=1)
    whole.start()
    whole.feed(ScanRows(0, 0, whole.batch(0, [(1, 10)])))
    assert whole.end(0).one(Finish).complete
    assert list(whole.feed(Cancel("too late"))) == []


# ------------------------------------------------------------------------------------------- back-pressure


def test_a_page_earns_a_page(play: Plays) -> None:
    game = play(block([F], output="0.1"), scan_credit=2)
    game.start()
    for amount in range(3):
        told = game.feed(ScanRows(0, 0, game.batch(0, [(1, amount)])))
        assert told.one(FetchPages) == FetchPages(0, 0, 1)
    game.eddy.block.scans[0][0].credit = 0
    with pytest.raises(AssertionError, match="without credit"):
        game.eddy.handle(ScanRows(0, 0, game.batch(0, [(1, 9)])))


def test_scans_are_held_back_while_too_many_tuples_wait(play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans_module, "HELD_TUPLES", 3)
    game = play(FC, scan_credit=1)
    game.start()
    told = game.page(0, (1, 10), (2, 20))
    assert told.of(FetchPages)
    told = game.page(0, (1, 11), (2, 21))
    assert not told.of(FetchPages), "four tuples are parked"
    told = game.rows_for(request_of(game, 1), (1, 100))
    assert not told.of(FetchPages)
    told = game.eot(request_of(game, 1), 1)
    assert told.of(FetchPages) == [FetchPages(0, 0, 1)], "two have left"
    assert not game.eot(request_of(game, 2), 0).of(FetchPages), "credit is given once"
    assert game.end(0).one(Finish).complete


def test_large_probes_go_in_parts(play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = block([F, table("zip x", scans=1)], ["0.0 = 1.0"], output="0.1 1.1")
    expected = Counter({(a, x): 1 for a in range(12) for x in range(12)})
    for bound in (1, 7, 30, 10_000):
        monkeypatch.setattr(router_module, "PROBE_PAIRS", bound)
        game = play(plan)
        game.start()
        game.scan(1, *[(1, x) for x in range(12)])
        told = game.scan(0, *[(1, amount) for amount in range(12)])
        assert game.rows == expected
        sizes = [len(item.batch) for item in told.of(Emit)]
        assert max(sizes) <= max(bound, 12)
        assert (len(sizes) > 1) == (bound < 144)


# --------------------------------------------------------------------------------------------- self-joins


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("semantics", ["parked", "paper"])
def test_a_row_meets_itself_exactly_once(play: Plays, size: int, semantics: str) -> None:
    """P01."""
    plan = block([F], ["0.0 = 1.0"], aliases=[0, 0], output="0.1 1.1")
    game = play(plan, route_size=size, semantics=semantics)
    game.start()
    game.page(0, (1, 10), (1, 11))
    game.scan(0, (1, 12), (2, 20))
    rows = [10, 11, 12]
    assert game.rows == Counter([(a, b) for a in rows for b in rows] + [(20, 20)])


def test_one_alias_active_the_other_passive(play: Plays) -> None:
    """A seeded alias of a table that its other alias reads by key; both share SteM and lookup."""
    person = table("id boss", (0,), name="person")
    plan = block(
        [person],
        ["0.1 = 1.0"],
        aliases=[0, 0],
        predicates=[compare("0.0", "=", 1)],
        seeds={0: Seed(0, ((1,),))},
        output="0.0 1.0 1.1",
    )
    game = play(plan)
    assert game.start().keys == [(1,)]
    told = game.answer(0, (1, 2))
    assert told.keys == [(2,)]
    game.answer(1, (2, 1))
    assert game.rows == Counter([(1, 2, 1)])
    assert game.finish == Finish(complete=True, reason="done")


def test_a_person_who_is_their_own_boss(play: Plays) -> None:
    person = table("id boss", (0,), name="person")
    plan = block(
        [person],
        ["0.1 = 1.0"],
        aliases=[0, 0],
        predicates=[compare("0.0", "=", 1)],
        seeds={0: Seed(0, ((1,),))},
    )
    game = play(plan)
    game.start()
    assert game.answer(0, (1, 1)).keys == [], "the key is covered, or in flight"
    assert game.rows == Counter([(1, 1, 1, 1)])
    assert game.finish is not None


# ------------------------------------------------------------------------------------- constants and keys


def test_constant_bound_lookups_are_asked_at_the_start(play: Plays) -> None:
    """P47."""
    plan = block([F, C], ["0.0 = 1.0"], seeds={1: Seed(0, ((5,), (None,), (6,), (5,)))}, output="0.1 1.1")
    game = play(plan)
    told = game.start()
    assert sorted(told.keys) == [(5,), (6,)], "each once, NULL never"
    game.scan(0, (5, 10), (6, 20), (7, 30))
    game.answer(request_of(game, 5), (5, 100))
    assert game.answer(request_of(game, 6)).one(Finish).complete
    assert game.rows == Counter([(10, 100)])
    assert game.told.keys == told.keys, "nothing more is asked for"


def test_many_constants_are_numbered_at_once(play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, a list of five thousand takes a second."""
    calls: list[int] = []
    number = Domain.number

    def counted(self: Domain, values: pa.Array) -> Any:
        calls.append(len(values))
        return number(self, values)

    monkeypatch.setattr(Domain, "number", counted)
    keys = tuple((n, 2 * n) for n in range(300))
    plan = block([table("zip area rating", (0, 1), name="C")], seeds={0: Seed(0, keys)})
    game = play(plan)
    game.start()
    assert calls == [300, 300]


def test_a_failed_seed_is_missing(play: Plays) -> None:
    plan = block([C], seeds={0: Seed(0, ((5,),))})
    game = play(plan)
    game.start()
    assert game.fail(0).one(Finish) == Finish(complete=False, reason="failed")
    assert game.missing == {("C", "zip = 5")}


def test_keys_of_constants_and_joined_columns(play: Plays) -> None:
    wide = table("zip year rating", (0, 1), name="C")
    plan = block([F, wide], ["0.0 = 1.0"], constants={1: ((1, 2024),)}, output="0.1 1.2")
    game = play(plan)
    game.start()
    assert game.scan(0, (1, 10), (1, 11), (2, 20)).keys in ([(1, 2024), (2, 2024)], [(2, 2024), (1, 2024)])
    game.answer(request_of(game, 1, 2024), (1, 2024, 100), (1, 1999, 666))
    game.answer(request_of(game, 2, 2024))
    assert game.rows == Counter([(10, 100), (11, 100)])
    assert game.finish == Finish(complete=True, reason="done")


def test_keys_of_two_columns_from_two_aliases(play: Plays) -> None:
    plan = block(
        [F, table("year", scans=1), table("zip year rating", (0, 1), name="C")],
        ["0.0 = 2.0", "1.0 = 2.1"],
        output="0.1 1.0 2.2",
    )
    game = play(plan)
    game.start()
    game.scan(0, (1, 10), (2, 20))
    told = game.scan(1, (2023,), (2024,))
    assert sorted(told.keys) == [(1, 2023), (1, 2024), (2, 2023), (2, 2024)]
    for lookup in told.of(Lookup):
        game.answer(lookup.request, (*lookup.keys[0], lookup.keys[0][0] * 100))
    assert game.rows == Counter([(10, 2023, 100), (10, 2024, 100), (20, 2023, 200), (20, 2024, 200)])


def test_no_request_when_every_seed_is_null(play: Plays) -> None:
    game = play(block([C], seeds={0: Seed(0, ((None,),))}))
    assert list(game.start()) == [Finish(complete=True, reason="done")]


def test_long_and_short_keys_join(play: Plays) -> None:
    """A long string in one page must not hide the short ones of another."""
    text = table("k:string", scans=1)
    game = play(block([text, text], ["0.0 = 1.0"], output="0.0"))
    game.start()
    game.scan(0, ("a",), ("x" * 300,))
    game.scan(1, ("a",), ("b",))
    assert game.rows == Counter([("a",)])


# ---------------------------------------------------------------------------------- predicates, output, more


def test_non_equality_and_module_predicates(play: Plays) -> None:
    other = table("zip x", scans=1)
    for module in (False, True):
        plan = block([F, other], predicates=[compare("0.1", "<", "1.1", module=module)], output="0.1 1.1")
        game = play(plan)
        game.start()
        game.scan(0, (1, 10), (1, 20), (1, None))
        game.scan(1, (2, 15), (2, 25))
        assert game.rows == Counter([(10, 15), (10, 25), (20, 25)])


def test_two_equalities_and_null_in_one_of_them(play: Plays) -> None:
    pair = table("a b", scans=1)
    game = play(block([pair, pair], ["0.0 = 1.0", "0.1 = 1.1"]))
    game.start()
    game.scan(0, (1, 1), (1, None), (None, 1))
    game.scan(1, (1, 1), (1, None), (None, 1))
    assert game.rows == Counter([(1, 1, 1, 1)])


def test_counting_needs_no_columns(play: Plays) -> None:
    game = play(block([F], output=""))
    game.start()
    game.scan(0, (1, 10), (1, 10), (None, None))
    assert game.rows == Counter({(): 3})


def test_a_product(play: Plays) -> None:
    game = play(block([table("a", scans=1), table("b", scans=1)]))
    game.start()
    game.scan(0, (1,), (2,))
    game.scan(1, (8,), (None,))
    assert game.rows == Counter([(1, 8), (1, None), (2, 8), (2, None)])


def test_a_failed_answer_that_comes_after_all_is_ignored(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.fail(0)
    assert list(game.feed(LookupRows(0, game.batch(1, [(1, 100)])))) == []
    assert game.rows == Counter()


def test_every_tuple_batch_size_gives_the_same_rows(play: Plays) -> None:
    seen = []
    for size in (1, 2, 5, 4096):
        game = play(TWO_WAYS, "naive", route_size=size)
        game.start()
        told = game.scan(0, *[(n % 3, n % 2) for n in range(9)])
        for lookup in told.of(Lookup):
            method = game.plan.tables[1].lookups[lookup.index].columns[0]
            rows = [(zip_, area) for zip_ in range(3) for area in range(2)]
            game.answer(lookup.request, *[row for row in rows if (row[method],) in lookup.keys])
        assert game.finish == Finish(complete=True, reason="done")
        seen.append(game.rows)
    assert all(rows == seen[0] for rows in seen)
    assert sum(seen[0].values()) == 9


class TestPaperSemantics:
    """S4 Table 2 with feasible-only routing: every row probes, nothing parks."""

    def test_index_rows_probe_and_nothing_parks(self, play: Plays) -> None:
        game = play(FC, semantics="paper")
        game.start()
        told = game.scan(0, (1, 10), (1, 11), (2, 20))
        assert sorted(told.keys) == [(1,), (2,)]
        assert game.eddy.router.parked_tuples() == 0
        told = game.answer(request_of(game, 1), (1, 100), (1, 101))
        assert any(state == TupleState(0b10) for state, _ in game.eddy.router.routing), "C rows probe F"
        game.answer(request_of(game, 2))
        assert game.rows == Counter([(10, 100), (10, 101), (11, 100), (11, 101)])
        assert game.finish == Finish(complete=True, reason="done")

    def test_a_failed_lookup_is_missing(self, play: Plays) -> None:
        game = play(FC, semantics="paper")
        game.start()
        game.scan(0, (1, 10))
        assert game.fail(0).one(Finish) == Finish(complete=False, reason="failed")
        assert game.missing == {("C", "zip = 1")}

    def test_the_chain_of_bind_limited_tables_ends(self, play: Plays) -> None:
        """P05: literal Table 2 never would."""
        plan = block(
            [F, table("k v", (0,)), table("v w", (0,))], ["0.0 = 1.0", "1.1 = 2.0"], output="0.1 2.1"
        )
        for semantics in ("parked", "paper"):
            game = play(plan, semantics=semantics)
            game.start()
            game.scan(0, (1, 10))
            game.answer(request_of(game, 1), (1, 7), (1, 8))
            for value in (7, 8):
                game.answer(request_of(game, value), (value, value * 10))
            assert game.rows == Counter([(10, 70), (10, 80)])
            assert game.finish == Finish(complete=True, reason="done")


# -------------------------------------------------------------------------------------- what policies are told


def test_parked_tuples_count_as_taken_when_their_lookup_has_ended(play: Plays) -> None:
    """P32."""
    policy = Scripted()
    game = play(FC, policy)
    game.start()
    game.scan(0, (1, 10), (1, 11))
    first = policy.outcomes[-1]
    assert (first.taken, first.produced, first.requests, first.informed) == (0, 0, 1, False)
    assert first.move == Move(1, 0)
    game.answer(0, (1, 100))
    late, ended = policy.outcomes[-2:]
    assert (late.taken, late.produced, late.state) == (0, 2, TupleState(0b1))
    assert (ended.taken, ended.produced, ended.move) == (2, 0, Move(1, 0))


def test_routing_shares_add_up(play: Plays) -> None:
    game = play(FC)
    game.start()
    game.page(0, (1, 10), (2, 20))
    game.page(0, (1, 11))
    assert game.eddy.router.routing == {(TupleState(0b1), Move(1, 0)): [2, 3]}


def test_an_illegal_choice_is_refused(play: Plays) -> None:
    class Illegal(Scripted):
        def choose(self, state, moves, rng):
            return Move(0)

    plan = block([F, table("zip x", scans=1), table("zip y", scans=1)], ["0.0 = 1.0 = 2.0"])
    game = Play(plan, Illegal())
    game.start()
    with pytest.raises(AssertionError, match="not a legal move"):
        game.page(0, (1, 10))
    assert play(plan).start()


def test_start_is_given_once(play: Plays) -> None:
    game = play(FC)
    game.start()
    with pytest.raises(AssertionError):
        game.eddy.handle(Start())


def test_validate_bites(play: Plays) -> None:
    """The fixture's check sees a tuple that is lost."""
    game = play(FC)
    game.start()
    game.page(0, (1, 10))
    game.eddy.validate()
    group = next(game.eddy.router.parked.waiting())[2]
    group.live += 1
    with pytest.raises(AssertionError):
        game.eddy.validate()
    group.live -= 1


def test_a_limit_that_is_reached_leaves_nothing_missing(play: Plays) -> None:
    game = play(block([F, C], ["0.0 = 1.0"], output="0.1 1.1", limit=1))
    game.start()
    game.page(0, (1, 10), (2, 20))
    game.fail(0)
    assert len(game.missing) == 1
    assert game.answer(1, *[(key[0], 100) for key in game.told.of(Lookup, request=1)[0].keys]).of(Finish)
    assert game.finish == Finish(complete=True, reason="limit")
    assert game.missing == set()


# ----------------------------------------------------------------------------------- probers parked on a scan

CHAIN = block([table("k v", scans=1), table("k v", (0,)), table("k v", scans=1)], ["0.0 = 1.0", "1.1 = 2.0"])


def test_probers_of_a_waiting_alias_park_until_its_scan_ends(play: Plays) -> None:
    game = play(CHAIN)
    game.start()
    game.page(2, (7, 70))  # there before its prober
    game.page(0, (1, 10), (2, 20))
    game.answer(0, (1, 7))
    game.answer(1, (2, 8))
    assert game.eddy.router.parked_tuples(2) == 2
    game.page(2, (8, 80), (9, 90), (7, 71))  # and after it
    assert game.eddy.router.emitted == 3
    game.end(0)
    assert not game.eddy.finished
    game.end(2)
    assert game.eddy.finished
    assert game.eddy.missing == ()
    assert game.eddy.router.parked_tuples() == 0
    routed = {(state.span, move.alias) for state, move in game.eddy.router.routing}
    assert routed == {(0b001, 1), (0b011, 2)}, "no row of the waiting alias ever probes"


def test_a_waiting_alias_whose_scan_fails_goes_missing(play: Plays) -> None:
    game = play(CHAIN)
    game.start()
    game.scan(0, (1, 10))
    game.answer(0, (1, 7))
    game.page(2, (7, 70))
    game.feed(ScanFailed(2, 0, "HTTP 503"))
    assert game.eddy.router.emitted == 1
    assert game.eddy.finished
    assert [(part.predicate, part.reason) for part in game.eddy.missing] == [("true", "HTTP 503")]


def test_a_scan_that_is_waited_for_is_never_held_back(play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fff.dataflow.scans.HELD_TUPLES", 1)
    game = play(CHAIN)
    game.start()
    game.page(0, *((key, 0) for key in range(5)))
    for request in range(5):
        game.answer(request, (request, 7))
    assert game.eddy.router.parked_tuples(2) == 5
    assert game.page(2, (7, 70)).of(FetchPages, table=2)
    assert game.eddy.router.emitted == 5
