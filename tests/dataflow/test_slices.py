"""The work of one call is bounded, so that whoever drives an eddy can stop between two of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.events import (
    Cancel,
    Emit,
    Enough,
    Finish,
    Halt,
    LookupAnswers,
    LookupEnd,
    LookupRows,
    Prioritize,
    Route,
    ScanEnd,
    ScanRows,
    Start,
    StopScan,
    TimePassed,
)
from fff.dataflow.routing import router as router_module
from fff.dataflow.store.sorted_runs import Within
from fff.dataflow.store.stem import SteM
from tests.dataflow.blocks import Play, block, compare, table

Plays = Callable[..., Play]

F = table("zip amount", scans=1, name="F")
C = table("zip rating", (0,), name="C")
FC = block([F, C], ["0.0 = 1.0"], output="0.1 1.1")
#: Three tables and nothing that links them.
PRODUCT = block([F, table("a", scans=1, name="A"), table("b", scans=1, name="B")], [], output="0.1 1.0 2.0")


def parked(play: Plays, monkeypatch: pytest.MonkeyPatch, probers: int = 12) -> Play:
    """An eddy in which so many tuples wait for the one key that is asked for; probes make 24 pairs at most."""
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 24)
    game = play(FC)
    game.start()
    game.scan(0, *[(1, amount) for amount in range(probers)])
    assert game.eddy.router.parked_tuples() == probers
    return game


def pairs(probers: int, rows: int) -> Counter[tuple[int, int]]:
    return Counter(itertools.product(range(probers), range(rows)))


@pytest.mark.parametrize("together", [True, False])
def test_an_answer_that_many_wait_for_is_joined_in_steps(
    play: Plays, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    game = parked(play, monkeypatch)
    rows = LookupRows(0, game.batch(1, [(1, x) for x in range(20)]))
    told = [game.feed(event) for event in _told(together, rows, LookupEnd(0, 20))]
    assert sum(len(some.of(Emit)) for some in told), "the first step is taken at once"
    assert game.eddy.router.parked_tuples() == 12, "no end is heard before the rows have met all who wait"
    steps = 0
    while game.eddy.has_work:
        told.append(game.feed(Route()))
        steps += 1
    assert max(sum(len(item.batch) for item in some.of(Emit)) for some in told) <= 24
    assert steps >= 9
    assert game.rows == pairs(12, 20)
    assert game.finish == Finish(complete=True, reason="done")
    game.eddy.validate()


def _told(together: bool, rows: LookupRows, end: LookupEnd) -> list[LookupAnswers | LookupRows | LookupEnd]:
    return [LookupAnswers((rows,), (end,))] if together else [rows, end]


def test_rows_of_a_scan_that_many_wait_for_are_joined_in_steps(
    play: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 6)
    game = play(block([F], ["0.0 = 0.1"], aliases=[0, 0], output="0.1 1.1"))
    game.start()
    game.feed(ScanRows(0, 0, game.batch(0, [(1, 1)] * 6)))
    game.feed(ScanEnd(0, 0, 6))
    game.settle()
    assert game.rows == Counter({(1, 1): 36})


def test_what_comes_while_rows_are_at_work_is_neither_lost_nor_counted_twice(
    play: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = parked(play, monkeypatch)
    for start in (0, 10):
        game.feed(LookupRows(0, game.batch(1, [(1, x) for x in range(start, start + 10)])))
    for event in (TimePassed(5.0), Prioritize((compare("0.1", ">", 3).expr,)), LookupEnd(0, 20)):
        game.feed(event)
        game.feed(Route())
    assert game.settle().one(Finish).complete
    assert game.rows == pairs(12, 20)


@pytest.mark.parametrize("end", [Cancel("interrupted"), Halt("the deadline of 5 s passed")])
def test_an_end_is_not_kept_waiting(play: Plays, monkeypatch: pytest.MonkeyPatch, end: Cancel | Halt) -> None:
    game = parked(play, monkeypatch)
    game.feed(LookupRows(0, game.batch(1, [(1, x) for x in range(20)])))
    game.feed(LookupEnd(0, 20))
    game.feed(end)
    assert game.settle().of(Finish) or game.finish is not None
    assert game.finish == Finish(complete=False, reason="cancelled")
    assert not game.rows - pairs(12, 20)
    assert {part.reason for part in game.eddy.missing} == {end.reason}
    game.eddy.validate()


def test_halt_gives_up_the_tuples_inside_and_says_so(play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_module, "PROBE_PAIRS", 10)
    game = play(PRODUCT)
    game.start()
    for at in range(3):
        rows = [(x, x)[: 2 - bool(at)] for x in range(10)]
        game.feed(ScanRows(at, 0, game.batch(at, rows)))
        game.feed(ScanEnd(at, 0, 10))
    while not game.rows:
        game.feed(Route())
    told = game.feed(Halt("the deadline of 1 s passed"))
    assert told.one(Finish) == Finish(complete=False, reason="cancelled")
    assert not game.eddy.has_work
    assert 0 < sum(game.rows.values()) < 1000
    assert game.missing == {(name, "not joined yet") for name in "FAB"}


def test_halt_after_the_last_tuple_changes_nothing(play: Plays) -> None:
    game = play(PRODUCT)
    game.start()
    game.scan(0, (1, 1))
    game.scan(1, (2,))
    assert game.scan(2, (3,)).one(Finish).complete
    assert game.feed(Halt("late")) == []
    assert game.missing == set()


def test_enough_stops_everything_and_lacks_nothing(play: Plays) -> None:
    """The result has its rows, whoever found them: what has failed or was not joined is wanted no more."""
    game = play(FC)
    game.feed(Start())
    game.page(0, (1, 10), (2, 20))
    game.fail(0)
    told = game.feed(Enough())
    assert told.of(StopScan)
    assert told.one(Finish) == Finish(complete=True, reason="limit")
    assert not game.eddy.has_work
    assert game.missing == set()
    early = play(FC)
    assert early.feed(Enough()) == []
    assert early.start().one(Finish).complete, "nothing is asked for any more"


def test_halt_stops_fetching_as_well(play: Plays) -> None:
    game = play(FC)
    game.feed(Start())
    game.page(0, (1, 10))
    told = game.feed(Halt("late"))
    assert told.of(StopScan)
    assert game.finish == Finish(complete=False, reason="cancelled")
    assert game.missing == {("F", "true"), ("C", "zip = 1")}


def test_tuples_older_than_every_row_are_not_joined_with_them(
    play: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P26: all their pairs would be thrown away again, which is most of the work of a product."""
    made: list[tuple[str, int]] = []
    match = SteM.match

    def counted(
        stem: SteM, links: Sequence[tuple[int, Int64]], probes: int, within: Within | None = None
    ) -> tuple[Int64, Int64]:
        made.append((stem.plan.name, probes))
        return match(stem, links, probes, within)

    monkeypatch.setattr(SteM, "match", counted)
    game = play(block([F, table("a", scans=1, name="A")], [], output="0.1 1.0"))
    game.start()
    game.feed(ScanRows(0, 0, game.batch(0, [(x, x) for x in range(8)])))
    game.feed(ScanRows(1, 0, game.batch(1, [(x,) for x in range(8)])))
    game.settle()
    game.page(0, (8, 8))
    assert game.rows == Counter(itertools.product(range(9), range(8)))
    assert sorted(one for one in made if one[1]) == [("A", 1), ("F", 8)]
