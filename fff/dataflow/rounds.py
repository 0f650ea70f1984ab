"""Recursion, level by level: what a block's results make of a table's columns comes back as rows of that table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import ScanModule
from fff.dataflow.missing import MissingParts
from fff.dataflow.plan.expressions import evaluate_rows
from fff.dataflow.plan.plan import Recursion
from fff.dataflow.store.identity import Answer
from fff.dataflow.store.stem import SteM
from fff.schema import schema_of

#: Beyond so many levels Spark gives up (`spark.sql.cteRecursionLevelLimit`).
MOST_LEVELS = 100
_AGE = "\0age"

#: How rows are built: table, rows, numbers of their values, the answer they belong to.
Build = Callable[[int, pa.RecordBatch, dict[int, Int64], Answer], int]


class Rounds:
    """The rows that results have made, until the level they belong to begins.

    A row that came before is left out: what follows from it has been looked for.
    """

    def __init__(
        self,
        recursion: Recursion | None,
        stems: Sequence[SteM],
        scans: Sequence[Sequence[ScanModule]],
        missing: MissingParts,
    ) -> None:
        self._recursion = recursion
        self._stems, self._scans, self._missing = stems, scans, missing
        self._known: pa.Table | None = None
        self._next: list[pa.RecordBatch] = []
        self._levels = 0

    def take(self, results: pa.RecordBatch) -> None:
        """Take in results of the block. Of a row that cannot be computed nothing follows, until Spark says what is wrong."""
        assert self._recursion is not None, "results are taken where they make rows"
        table = self._recursion.table
        computed = [
            evaluate_rows(value, lambda column: results.column(column.index), len(results))
            for value in self._recursion.values
        ]
        for one in computed:
            if one.failed is not None:
                self._missing.scan(table, one.failed.message)
        fields = self._stems[table].plan.columns
        schema = schema_of(fields)
        self._next.append(pa.RecordBatch.from_arrays([one.values for one in computed], schema=schema))

    def advance(self, build: Build) -> bool:
        """Build the rows of the next level, each once; whether there are any."""
        if self._recursion is None or not self._next:
            return False
        table, rows = self._recursion.table, self._fresh()
        if rows is None:
            return False
        if self._levels == MOST_LEVELS:
            self._missing.scan(table, f"the recursion goes on beyond {MOST_LEVELS} levels")
            return False
        self._levels += 1
        build(table, rows, self._stems[table].number(rows), self._scans[table][0].answer)
        return True

    def _fresh(self) -> pa.RecordBatch | None:
        """The rows that wait, without those that have been there before."""
        new = pa.Table.from_batches(self._next)
        self._next.clear()
        parts = [new] if self._known is None else [self._known, new]
        both = pa.concat_tables(
            part.append_column(_AGE, pa.array(np.full(len(part), part is new))) for part in parts
        )
        groups = both.group_by(new.column_names, use_threads=False).aggregate([(_AGE, "min")])
        fresh = groups.filter(pc.field(f"{_AGE}_min")).select(new.column_names)
        self._known = fresh if self._known is None else pa.concat_tables([self._known, fresh])
        return fresh.combine_chunks().to_batches()[0] if len(fresh) else None

    @property
    def waiting(self) -> bool:
        """Whether some results have not had their turn."""
        return bool(self._next)

    def drop(self) -> None:
        """No further level begins."""
        self._next.clear()
