"""Growable arrays, chunked columns, ranks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow import arrays
from fff.dataflow.arrays import ArrowColumn, Growable, distinct, numpy_mask, ranks
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
@given(
    st.lists(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=20), max_size=12),
    st.sampled_from([(1, 8, 1000), (3, 40, 64), (32, 1000, 1000)]),
    st.sampled_from([0, 2, 24]),
    st.data(),
)
def test_a_column_takes_what_was_appended(
    chunks: list[list[str | None]], most: tuple[int, int, int], compared: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("_LOOSE", "_CHUNK_ROWS", "_CHUNK_BYTES"), most, strict=True):
            patch.setattr(arrays, name, value)
        patch.setattr(arrays, "_COMPARED", compared)
        patch.setattr(arrays, "_TAKE_ROWS", 1)
        _takes_what_was_appended(chunks, data)


def _takes_what_was_appended(chunks: list[list[str | None]], data: st.DataObject) -> None:
    column = ArrowColumn(pa.string())
    flat: list[str | None] = []
    for chunk in chunks:
        column.append(pa.array(chunk, pa.string()))
        flat += chunk
        assert column.length == len(flat)
        if flat:
            rows = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=5))
            taken = column.take(np.array(rows, np.int64))
            assert isinstance(taken, pa.Array)
            assert taken.to_pylist() == [flat[row] for row in rows]
            assert [column.value(row).as_py() for row in rows] == taken.to_pylist()
    with pytest.raises(IndexError):
        column.value(len(flat))


def test_chunks_merge_geometrically() -> None:
    column = ArrowColumn(pa.int64())
    for start in range(1000):
        column.append(pa.array([start]))
    assert len(column._chunks) <= arrays._LOOSE + 11
    assert column.take(np.array([999, 0, 500])).to_pylist() == [999, 0, 500]
    assert column.take(np.arange(1000)).to_pylist() == list(range(1000))
    assert len(column._chunks) == 1, "a large take merges"


@pytest.mark.parametrize("bound", ["_CHUNK_ROWS", "_CHUNK_BYTES"])
@pytest.mark.parametrize("loose", [1, 4])
def test_large_chunks_stay_apart_and_are_never_made_one(
    bound: str, loose: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every batch taken from a long column costs the whole column."""
    monkeypatch.setattr(arrays, bound, 16 * (1 if bound == "_CHUNK_ROWS" else 8))
    monkeypatch.setattr(arrays, "_LOOSE", loose)
    column = ArrowColumn(pa.int64())
    for start in range(0, 200, 3):
        column.append(pa.array(range(start, start + 3)))
    everything = np.arange(200)
    assert column.take(everything).to_pylist() == everything.tolist()
    chunks = list(column._chunks)
    assert max(map(len, chunks)) <= 16
    assert 12 <= len(chunks) <= 25, "they are merged, as far as they may"
    for rows in (everything, np.array([199, 0, 50, 50, 98]), np.array([51]), np.empty(0, np.int64)):
        assert column.take(rows).to_pylist() == rows.tolist()
    assert column._chunks == chunks


def test_small_chunks_before_a_large_one_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_CHUNK_ROWS", 1000)
    column = ArrowColumn(pa.int64())
    for _ in range(20):
        for _ in range(30):
            column.append(pa.array([1]))
        column.append(pa.array([1] * 900))
    column.take(np.arange(10))
    assert len(column._chunks) <= 60, "not 31 for each large one"


def test_a_take_of_few_rows_does_not_touch_the_other_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow makes one array of a `ChunkedArray` before it takes from it: at every batch, the whole column."""
    column = ArrowColumn(pa.string())
    for size in (100, 50, 10):
        column.append(pa.array(["x"] * size))
    monkeypatch.delattr(pa, "chunked_array")
    assert column.take(np.array([0, 155, 120])).to_pylist() == ["x"] * 3


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


def test_an_empty_column_gives_nothing() -> None:
    column = ArrowColumn(pa.date32())
    column.append(pa.array([], pa.date32()))
    assert column.length == 0
    assert column.nbytes == 0
    assert column.take(np.array([], np.int64)).to_pylist() == []


def test_sliced_arrays_are_taken_at_their_offset() -> None:
    column = ArrowColumn(pa.string())
    column.append(pa.array(["x", "a", None, "y"]).slice(1, 2))
    column.append(pa.array(["z", "b"]).slice(1))
    assert column.take(np.array([2, 1, 0])).to_pylist() == ["b", None, "a"]


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
