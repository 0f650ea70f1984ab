"""Which of several scans of a table read on, by the default policy: what is free, what is fair, and what it costs to know."""

from __future__ import annotations

import pytest

from fff.dataflow.plan.moves import ScanPace, ScanRace
from fff.dataflow.plan.plan import BlockPlan, ScanPlan
from fff.options import Preference
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.rival_scans import FORGOTTEN, SURE, TRIALS
from fff.structs import replace
from tests.dataflow.blocks import block, table

MOST = 8
NEW = ScanPace(0, False, False, False, 0, 0, 0, 0.0, 0.0, 0.0, 0)


def mirrors(*limiters: int | None, price: float = 0.0) -> BlockPlan:
    """One table and a scan for each limiter; the others than the first have a price."""
    one = table("k v", scans=len(limiters), key=(0,))
    scans = tuple(
        ScanPlan(f"scan{place}", limiter, price if place else 0.0) for place, limiter in enumerate(limiters)
    )
    return block([replace(one, scans=scans)])


def read(
    pages: int, seconds: float, *, index: int = 0, since: int = 0, late: float | None = None
) -> ScanPace:
    """A scan that has brought so many pages of ten rows."""
    usual = seconds if late is None else late
    return ScanPace(
        index, True, False, False, pages, 10 * pages, since, seconds, seconds, usual, min(pages, 8)
    )


def race(*paces: ScanPace, total: int | None = 1000, elapsed: float | None = None) -> ScanRace:
    numbered = tuple(replace(pace, index=index) for index, pace in enumerate(paces))
    passed = sum(pace.pages * pace.mean_s for pace in paces) if elapsed is None else elapsed
    return ScanRace(0, numbered, total, passed, MOST)


BEGUN = replace(NEW, running=True, asked=True)


@pytest.mark.parametrize(("prefer", "both"), [("fast", True), ("balanced", False), ("cheap", False)])
def test_before_anything_is_known(prefer: Preference, both: bool) -> None:
    said = Adaptive(mirrors(0, 1), prefer).race(race(BEGUN, NEW))
    assert said == ({0: MOST, 1: MOST} if both else {0: MOST})


def test_fast_asks_whatever_takes_nothing_from_anybody() -> None:
    assert Adaptive(mirrors(0, 0), "fast").race(race(BEGUN, NEW)) == {0: MOST}
    assert Adaptive(mirrors(0, 1, 1), "fast").race(race(BEGUN, NEW, NEW)) == {0: MOST, 1: MOST}
    other = table("k", (0,), name="u")
    for limiter, free in ((1, False), (2, True)):
        needed = replace(other, lookups=(replace(other.lookups[0], limiter=limiter),))
        plan = block([*mirrors(0, 1).tables, needed], ["0.0 = 1.0"])
        assert (1 in Adaptive(plan, "fast").race(race(BEGUN, NEW))) == free, "what tuples need goes first"
        scanned = replace(table("k", scans=1, name="u"), scans=(ScanPlan("u", limiter),))
        plan = block([*mirrors(0, 1).tables, scanned], ["0.0 = 1.0"])
        assert (1 in Adaptive(plan, "fast").race(race(BEGUN, NEW))) == free, "and so do other tables' scans"


def test_money_is_given_for_time_under_fast_alone() -> None:
    plan = mirrors(0, 1, price=0.01)
    assert 1 in Adaptive(plan, "fast").race(race(BEGUN, NEW))
    slow = race(read(2, 1.0), NEW)
    assert 1 in Adaptive(mirrors(0, 1)).race(slow)
    assert 1 not in Adaptive(plan).race(slow)


def test_cheap_leaves_all_as_it_is() -> None:
    stalled = replace(read(5, 1.0), stalled=True)
    assert Adaptive(mirrors(0, 1, 2), "cheap").race(race(stalled, read(3, 0.1), NEW)) == {0: MOST, 1: MOST}


def test_balanced_tries_another_with_one_page_where_that_may_be_worth_it() -> None:
    """A page is a small share of a long scan, and a large one of a short one; past the middle a new beginning costs more than it
    saves. Where nobody says how long the scan is, as much again is expected: then it is worth it once the reader slows down."""
    slowed = replace(read(20, 1.0, late=10.0), mean_s=2.0)
    for reader, total, tried in (
        (read(1, 1.0), 1000, True),
        (read(1, 1.0), 30, False),
        (read(50, 1.0), 1000, False),
        (read(20, 1.0), None, False),
        (slowed, None, True),
    ):
        said = Adaptive(mirrors(0, 1)).race(race(reader, NEW, total=total))
        assert said == ({0: MOST, 1: 1} if tried else {0: MOST}), (reader, total)
    assert Adaptive(mirrors(0, 0)).race(race(read(1, 1.0), NEW)) == {0: MOST}
    assert Adaptive(mirrors(0, 1)).race(race(read(1, 0.0), NEW)) == {0: MOST}, "nobody measures"


def test_while_an_answer_is_due_nobody_else_is_tried() -> None:
    policy = Adaptive(mirrors(0, 1, 2))
    assert policy.race(race(read(1, 1.0), NEW, NEW)) == {0: MOST, 1: 1}
    assert policy.race(race(read(2, 1.0), BEGUN, NEW)) == {0: MOST}


