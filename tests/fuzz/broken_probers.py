"""Broken cores: rules of what is kept of a table whose rows only probe. Each must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fff.dataflow.lookups.parked import ParkedTuples
from fff.dataflow.routing.probers import Probers
from fff.dataflow.store.stem import SteM
from tests.fuzz.broken import Broken, around, method
from tests.fuzz.generate import Knobs

#: One table is read by a scan alone and without a key; the others are looked up, or scanned too.
PROBERS = Knobs(scannable=0.5, self_join=0.1, second_scan=0.0, key=0.0, max_rows=9)
SCANS = Knobs(scannable=1.0, self_join=0.0, second_scan=0.0, key=0.0, aliases=(2, 3), right=0.0)
PINNED = Knobs(scannable=0.3, constants=0.6, self_join=0.0, second_scan=0.0, key=0.0, right=0.0, max_rows=9)
LOOKED_UP = Knobs(scannable=0.05, self_join=0.0, second_scan=0.0, key=0.0, aliases=(2, 3))


def _only_prober_at_once(self: Any) -> int | None:
    """The others may still start chains."""
    return self._candidates[0] if self._candidates else None


def _pinned_is_whole(right: Callable[..., bool]) -> Callable[..., bool]:
    """Rows that constants ask for may still come."""

    def whole(self: Any, table: int) -> bool:
        return right(self, table) or not self._block.stems[table].plan.scans

    return whole


def _parked_forgotten(right: Callable[..., None]) -> Callable[..., None]:
    def forget(self: Any, waiting: Any, parked: Any, least: int) -> None:
        right(self, waiting, ParkedTuples(self._block.plan), least)

    return forget


def _waiting_forgotten(right: Callable[..., None]) -> Callable[..., None]:
    def forget(self: Any, waiting: Any, parked: Any, least: int) -> None:
        right(self, lambda: (), parked, least)

    return forget


def _only_those_that_have_one(right: Callable[..., int]) -> Callable[..., int]:
    """Tuples of the others that have yet to meet rows of the table do not count."""

    def oldest(self: Any, alias: int, waiting: Any, parked: Any) -> int:
        return right(self, alias, [batch for batch in waiting if alias in batch.rows], parked)

    return oldest


def _instances_too(right: Callable[..., None]) -> Callable[..., None]:
    """Rows of a table that stands in FROM twice meet one another."""

    def init(self: Any, block: Any) -> None:
        right(self, block)
        self._candidates = [
            stem.aliases[0]
            for stem in block.stems
            if all(block.fires[alias] for alias in stem.aliases) and not stem.plan.lookups
        ]

    return init


def _numbered_anew(right: Callable[..., None]) -> Callable[..., None]:
    def forget(self: SteM, below: int) -> None:
        right(self, below)
        self.forgotten = 0

    return forget


BROKEN_PROBERS: tuple[Broken, ...] = (
    Broken(
        "rows go that others will look for",
        "P12",
        method(Probers, "_only_prober", _only_prober_at_once),
        SCANS,
        symptom="gone",
    ),
    Broken(
        "rows go that those of a pinned table will look for",
        "P12, P47",
        around(Probers, "_whole", _pinned_is_whole),
        PINNED,
        {"semantics": "parked"},
        "gone",
    ),
    Broken(
        "rows of parked tuples go",
        "P12",
        around(Probers, "forget", _parked_forgotten),
        LOOKED_UP,
        symptom="gone",
    ),
    Broken(
        "rows of waiting tuples go",
        "P12",
        around(Probers, "forget", _waiting_forgotten),
        SCANS,
        symptom="gone",
    ),
    Broken(
        "rows go that tuples under way have yet to meet",
        "P12",
        around(Probers, "_oldest", _only_those_that_have_one),
        SCANS,
        {"most_processed_first": False},
        "gone",
    ),
    Broken(
        "rows go that rows of their own table will look for",
        "P01, P12",
        around(Probers, "__init__", _instances_too),
        Knobs(aliases=(2,), self_join=1.0, scannable=1.0, second_scan=0.0, key=0.0),
    ),
    Broken("rows that are left get other numbers", "P12", around(SteM, "forget", _numbered_anew), LOOKED_UP),
)
