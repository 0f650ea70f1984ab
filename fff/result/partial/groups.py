"""Groups that no complete row has reached yet, from rows that some tables have not answered for (P36, P37)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Int64
from fff.dataflow.in_flight import typed
from fff.dataflow.partial import PartialTuples
from fff.limits import PARTIAL_TUPLES, SAMPLE_ROWS
from fff.result.partial.preview import Preview
from fff.runtime.block_run import RunningBlock
from fff.schema import schema_of
from fff.sql.analysis.column_lineage import Needs
from fff.sql.analysis.grouped_select import GroupedSelect
from fff.sql.plan import UpperQuery
from fff.structs import Struct

#: Runs the counted upper query over the block's view with these rows in it.
RunOver = Callable[[pa.Table], pa.Table]

#: Rows of one group all lack the same tables' answers; groups that lack others are a run of their own, of
#: these at most.
RUNS = 3


class PartialGroups(Struct, frozen=True):
    """Rows of the upper query's result over rows that lack some columns; none of them is part of any answer."""

    table: pa.Table
    rests_on: tuple[int, ...]  # how many rows under way each group rests on
    missing: tuple[frozenset[int], ...]  # for each group, the result columns that rest on missing columns

    def rows(self, room: int) -> list[list[object]]:
        """At most `room` groups, values of missing columns as None."""
        return [list(row.values()) for row in _unique_names(self.table.slice(0, room)).to_pylist()]


class PartialSource:
    """Makes partial groups of one block.

    Aggregates are taken over exactly the rows whose needed columns are present.

    Each group rests on rows that lack the same columns: on those that lack fewest, where there are several kinds. A cell
    that needs a column which they lack is missing, and no group is shown of which a complete row has been
    found.
    """

    def __init__(self, block: RunningBlock, needs: Needs, grouped: GroupedSelect | None) -> None:
        self._block = block
        #: What groups without Spark; None where only Spark can.
        self.preview = None if grouped is None else Preview(grouped)
        self._fresh: list[pa.RecordBatch] = []  # rows that it has not seen
        self._needs = needs
        plan = block.query.plan
        self._grouping = None if needs.grouping is None else tuple(dict.fromkeys(needs.grouping))
        fields = (
            [] if self._grouping is None else [plan.field_of(plan.output[place]) for place in self._grouping]
        )
        self._schema = pa.schema([(str(number), field.arrow) for number, field in enumerate(fields)])
        self._reached = self._schema.empty_table()  # groups that complete rows belong to
        self._news: list[pa.RecordBatch] = []

    @classmethod
    def of(cls, query: UpperQuery, blocks: Sequence[RunningBlock]) -> PartialSource | None:
        """None where a statement has no partial groups."""
        if (
            query.group_keys is None
            or query.needs is None
            or len(query.needs.cells) != len(query.group_keys)
            or len(blocks) != 1
            or not blocks[0].query.fields
        ):
            return None
        source = cls(blocks[0], query.needs, query.grouped)
        return None if any(pa.types.is_nested(kind) for kind in source._schema.types) else source

    def add(self, batch: pa.RecordBatch) -> None:
        """Complete rows have been found."""
        if self.preview is not None:
            self._fresh.append(batch)
        if self._grouping and len(batch):
            self._news.append(
                pa.RecordBatch.from_arrays([batch.column(at) for at in self._grouping], schema=self._schema)
            )

    def fresh(self) -> pa.Table:
        """The complete rows since it was last asked for them."""
        batches, self._fresh = self._fresh, []
        if batches:
            return pa.Table.from_batches(batches)
        return schema_of(self._block.query.fields).empty_table()

    @property
    def changes(self) -> int:
        """Grows with everything that changes which tuples are under way."""
        return self._block.eddy.changes

    def take(self, complete_rows: int) -> tuple[PartialTuples, ...]:
        """What there is to group at this moment; on the thread of the eddy.

        Nothing once the run is being stopped, and nothing of joins that are not inner ones.
        """
        if (self._grouping == () and complete_rows) or not self._block.query.plan.inner:
            return ()  # the only group is reached
        return self._block.eddy.partial_tuples(self._needs.rows, PARTIAL_TUPLES)

    def groups(
        self, tuples: Sequence[PartialTuples], complete: pa.Table | None, run: RunOver
    ) -> PartialGroups | None:
        """The groups of tuples taken before `complete` was asked for; None where there are none.

        Raises what `run` raises.
        """
        results: list[pa.Table] = []
        rests_on: list[int] = []
        missing: list[frozenset[int]] = []
        for part in self._unreached(tuples)[:RUNS]:
            table = run(part.table.rename_columns([field.name for field in self._block.query.fields]))
            counts = table.column(table.num_columns - 1)
            table = table.remove_column(table.num_columns - 1)
            fresh = self._not_shown(table, complete)
            lacks = frozenset(at for at, cell in enumerate(self._needs.cells) if cell & part.missing)
            results.append(table.filter(fresh))
            rests_on += counts.filter(fresh).to_pylist()
            missing += [lacks] * (len(rests_on) - len(missing))
        if not rests_on:
            return None
        together = pa.Table.from_batches(
            [batch for table in results for batch in table.to_batches()], results[0].schema
        )
        return PartialGroups(together.slice(0, SAMPLE_ROWS), tuple(rests_on), tuple(missing))

    def _unreached(self, tuples: Sequence[PartialTuples]) -> list[PartialTuples]:
        """Without the groups that are reached, and each group only where its rows lack fewest columns."""
        if not self._grouping:
            return list(tuples[:1])
        news, self._news = self._news, []
        if news:
            fresh = typed(pa.Table.from_batches(news).columns, self._schema)
            both = pa.concat_tables([self._reached, fresh]).group_by(self._schema.names, use_threads=False)
            self._reached = both.aggregate([])
        parts = [
            part.table.select(list(self._grouping)).rename_columns(self._schema.names) for part in tuples
        ]
        if not parts:
            return []
        lengths = [len(self._reached), *map(len, parts)]
        owners = np.repeat(np.arange(len(lengths)), lengths)
        codes = _codes(pa.concat_tables([self._reached, *parts]))
        _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
        kept = owners[firsts][codes] == owners
        shown = []
        for number, part in enumerate(tuples, 1):
            mine = kept[owners == number]
            if mine.any():
                shown.append(PartialTuples(part.span, part.missing, part.table.filter(pa.array(mine))))
        return shown

    def _not_shown(self, table: pa.Table, complete: pa.Table | None) -> pa.Array:
        """Which rows are groups that are not among the complete ones."""
        keys = list(self._needs.keys)
        if complete is None or not keys or not len(complete) or not len(table):
            return pa.array([True] * len(table))
        if any(pa.types.is_nested(table.schema.field(key).type) for key in keys):
            return pa.array([False] * len(table))
        both = [pa.chunked_array([*complete.column(key).chunks, *table.column(key).chunks]) for key in keys]
        codes = _codes(pa.table(both, names=[str(key) for key in keys]))
        return pa.array(~np.isin(codes[len(complete) :], codes[: len(complete)]))


def _codes(table: pa.Table) -> Int64:
    """A number for each row, equal for equal rows; NULL equals NULL, NaN equals NaN."""
    codes = np.zeros(len(table), np.int64)
    for column in table.columns:
        encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        # Dense again after every column, so that the product stays small.
        _, codes = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)
    return codes


def _unique_names(table: pa.Table) -> pa.Table:
    return table.rename_columns([str(number) for number in range(table.num_columns)])
