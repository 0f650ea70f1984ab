"""Selection modules and inline predicates: three-valued logic, rows pass where the predicate is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Int64, numpy_mask
from fff.dataflow.batch import TupleBatch
from fff.dataflow.expressions import Column, evaluate
from fff.dataflow.plan import BlockPlan
from fff.dataflow.stem import SteM


class Selections:
    """Evaluates the plan's predicates over arriving rows and over composite tuples."""

    def __init__(self, plan: BlockPlan, stems: Sequence[SteM]) -> None:
        self._plan = plan
        self._stems = stems
        self._inline: dict[int, tuple[int, ...]] = {
            alias: tuple(
                number
                for number, predicate in enumerate(plan.predicates)
                if not predicate.module and predicate.aliases <= {alias}
            )
            for alias in range(len(plan.aliases))
        }
        #: By alias: groups of columns that the same equality class holds equal and not NULL.
        self._equal: dict[int, list[tuple[int, ...]]] = {alias: [] for alias in self._inline}
        for equality in plan.equalities:
            if len(equality.members) > 1:
                for alias in {member.alias for member in equality.members}:
                    self._equal[alias].append(
                        tuple(member.index for member in equality.members if member.alias == alias)
                    )

    def arriving(self, alias: int, rows: pa.RecordBatch, numbers: dict[int, Int64]) -> Bools:
        """Which arriving rows can take part in a result as `alias`: inline predicates, equalities inside the alias, NULLs."""
        passes = np.ones(len(rows), np.bool_)
        for columns in self._equal[alias]:
            first = numbers[columns[0]]
            passes &= first >= 0
            for column in columns[1:]:
                passes &= numbers[column] == first
        for number in self._inline[alias]:
            truth = evaluate(
                self._plan.predicates[number].expr, lambda column: rows.column(column.index), len(rows)
            )
            passes &= numpy_mask(truth)
        return passes

    def passing(self, predicate: int, batch: TupleBatch) -> Int64:
        """Positions of the tuples for which the predicate is true."""

        def resolve(column: Column) -> pa.Array:
            stem = self._stems[self._plan.aliases[column.alias].table]
            return stem.columns[column.index].take(batch.rows[column.alias])

        return np.flatnonzero(
            numpy_mask(evaluate(self._plan.predicates[predicate].expr, resolve, len(batch)))
        )
