"""What an eddy tells of itself: frozen, right, and no dearer the more rows there are."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from fff.dataflow.lookups.access import ScanState
from fff.dataflow.plan.events import ScanStalled
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from tests.dataflow.blocks import Play, block, table


def joined() -> BlockPlan:
    """R scanned, S read by R's second column, one key a request."""
    return block([table("a b", scans=1), table("k v", (0,))], ["0.1 = 1.0"])


def test_every_module_is_told_of(play: type[Play]) -> None:
    game = play(joined())
    before = game.eddy.statistics()
    assert [len(one.scans) for one in before.tables] == [1, 0]
    assert before.tables[0].scans[0].state is ScanState.UNUSED
    game.start()
    game.page(0, (1, 7), (2, 8), (3, 7), (4, 9))
    request = {lookup.keys[0][0]: number for number, lookup in game.asked.items()}
    told = game.eddy.statistics()
    [lookup] = told.tables[1].lookups
    assert (lookup.asked + lookup.pending, lookup.failed, lookup.columns) == (3, 0, (0,))
    assert (lookup.idle, lookup.under_way) == (False, lookup.issued)
    assert [one.stem.parked for one in told.tables] == [0, 4]
    game.answer(request[7], (7, 70), (1, 1))
    game.fail(request[8])
    game.feed(ScanStalled(0, 0))
    told = game.eddy.statistics()
    [lookup] = told.tables[1].lookups
    assert (lookup.rows, lookup.strays, lookup.failed) == (2, 1, 1)
    assert (told.results, told.tables[1].stem.rows, told.tables[1].stem.covered) == (2, 1, 1)
    assert told.tables[0].scans[0].stalled
    assert (told.finished, told.cancelled, told.tables[0].complete) == (False, False, False)
    assert [(share.tuples, share.produced, share.requests) for share in told.routing] == [(4, 2, 3)]
    assert game.eddy.hops == 4
    game.end(0)
    told = game.eddy.statistics()
    assert (told.tables[0].complete, told.tables[0].scans[0].stalled) == (True, False)
    assert before.tables[0].scans[0].state is ScanState.UNUSED, "what was told stays as it was"
    game.answer(request[9])
    assert game.eddy.statistics().finished
    assert game.eddy.stored(1).column(1).to_pylist() == [70]
    assert (game.eddy.size(0), game.eddy.size(1)) == (4, 1)


def test_the_flow_that_was_told_does_not_change(play: type[Play]) -> None:
    game = play(joined())
    game.start()
    game.page(0, (1, 7))
    game.answer(0)
    flow = game.eddy.flow()
    assert flow.passages[TupleState(1), Move(1, 0)].taken == flow.tuples == 1
    game.page(0, (2, 7), (3, 7))
    assert flow.tuples == sum(sum(interval.values()) for interval in flow.history) == 1
    assert game.eddy.flow().tuples == 3
    game.end(0)


def test_nothing_told_can_be_written_to(play: type[Play]) -> None:
    told = play(joined()).eddy.statistics()
    for part in (
        told,
        told.tables[0],
        told.tables[0].stem,
        told.tables[0].scans[0],
        told.tables[1].lookups[0],
    ):
        with pytest.raises(AttributeError):
            setattr(part, part.__struct_fields__[0], None)


@pytest.mark.parametrize("rows", [10, 2000])
def test_the_price_does_not_grow_with_rows(play: type[Play], rows: int) -> None:
    game = play(joined())
    game.start()
    game.page(0, *((number, number) for number in range(rows)))
    assert game.eddy.statistics().tables[1].stem.parked == rows
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        game.eddy.statistics()
    finally:
        sys.setprofile(None)
    assert calls < 250
