"""Who has every match by a part of a scan that has ended."""

from __future__ import annotations

import numpy as np

from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.events import Lookup, ScanCovered, ScanStalled
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.extents import Extent, ValueSet
from fff.dataflow.plan.state import TupleState
from fff.structs import replace
from tests.dataflow.blocks import block, table


def sought_twice():
    """R anti join S on S.x = R.a and S.x = R.b."""
    plan = block(
        [table("k a b", scans=1, name="r"), table("x", (0,), scans=1, name="s")], output="0.0 0.1 0.2"
    )
    links = ((0, Column(0, 1)), (0, Column(0, 2)))
    return replace(plan, aliases=(plan.aliases[0], replace(plan.aliases[1], kind="anti", links=links)))


def below(value: int) -> Extent:
    values = ValueSet.compared("<", value)
    assert values is not None
    return Extent((("x", values),))


def test_one_of_two_values_that_are_sought_in_a_column_is_enough(play) -> None:
    game = play(sought_twice())
    game.start()
    game.feed(ScanCovered(1, 0, below(1)))
    game.page(0, (1, 0, 5), (2, 5, 0), (3, 5, 6), (4, 5, 5))
    rows = np.arange(4)
    batch = TupleBatch(TupleState(1, 0), {0: rows}, rows)
    assert game.eddy.router.held.matches(batch, 1).tolist() == [True, True, False, False]
    assert sorted(game.rows) == [(1, 0, 5), (2, 5, 0)]
    told = game.feed(ScanStalled(1, 0))
    assert sorted(told.keys) == [(5,)]
    game.eddy.validate()
    request = told.one(Lookup).request
    game.answer(request, (5,))
    assert sorted(game.rows) == [(1, 0, 5), (2, 5, 0), (3, 5, 6)]
