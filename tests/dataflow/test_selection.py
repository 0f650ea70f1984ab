"""Predicates over arriving rows and over composite tuples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Literal
from fff.dataflow.plan.plan import BlockPlan, Predicate
from fff.dataflow.plan.state import TupleState
from fff.dataflow.store.identity import Answer
from tests.dataflow.blocks import block, compare, table

T = table("k v", scans=1)


def arriving(plan: BlockPlan, alias: int, *rows: tuple[int | None, int | None]) -> list[bool]:
    made = Block(plan, all_fire=False, max_window=None)
    batch = pa.record_batch([pa.array([row[i] for row in rows], pa.int32()) for i in (0, 1)], ["k", "v"])
    stem = made.stem(alias)
    found: list[bool] = made.selections.arriving(alias, batch, stem.number(batch)).tolist()
    return found


def test_inline_predicates_of_one_alias_are_done_on_arrival() -> None:
    plan = block(
        [T, T], predicates=[compare("0.1", ">", 3), compare("1.1", ">", 9), compare("0.0", "<", "1.0")]
    )
    assert arriving(plan, 0, (1, 3), (1, 4), (1, None)) == [False, True, False]
    assert arriving(plan, 1, (1, 3), (1, 10), (1, None)) == [False, True, False]


def test_modules_are_not() -> None:
    plan = block([T], predicates=[compare("0.1", ">", 3, module=True)])
    assert arriving(plan, 0, (1, 3), (1, None)) == [True, True]


def test_null_in_a_join_column_makes_no_result() -> None:
    """P23."""
    plan = block([T, T], ["0.0 = 1.0"])
    assert arriving(plan, 0, (None, 1), (1, None)) == [False, True]


def test_equalities_inside_an_alias() -> None:
    plan = block([T, T], ["0.0 = 0.1 = 1.0"])
    assert arriving(plan, 0, (1, 1), (1, 2), (None, None)) == [True, False, False]
    assert arriving(plan, 1, (1, 2)) == [True]


def test_a_predicate_without_columns_holds_for_every_alias() -> None:
    for truth in (True, False, None):
        plan = block([T, T], predicates=[Predicate(Literal(truth, pa.bool_()))])
        assert arriving(plan, 0, (1, 1)) == arriving(plan, 1, (1, 1)) == [truth is True]


def test_self_joined_aliases_have_predicates_of_their_own() -> None:
    plan = block([T], aliases=[0, 0], predicates=[compare("0.1", ">", 3), compare("1.1", "<", 3)])
    assert arriving(plan, 0, (1, 2), (1, 4)) == [False, True]
    assert arriving(plan, 1, (1, 2), (1, 4)) == [True, False]


def test_composite_tuples() -> None:
    plan = block([T, T], predicates=[compare("0.0", "<", "1.1")])
    made = Block(plan, all_fire=False, max_window=None)
    for alias, values in enumerate([[1, 5, None], [4, None, 9]]):
        stem = made.stem(alias)
        rows = pa.record_batch([pa.array(values, pa.int32())] * 2, ["k", "v"])
        stem.build(rows, stem.number(rows), {alias: np.ones(3, np.bool_)}, Answer(), 0)
    pairs = [(left, right) for left in range(3) for right in range(3)]
    batch = TupleBatch(
        TupleState(0b11),
        {side: np.array([pair[side] for pair in pairs]) for side in (0, 1)},
        np.ones(9, np.int64),
    )
    passing = [pairs[place] for place in made.selections.passing(0, batch).tolist()]
    assert passing == [(0, 0), (0, 2), (1, 2)]
