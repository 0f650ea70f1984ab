"""Selection modules and inline predicates: three-valued logic, rows pass where the predicate is true.

Where Spark raises an error, a predicate is undecided, and the row passes on: another predicate may drop it. If none
does, what is above the block evaluates the predicate once more, and raises the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Int64, numpy_mask
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Column, Resolve, evaluate_rows
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.store.stem import SteM


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
                if (
                    predicate.on is None
                    if one.kind == "inner"
                    else predicate.on == alias and predicate.aliases
                )
            )
            for alias, one in enumerate(plan.aliases)
        }
        #: By alias: groups of columns that the same equality class holds equal and not NULL.
        self._equal: dict[int, list[tuple[int, ...]]] = {alias: [] for alias in self._inline}
        for equality in plan.equalities:
            if len(equality.members) > 1:
                for alias in {member.alias for member in equality.members}:
                    self._equal[alias].append(
                        tuple(member.index for member in equality.members if member.alias == alias)
                    )
        for alias, one in enumerate(plan.aliases):
            self._equal[alias] += [(own,) for own, _ in one.links]

    def arriving(self, alias: int, rows: pa.RecordBatch, numbers: dict[int, Int64]) -> Bools:
        """Which arriving rows can take part in a result as `alias`: inline predicates, equalities inside the alias, NULLs.

        As the right side of a join: which can be a match.
        """
        passes = np.ones(len(rows), np.bool_)
        for columns in self._equal[alias]:
            first = numbers[columns[0]]
            passes &= first >= 0
            for column in columns[1:]:
                passes &= numbers[column] == first
        for number in self._inline[alias]:
            passes &= self._undropped(number, lambda column: rows.column(column.index), len(rows))
        return passes

    def passing(self, predicate: int, batch: TupleBatch) -> Int64:
        """Positions of the tuples for which the predicate is true, or undecided."""

        def resolve(column: Column) -> pa.Array:
            stem = self._stems[self._plan.aliases[column.alias].table]
            return stem.values(column.index, batch.rows[column.alias])

        return np.flatnonzero(self._undropped(predicate, resolve, len(batch)))

    def _undropped(self, number: int, resolve: Resolve, length: int) -> Bools:
        """Where a predicate is true or undecided."""
        outcome = evaluate_rows(self._plan.predicates[number].expr, resolve, length)
        truth = numpy_mask(outcome.values)
        return truth if outcome.failed is None else truth | outcome.failed.rows
