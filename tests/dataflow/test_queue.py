"""The eddy's buffer: furthest-travelled first, merged up to the route size, never losing a tuple."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.plan.batch import TupleBatch, merge
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing import queue
from fff.dataflow.routing.queue import WaitingTuples
from tests.dataflow.blocks import quick

NEAR, FAR, DONE = TupleState(0b1), TupleState(0b11), TupleState(0b1, 0b1)


def batch(state: TupleState, *rows: int) -> TupleBatch:
    numbers = np.array(rows, np.int64)
    return TupleBatch(state, dict.fromkeys(bits(state.span), numbers), numbers)


def rows_of(item: TupleBatch) -> list[int]:
    return item.rows[0].tolist()


def test_furthest_travelled_first() -> None:
    waiting = WaitingTuples(10)
    for state in (NEAR, FAR, DONE):
        waiting.push(batch(state, 1))
    assert [waiting.pop()[0].state for _ in range(3)] == [FAR, DONE, NEAR]
    assert not waiting


def test_small_arrivals_leave_together_large_ones_in_parts() -> None:
    waiting = WaitingTuples(3)
    waiting.push(batch(NEAR, 1))
    waiting.push(batch(NEAR, 2, 3))
    assert sorted(rows_of(waiting.pop()[0])) == [1, 2, 3]
    waiting.push(batch(NEAR, *range(7)))
    assert [len(waiting.pop()[0]) for _ in range(3)] == [3, 3, 1]


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> WaitingTuples:
    """70 tuples, which leave by four at first."""
    for name, value in (("ROUTED_AT_FIRST", 4), ("ROUTED_SHARE", 0.25), ("ROUTED_MOST", 10)):
        monkeypatch.setattr(queue, name, value)
    waiting = WaitingTuples(None)
    waiting.push(batch(NEAR, *range(70)))
    return waiting


def test_parts_grow_with_what_has_been_routed(growing: WaitingTuples) -> None:
    sizes = []
    while growing:
        sizes.append(len(growing.pop()[0]))
    assert sizes == [4, 4, 4, 4, 4, 5, 6, 7, 9, 10, 10, 3]


def test_what_is_handed_out_and_does_not_go_makes_no_part_larger(growing: WaitingTuples) -> None:
    for number in range(40):
        some, urgent = growing.pop()
        assert len(some) == 4
        if number % 2:
            growing.hold(some, urgent=urgent)
            growing.resume()
        else:
            growing.push(some, urgent=urgent, back=True)


def test_urgent_batches_first_whatever_their_state() -> None:
    waiting = WaitingTuples(2)
    waiting.push(batch(FAR, 1))
    waiting.push(batch(NEAR, 2, 3, 4), urgent=True)
    waiting.push(batch(DONE, 5), urgent=True)
    order = [(item.state, urgent, len(item)) for item, urgent in (waiting.pop() for _ in range(4))]
    assert order == [(DONE, True, 1), (NEAR, True, 2), (NEAR, True, 1), (FAR, False, 1)]
    assert not waiting


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_pick_ranges_over_urgent_and_other_batches(place: int) -> None:
    waiting = WaitingTuples(9, lambda count: place % count)
    waiting.push(batch(NEAR, 1))
    waiting.push(batch(NEAR, 2))
    waiting.push(batch(NEAR, 3), urgent=True)
    assert [rows_of(item) for item in waiting.batches()] == [[3], [1], [2]]
    item, urgent = waiting.pop()
    assert (rows_of(item), urgent) == [([3], True), ([1], False), ([2], False)][place]
    assert waiting.tuples == waiting.counted() == 2


def test_clear() -> None:
    waiting = WaitingTuples(3)
    waiting.push(batch(NEAR, 1, 2))
    waiting.clear()
    assert (waiting.tuples, waiting.counted(), bool(waiting)) == (0, 0, False)


@pytest.mark.parametrize("picked", [True, False])
@quick
@given(
    size=st.integers(1, 5),
    steps=st.lists(st.tuples(st.sampled_from([NEAR, FAR, DONE]), st.integers(0, 6)), max_size=25),
    data=st.data(),
)
def test_every_tuple_comes_out_once(
    picked: bool, size: int, steps: list[tuple[TupleState, int]], data: st.DataObject
) -> None:
    pick = (lambda count: data.draw(st.integers(0, count - 1))) if picked else None
    waiting = WaitingTuples(size, pick)
    put: set[tuple[TupleState, int]] = set()
    got: list[tuple[TupleState, int]] = []

    def pop() -> None:
        item = waiting.pop()[0]
        assert 1 <= len(item) <= size
        got.extend((item.state, row) for row in rows_of(item))

    for state, count in steps:
        if count == 0 and waiting:
            pop()
        elif count:
            rows = range(len(put), len(put) + count)
            put |= {(state, row) for row in rows}
            waiting.push(batch(state, *rows))
        assert waiting.tuples == waiting.counted() == len(put) - len(got)
    while waiting:
        pop()
    assert len(got) == len(set(got))
    assert set(got) == put


def test_split_take_and_merge() -> None:
    whole = batch(FAR, 1, 2, 3)
    head, tail = whole.split(1)
    assert (rows_of(head), rows_of(tail)) == ([1], [2, 3])
    assert rows_of(merge([tail, head])) == [2, 3, 1]
    assert merge([head]) is head
    taken = whole.take(np.array([2, 0]))
    assert rows_of(taken) == taken.rows[1].tolist() == taken.stamps.tolist() == [3, 1]


def test_weight_counts_span_before_predicates() -> None:
    assert TupleState(0b11).weight > TupleState(0b1, (1 << 60) - 1).weight
    assert TupleState(0b1, 0b1).weight > TupleState(0b1).weight
    assert bits(0b1011) == (0, 1, 3)
    assert bits(0) == ()
