"""Row identity: SQL's bag survives competing answers in any interleaving (P22)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow import identity as identity_module
from fff.dataflow.identity import Answer, Identity
from fff.dataflow.plan import TablePlan
from tests.dataflow.blocks import quick, table


def batch(plan: TablePlan, rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    arrays = [pa.array([row[i] for row in rows], field.arrow) for i, field in enumerate(plan.columns)]
    return pa.RecordBatch.from_arrays(arrays, [field.name for field in plan.columns])


def fresh(identity: Identity, plan: TablePlan, rows: list[tuple[object, ...]], answer: Answer) -> list[bool]:
    found: list[bool] = identity.fresh(batch(plan, rows), answer).tolist()
    return found


VALUE = table("a b:string", (0,), scans=1)
values = st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([None, "x", "y"]))


@pytest.mark.parametrize("few", [0, 3, 4096])
@quick
@given(rows=st.lists(values, max_size=12), answers=st.integers(1, 3), data=st.data())
def test_every_copy_once_however_answers_interleave(
    few: int, rows: list[tuple[object, ...]], answers: int, data: st.DataObject
) -> None:
    identity, stored = Identity(VALUE), Counter[object]()
    left = {number: data.draw(st.permutations(rows)) for number in range(answers)}
    delivered = {number: Answer() for number in left}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity_module, "_FEW_ROWS", few)
        while any(left.values()):
            number = data.draw(st.sampled_from([n for n, todo in left.items() if todo]))
            size = data.draw(st.integers(1, len(left[number])))
            page, left[number] = left[number][:size], left[number][size:]
            kept = fresh(identity, VALUE, page, delivered[number])
            stored.update(row for row, keep in zip(page, kept, strict=True) if keep)
    assert stored == Counter(rows)


def test_a_copy_more_in_a_second_answer_is_new() -> None:
    identity = Identity(VALUE)
    row = (1, "x")
    assert fresh(identity, VALUE, [row], Answer()) == [True]
    assert fresh(identity, VALUE, [row, row], Answer()) == [False, True]
    assert fresh(identity, VALUE, [row, row], Answer()) == [False, False]


def test_one_answer_in_many_pages_counts_on() -> None:
    identity, answer = Identity(VALUE), Answer()
    assert [fresh(identity, VALUE, [(1, None)], answer) for _ in range(3)] == [[True]] * 3


def test_a_long_answer_costs_by_the_page() -> None:
    """Past a bound the answer counts by value; what it keeps does not grow with its rows."""
    plan = table("a", (0,), scans=1)
    identity, answer = Identity(plan), Answer()
    numbers = np.arange(10_000) % 100
    for page in np.array_split(numbers, 50):
        assert identity.fresh(pa.record_batch([pa.array(page, pa.int32())], ["a"]), answer).all()
    assert len(answer._seen) == 0
    assert answer._counts is not None
    assert answer._counts.length <= 101
    again = identity.fresh(pa.record_batch([pa.array(numbers, pa.int32())], ["a"]), Answer())
    assert not again.any()


def test_nulls_nans_and_zeros_are_equal_in_identity() -> None:
    plan = table("a:double b:string", (0,), scans=1)
    identity = Identity(plan)
    rows = [(float("nan"), None), (0.0, "x"), (None, None)]
    assert fresh(identity, plan, rows, Answer()) == [True] * 3
    same = [(None, None), (-0.0, "x"), (-float("nan"), None)]
    assert fresh(identity, plan, same, Answer()) == [False] * 3


def test_columns_do_not_run_together() -> None:
    plan = table("a:string b:string", (0,), scans=1)
    identity = Identity(plan)
    rows = [("ab", "c"), ("a", "bc"), (None, "a"), ("a", None)]
    assert fresh(identity, plan, rows, Answer()) == [True] * 4


def test_nested_values_are_compared_whole() -> None:
    plan = table("a:array<int>", (), scans=2)
    identity = Identity(plan)
    assert fresh(identity, plan, [([1, 2],), ([1],), (None,)], Answer()) == [True] * 3
    assert fresh(identity, plan, [([1],), ([2],), (None,)], Answer()) == [False, True, False]


def test_a_declared_key_decides_alone() -> None:
    plan = table("id note:string", (0,), scans=1, key=(0,))
    identity, answer = Identity(plan), Answer()
    assert fresh(identity, plan, [(1, "first"), (1, "second"), (2, "x")], answer) == [True, False, True]
    assert fresh(identity, plan, [(2, "other"), (3, "y")], answer) == [False, True]
    assert fresh(identity, plan, [(1, "first"), (4, "z"), (4, "z")], Answer()) == [False, True, False]


def test_a_key_of_two_columns() -> None:
    plan = table("a b c", (0,), scans=1, key=(0, 2))
    identity = Identity(plan)
    assert fresh(identity, plan, [(1, 0, 1), (1, 0, 2), (1, 9, 1)], Answer()) == [True, True, False]


def test_position_compares_nothing() -> None:
    assert not Identity(table("a", scans=1)).compares
    assert Identity(VALUE).compares


def test_a_table_without_columns_counts_its_rows() -> None:
    """SELECT COUNT(*) over two mirrors: rows without columns are equal, and counted."""
    plan = table("", scans=2)
    identity = Identity(plan)
    rows = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert identity.fresh(rows, Answer()).tolist() == [True] * 3
    assert identity.fresh(rows.slice(0, 2), Answer()).tolist() == [False] * 2
