"""Tables whose rows only probe: what need not be stored of them (S4 section 3.5, in the form of ledger P12).

The paper leaves such rows unbuilt and sends them back to other SteMs until these are whole. Here they have stamps and row
numbers like all others, and are let go once nobody can find them (docs/execution.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fff.dataflow.lookups.parked import ParkedTuples
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch


class Probers:
    """Which rows are only held by the tuples that they are in, and when they go."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._kept = 0  # rows that were left when somebody looked last
        plan = block.plan
        self._firing = {one.table for alias, one in enumerate(plan.aliases) if block.fires[alias]}
        #: Aliases of tables that nobody but a scan brings rows of, and whose rows are never compared with others.
        self._candidates = [
            stem.aliases[0]
            for table, stem in enumerate(block.stems)
            if len(stem.aliases) == 1
            and block.fires[stem.aliases[0]]
            and plan.recursion is None
            and stem.plan.identity == "position"
            and len(stem.plan.scans) == 1
            and not stem.plan.lookups
            and table in self._firing
        ]

    def forget(self, waiting: Callable[[], Iterable[TupleBatch]], parked: ParkedTuples, least: int) -> None:
        """Let go of rows that no tuple under way has: at least so many and half of those here, or all."""
        alias = self._only_prober()
        if alias is None:
            return
        stem = self._block.stem(alias)
        here = len(stem) - stem.forgotten
        under_way = any(True for _ in waiting()) or any(True for _ in parked.waiting())
        if not here or (under_way and here < max(least, self._kept + self._kept // 4)):
            return
        below = self._oldest(alias, waiting(), parked) if under_way else len(stem)
        if 2 * (below - stem.forgotten) >= here:
            stem.forget(below)
        self._kept = len(stem) - stem.forgotten

    def _only_prober(self) -> int | None:
        """The alias that alone starts chains from now on: of all others that do, every row is here."""
        block = self._block
        for alias in self._candidates:
            table = block.plan.aliases[alias].table
            here = block.stems[table]
            others = all(self._whole(other) for other in self._firing if other != table)
            if others and (not here.complete or here.forgotten):
                return alias
        return None

    def _whole(self, table: int) -> bool:
        """Whether no row of a table is to come: it is scanned, or constants alone ask for it and have been answered."""
        block, stem = self._block, self._block.stems[table]
        seeded = not stem.plan.scans and all(block.plan.aliases[alias].seeds for alias in stem.aliases)
        return stem.complete or (seeded and all(module.idle for module in block.lookups[table]))

    def _oldest(self, alias: int, waiting: Iterable[TupleBatch], parked: ParkedTuples) -> int:
        """The first row of an alias that a tuple under way has, or may still meet as it has none."""
        stem = self._block.stem(alias)
        first = len(stem)
        batches = (*waiting, *(group.at(group.alive()) for _, _, group in parked.waiting()))
        for batch in batches:
            if alias not in batch.rows:
                return stem.forgotten
            first = min(first, int(batch.rows[alias].min()))
        return first
