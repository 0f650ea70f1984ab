"""Tuples that lack some tables' answers, as tables."""

from __future__ import annotations

from collections.abc import Callable

from fff.dataflow.plan.events import Cancel
from tests.dataflow.blocks import Play, block, table

Plays = Callable[..., Play]
ALL = 1000

#: F (zip, state) is scanned; D (zip, income) is looked up by F's zip; C (zip, rating) is looked up too, or scanned.
FEC = block(
    [table("zip state", scans=1), table("zip income", (0,)), table("zip rating", (0,), scans=1)],
    ["0.0 = 1.0 = 2.0"],
    output="0.1 1.1 2.1 1.0",
)


def told(game: Play, *required: int, limit: int = ALL) -> dict[int, list[tuple[object, ...]]]:
    """The rows by span, sorted."""
    return {
        part.span: sorted(zip(*(c.to_pylist() for c in part.table.columns), strict=True), key=repr)
        for part in game.eddy.partial_tuples(required, limit)
    }


def test_equal_columns_stand_for_each_other(play: Plays) -> None:
    game = play(FEC)
    game.start()
    game.page(0, (1, 10), (2, None))
    [part] = game.eddy.partial_tuples([0, 3], ALL)
    assert (part.span, set(part.missing), len(part)) == (1, {1, 2}, 2)
    assert told(game, 0, 3) == {1: [(10, None, None, 1), (None, None, None, 2)]}
    assert told(game, 1) == {}, "nobody knows an income"


def test_parked_tuples_are_joined_with_what_is_here(play: Plays) -> None:
    game = play(FEC)  # F goes to D first, and waits there
    game.start()
    game.page(2, (1, 5), (3, 7))
    game.page(0, (1, 10), (2, 20))
    game.page(2, (2, 6))
    assert told(game, 0, 2)[0b101] == [(10, None, 5, 1), (20, None, 6, 2)], "older and newer rows, each once"
    game.answer(1)
    assert told(game, 0, 2)[0b101] == [(10, None, 5, 1)], "what D has no row for comes no more"


def test_tables_that_are_only_scanned_park_nobody(play: Plays) -> None:
    plan = block(
        [table("k s", scans=1), table("k v", scans=1), table("k w", scans=1)],
        ["0.0 = 1.0 = 2.0"],
        output="0.1 1.1 2.1",
    )
    game = play(plan)
    game.start()
    game.page(0, (1, 10), (2, 20))
    game.page(1, (1, 100), (1, 101))
    assert not game.eddy.partial_rows(ALL)
    assert told(game, 0, 1) == {0b011: [(10, 100, None), (10, 101, None)]}
    assert told(game, 0) == {0b001: [(10, None, None), (20, None, None)]}
    assert [len(rows) for rows in told(game, 0, 1, limit=1).values()] == [1]


def test_nothing_is_under_way_before_the_start_and_once_the_end_is_near(play: Plays) -> None:
    game = play(FEC)
    assert told(game) == {}
    game.start()
    game.page(0, (1, 10))
    assert told(game, 0)
    game.feed(Cancel("interrupted"))
    assert told(game, 0) == {}
