"""The picture of a statement at one moment: what its blocks, its sources and Spark have come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from fff.access.session_cache import Lease
from fff.catalog import Table
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.extents import quoted
from fff.dataflow.statistics import BlockStatistics, Conflict, LookupStatistics
from fff.limits import PARTIAL_ROWS, SAMPLE_ROWS
from fff.policies import Preference
from fff.result.statistics import access_stats, inquiry_stats, stem_stats
from fff.runtime.block_run import RunningBlock
from fff.runtime.driver import Meters
from fff.schema import shown_values
from fff.sql.plan import Prepared
from fff.stats import MISSING, AccessMeter, Inquiry, MemoryStats, Missing, RoutingShare, Snapshot, SparkStats
from fff.structs import Struct, lazy_pattern, replace

if TYPE_CHECKING:
    from fff.result.spark_sink import Current

#: Keys of a lookup that are enough to find it strange that none of them has rows.
MANY_KEYS = 20

_PLAIN_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")

_Rows = tuple[tuple[object, ...], ...]


class _Sample(Struct, frozen=True):
    """The rows on display, and what is known about each."""

    columns: tuple[str, ...] = ()
    rows: _Rows = ()
    kind: Literal["newest rows", "current groups", "final"] = "newest rows"
    total: int = 0
    group_keys: tuple[str | None, ...] = ()
    rests_on: tuple[int, ...] = ()
    settled: tuple[bool, ...] = ()
    under_way: tuple[int, ...] = ()


class Picture(Struct, frozen=True, dict=True):
    """What a snapshot is made of."""

    prepared: Prepared
    blocks: Sequence[RunningBlock]
    lease: Lease | None
    asked: Sequence[Inquiry]
    current: Current | None
    newest: Mapping[int, Sequence[pa.RecordBatch]]
    phase: Literal["fetching", "aggregating", "done"]
    complete: bool
    result_rows: int
    memory: MemoryStats

    def snapshot(
        self,
        *,
        elapsed_s: float,
        first_row_s: float | None,
        spark: SparkStats,
        policy: str,
        prefer: Preference,
        seed: int,
        priorities: tuple[str, ...],
    ) -> Snapshot:
        """The picture, frozen."""
        sample = self._sample()
        partial_columns, partial = self._partial()
        running = [
            (statistics, block.access)
            for statistics, block in zip(self._block_statistics, self.blocks, strict=True)
        ]
        return Snapshot(
            elapsed_s=elapsed_s,
            phase=self.phase,
            rows=sum(statistics.results for statistics in self._block_statistics),
            waiting=sum(statistics.waiting for statistics in self._block_statistics),
            first_row_s=first_row_s,
            access=(*access_stats(running, self._distinct_keys), *inquiry_stats(self.asked)),
            stems=tuple(one for statistics, access in running for one in stem_stats(statistics, access)),
            routing=self._routing(),
            missing=self._missing(),
            spark=spark,
            policy=policy,
            prefer=prefer,
            seed=seed,
            columns=sample.columns,
            sample=sample.rows,
            sample_is=sample.kind,
            sample_rows=sample.total,
            group_keys=sample.group_keys,
            rests_on=sample.rests_on,
            settled=sample.settled,
            under_way=sample.under_way,
            partial_columns=partial_columns,
            partial=partial,
            priorities=priorities,
            memory=self.memory,
            warm_start=any(block.warm for block in self.blocks),
        )

    @cached_property
    def _block_statistics(self) -> list[BlockStatistics]:
        """Of each block, what it says of itself."""
        return [block.eddy.statistics() for block in self.blocks]

    def _distinct_keys(self, table: str, method: str) -> int | None:
        return None if self.lease is None else self.lease.distinct_keys(table, method)

    def _routing(self) -> tuple[RoutingShare, ...]:
        if len(self.blocks) == 1:
            return self._block_statistics[0].routing
        return tuple(
            replace(share, state=f"{block.name}: {share.state}")
            for block, statistics in zip(self.blocks, self._block_statistics, strict=True)
            for share in statistics.routing
        )

    def _missing(self) -> tuple[Missing, ...]:
        """The missing parts of all blocks, each once."""
        return tuple(dict.fromkeys(part for block in self.blocks for part in block.missing))

    def _sample(self) -> _Sample:
        if self.current is not None:
            return self._groups(self.current)
        shown = next((number for number in sorted(self.newest) if self.newest[number]), None)
        if shown is None:
            return _Sample()
        batches = list(self.newest[shown])
        newest = _rows_of(batches)
        whole = self.prepared.upper is None
        total = self.result_rows if whole else self._block_statistics[shown].results
        return _Sample(tuple(batches[0].schema.names), newest[::-1], "newest rows", total)

    def _groups(self, current: Current) -> _Sample:
        table = current.table.slice(0, SAMPLE_ROWS)
        done = self.phase == "done"
        rests_on: tuple[int, ...] = ()
        if current.rests_on is not None:
            rests_on = tuple(current.rests_on.slice(0, SAMPLE_ROWS).to_pylist())
        # At the end a group is what it will be if the whole answer is.
        settled = (self.complete,) * len(table) if done else current.settled
        rows = _rows_of(table.to_batches())
        partial = self._partial_groups(current, SAMPLE_ROWS - len(rows))
        return _Sample(
            columns=tuple(table.column_names),
            rows=rows + partial,
            kind="final" if done else "current groups",
            total=len(current.table),
            group_keys=self._group_keys(),
            rests_on=rests_on + (0,) * len(partial) if rests_on or not rows else (),
            settled=settled + (False,) * len(partial) if settled else (),
            under_way=(0,) * len(rows) + current.partial.rests_on[: len(partial)]
            if partial and current.partial is not None
            else (),
        )

    def _partial_groups(self, current: Current, room: int) -> _Rows:
        """Groups that no complete row has reached; none once nothing more is fetched."""
        stopping = any(statistics.cancelled for statistics in self._block_statistics)
        if current.partial is None or self.phase != "fetching" or stopping:
            return ()
        return tuple(
            tuple(MISSING if at in missing else value for at, value in enumerate(row))
            for row, missing in zip(current.partial.rows(room), current.partial.missing, strict=False)
        )

    def _group_keys(self) -> tuple[str | None, ...]:
        upper = self.prepared.upper
        if upper is None or upper.group_keys is None or len(self.blocks) != 1:
            return ()
        return tuple(None if output is None else self._column(output) for output in upper.group_keys)

    def _column(self, output: int) -> str:
        """An output column of the only block as SQL."""
        plan = self.blocks[0].query.plan
        column = plan.output[output]
        parts = (plan.aliases[column.alias].name, plan.field_of(column).name)
        return ".".join(
            part if _PLAIN_NAME.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts
        )

    def _partial(self) -> tuple[tuple[str, ...], _Rows]:
        """Rows that lack some tables' answers; of a statement whose result rows are those of its only block."""
        upper, result = self.prepared.upper, self.prepared.result
        if self.phase != "fetching" or len(self.blocks) != 1 or (upper is not None and upper.aggregated):
            return (), ()
        block = self.blocks[0]
        rows = block.eddy.partial_rows(PARTIAL_ROWS)
        if result is None:
            return tuple(field.name for field in block.query.fields), rows
        branch = next(one for one in result.branches if one.block is not None)
        shown = tuple(
            tuple(row[value.index] if isinstance(value, Column) else MISSING for value in branch.values)
            for row in rows
        )
        return tuple(field.name for field in result.fields), shown


