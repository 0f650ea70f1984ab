"""On a busy machine a page may take seconds that hangs nowhere."""

from __future__ import annotations

import pytest

from fff.runtime import stall_detector


@pytest.fixture(autouse=True)
def no_page_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """No scan counts as stalled, which would start its competitors, and their requests, beside it.

    Stalls are tested in virtual time, where they last as long as is said.
    """
    for bound in ("STALL_S", "STALL_LEAST_S", "STALL_MOST_S"):
        monkeypatch.setattr(stall_detector, bound, 3600.0)
