"""Parked tuples: found by key, released by key, memory given back when none is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.lookups import parked as parked_module
from fff.dataflow.lookups.parked import ParkedGroup
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.state import TupleState
from tests.dataflow.blocks import quick

STATE = TupleState(0b101)


def batch(*rows: int) -> TupleBatch:
    numbers = np.array(rows, np.int64)
    return TupleBatch(STATE, {0: numbers, 2: numbers * 10}, numbers + 100)


def keys(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_matches_by_key() -> None:
    group = ParkedGroup(STATE)
    group.park(batch(1, 2), keys(7, 8))
    group.park(batch(3), keys(7))
    positions, tuples = group.match(keys(9, 7))
    assert positions.tolist() == [1, 1]
    assert sorted(tuples.rows[0].tolist()) == [1, 3]
    assert (tuples.rows[2] == tuples.rows[0] * 10).all()
    assert (tuples.stamps == tuples.rows[0] + 100).all()
    assert tuples.state == STATE
    assert group.live == 3


def test_who_is_alive() -> None:
    group = ParkedGroup(STATE)
    group.park(batch(1, 2, 3), keys(7, 8, 7))
    group.release(keys(7))
    group.park(batch(4), keys(9))
    places = group.alive()
    assert group.at(places).rows[0].tolist() == [2, 4]
    assert group.keys_at(places).tolist() == [8, 9]
    group.close()
    assert not len(group.alive())


def test_release_counts_and_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parked_module, "_COMPACT_PLACES", 2)
    group = ParkedGroup(STATE)
    group.park(batch(1, 2, 3), keys(7, 8, 7))
    assert group.waiting(keys(7)).rows[0].tolist() in ([1, 3], [3, 1])
    assert group.release(keys(7, 9)).sum() == 2
    assert group.live == 1
    assert group.release(keys(8)).tolist() == [1]
    assert group.live == 0
    assert group._stamps.length == 0
    group.park(batch(4), keys(7))
    assert group.waiting(keys(7, 8)).rows[0].tolist() == [4], "nothing of the past comes back"


@quick
@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 5), min_size=1, max_size=6)), max_size=20))
def test_giving_memory_back_loses_nobody(steps: list[tuple[bool, list[int]]]) -> None:
    """Keys are released once and then never come again, as keys of lookups do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parked_module, "_COMPACT_PLACES", 2)
        group, model, epoch, row = ParkedGroup(STATE), dict[int, int](), dict.fromkeys(range(6), 0), 0
        for parks, numbers in steps:
            current = [number + 6 * epoch[number] for number in numbers]
            if parks:
                rows = range(row, row + len(numbers))
                row += len(numbers)
                group.park(batch(*rows), keys(*current))
                model |= dict(zip(rows, current, strict=True))
            else:
                gone = sorted(set(current))
                leaving = [number for number in model if model[number] in gone]
                assert group.release(keys(*gone)).sum() == len(leaving)
                for number in leaving:
                    del model[number]
                for number in numbers:
                    epoch[number] += 1
                assert group._stamps.length <= max(2, 4 * len(model))
            assert group.live == len(model)
            every = keys(*sorted(set(model.values())))
            assert sorted(group.waiting(every).rows[0].tolist()) == sorted(model)
            positions, tuples = group.match(every)
            assert all(
                model[place] == every[at]
                for at, place in zip(positions.tolist(), tuples.rows[0].tolist(), strict=True)
            )
            assert (tuples.stamps == tuples.rows[0] + 100).all()


def test_nobody_waits() -> None:
    group = ParkedGroup(STATE)
    assert len(group.waiting(keys())) == 0
    assert len(group.match(keys(1))[1]) == 0
    assert group.release(keys(1)).tolist() == [0]
