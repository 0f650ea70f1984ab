"""Every behaviour of the matrix."""

from __future__ import annotations

from tests.faults.behaviour import Behaviour
from tests.faults.of_keys import KEYS
from tests.faults.of_lines import LINES
from tests.faults.of_pages import CHANGES, MIRRORS, PAGES, TOTALS
from tests.faults.of_the_body import DOCUMENTS, RECORDS
from tests.faults.of_the_wire import STATUSES, WIRE

BEHAVIOURS: tuple[Behaviour, ...] = (
    *WIRE,
    *STATUSES,
    *DOCUMENTS,
    *RECORDS,
    *PAGES,
    *TOTALS,
    *CHANGES,
    *KEYS,
    *MIRRORS,
    *LINES,
)
