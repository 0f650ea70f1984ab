"""NumberIndex against a dict, chained and settled."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.arrays import Growable
from fff.dataflow.store import index as index_module
from fff.dataflow.store.index import NumberIndex, spread
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
    assert len(index) >= sum(map(len, model.rows.values()))


def play(batches: list[list[int]], wanted: list[int]) -> NumberIndex:
    column = Growable(np.int64)
    index, model, row = NumberIndex(column), Model(), 0
    for batch in batches:
        column.append(np.array(batch, np.int64))
        for number in batch:
            if number >= 0:
                model.rows[number].append(row)
            row += 1
        check(index, model, wanted)
    return index


numbers = st.lists(st.lists(st.integers(-1, 12), max_size=30), max_size=10)
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


@pytest.mark.parametrize("again", [[100, 101, 100], [5, 100]])
def test_rows_are_chained_and_counted_once_a_number_comes_again(again: list[int]) -> None:
    keys = list(range(100))
    alone, wanted = play([keys, [-1]], [0, 99]), [-1, 5, 99, 100, 102]
    assert alone.nbytes == 4 * len(keys), "a head for each number, and nothing by row"
    index = play([keys[:50], [-1], keys[50:], again, [5, 5]], wanted)
    assert index.most > 1
    assert index.nbytes > 8 * len(index)


def test_few_new_numbers_far_up() -> None:
    play([list(range(1000)), [999, 5], [2000]], [5, 999, 2000, 2001])


@pytest.mark.parametrize("together", [True, False])
def test_nulls_among_settled_rows_are_not_found(together: bool) -> None:
    batches = [[-1] * 300 + [7] * 900, [-1, 7, -1]]
    play([[*batches[0], *batches[1]]] if together else batches, [-1, 7, 0])


def test_nothing() -> None:
    column = Growable(np.int64)
    index = NumberIndex(column)
    assert [len(part) for part in index.match(np.array([1, 2]))] == [0, 0]
    assert index.counts(np.array([1, -1])).tolist() == [0, 0]
    column.append(np.array([1]))
    assert [len(part) for part in index.match(np.array([], np.int64))] == [0, 0]


def test_spread() -> None:
    assert spread(np.array([5, 9, 0]), np.array([3, 0, 2])).tolist() == [5, 6, 7, 0, 1]
    assert spread(np.array([], np.int64), np.array([], np.int64)).tolist() == []
