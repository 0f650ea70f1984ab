"""Keys that tuples wait for and that another lookup of the table answers before their turn: they are not asked for."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fff.dataflow.plan.events import Finish, Lookup
from fff.dataflow.plan.moves import Move
from tests.dataflow.blocks import InTurn, block, table

BY_X, BY_Y = Move(1, 0), Move(1, 1)


R = table("key a b", scans=1, name="r")
S = table("x y v:string", (0,), (1,), window=1, name="s")


def asked(game) -> list[tuple[int, tuple[object, ...]]]:
    """Every key asked for, with its lookup, in order."""
    return [(told.index, *key) for told in game.told.of(Lookup) for key in told.keys]


def plan(*equalities: str):
    return block([R, S], equalities, output="0.0 1.2")


def test_what_another_lookup_has_answered_is_not_asked_for(play) -> None:
    # 1 waits for x = 5; 2 for y = 6, which is under way; 3 for y = 5, which is not.
    game = play(plan("0.1 = 1.0 = 1.1"), InTurn(BY_X, BY_Y, BY_Y), route_size=1)
    game.start()
    game.scan(0, (1, 5, 0), (2, 6, 0), (3, 5, 0))
    assert asked(game)[:2] == [(0, 5), (1, 6)]
    game.answer(0, (5, 5, "v"))
    assert game.rows == Counter([(1, "v"), (3, "v")])
    told = game.answer(1, (6, 6, "w"))
    assert told.one(Finish).complete
    assert asked(game) == [(0, 5), (1, 6)]
    assert game.rows == Counter([(1, "v"), (3, "v"), (2, "w")])
    outcomes = game.eddy.router.policy.outcomes
    assert sum(o.taken for o in outcomes if o.move == BY_Y) == 2
    assert sum(o.produced for o in outcomes if o.move == BY_Y) == 2


def test_who_is_not_served_still_asks(play) -> None:
    # R.a = S.x and R.b = S.y: 2 and 3 both wait for y = 7, and only 3 has its x answered.
    game = play(plan("0.1 = 1.0", "0.2 = 1.1"), InTurn(BY_X, BY_Y, BY_Y, BY_Y), route_size=1)
    game.start()
    game.scan(0, (1, 5, 0), (4, 1, 1), (2, 6, 7), (3, 5, 7))
    assert asked(game) == [(0, 5), (1, 1)]
    game.answer(0, (5, 7, "v"))
    assert game.rows == Counter([(3, "v")])
    game.answer(1)
    assert asked(game) == [(0, 5), (1, 1), (1, 7)]
    game.answer(2, (5, 7, "v"), (6, 7, "w"))
    assert game.finish is not None
    assert game.rows == Counter([(3, "v"), (2, "w")])


def test_a_spared_key_can_be_wanted_again_and_nobody_is_served_twice(play) -> None:
    game = play(plan("0.1 = 1.0", "0.2 = 1.1"), InTurn(BY_X, BY_Y, BY_Y, BY_Y, BY_Y), route_size=1)
    game.start()
    game.page(0, (1, 5, 0), (4, 1, 1), (3, 5, 7))
    game.answer(0, (5, 7, "v"))
    game.answer(1)  # y = 7 has its turn and is spared
    assert asked(game) == [(0, 5), (1, 1)]
    assert game.eddy.router.parked_tuples() == 0
    game.page(0, (2, 6, 7))  # now somebody needs it
    assert asked(game) == [(0, 5), (1, 1), (1, 7)]
    assert game.eddy.router.parked_tuples() == 1
    game.answer(2, (5, 7, "v"), (6, 7, "w"))
    assert game.rows == Counter([(3, "v"), (2, "w")])
    assert game.end(0).one(Finish).complete


def test_the_eddy_is_done_when_its_last_keys_are_spared(play) -> None:
    game = play(plan("0.1 = 1.0 = 1.1"), InTurn(BY_Y, BY_X, BY_Y), route_size=1)
    game.start()
    game.scan(0, (1, 6, 0), (2, 5, 0), (3, 5, 0))
    game.answer(1, (5, 5, "v"))
    told = game.fail(0)  # y = 6 fails, which frees the lookup; x = 6 is asked in its stead
    assert asked(game) == [(1, 6), (0, 5), (0, 6)]
    assert not told.of(Finish)
    assert game.answer(2, (6, 6, "w")).one(Finish).complete
    assert game.rows == Counter([(1, "w"), (2, "v"), (3, "v")])


STAR = [
    table("key a b", scans=1, name="r"),
    table("x v", (0,), window=1, name="a"),
    table("y w", (0,), window=1, name="b"),
]
TO_A, TO_B = Move(1, 0), Move(2, 0)


def star(*, scanned: bool = False):
    tables = [*STAR[:2], table("y w", scans=1, name="b")] if scanned else STAR
    return block(tables, ["0.1 = 1.0", "0.2 = 2.0"], output="0.0 1.1 2.1")


def by_table(game) -> list[tuple[int, object]]:
    return [(told.table, key[0]) for told in game.told.of(Lookup) for key in told.keys]


def test_a_key_for_which_only_the_dead_wait_is_not_asked_for(play) -> None:
    # 2 learns that b = 7 has no match, while 1 waits for a = 5, 3 and 4 for their turn; 3 has b = 7 too.
    game = play(star(), InTurn(TO_A, TO_B, TO_A, TO_A), route_size=1)
    game.start()
    game.scan(0, (1, 5, 8), (2, 9, 7), (3, 6, 7), (4, 4, 8))
    assert by_table(game) == [(1, 5), (2, 7)]
    game.answer(1)  # of b = 7: nothing
    game.answer(0, (5, 50))
    assert (1, 6) not in by_table(game)
    assert by_table(game)[2:] == [(2, 8), (1, 4)]
    game.answer(2, (8, 80))
    assert game.answer(3, (4, 40)).one(Finish).complete
    assert game.rows == Counter([(1, 50, 80), (4, 40, 80)])
    outcomes = [one for one in game.eddy.router.policy.outcomes if one.move == TO_A and not one.informed]
    assert sum(one.taken for one in outcomes) == 1, "what a lookup was not asked says nothing of it"


def test_a_scans_eot_says_who_is_dead(play) -> None:
    game = play(star(scanned=True), InTurn(TO_A, TO_A, TO_A), route_size=1)
    game.start()
    game.scan(0, (1, 5, 7), (2, 6, 7), (3, 4, 8))
    assert by_table(game) == [(1, 5)]
    game.scan(2, (8, 80))
    game.answer(0, (5, 50))
    assert by_table(game) == [(1, 5), (1, 4)], "nobody has 6 whose b has a match"
    assert game.answer(1, (4, 40)).one(Finish).complete
    assert game.rows == Counter([(3, 40, 80)])


def test_one_who_lives_is_enough_and_a_pruned_key_can_be_wanted_again(play) -> None:
    game = play(star(), InTurn(TO_A, TO_B, TO_A, TO_A, TO_A), route_size=1)
    game.start()
    game.page(0, (1, 5, 8), (2, 9, 7), (3, 6, 7))
    game.answer(1)
    game.answer(0)  # nobody lives who waits for 6
    assert by_table(game) == [(1, 5), (2, 7)]
    game.page(0, (4, 6, 8), (5, 6, 7))
    assert by_table(game) == [(1, 5), (2, 7), (1, 6)]
    game.answer(2, (6, 60))
    assert by_table(game)[3:] == [(2, 8)], "of 5 it is known that it is dead when it would ask"
    game.answer(3, (8, 80))
    assert game.end(0).one(Finish).complete
    assert game.rows == Counter([(4, 60, 80)])


def test_a_failure_says_nothing(play) -> None:
    game = play(star(), InTurn(TO_A, TO_B, TO_A), route_size=1)
    game.start()
    game.scan(0, (1, 5, 8), (2, 9, 7), (3, 6, 7))
    game.fail(1)
    game.answer(0)
    assert by_table(game) == [(1, 5), (2, 7), (1, 6)]


def test_what_a_seed_wants_is_asked_for(play) -> None:
    """A table that is scanned or seeded for some alias: its keys are wanted by more than the tuples that park."""
    game = play(plan("0.1 = 1.0 = 1.1"), InTurn(BY_X, BY_Y), route_size=1, semantics="paper")
    game.start()
    game.scan(0, (1, 5, 0), (2, 5, 0))
    assert not game.eddy.router.spare(1, 1, np.array([0])).any()
