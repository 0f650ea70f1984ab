"""Lookup methods of one table that take the same keys: mirrors, or several endpoints of one source.

An answer of one of them is as good as that of another (every access method is complete for its keys, ledger P20), so one
may be asked where another fails or is slow, and the EOT of one covers the key for all.
"""

from __future__ import annotations

from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import LookupModule
from fff.dataflow.modules import Block


class Rivals:
    """Who may stand in for whom, and what a key of one is called by the other."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._of = [
            [
                tuple(
                    other
                    for other, rival in enumerate(table.lookups)
                    if other != index and set(rival.columns) == set(lookup.columns)
                )
                for index, lookup in enumerate(table.lookups)
            ]
            # Rows that two methods bring are told apart only where rows are compared at all.
            if table.identity != "position"
            else [()] * len(table.lookups)
            for table in block.plan.tables
        ]

    def of(self, table: int, index: int) -> tuple[int, ...]:
        """The lookups of the table that answer the same keys."""
        return self._of[table][index]

    def same_keys(self, table: int, index: int, keys: Int64, rival: int) -> Int64:
        """Keys of one lookup as the rival numbers them."""
        modules = self._block.lookups[table]
        return modules[rival].row_keys(modules[index].columns_of(keys))

    def modules(self, table: int, index: int, keys: Int64) -> list[tuple[int, LookupModule, Int64]]:
        """Each rival, and the keys as it numbers them."""
        return [
            (rival, self._block.lookups[table][rival], self.same_keys(table, index, keys, rival))
            for rival in self._of[table][index]
        ]
