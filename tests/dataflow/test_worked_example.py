"""The worked example of docs/execution.md, event by event."""

from __future__ import annotations

from collections import Counter

from fff.dataflow.plan.events import FetchPages, Finish, Lookup, ScanFailed
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from tests.dataflow.blocks import block, table

FEC = table("zip:string State:string contribution", scans=1, name="demo.FEC")
DEMOGRAPHICS = table("zip:string householdIncome", (0,), name="demo.Demographics")
CRIME = table("zip:string crimeRating:string", (0,), scans=1, key=(0,), name="demo.Crime")
PLAN = block([FEC, DEMOGRAPHICS, CRIME], ["0.0 = 1.0 = 2.0"], output="0.2 1.1 0.1 2.1")
F, D, C = 0b001, 0b010, 0b100


def test_the_fec_demographics_crime_query(play) -> None:
    constraints = Constraints(PLAN)
    assert constraints.guarded == {2}
    assert set(constraints.legal(TupleState(F))) == {Move(1, 0), Move(2), Move(2, 0)}
    assert set(constraints.legal(TupleState(C))) == {Move(0), Move(1, 0)}
    game = play(PLAN, "fixed")
    router, stems = game.eddy.router, game.eddy.block.stems

    assert list(game.start()) == [FetchPages(0, 0, 2), FetchPages(2, 0, 2)]

    told = game.page(0, ("94704", "CA", 10), ("94705", "CA", 20), ("94704", "CA", 30))
    assert sorted(told.keys) == [("94704",), ("94705",)]
    assert router.parked_tuples() == 3
    first = next(item.request for item in told.of(Lookup) if item.keys == (("94704",),))
    second = 1 - first

    told = game.page(2, ("94704", "high"))
    assert told.keys == []
    assert router.parked_tuples() == 5
    assert game.rows == Counter()

    game.rows_for(first, ("94704", 55_000))
    assert game.rows == Counter([(10, 55_000, "CA", "high"), (30, 55_000, "CA", "high")])
    assert stems[1].sequence.view.tolist() == [5]
    game.eot(first, 1)
    assert router.parked_tuples() == 1

    told = game.page(2, ("94705", "low"))
    assert told.keys == []
    game.answer(second, ("94705", 72_000))
    assert game.rows[20, 72_000, "CA", "low"] == 1
    assert router.parked_tuples() == 0

    told = game.feed(ScanFailed(2, 0, "HTTP 500 after 5 attempts"))
    assert sorted(told.keys) == [("94704",), ("94705",)]
    for lookup in told.of(Lookup, table=2, index=0):
        rating = "high" if lookup.keys == (("94704",),) else "low"
        game.answer(lookup.request, (lookup.keys[0][0], rating))
    assert game.eddy.block.lookups[2][0].duplicates == 2
    assert game.missing == set()

    assert game.end(0).one(Finish) == Finish(complete=True, reason="done")
    assert sum(game.rows.values()) == 3
