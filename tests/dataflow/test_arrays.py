"""Growable arrays, ranks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow import arrays
from fff.dataflow.arrays import Growable, distinct, numpy_mask, ranks
from tests.dataflow.blocks import quick


def test_growable_keeps_what_it_has_and_fills_the_rest() -> None:
    array = Growable(np.int64, -1)
    array.append(np.array([5, 6]))
    array.extend_to(40)
    assert array.view.tolist() == [5, 6] + [-1] * 38
    array.extend_to(3)
    assert array.length == 40
    array.append(np.array([7]))
    assert array.view[40] == 7
    array.clear()
    assert array.length == 0
    array.extend_to(2)
    assert array.view.tolist() == [-1, -1], "nothing of the past comes back"


def test_growable_view_is_writable() -> None:
    array = Growable(np.int8)
    array.extend_to(3)
    array.view[1] = 4
    assert array.view.tolist() == [0, 4, 0]
    assert array.nbytes == 3


@pytest.mark.slow
@quick
@given(st.lists(st.integers(1, 40)), st.data())
def test_growth_in_large_steps_keeps_what_is_there(sizes: list[int], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_LARGE", 32)
        array, flat = Growable(np.int64, -1), list[int]()
        for number, size in enumerate(sizes):
            if data.draw(st.booleans()):
                array.append(np.full(size, number))
                flat += [number] * size
            else:
                array.extend_to(len(flat) + size)
                flat += [-1] * size
            assert array.view.tolist() == flat


@quick
@given(st.lists(st.integers(-3, 3)))
def test_ranks_count_equals_before(values: list[int]) -> None:
    expected = [values[:index].count(value) for index, value in enumerate(values)]
    assert ranks(np.array(values, np.int64)).tolist() == expected


@pytest.mark.parametrize("values", [[True, None, False], [True, False], [None], []])
def test_unknown_is_not_true(values: list[bool | None]) -> None:
    mask = numpy_mask(pa.array(values, pa.bool_()))
    assert mask.dtype == np.bool_
    assert mask.tolist() == [value is True for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
