"""Broken cores: rules of EOT of a predicate, as parts of scans bring it. Each must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from fff.dataflow.eddy import Eddy
from fff.dataflow.plan import extents
from fff.dataflow.plan.events import ScanCovered, ScanPartFailed
from fff.dataflow.plan.extents import Coverage, Extent, Stretch, ValueSet, Verge
from fff.dataflow.routing.held import HeldParts
from fff.dataflow.routing.parking import Parking
from fff.structs import replace
from tests.fuzz.broken import Broken, around
from tests.fuzz.generate import Knobs

#: What waits for scans: right sides, and tables that lookups make up for.
WAITING = Knobs(right=1.0, aliases=(1, 2), scannable=1.0, second_scan=0.0, max_rows=8)
NULLS = replace(WAITING, aliases=(2, 3), right=0.0, nulls=0.3, extra_edge=0.0)
TEXTS = replace(WAITING, aliases=(1,), typed=1.0, kinds=("string",), nulls=0.02)
WINDOWS = {"windows": 1.0, "bias": "uniform"}
FAILING = {"windows": 1.0, "fail_windows": 0.5}


def _closed(right: Callable[..., Any]) -> Callable[..., Any]:
    """A window that ends before a value covers the value as well."""

    def mask(self: Stretch, values: pa.Array) -> Any:
        high = None if self.high is None else Verge(self.high.value, behind=True)
        return right(Stretch(self.low, high), values)

    return mask


def _null_is_covered(right: Callable[..., Any]) -> Callable[..., Any]:
    """Ranges that adjoin are taken for all there is."""

    def minus(self: ValueSet, other: ValueSet) -> Any:
        return replace(right(self, other), null=False)

    return minus


def _no_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """A prefix is taken for all texts from it on."""

    def prefix(text: str) -> Any:
        return replace(right(text), high=None)

    return prefix


def _failed_is_covered(right: Callable[..., Any]) -> Callable[..., Any]:
    def part_over(self: Eddy, event: ScanCovered | ScanPartFailed) -> Any:
        return right(self, ScanCovered(event.table, event.index, event.extent))

    return part_over


def _any_part_is_all(right: Callable[..., Any]) -> Callable[..., Any]:
    def part_over(self: Parking, table: int, extent: Extent) -> Any:
        del extent
        return right(self, table, Extent())

    return part_over


def _unbound_is_inside(right: Callable[..., Any]) -> Callable[..., Any]:
    """A tuple that seeks no certain value is taken to seek one of the part."""

    def inside(self: HeldParts, table: int, count: int, sought: Any, usable: Any) -> Any:
        found = np.zeros(count, np.bool_)
        for extent in self._block.stems[table].coverage.extents:
            places = [self._places[table][name] for name, _ in extent.columns]
            if not any(sought(place) is not None for place in places):
                found[:] = True
        return found | right(self, table, count, sought, usable)

    return inside


def _missing_is_covered(right: Callable[..., Any]) -> Callable[..., Any]:
    """Of what is missing, whatever lies beside a part that has come counts as come."""

    def left(self: Coverage, extent: Extent) -> Any:
        return [] if self.extents else right(self, extent)

    return left


BROKEN_PARTS: tuple[Broken, ...] = (
    Broken("a part covers the value before which it ends", "P15", around(Stretch, "mask", _closed), WAITING, WINDOWS),
    Broken("NULL is in ranges that adjoin", "P15", around(ValueSet, "__sub__", _null_is_covered), NULLS, FAILING, "I7"),
    Broken("a prefix ends too late", "P15", around(extents, "_prefix", _no_end), TEXTS, WINDOWS),
    Broken("a part that failed is covered", "P18", around(Eddy, "_part_over", _failed_is_covered), WAITING, FAILING),
    Broken("EOT of a part is that of the scan", "P15", around(Parking, "part_over", _any_part_is_all), WAITING, WINDOWS),
    Broken("who binds no column of a part has its rows", "P15", around(HeldParts, "_inside", _unbound_is_inside), WAITING, WINDOWS),
    Broken("what failed beside a part that came is not missing", "P18", around(Coverage, "left", _missing_is_covered), NULLS, FAILING, "I7"),
)  # fmt: skip
