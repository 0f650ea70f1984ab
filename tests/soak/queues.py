"""What waits and what is stored inside of a run, held against its ceilings whenever the driver has had a turn or asks for pages."""

from __future__ import annotations

from typing import Any

import pytest

from fff.dataflow import scans
from fff.dataflow.plan.events import ScanRows
from fff.dataflow.store.stem import SteM
from fff.runtime.driver import BlockDriver

#: Tuples above which scans are held back, on days that look whether they are: few, as days have few rows.
FEW_TUPLES = 12
#: Bytes that a chunk of a column may hold beyond those that are counted, for its offsets and nulls begin at whole bytes.
_BESIDE = 64
#: Bytes of a SteM, indexes and all: of each row, several times what the simulated rows take, and whatever it has.
_OF_A_ROW, _OF_A_STEM = 256, 4096


class Queues:
    """Looks into the drivers of all runs of a day. `few`: scans are held back early."""

    def __init__(self, *, few: bool) -> None:
        self.over: dict[str, None] = {}  # what was above its ceiling, each kind once
        self.most_tuples = 0
        self._few = few

    def watch(self, patching: pytest.MonkeyPatch) -> None:
        """Look from now on."""
        if self._few:
            patching.setattr(scans, "HELD_TUPLES", FEW_TUPLES)
        turn, grant = BlockDriver._turn, BlockDriver._grant

        async def looked_at(driver: BlockDriver) -> None:
            await turn(driver)
            self._look(driver)

        def granted(driver: BlockDriver, table: int, index: int, count: int) -> None:
            if (table, index) in driver._credits:
                self._look_at_grant(driver, table, index)
            grant(driver, table, index, count)

        patching.setattr(BlockDriver, "_turn", looked_at)
        patching.setattr(BlockDriver, "_grant", granted)

    def _look(self, driver: BlockDriver) -> None:
        block, options = driver.eddy.block, driver.eddy.options
        ahead = max(options.scan_credit, options.scan_rows // scans._SMALLEST)
        for table, all_scans in enumerate(block.scans):
            for index, scan in enumerate(all_scans):
                here = sum(
                    isinstance(event, ScanRows) and (event.table, event.index) == (table, index)
                    for _, event in driver._events
                )
                self._at_most("pages of a scan that nobody has taken in", here, scan.credit)
                self._at_most("pages that a scan may be ahead", scan.credit, ahead)
        for modules in block.lookups:
            for module in modules:
                self._at_most("requests of a lookup under way", len(module.requests), module.plan.window)
                most = max((len(request.keys) for request in module.requests.values()), default=0)
                self._at_most("keys of a request", most, module.plan.batch_size)
        for stem in block.stems:
            self._look_at_bytes(stem)
        self.most_tuples = max(self.most_tuples, _tuples(driver))

    def _look_at_bytes(self, stem: SteM) -> None:
        """What `--memory-limit` and the statistics count is what is held: whole buffers, not only what is used of them."""
        chunks = [chunk for column in stem.columns for chunk in column._chunks]
        buffers = {
            part.address: part.size for chunk in chunks for part in chunk.buffers() if part is not None
        }
        counted = sum(column.nbytes for column in stem.columns)
        self._at_most("bytes of rows in a SteM", sum(buffers.values()), counted + _BESIDE * len(chunks))
        self._at_most("bytes of a SteM", stem.nbytes, _OF_A_STEM + _OF_A_ROW * len(stem))

    def _look_at_grant(self, driver: BlockDriver, table: int, index: int) -> None:
        """More pages may come: no more tuples wait than may, unless some of them wait for just these pages."""
        block = driver.eddy.block
        if block.scans[table][index].ahead is None and not block.awaited[table]:
            self._at_most("tuples that wait when a scan reads on", _tuples(driver), scans.HELD_TUPLES)

    def _at_most(self, what: str, there: int, most: int) -> None:
        if there > most:
            self.over.setdefault(f"{there} of at most {most} {what}")


def _tuples(driver: Any) -> int:
    router = driver.eddy.router
    tuples: int = router.waiting.tuples + router.parked_tuples()
    return tuples