def warnings_of(blocks: Sequence[RunningBlock], meters: Meters) -> tuple[str, ...]:
    """What the user should know at the end, each once."""
    counts: Counter[str] = Counter()
    for meter in meters:
        counts.update(meter.warnings)
    notes = [message if count == 1 else f"{message} ({count} times)" for message, count in counts.items()]
    for block in blocks:
        for table, access in zip(block.eddy.statistics().tables, block.access, strict=True):
            notes += [
                f"{access.table.source}.{lookup.name}: {lookup.strays} rows did not have the key they were "
                "asked by and were left out"
                for lookup in table.lookups
                if lookup.strays
            ]
            for lookup, meter in zip(table.lookups, access.lookup_meters, strict=True):
                silence = _nothing_but_silence(lookup, meter)
                if silence is not None:
                    keys = (
                        f"{lookup.asked - lookup.failed} keys{' that have an answer' * bool(lookup.failed)}"
                    )
                    notes.append(f"{access.table.source}.{lookup.name}: all {keys} {silence}")
            if table.conflict is not None:
                notes.append(_conflict(table.conflict, access.table))
            if table.beyond and table.complete:  # else it is among what is missing
                note = (
                    f"{access.table.full_name}: {table.beyond} rows came that a scan of it, read whole, does not "
                    "have: its ways of access disagree, or it changed meanwhile"
                )
                remedy = "" if access.table.primary_key else "; a primary_key tells such rows apart"
                notes.append(note + remedy)
    return tuple(dict.fromkeys(notes))


def _nothing_but_silence(lookup: LookupStatistics, meter: AccessMeter) -> str | None:
    """What to tell of a lookup that has found nothing, or the same, for whatever it was asked."""
    if lookup.asked - lookup.failed < MANY_KEYS or not meter.replies:
        return None
    if meter.bare_replies == meter.replies and not lookup.rows:
        return (
            "were answered by a status alone, as if none of them had rows: "
            "check the path, and whether keys are written as the source has them"
        )
    if meter.alike and not meter.bare_replies and (not lookup.rows or meter.replies >= MANY_KEYS):
        return (
            "got one and the same answer, which has none of them: "
            "check whether the request carries the key, and whether keys are written as the source has them"
        )
    return None


def _conflict(conflict: Conflict, table: Table) -> str:
    key = " AND ".join(f"{name} = {quoted(value)}" for name, value in conflict.key)
    rows = "a row differs" if conflict.rows == 1 else f"{conflict.rows} rows differ"
    return (
        f"{table.full_name}: {rows} from the one of the same primary key that came before "
        f"(first of {key}; in {', '.join(conflict.columns)}); what came first was taken"
    )


def _rows_of(batches: Sequence[pa.RecordBatch]) -> _Rows:
    """The last rows, as many as a sample has at most."""
    found: list[list[tuple[object, ...]]] = []
    room = SAMPLE_ROWS
    for batch in reversed(batches):
        last = batch.slice(max(0, len(batch) - room))
        found.append(list(zip(*map(shown_values, last.columns), strict=True)))
        room -= len(last)
    return tuple(row for rows in reversed(found) for row in rows)