@pytest.mark.parametrize(
    ("there", "fair"),
    [
        (read(2, 0.3, since=1), True),
        (read(1, 1.0, since=1), False),
        (read(1, 0.95, since=1), False),
        (read(1, 3.0, since=1), False),
        (replace(read(2, 0.3, since=1), stalled=True), False),
        (replace(read(2, 0.3), running=False), True),
    ],
)
def test_balanced_changes_readers_where_the_trade_is_fair(there: ScanPace, fair: bool) -> None:
    said = Adaptive(mirrors(0, 1)).race(race(read(10, 1.0), there))
    assert [index for index, pages in said.items() if pages == MOST] == [1 if fair else 0]


def test_what_has_been_read_already_is_a_price() -> None:
    """Twice as fast is worth a new beginning early and not late; ten times as fast is, and so where the reader has slowed."""
    twice, tenfold = read(4, 0.5, since=5), read(2, 0.1, since=5)
    for pages, there, fair in ((10, twice, True), (60, twice, False), (40, tenfold, True)):
        assert (Adaptive(mirrors(0, 1)).race(race(read(pages, 1.0), there)) == {1: MOST}) == fair
    slowed = race(read(50, 1.0, late=10.0), read(2, 1.0, since=5), elapsed=60.0)
    assert Adaptive(mirrors(0, 1)).race(slowed) == {1: MOST}


def test_the_new_reader_stays_until_another_is_worth_it() -> None:
    policy = Adaptive(mirrors(0, 1))
    assert policy.race(race(read(10, 1.0), read(2, 0.3, since=1))) == {1: MOST}
    assert policy.race(race(read(10, 1.0, since=5), read(6, 0.3))) == {1: MOST}
    assert policy.race(race(read(10, 1.0, since=30), read(30, 0.3, late=5.0))) == {0: MOST}, (
        "it has slowed down"
    )


def test_what_is_long_past_is_not_believed_but_tried_again() -> None:
    policy = Adaptive(mirrors(0, 1))
    assert policy.race(race(read(10, 1.0), read(2, 0.3, since=1))) == {1: MOST}
    late = race(read(10, 1.0, since=FORGOTTEN), read(FORGOTTEN, 0.3, late=5.0), total=10_000)
    assert policy.race(late) == {0: 1, 1: MOST}


def test_pages_that_come_side_by_side_are_not_held_against_a_first_one() -> None:
    """The first page of either took as long; that the others come eight at a time shows from the second on."""
    reader = replace(read(10, 1.0), mean_s=0.2, usual_s=0.125)
    there = replace(read(2, 0.3, since=1), usual_s=0.04)
    assert Adaptive(mirrors(0, 1)).race(race(reader, there, elapsed=2.0)) == {1: MOST}


def test_a_lucky_page_is_not_a_faster_mirror() -> None:
    """What one page promises a second one has to confirm, before the reader changes."""
    policy = Adaptive(mirrors(0, 1))
    assert policy.race(race(read(10, 1.0), read(1, 0.3, since=1))) == {0: MOST, 1: 1}
    assert policy.race(race(read(11, 1.0), read(2, 1.0, since=1)))[0] == MOST
    assert policy.race(race(read(11, 1.0), read(2, 0.3, since=1))) == {1: MOST}


def test_a_mirror_that_looks_much_faster_is_asked_until_that_is_sure() -> None:
    """Not a twentieth of the pages later: meanwhile the slow one reads on, and a change costs more. A change takes more than it
    costs even if what is not known is against it, so the fourth page decides here."""
    policy = Adaptive(mirrors(0, 1))
    slowed = replace(read(47, 0.86), mean_s=0.23)
    for pages in (2, 3):
        there = replace(read(pages, 0.37, since=1), late=pages)
        assert policy.race(race(slowed, there, total=2000, elapsed=10.9)) == {0: MOST, 1: 1}, pages
    sure = replace(read(SURE, 0.37, since=1), late=SURE)
    assert policy.race(race(slowed, sure, total=2000, elapsed=10.9)) == {1: MOST}


def test_however_well_it_looks_few_pages_are_asked_for_to_be_sure() -> None:
    policy, asked = Adaptive(mirrors(0, 1)), 0
    for pages in range(10, 100):
        there = read(2, 0.55, since=1)
        said = policy.race(race(read(pages, 1.0), there, total=100_000, elapsed=1e6))
        asked += said.get(1, 0)
        assert said[0] == MOST
    assert 0 < asked <= 3 + 2 * TRIALS * 102


def test_trials_are_a_share_of_the_pages() -> None:
    """However much there were to gain: one, and a twentieth of what the table takes."""
    policy, tried = Adaptive(mirrors(0, 1)), 0
    for pages in range(1, 400):
        said = policy.race(race(read(pages, 1.0), replace(NEW, running=tried > 0), total=100_000))
        tried += said.get(1, 0)
        assert said[0] == MOST
        assert tried <= 1 + TRIALS * pages
    assert tried > 10


def test_when_all_have_stalled_it_says_nothing() -> None:
    stalled = replace(read(5, 1.0), stalled=True)
    assert Adaptive(mirrors(0, 1)).race(race(stalled, stalled)) == {}
