"""The modules of one block, and the state that the eddy's two halves share: nothing here decides anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Int64, Spill
from fff.dataflow.lookups.access import LookupModule, ScanModule, ScanState
from fff.dataflow.lookups.limiter import Limiter
from fff.dataflow.missing import MissingParts
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Column, Evaluated, Expr, evaluate_rows
from fff.dataflow.plan.extents import ALL, Extent
from fff.dataflow.plan.plan import BlockPlan, LookupPlan
from fff.dataflow.rounds import Rounds
from fff.dataflow.routing.bounds import widely, within
from fff.dataflow.routing.constraints import Binding, Constraints, PinnedKey
from fff.dataflow.routing.flow import Intervals
from fff.dataflow.routing.selection import Selections
from fff.dataflow.store.assign_domains import wire
from fff.dataflow.store.identity import Identity
from fff.dataflow.store.sorted_runs import Within
from fff.dataflow.store.stem import MAX_ALIASES, SteM
from fff.limits import GATHERED_BYTES
from fff.structs import replace


class Block:
    """SteMs, scans, lookups and selections of a plan (S4 section 2.2: no optimizer, no spanning tree)."""

    def __init__(self, plan: BlockPlan, *, all_fire: bool, max_window: int | None) -> None:
        assert len(plan.aliases) <= MAX_ALIASES, "stamps have room for 64 aliases"
        self.plan = plan
        self.constraints = Constraints.of(plan)
        domains = wire(plan)
        aliases: list[list[int]] = [[] for _ in plan.tables]
        for number, alias in enumerate(plan.aliases):
            aliases[alias.table].append(number)
        self.stems = [
            SteM(
                table,
                aliases[t],
                domains[t],
                Identity(table),
                holes=any(alias in self.constraints.right for alias in aliases[t]),
            )
            for t, table in enumerate(plan.tables)
        ]
        #: By table and interval how many pages each of its scans has brought.
        self.pages_over_time: list[Intervals[int]] = [Intervals(1) for _ in plan.tables]
        self.scans = [[ScanModule(scan) for scan in table.scans] for table in plan.tables]
        self.lookups = [
            [
                LookupModule(_windowed(lookup, max_window), [domains[t][c] for c in lookup.columns])
                for lookup in table.lookups
            ]
            for t, table in enumerate(plan.tables)
        ]
        #: By table and lookup.
        self.limiters = _limiters(self.lookups)
        self.selections = Selections(plan, self.stems)
        self.missing = MissingParts(plan)
        self.rounds = Rounds(plan.recursion, self.stems, self.scans, self.missing)
        #: Aliases whose rows start chains and carry stamps.
        self.fires = [
            alias.kind == "inner" and (all_fire or (alias.active and number not in self.constraints.waiting))
            for number, alias in enumerate(plan.aliases)
        ]
        #: Tables with aliases that start no chains though they are scanned; their probers may park until the scan ends.
        self.awaited = [
            any(
                alias.table == table and not self.fires[a] and alias.active
                for a, alias in enumerate(plan.aliases)
            )
            for table in range(len(plan.tables))
        ]
        #: Tables that are read by key because their scan failed or stalled.
        self.by_keys = [False] * len(plan.tables)
        self.cancelled = False
        self._constants: dict[tuple[int, int, object], int] = {}

    def scanning(self, table: int) -> bool:
        """Whether some scan of the table may bring more."""
        return any(scan.state is ScanState.RUNNING for scan in self.scans[table])

    def pages(self) -> int:
        """How many pages all scans have brought."""
        return sum(scan.pages for scans in self.scans for scan in scans)

    def expected(self, alias: int) -> int:
        """Rows that the table of an alias is scanned for in all: as it says, or else as many again as have come."""
        table = self.plan.aliases[alias].table
        scans = self.scans[table]
        rows = max((scan.rows for scan in scans), default=0)
        totals = [scan.total for scan in scans if scan.total is not None]
        return max(rows, *totals) if totals else 2 * rows if self.scanning(table) else rows

    def scans_failed(self, table: int) -> bool:
        """Whether no scan of the table brings anything more, and none has brought all."""
        over = (ScanState.FAILED, ScanState.UNUSED, ScanState.STOPPED)
        return not self.stems[table].complete and all(scan.state in over for scan in self.scans[table])

    def scan_lost(self, table: int, parts: Iterable[tuple[Extent, str]]) -> None:
        """Parts of a scan did not come, and nothing else brings them: missing is what no EOT covers of them."""
        for extent, reason in parts:
            if extent == ALL:  # with all parts that have failed before
                self.missing.forget(table)
            for left in self._left(table, extent):
                self.missing.scan(table, reason, left.text)

    def lacks(self, table: int, parts: Iterable[tuple[Extent, str]]) -> bool:
        """Whether anything of these parts has come by no other scan: if nothing, all of the table is here."""
        return any(self._left(table, extent) for extent, _ in parts)

    def _left(self, table: int, extent: Extent) -> list[Extent]:
        return self.stems[table].coverage.left(self.plan.tables[table].wanted & extent)

    def stem(self, alias: int) -> SteM:
        """The SteM of an alias's table."""
        return self.stems[self.plan.aliases[alias].table]

    def numbers(self, batch: TupleBatch, alias: int, column: int) -> Int64:
        """Value numbers of a compared column, for each tuple."""
        return self.stem(alias).numbers_at(column, batch.rows[alias])

    def values(self, batch: TupleBatch, column: Column) -> pa.Array:
        """The values of a column of a spanned alias, for each tuple."""
        return self.stem(column.alias).values(column.index, batch.rows[column.alias])

    def computed(self, batch: TupleBatch, expr: Expr) -> Evaluated:
        """An expression over spanned aliases, for each tuple."""
        return evaluate_rows(expr, partial(self.values, batch), len(batch))

    def within(self, batch: TupleBatch, alias: int) -> Within | None:
        """Between which bounds a value of each tuple's matches lies, where no equality of columns joins the alias."""
        known, stem = self.constraints.bounds(batch.state.span, alias), self.stem(alias)
        for own in widely(known):
            one = within(known, own, partial(self.computed, batch), len(batch), stem.widest)
            if one is not None and not stem.runs(own, hashed=one.hashed).fails:
                return one
        return None

    def bounded(self, batch: TupleBatch, alias: int) -> list[Within]:
        """The same for all that has bounds, those first that have two sides; without what stored rows say."""
        known = self.constraints.bounds(batch.state.span, alias)
        every = [within(known, own, partial(self.computed, batch), len(batch)) for own in widely(known)]
        return [one for one in every if one is not None]

    def constant(self, table: int, column: int, value: object) -> int:
        """The value number of a constant compared with a column."""
        number = self._constants.get((table, column, value))
        if number is None:
            number = int(self.constants(table, column, [value])[0])
            self._constants[table, column, value] = number
        return number

    def constants(self, table: int, column: int, values: Sequence[object]) -> Int64:
        """The value numbers of constants compared with a column."""
        kind = self.plan.tables[table].columns[column].arrow
        return self.stems[table].domains[column].number(pa.array(values, kind))

    def keys(self, batch: TupleBatch, alias: int, binding: Binding) -> Int64:
        """For each tuple the key number by which it would look `alias` up."""
        table = self.plan.aliases[alias].table
        module = self.lookups[table][binding.lookup]
        numbers = []
        for column, source in zip(module.plan.columns, binding.sources, strict=True):
            if isinstance(source, PinnedKey):
                numbers.append(np.full(len(batch), self.constant(table, column, source.value), np.int64))
            else:
                numbers.append(self.numbers(batch, *source))
        return module.keys(numbers)

    def grown(self) -> int:
        """Bytes of stored rows that Arrow has not allocated."""
        return sum(column.grown for stem in self.stems for column in stem.columns)

    def spill(self, spill: Spill) -> None:
        """What is stored of the tables leaves memory, as far as that is worth it."""
        for stem in self.stems:
            stem.spill(spill)

    def validate(self) -> None:
        """Assert that the books of every SteM agree."""
        for stem in self.stems:
            assert stem.duplicates >= 0
            here = len(stem) - stem.forgotten
            assert all(column.length == here for column in stem.columns)
            assert all(known.length == here for known in stem.numbers.values())
            if here > 1:
                assert (np.diff(stem.sequence.view) > 0).all(), "sequence numbers ascend"
            assert all(len(stem.index(column)) <= here for column in stem.numbers)

    @property
    def row_bytes(self) -> float:
        """Bytes of a result, as the stored rows are on average."""
        columns = [self.stem(column.alias).columns[column.index] for column in self.plan.output]
        return sum(column.nbytes / max(1, column.length) for column in columns)

    def gathered(self, batch: TupleBatch) -> Iterator[pa.RecordBatch]:
        """The same in batches that are not too large: tuples of narrow rows may have met wide ones."""
        most = max(1, int(GATHERED_BYTES / max(1.0, self.row_bytes)))
        while len(batch):
            part, rest = batch.split(min(most, len(batch)))
            try:
                gathered = self.gather(part)
            except pa.ArrowInvalid:  # more text than an array holds: those that are wide were met most often
                if len(part) == 1:
                    raise
                most = len(part) // 2
            else:
                yield gathered
                batch = rest

    def gather(self, batch: TupleBatch) -> pa.RecordBatch:
        """The block's output columns of result tuples, in the plan's order."""
        arrays, names = [], []
        for column in self.plan.output:
            arrays.append(self.values(batch, column))
            names.append(self.plan.field_of(column).name)
        if not arrays:  # SELECT COUNT(*): rows without columns
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(batch), pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names)


def _limiters(lookups: Sequence[Sequence[LookupModule]]) -> list[list[Limiter]]:
    """What holds each method's requests back: one for those of the same ordinal, one for each that has none."""
    shared: dict[int, Limiter] = {}
    groups: list[list[Limiter]] = []
    for modules in lookups:
        groups.append([])
        for module in modules:
            plan = module.plan
            ceiling = plan.window if plan.ceiling is None else min(plan.ceiling, plan.window)
            one = Limiter(ceiling)
            if plan.limiter is not None:
                one = shared.setdefault(plan.limiter, one)
                one.ceiling = min(one.ceiling, ceiling)
            one.modules.append(module)
            groups[-1].append(one)
    return groups


def _windowed(lookup: LookupPlan, window: int | None) -> LookupPlan:
    return lookup if window is None else replace(lookup, window=min(window, lookup.window))
