"""Row identity: SQL's bag survives competing answers in any interleaving (P22)."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.plan.plan import TablePlan
from fff.dataflow.store import identity as identity_module
from fff.dataflow.store import ranges
from fff.dataflow.store.domains import Domain
from fff.dataflow.store.identity import Answer, Identity, differing
from fff.dataflow.store.stem import SteM
from tests.dataflow.blocks import quick, table


def batch(plan: TablePlan, rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    arrays = [pa.array([row[i] for row in rows], field.arrow) for i, field in enumerate(plan.columns)]
    return pa.RecordBatch.from_arrays(arrays, [field.name for field in plan.columns])


def fresh(identity: Identity, plan: TablePlan, rows: list[tuple[object, ...]], answer: Answer) -> list[bool]:
    found: list[bool] = identity.fresh(batch(plan, rows), answer).tolist()
    return found


VALUE = table("a b:string", (0,), scans=1)
values = st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([None, "x", "y"]))


@pytest.mark.slow
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


def test_a_key_with_a_null_identifies_nothing() -> None:
    """One access method: all such rows are kept. Several: they are told apart by value, as where there is no key."""
    one = table("id note:string", scans=1, key=(0,))
    rows: list[tuple[object, ...]] = [(None, "x"), (None, "x"), (1, "y"), (None, None)]
    identity, answer = Identity(one), Answer()
    assert fresh(identity, one, rows, answer) == [True] * 4
    assert fresh(identity, one, rows, answer) == [True, True, False, True]
    two = table("id note:string", (0,), scans=1, key=(0,))
    identity = Identity(two)
    assert fresh(identity, two, rows, Answer()) == [True] * 4
    assert fresh(identity, two, [*rows, (None, "z")], Answer()) == [False] * 4 + [True]


KEYS = {
    "int": st.integers(-3, 12),
    "string": st.sampled_from(["", "a", "aa", "é", "z", "\U0001f600", "\uffff"]),
    "decimal(9,2)": st.decimals(0, 3, places=1),
    "date": st.dates(dt.date(2000, 1, 1), dt.date(2000, 1, 9)),
    "double": st.sampled_from([0.0, 1.5, float("nan")]),
}


#: How many ranges of keys may be known, and whether keys have numbers.
MOST, NUMBERED = (0, 2, 4096), (False, True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
@quick
@given(data=st.data())
def test_pages_in_any_order_bring_every_key_once(kind: str, data: st.DataObject) -> None:
    pages_bring_every_key_once(
        kind, data.draw(st.sampled_from(MOST)), data.draw(st.sampled_from(NUMBERED)), data
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("numbered", NUMBERED)
@quick
@given(data=st.data())
def test_pages_in_any_order_bring_every_key_once_in_every_setting(
    kind: str, most: int, numbered: bool, data: st.DataObject
) -> None:
    pages_bring_every_key_once(kind, most, numbered, data)


def pages_bring_every_key_once(kind: str, most: int, numbered: bool, data: st.DataObject) -> None:
    """Rising, falling, overlapping, repeated: as long as ranges of keys tell pages apart, and after."""
    plan = table(f"id:{kind} n", scans=1, key=(0,))
    domains = {0: Domain(plan.columns[0].arrow)} if numbered else {}
    stem = SteM(plan, [0], domains, Identity(plan))
    kept: dict[object, object] = {}
    counted, sequence, number, unlike = 0, 0, 0, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "_MOST_RANGES", most)
        for _ in range(data.draw(st.integers(1, 6))):
            ids = data.draw(st.lists(KEYS[kind] | st.none(), min_size=1, max_size=5))
            ids = data.draw(
                st.sampled_from([ids, sorted({one for one in ids if one is not None}, key=str)])
            ) or [None]
            rows = [(one, data.draw(st.integers(0, 1))) for one in ids]
            page = batch(plan, rows)
            _, sequence = stem.build(
                page, stem.number(page), {0: np.ones(len(rows), np.bool_)}, Answer(), sequence
            )
            for one, note in rows:
                name = (number := number + 1) if one is None else repr(one)
                counted += name in kept
                unlike += name in kept and kept[name] != note
                kept.setdefault(name, note)
            assert len(stem) == len(kept) == sequence
    assert stem.columns[1].take(np.arange(len(stem))).to_pylist() == list(kept.values())
    assert (stem.duplicates, stem.conflicts) == (counted, unlike)
    assert (stem.conflict is None, list(stem.conflicting)) == (not unlike, ["n"] * bool(unlike))


def test_where_rows_differ() -> None:
    nan = float("nan")
    for kind, here, there, expected in [
        (pa.float64(), [1.0, nan, None, nan, None], [1.0, nan, None, None, nan], [0, 0, 0, 1, 1]),
        (pa.string(), ["a", None, "b"], ["a", None, None], [0, 0, 1]),
        (pa.list_(pa.int32()), [[1], [1, 2], None], [[1], [2], None], [0, 1, 0]),
    ]:
        assert differing(pa.array(here, kind), pa.array(there, kind)).tolist() == [
            bool(one) for one in expected
        ]


def test_keys_in_order_cost_no_memory() -> None:
    plan = table("id n", scans=1, key=(0,))
    stem = SteM(plan, [0], {}, Identity(plan))
    pages = [np.arange(start, start + 100) for start in range(0, 2000, 100)]
    for page in (*pages[::2], *pages[1::2][::-1]):
        rows = batch(plan, [(int(one), 0) for one in page])
        stem.build(rows, {}, {0: np.ones(100, np.bool_)}, Answer(), len(stem))
    assert (len(stem), stem.duplicates, stem.identity._domains) == (2000, 0, {})
