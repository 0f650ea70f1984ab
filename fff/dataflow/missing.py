"""The missing manifest: which parts of which tables the answer does not rest on, and why (ledger P18)."""

from __future__ import annotations

from fff.dataflow.lookups.access import LookupModule
from fff.dataflow.plan.extents import quoted
from fff.dataflow.plan.plan import BlockPlan
from fff.limits import MISSING_LISTED
from fff.stats import MORE_KEYS, Missing


class MissingParts:
    """Collects missing parts, each once; lists a bounded number and counts the others."""

    def __init__(self, plan: BlockPlan) -> None:
        self._plan = plan
        self._parts: dict[tuple[str, str], Missing] = {}
        self._more: dict[tuple[str, str], int] = {}
        self._seen: set[tuple[int, int, int]] = set()
        self.cancelled = "stopped"

    def __bool__(self) -> bool:
        return bool(self._parts)

    def scan(self, table: int, reason: str, predicate: str = "true") -> None:
        """Rows of a table's scan did not all arrive: those that a predicate holds for."""
        name = self._plan.tables[table].name
        self._parts[name, predicate] = Missing(name, predicate, reason)

    def forget(self, table: int) -> None:
        """The parts of a table that were missing so far are to be told of with others."""
        name = self._plan.tables[table].name
        self._parts = {part: missing for part, missing in self._parts.items() if part[0] != name}

    def key(self, table: int, lookup: int, module: LookupModule, key: int, reason: str) -> None:
        """A key of a lookup was not answered in full."""
        if (table, lookup, key) in self._seen:
            return
        self._seen.add((table, lookup, key))
        plan = self._plan.tables[table]
        if len(self._seen) > MISSING_LISTED:
            self._more[plan.name, reason] = self._more.get((plan.name, reason), 0) + 1
            return
        names = [plan.columns[column].name for column in plan.lookups[lookup].columns]
        predicate = " AND ".join(
            f"{name} = {quoted(value)}" for name, value in zip(names, module.values(key), strict=True)
        )
        self._parts[plan.name, predicate] = Missing(plan.name, predicate, reason)

    def unjoined(self, reason: str) -> None:
        """Tuples inside were given up: results over rows of any table may be missing."""
        named = {name for name, _ in self._parts}
        for table in self._plan.tables:
            if table.name not in named:
                self._parts[table.name, "not joined yet"] = Missing(table.name, "not joined yet", reason)

    def clear(self) -> None:
        """Nothing is missing after all."""
        self._parts.clear()
        self._more.clear()

    def listed(self) -> tuple[Missing, ...]:
        """Every part, then one line per table and reason for those beyond the bound."""
        more = [
            Missing(table, f"{count} {MORE_KEYS}", reason) for (table, reason), count in self._more.items()
        ]
        return (*self._parts.values(), *more)
