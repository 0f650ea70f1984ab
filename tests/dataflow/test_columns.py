"""Arrow columns that are appended to and taken from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow import columns
from fff.dataflow.columns import ArrowColumn
from tests.dataflow.blocks import quick

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [7, -(1 << 63), 0],
    pa.int8(): [1, -128],
    pa.float64(): [0.5, -0.0, float("inf")],
    pa.bool_(): [True, False, True, True],
    pa.string(): ["", "a", "zwölf", "x" * 40],
    pa.binary(): [b"", b"\x00\xff"],
    pa.decimal128(20, 2): [Decimal("1.50"), Decimal("-99999999999.25")],
    pa.timestamp("us", "UTC"): [datetime(2024, 2, 29, tzinfo=UTC)],
    pa.duration("us"): [timedelta(microseconds=-1)],
    pa.date32(): [datetime(1, 1, 1, tzinfo=UTC).date()],
    pa.list_(pa.string()): [[], ["a", None]],
    pa.struct({"a": pa.int64()}): [{"a": 1}, {"a": None}],
    pa.null(): [],
}


def column_of(*parts: list[Any], kind: pa.DataType | None = None) -> ArrowColumn:
    column = ArrowColumn(kind or pa.int64())
    for part in parts:
        column.append(pa.array(part, column.type))
    return column


@pytest.mark.slow
@quick
@given(
    st.sampled_from(list(VALUES)),
    st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=20), st.sampled_from("atdvs")), max_size=16),
    st.sampled_from([(1, 8, 1000), (3, 40, 64), (32, 1000, 1000), (2, 0, 0), (32, 4 << 20, 64 << 20)]),
    st.sampled_from([0, 2, 24]),
    st.data(),
)
def test_a_column_is_a_list(
    kind: pa.DataType,
    steps: list[tuple[list[int], str]],
    most: tuple[int, int, int],
    compared: int,
    data: st.DataObject,
) -> None:
    """Values are appended, of arrays and parts of arrays, taken, dropped, and moved to where they cannot grow."""
    values = [None, *VALUES[kind]]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("_LOOSE", "_CHUNK_ROWS", "_CHUNK_BYTES"), most, strict=True):
            patch.setattr(columns, name, value)
        patch.setattr(columns, "_COMPARED", compared)
        column, flat = ArrowColumn(kind), list[Any]()
        kept: list[tuple[pa.Array, list[Any]]] = []
        for picked, step in steps:
            chunk = [values[at % len(values)] for at in picked]
            before = data.draw(st.integers(0, 9))
            column.append(
                pa.array([values[-1]] * before + chunk + [None], kind)[before : before + len(chunk)]
            )
            flat += chunk
            if step == "d" and flat:
                count = data.draw(st.integers(0, len(flat)))
                column.drop(count)
                flat = flat[count:]
            if step == "s":
                column.spilled(column.unspilled().chunks)
            assert column.length == len(flat)
            rows = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=5)) if flat else []
            if step == "t":
                taken = column.take(np.array(rows, np.int64))
                assert isinstance(taken, pa.Array)
                taken.validate(full=True)
                assert taken.to_pylist() == [flat[row] for row in rows]
            if step in "tv":
                assert [column.value(row).as_py() for row in rows] == [flat[row] for row in rows]
            kept += [(chunk, chunk.to_pylist()) for chunk in column._chunks[-1:]]
            assert column.nbytes == sum(chunk.nbytes for chunk in column._chunks)
        assert all(chunk.to_pylist() == were for chunk, were in kept), "what was given out stays as it is"
        assert column.take(np.arange(len(flat))).to_pylist() == flat
        with pytest.raises(IndexError):
            column.value(len(flat))


@pytest.mark.parametrize("kind", [pa.int64(), pa.list_(pa.int64())])
def test_one_row_after_another_stays_few_chunks(kind: pa.DataType) -> None:
    values = [start if kind == pa.int64() else [start] for start in range(1000)]
    column = column_of(*([value] for value in values), kind=kind)
    assert len(column._chunks) <= columns._LOOSE + 11
    assert column.take(np.array([999, 0, 500])).to_pylist() == [values[999], values[0], values[500]]
    assert len(column._chunks) <= 5


def test_what_is_taken_from_a_growing_column_is_in_one_chunk() -> None:
    """To copy the column for that, or to take from each page, would cost more the longer it is."""
    column = column_of([0] * 10_000)
    for page in range(1, 50):
        column.append(pa.array([page] * 100))
        assert column.take(np.array([column.length - 1, 0])).to_pylist() == [page, 0]
        assert len(column._chunks) == 1
    first, data = column._chunks[0], column._chunks[0].buffers()[1].address
    column.append(pa.array([50]))
    column.take(np.array([0]))
    assert column._chunks[0].buffers()[1].address == data, "in place, as there was room"
    assert len(first) == 10_000 + 49 * 100


@pytest.mark.parametrize("bound", ["_CHUNK_ROWS", "_CHUNK_BYTES"])
@pytest.mark.parametrize("loose", [1, 4])
def test_chunks_are_no_longer_than_can_be_copied_at_once(
    bound: str, loose: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, bound, 16 * (1 if bound == "_CHUNK_ROWS" else 8))
    monkeypatch.setattr(columns, "_LOOSE", loose)
    monkeypatch.setattr(columns, "_GROWN", 1)
    column = column_of(*(list(range(start, start + 3)) for start in range(0, 200, 3)))
    everything = np.arange(200)
    assert column.take(everything).to_pylist() == everything.tolist()
    chunks = list(column._chunks)
    assert max(map(len, chunks)) <= 16
    assert 12 <= len(chunks) <= 25, "they are put together, as far as they may"
    for rows in (everything, np.array([199, 0, 50, 50, 98]), np.array([51]), np.empty(0, np.int64)):
        assert column.take(rows).to_pylist() == rows.tolist()
    assert column._chunks == chunks


@pytest.mark.parametrize(("bound", "most"), [("_CHUNK_ROWS", 1000), ("_CHUNK_BYTES", 8000)])
def test_a_chunk_that_grows_in_place_may_have_more(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, bound, most)
    monkeypatch.setattr(columns, "_LOOSE", 2)
    column = ArrowColumn(pa.int64())
    for start in range(0, 10_000, 200):
        column.append(pa.array(range(start, start + 200)))
    everything = np.arange(10_000)
    assert column.take(everything).to_pylist() == everything.tolist()
    assert list(map(len, column._chunks)) == [4000, 4000, 2000]


def test_what_is_large_itself_is_not_copied_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_CHUNK_ROWS", 1000)
    column, large = ArrowColumn(pa.int64()), pa.array(range(600))
    for page in (pa.array([7] * 100), large, pa.array([8] * 100), pa.array([9] * 100)):
        column.append(page)
        assert column.take(np.array([column.length - 1])).to_pylist() == page[-1:].to_pylist()
    assert list(map(len, column._chunks)) == [100, 600, 200]
    assert column._chunks[1].buffers()[1].address == large.buffers()[1].address


def test_nor_with_what_came_before_and_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    column = column_of(*([size] * size for size in (100, 600, 100, 100, 700, 800)))
    monkeypatch.setattr(columns, "_CHUNK_ROWS", 1000)
    came = list(column._chunks)
    assert column.take(np.array([99, 2399])).to_pylist() == [100, 800]
    assert list(map(len, column._chunks)) == [100, 600, 200, 700, 800]
    for at, first in ((1, 1), (3, 4), (4, 5)):
        assert column._chunks[at] is came[first]


def test_small_chunks_before_a_large_one_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_CHUNK_ROWS", 1000)
    column = column_of(*([1] * size for size in ([1] * 30 + [900]) * 20))
    column.take(np.arange(10))
    assert len(column._chunks) <= 60, "not 31 for each large one"


def test_a_column_of_one_page_is_that_page() -> None:
    page = pa.array(["x"] * 100)
    column = ArrowColumn(pa.string())
    column.append(page)
    assert column.take(np.array([99])).to_pylist() == ["x"]
    assert column._chunks[0] is page


def test_no_chunked_array_is_taken_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow makes one array of a `ChunkedArray` before it takes from it: at every batch, the whole column."""
    column = column_of(*(["x"] * size for size in (100, 50, 10)), kind=pa.string())
    monkeypatch.delattr(pa, "chunked_array")
    assert column.take(np.array([0, 155, 120])).to_pylist() == ["x"] * 3


def test_an_empty_column_gives_nothing() -> None:
    column = column_of([], kind=pa.date32())
    assert column.length == 0
    assert column.nbytes == 0
    assert column.take(np.array([], np.int64)).to_pylist() == []


def test_rows_that_are_nowhere_are_null() -> None:
    column = column_of(["a"], ["b", None], kind=pa.string())
    assert column.take(np.array([1, -1, 2, 0]), holes=True).to_pylist() == ["b", None, None, "a"]
