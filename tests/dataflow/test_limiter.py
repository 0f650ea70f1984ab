"""What lookups of one host share: room for requests to decide on, and what an answer is said to have taken."""

from __future__ import annotations

import pytest

from fff.dataflow.plan.events import Lookup
from fff.dataflow.plan.moves import Move
from fff.structs import replace
from tests.dataflow.blocks import InTurn, block, table

TO_A, TO_B = Move(1, 0), Move(2, 0)


def plan(*ceilings: int, shared: bool = True):
    tables = [table("key a b", scans=1)]
    for number, ceiling in enumerate(ceilings):
        one = table("x v", (0,), window=2 * ceiling)
        lookup = replace(one.lookups[0], limiter=0 if shared else number, ceiling=ceiling)
        tables.append(replace(one, lookups=(lookup,)))
    return block(tables, ["0.1 = 1.0", "0.2 = 2.0"], output="0.0")


@pytest.mark.parametrize(("shared", "other"), [(True, 2), (False, 5)])
def test_what_is_asked_of_one_takes_the_others_room(play, *, shared: bool, other: int) -> None:
    game = play(plan(4, 4, shared=shared), InTurn(TO_A, TO_A, TO_A), route_size=1)
    game.start()
    game.page(0, (1, 1, 1), (2, 2, 2), (3, 3, 3))
    load = game.eddy.router.load
    assert (load(TO_A).room, load(TO_B).room) == (2, other)


def test_the_lower_ceiling_holds_for_all(play) -> None:
    game = play(plan(8, 4), InTurn())
    assert {one.ceiling for limiters in game.eddy.block.limiters for one in limiters} == {4}


def test_more_is_decided_on_ahead_where_answers_are_quick(play) -> None:
    for seconds, ahead in ((0.001, 8), (0.02, 4), (1.0, 2)):
        game = play(plan(8, 8), InTurn(TO_A), route_size=1)
        game.start()
        game.scan(0, (1, 1, 1))
        [limiter] = {id(one): one for limiters in game.eddy.block.limiters for one in limiters}.values()
        limiter.served(game.eddy.block.lookups[1][0].requests[0], seconds)
        assert limiter.allowance == 8 + ahead


def test_standing_in_line_is_no_service(play) -> None:
    """Eight under way where four are served at once: each has a place for half of the time."""
    game = play(plan(4, 4), InTurn(*[TO_A] * 8), route_size=1)
    game.start()
    game.scan(0, *((n, n, n) for n in range(8)))
    assert len(game.told.of(Lookup)) == 8
    limiter, requests = game.eddy.block.limiters[1][0], game.eddy.block.lookups[1][0].requests
    assert [limiter.served(request, 1.0) for request in requests.values()] == [
        1,
        1,
        1,
        1,
        4 / 5,
        4 / 6,
        4 / 7,
        4 / 8,
    ]
