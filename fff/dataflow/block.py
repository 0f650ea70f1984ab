"""The modules of one block, and the state that the eddy's two halves share: nothing here decides anything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from fff.dataflow.access import LookupModule, ScanModule, ScanState
from fff.dataflow.arrays import Int64
from fff.dataflow.batch import TupleBatch
from fff.dataflow.constraints import Binding, Constant, Constraints
from fff.dataflow.identity import Identity
from fff.dataflow.missing import MissingParts
from fff.dataflow.plan import BlockPlan, LookupPlan
from fff.dataflow.selection import Selections
from fff.dataflow.stem import MAX_ALIASES, SteM
from fff.dataflow.wiring import wire


class Block:
    """SteMs, scans, lookups and selections of a plan (S4 section 2.2: no optimizer, no spanning tree)."""

    def __init__(self, plan: BlockPlan, *, all_fire: bool, max_window: int | None) -> None:
        assert len(plan.aliases) <= MAX_ALIASES, "stamps have room for 64 aliases"
        self.plan = plan
        self.constraints = Constraints(plan)
        domains = wire(plan)
        aliases: list[list[int]] = [[] for _ in plan.tables]
        for number, alias in enumerate(plan.aliases):
            aliases[alias.table].append(number)
        self.stems = [
            SteM(table, aliases[t], domains[t], Identity(table)) for t, table in enumerate(plan.tables)
        ]
        self.scans = [[ScanModule(scan) for scan in table.scans] for table in plan.tables]
        self.lookups = [
            [
                LookupModule(_windowed(lookup, max_window), [domains[t][c] for c in lookup.columns])
                for lookup in table.lookups
            ]
            for t, table in enumerate(plan.tables)
        ]
        self.selections = Selections(plan, self.stems)
        self.missing = MissingParts(plan)
        #: Aliases whose rows start chains and carry stamps.
        self.fires = [
            all_fire or (alias.active and number not in self.constraints.waiting)
            for number, alias in enumerate(plan.aliases)
        ]
        #: Tables with aliases that only their scan answers; their probers park until it ends.
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

    def scans_failed(self, table: int) -> bool:
        """Whether no scan of the table brings anything more, and none has brought all."""
        return all(scan.state in (ScanState.FAILED, ScanState.UNUSED) for scan in self.scans[table])

    def stem(self, alias: int) -> SteM:
        """The SteM of an alias's table."""
        return self.stems[self.plan.aliases[alias].table]

    def numbers(self, batch: TupleBatch, alias: int, column: int) -> Int64:
        """Value numbers of a compared column, for each tuple."""
        return self.stem(alias).numbers[column].view[batch.rows[alias]]

    def constant(self, table: int, column: int, value: object) -> int:
        """The value number of a constant compared with a column."""
        number = self._constants.get((table, column, value))
        if number is None:
            kind = self.plan.tables[table].columns[column].arrow
            domain = self.stems[table].domains[column]
            number = int(domain.number(pa.array([value], kind))[0])
            self._constants[table, column, value] = number
        return number

    def keys(self, batch: TupleBatch, alias: int, binding: Binding) -> Int64:
        """For each tuple the key number by which it would look `alias` up."""
        table = self.plan.aliases[alias].table
        module = self.lookups[table][binding.lookup]
        numbers = []
        for column, source in zip(module.plan.columns, binding.sources, strict=True):
            if isinstance(source, Constant):
                numbers.append(np.full(len(batch), self.constant(table, column, source.value), np.int64))
            else:
                numbers.append(self.numbers(batch, *source))
        return module.keys(numbers)

    def gather(self, batch: TupleBatch) -> pa.RecordBatch:
        """The block's output columns of result tuples, in the plan's order."""
        arrays, names = [], []
        for column in self.plan.output:
            stem = self.stem(column.alias)
            arrays.append(stem.columns[column.index].take(batch.rows[column.alias]))
            names.append(stem.plan.columns[column.index].name)
        if not arrays:  # SELECT COUNT(*): rows without columns
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(batch), pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names)


def _windowed(lookup: LookupPlan, window: int | None) -> LookupPlan:
    return lookup if window is None else replace(lookup, window=min(window, lookup.window))
