"""NumberIndex against a dict, chained and settled."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow import index as index_module
from fff.dataflow.index import NumberIndex, spread
from tests.dataflow.blocks import quick


class Model:
    def __init__(self) -> None:
        self.rows: dict[int, list[int]] = defaultdict(list)

    def pairs(self, wanted: list[int]) -> list[tuple[int, int]]:
        return sorted((at, row) for at, number in enumerate(wanted) for row in self.rows.get(number, ()))


def check(index: NumberIndex, model: Model, wanted: list[int]) -> None:
    positions, rows = index.match(np.array(wanted, np.int64))
    assert sorted(zip(positions.tolist(), rows.tolist(), strict=True)) == model.pairs(wanted)
    counts = index.counts(np.array(wanted, np.int64))
    assert counts.tolist() == [len(model.rows.get(number, ())) for number in wanted]
    assert index.distinct == len(model.rows)
    assert len(index) == sum(map(len, model.rows.values()))


def play(batches: list[list[int]], wanted: list[int]) -> NumberIndex:
    index, model, row = NumberIndex(), Model(), 0
    for batch in batches:
        index.add(np.array(batch, np.int64), np.arange(row, row + len(batch)))
        for number in batch:
            model.rows[number].append(row)
            row += 1
        check(index, model, wanted)
    return index


numbers = st.lists(st.lists(st.integers(0, 12), max_size=30), max_size=10)
probes = st.lists(st.integers(-1, 15), max_size=10)


@quick
@given(numbers, probes)
def test_chains(batches: list[list[int]], wanted: list[int]) -> None:
    play(batches, wanted)


@pytest.mark.parametrize(("rows", "repeats"), [(1, 0), (4, 1), (8, 2)])
@quick
@given(batches=numbers, wanted=probes)
def test_runs(rows: int, repeats: int, batches: list[list[int]], wanted: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_SETTLE_ROWS", rows)
        patch.setattr(index_module, "_SETTLE_REPEATS", repeats)
        play(batches, wanted)


def test_it_settles_by_itself_and_stays_exact() -> None:
    rng = np.random.default_rng(3)
    batches = [rng.integers(0, 20, 200).tolist() for _ in range(6)]
    index = play(batches, [-1, 0, 5, 19, 20, 400])
    assert 0 < index._settled <= len(index)
    assert index.nbytes > 0


def test_few_new_numbers_far_up() -> None:
    """A short batch in a long index takes another way of counting."""
    index = play([list(range(1000)), [999, 5], [2000]], [5, 999, 2000, 2001])
    assert index.count.length == 2001


def test_rows_need_not_be_dense() -> None:
    index = NumberIndex()
    index.add(np.array([3, 3]), np.array([70, 10]))
    positions, rows = index.match(np.array([3]))
    assert positions.tolist() == [0, 0]
    assert sorted(rows.tolist()) == [10, 70]


def test_nothing() -> None:
    index = NumberIndex()
    index.add(np.array([], np.int64), np.array([], np.int64))
    assert [len(part) for part in index.match(np.array([1, 2]))] == [0, 0]
    assert index.counts(np.array([1, -1])).tolist() == [0, 0]
    index.add(np.array([1]), np.array([0]))
    assert [len(part) for part in index.match(np.array([], np.int64))] == [0, 0]


def test_spread() -> None:
    assert spread(np.array([5, 9, 0]), np.array([3, 0, 2])).tolist() == [5, 6, 7, 0, 1]
    assert spread(np.array([], np.int64), np.array([], np.int64)).tolist() == []
