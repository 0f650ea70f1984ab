"""When a scan counts as stalled: in virtual time, where waits last as long as is said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from fff.runtime.stall_detector import StallAlarm
from fff.simulation.loop import run as virtually


@pytest.fixture(autouse=True)
def no_page_is_late() -> None:
    """Here some are."""


def told(waits: Sequence[float], idle: float = 0.0) -> list[float]:
    """When, from the beginning, it is told that a reader waits for too long, who waits so often for so long."""

    async def read() -> list[float]:
        loop = asyncio.get_running_loop()
        began, at = loop.time(), list[float]()
        alarm = StallAlarm(lambda: at.append(round(loop.time() - began, 6)))
        for seconds in waits:
            since = alarm.waits()
            await asyncio.sleep(seconds)
            assert alarm.came(since) == pytest.approx(seconds)
            await asyncio.sleep(idle)
        alarm.end()
        await asyncio.sleep(1_000)
        return at

    return virtually(read)


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        pytest.param([9, 9, 9], [], id="not too long while nothing is known"),
        pytest.param([50], [10], id="too long, and told once"),
        pytest.param([1, 30, 1, 20], [11, 42], id="each time"),
        pytest.param([0.01] * 5 + [50], [1.05], id="far less where pages come at once"),
        pytest.param([0.4] * 5 + [1.5, 50], [9.5], id="four times the longest wait"),
        pytest.param([100] + [1] * 24 + [50], [10, 128], id="of the last 20"),
        pytest.param([40] + [1] * 4 + [70], [10, 104], id="and never more than a minute"),
    ],
)
def test_who_waits_far_longer_than_before_is_told(waits: list[float], expected: list[float]) -> None:
    assert told(waits) == pytest.approx(expected)


def test_nobody_is_told_who_waits_for_no_page() -> None:
    assert told([0.01] * 8, idle=100.0) == []
