"""What an eddy says of its inside: rows that lack columns, and the values that may still come."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pyarrow as pa
import pytest

from fff.dataflow.plan.events import Cancel, Prioritize, Route, ScanEnd, ScanFailed, ScanRows
from fff.dataflow.plan.expressions import Compare, Literal
from fff.dataflow.plan.plan import Seed
from fff.stats import MISSING, Missing
from tests.dataflow.blocks import Play, block, place, table

Plays = Callable[..., Play]
ALL = 1000

#: F (zip, state) is scanned; D (zip, income) and C (zip, rating) are looked up by F's zip.
FEC = block(
    [table("zip state", scans=1), table("zip income", (0,)), table("zip rating", (0,))],
    ["0.0 = 1.0 = 2.0"],
    output="0.1 1.1 2.1",
)


def opened(game: Play, *columns: str) -> list[tuple[object, ...]] | None:
    """The open values, sorted; None where anything may come."""
    table_ = game.eddy.open_values([place(column) for column in columns])
    if table_ is None:
        return None
    return sorted(zip(*(column.to_pylist() for column in table_.columns), strict=True), key=repr)


class TestMissing:
    def test_there_is_one_and_it_is_not_null(self) -> None:
        assert MISSING is not None
        assert repr(MISSING) == "MISSING"
        assert copy.copy(MISSING) is MISSING
        assert copy.deepcopy({"row": (1, MISSING)})["row"][1] is MISSING
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps((MISSING, None), protocol)) == (MISSING, None)
            assert pickle.loads(pickle.dumps(MISSING, protocol)) is MISSING

    def test_it_is_no_missing_part(self) -> None:
        assert not isinstance(MISSING, Missing)


class TestPartialRows:
    def test_tuples_show_what_they_span(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.page(0, (1, 10), (2, None))
        assert set(game.eddy.partial_rows(ALL)) == {(10, MISSING, MISSING), (None, MISSING, MISSING)}
        game.answer(0, (1, 100))
        assert game.eddy.partial_rows(ALL) == ((10, 100, MISSING), (None, MISSING, MISSING)), "fullest first"
        assert game.eddy.partial_rows(1) == ((10, 100, MISSING),)
        assert game.eddy.partial_rows(0) == ()

    def test_queued_tuples_show_too(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.feed(ScanRows(0, 0, game.batch(0, [(1, 10)])))
        assert game.eddy.has_work
        assert game.eddy.partial_rows(ALL) == ((10, MISSING, MISSING),)

    def test_each_tuple_shows_once_and_no_longer_than_it_waits(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.scan(0, (1, 10), (1, 10), (2, 20))
        assert sorted(row[0] for row in game.eddy.partial_rows(ALL) if isinstance(row[0], int)) == [
            10,
            10,
            20,
        ]
        game.answer(1)  # no row for zip 2: no result, so nothing to show
        assert [row[0] for row in game.eddy.partial_rows(ALL)] == [10, 10]
        game.answer(0, (1, 100))
        assert game.eddy.partial_rows(ALL) == ((10, 100, MISSING), (10, 100, MISSING))
        game.answer(2, (1, 5))
        assert game.eddy.partial_rows(ALL) == ()
        assert game.finish is not None
        assert sum(game.rows.values()) == 2

    def test_wished_tuples_come_before_fuller_ones(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.page(0, (1, 10), (2, 20), (3, 20), (4, 40))
        game.answer(0, (1, 100))
        game.feed(Prioritize((Compare("=", place("0.1"), Literal(20, pa.int32())),)))
        shown = game.eddy.partial_rows(ALL)
        assert shown[:2] == ((20, MISSING, MISSING), (20, MISSING, MISSING))
        assert shown[2:] == ((10, 100, MISSING), (40, MISSING, MISSING))
        assert game.eddy.partial_rows(3) == shown[:3]

    def test_beyond_the_bound_nothing_is_wished(self, play: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
        game = play(FEC)
        game.start()
        game.page(0, (1, 10), (2, 20), (3, 20))
        game.feed(Prioritize((Compare("=", place("0.1"), Literal(20, pa.int32())),)))
        monkeypatch.setattr("fff.dataflow.in_flight.PRIORITIES_LOOKED_UP", 2)
        assert [row[0] for row in game.eddy.partial_rows(ALL)] == [20, 10, 20]

    def test_tuples_with_nothing_to_show_are_left_out(self, play: Plays) -> None:
        plan = block(
            [table("k", scans=1), table("k v", scans=1), table("k w", (0,))],
            ["0.0 = 1.0 = 2.0"],
            output="1.1 2.1",
        )
        game = play(plan)
        game.start()
        game.feed(ScanRows(0, 0, game.batch(0, [(1,)])))
        assert game.eddy.has_work
        assert game.eddy.partial_rows(ALL) == ()
        game.settle()
        game.page(1, (1, 10))
        assert (10, MISSING) in game.eddy.partial_rows(ALL)

    def test_rows_without_columns_are_not_shown(self, play: Plays) -> None:
        game = play(block([table("k", scans=1), table("k", (0,))], ["0.0 = 1.0"], output=""))
        game.start()
        game.page(0, (1,))
        assert game.eddy.partial_rows(ALL) == ()

    def test_parked_tuples_of_a_waiting_scan_show(self, play: Plays) -> None:
        """R - S - T, R and T scanned, S by key: T's rows wait for nobody, {R, S} waits for T's scan."""
        plan = block(
            [table("a", scans=1), table("a b", (0,)), table("b c", scans=1)],
            ["0.0 = 1.0", "1.1 = 2.0"],
            output="0.0 2.1",
        )
        game = play(plan)
        assert game.eddy.block.constraints.waiting == {2}
        game.start()
        game.scan(0, (1,))
        game.answer(0, (1, 7))
        assert game.eddy.partial_rows(ALL) == ((1, MISSING),)
        assert opened(game, "0.0") == [(1,)]
        assert opened(game, "2.0") == [(7,)]
        assert opened(game, "2.1") is None
        game.page(2, (7, 70))
        assert game.rows == {(1, 70): 1}
        game.end(2)
        assert opened(game, "0.0") == []


class TestOpenValues:
    def test_anything_may_come_while_a_scan_goes_on(self, play: Plays) -> None:
        game = play(FEC)
        assert opened(game, "0.1") is None
        game.start()
        game.page(0, (1, 10))
        assert opened(game, "0.1") is None

    def test_then_only_what_waits(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.scan(0, (1, 10), (2, 20), (3, 20), (4, None))
        assert opened(game, "0.1") == [(10,), (20,), (None,)]
        assert opened(game, "0.1", "2.0") == [(10, 1), (20, 2), (20, 3), (None, 4)]
        assert opened(game, "0.1", "1.1") is None, "incomes are not known yet"
        game.answer(1, (2, 200))
        game.answer(2)
        assert opened(game, "0.1", "0.0") == [(10, 1), (20, 2), (None, 4)]
        game.answer(0)
        game.answer(3)
        assert opened(game, "0.1", "1.1") == [(20, 200)]
        game.answer(4, (2, 1))
        assert opened(game, "0.1", "1.1") == []
        assert game.finish is not None

    def test_queued_tuples_are_open(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.feed(ScanRows(0, 0, game.batch(0, [(1, 10)])))
        told = game.feed(ScanEnd(0, 0, 1))
        assert not told
        assert opened(game, "0.1") == [(10,)]
        game.feed(Route())
        assert opened(game, "0.1") == [(10,)]
        game.settle()

    def test_names_and_types_are_the_columns_own(self, play: Plays) -> None:
        plan = block([table("k:bigint s:string", scans=1), table("k:int v:string", (0,))], ["0.0 = 1.0"])
        game = play(plan)
        game.start()
        game.scan(0, (1, "a"), (2**40, "b"))
        told = game.eddy.open_values([place("1.0"), place("0.1"), place("0.0")])
        assert told is not None
        assert told.schema.names == ["k", "s", "k"]
        assert told.schema.types == [pa.int32(), pa.string(), pa.int64()]
        assert list(zip(*(column.to_pylist() for column in told.columns), strict=True)) == [(1, "a", 1)]

    def test_zeros_have_no_sign(self, play: Plays) -> None:
        game = play(block([table("k:double", scans=1), table("k:double", (0,))], ["0.0 = 1.0"]))
        game.start()
        game.scan(0, (0.0,), (-0.0,))
        told = game.eddy.open_values([place("0.0")])
        assert told is not None
        assert [str(value) for value in told.column(0).to_pylist()] == ["0.0"]

    def test_without_columns_it_says_whether_anything_comes(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.scan(0, (1, 10))
        assert game.eddy.open_values([]) is None
        game.answer(0)
        told = game.eddy.open_values([])
        assert told is not None
        assert told.num_rows == 0

    def test_rows_that_lookups_bring_may_start_chains(self, play: Plays) -> None:
        """P47: alias a is seeded and starts chains; whatever else is asked of its table may bring rows of a."""
        plan = block([table("k v", (0,))], seeds={0: Seed(0, ((1,), (2,)))})
        game = play(plan)
        game.start()
        assert opened(game, "0.1") is None
        game.answer(0, (1, 10))
        assert opened(game, "0.1") is None
        game.answer(1, (2, 20))
        assert opened(game, "0.1") == []

    def test_a_failed_scan_that_keys_make_up_for_leaves_it_open(self, play: Plays) -> None:
        plan = block(
            [table("k s", scans=1), table("k v", (0,), scans=1), table("k w", (0,))], ["0.0 = 1.0 = 2.0"]
        )
        game = play(plan)  # fixed: a, b, c
        game.start()
        game.scan(0, (1, 10))
        game.feed(ScanFailed(1, 0, "HTTP 503"))
        game.settle()
        assert opened(game, "0.1") is None

    def test_after_a_cancellation_what_waits_is_all(self, play: Plays) -> None:
        game = play(FEC)
        game.start()
        game.page(0, (1, 10))
        game.feed(ScanRows(0, 0, game.batch(0, [(1, 20)])))
        game.feed(Cancel("interrupted"))
        assert opened(game, "0.1") == [(20,)]
        game.settle()
        assert opened(game, "0.1") == []

    def test_nested_columns_are_never_said_to_be_closed(self, play: Plays) -> None:
        plan = block([table("k s:array<int>", scans=1), table("k", (0,))], ["0.0 = 1.0"])
        game = play(plan)
        game.start()
        game.scan(0, (1, [1, 2]))
        assert opened(game, "0.1") is None
        assert opened(game, "0.0") == [(1,)]

    def test_paper_semantics_say_nothing_while_lookups_may_start_chains(self, play: Plays) -> None:
        game = play(FEC, semantics="paper")
        game.start()
        game.scan(0, (1, 10))
        assert opened(game, "0.1") is None
        game.answer(0, (1, 100))
        game.answer(1, (1, 5))
        assert game.finish is not None
        assert opened(game, "0.1") == []
