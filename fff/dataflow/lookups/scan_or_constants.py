"""Tables that constants pin and that can be scanned as well: a page of the scan shows which of the two takes fewer requests.

The scan begins, and the constants wait for its first page. Where that says how many rows or pages there are, the choice is by
counting requests; where it does not, the scan may go on for a few pages, in proportion to what the constants would take.
"""

from __future__ import annotations

import math

from fff.dataflow.lookups.access import ScanModule
from fff.dataflow.modules import Block
from fff.dataflow.plan.events import ScanRows

#: Pages of a scan without a total that are read in the hope of its end: a share of the requests for constants, within bounds.
_SHARE = 10
_PAGES = (2, 10)


class ScanOrConstants:
    """The tables for which that is open."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self.by_constants: set[int] = set()  # tables that are read by constants and not scanned any more
        self.open = {
            table
            for table, stem in enumerate(block.stems)
            if block.scans[table]
            and stem.aliases
            and all(block.plan.aliases[alias].seeds for alias in stem.aliases)
        }

    def requests_left(self, table: int) -> int:
        """How many requests the constants would still take."""
        return sum(
            math.ceil((len(module.wanted()) + module.pending) / module.plan.batch_size)
            for module in self._block.lookups[table]
        )

    def scan_on(self, page: ScanRows, scan: ScanModule) -> bool:
        """After a page: whether the scan had better go on."""
        left = self.requests_left(page.table)
        if page.pages is not None and scan.pages <= page.pages:
            return page.pages - scan.pages < left
        if page.total is not None and scan.rows and scan.rows <= page.total:
            return (page.total - scan.rows) * scan.pages / scan.rows < left
        fewest, most = _PAGES
        return scan.pages < min(max(fewest, left // _SHARE), most)
